# SPDX-License-Identifier: GPL-2.0-only
#
# Prints a kernel log without the reports of debug kernels about other code. Those go to the file
# that the variable others names: KCSAN's reports that name no function of KVM's modules (except
# functions that an interrupt interrupted), and reports that the base gives too
# (vm/expect/*/reports). Set phase=known before the list and phase=log before the log.

# Does the report, one string with all of its lines, concern KVM?
function ours(    i) {
	if (report ~ /KCSAN: / && accesses !~ /\[kvm/)
		return 0
	for (i = 1; i <= count; i++)
		if (report ~ known[i])
			return 0
	return 1
}

phase == "known" {
	if ($0 != "" && $0 !~ /^#/)
		known[++count] = $0
	next
}

# A report ends with the second line of "=" in KCSAN's reports, with user space's registers in
# lockdep's report on RCU, and with the end of the stack in vmalloc()'s.
/BUG: KCSAN: / { inside = "==========" }
/: vmalloc error: / { inside = "<.TASK>" }
/WARNING: suspicious RCU usage/ { inside = "RIP: " }

inside {
	report = report $0 "\n"
	# An empty line ends a stack. Functions below an interrupt did not access the data.
	if ($0 !~ /^\[ *[0-9.]+\] *[^ ]/)
		interrupted = 0
	if (!interrupted)
		accesses = accesses $0 "\n"
	if ($0 ~ / asm_(common_interrupt|sysvec_|exc_nmi)/)
		interrupted = 1
	if ($0 ~ inside) {
		printf "%s", report >(ours() ? "/dev/stdout" : others)
		inside = report = accesses = ""
	}
	next
}

{ print }

# Print a report that the end of the log cut off.
END { printf "%s", report }
