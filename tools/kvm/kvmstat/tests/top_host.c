// SPDX-License-Identifier: GPL-2.0
/*
 * top_host DIRECTORY [INTERVAL]: kvmstat top on a host for tests, whose /proc is DIRECTORY. A
 * process is a directory with comm, fd/3 (a link to anon_inode:kvm-vm) and a file "rates": the
 * number of vCPUs, and exits, halts and injections per second. The n-th vCPU has n times these
 * rates. The counters grow with the clock until the directory is removed. The test thus knows
 * all figures on the screen.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/command.h"
#include "image.h"
#include "output.h"
#include "sources/discover.h"
#include "util/util.h"

#define MAX_FDS 256
#define MAX_VCPUS 16
#define STEP_US 2000

enum { EXITS, HALTS, IO, INJECTIONS, WAIT_NS, WAIT_HIST, };

static const struct image_stat vm_stats[] = {
	STAT_LEVEL("online_vcpus"),
	{ .name = "remote_tlb_flush", },
	{},
};

static const struct image_stat vcpu_stats[] = {
	[EXITS] = { .name = "exits", },
	[HALTS] = { .name = "halt_exits", },
	[IO] = { .name = "io_exits", },
	[INJECTIONS] = { .name = "irq_injections", },
	[WAIT_NS] = STAT_NS("halt_wait_ns"),
	[WAIT_HIST] = STAT_HIST_NS("halt_wait_hist", 16),
	{},
};

/* VMs, indexed by the number in a statistics file. An entry is never reused. */
static struct guest {
	pid_t pid;
	struct image image;
	unsigned int vcpus, exits, halts, injections;
} guests[MAX_FDS];
static pthread_mutex_t guests_lock = PTHREAD_MUTEX_INITIALIZER;
static const char *proc;

static int open_in(pid_t pid, const char *name, int flags)
{
	char *path = xasprintf("%s/%d/%s", proc, pid, name);
	int fd = open(path, flags | O_CLOEXEC);

	free(path);
	return fd;
}

static int host_open_process(const struct host *host, pid_t pid, struct host_error *error)
{
	(void)host;
	*error = (struct host_error) { .step = HOST_OPEN, .err = ESRCH, };
	return open_in(pid, "", O_PATH);
}

static bool host_is_gone(int process)
{
	return faccessat(process, "comm", F_OK, 0);
}

static bool read_rates(struct guest *guest)
{
	int fd = open_in(guest->pid, "rates", O_RDONLY);
	char text[64];
	ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (length < 0)
		return false;
	text[length] = '\0';
	return sscanf(text, "%u %u %u %u", &guest->vcpus, &guest->exits, &guest->halts,
		      &guest->injections) == 4 && guest->vcpus <= MAX_VCPUS;
}

static int host_get_stats(const struct host *host, pid_t pid, const struct proc_fd *fd,
			  uint64_t *vm, struct host_error *error)
{
	struct guest guest = { .pid = pid, };
	struct statsfile_source source;
	char id[32];
	unsigned int i;

	(void)host;
	*error = (struct host_error) { .step = HOST_TAKE, .err = EBADF, };
	if (fd->link != LINK_VM || !read_rates(&guest))
		return -1;
	snprintf(id, sizeof(id), "kvm-%d", guest.pid);
	guest.image = image_build_ext(id, vm_stats, vcpu_stats, MAX_VCPUS);
	image_values(&guest.image)[0] = guest.vcpus;
	for (i = 0; i < guest.vcpus; i++)
		image_vcpu_ids(&guest.image)[i] = i;
	source = image_to_file(&guest.image, MAX_VCPUS, STATSFILE_MMAP);
	*vm = guest.pid;
	pthread_mutex_lock(&guests_lock);
	if (guests[source.fd].pid)
		image_free(&guests[source.fd].image);
	guests[source.fd] = guest;
	pthread_mutex_unlock(&guests_lock);
	return source.fd;
}

static bool host_is_dead(int stats)
{
	int fd = open_in(guests[stats].pid, "comm", O_PATH);

	if (fd >= 0)
		close(fd);
	return fd < 0;
}

static const struct host top_host = {
	.list = host_list,
	.list_fds = host_list_fds,
	.identify = host_identify,
	.thread_group = host_thread_group,
	.read_threads = host_read_threads,
	.get_stats = host_get_stats,
	.open_process = host_open_process,
	.is_gone = host_is_gone,
	.is_dead = host_is_dead,
	.access = STATSFILE_MMAP,
};

static void count(const struct guest *guest, double seconds)
{
	unsigned int i;

	for (i = 0; i < guest->vcpus; i++) {
		uint64_t *value = image_vcpu_values(&guest->image, i);

		value[EXITS] = guest->exits * (i + 1) * seconds;
		value[HALTS] = guest->halts * (i + 1) * seconds;
		value[INJECTIONS] = guest->injections * (i + 1) * seconds;
		value[IO] = value[EXITS] - value[HALTS];
		value[WAIT_NS] = value[HALTS] * 1000;
		/* Bucket 10: 512 to 1024 ns. The count is the largest of all statistics. */
		value[WAIT_HIST + 10] = value[HALTS] * 3;
	}
}

static void *run_guests(void *unused)
{
	uint64_t start_ns = monotonic_ns();
	double seconds;
	size_t i;

	(void)unused;
	for (;;) {
		seconds = (double)(monotonic_ns() - start_ns) / NSEC_PER_SEC;
		pthread_mutex_lock(&guests_lock);
		for (i = 0; i < MAX_FDS; i++) {
			if (guests[i].pid)
				count(&guests[i], seconds);
		}
		pthread_mutex_unlock(&guests_lock);
		usleep(STEP_US);
	}
	return NULL;
}

/* Starts the threads, with signals blocked: the main thread handles them. */
static void start_guests(void)
{
	sigset_t all, before;
	pthread_t thread;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, NULL, run_guests, NULL) || pthread_detach(thread))
		abort();
	sigprocmask(SIG_SETMASK, &before, NULL);
}

int main(int argc, char **argv)
{
	uint64_t interval_ns = NSEC_PER_SEC;
	struct host host = top_host;
	struct inventory inventory;
	size_t i;
	int status;

	if (argc < 2 || (argc > 2 && parse_seconds(argv[2], 1, UINT64_MAX, &interval_ns)))
		return STATUS_USAGE;
	proc = argv[1];
	host.proc = proc;
	confine = keep_privileges;
	start_guests();
	discover_init(&inventory, &host);
	status = run_top(&inventory, interval_ns);
	inventory_free(&inventory);
	pthread_mutex_lock(&guests_lock);
	for (i = 0; i < MAX_FDS; i++) {
		if (guests[i].pid)
			image_free(&guests[i].image);
		guests[i].pid = 0;
	}
	pthread_mutex_unlock(&guests_lock);
	return status;
}
