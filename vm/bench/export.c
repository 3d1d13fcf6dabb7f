// SPDX-License-Identifier: GPL-2.0-only
/*
 * export: measures a scrape of kvmstat export on a host of 10240 vCPUs in 40 VMs,
 * each in its own process that keeps its file descriptors open, as VMMs do. Counts instructions
 * (see bench.h) of client, exporter and kernel, from the client's connection to the last byte.
 * Also measures the exporter's memory, without the pages that it maps: KVM has those in any case.
 *
 * The vCPUs never run: only their number matters.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <net/if.h>
#include <sys/socket.h>

#include "kvmstat.h"

#define VMS		40
#define VM_VCPUS	256
#define VCPUS		(VMS * VM_VCPUS)
#define SCRAPES		12

#define PORT		10203

static size_t values;

/* The number of values of a VM and its vCPUs, from the descriptors. */
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

static void have_vm(void)
{
	int vm = create_vm();

	for (int i = 0; i < VM_VCPUS; i++)
		sure(ioctl(vm, KVM_CREATE_VCPU, i), "KVM_CREATE_VCPU");
}

static void start_vms(void)
{
	int vm = create_vm();

	count_values(vm);
	close(vm);
	for (int i = 0; i < VMS; i++)
		start_process(have_vm);
}

static void start_loopback(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = sure(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket");

	sure(ioctl(fd, SIOCSIFFLAGS, &lo), "lo");
	close(fd);
}

static int try_to_connect(void)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(PORT),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = sure(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");

	if (!connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return fd;
	close(fd);
	return -1;
}

/* Read a whole answer. Returns its size, and in *@samples the lines that are not comments. */
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

/* The average of scrapes @pause_us apart: a scrape after a second or more also scans for VMs. */
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

/* KiB, in /proc/PID/status. */
static void print_memory(const char *row, const char *key, pid_t exporter)
{
	long long kib = 0;
	char line[256];
	FILE *file;

	snprintf(line, sizeof(line), "/proc/%d/status", exporter);
	file = fopen(line, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, key, strlen(key)))
			kib = strtoll(line + strlen(key), NULL, 10);
	}
	if (!kib)
		fail("%s", key);
	fclose(file);
	print(row, kib, 0);
}

int main(void)
{
	size_t samples, size;
	pid_t exporter;
	uint64_t start;
	int fd;

	begin(4096);
	start_loopback();
	start_vms();
	exporter = start_kvmstat("export", STDOUT_FILENO);
	while ((fd = try_to_connect()) < 0) {
		check_kvmstat(exporter);
		usleep(100000);
	}
	close(fd);

	start = now();
	size = scrape(&samples);
	print("export-first", now() - start, values);
	print("export-size", size, samples);
	print("export-look", cost_of_scrape(1100000), values);
	print("export", cost_of_scrape(0), values);
	print_memory("export-memory", "RssAnon:", exporter);
	kill(exporter, SIGTERM);
	return 0;
}
