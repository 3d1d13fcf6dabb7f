// SPDX-License-Identifier: GPL-2.0
/*
 * The lists from which KVM itself is built, see include/linux/kvm_stats_list.h: included, so
 * that there is no second copy.
 */
#include "sources/lists.h"
#include "sources/statsfile.h"
#include "util/util.h"

/* Everything that an architecture may have. */
#define CONFIG_KVM_MIPS_VZ
#define CONFIG_CPU_LOONGSON64
#define CONFIG_PPC_BOOK3S
#define CONFIG_HAVE_KVM_EXIT_REASONS
#define CONFIG_KVM_STATS_TIME

/* The units of the lists: flags and exponent of a descriptor. */
#define UNIT_COUNT (KVM_STATS_UNIT_NONE | KVM_STATS_BASE_POW10)
#define UNIT_NANOSECONDS (KVM_STATS_UNIT_SECONDS | KVM_STATS_BASE_POW10)
#define UNIT_BOOLEAN (KVM_STATS_UNIT_BOOLEAN | KVM_STATS_BASE_POW10)
#define EXPONENT_COUNT 0
#define EXPONENT_NANOSECONDS (-9)
#define EXPONENT_BOOLEAN 0

#define STATISTIC(of, text, type, unit, sentence, ...) {		\
	.scope = of,							\
	.name = text,							\
	.help = sentence,						\
	.flags = KVM_STATS_TYPE_ ## type | UNIT_ ## unit,		\
	.exponent = EXPONENT_ ## unit,					\
	__VA_ARGS__							\
},

#define KVM_VM_STAT(ctype, name, type, unit, help, ...)			\
	STATISTIC(SCOPE_VM, #name, type, unit, help, __VA_ARGS__)
#define KVM_VCPU_STAT(ctype, name, type, unit, help, ...)		\
	STATISTIC(SCOPE_VCPU, #name, type, unit, help, __VA_ARGS__)
#define KVM_VCPU_HIST(name, type, unit, num, help)			\
	STATISTIC(SCOPE_VCPU, #name, type, unit, help)

const struct description listed_statistics[] = {
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
/* Last: it undefines the macros. Its <asm/...> is any of the above, see the Makefile. */
#include "../../../../include/linux/kvm_stats_list.h"
};

const size_t num_listed_statistics = ARRAY_SIZE(listed_statistics);
