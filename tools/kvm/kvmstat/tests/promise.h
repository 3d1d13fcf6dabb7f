/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Checks by fuzzers in addition to the sanitizers. If one fails, the fuzzer ends, and libFuzzer
 * keeps the input.
 */
#ifndef KVMSTAT_TESTS_PROMISE_H
#define KVMSTAT_TESTS_PROMISE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static inline void promise(bool kept, const char *what)
{
	if (kept)
		return;
	fprintf(stderr, "broken: %s\n", what);
	abort();
}

#endif /* KVMSTAT_TESTS_PROMISE_H */
