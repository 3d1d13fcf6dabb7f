// SPDX-License-Identifier: GPL-2.0
/*
 * The sentences stand in the lists from which KVM itself is built, see
 * include/linux/kvm_stats_list.h. The lists are included here, so there is no other copy
 * of them.
 */
#include <stddef.h>
#include <string.h>

#include "descriptions.h"
#include "util.h"

/* All that an architecture may have. */
#define CONFIG_KVM_MIPS_VZ
#define CONFIG_CPU_LOONGSON64
#define CONFIG_PPC_BOOK3S

#define KVM_VM_STAT(ctype, name, type, unit, help, ...) { SCOPE_VM, #name, help, },
#define KVM_VCPU_STAT(ctype, name, type, unit, help, ...) { SCOPE_VCPU, #name, help, },
#define KVM_VCPU_HIST(name, type, unit, num, help) { SCOPE_VCPU, #name, help, },

/* The first one of a name counts: the architecture's own comes before the others'. */
static const struct description {
	enum scope scope;
	const char *name;
	const char *help;
} descriptions[] = {
#if defined(__aarch64__)
#include "../../../arch/arm64/include/asm/kvm_stats_list.h"
#elif defined(__mips__)
#include "../../../arch/mips/include/asm/kvm_stats_list.h"
#elif defined(__powerpc__)
#include "../../../arch/powerpc/include/asm/kvm_stats_list.h"
#elif defined(__s390__)
#include "../../../arch/s390/include/asm/kvm_stats_list.h"
#endif
#include "../../../arch/x86/include/asm/kvm_stats_list.h"
#include "../../../arch/arm64/include/asm/kvm_stats_list.h"
#include "../../../arch/mips/include/asm/kvm_stats_list.h"
#include "../../../arch/powerpc/include/asm/kvm_stats_list.h"
#include "../../../arch/s390/include/asm/kvm_stats_list.h"
/*
 * Those of all architectures, at last: it undefines the macros. Its <asm/...> is any
 * of the above, see the Makefile.
 */
#include "../../../include/linux/kvm_stats_list.h"
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
