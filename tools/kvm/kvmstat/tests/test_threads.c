// SPDX-License-Identifier: GPL-2.0
/*
 * Matches threads and vCPUs by the names that VMMs give to threads, and cases without a match.
 */
#include <string.h>

#include "model/tracker_threads.h"
#include "tap.h"
#include "util/util.h"

#define MAX 4

/* vCPU numbers end with -1. A thread without a number in its name has -2. */
struct match_case {
	const char *name;
	int kvm[2 * MAX];
	int thread[MAX + 1];
	int expected[MAX];
};

static bool matches(const struct match_case *this)
{
	struct proc_thread thread[MAX];
	struct proc_fd fd[2 * MAX + 1] = { { .fd = 3, .link = LINK_VM, }, };
	struct process process = { .fds = { .entry = fd, .count = 1, }, };
	const struct vm vm = { .process = &process, };
	struct proc_threads threads = { .thread = thread, };
	int vcpu[MAX];
	size_t i;

	for (i = 0; this->kvm[i] != -1; i++)
		fd[process.fds.count++] = (struct proc_fd) { .fd = 10 + i, .link = this->kvm[i], };
	for (i = 0; this->thread[i] != -1; i++)
		thread[threads.count++] = (struct proc_thread) {
			.tid = 100 + i,
			.vcpu = this->thread[i] < 0 ? -1 : this->thread[i],
		};
	threads_match(&threads, &vm, vcpu);
	return !memcmp(vcpu, this->expected, threads.count * sizeof(*vcpu));
}

int main(void)
{
	static const struct match_case cases[] = {
		{ "by their names", { 0, 1, 2, -1, }, { 2, 0, 1, -1, }, { 2, 0, 1, }, },
		{ "KVM's numbers have gaps", { 4, 0, 1, -1, }, { 0, 1, 2, -1, }, { 0, 1, 4, }, },
		{ "file descriptors come twice", { 0, 1, 0, 1, -1, }, { 0, 1, -1, }, { 0, 1, }, },
		{ "the only one", { 7, -1, }, { -2, -1, }, { 7, }, },
		{ "threads without a number", { 0, 1, -1, }, { -2, -2, -1, },
		  { NO_VCPU, NO_VCPU, }, },
		{ "one without a number", { 0, 1, -1, }, { 0, -2, -1, }, { NO_VCPU, NO_VCPU, }, },
		{ "two with the same", { 0, 1, -1, }, { 0, 0, -1, }, { NO_VCPU, NO_VCPU, }, },
		{ "a vCPU without a thread", { 0, 1, -1, }, { 0, -1, }, { NO_VCPU, }, },
		{ "a thread too many", { 0, -1, }, { 0, 1, -1, }, { NO_VCPU, NO_VCPU, }, },
		{ "no vCPU is known", { -1, }, { 0, -1, }, { NO_VCPU, }, },
		{ "no thread is", { 0, 1, -1, }, { -1, }, {}, },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		check(matches(&cases[i]), "%s", cases[i].name);
	return tap_end();
}
