// SPDX-License-Identifier: GPL-2.0-only
/*
 * KVM statistics: time by state.
 *
 * Each place that changes a vCPU's state knows the old state, so KVM keeps only the
 * time of the last change. The clock is CLOCK_MONOTONIC: user space reads it without a
 * system call and can add the running interval.
 *
 * ready_ns comes from the scheduler, which has a clock of its own. Subtract each wait
 * once, from the state in which it occurred.
 */
#include <linux/jump_label.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/rcupdate.h>
#include <linux/sched/stat.h>
#include <linux/smp.h>
#include <linux/timex.h>

#include "stats_time.h"

DEFINE_STATIC_KEY_FALSE(kvm_stats_time);
EXPORT_SYMBOL_GPL(kvm_stats_time);

/* Account for time from here on; U64_MAX while the switch is off. */
static u64 accounted_from = U64_MAX;

/* The time since the vCPU's last change of state, or since accounted_from. */
static u64 time_in_state(struct kvm_vcpu *vcpu, u64 now)
{
	u64 from = READ_ONCE(accounted_from);
	u64 since = vcpu->stat->state_since_ns;

	if (unlikely(since < from))
		since = min(from, now);
	return now - since;
}

/*
 * Count time and waits between begin_change() and end_change(). A reader loads
 * state_since_ns before and after the values: if it is the same and not 0, there was no
 * change in between. Disable preemption, so that no reader waits for long.
 */
static __always_inline void begin_change(struct kvm_vcpu_stat *stat)
{
	WRITE_ONCE(stat->state_since_ns, 0);
	/* Pairs with the reader's acquire before it loads values. */
	smp_wmb();
}

static __always_inline void end_change(struct kvm_vcpu_stat *stat,
				       enum kvm_vcpu_state to, u64 now)
{
	WRITE_ONCE(stat->state, to);
	/* Pairs with the reader's fence after it has loaded values. */
	smp_wmb();
	WRITE_ONCE(stat->state_since_ns, now);
}

static __always_inline void add_time(u64 *counter, u64 ns)
{
	WRITE_ONCE(*counter, *counter + ns);
}

static __always_inline void count_time(struct kvm_vcpu *vcpu,
				       struct kvm_vcpu_stat *stat,
				       enum kvm_vcpu_state state, u64 ns)
{
	switch (state) {
	case KVM_VCPU_STATE_guest:
		add_time(&stat->time_guest_ns, ns);
		break;
	case KVM_VCPU_STATE_exit:
		add_time(&stat->time_exit_ns, ns);
		stat->exit_reason_ns[vcpu->time.reason] += ns;
		vcpu->time.exit_ns += ns;
		break;
	case KVM_VCPU_STATE_poll:
		add_time(&stat->time_poll_ns, ns);
		break;
	case KVM_VCPU_STATE_halt:
		add_time(&stat->time_halt_ns, ns);
		break;
	case KVM_VCPU_STATE_sleep:
		add_time(&stat->time_sleep_ns, ns);
		stat->exit_reason_sleep_ns[vcpu->time.reason] += ns;
		break;
	case KVM_VCPU_STATE_off:
		add_time(&stat->time_off_ns, ns);
		break;
	case KVM_VCPU_STATE_user:
		add_time(&stat->time_user_ns, ns);
		break;
	default:	/* the scheduler counts ready_ns */
		break;
	}
}

/* The time in a state without the waits for a CPU. Keep excess waits, see change_at(). */
static u64 without_waits(struct kvm_vcpu *vcpu, u64 ns, u64 waits)
{
	u64 subtracted = min(ns, waits);

	vcpu->time.overdrawn += waits - subtracted;
	return ns - subtracted;
}

/* The end of a state, and how long it lasted. */
struct state_change {
	u64 now;
	u64 ns;
};

/*
 * Make each change at least 1 ns later than the one before: no two have the same
 * state_since_ns.
 */
static __always_inline u64 after_since(struct kvm_vcpu *vcpu, u64 clock)
{
	return max(clock, vcpu->stat->state_since_ns + 1);
}

static u64 time_now(struct kvm_vcpu *vcpu)
{
	return after_since(vcpu, ktime_get_ns());
}

/*
 * The end of a state in which the thread has a CPU. To the scheduler, a wait begins
 * before KVM is told that the thread loses its CPU. If a host that is a guest itself
 * stands still in between, that is long. Subtract the excess from the next intervals
 * with a CPU: in the last one, it was counted twice.
 */
static struct state_change change_at(struct kvm_vcpu *vcpu, u64 clock)
{
	u64 overdrawn = vcpu->time.overdrawn;
	struct state_change change;

	change.now = after_since(vcpu, clock);
	change.ns = time_in_state(vcpu, change.now);
	if (unlikely(overdrawn)) {
		vcpu->time.overdrawn = 0;
		change.ns = without_waits(vcpu, change.ns, overdrawn);
	}
	return change;
}

static struct state_change change_by_clock(struct kvm_vcpu *vcpu)
{
	return change_at(vcpu, ktime_get_ns());
}

#ifdef kvm_arch_cycles_khz
/*
 * Reading the clock is most of the cost of a change. At entries and exits, use CPU
 * cycles instead, for 0.1 ms after the clock was read and while the thread stays on this
 * CPU, so that cycles of different CPUs are never compared. Convert cycles 0.1 % too low,
 * so that the estimate never runs ahead of the clock; the next read corrects it. If it is
 * ahead nonetheless, because the clock is slewed or the rate is wrong, use the clock for
 * the next second.
 */
#define CYCLES_SHIFT	22
#define CLOCK_READS_PER_MS	10
#define NS_PER_MS	(NSEC_PER_MSEC - NSEC_PER_MSEC / 1024)

static struct state_change change_by_new_cycles(struct kvm_vcpu *vcpu)
{
	u32 khz = kvm_arch_cycles_khz();
	u64 before = get_cycles();
	u64 clock = ktime_get_ns();
	u64 cycles = get_cycles();
	struct state_change change;

	if (vcpu->stat->state_since_ns > clock + NSEC_PER_USEC)
		vcpu->time.no_cycles_until = clock + NSEC_PER_SEC;
	change = change_at(vcpu, clock);
	/*
	 * Keep using the clock if the reads above took 16 us, and while the interval
	 * is 0: it is before accounted_from, or waits were subtracted from it.
	 */
	if (!change.ns || clock < vcpu->time.no_cycles_until ||
	    cycles - before > khz >> 6)
		khz = 0;
	vcpu->time.cycles_from = cycles;
	vcpu->time.cycles_from_ns = clock;
	vcpu->time.cycles_good = khz / CLOCK_READS_PER_MS;
	if (khz)
		vcpu->time.cycles_mult =
			div_u64((u64)NS_PER_MS << CYCLES_SHIFT, khz);
	return change;
}

/* Returns false if the clock must be read. */
static __always_inline bool change_by_cycles(struct kvm_vcpu *vcpu,
					     struct state_change *change)
{
	u64 cycles = get_cycles() - vcpu->time.cycles_from;
	u64 since = vcpu->stat->state_since_ns;

	if (unlikely(cycles >= vcpu->time.cycles_good))
		return false;

	change->now = vcpu->time.cycles_from_ns +
		      (cycles * vcpu->time.cycles_mult >> CYCLES_SHIFT);
	change->now = after_since(vcpu, change->now);
	change->ns = change->now - since;
	return true;
}

/* The thread may have moved to another CPU. */
static __always_inline void drop_cycles(struct kvm_vcpu *vcpu)
{
	vcpu->time.cycles_good = 0;
}
#else
static struct state_change change_by_new_cycles(struct kvm_vcpu *vcpu)
{
	return change_by_clock(vcpu);
}

static bool change_by_cycles(struct kvm_vcpu *vcpu, struct state_change *change)
{
	return false;
}

static __always_inline void drop_cycles(struct kvm_vcpu *vcpu)
{
}
#endif

/* The time of a state in which the thread had no CPU, or was outside KVM_RUN. */
static u64 time_without_cpu(struct kvm_vcpu *vcpu, u64 now, u64 waits)
{
	u64 ns = time_in_state(vcpu, now);

	/* Some of the waits may be older than accounted_from. */
	if (vcpu->stat->state_since_ns < READ_ONCE(accounted_from))
		waits = min(waits, ns);
	return without_waits(vcpu, ns, waits);
}

static enum kvm_vcpu_state state_in_kvm(struct kvm_vcpu *vcpu)
{
	return vcpu->time.polling ? KVM_VCPU_STATE_poll : KVM_VCPU_STATE_exit;
}

/* An exit ends. Count its length only if KVM also saw its beginning. */
static __always_inline void end_exit(struct kvm_vcpu *vcpu, struct state_change change,
				     enum kvm_vcpu_state to)
{
	struct kvm_vcpu_stat *stat = vcpu->stat;

	begin_change(stat);
	count_time(vcpu, stat, KVM_VCPU_STATE_exit, change.ns);
	if (likely(vcpu->time.in_exit))
		kvm_stats_log_hist(stat, exit_hist, vcpu->time.exit_ns);
	vcpu->time.in_exit = false;
	end_change(stat, to, change.now);
}

static __always_inline void begin_exit(struct kvm_vcpu *vcpu,
				       struct state_change change)
{
	struct kvm_vcpu_stat *stat = vcpu->stat;

	begin_change(stat);
	count_time(vcpu, stat, KVM_VCPU_STATE_guest, change.ns);
	end_change(stat, KVM_VCPU_STATE_exit, change.now);
	vcpu->time.exit_ns = 0;
	vcpu->time.in_exit = true;
}

/* The functions below end with a call of these, so that they need no stack. */
static noinline void guest_enter_by_clock(struct kvm_vcpu *vcpu)
{
	end_exit(vcpu, change_by_new_cycles(vcpu), KVM_VCPU_STATE_guest);
}

static noinline void guest_exit_by_clock(struct kvm_vcpu *vcpu)
{
	begin_exit(vcpu, change_by_new_cycles(vcpu));
}

void __kvm_stats_time_guest_enter(struct kvm_vcpu *vcpu)
{
	struct state_change change;

	if (likely(change_by_cycles(vcpu, &change)))
		end_exit(vcpu, change, KVM_VCPU_STATE_guest);
	else
		guest_enter_by_clock(vcpu);
}
EXPORT_SYMBOL_GPL(__kvm_stats_time_guest_enter);

void __kvm_stats_time_guest_exit(struct kvm_vcpu *vcpu)
{
	struct state_change change;

	if (likely(change_by_cycles(vcpu, &change)))
		begin_exit(vcpu, change);
	else
		guest_exit_by_clock(vcpu);
}
EXPORT_SYMBOL_GPL(__kvm_stats_time_guest_exit);

void __kvm_stats_time_run_begin(struct kvm_vcpu *vcpu, u64 waits)
{
	u64 now = time_now(vcpu);
	u64 ns = time_without_cpu(vcpu, now, waits);
	struct kvm_vcpu_stat *stat = vcpu->stat;

	drop_cycles(vcpu);
	begin_change(stat);
	kvm_stats_count_wait(vcpu, waits);
	count_time(vcpu, stat, KVM_VCPU_STATE_user, ns);
	end_change(stat, KVM_VCPU_STATE_exit, now);
}

void __kvm_stats_time_run_end(struct kvm_vcpu *vcpu)
{
	end_exit(vcpu, change_by_clock(vcpu), KVM_VCPU_STATE_user);
}

static enum kvm_vcpu_state blocked_state(struct kvm_vcpu *vcpu)
{
	if (kvm_arch_vcpu_off(vcpu))
		return KVM_VCPU_STATE_off;
	return vcpu->stat->blocking && kvm_arch_vcpu_halted(vcpu) ?
		KVM_VCPU_STATE_halt : KVM_VCPU_STATE_sleep;
}

void __kvm_stats_time_sched_out(struct kvm_vcpu *vcpu)
{
	enum kvm_vcpu_state to = task_is_runnable(current) ? KVM_VCPU_STATE_ready :
						  blocked_state(vcpu);
	struct state_change change = change_by_clock(vcpu);
	struct kvm_vcpu_stat *stat = vcpu->stat;

	begin_change(stat);
	count_time(vcpu, stat, state_in_kvm(vcpu), change.ns);
	end_change(stat, to, change.now);
}

/* The state before the thread was scheduled in, even if stats_time was off when it began. */
static enum kvm_vcpu_state state_without_cpu(struct kvm_vcpu *vcpu,
					     bool preempted)
{
	if (vcpu->stat->state != KVM_VCPU_STATE_none)
		return vcpu->stat->state;
	return preempted ? KVM_VCPU_STATE_ready : blocked_state(vcpu);
}

void __kvm_stats_time_sched_in(struct kvm_vcpu *vcpu, bool preempted, u64 waits)
{
	enum kvm_vcpu_state from = state_without_cpu(vcpu, preempted);
	u64 now = time_now(vcpu);
	u64 ns = time_without_cpu(vcpu, now, waits);
	struct kvm_vcpu_stat *stat = vcpu->stat;

	/* If the scheduler counts the wait, the rest is the time around it, in KVM. */
	if (from == KVM_VCPU_STATE_ready && sched_info_on())
		from = state_in_kvm(vcpu);

	drop_cycles(vcpu);
	begin_change(stat);
	kvm_stats_count_wait(vcpu, waits);
	count_time(vcpu, stat, from, ns);
	end_change(stat, state_in_kvm(vcpu), now);
}

void __kvm_stats_time_poll(struct kvm_vcpu *vcpu, bool polling)
{
	struct state_change change = change_by_clock(vcpu);
	struct kvm_vcpu_stat *stat = vcpu->stat;

	begin_change(stat);
	count_time(vcpu, stat, state_in_kvm(vcpu), change.ns);
	vcpu->time.polling = polling;
	end_change(stat, state_in_kvm(vcpu), change.now);
}

/* Time by state begins with the vCPU's first KVM_RUN. */
void kvm_stats_time_first_run(struct kvm_vcpu *vcpu)
{
	WRITE_ONCE(vcpu->stat->state_since_ns, ktime_get_ns());
}

static void kvm_stats_time_reset(struct kvm_vcpu *vcpu)
{
	memset(&vcpu->time, 0, sizeof(vcpu->time));
	vcpu->time.reason = KVM_EXIT_REASON_other;
}

void kvm_stats_time_vcpu_init(struct kvm_vcpu *vcpu)
{
	vcpu->stat->state_since_ns = ktime_get_ns();
	kvm_stats_time_reset(vcpu);
}

/*
 * Stop accounting for the vCPU's time at @end. Its thread may have waits that it has
 * yet to take.
 */
static void kvm_stats_time_end_state(struct kvm_vcpu *vcpu, u64 end)
{
	enum kvm_vcpu_state state = vcpu->stat->state;
	u64 since = vcpu->stat->state_since_ns;
	u64 ns = end > since ? end - since : 0;

	if (state == KVM_VCPU_STATE_none)
		return;

	if (state != KVM_VCPU_STATE_ready)
		ns = without_waits(vcpu, ns, min(ns, kvm_pending_waits(vcpu)) +
				   vcpu->time.overdrawn);
	preempt_disable();
	begin_change(vcpu->stat);
	count_time(vcpu, vcpu->stat, state, ns);
	end_change(vcpu->stat, KVM_VCPU_STATE_none, max(end, since));
	preempt_enable();
	kvm_stats_time_reset(vcpu);
}

/* The vCPU has run for the last time. */
void kvm_stats_time_vcpu_end(struct kvm_vcpu *vcpu)
{
	kvm_stats_time_end_state(vcpu, ktime_get_ns());
}

/* Hold kvm_lock while the VM is added to vm_list: a switch walks that list. */
void kvm_stats_time_vm_init(struct kvm *kvm)
{
	lockdep_assert_held(&kvm_lock);
	kvm->stat->time_accounting = static_key_enabled(&kvm_stats_time);
}

/* During boot there is no clock yet, and no VM. */
static bool vms_exist(void)
{
	bool found;

	mutex_lock(&kvm_lock);
	found = !list_empty(&vm_list);
	mutex_unlock(&kvm_lock);
	return found;
}

/*
 * The caller holds vcpu->mutex, so the vCPU thread is not in KVM_RUN. A thread in
 * KVM_RUN gets its state at its next change, which kvm_vcpu_kick() causes. The kick does
 * not wake a thread that waits for memory: if it waits until the switch is off again,
 * KVM does not account for that time.
 */
static void kvm_stats_time_find_state(struct kvm_vcpu *vcpu)
{
	u64 waits;

	lockdep_assert_held(&vcpu->mutex);

	/* It never ran, or has changed its state since the switch. */
	if (!rcu_access_pointer(vcpu->pid) ||
	    vcpu->stat->state != KVM_VCPU_STATE_none)
		return;

	/* Count older waits now, so that they are not subtracted from later time. */
	waits = kvm_pending_waits(vcpu);
	WRITE_ONCE(vcpu->run_delay, vcpu->run_delay + waits);
	preempt_disable();
	begin_change(vcpu->stat);
	kvm_stats_count_wait(vcpu, waits);
	end_change(vcpu->stat, KVM_VCPU_STATE_user, accounted_from);
	preempt_enable();
}

/*
 * Take a vCPU's mutex only under kvm->lock: other holders of kvm->lock try to lock the
 * mutexes of all vCPUs, for example to reset them, and fail if one is taken. Do not wait
 * for kvm->lock: its holder may wait for user memory, while the caller holds kvm_lock.
 */
static void kvm_stats_time_find_states(struct kvm *kvm)
{
	bool locked = mutex_trylock(&kvm->lock);
	struct kvm_vcpu *vcpu;
	unsigned long i;

	kvm_for_each_vcpu(i, vcpu, kvm) {
		if (locked && mutex_trylock(&vcpu->mutex)) {
			kvm_stats_time_find_state(vcpu);
			mutex_unlock(&vcpu->mutex);
		} else {
			kvm_vcpu_kick(vcpu);
		}
	}
	if (locked)
		mutex_unlock(&kvm->lock);
}

static void kvm_stats_time_switch_on(void)
{
	struct kvm *kvm;
	u64 from = 0;

	static_branch_enable(&kvm_stats_time);
	if (vms_exist()) {
		/* Wait until all CPUs run the code that the key enables. */
		kick_all_cpus_sync();
		from = ktime_get_ns();
	}
	/* From here on KVM sees every change. Before its first, a thread keeps its old state. */
	WRITE_ONCE(accounted_from, from);

	mutex_lock(&kvm_lock);
	list_for_each_entry(kvm, &vm_list, vm_list) {
		WRITE_ONCE(kvm->stat->time_accounting, 1);
		kvm_stats_time_find_states(kvm);
	}
	mutex_unlock(&kvm_lock);
}

static void kvm_stats_time_switch_off(void)
{
	u64 end = vms_exist() ? ktime_get_ns() : 0;
	struct kvm_vcpu *vcpu;
	struct kvm *kvm;
	unsigned long i;

	static_branch_disable(&kvm_stats_time);
	/* Wait for changes that began before the switch. */
	if (vms_exist()) {
		/*
		 * Preemption is disabled from the test of the switch to the end
		 * of a change. If RCU regards the CPU as in a guest, interrupts
		 * are disabled, too. Kick first: before the kick a CPU may still
		 * see the old switch.
		 */
		kick_all_cpus_sync();
		synchronize_rcu();
	}
	WRITE_ONCE(accounted_from, U64_MAX);

	mutex_lock(&kvm_lock);
	list_for_each_entry(kvm, &vm_list, vm_list) {
		WRITE_ONCE(kvm->stat->time_accounting, 0);
		kvm_for_each_vcpu(i, vcpu, kvm)
			kvm_stats_time_end_state(vcpu, end);
	}
	mutex_unlock(&kvm_lock);
}

/* The caller holds the lock of the module's parameters. */
static int set_stats_time(const char *val, const struct kernel_param *kp)
{
	bool was_on = static_key_enabled(&kvm_stats_time);
	bool on = was_on;
	struct kernel_param bool_param = { .arg = &on };
	int r;

	r = param_set_bool(val, &bool_param);
	if (r || on == was_on)
		return r;

	if (on)
		kvm_stats_time_switch_on();
	else
		kvm_stats_time_switch_off();
	return 0;
}

static int get_stats_time(char *buffer, const struct kernel_param *kp)
{
	return sprintf(buffer, "%c\n",
		       static_key_enabled(&kvm_stats_time) ? 'Y' : 'N');
}

static const struct kernel_param_ops stats_time_ops = {
	.flags = KERNEL_PARAM_OPS_FL_NOARG,
	.set = set_stats_time,
	.get = get_stats_time,
};
module_param_cb(stats_time, &stats_time_ops, NULL, 0644);
