#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What a report says of a run, and what happens to names that it does not know.
. "$(dirname "$0")/lib.sh"
needs_guests
cd "$tmp"
"$CULPRIT" sim --max-insts 300000 --analyze all -o run.culprit -- "$GUESTS/phases" 2 >/dev/null 2>&1

test_1540_analyze_all_makes_what_a_page_shows() {
	local view
	for view in report stack icost accuracy; do
		"$CULPRIT" "$view" run.culprit >/dev/null || fail "$view has nothing to show"
	done
}

test_1541_report_stack_and_icost_have_one_number_of_cycles() {
	local cycles
	cycles=$("$CULPRIT" report run.culprit | sed -n '1s/.* instructions in \([0-9,]*\) cycles.*/\1/p')
	[ -n "$cycles" ] || fail "the report has no cycles"
	"$CULPRIT" icost run.culprit | head -n 1 | grep -qF " in $cycles cycles" || fail "icost has another number"
	[ "$(sqlite3 run.culprit 'SELECT cycles FROM cpi_phase WHERE phase = -1')" = "${cycles//,/}" ] ||
		fail "stack has another number"
}

test_1542_a_library_that_takes_much_is_a_finding() {
	cp run.culprit other.culprit
	sqlite3 other.culprit "UPDATE image SET name = '/lib/ld-linux-riscv64-lp64d.so.1'"
	run report other.culprit --json
	status_is 0
	out_has "The dynamic loader ld-linux-riscv64-lp64d.so.1 takes"
	run report run.culprit --json
	! grep -q "dynamic loader" out || fail "the program itself is called a loader"
}

test_1543_instructions_of_one_line_with_one_reason_are_one_finding() {
	cp run.culprit line.culprit
	sqlite3 line.culprit "UPDATE instruction SET file = 'one.c', line = 7; UPDATE OR REPLACE golden SET category = 5"
	run report line.culprit --json
	status_is 0
	python3 - <<-'END' || fail "a line is told of twice for one reason"
		import json, re
		texts = json.load(open("out"))["findings"]
		reasons = [re.sub(r".*: it ", "", t) for t in texts if "one.c:7" in t and ": it " in t]
		assert reasons and len(reasons) == len(set(reasons)), texts
		assert any("instructions of one.c:7 take" in t for t in texts), texts
	END
}

test_1544_an_event_that_is_spread_is_a_finding_with_its_time() {
	cp run.culprit spread.culprit
	sqlite3 spread.culprit "UPDATE OR REPLACE golden SET events = 32, category = 0"
	run report spread.culprit --json
	status_is 0
	grep -qE "FL-MO \(memory ordering violation\): [1-9][0-9.]+% of all cycles" out || fail "it is not told of"
}

test_1545_names_that_are_not_there_are_errors_with_the_nearest() {
	run report run.culprit --function mian
	refuses mian "nearest is 'main'"
	run report run.culprit --file phasse.c
	refuses phasse.c "nearest is 'phases.c'"
	run report run.culprit --event ST-LLX
	refuses ST-LLX
	run report run.culprit --function main
	status_is 0
}

test_1546_events_stand_with_the_letters_of_the_bars() {
	run report run.culprit
	status_is 0
	grep -qE '^  b FL-MB +[0-9.]+%' out || fail "FL-MB has no letter"
}

test_1547_the_tree_of_calls_has_the_stacks_of_folded() {
	"$CULPRIT" sim --max-insts 300000 --analyze folded,calls,profile --param folded=stacks.folded -o tree.culprit -- "$GUESTS/phases" 2 \
		>/dev/null 2>&1
	python3 - <<-'END' || fail "they differ"
		import collections, sqlite3
		s = sqlite3.connect("tree.culprit")
		rows = {i: r for i, *r in s.execute("""SELECT c.id, c.parent, coalesce(f.name, '[unknown]'), c.cycles FROM call_context c
		    LEFT JOIN instruction i USING (pc) LEFT JOIN function f ON f.id = i.function""")}
		tree = collections.Counter()
		for i, (parent, name, cycles) in rows.items():
		    path = [name]
		    while parent:
		        parent, name, _ = rows[parent]
		        path.append(name)
		    if cycles:
		        tree[";".join(reversed(path))] += cycles
		folded = collections.Counter()
		for line in open("stacks.folded"):
		    stack, cycles = line.rsplit(" ", 1)
		    folded[stack] += int(cycles)
		assert len(folded) > 3 and tree == folded, (tree - folded, folded - tree)
	END
}

run_tests
