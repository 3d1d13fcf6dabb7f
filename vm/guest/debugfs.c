// SPDX-License-Identifier: GPL-2.0-only
/*
 * debugfs                        prints what KVM's debugfs files are, as a table
 * debugfs BASE [DIFFERENCES]     compares them with the table of the unpatched base
 *
 * Programs have read these files for years: the statistics files must not change them. For
 * each file in the directories of the host, a fresh VM and its vCPU the table has the mode, the
 * content (0, N or -N for a number), and the results of writing 0, 1 and a word. DIFFERENCES
 * lists intended differences from the base, with the reason.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tiny-vm.h"

#define ROOT "/sys/kernel/debug/kvm"
#define MAX_FILES 512
#define MAX_STATS 256
#define RUNS 5

enum column { WHERE, NAME, MODE, FRESH, WRITE_0, WRITE_1, WRITE_TEXT, COLUMNS };

static const char *const titles[COLUMNS] = {
	"where", "name", "mode", "fresh", "write-0", "write-1", "write-text",
};

struct file {
	char path[384];
	char column[COLUMNS][48];
};

struct table {
	int count;
	struct file files[MAX_FILES];
};

struct stat_desc {
	char name[256];
	unsigned int type;
	unsigned int size;
	unsigned int offset;
	int fd;
	unsigned int data_offset;
};

static struct table found, base, differences;
static struct stat_desc stats[MAX_STATS];
static int stats_count;
/* How often this thread was preempted while it created the VM; mostly 0. */
static long preemptions;

static void set(struct file *file, enum column column, const char *text)
{
	snprintf(file->column[column], sizeof(file->column[column]), "%.47s", text);
}

static struct file *add(struct table *table)
{
	if (table->count == MAX_FILES) {
		errno = E2BIG;
		bail_out("table");
	}
	return &table->files[table->count++];
}

static struct file *find(struct table *table, const char *where, const char *name)
{
	for (int i = 0; i < table->count; i++)
		if (!strcmp(table->files[i].column[WHERE], where) &&
		    !strcmp(table->files[i].column[NAME], name))
			return &table->files[i];
	return NULL;
}

/* The number in a file that has only a number and a newline. */
static bool read_number(const char *path, long long *number)
{
	char text[64] = "", end[2] = "";
	int fd = open(path, O_RDONLY);
	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	close(fd);
	return size > 0 && sscanf(text, "%lld%1[\n]", number, end) == 2 && text[size - 1] == '\n';
}

static long preemptions_of_this_thread(void)
{
	struct rusage usage;

	checked(getrusage(RUSAGE_THREAD, &usage), "getrusage");
	return usage.ru_nivcsw;
}

/*
 * KVM_CREATE_VCPU loads the vCPU for a moment: a preemption in that time counts, at most once.
 * This is the only statistic of a fresh VM that depends on the scheduler: preemption_reported
 * needs a guest instruction first.
 */
static bool counts_preemption(const char *name, long long number)
{
	return !strcmp(name, "preemption_other") && number > 0 && number <= preemptions;
}

static const char *kind_of_content(const char *name, const char *path)
{
	long long number;

	if (!read_number(path, &number))
		return "?";
	if (counts_preemption(name, number))
		return "0";
	return number > 0 ? "N" : number < 0 ? "-N" : "0";
}

static const char *result_of_writing(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	const char *outcome = written ? "ok" : strerrorname_np(errno);

	close(fd);
	return outcome;
}

static void add_file(const char *where, const char *name, const char *path)
{
	struct file *file = add(&found);
	struct stat stat;
	char mode[16];

	checked(lstat(path, &stat), path);
	snprintf(mode, sizeof(mode), "%06o", stat.st_mode);
	snprintf(file->path, sizeof(file->path), "%s", path);
	set(file, WHERE, where);
	set(file, NAME, name);
	set(file, MODE, mode);
	for (int i = FRESH; i < COLUMNS; i++)
		set(file, i, "-");
	if (S_ISREG(stat.st_mode))
		set(file, FRESH, kind_of_content(name, path));
}

static void add_directory(const char *where, const char *directory)
{
	struct dirent **entries;
	char path[384];
	int count = checked(scandir(directory, &entries, NULL, alphasort), directory);

	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, entries[i]->d_name);
		/* VM directories are named <pid>-<fd> */
		if (entries[i]->d_type == DT_DIR && strpbrk(entries[i]->d_name, ".-"))
			continue;
		add_file(where, entries[i]->d_name, path);
	}
}

/* Read all files before the first write. */
static void collect(const struct tiny_vm *vm)
{
	char directory[128], vcpu[160];

	snprintf(directory, sizeof(directory), ROOT "/%d-%d", getpid(), vm->fd);
	snprintf(vcpu, sizeof(vcpu), "%s/vcpu0", directory);
	add_directory("host", ROOT);
	add_directory("vm", directory);
	/* not every architecture has files there */
	if (find(&found, "vm", "vcpu0"))
		add_directory("vcpu", vcpu);
	for (int i = 0; i < found.count; i++) {
		struct file *file = &found.files[i];

		if (!strcmp(file->column[FRESH], "-"))
			continue;
		set(file, WRITE_0, result_of_writing(file->path, "0"));
		set(file, WRITE_1, result_of_writing(file->path, "1"));
		set(file, WRITE_TEXT, result_of_writing(file->path, "text"));
	}
}

static void print_table(void)
{
	for (int i = 0; i < found.count; i++)
		printf("%-4s %-28s %s %-2s %-6s %-6s %s\n", found.files[i].column[WHERE],
		       found.files[i].column[NAME], found.files[i].column[MODE],
		       found.files[i].column[FRESH], found.files[i].column[WRITE_0],
		       found.files[i].column[WRITE_1], found.files[i].column[WRITE_TEXT]);
}

static void load(struct table *table, const char *path)
{
	FILE *stream = fopen(path, "r");
	char line[512];

	if (!stream)
		bail_out(path);
	while (fgets(line, sizeof(line), stream)) {
		struct file *file;

		if (line[0] == '#' || line[0] == '\n')
			continue;
		file = add(table);
		for (int i = 0, at = 0, used; i < COLUMNS; i++, at += used)
			if (sscanf(line + at, "%47s%n", file->column[i], &used) != 1) {
				errno = EINVAL;
				bail_out(path);
			}
	}
	fclose(stream);
}

static struct stat_desc *statistic(const char *name)
{
	for (int i = 0; i < stats_count; i++)
		if (!strcmp(stats[i].name, name))
			return &stats[i];
	return NULL;
}

static bool every_base_file_exists(void)
{
	bool ok = true;

	for (int i = 0; i < base.count; i++) {
		struct file *file = &base.files[i];

		if (find(&found, file->column[WHERE], file->column[NAME]))
			continue;
		printf("# missing: %s %s\n", file->column[WHERE], file->column[NAME]);
		ok = false;
	}
	return ok;
}

/* The expected content of a column: the base's, or the intended difference's. */
static const char *expected(struct file *file, enum column column)
{
	struct file *listed = find(&differences, file->column[WHERE], file->column[NAME]);

	return (listed ?: file)->column[column];
}

static bool column_matches_base(enum column column)
{
	bool ok = true;

	for (int i = 0; i < base.count; i++) {
		struct file *old = &base.files[i];
		struct file *new = find(&found, old->column[WHERE], old->column[NAME]);

		if (!new || !strcmp(expected(old, column), new->column[column]))
			continue;
		printf("# %s %s, %s: %s instead of %s\n", old->column[WHERE], old->column[NAME],
		       titles[column], new->column[column], expected(old, column));
		ok = false;
	}
	return ok;
}

/* A listed difference must name a file of the base, and differ from it. */
static bool differences_differ(void)
{
	bool ok = true;

	for (int i = 0; i < differences.count; i++) {
		struct file *listed = &differences.files[i];
		struct file *old = find(&base, listed->column[WHERE], listed->column[NAME]);
		bool differs = false;

		for (int column = MODE; old && column < COLUMNS; column++)
			differs |= !!strcmp(old->column[column], listed->column[column]);
		if (differs)
			continue;
		printf("# no difference: %s %s\n", listed->column[WHERE], listed->column[NAME]);
		ok = false;
	}
	return ok;
}

static void describe(int fd)
{
	struct kvm_stats_header header;
	char block[256];

	checked(pread(fd, &header, sizeof(header), 0), "statistics file");
	for (unsigned int i = 0; i < header.num_desc && stats_count < MAX_STATS; i++) {
		struct kvm_stats_desc *desc = (void *)block;
		struct stat_desc *stat = &stats[stats_count++];
		unsigned int size = sizeof(*desc) + header.name_size;

		checked(pread(fd, block, size, header.desc_offset + i * size), "statistics file");
		snprintf(stat->name, sizeof(stat->name), "%s", block + sizeof(*desc));
		stat->type = desc->flags & KVM_STATS_TYPE_MASK;
		stat->size = desc->size;
		stat->offset = desc->offset;
		stat->fd = fd;
		stat->data_offset = header.data_offset;
	}
}

static long long value_of(const struct stat_desc *stat)
{
	long long value;

	checked(pread(stat->fd, &value, sizeof(value), stat->data_offset + stat->offset),
		"statistics file");
	return value;
}

static bool is_new_in(const struct file *file, const char *where)
{
	return !strcmp(file->column[WHERE], where) &&
	       !find(&base, where, file->column[NAME]);
}

static bool new_files_are_scalars(void)
{
	bool ok = true;

	for (int i = 0; i < found.count; i++) {
		struct file *file = &found.files[i];
		struct stat_desc *stat = statistic(file->column[NAME]);

		if (find(&base, file->column[WHERE], file->column[NAME]))
			continue;
		if (strcmp(file->column[WHERE], "vcpu") && stat && stat->size == 1)
			continue;
		printf("# new: %s %s\n", file->column[WHERE], file->column[NAME]);
		ok = false;
	}
	return ok;
}

/* Gauges are read-only: clearing one would make it wrong. */
static bool new_files_are_cleared_by_0_unless_instant(void)
{
	bool ok = true;

	for (int i = 0; i < found.count; i++) {
		struct file *file = &found.files[i];
		struct stat_desc *stat = statistic(file->column[NAME]);
		bool instant = stat && stat->type == KVM_STATS_TYPE_INSTANT;

		if (!is_new_in(file, "vm") && !is_new_in(file, "host"))
			continue;
		if (!strcmp(file->column[MODE], instant ? "100444" : "100644") &&
		    !strcmp(file->column[WRITE_0], instant ? "EACCES" : "ok") &&
		    !strcmp(file->column[WRITE_1], instant ? "EACCES" : "EINVAL") &&
		    !strcmp(file->column[WRITE_TEXT], instant ? "EACCES" : "EINVAL"))
			continue;
		printf("# %s %s: %s %s %s %s\n", file->column[WHERE], file->column[NAME],
		       file->column[MODE], file->column[WRITE_0], file->column[WRITE_1],
		       file->column[WRITE_TEXT]);
		ok = false;
	}
	return ok;
}

/*
 * There are as many files with a number as scalars, except state and state_since_ns, which
 * cannot be added up, and files that show one bucket of a histogram. Only the counts are
 * compared, because some files have older names.
 */
static bool every_scalar_has_a_file(const char *where)
{
	int scalars = 0, files = 0;

	for (int i = 0; i < stats_count; i++)
		scalars += stats[i].size == 1 && strncmp(stats[i].name, "state", 5) &&
			   strcmp(stats[i].name, "last_user_exit");
	for (int i = 0; i < found.count; i++) {
		struct stat_desc *stat = statistic(found.files[i].column[NAME]);

		files += !strcmp(found.files[i].column[WHERE], where) &&
			 strcmp(found.files[i].column[FRESH], "-") &&
			 strcmp(found.files[i].column[FRESH], "?") &&
			 !(stat && stat->size > 1);
	}
	printf("# %d scalars, %d files of %s\n", scalars, files, where);
	return scalars == files;
}

/* Compare a directory's files with the statistics files, if the names are the same. */
static bool values_agree(const char *where)
{
	int compared = 0, not_zero = 0;
	long long number;
	bool ok = true;

	for (int i = 0; i < stats_count; i++) {
		struct file *file = find(&found, where, stats[i].name);

		if (!file)
			continue;
		if (!read_number(file->path, &number))
			bail_out(file->path);
		compared++;
		not_zero += !!number;
		if (number == value_of(&stats[i]))
			continue;
		printf("# %s %s: %lld, in the statistics file %lld\n", where, stats[i].name,
		       number, value_of(&stats[i]));
		ok = false;
	}
	printf("# %d compared, %d of them not 0\n", compared, not_zero);
	return ok && not_zero;
}

/* Writing 0 clears a statistic, in the statistics file, too. */
static bool writing_0_clears(const char *where)
{
	long long number;
	int cleared = 0;
	bool ok = true;

	for (int i = 0; i < found.count; i++) {
		struct file *file = &found.files[i];
		struct stat_desc *stat = statistic(file->column[NAME]);

		if (strcmp(file->column[WHERE], where) || strcmp(file->column[WRITE_0], "ok"))
			continue;
		if (!read_number(file->path, &number))
			bail_out(file->path);
		if (!number)
			continue;
		cleared++;
		result_of_writing(file->path, "0");
		if (read_number(file->path, &number) && !number && (!stat || !value_of(stat)))
			continue;
		printf("# not cleared: %s %s\n", where, file->column[NAME]);
		ok = false;
	}
	printf("# %d cleared\n", cleared);
	return ok && cleared;
}

static void run(const struct tiny_vm *vm)
{
	for (int i = 0; i < RUNS; i++)
		if (!tiny_vm_run(vm))
			bail_out("KVM_RUN");
}

static void compare(const struct tiny_vm *vm)
{
	describe(stats_fd(vm->fd));
	describe(stats_fd(vm->vcpu));
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("1..15\n");
	result(every_base_file_exists(), "every_file_of_the_base_exists");
	result(column_matches_base(MODE), "modes_match_the_base");
	result(column_matches_base(FRESH), "contents_of_a_fresh_vm_match_the_base");
	result(column_matches_base(WRITE_0), "writing_0_does_what_it_did");
	result(column_matches_base(WRITE_1), "writing_1_does_what_it_did");
	result(column_matches_base(WRITE_TEXT), "writing_text_does_what_it_did");
	result(differences_differ(), "listed_differences_exist");
	result(new_files_are_scalars(), "new_files_are_scalars_of_the_statistics_file");
	result(new_files_are_cleared_by_0_unless_instant(),
	       "new_files_are_cleared_by_0_unless_instant");
	result(every_scalar_has_a_file("host"), "every_scalar_has_a_file_of_the_host");
	result(every_scalar_has_a_file("vm"), "every_scalar_has_a_file_of_the_vm");
	run(vm);
	result(values_agree("vm"), "values_of_vm_match_the_statistics_file");
	result(values_agree("host"), "values_of_host_match_its_only_vm");
	result(writing_0_clears("vm"), "writing_0_to_files_of_vm_clears");
	run(vm);
	result(writing_0_clears("host"), "writing_0_to_files_of_host_clears");
}

int main(int argc, char **argv)
{
	long before = preemptions_of_this_thread();
	struct tiny_vm vm = tiny_vm_create();

	preemptions = preemptions_of_this_thread() - before;
	collect(&vm);
	if (argc < 2) {
		print_table();
		return 0;
	}
	printf("# %ld preemptions while the VM was made\n", preemptions);
	load(&base, argv[1]);
	/* Not every base has differences. */
	if (argc > 2 && !access(argv[2], F_OK))
		load(&differences, argv[2]);
	compare(&vm);
	return 0;
}
