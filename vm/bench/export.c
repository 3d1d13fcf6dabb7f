// SPDX-License-Identifier: GPL-2.0-only
/*
 * export IN-ROOT KVMSTAT: what a scrape of kvmstat export costs on a host of 10240
 * vCPUs in 40 VMs, each VM with a process of its own that has its file descriptors
 * open, as VMMs have. In instructions of the CPU, see bench.h: everything from the
 * connection of a client until it has read the last byte, in the client, the exporter
 * and the kernel. And the memory that the exporter's processes have then.
 *
 * KVMSTAT, one of the test's programs, needs shared libraries: IN-ROOT starts it in
 * the machine's root filesystem. The vCPUs never run: their number is what matters,
 * not what they count.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "bench.h"

#define VMS		40
#define VM_VCPUS	256
#define VCPUS		(VMS * VM_VCPUS)
#define SCRAPES		12

/* As the exporter and as this program sees it. */
#define SOCKET		"/run/kvmstat"
#define SOCKET_HERE	"/host/root" SOCKET

static size_t values;

/* How many values a scrape reads: of a VM and its vCPUs, from their descriptors. */
static void count_values(int vm)
{
	int fd = sure(ioctl(vm, KVM_GET_STATS_FD, 0), "KVM_GET_STATS_FD");
	struct kvm_stats_header header;
	struct kvm_stats_ext ext;

	read_bytes(fd, &header, sizeof(header), 0);
	read_bytes(fd, &ext, sizeof(ext), header.id_offset + header.name_size);
	values = VMS * (ext.data_size + (size_t)VM_VCPUS * ext.vcpu_data_size) /
		 sizeof(uint64_t);
	close(fd);
}

static void run_vm(int ready)
{
	int vm = create_vm();

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < VM_VCPUS; i++)
		sure(ioctl(vm, KVM_CREATE_VCPU, i), "KVM_CREATE_VCPU");
	if (write(ready, "", 1) != 1)
		fail("pipe");
	for (;;)
		pause();
}

static void start_vms(void)
{
	int ready[2], vm = create_vm();
	char byte;

	count_values(vm);
	close(vm);
	sure(pipe2(ready, O_CLOEXEC), "pipe");
	for (int i = 0; i < VMS; i++) {
		if (!sure(fork(), "fork"))
			run_vm(ready[1]);
		if (read(ready[0], &byte, 1) != 1)
			fail("VM %d", i);
	}
}

static pid_t start_exporter(const char *in_root, const char *kvmstat)
{
	pid_t pid = sure(fork(), "fork");
	char path[256];

	if (pid)
		return pid;
	snprintf(path, sizeof(path), "/run/test/%s", kvmstat);
	execlp(in_root, in_root, path, "export", "--listen", "unix:" SOCKET, NULL);
	fail("%s", in_root);
}

static int try_to_connect(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = SOCKET_HERE };
	int fd = sure(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");

	if (!connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return fd;
	close(fd);
	return -1;
}

/* All of an answer; its size, and in *@samples the lines that are no comments. */
static size_t scrape(size_t *samples)
{
	static const char request[] = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
	static char text[1 << 20];
	size_t size = 0;
	ssize_t got;
	int fd = sure(try_to_connect(), "connect");

	if (write(fd, request, sizeof(request) - 1) != sizeof(request) - 1)
		fail("write");
	while ((got = read(fd, text + size, sizeof(text) - 1 - size)) > 0)
		size += got;
	close(fd);
	text[size] = '\0';
	if (!samples)
		return size;
	*samples = 0;
	for (const char *line = strstr(text, "\nkvm_"); line; line = strstr(line + 1, "\nkvm_"))
		++*samples;
	return size;
}

/* On average, for each looks at other processes; each this long after the one before. */
static double cost_of_scrape(unsigned int pause_us)
{
	uint64_t total = 0;

	for (int i = 0; i < SCRAPES; i++) {
		uint64_t start;

		usleep(pause_us);
		start = now();
		scrape(NULL);
		total += now() - start;
	}
	return (double)total / SCRAPES;
}

/* KiB, as /proc has them; 0 without such a process. */
static long status_of(pid_t pid, const char *key)
{
	char path[64], line[256];
	long number = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file)) {
		if (!strncmp(line, key, strlen(key)))
			number = strtol(line + strlen(key), NULL, 10);
	}
	fclose(file);
	return number;
}

/* Of the exporter and, as it is its own process, of what looks for VMs in its place. */
static void print_memory(const char *row, const char *key, pid_t exporter)
{
	struct dirent *entry;
	long kib = status_of(exporter, key), helpers = 0;
	DIR *proc = opendir("/proc");

	if (!proc)
		fail("/proc");
	while ((entry = readdir(proc))) {
		if (status_of(atoi(entry->d_name), "PPid:") == exporter)
			helpers += status_of(atoi(entry->d_name), key);
	}
	closedir(proc);
	print(row, kib, helpers);
}

int main(int argc, char **argv)
{
	struct rlimit files = { 4096, 4096 };
	size_t samples, size;
	pid_t exporter;
	uint64_t start;
	int fd;

	setvbuf(stdout, NULL, _IOLBF, 0);
	check_clock();
	if (argc != 3)
		return 2;
	sure(setrlimit(RLIMIT_NOFILE, &files), "setrlimit");
	kvm = sure(open("/dev/kvm", O_RDWR | O_CLOEXEC), "/dev/kvm");
	start_vms();
	exporter = start_exporter(argv[1], argv[2]);
	while ((fd = try_to_connect()) < 0) {
		if (waitpid(exporter, NULL, WNOHANG))
			fail("%s ended", argv[2]);
		usleep(100000);
	}
	close(fd);

	start = now();
	size = scrape(&samples);
	print("export-first", now() - start, values);
	print("export-size", size, samples);
	print("export-look", cost_of_scrape(1100000), values);
	print("export", cost_of_scrape(0), values);
	print_memory("export-rss", "VmRSS:", exporter);
	print_memory("export-peak", "VmHWM:", exporter);
	kill(exporter, SIGTERM);
	return 0;
}
