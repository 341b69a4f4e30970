#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# culprit simpoint as its user meets it: from vectors to points, and what it says of bad files.
. "$(dirname "$0")/lib.sh"

# Two kinds of intervals: ten of blocks 1 and 2, five of block 3, and a short one of block 3.
vectors() {
	local i
	for i in 1 2 3 4 5; do echo "T:1:600 :2:400 "; echo "T:3:1000 "; echo "T:1:600 :2:400 "; done
	echo "T:3:500 "
}
vectors >"$tmp/a.bb"

test_2895_points_and_weights_are_written_line_by_line() {
	run simpoint "$tmp/a.bb" --max-k 2 -o "$tmp/a"
	status_is 0
	out_has "16 intervals of 1,000 instructions, 15,500 in all."
	out_has "k = 2 is the smallest with at least 90% of the span"
	out_has "2 points stand for the run:"
	[ "$(cat "$tmp/a.simpoints")" = "$(printf '0 0\n1 1\n')" ] || fail "$(cat "$tmp/a.simpoints")"
	[ "$(cat "$tmp/a.weights")" = "$(printf '0.645161290323 0\n0.354838709677 1\n')" ] ||
		fail "$(cat "$tmp/a.weights")"
	cp "$tmp/out" "$tmp/first"
	local threads
	for threads in 1 2 3 8; do
		run simpoint "$tmp/a.bb" --max-k 2 -o "$tmp/b" --threads $threads
		cmp "$tmp/out" "$tmp/first" && cmp "$tmp/a.weights" "$tmp/b.weights"
	done
	run simpoint "$tmp/a.bb" --points "$tmp/a" --json
	status_is 0
	python3 -c "
import json
j = json.load(open('$tmp/out'))
assert [p['start'] for p in j['points']] == [0, 1000] and j['instructions'] == 15500"
	gzip -k "$tmp/a.bb"
	run simpoint "$tmp/a.bb.gz" --max-k 2 --json
	python3 -c "
import json
j = json.load(open('$tmp/out'))
assert j['k'] == j['k_span'] == 2 and len(j['points']) == 2 and len(j['tried']) == 2"
}

test_2896_what_both_thresholds_choose_is_said() {
	run simpoint "$tmp/a.bb" --max-k 4 --bic 0.5 --bic-of best
	status_is 0
	out_has "of the best score"
	# Scores below and above zero: any part of the span is at or above 0, but not of the best.
	run simpoint "$tmp/a.bb" --max-k 2 --bic 0
	out_has "k = 1 is the smallest"
	out_has "With --bic-of best it would be k = 2."
	run simpoint "$tmp/a.bb" --max-k 2 --bic 0 --bic-of best
	out_has "k = 2 is the smallest"
	out_has "With --bic-of span it would be k = 1."
	# One column of rows that are far apart: scores below zero.
	printf 'T:%s:1 \n' 1 2 3 4 5 6 7 8 9 10 11 12 >"$tmp/far.bb"
	run simpoint "$tmp/far.bb" --dims 15 --max-k 3
	status_is 0
	out_has "The best score is not above zero, so that a part of it means nothing"
}

test_2897_bad_input_gets_one_line() {
	local stem=$tmp/p
	: >"$tmp/empty.bb"
	run simpoint "$tmp/empty.bb"
	refuses "simpoint: " "empty.bb"
	head -c 4096 /dev/urandom >"$tmp/binary.bb"
	run simpoint "$tmp/binary.bb"
	refuses "simpoint: " "binary.bb"
	echo "T:1:99999999999999999999999 " >"$tmp/large.bb"
	run simpoint "$tmp/large.bb"
	refuses "simpoint: "
	run simpoint "$tmp/none.bb"
	refuses "none.bb"
	run simpoint "$tmp/a.bb" --data
	refuses "simpoint: "
	run simpoint "$tmp/a.bb" --bic 1.2
	refuses "1.2"
	run simpoint "$tmp/a.bb" --max-k 0
	refuses "max-k"
	printf '0 0\n5 1\n' >"$stem.simpoints"
	printf '0.5 0\n' >"$stem.weights"
	run simpoint "$tmp/a.bb" --points "$stem"
	refuses "more points than"
	printf '0.5 0\n0.6 1\n' >"$stem.weights"
	run simpoint "$tmp/a.bb" --points "$stem"
	refuses "add up to 1.1"
	printf '0 0\n16 1\n' >"$stem.simpoints"
	printf '0.5 0\n0.5 1\n' >"$stem.weights"
	run simpoint "$tmp/a.bb" --points "$stem"
	refuses "interval 16 is beyond the end"
	# A file of another kind is not replaced, and nothing half-written stays.
	echo "a letter" >"$tmp/letter.weights"
	run simpoint "$tmp/a.bb" -o "$tmp/letter"
	refuses "letter.weights"
	[ "$(cat "$tmp/letter.weights")" = "a letter" ] && [ ! -e "$tmp/letter.simpoints" ]
	[ -z "$(find "$tmp" -name '*.tmp')" ]
	run simpoint "$tmp/a.bb" -o /dev/full/x
	refuses "simpoint: "
}

test_2898_what_valgrind_writes_is_clustered() {
	command -v valgrind >/dev/null || skip "valgrind is not installed"
	[ -z "$SANITIZED" ] || skip "valgrind's vectors do not depend on how culprit is built"
	valgrind --tool=exp-bbv --interval-size=100000 --bb-out-file="$tmp/v.bb" --pc-out-file="$tmp/v.pc" \
		/usr/bin/seq 2000 >/dev/null 2>"$tmp/said" || fail "valgrind: $(tail -1 "$tmp/said")"
	run simpoint "$tmp/v.bb" -o "$tmp/v"
	status_is 0
	run simpoint "$tmp/v.bb" --points "$tmp/v" --json
	status_is 0
	python3 -c "
import json
j = json.load(open('$tmp/out'))
lines = [l for l in open('$tmp/v.bb') if l.startswith('T')]
assert j['intervals'] == len(lines) > 3, (j['intervals'], len(lines))
assert abs(sum(p['weight'] for p in j['points']) - 1) < 1e-9"
}

test_2899_intervals_of_a_timed_run_add_up_and_match_its_vectors() {
	[ -n "$GUESTS" ] || skip "no cross compiler"
	local said insts cycles
	"$CULPRIT" sim --machine tracedoctor2023 --analyze bbv,intervals --param interval=3k --param bb="$tmp/i.bb" \
		--param cycles="$tmp/i.cycles" -- "$GUESTS/answers" exit 0 >/dev/null 2>"$tmp/err"
	said=$(tr -d , <"$tmp/err")
	insts=$(grep -o '[0-9]* instructions' <<<"$said" | head -1 | cut -d' ' -f1)
	cycles=$(grep -o '[0-9]* cycles' <<<"$said" | head -1 | cut -d' ' -f1)
	python3 -c "
lines = [tuple(map(int, l.split())) for l in open('$tmp/i.cycles') if l[0] != '#']
vectors = [sum(int(w.split(':')[-1]) for w in l[1:].split()) for l in open('$tmp/i.bb') if l[0] == 'T']
assert [i for i, c in lines] == vectors, (lines[:3], vectors[:3])
assert all(i == 3000 for i, c in lines[:-1]) and sum(vectors) == $insts
# But for what follows the last commit: the exit itself.
total = sum(c for i, c in lines)
assert $cycles - 1500 < total <= $cycles, total"
	# A file of another kind stays.
	echo "a letter" >"$tmp/letter"
	run sim --analyze intervals --param cycles="$tmp/letter" -- "$GUESTS/answers" exit 0
	status_is 2
	err_has letter
	[ "$(cat "$tmp/letter")" = "a letter" ]
}

run_tests
