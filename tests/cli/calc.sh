#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# culprit calc as its user meets it: a sampled run of the copy loop, its listing, and what is refused.
. "$(dirname "$0")/lib.sh"
needs_guests

store=$tmp/copy.culprit
"$CULPRIT" sim --machine inorder-2w --analyze profile,issue,truth --period 200 --max-insts 800k -o "$store" -- \
	"$GUESTS/copy" 20000 9 >/dev/null 2>&1

# Runs Python on the JSON in $tmp/out, as `j`; fails where the expression is false.
json_holds() {
	python3 -c "
import json
j = json.load(open('$tmp/out'))
p = j['procedures'][0]
assert $1, '''$1'''"
}

# Copies the store and runs SQL on the copy.
changed() {
	cp "$store" "$tmp/changed.culprit"
	python3 -c "
import sqlite3
db = sqlite3.connect('$tmp/changed.culprit')
db.executescript('''$1''')
db.commit()"
}

test_2660_the_program_is_summed_up_to_exactly_100_percent() {
	run calc "$store" --confidence low
	status_is 0
	out_has "Where the cycles of the program went"
	out_has "Total tallied"
	out_has "The longest stalls"
	python3 - "$tmp/out" <<-'END'
		import re, sys
		rows = {}
		for line in open(sys.argv[1]):
		    found = re.match(r"  ([A-Z][A-Za-z -]*?) +(-?[0-9.]+)%", line)
		    if found:
		        rows[found[1]] = float(found[2])
		total = sum(rows[r] for r in ("Subtotal dynamic", "Subtotal static", "Execution", "Net sampling error"))
		assert round(total, 6) == rows["Total tallied"] == 100, (total, rows)
	END
}

test_2661_a_procedure_is_listed_with_frequency_cpi_and_truth() {
	run calc "$store" copy
	status_is 0
	grep -Eq 'Best case +[0-9.]+/11 = [0-9.]+ CPI' "$tmp/out" || fail "no best case as a fraction"
	grep -Eq 'Actual +[0-9.]+/11 = [0-9.]+ CPI \(true [0-9.]+\)' "$tmp/out" || fail "no actual CPI with its truth"
	grep -Eq 'frequency [0-9.]+ ?K? \(true [0-9.]+ K\)' "$tmp/out" || fail "no frequency with its truth"
	grep -Eq '[a-zA-Z?]+ = ' "$tmp/out" || fail "letters are not explained"
	out_has "(dual issue)"
	out_has "taken"
}

test_2662_the_truth_can_be_hidden() {
	run calc "$store" copy --no-truth
	status_is 0
	! grep -q true "$tmp/out" || fail "the truth is shown"
	run calc "$store" --json --no-truth
	! grep -q true_ "$tmp/out" || fail "the truth is in the JSON"
}

test_2663_estimates_are_the_same_without_the_truth_tables() {
	local method
	changed 'DELETE FROM calc_truth; DELETE FROM calc_truth_reason; DELETE FROM calc_truth_edge;
		DELETE FROM calc_truth_event; DELETE FROM golden; UPDATE calc_event SET occurred = 0;
		DELETE FROM counter;'
	for method in dcpi profi flow bit; do
		run calc "$store" --json --no-truth --method $method
		cp "$tmp/out" "$tmp/with"
		run calc "$tmp/changed.culprit" --json --method $method
		status_is 0
		cmp "$tmp/with" "$tmp/out" || fail "estimates by $method see the truth"
	done
	run calc "$store" copy --no-truth
	cp "$tmp/out" "$tmp/with"
	run calc "$tmp/changed.culprit" copy
	cmp "$tmp/with" "$tmp/out" || fail "the listing sees the truth"
}

test_2664_json_has_its_keys() {
	run calc "$store" copy --json
	status_is 0
	json_holds 'list(j) == ["procedures"]'
	json_holds 'set(p) == {"symbol", "samples", "best_cpi", "cpi", "true_cpi", "summary", "true_summary", "blocks"}'
	json_holds 'p["symbol"] == "copy" and all(len(r) == 2 and r[0] <= r[1] for r in p["summary"].values())'
	json_holds 'all(set(b) == {"start", "frequency", "true_frequency", "interval", "confidence", "edges", "instructions"} for b in p["blocks"])'
	json_holds 'all(set(e) == {"to", "kind", "frequency", "true_frequency"} for b in p["blocks"] for e in b["edges"])'
	json_holds 'all(set(i) >= {"pc", "samples", "m", "cpi", "culprits", "true_cpi"} for b in p["blocks"] for i in b["instructions"])'
	json_holds 'all(set(c) == {"cause", "bound", "guilty"} for b in p["blocks"] for i in b["instructions"] for c in i["culprits"])'
}

test_2665_the_loop_has_its_frequency() {
	run calc "$store" copy --json
	json_holds 'max(b["true_frequency"] for b in p["blocks"]) > 30000'
	json_holds 'all(abs(b["frequency"] / b["true_frequency"] - 1) < 0.15 for b in p["blocks"] if b["true_frequency"] > 30000)'
}

test_2666_procedures_are_sorted_by_a_cause() {
	run calc "$store" --stall dcache
	status_is 0
	out_has "D-cache miss"
	out_has "copy"
	run calc "$store" --stall dcache --csv
	status_is 0
	head -1 "$tmp/out" | grep -q '^least,most,true,of_procedure,samples,symbol$' || fail "heads"
	run calc "$store" --stall dcahce
	refuses "dcahce" "dcache"
}

test_2667_graphs_and_tables_for_other_tools() {
	run calc "$store" copy --dot
	status_is 0
	[ "$(sed -n '1p;$p' "$tmp/out")" = "$(printf 'digraph calc {\n}')" ] || fail "no graph"
	run calc "$store" --dot
	refuses "--dot" "name one"
	run calc "$store" copy --csv
	status_is 0
	head -1 "$tmp/out" | grep -q '^symbol,block,pc,disasm,frequency,low,high,confidence,samples,m,cpi,culprits,' || fail "heads"
	run calc "$store" --export fdata
	status_is 0
	grep -Eq '^1 copy [0-9a-f]+ 1 copy [0-9a-f]+ 0 [0-9]+$' "$tmp/out" || fail "no edge of copy"
}

test_2668_what_is_missing_is_named_with_what_to_do() {
	run calc "$store" copi
	refuses "copi" "did you mean 'copy'"
	changed 'DELETE FROM calc_event; DELETE FROM calc_sample;'
	run calc "$tmp/changed.culprit"
	refuses "no samples of issue" "issue,truth"
	"$CULPRIT" sim --machine boom-tip --max-insts 20k -o "$tmp/ooo.culprit" -- "$GUESTS/copy" >/dev/null 2>&1
	run calc "$tmp/ooo.culprit"
	refuses "no samples of commit" "--analyze profile,calls,commits"
	changed 'INSERT INTO calc_sample SELECT pc + 1, 0, 7, 0 FROM calc_sample WHERE event = 0 ORDER BY count DESC LIMIT 1;'
	run calc "$tmp/changed.culprit"
	refuses "between two instructions"
	run calc "$store" --method flwo
	refuses "flwo" "flow"
	run calc "$store" --cutoff many
	refuses "many"
	run calc "$store" --method exact --no-truth
	refuses "--no-truth"
}

test_2669_code_is_built_anew_from_the_binary_if_it_is_the_same() {
	changed 'DELETE FROM graph_function; DELETE FROM graph_code; DELETE FROM graph_block; DELETE FROM graph_edge;'
	run calc "$tmp/changed.culprit" copy --json
	status_is 0
	json_holds 'p["symbol"] == "copy" and p["samples"] > 100'
	changed "DELETE FROM graph_function; DELETE FROM graph_code; DELETE FROM graph_block; DELETE FROM graph_edge;
		UPDATE image SET build_id = '0123456789abcdef';"
	run calc "$tmp/changed.culprit"
	refuses "changed since" "profile again"
	changed "DELETE FROM graph_function; DELETE FROM graph_code; DELETE FROM graph_block; DELETE FROM graph_edge;
		UPDATE image SET path = '/nowhere/copy';"
	run calc "$tmp/changed.culprit"
	refuses "/nowhere/copy" "no code"
}

test_2670_none_or_few_samples_are_no_error() {
	changed 'DELETE FROM calc_sample;'
	run calc "$tmp/changed.culprit"
	status_is 0
	out_has "no samples"
	changed 'DELETE FROM calc_sample WHERE event <> 0 OR pc <> (SELECT pc FROM calc_sample WHERE event = 0 ORDER BY count DESC LIMIT 1);'
	run calc "$tmp/changed.culprit"
	status_is 0
	run calc "$tmp/changed.culprit" copy
	status_is 0
	changed 'INSERT INTO calc_sample VALUES (16, 0, 1000, 0);'
	run calc "$tmp/changed.culprit"
	status_is 0
	out_has "are in code without an image"
}

test_2671_annotate_accuracy_diff_and_stats_take_its_rows() {
	run annotate "$store" copy --calc
	status_is 0
	grep -Eq '[0-9.]+cy' "$tmp/out" || fail "no CPI in the listing"
	run annotate "$store" copy --calc --icost
	refuses "--calc"
	run accuracy "$store"
	status_is 0
	out_has "Execution frequencies from samples alone"
	grep -Eq '^flow +[0-9.]+%' "$tmp/out" || fail "no row of flow"
	run diff "$store" "$store"
	status_is 0
	out_has "Procedures by samples"
	run stats "$store" "$store"
	status_is 0
	out_has "range%"
	changed 'DELETE FROM golden;'
	run stats "$tmp/changed.culprit" "$tmp/changed.culprit" --json
	status_is 0
	python3 -c "
import json
j = json.load(open('$tmp/out'))
assert j['sets'][0] * 2 == j['total'] > 0 and any(r['procedure'] == 'copy' for r in j['rows'])"
	run accuracy "$tmp/changed.culprit"
	status_is 0
	run diff "$tmp/changed.culprit" "$tmp/changed.culprit"
	status_is 0
}

test_2672_without_calc_samples_other_views_say_nothing_of_them() {
	changed 'DELETE FROM calc_event; DELETE FROM calc_sample; DELETE FROM calc_truth;'
	run accuracy "$tmp/changed.culprit"
	status_is 0
	! grep -q "frequencies" "$tmp/out" || fail "a section without samples"
	run stats "$tmp/changed.culprit"
	! grep -q "range%" "$tmp/out" || fail "a table without samples"
}

# Prints how far frequencies of blocks, and of edges, are from the truth: the share of executions within 10%.
near() {
	python3 -c "
import json, sys
blocks = [b for p in json.load(open('$tmp/out'))['procedures'] for b in p['blocks'] if b['true_frequency']]
edges = [e for b in blocks for e in b['edges'] if e['true_frequency'] and e['to'] is not None]
for rows in (blocks, edges):
    all = sum(r['true_frequency'] for r in rows)
    print(round(100 * sum(r['true_frequency'] for r in rows
                          if abs((r['frequency'] or 0) / r['true_frequency'] - 1) <= 0.1) / all))"
}

# A run with branch records on MACHINE, sampled by ANALYSIS.
records() {
	"$CULPRIT" sim --machine "$1" --analyze "$2,truth,branches" --period 400 --max-insts 300k -o "$tmp/records.culprit" \
		-- "$GUESTS/answers" work 100000 >/dev/null 2>&1
}

test_2674_branch_records_tell_edges_on_any_machine() {
	local machine kind got
	for machine in inorder-2w boom-tip; do
		if [ $machine = boom-tip ]; then records $machine commits; else records $machine issue; fi
		for kind in branches-16 branches-32; do
			run calc "$tmp/records.culprit" --json --samples $kind
			status_is 0
			mapfile -t got < <(near)
			echo "# $kind on $machine: ${got[*]}% within 10%"
			[ "${got[0]}" -ge 95 ] && [ "${got[1]}" -ge 95 ] || fail "$kind on $machine: ${got[*]}% within 10%"
			cp "$tmp/records.culprit" "$tmp/blind.culprit"
			sqlite3 "$tmp/blind.culprit" 'DELETE FROM calc_truth; DELETE FROM calc_truth_edge; DELETE FROM calc_truth_reason;
				DELETE FROM calc_truth_event; DELETE FROM golden'
			run calc "$tmp/records.culprit" --json --samples $kind --no-truth
			cp "$tmp/out" "$tmp/with"
			run calc "$tmp/blind.culprit" --json --samples $kind
			cmp "$tmp/with" "$tmp/out" || fail "estimates by $kind see the truth"
		done
		run calc "$tmp/records.culprit" --samples cycles-16
		status_is 0
		out_has "Frequencies are from branch records (cycles-16)"
	done
}

test_2675_samples_that_a_profile_does_not_have_are_named() {
	run calc "$store" --samples branches-16
	refuses "no branch records" "issue,branches"
	run calc "$store" --samples tip
	refuses "in order" "tip"
	run calc "$store" --samples branch-16
	refuses "branch-16" "branches-16"
	records boom-tip commits
	run calc "$tmp/records.culprit" --samples issue
	refuses "out of order" "issue"
	run calc "$tmp/records.culprit" --method bit
	refuses "bit" "flow"
	run calc "$tmp/records.culprit" --samples nci
	status_is 0
	out_has "relative to each other"
}

# A profile of an x86-64 program, as a live machine gives it: samples of `loop` and `weigh` by address, more of them
# where a loop goes round. PROGRAM, STORE.
live_profile() {
	local rows
	rows=$({ objdump --no-show-raw-insn --disassemble=loop "$1"; objdump --no-show-raw-insn --disassemble=weigh "$1"; } | python3 -c "
import re, sys
pcs = [int(m[1], 16) for m in re.finditer(r'^ +([0-9a-f]+):', sys.stdin.read(), re.M)]
print(''.join('INSERT INTO live_count VALUES (%d, 0, -1, -1, %d);' % (pc + (1 << 40), 50 + pc % 7) for pc in pcs))")
	changed "DELETE FROM run; DELETE FROM machine; DELETE FROM image; DELETE FROM function; DELETE FROM instruction;
		DELETE FROM block; DELETE FROM inlined; DELETE FROM golden; DELETE FROM calc_event; DELETE FROM calc_sample;
		DELETE FROM calc_truth; DELETE FROM calc_truth_edge; DELETE FROM calc_truth_reason; DELETE FROM calc_truth_event;
		DELETE FROM graph_function; DELETE FROM graph_code; DELETE FROM graph_block; DELETE FROM graph_edge;
		INSERT INTO run VALUES ('kind', 'live'); INSERT INTO image VALUES (1, '$1', '$1', '', 0, 0, 1 << 40);
		INSERT INTO live_event VALUES (0, 'cycles', 'cycles', 0, 1000, 1, 1, 1, 0, 0, 0); $rows"
	mv "$tmp/changed.culprit" "$2"
}

test_2673_bolt_reads_the_edges_of_an_x86_64_profile_without_a_complaint() {
	local bolt
	[ "$(uname -m)" = x86_64 ] || skip "not an x86-64 machine"
	bolt=$(command -v llvm-bolt-16 || command -v llvm-bolt) || skip "no llvm-bolt (package bolt-16)"
	cat >"$tmp/prog.c" <<-'END'
		#include <stdio.h>
		__attribute__((noinline)) int weigh(int x)
		{
		    return x & 1 ? x * 3 : x + 7;
		}
		__attribute__((noinline)) long loop(int n)
		{
		    long sum = 0;
		    for (int i = 0; i < n; i++) {
		        if (i % 3)
		            sum += weigh(i);
		        else
		            sum -= i;
		        while (sum > 1000000)
		            sum /= 2;
		    }
		    return sum;
		}
		int main(int argc, char **argv)
		{
		    return printf("%ld\n", loop(argc * 1000)) < 0;
		}
	END
	cc -O1 -no-pie -Wl,-q "$tmp/prog.c" -o "$tmp/prog" || skip "no compiler for this machine"
	live_profile "$tmp/prog" "$tmp/live.culprit"
	run calc "$tmp/live.culprit" loop
	status_is 0
	out_has "relative frequency"
	out_has "No schedule of this machine is known"
	run calc "$tmp/live.culprit" --export fdata
	status_is 0
	grep -Eq '^1 loop [0-9a-f]+ 1 weigh 0 0 [0-9]+$' "$tmp/out" || fail "no call"
	cp "$tmp/out" "$tmp/prog.fdata"
	"$bolt" "$tmp/prog" -data "$tmp/prog.fdata" -o "$tmp/prog.bolt" >"$tmp/out" 2>&1 || fail "BOLT fails"
	! grep -q "BOLT-WARNING\|BOLT-ERROR" "$tmp/out" || fail "BOLT complains"
	grep -Eq 'BOLT-INFO: [23] out of .* have non-empty execution profile' "$tmp/out" || fail "BOLT sees no profile"
	[ "$("$tmp/prog.bolt")" = "$("$tmp/prog")" ] || fail "the program is another one"
}

run_tests
