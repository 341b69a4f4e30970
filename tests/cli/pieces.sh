#!/bin/bash
# SPDX-License-Identifier: MIT
# Intervals of a run: --settle, --warm all, --intervals, --clock.
. "$(dirname "$0")/lib.sh"

needs_guest() {
	[ -n "$GUESTS" ] || skip "no cross compiler"
}

# timed OPTIONS…: the cycles of a run of `copy`, whose store is $tmp/x.culprit
timed() {
	run sim --clock insts --output "$tmp/x.culprit" "$@" -- "$GUESTS/copy" 9000 4
	status_is 0
	cycles=$(sed -n 's/.* instructions, \([0-9,]*\) cycles.*/\1/p' "$tmp/err" | tr -d ,)
}

# of FILE KEY: a row of table run
of() {
	sqlite3 "$1" "select value from run where key = '$2'"
}

test_2818_intervals_laid_end_to_end_have_the_cycles_of_the_run() {
	needs_guest
	timed --max-insts 20000
	local first=$cycles
	timed --settle 20000 --max-insts 30000
	local second=$cycles
	timed --settle 50000 --max-insts 1
	local third=$cycles
	timed --settle 50001 --max-insts 19999
	local fourth=$cycles
	timed --settle 20000 --max-insts 50000
	[ "$cycles" = $((second + third + fourth)) ] || fail "$cycles is not $second + $third + $fourth"
	# An interval that is not followed by anything may lack what runs ahead of its end.
	timed --settle 1 --max-insts 19999
	timed --settle 1 --max-insts 69999
	[ "$cycles" -ge $((second + third + fourth)) ]
	[ "$first" -gt 0 ]
}

test_2819_in_one_process_they_cost_what_they_cost_alone() {
	needs_guest
	cat >"$tmp/list" <<-END
		# comment
		20000 0 20000 30000 $tmp/a.culprit
		50000 0 0 1 $tmp/b.culprit
		50001 0 0 19999 $tmp/c.culprit
		90000 5000 2000 10k $tmp/d.culprit
	END
	run sim --clock insts --intervals "$tmp/list" -- "$GUESTS/copy" 9000 4
	status_is 0
	err_lines 4
	timed --settle 20000 --max-insts 50000
	local sum=$(($(of "$tmp/a.culprit" cycles) + $(of "$tmp/b.culprit" cycles) + $(of "$tmp/c.culprit" cycles)))
	[ "$sum" = "$cycles" ] || fail "they sum to $sum, not $cycles"
	timed --fast-forward 83000 --warm 5000 --settle 2000 --max-insts 10k
	[ "$(of "$tmp/d.culprit" cycles)" = "$cycles" ] || fail "alone it takes $cycles"
	[ "$(of "$tmp/d.culprit" instructions)" = 10000 ]
	local row
	for row in fast_forward warm settle max_insts clock; do
		[ "$(of "$tmp/d.culprit" $row)" = "$(of "$tmp/x.culprit" $row)" ] || fail "row $row"
	done
	local table
	for table in golden profile; do
		[ "$(sqlite3 "$tmp/d.culprit" "select * from $table")" = "$(sqlite3 "$tmp/x.culprit" "select * from $table")" ] ||
			fail "table $table differs"
	done
}

test_2820_a_profile_has_exactly_the_cycles_of_its_interval() {
	needs_guest
	local settle
	for settle in 1 1000 33333; do
		timed --settle $settle --max-insts 7777
		local units scale
		units=$(sqlite3 "$tmp/x.culprit" "select sum(units) from golden")
		scale=$(of "$tmp/x.culprit" scale)
		[ "$units" = $((scale * cycles)) ] || fail "$units units of 1/$scale are not $cycles cycles"
		[ "$(of "$tmp/x.culprit" instructions)" = 7777 ]
	done
}

test_2821_warming_all_warms_what_is_skipped() {
	needs_guest
	timed --fast-forward 60000 --warm all --settle 100 --max-insts 5000
	local all=$cycles
	timed --warm 60000 --settle 100 --max-insts 5000
	[ "$cycles" = "$all" ] || fail "--warm all $all, --warm 60000 $cycles"
}

test_2822_lists_of_intervals_that_make_no_sense_are_refused() {
	needs_guest
	local line
	for line in "" "1 2 3" "1 2 3 x /tmp/f" "1 2 3 0 /tmp/f" "-1 0 0 1 /tmp/f" "1 0 0 99999999999999999999 /tmp/f" \
		"1 0 0 1 "; do
		echo "$line" >"$tmp/list"
		run sim --clock insts --intervals "$tmp/list" -- "$GUESTS/copy" 10 1
		refuses "$tmp/list"
	done
	printf '10 0 0 10 a\n19 0 0 10 b\n' >"$tmp/list"
	run sim --clock insts --intervals "$tmp/list" -- "$GUESTS/copy" 10 1
	refuses "line 2" "before"
	printf '10 0 0 10 a' >"$tmp/list"
	run sim --clock insts --intervals "$tmp/list" -- "$GUESTS/copy" 10 1
	refuses "line 1"
	run sim --clock insts --intervals "$tmp/none" -- "$GUESTS/copy" 10 1
	refuses "$tmp/none"
	run sim --intervals "$tmp/list" -- "$GUESTS/copy" 10 1
	refuses "--clock insts"
	echo "900M 0 0 10 $tmp/late.culprit" >"$tmp/list"
	run sim --clock insts --intervals "$tmp/list" -- "$GUESTS/copy" 10 1
	status_is 2
	err_has "ends before instruction 900000000"
	[ ! -e "$tmp/late.culprit" ]
}

test_2823_options_of_time_that_contradict_each_other_are_refused() {
	needs_guest
	run sim --clock-cpi 2 -- "$GUESTS/copy" 10 1
	refuses "--clock insts"
	run sim --clock insts --real-time -- "$GUESTS/copy" 10 1
	refuses "--real-time"
	run sim --settle 5 --start inst:3 -- "$GUESTS/copy" 10 1
	refuses "--settle" "--start"
	local x
	for x in 0 -1 1e3 1001 x 2%; do
		run sim --clock insts --clock-cpi "$x" -- "$GUESTS/copy" 10 1
		refuses "--clock-cpi" "$x"
	done
}

run_tests
