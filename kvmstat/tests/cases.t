# SPDX-License-Identifier: GPL-2.0
# Cases that kvmstat why has to tell apart. A case is a recording of two samples:
#
#	case NAME		begins it; the VM has this name
#	vcpus N			how many
#	interval MS		between the samples, by default 1000
#	kernel old|stock|stock-without-guest-time
#				without what the newest series adds; without statistics files; and
#				without guest time in /proc
#	vcpu A[-B] WORDS	guest=, exit=, halt=, sleep=, ready=, user=, off=: percent of the time;
#				state=, since= (ms ago), last= (exit to the VMM); reason.R=, user.R=
#				(exits), reasonms.R=, sleepms.R= (time); wakeups=; never (it ran);
#				out (of KVM_RUN); cpus=, cgroup=
#	lost MS			time that CPU 0 has not counted
#	thread NAME run=PERCENT cpus=LIST
#	cgroup PATH throttled=MS [before=MS]
#	is SENTENCE		what kvmstat should say; ends the case

# Averages would say "idle" of each of the next ones.

case one-of-eight-starved
vcpus 8
vcpu 0 guest=50 ready=50 cpus=0
vcpu 1-7 halt=100 state=halt since=5000
is starved of CPU: vCPU 0 of 8 waits for a CPU 50% of the time, because other processes use the CPUs; find them (ps, top) or move it.

case one-of-eight-slow-vmm
vcpus 8
vcpu 0 user=80 exit=10 guest=10 reason.io=800 user.io=800
vcpu 1-7 halt=100 state=halt since=5000
is waiting for its VMM: vCPU 0 of 8 spends 80% of the time in the VMM; io causes 100% of these exits, 1 ms each; look at the device behind them.

case two-of-eight-spin
vcpus 8
vcpu 0-1 guest=100
vcpu 2-7 halt=100 state=halt since=5000
is busy with its own work: 2 of 8 vCPUs run the guest all the time; look inside the guest.

case one-of-eight-hangs
vcpus 8
vcpu 0 state=user since=12000 last=mmio user=100
vcpu 1-7 halt=100 state=halt since=5000
is hanging in its VMM: vCPU 0 of 8 is in the VMM for 12 s, since an exit for mmio; look at its threads (gdb -p 100).

# vCPUs that nobody runs are no cause.

case unplugged
vcpus 4
vcpu 0-1 halt=100 state=halt since=5000 wakeups=10
vcpu 2-3 user=100 state=user since=60000 last=intr
is idle: 2 of 4 vCPUs are halted all the time and woken 20 times per second; if it is slow, look at its disks and network, then at its guest's timers; 2 of its vCPUs are not run since 11:05:40.

case not-started-idle
vcpus 4
vcpu 0 halt=100 state=halt since=5000
vcpu 1-3 off=100 state=off since=60000
is idle: vCPU 0 of 4 is halted all the time and woken 0 times per second; if it is slow, look at its disks and network, then at its guest's timers; 3 of its vCPUs are not started.

case not-started-spins
vcpus 4
vcpu 0 guest=100
vcpu 1-3 off=100 state=off since=60000
is busy with its own work: vCPU 0 of 4 runs the guest all the time; look inside the guest; 3 of its vCPUs are not started.

case not-started-old-kernel
kernel old
vcpus 4
vcpu 0 guest=100
vcpu 1-3 sleep=100 state=sleep since=60000 never
is busy with its own work: vCPU 0 of 4 runs the guest all the time; look inside the guest; 3 of its vCPUs are not started.

# A hang is not a pause.

case hangs
vcpus 2
vcpu 0 user=100 state=user since=90000 last=io
vcpu 1 user=100 state=user since=89000 last=intr
is hanging in its VMM: vCPU 0 of 2 is in the VMM for 90 s, since an exit for io; look at its threads (gdb -p 100); 1 of its vCPUs is not run since 11:05:11.

case paused
vcpus 2
vcpu 0-1 user=100 state=user since=300000 last=intr
is paused: its VMM runs no vCPU (as after QMP's stop; cont resumes it) since 11:01:40.

case hangs-or-paused-old-kernel
kernel old
vcpus 2
vcpu 0-1 user=100 state=user since=300000
is paused, or hanging in its VMM: no vCPU has run for 5 min, and this kernel does not say why; ask the VMM (QMP's query-status).

case one-is-out-old-kernel
kernel old
vcpus 4
vcpu 0-2 halt=100 state=halt since=5000
vcpu 3 user=100 state=user since=60000
is idle: 3 of 4 vCPUs are halted all the time and woken 0 times per second; if it is slow, look at its disks and network, then at its guest's timers; 1 of its vCPUs is not run since 11:05:40.

case internal-error
vcpus 2
vcpu 0 user=100 state=user since=7200000 last=internal_error
vcpu 1 user=100 state=user since=7200000 last=intr
is stopped by an error for 2 h: KVM could not go on, mostly after an instruction that it cannot emulate; the last exit of vCPU 0 of 2 is internal_error; read its VMM's log; 1 of its vCPUs is not run since 09:06:40.

case emulated-halt
vcpus 1
vcpu 0 user=100 state=user since=60000 last=hlt
is idle: its vCPU is halted all the time in the VMM; if it is slow, look at its disks and network, then at its guest's timers.

# Waits: only a cause that was measured.

case quota-below-older-total
vcpus 2
vcpu 0-1 guest=20 ready=80
cgroup /machine/vm throttled=1500
cgroup /machine throttled=0 before=9000000
is starved of CPU: its vCPUs wait for a CPU 80% of the time, because the CPU quota of its cgroup is used up; raise it (cpu.max).

case quota-of-each-vcpu
vcpus 2
vcpu 0 guest=20 ready=80 cgroup=/machine/vm/vcpu0
vcpu 1 guest=20 ready=80 cgroup=/machine/vm/vcpu1
cgroup /machine/vm/vcpu0 throttled=780
cgroup /machine/vm/vcpu1 throttled=780
cgroup /machine/vm throttled=0
is starved of CPU: its vCPUs wait for a CPU 80% of the time, because the CPU quota of its cgroup is used up; raise it (cpu.max).

case throttled-a-little
vcpus 4
vcpu 0-3 guest=50 ready=50
cgroup /machine/vm throttled=200
is starved of CPU: its vCPUs wait for a CPU 50% of the time, because other processes use the CPUs; find them (ps, top) or move it.

case two-vcpus-pinned-together
vcpus 2
vcpu 0-1 guest=50 ready=50 cpus=2
is starved of CPU: its vCPUs wait for a CPU 50% of the time, because its own threads share the CPUs that it may use; give it more.

case vcpu-and-io-thread
vcpus 1
vcpu 0 guest=50 ready=50 cpus=1
thread IO run=50 cpus=1
is starved of CPU: its vCPU waits for a CPU 50% of the time, because its own threads share the CPUs that it may use; give it more; its VMM's other threads use 50% of a CPU.

case full-vm-beside-a-hog
vcpus 4
vcpu 0-3 guest=85 ready=15
is starved of CPU: its vCPUs wait for a CPU 15% of the time, because other processes use the CPUs; find them (ps, top) or move it.

# Sleeps: of the exit's handler, or for memory.

case split-lock
vcpus 2
vcpu 0 sleep=90 exit=5 guest=5 reason.exception=90 reasonms.exception=50 sleepms.exception=900
vcpu 1 halt=100 state=halt since=5000
is busy with exits: vCPU 0 of 2 spends 95% of the time in KVM on 90 exits/s; exception takes 100% of that time, 10.6 ms each; see kvmstat explain exception.

case memory
vcpus 2
vcpu 0 sleep=90 exit=5 guest=5 reason.page_fault=90 reasonms.page_fault=50 sleepms.page_fault=900
vcpu 1 halt=100 state=halt since=5000
is waiting for memory of the host: vCPU 0 of 2 sleeps in page faults 90% of the time; look for swapping, postcopy or userfaultfd.

case memory-with-nested-paging
vcpus 1
vcpu 0 sleep=90 exit=5 guest=5 reason.nested_page_fault=90 reasonms.nested_page_fault=50 sleepms.nested_page_fault=900
is waiting for memory of the host: its vCPU sleeps in page faults 90% of the time; look for swapping, postcopy or userfaultfd.

case sleep-old-kernel
kernel old
vcpus 2
vcpu 0 sleep=90 exit=5 guest=5 reason.exception=90 reasonms.exception=50
vcpu 1 halt=100 state=halt since=5000
is waiting in KVM: vCPU 0 of 2 sleeps there 90% of the time, for memory, a lock or an exit's handler; see kvmstat exits.

case exits
vcpus 2
vcpu 0-1 exit=60 guest=40 reason.cpuid=20000 reasonms.cpuid=590 reason.hlt=100 reasonms.hlt=10
is busy with exits: its vCPUs spend 60% of the time in KVM on 40200 exits/s; cpuid takes 98% of that time, 29.5 us each; see kvmstat explain cpuid.

# Kernels without statistics files: /proc says less, and nothing else.

case stock-one-starved
kernel stock
vcpus 4
vcpu 0 guest=50 ready=50 cpus=0
vcpu 1-3 halt=100
is starved of CPU: vCPU 0 of 4 waits for a CPU 50% of the time, because other processes use the CPUs; find them (ps, top) or move it.

case stock-idle
kernel stock
vcpus 2
vcpu 0-1 halt=100
is idle, or waiting for something: its vCPUs need no CPU all the time, and /proc does not say why.

case stock-out
kernel stock
vcpus 2
vcpu 0-1 out
is paused, or hanging in its VMM: no vCPU has run for 1.0 s, and this kernel does not say why; ask the VMM (QMP's query-status).

case stock-without-guest-time
kernel stock-without-guest-time
vcpus 1
vcpu 0 guest=100
is busy: its vCPU uses a CPU all the time; this host does not count how much of it is in the guest.

case stock-without-guest-time-idle
kernel stock-without-guest-time
vcpus 2
vcpu 0 guest=100
vcpu 1 halt=100
is busy: vCPU 0 of 2 uses a CPU all the time; this host does not count how much of it is in the guest.

# The host lost ticks: time of the guest looks like time in the VMM.
case stock-lost-ticks
kernel stock
vcpus 2
vcpu 0 guest=28 user=72
vcpu 1 halt=100
lost 720
is busy with its own work: vCPU 0 of 2 runs the guest 98% of the time; look inside the guest.

case stock-slow-vmm
kernel stock
vcpus 2
vcpu 0 guest=28 user=72
vcpu 1 halt=100
is waiting for its VMM: vCPU 0 of 2 spends 72% of the time in the VMM.
