// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exits by reason of arm64 guests that user space debugs, of 32-bit guests, and of guests that
 * use features that they do not have.
 */
#define _GNU_SOURCE
#include "../../kselftest_harness.h"
#include "stats_fd_fixture.h"
#include "stats_fd_reasons.h"

/* An instruction that exits, and its reason. */
struct entry {
	const char *name, *reason, *code, *end;
	__u32 debug;			/* the control of KVM_SET_GUEST_DEBUG */
};

/* The user exit is behind the instruction and in the exception handler. */
#define USER_EXIT		"\n1:	str w1, [x2]\n	b 1b\n"
#define USER_EXIT_32		"\n	.inst 0xe5821000\n"	/* str r1, [r2] */
#define ENTRY_CODE(name, text)	STATS_GUEST_CODE(name, text USER_EXIT)
#define ENTRY_CODE_32(name, inst) STATS_GUEST_CODE(name, ".inst " #inst USER_EXIT_32)
#define ENTRY(_name, _reason, ...)					\
	{ .name = #_name, .reason = _reason, .code = _name, .end = _name##_end, ##__VA_ARGS__ }

/* The vector of exceptions without change of level is 0x200 behind VBAR_EL1. */
#define VECTORS			(GUEST_CODE - 0x200)
#define ENTRY_PC(i)		(GUEST_CODE + 0x20 * ((i) + 1UL))

ENTRY_CODE(handler, "");

/* Copy the instructions to the guest, and run it once to map its memory. */
static void put_entries(struct __test_metadata *_metadata, struct guest *g,
			const struct entry *e, int num)
{
	int i;

	for (i = 0; i < num; i++)
		guest_put_code_at(_metadata, g, ENTRY_PC(i), e[i].code, e[i].end);
	vcpu_exit_to_user(_metadata, &g->vcpu[0], 1);
}

static void run_entry(struct __test_metadata *_metadata, struct guest_vcpu *v, int i,
		      int exit_reason)
{
	stats_arch_restart_vcpu(_metadata, v->fd, ENTRY_PC(i), 0);
	vcpu_run(_metadata, v, exit_reason);
	vcpu_complete_exit(_metadata, v);
}

TEST_F(guest, first_fetch_from_a_page_counts_for_instruction_abort)
{
	put_entries(_metadata, &self->guest, NULL, 0);
	EXPECT_LE(1UL, exits_by(_metadata, self->vcpu, "instruction_abort"));
	EXPECT_EQ(0UL, exits_by(_metadata, self->vcpu, "other"));
}

ENTRY_CODE(break_64, "brk #0");
ENTRY_CODE(step, "nop");
ENTRY_CODE(breakpoint, "nop");
ENTRY_CODE(watchpoint, "adr x0, .\nldr w0, [x0]");

static const struct entry debug_entries[] = {
	ENTRY(break_64, "debug", .debug = KVM_GUESTDBG_USE_SW_BP),
	ENTRY(step, "debug", .debug = KVM_GUESTDBG_SINGLESTEP),
	ENTRY(breakpoint, "debug", .debug = KVM_GUESTDBG_USE_HW),
	ENTRY(watchpoint, "debug", .debug = KVM_GUESTDBG_USE_HW),
};

#define DEBUG_ENABLE		1	/* in DBGBCR and DBGWCR */
#define DEBUG_EL1_AND_EL0	(3 << 1)
#define DEBUG_LOAD_AND_STORE	(3 << 3)
#define DEBUG_4_BYTES		(0xf << 5)

static void expect_debug_exit(struct __test_metadata *_metadata, struct guest_vcpu *v,
			      const struct entry *e, int i)
{
	struct kvm_guest_debug debug = { .control = KVM_GUESTDBG_ENABLE | e->debug };
	__u64 before;

	if (e->code == breakpoint) {
		debug.arch.dbg_bvr[0] = ENTRY_PC(i);
		debug.arch.dbg_bcr[0] = DEBUG_ENABLE | DEBUG_EL1_AND_EL0 | DEBUG_4_BYTES;
	} else if (e->code == watchpoint) {
		debug.arch.dbg_wvr[0] = ENTRY_PC(i);
		debug.arch.dbg_wcr[0] = DEBUG_ENABLE | DEBUG_EL1_AND_EL0 |
					DEBUG_LOAD_AND_STORE | DEBUG_4_BYTES;
	}
	ASSERT_EQ(0, ioctl(v->fd, KVM_SET_GUEST_DEBUG, &debug));
	before = exits_by(_metadata, v, e->reason);
	run_entry(_metadata, v, i, KVM_EXIT_DEBUG);
	EXPECT_EQ(before + 1, exits_by(_metadata, v, e->reason)) TH_LOG("%s", e->name);
}

TEST_F(guest, breakpoints_and_steps_for_user_space_count_for_debug)
{
	unsigned int i;

	put_entries(_metadata, &self->guest, debug_entries, ARRAY_SIZE(debug_entries));
	for (i = 0; i < ARRAY_SIZE(debug_entries); i++)
		expect_debug_exit(_metadata, self->vcpu, &debug_entries[i], i);
}

/* Encoded, because some assemblers do not know these instructions. */
ENTRY_CODE(vector_length, ".inst 0x04bf5020");		/* rdvl x0, #1 */
ENTRY_CODE(sign_pointer, ".inst 0xdac10020");		/* pacia x0, x1 */

static const struct entry sve_entry = ENTRY(vector_length, "sve");
static const struct entry ptrauth_entry = ENTRY(sign_pointer, "ptrauth");

#define VBAR_EL1		ARM64_SYS_REG(3, 0, 12, 0, 0)
#define SCTLR_EL1		ARM64_SYS_REG(3, 0, 1, 0, 0)
#define SCTLR_INITIAL		0x30d00800
#define SCTLR_ENIA		0x80000000ULL
#define CPACR_EL1		ARM64_SYS_REG(3, 0, 1, 0, 2)
#define CPACR_ZEN_AND_FPEN	(3 << 16 | 3 << 20)

/* Return whether the instruction exits, and expect its reason. Ignore interrupts of the host. */
static bool is_an_exit(struct __test_metadata *_metadata, struct guest_vcpu *v,
		       const struct entry *e, int i)
{
	struct reasons before, after;
	__u64 exits;

	reasons_read(_metadata, v, &before);
	run_entry(_metadata, v, i, KVM_EXIT_MMIO);
	reasons_read(_metadata, v, &after);
	exits = after.exits - before.exits - 1 -
		(reason_of(_metadata, v, &after, "interrupt") -
		 reason_of(_metadata, v, &before, "interrupt"));
	EXPECT_EQ(exits, reason_of(_metadata, v, &after, e->reason) -
		  reason_of(_metadata, v, &before, e->reason)) TH_LOG("%s", e->name);
	EXPECT_GE(1UL, exits) TH_LOG("%s", e->name);
	return exits;
}

/*
 * The vCPU lacks the feature: KVM injects an exception. If the CPU also lacks it, the CPU
 * raises the exception without an exit.
 */
static bool is_trapped(struct __test_metadata *_metadata, struct guest *g, const struct entry *e)
{
	struct guest_vcpu *v = &g->vcpu[0];

	guest_put_code_at(_metadata, g, GUEST_CODE, handler, handler_end);
	put_entries(_metadata, g, e, 1);
	stats_set_reg(_metadata, v->fd, VBAR_EL1, VECTORS);
	stats_set_reg(_metadata, v->fd, SCTLR_EL1, SCTLR_INITIAL | SCTLR_ENIA);
	stats_set_reg(_metadata, v->fd, CPACR_EL1, CPACR_ZEN_AND_FPEN);
	return is_an_exit(_metadata, v, e, 0);
}

TEST_F(guest, sve_instruction_counts_for_sve)
{
	if (!is_trapped(_metadata, &self->guest, &sve_entry))
		SKIP(return, "the CPU has no SVE");
}

TEST_F(guest, pointer_authentication_counts_for_ptrauth)
{
	if (!is_trapped(_metadata, &self->guest, &ptrauth_entry))
		SKIP(return, "the CPU does not authenticate pointers");
}

ENTRY_CODE_32(hypercall_32, 0xe1400070);	/* hvc #0 */
ENTRY_CODE_32(secure_call_32, 0xe1600070);	/* smc #0 */
ENTRY_CODE_32(cp15, 0xee110f30);		/* mrc p15, 0, r0, c1, c0, 1 (ACTLR) */
ENTRY_CODE_32(cp15_64, 0xec510f2e);		/* mrrc p15, 2, r0, r1, c14 (CNTP_CVAL) */
ENTRY_CODE_32(cp14, 0xee110e10);		/* mrc p14, 0, r0, c1, c0, 0 (DBGDRAR) */
ENTRY_CODE_32(break_32, 0xe1200070);		/* bkpt #0 */

static const struct entry entries_32[] = {
	ENTRY(hypercall_32, "hvc"),
	ENTRY(secure_call_32, "smc"),
	ENTRY(cp15, "sysreg"),
	ENTRY(cp14, "sysreg"),
};

static const struct entry timer_entry_32 = ENTRY(cp15_64, "sysreg");
static const struct entry debug_entry_32 =
	ENTRY(break_32, "debug", .debug = KVM_GUESTDBG_USE_SW_BP);

/* Replace the code of the first run by 32-bit code. */
static void make_32_bit(struct __test_metadata *_metadata, struct guest *g)
{
	static const __u32 code[] = {
		0xe5821000,		/* 1:	str r1, [r2]	*/
		0xeafffffd,		/*	b 1b		*/
	};

	memcpy(g->memory, code, sizeof(code));
	stats_vcpu_init.features[0] |= 1 << KVM_ARM_VCPU_EL1_32BIT;
}

TEST_F(guest, exits_of_a_32_bit_guest_count_for_their_reasons)
{
	unsigned int i;

	make_32_bit(_metadata, &self->guest);
	put_entries(_metadata, &self->guest, entries_32, ARRAY_SIZE(entries_32));
	for (i = 0; i < ARRAY_SIZE(entries_32); i++)
		EXPECT_TRUE(is_an_exit(_metadata, self->vcpu, &entries_32[i], i)) {
			TH_LOG("%s", entries_32[i].name);
		}
}

TEST_F(guest, physical_timer_of_a_32_bit_guest_counts_for_sysreg)
{
	make_32_bit(_metadata, &self->guest);
	put_entries(_metadata, &self->guest, &timer_entry_32, 1);
	if (!is_an_exit(_metadata, self->vcpu, &timer_entry_32, 0))
		SKIP(return, "the guest has the timer itself");
}

TEST_F(guest, breakpoint_of_a_32_bit_guest_counts_for_debug)
{
	make_32_bit(_metadata, &self->guest);
	put_entries(_metadata, &self->guest, &debug_entry_32, 1);
	expect_debug_exit(_metadata, self->vcpu, &debug_entry_32, 0);
}

TEST_HARNESS_MAIN
