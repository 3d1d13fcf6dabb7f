// SPDX-License-Identifier: GPL-2.0
/*
 * What can be seen in statistics files that the VMM itself holds open, and what cannot.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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

static bool is_between(const struct statsfile_schema *schema, const uint64_t *before,
		       const uint64_t *value, const uint64_t *after)
{
	const struct statsfile_desc *desc;
	unsigned int i, j;

	for (i = 0; i < schema->num_desc; i++) {
		desc = &schema->desc[i];
		if (statsfile_type(desc) != KVM_STATS_TYPE_CUMULATIVE)
			continue;
		for (j = desc->first; j < desc->first + desc->size; j++) {
			if (value[j] < before[j] || value[j] > after[j])
				return false;
		}
	}
	return true;
}

bool held_count_the_same(const struct statsfile *taken, int stats,
			 const struct statsfile_known *known)
{
	const struct statsfile_schema *schema = taken->schema;
	const struct statsfile_source source = { .fd = stats, .access = STATSFILE_PREAD, };
	struct statsfile_error error;
	struct statsfile file;
	uint64_t *values[3];
	bool is_same = false;
	size_t i;

	if (statsfile_open(&file, &source, known, &error)) {
		close(stats);
		return false;
	}
	for (i = 0; i < ARRAY_SIZE(values); i++)
		values[i] = xcalloc(schema->num_values, sizeof(*values[i]));
	if (statsfile_schema_is_same(schema, file.schema))
		is_same = !statsfile_read(taken, values[0], &error) &&
			  !statsfile_read(&file, values[1], &error) &&
			  !statsfile_read(taken, values[2], &error) &&
			  is_between(schema, values[0], values[1], values[2]);
	for (i = 0; i < ARRAY_SIZE(values); i++)
		free(values[i]);
	statsfile_close(&file);
	return is_same;
}

/* The vCPUs of the process of which no file is held, lowest first; the caller frees them. */
static int *missing_vcpus(const struct vm *vm, size_t *count)
{
	size_t i, num_vcpus;
	int *number = proc_vcpus(&vm->process->fds, &num_vcpus);

	*count = 0;
	for (i = 0; i < num_vcpus; i++) {
		if (!vm_find_vcpu(vm, number[i]))
			number[(*count)++] = number[i];
	}
	return number;
}

/* "vCPUs 1, 2" or "9 vCPUs" */
static void print_vcpus(FILE *out, const int *number, size_t count)
{
	size_t i;

	if (count > NUMBERS_SHOWN) {
		fprintf(out, "%zu vCPUs", count);
		return;
	}
	for (i = 0; i < count; i++)
		fprintf(out, "%s%d", i ? ", " : count > 1 ? "vCPUs " : "vCPU ", number[i]);
}

bool held_misses_vcpus(const struct vm *vm)
{
	size_t count;

	free(missing_vcpus(vm, &count));
	return count;
}

char *held_missing(const struct vm *vm)
{
	bool has_file = vm->file.source.fd >= 0;
	size_t count, size;
	int *number = missing_vcpus(vm, &count);
	char *text;
	FILE *out;

	out = open_memstream(&text, &size);
	if (!out)
		end("out of memory");
	fputs(VMM_ONLY ", which has none open of ", out);
	if (!has_file)
		fputs(count ? "the VM and of " : "the VM", out);
	if (count)
		print_vcpus(out, number, count);
	if (fclose(out))
		end("out of memory");
	free(number);
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
	size_t count;

	if (held_vms(fds) > 1)
		return count_fds(fds, false);
	free(proc_vcpus(fds, &count));
	return count;
}
