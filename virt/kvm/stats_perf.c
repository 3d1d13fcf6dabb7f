// SPDX-License-Identifier: GPL-2.0-only
/*
 * KVM statistics: vCPU statistics as perf events.
 *
 * An increment of a statistic does no work for perf. vcpu->perf.flushed keeps the count that
 * each value had when it was last flushed. A flush adds what was counted since then to
 * the events of this value that are active on the vCPU's CPU: events of that CPU, and
 * events of the thread that runs the vCPU. KVM flushes
 *
 *  - before an event is added or removed, and when it is read,
 *  - when the vCPU gets a CPU or leaves it.
 *
 * So an event gets each count once. Counts that KVM makes while the vCPU has no CPU, or
 * because it loses its CPU, are flushed when it has a CPU again. So are values that other
 * CPUs count, too: perf removes the events of a thread one by one, and another CPU may
 * count between two of them.
 *
 *	schedule()
 *	  perf_event_task_sched_out()	removes the thread's events
 *	  kvm_sched_out()		flushes what only this thread counts; then
 *					KVM counts the preemption
 *	  ...				another CPU counts halt_wakeup, here or before
 *	  perf_event_task_sched_in()	adds the thread's events; no vCPU to flush yet
 *	  kvm_sched_in()		flushes all of this
 *
 * A CPU changes only its own list of events and their counts, with interrupts disabled.
 * An NMI does not flush: a BPF program that reads an event there gets the last flush.
 */
#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/bits.h>
#include <linux/hardirq.h>
#include <linux/irqflags.h>
#include <linux/jump_label.h>
#include <linux/kvm_host.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/sysfs.h>
#include <linux/workqueue.h>

#include "stats.h"

/*
 * The count of each value when it was last flushed. A vCPU has this memory from the first
 * event that may count it until the host has no event.
 */
struct kvm_stats_flushed {
	union {
		struct rcu_head rcu;
		struct kvm_stats_flushed *next;	/* while no vCPU has it */
	};
	atomic64_t value[];
};

/* attr.config of perf_event_open(): the bits that select the statistic. */
#define CONFIG_EVENT_BITS	16
#define CONFIG_EVENT_MASK	GENMASK(CONFIG_EVENT_BITS - 1, 0)

#define NUM_VALUES	(sizeof(struct kvm_vcpu_stat) / sizeof(u64))

DEFINE_STATIC_KEY_FALSE(kvm_stats_perf_counts);
DEFINE_STATIC_KEY_FALSE(kvm_stats_perf_samples);
EXPORT_SYMBOL_GPL(kvm_stats_perf_samples);

/* How long to keep the keys on, and the memory, after the last event: for the next one. */
#define SWITCH_OFF_DELAY	HZ

/*
 * Opening an event takes open_lock, and in it kvm_lock, which keeps the VMs of vm_list,
 * with their vCPUs, from being freed. perf can close an event with mmap_lock held, which
 * nests in kvm_lock: closing takes neither of them, and users_lock is a leaf.
 * KVM_CREATE_VCPU takes none of these.
 */
static DEFINE_MUTEX(open_lock);
static DEFINE_SPINLOCK(users_lock);

/* Numbers of open events. They increase only under open_lock. */
static atomic_t all_users;
static atomic_t sampling_users;

/* Changes when the first sampling event is opened: older instruction pointers are stale. */
static unsigned int sampling_epoch;

/*
 * Open events of each value, and the values that have one, which are read without a lock.
 * users_lock protects both.
 */
static unsigned int users[NUM_VALUES];
static DECLARE_BITMAP(used, NUM_VALUES);

/* The active events of this CPU. */
static DEFINE_PER_CPU(struct hlist_head, active_events);

/* While KVM takes a sample on this CPU: where it is in the guest. */
static DEFINE_PER_CPU(const struct kvm_stats_perf *, sampled);

/* Values that other CPUs count, too. */
static const bool is_shared[NUM_VALUES] = {
#define KVM_VM_STAT(...)
#define KVM_VCPU_STAT(ctype, stat, ...)					\
	[offsetof(struct kvm_vcpu_stat, stat) / sizeof(u64)] =		\
		__same_type(ctype, atomic64_t),
#define KVM_VCPU_HIST(...)
#include <linux/kvm_stats_list.h>
};

static u64 value_of(struct kvm_vcpu *vcpu, unsigned int value)
{
	return READ_ONCE(vcpu->stats_obj->values[value]);
}

/* Events count only vCPUs with memory: the others need no work. */
static bool may_be_counted(struct kvm_vcpu *vcpu)
{
	return READ_ONCE(vcpu->perf.flushed);
}

#define for_each_active_event(event)					\
	hlist_for_each_entry(event, this_cpu_ptr(&active_events), hlist_entry)

static void kvm_stats_perf_flush(struct kvm_vcpu *vcpu, unsigned int value)
{
	struct kvm_stats_flushed *flushed = READ_ONCE(vcpu->perf.flushed);
	struct perf_event *event;
	u64 now, before, more;

	lockdep_assert_irqs_disabled();

	if (!flushed)
		return;

	now = value_of(vcpu, value);
	/* Most values have not changed: an exchange of each would cost every VM. */
	if (atomic64_read(&flushed->value[value]) == now)
		return;

	before = atomic64_xchg(&flushed->value[value], now);
	more = now - before;

	/*
	 * Root cleared the value in debugfs. On a 32-bit host it may also be half of
	 * an increment, which the next flush corrects.
	 */
	if (IS_ENABLED(CONFIG_64BIT) && now < before)
		more = now;
	if (!more)
		return;

	for_each_active_event(event) {
		if (event->hw.config != value ||
		    event->hw.state & PERF_HES_STOPPED)
			continue;
		local64_add(more, &event->count);
		if (is_sampling_event(event))
			local64_add(more, &event->hw.period_left);
	}
}

static void kvm_event_read(struct perf_event *event)
{
	struct kvm_vcpu *vcpu = kvm_get_running_vcpu();

	if (vcpu && !in_nmi())
		kvm_stats_perf_flush(vcpu, event->hw.config);
}

/* The event comes or goes: other events of the value may already be gone, or still missing. */
static void kvm_stats_perf_flush_event(struct perf_event *event)
{
	if (!is_shared[event->hw.config])
		kvm_event_read(event);
}

/*
 * perf asks where the guest is, to fill in a sample. The emulator has gone on since the
 * exit: return where the exit was. KVM takes no sample in an NMI.
 */
const struct kvm_stats_perf *kvm_stats_perf_sampled(void)
{
	return in_nmi() ? NULL : this_cpu_read(sampled);
}

/* In hw.state: perf takes no more samples until it starts the event again. */
#define THROTTLED	PERF_HES_ARCH

/* As perf does for software events. Returns how many periods have ended. */
static u64 kvm_stats_perf_begin_period(struct perf_event *event)
{
	struct hw_perf_event *hwc = &event->hw;
	u64 left = local64_read(&hwc->period_left);
	u64 periods = div64_u64(left, hwc->sample_period) + 1;

	hwc->last_period = hwc->sample_period;
	local64_set(&hwc->period_left, left - periods * hwc->sample_period);
	return periods;
}

static void kvm_stats_perf_overflow(struct perf_event *event)
{
	u64 period = event->hw.last_period;
	u64 periods = kvm_stats_perf_begin_period(event);
	struct perf_sample_data data;
	struct pt_regs regs = {};

	perf_fetch_caller_regs(&regs);
	for (; periods && !(event->hw.state & THROTTLED); periods--) {
		perf_sample_data_init(&data, 0, period);
		if (perf_event_overflow(event, &data, &regs))
			event->hw.state |= THROTTLED;
	}
}

/* With exclude_guest, a sample is in the host, where KVM counts. */
static const struct kvm_stats_perf in_host;

static void kvm_stats_perf_sample(struct kvm_vcpu *vcpu, struct perf_event *event)
{
	const struct kvm_stats_perf *where = &vcpu->perf;

	if (!is_sampling_event(event) ||
	    local64_read(&event->hw.period_left) < 0)
		return;

	/*
	 * At this exit there was no sampling event yet: the next exit takes the
	 * sample, unless perf begins another period first.
	 */
	if (vcpu->perf.ip_epoch != READ_ONCE(sampling_epoch) || this_cpu_read(sampled))
		return;

	if (event->attr.exclude_guest)
		where = &in_host;
	this_cpu_write(sampled, where);
	kvm_stats_perf_overflow(event);
	this_cpu_write(sampled, NULL);
}

void __kvm_stats_perf_exit(struct kvm_vcpu *vcpu)
{
	if (!may_be_counted(vcpu))
		return;

	vcpu->perf.ip = kvm_arch_vcpu_get_ip(vcpu);
	vcpu->perf.user_mode = !kvm_arch_vcpu_in_kernel(vcpu);
	vcpu->perf.in_guest = true;
	vcpu->perf.ip_epoch = READ_ONCE(sampling_epoch);
}
EXPORT_SYMBOL_GPL(__kvm_stats_perf_exit);

bool __kvm_stats_perf_is_sampled(struct kvm_vcpu *vcpu)
{
	struct perf_event *event;

	if (!may_be_counted(vcpu))
		return false;

	for_each_active_event(event) {
		if (is_sampling_event(event))
			return true;
	}
	return false;
}

/* Flush what KVM counted since the exit, and take the samples that are due. */
void __kvm_stats_perf_enter(struct kvm_vcpu *vcpu)
{
	struct perf_event *event;
	unsigned long flags;

	if (!may_be_counted(vcpu))
		return;

	local_irq_save(flags);
	for_each_active_event(event) {
		if (is_sampling_event(event))
			kvm_stats_perf_flush(vcpu, event->hw.config);
	}
	for_each_active_event(event)
		kvm_stats_perf_sample(vcpu, event);
	local_irq_restore(flags);
}

/*
 * Flush the values that have events. Events can come and go meanwhile. If the thread is
 * scheduled out, it has no events now: what other CPUs count waits until it has them again.
 */
static void kvm_stats_perf_flush_used(struct kvm_vcpu *vcpu, bool sched_out)
{
	unsigned int i, value;
	unsigned long word;

	for (i = 0; i < ARRAY_SIZE(used); i++) {
		for (word = READ_ONCE(used[i]); word; word &= word - 1) {
			value = i * BITS_PER_LONG + __ffs(word);
			if (!sched_out || !is_shared[value])
				kvm_stats_perf_flush(vcpu, value);
		}
	}
}

void __kvm_stats_perf_put(struct kvm_vcpu *vcpu, bool sched_out)
{
	struct perf_event *event;
	unsigned long flags;

	if (!may_be_counted(vcpu))
		return;

	local_irq_save(flags);
	/* Pairs with get_users(): it sees the count, or this sees its bit in used. */
	smp_mb();
	kvm_stats_perf_flush_used(vcpu, sched_out);
	for_each_active_event(event)
		kvm_stats_perf_sample(vcpu, event);
	local_irq_restore(flags);
}

#define for_each_vcpu(kvm, i, vcpu)					\
	list_for_each_entry(kvm, &vm_list, vm_list)			\
		kvm_for_each_vcpu(i, vcpu, kvm)

static struct kvm_stats_flushed *alloc_flushed(void)
{
	struct kvm_stats_flushed *flushed;

	return kzalloc(struct_size(flushed, value, NUM_VALUES), GFP_KERNEL_ACCOUNT);
}

/*
 * Give the vCPU this memory, with everything counted so far as flushed. Returns false if
 * it has memory: its thread and the opener of an event can do this at the same time.
 */
static bool set_flushed(struct kvm_vcpu *vcpu, struct kvm_stats_flushed *flushed)
{
	unsigned int i;

	for (i = 0; i < NUM_VALUES; i++)
		atomic64_set(&flushed->value[i], value_of(vcpu, i));
	return !cmpxchg(&vcpu->perf.flushed, NULL, flushed);
}

/*
 * The vCPU's new thread may have events, opened or inherited. If there is no memory for
 * them, KVM_RUN goes on, and these events do not count this vCPU.
 */
void __kvm_stats_perf_new_thread(struct kvm_vcpu *vcpu)
{
	struct kvm_stats_flushed *flushed;

	if (READ_ONCE(vcpu->perf.flushed))
		return;

	flushed = alloc_flushed();
	if (flushed && !set_flushed(vcpu, flushed))
		kfree(flushed);
}

/* An event of a CPU can count any vCPU, an event of a thread only the vCPUs it runs. */
static bool may_count(const struct perf_event *event, struct kvm_vcpu *vcpu)
{
	struct task_struct *task = event->hw.target;

	return !task || rcu_access_pointer(vcpu->pid) == task_pid(task);
}

/* Give memory to the vCPUs that @event may count. Returns how many still have none. */
static unsigned int hand_out_flushed(const struct perf_event *event,
				     struct kvm_stats_flushed **list)
{
	struct kvm_stats_flushed *flushed;
	unsigned int missing = 0;
	struct kvm_vcpu *vcpu;
	struct kvm *kvm;
	unsigned long i;

	mutex_lock(&kvm_lock);
	for_each_vcpu(kvm, i, vcpu) {
		if (READ_ONCE(vcpu->perf.flushed) || !may_count(event, vcpu))
			continue;
		flushed = *list;
		if (!flushed) {
			missing++;
			continue;
		}
		*list = flushed->next;
		if (!set_flushed(vcpu, flushed))
			kfree(flushed);
	}
	mutex_unlock(&kvm_lock);
	return missing;
}

/*
 * Allocate without a lock: in a cgroup at its limit an allocation can take any time.
 * Returns false if there is no memory.
 */
static bool provide_flushed(const struct perf_event *event)
{
	struct kvm_stats_flushed *list = NULL, *flushed;
	unsigned int missing;
	bool has_memory = true;

	while ((missing = hand_out_flushed(event, &list)) && has_memory) {
		for (; missing && has_memory; missing--) {
			flushed = alloc_flushed();
			has_memory = flushed;
			if (has_memory) {
				flushed->next = list;
				list = flushed;
			}
		}
	}

	while (list) {
		flushed = list;
		list = flushed->next;
		kfree(flushed);
	}
	return has_memory;
}

/* Other CPUs may be in kvm_stats_perf_flush(): free after a grace period. */
static void free_flushed(void)
{
	struct kvm_stats_flushed *flushed;
	struct kvm_vcpu *vcpu;
	struct kvm *kvm;
	unsigned long i;

	mutex_lock(&kvm_lock);
	for_each_vcpu(kvm, i, vcpu) {
		flushed = xchg(&vcpu->perf.flushed, NULL);
		if (flushed)
			kfree_rcu(flushed, rcu);
	}
	mutex_unlock(&kvm_lock);
}

/* The VM is no longer in vm_list, so no opener of an event finds the vCPU. */
void kvm_stats_perf_vcpu_free(struct kvm_vcpu *vcpu)
{
	kfree(vcpu->perf.flushed);
}

/* Flush first: the event does not count what KVM counted before. */
static void begin_event(struct perf_event *event)
{
	struct hw_perf_event *hwc = &event->hw;

	kvm_stats_perf_flush_event(event);

	/* A period that has begun continues, unless perf has set another one. */
	if (is_sampling_event(event) && local64_read(&hwc->period_left) >= 0) {
		hwc->last_period = hwc->sample_period;
		local64_set(&hwc->period_left, -(s64)hwc->sample_period);
	}
}

/* Flush: the event counts nothing later. Take its last sample. */
static void end_event(struct perf_event *event)
{
	struct kvm_vcpu *vcpu = kvm_get_running_vcpu();

	kvm_stats_perf_flush_event(event);
	if (vcpu)
		kvm_stats_perf_sample(vcpu, event);
}

static int kvm_event_add(struct perf_event *event, int flags)
{
	begin_event(event);
	event->hw.state = flags & PERF_EF_START ? 0 : PERF_HES_STOPPED;
	hlist_add_head(&event->hlist_entry, this_cpu_ptr(&active_events));
	perf_event_update_userpage(event);
	return 0;
}

static void kvm_event_del(struct perf_event *event, int flags)
{
	end_event(event);
	hlist_del(&event->hlist_entry);
}

static void kvm_event_start(struct perf_event *event, int flags)
{
	begin_event(event);
	event->hw.state = 0;
}

static void kvm_event_stop(struct perf_event *event, int flags)
{
	end_event(event);
	event->hw.state = PERF_HES_STOPPED;
}

/*
 * The value gets its first event, which does not count what KVM counted before. If the
 * vCPU's CPU flushes at the same time, keep its newer count.
 */
static void kvm_stats_perf_start_value(unsigned int value)
{
	struct kvm_stats_flushed *flushed;
	struct kvm_vcpu *vcpu;
	struct kvm *kvm;
	s64 old;
	unsigned long i;

	lockdep_assert_held(&open_lock);

	mutex_lock(&kvm_lock);
	for_each_vcpu(kvm, i, vcpu) {
		flushed = READ_ONCE(vcpu->perf.flushed);
		if (!flushed)
			continue;
		/* Read it before the value: an older value must not replace a newer one. */
		old = atomic64_read_acquire(&flushed->value[value]);
		atomic64_cmpxchg(&flushed->value[value], old, value_of(vcpu, value));
	}
	mutex_unlock(&kvm_lock);
}

static void kvm_stats_perf_switch_on(struct static_key_false *key)
{
	lockdep_assert_held(&open_lock);

	if (static_key_enabled(key))
		return;

	static_branch_enable(key);
	/* Wait for CPUs that tested the key before. */
	kick_all_cpus_sync();
}

/*
 * Switching a key interrupts all CPUs. With the delay, a loop that opens and closes
 * events switches at most once in SWITCH_OFF_DELAY, and reuses the memory.
 */
static void kvm_stats_perf_switch_off(struct work_struct *work)
{
	mutex_lock(&open_lock);
	if (!atomic_read(&sampling_users))
		static_branch_disable(&kvm_stats_perf_samples);
	if (!atomic_read(&all_users)) {
		static_branch_disable(&kvm_stats_perf_counts);
		free_flushed();
	}
	mutex_unlock(&open_lock);
}

static DECLARE_DELAYED_WORK(switch_off_work, kvm_stats_perf_switch_off);

static void get_key(void)
{
	mutex_lock(&open_lock);
	atomic_inc(&all_users);
	kvm_stats_perf_switch_on(&kvm_stats_perf_counts);
	mutex_unlock(&open_lock);
}

static void put_key(void)
{
	if (atomic_dec_and_test(&all_users) || !atomic_read(&sampling_users))
		schedule_delayed_work(&switch_off_work, SWITCH_OFF_DELAY);
}

/* Returns true if @value had no event. */
static bool get_value(unsigned int value)
{
	bool first;

	spin_lock(&users_lock);
	first = !users[value]++;
	if (first)
		set_bit(value, used);
	spin_unlock(&users_lock);
	return first;
}

static void put_value(unsigned int value)
{
	spin_lock(&users_lock);
	if (!--users[value])
		clear_bit(value, used);
	spin_unlock(&users_lock);
}

static int get_users(struct perf_event *event)
{
	unsigned int value = event->hw.config;

	/*
	 * Switch the key first: from here on vCPUs that leave a CPU flush, and
	 * vCPUs with a new thread get memory. Pairs with kvm_stats_perf_new_thread().
	 */
	get_key();
	if (!provide_flushed(event)) {
		put_key();
		return -ENOMEM;
	}

	mutex_lock(&open_lock);
	if (get_value(value)) {
		/* Pairs with __kvm_stats_perf_put(). */
		smp_mb();
		kvm_stats_perf_start_value(value);
	}
	if (is_sampling_event(event) && atomic_inc_return(&sampling_users) == 1) {
		WRITE_ONCE(sampling_epoch, sampling_epoch + 1);
		kvm_stats_perf_switch_on(&kvm_stats_perf_samples);
	}
	mutex_unlock(&open_lock);
	return 0;
}

static void kvm_event_destroy(struct perf_event *event)
{
	put_value(event->hw.config);
	if (is_sampling_event(event))
		atomic_dec(&sampling_users);
	put_key();
}

/* The statistic whose first value has the index @value, or NULL. */
static const struct kvm_stats_desc *find_desc(u32 value)
{
	const struct kvm_stats_format *format = &kvm_vcpu_stats_format;
	u32 i;

	for (i = 0; i < format->header.num_desc; i++) {
		if (format->records[i].desc.offset == value * sizeof(u64))
			return &format->records[i].desc;
	}
	return NULL;
}

/* perf cannot count a value that can decrease. */
static bool can_be_counted(const struct kvm_stats_desc *desc)
{
	switch (desc->flags & KVM_STATS_TYPE_MASK) {
	case KVM_STATS_TYPE_CUMULATIVE:
	case KVM_STATS_TYPE_LOG_HIST:
		return true;
	default:
		return false;
	}
}

/* The index of the value that attr.config selects, or -EINVAL. */
static int find_value(u64 config)
{
	u32 event = config & CONFIG_EVENT_MASK;
	u64 value = config >> CONFIG_EVENT_BITS;
	const struct kvm_stats_desc *desc;

	/* This also refuses higher bits of config: no statistic is that large. */
	desc = find_desc(event);
	if (!desc || value >= desc->size || !can_be_counted(desc))
		return -EINVAL;

	return event + value;
}

/*
 * The host kernel counts what the guest causes. exclude_host and exclude_guest only
 * choose where a sample is; a sampling event cannot have both.
 */
static bool excludes_kvm(struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;

	return attr->exclude_kernel || attr->exclude_user || attr->exclude_hv ||
	       attr->exclude_idle ||
	       (is_sampling_event(event) && attr->exclude_host && attr->exclude_guest);
}

static struct pmu kvm_pmu;

static int kvm_event_init(struct perf_event *event)
{
	int value, r;

	if (event->attr.type != kvm_pmu.type)
		return -ENOENT;

	/* A sample is where the guest exited, and has no branches. */
	if (has_branch_stack(event) || event->attr.precise_ip || event->attr.aux_output)
		return -EOPNOTSUPP;

	if (event->attr.config1 || event->attr.config2 ||
	    event->attr.config3 || event->attr.config4)
		return -EINVAL;

	/*
	 * Check here: perf itself checks a PMU's capabilities later, when the host's vCPUs
	 * already have memory for the event. And with exclude_kernel, a user who must not
	 * observe the kernel could open it.
	 */
	if (excludes_kvm(event))
		return -EINVAL;
	if ((event->attr.sample_regs_user | event->attr.sample_regs_intr) &
	    PERF_REG_EXTENDED_MASK)
		return -EOPNOTSUPP;

	value = find_value(event->attr.config);
	if (value < 0)
		return value;

	event->hw.config = value;

	/* An inherited event holds its parent, which is counted. */
	if (event->parent)
		return 0;

	r = get_users(event);
	if (r)
		return r;

	event->destroy = kvm_event_destroy;
	return 0;
}

/* In struct event_file, instead of the index of a value. */
enum {
	ALL_VALUES = -1,	/* a scalar, or the user of perf gives the index */
};

struct event_file {
	struct device_attribute event_attr;
	struct device_attribute unit_attr;
	u16 event;
	s16 value;
};

static ssize_t show_event(struct device *dev, struct device_attribute *attr,
			  char *page)
{
	struct event_file *file = container_of(attr, struct event_file,
					       event_attr);

	if (file->value != ALL_VALUES)
		return sprintf(page, "event=0x%x,value=0x%x\n", file->event,
			       file->value);
	if (find_desc(file->event)->size > 1)
		return sprintf(page, "event=0x%x,value=?\n", file->event);
	return sprintf(page, "event=0x%x\n", file->event);
}

static ssize_t show_unit(struct device *dev, struct device_attribute *attr,
			 char *page)
{
	return sprintf(page, "ns\n");
}

#define FILE_ATTR(file, show_file) {					\
	.attr = { .name = file, .mode = 0444 },				\
	.show = show_file,						\
}

#define EVENT_FILE(file, stat, number) {				\
	.event_attr = FILE_ATTR(file, show_event),			\
	.unit_attr = FILE_ATTR(file ".unit", show_unit),		\
	.event = offsetof(struct kvm_vcpu_stat, stat) / sizeof(u64),	\
	.value = number,						\
},

static struct event_file event_files[] = {
#define KVM_VM_STAT(...)
#define KVM_VCPU_STAT(ctype, stat, ...)					\
	EVENT_FILE(#stat, stat, ALL_VALUES)
#define KVM_VCPU_HIST(stat, ...)					\
	EVENT_FILE(#stat, stat, ALL_VALUES)
#include <linux/kvm_stats_list.h>

#define KVM_EXIT_REASON(reason, ...)					\
	EVENT_FILE("exit_reasons." #reason, exit_reasons,		\
		   KVM_EXIT_REASON_##reason)
#include <asm/kvm_exit_reason_list.h>
#define KVM_USER_EXIT(number, name, ...)				\
	EVENT_FILE("user_exits." #name, user_exits, KVM_USER_EXIT_##name)
#include <linux/kvm_user_exit_list.h>
#ifdef CONFIG_KVM_STATS_TIME
#define KVM_EXIT_REASON(reason, ...)					\
	EVENT_FILE("exit_reason_ns." #reason, exit_reason_ns,		\
		   KVM_EXIT_REASON_##reason)
#include <asm/kvm_exit_reason_list.h>
#define KVM_EXIT_REASON(reason, ...)					\
	EVENT_FILE("exit_reason_sleep_ns." #reason, exit_reason_sleep_ns, \
		   KVM_EXIT_REASON_##reason)
#include <asm/kvm_exit_reason_list.h>
#endif
};

static struct attribute *event_attrs[2 * ARRAY_SIZE(event_files) + 1];

static const struct attribute_group events_group = {
	.name = "events",
	.attrs = event_attrs,
};

PMU_FORMAT_ATTR(event, "config:0-15");
PMU_FORMAT_ATTR(value, "config:16-31");

static struct attribute *format_attrs[] = {
	&format_attr_event.attr,
	&format_attr_value.attr,
	NULL,
};

static const struct attribute_group format_group = {
	.name = "format",
	.attrs = format_attrs,
};

static const struct attribute_group *kvm_pmu_groups[] = {
	&events_group,
	&format_group,
	NULL,
};

/*
 * perf_sw_context: like software events, these need no hardware counter and can be in
 * a group with any other event.
 */
static struct pmu kvm_pmu = {
	.module = THIS_MODULE,
	.task_ctx_nr = perf_sw_context,
	.attr_groups = kvm_pmu_groups,
	.event_init = kvm_event_init,
	.add = kvm_event_add,
	.del = kvm_event_del,
	.start = kvm_event_start,
	.stop = kvm_event_stop,
	.read = kvm_event_read,
};

static bool is_registered;

/* If this fails, KVM has no perf events, and everything else works. */
void kvm_stats_perf_register(void)
{
	struct attribute **attr = event_attrs;
	const struct kvm_stats_desc *desc;
	struct event_file *file;
	int i;

	for (i = 0; i < ARRAY_SIZE(event_files); i++) {
		file = &event_files[i];
		desc = find_desc(file->event);
		if (!can_be_counted(desc))
			continue;
		*attr++ = &file->event_attr.attr;
		/* The unit of a histogram is for its bounds; its values are counts. */
		if ((desc->flags & KVM_STATS_TYPE_MASK) ==
		    KVM_STATS_TYPE_CUMULATIVE &&
		    (desc->flags & KVM_STATS_UNIT_MASK) ==
		    KVM_STATS_UNIT_SECONDS)
			*attr++ = &file->unit_attr.attr;
	}

	is_registered = !perf_pmu_register(&kvm_pmu, "kvm", -1);
	if (!is_registered)
		pr_warn("kvm: cannot register statistics as perf events\n");
}

/* No event is open: each would hold the module. */
void kvm_stats_perf_unregister(void)
{
	if (is_registered)
		perf_pmu_unregister(&kvm_pmu);
	flush_delayed_work(&switch_off_work);
}
