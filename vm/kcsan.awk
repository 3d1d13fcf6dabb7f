# SPDX-License-Identifier: GPL-2.0-only
#
# A kernel log without the reports of KCSAN that are not ours: those without a
# function of KVM's modules, and those of the list vm/kcsan, which occur on the base
# as well. They go to the file named by the variable others. Set before the files:
# phase=known (the list) and phase=log.

function ours(    i) {
	if (report !~ /\[kvm/)
		return 0
	for (i = 1; i <= count; i++)
		if (title ~ known[i])
			return 0
	return 1
}

phase == "known" {
	if ($0 != "" && $0 !~ /^#/)
		known[++count] = $0
	next
}

/BUG: KCSAN: / {
	inside = 1
	report = ""
	title = $0
	sub(/^.*KCSAN: /, "", title)
}

inside {
	report = report $0 "\n"
	if (/==========/) {
		inside = 0
		if (ours())
			printf "%s", report
		else
			printf "%s", report >others
	}
	next
}

{ print }
