#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# culprit html: the page of a run as a file. page.py opens it in a browser.
. "$(dirname "$0")/lib.sh"
needs_guests
cd "$tmp"
"$CULPRIT" sim --max-insts 300000 --analyze profile,cpistack,icost -o run.culprit -- "$GUESTS/phases" 2 >/dev/null 2>&1
if ! "$CULPRIT" html run.culprit -o first.html 2>why; then
	grep -q "without its page" why || cat why >&2
	echo "1..0 # SKIP $(cat why)"
	exit 0
fi

test_two_calls_give_the_same_bytes() {
	run html run.culprit -o second.html
	status_is 0
	cmp first.html second.html
}

test_the_page_asks_for_nothing_and_its_policy_forbids_it() {
	grep -q "default-src 'none'" first.html
	! grep -qE '(src|href)="?(https?:|//)' first.html || fail "it names another place"
	! grep -q innerHTML first.html || fail "it writes HTML from text"
}

test_bad_input_and_output_are_one_line_each() {
	run html
	status_is 2
	echo text >no.culprit
	run html no.culprit -o x.html
	refuses no.culprit
	[ ! -e x.html ] || fail "it wrote a page"
	run html run.culprit -o "$tmp"
	refuses "$tmp"
	echo mine >notes.txt
	run html run.culprit -o notes.txt
	refuses notes.txt
	[ "$(cat notes.txt)" = mine ] || fail "it replaced a file that is not its own"
	run html run.culprit -o /dev/full
	status_is 2
}

test_1530_a_trace_of_another_run_is_refused_by_name() {
	"$CULPRIT" sim --max-insts 2000 --analyze none --trace other.trace -- "$GUESTS/answers" >/dev/null 2>&1 || true
	run html run.culprit --trace other.trace -o x.html
	refuses answers phases
	[ ! -e x.html ] || fail "it wrote a page"
}

test_1531_a_window_without_instructions_names_what_the_trace_has() {
	"$CULPRIT" sim --max-insts 5000 --analyze none --trace short.trace -- "$GUESTS/phases" 2 >/dev/null 2>&1
	run html run.culprit --trace short.trace --window 9000000 -o x.html
	refuses "instructions 1 to"
	run pipeline short.trace --from cycle:900000000
	refuses "its last cycle is"
	run html run.culprit --window 5 -o x.html
	refuses --trace
}

test_1532_pipeline_begins_at_an_address_or_a_function() {
	"$CULPRIT" sim --max-insts 60000 --analyze none --trace long.trace -- "$GUESTS/phases" 2 >/dev/null 2>&1
	run pipeline long.trace --from symbol:main -n 1 --json
	status_is 0
	local pc
	pc=$(sed -n 's/.*"pc": "\(0x[0-9a-f]*\)".*/\1/p' out)
	run pipeline long.trace --from "pc:$pc" -n 1 --json
	status_is 0
	out_has "$pc"
	run pipeline long.trace --from "pc:$pc#999999"
	refuses "commits 1 times"
	run pipeline long.trace --from symbol:no_such_function
	refuses no_such_function
	run export long.trace -f kanata --from symbol:main -n 5 -o -
	status_is 0
}

test_1569_worst_and_median_executions_are_windows_of_a_trace() {
	local pc
	pc=$(sqlite3 run.culprit "SELECT printf('0x%x', pc) FROM golden GROUP BY pc ORDER BY sum(units) DESC LIMIT 1")
	"$CULPRIT" sim --max-insts 300000 --analyze none --trace whole.trace -- "$GUESTS/phases" 2 >/dev/null 2>&1
	run html run.culprit --trace whole.trace --window "worst:$pc" --window "median:$pc" --window worst:main -o one.html
	status_is 0
	run html run.culprit --trace whole.trace -o many.html
	status_is 0
	[ "$(stat -c %s many.html)" -gt "$(stat -c %s one.html)" ] || fail "no windows of the hottest instructions"
	run html run.culprit --trace whole.trace --window worst:no_such_function -o x.html
	refuses no_such_function
	run html run.culprit --trace whole.trace --window worst:0x4 -o x.html
	refuses "never commits"
	run html run.culprit --trace whole.trace --window worst: -o x.html
	status_is 2
}

test_1533_source_can_be_left_out() {
	run html run.culprit -o with.html
	run html run.culprit --source none -o without.html
	status_is 0
	[ "$(stat -c %s without.html)" -lt "$(stat -c %s with.html)" ] || fail "it is not smaller"
}

test_1576_damaged_stretches_are_refused_in_one_line() {
	local how
	"$CULPRIT" sim --max-insts 20000 --analyze profile,windows -o kept.culprit -- "$GUESTS/phases" 2 >/dev/null 2>&1
	run html kept.culprit -o kept.html
	status_is 0
	for how in "bytes = x'0102'" "bytes = NULL" "records = records + 1" "records = -1" "records = 9000000000"; do
		cp kept.culprit damaged.culprit
		sqlite3 damaged.culprit "UPDATE stretch SET $how"
		run html damaged.culprit -o damaged.html
		refuses damaged.culprit "is damaged"
	done
	sqlite3 kept.culprit "DELETE FROM stretch"
	run html kept.culprit -o kept.html
	status_is 0
}

# A store whose instructions name another source file, which has 40 lines.
with_source() {
	cp run.culprit moved.culprit
	sqlite3 moved.culprit "UPDATE instruction SET file = '$1', line = 1 + pc % 30 WHERE line > 0"
}

test_1573_source_files_are_found_where_a_map_says() {
	mkdir -p here
	seq -f "int line_%g;" 40 >here/there.c
	with_source /gone/there.c
	run html moved.culprit -o without.html
	run html moved.culprit --source-map /else=/nowhere --source-map "/gone=$tmp/here" -o with.html
	status_is 0
	[ "$(stat -c %s without.html)" -lt "$(stat -c %s with.html)" ] || fail "the file was not found"
	run html moved.culprit --source all --source-map "/gone=$tmp/here" -o all.html
	status_is 0
	run html moved.culprit --source-map nothing -o x.html
	refuses "FROM=TO"
}

test_1574_what_is_no_source_file_is_not_read() {
	local what
	mkfifo pipe
	printf 'a\0b\n' >binary
	for what in "$tmp/pipe" /dev/zero "$tmp" "$tmp/binary" /proc/self/mem; do
		with_source "$what"
		run html moved.culprit -o other.html
		status_is 0
	done
}

test_3460_instructions_with_little_time_are_folded() {
	run html run.culprit --min-share 0.5 -o folded.html
	status_is 0
	[ "$(stat -c %s folded.html)" -lt "$(stat -c %s first.html)" ] || fail "the page is not smaller"
	run html run.culprit --min-share 0 -o none.html
	cmp first.html none.html
	local wrong
	for wrong in -1 101 x 1x nan; do
		run html run.culprit --min-share "$wrong" -o x.html
		refuses "a share of all cycles"
		[ ! -e x.html ] || fail "it wrote a page"
	done
}

run_tests
