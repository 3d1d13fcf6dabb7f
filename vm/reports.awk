# SPDX-License-Identifier: GPL-2.0-only
#
# Prints a kernel log without debug kernels' reports about other code: KCSAN's reports without a
# function of KVM's modules (not counting what an interrupt interrupted), and reports that the
# base has, too (vm/expect/*/reports). Those go to the file named by the variable others. Set
# before the files: phase=known (the list) and phase=log.

# Is the report, all of its lines in one string, ours?
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

# The end of a report: a line of KCSAN's, the registers of user space in lockdep's on RCU, the
# end of the stack in vmalloc()'s.
/BUG: KCSAN: / { inside = "==========" }
/: vmalloc error: / { inside = "<.TASK>" }
/WARNING: suspicious RCU usage/ { inside = "RIP: " }

inside {
	report = report $0 "\n"
	# A stack ends with an empty line. Functions below an interrupt only had the CPU.
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

# A report that the end of the log cut off.
END { printf "%s", report }
