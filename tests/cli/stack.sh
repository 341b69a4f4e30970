#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# culprit stack as its user sees it, and the job runner behind it.
. "$(dirname "$0")/lib.sh"
needs_guests

export CULPRIT_CACHE=$tmp/cache

# All tests use one profile of a small program.
profile=$tmp/p.culprit
"$CULPRIT" sim --machine eyerman2006 --analyze cpistack --max-insts 30k -o "$profile" -- \
	"$GUESTS/answers" exit 0 >/dev/null 2>&1

# Runs Python on the JSON in $tmp/out, as `j`; fails where the expression is false.
json_holds() {
	python3 -c "
import json, sys
j = json.load(open('$tmp/out'))
m = {x['name']: x for x in j['methods']}
total = lambda name: sum(m[name]['components'].values())
assert $1, '''$1'''"
}

test_every_method_sums_to_the_cpi() {
	run stack "$profile" --json
	status_is 0
	json_holds 'all(abs(total(n) - j["cpi"]) < 1e-6 for n in m)'
}

test_1708_intervals_between_miss_events_sum_to_the_run() {
	run sim --machine eyerman2006-table --analyze cpistack,interval-analysis --max-insts 30k -o "$tmp/i.culprit" -- \
		"$GUESTS/answers" exit 0
	run stack "$tmp/i.culprit" --intervals --json --svg "$tmp/i.svg"
	status_is 0
	python3 -c "
import json
j = json.load(open('$tmp/out'))
kinds = {k['kind']: k for k in j['kinds']}
assert sum(k['cycles'] for k in j['kinds']) == j['cycles'] > 0
assert abs(sum(k['share'] for k in j['lengths']) - (1 - kinds['base']['share'])) < 1e-9, j['lengths']
assert kinds['mispredict']['penalty'] > kinds['mispredict']['resolution'] > 0
assert {c['kind'] for c in j['curves']} >= {'mispredict', 'L2 I-cache'}, j['curves']"
	[ "$(sqlite3 "$tmp/i.culprit" "SELECT value FROM run WHERE key = 'cycles'")" = \
		"$(sqlite3 "$tmp/i.culprit" 'SELECT sum(cycles) FROM interval_kind')" ] || fail "not the run's cycles"
	python3 -c "import xml.dom.minidom; xml.dom.minidom.parse('$tmp/i.svg')"
	run stack "$tmp/i.culprit" --intervals
	out_has "ended by"
	out_has "Long data misses by distance"
	run stack "$profile" --intervals
	refuses "has no intervals; --add runs this" interval-analysis
	run stack "$tmp/i.culprit" --intervals --phases
	refuses "no time axis"
}

test_1714_a_machine_that_issues_in_order_is_warned_of() {
	run sim --machine inorder-2w --analyze cpistack --max-insts 3k -o "$tmp/o.culprit" -- "$GUESTS/answers" exit 0
	run stack "$tmp/o.culprit" --no-reference
	out_has "read stalls"
	run stack "$tmp/o.culprit" --no-reference --json
	json_holds 'abs(total("stalls") - j["cpi"]) < 1e-6'
	run stack "$profile" --no-reference
	! grep -q "in order\|stalls" "$tmp/out" || fail "a warning, or counters, on another machine"
}

test_3963_fmt_by_function_and_by_instruction_is_its_stack() {
	run stack "$profile" --by function --json --limit 1000
	status_is 0
	cp "$tmp/out" "$tmp/functions"
	run stack "$profile" --by instruction --csv --limit 100000
	status_is 0
	cp "$tmp/out" "$tmp/instructions"
	run stack "$profile" --no-reference --json
	python3 -c "
import csv, json
j = json.load(open('$tmp/out'))
fmt = {m['name']: m for m in j['methods']}['fmt']['components']
rows = json.load(open('$tmp/functions'))['functions']
assert len(rows) > 2 and rows[-1]['symbol'].startswith('(all')
places = list(csv.DictReader(open('$tmp/instructions')))
for name, cpi in fmt.items():
    cycles = cpi * j['instructions']
    for some in (rows[:-1], rows[-1:]):
        assert abs(sum(r['stack'].get(name, 0) for r in some) - cycles) < 1, (name, cycles)
    if name != 'base':
        assert abs(sum(float(p['cycles']) for p in places if p['component'] == name) - cycles) < 1, name
assert any(p['component'] == 'mispredict' and float(p['penalty']) > 3 for p in places), places[:3]
assert j['function_method'] == 'fmt'"
	run stack "$profile" --by function
	out_has "in % of the cycles of the run"
	run stack "$profile" --by line
	refuses "--by has no choice 'line'"
	run stack "$profile" --by function --phases
	refuses "no time axis"
	run stack "$profile" --by function --intervals
	refuses "two tables"
	cp "$profile" "$tmp/old.culprit"
	sqlite3 "$tmp/old.culprit" 'DELETE FROM cpi_place'
	run stack "$tmp/old.culprit" --by function
	refuses "has no FMT by instruction"
	run stack "$tmp/old.culprit" --no-reference
	out_has "Functions (commit stage)"
}

test_3964_annotate_shows_what_each_instruction_loses() {
	run sim --machine eyerman2006 --analyze profile,cpistack --max-insts 30k -o "$tmp/a.culprit" -- \
		"$GUESTS/answers" exit 0
	run annotate "$tmp/a.culprit" --stack --limit 2
	status_is 0
	out_has "lost to"
	run annotate "$tmp/a.culprit" --stack --calc
	refuses "two listings"
}

# A write of fflags flushes the younger instructions, which then enter the ROB a second time.
test_what_retires_is_what_committed() {
	run sim --analyze cpistack -o "$tmp/t.culprit" -- "$GUESTS/answers" flush
	run stack "$tmp/t.culprit" --no-reference --json
	status_is 0
	json_holds 'abs(m["topdown"]["components"]["retiring"] - 1 / 4) < 1e-6'
	json_holds 'm["topdown"]["components"]["bad speculation: other flushes"] > 0'
}

test_the_reference_comes_first_and_has_no_error() {
	run stack "$profile" --json
	json_holds 'j["methods"][0]["name"] == "simulated" and j["methods"][0]["reference"]'
	json_holds 'j["methods"][0]["max_error"] is None and m["inverse"]["reference"]'
	json_holds 'm["fmt"]["max_error"] == max(abs(e) for e in m["fmt"]["errors"].values())'
}

# The most executed instruction is made a division: the divider then needs more than the run took.
test_a_base_that_is_less_than_the_divider_needs_is_named() {
	run sim --machine eyerman2006 --analyze profile,cpistack --max-insts 30k -o "$tmp/d.culprit" -- \
		"$GUESTS/answers" exit 0
	run stack "$tmp/d.culprit" --no-reference
	status_is 0
	! grep -q "unit alone needs, .*fmt" "$tmp/out" || fail "it names a base that may be right"
	python3 -c "
import sqlite3
db = sqlite3.connect('$tmp/d.culprit')
db.execute('UPDATE instruction SET class = \'div\' WHERE pc = (SELECT pc FROM golden GROUP BY pc '
           'ORDER BY sum(executions) DESC LIMIT 1)')
db.execute('UPDATE golden SET executions = 1000 * executions')
db.commit()"
	run stack "$tmp/d.culprit" --no-reference
	status_is 0
	grep -q "^div unit alone needs, .* cycles per instruction: .*fmt" "$tmp/out" || fail "no base is named"
}

test_a_second_call_simulates_nothing() {
	run stack "$profile" --json
	cp "$tmp/out" "$tmp/first"
	find "$CULPRIT_CACHE/jobs" -type f | sort >"$tmp/before"
	[ "$(wc -l <"$tmp/before")" = 12 ] || fail "not 12 results are kept"
	find "$CULPRIT_CACHE/jobs" -type f -exec touch -d '2001-01-01' {} +
	run stack "$profile" --json
	cmp "$tmp/first" "$tmp/out"
	[ -z "$(find "$CULPRIT_CACHE/jobs" -type f -newermt '2002-01-01')" ] || fail "it simulated again"
}

test_a_setting_of_the_run_is_another_run() {
	run sim --machine eyerman2006 --set l2.latency=20 --analyze cpistack --max-insts 30k -o "$tmp/q.culprit" -- \
		"$GUESTS/answers" exit 0
	run stack "$tmp/q.culprit" --json
	status_is 0
	[ "$(find "$CULPRIT_CACHE/jobs" -type f | wc -l)" -ge 24 ] || fail "results of another machine were taken"
}

test_another_build_can_simulate() {
	run stack "$profile" --json
	cp "$tmp/out" "$tmp/own"
	cp "$CULPRIT" "$tmp/other"
	echo >>"$tmp/other"
	find "$CULPRIT_CACHE/jobs" -type f | sort >"$tmp/before"
	run stack "$profile" --json --simulator "$tmp/other"
	status_is 0
	cmp "$tmp/own" "$tmp/out"
	find "$CULPRIT_CACHE/jobs" -type f | sort >"$tmp/after"
	[ "$(comm -13 "$tmp/before" "$tmp/after" | wc -l)" = 12 ] || fail "the other build did not simulate"
	run stack "$profile" --simulator "$tmp/nowhere"
	refuses "$tmp/nowhere"
}

# glibc asks what kind of file it writes to, and the answer changes the instructions of the run.
test_simulations_see_the_streams_of_the_run() {
	for to in /dev/null "$tmp/written"; do
		"$CULPRIT" sim --machine eyerman2006 --analyze cpistack -o "$tmp/s.culprit" -- "$GUESTS/answers" bytes \
			>"$to" 2>/dev/null </dev/null
		run stack "$tmp/s.culprit" --json
		status_is 0
		json_holds 'm["simulated"]["reference"]'
	done
	"$CULPRIT" sim --machine eyerman2006 --analyze cpistack -o "$tmp/s.culprit" -- "$GUESTS/answers" bytes 2>&1 \
		</dev/null | cat >/dev/null
	run stack "$tmp/s.culprit" --json
	status_is 0
}

test_what_was_read_is_part_of_the_run() {
	echo 100 >"$tmp/much"
	run sim --machine eyerman2006 --analyze cpistack -o "$tmp/w.culprit" -- "$GUESTS/answers" work-by "x=$tmp/much"
	status_is 0
	run stack "$tmp/w.culprit" --json
	status_is 0
	echo 50000 >"$tmp/much"
	run stack "$tmp/w.culprit" --json
	status_is 1
	err_has "does not repeat"
	json_holds '"simulated" not in m'
	run sim --machine eyerman2006 --analyze cpistack -o "$tmp/w.culprit" -- "$GUESTS/answers" work-by "x=$tmp/much"
	run stack "$tmp/w.culprit" --json
	status_is 0
}

# The guest refuses to overwrite a file; its simulations would refuse, too, if they saw files of the run or of each
# other.
test_what_a_run_makes_is_its_own() {
	mkdir -p "$tmp/work" "$tmp/over"
	unshare --mount sh -c 'mount -t tmpfs none "$1" && mkdir "$1/u" "$1/w" &&
		mount -t overlay none -o "lowerdir=$2,upperdir=$1/u,workdir=$1/w" "$2"' sh "$tmp/over" "$tmp/work" 2>/dev/null ||
		skip "this system has no overlays in a mount namespace"
	run sim --machine eyerman2006 --analyze cpistack -o "$tmp/m.culprit" -- "$GUESTS/answers" make "$tmp/work/file"
	status_is 0
	echo kept >"$tmp/work/file"
	run stack "$tmp/m.culprit" --json --jobs 2
	status_is 0
	json_holds 'm["simulated"]["reference"]'
	[ "$(cat "$tmp/work/file")" = kept ] || fail "a simulation wrote into the file"
	[ "$(ls "$tmp/work")" = file ] || fail "something else is there"
}

test_what_came_through_a_pipe_repeats_unless_it_is_not_kept() {
	printf '%9999s' x | "$CULPRIT" sim --machine eyerman2006 --analyze cpistack -o "$tmp/i.culprit" -- "$GUESTS/answers" cat \
		>/dev/null 2>&1
	run stack "$tmp/i.culprit" --json
	status_is 0
	json_holds 'm["simulated"]["reference"]'
	printf '%9999s' x | "$CULPRIT" sim --machine eyerman2006 --analyze cpistack --forget-input -o "$tmp/i.culprit" -- \
		"$GUESTS/answers" cat >/dev/null 2>&1
	run stack "$tmp/i.culprit" --json
	status_is 1
	err_has "does not repeat"
	err_has "--forget-input"
}

test_overlap_is_said_where_there_is_some() {
	run sim --machine eyerman2006 --analyze cpistack --max-insts 300k -o "$tmp/o.culprit" -- "$GUESTS/answers" exit 0
	run stack "$tmp/o.culprit" --no-reference
	out_has "Front-end penalties beside a long data miss:"
}

test_a_part_of_a_run_has_a_reference_of_the_same_part() {
	run sim --machine eyerman2006 --analyze cpistack --start 1000 --stop 5000 -o "$tmp/part.culprit" -- \
		"$GUESTS/answers" exit 0
	run stack "$tmp/part.culprit" --json
	status_is 0
	json_holds 'abs(j["instructions"] - 4000) < 8'
	json_holds 'all(abs(total(n) - j["cpi"]) < 1e-6 for n in m)'
	json_holds 'm["simulated"]["components"]["base"] > 0.2 and m["fmt"]["max_error"] < 100'
	cp "$tmp/out" "$tmp/part"
	run sim --machine eyerman2006 --analyze cpistack --start 1000 --stop 3000 -o "$tmp/part.culprit" -- \
		"$GUESTS/answers" exit 0
	run stack "$tmp/part.culprit" --json
	! cmp -s "$tmp/part" "$tmp/out" || fail "another part has the same stacks"
}

test_a_part_by_cycles_cannot_be_simulated_again() {
	run sim --machine eyerman2006 --analyze cpistack --start cycle:5000 -o "$tmp/cycles.culprit" -- \
		"$GUESTS/answers" exit 0
	run stack "$tmp/cycles.culprit"
	refuses cycle:N --no-reference
}

test_what_cannot_be_simulated_again_is_said() {
	run sim --machine eyerman2006 --real-time --analyze cpistack --max-insts 30k -o "$tmp/r.culprit" -- \
		"$GUESTS/answers" exit 0
	run stack "$tmp/r.culprit"
	refuses --real-time --no-reference
	run stack "$tmp/r.culprit" --no-reference
	status_is 0
	out_has "mispredicted branches"
}

test_a_failed_simulation_is_named_and_the_rest_shown() {
	cp "$GUESTS/answers" "$tmp/gone"
	run sim --machine eyerman2006 --analyze cpistack --max-insts 30k -o "$tmp/g.culprit" -- "$tmp/gone" exit 0
	rm "$tmp/gone"
	run stack "$tmp/g.culprit"
	status_is 1
	err_has "everything perfect"
	out_has "mispredicted branches"
}

test_a_profile_without_stacks_says_how_to_get_them() {
	run sim --analyze profile --max-insts 10k -o "$tmp/n.culprit" -- "$GUESTS/answers" exit 0
	run stack "$tmp/n.culprit"
	refuses "profile,cpistack"
}

test_the_text_has_the_components_in_words() {
	run stack "$profile" --phases
	status_is 0
	out_has "L2 D-cache misses"
	out_has "Over time (fmt)"
	out_has "Top-down"
	out_has "largest"
}

test_csv_has_a_row_for_every_component() {
	run stack "$profile" --csv
	[ "$(head -1 "$tmp/out")" = "program,machine,method,reference,component,cycles,cpi,error_percent" ]
	[ "$(grep -c ',fmt,' "$tmp/out")" = 12 ]
	[ "$(grep -c ',simulated,' "$tmp/out")" = 8 ]
}

test_the_picture_is_svg_with_a_bar_for_every_method() {
	run stack "$profile" --csv --svg "$tmp/s.svg"
	status_is 0
	python3 -c "
import xml.etree.ElementTree as t
root = t.parse('$tmp/s.svg').getroot()
assert root.tag.endswith('svg')
names = [e.text for e in root.iter() if e.tag.endswith('text')]
assert {'simulated', 'inverse', 'fmt', 'sfmt', 'naive', 'naive_non_spec', 'power5'} <= set(names)"
}

test_a_picture_that_cannot_be_written_is_said() {
	run stack "$profile" --csv --svg "$tmp/nowhere/s.svg"
	status_is 2
	err_has "$tmp/nowhere/s.svg"
}

test_an_unknown_method_of_the_time_axis_is_said() {
	run stack "$profile" --no-reference --method fmd
	status_is 2
	err_has fmd
}

run_tests
