/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs a command as main() does.
 */
#ifndef KVMSTAT_TESTS_OUTPUT_H
#define KVMSTAT_TESTS_OUTPUT_H

typedef int run_command(int argc, char **argv);

/*
 * @line: the command line, with words separated by blanks. Returns the output including errors,
 * which the caller frees, and the exit status.
 */
char *output_of(run_command *run, const char *line, int *status);

/* Replaces privilege_drop(): the test's host needs privileges that it would drop. */
int keep_privileges(unsigned int uses);

#endif /* KVMSTAT_TESTS_OUTPUT_H */
