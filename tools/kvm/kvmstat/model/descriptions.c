// SPDX-License-Identifier: GPL-2.0
/*
 * The sentences stand in the lists from which KVM itself is built, see
 * include/linux/kvm_stats_list.h. The lists are included here, so there is no other copy
 * of them.
 */
#include <fnmatch.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "model/descriptions.h"
#include "util/util.h"

/* All that an architecture may have. */
#define CONFIG_KVM_MIPS_VZ
#define CONFIG_CPU_LOONGSON64
#define CONFIG_PPC_BOOK3S

#define KVM_VM_STAT(ctype, name, type, unit, help, ...) { SCOPE_VM, #name, help, },
#define KVM_VCPU_STAT(ctype, name, type, unit, help, ...) { SCOPE_VCPU, #name, help, },
#define KVM_VCPU_HIST(name, type, unit, num, help) { SCOPE_VCPU, #name, help, },

/* The first one of a name counts: the architecture's own comes before the others'. */
static const struct description descriptions[] = {
#if defined(__aarch64__)
#include "../../../../arch/arm64/include/asm/kvm_stats_list.h"
#elif defined(__mips__)
#include "../../../../arch/mips/include/asm/kvm_stats_list.h"
#elif defined(__powerpc__)
#include "../../../../arch/powerpc/include/asm/kvm_stats_list.h"
#elif defined(__s390__)
#include "../../../../arch/s390/include/asm/kvm_stats_list.h"
#endif
#include "../../../../arch/x86/include/asm/kvm_stats_list.h"
#include "../../../../arch/arm64/include/asm/kvm_stats_list.h"
#include "../../../../arch/mips/include/asm/kvm_stats_list.h"
#include "../../../../arch/powerpc/include/asm/kvm_stats_list.h"
#include "../../../../arch/s390/include/asm/kvm_stats_list.h"
/*
 * Those of all architectures, at last: it undefines the macros. Its <asm/...> is any
 * of the above, see the Makefile.
 */
#include "../../../../include/linux/kvm_stats_list.h"
};

/* Those of x86 and arm64 have the same name for the same thing. */
#define KVM_EXIT_REASON(name, help) { REASON, #name, help, },
static const struct description reasons[] = {
#include "../../../../arch/x86/include/asm/kvm_exit_reason_list.h"
#define KVM_EXIT_REASON(name, help) { REASON, #name, help, },
#include "../../../../arch/arm64/include/asm/kvm_exit_reason_list.h"
};

const char *describe_statistic(enum scope scope, const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(descriptions); i++) {
		if (descriptions[i].scope == scope && !strcmp(descriptions[i].name, name))
			return descriptions[i].help;
	}
	return NULL;
}

const char *describe_name(const char *name)
{
	const char *help = describe_statistic(SCOPE_VCPU, name);

	return help ? help : describe_statistic(SCOPE_VM, name);
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
	if (index < ARRAY_SIZE(descriptions))
		return &descriptions[index];
	index -= ARRAY_SIZE(descriptions);
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
