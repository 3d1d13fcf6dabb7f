# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Runs the cases of a check: TAP on stdout, exit status 1 if a case failed. Sourced after
# lib.sh, by scripts that have a directory $scratch.

# none TEXT: fails if stdin has a line, and prints TEXT and the lines
none() {
	local lines
	lines=$(cat)
	[ -z "$lines" ] || { printf '%s\n' "$1" "$lines"; return 1; }
}

# no_tags ARGUMENT...: runs lintian, and fails if it prints a tag
no_tags() {
	# shellcheck disable=SC2154 # set by the script
	lintian --info --display-level '>=pedantic' --fail-on none "$@" >"$scratch/lintian"
	none "lintian printed:" <"$scratch/lintian"
}

# run_cases FUNCTION...: runs each in its own shell, which stops at the first error. If a case
# passes, prints only the comments in its output. Never call it in a condition: there bash ignores
# errors, and a case fails only if its last command does.
run_cases() {
	local case number=0 failed=0 status
	set +e
	(set -e; false; true)
	status=$?
	set -e
	[ "$status" -ne 0 ] || die "run_cases is called in a condition"
	for case in "$@"; do
		number=$((number + 1))
		set +e
		# shellcheck disable=SC2154 # set by the script
		(set -e; "$case") >"$scratch/case.log" 2>&1
		status=$?
		set -e
		if [ "$status" -eq 0 ]; then
			echo "ok $number - $case"
			grep -a '^#' "$scratch/case.log" || :
		else
			failed=$((failed + 1))
			echo "not ok $number - $case"
			sed 's/^/# /' "$scratch/case.log"
		fi
	done
	echo "1..$number"
	[ "$failed" -eq 0 ]
}

# inside COMMAND...: runs it in the Debian whose directory is $root, with /proc, which dkms needs
inside() {
	# shellcheck disable=SC2016,SC2154 # the inner shell's variable; set by the script
	unshare --mount sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$root" \
		/usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
		DEBIAN_FRONTEND=noninteractive "$@"
}
