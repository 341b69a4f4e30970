#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# culprit sample: a profile from a few intervals, what is kept, what is refused, what it was made of.
. "$(dirname "$0")/lib.sh"
needs_guests

export CULPRIT_CACHE=$tmp/cache CULPRIT_STATE=$tmp/state
mkdir "$tmp/work"
cd "$tmp/work"
# A program's path is on its stack: by another path the same program takes another number of cycles. In a root of
# its own it is the same everywhere, whoever runs it.
mkdir "$tmp/root"
cp "$GUESTS/phases" "$tmp/root"
phases=/phases
in=(--sysroot "$tmp/root")
# Three million instructions.
rounds=4
sampling=(--interval 100k --warm 200k --max-k 4 --jobs 2)
few=("${sampling[@]}" --max-points 6)

# number FILE QUERY: what a query of a profile gives.
number() {
	sqlite3 -readonly "$1" "$2"
}

value() {
	number "$1" "SELECT value FROM run WHERE key = '$2'"
}

# The whole run, simulated once for all tests.
truth() {
	[ -e "$tmp/truth.culprit" ] || run sim "${in[@]}" --clock insts -o "$tmp/truth.culprit" -- "$phases" $rounds
	value "$tmp/truth.culprit" "$1"
}

# Files of simulations in the cache: results, and what jobs that run now have begun.
results() {
	find "$CULPRIT_CACHE/jobs" -type f 2>/dev/null | wc -l || true
}

# Waits until a call that runs in the background simulates: there are more such files than N. However long that takes.
wait_until_it_simulates() {
	local pid=$1 before=$2
	while [ "$(results)" -le "$before" ]; do
		kill -0 "$pid" 2>/dev/null || fail "it ended before it could be interrupted"
		sleep 0.05
	done
}

test_a_short_program_is_simulated_whole_and_the_summary_says_so() {
	run sample "${in[@]}" --interval 100k -o whole.culprit -- "$phases" 1
	status_is 0
	out_has "1 rounds"
	err_has "fewer than 20 intervals"
	run sim "${in[@]}" --clock insts -o sim.culprit -- "$phases" 1
	[ "$(value whole.culprit cycles)" = "$(value sim.culprit cycles)" ] || fail "not the cycles of the run"
	[ "$(value whole.culprit instructions)" = "$(value sim.culprit instructions)" ] || fail "not its instructions"
}

test_an_estimate_is_near_the_whole_run_and_its_interval_holds_it() {
	run sample "${in[@]}" --interval 100k --warm all --max-k 4 --jobs 2 -o points.culprit -- "$phases" $rounds
	status_is 0
	out_has "$rounds rounds"
	err_has "estimated"
	err_has "95% confidence"
	ls "$CULPRIT_CACHE"/samples/*/sequence-*/*.culprit >/dev/null || fail "not in one process"
	[ "$(value points.culprit instructions)" = "$(truth instructions)" ] || fail "other instructions"
	run sample show --json points.culprit
	status_is 0
	python3 - "$(truth cycles)" "$(truth instructions)" <<-END || fail "far off"
		import json, sys
		j, cpi = json.load(open("$tmp/out")), int(sys.argv[1]) / int(sys.argv[2])
		assert abs(j["cpi"] / cpi - 1) < 0.05, (j["cpi"], cpi)
		assert j["cpi_low"] <= cpi <= j["cpi_high"], (j["cpi_low"], cpi, j["cpi_high"])
		assert abs(sum(p["weight"] for p in j["points"]) - 1) < 1e-6
		assert len(j["clusters"]) >= 2 and sum(p["chosen"] for p in j["points"]) == len(j["clusters"])
		assert sum(s["count"] for s in j["strip"]) >= 20
	END
}

test_what_was_simulated_is_not_simulated_again_and_gives_the_same_bytes() {
	local before
	run sample "${in[@]}" "${few[@]}" -o a.culprit -- "$phases" $rounds
	status_is 0
	before=$(results)
	run sample "${in[@]}" "${few[@]}" -o b.culprit -- "$phases" $rounds
	status_is 0
	[ ! -s "$tmp/out" ] || fail "the program ran a second time"
	[ "$(results)" = "$before" ] || fail "a point was simulated a second time"
	cmp a.culprit b.culprit
}

test_another_machine_takes_the_same_points() {
	run sample "${in[@]}" "${few[@]}" -o a.culprit -- "$phases" $rounds
	run sample "${in[@]}" "${few[@]}" --set window.rob=16 -o small.culprit -- "$phases" $rounds
	status_is 0
	[ ! -s "$tmp/out" ] || fail "the program ran a second time"
	[ "$(number a.culprit 'SELECT group_concat(start) FROM (SELECT start FROM point ORDER BY start)')" = \
		"$(number small.culprit 'SELECT group_concat(start) FROM (SELECT start FROM point ORDER BY start)')" ] ||
		fail "other points"
	[ "$(value a.culprit cycles)" -lt "$(value small.culprit cycles)" ] || fail "a small window costs nothing"
}

test_a_wanted_error_adds_points() {
	run sample "${in[@]}" "${few[@]}" -o a.culprit -- "$phases" $rounds
	run sample "${in[@]}" "${sampling[@]}" --error 0.01% --max-points 9 -o many.culprit -- "$phases" $rounds
	status_is 0
	[ "$(number many.culprit 'SELECT count(*) FROM point')" -gt "$(number a.culprit 'SELECT count(*) FROM point')" ] ||
		fail "no more points"
	[ "$(number many.culprit 'SELECT count(*) FROM point')" -le 9 ] || fail "more than --max-points"
}

test_points_leave_no_trace_in_files_that_the_program_writes() {
	run sample "${in[@]}" "${few[@]}" -o append.culprit -- "$phases" $rounds append log
	status_is 0
	[ "$(wc -l <log)" = $rounds ] || fail "the file has $(wc -l <log) lines, not $rounds"
}

# A hundred million instructions: all ways to the points together are longer than what is run without checkpoints.
test_points_far_into_a_run_begin_from_checkpoints_and_take_the_same_cycles() {
	local start insts cycles
	run sample "${in[@]}" --interval 100k --warm 100k --max-k 4 --max-points 14 --jobs 2 -o far.culprit -- "$phases" 160
	status_is 0
	! grep -q "without checkpoints" "$tmp/err" || skip "a sandbox of this user has no /tmp: $(grep without "$tmp/err")"
	ls "$CULPRIT_CACHE"/samples/*/histories/*.checkpoint >/dev/null || fail "no checkpoints"
	IFS='|' read -r start insts cycles <<<"$(number far.culprit \
		"SELECT start, instructions, cycles FROM point ORDER BY start DESC LIMIT 1")"
	[ "$start" -gt 40000000 ] || fail "the last point is at $start"
	run sim "${in[@]}" --clock insts --fast-forward $((start - 102000)) --history --warm 100k --settle 2k --max-insts "$insts" \
		--analyze none -- "$phases" 160
	tr -d , <"$tmp/err" | grep -q " $cycles cycles" || fail "the point took $cycles cycles"
}

# A checkpoint has environment and seed in it; a job that begins there is not told again. What simulates the points
# again runs to them, with their history: they take the cycles that they took.
test_points_of_a_program_with_an_environment_and_a_seed_begin_from_checkpoints_too() {
	run sample "${in[@]}" --interval 100k --warm 100k --max-k 2 --max-points 6 --jobs 2 --analyze cpistack --env NAME=value \
		--guest-seed 7 -o env.culprit -- "$phases" 160
	status_is 0
	[ "$(value env.culprit seed)" = 7 ] || fail "the seed is $(value env.culprit seed)"
	[ "$(value env.culprit history)" = 1 ] || fail "it does not say that points have a history"
	run stack --trust --json env.culprit
	status_is 0
	[ ! -s "$tmp/err" ] || fail "the points do not repeat"
}

# Caches that begin with the lines which the program touched last are nearly those of a run that warmed up all the way, and
# nothing of its data is unknown.
test_with_its_history_a_short_warm_up_does_what_a_long_one_does() {
	local all alone with low high
	after() {
		run sim "${in[@]}" --clock insts --fast-forward 2300k --max-insts 100k --analyze none "$@" -- "$phases" $rounds
		status_is 0
		tr -d , <"$tmp/err" | sed -n 's/.* instructions \([0-9]*\) cycles.*/\1/p'
	}
	all=$(after --warm all)
	alone=$(after)
	with=$(after --history)
	[ $((alone - all)) -gt $((all / 20)) ] || fail "it does not matter what precedes: $all and $alone"
	[ $(((with - all) ** 2 * 16)) -lt $(((alone - all) ** 2)) ] || fail "$with is not near $all ($alone)"
	low=$(after --unknown hits)
	high=$(after --unknown misses)
	width=$((high - low))
	low=$(after --history --unknown hits)
	high=$(after --history --unknown misses)
	[ $((4 * (high - low))) -lt $width ] || fail "much is unknown: from $low to $high, $width without a history"
}

# What a warm-up has not seen lies between hits and misses; a longer one leaves less of it.
test_the_cycles_after_a_long_warm_up_lie_between_the_bounds_of_a_short_one() {
	local all bounds=() width previous="" warm
	cycles_after() {
		run sim "${in[@]}" --clock insts --fast-forward $((2300000 - $1)) --warm "$1" --max-insts 100k --analyze none \
			--unknown "$2" -- "$phases" $rounds
		status_is 0
		tr -d , <"$tmp/err" | sed -n 's/.* instructions \([0-9]*\) cycles.*/\1/p'
	}
	run sim "${in[@]}" --clock insts --fast-forward 2300k --warm all --max-insts 100k --analyze none -- "$phases" $rounds
	all=$(tr -d , <"$tmp/err" | sed -n 's/.* instructions \([0-9]*\) cycles.*/\1/p')
	for warm in 50000 500000; do
		bounds=("$(cycles_after $warm hits)" "$(cycles_after $warm misses)")
		# Predictors that have learned for longer may still be a little better.
		[ $((bounds[0] * 995 / 1000)) -le "$all" ] || fail "after $warm: $all is below ${bounds[0]}"
		[ "$all" -le $((bounds[1] * 1005 / 1000)) ] || fail "after $warm: $all is above ${bounds[1]}"
		width=$((bounds[1] - bounds[0]))
		[ -z "$previous" ] || [ "$width" -lt "$previous" ] || fail "a longer warm-up leaves as much: $width"
		previous=$width
	done
	[ "$previous" -gt 0 ] || fail "nothing was unknown"
}

test_a_warm_up_is_as_long_as_each_point_needs_and_what_it_leaves_is_in_the_error() {
	local cycles
	run sample "${in[@]}" --interval 100k --max-k 4 --jobs 2 --warm auto -o auto.culprit -- "$phases" $rounds
	status_is 0
	cycles=$(truth cycles)
	run sample show --json auto.culprit
	python3 - "$cycles" "$(truth instructions)" <<-END || fail "not so"
		import json, sys
		j, cpi = json.load(open("$tmp/out")), int(sys.argv[1]) / int(sys.argv[2])
		assert j["warm"] == "auto" and all(p["cpi_low"] <= p["cpi"] <= p["cpi_high"] for p in j["points"])
		assert j["cpi_low"] <= cpi <= j["cpi_high"], (j["cpi_low"], cpi, j["cpi_high"])
	END
	run sample "${in[@]}" --method systematic --warm auto -- "$phases" 1
	refuses "--warm auto"
}

# half FILE: half of the interval of the CPI, and that part of it which the warm-up leaves, in % of the CPI.
half() {
	run sample show --json "$1"
	status_is 0
	python3 - "$tmp/out" <<-'END'
		import json, sys
		j = json.load(open(sys.argv[1]))
		total = sum(p["weight"] * (p["cpi_high"] - p["cpi_low"]) for p in j["points"]) / 2
		assert all(p["cpi_low"] <= p["cpi"] <= p["cpi_high"] for p in j["points"])
		assert sum(p["cpi_low"] < p["cpi_high"] for p in j["points"]) > len(j["points"]) / 2
		print(100 * (j["cpi_high"] - j["cpi_low"]) / 2 / j["cpi"], 100 * total / j["cpi"])
	END
}

# Some points are simulated again after a longer warm-up; by how much they differ is in the error of all.
test_4683_what_a_warm_up_leaves_is_in_the_error_and_a_longer_one_leaves_less() {
	local short long cpi
	run sample "${in[@]}" --interval 100k --no-history --warm 20k --max-k 4 --jobs 2 -o short.culprit -- "$phases" $rounds
	status_is 0
	run sample "${in[@]}" --interval 100k --warm 400k --max-k 4 --jobs 2 -o long.culprit -- "$phases" $rounds
	status_is 0
	short=$(half short.culprit)
	long=$(half long.culprit)
	cpi=$(number short.culprit "SELECT low || ' ' || high FROM estimate WHERE what = 'cpi'")
	python3 - $short $long $cpi "$(truth cycles)" "$(truth instructions)" <<-'END' || fail "short $short, long $long, $cpi"
		import sys
		short, short_warm, long, long_warm, low, high, cycles, insts = map(float, sys.argv[1:])
		assert short_warm > 2 * long_warm > 0.1 and short > short_warm and long > long_warm
		assert low <= cycles / insts <= high
	END
	run sample show short.culprit
	out_has "Warm-up: ±"
}

test_units_at_equal_distances_give_an_estimate_that_holds_the_truth() {
	run sample "${in[@]}" --method systematic --max-points 100 -o units.culprit -- "$phases" $rounds
	status_is 0
	err_has "99.7% confidence"
	err_has "--max-points 100 is reached"
	[ "$(number units.culprit 'SELECT count(*) FROM point')" = 100 ] || fail "not 100 units"
	python3 - "$(number units.culprit "SELECT low || ' ' || high FROM estimate WHERE what = 'cpi'")" <<-END || fail "far off"
		import sys
		low, high = map(float, sys.argv[1].split())
		assert low <= $(truth cycles) / $(truth instructions) <= high, (low, high)
	END
	run sample "${in[@]}" --method systematic --warm 1M -- "$phases" $rounds
	refuses "--warm"
}

# What a live-point has kept is what warming all the way gives, to the cycle. Units come in random order, so that
# the estimate of those that are there is good at any time.
test_units_from_live_points_take_the_cycles_of_units_in_one_pass() {
	local pid before units="SELECT group_concat(start || ' ' || cycles) FROM (SELECT * FROM point ORDER BY start)"
	run sample "${in[@]}" --method systematic --max-points 8 -o pass.culprit -- "$phases" $rounds
	status_is 0
	run sample "${in[@]}" --method systematic --max-points 8 --live-points --jobs 2 -o live.culprit -- "$phases" $rounds
	status_is 0
	[ ! -s "$tmp/out" ] || fail "the program ran a second time"
	[ "$(number pass.culprit "$units")" = "$(number live.culprit "$units")" ] ||
		fail "$(number pass.culprit "$units") in one pass, $(number live.culprit "$units") from live-points"
	[ "$(number live.culprit "SELECT value FROM sampled WHERE key = 'warm'")" = all ] || fail "not warm"
	[ "$(ls "$CULPRIT_CACHE"/samples/*/live-*/*.checkpoint | wc -l)" -ge 7 ] || fail "no live-points"
	before=$(results)
	"$CULPRIT" sample "${in[@]}" --method systematic --unit 1200 --max-points 40 --live-points --jobs 1 \
		-o some.culprit -- "$phases" $rounds >"$tmp/out" 2>"$tmp/err" </dev/null &
	pid=$!
	# Three have ended when the fourth has begun: each has a result, and a log while it runs.
	wait_until_it_simulates $pid $((before + 4))
	kill -TERM $pid
	status=0
	wait $pid || status=$?
	status_is 0
	err_has "interrupted"
	err_has "±"
	pid=$(number some.culprit 'SELECT count(*) FROM point')
	[ "$pid" -ge 2 ] && [ "$pid" -lt 40 ] || fail "$pid units"
	run sample "${in[@]}" --live-points -- "$phases" 1
	refuses "--live-points" "systematic"
}

test_a_point_at_which_a_process_cannot_be_saved_is_left_out() {
	run checkpoint "${in[@]}" --skip --at 10k,3M -o left -- "$phases" $rounds fork
	status_is 0
	[ -e left/10000.checkpoint ] || fail "the first was not saved"
	[ ! -e left/3000000.checkpoint ] || fail "a process with a child was saved"
}

test_what_came_through_a_pipe_is_there_for_every_point() {
	# An error that cannot be reached makes every interval a point, the last among them: it has fewer instructions if
	# nothing can be read.
	seq 100 | "$CULPRIT" sample "${in[@]}" "${sampling[@]}" --interval 120k --error 0.0001% --max-points 100 -o pipe.culprit \
		-- "$phases" 3 input >"$tmp/out" 2>"$tmp/err" || fail "not sampled"
	[ "$(number pipe.culprit 'SELECT max(start + instructions) FROM point')" = "$(value pipe.culprit instructions)" ] ||
		fail "the last interval is not a point"
	seq 100 | "$CULPRIT" sim "${in[@]}" --functional --clock insts -- "$phases" 3 input >"$tmp/direct" 2>/dev/null
	cmp "$tmp/out" "$tmp/direct"
}

test_a_changed_input_is_profiled_again() {
	seq 100 >in
	"$CULPRIT" sample "${in[@]}" "${few[@]}" -o in.culprit -- "$phases" $rounds input <in >"$tmp/out" 2>"$tmp/err"
	[ -s "$tmp/out" ]
	"$CULPRIT" sample "${in[@]}" "${few[@]}" -o in.culprit -- "$phases" $rounds input <in >"$tmp/out" 2>"$tmp/err"
	[ ! -s "$tmp/out" ] || fail "the same input was profiled again"
	seq 1000 1100 >in
	"$CULPRIT" sample "${in[@]}" "${few[@]}" -o in.culprit -- "$phases" $rounds input <in >"$tmp/out" 2>"$tmp/err"
	[ -s "$tmp/out" ] || fail "another input was not profiled"
}

test_an_interrupted_call_goes_on_where_it_stopped() {
	local pid before
	before=$(results)
	# Every interval is a point, and one is simulated at a time: nearly all are left when the first has begun.
	"$CULPRIT" sample "${in[@]}" "${sampling[@]}" --error 0.0001% --max-points 100 --jobs 1 --set window.rob=24 \
		-o stop.culprit -- "$phases" $rounds >"$tmp/out" 2>"$tmp/err" </dev/null &
	pid=$!
	wait_until_it_simulates $pid "$before"
	kill -TERM $pid
	status=0
	wait $pid || status=$?
	status_is 2
	err_has "goes on from there"
	[ ! -e stop.culprit ] || fail "something is under the profile's name"
	[ -z "$(find . -name 'stop.culprit*')" ] || fail "something half-written is left"
	run sample "${in[@]}" "${few[@]}" --set window.rob=24 -o stop.culprit -- "$phases" $rounds
	status_is 0
	[ ! -s "$tmp/out" ] || fail "the program ran a second time"
	[ -e stop.culprit ]
}

test_a_program_that_crashes_is_used_only_on_request() {
	run sample "${in[@]}" "${few[@]}" -o crash.culprit -- "$phases" $rounds crash
	status_is 2
	err_lines 2 # the first says where it was killed, as for every program
	err_has "--partial"
	[ ! -e crash.culprit ]
	run sample "${in[@]}" "${few[@]}" --partial -o crash.culprit -- "$phases" $rounds crash
	status_is 0
	[ -e crash.culprit ]
}

test_files_of_the_field_are_kept_on_request() {
	run sample "${in[@]}" "${few[@]}" --keep kept -o kept.culprit -- "$phases" $rounds
	status_is 0
	[ "$(wc -l <kept/phases.simpoints)" = "$(wc -l <kept/phases.weights)" ] || fail "points and weights differ"
	zcat kept/phases.bb.gz | grep -q '^T:' || fail "no vectors"
	awk '{ sum += $1 } END { exit !(sum > 0.99999 && sum < 1.00001) }' kept/phases.weights || fail "weights"
}

test_what_a_profile_was_made_of_is_shown() {
	run sample "${in[@]}" --interval 100k --warm all --max-k 4 --jobs 2 -o a.culprit -- "$phases" $rounds
	run sample show --width 100 a.culprit
	status_is 0
	out_has "The run by clusters"
	out_has "CPI within each cluster"
	out_has "would halve the sampling error"
	run sample show --svg a.svg --csv a.culprit
	status_is 0
	head -1 "$tmp/out" | grep -q '^start,instructions,cluster,weight,cycles,cpi' || fail "no table of points"
	python3 -c "import xml.dom.minidom as m; assert m.parse('a.svg').getElementsByTagName('circle')"
	run sim "${in[@]}" --clock insts -o plain.culprit -- "$phases" 1
	run sample show plain.culprit
	refuses "no sampled profile"
}

test_wrong_use_is_refused() {
	run sample "${in[@]}" --children simulated -- "$phases" 1
	refuses "--children simulated"
	run sample "${in[@]}" --interval 0 -- "$phases" 1
	refuses "--interval"
	run sample "${in[@]}" --warm soon -- "$phases" 1
	refuses "--warm" "soon"
	run sample "${in[@]}" --error 0 -- "$phases" 1
	refuses "--error"
	run sample "${in[@]}" --bic 2 -- "$phases" 1
	refuses "--bic"
	run sample "${in[@]}" --analyze profle -- "$phases" 1
	refuses "profle" "'profile'"
	run sample "${in[@]}" --analyze none -- "$phases" 1
	refuses "--analyze none"
	run sample "${in[@]}" --analyze profile,csv -- "$phases" 1
	refuses "csv" "a file of its own"
	run sample "${in[@]}" --keep /proc/kept -- "$phases" 1
	refuses "--keep" "/proc/kept"
	run sample "${in[@]}" --place moon --interval 100k -- "$phases" $rounds
	status_is 2
	err_has "moon"
	run sample "${in[@]}" -- "$tmp/none"
	status_is 2
	err_lines 1
	run sample "${in[@]}" --machine nowhere --interval 100k -- "$phases" 1
	status_is 2
	err_has "nowhere"
	run sample show
	refuses "FILE"
}

run_tests
