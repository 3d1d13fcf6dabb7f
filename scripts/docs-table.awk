# SPDX-License-Identifier: GPL-2.0-only
#
# Writes the statistics of one kind of object as a table in reStructuredText. Reads
# lines of: architecture, conditions, object, name, type, unit, buckets, help, the rest;
# with @@ between them. For the object "reason" those of exits: architecture, name, help;
# for "state" those of vCPUs: name, help.
# What several architectures have in the same way is one row. Variables: object, columns
# (how wide the table may be).

function repeat(char, n,    text) {
	while (n-- > 0)
		text = text char
	return text
}

function longest_word(text,    words, longest, n) {
	for (n = split(text, words, " "); n > 0; n--)
		if (length(words[n]) > longest)
			longest = length(words[n])
	return longest + 0
}

# Breaks text into lines[1..] of a width, returns how many.
function wrap(text, max, lines,    words, n, i, count) {
	split("", lines)
	count = 1
	n = split(text, words, " ")
	for (i = 1; i <= n; i++) {
		if (lines[count] != "" && length(lines[count] words[i]) >= max)
			count++
		lines[count] = lines[count] (lines[count] == "" ? "" : " ") words[i]
	}
	return count
}

function print_border(    i, text) {
	for (i = 1; i <= cells; i++)
		text = text (i > 1 ? "  " : "") repeat("=", width[i])
	print text
}

function print_row(row,    i, k, n, height, lines, part, text) {
	for (i = 1; i <= cells; i++) {
		n = wrap(cell[row, i], width[i], lines)
		height = n > height ? n : height
		for (k = 1; k <= n; k++)
			part[k, i] = lines[k]
	}
	for (k = 1; k <= height; k++) {
		text = ""
		for (i = 1; i <= cells; i++)
			text = text sprintf("%-" width[i] + 2 "s", part[k, i])
		sub(/ +$/, "", text)
		print text
	}
}

function type_text(type, buckets) {
	if (type == "LOG_HIST")
		return "log histogram, " buckets " buckets"
	if (type == "LINEAR_HIST")
		return "linear histogram, see below"
	if (buckets)
		return tolower(type) ", by reason"
	return tolower(type)
}

function meaning_text(help, rest, conditions) {
	# Strings that stand side by side are one.
	gsub(/" *"/, "", help)
	gsub(/^"|"$/, "", help)
	if (match(rest, /\.alias = "[^"]*"/))
		help = help "; in debugfs ``" substr(rest, RSTART + 10, RLENGTH - 11) "``"
	if (rest ~ /\.no_file/)
		help = help "; not in debugfs"
	if (conditions != "") {
		gsub(/ /, " and ", conditions)
		help = help "; with " conditions
	}
	return help
}

BEGIN {
	FS = " *@@ *"
	unit_text["COUNT"] = "count"
	unit_text["NANOSECONDS"] = "ns"
	unit_text["BOOLEAN"] = "boolean"
	titles = "name type unit architectures meaning"
	if (object == "reason")
		titles = "name architectures meaning"
	if (object == "state")
		titles = "name meaning"
	# As wide as the widest that is known: a new statistic leaves the rows of others alone.
	least["VM"] = "28 10 7 13"
	least["vCPU"] = "34 11 7 13"
	least["reason"] = "17 13"
	split(least[object], width, " ")
	cells = split(titles, title, " ")
	for (i = 1; i <= cells; i++)
		cell[1, i] = title[i]
	rows = 1
}

# Adds a row of these cells, the first of which are the name and the last the meaning.
function add_row(architecture, key, name, type, unit, meaning) {
	if (key in row_of) {
		cell[row_of[key], cells - 1] = cell[row_of[key], cells - 1] ", " architecture
		return
	}
	row_of[key] = ++rows
	cell[rows, 1] = name
	cell[rows, 2] = type
	cell[rows, 3] = unit
	cell[rows, cells - 1] = architecture
	cell[rows, cells] = meaning
}

object == "reason" {
	meaning = meaning_text($3)
	add_row($1, $2 SUBSEP meaning, $2, "", "", meaning)
	next
}

object == "state" {
	cell[++rows, 1] = $1
	cell[rows, cells] = meaning_text($2)
	next
}

$3 != object {
	next
}

!($6 in unit_text) {
	print "the unit " $6 " of " $4 " is new: give it a text in scripts/docs-table.awk" >"/dev/stderr"
	exit failed = 1
}

{
	type = type_text($5, $7)
	meaning = meaning_text($8, $9, $2)
	add_row($1, $4 SUBSEP type SUBSEP $6 SUBSEP meaning, $4, type, unit_text[$6], meaning)
}

END {
	if (failed)
		exit 1
	for (i = 1; i < cells; i++) {
		for (row = 1; row <= rows; row++) {
			n = longest_word(cell[row, i])
			width[i] = n > width[i] ? n : width[i]
		}
		columns -= width[i] + 2
	}
	width[cells] = columns
	print_border()
	print_row(1)
	print_border()
	for (row = 2; row <= rows; row++)
		print_row(row)
	print_border()
}
