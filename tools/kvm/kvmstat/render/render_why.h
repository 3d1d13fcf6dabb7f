/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One VM for a person who wants to know why it is slow.
 */
#ifndef KVMSTAT_RENDER_WHY_H
#define KVMSTAT_RENDER_WHY_H

#include "render/render.h"

/* Why it is slow, in a sentence, and the figures behind it. */
void render_why(struct output *output, const struct tracked_vm *vm);

/* Its exits by reason, and those to its VMM. */
void render_exits(struct output *output, const struct tracked_vm *vm);

/* The sentence alone; the caller frees it. */
char *why_sentence(const struct tracked_vm *vm);

#endif /* KVMSTAT_RENDER_WHY_H */
