# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Completes kvmstat's command line in bash. "kvmstat help --words" prints the commands and
# options, so that they always match the program.

# Prints pids and names of the VMs of this host, or of the recording that is replayed. The name is
# the last column. CSV quotes a name with a comma, and _kvmstat_plain drops it.
_kvmstat_vms() {
	local program=$1

	if [ "${COMP_WORDS[1]}" != replay ]; then
		"$program" list --csv
	elif [ -f "${COMP_WORDS[2]}" ]; then
		"$program" replay "${COMP_WORDS[2]}" list --csv
	fi 2>/dev/null | tr -d '\r' | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == "pid") pid = i; next }
		{ print $pid; if ($NF !~ /^[0-9]*$/) print $NF }' | _kvmstat_plain | sort -u
}

# Other users choose the names of VMs, and the shell expands completions, here and when it runs the
# line: offer only words without special characters.
_kvmstat_plain() {
	LC_ALL=C grep -xE '[0-9]+|[A-Za-z_][A-Za-z0-9_.-]*'
}

_kvmstat_statistics() {
	"$1" explain '*' 2>/dev/null | sed -nE 's/^([a-z0-9_]+) \((of the VM|of each vCPU).*/\1/p'
}

_kvmstat() {
	local program=$1 word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local command='' first=1 options words='' i

	COMPREPLY=()
	# Find the command. After "replay FILE" it is the one that follows.
	if [ "${COMP_WORDS[1]}" = replay ]; then
		first=3
		[ "$COMP_CWORD" -gt 2 ] || first=1
	fi
	for ((i = first; i < COMP_CWORD; i++)); do
		if [[ ${COMP_WORDS[i]} =~ ^[a-z]+$ ]]; then
			command=${COMP_WORDS[i]}
			break
		fi
	done
	options=$("$program" help --words "$command" 2>/dev/null) || return 0
	if [ "$first" = 3 ] && [ -z "$command" ]; then
		options+=$'\n'$("$program" help --words replay)
	fi
	case $previous in
	-p | --pid) words=$(_kvmstat_vms "$program") ;;
	--sort)
		words='state guest kvm vmm ready wait idle off other exits halts injections
			ready99 exit99 vcpus name pid id reason source'
		;;
	--stat) words=$(_kvmstat_statistics "$program") ;;
	--label)
		words=$("$program" export --label '' 2>&1 |
			sed -n 's/.* is not a label; choose from \([a-z_, ]*\) (.*/\1/p' | tr -d ,)
		;;
	-[cn]) return 0 ;;
	--*)
		! grep -qx -- "$previous=" <<<"$options" || return 0
		;;&
	*)
		if [[ $word == -* ]]; then
			words=$(sort -u <<<"${options//=/}")
			[ -n "$command" ] || words+=$'\n--version'
		elif [ "$COMP_CWORD" = "$first" ]; then
			words=$("$program" help --words)
			[ "$first" = 1 ] ||
				words=$(grep -vxE 'record|replay|export|explain|help' <<<"$words")
		else
			case $command in
			list | why | top | show | exits) words=$(_kvmstat_vms "$program") ;;
			hist) words="$(_kvmstat_vms "$program") $(_kvmstat_statistics "$program")" ;;
			watch) words=$(_kvmstat_statistics "$program") ;;
			explain)
				words=$("$program" explain '*' 2>/dev/null | sed -nE 's/^([a-z0-9_]+) \(.*/\1/p')
				;;
			help) words=$("$program" help --words) ;;
			esac
		fi
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

# Without a match, offer files.
complete -o default -F _kvmstat kvmstat
