/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs a command as main() would.
 */
#ifndef KVMSTAT_TESTS_OUTPUT_H
#define KVMSTAT_TESTS_OUTPUT_H

typedef int run_command(int argc, char **argv);

/*
 * A command line, words separated by blanks; what it prints, errors as well, and its exit
 * status. The caller frees it.
 */
char *output_of(run_command *run, const char *line, int *status);

/* In the place of confine(): what a host of the test's own does takes more than is left then. */
int keep_privileges(unsigned int uses);

#endif /* KVMSTAT_TESTS_OUTPUT_H */
