# SPDX-License-Identifier: GPL-2.0-only
#
# The front door. Every target is a script of its own in scripts/ or vm/; here
# stands what depends on what, and `make help` is made from the comments.

BASE ?= 5.10
LINUX_SRC ?=
T ?=
PROFILE ?= x86-npt
V ?= 0
DEBUG ?= 0

O := $(BASE)
export BASE LINUX_SRC T PROFILE V DEBUG

comma := ,
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.NOTPARALLEL:

##@ The series

.PHONY: tree
tree: deps-source ## base kernel + one commit per patch: build/$(O)/linux
	scripts/tree

.PHONY: refresh
refresh: ## the way back: from the commits in build/$(O)/linux to patches/ and the new files (TOPIC= of new ones)
	scripts/refresh

.PHONY: series
series: deps-lint tree ## mails for git send-email in build/$(O)/series, checked (SIGNOFF=1: signed off)
	scripts/series

.PHONY: bisect
bisect: deps-kernel deps-arm64 deps-vm deps-tool tree ## build KVM for x86 and arm64 at every commit, boot some, test kvmstat at its own
	scripts/bisect

##@ Building

.PHONY: kernel
kernel: kernel-x86 kernel-x86-bench kernel-arm64 kernel-arm64-64k ## the kernels of `make check` (or one: kernel-x86, -arm64, -arm64-64k, -powerpc, -mips)

.PHONY: kernel-x86 kernel-arm64 kernel-arm64-64k kernel-x86-bench kernel-arm64-bench kernel-powerpc kernel-mips
kernel-arm64 kernel-arm64-64k kernel-arm64-bench: deps-arm64
kernel-powerpc kernel-mips: deps-cross
kernel-x86 kernel-arm64 kernel-arm64-64k kernel-x86-bench kernel-arm64-bench kernel-powerpc kernel-mips: kernel-%: deps-kernel tree
	scripts/kernel $(subst -, ,$*)

.PHONY: dkms
dkms: deps-source deps-dkms ## kvm-stats-dkms_*.deb in build/dkms: KVM modules for Debian's own kernels (KERNEL=RELEASE: for one)
	scripts/package-dkms

.PHONY: deps
deps: ## install the Debian packages that are missing
	scripts/deps

deps-%:
	@scripts/deps $*

-include vm/vm.mk

##@ Checking

.PHONY: check
check: deps ## what shows that it works: the tree, an x86 and an arm64 boot, kvmstat, style
	scripts/check

.PHONY: check-all
check-all: deps ## everything that is tested (DEBUG=1: debug kernels, FRESH=1: also what passed, LIMIT=minutes)
	scripts/check all

.PHONY: lint
lint: deps-lint deps-kernel deps-arm64 tree ## style, spelling, licences, claims, sparse
	scripts/lint
	scripts/sparse

.PHONY: docs
docs: deps-docs deps-kernel deps-arm64 tree ## what the documentation says, against lists, headers, Sphinx, MAINTAINERS
	scripts/docs

.PHONY: dkms-check
dkms-check: deps-source deps-dkms deps-vm ## install kvm-stats-dkms on a Debian of its own, check that it fits and boot it (KERNEL=RELEASE, also a new one)
	scripts/check-dkms $(KERNEL)

.PHONY: mutants
mutants: deps-kernel deps-arm64 deps-vm deps-vm-arm64 kernel ## do the tests notice? break one rule of the kernel after the other (T=name,...), or KIND=counting: one count
	vm/programs x86
	vm/programs arm64
	scripts/mutants$(addprefix -,$(KIND)) $(patsubst %,'%',$(subst $(comma), ,$(T)))

##@ Housekeeping

.PHONY: clean
clean: ## remove build/ (refuses while the tree has work that is not in the series)
	scripts/clean

.PHONY: help
help: ## this text
	@scripts/help $(firstword $(MAKEFILE_LIST)) $(wildcard vm/vm.mk)
