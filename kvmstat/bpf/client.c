// SPDX-License-Identifier: GPL-2.0
/*
 * Values of VMs by BPF. kvmstat-bpf needs all capabilities, kvmstat drops them: a child that
 * waits keeps them, and becomes kvmstat-bpf when the first sample wants values.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../kvmstat.h"
#include "protocol.h"

#define CHUNK 65536

enum bpf_want bpf_want;

static struct {
	int socket, values;		/* file descriptors */
	struct bpf_answer answer;
	unsigned char header[MOST_HEADER];
	unsigned char *items;
	size_t size;
} bpf = { .socket = -1, .values = -1, };

static __attribute__((__noreturn__)) void become_loader(int socket)
{
	struct pollfd fd = { .fd = socket, .events = POLLIN, };
	struct bpf_answer answer = {};
	unsigned char want;

	/* Ctrl-C ends kvmstat, whose end ends this. */
	signal(SIGINT, SIG_IGN);
	while (poll(&fd, 1, -1) < 0 && errno == EINTR)
		;
	if (fd.revents & POLLHUP || dup2(socket, STDIN_FILENO) < 0)
		_exit(0);
	execlp("kvmstat-bpf", "kvmstat-bpf", NULL);
	snprintf(answer.error, sizeof(answer.error), "cannot run kvmstat-bpf: %s%s", strerror(errno),
		 errno == ENOENT ? " (install the package kvmstat-bpf)" : "");
	/* An unread request resets the connection when this ends, and the answer is lost. */
	if (recv(socket, &want, 1, 0) == 1)
		send(socket, &answer, sizeof(answer), MSG_NOSIGNAL);
	_exit(1);
}

void bpf_prepare(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		die("no socket for kvmstat-bpf: %s", strerror(errno));
	if (!fork()) {
		close(pair[0]);
		become_loader(pair[1]);
	}
	close(pair[1]);
	bpf.socket = pair[0];
}

/* Sets @fd, or makes it -1. */
static bool receive(int *fd)
{
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec bytes[2] = {
		{ &bpf.answer, sizeof(bpf.answer), }, { bpf.header, sizeof(bpf.header), },
	};
	struct msghdr message = {
		.msg_iov = bytes, .msg_iovlen = 2, .msg_control = control,
		.msg_controllen = sizeof(control),
	};
	const struct cmsghdr *files;
	ssize_t length;

	*fd = -1;
	/* A signal that ends kvmstat does not end kvmstat-bpf. */
	do {
		length = recvmsg(bpf.socket, &message, MSG_CMSG_CLOEXEC);
	} while (length < 0 && errno == EINTR);
	if (length < (ssize_t)sizeof(bpf.answer))
		return false;
	files = CMSG_FIRSTHDR(&message);
	if (files && files->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(files), sizeof(int));
	return true;
}

unsigned int bpf_begin(void)
{
	unsigned char want = bpf_want;
	int fd;

	if (bpf.socket < 0 || (!want && !bpf.answer.attached))
		return 0;
	if (send(bpf.socket, &want, 1, MSG_NOSIGNAL) != 1 || !receive(&fd)) {
		complain("kvmstat-bpf has ended");
		close(bpf.socket);
		bpf.socket = -1;
		bpf_want = BPF_NOTHING;
		return 0;
	}
	if (*bpf.answer.error)
		complain("%s", bpf.answer.error);
	if (*bpf.answer.error && !bpf.answer.retry)
		bpf_want = BPF_NOTHING;
	if (fd < 0)
		return 0;
	/* The reader of the sample before may hang. */
	if (bpf.values >= 0)
		close(bpf.values);
	bpf.values = fd;
	return bpf.answer.attached;
}

void bpf_read(void)
{
	ssize_t length;

	for (bpf.size = 0; bpf.values >= 0; bpf.size += length > 0 ? length : 0) {
		bpf.items = realloc(bpf.items, bpf.size + CHUNK);
		if (!bpf.items)
			die("out of memory");
		length = read(bpf.values, bpf.items + bpf.size, CHUNK);
		if (!length || (length < 0 && errno != EAGAIN && errno != EINTR))
			break;
	}
	close(bpf.values);
	bpf.values = -1;
}

/* The item at @at, or NULL. @at becomes the next one. */
static struct item *next_item(size_t *at)
{
	struct item *item = (void *)(bpf.items + *at);

	if (*at + sizeof(*item) > bpf.size)
		return NULL;
	*at += sizeof(*item) + (item->is_vcpu ? bpf.answer.vcpu_size : bpf.answer.vm_size);
	return *at <= bpf.size ? item : NULL;
}

static bool has_id(const uint32_t *ids, size_t count, uint32_t id)
{
	while (count--) {
		if (ids[count] == id)
			return true;
	}
	return false;
}

/* A descriptor that was duplicated shows the same vCPU. */
static void add_vcpus(struct frame *frame, unsigned int key, const struct item *vm)
{
	size_t size = bpf.answer.vcpu_size, at = 0, count = 0;
	unsigned char *data = NULL;
	const struct item *item;
	uint32_t *ids = NULL;

	while ((item = next_item(&at))) {
		if (!item->is_vcpu || item->vm != vm->vm || has_id(ids, count, item->id))
			continue;
		ids = xgrow(ids, count, sizeof(*ids));
		data = xgrow(data, count, size);
		ids[count] = item->id;
		memcpy(data + count++ * size, item + 1, size);
	}
	frame_add(frame, ids, count * sizeof(*ids), "vm/%u/vcpu-ids", key);
	frame_add(frame, data, count * size, "vm/%u/vcpu-data", key);
}

/* The VM of a process's descriptor */
static const struct item *find_vm(pid_t pid, int fd)
{
	const struct item *item;
	size_t at = 0;

	while ((item = next_item(&at))) {
		if (!item->is_vcpu && item->pid == (uint32_t)pid && item->fd == fd)
			break;
	}
	return item;
}

uint64_t bpf_vm(pid_t pid, int fd)
{
	const struct item *item = find_vm(pid, fd);

	return item ? item->vm : 0;
}

void bpf_add(struct frame *frame, unsigned int key, pid_t pid, int fd)
{
	const struct item *item = find_vm(pid, fd);
	struct item *other;
	size_t at = 0;

	frame_add(frame, xmemdup(bpf.header, bpf.answer.header_size), bpf.answer.header_size,
		  "vm/%u/header", key)->is_schema = true;
	frame_add(frame, xmemdup(item + 1, bpf.answer.vm_size), bpf.answer.vm_size, "vm/%u/data", key);
	add_vcpus(frame, key, item);
	/* Of several descriptors of one VM, only the first counts. */
	while ((other = next_item(&at))) {
		if (other->vm == item->vm)
			other->pid = 0;
	}
}
