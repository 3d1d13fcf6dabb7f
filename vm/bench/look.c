// SPDX-License-Identifier: GPL-2.0-only
/*
 * look: measures kvmstat's scan for VMs, once a second, on a host where ten
 * processes without a VM have 20,000 file descriptors each. An unprivileged user can start such
 * processes. Counts instructions (see bench.h) of `kvmstat 1`, including the kernel.
 *
 * kvmstat rarely scans a process with many files, so the result is the average over the time in
 * which it scans each of them twice. Before that, measures the scan beside 1,500 small processes.
 * One VM exists, with a vCPU that never runs.
 */
#define _GNU_SOURCE
#include <time.h>

#include "kvmstat.h"

#define PROCESSES	10
#define FILES		20000
#define SMALL		1500
#define FOREIGN		(PROCESSES * FILES)

/* Seconds. A process with N files is scanned every N / 128 seconds: LONG covers two scans. */
#define LONG		314
#define SHORT		30

static void have_vm(void)
{
	sure(ioctl(create_vm(), KVM_CREATE_VCPU, 0), "KVM_CREATE_VCPU");
}

static void have_nothing(void)
{
}

static void have_files(void)
{
	for (int i = 0; i < FILES; i++)
		sure(open("/dev/null", O_RDONLY), "/dev/null");
}

/* The CPU time of all threads, also of those that have ended. */
static long long time_of(pid_t kvmstat)
{
	struct timespec used;
	clockid_t clock;

	errno = clock_getcpuclockid(kvmstat, &clock);
	if (errno || clock_gettime(clock, &used))
		fail("CPU time");
	return used.tv_sec * 1000000000LL + used.tv_nsec;
}

/* Returns the CPU time in these seconds. Sets *@most to the most in one second. */
static double run(pid_t kvmstat, int seconds, long long *most)
{
	long long start = time_of(kvmstat), before = start, after;

	*most = 0;
	for (int i = 0; i < seconds; i++) {
		sleep(1);
		after = time_of(kvmstat);
		if (after - before > *most)
			*most = after - before;
		before = after;
	}
	return before - start;
}

/* Waits for output and counts its lines. */
static int read_lines(int fd)
{
	char text[1 << 16];
	ssize_t size = sure(read(fd, text, sizeof(text)), "kvmstat's output");
	int lines = 0;

	for (ssize_t i = 0; i < size; i++)
		lines += text[i] == '\n';
	return lines;
}

static void measure(const char *rows, int foreign, int seconds)
{
	double first, average;
	int output[2], lines;
	long long most;
	char row[32];
	pid_t kvmstat;

	sure(pipe2(output, O_CLOEXEC), "pipe");
	kvmstat = start_kvmstat("1", output[1]);
	close(output[1]);
	read_lines(output[0]);
	first = time_of(kvmstat);
	average = run(kvmstat, seconds, &most) / seconds;
	lines = read_lines(output[0]);
	errno = EPIPE;
	if (lines < seconds - 1)
		fail("%d lines in %d seconds", lines, seconds);
	kill(kvmstat, SIGTERM);
	waitpid(kvmstat, NULL, 0);
	close(output[0]);

	snprintf(row, sizeof(row), "%s-first", rows);
	print(row, first, foreign);
	print(rows, average, foreign);
	snprintf(row, sizeof(row), "%s-most", rows);
	print(row, most, foreign);
}

int main(void)
{
	static pid_t small[SMALL];

	begin(FILES + 64);
	start_process(have_vm);
	measure("look", 0, SHORT);
	for (int i = 0; i < SMALL; i++)
		small[i] = start_process(have_nothing);
	measure("look-small", SMALL, 2 * SHORT);
	for (int i = 0; i < SMALL; i++) {
		kill(small[i], SIGKILL);
		waitpid(small[i], NULL, 0);
	}
	for (int i = 0; i < PROCESSES; i++)
		start_process(have_files);
	measure("look-foreign", FOREIGN, LONG);
	return 0;
}
