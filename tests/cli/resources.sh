#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# culprit icost --resources: parts of the machine of another size, by the graph and by simulation.
. "$(dirname "$0")/lib.sh"
needs_guests

cd "$tmp"
cp "$GUESTS/answers" .

profile() {
	[ -f p.culprit ] || run sim --machine boom-tip --analyze icost,resources --param resources.sample=1 --max-insts 120k \
		-o p.culprit -- ./answers
}

test_4847_what_other_sizes_cost_by_the_graph_is_what_simulation_says() {
	profile
	run icost p.culprit --resources --verify --json
	status_is 0
	python3 - "$tmp/out" <<-'END' || fail "see above"
	import json, sys
	said = json.load(open(sys.argv[1]))
	rows = [r for r in said["resources"] if r.get("simulated") is not None]
	off = [abs(r["cycles"] - r["simulated"]) / said["cycles"] for r in rows]
	large = [r for r in rows if abs(r["simulated"]) >= 0.05 * said["cycles"]]
	wrong = [r["settings"] for r in large if r["cycles"] * r["simulated"] < 0]
	worst = max(rows, key=lambda r: abs(r["cycles"] - r["simulated"]))
	print("# %d rows, off by %.2f %% of the cycles in the mean; worst %s" % (len(rows), 100 * sum(off) / len(off), worst))
	ok = len(rows) > 50 and len(large) >= 3 and sum(off) / len(off) < 0.02 and not wrong
	raise SystemExit(0 if ok else "%d rows, %d large, wrong: %s" % (len(rows), len(large), wrong))
	END
}

test_4848_the_smallest_size_keeps_the_run_within_the_limit() {
	profile
	run icost p.culprit --resources --within 2
	status_is 0
	out_has "smallest: for at most 2% more"
	out_has "reorder buffer"
	out_has "waits for registers"
}

test_4849_a_what_if_takes_parts_and_events_together() {
	profile
	run icost p.culprit --what-if 'rob*2' --what-if int_queue=20 --what-if values --verify
	status_is 0
	out_has "rob*2 (reorder buffer, 256 for 128): "
	[ "$(grep -c simulated "$tmp/out")" = 3 ] || fail "not all are verified"
	run icost p.culprit --what-if rob=77
	refuses "of rob these sizes were tried: 256, 96"
	run icost p.culprit --what-if nose
	refuses "culprit list resources"
}

test_4851_a_profile_without_the_analysis_says_how_to_get_it() {
	run sim --machine boom-tip --analyze icost --max-insts 5k -o q.culprit -- ./answers
	run icost q.culprit --resources
	refuses "resources"
	run icost q.culprit --what-if 'rob*2'
	refuses "--analyze icost,resources"
}

test_4852_an_interaction_that_cancels_out_over_phases_is_named() {
	profile
	cp p.culprit c.culprit
	python3 - <<-'END'
	import sqlite3
	db = sqlite3.connect("c.culprit")
	cycles = db.execute("SELECT cycles FROM icost_phase WHERE phase = -1").fetchone()[0]
	db.execute("DELETE FROM icost WHERE phase >= 0")
	db.execute("DELETE FROM icost_phase WHERE phase >= 0")
	for phase, sign in ((0, 1), (1, -1)):
	    db.execute("INSERT INTO icost_phase VALUES (?, 60000, ?)", (phase, cycles / 2))
	    db.execute("INSERT INTO icost SELECT ?, categories, name, 0, (categories = 3) * ? FROM icost WHERE phase = -1",
	               (phase, sign * 0.05 * cycles))
	db.commit()
	END
	run icost c.culprit
	status_is 0
	out_has "Interactions that cancel out"
	grep -q "most in phase 1" "$tmp/out" || grep -q "phase 1" "$tmp/out" || fail "the serial phase is not named"
	run icost c.culprit --phases --json
	python3 -c "
import json, sys
said = json.load(open('$tmp/out'))
(one,) = [c for c in said['cancelled'] if c['by'] == 'phases']
assert one['categories'] == 'dl1+bw' and one['most_serial'] == 'phase 1' and one['most_parallel'] == 'phase 0', one
assert abs(one['serial'] + one['parallel']) < 1, one
assert said['phases'][0]['icosts']['dl1+bw'] > 0 > said['phases'][1]['icosts']['dl1+bw'], said['phases']
" || fail "JSON is wrong"
	run icost p.culprit
	! grep -q "cancel out" "$tmp/out" || fail "it is said of a run in which nothing cancels out"
}

run_tests
