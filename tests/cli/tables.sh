#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Machines that are papers' tables: what is printed of them, and that the dependence graph follows what they add (lines of
# different sizes, walks beside the access, L1 hits that idealising takes away whole).
. "$(dirname "$0")/lib.sh"

workloads=$(dirname "$CULPRIT")/../workloads

# Prints the cycles of a run of a program on a machine: cycles PROGRAM MACHINE [--set …].
cycles() {
	local program=$1 machine=$2
	shift 2
	[ -x "$workloads/$program" ] || skip "there is no cross compiler"
	run sim --machine "$machine" --fast-forward 100k --max-insts 150k --analyze none "$@" -- "$workloads/$program"
	status_is 0
	grep -oE '[0-9,]+ cycles' "$tmp/err" | tr -dc 0-9
}

# Compares the graph's cost of a category with that of a simulation, in points of all cycles: near PROGRAM MACHINE CATEGORY POINTS.
near() {
	[ -x "$workloads/$1" ] || skip "there is no cross compiler"
	run sim --machine "$2" --fast-forward 100k --max-insts 150k --analyze icost -o "$tmp/p.culprit" -- "$workloads/$1"
	status_is 0
	run icost --json "$tmp/p.culprit"
	status_is 0
	cp "$tmp/out" "$tmp/graph.json"
	local all ideal
	all=$(cycles "$1" "$2")
	ideal=$(cycles "$1" "$2" --set "ideal.$3=on")
	python3 - "$tmp/graph.json" "$3" "$all" "$ideal" "$4" <<-'EOF' || fail "$*"
		import json, sys
		path, category, cycles, ideal, points = sys.argv[1:]
		cycles, ideal = int(cycles), int(ideal)
		facts = json.load(open(path))
		cost = 100 * facts["costs"][category] / facts["cycles"]
		simulated = 100 * (cycles - ideal) / cycles
		print("%s: graph %.2f, simulated %.2f" % (category, cost, simulated))
		sys.exit(simulated < 1 or abs(cost - simulated) > float(points))
	EOF
}

test_1630_a_machine_is_printed_with_its_papers_table_unless_it_was_changed() {
	run machines tip2021
	status_is 0
	out_has ";| part      | the paper (table A.1)"
	grep -qE '^;\|.*28 KB TAGE.*bpred.direction = tage' "$tmp/out"
	grep -qE '^indirect_entries = 0$' "$tmp/out"
	run machines tip2021 --set window.rob=64
	status_is 0
	! grep -q '^;|' "$tmp/out"
	run machines boom-tip
	status_is 0
	! grep -q '^;|' "$tmp/out"
}

test_1631_a_users_machine_file_may_have_a_table() {
	printf ';| part | the paper (table 1) | ours | why\n;| ROB | 64 | window.rob = 64 |\n[machine]\nbase = boom-tip\n[window]\nrob = 64\n' \
		>"$tmp/mine.ini"
	run machines "$tmp/mine.ini"
	status_is 0
	[ "$(grep -c '^;|' "$tmp/out")" = 2 ]
}

test_1632_the_graph_takes_all_of_an_l1_hit_away() { near interp fields2004-table dl1 1; }
test_1633_the_graph_knows_lines_of_two_sizes_and_walks_beside_the_access() {
	near hash_join fields2004-table dmiss 1
	near hash_join eyerman2006-table dmiss 1
}
test_1634_an_access_beside_its_walk_is_never_later_than_behind_it() {
	local beside behind
	beside=$(cycles hash_join fields2004-table)
	behind=$(cycles hash_join fields2004-table --set walk.beside=no)
	[ "$beside" -lt "$behind" ] || fail "$beside beside, $behind behind"
}

# Prints cycles with --set A and with --set B; the second must be more: more_than PROGRAM A B COMMON…
more_than() {
	local program=$1 a=$2 b=$3 first second
	shift 3
	first=$(cycles "$program" eyerman2006-table --set "$a" "$@")
	second=$(cycles "$program" eyerman2006-table --set "$b" "$@")
	[ "$second" -gt "$first" ] || fail "$first with $a, $second with $b"
}

test_1635_a_multiplier_that_divides_is_busy_for_others() {
	more_than nbody units.fdiv=1 units.fdiv=0 --set units.fmul=1
	# two of them are as good as one that multiplies and one that divides, or better than one alone
	more_than nbody units.fmul=2 units.fmul=1 --set units.fdiv=0
}

test_1636_stores_that_are_written_take_the_ports_of_loads() {
	more_than oltp lsu.shared_ports=no lsu.shared_ports=yes --set units.load=1 --set units.store=4
}

run_tests
