// SPDX-License-Identifier: GPL-2.0-only
/*
 * KVM statistics: time by state.
 *
 * Who changes the state of a vCPU knows the old one from where it stands, so what
 * is kept is only since when. The clock is CLOCK_MONOTONIC, which user space
 * reads without a system call, too: it completes what has not ended.
 *
 * ready_ns comes from the scheduler and has a clock of its own. What it has is
 * taken from the state that was interrupted by it, and never twice.
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

/* The time before this is not accounted for: all of it while the switch is off. */
static u64 accounted_from = U64_MAX;

/* How long the vCPU's state was what it is, but no longer than is accounted for. */
static u64 time_in_state(struct kvm_vcpu *vcpu, u64 now)
{
	u64 from = READ_ONCE(accounted_from);
	u64 since = vcpu->stat->state_since_ns;

	if (unlikely(since < from))
		since = min(from, now);
	return now - since;
}

/*
 * A reader that finds the same state_since_ns before and after what it loads, and
 * that is not 0, has all of it from between two changes: all that counts time and
 * waits stands between these two. For callers who have disabled preemption, so
 * that no reader waits for long.
 */
static __always_inline void begin_change(struct kvm_vcpu_stat *stat)
{
	WRITE_ONCE(stat->state_since_ns, 0);
	/* Pairs with the acquire of readers, before what they load. */
	smp_wmb();
}

static __always_inline void end_change(struct kvm_vcpu_stat *stat,
				       enum kvm_vcpu_state to, u64 now)
{
	WRITE_ONCE(stat->state, to);
	/* And this one with what they have behind it. */
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
		break;
	case KVM_VCPU_STATE_user:
		add_time(&stat->time_user_ns, ns);
		break;
	default:	/* ready_ns is the scheduler's */
		break;
	}
}

/* What is left of the time in a state, without the waits for a CPU in it. */
static u64 without_waits(struct kvm_vcpu *vcpu, u64 ns, u64 waits)
{
	vcpu->time.overdrawn = waits > ns ? waits - ns : 0;
	return waits > ns ? 0 : ns - waits;
}

/* When a state ends, and how long it was. */
struct state_change {
	u64 now;
	u64 ns;
};

/*
 * A state never ends before it has begun, nor at that moment: no two changes have
 * the same state_since_ns.
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
 * In KVM_RUN, on a CPU. The scheduler's clock and this one are not read at the same
 * instant: what it has counted beyond the time that passed while the thread had no
 * CPU is taken from the next that it has one.
 */
static struct state_change change_at(struct kvm_vcpu *vcpu, u64 clock)
{
	struct state_change change;

	change.now = after_since(vcpu, clock);
	change.ns = time_in_state(vcpu, change.now);
	if (unlikely(vcpu->time.overdrawn))
		change.ns = without_waits(vcpu, change.ns,
					  vcpu->time.overdrawn);
	return change;
}

static struct state_change change_by_clock(struct kvm_vcpu *vcpu)
{
	return change_at(vcpu, ktime_get_ns());
}

#ifdef kvm_arch_cycles_khz
/*
 * A look at the clock is most of what a change costs. Around guest mode the CPU's
 * cycles do as well, for 0.1 ms after such a look, and as long as the thread does not
 * leave the CPU: whether CPUs agree on their cycles does not matter. They are taken for
 * 0.1 % less time than they are, so that what is made of them is behind the clock, and
 * the next look makes up for it. If it is ahead nonetheless, for the clock is slewed or
 * the rate is not what it is said to be, the clock is looked at for the next second.
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
	 * Not while time is not accounted for yet or waits are paid for, for both of
	 * which has to be looked, nor if 16 us have passed in between.
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

/* False if the clock has to be looked at. */
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

/* The thread may have come to another CPU. */
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

/* And outside of it. */
static u64 time_without_cpu(struct kvm_vcpu *vcpu, u64 now, u64 waits)
{
	u64 ns = time_in_state(vcpu, now);

	/* Some of them may have been before. */
	if (vcpu->stat->state_since_ns < READ_ONCE(accounted_from))
		waits = min(waits, ns);
	return without_waits(vcpu, ns, waits + vcpu->time.overdrawn);
}

static enum kvm_vcpu_state state_in_kvm(struct kvm_vcpu *vcpu)
{
	return vcpu->time.polling ? KVM_VCPU_STATE_poll : KVM_VCPU_STATE_exit;
}

/* An exit is over. Its time is that of one only if all of it was seen. */
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

/* Called at the end of those that need no clock: these then need no stack. */
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

/* The state of who has a CPU again, also if nobody has seen that it lost it. */
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

	/* The rest of a wait is on the way to a CPU, if waits are counted. */
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

/* It was not waited for: time begins with a vCPU's first KVM_RUN. */
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
 * What the vCPU's thread does from then on is not accounted for. It may have
 * waited for a CPU, which it has yet to tell.
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

/* The vCPU ran for the last time. */
void kvm_stats_time_vcpu_end(struct kvm_vcpu *vcpu)
{
	kvm_stats_time_end_state(vcpu, ktime_get_ns());
}

/* With kvm_lock, as the VM comes onto the list that a switch goes through. */
void kvm_stats_time_vm_init(struct kvm *kvm)
{
	lockdep_assert_held(&kvm_lock);
	kvm->stat->time_accounting = static_key_enabled(&kvm_stats_time);
}

/* When the kernel boots there is no clock yet, but no VM either. */
static bool vms_exist(void)
{
	bool found;

	mutex_lock(&kvm_lock);
	found = !list_empty(&vm_list);
	mutex_unlock(&kvm_lock);
	return found;
}

/*
 * Whose thread is not in KVM_RUN, nor will be while this has the mutex. What the
 * others do is known when they next change their state, and they are made to. But
 * who sleeps for memory is not: if it still does when the switch is off again, that
 * time is not accounted for.
 */
static void kvm_stats_time_find_state(struct kvm_vcpu *vcpu)
{
	u64 waits;

	lockdep_assert_held(&vcpu->mutex);

	/* Unless it came by since the switch. */
	if (!rcu_access_pointer(vcpu->pid) ||
	    vcpu->stat->state != KVM_VCPU_STATE_none)
		return;

	/* What it has waited until now is not of the time from now on. */
	waits = kvm_pending_waits(vcpu);
	WRITE_ONCE(vcpu->run_delay, vcpu->run_delay + waits);
	preempt_disable();
	begin_change(vcpu->stat);
	kvm_stats_count_wait(vcpu, waits);
	end_change(vcpu->stat, KVM_VCPU_STATE_user, accounted_from);
	preempt_enable();
}

/*
 * Who has kvm->lock, to reset all vCPUs for example, may try to have the mutex of each
 * and fail if somebody else has it. So that is left alone. To wait for the lock would
 * be to wait, with kvm_lock, for memory of user space.
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
		/* All CPUs see the code that it has switched on. */
		kick_all_cpus_sync();
		from = ktime_get_ns();
	}
	/* Every change from here on is seen: before the first was its old state. */
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
	/* Also one that came by since; the next ones account for nothing. */
	if (vms_exist()) {
		/*
		 * No change is under way any more: each is made, from the test
		 * of the switch on, with preemption disabled, and where RCU
		 * takes the CPU for that of a guest, with interrupts disabled.
		 * The kick is first: a CPU that has not met it yet may test the
		 * switch as it was.
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

/* Under the lock of the module's parameters, one at a time. */
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
