# SPDX-License-Identifier: GPL-2.0-only
#
# What boots: included by the Makefile.

PROFILE ?= x86-npt

.PHONY: run quick shell check-vm check-harness

## Guests
run: kernel ## boot the patched kernel, run a guest on it and watch its statistics
	@vm/boot x86-npt SUITE=vm/demo V=1

quick: ## build what changed, run T=name (default: all) of vm/tests on PROFILE=
	@vm/quick $(PROFILE) $(if $(T),T=$(T))

shell: ## boot PROFILE= with a shell on the console
	@vm/shell $(PROFILE)

check-vm: ## run vm/tests on every profile and the harness's own tests
	@vm/check

check-harness: ## guests that pass, fail, skip, crash, hang, panic, warn: the right verdict?
	@vm/check-harness
