// SPDX-License-Identifier: GPL-2.0
/*
 * Includes the lists from which KVM itself is built, so that there is no second copy. See
 * include/linux/kvm_stats_list.h.
 */
#include <fnmatch.h>
#include <string.h>

#include "model/descriptions.h"
#include "util/util.h"

/* Includes statistics of all configurations. */
#define CONFIG_KVM_MIPS_VZ
#define CONFIG_CPU_LOONGSON64
#define CONFIG_PPC_BOOK3S
#define CONFIG_HAVE_KVM_EXIT_REASONS
#define CONFIG_KVM_STATS_TIME

#define DESCRIPTION(of, text, sentence, ...)				\
	{ .scope = of, .name = text, .help = sentence, __VA_ARGS__ },

#define KVM_VM_STAT(ctype, name, type, unit, help, ...)			\
	DESCRIPTION(SCOPE_VM, #name, help, __VA_ARGS__)
#define KVM_VCPU_STAT(ctype, name, type, unit, help, ...)		\
	DESCRIPTION(SCOPE_VCPU, #name, help, __VA_ARGS__)
#define KVM_VCPU_HIST(name, type, unit, num, help)			\
	DESCRIPTION(SCOPE_VCPU, #name, help)
#define KVM_EXIT_REASON(name, help) DESCRIPTION(REASON, #name, help)

/*
 * Of several entries with one name the first one counts. The list of the architecture for which the
 * program was built comes first, the generic list after the lists of all architectures.
 */
static const struct description listed[] = {
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
/* x86 before Linux 5.15; later kernels have pages_2m and pages_1g */
KVM_VM_STAT(u64, lpages, INSTANT, COUNT, "Huge pages that are mapped now")
/* It includes one of the above as <asm/...>, see the Makefile, and undefines the macros. */
#include "../../../../include/linux/kvm_stats_list.h"
#include "../../../../arch/x86/include/asm/kvm_exit_reason_list.h"
#define KVM_EXIT_REASON(name, help) DESCRIPTION(REASON, #name, help)
#include "../../../../arch/arm64/include/asm/kvm_exit_reason_list.h"
#define KVM_USER_EXIT(number, name, help) DESCRIPTION(USER_EXIT, #name, help)
#include "../../../../include/linux/kvm_user_exit_list.h"
};

static const struct description *find(enum scope scope, const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(listed); i++) {
		if (listed[i].scope == scope && !strcmp(listed[i].name, name))
			return &listed[i];
	}
	return NULL;
}

const char *describe_statistic(enum scope scope, const char *name)
{
	const struct description *found = find(scope, name);

	return found ? found->help : NULL;
}

const struct description *find_description(const char *pattern, size_t *from)
{
	const struct description *next;

	while (*from < ARRAY_SIZE(listed)) {
		next = &listed[(*from)++];
		/* Several lists may have the name: return it once. */
		if (!fnmatch(pattern, next->name, 0) && find(next->scope, next->name) == next)
			return next;
	}
	return NULL;
}
