// SPDX-License-Identifier: GPL-2.0-only
/*
 * Triggers of KVM's statistics: what KVM_STATS_WATCH on a statistics file returns.
 * A trigger wakes who polls it when statistics grow by a threshold within a window
 * of time, or when a level is reached.
 *
 * What counts knows nothing of them. They look at the values from outside, as any
 * reader does, several times per window: one piece of work for each statistics
 * object looks at all triggers of its files that are due. Like the files they hold
 * the object and not the VM.
 *
 * A look is paid with time of a kernel thread that belongs to no one, so that time
 * is limited: all looks of the host take turns in one ordered workqueue, which is
 * one CPU at the very most, and for each object the work rests in between, so that
 * it has one in LOOK_SHARE of that CPU. Whoever has more triggers than can be looked
 * at in this time gets later looks, not more of them.
 */
#include <linux/anon_inodes.h>
#include <linux/bits.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/kvm_host.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/mutex.h>
#include <linux/nospec.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timerqueue.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "stats.h"
#include "stats_ready.h"
#include "stats_watch.h"

/* As for the triggers of pressure stall information. */
#define MIN_WINDOW_NS		(500 * NSEC_PER_MSEC)
#define MAX_WINDOW_NS		(10ULL * NSEC_PER_SEC)

/* With CAP_SYS_RESOURCE: two or three ticks of most kernels. */
#define MIN_PRIVILEGED_WINDOW_NS (10 * NSEC_PER_MSEC)

/*
 * Looks per window, and how many of them are remembered. Growth is measured from
 * one of them to the next ones, so never over more than a window unless looks are
 * late. What happens within one in BURST_PART of a window is seen whole, however late
 * they are, and within a window less the time of two looks if they are not.
 */
#define LOOKS			8
#define BURST_PART		2

/*
 * Looks of all triggers of an object are at multiples of these times, so that it is
 * woken 60 times a second, whatever windows its triggers have; or 954 times, which
 * only the privileged can ask for, as far as the tick allows.
 */
#define LOOK_STEP_NS		BIT_ULL(24)
#define PRIVILEGED_LOOK_STEP_NS	BIT_ULL(20)

/* After so much time other objects have their turn, if there are more looks due. */
#define LOOK_TURN_NS		(2 * NSEC_PER_MSEC)

/* The part of the time that the looks of an object can take is one in: */
#define LOOK_SHARE		20

static_assert(sizeof(struct kvm_stats_watch) == 40);
static_assert(offsetof(struct kvm_stats_watch, threshold) == 24);
static_assert(sizeof(struct kvm_stats_event) == 32);
static_assert(offsetof(struct kvm_stats_event, time_ns) == 8);

/*
 * What looks at the triggers of an object, made for the first one of them. The work
 * looks at those of other objects as well: who has the lock does not lose the CPU.
 */
struct kvm_stats_looker {
	spinlock_t lock;		/* of all its triggers */
	struct timerqueue_head queue;	/* triggers by the time of the next look */
	struct delayed_work work;
	u64 rests_until;
};

/*
 * One value that is watched, or one sum of them: the only one of a trigger, or that
 * of one vCPU. An event waits here for who reads it, so that there is no queue that
 * could be full.
 */
struct watched {
	struct list_head node;		/* in trigger.watched */
	struct list_head unread;	/* in trigger.unread, or empty */
	u64 values[LOOKS];		/* at trigger.times[] */
	u64 event_ns;			/* last event, 0 before the first */
	u64 growth;			/* of that event, or the level */
	u64 missed;			/* events that came before it, unread */
	u64 waiting;			/* growth that came too early for an event */
	u32 vcpu;
	bool reached;			/* the level was, at the last look */
};

/* An open file, what KVM_STATS_WATCH returned. */
struct trigger {
	struct kvm_stats *stats;	/* of the file that it was made of */
	struct kvm_stats_looker *looker; /* of stats */
	struct timerqueue_node due;
	struct kvm_stats_watch watch;	/* as checked */
	size_t first;			/* value within the object's */
	size_t num;
	bool level;			/* not growth */
	bool finished;			/* looked at after the end of the VM */
	u64 step_ns;
	u64 look_ns;			/* from one look to the next */
	u64 times[LOOKS];		/* of the last looks, a ring */
	u64 looks;
	struct list_head watched;	/* in the order of the vCPUs */
	u32 num_watched;
	struct list_head unread;	/* with an event, oldest first */
	wait_queue_head_t wait;
};

/*
 * The host's workqueue, which exists while an object does that had a trigger.
 * kvm_init() and kvm_exit() are no place for it: objects outlive the vendor module.
 */
static DEFINE_MUTEX(look_wq_lock);
static struct workqueue_struct *look_wq;
static unsigned long look_wq_users;

static int get_look_wq(void)
{
	int r = 0;

	mutex_lock(&look_wq_lock);
	if (!look_wq_users) {
		look_wq = alloc_ordered_workqueue("kvm-stats-watch",
						  WQ_FREEZABLE);
		if (!look_wq)
			r = -ENOMEM;
	}
	if (!r)
		look_wq_users++;
	mutex_unlock(&look_wq_lock);
	return r;
}

static void put_look_wq(void)
{
	mutex_lock(&look_wq_lock);
	if (!--look_wq_users)
		destroy_workqueue(look_wq);
	mutex_unlock(&look_wq_lock);
}

/* What of one object is watched. Each value is loaded as a whole, as by a reader. */
static u64 add_values(const struct trigger *t, const struct kvm_stats *stats)
{
	const u64 *values = stats->values + t->first;
	u64 sum = 0;
	size_t i;

	for (i = 0; i < t->num; i++)
		sum += READ_ONCE(values[i]);
	return sum;
}

/* The statistics of a vCPU below online_vcpus. */
static struct kvm_stats *vcpu_stats(const struct trigger *t, u32 vcpu)
{
	/* Pairs with kvm_vcpu_stats_publish(). */
	return smp_load_acquire(&t->stats->vcpus->stats[vcpu]);
}

static u64 value_of(const struct trigger *t, const struct watched *w)
{
	u64 vcpus, sum = 0;
	u32 i;

	switch (t->watch.scope) {
	case KVM_STATS_WATCH_FILE:
		return add_values(t, t->stats);
	case KVM_STATS_WATCH_VCPU_SUM:
		vcpus = kvm_stats_online_vcpus(t->stats);
		for (i = 0; i < vcpus; i++)
			sum += add_values(t, vcpu_stats(t, i));
		return sum;
	default:
		return add_values(t, vcpu_stats(t, w->vcpu));
	}
}

/*
 * The look that growth up to now is measured from: the oldest one within the window.
 * If looks are so late that this is not BURST_PART of a window before the last one, an
 * older one: the last look may have come in the middle of what has grown since then.
 * So nothing is lost, and what has grown may have done so in a longer time.
 */
static u64 look_to_compare(const struct trigger *t, u64 now)
{
	u64 burst = t->watch.window_ns / BURST_PART;
	u64 look = t->looks - 1;
	u64 last = t->times[look % LOOKS];
	u64 oldest = t->looks - min_t(u64, t->looks, LOOKS);

	while (look > oldest &&
	       (now - t->times[(look - 1) % LOOKS] <= t->watch.window_ns ||
		last - t->times[look % LOOKS] < burst))
		look--;
	return look;
}

/* How much it has grown since that look of its trigger. */
static u64 growth_of(const struct trigger *t, struct watched *w, u64 value,
		     u64 since)
{
	unsigned int i;

	/* It was cleared through debugfs: what came before that and what after? */
	if (value < w->values[(t->looks - 1) % LOOKS]) {
		for (i = 0; i < LOOKS; i++)
			w->values[i] = value;
	}

	/* What was told is not told again. */
	while (t->times[since % LOOKS] < w->event_ns)
		since++;
	return value - w->values[since % LOOKS];
}

/* Have an event, in the place of one that nobody has read. */
static void add_event(struct trigger *t, struct watched *w, u64 now, u64 growth)
{
	if (!list_empty(&w->unread))
		w->missed++;
	w->event_ns = now;
	w->growth = growth;
	w->waiting = 0;
	list_move_tail(&w->unread, &t->unread);
}

/* One in a window at most, unless the VM is gone and there is no later look. */
static bool may_have_event(const struct trigger *t, const struct watched *w,
			   u64 now)
{
	return !w->event_ns || now - w->event_ns >= t->watch.window_ns ||
	       READ_ONCE(t->stats->dead);
}

static void look_at_watched(struct trigger *t, struct watched *w, u64 now,
			    u64 since)
{
	u64 value = value_of(t, w);
	u64 growth = value;
	bool reached;

	if (!t->level) {
		growth = growth_of(t, w, value, since);
		w->values[t->looks % LOOKS] = value;
	}

	reached = growth >= t->watch.threshold;
	if (t->level && (!reached || w->reached)) {
		w->reached = reached;
		return;
	}

	/*
	 * What comes too early for another event waits for it: growth, which is
	 * before the look that is compared with by then, and a level if it lasts.
	 */
	if (!may_have_event(t, w, now)) {
		if (reached && !t->level)
			w->waiting = max(w->waiting, growth);
		return;
	}
	if (!reached && !w->waiting)
		return;

	w->reached = true;
	add_event(t, w, now, max(w->waiting, growth));
}

static void look(struct trigger *t)
{
	bool had_events = !list_empty(&t->unread);
	u64 now = ktime_get_ns();
	u64 since = look_to_compare(t, now);
	struct watched *w;

	lockdep_assert_held(&t->looker->lock);

	list_for_each_entry(w, &t->watched, node)
		look_at_watched(t, w, now, since);
	t->times[t->looks++ % LOOKS] = now;

	if (!had_events && !list_empty(&t->unread))
		wake_up_poll(&t->wait, EPOLLPRI);
}

static void add_to_queue(struct trigger *t)
{
	u64 step = div64_u64(ktime_get_ns(), t->step_ns);

	t->due.expires = step * t->step_ns + t->look_ns;
	timerqueue_add(&t->looker->queue, &t->due);
}

/* Have the work done when the first trigger is due, but not before it may. */
static void plan_work(struct kvm_stats_looker *looker)
{
	struct timerqueue_node *first = timerqueue_getnext(&looker->queue);
	u64 now = ktime_get_ns();
	u64 next;

	lockdep_assert_held(&looker->lock);

	if (!first)
		return;
	next = max_t(u64, first->expires, looker->rests_until);
	mod_delayed_work(look_wq, &looker->work,
			 next > now ? nsecs_to_jiffies(next - now) + 1 : 0);
}

/* Look at the trigger that is due first. False if it is none. */
static bool look_at_first(struct kvm_stats_looker *looker)
{
	struct timerqueue_node *first;
	struct trigger *t;

	lockdep_assert_held(&looker->lock);

	first = timerqueue_getnext(&looker->queue);
	if (!first || first->expires > ktime_get_ns())
		return false;

	t = container_of(first, struct trigger, due);
	timerqueue_del(&looker->queue, &t->due);

	/* The last values do not change: who reads the events looks at them. */
	if (READ_ONCE(t->stats->dead))
		return true;

	look(t);
	add_to_queue(t);
	return true;
}

/* A clock that stands still while the thread waits for a CPU. */
static u64 cpu_ns(void)
{
	return ktime_get_ns() - kvm_run_delay(current);
}

/* The lock is held for one trigger at a time: others read and close theirs. */
static void look_at_due(struct work_struct *work)
{
	struct kvm_stats_looker *looker =
		container_of(to_delayed_work(work), struct kvm_stats_looker,
			     work);
	u64 start = cpu_ns();
	u64 took;
	bool more;

	do {
		spin_lock(&looker->lock);
		more = look_at_first(looker);
		took = cpu_ns() - start;
		if (!more || took >= LOOK_TURN_NS)
			break;
		spin_unlock(&looker->lock);
		cond_resched();
	} while (true);

	looker->rests_until = ktime_get_ns() + took * (LOOK_SHARE - 1);
	plan_work(looker);
	spin_unlock(&looker->lock);
}

static int kvm_stats_looker_create(struct kvm_stats *stats)
{
	struct kvm_stats_looker *looker;
	int r;

	/* Pairs with the cmpxchg() of who made it. */
	if (smp_load_acquire(&stats->looker))
		return 0;

	looker = kzalloc(sizeof(*looker), GFP_KERNEL_ACCOUNT);
	if (!looker)
		return -ENOMEM;

	r = get_look_wq();
	if (r) {
		kfree(looker);
		return r;
	}

	spin_lock_init(&looker->lock);
	timerqueue_init_head(&looker->queue);
	INIT_DELAYED_WORK(&looker->work, look_at_due);

	/* Another one may have been faster. */
	if (cmpxchg(&stats->looker, NULL, looker))
		kvm_stats_looker_free(looker);
	return 0;
}

/* Its triggers are gone, but work may be planned or about to end. */
void kvm_stats_looker_free(struct kvm_stats_looker *looker)
{
	if (!looker)
		return;

	cancel_delayed_work_sync(&looker->work);
	put_look_wq();
	kfree(looker);
}

/* Something more to look at, for which the caller is charged. */
static struct watched *alloc_watched(u32 vcpu)
{
	struct watched *w = kzalloc(sizeof(*w), GFP_KERNEL_ACCOUNT);

	if (!w)
		return NULL;

	w->vcpu = vcpu;
	INIT_LIST_HEAD(&w->unread);
	return w;
}

/*
 * Watch one more vCPU, from 0 on: it has not counted before. Memory is looked for
 * without the lock, which may take any time where a cgroup has little of it.
 */
static int add_vcpu(struct trigger *t, u32 vcpu)
{
	struct watched *w = alloc_watched(vcpu);

	if (!w)
		return -ENOMEM;

	spin_lock(&t->looker->lock);
	/* Another thread may have been faster. */
	if (t->num_watched == vcpu) {
		list_add_tail(&w->node, &t->watched);
		WRITE_ONCE(t->num_watched, vcpu + 1);
		w = NULL;
	}
	spin_unlock(&t->looker->lock);
	kfree(w);
	return 0;
}

/*
 * Watch the vCPUs that have come. That is left to who polls or reads, and is woken
 * for it by a new vCPU, and not to the work: memory is charged to who uses it, and
 * only there a failure can be told.
 */
static int add_vcpus(struct trigger *t)
{
	u64 vcpus = kvm_stats_online_vcpus(t->stats);
	u32 vcpu;
	int r = 0;

	if (t->watch.scope != KVM_STATS_WATCH_EACH_VCPU)
		return 0;

	while (!r && (vcpu = READ_ONCE(t->num_watched)) < vcpus)
		r = add_vcpu(t, vcpu);
	return r;
}

/* The work leaves the last look at a VM that is gone to who polls or reads. */
static void look_for_the_last_time(struct trigger *t)
{
	/* Pairs with kvm_stats_destroy(). */
	if (!smp_load_acquire(&t->stats->dead) || READ_ONCE(t->finished))
		return;

	spin_lock(&t->looker->lock);
	if (!t->finished) {
		look(t);
		WRITE_ONCE(t->finished, true);
	}
	spin_unlock(&t->looker->lock);
}

/* Take the oldest event, if there is one. */
static struct watched *take_event(struct trigger *t,
				  struct kvm_stats_event *event)
{
	struct watched *w;

	spin_lock(&t->looker->lock);
	w = list_first_entry_or_null(&t->unread, struct watched, unread);
	if (w) {
		*event = (struct kvm_stats_event) {
			.size = sizeof(*event),
			.vcpu = w->vcpu,
			.time_ns = w->event_ns,
			.growth = w->growth,
			.missed = w->missed,
		};
		w->missed = 0;
		list_del_init(&w->unread);
	}
	spin_unlock(&t->looker->lock);
	return w;
}

/*
 * Nobody got it. There may be a newer one by now, which another thread may have read:
 * that one, or else the next, tells that this is missed.
 */
static void give_back_event(struct trigger *t, struct watched *w,
			    const struct kvm_stats_event *event)
{
	spin_lock(&t->looker->lock);
	w->missed += event->missed;
	/* A look in the same moment has added the next one, of the same time. */
	if (w->event_ns == event->time_ns && list_empty(&w->unread))
		list_add(&w->unread, &t->unread);
	else
		w->missed++;
	spin_unlock(&t->looker->lock);
	/* Who has looked meanwhile has seen none. */
	wake_up_poll(&t->wait, EPOLLPRI);
}

/* User memory is written without the lock, for it may take any time. */
static ssize_t trigger_read(struct file *file, char __user *buf, size_t count,
			    loff_t *ppos)
{
	struct trigger *t = file->private_data;
	struct kvm_stats_event event;
	struct watched *w;
	size_t done = 0;
	int r;

	if (count < sizeof(event))
		return -EINVAL;

	r = add_vcpus(t);
	look_for_the_last_time(t);

	while (count - done >= sizeof(event)) {
		w = take_event(t, &event);
		if (!w)
			break;
		if (copy_to_user(buf + done, &event, sizeof(event))) {
			give_back_event(t, w, &event);
			return done ?: -EFAULT;
		}
		done += sizeof(event);
	}

	if (done)
		return done;
	if (r)
		return r;
	return READ_ONCE(t->finished) ? 0 : -EAGAIN;
}

static __poll_t trigger_poll(struct file *file, poll_table *wait)
{
	struct trigger *t = file->private_data;
	__poll_t events = 0;

	poll_wait(file, &t->wait, wait);
	/* For the end of the VM, and for its new vCPUs. */
	poll_wait(file, &t->stats->wait, wait);

	if (add_vcpus(t))
		events |= EPOLLERR;
	look_for_the_last_time(t);
	if (READ_ONCE(t->finished))
		events |= EPOLLHUP;
	if (!list_empty(&t->unread))
		events |= EPOLLPRI;
	return events;
}

static void free_trigger(struct trigger *t)
{
	struct watched *w, *next;

	list_for_each_entry_safe(w, next, &t->watched, node)
		kfree(w);
	kvm_stats_put(t->stats);
	kfree(t);
}

static void stop_trigger(struct trigger *t)
{
	spin_lock(&t->looker->lock);
	if (timerqueue_node_queued(&t->due))
		timerqueue_del(&t->looker->queue, &t->due);
	spin_unlock(&t->looker->lock);
	free_trigger(t);
}

static int trigger_release(struct inode *inode, struct file *file)
{
	stop_trigger(file->private_data);
	return 0;
}

/* .owner is kvm.ko, which all that a file reaches belongs to. */
static const struct file_operations trigger_fops = {
	.owner		= THIS_MODULE,
	.release	= trigger_release,
	.read		= trigger_read,
	.poll		= trigger_poll,
	.llseek		= no_llseek,
};

/* Which values of which objects: what the description does not allow is EINVAL. */
static int check_values(const struct kvm_stats *stats, struct trigger *t)
{
	const struct kvm_stats_watch *watch = &t->watch;
	const struct kvm_stats_format *format = stats->format;
	const struct kvm_stats_record *records = format->records;
	u32 num_desc = format->header.num_desc;
	const struct kvm_stats_desc *desc;
	u32 type;

	if (watch->scope > KVM_STATS_WATCH_VCPU_SUM)
		return -EINVAL;
	if (watch->scope != KVM_STATS_WATCH_FILE) {
		/* The file of a vCPU has no others. */
		if (!stats->vcpus)
			return -EINVAL;
		records = format->vcpu_records;
		num_desc = format->ext.vcpu_num_desc;
	}
	if (watch->scope != KVM_STATS_WATCH_VCPU && watch->vcpu)
		return -EINVAL;

	if (watch->desc >= num_desc)
		return -EINVAL;
	desc = &records[array_index_nospec(watch->desc, num_desc)].desc;
	if (watch->first_value >= desc->size ||
	    watch->num_values > desc->size - watch->first_value)
		return -EINVAL;

	type = desc->flags & KVM_STATS_TYPE_MASK;
	t->level = type == KVM_STATS_TYPE_INSTANT ||
		   type == KVM_STATS_TYPE_PEAK;
	t->first = desc->offset / sizeof(u64) + watch->first_value;
	t->num = watch->num_values ?: desc->size - watch->first_value;
	return 0;
}

static int check_times(struct trigger *t)
{
	const struct kvm_stats_watch *watch = &t->watch;

	/* Growth by nothing would be an event of every window. */
	if (!watch->threshold)
		return -EINVAL;
	if (watch->window_ns < MIN_PRIVILEGED_WINDOW_NS ||
	    watch->window_ns > MAX_WINDOW_NS)
		return -EINVAL;
	if (watch->window_ns < MIN_WINDOW_NS && !capable(CAP_SYS_RESOURCE))
		return -EPERM;

	t->step_ns = watch->window_ns < MIN_WINDOW_NS ?
		     PRIVILEGED_LOOK_STEP_NS : LOOK_STEP_NS;
	t->look_ns = div64_u64(watch->window_ns, LOOKS);
	t->look_ns = round_up(t->look_ns, t->step_ns);
	return 0;
}

/* A vCPU that is not there may come yet. */
static int check_vcpu(const struct kvm_stats *stats, struct trigger *t)
{
	u32 vcpus = kvm_stats_online_vcpus(stats);

	if (t->watch.scope != KVM_STATS_WATCH_VCPU)
		return 0;
	if (t->watch.vcpu >= vcpus)
		return -ENXIO;
	t->watch.vcpu = array_index_nospec(t->watch.vcpu, vcpus);
	return 0;
}

static int check_watch(const struct kvm_stats *stats, struct trigger *t)
{
	int r;

	r = check_values(stats, t);
	if (!r)
		r = check_times(t);
	return r ?: check_vcpu(stats, t);
}

/* Who is newer than this kernel passes a larger structure, with zeros at its end. */
static int copy_watch(struct kvm_stats_watch *watch, void __user *arg)
{
	u32 size;

	if (get_user(size, (u32 __user *)arg))
		return -EFAULT;
	if (size < sizeof(*watch))
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	return copy_struct_from_user(watch, sizeof(*watch), arg, size);
}

static int add_what_is_watched(struct trigger *t)
{
	u32 vcpu = KVM_STATS_EVENT_NO_VCPU;
	struct watched *w;

	if (t->watch.scope == KVM_STATS_WATCH_EACH_VCPU)
		return add_vcpus(t);

	if (t->watch.scope == KVM_STATS_WATCH_VCPU)
		vcpu = t->watch.vcpu;
	w = alloc_watched(vcpu);
	if (!w)
		return -ENOMEM;
	list_add_tail(&w->node, &t->watched);
	return 0;
}

/* Growth is measured from now on. A level may be reached already. */
static void start_trigger(struct trigger *t)
{
	struct watched *w;

	spin_lock(&t->looker->lock);
	t->times[0] = ktime_get_ns();
	list_for_each_entry(w, &t->watched, node)
		w->values[0] = value_of(t, w);
	t->looks = 1;
	look(t);

	add_to_queue(t);
	plan_work(t->looker);
	spin_unlock(&t->looker->lock);
}

int kvm_stats_watch(struct kvm_stats *stats, void __user *arg)
{
	struct trigger *t;
	int r;

	t = kzalloc(sizeof(*t), GFP_KERNEL_ACCOUNT);
	if (!t)
		return -ENOMEM;

	r = copy_watch(&t->watch, arg);
	if (!r)
		r = check_watch(stats, t);
	if (!r)
		r = kvm_stats_looker_create(stats);
	if (r) {
		kfree(t);
		return r;
	}

	refcount_inc(&stats->refs);
	t->stats = stats;
	t->looker = stats->looker;
	timerqueue_init(&t->due);
	INIT_LIST_HEAD(&t->watched);
	INIT_LIST_HEAD(&t->unread);
	init_waitqueue_head(&t->wait);

	r = add_what_is_watched(t);
	if (r) {
		free_trigger(t);
		return r;
	}
	start_trigger(t);

	/* The file owns it from here on, a failure leaves it with us. */
	r = anon_inode_getfd("kvm-stats-watch", &trigger_fops, t,
			     O_RDONLY | O_CLOEXEC);
	if (r < 0)
		stop_trigger(t);
	return r;
}
