# SPDX-License-Identifier: GPL-2.0-only
#
# Targets that boot a virtual machine. The Makefile includes this file.

# The packages that a boot of PROFILE needs.
deps_profile := deps-vm $(if $(filter arm64-%,$(PROFILE)),deps-arm64 deps-vm-arm64) \
	$(if $(filter powerpc-% mips-%,$(PROFILE)),deps-cross deps-vm-arch)

##@ Guests

.PHONY: run
run: deps-vm kernel-x86 ## boot the patched kernel, start a Linux guest on it, watch the guest's statistics
	scripts/userspace x86
	vm/boot x86-npt SUITE=vm/demo V=1

.PHONY: quick
quick: deps-source deps-kernel $(deps_profile) ## build what changed, boot PROFILE= and run test T=name of vm/tests
	vm/quick $(PROFILE) T=$(T)

.PHONY: shell
shell: $(deps_profile) ## boot the kernel of PROFILE= with a shell on the console
	vm/shell $(PROFILE)

.PHONY: check-vm
check-vm: deps-vm deps-vm-arm64 kernel ## run all tests of vm/tests on each x86 and arm64 profile, and test the harness
	vm/programs x86
	vm/programs arm64
	vm/check

.PHONY: check-arch
check-arch: deps-vm deps-vm-arch kernel-powerpc kernel-mips ## run the tests on powerpc and MIPS, which `make check` leaves out
	vm/programs powerpc
	vm/programs mips
	vm/check powerpc mips

.PHONY: check-harness
check-harness: deps-vm deps-vm-arm64 kernel ## test the harness: guests that pass, fail, crash, hang, panic, warn
	vm/check-harness

.PHONY: baseline
baseline: deps-source deps-kernel deps-vm deps-arm64 deps-vm-arm64 ## record the results of the kernel without the series in vm/expect
	vm/record

##@ Measuring, on the base and with the series

.PHONY: kernels-bench
kernels-bench: kernel-x86-bench kernel-arm64-bench
	scripts/kernel x86 bench-plain
	scripts/kernel arm64 bench-plain
	VARIANT=base scripts/tree
	VARIANT=base scripts/kernel x86 bench
	VARIANT=base scripts/kernel arm64 bench

.PHONY: bench
bench: bench-instructions bench-scan bench-export bench-look ## count the instructions of exits, reads, debugfs, scans of 10,240 vCPUs and kvmstat, and check their limits

.PHONY: bench-instructions bench-scan
bench-instructions bench-scan: bench-%: deps-vm deps-vm-arm64 kernels-bench
	vm/bench/run $* x86-npt arm64-vhe

# Of kvmstat's own cost, x86 tells enough.
.PHONY: bench-export bench-look
bench-export bench-look: bench-%: deps-vm kernel-x86-bench
	scripts/userspace x86
	vm/bench/run $* x86-npt

.PHONY: memory
memory: deps-vm deps-vm-arm64 kernels-bench ## measure the memory of vCPUs, VMs and statistics files, and check its limits
	vm/bench/run memory x86-npt arm64-vhe
