# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # top, tree, out are set by lib.sh
#
# The series as data: which patches there are, which new files they claim, and
# how the commits of the tree are made from them. Sourced after lib.sh by the
# scripts that go from the repository to the tree and back.

patches=patches/5.10
new_file_dirs="arch Documentation include tools virt"
base_ref=refs/kvm-stats/base
head_ref=refs/kvm-stats/head
state=$top/$tree/.git/kvm-stats

# as NAME EMAIL DATE: who the commits that are made next are by
as() {
	export GIT_AUTHOR_NAME=$1 GIT_AUTHOR_EMAIL=$2 GIT_AUTHOR_DATE=$3
	export GIT_COMMITTER_NAME=$1 GIT_COMMITTER_EMAIL=$2 GIT_COMMITTER_DATE=$3
}

# The tree's commits are generated: nobody is their author, and their ids repeat.
as_generated() {
	as series '' '@1609459200 +0000'
}

series_patches() {
	[ ! -d "$patches" ] || find "$patches" -name '[0-9]*.patch' | LC_ALL=C sort
}

# series_id DIRECTORY: changes when a patch does
series_id() {
	(cd "$1" && find . -name '[0-9]*.patch' | LC_ALL=C sort | xargs -r sha256sum) | sha256sum
}

# claims PATCH: the new files that it brings in, from the lines below its "---".
claims() {
	sed -n '/^---$/,/^diff --git /s/^New-file: *//p' "$1"
}

# The new kernel files of the repository, also those that git does not track yet.
new_files() {
	local file
	# shellcheck disable=SC2086 # a list of words
	git ls-files -co --exclude-standard -- $new_file_dirs | LC_ALL=C sort -u |
	while read -r file; do
		[ ! -f "$file" ] || printf '%s\n' "$file"
	done
}

# unclaimed: new files that no patch claims.
unclaimed() {
	local patch
	LC_ALL=C comm -23 <(new_files) \
		<(series_patches | while read -r patch; do claims "$patch"; done | LC_ALL=C sort -u)
}

# note_unclaimed: says so; not an error while a file is being written
note_unclaimed() {
	local -a left
	mapfile -t left < <(unclaimed)
	[ ${#left[@]} -eq 0 ] ||
		note "in no commit, because no patch has a New-file: line for it: $(brief "${left[@]}")"
}

# brief WORD...: the first few
brief() {
	local -a first=("${@:1:3}")
	local more=$(($# - ${#first[@]}))
	echo "${first[*]}$([ "$more" -eq 0 ] || echo " and $more more")"
}

# What a file is, content and mode, is "MODE,BLOB" in these scripts.

# ids_of DIR: reads paths, prints "id path" for those that are files in DIR; the blobs
# are put into the tree's object store.
ids_of() {
	local path blob
	local -a paths=()
	while read -r path; do
		[ ! -f "$1/$path" ] || paths+=("$path")
	done
	[ ${#paths[@]} -gt 0 ] || return 0
	paste -d ' ' <(printf "$(realpath "$1")/%s\n" "${paths[@]}" |
		tgit hash-object -w --no-filters --stdin-paths) <(printf '%s\n' "${paths[@]}") |
	while read -r blob path; do
		if [ -x "$1/$path" ]; then
			echo "100755,$blob $path"
		else
			echo "100644,$blob $path"
		fi
	done
}

# ids_changed OPTION... OLD NEW: "id path" in NEW of what differs
ids_changed() {
	tgit diff-tree -r --no-renames --raw "$@" |
		sed -E 's/^:[0-9]+ ([0-9]+) [0-9a-f]+ ([0-9a-f]+) .\t/\1,\2 /'
}

# set_index: reads "id path"
set_index() {
	sed -E 's/^([0-9]+),([0-9a-f]+) /\1 \2\t/' | tgit update-index --add --index-info
}

# check_claims: each claimed file is there and claimed once, each claim is ours to make.
check_claims() {
	local patch file
	local -A by=()
	while read -r patch; do
		while read -r file; do
			[ -z "${by[$file]:-}" ] ||
				die "$file is claimed twice: by ${by[$file]} and by $patch"
			by[$file]=$patch
			[ -f "$file" ] ||
				die "$patch claims $file, which does not exist: add the file or remove its New-file line"
			case " $new_file_dirs " in
			*" ${file%%/*} "*) ;;
			*) die "$patch claims $file: new files live in $new_file_dirs" ;;
			esac
		done < <(claims "$patch")
	done < <(series_patches)
}

# split_patch PATCH DIRECTORY: writes its commit message and its hunks to "message" and "diff"
split_patch() {
	local subject
	plain_git mailinfo -k "$2/body" "$2/diff" <"$1" >"$2/headers" ||
		die "$1 is not in mail format"
	subject=$(sed -n 's/^Subject: //p' "$2/headers")
	[ -n "$subject" ] || die "$1 has no Subject: line"
	{ printf '%s\n\n' "$subject"; cat "$2/body"; } | plain_git stripspace >"$2/message"
}

# commit_patch PARENT PATCH NEW: one commit, made on the index in $GIT_INDEX_FILE,
# without touching the work tree. NEW has an "id path" line per new file.
commit_patch() {
	local parent=$1 patch=$2 new=$3 dir path context
	dir=$(dirname "$GIT_INDEX_FILE")
	split_patch "$patch" "$dir"
	if grep -q '^diff --git ' "$dir/diff"; then
		# The hunks were made on the default base. Another one may differ in a line
		# beside them, as 5.10.223-1 does in arch/s390/kvm/diag.c.
		context=3
		[ "$BASE" = "$default_base" ] || context=2
		tgit apply --cached --whitespace=nowarn "-C$context" "$dir/diff" ||
			die "$patch does not apply to the source $BASE"
	fi
	if [ -n "$new" ]; then
		while read -r _ path; do
			[ -z "$(tgit ls-files -- "$path")" ] ||
				die "$patch claims $path, which the base or an earlier patch has already"
		done <<<"$new"
		set_index <<<"$new"
	fi
	tgit commit-tree -p "$parent" "$(tgit write-tree)" <"$dir/message"
}

# no_rebase: while one goes on, HEAD is not what it seems
no_rebase() {
	local dir
	for dir in rebase-merge rebase-apply; do
		[ ! -d "$tree/.git/$dir" ] ||
			die "a rebase is going on in $tree: finish it and 'make refresh'"
	done
}

# build_commits: makes the commits of the series on the base, by whoever was said with
# as(), and prints the last id.
# A commit whose parent, patch and new files are known is not made again.
build_commits() {
	local parent dir patch key commit new id path known loaded=
	local -A repo=()
	parent=$(tgit rev-parse --verify -q "$base_ref")
	dir=$(mktemp -d "$state/commits.XXXXXX")
	# shellcheck disable=SC2064 # the directory as it is now
	trap "rm -rf '$dir'" EXIT
	known=$state/known
	touch "$known"
	export GIT_INDEX_FILE=$dir/index

	while read -r id path; do repo[$path]=$id; done < <(new_files | ids_of .)

	while read -r patch; do
		new=$(claims "$patch" | LC_ALL=C sort | while read -r path; do
			echo "${repo[$path]} $path"
		done)
		key=$({ echo "$parent $(git var GIT_AUTHOR_IDENT)"; echo "$new"; cat "$patch"; } | sha256sum)
		key=${key%% *}
		commit=$(sed -n "s/^$key //p" "$known")
		if [ -z "$commit" ] || ! tgit cat-file -e "$commit" 2>/dev/null; then
			[ -n "$loaded" ] || tgit read-tree "$parent"
			loaded=yes
			commit=$(commit_patch "$parent" "$patch" "$new")
			echo "$key $commit" >>"$known"
		else
			loaded=
		fi
		parent=$commit
	done < <(series_patches)
	echo "$parent"
}

# settle OLD NEW: copies in the work tree that we made are no edits. Those that are as in NEW
# already count as up to date, older ones go, so that neither is in the way.
settle() {
	local -A work=() last=()
	local id path
	while read -r id path; do last[$path]=$id; done <"$state/synced"
	ids_changed "$1" "$2" >"$state/differs"
	while read -r id path; do
		work[$path]=$id
	done < <(cut -d ' ' -f 2- "$state/differs" | ids_of "$tree")
	while read -r id path; do
		if [ "${work[$path]:-}" = "$id" ]; then
			echo "$id $path"
		elif [ "${work[$path]:-none}" = "${last[$path]:-}" ]; then
			rm "$tree/$path"
		fi
	done <"$state/differs" | set_index
	rm "$state/differs"
}

# move OLD NEW: the work tree and HEAD.
move() {
	local blocked
	settle "$1" "$2"
	tgit update-index -q --refresh >/dev/null || : # says only that there are edits
	if ! blocked=$(tgit read-tree -m -u "$1" "$2" 2>&1); then
		note "$blocked"
		die "edits in $tree are in the way of the series: commit them there and 'make refresh', or take them back"
	fi
	tgit update-ref -m "made from the series" HEAD "$2"
	tgit update-ref "$head_ref" "$2"
}

# checkpatch OPTION...: reads the names of files, prints what checkpatch complains about and
# scripts/checkpatch.known does not explain; fails if there is something. Runs in build/,
# because it leaves a cache where it is called.
checkpatch() {
	local complaints file line type text status=0
	complaints=$(cd "$out" && sed "s,^,$top/," | xargs -P "$(nproc)" -n 1 \
		sh -c 'perl linux/scripts/checkpatch.pl --root=linux --strict --no-summary \
			--terse --show-types "$@" || [ $? -eq 1 ]' sh "$@")
	while IFS=: read -r file line _ type text; do
		[ -n "$file" ] || continue
		known_complaint "$type" "$(sed -n "${line}p" "$file")" && continue
		echo "${file#"$top"/}:$line: $type:$text"
		status=1
	done <<<"$complaints"
	return "$status"
}

# known_complaint TYPE LINE: the line complained about matches the pattern of its type.
known_complaint() {
	local type pattern
	while read -r type pattern; do
		[ "$type" = "$1" ] && grep -qE -e "$pattern" <<<"$2" && return
	done < <(grep -v '^#' scripts/checkpatch.known)
	return 1
}
