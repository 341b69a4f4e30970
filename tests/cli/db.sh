#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Profile databases by hand: what perf recorded goes in and comes out with the same shares.
. "$(dirname "$0")/lib.sh"

cd "$tmp"
cat >work.c <<'END'
#include <stdlib.h>
volatile unsigned long sink;
#define SPIN(n) for (long i = 0; i < (n); i++) sink += i
__attribute__((noinline)) void seven(long n) { SPIN(7 * n); }
__attribute__((noinline)) void two(long n) { SPIN(2 * n); }
__attribute__((noinline)) void one(long n) { SPIN(n); }
int main(int argc, char **argv)
{
	for (int i = 0; i < atoi(argv[1]); i++) {
		seven(1000);
		two(1000);
		one(1000);
	}
	return 0;
}
END

# Makes $1.data by perf record with the options that follow, or skips the test. --no-bpf-event: perf 6.1 aborts when it
# describes programs of newer kernels that run beside it.
record() {
	local name=$1
	shift
	command -v perf >/dev/null || skip "perf is not installed (linux-perf)"
	[ -e work ] || cc -O1 -g -fno-omit-frame-pointer -o work work.c
	perf record --no-bpf-event -q -o "$name.data" "$@" ./work 6000 >/dev/null 2>perf.err ||
		skip "perf cannot record here: $(tail -n 1 perf.err)"
}

# The samples of each function, by perf and by us: "COUNT NAME" in order.
by_perf() {
	# A group has a column of shares and one of counts for each event; the first event is what we compare.
	perf report -i "$1" --stdio -q -n -s sym 2>/dev/null |
		awk '{ for (i = 1; i < NF && $i ~ /%$/; i++); if ($i > 0 && $(NF - 1) == "[.]") print $i, $NF }' | sort
}
by_us() {
	"$CULPRIT" db export "$1" --format folded ${2:+--event "$2"} |
		awk '{ count = $NF; sub(/ [0-9]+$/, ""); sub(/.*;/, ""); n[$0] += count }
			END { for (f in n) print n[f], f }' | sort
}

same_shares() {
	by_perf "$1.data" | grep -wE 'seven|two|one' >perf.txt || skip "perf has no samples of the program"
	by_us "$1.db" "${2:-}" | grep -wE 'seven|two|one' >ours.txt
	diff perf.txt ours.txt || fail "perf report and culprit count functions differently"
	[ "$(wc -l <ours.txt)" -ge 2 ]
}

imports() {
	run db import "$1.db" "$1.data"
	status_is 0
	run db check "$1.db"
	status_is 0
	out_is clean
}

test_2320_a_recording_of_perf_has_the_shares_that_perf_reports() {
	record plain -e cpu-clock:u -F 2000
	imports plain
	same_shares plain
	run db show plain.db
	out_has "cpu-clock:u (cpu-clock:u)"
	total=$(perf script -i plain.data 2>/dev/null -F ip | grep -c .)
	out_has "$total samples taken = $total stored + 0 lost + 0 pending"
}

test_2321_a_compressed_recording_is_read() {
	record packed -z -e cpu-clock:u -F 2000
	imports packed
	same_shares packed
}

test_2322_a_recording_through_a_pipe_is_read() {
	record file -e cpu-clock:u -F 2000
	perf record --no-bpf-event -q -e cpu-clock:u -F 2000 -o - ./work 6000 2>/dev/null >pipe.data
	run db import pipe.db - <pipe.data
	"$CULPRIT" db import pipe.db - <pipe.data 2>"$tmp/err"
	[ ! -s "$tmp/err" ] || fail "something was said"
	same_shares pipe
}

test_2323_call_chains_come_out_as_stacks() {
	record chains -g -e cpu-clock:u -F 2000
	imports chains
	"$CULPRIT" db export chains.db --format folded >out.folded
	# perf's own account: stacks of the program's functions below whatever called main.
	want=$(perf script -i chains.data -F ip,sym 2>/dev/null | awk 'BEGIN { RS = "" } / seven/ { n++ } END { print n + 0 }')
	got=$(awk '/;seven( |;)/ { n += $NF } END { print n + 0 }' out.folded)
	[ "$want" = "$got" ] || fail "$got stacks with seven(), perf has $want"
	grep -qE '^all;.*;seven [0-9]+$' out.folded
}

test_2324_several_events_and_groups_are_kept_apart() {
	record group -e '{cpu-clock:u,page-faults:u}' -F 1000
	imports group
	same_shares group cpu-clock:u
	run db show group.db
	out_has "page-faults"
}

test_2325_perf_script_text_is_read_by_a_collapser() {
	record chains2 -g -e cpu-clock:u -F 1000
	imports chains2
	"$CULPRIT" db export chains2.db --format perf-script >out.script
	# What flame-graph collapsers do: a head line, frames innermost first, an empty line.
	python3 - out.script <<-'ENDP' | sort >collapsed.txt
		import collections, re, sys
		stacks = collections.Counter()
		for sample in open(sys.argv[1]).read().split("\n\n"):
		    lines = sample.splitlines()
		    if not lines:
		        continue
		    head = re.match(r"^(\S.*?)\s+(\d+)\s+([\d.]+):\s+(\d+)\s+(\S+):\s*$", lines[0])
		    assert head, lines[0]
		    frames = []
		    for line in lines[1:]:
		        m = re.match(r"^\s*[0-9a-f]+ (.+)\+0x[0-9a-f]+ \((.*)\)$", line)
		        assert m, line
		        frames.insert(0, m[1])
		    stacks[";".join([head[1]] + frames)] += 1
		for stack, n in stacks.items():
		    print(stack, n)
	ENDP
	"$CULPRIT" db export chains2.db --format folded |
		awk '{ c = $NF; sub(/ [0-9]+$/, ""); n[$0] += c } END { for (s in n) print s, n[s] }' | sort >folded.txt
	diff collapsed.txt folded.txt || fail "the two exports differ"
}

test_2326_a_recording_that_is_cut_off_or_damaged_is_said_so_in_a_line() {
	record whole -e cpu-clock:u -F 1000
	# The file ends in the middle of its samples: the header says at byte 40 where they begin, at byte 48 how long they are.
	read -r begin size <<<"$(od -A n -t d8 -j 40 -N 16 whole.data)"
	head -c $((begin + size / 2)) whole.data >cut.data
	run db import cut.db cut.data
	[ "$status" = 0 ] || [ "$status" = 2 ]
	err_has "cut off"
	echo nonsense-that-is-long-enough >not.data
	run db import not.db not.data
	refuses "not.data is not a recording of perf"
	mkdir folder
	run db import not.db folder
	refuses "folder is a folder"
	run db import not.db missing.data
	refuses "cannot read missing.data"
}

test_2327_epochs_are_listed_merged_and_pruned_by_command() {
	record a -e cpu-clock:u -F 500
	cp a.data b.data
	run db import ab.db a.data b.data
	status_is 0
	before=$("$CULPRIT" db export ab.db | sort)
	run db merge ab.db 1 2
	status_is 0
	[ "$before" = "$("$CULPRIT" db export ab.db | sort)" ] || fail "merging changed the counts"
	run db list ab.db --json
	python3 -c "import json; e = json.load(open('$tmp/out')); assert len(e) == 1 and e[0]['parts'] == 2, e"
	run db check ab.db
	status_is 0
	run db compact ab.db
	status_is 0
	run db merge ab.db 1
	refuses "2 to 64"
	run db prune ab.db
	refuses "--keep"
	run db prune ab.db --max-size 1
	status_is 0
	run db list ab.db --csv
	[ "$(wc -l <"$tmp/out")" = 1 ]
}

test_2328_wrong_use_is_one_line() {
	run db
	status_is 2
	run db lst x
	refuses "the nearest is 'list'"
	run db list
	refuses "name the database's folder"
	run db list nowhere
	refuses "nowhere is not a profile database"
	run db push nowhere
	refuses "--fleet"
	run db export nowhere --since yesterday
	refuses "'yesterday' is no duration"
}

test_2329_names_with_escapes_and_newlines_are_shown_harmless() {
	command -v perf >/dev/null || skip "perf is not installed (linux-perf)"
	record strange -e cpu-clock:u -F 1000
	bad=$(printf 'w\033[31m\nx')
	cp work "$bad"
	perf record --no-bpf-event -q -o bad.data -e cpu-clock:u -F 1000 "./$bad" 3000 2>/dev/null
	run db import bad.db bad.data --per-process
	status_is 0
	run db export bad.db --format perf-script
	status_is 0
	! grep -q "$(printf '\033')" "$tmp/out" || fail "an escape came through"
}

run_tests
