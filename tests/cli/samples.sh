#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What `calc` reads, as a run leaves it in the store: samples of issue and of commit, branch records, and the truth
# beside them.
. "$(dirname "$0")/lib.sh"
needs_guests

program=("$GUESTS/answers" work 20000)
few=(--max-insts 60k)

# sim FILE [OPTION…]: runs the program on a machine that issues in order.
sim() {
	local file=$1
	shift
	run sim --machine inorder-2w "${few[@]}" -o "$file" "$@" -- "${program[@]}"
	status_is 0
}

# same FILE FILE: both stores have the same samples and the same truth.
same() {
	python3 - "$@" <<-'END'
		import sqlite3, sys
		tables = ["calc_event", "calc_sample", "calc_commit", "calc_commit_pair", "calc_branch", "calc_range",
		          "calc_truth", "calc_truth_reason", "calc_truth_edge", "calc_truth_event", "counter"]
		def rows(path):
		    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
		    return {t: db.execute(f"SELECT * FROM {t}").fetchall() for t in tables}
		a, b = rows(sys.argv[1]), rows(sys.argv[2])
		assert sum(len(r) for r in a.values()) > 40, "hardly any rows"
		for t in tables:
		    assert a[t] == b[t], f"{t} differs"
	END
}

# holds FILE SQL: the query gives 1.
holds() {
	[ "$(sqlite3 "$1" "$2")" = 1 ] || fail "$2 is $(sqlite3 "$1" "$2")"
}

all=(--analyze issue,truth,branches --period 40 --param issue.events=all --param issue.imiss=2)

test_2480_rows_do_not_depend_on_workers_listeners_or_replay() {
	sim "$tmp/a.culprit" "${all[@]}" --workers 0
	sim "$tmp/b.culprit" "${all[@]}" --workers 2
	same "$tmp/a.culprit" "$tmp/b.culprit"
	sim "$tmp/c.culprit" "${all[@]}" --analyze issue,profile,branches,truth,cpistack --trace "$tmp/a.trace"
	same "$tmp/a.culprit" "$tmp/c.culprit"
	run replay "$tmp/a.trace" "${all[@]}" -o "$tmp/d.culprit"
	status_is 0
	same "$tmp/a.culprit" "$tmp/d.culprit"
	# Alone, the profiler gets records of its own kind.
	sim "$tmp/e.culprit" "${all[@]}" --analyze issue
	sqlite3 "$tmp/e.culprit" 'SELECT * FROM calc_sample; SELECT * FROM calc_event; SELECT * FROM counter' >"$tmp/alone"
	sqlite3 "$tmp/a.culprit" "SELECT * FROM calc_sample; SELECT * FROM calc_event;
		SELECT * FROM counter WHERE name <> 'taken_branches'" |
		cmp - "$tmp/alone"
}

# alone FILE FILE: the second store, of the profiler alone, has the samples of the first, of several analyses.
alone() {
	local sql='SELECT * FROM calc_sample; SELECT * FROM calc_event;'
	sqlite3 "$1" "$sql SELECT * FROM counter WHERE name <> 'taken_branches'" >"$tmp/several"
	sqlite3 "$2" "$sql SELECT * FROM counter" | cmp - "$tmp/several"
	[ "$(wc -l <"$tmp/several")" -gt 20 ] || fail "hardly any rows"
}

test_4653_alone_the_profiler_finds_the_same_in_regions_and_after_a_fast_forward() {
	local part=(--start inst:1000 --stop inst:3000 --start inst:4000 --stop cycle:40000)
	sim "$tmp/n.culprit" "${all[@]}" --analyze issue,branches,truth
	sim "$tmp/o.culprit" "${all[@]}" --analyze issue --workers 2
	alone "$tmp/n.culprit" "$tmp/o.culprit"
	sim "$tmp/n.culprit" "${all[@]}" "${part[@]}"
	sim "$tmp/o.culprit" "${all[@]}" --analyze issue "${part[@]}"
	alone "$tmp/n.culprit" "$tmp/o.culprit"
	sim "$tmp/n.culprit" "${all[@]}" --fast-forward 2k
	sim "$tmp/o.culprit" "${all[@]}" --analyze issue --fast-forward 2k
	alone "$tmp/n.culprit" "$tmp/o.culprit"
}

test_2481_regions_and_fast_forward_are_replayed_alike() {
	local part=(--start inst:1000 --stop inst:3000 --start inst:4000 --stop cycle:40000)
	sim "$tmp/f.culprit" "${all[@]}" "${part[@]}"
	sim "$tmp/g.culprit" "${all[@]}" --trace "$tmp/g.trace"
	run replay "$tmp/g.trace" "${all[@]}" "${part[@]}" -o "$tmp/h.culprit"
	status_is 0
	same "$tmp/f.culprit" "$tmp/h.culprit"
	sim "$tmp/i.culprit" "${all[@]}" --fast-forward 2k
	sim "$tmp/j.culprit" "${all[@]}" --fast-forward 2k --trace "$tmp/j.trace"
	run replay "$tmp/j.trace" "${all[@]}" -o "$tmp/k.culprit"
	status_is 0
	same "$tmp/i.culprit" "$tmp/k.culprit"
}

test_2482_a_sample_in_every_cycle_is_the_truth() {
	sim "$tmp/t.culprit" --analyze issue,truth --period 1
	# Six cycles pass before the first delivery; after the last issue nobody is sampled.
	holds "$tmp/t.culprit" "SELECT sum(abs(head - ifnull(end, 0) - ifnull(count, 0))) = 6 FROM calc_truth
		LEFT JOIN (SELECT pc, count FROM calc_sample WHERE event = 0) USING (pc)
		LEFT JOIN (SELECT pc, sum(cycles) AS end FROM calc_truth_reason WHERE reason = 19 GROUP BY pc) USING (pc)"
	holds "$tmp/t.culprit" "SELECT sum(issued) = (SELECT sum(cycles) FROM calc_truth_reason WHERE reason = 0)
		FROM calc_sample WHERE event = 0"
	holds "$tmp/t.culprit" "SELECT sum(cycles) = (SELECT value FROM counter WHERE name = 'cycles')
		FROM calc_truth_reason"
	holds "$tmp/t.culprit" "SELECT count(*) = 0 FROM (SELECT event, sum(count) AS n FROM calc_truth_event GROUP BY event)
		JOIN calc_event USING (event) WHERE n != occurred"
	holds "$tmp/t.culprit" "SELECT count(*) = 0 FROM calc_truth WHERE pc NOT IN (SELECT pc FROM instruction)"
}

# What flows into an instruction is what it was executed: edges, and the instruction before it if that is no source of
# edges. The first instruction of the run has nothing before it, and its last edge leads to no instruction.
test_2483_edges_and_executions_are_one_flow() {
	local machine
	for machine in inorder-2w boom-tip; do
		run sim --machine $machine "${few[@]}" --analyze truth -o "$tmp/l.culprit" -- "${program[@]}"
		status_is 0
		holds "$tmp/l.culprit" "WITH into_(pc, n) AS (
			SELECT target, count FROM calc_truth_edge
			UNION ALL SELECT pc + iif(word % 4 = 3, 4, 2), executions FROM calc_truth JOIN instruction USING (pc)
			WHERE pc NOT IN (SELECT source FROM calc_truth_edge))
			SELECT sum(abs(ifnull(n, 0) - executions)) <= 2 FROM calc_truth
			LEFT JOIN (SELECT pc, sum(n) AS n FROM into_ GROUP BY pc) USING (pc)"
	done
}

# Each sample sees a cycle with the chance of one in a period, so counts are binomial: the sum of squared deviations
# over their variances has the number of instructions as its mean.
test_2484_commits_estimate_executions_without_bias() {
	run sim --machine boom-tip --max-insts 400k --analyze profile,commits,truth --period 50 -o "$tmp/m.culprit" -- "${program[@]}"
	status_is 0
	python3 - "$tmp/m.culprit" <<-'END'
		import sqlite3, sys
		db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
		seen = dict(db.execute("SELECT pc, commits FROM calc_commit WHERE rule = 'tip'"))
		period, samples, cycles = db.execute("SELECT period, samples, occurred FROM calc_event").fetchone()
		total, squares, n = 0, 0, 0
		for pc, executions in db.execute("SELECT pc, executions FROM calc_truth"):
		    total += seen.get(pc, 0) * period - executions
		    if executions > 20 * period:
		        n += 1
		        squares += (seen.get(pc, 0) - executions / period) ** 2 / (executions / period)
		assert n > 2 and squares < 2 * n, f"{squares} over {n} instructions"
		assert abs(total) < 0.02 * 400000, f"off by {total} of 400000"
		assert abs(samples * period - cycles) <= period
		scale = int(db.execute("SELECT value FROM run WHERE key = 'scale'").fetchone()[0])
		for rule in "tip", "nci", "software":
		    units, commits = db.execute("SELECT sum(units), sum(commits) FROM calc_commit WHERE rule = ?", [rule]).fetchone()
		    assert 0 <= samples * scale - units <= 3 * scale, f"{rule} has {units} units of {samples} samples"
		    assert (commits > 0) == (rule == "tip")
	END
}

test_2485_the_wrong_machine_is_refused_in_one_line() {
	run sim --machine boom-tip --analyze issue -- "${program[@]}"
	refuses 'order of issue is not program order'
	run sim --machine inorder-2w --analyze commits -- "${program[@]}"
	refuses 'use --analyze issue'
	run sim --machine inorder-2w --analyze issue --param issue.events=none -- "${program[@]}"
	refuses 'it can be cycles, default or all'
	run sim --machine inorder-2w --analyze issue --param issue.imiss=0 -- "${program[@]}"
	refuses 'issue.imiss'
}

run_tests
