# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Completes the command line of kvmstat in bash. Commands and options are those that
# kvmstat --help names, so that they cannot differ from those of the program.

# The words of the help text $1 that a line may begin with: commands.
_kvmstat_commands() {
	sed -nE 's/^  kvmstat \[?([a-z]+).*/\1/p' <<<"$1" | sort -u
}

# Those that follow the file of replay.
_kvmstat_replayed() {
	sed -nE 's/^  kvmstat replay FILE ([a-z]+(\|[a-z]+)+).*/\1/p' <<<"$1" | tr '|' '\n'
}

# Options that command $2 has, or kvmstat without a command: they stand in its lines of the
# usage, and these in none of them.
_kvmstat_options_of() {
	local option options

	options=$(awk -v command="$2" '/^Options:/ { exit }
		/^  kvmstat / { on = ($2 ~ /^[a-z]+$/ ? $2 : "") == command } on' <<<"$1" |
		grep -oE -- '(^|[[ ])--?[a-z]+(-[a-z]+)*' | tr -d '[ ')
	for option in $options; do
		case $option in
		--*) echo "$option" ;;
		*) sed -nE "s/^ +$option, (--[a-z]+).*/\\1/p" <<<"$1" ;;
		esac
	done | sort -u
	case $2 in
	'' | list | show | hist | watch) printf -- '--%s\n' json csv help ;;
	help) ;;
	*) echo --help ;;
	esac
}

# Those of a line behind replay and its file: in front of a command it has some of its own.
_kvmstat_options_of_replay() {
	local help=$1 word
	shift

	for word; do
		if _kvmstat_replayed "$help" | grep -qxF -- "$word"; then
			_kvmstat_options_of "$help" "$word"
			return
		fi
	done
	printf -- '--%s\n' at info
	_kvmstat_options_of "$help" ''
}

# The VMs of this host, or of the recording that is replayed.
_kvmstat_list() {
	local program=$1

	if [ "${COMP_WORDS[1]}" != replay ]; then
		"$program" list --csv
	elif [ -f "${COMP_WORDS[2]}" ]; then
		"$program" replay "${COMP_WORDS[2]}" list --csv
	fi 2>/dev/null
}

# Whether option $2 is one that an argument follows.
_kvmstat_takes_argument() {
	grep -qE -- "(^|[ ,])$2( |, --[a-z-]+ )[A-Z[]" <<<"$1"
}

# Names of VMs are anybody's, and what is offered is expanded by the shell, here and once more
# when the line is run: only words in which it has nothing to expand.
_kvmstat_plain() {
	LC_ALL=C grep -xE '[0-9]+|[A-Za-z_][A-Za-z0-9_.-]*'
}

_kvmstat() {
	local program=$1 word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local help words=

	COMPREPLY=()
	help=$("$program" --help 2>/dev/null) || return 0
	case $previous in
	-p | --pid)
		words=$(_kvmstat_list "$program" |
			awk -F, 'NR > 1 { print $1; if ($3 !~ /^[0-9]*$/) print $3 }' |
			_kvmstat_plain | sort -u)
		;;
	--sort)
		words='guest kvm vmm ready idle exits halts injections vcpus ready50 ready99
			exit50 exit99 name pid reason'
		;;
	--label)
		words=$("$program" export --label '' 2>&1 |
			sed -n 's/.* is no label of whose VM it is: \([a-z_, ]*\) (.*/\1/p' | tr -d ,)
		;;
	-*)
		! _kvmstat_takes_argument "$help" "$previous" || return 0
		;;&
	*)
		if [[ $word == -* && ${COMP_WORDS[1]} == replay ]]; then
			words=$(_kvmstat_options_of_replay "$help" "${COMP_WORDS[@]:3}")
		elif [[ $word == -* && ${COMP_WORDS[1]} =~ ^[a-z]+$ ]]; then
			words=$(_kvmstat_options_of "$help" "${COMP_WORDS[1]}")
		elif [[ $word == -* ]]; then
			words=$(_kvmstat_options_of "$help" '')
			[ "$COMP_CWORD" -gt 1 ] || words+=$'\n--version'
		elif [ "${COMP_WORDS[1]}" = explain ] && [ "$COMP_CWORD" -gt 1 ]; then
			words=$("$program" explain '*' 2>/dev/null | sed -nE 's/^([a-z0-9_]+) \(.*/\1/p')
		elif [ "$COMP_CWORD" -eq 1 ]; then
			words=$(_kvmstat_commands "$help")
		elif [ "$COMP_CWORD" -eq 3 ] && [ "${COMP_WORDS[1]}" = replay ]; then
			words=$(_kvmstat_replayed "$help")
		fi
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

# What is none of these may be a file.
complete -o default -F _kvmstat kvmstat
