// SPDX-License-Identifier: GPL-2.0-only
/*
 * Guests count the KVM statistics of their own vCPUs.
 *
 * The guest gives each vCPU a page, the area, and names statistics in its slots. Before the
 * vCPU enters the guest, KVM adds to each slot what the statistic has grown since the last
 * entry. The guest loads counts without an exit.
 * When a count reaches the slot's threshold, KVM interrupts the guest, which takes the
 * interrupt at the instruction that caused the exit.
 *
 * The guest, and other vCPUs, can write to the area at any time. KVM copies a name once, when
 * the guest writes the register. Every other field may have any value. If the area's memory is
 * missing or read-only, KVM tries again before the next entry.
 *
 * Only the vCPU thread works on the area. The timer's interrupt counts, and kicks the vCPU.
 */
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/hrtimer.h>
#include <linux/kvm_host.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "stats.h"

/* ABI: see the uapi header. */
static_assert(offsetof(struct kvm_guest_stats_area, overflow) == 16);
static_assert(offsetof(struct kvm_guest_stats_area, slots) == 64);
static_assert(sizeof(struct kvm_guest_stats_slot) == 128);
static_assert(offsetof(struct kvm_guest_stats_slot, count) == 64);
static_assert(offsetof(struct kvm_guest_stats_slot, threshold) == 72);
static_assert(offsetof(struct kvm_guest_stats_slot, status) == 80);
static_assert(sizeof(struct kvm_guest_stats_area) <= KVM_GUEST_STATS_ALIGN);

/* Guests cannot have more than 10,000 timer interrupts per second. */
#define MIN_INTERVAL	(100 * NSEC_PER_USEC)

/* The statistic that a slot shows */
struct slot {
	const u64 *source;	/* NULL: the slot is not used */
	u64 seen;		/* of the source, at the last flush */
};

/* A vCPU's area, while it is enabled. */
struct kvm_guest_stats {
	u64 address;		/* the register */
	struct gfn_to_hva_cache area;
	bool must_read;		/* the guest has written the register */
	u32 features;		/* that the area shows */
	unsigned int used;	/* no slot from here on has a source */
	struct slot slots[KVM_GUEST_STATS_SLOTS];
	struct kvm_vcpu *vcpu;
	struct hrtimer timer;
	u64 interval;		/* of the timer, while it runs */
	bool timer_runs;	/* until its slot is flushed */
	u64 timer_bit;		/* of its slot, or 0 */
	u64 expired;		/* how often the timer did: the source of its slot */
	u64 expired_seen;	/* at the last flush */
};

/* While the host has VMs that may count. The delay is for loops that create and destroy them. */
DEFINE_STATIC_KEY_DEFERRED_FALSE(kvm_guest_stats_vms, HZ);

/* For VMs whose VMM does not know KVM_CAP_GUEST_STATS. */
static unsigned int guest_stats;
module_param(guest_stats, uint, 0644);
MODULE_PARM_DESC(guest_stats, "KVM_GUEST_STATS_* that new VMs get without asking");

/*
 * Statistics of events that the guest itself causes, and ready_ns, which it has as steal time.
 * These names are ABI for guests. All other statistics need KVM_GUEST_STATS_HOST.
 */
static const char * const guest_names[] = {
	"exit_reasons", "user_exits", "halt_exits", "io_exits", "mmio_exits", "insn_emulation",
	"hypercalls", "irq_injections", "nmi_injections", "irq_window_exits", "nmi_window_exits",
	"nested_run", "ready_ns",
	"hvc_exit_stat", "wfe_exit_stat", "wfi_exit_stat", "mmio_exit_user", "mmio_exit_kernel",
};

/* Values of these statistics that the host causes. */
static const char * const host_values[] = {
	"interrupt", "nmi", "smi", "init", "preemption_timer", "pml_full", "page_fault",
	"nested_page_fault", "intr", "serror", "data_abort", "instruction_abort",
	"dirty_ring_full", "memory_fault", "arm_sea", "other",
};

static bool is_allowed(const struct kvm *kvm, const char *name, const char *value)
{
	if (kvm->guest_stats & KVM_GUEST_STATS_HOST)
		return true;
	return match_string(guest_names, ARRAY_SIZE(guest_names), name) >= 0 &&
	       (!value || match_string(host_values, ARRAY_SIZE(host_values), value) < 0);
}

/* The number of a statistic's value with this name, or a negative errno. */
static int find_value(u32 desc, const char *name)
{
	const struct kvm_stats_format *format = &kvm_vcpu_stats_format;
	const struct kvm_stats_value_record *record;
	u32 i;

	for (i = 0; i < format->ext.value_name_num; i++) {
		record = &format->value_names[i];
		if (record->value.desc == desc && !strcmp(record->name, name))
			return record->value.value;
	}
	return -ENOENT;
}

/* A count must be a single value that only grows. */
static const u64 *value_of(struct kvm_vcpu *vcpu, u32 index, const char *name)
{
	const struct kvm_stats_desc *desc = &kvm_vcpu_stats_format.records[index].desc;
	bool has_names = desc->size > 1;
	int value = 0;

	switch (desc->flags & KVM_STATS_TYPE_MASK) {
	case KVM_STATS_TYPE_INSTANT:
	case KVM_STATS_TYPE_PEAK:
		return ERR_PTR(-EINVAL);
	}
	if (has_names != !!name)
		return ERR_PTR(-EINVAL);
	if (name)
		value = find_value(index, name);
	if (value < 0)
		return ERR_PTR(value);
	return (u64 *)vcpu->stat + desc->offset / sizeof(u64) + value;
}

/* Find "statistic" or "statistic.value". Changes @name. */
static const u64 *find_statistic(struct kvm_vcpu *vcpu, char *name)
{
	const struct kvm_stats_format *format = &kvm_vcpu_stats_format;
	char *value = name;
	u32 i;

	strsep(&value, ".");
	if (!is_allowed(vcpu->kvm, name, value))
		return ERR_PTR(-ENOENT);
	for (i = 0; i < format->header.num_desc; i++) {
		if (!strcmp(format->records[i].name, name))
			return value_of(vcpu, i, value);
	}
	return ERR_PTR(-ENOENT);
}

static enum hrtimer_restart timer_expires(struct hrtimer *timer)
{
	struct kvm_guest_stats *gs = container_of(timer, struct kvm_guest_stats, timer);

	WRITE_ONCE(gs->expired, gs->expired + 1);
	kvm_arch_guest_stats_kick(gs->vcpu);
	return HRTIMER_NORESTART;
}

static bool is_timer(const struct kvm_guest_stats *gs, unsigned int i)
{
	return gs->slots[i].source == &gs->expired;
}

/* The timer of a VM, if this slot may have it. */
static const u64 *find_timer(const struct kvm_guest_stats *gs, unsigned int slot)
{
	unsigned int i;

	if (!(gs->features & KVM_GUEST_STATS_TIMER))
		return ERR_PTR(-EPERM);
	for (i = 0; i < KVM_GUEST_STATS_SLOTS; i++) {
		if (i != slot && is_timer(gs, i))
			return ERR_PTR(-EBUSY);
	}
	return &gs->expired;
}

static int read_area(struct kvm_vcpu *vcpu, void *data, unsigned int offset, size_t size)
{
	return kvm_read_guest_offset_cached(vcpu->kvm, &vcpu->guest_stats->area, data, offset,
					    size);
}

static int write_area(struct kvm_vcpu *vcpu, void *data, unsigned int offset, size_t size)
{
	return kvm_write_guest_offset_cached(vcpu->kvm, &vcpu->guest_stats->area, data, offset,
					     size);
}

#define SLOT_OFFSET(i, field)						\
	(offsetof(struct kvm_guest_stats_area, slots) +			\
	 (i) * sizeof(struct kvm_guest_stats_slot) +			\
	 offsetof(struct kvm_guest_stats_slot, field))

static int read_slot(struct kvm_vcpu *vcpu, unsigned int i)
{
	struct kvm_guest_stats *gs = vcpu->guest_stats;
	char name[KVM_GUEST_STATS_NAME_SIZE];
	struct slot *slot = &gs->slots[i];
	const u64 *source = NULL;
	s32 status = 0;

	if (read_area(vcpu, name, SLOT_OFFSET(i, name), sizeof(name)))
		return -EFAULT;

	name[sizeof(name) - 1] = '\0';
	if (!strcmp(name, KVM_GUEST_STATS_TIMER_NAME))
		source = find_timer(gs, i);
	else if (name[0])
		source = find_statistic(vcpu, name);
	if (IS_ERR(source)) {
		status = PTR_ERR(source);
		source = NULL;
	}

	/* A slot that keeps its name goes on counting. */
	if (source != slot->source) {
		slot->source = source;
		slot->seen = source ? READ_ONCE(*source) : 0;
	}
	if (source)
		gs->used = i + 1;
	return write_area(vcpu, &status, SLOT_OFFSET(i, status), sizeof(status));
}

/* Start the timer, unless it runs with the interval that its slot has. */
static int set_timer(struct kvm_vcpu *vcpu)
{
	struct kvm_guest_stats *gs = vcpu->guest_stats;
	u64 interval = KVM_GUEST_STATS_NEVER;
	unsigned int i;

	gs->timer_bit = 0;
	for (i = 0; i < gs->used; i++) {
		if (!is_timer(gs, i))
			continue;
		gs->timer_bit = BIT_ULL(i);
		if (read_area(vcpu, &interval, SLOT_OFFSET(i, threshold), sizeof(interval)))
			return -EFAULT;
	}
	if (interval == KVM_GUEST_STATS_NEVER) {
		hrtimer_cancel(&gs->timer);
		gs->timer_runs = false;
	} else if (!gs->timer_runs || interval != gs->interval) {
		gs->timer_runs = true;
		gs->interval = interval;
		interval = clamp_t(u64, interval, MIN_INTERVAL, KTIME_MAX);
		hrtimer_start(&gs->timer, ns_to_ktime(interval), HRTIMER_MODE_REL_PINNED_HARD);
	}
	return 0;
}

/* The guest has written the register. */
static noinline int read_names(struct kvm_vcpu *vcpu)
{
	struct kvm_guest_stats *gs = vcpu->guest_stats;
	struct {
		u32 version, num_slots, features;
	} head = {
		.version = KVM_GUEST_STATS_VERSION,
		.num_slots = KVM_GUEST_STATS_SLOTS,
		.features = vcpu->kvm->guest_stats & kvm_arch_guest_stats_bits(vcpu->kvm),
	};
	unsigned int i;
	int r;

	gs->features = head.features;
	gs->used = 0;
	r = write_area(vcpu, &head, 0, sizeof(head));
	for (i = 0; !r && i < KVM_GUEST_STATS_SLOTS; i++)
		r = read_slot(vcpu, i);
	return r ?: set_timer(vcpu);
}

/* Where the area is in this address space, or NULL while its memory is missing or read-only. */
static struct kvm_guest_stats_area __user *user_area(struct kvm_vcpu *vcpu)
{
	struct gfn_to_hva_cache *area = &vcpu->guest_stats->area;

	if (unlikely(kvm_memslots(vcpu->kvm)->generation != area->generation))
		kvm_gfn_to_hva_cache_init(vcpu->kvm, area, area->gpa, area->len);
	if (kvm_is_error_hva(area->hva))
		return NULL;
	return (struct kvm_guest_stats_area __user *)area->hva;
}

/*
 * Add to the counts. Returns whether to interrupt the guest: once until the guest has cleared
 * all bits. It then handles several slots in one interrupt, and no interrupt finds no bit.
 */
static bool write_counts(struct kvm_vcpu *vcpu)
{
	struct kvm_guest_stats_area __user *area = user_area(vcpu);
	struct kvm_guest_stats *gs = vcpu->guest_stats;
	struct kvm_guest_stats_slot __user *user;
	u64 expired = READ_ONCE(gs->expired);
	u64 overflow = 0, threshold, before;
	bool interrupt = false;
	struct slot *slot, *end = gs->slots + gs->used;
	bool written = false;
	u64 now, count;

	if (!area || !user_access_begin(area, sizeof(*area)))
		return false;

	for (slot = gs->slots, user = area->slots; slot < end; slot++, user++) {
		if (!slot->source)
			continue;
		now = READ_ONCE(*slot->source);
		if (now == slot->seen)
			continue;
		/* Root has cleared the statistic in debugfs. */
		if (unlikely(now < slot->seen))
			slot->seen = 0;
		unsafe_get_user(count, &user->count, fault);
		count += now - slot->seen;
		unsafe_put_user(count, &user->count, fault);
		slot->seen = now;
		written = true;
		unsafe_get_user(threshold, &user->threshold, fault);
		if (unlikely(count >= threshold))
			overflow |= BIT_ULL(slot - gs->slots);
	}

	/* The threshold of the timer is no count. */
	overflow &= ~gs->timer_bit;
	if (unlikely(expired != gs->expired_seen))
		overflow |= gs->timer_bit;

	if (unlikely(overflow) && gs->features & KVM_GUEST_STATS_OVERFLOW) {
		unsafe_get_user(before, &area->overflow, fault);
		unsafe_put_user(before | overflow, &area->overflow, fault);
		written = true;
		interrupt = !before;
		if (overflow & gs->timer_bit)
			gs->timer_runs = false;
	}
	gs->expired_seen = expired;
fault:
	user_access_end();
	if (written && kvm_slot_dirty_track_enabled(gs->area.memslot))
		mark_page_dirty_in_slot(vcpu->kvm, gs->area.memslot, gpa_to_gfn(gs->area.gpa));
	return interrupt;
}

void __kvm_guest_stats_flush(struct kvm_vcpu *vcpu)
{
	struct kvm_guest_stats *gs = vcpu->guest_stats;

	/* This vCPU does not enter the guest, because its dirty ring has no room, also for this. */
	if (unlikely(kvm_test_request(KVM_REQ_DIRTY_RING_SOFT_FULL, vcpu)) &&
	    kvm_dirty_ring_check_request(vcpu))
		return;
	if (unlikely(gs->must_read))
		gs->must_read = read_names(vcpu);
	if (write_counts(vcpu))
		kvm_arch_guest_stats_interrupt(vcpu);
}

u64 kvm_guest_stats_address(const struct kvm_vcpu *vcpu)
{
	return vcpu->guest_stats ? vcpu->guest_stats->address : 0;
}

/* Also when the vCPU is destroyed. */
void kvm_guest_stats_reset(struct kvm_vcpu *vcpu)
{
	if (vcpu->guest_stats)
		hrtimer_cancel(&vcpu->guest_stats->timer);
	kfree(vcpu->guest_stats);
	vcpu->guest_stats = NULL;
}

static struct kvm_guest_stats *enable_area(struct kvm_vcpu *vcpu, u64 address)
{
	struct kvm_guest_stats *gs = kzalloc(sizeof(*gs), GFP_KERNEL_ACCOUNT);

	if (!gs)
		return NULL;
	gs->address = address;
	gs->vcpu = vcpu;
	hrtimer_setup(&gs->timer, timer_expires, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	kvm_guest_stats_reset(vcpu);
	vcpu->guest_stats = gs;
	return gs;
}

/* The guest or the VMM writes the register. Called with kvm->srcu held. */
int kvm_guest_stats_set_address(struct kvm_vcpu *vcpu, u64 address)
{
	gpa_t gpa = address & ~(u64)KVM_GUEST_STATS_ENABLED;
	struct kvm_guest_stats *gs = vcpu->guest_stats;
	struct gfn_to_hva_cache area = {};

	if (!address) {
		kvm_guest_stats_reset(vcpu);
		return 0;
	}
	if (!(address & KVM_GUEST_STATS_ENABLED) || !IS_ALIGNED(gpa, KVM_GUEST_STATS_ALIGN))
		return -EINVAL;
	if (kvm_gfn_to_hva_cache_init(vcpu->kvm, &area, gpa, sizeof(struct kvm_guest_stats_area)))
		return -EINVAL;

	if (!gs || gs->address != address)
		gs = enable_area(vcpu, address);
	if (!gs)
		return -ENOMEM;
	gs->area = area;
	gs->must_read = true;
	return 0;
}

/* The bits that a VMM can allow. */
u32 kvm_guest_stats_bits(struct kvm *kvm)
{
	return kvm_arch_guest_stats_bits(kvm);
}

/* A VM can become protected after its VMM has asked for the capability. */
bool kvm_guest_stats_allowed(struct kvm *kvm)
{
	return kvm->guest_stats & kvm_arch_guest_stats_bits(kvm);
}

static bool are_valid(u32 possible, u64 bits)
{
	if (bits & ~(u64)possible)
		return false;
	if (bits & KVM_GUEST_STATS_TIMER && !(bits & KVM_GUEST_STATS_OVERFLOW))
		return false;
	return !bits || bits & KVM_GUEST_STATS_COUNT;
}

/* The parameter, or 0 if it is invalid. */
u32 kvm_guest_stats_default(void)
{
	u32 bits = READ_ONCE(guest_stats);

	return are_valid(kvm_arch_guest_stats_bits(NULL), bits) ? bits : 0;
}

/* KVM_CAP_GUEST_STATS */
int kvm_guest_stats_allow(struct kvm *kvm, u64 bits)
{
	int r = -EBUSY;

	if (!are_valid(kvm_arch_guest_stats_bits(kvm), bits))
		return -EINVAL;

	if (bits)
		static_branch_deferred_inc(&kvm_guest_stats_vms);
	mutex_lock(&kvm->lock);
	if (!kvm->created_vcpus) {
		swap(kvm->guest_stats, bits);
		r = 0;
	}
	mutex_unlock(&kvm->lock);
	/* These bits were replaced, or not set. */
	if (bits)
		static_branch_slow_dec_deferred(&kvm_guest_stats_vms);
	return r;
}

void kvm_guest_stats_init_vm(struct kvm *kvm)
{
	kvm->guest_stats = kvm_guest_stats_default() & kvm_arch_guest_stats_bits(kvm);
	if (kvm->guest_stats)
		static_branch_deferred_inc(&kvm_guest_stats_vms);
}

void kvm_guest_stats_destroy_vm(struct kvm *kvm)
{
	if (kvm->guest_stats)
		static_branch_slow_dec_deferred(&kvm_guest_stats_vms);
}

void kvm_guest_stats_exit(void)
{
	static_key_deferred_flush(&kvm_guest_stats_vms);
}
