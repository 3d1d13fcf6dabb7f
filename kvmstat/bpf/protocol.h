/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between kvmstat and kvmstat-bpf, over a SOCK_SEQPACKET socket. kvmstat sends a byte for each
 * sample: what it wants. kvmstat-bpf attaches what that needs, and answers with a struct bpf_answer
 * and a file descriptor that kvmstat reads to its end: a struct item and values for each VM and vCPU.
 * They are the data block of a statistics file, whose beginning follows the answer.
 */
#ifndef KVMSTAT_BPF_PROTOCOL_H
#define KVMSTAT_BPF_PROTOCOL_H

#include <linux/types.h>

#define MOST_HEADER 131072

struct bpf_answer {
	__u32 attached;			/* a number: other statistics if it changes */
	__u32 header_size;		/* at most MOST_HEADER */
	__u32 vm_size, vcpu_size;	/* bytes of values */
	__u32 retry;			/* after an error: a later try may succeed */
	char error[160];		/* or empty; then no file descriptor follows */
};

/* Values follow. */
struct item {
	__u64 vm;			/* a number */
	__u32 pid;			/* a process that holds the descriptor, */
	__s32 fd;			/* and its number there */
	__u32 id;			/* of a vCPU */
	__u32 is_vcpu;
};

#endif
