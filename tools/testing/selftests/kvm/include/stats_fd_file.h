/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fixture of tests of a single statistics file: cases run with the file of a VM, and again
 * with the file of its vCPU.
 */
#ifndef SELFTEST_KVM_STATS_FD_FILE_H
#define SELFTEST_KVM_STATS_FD_FILE_H

#include "stats_fd_util.h"

/* Not 0, so that a missing vCPU id is noticed. */
#define VCPU_ID			3

FIXTURE(file)
{
	int vm;
	int vcpu;
	int source;		/* the VM or vCPU */
	int fd;
	struct stats_file file;
};

FIXTURE_VARIANT(file)
{
	bool vcpu;
};

FIXTURE_VARIANT_ADD(file, of_vm) { .vcpu = false };
FIXTURE_VARIANT_ADD(file, of_vcpu) { .vcpu = true };

FIXTURE_SETUP(file)
{
	self->vm = stats_create_vm(_metadata);
	self->vcpu = stats_create_vcpu(_metadata, self->vm, VCPU_ID);
	self->source = variant->vcpu ? self->vcpu : self->vm;
	self->fd = stats_get_fd(_metadata, self->source);
	stats_load(_metadata, self->fd, &self->file);
}

FIXTURE_TEARDOWN(file) { }

#endif /* SELFTEST_KVM_STATS_FD_FILE_H */
