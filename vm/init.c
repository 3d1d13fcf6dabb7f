// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first process of a test guest. Runs the tests of /plan one after the other, each with
 * its time limit, and reports the results to the host. Needs nothing except the kernel, so
 * that a failure is the kernel's or the test's.
 *
 * Besides the console there are two ports to the host. "out" gets the tests' output and the
 * milliseconds that each took, "verdict" one line per test. The verdict is written last, in
 * one go, after all checks that can fail: a guest that dies leaves none. The ports are virtio
 * ports of these names, or serial ports named by the environment: PORT_out, PORT_verdict.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "process.h"

#define KVM_DEBUGFS "/sys/kernel/debug/kvm"
#define KMEMLEAK "/sys/kernel/debug/kmemleak"
/* kmemleak does not report objects that are younger than five seconds. */
#define KMEMLEAK_SECONDS 6

static int out;
static FILE *verdict;
static char *verdict_text;
static size_t verdict_size;

static void mount_one(const char *type, const char *path)
{
	mkdir(path, 0755);
	if (mount(type, path, type, 0, NULL))
		die(path);
}

static void mount_all(void)
{
	mount_one("devtmpfs", "/dev");
	mount_one("proc", "/proc");
	mount_one("sysfs", "/sys");
	mount_one("debugfs", "/sys/kernel/debug");
	mount_one("cgroup2", "/sys/fs/cgroup");
	mount_one("tmpfs", "/tmp");
	mount_one("tmpfs", "/run");
	mount_one("devpts", "/dev/pts");
	mount_one("tmpfs", "/dev/shm");
	symlink("/proc/self/fd", "/dev/fd");
	symlink("/proc/self/fd/0", "/dev/stdin");
	symlink("/proc/self/fd/1", "/dev/stdout");
	symlink("/proc/self/fd/2", "/dev/stderr");
}

/*
 * Tests run in a memory cgroup, as VMMs do: in the root cgroup the kernel charges nothing
 * and does not mark charged pages.
 */
static void make_cgroup(void)
{
	write_file(CGROUP "/cgroup.subtree_control", "+memory");
	if (mkdir(CGROUP "/tests", 0755))
		die(CGROUP "/tests");
}

/* Tests that are scripts need a shell and its commands. */
static void install_busybox(void)
{
	pid_t pid = fork();

	if (!pid) {
		execl("/bin/busybox", "busybox", "--install", "-s", "/bin", NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
}

/*
 * Modules of KVM, of the file system that reads the host's root, and FUSE for a VMM that does not
 * answer, if they are not built in; each depends on those before it. Only the profile's vendor
 * module is present.
 */
static const char *const modules[] = {
	"irqbypass",
	"kvm",
	"ccp",
	"kvm-amd",
	"kvm-intel",
	"virtio_ring",
	"virtio",
	"virtio_pci_legacy_dev",
	"virtio_pci_modern_dev",
	"virtio_pci",
	"virtio_console",
	"netfs",
	"fscache",
	"9pnet",
	"9p",
	"9pnet_virtio",
	"overlay",
	"fuse",
	NULL,
};

/* Collects the module's parameters from the kernel arguments, as modprobe does. */
static void module_parameters(const char *name, char *parameters, size_t size)
{
	FILE *file = fopen("/proc/cmdline", "re");
	size_t length = strlen(name);
	char line[4096];

	if (!file || !fgets(line, sizeof(line), file))
		die("/proc/cmdline");
	fclose(file);
	parameters[0] = '\0';
	for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n")) {
		if (strncmp(word, name, length) || word[length] != '.')
			continue;
		strncat(parameters, word + length + 1, size - strlen(parameters) - 1);
		strncat(parameters, " ", size - strlen(parameters) - 1);
	}
}

/* Not every module logs its mode, so log the parameters that show it. */
static void log_parameters(const char *name)
{
	char text[1024], path[512], value[64];
	struct dirent *entry;
	size_t used;
	DIR *dir;

	snprintf(path, sizeof(path), "/sys/module/%s/parameters", name);
	dir = opendir(path);
	if (!dir)
		return;
	used = snprintf(text, sizeof(text), "init: %s:", name);
	while ((entry = readdir(dir)) && used < sizeof(text) - 1) {
		FILE *file;

		snprintf(path, sizeof(path), "/sys/module/%s/parameters/%s", name, entry->d_name);
		file = fopen(path, "re");
		if (!file || fscanf(file, "%63s", value) != 1)
			value[0] = '\0';
		if (file)
			fclose(file);
		if (value[0])
			used += snprintf(text + used, sizeof(text) - used, " %s=%s", entry->d_name,
					 value);
	}
	closedir(dir);
	write_file("/dev/kmsg", text);
}

static void load_modules(void)
{
	for (int i = 0; modules[i]; i++) {
		char path[64], name[32], parameters[256];
		int fd;

		snprintf(path, sizeof(path), "/modules/%s.ko", modules[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 && errno == ENOENT)
			continue;
		snprintf(name, sizeof(name), "%s", modules[i]);
		for (char *c = name; *c; c++)
			if (*c == '-')
				*c = '_';
		module_parameters(name, parameters, sizeof(parameters));
		if (fd < 0 || syscall(SYS_finit_module, fd, parameters, 0))
			die(path);
		close(fd);
		log_parameters(name);
	}
	if (access("/dev/kvm", F_OK))
		die("/dev/kvm: KVM is neither built in nor a module of this kernel");
}

static int open_console(void)
{
	int fd = open("/dev/console", O_RDWR);

	if (fd < 0)
		die("/dev/console");
	dup2(fd, 0);
	dup2(fd, 1);
	dup2(fd, 2);
	return fd;
}

/* Set raw mode: the line discipline must not interpret the bytes. */
static int open_serial_port(const char *name)
{
	struct termios attributes;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/dev/%s", name);
	fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || tcgetattr(fd, &attributes))
		die(path);
	cfmakeraw(&attributes);
	attributes.c_cflag |= CLOCAL;
	cfsetspeed(&attributes, B115200);
	if (tcsetattr(fd, TCSANOW, &attributes))
		die(path);
	return fd;
}

/* Without udev there is no /dev/virtio-ports; sysfs has the names. */
static int open_virtio_port(const char *wanted)
{
	const char *class = "/sys/class/virtio-ports";
	struct dirent *entry;
	char path[512];
	char name[32];
	FILE *file;
	DIR *dir;
	int fd;

	dir = opendir(class);
	if (!dir)
		die(class);
	while ((entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s/name", class, entry->d_name);
		file = fopen(path, "r");
		if (!file)
			continue;
		if (fscanf(file, "%31s", name) != 1)
			name[0] = '\0';
		fclose(file);
		if (strcmp(name, wanted))
			continue;
		snprintf(path, sizeof(path), "/dev/%s", entry->d_name);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0)
			die(path);
		closedir(dir);
		return fd;
	}
	errno = ENODEV;
	die(wanted);
}

static int open_port(const char *wanted)
{
	char variable[32];
	const char *name;

	snprintf(variable, sizeof(variable), "PORT_%s", wanted);
	name = getenv(variable);
	return name ? open_serial_port(name) : open_virtio_port(wanted);
}

/* Powering off loses what a serial port has not sent; virtio ports need no wait. */
static void drain_port(int port)
{
	if (isatty(port) && tcdrain(port))
		die("tcdrain");
}

/* Mark the kernel log, so that a message can be attributed to a test. */
static void log_kernel(const char *name)
{
	char text[256];

	snprintf(text, sizeof(text), "init: test %.200s\n", name);
	write_file("/dev/kmsg", text);
}

static void to_host(const char *text, size_t size)
{
	write_all(out, text, size);
}

static void run(const char *name, int seconds, char *command)
{
	long long begin = now_ms();
	int terminal, slave, status = 0;
	bool in_time, gone;
	pid_t pid;

	log_kernel(name);
	dprintf(out, "@@ begin %s\n", name);
	terminal = open_terminal(&slave);
	pid = start(command, slave);
	close(slave);
	in_time = wait_for(pid, terminal, seconds, to_host);
	gone = kill_all(&status, pid);
	while (gone && relay(terminal, to_host))
		;
	close(terminal);
	dprintf(out, "\n@@ end %s %lld\n", name, now_ms() - begin);

	fprintf(verdict, "test %s ", name);
	if (!gone)
		fprintf(verdict, "unkillable 0\n");
	else if (!in_time)
		fprintf(verdict, "timeout %d\n", seconds);
	else if (WIFSIGNALED(status))
		fprintf(verdict, "signal %d\n", WTERMSIG(status));
	else
		fprintf(verdict, "exit %d\n", WEXITSTATUS(status));
}

/* A line of the plan: name, seconds and command, separated by tabs. */
static void run_plan(void)
{
	FILE *plan = fopen("/plan", "re");
	char line[1024];

	if (!plan)
		die("/plan");
	while (fgets(line, sizeof(line), plan)) {
		char *name = strtok(line, "\t");
		char *seconds = strtok(NULL, "\t");
		char *command = strtok(NULL, "\n");

		if (!command) {
			errno = EINVAL;
			die("/plan");
		}
		run(name, atoi(seconds), command);
	}
	fclose(plan);
}

static int count_vms(void)
{
	struct dirent *entry;
	int vms = 0;
	DIR *dir;

	dir = opendir(KVM_DEBUGFS);
	if (!dir)
		return 0;
	while ((entry = readdir(dir)))
		vms += entry->d_type == DT_DIR && entry->d_name[0] != '.';
	closedir(dir);
	return vms;
}

/* All tests have been killed, so a VM that still exists is leaked. */
static void check_leaks(void)
{
	long long end = now_ms() + SETTLE_SECONDS * 1000LL;

	while (count_vms() && now_ms() < end)
		usleep(10000);
	fprintf(verdict, "leaked-vms %d\n", count_vms());
}

/* If there is kmemleak, report the objects that it finds unreferenced in two scans. */
static void check_memory(void)
{
	char line[256];
	int objects = 0;
	FILE *file;

	if (access(KMEMLEAK, F_OK))
		return;
	sleep(KMEMLEAK_SECONDS);
	write_file(KMEMLEAK, "scan");
	sleep(KMEMLEAK_SECONDS);
	write_file(KMEMLEAK, "scan");
	file = fopen(KMEMLEAK, "re");
	if (!file)
		die(KMEMLEAK);
	dprintf(out, "@@ begin kmemleak\n");
	while (fgets(line, sizeof(line), file)) {
		objects += !strncmp(line, "unreferenced", strlen("unreferenced"));
		dprintf(out, "%s", line);
	}
	dprintf(out, "@@ end kmemleak\n");
	fclose(file);
	fprintf(verdict, "unreferenced %d\n", objects);
}

/* Newer kernels set these flags when KUnit tests run, and for clearcpuid=. */
#define TAINT_HARMLESS (1UL << 18 | 1UL << 2)

/* The taint flags show warnings and worse even if the messages are lost. */
static void check_taint(void)
{
	FILE *file = fopen("/proc/sys/kernel/tainted", "re");
	unsigned long tainted;

	if (!file || fscanf(file, "%lu", &tainted) != 1)
		die("/proc/sys/kernel/tainted");
	fclose(file);
	fprintf(verdict, "tainted %lu\n", tainted & ~TAINT_HARMLESS);
}

static void run_tests(void)
{
	int port = open_port("verdict");

	out = open_port("out");
	verdict = open_memstream(&verdict_text, &verdict_size);
	if (!verdict)
		die("open_memstream");
	run_plan();
	check_leaks();
	check_memory();
	check_taint();
	fprintf(verdict, "end\n");
	fclose(verdict);
	drain_port(out);
	write_all(port, verdict_text, verdict_size);
	drain_port(port);
}

static void run_shell(void)
{
	pid_t pid = fork();

	if (!pid) {
		chdir("/test");
		execl("/bin/busybox", "setsid", "cttyhack", "sh", NULL);
		die("/bin/busybox");
	}
	while (wait(NULL) != pid)
		;
}

int main(int argc, char **argv)
{
	setenv("PATH", "/test:/bin:/usr/sbin:/usr/bin:/sbin", 1);
	setenv("HOME", "/", 1);
	mount_all();
	open_console();
	load_modules();
	install_busybox();
	make_cgroup();
	if (argc > 1 && !strcmp(argv[1], "shell"))
		run_shell();
	else
		run_tests();
	sync();
	/* With -no-reboot the emulator ends instead of resetting the machine. */
	reboot(getenv("NO_POWER_OFF") ? RB_AUTOBOOT : RB_POWER_OFF);
	die("power off");
}
