# SPDX-License-Identifier: GPL-2.0-only
#
# Prints the table of one profile: the rows of the base, of the series and, for instructions,
# of the series without its options ("plain"), with limits. If a figure exceeds its limit, also
# names it on stderr and exits with status 1. `what` is the program that made the rows.

BEGIN {
	last["instructions"] = "halt-sampled"
	last["memory"] = "left"
	last["scan"] = "first"
	last["export"] = "export-memory"
	last["look"] = "look-foreign-most"
	title["instructions"] = "instructions"
	title["memory"] = "bytes"
	title["scan"] = "a host of 10240 vCPUs in 40 VMs"
	title["export"] = "kvmstat export, 10240 vCPUs in 40 VMs"
	title["look"] = "kvmstat 1, many other open files"
}

$1 == "row" {
	kernel = FILENAME == ARGV[1] ? "base" : FILENAME == ARGV[2] ? "series" : "plain"
	if (kernel == "series" && $2 ~ /^debugfs-all-/)
		size[++num_sizes] = substr($2, length("debugfs-all-") + 1)
	cost[kernel, $2] = $3
	values[kernel, $2] = $4
}

function number(x) { return x == "" ? "-" : sprintf(x < 10 && x != int(x) ? "%.2f" : "%.0f", x) }

function percent(from, to) { return (to - from) / from * 100 }

# The limit is for `measured`; both are printed with `format`.
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

# Compares series and base; the limit is a percentage. With `base_key`, compares with another
# row of the base.
function compare(text, key, limit, base_key,    base, more) {
	base = cost["base", base_key == "" ? key : base_key]
	more = percent(base, cost["series", key])
	row(text, base, cost["series", key], sprintf("%+.2f %%", more), limit, more, "%.2f %%")
}

# Like compare(), but the limit is a difference.
function subtract(text, key, limit,    more) {
	more = cost["series", key] - cost["base", key]
	row(text, cost["base", key], cost["series", key], sprintf("%+d", more), limit, more, "%d")
}

# The difference of two rows of the series, if it has them.
function beyond(text, key, than, limit,    more) {
	if (cost["series", key] == "")
		return
	more = cost["series", key] - cost["series", than]
	row(text, "", cost["series", key], sprintf("%+d", more), limit, more, "%d")
}

# Prints both figures without comparing them; the limit is for the series.
function show(text, key, limit) {
	row(text, cost["base", key], cost["series", key], "", limit, cost["series", key], "%.5g")
}

# Like compare(), for the series without its options.
function compare_plain(key, limit,    more) {
	more = percent(cost["base", key], cost["plain", key])
	row("... options off", cost["base", key], cost["plain", key], sprintf("%+.2f %%", more),
		limit, more, "%.2f %%")
}

# The smaller one of a limit and of what the base needs, if the base has the file.
function limit_by_base(key, limit,    base) {
	base = cost["base", key]
	return base != "" && base < limit ? base : limit
}

function count(key) {
	if (values["base", key] == "" || values["base", key] == values["series", key])
		return values["series", key]
	return values["base", key] " and " values["series", key]
}

# The vCPU's time while another thread reads its values.
function beside(text, key,    more) {
	more = percent(cost["series", "exit-alone"], cost["series", key])
	row("... beside " count(key) " " text, "", cost["series", key], sprintf("%+.2f %%", more),
		2, more, "%.2f %%")
}

# An exit has jump labels where perf events could be sampled. The bucket of its reason takes a
# compare, a table and an increment; time by state takes two reads of the cycle counter and a
# log2. An exit to user space also counts its KVM_EXIT_*. On arm64 an exit has fewer
# instructions to begin with, so percentages are higher.
#
# The 17 instructions of an exit on arm64's 6.12 with the options off, in an HVC:
#
#	cmp, b.ne			is it a trap, or an interrupt or SError?
#	ldr, lsr			the exception class
#	cmp, b.eq			WFI and WFE share a class
#	adrp, add, ldrb			the reason of the class
#	ldr, add, ldr, add, str		vcpu->stat, the address of the bucket, increment it
#	ldr				vcpu->stat again, to increment exits
#	ldr				vcpu->stat, to increment hvc_exit_stat
#	nop				aligns a branch target
#
# arm64 reads values with copy_to_user(), which takes 2.45 instructions for each on 6.12. 7.3
# cannot use it, and takes 4.3, see virt/kvm/stats_fd.c.
function instructions(    x86) {
	x86 = profile ~ /^x86/
	compare("null system call", "system-call")
	compare("pread() of /dev/null", "pread-null")
	compare("exit that KVM handles, " (x86 ? "CPUID" : "HVC"), "kernel-exit", x86 ? 1.25 : 2.2)
	compare_plain("kernel-exit", x86 ? 0.9 : 1.6)
	compare("exit to user space, " (x86 ? "OUT" : "MMIO"), "user-exit", x86 ? 2.1 : 1.6)
	compare_plain("user-exit", x86 ? 1.55 : 1.2)
	compare("signal to a vCPU blocked in a halt, and back", "halt")
	compare_plain("halt")
	compare("exit that KVM handles, time by state on", "kernel-exit-timed", x86 ? 6.1 : 13.2,
		"kernel-exit")
	compare("exit to user space, time by state on", "user-exit-timed", "", "user-exit")
	compare("signal to a blocked vCPU, time by state on", "halt-timed", "", "halt")
	compare("exit that KVM handles, an event counts it", "kernel-exit-counted", x86 ? 1.25 : 2.2,
		"kernel-exit")
	compare("... a sampling event, no sample taken", "kernel-exit-sampled", "", "kernel-exit")
	compare("... a sampling event, each exit sampled", "kernel-exit-sample", "", "kernel-exit")
	compare("exit to user space, an event counts it", "user-exit-counted", "", "user-exit")
	compare("... a sampling event, no sample taken", "user-exit-sampled", "", "user-exit")
	compare("signal to a blocked vCPU, a dummy event", "halt-nothing", "", "halt")
	compare("... an event counts exits", "halt-counted", "", "halt")
	compare("... a sampling event, no sample taken", "halt-sampled", "", "halt")
	beyond("exit that KVM handles, its guest may count", "kernel-exit-allowed", "kernel-exit", x86 ? 25 : "")
	beyond("... its guest counts it in a slot", "kernel-exit-slot", "kernel-exit", x86 ? 110 : "")
	beyond("... in 16 slots", "kernel-exit-slots", "kernel-exit", x86 ? 560 : "")
	show("one statistic by pread()", "pread-one", limit_by_base("pread-one", 400))
	show("all " count("pread-vcpu") " values of a vCPU by pread()", "pread-vcpu",
		400 + int((x86 ? 2.2 : 2.5) * values["series", "pread-vcpu"]))
	show("all " count("pread-vm") " values of a VM by pread()", "pread-vm")
	show("one statistic by mmap()", "mmap-one", 2)
	show("all " count("mmap-vcpu") " values of a vCPU by mmap()", "mmap-vcpu",
		2 * values["series", "mmap-vcpu"])
	show("... copied to an array", "mmap-copy")
	show("one statistic by debugfs", "debugfs-one")
	show("all " count("debugfs-all") " files of debugfs, VM and vCPUs", "debugfs-all")
	show("KVM_GET_STATS_FD and close()", "get-fd")
	compare("KVM_CREATE_VCPU", "create-vcpu")
	row("vCPU thread's CPU time per exit", "", cost["series", "exit-alone"])
	beside("reads by a thread", "exit-with-reader")
	beside("scans of a mapping", "exit-with-mapping")
}

function memory() {
	subtract("a vCPU, one of 512", "vcpu", 4096 + 512)
	subtract("a VM without vCPUs", "vm")
	show("an open statistics file of a vCPU", "fd")
	show("... with VM and vCPU closed", "kept", 4096 + 1024)
	show("... with all closed", "left", 64)
}

function per_vcpu(key, vcpus) {
	return number(cost["series", key "-" vcpus] / vcpus)
}

# Prints one line per measured size of a host.
function sizes_table(text, which,    i, n) {
	printf "\n%s, instructions of a scan: %s\n", profile, text
	printf "%6s %4s %10s %10s %10s %10s   %8s %8s %8s\n", "vCPUs", "VMs", "mapping",
		"pread()", "debugfs", "on base", "mapping", "pread()", "debugfs"
	printf "%54s   %26s\n", "", "per vCPU"
	for (i = 1; i <= num_sizes; i++) {
		n = size[i]
		printf "%6d %4d %10s %10s %10s %10s   %8s %8s %8s\n", n, int((n + 255) / 256),
			number(cost["series", "mapping-" which "-" n]),
			number(cost["series", "pread-" which "-" n]),
			number(cost["series", "debugfs-" which "-" n]),
			number(cost["base", "debugfs-" which "-" n]),
			per_vcpu("mapping-" which, n), per_vcpu("pread-" which, n),
			per_vcpu("debugfs-" which, n)
	}
}

function scan_tables(    smallest) {
	smallest = size[1]
	sizes_table("all " values["series", "mapping-all-" smallest] " values of each vCPU, " \
		"by debugfs " values["series", "debugfs-all-" smallest] " sums of each VM", "all")
	sizes_table("one value of each vCPU, added up; by debugfs one sum of each VM", "one")
}

# Prints the figure divided by the number of values.
function per_value(text, key, limit,    each) {
	each = cost["series", key] / values["series", key]
	row(text, "", each, sprintf("%.2f", each), limit, each, "%.2f")
}

function kib(text, key, limit) {
	row(text, "", cost["series", key], "", limit, cost["series", key], "%d")
}

function export() {
	row("values that a scrape reads", "", values["series", "export"])
	row("samples in its answer", "", values["series", "export-size"])
	row("bytes of its answer", "", cost["series", "export-size"])
	row("instructions of a scrape that scans for VMs", "", cost["series", "export-look"])
	per_value("... per value read", "export-look", 15)
	row("... of scrapes without a pause", "", cost["series", "export"])
	per_value("... per value read", "export", 12)
	row("... of the first scrape", "", cost["series", "export-first"])
	# A sample, which has 8 bytes per value, and 10 MiB.
	kib("KiB of its own memory", "export-memory", values["series", "export"] / 128 + 10240)
}

# Prints the percentage of a CPU that executes one instruction per nanosecond.
function share(text, key, limit,    each) {
	each = cost["series", key] / 1e7
	row(text, "", each, "", limit, each, "%.2f")
}

function look() {
	row("instructions until the first line", "", cost["series", "look-first"])
	row("... per second", "", cost["series", "look"])
	row("... beside 1500 small processes", "", cost["series", "look-small"])
	share("... percent of a CPU, 1 instruction per ns", "look-small", 1)
	row("... first line, 10 processes of 20000 files", "", cost["series", "look-foreign-first"])
	row("... per second, on average", "", cost["series", "look-foreign"])
	share("... percent of a CPU, 1 instruction per ns", "look-foreign", 1)
	row("... most in one second", "", cost["series", "look-foreign-most"])
}

function scan(    n, one, many) {
	n = size[num_sizes]
	show("system calls of a scan by mapping", "calls-mapping", 0)
	show("... by pread()", "calls-pread")
	show("... by debugfs", "calls-debugfs")
	show("file descriptors that a mapping needs", "files-mapping", 0)
	show("... that pread() needs", "files-pread")
	show("... that debugfs needs, directories", "files-debugfs")
	show("first scan by mapping, with page faults", "first")
	one = cost["series", "mapping-all-" size[1]] / size[1]
	many = cost["series", "mapping-all-" n] / n
	row("all values of a vCPU by mapping, 1 vCPU", "", one, "",
		2 * values["series", "mapping-all-" n], one, "%d")
	row("... of " n " vCPUs, each", "", many, sprintf("%+.2f %%", percent(one, many)), 0,
		percent(one, many), "%.2f %%")
}

END {
	if (!(("series", last[what]) in cost)) {
		print profile ": no results" >"/dev/stderr"
		exit 1
	}
	if (what == "scan")
		scan_tables()
	printf "\n%-44s %9s %9s %10s  %s\n", profile ", " title[what], "base", "series",
		"difference", "limit"
	if (what == "memory")
		memory()
	else if (what == "scan")
		scan()
	else if (what == "export")
		export()
	else if (what == "look")
		look()
	else
		instructions()
	exit failed
}
