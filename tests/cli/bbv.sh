#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# culprit bbv: the files that it writes, and what it refuses.
. "$(dirname "$0")/lib.sh"
needs_guests

cd "$tmp"
cp "$GUESTS/answers" "$GUESTS/phases" .

# Instructions of each interval.
sums() {
	zcat -f "$1" | awk '/^T/ { n = 0; for (i = 1; i <= NF; i++) { split($i, p, ":"); n += p[3] } print n }'
}

test_2860_intervals_have_exactly_their_instructions_and_the_last_the_rest() {
	run bbv -o x.bb --interval 10k -- ./phases
	local insts
	insts=$(sed -n 's/^culprit: \([0-9,]*\) instructions, .*/\1/p' "$tmp/err" | tr -d ,)
	[ "$(sums x.bb | awk '{ n += $1 } END { print n }')" = "$insts" ]
	[ "$(sums x.bb | sed '$d' | sort -u)" = 10000 ]
	[ "$(sums x.bb | tail -1)" = $(((insts - 1) % 10000 + 1)) ]
	# Blocks are numbered as they come.
	grep -o ':[0-9]*:' x.bb | tr -d : | awk '$1 > most + 1 { exit 1 } $1 > most { most = $1 }'
}

test_2861_plain_and_compressed_files_and_both_executors_agree() {
	run bbv -o x.bb --interval 10k -- ./phases
	run bbv -o x.bb.gz --interval 10k -- ./phases
	status_is "$status"
	zcat x.bb.gz | cmp - x.bb
	run bbv -o y.bb --interval 10k --interpreter -- ./phases
	cmp x.bb y.bb
	run bbv -o d.bb --data --interval 10k -- ./phases
	grep -q '^#D:1:' d.bb
	grep -v '^#' d.bb | cmp - x.bb
}

test_2862_a_run_on_the_core_and_its_trace_give_the_same_bytes() {
	run bbv -o x.bb --data --interval 10k --max-insts 60k -- ./phases
	run sim -o x.culprit --max-insts 60k --trace x.trace --analyze bbv-data --param bb=y.bb \
		--param interval=10k -- ./phases
	cmp x.bb y.bb
	run replay -o y.culprit --analyze bbv-data --param bb=z.bb --param interval=10k x.trace
	cmp x.bb z.bb
	run replay -o y.culprit --analyze bbv --param bb=z.bb --param interval=10k x.trace
	grep -v '^#' x.bb | cmp - z.bb
	# Another simulator's text, which has no words and no addresses.
	run export -f o3pipeview -n 60000 -o x.o3 x.trace
	run replay -o z.culprit --analyze bbv --param bb=w.bb --param interval=10k x.o3
	cmp z.bb w.bb
	run replay -o z.culprit --analyze bbv-data --param bb=v.bb --param interval=10k x.o3
	status_is 2
	one_line
	[ ! -e v.bb ]
}

test_2863_an_interval_longer_than_the_run_is_one_and_of_no_instructions_none() {
	run bbv -o x.bb --interval 1G -- ./answers
	[ "$(wc -l <x.bb)" = 1 ]
	err_has "1 interval,"
	run bbv -o x.bb --interval 0 -- ./answers
	status_is 2
	one_line
}

# Exactly one line, which says what is wrong.
one_line() {
	[ "$(wc -l <"$tmp/err")" = 1 ] || fail "not one line"
}

test_2864_a_crash_is_used_only_on_request() {
	cp "$GUEST_PROGRAMS/crash.rv" crash
	run bbv -o x2.bb -- ./crash
	status_is 2
	err_has "--partial"
	[ ! -e x2.bb ]
	run bbv --partial -o x2.bb -- ./crash
	[ -s x2.bb ]
	[ "$status" -gt 128 ]
}

test_2865_children_that_are_measured_and_a_missing_name_are_refused() {
	run bbv -o x3.bb --children simulated -- ./answers
	status_is 2
	one_line
	[ ! -e x3.bb ]
	run bbv -- ./answers
	status_is 2
	err_has "-o"
	run bbv -o none/x.bb -- ./answers
	status_is 2
	one_line
}

test_2868_a_full_disk_is_one_line_and_status_2() {
	for option in "" --data; do
		run bbv -o /dev/full $option --interval 1k -- ./phases
		status_is 2
		one_line
		err_has "/dev/full"
	done
	ln -s /dev/full full.bb.gz
	run bbv -o full.bb.gz --interval 1k -- ./phases
	status_is 2
	one_line
}

test_2866_the_table_of_blocks_names_binary_and_offset() {
	run bbv -o x.bb --blocks x.blocks -- ./phases
	[ "$(grep -vc '^#' x.blocks)" = "$(grep -o ':[0-9]*:' x.bb | sort -u | wc -l)" ]
	grep -q "$(printf '^1\t[0-9a-f]*\t0x[0-9a-f]*\t')" x.blocks
}

# error_of [--data]: of the CPI estimated from the points that simpoint chooses, in thousandths.
error_of() {
	run simpoint "$@" --seed 3 -o points w.bb
	awk -v points="$(cut -d' ' -f1 points.simpoints | tr '\n' ' ')" \
		-v weights="$(cut -d' ' -f1 points.weights | tr '\n' ' ')" '
		!/^#/ { insts += $1; cycles += $2; cpi[n++] = $2 / $1 }
		END {
			k = split(points, p, " "); split(weights, w, " ")
			for (i = 1; i <= k; i++) estimate += w[i] * cpi[p[i]]
			error = estimate / (cycles / insts) - 1
			printf "%d\n", (error < 0 ? -error : error) * 1000
		}' w.cycles
}

test_2867_locality_that_the_input_decides_needs_the_data_part() {
	[ -z "$SANITIZED" ] || skip "two million instructions on the core"
	run sim --analyze intervals,bbv-data --param interval=25k --param cycles=w.cycles --param bb=w.bb \
		-o w.culprit -- "$GUESTS/working_sets" 40 6000
	status_is 0
	[ "$(error_of)" -gt 100 ] || fail "blocks alone do"
	[ "$(error_of --data)" -le 20 ] || fail "the data part does not do: $(error_of --data) thousandths"
}

run_tests
