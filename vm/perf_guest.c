// SPDX-License-Identifier: GPL-2.0-only
/*
 * The init of a Linux guest that counts and samples what its host does: by perf_event_open(),
 * and by the distribution's perf, whose root comes over 9p (vm/guest/guest-perf). At last it
 * starts the same kernel without the PMU's driver, by kexec. A distribution's kernel has the
 * driver as a module, which does not sample.
 *
 * work N        the program that perf watches: makes N exits
 * work console  writes to the console, which is a serial port, with interrupts off
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PMU "/sys/bus/event_source/devices/kvm_host/"
#define MSR_KVM_GUEST_STATS 0x4b564d09

static int checks;

static void check(const char *name, int passed)
{
	printf("%sok %d - %s\n", passed ? "" : "not ", ++checks, name);
	fflush(stdout);
}

/* The number in a file, after this text, or -1. */
static long number_in(const char *path, const char *format)
{
	FILE *file = fopen(path, "r");
	long number;

	if (!file || fscanf(file, format, &number) != 1)
		number = -1;
	if (file)
		fclose(file);
	return number;
}

/*
 * Load the modules of a distribution's kernel, in the order of their numbers: /modules/10-msr.ko.
 * kvm_host_pmu, the driver of the PMU, is loaded only if with_driver is set.
 */
static void load_modules(int with_driver)
{
	struct dirent **files;
	int n = scandir("/modules", &files, NULL, alphasort), i;

	for (i = 0; i < n; i++) {
		char path[300];
		int fd;

		snprintf(path, sizeof(path), "/modules/%s", files[i]->d_name);
		if (!strstr(path, ".ko") || (!with_driver && strstr(path, "kvm_host_pmu")))
			continue;
		fd = open(path, O_RDONLY);
		if (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST)
			perror(path);
		close(fd);
	}
}

static int driver_is_module(void)
{
	return !access("/sys/module/kvm_host_pmu/initstate", F_OK);
}

/* Counts if the period is 0. */
static int open_event(const char *name, pid_t pid, int cpu, uint64_t period)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = number_in(PMU "type", "%ld"),
		.sample_period = period,
		.sample_type = PERF_SAMPLE_IP,
	};
	char path[256];
	long config;

	snprintf(path, sizeof(path), PMU "events/%s", name);
	config = number_in(path, "event=%lx");
	attr.config = config < 0 ? 0xffff : config;
	return syscall(SYS_perf_event_open, &attr, pid, cpu, -1, 0);
}

static uint64_t value(int fd)
{
	uint64_t v = 0;

	return read(fd, &v, sizeof(v)) == sizeof(v) ? v : UINT64_MAX;
}

__attribute__((noinline)) void makes_exits(int n)
{
	unsigned int a, b, c, d;

	while (n--)
		__cpuid(0, a, b, c, d);
}

static void in_child(int n)
{
	pid_t child = fork();

	if (!child) {
		makes_exits(n);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void count_this_task(void)
{
	int fd = open_event("exit_reasons.cpuid", 0, -1, 0);
	uint64_t before = value(fd);

	makes_exits(1000);
	check("1000 exits of a task are 1000", value(fd) - before == 1000);
	before = value(fd);
	in_child(500);
	check("exits of another task do not count", value(fd) == before);
	close(fd);
	check("an unknown event is refused", open_event("none", 0, -1, 0) < 0 && errno == EINVAL);
}

/* More events than slots: those of one name share a slot. */
static void count_many(void)
{
	static const char *const names[] = {
		"exits", "exit_reasons.cpuid", "exit_reasons.io", "halt_exits",
		"irq_injections", "user_exits.io", "ready_ns", "exit_reasons.msr_write",
	};
	int fds[40], i, right = 0;

	for (i = 0; i < 40; i++)
		fds[i] = open_event(names[i % 8], 0, -1, 0);
	makes_exits(10);
	for (i = 0; i < 40; i++) {
		right += fds[i] >= 0 && (i % 8 != 1 || value(fds[i]) >= 10);
		close(fds[i]);
	}
	check("40 events of 8 names share slots", right == 40);
}

static void count_cpus(void)
{
	int cpus = sysconf(_SC_NPROCESSORS_ONLN), fds[cpus], i;
	uint64_t sum = 0;

	for (i = 0; i < cpus; i++)
		fds[i] = open_event("exit_reasons.cpuid", -1, i, 0);
	in_child(300);
	for (i = 0; i < cpus; i++) {
		sum += value(fds[i]);
		close(fds[i]);
	}
	check("events of all CPUs count all tasks", sum >= 300 && sum < 400);
}

static void run_on(int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		perror("# sched_setaffinity");
}

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	int ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return ok;
}

static int set_online(const char *text)
{
	return write_file("/sys/devices/system/cpu/cpu1/online", text);
}

static void count_across_cpus(void)
{
	int fd = open_event("exit_reasons.cpuid", 0, -1, 0), i, ok = 1;
	uint64_t before;

	for (i = 0; i < 4; i++)
		ok &= set_online("0") && set_online("1");
	run_on(1);
	before = value(fd);
	makes_exits(200);
	check("a CPU that was offline counts", ok && value(fd) - before == 200);
	before = value(fd);
	for (i = 0; i < 100; i++) {
		run_on(i & 1);
		makes_exits(7);
	}
	check("a task that changes CPUs 100 times loses no exit", value(fd) - before == 700);
	close(fd);
}

/* The slots of closed events lose their names after a second, and get new ones. */
static void count_again(void)
{
	int fd;

	sleep(3);
	fd = open_event("exit_reasons.cpuid", 0, -1, 0);
	makes_exits(100);
	check("an event counts after all others were closed for long", value(fd) == 100);
	close(fd);
}

/* Suspend to the point where only this CPU runs, without interrupts, and back. */
static void count_after_suspend(void)
{
	int fd = open_event("exit_reasons.cpuid", 0, -1, 0), ok;
	uint64_t before;

	run_on(0);
	makes_exits(100);
	ok = write_file("/sys/power/pm_test", "core") && write_file("/sys/power/state", "mem");
	before = value(fd);
	makes_exits(200);
	check("an event counts after the guest was suspended",
	      ok && before >= 100 && value(fd) - before == 200);
	close(fd);
}

#define PAGES	16

static void sample(void)
{
	size_t page = sysconf(_SC_PAGESIZE);
	int fd = open_event("exit_reasons.cpuid", 0, -1, 100), samples = 0, inside = 0;
	struct perf_event_mmap_page *meta;
	uint64_t at, head;

	meta = mmap(NULL, (1 + PAGES) * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (meta == MAP_FAILED) {
		check("each 100th exit is a sample in the function that causes it", 0);
		return;
	}
	makes_exits(2050);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	head = __atomic_load_n(&meta->data_head, __ATOMIC_ACQUIRE);
	for (at = 0; at < head;) {
		struct { struct perf_event_header header; uint64_t ip; } *record;

		record = (void *)((char *)meta + page + at % (PAGES * page));
		if (record->header.type == PERF_RECORD_SAMPLE) {
			samples++;
			inside += record->ip - (uintptr_t)makes_exits < 100;
		}
		at += record->header.size;
	}
	printf("# %d samples, %d in the function, count %lu\n", samples, inside, value(fd));
	check("each 100th exit is a sample in the function that causes it",
	      samples == 20 && inside == 20 && value(fd) == 2050);
	close(fd);
}

/* Enter the root that has perf, with a copy of this program. */
static int enter_root(void)
{
	int from = open("/init", O_RDONLY), to;
	char buffer[65536];
	ssize_t n;

	mkdir("/root9", 0755);
	if (mount("root", "/root9", "9p", MS_RDONLY,
		  "trans=virtio,version=9p2000.L,msize=262144,cache=loose"))
		return -1;
	mount("/proc", "/root9/proc", NULL, MS_BIND, NULL);
	mount("/sys", "/root9/sys", NULL, MS_BIND, NULL);
	mount("/dev", "/root9/dev", NULL, MS_BIND, NULL);
	mount("tmpfs", "/root9/tmp", "tmpfs", 0, NULL);
	to = open("/root9/tmp/work", O_CREAT | O_WRONLY, 0755);
	while ((n = read(from, buffer, sizeof(buffer))) > 0) {
		if (write(to, buffer, n) != n)
			return -1;
	}
	close(to);
	setenv("PATH", "/usr/bin:/bin", 1);
	setenv("HOME", "/tmp", 1);
	setenv("LC_ALL", "C", 1);
	return chroot("/root9") || chdir("/");
}

static void run_perf(void)
{
	check("the guest has the distribution's programs", !enter_root());
	check("perf stat counts exactly", !system("sh /run/test/guest-perf stat"));
	if (driver_is_module())
		return;
	check("perf record finds the function that causes exits",
	      !system("sh /run/test/guest-perf record"));
	check("perf record samples code with interrupts off",
	      !system("sh /run/test/guest-perf timer"));
	check("perf record samples by frequency", !system("sh /run/test/guest-perf frequency"));
	check("perf top finds the function that causes exits",
	      !system("sh /run/test/guest-perf top"));
}

/* The register that tells the host a CPU's area */
static uint64_t area_of(int cpu)
{
	uint64_t address;
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/dev/cpu/%d/msr", cpu);
	fd = open(path, O_RDONLY);
	if (pread(fd, &address, sizeof(address), MSR_KVM_GUEST_STATS) != sizeof(address))
		address = 2; /* which has a reserved bit */
	close(fd);
	return address;
}

/* It counts only, and can be unloaded. */
static void check_module(void)
{
	int fd = open_event("exits", 0, -1, 100);

	check("a driver that is a module does not sample", fd < 0 && errno == EOPNOTSUPP);
	fd = open_event("exits", 0, -1, 0);
	check("a driver with events stays",
	      syscall(SYS_delete_module, "kvm_host_pmu", O_NONBLOCK) && errno == EWOULDBLOCK);
	close(fd);
	check("without its driver, the host knows no area",
	      !syscall(SYS_delete_module, "kvm_host_pmu", O_NONBLOCK) && !area_of(0) && !area_of(1));
	load_modules(1);
	fd = open_event("exit_reasons.cpuid", 0, -1, 0);
	makes_exits(100);
	check("a driver that is loaded again counts", value(fd) == 100);
	close(fd);
}

/*
 * The next kernel runs main(), too. Two more checks follow before it starts. It has one CPU: the
 * others would begin with an INIT, which clears their register.
 */
static int load_next_kernel(void)
{
	int kernel = open(getenv("KERNEL"), O_RDONLY);
	int initrd = open(getenv("INITRAMFS"), O_RDONLY);
	char line[4096] = "";
	FILE *file = fopen("/proc/cmdline", "r");
	size_t length;

	if (!fgets(line, sizeof(line), file))
		return 0;
	length = strcspn(line, "\n");
	length += snprintf(line + length, sizeof(line) - length,
			   " maxcpus=1 initcall_blacklist=host_pmu_init checks=%d", checks + 2);
	return !syscall(SYS_kexec_file_load, kernel, initrd, length + 1, line, 0);
}

static void finish(void)
{
	printf("1..%d\n", checks);
	fflush(stdout);
	sync();
	reboot(RB_AUTOBOOT);
}

/* Lines of which the guest's console driver writes each with interrupts off. */
static int fill_console(void)
{
	int fd = open("/dev/kmsg", O_WRONLY), i;
	char line[113] = "<1>FILL ";

	memset(line + 8, 'x', sizeof(line) - 9);
	line[sizeof(line) - 1] = '\n';
	for (i = 0; i < 40; i++) {
		if (write(fd, line, sizeof(line)) < 0)
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (getpid() != 1) {
		if (argc > 1 && !strcmp(argv[1], "console"))
			return fill_console();
		makes_exits(argc > 1 ? atoi(argv[1]) : 0);
		return 0;
	}
	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mkdir("/dev", 0755);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	load_modules(!getenv("checks"));
	if (getenv("checks")) {
		checks = atoi(getenv("checks"));
		check("kexec starts a kernel to whose memory the host does not write",
		      !area_of(0));
		finish();
	}
	check("the guest has the PMU", number_in(PMU "type", "%ld") > 0);
	check("the host knows the areas of both CPUs", area_of(0) & area_of(1) & 1);
	count_this_task();
	count_many();
	count_cpus();
	count_across_cpus();
	count_again();
	if (driver_is_module())
		check_module();
	else
		sample();
	run_perf();
	check("the next kernel is loaded", load_next_kernel());
	/* Afterwards 9p does not work. */
	count_after_suspend();
	reboot(RB_KEXEC);
	check("the next kernel starts", 0);
	finish();
	return 0;
}
