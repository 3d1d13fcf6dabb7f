# SPDX-License-Identifier: GPL-2.0-only
#
# Targets that boot; included by the Makefile.

# The packages that a boot of PROFILE needs.
deps_profile := deps-vm $(if $(filter arm64-%,$(PROFILE)),deps-arm64 deps-vm-arm64) \
	$(if $(filter powerpc-% mips-%,$(PROFILE)),deps-cross deps-vm-arch)

##@ Guests

.PHONY: run
run: deps-vm kernel-x86 ## boot the patched kernel, start a Linux guest on it, watch the guest's statistics
	scripts/userspace x86
	vm/boot x86-npt SUITE=vm/demo V=1

.PHONY: quick
quick: deps-source deps-kernel $(deps_profile) ## from an edit to a verdict: build what changed, run T=name of vm/tests on PROFILE=
	vm/quick $(PROFILE) T=$(T)

.PHONY: shell
shell: $(deps_profile) ## the kernel of PROFILE= with a shell on the console
	vm/shell $(PROFILE)

.PHONY: check-vm
check-vm: deps-vm deps-vm-arm64 kernel ## all tests of vm/tests on every profile, and check-harness
	vm/programs x86
	vm/programs arm64
	vm/check

.PHONY: check-arch
check-arch: deps-vm deps-vm-arch kernel-powerpc kernel-mips ## the same on powerpc and MIPS, which is not part of `make check`
	vm/programs powerpc
	vm/programs mips
	vm/check powerpc mips

.PHONY: check-harness
check-harness: deps-vm deps-vm-arm64 kernel ## the harness's own tests: guests that pass, fail, crash, hang, panic, warn
	vm/check-harness

.PHONY: baseline
baseline: deps-source deps-kernel deps-vm deps-arm64 deps-vm-arm64 ## record in vm/expect what the kernel without the series does
	vm/record

##@ Measuring, on the base and with the series

.PHONY: kernels-bench
kernels-bench: kernel-x86-bench kernel-arm64-bench
	VARIANT=base scripts/tree
	VARIANT=base scripts/kernel x86 bench
	VARIANT=base scripts/kernel arm64 bench

.PHONY: bench
bench: bench-instructions bench-scan bench-export bench-look ## instructions of exits, reads, debugfs; of a host of 10,240 vCPUs; of what kvmstat does: against their limits

.PHONY: bench-instructions bench-scan
bench-instructions bench-scan: bench-%: deps-vm deps-vm-arm64 kernels-bench
	vm/bench/run $* x86-npt arm64-vhe

# kvmstat's libraries are installed for x86 only.
.PHONY: bench-export bench-look
bench-export bench-look: bench-%: deps-vm kernel-x86-bench
	scripts/userspace x86
	vm/bench/run $* x86-npt

.PHONY: plot
plot: deps-plot ## vm/bench/scan.svg, of the figures that are recorded in vm/bench/scan.txt
	vm/bench/plot

.PHONY: memory
memory: deps-vm deps-vm-arm64 kernels-bench ## bytes that vCPUs, VMs and statistics files take, against their limits
	vm/bench/run memory x86-npt arm64-vhe
