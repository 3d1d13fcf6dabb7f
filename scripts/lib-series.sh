# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # top, tree, patches are set by lib.sh
#
# Reads the files of the series and makes its commits. Sourced after lib.sh.
#
# $patches/series names the patches in order, one per line; a patch's directory is its topic.
# A patch is in $patches, or in patches/ if it serves every base. It is a mail without numbers:
#
#	Subject: KVM: Add a thing
#
#	The message.
#	---
#	New-file: virt/kvm/thing.c
#
#	hunks
#
# New-file: claims a file of the repository, or all files that match a pattern and that no
# patch claims by name; the commit adds it. The repository has the file's state after the last
# commit. If a later patch has hunks for it, they are reverted to get the earlier state: each
# hunk must match in exactly one place, with or without context.
# $patches/difference is a diff from the repository's files to this base's files. Paths of new
# files are the repository's; the base may have directories by another name (base_names).
# Delete-file: removes a file of the base without storing its text.
# Script-files: names files (as `git ls-files` does) that the script in the message edits. The
# script's lines are indented by a tab; the first is "#!/bin/sh".

new_file_dirs="arch Documentation drivers include tools virt"
base_ref=refs/kvm-stats/base
head_ref=refs/kvm-stats/head
state=$top/$series_tree/.git/kvm-stats

# as NAME EMAIL DATE: sets the author for make_commits
as() {
	author="$1 <$2> $3"
}

# as_generated: sets a fixed author and date, so that the tree's commits have the same ids in
# all clones
as_generated() {
	as series '' '1609459200 +0000'
}

# series_names: the names of the patches, in order
series_names() {
	sed 's/#.*//' "$patches/series" | grep -v '^ *$' || :
}

# patch_path NAME
patch_path() {
	[ -f "$patches/$1" ] && echo "$patches/$1" || echo "patches/$1"
}

# series_patches: the files of the patches, in order
series_patches() {
	series_names | while read -r patch; do
		patch_path "$patch"
	done
}

# topics: the topics, in order
topics() {
	series_names | sed 's,/[^/]*$,,' | uniq
}

# absent_files: the files that patches of other bases add, in topics that this base lacks
absent_files() {
	local topic
	sed -n 's,^\([^#/]*\)/.*,\1,p' patches/*/series | sort -u | while read -r topic; do
		has_topic "$topic" ||
			find patches -path "*/$topic/*.patch" -exec sed -n 's/^New-file: //p' {} +
	done
}

# new_files: the repository's kernel files for this base, including files that git does not
# track yet
new_files() {
	local file
	# shellcheck disable=SC2086 # a list of words
	{
		git ls-files -co --exclude-standard -- $new_file_dirs
		git -C "compat/$BASE" ls-files -co --exclude-standard 2>/dev/null || :
	} | LC_ALL=C sort -u | while read -r file; do
		if [ -f "$file" ] || [ -f "compat/$BASE/$file" ]; then
			printf '%s\n' "$file"
		fi
	done | grep -vxFf <(absent_files)
}

# stored_path FILE: its path in the repository
stored_path() {
	[ -f "compat/$BASE/$1" ] && echo "compat/$BASE/$1" || echo "$1"
}

# split_patches PATCH...: writes N.message, N.fields and, for each file that has hunks,
# N.K.diff into the current directory, for each patch number N. Prints N, K and the file's
# name, separated by tabs.
split_patches() {
	awk '
		function out(name) {
			if (name != target && target)
				close(target)
			target = name
		}
		FNR == 1 {
			n++; k = 0; blank = 0; part = "message"
			sub(/^Subject: /, "")
			out(n ".fields"); printf "" >target
			out(n ".message"); print >target
			next
		}
		part == "message" && $0 == "---" { part = "fields"; out(n ".fields"); next }
		part == "message" && /^[ \t]*$/ { blank++; next }
		part == "message" {
			while (blank) { print "" >target; blank-- }
			print >target
			next
		}
		/^diff --git / {
			part = "diff"
			name = substr($3, 3)
			out(n "." ++k ".diff")
			print n "\t" k "\t" name
		}
		part == "fields" && $0 == "" { next }
		{ print >target }' "$@"
}

# take_back CONTENT DIFF: prints the content without the diff's hunks. If a hunk matches
# nowhere or in several places, fails and prints its first line. If the diff is malformed, the
# exit status is 2.
take_back() {
	awk '
		function undo(	i, k, at, places, tail) {
			for (i = 1; wanted && i + wanted - 1 <= lines; i++) {
				for (k = 1; k <= wanted && line[i + k - 1] == want[k]; k++)
					;
				if (k > wanted) { places++; at = i }
			}
			if (places != 1) {
				printf "%s: %s\n", places ? "ambiguous" : "not found",
					wanted ? want[1] : hunk >"/dev/stderr"
				failed = 1
				exit 1
			}
			tail = lines - (at + wanted - 1)
			if (olds > wanted)
				for (k = tail; k >= 1; k--)
					line[at + olds - 1 + k] = line[at + wanted - 1 + k]
			else
				for (k = 1; k <= tail; k++)
					line[at + olds - 1 + k] = line[at + wanted - 1 + k]
			for (k = 1; k <= olds; k++)
				line[at + k - 1] = before[k]
			lines += olds - wanted
		}
		function malformed(why) {
			print why >"/dev/stderr"
			failed = 1
			exit 2
		}
		FILENAME == ARGV[1] { line[++lines] = $0; next }
		/^@@ / && !old && !new {
			hunk = $0
			old = split(substr($2, 2), part, ",") > 1 ? part[2] : 1
			new = split(substr($3, 2), part, ",") > 1 ? part[2] : 1
			wanted = olds = 0
			next
		}
		/^\\/ { next }
		old > 0 || new > 0 {
			if (!/^([-+ ]|$)/) malformed("the hunk " hunk " has too few lines")
			if (!/^\+/) { old--; before[++olds] = substr($0, 2) }
			if (!/^-/) { new--; want[++wanted] = substr($0, 2) }
			if (!old && !new) undo()
			next
		}
		hunk && /^[-+ ]/ && $0 != "-- " { malformed("the hunk " hunk " has too many lines") }
		END {
			if (failed) exit
			if (!hunk) malformed("no hunk")
			if (old || new) malformed("the hunk " hunk " has too few lines")
			for (i = 1; i <= lines; i++) print line[i]
		}' "$1" "$2"
}

# make_commits: makes the series' commits on the base, with the author set by as(), and prints
# their ids, one per line. $files_root has the new files (default: the repository). Call it in
# a subshell.
make_commits() {
	local n k path field value id patch line topic before='' count=0 from files_root=${files_root:-}
	local -a names=() paths=()
	local -A owner=() edits=() diffs=() removed=() scripted=() seen=()
	work=$(mktemp -d "$state/commits.XXXXXX")
	# shellcheck disable=SC2064 # the directory as it is now
	trap "rm -rf '$work'" EXIT

	[ -f "$patches/series" ] || die "there is no $patches/series, which names the patches in order"
	while read -r patch; do
		names[++count]=$patch
		paths[count]=$(realpath -e "$(patch_path "$patch")" 2>/dev/null) ||
			die "$patches/series names $patch, which does not exist"
		read -r line <"${paths[count]}" || :
		[[ $line == 'Subject: '?* ]] || die "$patch has no Subject: in its first line"
		topic=${patch%/*}
		[ -z "${seen[$patch]:-}" ] || die "$patches/series names $patch twice"
		[ "$topic" = "$before" ] || [ -z "${seen[$topic]:-}" ] ||
			die "$patches/series has $patch behind patches of $before: move it to the other patches of $topic"
		seen[$patch]=1 seen[$topic]=1 before=$topic
	done < <(series_names)
	[ "$count" -gt 0 ] || die "$patches/series names no patch"
	(cd "$work" && split_patches "${paths[@]}" >hunks)

	claim
	while IFS=$'\t' read -r n k path; do
		if [ -z "${owner[$path]:-}" ]; then
			diffs[$n]+=" $n.$k.diff"
			echo "$path" >>"$work/$n.changed"
			echo "$path"
		elif [ "${owner[$path]}" -lt "$n" ]; then
			edits[$n]+="$k $path"$'\n'
		else
			die "${names[$n]} has hunks for $path, which it or a later patch (${names[${owner[$path]}]}) claims"
		fi
	done <"$work/hunks" >"$work/base-files"
	versions
	base_files
	{
		from=$(tgit rev-parse "$base_ref")
		for ((n = 1; n <= count; n++)); do
			apply "$n"
			emit "$n" "$from"
			from=:$n
		done
		echo 'done'
	} >"$work/stream"
	tgit fast-import --quiet --done --force "--export-marks=$work/marks" <"$work/stream"
	sort -t : -k 2n "$work/marks" | cut -d ' ' -f 2
}

# claim: part of make_commits. Sets owner[FILE] and writes N.claims.
claim() {
	local pass
	local -a all
	local -A by_name=()
	mapfile -t all < <(cd "${files_root:-.}" && if [ -n "${files_root:-}" ]; then
		find . -type f | sed 's,^\./,,'; else new_files; fi)
	for pass in name pattern; do
		for ((n = 1; n <= count; n++)); do
			while read -r field value; do
				case $field in
				New-file:)
					case $value in
					*[*?[]*) [ "$pass" = name ] || claim_pattern ;;
					*) [ "$pass" = pattern ] || claim_file "$value" ;;
					esac
					;;
				Delete-file:) removed[$n]+="$value"$'\n' ;;
				Script-files:) scripted[$n]+="$value " ;;
				*) die "${names[$n]}: '$field $value' is not a field, use New-file:, Delete-file: or Script-files:" ;;
				esac
			done <"$work/$n.fields"
		done
	done
}

claim_file() {
	[ -z "${owner[$1]:-}" ] ||
		die "$1 is claimed twice: by ${names[${owner[$1]}]} and by ${names[$n]}"
	[ -f "${files_root:-compat/$BASE}/$1" ] || [ -f "${files_root:-.}/$1" ] ||
		die "${names[$n]} claims $1, which does not exist: add the file or remove its New-file line"
	owner[$1]=$n
	[ "$pass" = pattern ] || by_name[$1]=1
	echo "$1" >>"$work/$n.claims"
}

claim_pattern() {
	local file found=
	for file in "${all[@]}"; do
		# shellcheck disable=SC2053 # a pattern
		[[ $file == $value ]] || continue
		found=1
		if [ -z "${by_name[$file]:-}" ]; then
			claim_file "$file"
		fi
	done
	[ -n "$found" ] || die "${names[$n]} claims $value, which matches no file"
}

# versions: part of make_commits. Writes N.new/FILE, the state of each new file after patch N,
# which claims or edits it. Starts with the last state and reverts hunks.
versions() {
	local root status
	mkdir "$work/final"
	for root in "${files_root:-.}" "${files_root:-compat/$BASE}"; do
		[ ! -d "$root" ] || (cd "$root" && for path in "${!owner[@]}"; do
			[ ! -f "$path" ] || printf '%s\n' "$path"
		done | xargs -r -d '\n' cp -p --parents -t "$work/final")
	done
	[ -n "${files_root:-}" ] || differ "$work/final"
	for ((n = count; n > 0; n--)); do
		[ -z "${edits[$n]:-}" ] || while read -r k path; do
			[ -n "$k" ] || continue
			mkdir -p "$work/$n.new/${path%/*}"
			cp -p "$work/final/$path" "$work/$n.new/$path"
			# keeps the mode
			status=0
			take_back "$work/$n.new/$path" "$work/$n.$k.diff" >"$work/final/$path" 2>"$work/error" || status=$?
			[ "$status" -ne 2 ] ||
				die "${names[$n]} is malformed at $path: $(cat "$work/error")"
			[ "$status" -eq 0 ] ||
				die "$path has an edit in lines that ${names[$n]} edits ($(cat "$work/error")): undo it, make it in $tree as a fixup of that commit, and 'make refresh'"
		done < <(tac <<<"${edits[$n]}")
		[ ! -f "$work/$n.claims" ] ||
			(cd "$work/final" && mkdir -p "../$n.new" && xargs cp -p --parents -t "../$n.new") <"$work/$n.claims"
	done
}

# differ DIRECTORY [-R]: turns the repository's files into this base's, or the reverse
differ() {
	[ ! -s "$patches/difference" ] || (
		difference=$top/$patches/difference
		cd "$1" || exit
		GIT_CEILING_DIRECTORIES=$(dirname "$PWD") plain_git apply --whitespace=nowarn \
			${2:+"$2"} "$difference" 2>"$1.error" ||
			die "$patches/difference does not fit${2:+ the tree}: $(cat "$1.error")"
	)
}

# base_files: part of make_commits. Copies the base's files that the series edits to files/.
base_files() {
	local -a which
	mkdir "$work/files"
	{
		cat "$work/base-files"
		for n in "${!scripted[@]}"; do
			read -ra which <<<"${scripted[$n]}"
			tgit ls-tree -r --name-only "$base_ref" | pathspec "${which[@]}" | tee "$work/$n.scripted"
			[ -s "$work/$n.scripted" ] ||
				die "${names[$n]}: its Script-files: match no file of $BASE"
		done
	} | LC_ALL=C sort -u >"$work/wanted"
	for n in "${!removed[@]}"; do
		while read -r path; do
			tgit cat-file -e "$base_ref:$path" 2>/dev/null ||
				die "${names[$n]} deletes $path, which $BASE does not have"
		done < <(printf '%s' "${removed[$n]}")
	done
	[ ! -s "$work/wanted" ] || tgit ls-tree -r --name-only "$base_ref" | LC_ALL=C sort |
		LC_ALL=C comm -12 - "$work/wanted" |
		xargs -r -d '\n' git -C "$tree" archive "$base_ref" -- | tar -x -C "$work/files"
}

# pathspec PATTERN...: filters names by patterns; * also matches slashes
pathspec() {
	# shellcheck disable=SC2016 # a sed script
	grep -xE -f <(printf '%s\n' "$@" | sed 's/[.+^$(){}|\\]/\\&/g; s/\*/.*/g; s/?/./g') || [ $? -eq 1 ]
}

# script_of: reads a message and prints its script
script_of() {
	sed -n '/^\t#!\/bin\/sh$/,/^[^\t]/s/^\t//p'
}

# apply N: part of make_commits. Runs the patch's script and applies its hunks.
apply() {
	if [ -s "$work/$1.scripted" ]; then
		script_of <"$work/$1.message" >"$work/script"
		cp -r "$work/files" "$work/before"
		(cd "$work/files" && sh -e "$work/script") >&2 || die "the script of ${names[$1]} fails"
		(cd "$work" && { diff -rq before files || :; }) |
			sed 's,^Files before/\(.*\) and files/.* differ$,\1,' >>"$work/$1.changed"
		rm -r "$work/before"
	fi
	[ -z "${diffs[$1]:-}" ] || (
		cd "$work/files" || exit
		# shellcheck disable=SC2086 # a list of words
		set -- "$1" ${diffs[$1]}
		n=$1
		shift
		cat "${@/#/../}" | GIT_CEILING_DIRECTORIES=$work plain_git apply --whitespace=nowarn 2>"$work/error" ||
			die "${names[$n]} does not apply to $BASE: $(cat "$work/error")"
	)
}

# emit N PARENT: part of make_commits. Prints the commit for git fast-import.
emit() {
	local dir
	printf 'commit refs/kvm-stats/build\nmark :%d\nauthor %s\ncommitter %s\ndata %d\n' \
		"$1" "$author" "$author" "$(wc -c <"$work/$1.message")"
	cat "$work/$1.message"
	printf 'from %s\n' "$2"
	for dir in files "$1.new"; do
		if [ "$dir" = files ]; then
			[ ! -f "$work/$1.changed" ] || LC_ALL=C sort -u "$work/$1.changed"
		else
			[ ! -d "$work/$dir" ] || (cd "$work/$dir" && find . -type f | sed 's,^\./,,' | LC_ALL=C sort)
		fi >"$work/emitted"
		[ -s "$work/emitted" ] || continue
		paste -d ' ' \
			<(sed "s,^,$work/$dir/," "$work/emitted" | tgit hash-object -w --no-filters --stdin-paths) \
			"$work/emitted" | while read -r id path; do
			if [ -x "$work/$dir/$path" ]; then
				printf 'M 100755 %s %s\n' "$id" "$path"
			else
				printf 'M 100644 %s %s\n' "$id" "$path"
			fi
		done | sed "$(base_names)"
	done
	[ -z "${removed[$1]:-}" ] || printf '%s' "${removed[$1]}" | sort -u | sed 's/^/D /'
	echo
}

# unnamed: this base's patches that its series does not name, and patches for every base that
# no series names
unnamed() {
	{
		find "$patches" -name '*.patch' | sed "s,^$patches/,," | grep -vxFf <(series_names)
		find patches -mindepth 2 -maxdepth 2 -name '*.patch' | sed 's,^patches/,,' |
			grep -vxFf <(cat patches/*/series)
	} | LC_ALL=C sort || :
}

# unclaimed: the new files that no base's patches claim
unclaimed() {
	new_files | while read -r file; do
		claimed "$file" || echo "$file"
	done
}

# claimed FILE
claimed() {
	local pattern
	[ "${#patterns[@]}" -gt 0 ] || mapfile -t patterns < <(
		find patches -name '*.patch' -exec sed -n '/^---$/,/^diff /s/^New-file: *//p' {} +)
	for pattern in "${patterns[@]}"; do
		# shellcheck disable=SC2053 # a pattern
		[[ $1 != $pattern ]] || return 0
	done
	return 1
}
patterns=()

# no_rebase: refuses while a rebase is in progress, because HEAD is then a temporary state
no_rebase() {
	[ -z "$(find "$tree/.git" -maxdepth 1 -name 'rebase-*')" ] ||
		die "a rebase is going on in $tree: finish it and 'make refresh'"
}

# on_series NEW: for a tree with commits of its own. If the series' last commit has changed to NEW,
# refuses until the user has rebased them onto it.
on_series() {
	local old
	old=$(tgit rev-parse "$head_ref")
	[ "$old" != "$1" ] || return 0
	tgit merge-base --is-ancestor "$1" HEAD ||
		die "$tree has commits that are not in the series, and the repository changed since the last 'make tree': git -C $tree rebase --onto ${1:0:12} ${old:0:12}, then 'make refresh'"
	tgit update-ref -m "rebased by the user" "$head_ref" "$1"
}

# move OLD NEW: moves the work tree and HEAD. Keeps uncommitted edits, or refuses.
move() {
	local blocked
	tgit update-index -q --refresh >/dev/null || : # its status says only that there are edits
	blocked=$(tgit read-tree -m -u "$1" "$2" 2>&1) || {
		note "$blocked"
		die "edits in $tree are in the way of the series: commit them there and 'make refresh', or undo them"
	}
	tgit update-ref -m "made from the series" HEAD "$2"
	tgit update-ref "$head_ref" "$2"
}
