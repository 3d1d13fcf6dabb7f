# SPDX-License-Identifier: GPL-2.0-only
#
# The table of one profile: the rows of the base and of the series beside each other,
# with the limits. What exceeds its limit is named on stderr as well, and the exit
# status is 1. `what` is the program that the rows are of.

$1 == "row" {
	kernel = FNR == NR ? "base" : "series"
	cost[kernel, $2] = $3
	values[kernel, $2] = $4
}

function number(x) { return x == "" ? "-" : sprintf("%.0f", x) }

function percent(from, to) { return (to - from) / from * 100 }

# `measured` is what the limit is for, both are printed with `format`.
function row(text, base, series, difference, limit, measured, format,    verdict, line) {
	if (limit != "") {
		verdict = measured <= limit ? "ok" : "EXCEEDED"
		limit = sprintf("<= " format, limit)
	}
	if (verdict == "EXCEEDED") {
		printf "%s: %s: " format ", limit %s\n", profile, text, measured, limit >"/dev/stderr"
		failed = 1
	}
	line = sprintf("%-44s %9s %9s %10s  %-10s %s", text, number(base), number(series),
		difference, limit, verdict)
	sub(/ +$/, "", line)
	print line
}

# Series against base: the limit is for the percentage.
function compare(text, key, limit,    more) {
	more = percent(cost["base", key], cost["series", key])
	row(text, cost["base", key], cost["series", key], sprintf("%+.2f %%", more), limit, more, "%.2f %%")
}

# ... for the difference.
function subtract(text, key, limit,    more) {
	more = cost["series", key] - cost["base", key]
	row(text, cost["base", key], cost["series", key], sprintf("%+d", more), limit, more, "%d")
}

# ... for the series alone.
function show(text, key, limit) {
	row(text, cost["base", key], cost["series", key], "", limit, cost["series", key], "%d")
}

function count(key) {
	if (values["base", key] == "" || values["base", key] == values["series", key])
		return values["series", key]
	return values["base", key] " and " values["series", key]
}

function instructions(    x86, alone, more) {
	x86 = profile ~ /^x86/
	compare("null system call", "system-call")
	compare("pread() of /dev/null", "pread-null")
	compare("exit that KVM handles, " (x86 ? "CPUID" : "HVC"), "kernel-exit", 0.25)
	compare("exit to user space, " (x86 ? "OUT" : "MMIO"), "user-exit", 0.25)
	show("one statistic by pread()", "pread-one", 400)
	show("all " count("pread-vcpu") " values of a vCPU by pread()", "pread-vcpu",
		400 + int(2.5 * values["series", "pread-vcpu"]))
	show("all " count("pread-vm") " values of a VM by pread()", "pread-vm")
	show("one statistic by debugfs", "debugfs-one")
	show("all " count("debugfs-all") " files of debugfs, VM and vCPUs", "debugfs-all")
	show("KVM_GET_STATS_FD and close()", "get-fd")
	compare("KVM_CREATE_VCPU", "create-vcpu")
	alone = cost["series", "exit-alone"]
	row("vCPU's time per exit", "", alone)
	more = percent(alone, cost["series", "exit-with-reader"])
	row("... beside " count("exit-with-reader") " reads by a thread", "",
		cost["series", "exit-with-reader"], sprintf("%+.2f %%", more), 2, more, "%.2f %%")
}

function memory() {
	subtract("a vCPU, one of 512", "vcpu", 4096 + 512)
	subtract("a VM without vCPUs", "vm")
	show("an open statistics file of a vCPU", "fd")
	show("... with VM and vCPU closed", "kept", 4096 + 1024)
	show("... with all closed", "left", 64)
}

END {
	if (!((what == "memory" ? "series" SUBSEP "kept" : "series" SUBSEP "exit-with-reader") in cost)) {
		print profile ": no results" >"/dev/stderr"
		exit 1
	}
	printf "\n%-44s %9s %9s %10s  %s\n", profile ", " (what == "memory" ? "bytes" : what),
		"base", "series", "difference", "limit"
	if (what == "memory")
		memory()
	else
		instructions()
	exit failed
}
