# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # top, out, head_ref are set by other libraries
#
# What the two kinds of mutants share: a work tree and objects of their own in $work_dir, so
# that they disturb no other build, and what an outcome depends on. Sourced after vm/lib.sh,
# lib-series.sh and lib-kbuild.sh.

# The work tree as it is in the series, writing only files that differ.
restore() {
	if [ -d "$work_dir/linux" ]; then
		plain_git -C "$work_dir/linux" checkout -q --force --detach "$(tgit rev-parse "$head_ref")"
	else
		tgit worktree prune
		tgit worktree add -q --detach "$top/$work_dir/linux" "$head_ref"
	fi
}

# build ARCH: with the configuration that the other kernel of the architecture has.
build() {
	local arch=$1 obj=$work_dir/kernel-$1
	mkdir -p "$obj"
	cmp -s "$out/kernel-$arch/.config" "$obj/.config.from" || {
		cp "$out/kernel-$arch/.config" "$obj/.config"
		cp "$out/kernel-$arch/.config" "$obj/.config.from"
	}
	kbuild_boot "$work_dir/linux" "$arch" "$obj"
}

# kernel_of PROFILE: what was built for it.
kernel_of() {
	case $(arch_of "$1") in
	x86) echo "$work_dir/kernel-x86/arch/x86/boot/bzImage" ;;
	arm64) echo "$work_dir/kernel-arm64/arch/arm64/boot/Image" ;;
	esac
}

# The files of the series that a kernel is made of, which match a pattern of grep -E.
files_that() {
	tgit diff --name-only "$base_ref" "$head_ref" -- . ':!Documentation' ':!tools' |
		grep -E "$@" | sed "s|.*|$head_ref:& &|" | tgit cat-file --batch='%(rest)'
}

# What a kernel is made of: tests, documents and comments may change without one to build.
# Lines stay lines, for __LINE__.
kernel_sources() {
	tgit rev-parse "$base_ref^{tree}"
	files_that -v '\.[ch]$'
	files_that '\.[ch]$' | perl -0777 -pe \
		's{("(?:\\.|[^"\\\n])*"|\x27(?:\\.|[^\x27\\\n])+\x27)|/\*.*?\*/|//[^\n]*}
		  { $1 // $& =~ s/[^\n]//gr }gsex'
}

# id_of FILE...: of their content.
id_of() {
	sha256sum "$@" | sha256sum | cut -c -16
}

# test_id WORD...: of the programs and files that a test's command names.
test_id() {
	local word dir file files=()
	for word; do
		while read -r dir; do
			for file in "$dir/$word" "$dir/$word.c"; do
				[ ! -f "$file" ] || files+=("$file")
			done
		done < <(program_path)
	done
	id_of "${files[@]}"
}
