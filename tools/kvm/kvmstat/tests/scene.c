// SPDX-License-Identifier: GPL-2.0
/*
 * A host and a clock for tests of recordings.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "image.h"
#include "scene.h"
#include "util/util.h"

#define MAX_FDS 256
#define VCPU_MAX 4

/* 2009-02-13 23:31:30 UTC */
#define START_REAL UINT64_C(1234567890)
/* Not a whole number of seconds, so that mixing up the clocks shows. */
#define START_NS UINT64_C(86400123456789)

static const struct image_stat vm_stats[] = {
	STAT_LEVEL("online_vcpus"),
	{ .name = "remote_tlb_flush", },
	{ .name = "max_mmu_page_hash_collisions", .flags = KVM_STATS_TYPE_PEAK, },
	{},
};

static const struct image_stat vcpu_stats[] = {
	{ .name = "exits", },
	{ .name = "halt_exits", },
	{ .name = "io_exits", },
	{ .name = "irq_injections", },
	STAT_NS("halt_poll_ns"),
	STAT_BOOL("guest_mode"),
	STAT_HIST_NS("halt_wait_hist", 8),
	{
		.name = "size_hist",
		.flags = KVM_STATS_TYPE_LINEAR_HIST | KVM_STATS_UNIT_BYTES | KVM_STATS_BASE_POW2,
		.exponent = 3,
		.size = 4,
		.bucket_size = 64,
	},
	STAT_REASONS("exit_reasons", 5, "interrupt", "io", "", "hlt", "other"),
	STAT_STATE("state", "guest", "host"),
	STAT_SINCE("state_since_ns"),
	STAT_REASON_NS("exit_reason_ns", 3, "interrupt", "", "other"),
	{},
};

/* A VM: the seconds in which it exists, and when it gets its second vCPU. */
static const struct guest {
	pid_t pid;
	const char *name;
	const char *renamed;
	unsigned int first, last, grows;
	bool windows;
	bool closed;
} guests[] = {
	{ .pid = SCENE_WHOLE_PID, .name = "web", .renamed = "web-2", .last = SCENE_SECONDS,
	  .grows = 3, .windows = true, },
	{ .pid = SCENE_WHOLE_PID, .name = "web", .renamed = "web-2", .first = 4,
	  .last = SCENE_SECONDS, .grows = 4, .windows = true, },
	{ .pid = SCENE_SHORT_PID, .name = "short \"one\"", .first = 2, .last = 5,
	  .windows = true, },
	{ .pid = SCENE_SPLIT_PID, .name = "db", .last = 6, .grows = 2, },
	{ .pid = SCENE_SPLIT_PID, .name = "db", .first = 8, .last = SCENE_SECONDS, .grows = 0, },
	{ .pid = SCENE_CLOSED_PID, .name = "closed", .last = SCENE_SECONDS, .closed = true, },
};

/* Indexed by the file descriptor of a statistics file. */
static struct open_file {
	const struct guest *guest;
	struct image image;
	unsigned int vcpu;		/* plus 1; 0: of the VM */
} files[MAX_FDS];
static pid_t pids[MAX_FDS];		/* of a process, by its pidfd */
static unsigned int second;

unsigned int scene_interrupted_at = SCENE_SECONDS;
unsigned int scene_closed_since;
bool scene_is_newer_kernel;
void (*scene_on_second)(unsigned int second);

static bool is_there(const struct guest *guest)
{
	unsigned int first = guest->closed ? scene_closed_since : guest->first;

	return first <= second && second < guest->last;
}

static unsigned int num_vcpus(const struct guest *guest)
{
	return second >= guest->grows ? 2 : 1;
}

static unsigned int vcpu_id(unsigned int index)
{
	return index * 7;
}

/* Values: small and large steps, no steps, and a counter that is reset. */
static uint64_t value_at(const struct guest *guest, unsigned int object, unsigned int index,
			 uint64_t at)
{
	uint64_t seed = 1 + (guest - guests) * 31 + object * 8 + index;

	switch (seed % 5) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX - 1000000 + at * seed;
	case 2:
		return at == 7 ? 3 : at * seed * seed * 1001;
	case 3:
		return at / 3;
	default:
		return (at * seed) << 20;
	}
}

static uint64_t value_of(const struct guest *guest, unsigned int object, unsigned int index)
{
	return value_at(guest, object, index, second < guest->last ? second : guest->last);
}

uint64_t scene_exits(pid_t pid, unsigned int at)
{
	const struct guest *guest = guests;
	uint64_t exits;

	while (guest->pid != pid)
		guest++;
	exits = value_at(guest, 1, 0, at);
	if (at >= guest->grows)
		exits += value_at(guest, 2, 0, at);
	return exits;
}

static void set_values(uint64_t *values, const struct image_stat *stats,
		       const struct guest *guest, unsigned int object)
{
	unsigned int i, index = 0;

	for (; stats->name; stats++) {
		for (i = 0; i < (stats->size ? stats->size : 1); i++, index++)
			values[index] = value_of(guest, object, index);
	}
}

/* The first guest has the statistics of this series. */
static const struct image_stat *vm_stats_of(const struct guest *guest)
{
	return !guest->windows && scene_is_newer_kernel ? vm_stats + 1 : vm_stats;
}

static void set_file(struct open_file *file)
{
	const struct guest *guest = file->guest;
	const struct image_stat *stats = vm_stats_of(guest);
	unsigned int i;

	if (file->vcpu) {
		set_values(image_values(&file->image), vcpu_stats, guest, file->vcpu);
		return;
	}
	set_values(image_values(&file->image), stats, guest, 0);
	if (stats == vm_stats)
		image_values(&file->image)[0] = num_vcpus(guest);
	for (i = 0; guest->windows && i < num_vcpus(guest); i++) {
		image_vcpu_ids(&file->image)[i] = vcpu_id(i);
		set_values(image_vcpu_values(&file->image, i), vcpu_stats, guest, i + 1);
	}
}

static void set_second(unsigned int next)
{
	size_t i;

	second = next;
	for (i = 0; i < MAX_FDS; i++) {
		if (files[i].guest)
			set_file(&files[i]);
	}
}

void scene_start(unsigned int from)
{
	size_t i;

	for (i = 0; i < MAX_FDS; i++) {
		if (files[i].guest)
			image_free(&files[i].image);
		files[i].guest = NULL;
	}
	set_second(from);
}

/* A file descriptor is the index of the guest times 16, plus 1 for each vCPU. */
static int scene_list_fds(const struct host *host, pid_t pid, struct proc_fds *fds)
{
	unsigned int i, vcpu;

	(void)host;
	*fds = (struct proc_fds) {};
	for (i = 0; i < ARRAY_SIZE(guests); i++) {
		if (guests[i].pid != pid || !is_there(&guests[i]))
			continue;
		fds->entry = xreallocarray(fds->entry, fds->count + 3, sizeof(*fds->entry));
		fds->entry[fds->count++] = (struct proc_fd) { .fd = i * 16, .link = LINK_VM, };
		for (vcpu = 0; vcpu < num_vcpus(&guests[i]); vcpu++)
			fds->entry[fds->count++] = (struct proc_fd) {
				.fd = i * 16 + vcpu + 1,
				.link = vcpu_id(vcpu),
			};
	}
	return 0;
}

static int scene_list(const struct host *host, struct proc_list *list)
{
	struct proc_process process;

	*list = (struct proc_list) {};
	for (process.pid = 1; process.pid < 40; process.pid++) {
		process.err = 0;
		scene_list_fds(host, process.pid, &process.fds);
		if (process.fds.count)
			proc_list_add(list, &process);
	}
	return 0;
}

static bool scene_identify(const struct host *host, pid_t pid, struct identity *identity)
{
	unsigned int i;

	(void)host;
	for (i = 0; i < ARRAY_SIZE(guests); i++) {
		if (guests[i].pid == pid)
			identity_of_name(identity, guests[i].renamed && second >= 4 ?
					 guests[i].renamed : guests[i].name);
	}
	return true;
}

static bool has_pid(pid_t pid)
{
	struct proc_fds fds;

	scene_list_fds(NULL, pid, &fds);
	free(fds.entry);
	return fds.count;
}

static pid_t scene_thread_group(const struct host *host, pid_t pid)
{
	(void)host;
	return has_pid(pid) ? pid : 0;
}

/* The scene has no threads. */
static int scene_read_threads(const struct host *host, pid_t pid, unsigned int num_vcpus,
			      struct proc_threads *threads)
{
	(void)host;
	(void)pid;
	(void)num_vcpus;
	(void)threads;
	return -ENOENT;
}

static int scene_get_stats(const struct host *host, pid_t pid, const struct proc_fd *fd,
			   uint64_t *vm, struct host_error *error)
{
	const struct guest *guest = &guests[fd->fd / 16];
	struct open_file file = { .guest = guest, .vcpu = fd->fd % 16, };
	struct statsfile_source source;
	char id[32];

	(void)host;
	*error = (struct host_error) { .step = HOST_STATS, .err = EIO, };
	if (guest->closed)
		return -1;
	snprintf(id, sizeof(id), "kvm-%d", pid);
	if (guest->windows)
		file.image = image_build_ext(id, vm_stats, vcpu_stats, VCPU_MAX);
	else if (file.vcpu)
		file.image = image_build_ext(id, vcpu_stats, NULL, 0);
	else
		file.image = image_build(id, vm_stats_of(guest));
	source = image_to_file(&file.image, VCPU_MAX, STATSFILE_MMAP);
	set_file(&file);
	if (files[source.fd].guest)
		image_free(&files[source.fd].image);
	files[source.fd] = file;
	*vm = 1 + (guest - guests);
	return source.fd;
}

static int scene_open_process(const struct host *host, pid_t pid, struct host_error *error)
{
	int fd = -1;

	(void)host;
	*error = (struct host_error) { .step = HOST_OPEN, .err = ESRCH, };
	if (has_pid(pid))
		fd = eventfd(0, EFD_CLOEXEC);
	if (fd >= 0)
		pids[fd] = pid;
	return fd;
}

static bool scene_is_gone(int process)
{
	return !has_pid(pids[process]);
}

static bool scene_is_dead(int stats)
{
	return !is_there(files[stats].guest);
}

const struct host scene_host = {
	.proc = "scene",
	.list = scene_list,
	.list_fds = scene_list_fds,
	.identify = scene_identify,
	.thread_group = scene_thread_group,
	.read_threads = scene_read_threads,
	.get_stats = scene_get_stats,
	.open_process = scene_open_process,
	.is_gone = scene_is_gone,
	.is_dead = scene_is_dead,
	.access = STATSFILE_MMAP,
};

static uint64_t scene_now_ns(void)
{
	return START_NS + second * NSEC_PER_SEC;
}

static struct timespec scene_real(void)
{
	return (struct timespec) { .tv_sec = START_REAL + second, .tv_nsec = 7 * second, };
}

static enum event scene_pause_until(int signals, int pidfd, uint64_t end_ns)
{
	(void)signals;
	while (scene_now_ns() < end_ns) {
		if (second == scene_interrupted_at)
			return EVENT_INTERRUPTED;
		set_second(second + 1);
		if (scene_on_second)
			scene_on_second(second);
		if (pidfd >= 0 && scene_is_gone(pidfd))
			return EVENT_READABLE;
	}
	return EVENT_TIME;
}

const struct time_source scene_time = {
	.now_ns = scene_now_ns,
	.real = scene_real,
	.pause_until = scene_pause_until,
	.interval.ns = NSEC_PER_SEC,
};
