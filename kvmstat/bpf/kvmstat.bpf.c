// SPDX-License-Identifier: GPL-2.0-only
/*
 * KVM's statistics on kernels without the series, in two steps:
 *
 * An iterator over all files finds VMs and vCPUs, and copies KVM's own statistics.
 *
 * On demand, trace points and the entries of functions count exits and time by state, as
 * virt/kvm/stats_time.c does: each place knows the state that ends there, so the time of a vCPU
 * that ran or slept when they were attached is right from then on.
 *
 * Only the thread that runs the vCPU writes its record. Where the thread can be preempted, the
 * kernel leaves out a program that another thread runs on the same CPU. Therefore all counts come
 * from places where it cannot: see "missed".
 */
#include "record.h"
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include <asm/svm.h>
#include <asm/vmx.h>
#include "protocol.h"

char LICENSE[] SEC("license") = "GPL";

typedef _Bool bool;
#define true 1
#define false 0
#define likely(x) (x)
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define READ_ONCE(x) (*(const volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile typeof(x) *)&(x) = (v))
/* x86 keeps the order of stores, and of loads. */
#define smp_wmb() asm volatile("" ::: "memory")
#define EINTR 4
#define EFAULT 14
#define EHWPOISON 133
#define KVM_ISA_VMX 1
#define IN_GUEST_MODE 1
/* enum KVM_MP_STATE of <linux/kvm.h>, and exit reasons */
#define MP_STATE_UNINITIALIZED 1
#define MP_STATE_INIT_RECEIVED 2
#define MP_STATE_HALTED 3
#define MP_STATE_AP_RESET_HOLD 9
/* Of an element that was removed from a list */
#define LIST_POISON2 0xdead000000000122

/*
 * The kernel's structures, as far as they are needed: libbpf finds the fields. Integers are
 * unsigned, because libbpf adjusts the size only of unsigned loads.
 */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sched_info { unsigned long long run_delay; };
struct sched_entity { unsigned char sched_delayed; };
struct task_struct {
	unsigned int on_rq;
	unsigned int tgid;
	struct sched_entity se;
	struct sched_info sched_info;
};
struct rcuwait { struct task_struct *task; };
struct kvm_run { unsigned int exit_reason; };
struct kvm_vm_stat { char first; };
struct kvm_vcpu_stat { char first; };
struct kvm {
	struct { unsigned int counter; } online_vcpus;
	struct kvm_vm_stat stat;
};
struct pid;
struct hlist_node { struct hlist_node **pprev; };
struct preempt_notifier { struct hlist_node link; void *ops; };
struct kvm_vcpu_arch { unsigned int mp_state; };
struct kvm_vcpu {
	struct kvm *kvm;
	struct preempt_notifier preempt_notifier;
	unsigned int vcpu_id, mode;
	struct kvm_run *run;
	struct rcuwait wait;
	struct pid *pid;
	bool preempted;
	struct kvm_vcpu_arch arch;
	struct kvm_vcpu_stat stat;
};
struct pt_regs { unsigned long r15, r14; };
struct vmcb;
struct vcpu_svm { struct vmcb *vmcb; };
union hw_exit_reason { u32 full; };
struct vcpu_vt { union hw_exit_reason exit_reason; u32 exit_intr_info; };
struct vcpu_vmx { union hw_exit_reason exit_reason; u32 exit_intr_info; };
struct vcpu_vmx___vt { struct vcpu_vt vt; };		/* Linux 6.16 and later */
struct file { void *f_op; void *private_data; };
struct seq_file;
struct bpf_iter_meta { struct seq_file *seq; };
struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	u32 fd;
	struct file *file;
};
#pragma clang attribute pop

const volatile bool timed = true;	/* false: only KVM's own statistics */
const volatile bool can_cast = false;	/* bpf_rdonly_cast(): Linux 6.2 and later */

/* The record of a vCPU that is new to the programs. They count once its state_since_ns is set. */
struct record initial = {
	.values.last_user_exit = KVM_USER_EXIT_NONE,
	.reason = KVM_EXIT_REASON_other,
};
bool found_all;				/* the vCPUs that existed before */
u64 missed;				/* as the loader knows */
u64 left_out;
bool has_npt, has_files;

/* KVM's own descriptors, and how many bytes its statistics have */
struct own_table vm_table, vcpu_table;
u32 vm_size, vcpu_size;

struct {
	struct item item;
	u8 values[MOST_OWN + sizeof(struct vcpu_values)];
} out;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, u64);		/* the address of the vCPU */
	__type(value, struct record);
} records SEC(".maps");

/* The vCPU that a thread runs */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, u32);
	__type(value, u64);
} by_tid SEC(".maps");

static __noinline int make_record(u64 key)
{
	struct record *r;

	/* While the programs are attached, the iterator can come first. */
	bpf_map_update_elem(&records, &key, &initial, BPF_NOEXIST);
	r = bpf_map_lookup_elem(&records, &key);
	if (!r)
		__sync_fetch_and_add(&left_out, 1);
	else if (found_all)
		r->values.state_since_ns = bpf_ktime_get_ns();
	return 0;
}

/* The vCPU's record, if it has one */
static __always_inline struct record *find_known(struct kvm_vcpu *vcpu)
{
	u64 key = (u64)vcpu;

	return bpf_map_lookup_elem(&records, &key);
}

static __always_inline struct record *find(struct kvm_vcpu *vcpu)
{
	struct record *r = find_known(vcpu);

	/* Before its first KVM_RUN, a vCPU has no time. */
	if (r || !initial.values.state_since_ns || !BPF_CORE_READ(vcpu, pid))
		return r;
	make_record((u64)vcpu);
	return find_known(vcpu);
}

static __always_inline struct record *find_current(void)
{
	u32 tid = bpf_get_current_pid_tgid();
	u64 *key = bpf_map_lookup_elem(&by_tid, &tid);

	return key ? bpf_map_lookup_elem(&records, key) : NULL;
}

/* 0 for 0, otherwise the number of the highest bit, from 1. */
static __always_inline u32 log_bucket(u64 ns)
{
	u32 bucket = 0, low = ns;

	if (ns >> 31)
		return 31;
	if (low >> 16) { bucket += 16; low >>= 16; }
	if (low >> 8) { bucket += 8; low >>= 8; }
	if (low >> 4) { bucket += 4; low >>= 4; }
	if (low >> 2) { bucket += 2; low >>= 2; }
	if (low >> 1) { bucket += 1; low >>= 1; }
	return (bucket + low) & 31;
}

/* The thread's waits for a CPU since the last call. */
static __always_inline u64 take_waits(struct record *r)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	u64 delay = task->sched_info.run_delay + 1;
	/* A thread can have the number of one that has ended, and then has waited less. */
	u64 ns = r->run_delay && delay > r->run_delay ? delay - r->run_delay : 0;

	r->run_delay = delay;
	if (ns) {
		r->values.ready_ns += ns;
		r->values.ready_hist[log_bucket(ns)]++;
	}
	return ns;
}

/*
 * The time in a state without the waits for a CPU. As in the series, keep excess waits for the
 * next interval with a CPU.
 */
static __always_inline u64 ns_since(struct record *r, u32 state, u64 now, u64 waits)
{
	u64 since = r->values.state_since_ns, ns = now > since ? now - since : 0;

	if (state == KVM_VCPU_STATE_guest || state == KVM_VCPU_STATE_exit) {
		waits += r->overdrawn;
		r->overdrawn = 0;
	}
	if (waits <= ns)
		return ns - waits;
	r->overdrawn += waits - ns;
	return 0;
}

static __always_inline void count_time(struct record *r, u32 state, u64 ns)
{
	u32 reason = r->reason;

	switch (state) {
	case KVM_VCPU_STATE_guest:
		r->values.time_guest_ns += ns;
		break;
	case KVM_VCPU_STATE_exit:
		if (r->polled_ns) {
			u64 polled = r->polled_ns < ns ? r->polled_ns : ns;

			r->polled_ns = 0;
			r->values.time_poll_ns += polled;
			ns -= polled;
		}
		r->exit_ns += ns;
		r->values.time_exit_ns += ns;
		if (reason < KVM_EXIT_REASONS)
			r->values.exit_reason_ns[reason] += ns;
		break;
	case KVM_VCPU_STATE_halt:
		r->values.time_halt_ns += ns;
		break;
	case KVM_VCPU_STATE_sleep:
		r->values.time_sleep_ns += ns;
		if (reason < KVM_EXIT_REASONS)
			r->values.exit_reason_sleep_ns[reason] += ns;
		break;
	case KVM_VCPU_STATE_off:
		r->values.time_off_ns += ns;
		break;
	case KVM_VCPU_STATE_user:
		r->values.time_user_ns += ns;
		break;
	}
}

/* state_since_ns is 0 during a change. No two changes have the same. */
static __always_inline void change(struct record *r, u32 from, u32 to, u64 now, u64 waits)
{
	u64 ns = ns_since(r, from, now, waits);

	if (now <= r->values.state_since_ns)
		now = r->values.state_since_ns + 1;
	WRITE_ONCE(r->values.state_since_ns, 0);
	smp_wmb();
	count_time(r, from, ns);
	WRITE_ONCE(r->values.state, to);
	smp_wmb();
	WRITE_ONCE(r->values.state_since_ns, now);
}

static __always_inline void end_exit(struct record *r)
{
	if (r->in_exit)
		r->values.exit_hist[log_bucket(r->exit_ns)]++;
	r->in_exit = false;
}

/* Polling is only noted where the thread can be preempted; the next change counts it. */
static __always_inline void end_polling(struct record *r, u64 now)
{
	if (r->poll_from_ns)
		r->polled_ns += now - r->poll_from_ns;
	r->poll_from_ns = 0;
}

static __always_inline void forget_thread(u32 tid, u64 key)
{
	u64 *other = bpf_map_lookup_elem(&by_tid, &tid);

	if (other && *other == key)
		bpf_map_delete_elem(&by_tid, &tid);
}

/* The thread may be new for this vCPU, or run several vCPUs in turn. */
static __always_inline void take_thread(struct record *r, struct kvm_vcpu *vcpu)
{
	u32 tid = bpf_get_current_pid_tgid();
	u64 key = (u64)vcpu, *other = bpf_map_lookup_elem(&by_tid, &tid);

	if (!other || *other != key)
		bpf_map_update_elem(&by_tid, &tid, &key, BPF_ANY);
	if (r->tid == tid)
		return;
	forget_thread(r->tid, key);
	r->tid = tid;
	r->run_delay = 0;
}

/* In KVM_RUN, but the kernel left out run_begin(). Returns the waits before. */
static __always_inline u64 begin_late(struct record *r, struct kvm_vcpu *vcpu)
{
	take_thread(r, vcpu);
	r->in_run = true;
	return take_waits(r);
}

static __always_inline void count_user_exit(struct record *r, u32 reason)
{
	if (reason >= KVM_USER_EXITS)
		reason = KVM_USER_EXIT_unknown;
	r->values.user_exits[reason]++;
	r->values.last_user_exit = reason;
}

/* KVM_RUN begins: KVM has not loaded the vCPU yet. */
SEC("fentry/kvm_arch_vcpu_ioctl_run")
int BPF_PROG(run_begin, struct kvm_vcpu *vcpu)
{
	struct record *r = find(vcpu);

	if (!r)
		return 0;
	take_thread(r, vcpu);
	/* The kernel left out run_end(), as it can since Linux 7.0. */
	if (r->in_run)
		count_user_exit(r, vcpu->run->exit_reason);
	change(r, KVM_VCPU_STATE_user, KVM_VCPU_STATE_exit, bpf_ktime_get_ns(), take_waits(r));
	r->in_run = true;
	return 0;
}

SEC("tp_btf/kvm_userspace_exit")
int BPF_PROG(run_end, u32 reason, int error)
{
	struct record *r = find_current();
	u64 now = bpf_ktime_get_ns();

	if (!r)
		return 0;
	if (error == -EINTR)
		reason = KVM_USER_EXIT_intr;
	/* At a memory fault, KVM_RUN fails and has a reason. */
	if (error >= 0 || error == -EINTR || (reason == KVM_USER_EXIT_memory_fault &&
					      (error == -EFAULT || error == -EHWPOISON)))
		count_user_exit(r, reason);
	end_polling(r, now);
	r->in_run = false;
	change(r, KVM_VCPU_STATE_exit, KVM_VCPU_STATE_user, now, 0);
	end_exit(r);
	return 0;
}

SEC("tp_btf/kvm_entry")
int BPF_PROG(guest_enter, struct kvm_vcpu *vcpu)
{
	u32 from = KVM_VCPU_STATE_exit;
	struct record *r;
	u64 waits = 0;

	/* For the verifier, arguments of trace points can be NULL since Linux 6.13. */
	if (!vcpu)
		return 0;
	r = find(vcpu);
	if (!r)
		return 0;
	if (!r->in_run) {
		from = KVM_VCPU_STATE_user;
		waits = begin_late(r, vcpu);
	}
	r->poll_from_ns = 0;
	change(r, from, KVM_VCPU_STATE_guest, bpf_ktime_get_ns(), waits);
	end_exit(r);
	return 0;
}

/* For svm_exit_reason.h and vmx_exit_reason.h, which are KVM's own */
#define PF_VECTOR 14
#define PFERR_RSVD_MASK 8
#define VMCB_EXIT 0x70			/* exit_code and exit_info_1 */
struct vmcb_control_area { u64 exit_code, exit_info_1; };
#define npt_enabled has_npt
#include "svm_exit_reason.h"
#undef npt_enabled

struct kvm_vmx {
	union vmx_exit_reason {
		u32 full;
		struct {
			u32 basic : 16, others : 15, failed_vmentry : 1;
		};
	} exit_reason;
	u32 intr_info;
};
#define kvm_vcpu kvm_vmx
#define to_vmx(vmx) (vmx)
#define vmx_get_intr_info(vmx) ((vmx)->intr_info)
#define is_nmi(info) (((info) & 0x700) == 0x200)
#define is_page_fault(info) (((info) & 0x7ff) == 0x30e)
/* No program can read the error code: without EPT, mmio counts as page_fault. */
#define enable_ept true
#define vmcs_read32(field) 0
#include "vmx_exit_reason.h"
#undef kvm_vcpu

extern void *bpf_rdonly_cast(const void *object, u32 type) __ksym __weak;

/*
 * Loads two words. bpf_probe_read_kernel() takes 170 instructions, a load through a cast takes
 * ten. The cast takes only types of the kernel itself, not of a module: pt_regs stands for words.
 */
static __always_inline void load(u64 words[2], const void *from)
{
	if (can_cast) {
		struct pt_regs *two = bpf_rdonly_cast(from, bpf_core_type_id_kernel(struct pt_regs));

		words[0] = two->r15;
		words[1] = two->r14;
	} else {
		bpf_probe_read_kernel(words, 16, from);
	}
}

static __noinline u32 svm_reason(u64 exit_code, u64 exit_info_1)
{
	const struct vmcb_control_area control = { exit_code, exit_info_1, };

	return svm_exit_reason(&control);
}

static __noinline u32 vmx_reason(u32 exit_reason, u32 intr_info)
{
	struct kvm_vmx vmx = { .exit_reason.full = exit_reason, .intr_info = intr_info, };

	return vmx_exit_reason(&vmx);
}

/* CO-RE removes the branches for structures that the loaded modules do not have. */
static __always_inline u32 reason_of(struct kvm_vcpu *vcpu, u32 isa)
{
	u64 words[2] = {};

	if (isa == KVM_ISA_VMX) {
		struct vcpu_vmx___vt *newer = (void *)vcpu;
		struct vcpu_vmx *vmx = (void *)vcpu;

		if (bpf_core_field_exists(newer->vt))
			return vmx_reason(BPF_CORE_READ(newer, vt.exit_reason.full),
					  BPF_CORE_READ(newer, vt.exit_intr_info));
		if (bpf_core_field_exists(vmx->exit_reason))
			return vmx_reason(BPF_CORE_READ(vmx, exit_reason.full),
					  BPF_CORE_READ(vmx, exit_intr_info));
		return KVM_EXIT_REASON_other;
	}
	if (!bpf_core_field_exists(((struct vcpu_svm *)vcpu)->vmcb))
		return KVM_EXIT_REASON_other;
	load(words, (void *)vcpu + bpf_core_field_offset(struct vcpu_svm, vmcb));
	load(words, (void *)words[0] + VMCB_EXIT);
	return svm_reason(words[0], words[1]);
}

SEC("tp_btf/kvm_exit")
int BPF_PROG(guest_exit, struct kvm_vcpu *vcpu, u32 isa)
{
	struct record *r;
	u32 reason;

	if (!vcpu)
		return 0;
	r = find(vcpu);
	if (!r)
		return 0;
	change(r, KVM_VCPU_STATE_guest, KVM_VCPU_STATE_exit, bpf_ktime_get_ns(), 0);
	reason = reason_of(vcpu, isa);
	r->values.exits++;
	if (reason < KVM_EXIT_REASONS)
		r->values.exit_reasons[reason]++;
	r->reason = reason;
	r->exit_ns = 0;
	r->in_exit = true;
	/* In the guest when the programs were attached */
	if (!r->in_run)
		begin_late(r, vcpu);
	return 0;
}

static __always_inline struct kvm_vcpu *vcpu_of(struct preempt_notifier *notifier)
{
	return (void *)notifier - bpf_core_field_offset(struct kvm_vcpu, preempt_notifier);
}

/* As in the series: KVM_RUN blocks in halts, before INIT and SIPI, and for memory or a lock. */
static __always_inline u32 blocked_state(struct kvm_vcpu *vcpu)
{
	u32 mp_state = BPF_CORE_READ(vcpu, arch.mp_state);

	if (mp_state == MP_STATE_UNINITIALIZED || mp_state == MP_STATE_INIT_RECEIVED ||
	    mp_state == MP_STATE_AP_RESET_HOLD)
		return KVM_VCPU_STATE_off;
	return mp_state == MP_STATE_HALTED && BPF_CORE_READ(vcpu, wait.task) ?
	       KVM_VCPU_STATE_halt : KVM_VCPU_STATE_sleep;
}

SEC("fentry/kvm_sched_out")
int BPF_PROG(sched_out, struct preempt_notifier *notifier)
{
	struct kvm_vcpu *vcpu = vcpu_of(notifier);
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	struct record *r = find_known(vcpu);
	u64 now = bpf_ktime_get_ns();
	u32 from = KVM_VCPU_STATE_exit;
	u64 waits = 0;
	bool runnable;

	if (!r)
		return 0;
	if (!r->in_run) {
		/* Another ioctl, except if the kernel left out run_begin(). */
		if (!BPF_CORE_READ(vcpu, wait.task))
			return 0;
		from = KVM_VCPU_STATE_user;
		waits = begin_late(r, vcpu);
	}
	runnable = task->on_rq;
	if (bpf_core_field_exists(task->se.sched_delayed) && task->se.sched_delayed)
		runnable = false;
	end_polling(r, now);
	change(r, from, runnable ? KVM_VCPU_STATE_ready : blocked_state(vcpu), now, waits);
	return 0;
}

SEC("fentry/kvm_sched_in")
int BPF_PROG(sched_in, struct preempt_notifier *notifier)
{
	struct kvm_vcpu *vcpu = vcpu_of(notifier);
	struct record *r = find_known(vcpu);
	bool blocked;
	u32 from;

	if (!r)
		return 0;
	from = r->values.state;
	blocked = from == KVM_VCPU_STATE_halt || from == KVM_VCPU_STATE_sleep ||
		  from == KVM_VCPU_STATE_off;
	if (!r->in_run) {
		/* Another ioctl, except if it was blocked when the programs were attached */
		if (!blocked)
			return 0;
		begin_late(r, vcpu);
	} else if (!blocked && from != KVM_VCPU_STATE_ready) {
		from = BPF_CORE_READ(vcpu, preempted) ? KVM_VCPU_STATE_ready : blocked_state(vcpu);
	}
	/* The scheduler counts the wait; the rest is the time around it, in KVM. */
	if (from == KVM_VCPU_STATE_ready)
		from = KVM_VCPU_STATE_exit;
	change(r, from, KVM_VCPU_STATE_exit, bpf_ktime_get_ns(), take_waits(r));
	return 0;
}

/* A halt, or another wait for an event, begins: KVM may poll. */
SEC("fentry/kvm_vcpu_halt")
int BPF_PROG(halt, struct kvm_vcpu *vcpu)
{
	struct record *r = find_known(vcpu);

	if (r)
		r->poll_from_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("fentry/kvm_vcpu_block")
int BPF_PROG(block, struct kvm_vcpu *vcpu)
{
	struct record *r = find_known(vcpu);

	if (r)
		end_polling(r, bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/kvm_vcpu_wakeup")
int BPF_PROG(wakeup)
{
	struct record *r = find_current();

	if (r)
		end_polling(r, bpf_ktime_get_ns());
	return 0;
}

static __always_inline int forget(struct kvm_vcpu *vcpu)
{
	u64 key = (u64)vcpu;
	struct record *r = bpf_map_lookup_elem(&records, &key);

	if (!r)
		return 0;
	forget_thread(r->tid, key);
	bpf_map_delete_elem(&records, &key);
	return 0;
}

SEC("fentry/kvm_arch_vcpu_destroy")
int BPF_PROG(destroy, struct kvm_vcpu *vcpu)
{
	return forget(vcpu);
}

/* At the address of one whose destroy() the kernel left out */
SEC("fentry/kvm_arch_vcpu_create")
int BPF_PROG(create, struct kvm_vcpu *vcpu)
{
	return forget(vcpu);
}

/* Not exported, and no function: /proc/kallsyms has the address. */
extern const void kvm_vm_fops __ksym __weak;
extern const void kvm_vcpu_fops __ksym __weak;
extern const void kvm_vm_stats_header __ksym __weak;
extern const void kvm_vm_stats_desc __ksym __weak;
extern const void kvm_vcpu_stats_header __ksym __weak;
extern const void kvm_vcpu_stats_desc __ksym __weak;
extern const void npt_enabled __ksym __weak;

static __always_inline void read_table(struct own_table *table, const void *header,
				       const void *descs)
{
	u32 count;

	if (!header || !descs)
		return;
	bpf_probe_read_kernel(table, 24, header);
	count = table->num_desc;
	if (table->name_size == NAME_SIZE && count <= MOST_DESCS)
		bpf_probe_read_kernel(table->desc, count * sizeof(*table->desc), descs);
}

/* The loader runs this once. */
SEC("syscall")
int read_tables(void *context)
{
	read_table(&vm_table, &kvm_vm_stats_header, &kvm_vm_stats_desc);
	read_table(&vcpu_table, &kvm_vcpu_stats_header, &kvm_vcpu_stats_desc);
	if (&npt_enabled)
		bpf_probe_read_kernel(&has_npt, 1, &npt_enabled);
	has_files = &kvm_vm_fops && &kvm_vcpu_fops;
	return 0;
}

/* False if the values changed meanwhile. */
static __always_inline bool copy(struct vcpu_values *to, struct record *r)
{
	u64 since = READ_ONCE(r->values.state_since_ns);

	bpf_probe_read_kernel(to, sizeof(*to), &r->values);
	return since && since == READ_ONCE(r->values.state_since_ns);
}

/* A thread in an ioctl of the vCPU has a preempt notifier. */
static __always_inline bool is_in_ioctl(struct kvm_vcpu *vcpu)
{
	u64 notifier = (u64)BPF_CORE_READ(vcpu, preempt_notifier.link.pprev);

	return notifier && notifier != LIST_POISON2;
}

/*
 * The state of a thread that is in no hurry to change it, and why it left KVM_RUN. The hook that
 * ends the state knows it.
 */
static __always_inline void guess_state(struct record *r, struct kvm_vcpu *vcpu)
{
	u32 mode = BPF_CORE_READ(vcpu, mode), reason = BPF_CORE_READ(vcpu, run, exit_reason);
	u64 state = mode == IN_GUEST_MODE ? KVM_VCPU_STATE_guest :
		    BPF_CORE_READ(vcpu, wait.task) ? blocked_state(vcpu) :
		    is_in_ioctl(vcpu) && !BPF_CORE_READ(vcpu, preempted) ?
		    KVM_VCPU_STATE_sleep : KVM_VCPU_STATE_user;

	if (r->values.state != KVM_VCPU_STATE_none)
		return;
	if (state == KVM_VCPU_STATE_user && reason < KVM_USER_EXITS)
		r->values.last_user_exit = reason;
	__sync_val_compare_and_swap(&r->values.state, KVM_VCPU_STATE_none, state);
}

/*
 * The thread has left KVM_RUN, but the kernel left out run_end(), as it can since Linux 7.0 (the
 * next run_begin() counts the exit), or the guess was of another ioctl.
 */
static __always_inline void correct_state(struct vcpu_values *values, struct kvm_vcpu *vcpu)
{
	u32 reason = BPF_CORE_READ(vcpu, run, exit_reason);

	if ((values->state != KVM_VCPU_STATE_exit && values->state != KVM_VCPU_STATE_sleep) ||
	    is_in_ioctl(vcpu))
		return;
	values->state = KVM_VCPU_STATE_user;
	if (reason < KVM_USER_EXITS)
		values->last_user_exit = reason;
}

static __always_inline u32 put_vcpu(struct kvm_vcpu *vcpu)
{
	u32 own = vcpu_size;
	struct record *r;

	if (own > MOST_OWN)
		return 0;
	out.item.vm = (u64)BPF_CORE_READ(vcpu, kvm);
	out.item.id = BPF_CORE_READ(vcpu, vcpu_id);
	out.item.is_vcpu = true;
	if (bpf_core_field_exists(vcpu->stat))
		bpf_probe_read_kernel(out.values, own,
				      (void *)vcpu + bpf_core_field_offset(struct kvm_vcpu, stat));
	if (!timed)
		return own;
	r = found_all ? find_known(vcpu) : find(vcpu);
	if (r) {
		guess_state(r, vcpu);
		/* Linux 6.1 refuses some loops. If all tries fail, time may be at the wrong state. */
		if (!copy((void *)out.values + own, r) && !copy((void *)out.values + own, r) &&
		    !copy((void *)out.values + own, r))
			copy((void *)out.values + own, r);
		correct_state((void *)out.values + own, vcpu);
	} else {
		bpf_probe_read_kernel(out.values + own, sizeof(initial.values), &initial.values);
	}
	return own + sizeof(struct vcpu_values);
}

static __always_inline u32 put_vm(struct kvm *kvm)
{
	struct vm_values values = {
		.online_vcpus = BPF_CORE_READ(kvm, online_vcpus.counter),
		.ready_accounting = timed,
		.time_accounting = timed,
		.bpf_since_ns = initial.values.state_since_ns,
		.bpf_missed = missed,
		.bpf_left_out = left_out,
	};
	u32 own = vm_size;

	if (own > MOST_OWN)
		return 0;
	out.item.vm = (u64)kvm;
	out.item.is_vcpu = false;
	if (bpf_core_field_exists(kvm->stat))
		bpf_probe_read_kernel(out.values, own,
				      (void *)kvm + bpf_core_field_offset(struct kvm, stat));
	*(struct vm_values *)(out.values + own) = values;
	return own + sizeof(values);
}

SEC("iter/task_file")
int find_files(struct bpf_iter__task_file *context)
{
	struct task_struct *task = context->task;
	struct file *file = context->file;
	u32 size;

	if (!file || !task)
		return 0;
	out.item.pid = task->tgid;
	out.item.fd = context->fd;
	if (file->f_op == &kvm_vcpu_fops)
		size = put_vcpu(file->private_data);
	else if (file->f_op == &kvm_vm_fops)
		size = put_vm(file->private_data);
	else
		return 0;
	if (size <= sizeof(out.values))
		bpf_seq_write(context->meta->seq, &out, sizeof(out.item) + size);
	return 0;
}
