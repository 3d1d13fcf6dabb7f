// SPDX-License-Identifier: GPL-2.0-only
/* To be written. */
#include "../kselftest_harness.h"

TEST_HARNESS_MAIN
