// SPDX-License-Identifier: GPL-2.0
/*
 * Reads this host into frames: finds processes with KVM file descriptors, takes those with
 * pidfd_getfd(), and reads their statistics files and /proc.
 *
 * A process can block a reader of its files. Therefore a thread reads; if it does not come back
 * in time, the next thread goes on without that process. The thread holds the lock, except while
 * it reads from a process: see ask() and answered().
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "abi.h"
#include "kvmstat.h"

#define SCAN_NS (SEC * 9 / 10)
#define TICK_NS (SEC / 20)
#define MOST_BLOCKED 5			/* ticks */
/* Scans, for a process without a VM: until its files are counted, and until they are read. */
#define MOST_SKIPS 8
#define MOST_UNREAD 64
#define MUCH_WAITED (SEC / 100)
#define SPARE_FILES 32			/* for /proc */

struct live_vm {
	unsigned int key;
	pid_t pid;
	int pidfd;
	int number;			/* the process' descriptor, or -1: only vCPUs' files */
	int fd;				/* the VM's statistics file, or -1 */
	uint64_t bpf_vm;		/* or 0 */
	bool seen;			/* in this scan */
	char *who;
	struct layout layout, vcpu_layout;
	unsigned char *header, *vcpu_header;
	size_t header_size, vcpu_header_size;
	const unsigned char *windows;	/* mapped, or NULL */
	struct live_vcpu {
		uint32_t id;
		int fd;			/* -1 with windows */
	} *vcpu;
	size_t num_vcpus;
	struct live_thread {
		pid_t tid;
		uint64_t ready;
		char *cgroup, *status;	/* as read at the last scan */
	} *thread;
	size_t num_threads;
};

struct live {
	struct source source;
	struct live_vm *vm;
	size_t count;
	unsigned int num_keys;
	uint64_t scanned_ns;
	struct frame frame;
	struct checked {
		pid_t pid;
		ino_t inode;		/* of /proc/PID: another process has another one */
		off_t files;		/* how many it has open; 0 before Linux 6.2 */
		bool denied;
		unsigned int vms, checks, skips, scan, read;
	} *checked;
	size_t num_checked;
	unsigned int scan, denied, missing, seen, unowned, unseen;
	unsigned int bpf;		/* 0: values come from statistics files */
	pthread_mutex_t lock;		/* of all above and below */
	pthread_cond_t answer;
	unsigned int generation;	/* a reader of an older one ends */
	pid_t reader;			/* its tid */
	pid_t asked;			/* the process that is being read; 0: none */
	unsigned int blocked;		/* ticks in a row */
	bool done;
	struct {			/* a reader waits for each */
		pid_t pid;
		unsigned int frames;	/* without it */
	} hung[64];
	size_t num_hung;
};

static struct live live = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.answer = PTHREAD_COND_INITIALIZER,
	.unowned = UINT_MAX,
};
volatile bool is_over;
static __thread unsigned int generation;

static void ask(pid_t pid)
{
	live.asked = pid;
	live.blocked = 0;
	pthread_mutex_unlock(&live.lock);
}

/* Ends the thread if another one has taken over. */
static void answered(pid_t pid)
{
	size_t i;

	pthread_mutex_lock(&live.lock);
	if (generation == live.generation) {
		live.asked = 0;
		return;
	}
	for (i = 0; i < live.num_hung; i++) {
		if (live.hung[i].pid == pid)
			live.hung[i--] = live.hung[--live.num_hung];
	}
	pthread_mutex_unlock(&live.lock);
	pthread_exit(NULL);
}

static bool is_hung(pid_t pid)
{
	size_t i;

	for (i = 0; i < live.num_hung; i++) {
		if (live.hung[i].pid == pid)
			return true;
	}
	return false;
}

/* Returns NULL if it is empty. A NUL follows the text. @pid: the process that may block, or 0. */
static char *read_text(pid_t pid, size_t most, size_t *size, const char *path)
{
	static __thread char buffer[64 * 1024];
	ssize_t count = 0;
	size_t length = 0;
	int fd;

	if (pid)
		ask(pid);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	while (fd >= 0 && length < most && (count = read(fd, buffer + length, most - length)) > 0) {
		length += count;
		/* Most files of /proc are read at once. */
		if ((size_t)count < 1024 && most <= 4096)
			break;
	}
	if (fd >= 0)
		close(fd);
	if (pid)
		answered(pid);
	if (size)
		*size = length;
	if (!length)
		return NULL;
	char *text = xcalloc(length + 1, 1);

	memcpy(text, buffer, length);
	return text;
}

PRINTF(2, 3) static char *read_proc(pid_t pid, const char *shape, ...)
{
	char path[320];
	va_list args;

	va_start(args, shape);
	vsnprintf(path, sizeof(path), shape, args);
	va_end(args);
	return read_text(pid, 4096, NULL, path);
}

/* Records the identity of a process, without its command line, which may have secrets. */
static char *describe(pid_t pid, struct identity *identity)
{
	struct proc_files files = {
		.pid = pid, .run = open("/run", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	};
	char path[64], *text;
	size_t size, i;
	FILE *out;

	files.comm = read_proc(pid, "/proc/%d/comm", pid);
	files.stat = read_proc(pid, "/proc/%d/stat", pid);
	files.cgroup = read_proc(pid, "/proc/%d/cgroup", pid);
	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	files.cmdline = read_text(pid, 64 * 1024 - 1, &files.cmdline_size, path);
	identify(identity, &files);
	close(files.run);
	free((char *)files.comm);
	free((char *)files.stat);
	free((char *)files.cgroup);
	free((char *)files.cmdline);
	out = open_memstream(&text, &size);
	fprintf(out, "pid=%d\nstarted=%llu\n", pid, (unsigned long long)identity->started);
	for (i = 0; i < NUM_IDS; i++) {
		if (identity->text[i])
			fprintf(out, "%s=%s\n%s.trust=%u\n", identity_labels[i], identity->text[i],
				identity_labels[i], identity->trust[i]);
	}
	fclose(out);
	return text;
}

/* -1: a VM, 0 and up: a vCPU, -2: another file. */
static int parse_link(const char *link, bool *is_stats)
{
	const char *colon;
	uint64_t vcpu;

	if (strncmp(link, "anon_inode:kvm-v", 16))
		return -2;
	colon = strchr(link + 16, ':');
	*is_stats = strstr(link, "-stats");
	if (!strcmp(link + 15, "vm") || !strcmp(link + 15, "vm-stats"))
		return -1;
	return colon && parse_u64(colon + 1, &vcpu) && vcpu <= INT_MAX ? (int)vcpu : -2;
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
		errno = EBADF;
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

static bool take_vm(struct live_vm *vm, int fd)
{
	void *windows;

	vm->header = read_header(fd, &vm->layout, &vm->header_size);
	if (!vm->header) {
		close(fd);
		return false;
	}
	vm->fd = fd;
	if (!vm->layout.vcpu_max || vm->layout.vcpu_schema->not_mapped)
		return true;
	windows = mmap(NULL, (size_t)vm->layout.vcpu_max * vm->layout.vcpu_stride, PROT_READ,
		       MAP_SHARED, fd, vm->layout.windows_offset);
	vm->windows = windows == MAP_FAILED ? NULL : windows;
	return true;
}

static void take_vcpu(struct live_vm *vm, int fd, uint32_t id)
{
	struct layout layout;
	size_t size;
	unsigned char *header = read_header(fd, &layout, &size);

	if (header && vm->vcpu_header && layout.schema != vm->vcpu_layout.schema) {
		complain("vCPU %u is left out, its statistics differ from other vCPUs'", id);
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

static void forget_threads(struct live_vm *vm)
{
	size_t i;

	for (i = 0; i < vm->num_threads; i++) {
		free(vm->thread[i].cgroup);
		free(vm->thread[i].status);
	}
	free(vm->thread);
	vm->thread = NULL;
	vm->num_threads = 0;
}

static void forget(struct live_vm *vm)
{
	size_t i;

	for (i = 0; i < vm->num_vcpus; i++)
		close(vm->vcpu[i].fd);
	close(vm->fd);
	close(vm->pidfd);
	if (vm->windows)
		munmap((void *)vm->windows, (size_t)vm->layout.vcpu_max * vm->layout.vcpu_stride);
	forget_threads(vm);
	free(vm->vcpu);
	free(vm->header);
	free(vm->vcpu_header);
	free(vm->who);
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

/* The VM of the process' descriptor; or its first one, for vCPUs. */
static struct live_vm *find_vm(pid_t pid, int number)
{
	size_t i;

	for (i = 0; i < live.count; i++) {
		if (live.vm[i].pid == pid && (number < 0 || live.vm[i].number == number))
			return &live.vm[i];
	}
	return NULL;
}

static bool has_id(const char *id)
{
	size_t i;

	for (i = 0; i < live.count; i++) {
		if (live.vm[i].header && !strcmp(live.vm[i].layout.id, id))
			return true;
	}
	return false;
}

static struct live_vm *add_vm(struct live_vm vm, int pidfd, const char *who)
{
	vm.pidfd = fcntl(pidfd, F_DUPFD_CLOEXEC, 0);
	vm.who = xasprintf("%s", who);
	vm.key = ++live.num_keys;
	vm.seen = true;
	live.vm = xgrow(live.vm, live.count, sizeof(vm));
	live.vm[live.count] = vm;
	return &live.vm[live.count++];
}

struct found {
	int number, kind;
	bool is_stats;
	char link[64];
};

/* The process' KVM descriptors. */
static struct found *find_files(pid_t pid, size_t *count)
{
	struct found *found = NULL, one;
	const struct dirent *entry;
	uint64_t number;
	char path[64];
	ssize_t length;
	DIR *dir;

	*count = 0;
	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	ask(pid);
	dir = opendir(path);
	answered(pid);
	live.denied = !dir && errno == EACCES;
	if (!dir)
		return NULL;
	ask(pid);
	while ((entry = readdir(dir))) {
		if (!parse_u64(entry->d_name, &number))
			continue;
		length = readlinkat(dirfd(dir), entry->d_name, one.link, sizeof(one.link) - 1);
		if (length <= 0)
			continue;
		one.link[length] = '\0';
		one.number = number;
		one.kind = parse_link(one.link, &one.is_stats);
		if (one.kind == -2)
			continue;
		found = xgrow(found, *count, sizeof(one));
		found[(*count)++] = one;
	}
	closedir(dir);
	answered(pid);
	return found;
}

/*
 * Whether an older process, which forked this one, has all its VMs, by the same descriptors. The
 * kernel may lack kcmp().
 */
static bool is_child(pid_t pid, uint64_t started, const struct found *found, size_t count)
{
	size_t vms = 0, shared = 0, i, k;
	bool is_same;
	pid_t other;

	for (i = 0; i < count && !find_vm(pid, -1); i++) {
		if (found[i].kind != -1 || found[i].is_stats)
			continue;
		vms++;
		for (k = 0, is_same = false; k < live.count && !is_same; k++) {
			if (strtoull(strstr(live.vm[k].who, "started=") + 8, NULL, 10) > started)
				continue;
			other = live.vm[k].pid;
			ask(pid);
			is_same = !syscall(SYS_kcmp, other, pid, KCMP_FILE, found[i].number, found[i].number);
			answered(pid);
		}
		shared += is_same;
	}
	return vms && shared == vms;
}

/*
 * With @vm NULL, opens the statistics file of a VM; otherwise adds the file of a vCPU. False if
 * another process has the VM, or it has just ended.
 */
static bool open_found(struct live_vm *vm, const struct found *found, pid_t pid, int pidfd,
		       const char *who)
{
	struct live_vm new = { .pid = pid, .pidfd = -1, .number = found->number, .fd = -1, };
	struct rlimit limit;
	bool has_ended, is_full;
	int fd;

	ask(pid);
	fd = take_file(pidfd, found->number, found->link, found->is_stats);
	has_ended = fd < 0 && (errno == ESRCH || errno == EBADF);
	is_full = fd < 0 ? errno == EMFILE || errno == ENFILE :
		  !getrlimit(RLIMIT_NOFILE, &limit) && (rlim_t)fd + SPARE_FILES >= limit.rlim_cur;
	answered(pid);
	if (is_full) {
		live.missing++;
		complain("statistics are left out: raise the limit on open files (ulimit -n)");
		close(fd);
	}
	if (fd < 0 || is_full)
		return !has_ended;
	if (vm) {
		take_vcpu(vm, fd, found->kind);
	} else if (take_vm(&new, fd)) {
		if (new.layout.vcpu_max && has_id(new.layout.id)) {
			forget(&new);
			return false;
		}
		add_vm(new, pidfd, who);
	}
	return true;
}

/* Opens VMs, then vCPUs. Without the series, all vCPUs of a process count as one VM. */
static bool look_at(pid_t pid)
{
	struct identity identity;
	struct live_vm *vm;
	struct found *found;
	bool is_owner = true;
	size_t count, i;
	char *who;
	int pidfd;

	found = find_files(pid, &count);
	for (i = 0; i < count && found[i].is_stats; i++)
		;
	/* It has none, or only reads statistics, as another kvmstat does. */
	if (i == count) {
		free(found);
		return false;
	}
	who = describe(pid, &identity);
	pidfd = is_chosen(pid, identity.text[ID_NAME] ?: "?") &&
		!is_child(pid, identity.started, found, count) ? syscall(SYS_pidfd_open, pid, 0) : -1;
	identity_free(&identity);
	for (i = 0; pidfd >= 0 && i < count; i++) {
		if (found[i].kind != -1 || (live.bpf && found[i].is_stats))
			continue;
		live.seen += !found[i].is_stats;
		vm = find_vm(pid, found[i].number);
		if (vm)
			vm->seen = true;
		else if (live.bpf)
			add_vm((struct live_vm) { .pid = pid, .number = found[i].number, .fd = -1, },
			       pidfd, who);
		else
			is_owner &= open_found(NULL, &found[i], pid, pidfd, who);
	}
	vm = find_vm(pid, -1);
	if (!vm && pidfd >= 0 && is_owner)
		vm = add_vm((struct live_vm) { .pid = pid, .number = -1, .fd = -1, }, pidfd, who);
	for (i = 0; vm && !vm->windows && i < count; i++) {
		vm->seen |= vm->number < 0;
		if (found[i].kind >= 0 && !live.bpf && !has_vcpu(vm, found[i].kind))
			open_found(vm, &found[i], pid, pidfd, who);
	}
	if (vm && !vm->header && !live.bpf)
		complain("this kernel gives %s only to the VMM%s", vm->vcpu_header ?
			 "the statistics of VMs" : "statistics files", vm->vcpu_header ? "" :
			 "; of VMs whose VMM keeps none open (QEMU 8.1 does), /proc is shown");
	close(pidfd);
	free(who);
	free(found);
	return true;
}

static void add_copy(const void *data, size_t size, bool is_schema, unsigned int key,
		     const char *name)
{
	frame_add(&live.frame, xmemdup(data, size), size, "vm/%u/%s", key, name)->is_schema = is_schema;
}

/* Values of windows that are not mapped are read from the vCPUs' own files. */
static void read_vcpus(struct live_vm *vm, const uint64_t *own)
{
	const struct schema *schema = vm->windows ? vm->layout.vcpu_schema : vm->vcpu_layout.schema;
	size_t count = vm->num_vcpus, n, i;
	uint32_t *ids;
	uint64_t *data;

	if (!schema)
		return;
	if (vm->windows)
		count = own[find_desc(vm->layout.schema, "online_vcpus")->first];
	if (vm->windows && count > vm->layout.vcpu_max)
		count = vm->layout.vcpu_max;
	n = schema->num_values;
	ids = xcalloc(count, 4);
	data = xresize(NULL, count, n * 8);
	if (vm->windows && pread(vm->fd, ids, count * 4, vm->layout.vcpu_id_offset) < 0)
		count = 0;
	for (i = 0; i < count; i++) {
		if (vm->windows) {
			memcpy(data + i * n, vm->windows + i * vm->layout.vcpu_stride, n * 8);
			continue;
		}
		ids[i] = vm->vcpu[i].id;
		if (pread(vm->vcpu[i].fd, data + i * n, n * 8, vm->vcpu_layout.data_offset) < 0)
			memset(data + i * n, 0, n * 8);
	}
	frame_add(&live.frame, ids, count * 4, "vm/%u/vcpu-ids", vm->key);
	frame_add(&live.frame, data, count * n * 8, "vm/%u/vcpu-data", vm->key);
}

static void read_files(struct live_vm *vm)
{
	size_t own = vm->header ? vm->layout.schema->num_values : 0;
	uint64_t *data = xcalloc(own, 8);

	frame_add(&live.frame, xmemdup(vm->who, strlen(vm->who) + 1), strlen(vm->who), "vm/%u/who",
		  vm->key);
	if (live.bpf)
		bpf_add(&live.frame, vm->key, vm->pid, vm->number);
	if (vm->header && pread(vm->fd, data, own * 8, vm->layout.data_offset) == (ssize_t)own * 8) {
		add_copy(vm->header, vm->header_size, true, vm->key, "header");
		add_copy(data, own * 8, false, vm->key, "data");
	}
	if (vm->vcpu_header && !vm->windows)
		add_copy(vm->vcpu_header, vm->vcpu_header_size, true, vm->key, "vcpu-header");
	read_vcpus(vm, data);
	free(data);
}

static bool is_gone(const struct live_vm *vm, bool scanned)
{
	struct pollfd fd = { .fd = vm->pidfd, .events = POLLIN, };
	struct pollfd file = { .fd = vm->fd, };

	return poll(&fd, 1, 0) == 1 ||
	       (scanned && !vm->seen && !vm->windows && !is_hung(vm->pid)) ||
	       (vm->fd >= 0 && poll(&file, 1, 0) == 1 && file.revents & POLLHUP);
}

/* A VM that has ended is in one more frame, with its last values. */
static void drop_gone(bool scanned)
{
	struct live_vm *vm;
	size_t i, kept;

	for (i = kept = 0; i < live.count; i++) {
		vm = &live.vm[i];
		if (!is_gone(vm, scanned)) {
			live.vm[kept++] = *vm;
			continue;
		}
		if (vm->header) {
			read_files(vm);
			add_copy("", 0, false, vm->key, "ended");
		}
		forget(vm);
	}
	live.count = kept;
}

/* The lists of this scan and of the last one have the same order. */
static struct checked *check(pid_t pid, ino_t inode, size_t *guess)
{
	const struct checked new = { .pid = pid, .inode = inode, };
	size_t i;

	for (i = 0; i < live.num_checked; i++) {
		struct checked *checked = &live.checked[(*guess + i) % live.num_checked];

		if (checked->pid == pid) {
			*guess += i + 1;
			if (checked->inode != inode)
				*checked = new;
			return checked;
		}
	}
	live.checked = xgrow(live.checked, live.num_checked, sizeof(*live.checked));
	live.checked[live.num_checked] = new;
	return &live.checked[live.num_checked++];
}

/*
 * Looks at processes less and less often if they have no VM, or if the windows of their VMs show
 * new vCPUs.
 */
static void scan_process(struct checked *checked, int proc)
{
	size_t i = checked - live.checked;
	const struct live_vm *vm;
	struct stat files = {};
	bool has_vm = false;
	unsigned int seen;
	char path[32];

	checked->scan = live.scan;
	live.seen += checked->vms;
	if (checked->skips && checked->skips--)
		return;
	snprintf(path, sizeof(path), "%d/fd", checked->pid);
	fstatat(proc, path, &files, 0);
	if (!checked->checks || !files.st_size || files.st_size != checked->files ||
	    live.scan - checked->read >= MOST_UNREAD) {
		seen = live.seen -= checked->vms;
		has_vm = look_at(checked->pid);
		checked = &live.checked[i];
		checked->vms = live.seen - seen;
		checked->files = files.st_size;
		checked->read = live.scan;
		checked->denied = live.denied;
	}
	vm = find_vm(checked->pid, -1);
	if (has_vm && !(vm && vm->windows))
		checked->checks = 0;
	else if (checked->checks < MOST_SKIPS)
		checked->checks++;
	checked->skips = checked->checks ? checked->checks - 1 : 0;
}

/* VMs that debugfs has and no process. A VM newer than the scan counts at the next one. */
static void count_unseen(void)
{
	DIR *dir = num_chosen() ? NULL : opendir("/sys/kernel/debug/kvm");
	unsigned int all = 0, before = live.unowned;
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		all += isdigit((unsigned char)entry->d_name[0]) != 0;
	if (dir)
		closedir(dir);
	live.unowned = all > live.seen ? all - live.seen : 0;
	live.unseen = live.unowned < before ? live.unowned : before;
}

static void scan(void)
{
	const struct dirent *entry;
	size_t guess = 0, i, kept;
	uint64_t pid;
	DIR *proc = opendir("/proc");

	live.scan++;
	live.missing = live.seen = 0;
	for (i = 0; i < live.count; i++)
		live.vm[i].seen = false;
	while (proc && (entry = readdir(proc))) {
		if (parse_u64(entry->d_name, &pid) && !is_hung(pid) && (pid_t)pid != getpid())
			scan_process(check(pid, entry->d_ino, &guess), dirfd(proc));
	}
	if (proc)
		closedir(proc);
	live.denied = 0;
	for (i = kept = 0; i < live.num_checked; i++) {
		if (live.checked[i].scan != live.scan)
			continue;
		live.denied += live.checked[i].denied;
		live.checked[kept++] = live.checked[i];
	}
	live.num_checked = kept;
	count_unseen();
	drop_gone(true);
	for (i = 0; i < live.count; i++)
		forget_threads(&live.vm[i]);
	live.scanned_ns = clock_ns(CLOCK_MONOTONIC);
}

PRINTF(2, 3) static void add_text(char *text, const char *shape, ...)
{
	char name[4200];
	va_list args;

	if (!text)
		return;
	va_start(args, shape);
	vsnprintf(name, sizeof(name), shape, args);
	va_end(args);
	frame_add(&live.frame, text, strlen(text), "%s", name);
}

/* cpu.stat of the cgroup and of each above it, once per frame. */
static void read_groups(const struct live_vm *vm, const char *root, char *path, size_t first)
{
	char name[4096], *end;
	size_t i;

	for (; (end = strrchr(path, '/')) && path[1]; *end = '\0') {
		snprintf(name, sizeof(name), "vm/%u/cgroup%s/cpu.stat", vm->key, path);
		for (i = first; i < live.frame.count && strcmp(live.frame.entry[i].name, name); i++)
			;
		if (i < live.frame.count)
			return;
		snprintf(name, sizeof(name), "%s%s/cpu.stat", root, path);
		add_text(read_text(0, 4096, NULL, name), "vm/%u/cgroup%s/cpu.stat", vm->key, path);
	}
}

static const struct {
	const char *controller, *roots[2];
} hierarchies[] = {
	{ "", { "/sys/fs/cgroup", "/sys/fs/cgroup/unified", }, },
	{ "cpu", { "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct", }, },
};

/* The path in the hierarchy with this controller. */
static char *find_group(const char *cgroup, const char *controller)
{
	const char *line, *list, *path;
	size_t length = strlen(controller);

	for (line = cgroup; line && *line; line = strchr(path, '\n'), line += !!line) {
		list = strchr(line, ':');
		path = list ? strchr(list + 1, ':') : NULL;
		if (!path)
			return NULL;
		for (list++; list <= path; list += strcspn(list, ",:") + 1) {
			if (!strncmp(list, controller, length) && strchr(",:", list[length]))
				return xasprintf("%.*s", (int)strcspn(path + 1, "\n"), path + 1);
		}
	}
	return NULL;
}

static void read_cgroups(const struct live_vm *vm, const char *cgroup, size_t first)
{
	char *path;
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(hierarchies); i++) {
		for (k = 0; k < 2; k++) {
			path = find_group(cgroup, hierarchies[i].controller);
			if (path)
				read_groups(vm, hierarchies[i].roots[k], path, first);
			free(path);
		}
	}
}

static void read_freezer(const struct live_vm *vm, const char *cgroup)
{
	char *path = find_group(cgroup, "");

	if (path)
		add_text(read_proc(0, "/sys/fs/cgroup%.250s/cgroup.events", path),
			 "vm/%u/cgroup.events", vm->key);
	free(path);
	path = find_group(cgroup, "freezer");
	if (path)
		add_text(read_proc(0, "/sys/fs/cgroup/freezer%.250s/freezer.state", path),
			 "vm/%u/freezer.state", vm->key);
	free(path);
}

static struct live_thread *find_thread(struct live_vm *vm, pid_t tid, size_t guess)
{
	size_t i;

	if (guess < vm->num_threads && vm->thread[guess].tid == tid)
		return &vm->thread[guess];
	for (i = 0; i < vm->num_threads; i++) {
		if (vm->thread[i].tid == tid)
			return &vm->thread[i];
	}
	vm->thread = xgrow(vm->thread, vm->num_threads, sizeof(*vm->thread));
	vm->thread[vm->num_threads] = (struct live_thread) { .tid = tid, };
	return &vm->thread[vm->num_threads++];
}

static void read_vcpu_thread(struct live_vm *vm, struct live_thread *thread, const char *sched,
			     size_t first)
{
	unsigned long long run, ready = 0;
	pid_t pid = vm->pid, tid = thread->tid;

	/* At each scan: a thread may be moved. */
	if (!thread->cgroup)
		thread->cgroup = read_proc(pid, "/proc/%d/task/%d/cgroup", pid, tid);
	if (thread->cgroup) {
		add_text(xasprintf("%s", thread->cgroup), "vm/%u/task/%d/cgroup", vm->key, tid);
		read_cgroups(vm, thread->cgroup, first);
	}
	if (sched && sscanf(sched, "%llu %llu", &run, &ready) != 2)
		ready = 0;
	/* Which CPUs it may use matters only if it waits for one. */
	if (!thread->status && ready > thread->ready + MUCH_WAITED)
		thread->status = read_proc(pid, "/proc/%d/task/%d/status", pid, tid);
	thread->ready = ready;
	if (thread->status)
		add_text(xasprintf("%s", thread->status), "vm/%u/task/%d/status", vm->key, tid);
	add_text(read_proc(pid, "/proc/%d/task/%d/syscall", pid, tid), "vm/%u/task/%d/syscall",
		 vm->key, tid);
}

static pid_t *list_tasks(pid_t pid, size_t *count)
{
	const struct dirent *entry;
	pid_t *tids = NULL;
	char path[64];
	DIR *dir;

	*count = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	ask(pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		tids = xgrow(tids, *count, sizeof(*tids));
		tids[(*count)++] = atoi(entry->d_name);
	}
	if (dir)
		closedir(dir);
	answered(pid);
	return tids;
}

static void read_threads(struct live_vm *vm)
{
	size_t count, i, first = live.frame.count;
	pid_t pid = vm->pid, *tids = list_tasks(pid, &count);
	char *stat, *sched, *cgroup;
	struct thread thread;

	for (i = 0; i < count; i++) {
		stat = read_proc(pid, "/proc/%d/task/%d/stat", pid, tids[i]);
		sched = read_proc(pid, "/proc/%d/task/%d/schedstat", pid, tids[i]);
		thread = (struct thread) {};
		if (stat)
			take_stat(&thread, stat);
		add_text(stat, "vm/%u/task/%d/stat", vm->key, tids[i]);
		add_text(sched, "vm/%u/task/%d/schedstat", vm->key, tids[i]);
		if (thread.runs_guest)
			read_vcpu_thread(vm, find_thread(vm, tids[i], i), sched, first);
	}
	free(tids);
	cgroup = read_proc(pid, "/proc/%d/cgroup", pid);
	if (cgroup)
		read_freezer(vm, cgroup);
	free(cgroup);
}

/* Threads of a process with several VMs cannot be attributed. */
static bool is_alone(const struct live_vm *vm)
{
	size_t i, count = 0;

	for (i = 0; i < live.count; i++)
		count += live.vm[i].pid == vm->pid;
	return count == 1;
}

static void read_host(void)
{
	char *text, space[32] = "";
	struct utsname name;

	uname(&name);
	text = xasprintf("host=%s\nrelease=%s\nmachine=%s\nkvmstat=" VERSION "\n", name.nodename,
			 name.release, name.machine);
	frame_add(&live.frame, text, strlen(text), "host/about")->is_schema = true;
	/* The initial pid namespace has a fixed number. Every other one has a pid 1, too. */
	text = xasprintf("denied=%u\nhung=%zu\nhidden=%d\nnamespace=%d\nmissing=%u\nunseen=%u\n"
			 "problems=%u\n", live.denied, live.num_hung,
			 access("/proc/1/stat", F_OK) != 0,
			 readlink("/proc/self/ns/pid", space, sizeof(space) - 1) > 0 &&
			 strcmp(space, "pid:[4026531836]"), live.missing, live.unseen, num_complaints);
	frame_add(&live.frame, text, strlen(text), "host/scan");
	add_text(read_text(0, 64 * 1024, NULL, "/proc/stat"), "host/stat");
}

static void *read_frame(void *context)
{
	unsigned int bpf;
	uint64_t found;
	size_t i;

	generation = (unsigned int)(uintptr_t)context;
	pthread_mutex_lock(&live.lock);
	live.reader = gettid();
	/* A frame that another reader began is begun again. */
	frame_free(&live.frame);
	bpf = bpf_begin();
	/* Other files, with other statistics */
	while (bpf != live.bpf && live.count)
		forget(&live.vm[--live.count]);
	live.scanned_ns *= bpf == live.bpf;
	live.bpf = bpf;
	if (!live.scanned_ns || clock_ns(CLOCK_MONOTONIC) - live.scanned_ns >= SCAN_NS)
		scan();
	else
		drop_gone(false);
	live.frame.real_ns = clock_ns(CLOCK_REALTIME);
	live.frame.mono_ns = clock_ns(CLOCK_MONOTONIC);
	bpf_read();
	read_host();
	for (i = 0; i < live.count; i++) {
		found = bpf_vm(live.vm[i].pid, live.vm[i].number);
		if (bpf && !found)
			continue;
		/* Another VM has the descriptor of one that has ended. */
		if (found != live.vm[i].bpf_vm)
			live.vm[i].key = ++live.num_keys;
		live.vm[i].bpf_vm = found;
		read_files(&live.vm[i]);
		if (is_alone(&live.vm[i]) && !is_hung(live.vm[i].pid))
			read_threads(&live.vm[i]);
	}
	live.done = true;
	pthread_cond_signal(&live.answer);
	pthread_mutex_unlock(&live.lock);
	return NULL;
}

/*
 * On a busy host, a process may answer late: its memory is on a slow disk, or the holder of a lock
 * waits for a CPU. It is named when a whole further frame ends without its answer.
 */
static void name_hung(pid_t pid)
{
	const struct live_vm *vm = find_vm(pid, -1);
	const char *name = vm ? strstr(vm->who, "\nname=") : NULL;

	complain("pid %d%s%.*s%s: its files in /proc do not answer; kvmstat goes on without them", pid,
		 name ? " (" : "", name ? (int)strcspn(name + 6, "\n") : 0, name ? name + 6 : "",
		 name ? ")" : "");
}

/* On a busy host, the reader may only wait for a CPU, or for the lock. */
static bool is_blocked(void)
{
	char path[64], *call;
	bool blocked;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", live.reader);
	call = read_text(0, 64, NULL, path);
	blocked = call && strncmp(call, "running", 7) && atol(call) != SYS_futex;
	free(call);
	return blocked;
}

/* Waits for the reader. False if it hangs: then the process that it asked is left out. */
static bool wait_for_reader(void)
{
	struct timespec until;
	uint64_t now;

	while (!live.done) {
		live.blocked = live.asked && is_blocked() ? live.blocked + 1 : 0;
		if (live.blocked > MOST_BLOCKED && live.num_hung < ARRAY_SIZE(live.hung)) {
			live.hung[live.num_hung].pid = live.asked;
			live.hung[live.num_hung++].frames = 0;
			live.generation++;
			return false;
		}
		now = clock_ns(CLOCK_REALTIME) + TICK_NS;
		until = (struct timespec) { now / SEC, now % SEC, };
		pthread_cond_timedwait(&live.answer, &live.lock, &until);
	}
	return true;
}

static bool live_next(struct source *source, struct frame *frame, uint64_t wait_ns)
{
	uint64_t end_ns = source->mono_ns + wait_ns;
	const struct timespec end = { end_ns / SEC, end_ns % SEC, };
	pthread_t thread;
	size_t i;

	*frame = (struct frame) {};
	if (wait_ns && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) && is_over)
		return false;
	if (is_over)
		return false;
	pthread_mutex_lock(&live.lock);
	do {
		live.done = false;
		live.asked = 0;
		if (pthread_create(&thread, NULL, read_frame, (void *)(uintptr_t)live.generation)) {
			complain("no thread: %s", strerror(errno));
			pthread_mutex_unlock(&live.lock);
			return false;
		}
		pthread_detach(thread);
	} while (!wait_for_reader());
	for (i = 0; i < live.num_hung; i++) {
		if (live.hung[i].frames++ == 1)
			name_hung(live.hung[i].pid);
	}
	*frame = live.frame;
	live.frame = (struct frame) {};
	pthread_mutex_unlock(&live.lock);
	source->mono_ns = frame->mono_ns;
	return true;
}

struct source *live_open(void)
{
	live.source.next = live_next;
	return &live.source;
}
