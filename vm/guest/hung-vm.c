// SPDX-License-Identifier: GPL-2.0-only
/*
 * A VMM that never answers: a child reads a page of its memory from /proc, which a FUSE server
 * never delivers, and holds the VMM's mmap_lock meanwhile; the VMM waits for the lock in mmap().
 * Nothing that takes this lock returns: /proc/PID/maps, cmdline. Prints a line when it is so.
 * Needs root and FUSE.
 */
#include <linux/fuse.h>
#include <linux/types.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "tiny-vm.h"

#define FILE_NODE 2

static void reply(int fuse, __u64 unique, int error, const void *data, size_t len)
{
	char message[4096];
	struct fuse_out_header head = {
		.len = sizeof(head) + len, .error = error, .unique = unique,
	};

	memcpy(message, &head, sizeof(head));
	memcpy(message + sizeof(head), data, len);
	checked(write(fuse, message, head.len), "FUSE reply");
}

/* Answers all requests except reads. */
static void __attribute__((noreturn)) serve(int fuse)
{
	static char request[1 << 17];
	const struct fuse_in_header *in = (void *)request;
	const struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096,
	};
	struct fuse_entry_out entry = {
		.nodeid = FILE_NODE,
		.attr = { .ino = FILE_NODE, .size = 4096, .mode = S_IFREG | 0644, .nlink = 1 },
	};
	struct fuse_attr_out attr = { .attr = entry.attr };
	const struct fuse_open_out opened = { 0 };

	for (;;) {
		checked(read(fuse, request, sizeof(request)), "FUSE request");
		switch (in->opcode) {
		case FUSE_INIT:
			reply(fuse, in->unique, 0, &init, sizeof(init));
			break;
		case FUSE_LOOKUP:
			reply(fuse, in->unique, 0, &entry, sizeof(entry));
			break;
		case FUSE_GETATTR:
			attr.attr.mode = in->nodeid == FILE_NODE ? S_IFREG | 0644 : S_IFDIR | 0755;
			reply(fuse, in->unique, 0, &attr, sizeof(attr));
			break;
		case FUSE_OPEN:
			reply(fuse, in->unique, 0, &opened, sizeof(opened));
			break;
		case FUSE_READ:
		case FUSE_FORGET:
		case FUSE_INTERRUPT:
			break;
		default:
			reply(fuse, in->unique, -ENOSYS, NULL, 0);
		}
	}
}

/* A child that ends with this process */
static bool in_child(void)
{
	pid_t pid = checked(fork(), "fork");

	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return !pid;
}

/* Maps a page whose read is never answered. */
static char *map_page(void)
{
	int fuse = checked(open("/dev/fuse", O_RDWR), "/dev/fuse");
	char directory[] = "/run/hung-XXXXXX", path[64], options[64];
	char *page;
	int fd;

	if (!mkdtemp(directory))
		bail_out("mkdtemp");
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
	checked(mount("hung", directory, "fuse", 0, options), "mount");
	if (in_child())
		serve(fuse);
	/* Only the server keeps the connection, so that it ends with this process. */
	close(fuse);
	snprintf(path, sizeof(path), "%s/file", directory);
	fd = checked(open(path, O_RDONLY), path);
	page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	if (page == MAP_FAILED)
		bail_out("mmap of a file");
	checked(umount2(directory, MNT_DETACH), "umount");
	checked(rmdir(directory), "rmdir");
	return page;
}

int main(void)
{
	char path[64], byte;
	char *page;

	tiny_vm_create();
	page = map_page();
	snprintf(path, sizeof(path), "/proc/%d/mem", getpid());
	if (in_child()) {
		int fd = checked(open(path, O_RDONLY), path);

		exit(pread(fd, &byte, 1, (unsigned long)page) < 0);
	}
	usleep(200000);
	/* stdio would allocate a buffer, and wait. */
	checked(write(STDOUT_FILENO, "ready\n", 6), "stdout");
	mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bail_out("the lock is not held");
}
