/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The states of a vCPU thread, one line each; the first is 0. Code that needs
 * something for each includes this file with its own macro, which this file
 * undefines at its end:
 *
 *   KVM_VCPU_STATE(name, help)
 *
 * name		name of a value of the statistic state; ABI
 * help		one sentence: what the thread does
 */
#ifndef KVM_VCPU_STATE
#error "Define KVM_VCPU_STATE before including this file"
#endif

KVM_VCPU_STATE(none, "Not known: the vCPU never ran or is gone, or KVM does not account for time")
KVM_VCPU_STATE(guest, "The vCPU thread is in guest mode")
KVM_VCPU_STATE(exit, "The vCPU thread runs in KVM_RUN, outside guest mode")
KVM_VCPU_STATE(poll, "The vCPU thread polls for an event in a halt")
KVM_VCPU_STATE(halt, "The vCPU thread is blocked in a halt, or was woken there and waits for a CPU")
KVM_VCPU_STATE(sleep, "The vCPU thread waits in KVM_RUN for memory or a lock, then for a CPU")
KVM_VCPU_STATE(off, "The vCPU waits in KVM_RUN to be started, as after INIT or a power-off")
KVM_VCPU_STATE(ready, "The vCPU thread was preempted in KVM_RUN and waits for a CPU")
KVM_VCPU_STATE(user, "The vCPU thread is outside KVM_RUN, with or without a CPU")

#undef KVM_VCPU_STATE
