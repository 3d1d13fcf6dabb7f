# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # top, out, head_ref are set by other libraries
#
# Shared by the two kinds of mutants: a private work tree and objects in $work_dir, which
# disturb no other build, and ids of everything that an outcome depends on. Sourced after vm/lib.sh,
# lib-series.sh and lib-kbuild.sh.

# restore: checks the series out in the work tree, writing only files that differ
restore() {
	if [ -d "$work_dir/linux" ]; then
		plain_git -C "$work_dir/linux" checkout -q --force --detach "$(tgit rev-parse "$head_ref")"
	else
		tgit worktree prune
		tgit worktree add -q --detach "$top/$work_dir/linux" "$head_ref"
	fi
}

# build ARCH: builds with the configuration of the architecture's normal kernel
build() {
	local arch=$1 obj=$work_dir/kernel-$1
	mkdir -p "$obj"
	cmp -s "$out/kernel-$arch/.config" "$obj/.config.from" || {
		cp "$out/kernel-$arch/.config" "$obj/.config"
		cp "$out/kernel-$arch/.config" "$obj/.config.from"
	}
	kbuild_boot "$work_dir/linux" "$arch" "$obj"
}

# kernel_of PROFILE: the kernel image that was built for it
kernel_of() {
	case $(arch_of "$1") in
	x86) echo "$work_dir/kernel-x86/arch/x86/boot/bzImage" ;;
	arm64) echo "$work_dir/kernel-arm64/arch/arm64/boot/Image" ;;
	esac
}

# files_that [-v] PATTERN: prints the series' kernel files whose names match (grep -E)
files_that() {
	tgit diff --name-only "$base_ref" "$head_ref" -- . ':!Documentation' ':!tools' |
		grep -E "$@" | sed "s|.*|$head_ref:& &|" | tgit cat-file --batch='%(rest)'
}

# kernel_sources: prints the sources of a kernel image, without tests, documents and comments.
# Keeps line breaks, because of __LINE__.
kernel_sources() {
	tgit rev-parse "$base_ref^{tree}"
	files_that -v '\.[ch]$'
	files_that '\.[ch]$' | perl -0777 -pe \
		's{("(?:\\.|[^"\\\n])*"|\x27(?:\\.|[^\x27\\\n])+\x27)|/\*.*?\*/|//[^\n]*}
		  { $1 // $& =~ s/[^\n]//gr }gsex'
}

# id_of FILE...: identifies the files' content
id_of() {
	[ $# -gt 0 ] || die "no file to identify: a part of the test or kernel is not built"
	sha256sum "$@" | sha256sum | cut -c -16
}

# test_id WORD...: identifies the programs and files that a test's command names
test_id() {
	local word dir file files=()
	for word; do
		while read -r dir; do
			for file in "$dir/$word" "$dir/$word.c"; do
				[ ! -f "$file" ] || files+=("$file")
			done
		done < <(program_path)
	done
	[ ${#files[@]} -gt 0 ] || die "no program of the test '$*' is built: run vm/programs $arch"
	id_of "${files[@]}"
}
