// SPDX-License-Identifier: GPL-2.0
/*
 * What can be seen in statistics files that the VMM itself holds open, and what cannot.
 */
#include <stdio.h>
#include <stdlib.h>

#include "sources/held.h"
#include "util/util.h"

/* More numbers of vCPUs than that say less than how many there are. */
#define NUMBERS_SHOWN 8

/* Without memory the program ends, as everywhere. */
static void end(const char *reason)
{
	print_error("%s", reason);
	exit(STATUS_ERROR);
}

void held_no_file(struct statsfile *file)
{
	static const struct {
		struct kvm_stats_header header;
		char id[8];
	} content = {
		.header = {
			.name_size = sizeof(content.id),
			.id_offset = offsetof(typeof(content), id),
			.desc_offset = sizeof(content),
			.data_offset = sizeof(content),
		},
		.id = "-",
	};
	const struct statsfile_source source = {
		.fd = -1,
		.memory = &content,
		.size = sizeof(content),
	};
	struct statsfile_error error;

	if (statsfile_open(file, &source, NULL, &error))
		end(error.text);
}

/* A vCPU of the process, by the index-th file descriptor, of which no file is held. */
static bool is_missing(const struct vm *vm, size_t index)
{
	const struct proc_fd *fd = vm->process->fds.entry;
	size_t i;

	if (fd[index].link == LINK_VM || fd[index].is_stats || vm_find_vcpu(vm, fd[index].link))
		return false;
	for (i = 0; i < index; i++) {
		if (fd[i].link == fd[index].link && !fd[i].is_stats)
			return false;
	}
	return true;
}

static unsigned int count_missing(const struct vm *vm)
{
	unsigned int count = 0;
	size_t i;

	for (i = 0; i < vm->process->fds.count; i++)
		count += is_missing(vm, i);
	return count;
}

/* "vCPUs 1, 2" or "9 vCPUs" */
static void print_vcpus(FILE *out, const struct vm *vm, unsigned int count)
{
	const struct proc_fds *fds = &vm->process->fds;
	const char *gap = count > 1 ? "vCPUs " : "vCPU ";
	size_t i;

	if (count > NUMBERS_SHOWN) {
		fprintf(out, "%u vCPUs", count);
		return;
	}
	for (i = 0; i < fds->count; i++) {
		if (!is_missing(vm, i))
			continue;
		fprintf(out, "%s%d", gap, fds->entry[i].link);
		gap = ", ";
	}
}

bool held_misses_vcpus(const struct vm *vm)
{
	return count_missing(vm);
}

char *held_missing(const struct vm *vm)
{
	unsigned int count = count_missing(vm);
	bool has_file = vm->file.source.fd >= 0;
	char *text;
	size_t size;
	FILE *out;

	out = open_memstream(&text, &size);
	if (!out)
		end("out of memory");
	fputs(VMM_ONLY ", which has none open of ", out);
	if (!has_file)
		fputs(count ? "the VM and of " : "the VM", out);
	if (count)
		print_vcpus(out, vm, count);
	if (fclose(out))
		end("out of memory");
	return text;
}

static unsigned int count_fds(const struct proc_fds *fds, bool vms)
{
	unsigned int count = 0;
	size_t i;

	for (i = 0; i < fds->count; i++)
		count += (fds->entry[i].link == LINK_VM) == vms && !fds->entry[i].is_stats;
	return count;
}

unsigned int held_vms(const struct proc_fds *fds)
{
	return count_fds(fds, true);
}

unsigned int held_vcpus(const struct proc_fds *fds)
{
	return count_fds(fds, false);
}
