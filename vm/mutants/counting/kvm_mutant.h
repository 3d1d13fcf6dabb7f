/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counting that can be broken at run time, one site at a time. The rewritten tree uses these
 * to count. The parameter kvm_mutant selects site and mode: SITE * 8 + mode, 0 for none.
 */
#ifndef _LINUX_KVM_MUTANT_H
#define _LINUX_KVM_MUTANT_H

#include <linux/compiler.h>
#include <linux/types.h>

/* In the order of the modes in vm/mutants/counting/rewrite. */
enum kvm_mutant_mode {
	KVM_MUTANT_DROP,
	KVM_MUTANT_DOUBLE,
	KVM_MUTANT_DROP_UP,
	KVM_MUTANT_DROP_DOWN,
	KVM_MUTANT_HIGH,
	KVM_MUTANT_OTHER,
};

#define KVM_MUTANT_MODES	8

extern unsigned int kvm_mutant;
extern u8 kvm_mutant_reached[];

/* How often a site adds @by: once, unless its mutant is selected. */
static inline unsigned int kvm_mutant_times(unsigned int site, s64 by)
{
	unsigned int mutant = READ_ONCE(kvm_mutant);

	WRITE_ONCE(kvm_mutant_reached[site], 1);
	if (likely(mutant / KVM_MUTANT_MODES != site))
		return 1;
	switch (mutant % KVM_MUTANT_MODES) {
	case KVM_MUTANT_DROP:
		return 0;
	case KVM_MUTANT_DOUBLE:
		return 2;
	case KVM_MUTANT_DROP_UP:
		return by <= 0;
	case KVM_MUTANT_DROP_DOWN:
		return by >= 0;
	}
	return 1;
}

/* The amount that is added to a new peak. */
static inline u8 kvm_mutant_high(unsigned int site)
{
	return READ_ONCE(kvm_mutant) == site * KVM_MUTANT_MODES + KVM_MUTANT_HIGH;
}

/* An entry of a table of exit reasons. Site 0 has no mutant. */
static inline unsigned int kvm_mutant_entry(unsigned int site, unsigned int other,
					    unsigned int reason)
{
	WRITE_ONCE(kvm_mutant_reached[site], 1);
	return site && READ_ONCE(kvm_mutant) == site * KVM_MUTANT_MODES + KVM_MUTANT_OTHER ?
		other : reason;
}

#define KVM_MUTANT(site, by, ...)					\
do {									\
	unsigned int times_of_mutant = kvm_mutant_times(site, by);	\
									\
	for (; times_of_mutant; times_of_mutant--)			\
		__VA_ARGS__;						\
} while (0)

#endif
