#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# One profile from points of a run: what views show of it, and that points laid end to end are the run.
. "$(dirname "$0")/lib.sh"
needs_guests

export CULPRIT_CACHE=$tmp/cache CULPRIT_STATE=$tmp/state
cd "$tmp"

analyses=profile,cpistack,icost
prog=("$GUESTS/answers" work 5000)

sim() { "$CULPRIT" sim --clock insts --analyze "$analyses" --workers 0 "$@" >/dev/null 2>&1 </dev/null; }
number() { sqlite3 "$1" "$2"; }
cycles() { number "$1" "SELECT value FROM run WHERE key = 'cycles'"; }

# An expression over j, the JSON that the command printed.
holds() {
	python3 -c "
import json, sys
j = json.load(open('$tmp/out'))
sys.exit(0 if ($1) else 1)" || fail "JSON: not so: $1"
}

sim -o full.culprit -- "${prog[@]}"
total=$(number full.culprit "SELECT value FROM run WHERE key = 'instructions'")
each=$(((total + 7) / 8))

# Eight intervals, end to end; what precedes one is timed too, so that it begins as in the whole run.
points() {
	local i start length
	for i in 0 1 2 3 4 5 6 7; do
		start=$((i * each))
		length=$((start + each > total ? total - start : each))
		sim "${@:2}" --settle $start --max-insts $length -o "$1$i.culprit" -- "${prog[@]}"
	done
}
points p
points q --set window.rob=16

# Combines points NAME of all intervals into $1; $2: how many instructions an interval stands for, $3: MODE.
combine() {
	local i list=() start length
	for i in 0 1 2 3 4 5 6 7; do
		start=$((i * each))
		length=$((start + each > total ? total - start : each))
		list+=("$4$i.culprit,$start,$length,$(($2 ? $2 : length)),$((i / 2))")
	done
	"$COMBINE_POINTS" "$1" "$(($2 ? 8 * $2 : total))" "$3" - "${list[@]}"
}

test_points_laid_end_to_end_are_the_run() {
	combine all.culprit 0 weights p
	[ "$(cycles all.culprit)" = "$(cycles full.culprit)" ] || fail "$(cycles all.culprit) is not $(cycles full.culprit)"
	for sum in "SELECT sum(units) FROM golden" "SELECT value FROM run WHERE key = 'profiled_instructions'" \
		"SELECT sum(units) FROM cpi_component WHERE phase = -1 AND method = 0"; do
		[ "$(number all.culprit "$sum")" = "$(number full.culprit "$sum")" ] || fail "$sum differs"
	done
	# and the sums of their stores, instruction by instruction
	for i in 0 1 2 3 4 5 6 7; do
		number p$i.culprit "SELECT pc, sum(units), sum(executions) FROM golden GROUP BY pc"
	done | awk -F'|' '{ u[$1] += $2; n[$1] += $3 } END { for (pc in u) print pc "|" u[pc] "|" n[pc] }' | sort >"$tmp/sums"
	number all.culprit "SELECT pc, sum(units), sum(executions) FROM golden GROUP BY pc" | sort | cmp - "$tmp/sums" ||
		fail "an instruction is not the sum of its points"
}

test_views_say_that_figures_are_estimates_and_how_far_they_may_be_off() {
	combine est.culprit 1000000 weights p
	for view in report annotate icost "stack --no-reference"; do
		# shellcheck disable=SC2086
		run $view est.culprit
		status_is 0
		out_has "estimated from 8 points of"
		out_has "±"
		# shellcheck disable=SC2086
		run $view full.culprit
		status_is 0
		! grep -q "estimated\|±" "$tmp/out" || fail "$view says that a whole run is an estimate"
	done
	run report --json est.culprit
	holds 'j["estimated"]["points"] == 8'
	holds 'j["estimated"]["cpi_low"] < j["estimated"]["cpi"] < j["estimated"]["cpi_high"]'
	holds 'j["functions"][0]["margin"] > 0 and j["instructions"][0]["margin"] > 0'
	run stack --no-reference --json est.culprit
	holds 'j["estimated"]["points"] == 8 and j["methods"][0]["margins"]["base"] > 0'
	run icost --json est.culprit
	holds 'j["estimated"]["points"] == 8 and len(j["icost_margins"]) == 255'
	run annotate --json est.culprit
	holds 'j[0]["estimated"] and j[0]["margin"] > 0'
	run report --csv est.culprit
	out_has ",margin,"
	for view in report annotate icost "stack --no-reference"; do
		# shellcheck disable=SC2086
		run $view --json full.culprit
		! grep -q "margin\|estimated" "$tmp/out" || fail "$view --json of a whole run has margins"
	done
}

test_accuracy_says_where_samples_are_too_few() {
	combine est.culprit 1000000 weights p
	run accuracy --json est.culprit
	holds 'j["estimated"] and j["chance_error"] >= 2 and j["too_few_samples"]'
	run accuracy est.culprit
	out_has "The points have too few samples"
	run accuracy full.culprit # 94 of them
	out_has "The run has too few samples"
}

test_the_same_points_are_compared_pair_by_pair() {
	combine before.culprit 1000000 weights p
	combine after.culprit 1000000 weights q
	run diff --json before.culprit after.culprit
	status_is 0
	holds 'j["matched_points"] and j["estimated"]'
	pairs=$(python3 -c "import json; print(json.load(open('$tmp/out'))['relative_change_margin'])")
	# every function that is listed changed by more than its margin
	holds 'len(j["functions"]) > 0 and all(abs(f["change"]) > f["margin"] for f in j["functions"])'
	run diff before.culprit after.culprit
	out_has "compared one by one"
	# nothing changed: nothing is listed
	cp before.culprit same.culprit
	run diff --json before.culprit same.culprit
	holds 'j["functions"] == [] and j["functions_within_noise"] > 0'
	# with other points each run's own error counts, and that is larger
	"$COMBINE_POINTS" other.culprit 6000000 weights - "q0.culprit,0,$each,1500000,0" "q1.culprit,$each,$each,1500000,0" \
		"q4.culprit,$((4 * each)),$each,1500000,1" "q5.culprit,$((5 * each)),$each,1500000,1"
	run diff --json before.culprit other.culprit
	holds "not j['matched_points'] and j['relative_change_margin'] > $pairs"
}

test_points_are_simulated_again_in_place_of_the_run() {
	[ -z "$SANITIZED" ] || skip "a simulation takes too long here"
	combine est.culprit 1000000 weights p
	run stack --trust --json est.culprit
	status_is 0
	[ ! -s "$tmp/err" ] || fail "the points do not repeat"
	holds 'j["methods"][0]["reference"] and j["methods"][0]["name"] == "simulated"'
	# all components together are the run
	holds 'abs(sum(j["methods"][0]["components"].values()) - j["cpi"]) < 1e-9'
}

test_points_of_different_runs_are_refused_in_one_line() {
	sim --set window.rob=32 --max-insts 10k -o other.culprit -- "${prog[@]}"
	status=0
	"$COMBINE_POINTS" bad.culprit 20000 weights - p0.culprit,0,10000,10000,0 other.culprit,50000,10000,10000,1 \
		>"$tmp/out" 2>"$tmp/err" || status=$?
	refuses "different machines"
	[ ! -e bad.culprit ]
}

run_tests
