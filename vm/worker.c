// SPDX-License-Identifier: GPL-2.0-only
/*
 * The init of the Linux guest whose statistics are watched: it keeps the host
 * busy with one kind of work after the other, says which, and powers off. The
 * kernel argument "seconds=N" is the length of each kind, the default is 4.
 */
#include <cpuid.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/io.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MEMORY (64UL << 20)
#define PAGE 4096

/* The port of power-on diagnostics: writing to it has no effect. */
#define IDLE_PORT 0x80

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
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static void page_faults(void)
{
	char *memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return;
	for (unsigned long i = 0; i < MEMORY; i += PAGE)
		memory[i] = 1;
	munmap(memory, MEMORY);
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

/* To the kernel's log: its console works without an interrupt of the serial port. */
static void say(const char *what)
{
	int fd = open("/dev/kmsg", O_WRONLY);
	char text[64];

	if (fd < 0)
		return;
	write(fd, text, snprintf(text, sizeof(text), "<2>guest: %s\n", what));
	close(fd);
}

static void run(const char *name, void (*work)(void), int seconds)
{
	time_t end = time(NULL) + seconds;

	say(name);
	while (time(NULL) < end)
		work();
}

int main(void)
{
	const char *text = getenv("seconds");
	int seconds = text ? atoi(text) : 4;

	mkdir("/dev", 0755);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	ioperm(IDLE_PORT, 1, 1);
	for (int i = 0; phases[i].name; i++)
		run(phases[i].name, phases[i].work, seconds);
	say("powering off");
	reboot(RB_AUTOBOOT);
	return 1;
}
