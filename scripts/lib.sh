# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034 # used by the scripts that source it
#
# Shared by all scripts: paths, error messages, and progress of long steps. Sourced, never
# run. Changes to the repository's top directory.

# An error in $(...) ends the script, too.
shopt -s inherit_errexit

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cd "$top" || exit 1

# Do not pass a parent make's flags and command-line variables to the kernel's makefiles.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL

die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

note() {
	printf '%s\n' "$*" >&2
}

# The kernel that is patched. All that differs between bases is in base/$BASE.mk and in the
# directories $BASE of patches/, compat/, build/ and vm/expect/.
BASE=${BASE:-$(sed -n "s/^BASE ?= //p" "$top/Makefile")}
[ -f "base/$BASE.mk" ] ||
	die "BASE=$BASE is unknown, choose one of: $(cd base && echo * | sed 's/\.mk//g')"
LINUX_SRC=${LINUX_SRC:-}
out=build/$BASE
patches=patches/$BASE

# base_value NAME: prints a variable of base/$BASE.mk
base_value() {
	sed -n "s/^$1 := *//p" "$top/base/$BASE.mk"
}

# has_topic TOPIC: does this base have the topic?
has_topic() {
	grep -q "^$1/" "$patches/series"
}

# newest_release SERIES SUFFIX: prints the newest kernel of that series in dkms/kernels whose
# version ends with SUFFIX
newest_release() {
	grep -o "^$1\.[^	 ]*$2[-.][^	 ]*" dkms/kernels | sort -V | tail -n 1
}

# base_names [-R]: prints a script for sed and tar, which gives the selftests' directories, in
# paths and as words of a command, the names that this base has: SELFTESTS of base/$BASE.mk, as
# OURS=THEIRS. -R: the reverse.
base_names() {
	local pair from to
	for pair in $(base_value SELFTESTS); do
		from=${pair%=*} to=${pair#*=}
		[ $# -eq 0 ] || from=$to to=${pair%=*}
		printf '%s;' "s,\(selftests/kvm/\|selftests/kvm/include/\| \)$from/,\1$to/,g"
	done
}

# expect NAME: the path of this base's list of expected results
expect() {
	echo "vm/expect/$BASE/$1"
}

# VARIANT=base is the base without the series, for comparisons. It has its own work tree and
# objects; the compiler's cache has nearly all of them.
VARIANT=${VARIANT:-}
series_tree=$out/linux
case $VARIANT in
'') ;;
base) out=$out-base ;;
*) die "VARIANT=$VARIANT is unknown: base is the kernel without the series" ;;
esac
tree=$out/linux
cache=${XDG_CACHE_HOME:-$HOME/.cache}/kvm-stats

# The machine's git configuration must not change what is generated.
plain_git() {
	GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null \
	GIT_CONFIG_NOSYSTEM=1 GIT_ATTR_NOSYSTEM=1 \
		git -c core.quotePath=false -c gc.auto=0 "$@"
}

# tgit COMMAND...: git on the generated tree.
tgit() {
	plain_git -C "$tree" "$@"
}

# private_apt DIRECTORY ARGUMENT...: apt-get with its lists and packages in DIRECTORY: the
# machine's package lists stay as they are, and no root is needed.
private_apt() {
	local work=$1
	shift
	mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial"
	apt-get -q -o Dir::State="$work/state" -o Dir::State::status=/dev/null \
		-o Dir::Cache="$work/cache" -o Acquire::Languages=none \
		-o APT::Sandbox::User="$(id -un)" "$@"
}

# apt ARGUMENT...: for scripts that have a directory $work, and their sources in $scratch/sources
apt() {
	# shellcheck disable=SC2154 # set by the script
	private_apt "$top/$work/apt" -o Dir::Etc::sourcelist="$scratch/sources" \
		-o Dir::Etc::sourceparts=/dev/null "$@"
}

keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# apt_sources SUITE: prints a source list with the suite on each configured mirror. Some mirrors
# may not have it.
apt_sources() {
	local suite=$1 uri release component
	# shellcheck disable=SC2016 # apt's own variables
	apt-get indextargets --no-release-info \
		--format '$(REPO_URI) $(RELEASE) $(COMPONENT)' | sort -u |
	while read -r uri release component; do
		[ "$component" = main ] || continue
		case $suite:$release in
		*-security:*-security | *-security:*/updates) ;;
		*-security:* | *:*-security | *:*/updates) continue ;;
		esac
		echo "deb [signed-by=$keyring] $uri $suite main"
	done | sort -u
}

# lock NAME: waits for another run that holds the lock; after 2 s it prints that
lock() {
	mkdir -p "$out" || die "cannot write to $top/build"
	exec {lock_fd}>"$out/$1.lock"
	flock -w 2 "$lock_fd" && return
	note "waiting for another run that uses $out/$1"
	flock "$lock_fd"
}

# ticker LOG TEXT: reports progress until its input ends. (It is not ended by a signal: a bash
# subshell that gets a signal right after the fork runs its parent's EXIT trap.)
ticker() {
	local start=$SECONDS shown=$SECONDS lines status
	[ -z "${lock_fd:-}" ] || exec {lock_fd}>&-
	while :; do
		status=0
		read -rt 0.5 || status=$?
		[ "$status" -gt 128 ] || break
		if [ -t 2 ]; then
			lines=$(wc -l <"$1")
			printf '\r\033[K%s ... %ds, %d lines' \
				"$2" $((SECONDS - start)) "$lines" >&2
		elif [ $((SECONDS - shown)) -ge 20 ]; then
			shown=$SECONDS
			lines=$(wc -l <"$1")
			note "$2 ... $((SECONDS - start))s, $lines lines"
		fi
	done
	[ ! -t 2 ] || printf '\r\033[K' >&2
}

# step NAME TEXT COMMAND...: runs a long step, with its output in build/log/NAME.log and
# progress on the terminal. If it fails, shows the end of the log, calls the function named by
# $on_failure, which may print advice, and exits. Do not use it in a condition: there bash
# does not stop COMMAND at its first error.
step() {
	local name=$1 text=$2 log start alive status
	shift 2
	mkdir -p build/log 2>/dev/null || die "cannot write to $top/build"
	log=build/log/$name.log
	start=$SECONDS
	: >"$log" || die "cannot write to $top/$log"
	set +e
	if [ "${V:-0}" != 0 ]; then
		(set -e; "$@") 2>&1 | tee "$log" >&2
		status=${PIPESTATUS[0]}
	else
		exec {alive}> >(ticker "$log" "$text")
		(exec {alive}>&-; set -e; "$@") >"$log" 2>&1
		status=$?
		exec {alive}>&-
		wait $!
	fi
	set -e
	if [ "$status" -ne 0 ]; then
		[ "${V:-0}" != 0 ] || tail -n 20 "$log" >&2
		note "failed: $text (exit $status), the whole output is in $log"
		[ -z "${on_failure:-}" ] || "$on_failure"
		exit 1
	fi
	note "$text: $((SECONDS - start))s"
}
