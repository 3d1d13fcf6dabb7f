/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The states of a vCPU's thread, one line each, the first is 0. What is made of
 * them includes this file with a definition of its own of one macro, which is
 * undefined again at its end:
 *
 *   KVM_VCPU_STATE(name, help)
 *
 * name		of the value of the statistic state; ABI
 * help		one sentence: what the thread does
 */
#ifndef KVM_VCPU_STATE
#error "Define KVM_VCPU_STATE before including this file"
#endif

KVM_VCPU_STATE(none, "Not known: it never ran, is gone, or time is not accounted for")
KVM_VCPU_STATE(guest, "Is in guest mode")
KVM_VCPU_STATE(exit, "Is on a CPU in KVM_RUN, outside guest mode")
KVM_VCPU_STATE(poll, "Is on a CPU and polls for an event, in a halt")
KVM_VCPU_STATE(halt, "Is blocked in a halt, or was woken there and waits for a CPU")
KVM_VCPU_STATE(sleep,
	       "Sleeps in KVM_RUN for memory, a lock or a start, or was woken and waits for a CPU")
KVM_VCPU_STATE(ready, "Was preempted in KVM_RUN and waits for a CPU")
KVM_VCPU_STATE(user, "Is outside KVM_RUN, on a CPU or not")

#undef KVM_VCPU_STATE
