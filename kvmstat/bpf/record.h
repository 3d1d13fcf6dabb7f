/* SPDX-License-Identifier: GPL-2.0 */
/* The record that the BPF programs keep for each VM and vCPU */
#ifndef KVMSTAT_BPF_RECORD_H
#define KVMSTAT_BPF_RECORD_H

#include <linux/types.h>

typedef __u64 u64;
typedef __u32 u32;
typedef __u8 u8;

enum kvm_exit_reason {
#define KVM_EXIT_REASON(name, ...) KVM_EXIT_REASON_##name,
#include <asm/kvm_exit_reason_list.h>
	KVM_EXIT_REASONS
};

enum kvm_user_exit {
#define KVM_USER_EXIT(number, name, ...) KVM_USER_EXIT_##name,
#include <linux/kvm_user_exit_list.h>
	KVM_USER_EXITS
};
#define KVM_USER_EXIT_NONE 0xffffffff

enum kvm_vcpu_state {
#define KVM_VCPU_STATE(name, ...) KVM_VCPU_STATE_##name,
#include <linux/kvm_vcpu_state_list.h>
};

struct vm_values {
#define VM_VALUE(name, ...) u64 name;
#define VCPU_VALUE(...)
#define VCPU_ARRAY(...)
#include "values.h"
};

struct vcpu_values {
#define VM_VALUE(...)
#define VCPU_VALUE(name, ...) u64 name;
#define VCPU_ARRAY(name, type, unit, size) u64 name[size];
#include "values.h"
};

/* A vCPU. Only its thread writes it. */
struct record {
	struct vcpu_values values;
	u64 run_delay;			/* the thread's waits that are counted, plus 1 */
	u64 overdrawn;			/* waits to subtract from time with a CPU */
	u64 exit_ns, polled_ns;		/* of the exit that is handled */
	u64 poll_from_ns;		/* 0: it does not poll */
	u32 reason, tid;
	u8 in_run, in_exit;
};

/* Bytes of KVM's own statistics at most */
#define MOST_OWN 4096
#define MOST_DESCS 256
#define NAME_SIZE 48

/* KVM's own descriptors, as in its memory */
struct own_table {
	u32 flags, name_size, num_desc, id_offset, desc_offset, data_offset;
	char desc[MOST_DESCS][16 + NAME_SIZE];
};

#endif
