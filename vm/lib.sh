# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Shared by all scripts that boot: a profile's data, the plan, the kernel, the emulator's command.
# Sourced, never run.

# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

# DEBUG=debug and DEBUG=kcsan boot kernels that detect errors; 1 is short for debug.
case ${DEBUG:-0} in
0) DEBUG='' ;;
1) DEBUG=debug ;;
debug | kcsan) ;;
*) die "DEBUG=$DEBUG is unknown, choose one of: 0 1 debug kcsan" ;;
esac
vm_build=${VM_BUILD:-$out/vm${DEBUG:+-$DEBUG}}
# Programs are the same for all kernels of an architecture.
# shellcheck disable=SC2034 # for the scripts
vm_programs=${VM_BUILD:-$out/vm}

# package_of COMMAND: the Debian package that scripts/packages lists for it
package_of() {
	awk -v command="$1" '$1 == command { print $2; exit }' scripts/packages
}

# need COMMAND|FILE PACKAGE: exits with a message if it is missing
need() {
	[ -e "$1" ] || command -v "$1" >/dev/null ||
		die "$1 is missing: apt-get install $2 (or: make deps)"
}

# load_profile NAME: sets the profile's variables, and cc, dir, kernel. A profile may set
#   emulator          default: qemu
#   accelerator       QEMU's; default: tcg,thread=multi
#   kind              boots the kernel that is built with vm/config/$kind.config
#   vendor_module     KVM's vendor module
#   kernel_arguments  more kernel arguments
#   cpus              the machine's CPUs, in the emulator's syntax
#   ports             serial, if the machine has no virtio, or no interrupts for it
#   modules           directory of the modules, if the kernel is a distribution's
#   taint             the kernel's taint, if its modules come from another build
#   slowness          factor for the seconds of vm/tests
# shellcheck disable=SC2034 # callers use some of them
load_profile() {
	profile=$1
	emulator=qemu
	accelerator=tcg,thread=multi
	kind=
	vendor_module=
	kernel_arguments=
	cpus=2
	ports=virtio
	slowness=1
	modules=
	taint=0
	[ -f "vm/profiles/${profile:-none}" ] ||
		die "no profile '$profile', choose one of: $(profiles)"
	# shellcheck source=vm/profiles/x86-npt
	. "vm/profiles/$profile"
	case $arch in
	x86)
		cc=gcc
		image=arch/x86/boot/bzImage
		# The kernel tests its timer for a few ms. While this machine is busy, an
		# emulated timer may not tick at all in that time. At any time the clocksource
		# watchdog may find that clocks disagree. It then rejects the TSC, and the
		# scheduler's clock, which measures waits, jumps by tens of milliseconds.
		kernel_arguments="no_timer_check tsc=nowatchdog $kernel_arguments"
		;;
	arm64)
		cc=aarch64-linux-gnu-gcc
		image=arch/arm64/boot/Image
		;;
	powerpc)
		cc=powerpc64le-linux-gnu-gcc
		image=vmlinux
		;;
	mips)
		cc=mipsel-linux-gnu-gcc
		image=vmlinux
		;;
	esac
	kind=${CONFIG:-$kind}
	"${emulator}_needs"
	# A debug kernel is about 6 times slower.
	[ -z "$DEBUG" ] || slowness=$((slowness * 6))
	kernel=${KERNEL:-$out/kernel-$arch${kind:+-$kind}${DEBUG:+-$DEBUG}/$image}
	[ -f "$kernel" ] || die "no kernel $kernel: make kernel"
	dir=$vm_build/$profile
	mkdir -p "$dir"
}

# profiles: the profiles whose kernel is built here
profiles() {
	find vm/profiles -type f ! -name 'debian-*' -printf '%f\n' | sort | paste -sd ' '
}

# arch_of PROFILE: the profile's architecture. Unlike load_profile, it needs no kernel.
arch_of() {
	[ -f "vm/profiles/$1" ] || die "no profile '$1', choose one of: $(profiles)"
	sed -n 's/^arch=//p' "vm/profiles/$1"
}

# matches NAME PATTERNS: does NAME match one of the comma-separated patterns?
matches() {
	local name=$1 pattern
	local -a patterns
	IFS=, read -ra patterns <<<"$2"
	for pattern in "${patterns[@]}"; do
		# shellcheck disable=SC2053
		[[ $name != $pattern ]] || return 0
	done
	return 1
}

# These kernel arguments become the environment of init and its tests. The paths are for tests
# that run in this machine's root filesystem. (QEMU's Malta takes no more than 256
# bytes of arguments.)
guest_environment() {
	[ "$host_root" = no ] || echo "TOP=$top OUT=$top/$out KERNEL=$(realpath "$kernel")"
}

# select_tests SUITE PROFILE NAMES: the lines of the list for this profile, without their
# PROFILES; if NAMES are given, only lines with these names. Leaves out tests of a topic that the
# base lacks.
select_tests() {
	local name where rest
	# shellcheck disable=SC2119 # without its option
	while read -r name where rest; do
		case $name in
		'' | '#'*) continue ;;
		guest_*) has_topic guest || continue ;;
		esac
		[ -z "$3" ] || matches "$name" "$3" || continue
		! matches "$2" "$where" || printf '%s %s\n' "$name" "$rest"
	done < <(sed "$(base_names)" "$1/tests" && { [ "$1" != vm ] || cat "$(expect tests)"; })
}

# program_path: directories with programs of tests; the first match wins
program_path() {
	printf '%s\n' "${PROGRAMS:-vm/guest}" vm/guest "vm/expect/$BASE" "$vm_programs/$arch" \
		"$out/selftests-$arch" "$out/kvmstat-$arch"
}

# count_results FILE...: counts `ok` and `not ok` lines
count_results() {
	awk '/^not ok/ { failed++ } /^ok/ { /# SKIP/ ? skipped++ : passed++ }
		END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped }' "$@"
}

# An emulated CPU may wait long for a real one, so the kernel reports lockups and stalls after
# three times the usual time.
kernel_patience="watchdog_thresh=30 rcupdate.rcu_cpu_stall_timeout=63"
# While this machine is busy, the rate of an emulated clock can be measured more than 250 ppm
# wrong. KVM then refuses to run a guest at that rate without scaling, and uses 0 as the rate:
# the guest's timers expire too late.
kernel_patience+=" kvm.tsc_tolerance_ppm=100000"

# An emulator is four functions:
#   ..._needs    fails if a program is missing on this machine
#   ..._command  INITRAMFS KERNEL-ARGUMENTS: sets the array command, for all boots alike
#   ..._ports    adds ports to the command that write to console, out and verdict in $dir
#   ..._shell    adds this terminal as the console
# The command's exit status is 0 if the guest powered off.
all_kernel_arguments() {
	local tell=''
	[ "$ports" = virtio ] || tell="PORT_out=ttyS1 PORT_verdict=ttyS2"
	echo "$tell console=$console ignore_loglevel panic=-1 $kernel_patience $kernel_arguments $(guest_environment) $1"
}

qemu_needs() {
	need "$qemu" "$(package_of "$qemu")"
}

qemu_command() {
	command=(
		"$qemu" -nodefaults -no-reboot -display none -monitor none
		-machine "$machine" -cpu "$cpu" -accel "${ACCEL:-$accelerator}"
		-smp "$cpus" -m "$([ -z "$DEBUG" ] && echo 2G || echo 4G)"
		-kernel "$kernel" -initrd "$1" -append "$(all_kernel_arguments "$2")"
	)
	[ "$host_root" = no ] || command+=(
		-virtfs "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap"
	)
}

qemu_ports() {
	command+=(
		-chardev "file,id=console,path=$dir/console" -serial chardev:console
		-chardev "file,id=out,path=$dir/out"
		-chardev "file,id=verdict,path=$dir/verdict"
	)
	if [ "$ports" = virtio ]; then
		command+=(
			-device virtio-serial-pci
			-device "virtserialport,chardev=out,name=out"
			-device "virtserialport,chardev=verdict,name=verdict"
		)
	else
		command+=(-serial chardev:out -serial chardev:verdict)
	fi
}

qemu_shell() {
	note "$profile: 'exit' powers off, Ctrl-A X ends QEMU at once"
	command+=(-serial mon:stdio)
}

# Bochs boots from a CD. ARGS= adds lines to its configuration.
isolinux=/usr/lib/ISOLINUX/isolinux.bin
ldlinux=/usr/lib/syslinux/modules/bios/ldlinux.c32

bochs_needs() {
	need bochs bochs
	need /usr/lib/x86_64-linux-gnu/bochs/plugins/libbx_term_gui.so bochs-term
	need /usr/share/bochs/BIOS-bochs-latest bochsbios
	need /usr/share/vgabios/vgabios.bin vgabios
	need script bsdutils
	need xorriso xorriso
	need "$isolinux" isolinux
	need "$ldlinux" syslinux-common
}

# Kernel arguments that Bochs needs:
#   reboot=triple   Bochs has no -no-reboot, but an option to panic at a triple fault
#   tsc_early_khz   its CPUs report the model's frequency, but count one cycle per instruction
#   clearcpuid=     XSAVEC, XSAVES: CPUID reports the wrong size of their area (noxsaves would
#                   become an argument of init)
#   notscdeadline   the local APIC's deadline timer does not work
#   idle=halt       events do not wake a CPU from MWAIT
#   share_irqs      four serial ports have two interrupt lines
# shellcheck disable=SC2154 # the profile sets ips and cpus
bochs_command() {
	local quirks="reboot=triple tsc_early_khz=$((ips / 1000)) clearcpuid=321,323 lapic=notscdeadline idle=halt 8250.share_irqs=1"
	cat >"$dir/isolinux.cfg" <<-EOF
	default linux
	label linux
	kernel kernel
	append initrd=initramfs $quirks $(all_kernel_arguments "$2")
	EOF
	xorriso -as mkisofs -quiet -o "$dir/cd.iso" -graft-points \
		-b isolinux.bin -c boot.cat -no-emul-boot -boot-load-size 4 -boot-info-table \
		isolinux.bin="$isolinux" ldlinux.c32="$ldlinux" \
		isolinux.cfg="$dir/isolinux.cfg" kernel="$kernel" initramfs="$1" 2>"$dir/xorriso.log" ||
		die "no CD: $(tail -n 3 "$dir/xorriso.log")"
	cat >"$dir/bochsrc" <<-EOF
	cpu: model=$cpu, count=$cpus, quantum=32, ips=$ips, reset_on_triple_fault=0, ignore_bad_msrs=1
	memory: guest=2048, host=2048
	clock: sync=none, time0=utc
	romimage: file=/usr/share/bochs/BIOS-bochs-latest, options=fastboot
	vgaromimage: file=/usr/share/vgabios/vgabios.bin
	ata0-master: type=cdrom, path=$dir/cd.iso, status=inserted
	boot: cdrom
	display_library: term
	speaker: enabled=0
	sound: waveoutdrv=dummy, waveindrv=dummy, midioutdrv=dummy
	log: $dir/bochs.log
	debugger_log: -
	panic: action=fatal
	error: action=report
	info: action=report
	debug: action=ignore
	EOF
	command=(vm/bochs "$dir")
}

bochs_ports() {
	cat >>"$dir/bochsrc" <<-EOF
	com1: enabled=1, mode=file, dev=$dir/console
	com2: enabled=1, mode=file, dev=$dir/out
	com3: enabled=1, mode=file, dev=$dir/verdict
	EOF
}

bochs_shell() {
	local terminal
	terminal=$(tty) || die "the shell needs a terminal"
	note "$profile: 'exit' powers off"
	echo "com1: enabled=1, mode=term, dev=$terminal" >>"$dir/bochsrc"
}
