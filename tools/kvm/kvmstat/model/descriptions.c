// SPDX-License-Identifier: GPL-2.0
/*
 * The sentences stand in the lists from which KVM itself is built, see sources/lists.h and,
 * of reasons, asm/kvm_exit_reason_list.h.
 */
#include <fnmatch.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "model/descriptions.h"
#include "util/util.h"

/* Those of x86 and arm64 have the same name for the same thing. */
#define KVM_EXIT_REASON(text, sentence) { .scope = REASON, .name = #text, .help = sentence, },
static const struct description reasons[] = {
#include "../../../../arch/x86/include/asm/kvm_exit_reason_list.h"
#define KVM_EXIT_REASON(text, sentence) { .scope = REASON, .name = #text, .help = sentence, },
#include "../../../../arch/arm64/include/asm/kvm_exit_reason_list.h"
};

static const struct description *find_in_scope(enum scope scope, const char *name)
{
	const struct description *listed;

	for (listed = listed_statistics; listed < listed_statistics + num_listed_statistics;
	     listed++) {
		if (listed->scope == scope && !strcmp(listed->name, name))
			return listed;
	}
	return NULL;
}

const char *describe_statistic(enum scope scope, const char *name)
{
	const struct description *found = find_in_scope(scope, name);

	return found ? found->help : NULL;
}

const struct description *find_statistic(const char *name)
{
	const struct description *found = find_in_scope(SCOPE_VCPU, name);

	return found ? found : find_in_scope(SCOPE_VM, name);
}

const char *describe_name(const char *name)
{
	const struct description *found = find_statistic(name);

	return found ? found->help : NULL;
}

const char *describe_reason(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(reasons); i++) {
		if (!strcmp(reasons[i].name, name))
			return reasons[i].help;
	}
	return NULL;
}

static const struct description *description(size_t index)
{
	if (index < num_listed_statistics)
		return &listed_statistics[index];
	index -= num_listed_statistics;
	return index < ARRAY_SIZE(reasons) ? &reasons[index] : NULL;
}

/* Whether it is there already, from another list. */
static bool is_again(size_t index)
{
	const struct description *this = description(index);
	size_t i;

	for (i = 0; i < index; i++) {
		if (description(i)->scope == this->scope &&
		    !strcmp(description(i)->name, this->name))
			return true;
	}
	return false;
}

const struct description *find_description(const char *pattern, size_t *from)
{
	const struct description *found;

	while ((found = description((*from)++))) {
		if (!fnmatch(pattern, found->name, 0) && !is_again(*from - 1))
			return found;
	}
	return NULL;
}
