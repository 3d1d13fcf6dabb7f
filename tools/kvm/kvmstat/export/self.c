// SPDX-License-Identifier: GPL-2.0
/*
 * What this process takes itself.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "export/self.h"
#include "util/util.h"

void self_open(struct self *self)
{
	struct timespec now;
	struct rlimit files;

	clock_gettime(CLOCK_REALTIME, &now);
	getrlimit(RLIMIT_NOFILE, &files);
	*self = (struct self) {
		.statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC),
		.fds = opendir("/proc/self/fd"),
		.page_size = sysconf(_SC_PAGESIZE),
		.start_s = now.tv_sec,
		.max_fds = files.rlim_cur,
	};
}

void self_close(struct self *self)
{
	if (self->statm >= 0)
		close(self->statm);
	if (self->fds)
		closedir(self->fds);
}

static void read_memory(const struct self *self, struct self_usage *usage)
{
	unsigned long long mapped, resident;
	char text[128];
	ssize_t length;

	length = pread(self->statm, text, sizeof(text) - 1, 0);
	if (length <= 0)
		return;
	text[length] = '\0';
	if (sscanf(text, "%llu %llu", &mapped, &resident) != 2)
		return;
	usage->mapped = mapped * self->page_size;
	usage->resident = resident * self->page_size;
}

static uint64_t count_fds(DIR *fds)
{
	const struct dirent *entry;
	uint64_t count = 0;

	rewinddir(fds);
	while ((entry = readdir(fds)))
		count += entry->d_name[0] != '.';
	return count;
}

void self_read(struct self *self, struct self_usage *usage)
{
	struct timespec cpu;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	*usage = (struct self_usage) {
		.cpu_ns = cpu.tv_sec * NSEC_PER_SEC + cpu.tv_nsec,
		.start_s = self->start_s,
		.max_fds = self->max_fds,
	};
	read_memory(self, usage);
	if (self->fds)
		usage->num_fds = count_fds(self->fds);
}
