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

# What the patches do to files, in lines of three fields with tabs between them:
#	PATCH	claims	FILE	brings in this new file, a line below its "---" says so
#	PATCH	edits	FILE	has hunks for its lines, and does no more to it
# and the same with what else a patch can do: creates, deletes, ...
what_patches_do() {
	# shellcheck disable=SC2016 # awk's own
	series_patches | xargs -r -d '\n' awk '
		function leave() {
			if (file != "")
				print patch "\t" what "\t" file
			file = ""
		}
		FNR == 1 { leave(); patch = FILENAME; part = "message" }
		part == "message" { if ($0 == "---") part = "claims"; next }
		/^diff --git / {
			leave()
			part = "diff"
			what = "edits"
			file = substr($0, 14, (length($0) - 16) / 2)
			# not one name twice: a rename or a copy, two lines say of what
			if ($0 != "diff --git a/" file " b/" file)
				file = ""
			next
		}
		part == "claims" && sub(/^New-file: */, "") { print patch "\tclaims\t" $0; next }
		part == "claims" { next }
		/^new file mode / { what = "creates" }
		/^deleted file mode / { what = "deletes" }
		/^new mode / { what = "changes the mode of" }
		/^(GIT binary patch|Binary files )/ { what = "replaces" }
		sub(/^rename (from|to) /, "") { print patch "\trenames\t" $0 }
		sub(/^copy to /, "") { print patch "\tcreates\t" $0 }
		END { leave() }'
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
	LC_ALL=C comm -23 <(new_files) \
		<(what_patches_do | sed -n 's/^[^\t]*\tclaims\t//p' | LC_ALL=C sort -u)
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

# check_claims: each file is claimed once, and the claim is ours to make; the patches after
# it, and only those, may edit its lines.
check_claims() {
	local all patch what file
	local -A by=() there=()
	all=$(what_patches_do)
	while IFS=$'\t' read -r patch what file; do
		[ "$what" = claims ] || continue
		patch=${patch##*/}
		[ -z "${by[$file]:-}" ] ||
			die "$file is claimed twice: by ${by[$file]} and by $patch"
		by[$file]=$patch
		case " $new_file_dirs " in
		*" ${file%%/*} "*) ;;
		*) die "$patch claims $file: new files live in $new_file_dirs" ;;
		esac
	done <<<"$all"
	while IFS=$'\t' read -r patch what file; do
		[ -n "${by[${file:-none}]:-}" ] || continue
		patch=${patch##*/}
		if [ "$what" = claims ]; then
			there[$file]=1
		elif [ "${by[$file]}" = "$patch" ]; then
			die "$patch claims $file and $what it as well: the claim stands for the file as a whole"
		elif [ -z "${there[$file]:-}" ]; then
			die "$patch $what $file, which ${by[$file]} after it brings in"
		elif [ "$what" != edits ]; then
			die "$patch $what $file, which ${by[$file]} brings in: a later patch can edit its lines, no more"
		fi
	done <<<"$all"
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

# commit_patch PARENT PATCH CLAIMED EDITED: one commit, made on the index in
# $GIT_INDEX_FILE, without touching the work tree. CLAIMED and EDITED have an "id path" line
# per new file, with what it is after this commit.
commit_patch() {
	local parent=$1 patch=$2 claimed=$3 edited=$4 dir path context had
	local -a paths=()
	dir=${GIT_INDEX_FILE%/*}
	split_patch "$patch" "$dir"
	if grep -q '^diff --git ' "$dir/diff"; then
		# The hunks were made on the default base. Another one may differ in a line
		# beside them, as 5.10.223-1 does in arch/s390/kvm/diag.c. (What becomes of
		# new files is known already, exactly and for all bases.)
		context=3
		[ "$BASE" = "$default_base" ] || context=2
		tgit apply --cached --whitespace=nowarn "-C$context" "$dir/diff" ||
			die "${patch##*/} does not apply to the source $BASE"
	fi
	if [ -n "$claimed" ]; then
		while read -r _ path; do
			paths+=("$path")
		done < <(printf '%s' "$claimed")
		had=$(tgit ls-files -- "${paths[@]}")
		[ -z "$had" ] || die "${patch##*/} claims ${had//$'\n'/ }, which the base has already"
	fi
	printf '%s' "$claimed$edited" | set_index
	tgit commit-tree -p "$parent" "$(tgit write-tree)" <"$dir/message"
}

# unclear CONTENT PATCH FILE: prints where PATCH leaves lines in FILE that CONTENT has not
# just once, so that a hunk could be taken back in the wrong place.
unclear() {
	awk -v ours="diff --git a/$3 b/$3" '
		function look(	i, k, places) {
			for (i = 0; i + wanted <= lines; i++) {
				for (k = 1; k <= wanted && line[i + k] == want[k]; k++)
					;
				places += k > wanted
			}
			if (places != 1)
				print at
		}
		FILENAME == ARGV[1] { line[++lines] = $0; next }
		old > 0 || new > 0 {
			if (!/^[+\\]/) old--
			if (!/^[-\\]/) { new--; want[++wanted] = substr($0, 2) }
			if (old <= 0 && new <= 0 && mine) look()
			next
		}
		/^diff --git / { mine = $0 == ours }
		/^@@ / {
			old = split(substr($2, 2), part, ",") > 1 ? part[2] : 1
			new = split(substr($3, 2), part, ",") > 1 ? part[2] : 1
			at = part[1]
			wanted = 0
		}' "$1" "$2"
}

# take_back PATCH FILE ID: prints the blob that FILE, being ID after PATCH, was before it.
# Lines may have moved by edits elsewhere in the file, but the hunks must be exact and have
# one place only. If not, the file was edited where PATCH edits it.
take_back() {
	local patch=$1 file=$2 id=$3 dir where=
	dir=${GIT_INDEX_FILE%/*}
	local -x GIT_INDEX_FILE=$dir/back
	rm -f "$dir/back"
	set_index <<<"$id $file"
	tgit cat-file blob "${id#*,}" >"$dir/content"
	if tgit apply -R --cached --whitespace=nowarn "--include=$file" <"$patch" 2>"$dir/errors"; then
		where=$(unclear "$dir/content" "$patch" "$file")
	else
		where=$(sed -n 's/^error: patch failed: .*:\([0-9]*\)$/\1/p' "$dir/errors")
		[ -n "$where" ] || die "${patch##*/}, $file: $(cat "$dir/errors")"
	fi
	[ -z "$where" ] ||
		die "$file has edits where ${patch##*/} has its own (about line ${where%%$'\n'*}), so that it is not clear which commit they belong to: 'make sync', commit them in $tree as a fixup of that commit, and 'make refresh'"
	tgit ls-files -s | cut -d ' ' -f 2
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
# as(), and prints the last id. The new files are at the end as the file $final_ids says in
# "id path" lines; without that, as they are in the repository.
# What was made once is not made again: $state/known has "OBJECT what it was made of".
build_commits() {
	local parent dir ident patch path id key object sum at=
	local -A known=() sums=() at_end=() claimed=() edited=()
	local -a order=()
	parent=$(tgit rev-parse --verify -q "$base_ref")
	dir=$(mktemp -d "$state/commits.XXXXXX")
	# shellcheck disable=SC2064 # the directory as it is now
	trap "rm -rf '$dir'" EXIT
	export GIT_INDEX_FILE=$dir/index

	ident=$(git var GIT_AUTHOR_IDENT)
	touch "$state/known"
	while read -r object key; do known[$key]=$object; done < <(tail -n 5000 "$state/known" |
		tgit cat-file --batch-check='%(objectname) %(rest)' | sed '/ missing$/d')
	while read -r sum patch; do
		order+=("$patch")
		sums[$patch]=$sum
	done < <(series_patches | xargs -r -d '\n' sha256sum)
	while read -r id path; do
		at_end[$path]=$id
	done < <(if [ -n "${final_ids:-}" ]; then cat "$final_ids"; else new_files | ids_of .; fi)
	versions

	for patch in "${order[@]}"; do
		key=$({
			echo "$parent $ident ${sums[$patch]}"
			echo "${claimed[$patch]:-}${edited[$patch]:-}"
		} | sha256sum)
		key="commit ${key%% *}"
		object=${known[$key]:-}
		if [ -z "$object" ]; then
			# the index goes on from where the last new commit left it
			[ "$at" = "$parent" ] || tgit read-tree "$parent"
			object=$(commit_patch "$parent" "$patch" "${claimed[$patch]:-}" "${edited[$patch]:-}")
			at=$object
			echo "$object $key" >>"$state/known"
		fi
		parent=$object
	done
	echo "$parent"
}

# versions: a part of build_commits. For each patch, "id path" lines of what the new files
# that it claims and those that it edits are after it: from the last version on, the hunks
# are taken back, and what is left when all are is what gets claimed.
versions() {
	local patch what path id key object i
	local -A by=() later=()
	local -a after
	while IFS=$'\t' read -r patch what path; do
		if [ "$what" = claims ]; then
			by[$path]=$patch
		elif [ -n "${by[$path]:-}" ]; then
			later[$path]+=${later[$path]:+$'\n'}$patch
		fi
	done < <(what_patches_do)
	while read -r path; do
		[ -n "$path" ] || continue
		id=${at_end[$path]:-}
		[ -n "$id" ] ||
			die "${by[$path]##*/} claims $path, which does not exist: add the file or remove its New-file line"
		after=()
		[ -z "${later[$path]:-}" ] || mapfile -t after <<<"${later[$path]}"
		for ((i = ${#after[@]} - 1; i >= 0; i--)); do
			patch=${after[i]}
			edited[$patch]+="$id $path"$'\n'
			key="${sums[$patch]} taken back from $id $path"
			object=${known[$key]:-}
			if [ -z "$object" ]; then
				object=$(take_back "$patch" "$path" "$id")
				echo "$object $key" >>"$state/known"
			fi
			id=${id%,*},$object
		done
		claimed[${by[$path]}]+="$id $path"$'\n'
	done < <(printf '%s\n' "${!by[@]}" | LC_ALL=C sort)
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
# because it leaves a cache where it is called. What was found clean is not looked at again.
checkpatch() {
	local way names complaints file line type text status=0
	way=$(cat "$tree/scripts/checkpatch.pl" scripts/checkpatch.known <(echo "$*") |
		sha256sum)
	names=$(names_of_contents "$way")
	touch "$out/checkpatch-clean"
	names=$(awk 'FILENAME == ARGV[1] { clean[$1]; next } !($1 in clean)' \
		"$out/checkpatch-clean" - <<<"$names")
	complaints=$(cd "$out" && sed -n "s,^[^ ]* ,$top/,p" <<<"$names" | xargs -r -P "$(nproc)" -n 1 \
		sh -c 'perl linux/scripts/checkpatch.pl --root=linux --strict --no-summary \
			--terse --show-types "$@" || [ $? -eq 1 ]' sh "$@")
	while IFS=: read -r file line _ type text; do
		[ -n "$file" ] || continue
		known_complaint "$type" "$(sed -n "${line}p" "$file")" && continue
		echo "${file#"$top"/}:$line: $type:$text"
		status=1
	done <<<"$complaints"
	[ "$status" -ne 0 ] || sed -n 's/ .*//p' <<<"$names" >>"$out/checkpatch-clean"
	return "$status"
}

# names_of_contents WAY: reads names of files, prints each after a hash of its content. When
# a mail was made, and of which commit, is none.
names_of_contents() {
	local file
	while read -r file; do
		case $file in
		*.patch) sed -E '/^From [0-9a-f]{40} /d; /^Date: /d' "$file" ;;
		*) cat "$file" ;;
		esac | cat - <(echo "$file $1") | sha256sum | sed "s,-\$,$file,; s,  , ,"
	done
}

# known_complaint TYPE LINE: the line complained about matches the pattern of its type.
known_complaint() {
	local type pattern
	while read -r type pattern; do
		[ "$type" = "$1" ] && grep -qE -e "$pattern" <<<"$2" && return
	done < <(grep -v '^#' scripts/checkpatch.known)
	return 1
}
