# SPDX-License-Identifier: GPL-2.0-only
#
# Prints the result of a boot: one `ok` or `not ok` line per test case, from the tests' output
# (out), init's results (verdict) and the kernel log (splats). Also names the slowest tests.
# Set phase before each file.
# Variables: profile, proof, emulator_status, expected_taint.
# Exit status: 0 PASS, 1 FAIL, 2 LOST.

function glob_to_regex(glob) {
	gsub(/[][.+(){}^$|\\]/, "\\\\&", glob)
	gsub(/\*/, ".*", glob)
	gsub(/\?/, ".", glob)
	return "^" glob "$"
}

function pass(name) {
	print "ok - " profile " " name
}

function fail(name, why) {
	print "not ok - " profile " " name (why == "" ? "" : ": " why)
	failed = 1
}

# Fails a test as a whole, not one of its cases.
function fail_test(test, why) {
	fail(test, why)
	show(test, 1, lines[test])
}

# A skip passes if the list of skips names it; print the list's reason.
function skip(test, name, why,    i) {
	for (i = 1; i <= skips; i++)
		if (skip_test[i] == test && name ~ skip_case[i]) {
			skip_used[i] = 1
			print "ok - " profile " " test " " name " # SKIP " skip_reason[i]
			return
		}
	fail(test " " name, "unexpected skip: " why)
}

# Prints the last of these lines of a test's output.
function show(test, first, last) {
	if (first < last - 14)
		first = last - 14
	for (; first <= last; first++)
		print "#   " line[test, first]
}

# An `ok` or `not ok` line of a test's TAP output.
function tap_case(test, text,    name, why, result) {
	result = text ~ /^not / ? "not ok" : "ok"
	sub(/^(not )?ok *[0-9]* *(- )?/, "", text)
	name = text
	if (match(text, /# *SKIP/)) {
		result = "skip"
		why = substr(text, RSTART + RLENGTH + 1)
		name = substr(text, 1, RSTART - 1)
	}
	sub(/ *$/, "", name)
	# kselftest_harness.h prints no name for a skipped case
	cases[test]++
	case_end[test, cases[test]] = lines[test]
	if (name == "")
		name = running == "" ? "case " cases[test] : running
	case_name[test, cases[test]] = name
	case_result[test, cases[test]] = result
	case_why[test, cases[test]] = why
}

function fail_case(test, i) {
	fail(test " " case_name[test, i])
	show(test, case_end[test, i - 1] + 1, case_end[test, i])
}

function judge_cases(test,    i, name) {
	for (i = 1; i <= cases[test]; i++) {
		name = case_name[test, i]
		if (case_result[test, i] == "ok")
			pass(test " " name)
		else if (case_result[test, i] == "skip")
			skip(test, name, case_why[test, i])
		else
			fail_case(test, i)
	}
}

# In kselftest, exit status 4 means that the whole test was skipped.
function judge_tap(test) {
	judge_cases(test)
	if (bail[test] != "")
		fail_test(test, bail[test])
	else if (!(test in plan))
		fail_test(test, "no TAP plan (" end[test] ")")
	else if (plan[test] == 0 && plan_skip[test] != "")
		skip(test, "all", plan_skip[test])
	else if (plan[test] != cases[test] + 0 || !cases[test])
		fail_test(test, "plan of " plan[test] " cases, " cases[test] + 0 " seen (" end[test] ")")
	else if (end[test] != "exit 0" && end[test] != "exit 4" && !failed)
		fail_test(test, end[test])
}

function judge_exit(test) {
	if (end[test] == "exit 0")
		pass(test)
	else if (end[test] == "exit 4")
		skip(test, "all", line[test, lines[test]])
	else
		fail_test(test, end[test])
}

# A test with the judge `base` must end as it does without the series.
function judge_base(test) {
	if (test in flickers && end[test] ~ ("^exit (" flickers[test] ")$"))
		pass(test ": " end[test] ", which is flaky on the base: " flicker_reason[test])
	else if (!(test in recorded))
		fail_test(test, "the base has no recorded result: make baseline")
	else if (end[test] == recorded[test])
		pass(test ": " end[test] ", as on the base")
	else
		fail_test(test, end[test] ", on the base: " recorded[test])
}

function judge_test(test,    failed_before) {
	failed_before = failed
	failed = 0
	if (!(test in end))
		end[test] = "never started"
	if (judge[test] == "tap" && test in begun)
		judge_tap(test)
	else if (judge[test] == "base")
		judge_base(test)
	else
		judge_exit(test)
	failed = failed || failed_before
}

# KVM must run in the profile's mode. All splats of one test are reported as one failure.
function judge_log(    i) {
	if (!proven)
		fail("boot", "no \"" proof "\" in the kernel log")
	for (i = 1; i <= splats; i++)
		if (splat_test[i] != splat_test[i - 1])
			fail("kernel log", splat_test[i] ": " splat[i])
		else
			print "#   " splat[i]
}

# Without a verdict nothing counts as passed: show the cases that failed and the last test.
function judge_lost(    i, j) {
	for (i = 1; i <= tests; i++)
		for (j = 1; j <= cases[order[i]]; j++)
			if (case_result[order[i], j] == "not ok" && judge[order[i]] == "tap")
				fail_case(order[i], j)
	fail("boot", "LOST " (test == "" ? "between tests" : "in " test) ", no verdict: " \
	     (emulator_status == 124 ? "time limit" : "emulator exit " emulator_status))
	show(test, 1, lines[test])
	judge_log()
}

function judge_boot(    failed_before, i) {
	failed_before = failed
	failed = 0
	if (emulator_status != 0)
		fail("boot", "emulator exit " emulator_status)
	if (leaked)
		fail("boot", leaked " leaked VMs: no process holds them")
	if (tainted != expected_taint)
		fail("boot", "kernel tainted: " tainted)
	if (unreferenced) {
		fail("boot", unreferenced " unreferenced objects, see kmemleak")
		show("kmemleak", 1, lines["kmemleak"])
	}
	judge_log()
	for (i = 1; i <= skips; i++)
		if (!skip_used[i] && (skip_test[i] in judge))
			fail("boot", "an expected skip did not happen: " skip_test[i] " " skip_glob[i])
	if (!failed)
		pass("boot: verdict, kernel log, leaks")
	failed = failed || failed_before
}

# Names the slowest tests, in seconds of the guest's clock. It also runs while this machine's
# CPUs do other work.
function name_slowest(    i, n, most, text) {
	for (n = 0; n < 5 && n < tests; n++) {
		most = ""
		for (i = 1; i <= tests; i++)
			if (order[i] in took && (most == "" || took[order[i]] > took[most]))
				most = order[i]
		if (most == "")
			break
		text = text (n ? ", " : "") sprintf("%s %.1f", most, took[most] / 1000)
		delete took[most]
	}
	if (n > 1)
		print "# " profile ": slowest: " text
}

phase == "tests" {
	order[++tests] = $1
	judge[$1] = $2
}

phase == "skips" {
	skip_test[++skips] = $1
	skip_glob[skips] = $2
	skip_case[skips] = glob_to_regex($2)
	sub(/^[^ ]+ +[^ ]+ +/, "")
	skip_reason[skips] = $0
}

phase == "base" { recorded[$1] = $2 " " $3 }

phase == "flickers" {
	test = $1
	flickers[test] = $2
	sub(/^[^ ]+ +[^ ]+ +/, "")
	flicker_reason[test] = $0
	test = ""
}

phase == "verdict" && $1 == "test" { end[$2] = $3 " " $4 }
phase == "verdict" && $1 == "leaked-vms" { leaked = $2 }
phase == "verdict" && $1 == "unreferenced" { unreferenced = $2 }
phase == "verdict" && $1 == "tainted" { tainted = $2 }
phase == "verdict" { complete = ($1 == "end") }

phase == "out" && /^@@ begin / { test = $3; begun[test] = 1; running = ""; next }
phase == "out" && /^@@ end / { took[$3] = $4 + 0; test = ""; next }
phase == "out" && test != "" && NF {
	sub(/\r$/, "")
	line[test, ++lines[test]] = $0
}
phase == "out" && /^1\.\.[0-9]+/ {
	plan[test] = substr($1, 4) + 0
	if (match($0, /# *SKIP */))
		plan_skip[test] = substr($0, RSTART + RLENGTH) " "
}
phase == "out" && /^# +RUN / { running = $3 }
phase == "out" && /^(not )?ok( |$)/ { tap_case(test, $0) }
phase == "out" && /^Bail out!/ { bail[test] = $0 }

phase == "splats" {
	splat_test[++splats] = $1
	sub(/^[^ ]+ /, "")
	splat[splats] = $0
}

phase == "proof" { proven = 1 }

END {
	if (complete) {
		for (i = 1; i <= tests; i++)
			judge_test(order[i])
		judge_boot()
	} else {
		judge_lost()
	}
	name_slowest()
	exit(!complete ? 2 : failed ? 1 : 0)
}
