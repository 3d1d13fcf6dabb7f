// SPDX-License-Identifier: GPL-2.0-only
/*
 * try-mutants PLAN ...: runs tests in a guest on a kernel with counting mutants, one
 * mutant after the other, until a test notices. A plan has these lines, with tabs:
 *
 *	test NAME SECONDS COMMAND CASES	a test, its time limit, and its cases that fail without
 *					a mutant, too, as |CASE|CASE|: they are ignored
 *	cover NAME			run it without a mutant
 *	mutant NUMBER NAME...		run these, until one fails
 *
 * It answers at once with a line for each, so that the mutant that kills the guest is known:
 *
 *	cover NAME MS CASES SITES	the cases that failed, | if none; the sites that it reached
 *	begin NUMBER NAME
 *	caught NUMBER NAME WHY		the first case that failed, twice
 *	flickered NUMBER NAME WHY	a case failed once only; the mutant is not caught
 *	survived NUMBER
 */
#define _GNU_SOURCE
#include <sys/prctl.h>

#include "process.h"

#define MUTANT "/sys/module/kernel/parameters/kvm_mutant"
#define REACHED "/sys/kernel/debug/kvm_mutant_reached"
#define MAX_TESTS 64
#define MAX_LINE 4096

struct test {
	char name[64];
	int seconds;
	char command[256];
	char failing[MAX_LINE];
};

static struct test tests[MAX_TESTS];
static int num_tests;

/* A test's current line of output, and why it failed: its first `not ok`. */
static struct test *running;
static bool covering;
static char line[MAX_LINE];
static size_t line_size;
static char why[MAX_LINE];

static bool is_known(const char *name)
{
	const char *found = running->failing;

	while ((found = strstr(found, name)))
		if (found++[-1] == '|' && found[strlen(name) - 1] == '|')
			return true;
	return false;
}

static void failed(const char *name)
{
	size_t used = strlen(running->failing);

	if (is_known(name))
		return;
	if (covering)
		snprintf(running->failing + used, MAX_LINE - used, "%s|", name);
	else if (!why[0])
		snprintf(why, sizeof(why), "%s", name);
}

static void take_line(void)
{
	const char *name = line + strlen("not ok ");

	if (strncmp(line, "not ok ", strlen("not ok ")))
		return;
	name += strspn(name, "0123456789 ");
	if (!strncmp(name, "- ", 2))
		name += 2;
	failed(name);
	/* The first failure is enough: end the test. */
	if (why[0])
		kill(-1, SIGKILL);
}

static void take(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (text[i] == '\r')
			continue;
		if (text[i] != '\n' && line_size < sizeof(line) - 1) {
			line[line_size++] = text[i];
			continue;
		}
		line[line_size] = '\0';
		line_size = 0;
		take_line();
	}
}

/* Has the kernel warned since the last call? */
static void read_log(int log)
{
	char record[8192], text[256];
	const char *warning, *place;
	ssize_t size;

	while ((size = read(log, record, sizeof(record) - 1)) >= 0 || errno == EPIPE) {
		record[size < 0 ? 0 : size] = '\0';
		record[strcspn(record, "\n")] = '\0';
		warning = strstr(record, "WARNING: ");
		if (!warning)
			warning = strstr(record, "BUG: ");
		if (!warning)
			continue;
		/* Without CPU and PID, which differ each time. */
		place = strstr(warning, " at ");
		snprintf(text, sizeof(text), "kernel log: %.*s%.200s",
			 (int)strcspn(warning, ":"), warning, place ? place : strchr(warning, ':'));
		failed(text);
	}
}

/* Sets why, empty if the test passes. Returns false if the test cannot be killed. */
static bool run(struct test *test)
{
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	int terminal, slave, status = 0;
	char command[256], end[64];
	bool in_time, gone;
	pid_t pid;

	if (log < 0 || lseek(log, 0, SEEK_END) < 0)
		die("/dev/kmsg");
	write_file("/sys/kernel/debug/clear_warn_once", "1");
	running = test;
	why[0] = '\0';
	line_size = 0;
	strcpy(command, test->command);
	terminal = open_terminal(&slave);
	pid = start(command, slave);
	close(slave);
	in_time = wait_for(pid, terminal, test->seconds, take);
	gone = kill_all(&status, pid);
	while (gone && relay(terminal, take))
		;
	close(terminal);
	read_log(log);
	close(log);
	if (!gone)
		strcpy(end, "unkillable");
	else if (!in_time)
		sprintf(end, "time limit of %d s", test->seconds);
	else if (WIFSIGNALED(status))
		sprintf(end, "signal %d", WTERMSIG(status));
	else
		sprintf(end, "exit %d", WEXITSTATUS(status));
	if (strcmp(end, "exit 0") && strcmp(end, "exit 4"))
		failed(end);
	return gone;
}

static struct test *find_test(const char *name)
{
	for (int i = 0; i < num_tests; i++)
		if (!strcmp(tests[i].name, name))
			return &tests[i];
	errno = ENOENT;
	die(name);
}

static void add_test(const char *name, const char *seconds, const char *command,
		     const char *failing)
{
	struct test *test = &tests[num_tests++];

	if (num_tests > MAX_TESTS || !failing) {
		errno = EINVAL;
		die("test");
	}
	snprintf(test->name, sizeof(test->name), "%s", name);
	test->seconds = atoi(seconds);
	snprintf(test->command, sizeof(test->command), "%s", command);
	snprintf(test->failing, sizeof(test->failing), "%s", failing);
}

static bool cover(struct test *test)
{
	char sites[8192] = "";
	long long begin;
	bool gone;
	FILE *file;

	write_file(REACHED, "0");
	begin = now_ms();
	covering = true;
	gone = run(test);
	covering = false;
	begin = now_ms() - begin;
	file = fopen(REACHED, "re");
	if (!file)
		die(REACHED);
	if (!fgets(sites, sizeof(sites), file))
		sites[0] = '\0';
	fclose(file);
	printf("cover\t%s\t%lld\t%s\t%s\n", test->name, begin, test->failing, sites);
	return gone;
}

static bool try(const char *number, char **names)
{
	const char *name = NULL;
	char first[MAX_LINE];
	bool gone = true;

	write_file(MUTANT, number);
	why[0] = '\0';
	while (gone && !why[0] && (name = strtok_r(NULL, "\t\n", names))) {
		printf("begin\t%s\t%s\n", number, name);
		gone = run(find_test(name));
		if (!gone || !why[0])
			continue;
		strcpy(first, why);
		gone = run(find_test(name));
		if (!why[0])
			printf("flickered\t%s\t%s\t%s\n", number, name, first);
	}
	write_file(MUTANT, "0");
	if (why[0])
		printf("caught\t%s\t%s\t%s\n", number, name, why);
	else
		printf("survived\t%s\n", number);
	return gone;
}

/* Returns false if something is left that requires another boot. */
static bool obey(char *text)
{
	char *rest;
	const char *word = strtok_r(text, "\t\n", &rest);
	const char *name = strtok_r(NULL, "\t\n", &rest);
	const char *seconds, *command;

	if (!strcmp(word, "cover"))
		return cover(find_test(name));
	if (!strcmp(word, "mutant"))
		return try(name, &rest);
	seconds = strtok_r(NULL, "\t\n", &rest);
	command = strtok_r(NULL, "\t\n", &rest);
	add_test(name, seconds, command, strtok_r(NULL, "\t\n", &rest));
	return true;
}

int main(int argc, char **argv)
{
	FILE *plan = argc > 1 ? fopen(argv[1], "re") : NULL;
	char text[MAX_LINE];

	if (!plan)
		die("plan");
	setvbuf(stdout, NULL, _IOLBF, 0);
	/* Reap the processes that a test leaves behind. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	while (fgets(text, sizeof(text), plan))
		if (!obey(text))
			return 1;
	printf("done\n");
	return 0;
}
