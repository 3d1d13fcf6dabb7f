/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Why an arm64 vCPU exits from the guest, one line for each reason. Code that needs
 * something for each includes this file with its own macro, which this file undefines:
 *
 *   KVM_EXIT_REASON(name, help)	an element of the statistic exit_reasons
 *
 * name		name of the element, unique; ABI, unlike the place in this list
 * help		one sentence: what the guest did, or what happened to it
 */
#ifndef KVM_EXIT_REASON
#error "Define KVM_EXIT_REASON before including this file"
#endif

KVM_EXIT_REASON(interrupt, "An interrupt of the host")
KVM_EXIT_REASON(serror, "An SError, alone or together with another reason")
KVM_EXIT_REASON(data_abort, "A data access that stage 2 does not allow, for example to MMIO")
KVM_EXIT_REASON(instruction_abort, "An instruction fetch that stage 2 does not allow")
KVM_EXIT_REASON(wfi, "WFI: the guest has nothing to do until the next interrupt")
KVM_EXIT_REASON(wfe, "WFE: the guest waits for an event, for example in a spin lock")
KVM_EXIT_REASON(hvc, "HVC: the guest calls KVM")
KVM_EXIT_REASON(smc, "SMC: the guest calls the firmware")
KVM_EXIT_REASON(eret, "ERET of a guest hypervisor, which enters a nested guest")
KVM_EXIT_REASON(sysreg, "An access to a system register, or to AArch32's cp14 and cp15")
KVM_EXIT_REASON(fp, "Use of floating point or Advanced SIMD, which KVM traps")
KVM_EXIT_REASON(sve, "Use of SVE by a guest without SVE")
KVM_EXIT_REASON(ptrauth, "Use of pointer authentication, which KVM traps")
KVM_EXIT_REASON(debug, "A breakpoint, watchpoint or single step that KVM traps")
KVM_EXIT_REASON(illegal_state, "An illegal exception return into the guest")
KVM_EXIT_REASON(other, "None of the other reasons")

#undef KVM_EXIT_REASON
