// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of KVM's statistics: a value counts in the bucket that the ABI
 * defines, on both sides of every bound.
 */
#include <kunit/test.h>

#include <linux/kernel.h>
#include <linux/kvm_stats.h>

/* Numbers of buckets: of the real histograms, and the smallest and largest that matter. */
static const size_t nums[] = { 2, 3, 32, 65, 66, 1000 };

static void log_bucket_of_0_is_0(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(nums); i++)
		KUNIT_EXPECT_EQ(test, (size_t)0, kvm_stats_log_bucket(0, nums[i]));
}

/* Bucket i begins with 2^(i-1); the value before is in bucket i-1. */
static void log_buckets_begin_with_powers_of_2(struct kunit *test)
{
	size_t i, bucket;

	for (i = 0; i < ARRAY_SIZE(nums); i++) {
		for (bucket = 1; bucket < min_t(size_t, nums[i], 65); bucket++) {
			u64 first = 1ULL << (bucket - 1);

			KUNIT_EXPECT_EQ(test, bucket,
					kvm_stats_log_bucket(first, nums[i]));
			KUNIT_EXPECT_EQ(test, bucket - 1,
					kvm_stats_log_bucket(first - 1, nums[i]));
		}
	}
}

static void last_log_bucket_is_open(struct kunit *test)
{
	size_t i, num;

	for (i = 0; i < ARRAY_SIZE(nums); i++) {
		num = nums[i];
		KUNIT_EXPECT_EQ(test, min_t(size_t, num - 1, 64),
				kvm_stats_log_bucket(U64_MAX, num));
		if (num > 64)
			continue;
		KUNIT_EXPECT_EQ(test, num - 1,
				kvm_stats_log_bucket((1ULL << (num - 1)) - 1, num));
		KUNIT_EXPECT_EQ(test, num - 1,
				kvm_stats_log_bucket(1ULL << (num - 1), num));
	}
}

static void histograms_count_one_for_a_value(struct kunit *test)
{
	struct kvm_vcpu_stat *log = kunit_kzalloc(test, sizeof(*log), GFP_KERNEL);
	u64 sum = 0;
	int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, log);

	kvm_stats_log_hist(log, halt_wait_hist, 0);
	kvm_stats_log_hist(log, halt_wait_hist, 1000);
	kvm_stats_log_hist(log, halt_wait_hist, U64_MAX);
	KUNIT_EXPECT_EQ(test, 1ULL, log->halt_wait_hist[0]);
	KUNIT_EXPECT_EQ(test, 1ULL, log->halt_wait_hist[10]);
	KUNIT_EXPECT_EQ(test, 1ULL, log->halt_wait_hist[31]);
	for (i = 0; i < sizeof(*log) / sizeof(u64); i++)
		sum += ((u64 *)log)[i];
	KUNIT_EXPECT_EQ(test, 3ULL, sum);
}

static void halts_count_time_and_histogram(struct kunit *test)
{
	struct kvm_vcpu_stat *stat = kunit_kzalloc(test, sizeof(*stat), GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, stat);

	kvm_stats_halt_poll(stat, 2, true);
	kvm_stats_halt_poll(stat, 4, false);
	kvm_stats_halt_wait(stat, 8);
	KUNIT_EXPECT_EQ(test, 2ULL, stat->halt_poll_success_ns);
	KUNIT_EXPECT_EQ(test, 1ULL, stat->halt_poll_success_hist[2]);
	KUNIT_EXPECT_EQ(test, 4ULL, stat->halt_poll_fail_ns);
	KUNIT_EXPECT_EQ(test, 1ULL, stat->halt_poll_fail_hist[3]);
	KUNIT_EXPECT_EQ(test, 8ULL, stat->halt_wait_ns);
	KUNIT_EXPECT_EQ(test, 1ULL, stat->halt_wait_hist[4]);
}

static struct kunit_case kvm_stats_test_cases[] = {
	KUNIT_CASE(log_bucket_of_0_is_0),
	KUNIT_CASE(log_buckets_begin_with_powers_of_2),
	KUNIT_CASE(last_log_bucket_is_open),
	KUNIT_CASE(histograms_count_one_for_a_value),
	KUNIT_CASE(halts_count_time_and_histogram),
	{ }
};

static struct kunit_suite kvm_stats_test_suite = {
	.name = "kvm_stats",
	.test_cases = kvm_stats_test_cases,
};

kunit_test_suite(kvm_stats_test_suite);

MODULE_LICENSE("GPL");
