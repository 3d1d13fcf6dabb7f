# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # top, tree and out are set by lib.sh
#
# Runs the kernel's checkpatch on files and mails. Sourced after lib.sh.

# checkpatch OPTION...: reads file names, prints the complaints of checkpatch that
# scripts/checkpatch.known does not list, and fails if there are any. Runs in build/, because
# checkpatch leaves a cache in its working directory. Skips files that were clean before.
checkpatch() {
	local way names complaints file line type text
	local -a bad=()
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
		bad+=("${file#"$top"/}")
		echo "${bad[-1]}:$line: $type:$text"
	done <<<"$complaints"
	awk 'FILENAME == ARGV[1] { bad[$0]; next } NF && !($2 in bad) { print $1 }' \
		<(printf '%s\n' "${bad[@]}") - <<<"$names" >>"$out/checkpatch-clean"
	[ ${#bad[@]} -eq 0 ]
}

# names_of_contents WAY: reads names of files, prints each after a hash of its content, for a
# mail without its date and commit
names_of_contents() {
	local file
	while read -r file; do
		case $file in
		*.patch) sed -E '/^From [0-9a-f]{40} /d; /^Date: /d' "$file" ;;
		*) cat "$file" ;;
		esac | cat - <(echo "$file $1") | sha256sum | sed "s,-\$,$file,; s,  , ,"
	done
}

# known_complaint TYPE LINE: does LINE match a pattern that is listed for TYPE?
known_complaint() {
	local type pattern
	while read -r type pattern; do
		[ "$type" = "$1" ] && grep -qE -e "$pattern" <<<"$2" && return
	done < <(grep -v '^#' scripts/checkpatch.known)
	return 1
}
