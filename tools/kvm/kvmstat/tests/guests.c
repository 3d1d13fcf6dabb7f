// SPDX-License-Identifier: GPL-2.0
/*
 * The host in memory. A VM's file descriptor in its process is its index in guests[].
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guests.h"
#include "util/util.h"

struct guest guests[MAX_GUESTS];

/* Makes files as in released kernels: one per vCPU. */
static void start_split(struct guest *guest)
{
	char id[64];
	unsigned int i;

	snprintf(id, sizeof(id), "kvm-%d", guest->pid);
	guest->image = image_build(id, guest->vm_stats);
	image_values(&guest->image)[0] = guest->vcpus;
	guest->fd = image_to_file(&guest->image, 0, STATSFILE_PREAD).fd;
	for (i = 0; i < guest->vcpus; i++) {
		snprintf(id, sizeof(id), "kvm-%d/vcpu-%u", guest->pid, i);
		guest->vcpu_image[i] = image_build(id, guest->vcpu_stats);
		guest->vcpu_fd[i] = image_to_file(&guest->vcpu_image[i], 0, STATSFILE_PREAD).fd;
	}
}

static void start(struct guest *guest)
{
	char id[32];
	unsigned int i;

	snprintf(id, sizeof(id), "kvm-%d", guest->pid);
	guest->image = image_build_ext(id, guest->vm_stats, guest->vcpu_stats,
				       guest->vcpus ? guest->vcpus : 1);
	image_values(&guest->image)[0] = guest->vcpus;
	for (i = 0; i < guest->vcpus; i++)
		image_vcpu_ids(&guest->image)[i] = 10 + i;
	guest->fd = image_to_file(&guest->image, guest->vcpus, STATSFILE_MMAP).fd;
}

void guests_start(void)
{
	struct guest *guest;

	for (guest = guests; guest->name; guest++) {
		if (!guest->image.bytes && guest->split)
			start_split(guest);
		else if (!guest->image.bytes)
			start(guest);
	}
}

void guests_free(void)
{
	struct guest *guest;
	unsigned int i;

	for (guest = guests; guest->name; guest++) {
		image_free(&guest->image);
		close(guest->fd);
		for (i = 0; guest->split && i < guest->vcpus; i++) {
			image_free(&guest->vcpu_image[i]);
			close(guest->vcpu_fd[i]);
		}
	}
	memset(guests, 0, sizeof(guests));
}

uint64_t *guest_vm_values(const struct guest *guest)
{
	return image_values(&guest->image);
}

uint64_t *guest_vcpu_values(const struct guest *guest, unsigned int index)
{
	if (guest->split)
		return image_values(&guest->vcpu_image[index]);
	return image_vcpu_values(&guest->image, index);
}

static void add_fds(struct proc_fds *fds, int index)
{
	struct proc_fd fd = { .fd = index, .link = LINK_VM, };
	const struct guest *guest = &guests[index];

	proc_fds_add(fds, &fd);
	/* The VM's own file shows its vCPUs: kvmstat asks for no other file. */
	if (!guest->closed && !guest->split)
		return;
	for (fd.link = 0; fd.link < (int)guest->vcpus; fd.link++) {
		fd.fd = index + MAX_GUESTS * (1 + fd.link);
		proc_fds_add(fds, &fd);
	}
	fd.is_stats = true;
	for (fd.link = 0; guest->held && fd.link < (int)guest->vcpus; fd.link++) {
		fd.fd = index + MAX_GUESTS * (1 + MAX_SPLIT_VCPUS + fd.link);
		proc_fds_add(fds, &fd);
	}
}

static int list_fds(const struct host *host, pid_t pid, struct proc_fds *fds)
{
	int i;

	(void)host;
	*fds = (struct proc_fds) {};
	for (i = 0; guests[i].name; i++) {
		if (guests[i].pid == pid && !guests[i].dead)
			add_fds(fds, i);
	}
	return 0;
}

static int list(const struct host *host, struct proc_list *list)
{
	struct proc_process process;
	const struct guest *guest;
	pid_t last = 0;

	*list = (struct proc_list) {};
	for (guest = guests; guest->name; guest++) {
		if (guest->pid == last || guest->dead)
			continue;
		last = guest->pid;
		process = (struct proc_process) {
			.pid = last,
			.err = guest->denied ? EACCES : 0,
		};
		if (!guest->denied)
			list_fds(host, last, &process.fds);
		proc_list_add(list, &process);
	}
	return 0;
}

/* Returns NULL if there is none. */
static const struct guest *find_guest(pid_t pid)
{
	const struct guest *guest = guests;

	while (guest->name && guest->pid != pid)
		guest++;
	return guest->name ? guest : NULL;
}

static bool identify(const struct host *host, pid_t pid, struct identity *identity)
{
	const struct guest *guest = find_guest(pid);

	(void)host;
	identity_of_name(identity, guest->name);
	identity->started = guest->started;
	if (guest->named_by)
		identity->source[IDENTITY_NAME] = guest->named_by;
	return true;
}

static pid_t thread_group(const struct host *host, pid_t pid)
{
	(void)host;
	return find_guest(pid) ? pid : 0;
}

static int read_threads(const struct host *host, pid_t pid, unsigned int num_vcpus,
			struct proc_threads *threads)
{
	const struct guest *guest = find_guest(pid);
	size_t i;

	(void)host;
	(void)num_vcpus;
	*threads = (struct proc_threads) {};
	if (!guest || !guest->threads)
		return -ENOENT;
	for (i = 0; i < guest->threads->count; i++)
		proc_threads_add(threads, &guest->threads->thread[i]);
	return 0;
}

static int get_stats(const struct host *host, pid_t pid, const struct proc_fd *fd,
		     uint64_t *vm, struct host_error *error)
{
	const struct guest *guest = &guests[fd->fd % MAX_GUESTS];

	(void)host;
	(void)pid;
	*vm = fd->fd % MAX_GUESTS + 1;
	*error = (struct host_error) { .step = HOST_TAKE, .err = guest->refused, };
	if (guest->closed || (guest->held && !fd->is_stats))
		*error = (struct host_error) { .step = HOST_STATS, .err = EIO, };
	if (error->err)
		return -1;
	return dup(fd->link == LINK_VM ? guest->fd : guest->vcpu_fd[fd->link]);
}

/* Each process needs a file descriptor of its own. */
static int open_process(const struct host *host, pid_t pid, struct host_error *error)
{
	const struct guest *guest = find_guest(pid);

	(void)host;
	*error = (struct host_error) { .step = HOST_OPEN, .err = ESRCH, };
	return guest ? dup(guest->fd) : -1;
}

static bool is_same_file(int fd, const struct stat *wanted)
{
	struct stat file;

	return !fstat(fd, &file) && file.st_ino == wanted->st_ino;
}

/* Finds the guest by its file, as the descriptor may be a copy. */
static const struct guest *guest_of(int fd)
{
	const struct guest *guest;
	struct stat wanted;
	unsigned int i;

	fstat(fd, &wanted);
	for (guest = guests; !is_same_file(guest->fd, &wanted); guest++) {
		for (i = 0; guest->split && i < guest->vcpus; i++) {
			if (is_same_file(guest->vcpu_fd[i], &wanted))
				return guest;
		}
	}
	return guest;
}

static bool is_gone(int process)
{
	pid_t pid = guest_of(process)->pid;
	const struct guest *guest;

	for (guest = guests; guest->name; guest++) {
		if (guest->pid == pid && !guest->dead)
			return false;
	}
	return true;
}

static bool is_same(int fd, int other)
{
	return guest_of(fd) == guest_of(other);
}

static bool is_dead(int stats)
{
	return guest_of(stats)->dead;
}

const struct host guests_host = {
	.list = list,
	.list_fds = list_fds,
	.identify = identify,
	.thread_group = thread_group,
	.read_threads = read_threads,
	.get_stats = get_stats,
	.open_process = open_process,
	.is_gone = is_gone,
	.is_same = is_same,
	.is_dead = is_dead,
	.access = STATSFILE_MMAP,
};
