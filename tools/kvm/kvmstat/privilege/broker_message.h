/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests and answers of the broker: structs in messages of a socket that only kvmstat and the
 * broker have. One request is followed by its answer, in as many messages as needed. Neither side
 * trusts the other: an invalid message ends the connection.
 */
#ifndef KVMSTAT_BROKER_MESSAGE_H
#define KVMSTAT_BROKER_MESSAGE_H

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "sources/host.h"

enum broker_question {
	ASK_LIST,
	ASK_MAKERS,
	ASK_FDS,
	ASK_IDENTITY,
	ASK_THREAD_GROUP,
	ASK_THREADS,
	ASK_STATS,
};

struct broker_request {
	uint32_t question;
	int32_t pid;
	int32_t fd;
	int32_t link;
	uint32_t is_stats;
	uint32_t num_vcpus;
	uint32_t without_memory;	/* see struct identity */
};

#define BROKER_MAX_ITEMS 128

/* A file descriptor of a process; with an error, only the process. */
struct broker_item {
	int32_t pid;
	int32_t err;
	int32_t fd;
	int32_t link;
	uint32_t is_stats;
};

struct broker_answer {
	int32_t ret;
	uint32_t step;		/* these three are a struct host_error */
	int32_t err;
	int32_t capability;
	uint64_t vm;
	uint64_t num_others;	/* of a struct proc_fds */
	struct proc_whole whole;	/* of a struct proc_threads */
	struct identity identity;
	uint32_t more;		/* another message follows */
	uint32_t num_items;	/* struct proc_thread for ASK_THREADS, otherwise broker_item */
	alignas(8) char items[BROKER_MAX_ITEMS * sizeof(struct proc_thread)];
};

union broker_control {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int))];
};

static inline size_t broker_item_size(uint32_t question)
{
	return question == ASK_THREADS ? sizeof(struct proc_thread) : sizeof(struct broker_item);
}

/* Becomes the broker: drops privileges, sends an answer when it is ready, and serves. */
__attribute__((__noreturn__))
void broker_run(int socket, const struct host *host, pid_t parent);

/* Returns true when the other end is closed, false after an invalid request. */
bool broker_serve(int socket, const struct host *host);

#endif /* KVMSTAT_BROKER_MESSAGE_H */
