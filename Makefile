# SPDX-License-Identifier: GPL-2.0-only
#
# Each target runs a script in scripts/ or vm/. This file holds the dependencies.
# `make help` prints the comments behind the targets.

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
refresh: ## write the commits in build/$(O)/linux to patches/ and the new files (TOPIC= for new patches)
	scripts/refresh

.PHONY: series
series: deps-lint tree ## write and check mails for git send-email in build/$(O)/series (SIGNOFF=1: signed off)
	scripts/series

.PHONY: bisect
bisect: deps-kernel deps-arm64 deps-vm tree ## build KVM for x86 and arm64 at each commit, boot the last kernel
	scripts/bisect

##@ Building

.PHONY: kernel
kernel: kernel-x86 kernel-x86-bench kernel-arm64 kernel-arm64-64k ## build the kernels of `make check` (or one: kernel-x86, -arm64, -arm64-64k, -powerpc, -mips)

.PHONY: kernel-x86 kernel-arm64 kernel-arm64-64k kernel-x86-bench kernel-arm64-bench kernel-powerpc kernel-mips
kernel-arm64 kernel-arm64-64k kernel-arm64-bench: deps-arm64
kernel-powerpc kernel-mips: deps-cross
kernel-x86 kernel-arm64 kernel-arm64-64k kernel-x86-bench kernel-arm64-bench kernel-powerpc kernel-mips: kernel-%: deps-kernel tree
	scripts/kernel $(subst -, ,$*)

.PHONY: dkms
dkms: deps-source deps-dkms ## make build/dkms/kvm-stats-dkms_*.deb: KVM modules for Debian's own kernels (KERNEL=RELEASE: for one)
	scripts/package-dkms

.PHONY: deps
deps: ## install the Debian packages that are missing
	scripts/deps

deps-%:
	@scripts/deps $*

-include vm/vm.mk

##@ Checking

.PHONY: check
check: deps ## test the tree, an x86 and an arm64 boot, an x86 boot of the newest base, the package, kvmstat, style
	scripts/check

.PHONY: check-all
check-all: deps ## run all tests (DEBUG=1: debug kernels, FRESH=1: repeat passed ones, LIMIT=minutes)
	scripts/check all

.PHONY: lint
lint: deps-lint deps-kernel deps-arm64 tree ## check style, spelling, licences, figures, claims; run sparse
	scripts/lint
	scripts/sparse

.PHONY: docs
docs: deps-docs deps-kernel deps-arm64 tree ## check the documentation: programs, names, Sphinx, MAINTAINERS
	scripts/docs

.PHONY: dkms-check
dkms-check: deps-source deps-dkms deps-vm ## install kvm-stats-dkms on a scratch Debian, check its modules and boot them (KERNEL=RELEASE; adds a new one to dkms/kernels)
	scripts/check-dkms $(KERNEL)

.PHONY: mutants
mutants: deps-kernel deps-arm64 deps-vm deps-vm-arm64 kernel ## break one guarantee at a time and expect a test to fail (T=name,...); KIND=counting: one counter at a time
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
