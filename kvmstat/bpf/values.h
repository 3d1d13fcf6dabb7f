/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The statistics that the BPF programs count: lines of the lists from which KVM itself is built.
 * Include this file with own macros, which it undefines: VM_VALUE(name, type, unit),
 * VCPU_VALUE(name, type, unit), VCPU_ARRAY(name, type, unit, size).
 */
#define CONFIG_HAVE_KVM_EXIT_REASONS

/* The BPF programs count these statistics, and time by state */
#define COUNTED_online_vcpus	0,
#define COUNTED_ready_accounting 0,
#define COUNTED_exits		0,
#define COUNTED_ready_ns	0,
#define COUNTED_exit_reasons	0,
#define COUNTED_last_user_exit	0,
#define COUNTED_user_exits	0,
#define COUNTED_ready_hist	0,

/* PICK(COUNTED_name, macro) is the macro if COUNTED_name is defined. */
#define NO_VALUE(...)
#define SECOND(first, second, ...) second
#define SECOND_OF(...) SECOND(__VA_ARGS__)
#define PICK(counted, macro) SECOND_OF(counted macro, NO_VALUE, )

#define KVM_VM_STAT(ctype, name, type, unit, ...) \
	PICK(COUNTED_##name, VM_VALUE)(name, type, unit)
#define KVM_VCPU_STAT(ctype, name, type, unit, ...) \
	PICK(COUNTED_##name, VCPU_VALUE)(name, type, unit)
#define KVM_VCPU_HIST(name, type, unit, num, ...) \
	PICK(COUNTED_##name, VCPU_ARRAY)(name, type, unit, num)
#include <linux/kvm_stats_list.h>

#define KVM_VM_STAT(ctype, name, type, unit, ...) VM_VALUE(name, type, unit)
#define KVM_VCPU_STAT(ctype, name, type, unit, ...) VCPU_VALUE(name, type, unit)
#define KVM_VCPU_HIST(name, type, unit, num, ...) VCPU_ARRAY(name, type, unit, num)
#include <linux/kvm_stats_time_list.h>
#include "list.h"

#undef KVM_VM_STAT
#undef KVM_VCPU_STAT
#undef KVM_VCPU_HIST
#undef VM_VALUE
#undef VCPU_VALUE
#undef VCPU_ARRAY
