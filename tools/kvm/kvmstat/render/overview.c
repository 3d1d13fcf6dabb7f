// SPDX-License-Identifier: GPL-2.0
/*
 * VMs and vCPUs in columns.
 */
#include <stdio.h>
#include <string.h>

#include "model/columns.h"
#include "model/histogram.h"
#include "model/why.h"
#include "render/overview.h"

void overview_format_share(char text[FORMAT_SIZE], const struct shares *shares, enum share share)
{
	snprintf(text, FORMAT_SIZE, "%s%.0f", shares->by_cpu ? "~" : "",
		 100 * shares->part[share]);
}

/* One word: "<BOUND", or ">BOUND" for the last bucket, which is open. */
static void format_quantile(char text[FORMAT_SIZE], const struct quantile_of *quantile)
{
	bool open = bucket_is_open(quantile->desc, quantile->bucket);
	char bound[FORMAT_SIZE];
	const char *blank;

	format_bound(bound, quantile->desc,
		     open ? bucket_lower(quantile->desc, quantile->bucket) :
			    bucket_upper(quantile->desc, quantile->bucket));
	blank = strchr(bound, ' ');
	snprintf(text, FORMAT_SIZE, "%c%.*s%s", open ? '>' : '<',
		 (int)(blank ? blank - bound : FORMAT_SIZE), bound, blank ? blank + 1 : "");
}

void overview_note(struct overview *overview, const struct tracked_vm *vm,
		   const struct rates *rates)
{
	enum column_id i;

	for (i = COLUMN_SHARES; i <= COLUMN_TOP; i++)
		overview->known[i] |= vm_cell(vm, rates, i).known;
}

/* A column of numbers exists once any line has a value in it; EXITS/s always exists. */
bool overview_has(const struct overview *overview, bool of_vcpus, enum column_id column)
{
	if (of_vcpus && (column == COLUMN_VM || column == COLUMN_VCPUS || column == COLUMN_OTHER ||
			 column == COLUMN_SOURCE || column == COLUMN_NAME))
		return false;
	return column < COLUMN_SHARES || column >= COLUMN_SOURCE ||
	       column == COLUMN_RATES + RATE_EXITS || overview->known[column];
}

void overview_begin(struct overview *overview, bool of_vcpus, enum column_id sorted_by,
		    const char *mark, const char *time)
{
	const struct column_info *info = column_info;
	struct column *column = overview->column;
	enum column_id i;

	for (i = 0; i < NUM_COLUMNS; i++, info++) {
		column[i + 1] = (struct column) {
			.title = info->title,
			.least = info->least,
			.most = info->most,
			.drop = i == sorted_by ? 0 : info->drop,
			.left = info->left,
			.absent = !overview_has(overview, of_vcpus, i),
		};
	}
	/* Forget the longest texts: one of them is the former title with its mark. */
	if (sorted_by != overview->sorted_by)
		memset(overview->longest, 0, sizeof(overview->longest));
	overview->sorted_by = sorted_by;
	column[0] = (struct column) {
		.title = time ?: "", .left = true, .drop = 9, .absent = !time,
	};
	column[COLUMN_NAME + 1].shortens = true;
	if (of_vcpus)
		column[COLUMN_PID + 1].title = "VCPU";
	if (sorted_by != NUM_COLUMNS) {
		snprintf(overview->sorted_title, sizeof(overview->sorted_title), "%s%s",
			 column[sorted_by + 1].title, mark);
		column[sorted_by + 1].title = overview->sorted_title;
	}
	overview->table = (struct table) {
		.column = column, .num_columns = OVERVIEW_COLUMNS,
	};
}

static void add_cell(struct table *table, struct cell cell, const struct rates *rates,
		     enum column_id column)
{
	double share = rates ? rates_share(rates) : -1;
	char text[FORMAT_SIZE] = "-";

	if (column == COLUMN_TOP && share >= 0) {
		/* Print the name with its share. */
		table_add(table, "%s %.0f%%", rates_reason(rates), 100 * share);
		return;
	}
	if (cell.text) {
		table_add(table, "%s", cell.text);
		return;
	}
	if (cell.known && column_is_share(column))
		overview_format_share(text, &rates->shares, column - COLUMN_SHARES);
	else if (cell.known && column_is_rate(column))
		format_count_rate(text, cell.number);
	else if (cell.known && column_is_quantile(column))
		format_quantile(text, &rates->quantile[column - COLUMN_QUANTILES]);
	else if (cell.known && column == COLUMN_OTHER)
		snprintf(text, sizeof(text), "~%.0f", 100 * cell.number);
	else if (cell.known)
		snprintf(text, sizeof(text), "%.0f", cell.number);
	table_add(table, "%s", text);
}

void overview_add_vm(struct overview *overview, const struct tracked_vm *vm,
		     const struct rates *rates, const char *time)
{
	enum column_id i;

	table_add(&overview->table, "%s", time);
	for (i = 0; i < NUM_COLUMNS; i++)
		add_cell(&overview->table, vm_cell(vm, rates, i), rates, i);
}

void overview_add_vcpu(struct overview *overview, const struct tracked_vcpu *vcpu,
		       const char *name, const struct rates *rates)
{
	enum column_id i;

	table_add(&overview->table, "%s", "");
	table_add(&overview->table, "%s", name);
	for (i = COLUMN_PID + 1; i < NUM_COLUMNS; i++)
		add_cell(&overview->table, vcpu_cell(vcpu, rates, i), rates, i);
}

/* Remembers widths, so that columns do not come and go with a long name. */
void overview_fit(struct overview *overview, unsigned int width)
{
	size_t i;

	if (width != overview->width)
		memset(overview->longest, 0, sizeof(overview->longest));
	overview->width = width;
	for (i = 0; i < OVERVIEW_COLUMNS; i++)
		overview->column[i].longest = overview->longest[i];
	table_fit(&overview->table, width);
	for (i = 0; i < OVERVIEW_COLUMNS; i++)
		overview->longest[i] = overview->column[i].longest;
}
