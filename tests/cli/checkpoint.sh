#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checkpoints as their user meets them: made, shown, gone on from elsewhere, and refused when something is wrong.
. "$(dirname "$0")/lib.sh"

cd "$tmp"
kept=$ROOT/tests/data/checkpoint-1
cp -r "$kept" c1
chmod -R u+w c1

# Changes one byte of a file.
flip() {
	printf "$(printf '\\x%02x' $((255 - $(od -An -tu1 -j "$2" -N1 "$1"))))" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

test_2910_a_checkpoint_of_version_1_can_be_restored() {
	run sim --functional --sysroot c1/root --restore c1/5000.checkpoint
	status_is 42
	err_has "10,009 instructions"
	run sim --functional --interpreter --sysroot c1/root --restore c1/5000.checkpoint
	status_is 42
}

test_2911_a_checkpoint_restores_from_another_place() {
	run checkpoint --at 1k,2k,3k,14k -o points --sysroot c1/root -- /program
	status_is 0
	[ "$(ls points)" = "1000.checkpoint
14000.checkpoint
2000.checkpoint
3000.checkpoint
pages.pool" ] || fail "$(ls points)"
	mkdir -p elsewhere/there
	mv points elsewhere/p
	cp -r c1/root elsewhere/sysroot
	cd elsewhere/there
	for n in 1 2 3 14; do
		run sim --functional --sysroot ../sysroot --restore ../p/${n}000.checkpoint
		status_is 42
	done
	err_has "1,009 instructions"
}

test_2912_show_says_what_is_in_it() {
	run checkpoint show c1/5000.checkpoint
	status_is 0
	out_has "program /program"
	out_has "instructions 5000"
	run checkpoint show --json c1/5000.checkpoint
	status_is 0
	out_has '"insts": 5000'
	run checkpoint show c1/5000.checkpoint --json
	status_is 0
	out_has '"sections"'
}

test_2913_a_file_that_has_changed_is_named() {
	cp -r c1 c2
	printf x >>c2/root/program
	run sim --functional --sysroot c2/root --restore c2/5000.checkpoint
	refuses "/program" "has changed"
	rm c2/root/program
	run sim --functional --sysroot c2/root --restore c2/5000.checkpoint
	refuses "/program"
}

test_2914_damage_gets_one_line() {
	local at size
	size=$(stat -c %s c1/5000.checkpoint)
	for at in 0 10 39 40 100 500 1000 $((size - 1)); do
		head -c "$at" c1/5000.checkpoint >short
		cp c1/pages.pool .
		run sim --functional --sysroot c1/root --restore short
		refuses short
		cp c1/5000.checkpoint bad
		flip bad "$at"
		run sim --functional --sysroot c1/root --restore bad
		refuses bad
	done
	cp c1/5000.checkpoint bad
	printf x >>bad
	run checkpoint show bad
	refuses bad
	printf '\002' | dd of=bad bs=1 seek=16 conv=notrunc 2>/dev/null
	run checkpoint show bad
	refuses "version 2"
}

test_2915_a_damaged_or_missing_pool_gets_one_line() {
	cp -r c1 c3
	flip c3/pages.pool 600
	run sim --functional --sysroot c3/root --restore c3/5000.checkpoint
	refuses "pages.pool"
	head -c 100 c1/pages.pool >c3/pages.pool
	run sim --functional --sysroot c3/root --restore c3/5000.checkpoint
	refuses "pages.pool"
	rm c3/pages.pool
	run sim --functional --sysroot c3/root --restore c3/5000.checkpoint
	refuses "missing"
}

test_2916_wrong_use_is_refused() {
	run sim --restore c1/5000.checkpoint -- /program
	refuses "come from the checkpoint"
	run sim --functional --seed 3 --restore c1/5000.checkpoint
	refuses "--seed"
	run checkpoint --at 1k -o p1 --sysroot c1/root --real-time -- /program
	refuses "real-time"
	run checkpoint --at 1k,x -o p1 --sysroot c1/root -- /program
	refuses "1k,x"
	run checkpoint --at 1M -o p2 --sysroot c1/root -- /program
	refuses "ended after 15009"
	run checkpoint -- /program
	refuses "--at"
	run sim --functional --restore nowhere
	refuses nowhere
	run sim --functional --restore c1
	refuses c1
}

test_2917_the_sandbox_reads_the_program_of_a_checkpoint() {
	run sim --functional --sandbox --sysroot c1/root --restore c1/5000.checkpoint
	status_is 42
}

test_2918_equal_pages_are_kept_once() {
	local one all
	run checkpoint --at 1k -o q1 --sysroot c1/root -- /program
	status_is 0
	run checkpoint --at "$(seq -s, 1000 100 3900)" -o q30 --sysroot c1/root -- /program
	status_is 0
	one=$(stat -c %s q1/pages.pool)
	all=$(stat -c %s q30/pages.pool)
	# Two pages change from point to point; they are some hundred bytes each.
	[ "$all" -lt $((3 * one + 30 * 600)) ] || fail "one: $one bytes, thirty: $all"
	run checkpoint --at 1k -o q1 --sysroot c1/root -- /program
	status_is 0
	[ "$(stat -c %s q1/pages.pool)" = "$one" ] || fail "the same checkpoint again made the pool larger"
}

test_2919_what_a_killed_writer_left_is_passed_over() {
	cp -r c1 c4
	head -c 300 c1/pages.pool | tail -c 250 >>c4/pages.pool
	run checkpoint --at 7k -o c4 --sysroot c4/root -- /program
	status_is 0
	for n in 5000 7000; do
		run sim --functional --sysroot c4/root --restore c4/$n.checkpoint
		status_is 42
	done
}

test_2920_records_are_those_of_fast_forward() {
	run sim --clock insts --fast-forward 5k --warm 1k --max-insts 5k --analyze none --trace a.trace --sysroot c1/root -- /program
	status_is 0
	run sim --clock insts --restore c1/5000.checkpoint --warm 1k --max-insts 5k --analyze none --trace b.trace --sysroot c1/root
	status_is 0
	for f in kanata csv; do
		"$CULPRIT" export -f $f -n 100000 -o a.$f a.trace
		"$CULPRIT" export -f $f -n 100000 -o b.$f b.trace
		cmp a.$f b.$f
	done
}

# Cycles of the last run.
cycles() {
	tr -d , <"$tmp/err" | sed -n 's/.* instructions \([0-9]*\) cycles.*/\1/p'
}

# A pass that saves at several points: what is learnt goes on through all of them.
test_2921_a_core_that_was_saved_takes_the_cycles_of_one_that_warmed_up() {
	local n differs=""
	run checkpoint --with-core --at 2k,5k,9k -o live --sysroot c1/root -- /program
	status_is 0
	for n in 2 5 9; do
		run sim --clock insts --restore live/${n}000.checkpoint --restore-core --max-insts 2k --analyze none --sysroot c1/root
		status_is 0
		cycles >a
		run sim --clock insts --warm ${n}k --max-insts 2k --analyze none --sysroot c1/root -- /program
		cycles | cmp - a
		run sim --clock insts --restore live/${n}000.checkpoint --max-insts 2k --analyze none --sysroot c1/root
		cycles | cmp -s - a || differs=$n
	done
	[ -n "$differs" ] || fail "a core as new takes as long everywhere"
	# The process alone goes on from it as from any checkpoint.
	run sim --functional --restore live/9000.checkpoint --sysroot c1/root
	status_is 42
}

test_2922_a_core_of_another_machine_and_one_that_is_not_there_are_refused() {
	run checkpoint --with-core --set l2.size=128k --at 2k -o other --sysroot c1/root -- /program
	status_is 0
	run sim --restore other/2000.checkpoint --restore-core --analyze none --sysroot c1/root
	refuses "other/2000.checkpoint" "another machine" "l2"
	run sim --restore other/2000.checkpoint --restore-core --set l2.size=128k --analyze none --sysroot c1/root
	status_is 42
	run sim --restore c1/5000.checkpoint --restore-core --sysroot c1/root
	refuses "c1/5000.checkpoint" "--with-core"
	run sim --functional --restore other/2000.checkpoint --restore-core --sysroot c1/root
	refuses "--restore-core"
	run sim --restore-core -- c1/root/program
	refuses "--restore-core" "--restore"
	run sim --restore other/2000.checkpoint --restore-core --unknown hits --sysroot c1/root
	refuses "--unknown"
	run checkpoint --machine boom-tip --at 2k -o other --sysroot c1/root -- /program
	refuses "--with-core"
}

test_2923_a_history_is_that_of_the_instructions_before() {
	local n way
	run checkpoint --with-history --at 2k,5k,9k -o past --sysroot c1/root -- /program
	status_is 0
	run checkpoint --with-history --interpreter --at 2k,5k,9k -o slow --sysroot c1/root -- /program
	status_is 0
	for n in 2 5 9; do
		# By generated code or not.
		cmp past/${n}000.checkpoint slow/${n}000.checkpoint
		run sim --clock insts --fast-forward ${n}k --history --warm 100 --max-insts 800 --analyze none --sysroot c1/root -- /program
		status_is 0
		cycles >a
		for way in past slow; do
			run sim --clock insts --restore $way/${n}000.checkpoint --history --warm 100 --max-insts 800 --analyze none --sysroot c1/root
			status_is 0
			cycles | cmp - a
		done
	done
	# It is an offer: without --history the checkpoint is like any other.
	run sim --clock insts --restore past/5000.checkpoint --warm 100 --max-insts 800 --analyze none --sysroot c1/root
	cycles >b
	run sim --clock insts --fast-forward 5k --warm 100 --max-insts 800 --analyze none --sysroot c1/root -- /program
	cycles | cmp - b
}

test_2924_a_history_that_is_not_there_or_contradicts_is_refused() {
	run checkpoint --with-history --at 2k -o one --sysroot c1/root -- /program
	status_is 0
	run sim --restore c1/5000.checkpoint --history --sysroot c1/root
	refuses "c1/5000.checkpoint" "--with-history"
	run sim --restore one/2000.checkpoint --history --fast-forward 1k --sysroot c1/root
	refuses "--history" "--fast-forward"
	run sim --restore one/2000.checkpoint --history --warm all --sysroot c1/root
	refuses "--history" "--warm all"
	run sim --functional --restore one/2000.checkpoint --history --sysroot c1/root
	refuses "--history" "--functional"
	run checkpoint --with-history --with-core --at 2k -o two --sysroot c1/root -- /program
	refuses "--with-core"
}

run_tests
