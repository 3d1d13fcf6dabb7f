# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What the boots share: a profile's data, the plan, the kernel, the QEMU command.
# Sourced, never run.

# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

# DEBUG=debug and DEBUG=kcsan boot kernels that look for errors; 1 is short for debug.
case ${DEBUG:-0} in
0) DEBUG='' ;;
1) DEBUG=debug ;;
debug | kcsan) ;;
*) die "DEBUG=$DEBUG is unknown, choose one of: 0 1 debug kcsan" ;;
esac
vm_build=${VM_BUILD:-build/vm${VARIANT:+-$VARIANT}${DEBUG:+-$DEBUG}}
# Programs are the same for all kernels of an architecture.
# shellcheck disable=SC2034 # for the scripts
vm_programs=${VM_BUILD:-build/vm${VARIANT:+-$VARIANT}}

# need COMMAND PACKAGE: what is missing is said before anything is started.
need() {
	command -v "$1" >/dev/null ||
		die "$1 is missing: apt-get install $2 (or: make deps)"
}

# load_profile NAME: sets its variables, and cc, dir, kernel. A profile may name a
# kind of kernel: that of vm/config/$kind.config.
# shellcheck disable=SC2034 # some are for the caller
load_profile() {
	profile=$1
	kind=
	kernel_arguments=
	[ -f "vm/profiles/${profile:-none}" ] ||
		die "no profile '$profile', choose one of: $(profiles)"
	# shellcheck source=vm/profiles/x86-npt
	. "vm/profiles/$profile"
	case $arch in
	x86)
		need "$qemu" qemu-system-x86
		cc=gcc
		image=arch/x86/boot/bzImage
		# That the timer works is tested in a few ms of the guest, in which an
		# emulated one may get no tick at all while the machine is busy.
		kernel_arguments=no_timer_check
		;;
	arm64)
		need "$qemu" qemu-system-arm
		cc=aarch64-linux-gnu-gcc
		image=arch/arm64/boot/Image
		;;
	esac
	kernel=${KERNEL:-$out/kernel-$arch${kind:+-$kind}${DEBUG:+-$DEBUG}/$image}
	[ -f "$kernel" ] || die "no kernel $kernel: make kernel"
	dir=$vm_build/$profile
	mkdir -p "$dir"
}

profiles() {
	(cd vm/profiles && echo *)
}

# matches NAME PATTERNS: is it one of these comma-separated patterns?
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

# Kernel arguments like these become the environment of init and its tests. The
# paths are those of this machine, for what runs in its root filesystem.
guest_environment() {
	echo "TOP=$top OUT=$top/$out KERNEL=$(realpath "$kernel")"
}

# select_tests SUITE PROFILE NAMES: the lines of the list without PROFILES, those
# that are meant for the profile and, if names are given, are among them.
select_tests() {
	local name where rest
	while read -r name where rest; do
		case $name in '' | '#'*) continue ;; esac
		[ -z "$3" ] || matches "$name" "$3" || continue
		! matches "$2" "$where" || printf '%s %s\n' "$name" "$rest"
	done <"$1/tests"
}

# count_results FILE...: of `ok` and `not ok` lines.
count_results() {
	awk '/^not ok/ { failed++ } /^ok/ { /# SKIP/ ? skipped++ : passed++ }
		END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped }' "$@"
}

# A virtual CPU may wait for a real one longer than a kernel expects of itself: what counts
# as a lockup or a stall is three times as long as usual.
kernel_patience="watchdog_thresh=30 rcupdate.rcu_cpu_stall_timeout=63"

# qemu_command INITRAMFS KERNEL-ARGUMENTS: sets the array qemu_command, for all boots alike.
qemu_command() {
	qemu_command=(
		"$qemu" -nodefaults -no-reboot -display none -monitor none
		-machine "$machine" -cpu "$cpu" -accel "${ACCEL:-tcg,thread=multi}"
		-smp 2 -m "$([ -z "$DEBUG" ] && echo 2G || echo 4G)"
		-kernel "$kernel" -initrd "$1"
		-append "console=$console ignore_loglevel panic=-1 $kernel_patience $kernel_arguments $(guest_environment) $2"
	)
	[ "$host_root" = no ] || qemu_command+=(
		-virtfs "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap"
	)
}
