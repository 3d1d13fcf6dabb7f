// SPDX-License-Identifier: GPL-2.0-only
/*
 * The PMU "kvm_host" of a KVM guest: perf counts what the host does to this guest's CPUs, such
 * as their exits.
 * perf also samples the code that causes it.
 *
 * Each CPU shares an area with the host, see <uapi/linux/kvm_guest_stats.h>. A slot of the area
 * counts a statistic from its first event on, until no event is open. So a task with counting
 * events that comes and goes only loads counts: naming a slot is an exit.
 * Events that count share the slot of their name. An event that samples has its own slot, for
 * its threshold.
 */
#define pr_fmt(fmt) "kvm_host: " fmt

#include <linux/bitmap.h>
#include <linux/cc_platform.h>
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/init.h>
#include <linux/kvm_para.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/reboot.h>
#include <linux/sched/clock.h>
#include <linux/string.h>
#include <linux/syscore_ops.h>
#include <linux/sysfs.h>
#include <linux/workqueue.h>
#include <uapi/linux/kvm_guest_stats.h>

#ifdef CONFIG_X86
#include <asm/apic.h>
#include <asm/cpuid/api.h>
#include <asm/msr.h>
#include <asm/nmi.h>

/* kvm_para_has_feature() is not for modules. */
static bool host_offers_area(void)
{
	u32 base = cpuid_base_hypervisor(KVM_SIGNATURE, 0);

	return base && cpuid_eax(base | KVM_CPUID_FEATURES) & BIT(KVM_FEATURE_GUEST_STATS);
}

static int write_register(u64 address)
{
	return wrmsrq_safe(MSR_KVM_GUEST_STATS, address);
}
#else
#include <linux/arm-smccc.h>
#include <asm/hypervisor.h>

static bool host_offers_area(void)
{
	return kvm_arm_hyp_service_available(ARM_SMCCC_KVM_FUNC_GUEST_STATS);
}

static int write_register(u64 address)
{
	struct arm_smccc_res res;

	arm_smccc_1_1_invoke(ARM_SMCCC_VENDOR_HYP_KVM_GUEST_STATS_FUNC_ID, address, &res);
	return res.a0 == SMCCC_RET_SUCCESS ? 0 : -EINVAL;
}
#endif

struct host_event {
	const char *name;
	bool is_time;
	struct device_attribute attr;
	struct device_attribute unit;
};

static ssize_t show_event(struct device *dev, struct device_attribute *attr, char *page);

static ssize_t show_unit(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "ns\n");
}

#define UNIT_IS_TIME_COUNT		false
#define UNIT_IS_TIME_NANOSECONDS	true
#define UNIT_IS_TIME_BOOLEAN		false

#define HOST_EVENT(text, ns) {							\
	.name = text,								\
	.is_time = ns,								\
	.attr = { .attr = { .name = text, .mode = 0444 }, .show = show_event },	\
	.unit = { .attr = { .name = text ".unit", .mode = 0444 }, .show = show_unit }, \
},

/* The statistics that this kernel knows. The host may offer fewer. */
static struct host_event host_events[] = {
	/* The clock of this CPU, sampled by the host's timer. */
	HOST_EVENT(KVM_GUEST_STATS_TIMER_NAME, true)
#define KVM_VM_STAT(...)
#define KVM_VCPU_STAT(ctype, stat, type, unit, ...)	HOST_EVENT(#stat, UNIT_IS_TIME_##unit)
#define KVM_VCPU_HIST(...)
#include <linux/kvm_stats_list.h>
#define KVM_EXIT_REASON(reason, ...)			HOST_EVENT("exit_reasons." #reason, false)
#include <asm/kvm_exit_reason_list.h>
#define KVM_USER_EXIT(number, name, ...)		HOST_EVENT("user_exits." #name, false)
#include <linux/kvm_user_exit_list.h>
};

#define NUM_EVENTS	ARRAY_SIZE(host_events)
#define NO_EVENT	U16_MAX
#define TIMER_EVENT	0

/* Events that the host offers. */
static DECLARE_BITMAP(offered, NUM_EVENTS);

static ssize_t show_event(struct device *dev, struct device_attribute *attr, char *page)
{
	struct host_event *event = container_of(attr, struct host_event, attr);

	return sysfs_emit(page, "event=0x%tx\n", event - host_events);
}

struct host_cpu {
	struct kvm_guest_stats_area *area;
	bool is_stopped;			/* the host must not write to the area */
	u16 event[KVM_GUEST_STATS_SLOTS];	/* of host_events, or NO_EVENT */
	unsigned int counters[KVM_GUEST_STATS_SLOTS]; /* events that count with the slot now */
	struct perf_event *sampler[KVM_GUEST_STATS_SLOTS];
};

static DEFINE_PER_CPU(struct host_cpu, host_cpus);

static struct kvm_guest_stats_slot *slot_of(const struct perf_event *event)
{
	return &this_cpu_ptr(&host_cpus)->area->slots[event->hw.idx];
}

/* The host has read the names when this returns. */
static int enable_area(const struct host_cpu *cpu)
{
	if (cpu->is_stopped)
		return -ENODEV;
	return write_register(__pa(cpu->area) | KVM_GUEST_STATS_ENABLED);
}

static void set_name(struct host_cpu *cpu, unsigned int i, const char *name)
{
	struct kvm_guest_stats_slot *slot = &cpu->area->slots[i];

	cpu->event[i] = NO_EVENT;
	WRITE_ONCE(slot->threshold, KVM_GUEST_STATS_NEVER);
	WRITE_ONCE(slot->count, 0);
	strscpy_pad(slot->name, name, sizeof(slot->name));
}

static bool is_idle(const struct host_cpu *cpu, unsigned int i)
{
	return !cpu->counters[i] && !cpu->sampler[i];
}

static bool may_share(const struct host_cpu *cpu, unsigned int i, struct perf_event *event)
{
	return is_sampling_event(event) ? is_idle(cpu, i) : !cpu->sampler[i];
}

/* Returns the slot that counts the event's statistic on this CPU, or a negative errno. */
static int find_slot(struct host_cpu *cpu, struct perf_event *event)
{
	u16 wanted = event->attr.config;
	int i, free = -1;

	for (i = 0; i < KVM_GUEST_STATS_SLOTS; i++) {
		if (cpu->event[i] == wanted && may_share(cpu, i, event))
			return i;
		if (is_idle(cpu, i) && (free < 0 || cpu->event[i] == NO_EVENT))
			free = i;
	}
	if (free < 0)
		return -ENOSPC;

	set_name(cpu, free, host_events[wanted].name);
	if (enable_area(cpu) || READ_ONCE(cpu->area->slots[free].status))
		return -EIO;
	cpu->event[free] = wanted;
	return free;
}

static bool is_timer(const struct perf_event *event)
{
	return event->attr.config == TIMER_EVENT;
}

static u64 count_of(const struct perf_event *event)
{
	if (is_timer(event))
		return local_clock();
	return READ_ONCE(slot_of(event)->count);
}

static void host_event_update(struct perf_event *event)
{
	u64 now = count_of(event);
	u64 more = now - local64_xchg(&event->hw.prev_count, now);

	local64_add(more, &event->count);
	if (is_sampling_event(event))
		local64_sub(more, &event->hw.period_left);
}

/* Let the host interrupt at the end of the period. */
static void host_event_set_threshold(struct perf_event *event)
{
	struct hw_perf_event *hwc = &event->hw;
	s64 left = local64_read(&hwc->period_left);
	s64 period = hwc->sample_period;

	if (left <= -period || left > period)
		left = period;
	else if (left <= 0)
		left += period;
	local64_set(&hwc->period_left, left);
	hwc->last_period = period;
	if (is_timer(event)) {
		WRITE_ONCE(slot_of(event)->threshold, left);
		enable_area(this_cpu_ptr(&host_cpus));
	} else {
		WRITE_ONCE(slot_of(event)->threshold, local64_read(&hwc->prev_count) + left);
	}
}

static void host_event_start(struct perf_event *event, int flags)
{
	local64_set(&event->hw.prev_count, count_of(event));
	event->hw.state = 0;
	if (is_sampling_event(event))
		host_event_set_threshold(event);
}

static void host_event_stop(struct perf_event *event, int flags)
{
	if (event->hw.state & PERF_HES_STOPPED)
		return;
	if (is_sampling_event(event))
		WRITE_ONCE(slot_of(event)->threshold, KVM_GUEST_STATS_NEVER);
	host_event_update(event);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

static int host_event_add(struct perf_event *event, int flags)
{
	struct host_cpu *cpu = this_cpu_ptr(&host_cpus);
	int i;

	if (!cpu->area)
		return -ENODEV;
	i = find_slot(cpu, event);
	if (i < 0)
		return i;

	event->hw.idx = i;
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (is_sampling_event(event))
		cpu->sampler[i] = event;
	else
		cpu->counters[i]++;
	if (flags & PERF_EF_START)
		host_event_start(event, 0);
	perf_event_update_userpage(event);
	return 0;
}

static void host_event_del(struct perf_event *event, int flags)
{
	struct host_cpu *cpu = this_cpu_ptr(&host_cpus);

	host_event_stop(event, PERF_EF_UPDATE);
	if (is_sampling_event(event))
		cpu->sampler[event->hw.idx] = NULL;
	else
		cpu->counters[event->hw.idx]--;
}

static void host_event_read(struct perf_event *event)
{
	if (!(event->hw.state & PERF_HES_STOPPED))
		host_event_update(event);
}

/* Clear the names of slots without event, so that the host stops counting. */
static void clear_names(void *unused)
{
	struct host_cpu *cpu = this_cpu_ptr(&host_cpus);
	int i;

	if (!cpu->area)
		return;
	for (i = 0; i < KVM_GUEST_STATS_SLOTS; i++) {
		if (is_idle(cpu, i))
			set_name(cpu, i, "");
	}
	enable_area(cpu);
}

static atomic_t open_events;

/* Wait a second for the next event, because a name costs an exit of each CPU. */
static void stop_counting(struct work_struct *work)
{
	if (!atomic_read(&open_events))
		on_each_cpu(clear_names, NULL, true);
}

static DECLARE_DELAYED_WORK(stop_counting_work, stop_counting);

static void host_event_destroy(struct perf_event *event)
{
	if (atomic_dec_and_test(&open_events))
		schedule_delayed_work(&stop_counting_work, HZ);
}

static struct pmu host_pmu;

static int host_event_init(struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;

	if (attr->type != host_pmu.type)
		return -ENOENT;
	if (has_branch_stack(event) || attr->precise_ip || attr->aux_output)
		return -EOPNOTSUPP;
	/* The host's work has no mode of the guest. */
	if (attr->exclude_kernel || attr->exclude_user || attr->exclude_hv ||
	    attr->exclude_idle || attr->exclude_host)
		return -EINVAL;
	if (attr->config >= NUM_EVENTS || !test_bit(attr->config, offered))
		return -EINVAL;
	atomic_inc(&open_events);
	event->destroy = host_event_destroy;
	return 0;
}

PMU_FORMAT_ATTR(event, "config:0-15");

static struct attribute *format_attrs[] = {
	&format_attr_event.attr,
	NULL,
};

static const struct attribute_group format_group = {
	.name = "format",
	.attrs = format_attrs,
};

static struct attribute *event_attrs[2 * NUM_EVENTS + 1];

static const struct attribute_group events_group = {
	.name = "events",
	.attrs = event_attrs,
};

static const struct attribute_group *host_pmu_groups[] = {
	&events_group,
	&format_group,
	NULL,
};

/* In the software context, which has room for any number of events. */
static struct pmu host_pmu = {
	.module = THIS_MODULE,
	.task_ctx_nr = perf_sw_context,
	.attr_groups = host_pmu_groups,
	.event_init = host_event_init,
	.add = host_event_add,
	.del = host_event_del,
	.start = host_event_start,
	.stop = host_event_stop,
	.read = host_event_read,
};

/* A module does not sample: perf_event_overflow() is for KVM, if it is exported at all. */
#if defined(CONFIG_X86) && !defined(MODULE)
/* Is the event's period over? */
static bool is_over(struct perf_event *event)
{
	s64 left = local64_read(&event->hw.period_left);

	if (!is_timer(event))
		return left <= 0;
	/* The host started its timer for another event. */
	if (left > (s64)(event->hw.last_period / 16)) {
		host_event_set_threshold(event);
		return false;
	}
	/* The host's timer and this clock differ a little. */
	local64_set(&event->hw.period_left, 0);
	return true;
}

static int host_pmu_nmi(unsigned int type, struct pt_regs *regs)
{
	struct host_cpu *cpu = this_cpu_ptr(&host_cpus);
	unsigned long overflow;
	unsigned int i;

	if (!cpu->area || !READ_ONCE(cpu->area->overflow))
		return NMI_DONE;

	/*
	 * On Intel, the local APIC has masked the entry. Unmask it before the host may interrupt
	 * again: a bit that is set meanwhile belongs to this interrupt.
	 */
	apic_write(APIC_LVTPC, APIC_DM_NMI);
	overflow = xchg(&cpu->area->overflow, 0);

	for_each_set_bit(i, &overflow, KVM_GUEST_STATS_SLOTS) {
		struct perf_event *event = cpu->sampler[i];
		struct perf_sample_data data;

		if (!event || event->hw.state & PERF_HES_STOPPED)
			continue;
		host_event_update(event);
		if (!is_over(event))
			continue;
		perf_sample_data_init(&data, 0, event->hw.last_period);
		host_event_set_threshold(event);
		if (perf_event_overflow(event, &data, regs))
			host_event_stop(event, 0);
	}
	return NMI_HANDLED;
}

/* After the CPU's own PMU, whose handler unmasks the entry. */
static int register_interrupt(void)
{
	return register_nmi_handler(NMI_LOCAL, host_pmu_nmi, 0, "kvm_host");
}

static void unregister_interrupt(void)
{
	unregister_nmi_handler(NMI_LOCAL, "kvm_host");
}

static void enable_interrupt(void)
{
	apic_write(APIC_LVTPC, APIC_DM_NMI);
}

static bool has_interrupt(u32 features)
{
	return features & KVM_GUEST_STATS_OVERFLOW;
}
#else
static int register_interrupt(void)
{
	return 0;
}

static void unregister_interrupt(void)
{
}

static void enable_interrupt(void)
{
}

static bool has_interrupt(u32 features)
{
	return false;
}
#endif

/* Also after the CPU was offline or suspended. The names of events that are active stay. */
static void start_area(void)
{
	struct host_cpu *cpu = this_cpu_ptr(&host_cpus);
	unsigned long flags;

	local_irq_save(flags);
	enable_interrupt();
	cpu->is_stopped = false;
	/* The host does not interrupt again for a bit that is still set. */
	WRITE_ONCE(cpu->area->overflow, 0);
	clear_names(NULL);
	local_irq_restore(flags);
}

/* The host must not write to the area any more, also if perf still adds events to this CPU. */
static void stop_area(void *unused)
{
	this_cpu_ptr(&host_cpus)->is_stopped = true;
	write_register(0);
}

static int host_cpu_online(unsigned int number)
{
	struct host_cpu *cpu = this_cpu_ptr(&host_cpus);

	if (!cpu->area) {
		memset16(cpu->event, NO_EVENT, KVM_GUEST_STATS_SLOTS);
		cpu->area = (void *)get_zeroed_page(GFP_KERNEL);
	}
	if (!cpu->area)
		return -ENOMEM;
	start_area();
	/* A host that ignores unknown registers writes no version. */
	if (READ_ONCE(cpu->area->version) == KVM_GUEST_STATS_VERSION)
		return 0;
	stop_area(NULL);
	return -ENODEV;
}

static int host_cpu_offline(unsigned int number)
{
	stop_area(NULL);
	return 0;
}

/* kexec: the next kernel does not know the areas. */
static int host_pmu_reboot(struct notifier_block *nb, unsigned long code, void *unused)
{
	on_each_cpu(stop_area, NULL, true);
	return NOTIFY_DONE;
}

static struct notifier_block host_pmu_reboot_nb = {
	.notifier_call = host_pmu_reboot,
};

/* Suspend and hibernation: the other CPUs are offline. */
static int host_pmu_suspend(void *unused)
{
	stop_area(NULL);
	return 0;
}

static void host_pmu_resume(void *unused)
{
	start_area();
}

static const struct syscore_ops host_pmu_syscore_ops = {
	.suspend = host_pmu_suspend,
	.resume = host_pmu_resume,
};

static struct syscore host_pmu_syscore = {
	.ops = &host_pmu_syscore_ops,
};

/* Ask the host for each name, as many at a time as there are slots. Returns the host's features. */
static u32 probe_events(void)
{
	struct host_cpu *cpu = get_cpu_ptr(&host_cpus);
	u32 features = READ_ONCE(cpu->area->features);
	unsigned int first, i, num;

	for (first = 0; first < NUM_EVENTS; first += KVM_GUEST_STATS_SLOTS) {
		num = min_t(unsigned int, KVM_GUEST_STATS_SLOTS, NUM_EVENTS - first);
		for (i = 0; i < num; i++)
			set_name(cpu, i, host_events[first + i].name);
		if (enable_area(cpu))
			break;
		for (i = 0; i < num; i++)
			__assign_bit(first + i, offered, !READ_ONCE(cpu->area->slots[i].status));
	}
	clear_names(NULL);
	put_cpu_ptr(&host_cpus);
	return features;
}

static void list_events(void)
{
	struct attribute **attr = event_attrs;
	unsigned int i;

	for_each_set_bit(i, offered, NUM_EVENTS) {
		*attr++ = &host_events[i].attr.attr;
		if (host_events[i].is_time)
			*attr++ = &host_events[i].unit.attr;
	}
}

static void free_areas(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		free_page((unsigned long)per_cpu(host_cpus, cpu).area);
}

static enum cpuhp_state hotplug_state;

static int __init host_pmu_init(void)
{
	u32 features;
	int r;

	/* The host cannot write to encrypted memory. */
	if (!host_offers_area() || cc_platform_has(CC_ATTR_GUEST_MEM_ENCRYPT))
		return -ENODEV;

	r = register_interrupt();
	if (r)
		return r;
	r = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "perf/kvm_host:online", host_cpu_online,
			      host_cpu_offline);
	if (r < 0)
		goto err_areas;
	hotplug_state = r;

	features = probe_events();
	if (!has_interrupt(features))
		host_pmu.capabilities |= PERF_PMU_CAP_NO_INTERRUPT;
	list_events();
	r = perf_pmu_register(&host_pmu, "kvm_host", -1);
	if (r)
		goto err_hotplug;
	register_reboot_notifier(&host_pmu_reboot_nb);
	register_syscore(&host_pmu_syscore);
	pr_info("%d events, %s\n", bitmap_weight(offered, NUM_EVENTS),
		has_interrupt(features) ? "with samples" : "without samples");
	return 0;

err_hotplug:
	cpuhp_remove_state(hotplug_state);
err_areas:
	unregister_interrupt();
	free_areas();
	return r;
}
module_init(host_pmu_init);

static void __exit host_pmu_exit(void)
{
	unregister_syscore(&host_pmu_syscore);
	perf_pmu_unregister(&host_pmu);
	cancel_delayed_work_sync(&stop_counting_work);
	cpuhp_remove_state(hotplug_state);
	unregister_reboot_notifier(&host_pmu_reboot_nb);
	unregister_interrupt();
	free_areas();
}
module_exit(host_pmu_exit);

MODULE_DESCRIPTION("Events of the host, in a guest of KVM");
MODULE_LICENSE("GPL");
