// SPDX-License-Identifier: GPL-2.0
/*
 * Chooses VMs of a host by pid and name.
 */
#include <fnmatch.h>
#include <limits.h>
#include <string.h>

#include "sources/choice.h"
#include "util/util.h"

/* Whether it is written as a pid. 007 is a name. */
static bool is_number(const char *text)
{
	return *text && !text[strspn(text, "0123456789")] && (*text != '0' || !text[1]);
}

const char *choice_add(struct choice *choice, const char *text)
{
	uint64_t number;

	if (is_number(text)) {
		if (parse_number(text, 1, INT_MAX, &number))
			return "is not a pid; if it is a name, put a backslash in front";
		if (choice->num_pids == CHOICE_MAX)
			return "is one too many: at most 64 pids and 64 names";
		choice->pid[choice->num_pids++] = number;
		return NULL;
	}
	/* The argument of -p may be missing, so that this is the next option. */
	if (!*text || *text == '-')
		return "is neither a pid nor a name";
	if (choice->num_names == CHOICE_MAX)
		return "is one too many: at most 64 pids and 64 names";
	choice->name[choice->num_names++] = text;
	return NULL;
}

bool choice_is_made(const struct choice *choice)
{
	return choice->num_pids || choice->num_names;
}

pid_t choice_process(const struct choice *choice)
{
	return choice->num_pids == 1 && !choice->num_names ? choice->pid[0] : 0;
}

/* Whether it has special characters without a backslash before them. */
static bool is_pattern(const char *name)
{
	for (; *name; name++) {
		if (strchr("*?[", *name))
			return true;
		if (*name == '\\' && name[1])
			name++;
	}
	return false;
}

bool choice_is_single(const struct choice *choice)
{
	if (choice->num_pids + choice->num_names != 1)
		return false;
	return choice->num_pids || !is_pattern(choice->name[0]);
}

bool choice_part(const struct choice *choice, size_t index, struct choice *part)
{
	*part = (struct choice) {};
	if (index < choice->num_pids) {
		part->pid[part->num_pids++] = choice->pid[index];
		return true;
	}
	index -= choice->num_pids;
	if (index >= choice->num_names)
		return false;
	part->name[part->num_names++] = choice->name[index];
	return true;
}

static bool has_pid(const struct choice *choice, pid_t pid)
{
	size_t i;

	for (i = 0; i < choice->num_pids; i++) {
		if (choice->pid[i] == pid)
			return true;
	}
	return false;
}

bool choice_may_have(const struct choice *choice, pid_t pid)
{
	return !choice || choice->num_names || has_pid(choice, pid);
}

bool choice_has(const struct choice *choice, pid_t pid, const char *name)
{
	size_t i;

	if (!choice || has_pid(choice, pid))
		return true;
	for (i = 0; i < choice->num_names; i++) {
		if (!fnmatch(choice->name[i], name, 0))
			return true;
	}
	return false;
}
