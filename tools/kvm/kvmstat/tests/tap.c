// SPDX-License-Identifier: GPL-2.0
/*
 * Results of tests as TAP lines.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

static unsigned int num_tests, num_failed;

static void print_result(bool passed, const char *name, va_list args)
{
	num_tests++;
	num_failed += !passed;
	printf("%sok %u - ", passed ? "" : "not ", num_tests);
	vprintf(name, args);
}

void check(bool passed, const char *name, ...)
{
	va_list args;

	va_start(args, name);
	print_result(passed, name, args);
	va_end(args);
	putchar('\n');
	/* If the test crashes later, its results so far are visible. */
	fflush(stdout);
}

void skip(const char *reason, const char *name, ...)
{
	va_list args;

	va_start(args, name);
	print_result(true, name, args);
	va_end(args);
	printf(" # SKIP %s\n", reason);
}

static void print_comment(const char *what, const char *text)
{
	size_t length;

	printf("# %s:\n", what);
	for (; *text; text += length + (text[length] == '\n')) {
		length = strcspn(text, "\n");
		printf("#   |%.*s|\n", (int)length, text);
	}
}

void check_text(const char *found, const char *expected, const char *name)
{
	bool same = !strcmp(found, expected);

	check(same, "%s", name);
	if (!same) {
		print_comment("expected", expected);
		print_comment("found", found);
	}
}

void check_contains(const char *found, const char *expected, const char *name)
{
	bool contained = strstr(found, expected);

	check(contained, "%s", name);
	if (!contained) {
		print_comment("expected somewhere", expected);
		print_comment("found", found);
	}
}

void check_golden(const char *name_of_file, const char *name, const char *found)
{
	char *path = xasprintf("%s/%s", getenv("GOLDEN") ?: "tests/golden", name_of_file);
	static bool begun;
	FILE *file = fopen(path, !getenv("UPDATE") ? "r" : begun ? "a" : "w");
	const char *newline = *found && found[strlen(found) - 1] != '\n' ? "\n" : "";
	char *title = xasprintf("== %s\n", name), *begin, *end;
	static char text[1 << 18];

	begun = true;
	memset(text, 0, sizeof(text));
	if (file && getenv("UPDATE"))
		fprintf(file, "%s%s%s", title, found, newline);
	else if (!file || !fread(text, 1, sizeof(text) - 1, file))
		printf("# cannot read %s\n", path);
	begin = strstr(text, title);
	begin = begin ? begin + strlen(title) : text + strlen(text);
	end = strncmp(begin, "== ", 3) ? strstr(begin, "\n== ") : begin - 1;
	if (end)
		end[!*newline] = '\0';
	else if (*newline && *begin)
		begin[strlen(begin) - 1] = '\0';
	check_text(getenv("UPDATE") ? begin : found, begin, name);
	if (file)
		fclose(file);
	free(title);
	free(path);
}

void check_number(uint64_t found, uint64_t expected, const char *name)
{
	check(found == expected, "%s", name);
	if (found != expected)
		printf("# expected %llu, found %llu\n", (unsigned long long)expected,
		       (unsigned long long)found);
}

void shell(const char *format, ...)
{
	va_list args;
	char *command;

	va_start(args, format);
	command = xvasprintf(format, args);
	va_end(args);
	if (system(command)) {
		printf("Bail out! failed: %s\n", command);
		exit(1);
	}
	free(command);
}

unsigned int count_open_files(void)
{
	unsigned int count = 0;
	int fd;

	for (fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

int tap_end(void)
{
	printf("1..%u\n", num_tests);
	return num_failed ? 1 : 0;
}
