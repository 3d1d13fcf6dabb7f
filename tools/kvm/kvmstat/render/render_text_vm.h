/* SPDX-License-Identifier: GPL-2.0 */
/* One VM as lines of text: moving statistics, all statistics, histograms. See struct renderer. */
#ifndef KVMSTAT_RENDER_TEXT_VM_H
#define KVMSTAT_RENDER_TEXT_VM_H

#include "render/format.h"
#include "render/render.h"
#include "util/util.h"

static inline double seconds(uint64_t ns)
{
	return (double)ns / NSEC_PER_SEC;
}

/* An interval in seconds, in few digits: a quarter of a second, or hours in a recording. */
void format_length(char text[FORMAT_SIZE], uint64_t ns);

/* Prints a line; wraps it if it is too long. */
__printf(2, 3)
void render_text_title(const struct output *output, const char *format, ...);

void render_text_movement(struct output *output, const struct tracked_vm *vm, const char *ending);
void render_text_group(struct output *output, const struct subject *subject,
		       const struct group *group);
void render_text_histogram(struct output *output, const struct subject *subject,
			   const struct histogram *histogram);

#endif /* KVMSTAT_RENDER_TEXT_VM_H */
