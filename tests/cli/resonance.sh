#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# culprit accuracy: samples at equal distances that fall in step with a loop.
. "$(dirname "$0")/lib.sh"
needs_guests

cd "$tmp"
cp "$GUESTS/answers" .

# Whether the samples of p.culprit are said to fall in step.
resonates() {
	run accuracy p.culprit --json
	status_is 0
	python3 -c "
import json
d = json.load(open('$tmp/out'))
tip = d['profilers'][0]
assert tip['name'] == 'tip'
error, chance = tip['instruction'], d['tip_chance_error']
assert 0 < chance < 100
assert d['resonates'] == ($1 == 0 and error > 1.5 * chance and error > chance + 1), (error, chance)
print(int(d['resonates']))"
}

edit() {
	python3 -c "
import sqlite3
db = sqlite3.connect('p.culprit')
db.execute('''$1''')
db.commit()"
}

test_1706_samples_that_all_hit_one_instruction_are_said_to_fall_in_step_and_random_ones_are_not() {
	run sim --machine boom-tip --max-insts 200k --period 50 -o p.culprit -- ./answers
	[ "$(resonates 0)" = 0 ] || fail "this run is said to resonate"
	run accuracy p.culprit
	! grep -q 'fall in step' "$tmp/out" || fail "the text says so"
	# As if all samples had hit the instruction that has most of them.
	edit "UPDATE profile SET units = CASE WHEN (pc, events) = (SELECT pc, events FROM profile WHERE sampler = 0 AND
		profiler = 0 ORDER BY units DESC LIMIT 1) THEN (SELECT sum(units) FROM profile WHERE sampler = 0 AND profiler = 0)
		ELSE 0 END WHERE sampler = 0 AND profiler = 0"
	[ "$(resonates 0)" = 1 ] || fail "that is not said to resonate"
	run accuracy p.culprit
	grep -q 'fall in step with a loop' "$tmp/out" || fail "the text does not say so"
	edit "UPDATE sampler SET random = 1"
	[ "$(resonates 1)" = 0 ] || fail "random samples are said to resonate"
}

run_tests
