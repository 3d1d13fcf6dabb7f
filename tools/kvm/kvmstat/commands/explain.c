// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat explain NAME...: what statistics count, and what exits have happened for, in the
 * sentences of the lists that KVM is built from.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "commands/command.h"
#include "model/descriptions.h"
#include "util/text.h"
#include "util/util.h"

static bool explain(const char *pattern)
{
	static const char * const whose[] = {
		[SCOPE_VM] = "of the VM",
		[SCOPE_VCPU] = "of each vCPU",
		[REASON] = "reason of exits",
	};
	const struct output output = standard_output();
	const struct description *found;
	bool any = false;
	size_t from = 0;
	char *text;

	while ((found = find_description(pattern, &from))) {
		text = xasprintf("%s (%s): %s.", found->name, whose[found->scope], found->help);
		print_wrapped(output.file, text, output.width > 4 ? output.width - 4 : UINT_MAX, 4);
		fputc('\n', output.file);
		free(text);
		any = true;
	}
	if (!any)
		print_error("there is no statistic and no reason '%s' in kvmstat's lists", pattern);
	return any;
}

int command_explain(int argc, char **argv)
{
	struct options options;
	int i, status;

	status = parse_options(COMMAND_EXPLAIN, argc, argv, false, &options);
	if (status != STATUS_OK || options.help)
		return status;
	if (!options.num_arguments)
		return usage_error("explain: the name of a statistic is missing");
	for (i = 0; i < options.num_arguments; i++) {
		if (!explain(options.argument[i]))
			status = STATUS_ERROR;
	}
	return status;
}
