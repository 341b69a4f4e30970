#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Processes that the guest forks while it is measured: each has its own results, whose names depend only on the order
# of forks; the first process's results are the same as without children. The guest "family": the first process forks
# 1, which forks 1.1; then it forks 2, which executes a program.
. "$(dirname "$0")/lib.sh"
needs_guests

cd "$tmp"
everything=profile,cpistack,icost,shotgun,csv,folded
family=(-- "$GUESTS/answers" family)
all=("" .1 .1.1 .2)

# Prints the store as text, without the rows that differ in every run.
dump() {
	python3 - "$1" <<-'END'
		import sqlite3, sys
		for line in sqlite3.connect(sys.argv[1]).iterdump():
		    if not any(row in line for row in ("'host_seconds'", "'cwd'", "'streams'", "'children'", "'signature'")):
		        print(line)
	END
}

run sim --children simulated --analyze $everything --trace x.trace --summary-json json "${family[@]}"
status_is 4
cp err first.err

test_every_process_has_results_of_its_own() {
	local n kind
	for n in "${all[@]}"; do
		for kind in answers.culprit answers.csv answers.folded x.trace json; do
			[ -s "$kind$n" ] || fail "there is no $kind$n"
		done
		run report "answers.culprit$n"
		status_is 0
	done
	[ "$(ls | grep -c '^answers\.culprit')" = 4 ] || fail "there are other stores: $(ls)"
	[ -z "$(find . -name '*.tmp')" ] || fail "temporary files are left"
}

test_every_process_says_so_and_the_first_counts_them() {
	[ "$(wc -l <first.err)" = 5 ] || fail "not five lines: $(cat first.err)"
	local line
	for line in "child 1.1 (answers): .*, exit status 7" "child 1 (answers): .*, exit status 6" \
		"child 2 (answers): .*, exit status 0" "[0-9,]* instructions, .*, exit status 4" \
		"3 of 3 forked processes were measured, in answers\.culprit\.1 and so on"; do
		grep -qx "culprit: $line" first.err || fail "no line: $line"
	done
	[ "$(tail -1 first.err | cut -c1-16)" = "culprit: 3 of 3 " ] || fail "that is not the last line"
}

test_cycles_and_instructions_are_those_of_the_process_and_all_are_handed_out() {
	python3 - "${all[@]}" <<-'END'
		import json, sqlite3, sys
		for n in sys.argv[1:]:
		    said = json.load(open("json" + n))
		    db = sqlite3.connect("answers.culprit" + n)
		    run = dict(db.execute("SELECT key, value FROM run"))
		    assert said["cycles"] == run["cycles"] and said["instructions"] == run["instructions"], n
		    lines = sum(1 for _ in open("answers.csv" + n)) - 1
		    assert lines == run["instructions"], (n, lines)
		    units, = db.execute("SELECT sum(units) FROM golden").fetchone()
		    assert units == run["cycles"] * run["scale"], (n, units)
		    stacks = sum(int(l.split()[-1]) for l in open("answers.folded" + n))
		    assert stacks == run["cycles"], (n, stacks)
		    assert said["stepped_cycles"] <= said["cycles"], n
		    assert run.get("child") == (n[1:] or None), n
		    if n:
		        first = next(open("answers.csv" + n)) and open("answers.csv" + n).readlines()[1]
		        assert int(first.split(",")[0]) >= int(run["first_cycle"]) > int(run["fork_cycle"]), n
	END
}

test_as_many_instructions_as_a_functional_run_counts() {
	local n
	run sim --functional --children simulated --summary-json f "${family[@]}"
	status_is 4
	for n in "${all[@]}"; do
		cmp <(grep '"instructions"' "json$n") <(grep '"instructions"' "f$n")
	done
}

test_time_goes_to_the_functions_of_the_process() {
	grep -q ';of_the_child\|of_the_child;\|;hot_loop' answers.folded.1 || fail "1 does not work"
	! grep -q of_the_grandchild answers.folded.1 || fail "1 does its child's work"
	! grep -q of_the_child answers.folded.1.1 || fail "1.1 does its parent's work"
	! grep -q 'of_the_' answers.folded || fail "the first process does its children's work"
	# The program that 2 executes is measured from its first instruction; nothing from before the exec is in it.
	grep -q '^_start.*;main;hot_loop ' answers.folded.2 || fail "2 does not begin with _start"
	! grep -q family answers.folded.2 || fail "2 has what came before its program"
}

test_the_first_process_is_measured_as_if_its_children_were_not() {
	mkdir -p alone
	(cd alone && "$CULPRIT" sim --analyze $everything --trace x.trace "${family[@]}") >alone.out 2>alone.err </dev/null ||
		true # output goes to files, as in the first run
	cmp <(dump answers.culprit) <(dump alone/answers.culprit)
	cmp answers.csv alone/answers.csv
	cmp answers.folded alone/answers.folded
	[ "$(ls alone | wc -l)" = 4 ] || fail "children that are not measured write: $(ls alone)"
}

test_results_repeat_whatever_the_workers() {
	local n workers
	for workers in 0 3; do
		mkdir -p "by$workers"
		(cd "by$workers" && "$CULPRIT" sim --children simulated --workers $workers --analyze $everything \
			"${family[@]}") >other.out 2>&1 </dev/null || true # output goes to a file, as in the first run
		for n in "${all[@]}"; do
			cmp <(dump "answers.culprit$n") <(dump "by$workers/answers.culprit$n")
			cmp "answers.csv$n" "by$workers/answers.csv$n"
			cmp "answers.folded$n" "by$workers/answers.folded$n"
		done
	done
}

test_a_childs_trace_gives_the_childs_store() {
	local n
	for n in "${all[@]}"; do
		run replay "x.trace$n" --analyze $everything -o y.culprit --param csv=y.csv --param folded=y.folded
		status_is 0
		same_store "answers.culprit$n" y.culprit
		cmp "answers.csv$n" y.csv
		cmp "answers.folded$n" y.folded
	done
	run pipeline x.trace.1.1 --count 10
	status_is 0
}

test_a_childs_trace_of_committed_instructions_gives_the_same_text() {
	local n
	run sim --children simulated --analyze none --trace few.trace --trace-records committed -o few.culprit \
		"${family[@]}"
	status_is 4
	for n in "${all[@]}"; do
		run replay "few.trace$n" --analyze csv,folded --param csv=y.csv --param folded=y.folded -o y.culprit
		status_is 0
		cmp "answers.csv$n" y.csv
		cmp "answers.folded$n" y.folded
	done
}

test_folded_stacks_alone_are_the_same() {
	run sim --children simulated --analyze folded --param folded=y -o y.culprit "${family[@]}"
	status_is 4
	local n
	for n in "${all[@]}"; do cmp "answers.folded$n" "y$n"; done
}

test_names_that_are_given_get_the_number_too() {
	run sim --children simulated --analyze csv --param csv=named.txt -o named.store -- "$GUESTS/answers" fork
	status_is 4
	err_has "1 of 1 forked process was measured, in named.store.1"
	[ -s named.store ] && [ -s named.store.1 ] && [ -s named.txt ] && [ -s named.txt.1 ]
}

test_a_region_goes_on_in_a_child() {
	# A region that is open at the fork is open in the children. The program that 2 executes has its own main,
	# too.
	run sim --children simulated --analyze csv --param csv=r.csv -o r.culprit --start symbol:main "${family[@]}"
	status_is 4
	cmp answers.csv.1 r.csv.1
	cmp answers.csv.1.1 r.csv.1.1
	[ "$(wc -l <r.csv)" -lt "$(wc -l <answers.csv)" ] || fail "the region is the whole run"
	# A region that a child opens is closed in all other processes.
	run sim --children simulated --analyze csv --param csv=r.csv -o r.culprit --start symbol:of_the_grandchild \
		"${family[@]}"
	status_is 4
	[ "$(cat r.csv r.csv.1 r.csv.2 | wc -l)" = 3 ] || fail "others than 1.1 are in the region"
	[ "$(wc -l <r.csv.1.1)" -gt 80000 ] || fail "1.1 is not in it"
}

test_a_fork_while_nothing_is_timed_is_measured_from_there_on() {
	local n
	for n in 6000 7015; do # timing begins before the fork, then after it
		run sim --children simulated --analyze csv --param csv=f.csv -o f.culprit --fast-forward $n \
			--summary-json g "${family[@]}"
		status_is 4
		cmp <(grep '"instructions"' json.1.1) <(grep '"instructions"' g.1.1)
		[ "$(($(wc -l <f.csv.1) - 1))" = "$(grep -o '"instructions": [0-9]*' g.1 | cut -d' ' -f2)" ]
	done
	cmp <(grep '"instructions"' json.2) <(grep '"instructions"' g.2)
}

test_a_child_that_is_killed_keeps_what_was_measured() {
	local signal
	for signal in 15 9 2 10; do
		rm -f k.culprit k.culprit.1
		run sim --children simulated -o k.culprit -- "$GUESTS/answers" kill $signal
		status_is 4
		err_has "1 of 1 forked process was measured, in k.culprit.1"
		grep -qE '^culprit: child 1 \(answers\): [0-9,]+ instructions, .* killed by SIG' "$tmp/err" ||
			fail "the child says nothing"
		run report --json k.culprit.1
		status_is 0
		python3 -c 'import json, sys
j = json.load(open(sys.argv[1]))
assert j["functions"][0]["symbol"] == "hot_loop", j["functions"][0]
assert j["run"]["instructions"] > 80000' "$tmp/out"
	done
	[ -z "$(find . -name '*.tmp')" ] || fail "temporary files are left"
}

test_processes_that_work_at_the_same_time_do_not_wait_for_each_others_analyses() {
	run sim --children simulated --analyze profile,csv --param csv=p.csv --workers 2 -o p.culprit \
		-- "$GUESTS/answers" pipe
	status_is 4
	err_has "1 of 1 forked process was measured, in p.culprit.1"
	run report p.culprit.1
	status_is 0
}

test_a_child_whose_results_cannot_be_written_is_one_line_and_fails_the_run() {
	mkdir -p blocked.culprit.1
	run sim --children simulated -o blocked.culprit -- "$GUESTS/answers" fork
	status_is 2
	out_is "$(printf 'child\nparent')"
	[ "$(grep -c 'child 1: .*blocked.culprit.1' "$tmp/err")" = 1 ] || fail "not one line names it"
	grep -qx "culprit: 0 of 1 forked process was measured" "$tmp/err" || fail "the first process does not say so"
	[ -s blocked.culprit ] || fail "the first process' store is not there"
}

test_a_summary_of_a_child_that_cannot_be_written_fails_the_run() {
	mkdir -p blocked.json.1
	run sim --functional --children simulated --summary-json blocked.json -- "$GUESTS/answers" fork
	status_is 2
	[ "$(grep -c "child 1: .*blocked.json.1" "$tmp/err")" = 1 ] || fail "not one line names it"
	grep -q '"exit_status": 4' blocked.json
}

test_a_child_cannot_be_simulated_again_alone() {
	run stack answers.culprit.1
	refuses "forked process"
	run stack --no-reference answers.culprit.1
	status_is 0
}

run_tests
