// SPDX-License-Identifier: GPL-2.0
/*
 * Recordings: replaying one prints exactly what each command printed live, in text and JSON. The
 * tests cut one off at every byte and flip every bit: it causes an error, or the samples stay
 * the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands/command.h"
#include "guests.h"
#include "output.h"
#include "render/render.h"
#include "scene.h"
#include "sources/recording_read.h"
#include "sources/recording_write.h"
#include "sources/replay.h"
#include "tap.h"
#include "tree.h"
#include "util/clock.h"
#include "util/util.h"

static char *file;

/* Reads a file and adds a NUL. The caller frees the content. */
static char *read_whole(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY);
	struct stat info;
	char *content;

	if (fd < 0 || fstat(fd, &info))
		abort();
	content = xcalloc(info.st_size + 1, 1);
	if (read(fd, content, info.st_size) != info.st_size)
		abort();
	close(fd);
	*size = info.st_size;
	return content;
}

/* The command that replay runs. */
static int (*replayed)(int argc, char **argv);

static int run_replayed(int argc, char **argv)
{
	bool latest = replayed != command_stream;

	return replay_begin(latest) ? replayed(argc - latest, argv + latest) : STATUS_ERROR;
}

static int run_replay(int argc, char **argv)
{
	return command_replay(argc, argv, run_replayed);
}

static const struct host *live_host = &scene_host;

static char *live(run_command *run, const char *line, unsigned int second, int *status)
{
	char *output;

	command_host = live_host;
	time_source = &scene_time;
	scene_start(second);
	output = output_of(run, line, status);
	command_host = &this_host;
	time_source = &machine_time;
	return output;
}

/* Checks the order of the pids in the lines of one interval. */
static void sorted(const char *arguments, const char *expected)
{
	char *line = xasprintf("kvmstat %s 1 1", arguments), *found = xasprintf("%s", "");
	char *name = xasprintf("%s: in that order", arguments), *rest, *row, *longer;
	int status, pid;
	char *output = live(command_stream, line, 3, &status);

	for (rest = output; (row = strsep(&rest, "\n")); ) {
		if (sscanf(row, "%*d-%*d-%*d %*d:%*d:%*d %d", &pid) != 1)
			continue;
		longer = xasprintf("%s%d ", found, pid);
		free(found);
		found = longer;
	}
	check_text(found, expected, name);
	free(output);
	free(found);
	free(name);
	free(line);
}

static uint64_t exits_of(pid_t pid)
{
	return scene_exits(pid, 4) - scene_exits(pid, 3);
}

static void test_order(void)
{
	sorted("--sort pid", "10 10 15 20 30 ");
	sorted("--sort name", "30 20 15 10 10 ");
	check(exits_of(15) > exits_of(20) && exits_of(20) > exits_of(10), "exits of the scene");
	sorted("--sort exits", "15 20 10 30 10 ");
	sorted("--sort exits --limit 2", "15 20 ");
	sorted("--sort vcpus --limit 1", "10 ");
	sorted("-p 20 -p 10 --sort pid", "10 10 20 ");
	sorted("-p db --pid 15 --sort name", "20 15 ");
	sorted("-p [dw]* --sort pid --limit 2", "10 10 ");
	sorted("-p d* -p closed", "20 30 ");
}

/* Checks that @line and @same print the same. */
static void check_alike(run_command *run, const char *line, const char *same, unsigned int second)
{
	char *name = xasprintf("%s: as %s", line, same);
	int first_status, second_status;
	char *first = live(run, line, second, &first_status);
	char *expected = live(run, same, second, &second_status);

	check_text(first, expected, name);
	check(*first && first_status == second_status, "%s: exit status", line);
	free(first);
	free(expected);
	free(name);
}

/* Checks which of the scene's VMs a command shows, and that it prints no error. */
static void check_chosen(run_command *run, const char *line, unsigned int second,
			 const char *expected)
{
	static const char * const names[] = { "web", "db", "short", "closed", };
	char *found = xasprintf("%s", ""), *longer;
	int status;
	char *output = live(run, line, second, &status);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strstr(output, names[i]))
			continue;
		longer = xasprintf("%s%s ", found, names[i]);
		free(found);
		found = longer;
	}
	check_text(found, expected, line);
	check_number(status, STATUS_OK, line);
	free(output);
	free(found);
}

static int failing_list(const struct host *host, struct proc_list *list)
{
	*list = (struct proc_list) {};
	return time_source->now_ns() % (1000 * NSEC_PER_SEC) / NSEC_PER_SEC < 403 ?
	       scene_host.list(host, list) : -EIO;
}

/* A failed sample must not show the last interval again. */
static void test_failed_sample(void)
{
	struct host failing = scene_host;
	int status;
	char *expected = live(command_show, "hist -p w* 1 2", 0, &status), *longer, *found;

	check(strstr(expected, "halt_wait_hist"), "hist: there is something to be seen");
	failing.list = failing_list;
	live_host = &failing;
	found = live(command_show, "hist -p w* 1", 0, &status);
	live_host = &scene_host;
	longer = xasprintf("%skvmstat: /proc: Input/output error\n", expected);
	check_text(found, longer, "hist: nothing of a sample that failed");
	check_number(status, STATUS_ERROR, "hist: an error");
	free(found);
	free(longer);
	free(expected);
}

static void test_choice(void)
{
	check_alike(command_stream, "kvmstat -p db 1", "kvmstat -p 20 1", 0);
	check_alike(command_show, "show -p db", "show -p 20", 1);
	check_alike(command_show, "show -p d* -p 20", "show -p 20", 1);
	check_alike(command_show, "hist -p web", "hist -p 10", 1);
	check_alike(command_show, "hist -p db 1", "hist -p 20 1", 0);
	check_chosen(command_table, "list -p db", 3, "db ");
	check_chosen(command_table, "list -p 20 -p 15", 3, "db short ");
	check_chosen(command_table, "list --sort name --limit 1 -p [wd]*", 3, "db ");
	/* A VM that ends during the sample is neither shown nor counted. */
	check_chosen(command_table, "list --sort exits --limit 1 -p [ds]*", 4, "db ");
	check_chosen(command_show, "show -p [dw]*", 3, "web db ");
	/* A chosen VM that starts later is shown; there is no message about other VMs. */
	check_chosen(command_stream, "kvmstat -p [ws]* 1", 2, "web short ");
	check_chosen(command_stream, "kvmstat -p w* 1", 0, "web ");
	check_chosen(command_stream, "kvmstat -w -p s* 1", 0, "short ");
	check_chosen(command_stream, "kvmstat -w -p [ws]* 1", 0, "web short ");
	check_chosen(command_stream, "kvmstat -w -p [ds]* 1", 0, "db short ");
}

/* kvmstat may not look into one of the processes. */
static int denied_list(const struct host *host, struct proc_list *list)
{
	int ret = scene_host.list(host, list);

	list->process[0].err = EACCES;
	return ret;
}

static int list_without_vms(const struct host *host, struct proc_list *list)
{
	int ret = scene_host.list(host, list);
	size_t i;

	for (i = 0; i < list->count; i++)
		list->process[i].fds.count = 0;
	return ret;
}

/* The VMM created the first VM only to probe KVM, and has closed it. */
static bool first_is_dead(int stats)
{
	static int first = -1;

	if (first < 0)
		first = stats;
	return stats == first || scene_host.is_dead(stats);
}

static bool is_later(void)
{
	return time_source->now_ns() % (1000 * NSEC_PER_SEC) / NSEC_PER_SEC > 400;
}

/* It closes the VM a moment later. */
static bool first_dies(int stats)
{
	return is_later() && first_is_dead(stats);
}

/* Every process and VM has ended. */
static bool all_end(int fd)
{
	(void)fd;
	return is_later();
}

static char *wait_on_host(const struct host *host, const char *line, unsigned int second,
			  int *status)
{
	char *output;

	live_host = host;
	output = live(command_stream, line, second, status);
	live_host = &scene_host;
	return output;
}

static void test_waiting_for_nothing(void)
{
	struct host host = scene_host;
	char *output;
	int status;

	host.list = denied_list;
	scene_interrupted_at = 3;
	output = wait_on_host(&host, "kvmstat -w -p none 1", 0, &status);
	check_text(output, "kvmstat: 1 process may not be looked into; "
		   NEEDED_PERMISSION "\n", "-w: a message about processes that are denied");
	check_number(status, STATUS_ERROR, "-w: processes are denied: status");
	free(output);
	scene_interrupted_at = SCENE_SECONDS;
	host.list = list_without_vms;
	output = wait_on_host(&host, "kvmstat -w -p 15 -p 20 1", 3, &status);
	check_text(output, "kvmstat: all chosen processes ended without a VM\n",
		   "-w: processes that end");
	check_number(status, STATUS_ERROR, "-w: processes that end, status");
	free(output);
	host = scene_host;
	host.is_dead = first_is_dead;
	output = wait_on_host(&host, "kvmstat -w -p w* 1 1", 0, &status);
	check(!strstr(output, " 23:31:35") && strstr(output, " 23:31:36"),
	      "-w: a VM that has already ended does not count");
	free(output);
	host.is_dead = first_dies;
	output = wait_on_host(&host, "kvmstat -w -p w* 1 1", 0, &status);
	check(!strstr(output, " 23:31:35") && strstr(output, " 23:31:36"),
	      "-w: a VM that ends soon does not count");
	free(output);
	output = wait_on_host(&host, "kvmstat -w -p 10 1 1", 0, &status);
	check_contains(output, " web", "-w: a process with a short first VM: the next VM is shown");
	check(!strstr(output, "ended"), "-w: a process with a short first VM: no VM that ended");
	free(output);
	host.is_dead = all_end;
	host.is_gone = all_end;
	output = wait_on_host(&host, "kvmstat -w -p 10 60", 0, &status);
	check_text(output, "kvmstat: pid 10 ended without a VM\n",
		   "-w: a VM that ends with its process does not count");
	check_number(status, STATUS_ERROR, "-w: one that ends with its process, status");
	free(output);
}

/* The time before the awaited VM exists counts as no interval. */
static void test_waiting(void)
{
	char *output;
	int status;

	check_chosen(command_stream, "kvmstat -w -p s* 1 1", 0, "short ");
	output = live(command_stream, "kvmstat -w -p s* 1 2", 0, &status);
	check(!strstr(output, " 23:31:33") && strstr(output, " 23:31:34") &&
	      strstr(output, " 23:31:35") && !strstr(output, " 23:31:36"),
	      "-w: COUNT intervals from the start of the VM on");
	free(output);
	scene_interrupted_at = 1;
	output = live(command_stream, "kvmstat -w -p s* 1 1", 0, &status);
	check_text(output, "", "-w: a signal ends the wait");
	check_number(status, STATUS_OK, "-w: a signal, status");
	free(output);
	scene_interrupted_at = SCENE_SECONDS;
}

static void record_scene(const char *arguments)
{
	char *line = xasprintf("record %s %s", file, arguments);
	int status;

	unlink(file);
	free(live(command_record, line, 0, &status));
	free(line);
}

static char *output_of_replay(run_command *run, const char *arguments, int *status)
{
	char *line = xasprintf("replay %s%s%s", file, *arguments ? " " : "", arguments);
	char *output;

	replayed = run;
	output = output_of(run_replay, line, status);
	free(line);
	return output;
}

/* Removes the reason why a VM has no statistics: the recording does not have it. */
static void remove_reason(char *output)
{
	char *start = strstr(output, "pid 30 (closed): "), *end;

	if (!start)
		return;
	while (start > output && start[-1] != '\n')
		start--;
	end = strchr(start, '\n') + 1;
	memmove(start, end, strlen(end) + 1);
}

/*
 * Checks that @line, live from @second on, prints the same as @arguments on the recording.
 */
static void check_same(run_command *run, const char *line, unsigned int second,
		       const char *arguments)
{
	int live_status, replay_status;
	char *seen = live(run, line, second, &live_status);
	char *found = output_of_replay(run, arguments, &replay_status);
	char *name = xasprintf("replay %s: as seen live%s", arguments,
			       render == &text_renderer ? "" : " (JSON)");

	remove_reason(seen);
	remove_reason(found);
	check_text(found, seen, name);
	check(*seen && replay_status == live_status, "replay %s: exit status", arguments);
	free(seen);
	free(found);
	free(name);
}

static void check_commands(void)
{
	static const char * const of_now[] = { "show -p 10 --stat .", "hist -p 10", };
	char *arguments;
	unsigned int second, i;

	check_same(command_stream, "kvmstat 1", 0, "");
	check_same(command_stream, "kvmstat 3", 0, "3");
	check_same(command_stream, "kvmstat 1 2", 4, "--at +4 1 2");
	check_same(command_stream, "kvmstat -p 10 1", 0, "-p 10");
	check_same(command_stream, "kvmstat -p 20 1", 0, "-p 20");
	check_same(command_stream, "kvmstat -p 15 1", 2, "-p 15");
	check_same(command_stream, "kvmstat -p 30 1 2", 0, "-p 30 1 2");
	check_same(command_stream, "kvmstat -p closed 1", 0, "-p closed");
	check_same(command_stream, "kvmstat -p web 1", 0, "-p web");
	check_same(command_stream, "kvmstat -p 10 -p db 1", 0, "-p 10 -p db");
	check_same(command_stream, "kvmstat -p s* 1", 2, "-p s*");
	check_same(command_stream, "kvmstat -p 20 1", 3, "--at +3 -p 20 1");
	for (second = 0; second < SCENE_SECONDS; second++) {
		for (i = 0; i < ARRAY_SIZE(of_now); i++) {
			arguments = xasprintf("--at +%u %s", second, of_now[i]);
			check_same(command_show, of_now[i], second, arguments);
			free(arguments);
		}
	}
	/* Live, a sample begins at the given second; with --at, it ends there. */
	for (second = 1; second < SCENE_SECONDS; second++) {
		arguments = xasprintf("--at +%u list", second);
		check_same(command_table, "list", second - 1, arguments);
		free(arguments);
		arguments = xasprintf("--at +%u show -p 10", second);
		check_same(command_show, "show -p 10", second - 1, arguments);
		free(arguments);
		arguments = xasprintf("--at +%u list --sort exits -p w* -p 30", second);
		check_same(command_table, "list --sort exits -p w* -p 30", second - 1, arguments);
		free(arguments);
	}
	check_same(command_show, "show -p 15", 3, "show -p 15");
	check_same(command_show, "show -p s*", 3, "show -p s*");
	check_same(command_show, "show -p w* -p d* --stat .", 8, "show -p w* -p d* --stat .");
	check_same(command_show, "show -p 20 -c 7", 4, "--at +5 show -p 20 -c 7");
	check_same(command_show, "show -p 15", 3, "--at 23:31:34 show -p 15");
	/* The recording begins within that minute. */
	check_same(command_show, "show -p 10 --stat .", 0, "--at 23:31 show -p 10 --stat .");
	check_same(command_show, "show -p 10 --stat .", 0,
		   "--at 2009-02-13T23:31 show -p 10 --stat .");
	check_same(command_show, "show -p 15", 3, "--at=2009-02-13T23:31:34 show -p 15");
}

#define LINE_OF_CLOSED \
	" 23:31:38     30 -     2 -              - proc   closed\n"

/* A single VM without statistics has the same line as among others, and it is an error. */
static void test_closed(void)
{
	static const struct {
		const char *line;
		unsigned int second;
	} cases[] = {
		{ "kvmstat -p 30 1", 7, }, { "kvmstat -p closed 1", 7, },
		/* A second later, --wait knows that the VM stays. */
		{ "kvmstat -w -p 30 1", 6, },
	};
	char *output;
	int status;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		output = live(command_stream, cases[i].line, cases[i].second, &status);
		check_contains(output, LINE_OF_CLOSED, cases[i].line);
		check_contains(output, "2 ended          - proc   closed\n", "a VM without statistics: its end is shown");
		check(status == STATUS_ERROR && !strstr(output, "23:31:40"), "%s: ends with it",
		      cases[i].line);
		free(output);
	}
}

/* The process ends within the interval: its line is still printed. */
static void test_closed_within(void)
{
	static const struct {
		const struct renderer *renderer;
		const char *expected;
	} cases[] = {
		{ &text_renderer, "2 ended          - proc   closed\n", },
#ifdef HAVE_JSON
		{ &json_renderer, "\"state\":\"ended\"", },
		{ &csv_renderer, "ended", },
#endif
	};
	char *output;
	int status;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		render = cases[i].renderer;
		output = live(command_stream, "kvmstat -p 30 4", 7, &status);
		check_contains(output, cases[i].expected, "closed, ended within an interval");
		check_number(status, STATUS_ERROR, "closed, ended within an interval: status");
		free(output);
	}
	render = &text_renderer;
}

/* The last sample does not have the VM, so it has no interval. */
static void check_new(run_command *run, const char *arguments, const char *expected)
{
	int status;
	char *found = output_of_replay(run, arguments, &status);

	check_contains(found, expected, arguments);
	check_number(status, STATUS_OK, arguments);
	free(found);
}

static const struct image_stat few_vm_stats[] = {
	STAT_LEVEL("online_vcpus"),
	{},
};

static const struct image_stat few_vcpu_stats[] = {
	{ .name = "exits", },
	{},
};

/* VMs whose names are numbers. */
static void test_numbers(void)
{
	char *output;
	int status;

	guests[0] = (struct guest) { .pid = 500, .name = "42", .vm_stats = few_vm_stats,
				     .vcpu_stats = few_vcpu_stats, .vcpus = 1, };
	guests[1] = (struct guest) { .pid = 501, .name = "web", .vm_stats = few_vm_stats,
				     .vcpu_stats = few_vcpu_stats, .vcpus = 1, };
	guests_start();
	live_host = &guests_host;
	record_scene("1 2");
	output = live(command_stream, "kvmstat -p \\42 1 2", 0, &status);
	check_contains(output, " 500 kvm-500    1 ",
		       "a number as a name: only that VM");
	check_number(status, STATUS_OK, "a name: status");
	free(output);
	output = output_of_replay(command_show, "show -p \\42 -p 501", &status);
	check(status == STATUS_OK && strstr(output, "42, pid 500, VM kvm-500:\n") &&
	      strstr(output, "web, pid 501, VM kvm-501:\n"), "a name and a pid");
	free(output);
	live_host = &scene_host;
	guests_free();
}

/* The lines of the output that say that a VM has ended. */
static char *lines_of_ended(char *output)
{
	char *lines = xasprintf("%s", ""), *line, *longer;

	while ((line = strsep(&output, "\n"))) {
		if (!strstr(line, "ended"))
			continue;
		longer = xasprintf("%s%s\n", lines, line);
		free(lines);
		lines = longer;
	}
	return lines;
}

/* A VM ends within an interval: its rates cover the time up to its end, live and replayed. */
static void test_ended_within(void)
{
	static const struct {
		const struct renderer *renderer;
		const char *expected;
	} cases[] = {
#ifdef HAVE_JSON
		{ &json_renderer, "\"interval\":{\"value\":2000000000," },
		{ &csv_renderer, "Z,3.000000000,20," },
#endif
	};
	char *seen, *found, *live_lines, *lines;
	int status;
	size_t i;

	unlink(file);
	seen = xasprintf("record %s 4 1", file);
	free(live(command_record, seen, 3, &status));
	free(seen);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		render = cases[i].renderer;
		seen = live(command_stream, "kvmstat 4 1", 3, &status);
		found = output_of_replay(command_stream, "", &status);
		live_lines = lines_of_ended(seen);
		lines = lines_of_ended(found);
		check_contains(live_lines, cases[i].expected, "ended within an interval: its rates");
		check_text(lines, live_lines, "ended within an interval: replayed as seen live");
		free(seen);
		free(found);
		free(live_lines);
		free(lines);
	}
	render = &text_renderer;
}

static void test_round_trip(void)
{
	void (*text_printer)(const char *text) = error_printer;

	record_scene("1");
	check_commands();
	check_new(command_show, "--at +8 show -p 20", "db, pid 20, sum of 2 vCPUs:\nstatistic ");
	check_new(command_table, "--at +8 list -p 20", " db\n");
#ifdef HAVE_JSON
	render = &json_renderer;
	error_printer = render->error;
	check_commands();
	render = &text_renderer;
#endif
	error_printer = text_printer;
}

/* A checksum of all fields. */
static uint64_t digest(const struct snapshot *snapshot)
{
	const struct recorded_vm *vm;
	uint64_t sum = snapshot->real_ns * 31 + snapshot->monotonic_ns;
	const char *text;
	size_t i;

	for (vm = snapshot->vm; vm < snapshot->vm + snapshot->num_vms; vm++) {
		sum = sum * 31 + vm->serial * 31 + vm->pid + vm->ended + vm->num_vcpus_counted;
		for (text = vm->name; *text; text++)
			sum = sum * 31 + *text;
		for (text = vm->id; *text; text++)
			sum = sum * 31 + *text;
		for (i = 0; i < vm->num_vcpus; i++)
			sum = sum * 31 + vm->vcpu[i];
		for (i = 0; i < recorded_vm_num_values(vm); i++)
			sum = sum * 31 + vm->values[i];
	}
	return sum;
}

#define MAX_SAMPLES 1024

/* A recording in memory, and digests of its samples. */
struct content {
	unsigned char *data;
	size_t size;
	uint64_t digest[MAX_SAMPLES];
	uint64_t end[MAX_SAMPLES];	/* of each sample; 0 after the last one */
	size_t num_samples;
};

static int open_memory(struct recording *recording, const void *data, size_t size,
		       struct statsfile_error *error)
{
	const struct recording_source source = { .fd = -1, .memory = data, .size = size, };

	return recording_open(recording, &source, error);
}

static void read_content(struct content *content)
{
	struct statsfile_error error;
	struct recording recording;
	size_t i;

	*content = (struct content) {};
	content->data = (unsigned char *)read_whole(file, &content->size);
	if (open_memory(&recording, content->data, content->size, &error) ||
	    recording.num_samples >= MAX_SAMPLES)
		abort();
	content->num_samples = recording.num_samples;
	for (i = 0; i < recording.num_samples; i++) {
		if (recording_seek(&recording, i, &error))
			abort();
		content->digest[i] = digest(&recording.now);
		content->end[i] = i + 1 < recording.num_samples ?
				  recording.sample[i + 1].offset : content->size;
	}
	recording_close(&recording);
}

/* Whether these bytes are a recording with exactly the first @expected samples. */
static bool has_samples(const struct content *content, const void *data, size_t size,
			size_t expected)
{
	struct statsfile_error error;
	struct recording recording;
	size_t i;
	bool same;

	if (open_memory(&recording, data, size, &error))
		return false;
	same = recording.num_samples == expected;
	for (i = 0; same && i < recording.num_samples; i++)
		same = !recording_seek(&recording, i, &error) &&
		       digest(&recording.now) == content->digest[i];
	recording_close(&recording);
	return same;
}

static void test_truncated(void)
{
	struct content content;
	struct statsfile_error error;
	size_t size, host_size, samples = 0, wrong = 0, lost = 0, seen_refused = 0;
	struct recording_block host;
	struct recording recording;
	void *copy;

	record_scene("1 5");
	read_content(&content);
	check_number(content.num_samples, 6, "an interval is two samples");
	memcpy(&host, content.data + sizeof(struct recording_magic), sizeof(host));
	host_size = sizeof(struct recording_magic) + sizeof(host) + host.size;
	for (size = 0; size < content.size; size++) {
		/* A copy of this size, so that the sanitizers notice reads beyond its end. */
		copy = memcpy(xcalloc(size, 1), content.data, size);
		while (content.end[samples] && content.end[samples] <= size)
			samples++;
		if (size < host_size) {
			seen_refused += open_memory(&recording, copy, size, &error) < 0 &&
					*error.text;
		} else {
			wrong += !has_samples(&content, copy, size, samples);
			if (!open_memory(&recording, copy, size, &error)) {
				lost += !!*recording.rest.text;
				wrong += recording.damaged;
				recording_close(&recording);
			}
		}
		free(copy);
	}
	check_number(seen_refused, host_size, "cut off in the header: an error");
	check_number(wrong, 0, "cut off at every byte: the complete samples remain");
	/* A cut at the end of a block is not visible. */
	check(lost >= content.size - host_size - content.num_samples - 3,
	      "cut off within a block: a message says so");
	free(content.data);
}

static void test_flipped(void)
{
	struct content content;
	struct recording recording;
	struct statsfile_error error;
	size_t i, samples, wrong = 0, silent = 0;
	unsigned int bit;

	record_scene("1 5");
	read_content(&content);
	for (i = 0; i < content.size; i++) {
		for (bit = 0; bit < 8; bit++) {
			content.data[i] ^= 1 << bit;
			if (!open_memory(&recording, content.data, content.size, &error)) {
				samples = recording.num_samples;
				silent += !*recording.rest.text || !recording.damaged;
				recording_close(&recording);
				wrong += !has_samples(&content, content.data, content.size,
						      samples);
			}
			content.data[i] ^= 1 << bit;
		}
	}
	check_number(wrong, 0, "every bit flipped: the samples before it are the same");
	check_number(silent, 0, "every bit flipped: an error");
	check(has_samples(&content, content.data, content.size, content.num_samples),
	      "no bit flipped: all samples");
	free(content.data);
}

/* Recordings by hand. */

static const char text[] = "text";
static const struct recording_host made_host = {
	.version = "text", .name = "text", .release = "text", .machine = "text",
	.interval_ns = NSEC_PER_SEC,
};
static struct recording_writer made;
static struct statsfile_schema *schema_x, *schema_y;

static void make(void)
{
	recording_writer_free(&made);
	made = (struct recording_writer) { .is_plain = true, };
	recording_begin(&made, &made_host);
}

static struct statsfile_schema *make_schema(const char *name, uint16_t size)
{
	const struct image_stat stats[] = { { .name = name, .size = size, }, {}, };
	struct image image = image_build("-", stats);
	struct statsfile opened = image_open(&image);
	struct statsfile_schema *schema = statsfile_schema_get(opened.schema);

	statsfile_close(&opened);
	image_free(&image);
	return schema;
}

/* Makes a VM of pid 100. The caller keeps the arguments. */
static struct recorded_vm make_vm(uint64_t serial, const char *name,
				  struct statsfile_schema *schema,
				  struct statsfile_schema *vcpu_schema, size_t num_vcpus)
{
	struct recorded_vm vm = {
		.serial = serial,
		.pid = 100,
		.id = "i",
		.schema = statsfile_schema_get(schema),
		.vcpu_schema = vcpu_schema ? statsfile_schema_get(vcpu_schema) : NULL,
		.vcpu = xcalloc(num_vcpus, sizeof(*vm.vcpu)),
		.num_vcpus = num_vcpus,
	};
	size_t i;

	snprintf(vm.name, sizeof(vm.name), "%s", name);
	for (i = 0; i < num_vcpus; i++)
		vm.vcpu[i] = i;
	vm.values = xcalloc(recorded_vm_num_values(&vm), sizeof(*vm.values));
	return vm;
}

/* Adds a sample of the VMs that have a pid. Takes over the VMs. */
static void make_sample(unsigned int second, struct recorded_vm first, struct recorded_vm other)
{
	struct snapshot snapshot = {
		.real_ns = second * NSEC_PER_SEC,
		.monotonic_ns = second * NSEC_PER_SEC,
		.vm = xcalloc(2, sizeof(*snapshot.vm)),
	};

	if (first.pid)
		snapshot.vm[snapshot.num_vms++] = first;
	if (other.pid)
		snapshot.vm[snapshot.num_vms++] = other;
	recording_add(&made, &snapshot);
}

#define NO_VM ((struct recorded_vm) {})

static void append(const void *data, size_t size)
{
	made.block.data = xreallocarray(made.block.data, made.block.size + size, 1);
	memcpy(made.block.data + made.block.size, data, size);
	made.block.room = made.block.size += size;
}

/* Adds a block with any content and right checksums. */
static void make_block(struct recording_block block, const void *content)
{
	if (!block.whole_size)
		block.whole_size = block.size;
	block.content_checksum = recording_checksum(content, block.size);
	block.checksum = HEADER_CHECKSUM(&block);
	append(&block, sizeof(block));
	append(content, block.size);
}

static void make_magic(const char *magic, uint32_t version)
{
	struct recording_magic header = { .version = version, };

	memcpy(header.text, magic, sizeof(header.text));
	header.checksum = HEADER_CHECKSUM(&header);
	made.block.size = 0;
	append(&header, sizeof(header));
}

static int open_made(struct recording *recording, struct statsfile_error *error)
{
	return open_memory(recording, made.block.data, made.block.size, error);
}

static void check_refused(const char *expected)
{
	struct statsfile_error error = {};
	struct recording recording;

	if (!open_made(&recording, &error))
		recording_close(&recording);
	check_contains(error.text, expected, expected);
}

/* Checks a recording whose only sample is that block. */
static void check_sample(struct recording_block block, const void *content, const char *expected)
{
	struct statsfile_error error = {};
	struct recording recording;

	make_block(block, content);
	if (open_made(&recording, &error)) {
		check(false, "%s: it is a recording", expected);
		return;
	}
	if (!*recording.rest.text && recording.num_samples)
		recording_seek(&recording, recording.num_samples - 1, &error);
	check_contains(recording.rest.text, expected, expected);
	check(!recording.num_samples && !recording.now.num_vms, "%s: no sample is left", expected);
	recording_close(&recording);
}

/* A sample of one VM with a schema, a value, a thread and vCPU numbers. */
struct packed {
	struct packed_vm vm;
	uint64_t value;
	struct proc_thread thread;
	int32_t number[2];
};

static void check_vm(struct packed packed, const char *expected)
{
	const struct recording_block block = {
		.type = RECORDING_SAMPLE, .size = sizeof(packed), .monotonic_ns = 1,
	};
	const struct statsfile_shape shape = {
		.name_size = schema_x->name_size, .num_desc = schema_x->num_desc,
	};
	struct recording_block schema = { .type = RECORDING_SCHEMA, };
	unsigned char described[256];

	make();
	schema.size = sizeof(shape) + schema_x->raw_size;
	memcpy(described, &shape, sizeof(shape));
	memcpy(described + sizeof(shape), schema_x->raw, schema_x->raw_size);
	make_block(schema, described);
	check_sample(block, &packed, expected);
}

static const struct packed good = {
	.vm = {
		.serial = 1, .pid = 7, .schema = 1, .num_threads = 1, .num_numbers = 2,
		.name = "n", .id = "i",
	},
	.thread = { .tid = 8, .vcpu = -1, .times.num_threads = 1, },
	.number = { 0, 1, },
};

#define CHECK_VM(field, content, expected) do {			\
	struct packed packed = good;				\
								\
	packed.field = content;					\
	check_vm(packed, expected);				\
} while (0)

static void test_hostile_vms(void)
{
	CHECK_VM(vm.serial, 0, "VMs are not in order");
	CHECK_VM(vm.pid, 0, "a VM without a pid");
	CHECK_VM(vm.pid, UINT32_MAX, "a VM without a pid");
	CHECK_VM(vm.early_ns, 2, "a VM ended before time 0");
	CHECK_VM(vm.id[0], '\0', "a VM without an id");
	CHECK_VM(vm.id[1], ' ', "a VM without an id");
	CHECK_VM(vm.schema, 2, "a schema that does not exist");
	CHECK_VM(vm.vcpu_schema, 2, "a schema that does not exist");
	CHECK_VM(vm.num_vcpus, 1, "it is too short");
	CHECK_VM(vm.num_vcpus, UINT32_MAX, "it is too short");
	CHECK_VM(vm.num_vcpus_counted, UINT32_MAX, "there are too many vCPUs");
	CHECK_VM(vm.num_threads, UINT32_MAX, "it is too short");
	CHECK_VM(vm.num_numbers, UINT32_MAX, "it is too short");
	CHECK_VM(thread.tid, 0, "its threads are invalid");
	CHECK_VM(thread.vcpu, -2, "its threads are invalid");
	CHECK_VM(thread.times.has_ready, 2, "its threads are invalid");
	CHECK_VM(thread.times.num_threads, 0, "its threads are invalid");
	CHECK_VM(number[0], -1, "the numbers of its vCPUs are invalid");
	CHECK_VM(number[1], 0, "the numbers of its vCPUs are invalid");
}

static void test_host_name(void)
{
	struct recording_host host = made_host;
	struct statsfile_error error = {};
	struct recording recording;

	strcpy(host.name, "db\xff\x1b 1 \xc3\xbc");
	recording_writer_free(&made);
	made = (struct recording_writer) {};
	recording_begin(&made, &host);
	make_sample(1, NO_VM, NO_VM);
	if (open_made(&recording, &error)) {
		check(false, "a host of any name: %s", error.text);
		return;
	}
	check_text(recording.host.name, "db?? 1 \xc3\xbc", "a host of any name");
	check_number(recording.num_samples, 1, "a host of any name: its samples");
	recording_close(&recording);
}

static void test_made(void)
{
	const struct recording_block future = { .type = 99, .size = 4, };
	struct recording_block block = { .type = RECORDING_HOST, .size = 4, };
	struct recorded_vm many = make_vm(1, "n", schema_x, NULL, 0);
	struct statsfile_error error;
	struct recording recording;

	check_number(recording_checksum("123456789", 9), 0xcbf43926, "the checksum is a CRC-32");
	make_magic("\x8bkvmrec\n", 1);
	check_refused("it is a recording of version 1, this kvmstat reads version 3");
	make_magic("\x8bkvmrec\n", 3 << 24);
	check_refused("it is a recording of a machine with another byte order");
	make_magic("\x8bkvmrex\n", 3);
	check_refused("it is not a recording of kvmstat");
	make_magic("\x8bkvmrec\n", 3);
	check_refused("it has no description of the host");
	make_block(block, text);
	check_refused("the description of the host: it is too short");
	make();
	make_block(future, text);
	make_sample(1, NO_VM, NO_VM);
	check(!open_made(&recording, &error) && recording.num_samples == 1 &&
	      !*recording.rest.text && !recording_seek(&recording, 0, &error),
	      "unknown block types are skipped");
	recording_close(&recording);
	make();
	/* More vCPUs than a statistics file can have: they are counted by file descriptors. */
	many.num_vcpus_counted = 65537;
	make_sample(1, many, NO_VM);
	check(!open_made(&recording, &error) && !recording_seek(&recording, 0, &error) &&
	      recording.now.vm[0].num_vcpus_counted == 65537, "any number of vCPUs is counted");
	recording_close(&recording);
	make();
	block = (struct recording_block) { .type = RECORDING_SAMPLE, };
	block.monotonic_ns = UINT64_C(1) << 63;
	check_sample(block, text, "the time of a sample is too large");
	make();
	block.monotonic_ns = 1;
	block.size = 4;
	check_sample(block, text, "a sample: it is too short");
	make();
	block.whole_size = RECORDING_MAX_CONTENT + 1;
	check_sample(block, text, "67108865 bytes, 67108864 are possible");
	make();
	block.whole_size = 100;
#ifdef HAVE_ZLIB
	check_sample(block, text, "a block cannot be uncompressed");
#endif
	make();
	block = (struct recording_block) { .type = RECORDING_SCHEMA, .size = 4, };
	make_block(block, text);
	check(!open_made(&recording, &error) && strstr(recording.rest.text, ": a schema: "),
	      "a malformed schema: an error");
	recording_close(&recording);
	make();
	make_sample(2, NO_VM, NO_VM);
	make_sample(2, NO_VM, NO_VM);
	check(!open_made(&recording, &error) && recording.num_samples == 1 &&
	      strstr(recording.rest.text, "older than the one before"),
	      "a sample that is older than the last one: an error");
	recording_close(&recording);
}

static void replay_made(struct inventory *inventory, struct tracker *tracker)
{
	int fd = memfd_create("recording", MFD_CLOEXEC);
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 ||
	    write(fd, made.block.data, made.block.size) != (ssize_t)made.block.size ||
	    replay_open(path) ||
	    !replay_jump(0))
		abort();
	close(fd);
	replay_init(inventory);
	tracker_init(tracker, inventory);
	time_source = &replay_time;
	tracker_sample(tracker);
}

static void end_replay(struct inventory *inventory, struct tracker *tracker)
{
	tracker_free(tracker);
	inventory_free(inventory);
	replay_close();
}

/* The second sample has another VM with the serial of the first one. */
static void test_serial_used_again(void)
{
	struct recorded_vm other = make_vm(1, "n", schema_y, NULL, 0);
	struct inventory inventory;
	struct tracker tracker;

	other.pid = 3;
	make();
	make_sample(1, make_vm(1, "n", schema_x, schema_y, 3), NO_VM);
	make_sample(10, other, NO_VM);
	replay_made(&inventory, &tracker);
	check(tracker.num_vms == 1 && tracker.vm[0]->num_vcpus == 3,
	      "serial used again: the first VM");
	check(replay_step() && !tracker_sample(&tracker) &&
	      tracker.num_vms == 2 && tracker.vm[0]->ended && !tracker.vm[1]->ended &&
	      !tracker.vm[1]->num_vcpus, "serial used again: another VM");
	end_replay(&inventory, &tracker);
}

/* A VM whose vCPUs have other statistics in the second sample. */
static void test_other_vcpus(void)
{
	struct recorded_vm before = make_vm(1, "n", schema_x, schema_x, 0);
	struct recorded_vm after = make_vm(1, "n", schema_x, schema_y, 1);
	struct inventory inventory;
	struct tracker tracker;

	after.values[1] = 7;
	make();
	make_sample(1, before, NO_VM);
	make_sample(10, after, NO_VM);
	replay_made(&inventory, &tracker);
	check(replay_step() && !tracker_sample(&tracker) && tracker.num_vms == 2 &&
	      tracker.vm[0]->ended && tracker.vm[1]->num_vcpus == 1,
	      "other vCPU statistics: another VM");
	check(tracker.vm[1]->model.group[SCOPE_VCPU].schema->num_values == 1 &&
	      *tracker.vm[1]->model.vcpu_last[0] == 7,
	      "other vCPU statistics: its vCPU has its own values");
	end_replay(&inventory, &tracker);
}

static struct recorded_vm busy_vm(unsigned int second)
{
	static const int numbers[] = { 0, 2, };
	struct recorded_vm vm = make_vm(1, "busy", schema_x, NULL, 0);
	struct proc_thread thread = {
		.tid = 7, .times = { .num_threads = 1, .has_ready = true, },
	};

	thread.times.guest_ns = second * NSEC_PER_SEC / 4;
	proc_threads_add(&vm.threads, &thread);
	thread = (struct proc_thread) { .tid = 8, .vcpu = 1, .times = thread.times, };
	thread.times.guest_ns = second * NSEC_PER_SEC / 2;
	proc_threads_add(&vm.threads, &thread);
	vm.num_numbers = ARRAY_SIZE(numbers);
	vm.number = memcpy(xcalloc(2, sizeof(*vm.number)), numbers, sizeof(numbers));
	return vm;
}

/* A recording has the times of threads: shares of the VM, and of each vCPU. */
static void test_threads(void)
{
	struct inventory inventory;
	struct tracker tracker;
	const struct tracked_vm *vm;

	make();
	make_sample(1, busy_vm(1), NO_VM);
	make_sample(2, busy_vm(2), NO_VM);
	replay_made(&inventory, &tracker);
	tracker.reads_threads = true;
	tracker_sample(&tracker);
	if (!replay_step() || tracker_sample(&tracker))
		abort();
	vm = tracker.vm[0];
	check(vm->rates.shares.known[SHARE_GUEST] &&
	      vm->rates.shares.part[SHARE_GUEST] > 0.374 &&
	      vm->rates.shares.part[SHARE_GUEST] < 0.376, "threads: the VM's share");
	check(vm->num_tracked_threads == 2 && vm->vcpu[1].number == 2 &&
	      vm->vcpu[1].rates.shares.part[SHARE_GUEST] == 0.5, "threads: each vCPU's share");
	end_replay(&inventory, &tracker);
}

/* A VM that is too large for readers is not written; all others are. */
static void test_too_much(void)
{
	struct statsfile_schema *schema = make_schema("x", 60000);
	struct snapshot snapshot = { .monotonic_ns = 1, };
	struct statsfile_error error;
	struct recording recording = {};

	make();
	snapshot.vm = xcalloc(4, sizeof(*snapshot.vm));
	snapshot.vm[snapshot.num_vms++] = make_vm(1, "n", schema, NULL, 0);
	snapshot.vm[snapshot.num_vms++] = make_vm(2, "n", schema, schema, 140);
	snapshot.vm[snapshot.num_vms++] = make_vm(3, "n", schema, schema, 100);
	snapshot.vm[snapshot.num_vms++] = make_vm(4, "n", schema, NULL, 0);
	snapshot.vm[3].values[59999] = UINT64_C(1) << 63;
	check_number(recording_add(&made, &snapshot), 1, "too much: one VM is left out");
	check(!open_made(&recording, &error) &&
	      recording.num_samples == 1 && !recording_seek(&recording, 0, &error),
	      "too much: the recording can be read");
	check(recording.now.num_vms == 3 && !snapshot_find(&recording.now, 2) &&
	      recording.now.vm[2].values[59999] == UINT64_C(1) << 63,
	      "too much: it has the other VMs");
	recording_close(&recording);
	statsfile_schema_put(schema);
}

/* Adds a sample of VMs with one vCPU each. @other may be NULL. */
static void make_vms(unsigned int second, const char *first, bool ended, const char *other)
{
	struct recorded_vm one = {}, two = {};

	if (first)
		one = make_vm(1, first, schema_x, schema_x, 1);
	one.ended = ended;
	if (other)
		two = make_vm(2, other, schema_x, schema_x, 1);
	make_sample(second, one, two);
}

static void write_made(void)
{
	tree_write(made.block.data, made.block.size, "recording");
}

/* Replays a recording whose VM ends in second 3, when VM @name starts with the same pid. */
static char *replay_successor(const char *arguments, const char *name, int *status)
{
	make();
	make_vms(1, "one", false, NULL);
	make_vms(2, "one", false, NULL);
	make_vms(3, "one", true, name);
	make_vms(4, NULL, false, name);
	write_made();
	return output_of_replay(command_stream, arguments, status);
}

/* In one sample, a process ends and a new one gets its pid. */
static void test_pid_used_again(void)
{
	static const char * const chosen[] = { "-p on*", "-p one", "-p 100", };
	char *output;
	int status;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(chosen); i++) {
		output = replay_successor(chosen[i], "two", &status);
		check(strstr(output, "ended") && strstr(output, "one") && !strstr(output, "two") &&
		      status == STATUS_OK, "a pid used again, %s: not the other process' VM",
		      chosen[i]);
		free(output);
	}
	output = replay_successor("", "two", &status);
	check_contains(output,
		       "00:00:03    100 i     1 ended          - vmm    one\n",
		       "a pid used again: the VM that ended");
	check_contains(output, "00:00:04", "a pid used again: the VM that goes on");
	free(output);
	output = replay_successor("-p 100", "one", &status);
	check_contains(output, "00:00:03    100 i     1 -              - vmm    one\n",
		       "the same pid and name: the process has another VM");
	free(output);
}

/* Makes samples of seconds 1 to 5. One cannot be read, though its checksums are right. */
static void make_broken(unsigned int broken)
{
	struct recording_block block = {
		.type = RECORDING_SAMPLE,
		.size = sizeof(text),
		.real_ns = broken * NSEC_PER_SEC,
		.monotonic_ns = broken * NSEC_PER_SEC,
	};
	unsigned int second;

	make();
	for (second = 1; second <= 5; second++) {
		if (second == broken)
			make_block(block, text);
		else
			make_vms(second, "one", false, NULL);
	}
}

/* Seeks from sample @from to @to. The samples from @broken on are lost. */
static void check_broken(size_t from, size_t to, size_t broken, const char *name)
{
	struct statsfile_error error = {};
	struct recording recording;
	struct snapshot *now = &recording.now;

	if (open_made(&recording, &error) ||
	    (from < recording.num_samples && recording_seek(&recording, from, &error)))
		abort();
	check(recording_seek(&recording, to, &error) && *error.text && *recording.rest.text &&
	      recording.damaged, "%s: an error", name);
	check_number(recording.num_samples, broken, name);
	check(recording.position < broken && now->num_vms == 1 && !strcmp(now->vm->name, "one") &&
	      now->monotonic_ns == (recording.position + 1) * NSEC_PER_SEC,
	      "%s: it is at an earlier sample", name);
	check(!recording_seek(&recording, broken - 1, &error) &&
	      now->monotonic_ns == broken * NSEC_PER_SEC &&
	      !recording_seek(&recording, 0, &error) &&
	      now->monotonic_ns == NSEC_PER_SEC, "%s: earlier samples can be read", name);
	recording_close(&recording);
}

/* An unreadable sample does not affect the samples before it. */
static void test_broken(void)
{
	struct statsfile_error error;
	struct recording recording;
	char *output;
	int status;

	make_broken(4);
	check_broken(2, 3, 3, "a broken sample, from the one before");
	check_broken(0, 3, 3, "a broken sample, from the first one");
	check_broken(5, 3, 3, "a broken sample, before any seek");
	make_broken(1);
	if (open_made(&recording, &error))
		abort();
	check(recording_seek(&recording, 0, &error) && !recording.num_samples &&
	      !recording.position && !recording.now.num_vms,
	      "the first sample is broken: no sample is left");
	recording_close(&recording);

	make_broken(4);
	write_made();
	output = output_of_replay(command_stream, "-p 100", &status);
	check_contains(output, "a sample: it is too short\n", "a broken sample: a message says so");
	check_contains(output, "00:00:03    100 ", "a broken sample: earlier samples are shown");
	check_number(status, STATUS_ERROR, "a broken sample: exit status");
	free(output);
	make_broken(5);
	write_made();
	output = output_of_replay(command_table, "list", &status);
	check_contains(output, "a sample: it is too short\n", "the last one is broken: a message says so");
	check_contains(output, " one\n", "the last one is broken: the one before is shown");
	check_number(status, STATUS_ERROR, "the last one is broken: exit status");
	free(output);
	output = output_of_replay(command_table, "list -p one", &status);
	check_contains(output, " one\n", "the last one is broken: the last one of a VM");
	check_number(status, STATUS_ERROR, "the last one is broken: exit status for a VM");
	free(output);
}

/* Another recording with samples of the same size replaces the file. */
static void test_written_anew(void)
{
	struct recording_source source = { .fd = -1, };
	struct statsfile_error error = {};
	struct recording recording;
	unsigned int second;
	unsigned char *file_bytes;

	make_broken(0);
	source.size = made.block.size;
	file_bytes = memcpy(xcalloc(source.size, 1), made.block.data, source.size);
	source.memory = file_bytes;
	if (recording_open(&recording, &source, &error) || recording_seek(&recording, 2, &error))
		abort();
	make();
	for (second = 11; second <= 15; second++)
		make_vms(second, "two", false, NULL);
	check_number(made.block.size, source.size, "written anew: the size is the same");
	memcpy(file_bytes, made.block.data, source.size);
	check(recording_seek(&recording, 3, &error) && recording.num_samples == 3 &&
	      recording.position == 2 && recording.now.monotonic_ns == 3 * NSEC_PER_SEC &&
	      !strcmp(recording.now.vm->name, "one"), "written anew: it stays where it was");
	check_text(error.text, "a sample: it has changed", "written anew: why");
	recording_close(&recording);
	free(file_bytes);
}

static void test_interrupted(void)
{
	struct content content;
	int status;
	char *line = xasprintf("record %s", file);
	char *output, *again;

	unlink(file);
	scene_interrupted_at = 3;
	output = live(command_record, line, 0, &status);
	scene_interrupted_at = SCENE_SECONDS;
	check_contains(output, "recording: 4 samples in 3.0 s, ", "interrupted: what was recorded");
	read_content(&content);
	check_number(content.num_samples, 4, "interrupted: all samples are there");
	again = live(command_record, line, 0, &status);
	check(status == STATUS_ERROR && strstr(again, "recording exists; --force overwrites it\n"),
	      "an existing file is not overwritten");
	free(again);
	free(content.data);
	read_content(&content);
	check_number(content.num_samples, 4, "an existing file: its samples are kept");
	free(content.data);
	free(output);
	free(line);
}

/* A problem after the last sample counts for the exit status, too. */
static void test_problem_before_the_end(void)
{
	char *line = xasprintf("record %s --force 5", file), *output;
	int status;

	scene_interrupted_at = 3;
	scene_closed_since = 2;
	output = live(command_record, line, 0, &status);
	scene_interrupted_at = SCENE_SECONDS;
	scene_closed_since = 0;
	check_number(status, STATUS_ERROR, "a problem after the last sample: exit status");
	check_contains(output, "pid 30 (closed): ", "a problem after the last sample: a message says so");
	free(output);
	free(line);
}

static rlim_t file_limit;

/* Sets the limit late, because the host's statistics files are subject to it, too. */
static void set_limit(unsigned int second)
{
	struct rlimit limit;

	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = file_limit;
	if (second == 5)
		setrlimit(RLIMIT_FSIZE, &limit);
}

/* As when the disk is full: the last sample does not fit. */
static void test_full(void)
{
	struct rlimit before;
	struct content content, full;
	char *line, *output;
	int status;

	record_scene("1 5");
	read_content(&full);
	getrlimit(RLIMIT_FSIZE, &before);
	file_limit = full.size - 1;
	scene_on_second = set_limit;
	line = xasprintf("record %s --force 1 5", file);
	output = live(command_record, line, 0, &status);
	scene_on_second = NULL;
	setrlimit(RLIMIT_FSIZE, &before);
	check(status == STATUS_ERROR && strstr(output, "File too large; it ends after 5 samples"),
	      "full: an error");
	read_content(&content);
	check(content.size == full.end[4] &&
	      has_samples(&full, content.data, content.size, 5),
	      "full: the samples that fit are there");
	free(output);
	free(line);
	free(content.data);
	free(full.data);
}

static void test_process(void)
{
	struct statsfile_error error;
	struct recording recording;
	struct content content;

	record_scene("-p 20 1");
	read_content(&content);
	check_number(content.num_samples, 7, "-p: it ends with the process");
	if (open_memory(&recording, content.data, content.size, &error) ||
	    recording_seek(&recording, 6, &error))
		abort();
	check(recording.now.num_vms == 1 && recording.now.vm[0].pid == 20 &&
	      recording.now.vm[0].ended, "-p: only its VM, up to its end");
	check_number(recording.host.pid, 20, "-p: the pid");
	recording_close(&recording);
	free(content.data);

	record_scene("-p 20 -p 10 1 6");
	read_content(&content);
	if (open_memory(&recording, content.data, content.size, &error) ||
	    recording_seek(&recording, 3, &error))
		abort();
	check(recording.now.num_vms == 2 && recording.now.vm[0].pid == 20 &&
	      recording.now.vm[1].pid == 10, "-p -p: their VMs only");
	check_number(recording.host.pid, 0, "-p -p: no single pid");
	recording_close(&recording);
	free(content.data);
	record_scene("-p 20 -p 15 1");
	check(access(file, F_OK), "-p -p: one does not exist: no file");
}

static void test_damaged(void)
{
	struct content content;
	char *output, *expected;
	int status;

	record_scene("1 5");
	read_content(&content);
	tree_write(content.data, content.size - 1, "recording");
	output = output_of_replay(command_stream, "", &status);
	expected = xasprintf("it is cut off after byte %llu; %s",
			     (unsigned long long)content.end[4],
			     "there are 5 samples before that\n");
	check_contains(output, expected, "replay: cut off");
	free(expected);
	free(output);
	content.data[content.end[2] + sizeof(struct recording_block)] ^= 1;
	tree_write(content.data, content.size, "recording");
	output = output_of_replay(command_stream, "", &status);
	expected = xasprintf("it is damaged at byte %llu: the checksum of a block is wrong; %s",
			     (unsigned long long)content.end[2],
			     "there are 3 samples before that\n");
	check_contains(output, expected, "replay: damaged");
	check_contains(output, " 23:31:32 ", "replay: damaged: earlier samples are shown");
	check_number(status, STATUS_ERROR, "replay: damaged: exit status");
	free(expected);
	free(output);
	free(content.data);
}

int main(void)
{
	confine = keep_privileges;
	setenv("TZ", "UTC", 1);
	tree_begin();
	file = tree_path("recording");
	schema_x = make_schema("x", 1);
	schema_y = make_schema("y", 1);
	test_order();
	test_choice();
	test_waiting();
	test_waiting_for_nothing();
	test_failed_sample();
	test_numbers();
	test_closed();
	test_closed_within();
	test_ended_within();
	test_round_trip();
	test_truncated();
	test_flipped();
	test_host_name();
	test_made();
	test_hostile_vms();
	test_threads();
	test_serial_used_again();
	test_other_vcpus();
	test_too_much();
	test_pid_used_again();
	test_broken();
	test_written_anew();
	test_interrupted();
	test_problem_before_the_end();
	test_full();
	test_process();
	test_damaged();
	scene_start(0);
	tree_end();
	free(file);
	recording_writer_free(&made);
	statsfile_schema_put(schema_x);
	statsfile_schema_put(schema_y);
	return tap_end();
}
