// SPDX-License-Identifier: GPL-2.0
/*
 * Numbers from a command line; small files and links; the clock.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tap.h"
#include "tree.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/util.h"

struct number_case {
	const char *text;
	int ret;
	uint64_t value;
};

static void test_numbers(void)
{
	static const struct number_case cases[] = {
		{ "1", 0, 1, },
		{ "007", 0, 7, },
		{ "100", 0, 100, },
		{ "0", -ERANGE, 0, },
		{ "101", -ERANGE, 0, },
		{ "18446744073709551615", -ERANGE, 0, },
		{ "18446744073709551616", -ERANGE, 0, },
		{ "99999999999999999999999", -ERANGE, 0, },
		{ "", -EINVAL, 0, },
		{ " 1", -EINVAL, 0, },
		{ "1 ", -EINVAL, 0, },
		{ "+1", -EINVAL, 0, },
		{ "-1", -EINVAL, 0, },
		{ "0x10", -EINVAL, 0, },
		{ "1e2", -EINVAL, 0, },
		{ "1.0", -EINVAL, 0, },
		{ "ten", -EINVAL, 0, },
	};
	uint64_t value;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		value = 0;
		ret = parse_number(cases[i].text, 1, 100, &value);
		check(ret == cases[i].ret && value == cases[i].value,
		      "number from 1 to 100: '%s'", cases[i].text);
	}
	check(!parse_number("18446744073709551615", 0, UINT64_MAX, &value) && value == UINT64_MAX,
	      "the largest number");
}

static void test_seconds(void)
{
	static const struct number_case cases[] = {
		{ "1", 0, 1000000000, },
		{ "0.5", 0, 500000000, },
		{ "2.25", 0, 2250000000, },
		{ "1.000000001", 0, 1000000001, },
		{ "10.000000000", 0, 10000000000, },
		{ "0.000000001", -ERANGE, 0, },
		{ "10.1", -ERANGE, 0, },
		{ "18446744073", -ERANGE, 0, },
		{ "18446744073.999999999", -ERANGE, 0, },
		{ "18446744074", -ERANGE, 0, },
		{ "1.0000000001", -EINVAL, 0, },
		{ "1.", -EINVAL, 0, },
		{ ".5", 0, 500000000, },
		{ ".", -EINVAL, 0, },
		{ "1,5", -EINVAL, 0, },
		{ "1.5.0", -EINVAL, 0, },
		{ "1s", -EINVAL, 0, },
		{ "nan", -EINVAL, 0, },
		{ "inf", -EINVAL, 0, },
		{ "-1", -EINVAL, 0, },
		{ "", -EINVAL, 0, },
	};
	uint64_t ns;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		ns = 0;
		ret = parse_seconds(cases[i].text, 10000000, 10 * NSEC_PER_SEC, &ns);
		check(ret == cases[i].ret && ns == cases[i].value,
		      "seconds from 0.01 to 10: '%s'", cases[i].text);
	}
}

static void test_links(void)
{
	char text[4] = "xxx";
	int dir;

	tree_begin();
	tree_link("abc", "short");
	tree_link("abcd", "long");
	dir = open(tree_root, O_RDONLY | O_DIRECTORY);
	check(!read_link(dir, "none", text, sizeof(text)) && !*text, "link: it does not exist");
	check(read_link(dir, "short", text, sizeof(text)) && !strcmp(text, "abc"),
	      "link: it just fits");
	check(!read_link(dir, "long", text, sizeof(text)) && !*text,
	      "link: too long: refused, not cut off");
	close(dir);
	tree_end();
}

static void test_files(void)
{
	int file = memfd_create("test", 0);
	char path[64], text[4] = "xxx";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	check(!read_file(AT_FDCWD, path, text, sizeof(text)) && !*text, "file: it is empty");
	if (write(file, "abcd", 4) != 4)
		abort();
	check(read_file(AT_FDCWD, path, text, sizeof(text)) == 3 && !strcmp(text, "abc"),
	      "file: as much as fits");
	check(!read_file(AT_FDCWD, "/proc/self/none", text, sizeof(text)) && !*text,
	      "file: it does not exist");
	close(file);
}

/* Signals must not stay blocked if there is no signalfd to read them. */
static void test_signals(void)
{
	struct rlimit before, none;
	sigset_t blocked;

	getrlimit(RLIMIT_NOFILE, &before);
	none = before;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_NOFILE, &none);
	check(catch_signals() < 0, "signals cannot be read");
	setrlimit(RLIMIT_NOFILE, &before);
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	check(!sigismember(&blocked, SIGINT) && !sigismember(&blocked, SIGTERM),
	      "signals cannot be read: they are not blocked");
}

/* Reads both clocks in a time namespace that is 1000 s ahead. False if the kernel has none. */
static bool look_from_namespace(const char *program, unsigned long long *namespace_ns,
				unsigned long long *kernel_ns)
{
	char *command = xasprintf("unshare --time --fork --monotonic 1000 %s clock 2>/dev/null",
				  program);
	FILE *output = popen(command, "r");
	bool found;

	found = fscanf(output, "%llu %llu", namespace_ns, kernel_ns) == 2;
	pclose(output);
	free(command);
	return found;
}

static int print_clocks(void)
{
	printf("%llu", (unsigned long long)monotonic_ns());
	use_kernels_clock();
	printf(" %llu\n", (unsigned long long)monotonic_ns());
	return 0;
}

static void test_namespace(const char *program)
{
	uint64_t before = monotonic_ns(), after;
	unsigned long long namespace_ns, kernel_ns;

	use_kernels_clock();
	after = monotonic_ns();
	check(after - before < 100 * NSEC_PER_SEC, "clock: without a namespace: CLOCK_MONOTONIC");
	if (!look_from_namespace(program, &namespace_ns, &kernel_ns)) {
		skip("no time namespaces", "clock: in a namespace: the kernel's");
		return;
	}
	after = monotonic_ns();
	check(namespace_ns >= before + 1000 * NSEC_PER_SEC,
	      "clock: in a namespace: CLOCK_MONOTONIC is ahead");
	check(kernel_ns >= before && kernel_ns <= after, "clock: in a namespace: the kernel's");
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return print_clocks();
	test_namespace(argv[0]);
	test_signals();
	test_links();
	test_files();
	test_numbers();
	test_seconds();
	return tap_end();
}
