// SPDX-License-Identifier: GPL-2.0
/*
 * Makes statistics of the files of debugfs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sources/lists.h"
#include "sources/schema.h"
#include "sources/sums.h"
#include "util/util.h"

/* A file, and the statistic that it is; @listed is NULL if it is not known. */
struct statistic {
	const char *file;
	const struct description *listed;
};

static const char *name_of(const struct statistic *statistic)
{
	return statistic->listed ? statistic->listed->name : statistic->file;
}

static enum scope scope_of(const struct statistic *statistic)
{
	return statistic->listed ? statistic->listed->scope : SCOPE_VM;
}

/* The VM's first; known ones in the order of the lists, then the others by their names. */
static int compare_statistics(const void *a, const void *b)
{
	const struct statistic *left = a, *right = b;

	if (scope_of(left) != scope_of(right))
		return scope_of(left) < scope_of(right) ? -1 : 1;
	if (left->listed && right->listed && left->listed != right->listed)
		return left->listed < right->listed ? -1 : 1;
	if (!left->listed != !right->listed)
		return left->listed ? -1 : 1;
	return strcmp(left->file, right->file);
}

/* What can be the name of a statistic. */
static bool is_printable(const char *name)
{
	for (; *name > ' ' && *name <= '~'; name++)
		;
	return !*name;
}

/* A file has one number, of all that there are in a histogram. */
static bool is_statistic(const struct statistic *statistic)
{
	return statistic->listed ? statistic->listed->is_scalar : is_printable(statistic->file);
}

/* Each once: a name that a kernel had before is another one's on another architecture. */
static size_t list_statistics(const struct debugfs_vm *values, struct statistic *statistics)
{
	size_t i, count = 0, kept = 0;

	for (i = 0; i < values->count; i++) {
		statistics[count] = (struct statistic) {
			.file = values->value[i].file,
			.listed = find_listed_file(values->value[i].file),
		};
		count += is_statistic(&statistics[count]);
	}
	qsort(statistics, count, sizeof(*statistics), compare_statistics);
	for (i = 0; i < count; i++) {
		if (!kept || strcmp(name_of(&statistics[i]), name_of(&statistics[kept - 1])))
			statistics[kept++] = statistics[i];
	}
	return kept;
}

/* Those of one scope. */
static int make_schema(struct statsfile_schema **schema, const struct statsfile_known *known,
		       const struct statistic *statistics, size_t count,
		       struct statsfile_error *error)
{
	struct statsfile_schema described = {
		.num_desc = count,
		.num_values = count,
		.desc = xcalloc(count, sizeof(*described.desc)),
	};
	const struct description *listed;
	size_t i;
	int ret;

	for (i = 0; i < count; i++) {
		listed = statistics[i].listed;
		described.desc[i] = (struct statsfile_desc) {
			.name = name_of(&statistics[i]),
			.flags = listed ? listed->flags : KVM_STATS_TYPE_CUMULATIVE,
			.exponent = listed ? listed->exponent : 0,
			.size = 1,
			.first = i,
		};
	}
	ret = schema_make(schema, &described, known, error);
	free(described.desc);
	return ret;
}

static int compare_files(const void *a, const void *b)
{
	const struct sums_file *left = a, *right = b;

	return strcmp(left->name, right->name);
}

static struct sums *make_sums(int fd, const struct debugfs_vm *values,
			      const struct statistic *statistics, size_t count)
{
	struct sums *sums = xcalloc(1, sizeof(*sums) + count * sizeof(*sums->file));
	size_t i;

	sums->fd = fd;
	sums->pid = values->pid;
	sums->ino = values->ino;
	sums->num_denied = values->num_denied;
	sums->count = count;
	for (i = 0; i < count; i++) {
		strcpy(sums->file[i].name, statistics[i].file);
		sums->file[i].index = i;
	}
	if (count)
		qsort(sums->file, count, sizeof(*sums->file), compare_files);
	return sums;
}

/* Both are in the order of the names. */
bool sums_update(struct vm *vm, const struct debugfs_vm *values)
{
	const struct sums *sums = vm->sums;
	size_t i, found = 0;

	if (values->ino != sums->ino)
		return false;
	for (i = 0; i < values->count && found < sums->count; i++) {
		if (strcmp(values->value[i].file, sums->file[found].name))
			continue;
		vm->values[sums->file[found++].index] = values->value[i].value;
	}
	return found == sums->count;
}

/* What is known of those that were there before. Both are in the order of the names. */
static void recall(const struct debugfs_dirs *last, struct debugfs_dirs *dirs)
{
	size_t i = 0, j;

	for (j = 0; j < dirs->count; j++) {
		while (i < last->count && debugfs_compare_dirs(&last->dir[i], &dirs->dir[j]) < 0)
			i++;
		if (i < last->count && !debugfs_compare_dirs(&last->dir[i], &dirs->dir[j]) &&
		    last->dir[i].ino == dirs->dir[j].ino)
			dirs->dir[j] = last->dir[i];
	}
}

static void sort(struct debugfs_dirs *dirs, int (*compare)(const void *a, const void *b))
{
	if (dirs->count)
		qsort(dirs->dir, dirs->count, sizeof(*dirs->dir), compare);
}

static int compare_owners(const void *a, const void *b)
{
	const struct debugfs_dir *left = a, *right = b;

	if (left->process != right->process)
		return left->process < right->process ? -1 : 1;
	return debugfs_compare_dirs(a, b);
}

/* Takes over the list. That of a thread that has ended is nobody's. */
static void take_list(struct inventory *inventory, struct debugfs_dirs *dirs)
{
	const struct host *host = inventory->host;
	struct debugfs_dir *dir;

	sort(&inventory->debugfs, debugfs_compare_dirs);
	recall(&inventory->debugfs, dirs);
	for (dir = dirs->dir; dir < dirs->dir + dirs->count; dir++) {
		if (!dir->process)
			dir->process = host->thread_group(host, dir->pid) ?: -1;
	}
	sort(dirs, compare_owners);
	free(inventory->debugfs.dir);
	inventory->debugfs = *dirs;
}

int sums_list(struct inventory *inventory)
{
	const struct host *host = inventory->host;
	struct debugfs_dirs dirs;

	if (!host->list_debugfs)
		return -ENOTSUP;
	if (inventory->debugfs_listed)
		return inventory->debugfs_err;
	inventory->debugfs_listed = true;
	inventory->debugfs_err = host->list_debugfs(host, &dirs);
	if (!inventory->debugfs_err)
		take_list(inventory, &dirs);
	return inventory->debugfs_err;
}

struct debugfs_dir *sums_next_dir(const struct inventory *inventory,
				  const struct process *process, struct debugfs_dir *last)
{
	const struct debugfs_dirs *dirs = &inventory->debugfs;
	size_t first = 0, end = dirs->count, middle;

	if (last) {
		first = last + 1 - dirs->dir;
	} else {
		while (first < end) {
			middle = first + (end - first) / 2;
			if (dirs->dir[middle].process < process->pid)
				first = middle + 1;
			else
				end = middle;
		}
	}
	if (first == dirs->count || dirs->dir[first].process != process->pid)
		return NULL;
	return &dirs->dir[first];
}

static int open_view(struct vm *vm, const char *id, const struct statsfile_known *known,
		     const struct statistic *statistics, size_t count,
		     struct statsfile_error *error)
{
	static const struct statsfile none = { .source.fd = -1, };
	struct statsfile_schema *schema[NUM_SCOPES] = {};
	size_t num_vm = 0;
	int ret;

	while (num_vm < count && scope_of(&statistics[num_vm]) == SCOPE_VM)
		num_vm++;
	ret = make_schema(&schema[SCOPE_VM], known, statistics, num_vm, error);
	if (!ret)
		ret = make_schema(&schema[SCOPE_VCPU], known, statistics + num_vm, count - num_vm,
				  error);
	/* The only other error of these is that there is no memory. */
	if (!ret)
		ret = statsfile_view(&vm->file, id, schema[SCOPE_VM], schema[SCOPE_VCPU],
				     vm->values, 1);
	if (schema[SCOPE_VM])
		statsfile_schema_put(schema[SCOPE_VM]);
	if (schema[SCOPE_VCPU])
		statsfile_schema_put(schema[SCOPE_VCPU]);
	if (!ret)
		vm_add_vcpu(vm, &none, VCPU_SUM);
	return ret;
}

int sums_open(struct vm *vm, const struct statsfile_known *known, int fd,
	      const struct debugfs_vm *values, struct statsfile_error *error)
{
	struct statistic *statistics = xcalloc(values->count, sizeof(*statistics));
	char *id = xasprintf("debugfs/%d-%d", values->pid, fd);
	size_t count = list_statistics(values, statistics);
	int ret;

	vm->values = xcalloc(count, sizeof(*vm->values));
	ret = open_view(vm, id, known, statistics, count, error);
	free(id);
	if (!ret) {
		vm->sums = make_sums(fd, values, statistics, count);
		sums_update(vm, values);
	} else {
		free(vm->values);
		vm->values = NULL;
	}
	free(statistics);
	return ret;
}
