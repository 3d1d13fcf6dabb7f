/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fixture of most tests of KVM's statistics files: a guest with one vCPU.
 */
#ifndef SELFTEST_KVM_STATS_FD_FIXTURE_H
#define SELFTEST_KVM_STATS_FD_FIXTURE_H

#include "stats_fd_guest.h"

FIXTURE(guest)
{
	struct guest guest;
	struct guest_vcpu *vcpu;
};

FIXTURE_SETUP(guest)
{
	guest_create(_metadata, &self->guest, 1);
	self->vcpu = &self->guest.vcpu[0];
}

FIXTURE_TEARDOWN(guest) { }

#endif /* SELFTEST_KVM_STATS_FD_FIXTURE_H */
