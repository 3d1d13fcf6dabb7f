/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Statistics of s390. <linux/kvm_stats_list.h> includes this file and explains
 * the lines.
 */
/* Any thread can inject into a VM. */
KVM_VM_STAT(atomic64_t, inject_io, CUMULATIVE, COUNT,
	    "I/O interrupts injected into the VM")
KVM_VM_STAT(atomic64_t, inject_float_mchk, CUMULATIVE, COUNT,
	    "Floating machine checks injected into the VM")
KVM_VM_STAT(atomic64_t, inject_pfault_done, CUMULATIVE, COUNT,
	    "Completions of page faults reported to the VM")
KVM_VM_STAT(atomic64_t, inject_service_signal, CUMULATIVE, COUNT,
	    "Service signals injected into the VM")
KVM_VM_STAT(atomic64_t, inject_virtio, CUMULATIVE, COUNT,
	    "Virtio interrupts injected into the VM")
KVM_VM_STAT(atomic64_t, aen_forward, CUMULATIVE, COUNT,
	    "Adapter interrupts forwarded to the VM")
KVM_VM_STAT(atomic64_t, gmap_shadow_create, CUMULATIVE, COUNT,
	    "Shadow address spaces created for nested guests")
KVM_VM_STAT(atomic64_t, gmap_shadow_reuse, CUMULATIVE, COUNT,
	    "Runs of nested guests that reused a shadow address space")
KVM_VM_STAT(atomic64_t, gmap_shadow_r1_entry, CUMULATIVE, COUNT,
	    "Region first table entries shadowed")
KVM_VM_STAT(atomic64_t, gmap_shadow_r2_entry, CUMULATIVE, COUNT,
	    "Region second table entries shadowed")
KVM_VM_STAT(atomic64_t, gmap_shadow_r3_entry, CUMULATIVE, COUNT,
	    "Region third table entries shadowed")
KVM_VM_STAT(atomic64_t, gmap_shadow_sg_entry, CUMULATIVE, COUNT,
	    "Segment table entries shadowed")
KVM_VM_STAT(atomic64_t, gmap_shadow_pg_entry, CUMULATIVE, COUNT,
	    "Page table entries shadowed")

KVM_VCPU_STAT(u64, exit_userspace, CUMULATIVE, COUNT,
	      "Intercepts that user space handled",
	      .alias = "userspace_handled")
KVM_VCPU_STAT(u64, exit_null, CUMULATIVE, COUNT,
	      "Exits from SIE without an intercept")
KVM_VCPU_STAT(u64, exit_external_request, CUMULATIVE, COUNT,
	      "Intercepts by an external request")
KVM_VCPU_STAT(u64, exit_io_request, CUMULATIVE, COUNT,
	      "Intercepts by an I/O request")
KVM_VCPU_STAT(u64, exit_external_interrupt, CUMULATIVE, COUNT,
	      "Intercepts by an external interrupt")
KVM_VCPU_STAT(u64, exit_stop_request, CUMULATIVE, COUNT,
	      "Intercepts by a stop request")
KVM_VCPU_STAT(u64, exit_validity, CUMULATIVE, COUNT,
	      "Intercepts by an invalid state description")
KVM_VCPU_STAT(u64, exit_instruction, CUMULATIVE, COUNT,
	      "Intercepts by an instruction")
KVM_VCPU_STAT(u64, exit_pei, CUMULATIVE, COUNT,
	      "Intercepts by a partial execution")
KVM_VCPU_STAT(u64, halt_no_poll_steal, CUMULATIVE, COUNT,
	      "Halts that did not poll because of high steal time")
KVM_VCPU_STAT(u64, instruction_lctl, CUMULATIVE, COUNT,
	      "LCTL instructions that KVM emulated")
KVM_VCPU_STAT(u64, instruction_lctlg, CUMULATIVE, COUNT,
	      "LCTLG instructions that KVM emulated")
KVM_VCPU_STAT(u64, instruction_stctl, CUMULATIVE, COUNT,
	      "STCTL instructions that KVM emulated")
KVM_VCPU_STAT(u64, instruction_stctg, CUMULATIVE, COUNT,
	      "STCTG instructions that KVM emulated")
KVM_VCPU_STAT(u64, exit_program_interruption, CUMULATIVE, COUNT,
	      "Intercepts by a program interruption")
KVM_VCPU_STAT(u64, exit_instr_and_program, CUMULATIVE, COUNT,
	      "Intercepts by instruction and program interruption",
	      .alias = "exit_instr_and_program_int")
KVM_VCPU_STAT(u64, exit_operation_exception, CUMULATIVE, COUNT,
	      "Intercepts by an operation exception")
KVM_VCPU_STAT(u64, deliver_ckc, CUMULATIVE, COUNT,
	      "Clock comparator interrupts delivered")
KVM_VCPU_STAT(u64, deliver_cputm, CUMULATIVE, COUNT,
	      "CPU timer interrupts delivered")
KVM_VCPU_STAT(u64, deliver_external_call, CUMULATIVE, COUNT,
	      "External calls delivered")
KVM_VCPU_STAT(u64, deliver_emergency_signal, CUMULATIVE, COUNT,
	      "Emergency signals delivered")
KVM_VCPU_STAT(u64, deliver_service_signal, CUMULATIVE, COUNT,
	      "Service signals delivered")
KVM_VCPU_STAT(u64, deliver_virtio, CUMULATIVE, COUNT,
	      "Virtio interrupts delivered")
KVM_VCPU_STAT(u64, deliver_stop_signal, CUMULATIVE, COUNT,
	      "Stop signals delivered")
KVM_VCPU_STAT(u64, deliver_prefix_signal, CUMULATIVE, COUNT,
	      "Set-prefix signals delivered")
KVM_VCPU_STAT(u64, deliver_restart_signal, CUMULATIVE, COUNT,
	      "Restart signals delivered")
KVM_VCPU_STAT(u64, deliver_program, CUMULATIVE, COUNT,
	      "Program interruptions delivered")
KVM_VCPU_STAT(u64, deliver_io, CUMULATIVE, COUNT,
	      "I/O interrupts delivered")
KVM_VCPU_STAT(u64, deliver_machine_check, CUMULATIVE, COUNT,
	      "Machine checks delivered")
KVM_VCPU_STAT(u64, exit_wait_state, CUMULATIVE, COUNT,
	      "Wait states that the vCPU entered")
/* Any thread can inject into a vCPU, under the lock of the vCPU's local interrupts. */
KVM_VCPU_STAT(u64, inject_ckc, CUMULATIVE, COUNT,
	      "Clock comparator interrupts injected")
KVM_VCPU_STAT(u64, inject_cputm, CUMULATIVE, COUNT,
	      "CPU timer interrupts injected")
KVM_VCPU_STAT(u64, inject_external_call, CUMULATIVE, COUNT,
	      "External calls injected")
KVM_VCPU_STAT(u64, inject_emergency_signal, CUMULATIVE, COUNT,
	      "Emergency signals injected")
KVM_VCPU_STAT(u64, inject_mchk, CUMULATIVE, COUNT,
	      "Machine checks injected")
KVM_VCPU_STAT(u64, inject_pfault_init, CUMULATIVE, COUNT,
	      "Page faults in progress reported to the vCPU")
KVM_VCPU_STAT(u64, inject_program, CUMULATIVE, COUNT,
	      "Program interruptions injected")
KVM_VCPU_STAT(u64, inject_restart, CUMULATIVE, COUNT,
	      "Restart signals injected")
KVM_VCPU_STAT(u64, inject_set_prefix, CUMULATIVE, COUNT,
	      "Set-prefix signals injected")
KVM_VCPU_STAT(u64, inject_stop_signal, CUMULATIVE, COUNT,
	      "Stop signals injected")
/* From here on, only the vCPU thread counts. */
KVM_VCPU_STAT(u64, instruction_epsw, CUMULATIVE, COUNT,
	      "EPSW instructions that KVM emulated")
KVM_VCPU_STAT(u64, instruction_gs, CUMULATIVE, COUNT,
	      "Guarded storage instructions that KVM handled")
KVM_VCPU_STAT(u64, instruction_io_other, CUMULATIVE, COUNT,
	      "I/O instructions that KVM left to user space")
KVM_VCPU_STAT(u64, instruction_lpsw, CUMULATIVE, COUNT,
	      "LPSW instructions that KVM emulated")
KVM_VCPU_STAT(u64, instruction_lpswe, CUMULATIVE, COUNT,
	      "LPSWE instructions that KVM emulated")
KVM_VCPU_STAT(u64, instruction_lpswey, CUMULATIVE, COUNT,
	      "LPSWEY instructions that KVM emulated")
KVM_VCPU_STAT(u64, instruction_pfmf, CUMULATIVE, COUNT,
	      "PFMF instructions that KVM emulated")
KVM_VCPU_STAT(u64, instruction_ptff, CUMULATIVE, COUNT,
	      "PTFF instructions that KVM handled")
KVM_VCPU_STAT(u64, instruction_sck, CUMULATIVE, COUNT,
	      "SCK instructions that KVM emulated")
KVM_VCPU_STAT(u64, instruction_sckpf, CUMULATIVE, COUNT,
	      "SCKPF instructions that KVM emulated")
KVM_VCPU_STAT(u64, instruction_stidp, CUMULATIVE, COUNT,
	      "STIDP instructions that KVM emulated")
KVM_VCPU_STAT(u64, instruction_spx, CUMULATIVE, COUNT,
	      "SPX instructions that KVM emulated")
KVM_VCPU_STAT(u64, instruction_stpx, CUMULATIVE, COUNT,
	      "STPX instructions that KVM emulated")
KVM_VCPU_STAT(u64, instruction_stap, CUMULATIVE, COUNT,
	      "STAP instructions that KVM emulated")
KVM_VCPU_STAT(u64, instruction_iske, CUMULATIVE, COUNT,
	      "ISKE instructions that KVM emulated")
KVM_VCPU_STAT(u64, instruction_ri, CUMULATIVE, COUNT,
	      "Runtime instrumentation instructions that KVM handled")
KVM_VCPU_STAT(u64, instruction_rrbe, CUMULATIVE, COUNT,
	      "RRBE instructions that KVM emulated")
KVM_VCPU_STAT(u64, instruction_sske, CUMULATIVE, COUNT,
	      "SSKE instructions that KVM emulated")
KVM_VCPU_STAT(u64, instruction_ipte_interlock, CUMULATIVE, COUNT,
	      "Waits for the IPTE interlock")
KVM_VCPU_STAT(u64, instruction_stsi, CUMULATIVE, COUNT,
	      "STSI instructions that KVM emulated")
KVM_VCPU_STAT(u64, instruction_stfl, CUMULATIVE, COUNT,
	      "STFL instructions that KVM emulated")
KVM_VCPU_STAT(u64, instruction_tb, CUMULATIVE, COUNT,
	      "TEST BLOCK instructions that KVM emulated")
KVM_VCPU_STAT(u64, instruction_tpi, CUMULATIVE, COUNT,
	      "TPI instructions that KVM emulated")
KVM_VCPU_STAT(u64, instruction_tprot, CUMULATIVE, COUNT,
	      "TPROT instructions that KVM emulated")
KVM_VCPU_STAT(u64, instruction_tsch, CUMULATIVE, COUNT,
	      "TSCH instructions that KVM handled")
KVM_VCPU_STAT(u64, instruction_sie, CUMULATIVE, COUNT,
	      "SIE instructions of the guest")
KVM_VCPU_STAT(u64, instruction_essa, CUMULATIVE, COUNT,
	      "ESSA instructions that KVM emulated")
KVM_VCPU_STAT(u64, instruction_sthyi, CUMULATIVE, COUNT,
	      "STHYI instructions that KVM emulated")
KVM_VCPU_STAT(u64, instruction_sigp_sense, CUMULATIVE, COUNT,
	      "SIGP sense orders")
KVM_VCPU_STAT(u64, instruction_sigp_sense_running, CUMULATIVE, COUNT,
	      "SIGP sense running status orders")
KVM_VCPU_STAT(u64, instruction_sigp_external_call, CUMULATIVE, COUNT,
	      "SIGP external call orders")
KVM_VCPU_STAT(u64, instruction_sigp_emergency, CUMULATIVE, COUNT,
	      "SIGP emergency signal orders")
KVM_VCPU_STAT(u64, instruction_sigp_cond_emergency, CUMULATIVE, COUNT,
	      "SIGP conditional emergency signal orders")
KVM_VCPU_STAT(u64, instruction_sigp_start, CUMULATIVE, COUNT,
	      "SIGP start orders")
KVM_VCPU_STAT(u64, instruction_sigp_stop, CUMULATIVE, COUNT,
	      "SIGP stop orders")
KVM_VCPU_STAT(u64, instruction_sigp_stop_store_status, CUMULATIVE, COUNT,
	      "SIGP stop and store status orders")
KVM_VCPU_STAT(u64, instruction_sigp_store_status, CUMULATIVE, COUNT,
	      "SIGP store status at address orders")
KVM_VCPU_STAT(u64, instruction_sigp_store_adtl_status, CUMULATIVE, COUNT,
	      "SIGP store additional status orders")
KVM_VCPU_STAT(u64, instruction_sigp_arch, CUMULATIVE, COUNT,
	      "SIGP set architecture orders",
	      .alias = "instruction_sigp_set_arch")
KVM_VCPU_STAT(u64, instruction_sigp_prefix, CUMULATIVE, COUNT,
	      "SIGP set prefix orders",
	      .alias = "instruction_sigp_set_prefix")
KVM_VCPU_STAT(u64, instruction_sigp_restart, CUMULATIVE, COUNT,
	      "SIGP restart orders")
KVM_VCPU_STAT(u64, instruction_sigp_init_cpu_reset, CUMULATIVE, COUNT,
	      "SIGP initial CPU reset orders")
KVM_VCPU_STAT(u64, instruction_sigp_cpu_reset, CUMULATIVE, COUNT,
	      "SIGP CPU reset orders")
KVM_VCPU_STAT(u64, instruction_sigp_unknown, CUMULATIVE, COUNT,
	      "SIGP orders that KVM does not know")
KVM_VCPU_STAT(u64, instruction_diagnose_10, CUMULATIVE, COUNT,
	      "DIAG 0x10, release pages")
KVM_VCPU_STAT(u64, instruction_diagnose_44, CUMULATIVE, COUNT,
	      "DIAG 0x44, voluntary time slice end")
KVM_VCPU_STAT(u64, instruction_diagnose_9c, CUMULATIVE, COUNT,
	      "DIAG 0x9c, directed yield")
KVM_VCPU_STAT(u64, diag_9c_ignored, CUMULATIVE, COUNT,
	      "DIAG 0x9c that found no vCPU to yield to")
KVM_VCPU_STAT(u64, diag_9c_forward, CUMULATIVE, COUNT,
	      "DIAG 0x9c passed on to the hypervisor below")
KVM_VCPU_STAT(u64, instruction_diagnose_258, CUMULATIVE, COUNT,
	      "DIAG 0x258, page fault handshake")
KVM_VCPU_STAT(u64, instruction_diagnose_308, CUMULATIVE, COUNT,
	      "DIAG 0x308, initial program load")
KVM_VCPU_STAT(u64, instruction_diagnose_500, CUMULATIVE, COUNT,
	      "DIAG 0x500, virtio hypercall")
KVM_VCPU_STAT(u64, instruction_diagnose_other, CUMULATIVE, COUNT,
	      "DIAG with another code")
KVM_VCPU_STAT(u64, pfault_sync, CUMULATIVE, COUNT,
	      "Page faults of the guest that KVM resolved while the vCPU waited")
