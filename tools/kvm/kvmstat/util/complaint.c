// SPDX-License-Identifier: GPL-2.0
/*
 * Errors on a terminal, of as many lines as it takes.
 */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "util/complaint.h"
#include "util/text.h"
#include "util/util.h"

#define PREFIX "kvmstat: "
/* Where fewer characters of it fit into a line, it is one line. */
#define LEAST_WIDTH 16

static void (*print_line)(const char *text);

/* Not in a file or a log, where it is a line; and without memory, that may be what is wrong. */
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
