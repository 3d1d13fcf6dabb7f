/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The guest statistics area: guest memory in which KVM counts, for the guest, what the host
 * does to one vCPU. The guest chooses statistics by name. See
 * Documentation/virt/kvm/guest-stats.rst.
 */
#ifndef _UAPI_LINUX_KVM_GUEST_STATS_H
#define _UAPI_LINUX_KVM_GUEST_STATS_H

#include <linux/types.h>

/* args[0] of KVM_CAP_GUEST_STATS, and kvm_guest_stats_area.features */
#define KVM_GUEST_STATS_COUNT		(1 << 0)
#define KVM_GUEST_STATS_OVERFLOW	(1 << 1)
#define KVM_GUEST_STATS_TIMER		(1 << 2)
#define KVM_GUEST_STATS_HOST		(1 << 3)

/* The register has the address of the area, and this bit. 0 switches the area off. */
#define KVM_GUEST_STATS_ENABLED		(1 << 0)
#define KVM_GUEST_STATS_ALIGN		4096

#define KVM_GUEST_STATS_VERSION		1
#define KVM_GUEST_STATS_SLOTS		16
#define KVM_GUEST_STATS_NAME_SIZE	64

/* The name of a slot that is a timer instead of a statistic. */
#define KVM_GUEST_STATS_TIMER_NAME	"timer"

/* A threshold that no count reaches. */
#define KVM_GUEST_STATS_NEVER		(~0ULL)

/**
 * struct kvm_guest_stats_slot - a statistic that the guest counts, 128 bytes
 * @name: written by the guest: "exits" or "exit_reasons.cpuid", padded with NULs. The slot is
 *	unused if the name is empty. KVM reads it when the guest writes the register.
 * @count: KVM adds to it what the statistic has grown
 * @threshold: written by the guest at any time: the slot overflows when the count has grown
 *	and is not below it. For a timer: the interval in nanoseconds.
 * @status: written by KVM: 0, or the negative errno of the name
 * @reserved: 0
 */
struct kvm_guest_stats_slot {
	__u8 name[KVM_GUEST_STATS_NAME_SIZE];
	__u64 count;
	__u64 threshold;
	__s32 status;
	__u32 reserved[11];
};

/**
 * struct kvm_guest_stats_area - one vCPU's area, 4096 bytes
 * @version: written by KVM: KVM_GUEST_STATS_VERSION
 * @num_slots: written by KVM: the number of slots that it serves
 * @features: written by KVM: KVM_GUEST_STATS_* that this guest may use
 * @overflow: KVM sets the bits of slots that overflow, the guest clears them
 * @slots: the slots
 * @reserved0: 0
 * @reserved1: 0
 */
struct kvm_guest_stats_area {
	__u32 version;
	__u32 num_slots;
	__u32 features;
	__u32 reserved0;
	__u64 overflow;
	__u64 reserved1[5];
	struct kvm_guest_stats_slot slots[KVM_GUEST_STATS_SLOTS];
};

#endif /* _UAPI_LINUX_KVM_GUEST_STATS_H */
