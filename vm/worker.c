// SPDX-License-Identifier: GPL-2.0-only
/*
 * The init of the Linux guest whose statistics are watched. Does one kind of work after the
 * other on all CPUs, prints the name of each, and powers off. It rests between pieces of work,
 * to leave emulated CPUs to the host. Kernel arguments:
 *
 *	seconds=N	length of each kind of work, default 4
 *	rounds=N	repeat all N times
 *	busy=1		do not rest
 *	only=N		do only the N-th kind
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/io.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096

/* Memory that page_faults() touches, with busy=1 and without; more would take seconds. */
#define BUSY_MEMORY (64UL << 20)
#define MEMORY (1UL << 20)

/* Time to rest after each piece of work, which itself takes some ms. */
#define REST_MS 20

/* The port for power-on diagnostics: a write has no effect. */
#define IDLE_PORT 0x80

static bool busy;
static int only;

static void sleep_ms(int ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000L }, NULL);
}

static void exits(void)
{
	unsigned int eax, ebx, ecx, edx;

	for (int i = 0; i < 100; i++)
		__cpuid(0, eax, ebx, ecx, edx);
}

static void port_writes(void)
{
	for (int i = 0; i < 100; i++)
		outb(0, IDLE_PORT);
}

static void sleeps(void)
{
	sleep_ms(1);
}

static void page_faults(void)
{
	unsigned long size = busy ? BUSY_MEMORY : MEMORY;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return;
	for (unsigned long i = 0; i < size; i += PAGE)
		memory[i] = 1;
	munmap(memory, size);
}

static void computing(void)
{
	for (int i = 0; i < 1000000; i++)
		__asm__ volatile("");
}

static const struct {
	const char *name;
	void (*work)(void);
} phases[] = {
	{ "cpuid instructions", exits },
	{ "writes to an I/O port", port_writes },
	{ "sleeps of 1 ms", sleeps },
	{ "page faults in fresh memory", page_faults },
	{ "computing without an exit", computing },
	{ NULL, NULL },
};

/* Print through the kernel log: its console needs no interrupts of the serial port. */
static void say(const char *what)
{
	int fd = open("/dev/kmsg", O_WRONLY);
	char text[64];

	if (fd < 0)
		return;
	write(fd, text, snprintf(text, sizeof(text), "<2>guest: %s\n", what));
	close(fd);
}

static void work(int seconds, int cpu)
{
	for (int i = 0; phases[i].name; i++) {
		time_t end = time(NULL) + seconds;

		if (only && only != i + 1)
			continue;
		if (!cpu)
			say(phases[i].name);
		while (time(NULL) < end) {
			phases[i].work();
			if (!busy)
				sleep_ms(REST_MS);
		}
	}
}

/* Run one process on each CPU; the original process runs on CPU 0. Returns the CPU. */
static int spread(void)
{
	cpu_set_t all, one;
	int cpu;

	sched_getaffinity(0, sizeof(all), &all);
	for (cpu = CPU_COUNT(&all) - 1; cpu && fork(); cpu--)
		;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
	return cpu;
}

int main(void)
{
	const char *seconds = getenv("seconds");
	const char *rounds = getenv("rounds");
	int cpu;

	mkdir("/dev", 0755);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	ioperm(IDLE_PORT, 1, 1);
	busy = getenv("busy");
	only = getenv("only") ? atoi(getenv("only")) : 0;
	cpu = spread();
	for (int i = rounds ? atoi(rounds) : 1; i; i--)
		work(seconds ? atoi(seconds) : 4, cpu);
	if (cpu)
		return 0;
	say("powering off");
	reboot(RB_AUTOBOOT);
	return 1;
}
