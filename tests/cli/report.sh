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
	refuses ST-LLX "nearest is 'ST-LLC'"
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

test_3400_lines_and_libraries_have_the_time_of_the_store() {
	cp run.culprit places.culprit
	sqlite3 places.culprit "UPDATE instruction SET file = '/src/one.c', line = 1 + (pc >> 4) % 5 WHERE pc % 3 <> 0"
	run report places.culprit --json --limit 100000
	status_is 0
	python3 - <<-'END' || fail "the sums differ"
		import collections, json, sqlite3
		j, s = json.load(open("out")), sqlite3.connect("places.culprit")
		scale = float(s.execute("SELECT value FROM run WHERE key = 'scale'").fetchone()[0])
		def same(key, name, query):
		    want = {k: v / scale for k, v in s.execute(query) if k and v}
		    got = {r[name]: r["cycles"] for r in j[key]}
		    assert set(got) == set(want) and len(want) > 0, (got, want)
		    assert all(abs(got[k] - want[k]) < 1e-3 for k in want), (got, want)
		same("lines", "source", """SELECT file || ':' || line, sum(units) FROM golden g JOIN instruction i ON i.pc = g.pc
		    WHERE file <> '' AND line > 0 GROUP BY 1""")
		same("libraries", "image", """SELECT m.name, sum(units) FROM golden g JOIN instruction i ON i.pc = g.pc
		    JOIN function f ON f.id = i.function JOIN image m ON m.id = f.image GROUP BY 1""")
	END
}

test_3401_every_section_is_restricted_to_what_was_asked_for() {
	local event
	event=$(sqlite3 run.culprit "SELECT name FROM event WHERE executions > 0 LIMIT 1")
	run report run.culprit --json --limit 100000
	cp out whole
	for words in "--function main" "--event $event"; do
		run report run.culprit --json --limit 100000 $words
		status_is 0
		python3 - <<-'END' || fail "with $words the sections disagree"
			import json
			j, whole = json.load(open("out")), json.load(open("whole"))
			sums = [sum(j["cycle_stack"].values())] + [sum(r["cycles"] for r in j[k]) for k in ("functions", "instructions", "libraries")]
			assert max(sums) - min(sums) < 1e-3 * max(sums) and sums[0] > 0, sums
			assert sums[0] < 0.99 * sum(whole["cycle_stack"].values()), sums
			assert j["run"] == whole["run"]
		END
	done
	run report run.culprit --function main
	out_has "Only instructions of main:"
}

test_3402_every_finding_ends_with_a_command_that_works() {
	run report run.culprit --json
	python3 -c "
import json
j = json.load(open('out'))
assert len(j['next']) == len(j['findings']) > 0
print('\n'.join(n.replace(' --verify', '') for n in j['next']))" >commands || fail "not as many commands as findings"
	run report run.culprit
	while read -r line; do
		grep -qF "     next: $line" out || fail "the text does not have: $line"
		bash -c "\"$CULPRIT\" ${line#culprit }" >/dev/null || fail "does not work: $line"
	done <commands
	! grep -q "went (" out || fail "the class of the program is a word in brackets"
	out_has "-intensive: "
}

test_3404_annotate_has_the_sum_of_each_line_under_heads() {
	cp run.culprit lines.culprit
	printf 'int a;\n\tint b;\n\t\tint c;\n' >one.c
	sqlite3 lines.culprit "UPDATE instruction SET file = '$tmp/one.c', line = 1 + (pc >> 3) % 3"
	run annotate lines.culprit main --csv
	status_is 0
	cp out csv
	run annotate lines.culprit main --source --csv
	status_is 0
	python3 - csv out <<-'END' || fail "the sums of lines are not those of their instructions"
		import collections, csv, sys
		sums = collections.Counter()
		for r in csv.DictReader(open(sys.argv[1])):
		    sums[r["source"]] += float(r["cycles"])
		    runs = int(r["executions"])
		    assert not runs or abs(float(r["cycles_per_execution"]) - float(r["cycles"]) / runs) < 1e-5, r
		lines = {r["source"]: float(r["cycles"]) for r in csv.DictReader(open(sys.argv[2]))}
		assert set(lines) == set(sums) and len(lines) == 3, (lines, sums)
		assert all(abs(lines[k] - sums[k]) < 1e-3 for k in lines), (lines, sums)
	END
	run annotate lines.culprit main
	out_has "time     runs   cy/run why"
	grep -qE '[0-9]%  .* 2          int b;' out || fail "the line has no sum, or its indentation is lost"
	run annotate lines.culprit main --source
	out_has "                int c;"
	! grep -q "addi" out || fail "--source shows instructions"
}

test_3405_costs_are_columns_of_the_same_table() {
	run annotate run.culprit main --csv
	cut -d, -f1-8 out >plain
	run annotate run.culprit main --csv --icost
	status_is 0
	cut -d, -f1-8 out | cmp - plain || fail "the columns before the costs differ"
	head -n 1 out | grep -q "saves,critical,slack,local_slack" || fail "no columns of costs"
	grep -qE ',[0-9.]+,[0-9.]+,[0-9.]+,[0-9.]+$' out || fail "no instruction has costs"
	run annotate run.culprit main --icost
	out_has "time    saves critical    slack"
	run annotate run.culprit main --icost --source
	refuses --source
}

test_3406_what_if_is_answered_alone() {
	local pc
	pc=$(sqlite3 run.culprit "SELECT printf('0x%x', p.pc) FROM icost_critical p JOIN instruction USING (pc)
		WHERE kind = 'latency' AND class = 'alu' AND cycles > 0 LIMIT 1")
	run icost run.culprit --what-if "shalu@$pc"
	status_is 0
	[ "$(wc -l <out)" -le 5 ] || fail "$(wc -l <out) lines around one answer"
	out_has "shalu@$pc (1 instruction): saves"
	run icost run.culprit
	out_has "one-cycle operations" "the window"
}

test_3407_two_functions_never_read_alike() {
	cp run.culprit alike.culprit
	sqlite3 alike.culprit "UPDATE function SET name =
		'a_name_that_is_far_too_long_for_a_column_' || id || '_and_ends_as_all_of_the_others_do_in_this_program'"
	run report alike.culprit --width 80 -n 6
	status_is 0
	sed -n '/^Functions/,/^$/p' out | grep -oE '[^ ]*…[^ ]*' >names
	[ "$(wc -l <names)" -ge 3 ] || fail "no names that are cut"
	[ "$(sort -u names | wc -l)" = "$(wc -l <names)" ] || fail "two names read alike"
}

# Prints the words of the standard output that were cut.
cut_names() {
	grep -oE '[^ ]*…[^ ]*' "$tmp/out" | grep -v '^…$' || true
}

test_4765_names_are_cut_in_the_middle_in_every_view_and_none_reads_like_another() {
	local view width least
	cp run.culprit alike.culprit
	sqlite3 alike.culprit "UPDATE function SET name =
		'a_name_that_is_far_too_long_for_a_column_of_any_view_because_a_template_made_it_' || id ||
		'_and_it_ends_in_the_very_words_that_all_of_the_others_have_at_their_end_in_this_program'"
	for view in "report" "stack --by function" "stack --by instruction" "diff alike.culprit" "stats alike.culprit"; do
		set -- $view
		for width in 80 200; do
			run "$1" alike.culprit "${@:2}" --width $width -n 5
			status_is 0
			if [ "$view" = "stack --by instruction" ] || [ "$1" = diff ]; then
				continue # rows of one function: its name twice
			fi
			cut_names | sed 's/+0x[0-9a-f]*$//' >names
			[ "$(wc -l <names)" -ge 3 ] || [ $width = 200 ] || fail "$view: no names that are cut"
			[ "$1" = report ] || [ -z "$(sort names | uniq -d)" ] || fail "$view: two names read alike"
		done
	done
	run stats alike.culprit --width 80 -n 5
	sed -n '3,$p' "$tmp/out" | grep -q '…' || fail "nothing is cut at 80 columns"
	run stats alike.culprit --width 300 -n 5
	! grep -q '…' "$tmp/out" || fail "names are cut although there is room"
}

test_4766_names_and_code_of_any_length_are_compared() {
	cp run.culprit long.culprit
	sqlite3 long.culprit "UPDATE function SET name = 'f' || id || '_' || printf('%.*c', 20000, 'x');
		UPDATE instruction SET disasm = disasm || ' <' || printf('%.*c', 20000, 'y') || '>'"
	for view in diff stats report annotate "stack --by function"; do
		set -- $view
		run "$1" long.culprit "${@:2}" $([ "$1" != diff ] || echo run.culprit)
		status_is 0
	done
}

run_tests
