# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154 # shared with the scripts
#
# The minimal Debian in $root of scripts/check-dkms*. Sourced after lib.sh and lib-test.sh by
# scripts that set $profile, a profile of vm/profiles, and have a directory $scratch.

work=build/dkms

# Sets codename and suites, which have the profile's kernels; BASE, whose tests they run; and
# needed, a package that the kernel needs from backports.
export BASE=6.12
needed=linux-base
case ${profile:?} in
debian-13) codename=trixie suites="trixie trixie-security" ;;
debian-13-bpo) codename=trixie suites="trixie trixie-security trixie-backports"
	BASE=7.3 needed=linux-base/trixie-backports ;;
debian-12-bpo) codename=bookworm suites="bookworm bookworm-security bookworm-backports" ;;
*) die "profile $profile is not a Debian" ;;
esac
source_package=linux-source-$BASE

package_sources() {
	local suite
	for suite in $suites; do
		apt_sources "$suite"
	done
}

apt_cache() {
	cat >"$scratch/apt.conf" <<-EOF
	Dir::State "$top/$work/apt/state";
	Dir::State::status "/dev/null";
	Dir::Cache "$top/$work/apt/cache";
	Dir::Etc::sourcelist "$scratch/sources";
	Dir::Etc::sourceparts "/dev/null";
	EOF
	APT_CONFIG="$scratch/apt.conf" apt-cache "$@"
}

# apt_show PACKAGE FIELD
apt_show() {
	apt_cache show "$1" | sed -n "s/^$2: //p" | head -n 1
}

# uncarry DIRECTORY: makes the package in the directory one that does not carry the kernel $release.
# Sets version, the kernel's, and keeps KVM's files in $scratch/carried.tar.xz.
uncarry() {
	local kernels base
	kernels=$(echo "$1"/usr/src/kvm-stats-*/kernels)
	base=$(cat "$kernels/$BASE.base")
	version=$(awk -v release="$release" '$1 == release { print $2 }' dkms/kernels)
	cp "$kernels/${version:=$base}.tar.xz" "$scratch/carried.tar.xz"
	mv "$kernels/$base.tar.xz" "$kernels/$BASE.0-1.tar.xz"
	echo "$BASE.0-1" >"$kernels/$BASE.base"
	rm -f "$kernels/$version.tar.xz"
}

package_is_made() {
	scripts/package-dkms
}

# Builds kvmstat and the selftests that vm/dkms/tests names.
programs_are_made() {
	local selftests=build/$BASE/linux/tools/testing/selftests/kvm word
	scripts/userspace x86
	# shellcheck disable=SC2119 # without its option
	sed "$(base_names)" vm/dkms/tests | awk '!/^#/ { for (i = 5; i <= NF; i++) print $i }' | sort -u |
		while read -r word; do
			[ ! -f "$selftests/$word.c" ] || echo "$word"
		done >"$scratch/selftests"
	xargs scripts/selftests x86 <"$scratch/selftests"
}

# boot SETTING...: boots the kernel $release, and prints the guest's cases as comments
boot() {
	RELEASE=$release vm/boot "$profile" SUITE=vm/dkms "$@" >"$scratch/boot" || {
		cat "$scratch/boot"
		return 1
	}
	sed 's/^\(# \)\?/# /' "$scratch/boot"
}
