// SPDX-License-Identifier: GPL-2.0
/*
 * Reads this host into frames: finds processes with KVM file descriptors, takes those with
 * pidfd_getfd(), and reads their statistics files and /proc. A thread scans, because any process
 * can block a reader of its files; if it hangs, another thread takes over without that process.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "abi.h"
#include "kvmstat.h"

#define SCAN_NS (SEC * 9 / 10)

struct live_vm {
	unsigned int key;
	pid_t pid;
	int pidfd;
	char name[256];
	int fd;				/* the VM's statistics file, or -1 */
	struct layout layout, vcpu_layout;
	unsigned char *header, *vcpu_header;
	size_t header_size, vcpu_header_size;
	const unsigned char *windows;	/* mapped, or NULL */
	struct live_vcpu {
		uint32_t id;
		int fd;			/* -1 with windows */
	} *vcpu;
	size_t num_vcpus;
};

struct live {
	struct source source;
	struct live_vm *vm;
	size_t count;
	unsigned int num_keys;
	uint64_t scanned_ns;
	pthread_mutex_t lock;		/* of all above */
	volatile pid_t asked;		/* the process that the scanner asks, and since when */
	volatile uint64_t asked_ns;
	pid_t hung[64];
	size_t num_hung;
	unsigned int generation;	/* a scanner of an older one ends */
};

static unsigned char *read_all(const char *path, size_t most, size_t *size)
{
	unsigned char *data = xcalloc(most + 1, 1);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t count = 0;

	*size = 0;
	while (fd >= 0 && *size < most && (count = read(fd, data + *size, most - *size)) > 0)
		*size += count;
	if (fd >= 0)
		close(fd);
	if (*size)
		return data;
	free(data);
	return NULL;
}

PRINTF(3, 4)
static void read_file(struct frame *frame, const char *name, const char *format, ...)
{
	unsigned char *data;
	char path[256];
	va_list args;
	size_t size;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	data = read_all(path, 4096, &size);
	if (data)
		frame_add(frame, data, size, "%s", name);
}

/* The name in QEMU's -name, or the program's. */
static void identify(pid_t pid, char *name, size_t size)
{
	char path[64], *at, *end;
	unsigned char *text;
	size_t length;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	text = read_all(path, 64, &length);
	snprintf(name, size, "%.*s", text ? (int)strcspn((char *)text, "\n") : 0, text);
	free(text);
	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	text = read_all(path, 65536, &length);
	for (at = (char *)text, end = at + length; at && at < end; at += strlen(at) + 1) {
		if (strcmp(at + (*at == '-'), "-name") && strcmp(at, "-name"))
			continue;
		at += strlen(at) + 1;
		if (at < end && *at)
			snprintf(name, size, "%.*s", (int)strcspn(at + 6 * !strncmp(at, "guest=", 6), ","),
				 at + 6 * !strncmp(at, "guest=", 6));
		break;
	}
	free(text);
	make_printable(name);
}

/* -1: a VM, 0 and up: a vCPU, -2: another file. */
static int parse_link(const char *link, bool *is_stats)
{
	int vcpu, end = 0;

	*is_stats = strstr(link, "-stats");
	if (!strcmp(link, "anon_inode:kvm-vm") || !strcmp(link, "anon_inode:kvm-vm-stats"))
		return -1;
	if ((sscanf(link, "anon_inode:kvm-vcpu:%d%n", &vcpu, &end) == 1 ||
	     sscanf(link, "anon_inode:kvm-vcpu-stats:%d%n", &vcpu, &end) == 1) && !link[end])
		return vcpu;
	return -2;
}

/* Takes a file of the process; opens the statistics file of a VM or vCPU. */
static int take_file(int pidfd, int fd, const char *link, bool is_stats)
{
	int taken = syscall(SYS_pidfd_getfd, pidfd, fd, 0), stats;
	char path[64], now[64] = "";

	if (taken < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", taken);
	if (readlink(path, now, sizeof(now) - 1) < 0 || strcmp(now, link)) {
		close(taken);
		return -1;
	}
	if (is_stats)
		return taken;
	stats = ioctl(taken, STATS_GET_FD, 0);
	close(taken);
	return stats;
}

static unsigned char *read_header(int fd, struct layout *layout, size_t *size)
{
	struct stats_header header;
	unsigned char *bytes;
	const char *wrong;

	if (pread(fd, &header, sizeof(header), 0) != sizeof(header) || header.data_offset > 1 << 20)
		return NULL;
	bytes = xcalloc(header.data_offset, 1);
	*size = pread(fd, bytes, header.data_offset, 0) == header.data_offset ? header.data_offset : 0;
	wrong = parse_file(bytes, *size, layout);
	if (!wrong)
		return bytes;
	complain("malformed statistics file: %s", wrong);
	free(bytes);
	return NULL;
}

static struct live_vm *find_vm(struct live *live, pid_t pid)
{
	size_t i;

	for (i = 0; i < live->count; i++) {
		if (live->vm[i].pid == pid)
			return &live->vm[i];
	}
	return NULL;
}

static void take_vm(struct live_vm *vm, int fd)
{
	vm->header = read_header(fd, &vm->layout, &vm->header_size);
	if (!vm->header) {
		close(fd);
		return;
	}
	vm->fd = fd;
	if (!vm->layout.vcpu_max)
		return;
	vm->windows = mmap(NULL, (size_t)vm->layout.vcpu_max * vm->layout.vcpu_stride, PROT_READ,
			   MAP_SHARED, fd, vm->layout.windows_offset);
	if (vm->windows == MAP_FAILED)
		vm->windows = NULL;
}

static void take_vcpu(struct live_vm *vm, int fd, uint32_t id)
{
	struct layout layout;
	size_t size;
	unsigned char *header = read_header(fd, &layout, &size);

	if (header && vm->vcpu_header && layout.schema != vm->vcpu_layout.schema) {
		complain("vCPU %u is left out, it has other statistics", id);
		free(header);
		header = NULL;
	}
	if (!header) {
		close(fd);
		return;
	}
	if (vm->vcpu_header) {
		free(header);
	} else {
		vm->vcpu_header = header;
		vm->vcpu_header_size = size;
		vm->vcpu_layout = layout;
	}
	vm->vcpu = xgrow(vm->vcpu, vm->num_vcpus, sizeof(*vm->vcpu));
	vm->vcpu[vm->num_vcpus++] = (struct live_vcpu) { id, fd, };
}

static bool has_vcpu(const struct live_vm *vm, int id)
{
	size_t i;

	for (i = 0; i < vm->num_vcpus; i++) {
		if (vm->vcpu[i].id == (uint32_t)id)
			return true;
	}
	return false;
}

/* Two passes: VMs, then vCPUs. All of a process count as one VM. */
static void look_at(struct live *live, pid_t pid)
{
	char path[64], link[64];
	struct live_vm *vm = find_vm(live, pid);
	const struct dirent *entry;
	int pass, kind, fd, pidfd = -1;
	bool is_stats;
	uint64_t number;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	for (pass = 0; dir && pass < 2; pass++, rewinddir(dir)) {
		while ((entry = readdir(dir))) {
			memset(link, 0, sizeof(link));
			if (!parse_u64(entry->d_name, &number) ||
			    readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1) < 0)
				continue;
			kind = parse_link(link, &is_stats);
			if (kind == -2 || (kind >= 0) != pass)
				continue;
			if (!vm) {
				pidfd = syscall(SYS_pidfd_open, pid, 0);
				if (pidfd < 0)
					break;
				live->vm = xgrow(live->vm, live->count, sizeof(*vm));
				vm = &live->vm[live->count++];
				*vm = (struct live_vm) {
					.key = ++live->num_keys, .pid = pid, .pidfd = pidfd, .fd = -1,
				};
				identify(pid, vm->name, sizeof(vm->name));
			}
			if (kind < 0 ? vm->fd >= 0 : vm->windows || has_vcpu(vm, kind))
				continue;
			fd = take_file(vm->pidfd, number, link, is_stats);
			if (fd >= 0 && kind < 0)
				take_vm(vm, fd);
			else if (fd >= 0)
				take_vcpu(vm, fd, kind);
		}
	}
	if (dir)
		closedir(dir);
}

static bool is_over(const struct live_vm *vm)
{
	struct pollfd fd = { .fd = vm->pidfd, .events = POLLIN, };
	struct pollfd file = { .fd = vm->fd, };

	return poll(&fd, 1, 0) == 1 ||
	       (vm->fd >= 0 && poll(&file, 1, 0) == 1 && file.revents & POLLHUP);
}

static void forget(struct live_vm *vm)
{
	size_t i;

	for (i = 0; i < vm->num_vcpus; i++)
		close(vm->vcpu[i].fd);
	if (vm->fd >= 0)
		close(vm->fd);
	close(vm->pidfd);
	if (vm->windows)
		munmap((void *)vm->windows, (size_t)vm->layout.vcpu_max * vm->layout.vcpu_stride);
	free(vm->vcpu);
	free(vm->header);
	free(vm->vcpu_header);
}

static bool is_hung(const struct live *live, pid_t pid)
{
	size_t i;

	for (i = 0; i < live->num_hung; i++) {
		if (live->hung[i] == pid)
			return true;
	}
	return false;
}

static void *scan(void *context)
{
	struct live *live = context;
	unsigned int generation = live->generation;
	const struct dirent *entry;
	uint64_t pid;
	DIR *proc = opendir("/proc");

	while (proc && (entry = readdir(proc)) && generation == live->generation) {
		if (!parse_u64(entry->d_name, &pid) || is_hung(live, pid) || (pid_t)pid == getpid())
			continue;
		live->asked_ns = clock_ns(CLOCK_MONOTONIC);
		live->asked = pid;
		look_at(live, pid);
	}
	if (proc)
		closedir(proc);
	if (generation == live->generation)
		live->asked = 0;
	return NULL;
}

/* Scans in a thread. A process that takes longer than a quarter of a second is left out. */
static void rescan(struct live *live)
{
	pthread_t thread;

	do {
		live->asked = -1;
		live->asked_ns = clock_ns(CLOCK_MONOTONIC);
		if (pthread_create(&thread, NULL, scan, live))
			return;
		pthread_detach(thread);
		while (live->asked && clock_ns(CLOCK_MONOTONIC) - live->asked_ns < SEC / 4)
			usleep(500);
		if (!live->asked)
			return;
		complain("pid %d: reading from it takes too long; it is left out", live->asked);
		live->hung[live->num_hung++] = live->asked;
		live->generation++;
	} while (live->num_hung < ARRAY_SIZE(live->hung));
}

static void read_threads(struct frame *frame, const struct live_vm *vm)
{
	static const char * const files[] = { "schedstat", "stat", "syscall", };
	const struct dirent *entry;
	char path[64], name[320], *text;
	size_t size, i;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", vm->pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(name, sizeof(name), "/proc/%d/task/%s/stat", vm->pid, entry->d_name);
		text = (char *)read_all(name, 4096, &size);
		/* Only threads that are named as vCPUs: the prototype knows QEMU's. */
		if (text && strstr(text, "(CPU ") && strstr(text, "/KVM)")) {
			for (i = 0; i < ARRAY_SIZE(files); i++) {
				snprintf(name, sizeof(name), "vm/%u/task/%s/%s", vm->key,
					 entry->d_name, files[i]);
				read_file(frame, name, "/proc/%d/task/%s/%s", vm->pid,
					  entry->d_name, files[i]);
			}
			snprintf(name, sizeof(name), "vm/%u/cpu.stat/%s", vm->key, entry->d_name);
		}
		free(text);
	}
	if (dir)
		closedir(dir);
	snprintf(name, sizeof(name), "vm/%u/stat", vm->key);
	read_file(frame, name, "/proc/%d/stat", vm->pid);
}

/* The quota's statistics, in cgroup v2 or v1: of the process' cgroup and all above. */
static void read_cgroup(struct frame *frame, const struct live_vm *vm)
{
	static const char * const roots[][2] = {
		{ "0::/", "/sys/fs/cgroup", }, { ":cpu:/", "/sys/fs/cgroup/cpu", },
		{ ":cpu,cpuacct:/", "/sys/fs/cgroup/cpu,cpuacct", },
	};
	char path[64], name[64], *text, *at, *end;
	size_t size, i;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", vm->pid);
	text = (char *)read_all(path, 4096, &size);
	for (i = 0; text && i < ARRAY_SIZE(roots); i++) {
		at = strstr(text, roots[i][0]);
		if (!at)
			continue;
		at = xasprintf("%.*s", (int)strcspn(strchr(at, '/'), "\n"), strchr(at, '/'));
		while ((end = strrchr(at, '/'))) {
			snprintf(name, sizeof(name), "vm/%u/cpu.stat/%zu.%zu", vm->key, i, strlen(at));
			read_file(frame, name, "%s%s/cpu.stat", roots[i][1], at);
			*end = '\0';
		}
		free(at);
	}
	free(text);
}

static void add_copy(struct frame *frame, const unsigned char *data, size_t size, bool is_schema,
		     unsigned int key, const char *name)
{
	unsigned char *copy = xcalloc(size, 1);

	memcpy(copy, data, size);
	frame_add(frame, copy, size, "vm/%u/%s", key, name)->is_schema = is_schema;
}

static void read_vm(struct frame *frame, struct live_vm *vm)
{
	size_t own = vm->header ? vm->layout.schema->num_values : 0, n, i, count = vm->num_vcpus;
	const struct schema *schema = vm->layout.vcpu_schema ?: vm->vcpu_layout.schema;
	uint64_t *data = xcalloc(own, 8);
	char *who = xasprintf("pid=%d\nname=%s\n", vm->pid, vm->name);
	uint32_t *ids;

	frame_add(frame, who, strlen(who), "vm/%u/who", vm->key);
	if (vm->header) {
		pread(vm->fd, data, own * 8, vm->layout.data_offset);
		add_copy(frame, vm->header, vm->header_size, true, vm->key, "header");
		frame_add(frame, data, own * 8, "vm/%u/data", vm->key);
	}
	if (vm->windows)
		count = data[find_desc(vm->layout.schema, "online_vcpus")->first];
	if (vm->vcpu_header)
		add_copy(frame, vm->vcpu_header, vm->vcpu_header_size, true, vm->key, "vcpu-header");
	if (schema) {
		n = schema->num_values;
		ids = xcalloc(count, 4);
		data = xcalloc(count, n * 8);
		if (vm->windows)
			pread(vm->fd, ids, count * 4, vm->layout.vcpu_id_offset);
		for (i = 0; i < count; i++) {
			if (vm->windows) {
				memcpy(data + i * n, vm->windows + i * vm->layout.vcpu_stride, n * 8);
			} else {
				ids[i] = vm->vcpu[i].id;
				pread(vm->vcpu[i].fd, data + i * n, n * 8, vm->vcpu_layout.data_offset);
			}
		}
		frame_add(frame, ids, count * 4, "vm/%u/vcpu-ids", vm->key);
		frame_add(frame, data, count * n * 8, "vm/%u/vcpu-data", vm->key);
	}
	read_threads(frame, vm);
	read_cgroup(frame, vm);
}

static bool live_next(struct source *source, struct frame *frame, uint64_t wait_ns)
{
	struct live *live = (struct live *)source;
	uint64_t end_ns = source->mono_ns + wait_ns;
	const struct timespec end = { end_ns / SEC, end_ns % SEC, };
	size_t i, kept;

	*frame = (struct frame) {};
	if (wait_ns && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL))
		return false;
	if (!live->scanned_ns || clock_ns(CLOCK_MONOTONIC) - live->scanned_ns >= SCAN_NS) {
		rescan(live);
		live->scanned_ns = clock_ns(CLOCK_MONOTONIC);
	}
	for (i = kept = 0; i < live->count; i++) {
		if (is_over(&live->vm[i]))
			forget(&live->vm[i]);
		else
			live->vm[kept++] = live->vm[i];
	}
	live->count = kept;
	frame->real_ns = clock_ns(CLOCK_REALTIME);
	source->mono_ns = frame->mono_ns = clock_ns(CLOCK_MONOTONIC);
	for (i = 0; i < live->count; i++)
		read_vm(frame, &live->vm[i]);
	return true;
}

struct source *live_open(void)
{
	static struct live live = { .source.next = live_next, };

	return &live.source;
}
