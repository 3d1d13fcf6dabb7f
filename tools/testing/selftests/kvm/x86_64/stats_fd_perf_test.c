// SPDX-License-Identifier: GPL-2.0-only
/*
 * Samples of a perf event of nested_run are in the nested guest.
 */
#define _GNU_SOURCE
#include "../../kselftest_harness.h"
#include "stats_fd_nested.h"
#include "stats_fd_perf.h"

#define SAMPLES			10

/* A run counts when the CPU has left L2. */
TEST(sample_of_a_nested_run_is_in_l2)
{
	struct nested nested = { }, *n = &nested;
	struct perf_sample sample;
	struct perf_ring ring;
	int i;

	if (!perf_type())
		SKIP(return, "KVM has no events");
	if (nested_missing(false))
		SKIP(return, "%s", nested_missing(false));
	nested_create(_metadata, n, false);
	perf_open_samples(_metadata, perf_config(_metadata, &n->vcpu->file, "nested_run", 0), 0,
			  -1, 1, &ring);
	for (i = 0; i < SAMPLES; i++) {
		set_l2(_metadata, n, l2_out, l2_out_end);
		start_l1(_metadata, n, 1);
		ASSERT_EQ(PORT_L2, lm_run(_metadata, n->vcpu));
		ASSERT_TRUE(perf_ring_next(&ring, &sample));
		EXPECT_EQ(lm_gpa(NESTED_CODE), sample.ip);
		ASSERT_EQ(PORT_L1, lm_run(_metadata, n->vcpu));
		EXPECT_FALSE(perf_ring_next(&ring, &sample));
	}
}

TEST_HARNESS_MAIN
