# SPDX-License-Identifier: GPL-2.0-only
#
# A kernel log without those reports of debug kernels that are not ours: of KCSAN
# without a function of KVM's modules, but for what an interrupt has interrupted, and
# those of the list vm/expect/*/reports, which the base gives as well. They go to the file named by the variable others. Set
# before the files: phase=known (the list) and phase=log.

# Whether the report, all of its lines in one, is ours.
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

# How a report ends: KCSAN's with a line, lockdep's on RCU with the registers of user space.
/BUG: KCSAN: / { inside = "==========" }
/WARNING: suspicious RCU usage/ { inside = "RIP: " }

inside {
	report = report $0 "\n"
	# A stack ends with an empty line. What is below an interrupt only had the CPU.
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

# One that the end of the log cut off.
END { printf "%s", report }
