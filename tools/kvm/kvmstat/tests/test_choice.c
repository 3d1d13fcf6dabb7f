// SPDX-License-Identifier: GPL-2.0
/*
 * Which VMs are chosen: by pid, by name, by pattern.
 */
#include "sources/choice.h"
#include "tap.h"
#include "util/util.h"

static struct choice choice_of(const char *first, const char *second)
{
	struct choice choice = {};

	check(!choice_add(&choice, first), "%s: can be chosen", first);
	if (second)
		check(!choice_add(&choice, second), "%s: can be chosen", second);
	return choice;
}

static void test_kinds(void)
{
	struct choice choice = choice_of("42", NULL);

	check(choice_process(&choice) == 42 && choice_is_single(&choice), "a number is a pid");
	check(choice_has(&choice, 42, "web") && !choice_has(&choice, 4, "42"),
	      "a number matches no name");
	choice = choice_of("web", NULL);
	check(!choice_process(&choice) && choice_is_single(&choice), "a name is a single VM");
	check(choice_has(&choice, 1, "web") && !choice_has(&choice, 1, "web-2"),
	      "a name does not match a longer one");
	choice = choice_of("4[2]", NULL);
	check(!choice_is_single(&choice) && choice_has(&choice, 1, "42"),
	      "a pattern matches a VM that is called 42");
	choice = choice_of("\\42", NULL);
	check(choice_is_single(&choice) && !choice_process(&choice) &&
	      choice_has(&choice, 1, "42") && !choice_has(&choice, 42, "web"),
	      "a number with a backslash is a single name");
	choice = choice_of("007", NULL);
	check(!choice_process(&choice) && choice_has(&choice, 1, "007") &&
	      !choice_has(&choice, 7, "bond"), "a number with leading zeros is a name");
	choice = choice_of("db\\*", NULL);
	check(choice_is_single(&choice) && choice_has(&choice, 1, "db*") &&
	      !choice_has(&choice, 1, "db-1"), "a star with a backslash is no pattern");
	choice = choice_of("d\\b*", NULL);
	check(!choice_is_single(&choice), "a star after an escaped character is a pattern");
	choice = choice_of("db\\", NULL);
	check(choice_is_single(&choice), "a backslash at the end is no pattern");
	choice = choice_of("db-*", NULL);
	check(!choice_is_single(&choice), "a pattern is not a single VM");
	check(choice_has(&choice, 1, "db-7") && !choice_has(&choice, 1, "mydb-7"),
	      "a pattern has to match the whole name");
	choice = choice_of("42", "db-*");
	check(!choice_process(&choice) && !choice_is_single(&choice),
	      "two names are not a single VM");
	check(choice_has(&choice, 42, "web") && choice_has(&choice, 1, "db-") &&
	      !choice_has(&choice, 43, "web"), "several names: either one matches");
}

static void test_before(void)
{
	struct choice choice = choice_of("42", "43");

	check(choice_may_have(&choice, 43) && !choice_may_have(&choice, 44),
	      "pids only: a process is ruled out before its name is known");
	choice = choice_of("42", "db");
	check(choice_may_have(&choice, 44),
	      "names: a process is not ruled out before its name is known");
	check(choice_may_have(NULL, 1) && choice_has(NULL, 1, ""), "no choice matches every VM");
}

static void test_parts(void)
{
	struct choice choice = choice_of("db", "42"), part;

	check(choice_is_made(&choice), "made");
	check(choice_part(&choice, 0, &part) && choice_process(&part) == 42, "first part");
	check(choice_part(&choice, 1, &part) && choice_has(&part, 1, "db") &&
	      !choice_has(&part, 42, ""), "second part");
	check(!choice_part(&choice, 2, &part) && !choice_is_made(&part), "no more");
}

#define IS_NO_PID "is not a pid; if it is a name, put a backslash in front"

static void test_refused(void)
{
	struct choice choice = {};
	unsigned int i;

	check_text(choice_add(&choice, "0"), IS_NO_PID, "0");
	check_text(choice_add(&choice, "2147483648"), IS_NO_PID,
		   "a pid that is too large");
	check_text(choice_add(&choice, ""), "is neither a pid nor a name", "nothing");
	check_text(choice_add(&choice, "-w"), "is neither a pid nor a name", "an option");
	check(!choice_is_made(&choice), "refused texts: nothing was chosen");
	for (i = 0; i < CHOICE_MAX; i++)
		choice_add(&choice, "1");
	check_text(choice_add(&choice, "2"), "is one too many: at most 64 pids and 64 names",
		   "too many pids");
	check(choice_has(&choice, 1, "") && !choice_has(&choice, 2, ""),
	      "too many pids: the first ones stay");
	for (i = 0; i < CHOICE_MAX; i++)
		check(!choice_add(&choice, "a"), "pids do not count against the limit of names");
	check_text(choice_add(&choice, "b"), "is one too many: at most 64 pids and 64 names",
		   "too many names");
	check(choice_has(&choice, 2, "a") && !choice_has(&choice, 2, "b"),
	      "too many names: the first ones stay");
}

int main(void)
{
	test_kinds();
	test_before();
	test_parts();
	test_refused();
	return tap_end();
}
