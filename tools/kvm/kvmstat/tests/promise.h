/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What fuzzers check themselves, beside the sanitizers: libFuzzer keeps the input for which
 * one of them ends.
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
