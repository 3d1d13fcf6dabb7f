/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A VM with one vCPU in memory, its model, and the output of a renderer: for tests of renderers.
 */
#ifndef KVMSTAT_TESTS_FIXTURE_H
#define KVMSTAT_TESTS_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

#include "image.h"
#include "model/model.h"
#include "render/render.h"
#include "sources/discover.h"

struct fixture {
	struct image vm_image, vcpu_image;
	struct process process;
	struct vcpu vcpu;
	struct vm vm;
	struct tracked_vm tracked, closed;	/* closed has no statistics */
	char *text;		/* the output up to the last flush */
	size_t size;
	struct output output;
};

void fixture_set_up(struct fixture *fixture, const char *process_name,
		    const struct image_stat *vm_stats, const struct image_stat *vcpu_stats);
void fixture_tear_down(struct fixture *fixture);

void fixture_sample(struct fixture *fixture, uint64_t seconds);

/* Compares the output with check_golden(), and discards it. */
void fixture_expect(struct fixture *fixture, const char *file, const char *name);

/* Discards the output. */
void fixture_rewind(struct fixture *fixture);

#endif /* KVMSTAT_TESTS_FIXTURE_H */
