# SPDX-License-Identifier: GPL-2.0-only
#
# What boots: included by the Makefile.

##@ Guests

.PHONY: run
run: deps-vm kernel-x86 ## boot the patched kernel, start a Linux guest on it, watch the guest's statistics
	scripts/userspace x86
	vm/boot x86-npt SUITE=vm/demo V=1

.PHONY: quick
quick: deps-vm ## from an edit to a verdict: build what changed, run T=name of vm/tests on PROFILE=
	vm/quick $(PROFILE) T=$(T)

.PHONY: shell
shell: deps-vm ## the kernel of PROFILE= with a shell on the console
	vm/shell $(PROFILE)

.PHONY: check-vm
check-vm: deps-vm kernel vm-programs ## all tests of vm/tests on every profile, and check-harness
	vm/check

.PHONY: check-harness
check-harness: deps-vm ## the harness's own tests: guests that pass, fail, crash, hang, panic, warn
	vm/check-harness

.PHONY: vm-programs
vm-programs: tree
	vm/programs x86
	vm/programs arm64
