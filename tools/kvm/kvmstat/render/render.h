/* SPDX-License-Identifier: GPL-2.0 */
/* The interface of renderers: text, JSON and CSV show the same. */
#ifndef KVMSTAT_RENDER_H
#define KVMSTAT_RENDER_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "model/histogram.h"
#include "model/model.h"
#include "model/watch.h"
#include "render/overview.h"
#include "sources/inventory.h"
#include "sources/recording_read.h"

/* Where to print and what to show. A @width of 0 is unlimited. */
struct output {
	FILE *file;
	unsigned int width;
	bool verbose;			/* describe each statistic */
	const regex_t *only;		/* only statistics whose name matches; NULL: all */
	bool nonzero;			/* only those that are not 0 */
	unsigned int num_shown;		/* private: blocks, or lines since the last header */
	unsigned int header;		/* private: see header_number() */
	struct overview overview;	/* private */
	bool is_document;		/* private */
};

static inline bool output_has(const struct output *output, const char *name)
{
	return !output->only || !regexec(output->only, name, 0, NULL, 0);
}

static inline bool output_shows(const struct output *output, const struct group *group,
				const struct statsfile_desc *desc)
{
	return group_shows(group, desc) &&
	       output_has(output, desc->name) &&
	       (!output->nonzero || group_total(desc, group->value));
}

/* The VM or vCPU that a group belongs to. */
struct subject {
	const struct vm *vm;
	const char *id;
	enum scope scope;
	const struct vcpu *vcpu;	/* NULL: the VM, or the sum of its vCPUs */
	uint64_t elapsed_ns;		/* the interval that ends at time; 0: totals */
	struct timespec time;		/* CLOCK_REALTIME */
	const struct shares *shares;	/* of the vCPUs' time, or NULL */
	uint64_t look_ns;		/* the interval of shares */
};

/* A watched event has happened, or the VM has ended. */
struct watch_event {
	const struct tracked_vm *vm;
	const struct watch_rule *rule;
	const struct watch_target *target;
	struct timespec time;		/* CLOCK_REALTIME */
	int vcpu;			/* or NO_VCPU */
	uint64_t growth;		/* or the level */
	bool ended;			/* the VM has ended; growth is unused */
};

struct renderer {
	/* Enclose the output of a command that prints once: in JSON it is one document. */
	void (*begin)(struct output *output);
	void (*end)(struct output *output);

	/* One line per VM: its state, shares of time and rates. */
	void (*overviews)(struct output *output, const struct overviews *overviews);

	/*
	 * The statistics that moved since the last sample. With an @ending ("ended",
	 * "still runs", ...) a summary of all that ever moved.
	 */
	void (*movement)(struct output *output, const struct tracked_vm *vm, const char *ending);

	/* Every statistic. */
	void (*group)(struct output *output, const struct subject *subject,
		      const struct group *group);

	/* Called before all histograms, even if there are none; or NULL. */
	void (*begin_histograms)(struct output *output);

	/* One histogram. */
	void (*histogram)(struct output *output, const struct subject *subject,
			  const struct histogram *histogram);

	/* Called before all events, even if none comes; or NULL. */
	void (*begin_events)(struct output *output, const struct watch_rule *rule,
			     const struct watch_target *target);

	/* One event. */
	void (*event)(struct output *output, const struct watch_event *event);

	/* A recording's host, times and number of samples. */
	void (*recording)(struct output *output, const struct recording *recording);

	/* An error line; NULL: as text, see error_printer. */
	void (*error)(const char *text);
};

extern const struct renderer text_renderer;

/* Exist with json-c only. Call json_prepare() before giving up privileges. */
extern const struct renderer csv_renderer;
extern const struct renderer json_renderer;
void json_prepare(void);

/* The renderer in use. */
extern const struct renderer *render;

/* Prints a sentence per VM that says why it is slow, then the list; for one VM also its exits. */
void render_why(struct output *output, const struct overviews *overviews);

/* Prints the VM's exits by reason, and its exits to the VMM. */
void render_exits(struct output *output, const struct tracked_vm *vm);

/* The sentence of render_why(). The caller frees it. */
char *why_sentence(const struct tracked_vm *vm);

#endif /* KVMSTAT_RENDER_H */
