// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat explain NAME...: what statistics count, and what exits have happened for, in the
 * sentences of the lists that KVM is built from.
 */
#include <getopt.h>
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
	static const struct option long_options[] = {
		HELP_OPTION,
		{},
	};
	struct vm_options options = {};
	int option, status = STATUS_OK;

	while ((option = getopt_long(argc, argv, ":h", long_options, NULL)) != -1) {
		status = parse_vm_option(option, argv, &options);
		if (status != STATUS_OK)
			return status;
		if (options.help)
			return command_help(1, argv);
	}
	if (optind == argc)
		return usage_error("explain: the name of a statistic is missing");
	for (; optind < argc; optind++) {
		if (!explain(argv[optind]))
			status = STATUS_ERROR;
	}
	return status;
}
