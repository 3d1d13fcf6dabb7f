# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # top and tree are set by lib.sh
#
# Calls the kernel's own build, with cross compilers and ccache. User, time and place of a
# build do not get into objects, so that the cache also serves another clone. Sourced after
# lib.sh.

export CCACHE_BASEDIR=$top CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=time_macros
# Let the compiler list what a file includes: a cache miss takes a third less time than with a
# run of cpp. The list lacks files that assembler code takes in by .incbin, as bzImage does
# with the kernel, so assembler code is not cached (see kbuild_in).
export CCACHE_DEPEND=1
# Set for make only: in the configuration, this symbol of the series would make every object
# differ from the base's, and the cache would have none of them.
export CONFIG_KVM_STATS_KUNIT_TEST=y
export KBUILD_BUILD_TIMESTAMP='Fri Jan  1 00:00:00 UTC 2021'
export KBUILD_BUILD_USER=kvm-stats KBUILD_BUILD_HOST=build KBUILD_BUILD_VERSION=1

# cross ARCH: the prefix of the cross compiler
cross() {
	local prefix
	case $1 in
	x86) prefix=x86_64-linux-gnu- ;;
	arm64) prefix=aarch64-linux-gnu- ;;
	mips) prefix=mipsel-linux-gnu- ;;
	powerpc) prefix=powerpc64le-linux-gnu- ;;
	s390) prefix=s390x-linux-gnu- ;;
	riscv) prefix=riscv64-linux-gnu- ;;
	loongarch) prefix=loongarch64-linux-gnu- ;;
	*) die "unknown architecture $1" ;;
	esac
	echo "$prefix"
}

# base_fragments ARCH: of the configuration, those that all kernels of the base have
base_fragments() {
	local fragment
	for fragment in common "$BASE" "$1" "$BASE-$1"; do
		[ ! -f "vm/config/$fragment.config" ] || echo "vm/config/$fragment.config"
	done
}

# kbuild_in SOURCE ARCH OBJ TARGET...
kbuild_in() {
	local source=$1 arch=$2 obj=$3 prefix
	shift 3
	prefix=$(cross "$arch")
	make -C "$source" O="$top/$obj" ARCH="$arch" CROSS_COMPILE="$prefix" \
		CC="ccache ${prefix}gcc" "cmd_as_o_S=${prefix}gcc \$(a_flags) -c -o \$@ \$<" \
		LOCALVERSION= -j"$(nproc)" "$@"
}

# kbuild ARCH OBJ TARGET...: the same, for the tree
kbuild() {
	kbuild_in "$tree" "$@"
}

# kbuild_boot SOURCE ARCH OBJ: builds what a boot needs
kbuild_boot() {
	case $2 in
	x86) kbuild_in "$@" bzImage modules ;;
	arm64) kbuild_in "$@" Image ;;
	mips | powerpc) kbuild_in "$@" vmlinux ;;
	esac
}

# kbuild_selftests SOURCE ARCH HEADERS OUTPUT ARGUMENT...: builds KVM's selftests, linked
# statically to run in any initramfs. HEADERS has the installed uapi headers.
kbuild_selftests() {
	local source=$1 arch=$2 headers=$3 output=$4 prefix
	shift 4
	prefix=$(cross "$arch")
	make -C "$source/tools/testing/selftests/kvm" "OUTPUT=$top/$output" \
		"INSTALL_HDR_PATH=$top/$headers" KSFT_KHDR_INSTALL_DONE=1 \
		"ARCH=${arch/#x86/x86_64}" "CROSS_COMPILE=$prefix" "CC=ccache ${prefix}gcc" \
		USERLDFLAGS=-static "$@"
}

# check_config CONFIG FRAGMENT...: names every symbol that did not survive. If several
# fragments set a symbol, the last one counts.
check_config() {
	local config=$1 line lost=0
	shift
	while read -r line; do
		case $line in
		*=n) ! grep -q "^${line%=n}=" "$config" && continue ;;
		*) grep -qxF -- "$line" "$config" && continue ;;
		esac
		echo "asked for, but not in $config: $line" >&2
		lost=1
	done < <(awk -F= '/^CONFIG_/ { last[$1] = $0 } END { for (symbol in last) print last[symbol] }' "$@")
	return "$lost"
}
