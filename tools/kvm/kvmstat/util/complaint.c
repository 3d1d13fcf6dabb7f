// SPDX-License-Identifier: GPL-2.0
/*
 * Errors on a terminal, wrapped.
 */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "util/complaint.h"
#include "util/text.h"
#include "util/util.h"

#define PREFIX "kvmstat: "
/* A terminal with less room gets one line. */
#define LEAST_WIDTH 16

static void (*print_line)(const char *text);

/* Not in a file or a log; and without allocating, as memory may be what is missing. */
static void print_complaint(const char *text)
{
	const unsigned int indent = strlen(PREFIX);
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) ||
	    size.ws_col < indent + LEAST_WIDTH) {
		print_line(text);
		return;
	}
	fflush(stdout);
	fprintf(stderr, PREFIX);
	print_wrapped(stderr, text, size.ws_col - indent, indent);
	fputc('\n', stderr);
}

void wrap_errors(void)
{
	print_line = error_printer;
	error_printer = print_complaint;
}
