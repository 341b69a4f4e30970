# SPDX-License-Identifier: MIT
# TIP's sampling hardware from end to end, what profilers cost, and time by thread and in the kernel.
. "$(dirname "$0")/lib.sh"
needs_guests

cd "$tmp"
"$CULPRIT" sim --machine boom-tea --analyze profile,tip-samples --param tip-hardware=1 --param tip-samples=a.tip \
	--period 20 --random -o a.culprit -- "$GUESTS/turns" >/dev/null 2>&1 </dev/null

number() {
	sqlite3 "$1" "$2"
}

test_4800_fragments_from_samples_in_a_file_are_those_of_the_run() {
	local table
	run sim --machine boom-tea --analyze shotgun,shotgun-samples --param shotgun-samples=b.shotgun \
		--param shotgun.detail=25 --param shotgun.signature=2500 -o b.culprit -- "$GUESTS/turns"
	status_is 0
	run replay b.shotgun -o c.culprit
	status_is 0
	for table in "shotgun WHERE design > 0" shotgun_instruction shotgun_critical shotgun_pair \
		"shotgun_count WHERE key NOT IN ('fragments_wrong', 'indirect', 'indirect_right', 'errant', 'pcs_right')"; do
		number b.culprit "SELECT * FROM $table" >whole
		number c.culprit "SELECT * FROM $table" >alone
		[ -s whole ] || fail "the run's table $table is empty"
		cmp alone whole || fail "table $table: $(diff alone whole | head -5)"
	done
	run icost c.culprit
	status_is 0
	out_has "fragments built, "
	! grep -q "inferred right" "$tmp/out" || fail "a score without the run's path"
	run replay b.shotgun --analyze profile
	status_is 2
	err_has "only analysis shotgun"
	run replay b.shotgun --param shotgun.length=500
	status_is 2
	err_has "as they were taken"
	head -c 3000 b.shotgun >cut.shotgun
	run replay cut.shotgun -o d.culprit
	status_is 2
	err_has "damaged"
	[ ! -e d.culprit ] || fail "a profile of a damaged file"
}

test_1660_samples_and_binary_give_the_profile_of_the_run() {
	run export a.tip -f folded --exact
	status_is 0
	sort out >alone
	run export a.culprit -f folded --exact --profiler tea-hw
	status_is 0
	grep -v 'unknown' out | sort >whole
	[ "$(wc -l <alone)" -gt 20 ] || fail "hardly anything is there"
	cmp alone whole || fail "the two profiles differ: $(diff alone whole | head -5)"
}

test_1661_the_hardware_agrees_with_the_reference_in_every_state() {
	local state
	for state in computing stalled drained exception flushed mispredicted; do
		[ "$(number a.culprit "SELECT value FROM counter WHERE name = 'tip-hw.$state.agrees'")" -gt 0 ] ||
			fail "no sample of state $state agrees"
	done
	run accuracy a.culprit --bandwidth
	out_has "MB/s"
	run accuracy a.culprit
	! grep -q "MB/s" "$tmp/out" || fail "bandwidth that nobody asked for"
	status_is 0
	out_has "tip-hw"
	out_has "What the hardware delivered"
	run accuracy a.culprit --json
	python3 -c "
import json
j = json.load(open('$tmp/out'))
p = {x['name']: x for x in j['profilers']}
assert p['tip-hw']['systematic'] < 0.2 and p['tea-hw']['systematic'] < 0.2, p
assert p['nci']['systematic'] > 5, p
assert sum(x['samples'] for x in j['hardware'] if x['verdict'] == 'agrees') >= 0.99 * j['samples']
"
}

test_1662_perf_report_reads_the_samples() {
	command -v perf >/dev/null || skip "no perf"
	run export a.tip -f perf-data -o perf.data
	status_is 0
	perf report -i perf.data --stdio --sort pid,sym >report 2>perf.err || fail "perf report: $(cat perf.err)"
	run export a.tip -f samples
	status_is 0
	local cycles
	cycles=$(awk -F, 'NR > 1 { sum += $3 } END { print sum }' out)
	grep -q "Event count (approx.): $cycles\$" report || fail "not $cycles cycles: $(grep Event report)"
	[ "$(grep -c '%.*[0-9]:turns' report)" -gt 5 ] || fail "no functions by thread: $(head -20 report)"
}

test_1663_a_damaged_sample_file_is_refused_in_a_line() {
	local size first
	size=$(wc -c <a.tip)
	head -c $((size - 8)) a.tip >cut.tip
	run report cut.tip
	refuses cut.tip
	# The first sample comes after a header of 40 bytes and a record whose length is in its seventh and eighth byte.
	first=$((40 + $(od -An -tu2 -j46 -N2 a.tip)))
	(head -c $first a.tip; printf '\377\377\377\377\377\377\377\377'; tail -c +$((first + 9)) a.tip) >bad.tip
	run export bad.tip -f perf-data
	refuses bad.tip
	run accuracy a.tip
	refuses "golden reference"
}

test_1664_profiler_cost_prints_what_the_papers_say_of_their_core() {
	run machines boom-tea --profiler-cost
	status_is 0
	out_has "TIP adds to the core: 57 bytes"
	out_has "TEA adds: 249 bytes; both: 306 bytes"
	grep -Eq '^tea +[0-9]+ +88 +352 +1\.10%' out || fail "not 352 KB/s for TEA"
	grep -Eq '^nci +0 +56 +224 +1\.00%' out || fail "not 224 KB/s for NCI"
	out_has "179 GB/s for Oracle"
	run machines boom-tea --profiler-cost --set window.rob=384
	out_has "TEA adds: 465 bytes"
}

test_1665_the_time_of_threads_sums_to_the_run() {
	[ "$(number a.culprit 'SELECT count(DISTINCT tid) FROM golden_thread')" = 2 ] || fail "not two threads"
	[ "$(number a.culprit 'SELECT sum(units), sum(executions) FROM golden_thread')" = \
		"$(number a.culprit 'SELECT sum(units), sum(executions) FROM golden')" ] || fail "the sums differ"
	run report a.culprit --by thread --json
	status_is 0
	local tid
	tid=$(python3 -c "
import json
j = json.load(open('$tmp/out'))
assert len(j['threads']) == 2 and abs(sum(t['share'] for t in j['threads']) - 100) < 0.01, j['threads']
print(j['threads'][0]['thread'])")
	run report a.culprit --thread "$tid" --json
	status_is 0
	python3 -c "
import json
j = json.load(open('$tmp/out'))
whole = $(number a.culprit "SELECT value FROM run WHERE key = 'profiled_cycles'")
assert 0 < j['run']['cycles'] < whole, j['run']
assert abs(sum(j['cycle_stack'].values()) - j['run']['cycles']) <= 1, j
"
	run report a.culprit --thread 99
	refuses "no time of thread 99"
}

test_3702_the_time_of_phases_sums_to_the_run_phase_by_phase_and_function_by_function() {
	[ "$(number a.culprit 'SELECT count(*) > 20 FROM golden_phase')" = 1 ] || fail "hardly any phases"
	[ "$(number a.culprit "SELECT count(*) FROM (SELECT cycles * value AS have, sum(units) AS units FROM golden_phase \
		JOIN golden_phase_function USING (phase), run WHERE key = 'scale' GROUP BY phase) WHERE have <> units")" = 0 ] ||
		fail "a phase has more or less time than cycles"
	[ "$(number a.culprit "SELECT sum(cycles), sum(instructions) FROM golden_phase")" = \
		"$(number a.culprit "SELECT (SELECT value FROM run WHERE key = 'profiled_cycles'),
			(SELECT value FROM run WHERE key = 'profiled_instructions')")" ] || fail "the sums differ"
	local by='sum(units) FROM X JOIN instruction USING (pc) GROUP BY function, events, category'
	number a.culprit "SELECT function, events, category, ${by/X/golden}" >by_golden
	number a.culprit "SELECT function, events, category, ${by/X/golden_phase_function}" >by_phase
	cmp by_golden by_phase || fail "a function has another time"
}

test_1707_running_and_waiting_of_every_thread_add_up() {
	[ "$(number a.culprit 'SELECT count(*) FROM thread_time')" = 2 ] || fail "not two threads"
	[ "$(number a.culprit "SELECT count(*) FROM thread_time t JOIN run ON key = 'scale' WHERE t.cycles * value <> \
		(SELECT sum(units) FROM golden_thread g WHERE g.tid = t.tid)")" = 0 ] || fail "a thread ran for another time"
	[ "$(number a.culprit "SELECT count(*) FROM thread_time, run WHERE key = 'profiled_cycles' AND \
		thread_time.cycles + blocked + ready > value")" = 0 ] || fail "a thread is older than the run"
	[ "$(number a.culprit 'SELECT sum(blocked) FROM thread_time')" = \
		"$(number a.culprit 'SELECT sum(cycles) FROM thread_wait')" ] || fail "waits differ"
	run report a.culprit --by thread
	out_has "Who waits for whom"
	# Each of the two waits for the other, and for nobody else but at the end.
	[ "$(number a.culprit 'SELECT count(*) FROM thread_wait WHERE waker <> 0 AND waker <> tid AND cycles > 0')" -ge 1 ] ||
		fail "no thread waits for the other: $(cat out)"
}

test_1666_the_time_of_the_kernel_is_a_row_of_its_own() {
	run report a.culprit --json
	status_is 0
	python3 -c "
import json
j = json.load(open('$tmp/out'))
stack = j['cycle_stack']
assert stack['kernel'] > 5 * stack['misc. flush'] > 0, stack
print(j['run']['cycles'] - j['cycle_stack']['kernel'])" >user
	run report a.culprit --user-only --json
	status_is 0
	python3 -c "
import json
j = json.load(open('$tmp/out'))
assert j['cycle_stack']['kernel'] == 0 and abs(j['run']['cycles'] - float(open('$tmp/user').read())) <= 1, j"
	run report a.culprit --user-only --profiler nci
	refuses "golden reference"
}

test_2977_pooled_samples_are_nearer_to_the_truth_without_bias() {
	"$CULPRIT" sim --machine boom-tip --param pooled=1 --max-insts 300k --period 50 -o p.culprit -- \
		"$GUESTS/copy" 20000 9 >/dev/null 2>&1 </dev/null
	run accuracy p.culprit --json
	status_is 0
	python3 -c "
import json
j = json.load(open('$tmp/out'))
p = {x['name']: x for x in j['profilers']}
assert abs(j['pooled']['of_tip'] - p['tip-pooled']['instruction'] / p['tip']['instruction']) < 1e-6, j['pooled']
assert j['pooled']['of_tip'] < 1 and j['pooled']['limit'] < 1, j['pooled']
assert p['tip-pooled']['systematic'] <= 0.1, p['tip-pooled']
assert j['pooled']['covered'] >= 95, j['pooled']
"
	run accuracy p.culprit
	out_has "tip-pooled has 0."
	run report p.culprit --profiler tip-pooled
	status_is 0
	out_has "Profile by tip-pooled"
	run annotate p.culprit --profiler tip-pooled --json
	status_is 0
	python3 -c "
import json
rows = [i for f in json.load(open('$tmp/out')) for i in f['instructions']]
assert rows and all(0 <= i['other_low'] <= max(0, i['other_cycles']) <= i['other_high'] for i in rows), rows[:3]
"
}

test_2978_pooled_times_are_refused_where_they_cannot_be() {
	run report a.culprit --profiler tip-pooled
	refuses "tip-pooled"
	[ -s p.culprit ] || "$CULPRIT" sim --machine boom-tip --param pooled=1 --max-insts 50k -o p.culprit -- \
		"$GUESTS/copy" 20000 9 >/dev/null 2>&1 </dev/null
	run export p.culprit -f folded --profiler tip-pooled
	refuses "below 0"
}

test_1667_tip_names_categories_from_flags_and_binary() {
	run report a.culprit --profiler tip --json
	cp out tip
	run report a.culprit --json
	python3 -c "
import json
t, g = json.load(open('$tmp/tip')), json.load(open('$tmp/out'))
for name, cycles in g['cycle_stack'].items():
    assert abs(t['cycle_stack'][name] - cycles) < 0.02 * g['run']['cycles'], (name, cycles, t['cycle_stack'])
assert t['cycle_stack']['execution'] > 0
"
	run report a.tip --json
	python3 -c "
import json
t, g = json.load(open('$tmp/out')), json.load(open('$tmp/tip'))
for name, cycles in g['cycle_stack'].items():
    assert abs(t['cycle_stack'][name] - cycles) < 0.02 * g['run']['cycles'], (name, cycles, t['cycle_stack'])
"
}

test_1668_too_few_samples_are_said_beside_the_error() {
	run accuracy a.culprit
	! grep -q "too few samples" out || fail "enough samples are called too few"
	run sim --max-insts 20k --period 4000 -o few.culprit -- "$GUESTS/answers" work
	run accuracy few.culprit
	status_is 0
	out_has "too few samples"
	out_has "The papers' 4 kHz would take 0 in this time"
}

test_1674_annotate_shows_the_stack_of_a_second_profiler() {
	# IBS records six events; the function with most time need not have any of them.
	local function
	function=$(number a.culprit "SELECT f.name FROM profile p JOIN profiler r ON r.id = p.profiler
		JOIN instruction i ON i.pc = p.pc JOIN function f ON f.id = i.function
		WHERE r.name = 'ibs' AND p.events != 0 GROUP BY f.id ORDER BY SUM(p.units) DESC LIMIT 1")
	run annotate a.culprit "$function" --profiler ibs --width 200
	status_is 0
	grep -Eq ' ibs: .*%' out || fail "no stack of ibs in $function"
	run annotate a.culprit "$function" --profiler ibs --json
	status_is 0
	python3 -c "
import json
text = open('$tmp/out').read()
assert '\"other_stack\"' in text
json.loads(text)"
}

# The same run, with profilers of its own.
own() {
	[ -f own.culprit ] || run sim --machine boom-tea --period 20 --profiler same=tip:tea --profiler all=tip:all \
		--profiler often=nci:none:10 --profiler pebs=event:ST-L1:3@ST-L1 -o own.culprit -- "$GUESTS/turns"
	[ -f own.culprit ] || fail "no profile: $(cat err)"
}

test_3665_a_profiler_of_ones_own_is_the_listed_one_if_described_so() {
	own
	[ "$(number own.culprit "SELECT count(*) FROM profile WHERE profiler = 64")" -gt 20 ] || fail "hardly any rows"
	[ "$(number own.culprit "SELECT pc, events, units FROM profile WHERE profiler = 64 ORDER BY 1, 2")" = \
		"$(number own.culprit "SELECT pc, events, units FROM profile WHERE profiler = (SELECT id FROM profiler
			WHERE name = 'tea') AND sampler = 0 ORDER BY 1, 2")" ] || fail "same and tea differ"
	run accuracy own.culprit --json
	python3 -c "
import json
p = {x['name']: x for x in json.load(open('$tmp/out'))['profilers']}
assert p['same']['instruction'] == p['tea']['instruction'] and p['same']['function'] == p['tea']['function'], p
assert p['often']['function'] != p['nci']['function'], p
assert p['all']['instruction'] >= p['tea']['instruction'] - 1e-9, p  # a finer stack is no easier"
}

test_3666_the_reference_by_all_events_is_the_golden_one_by_address() {
	own
	[ "$(number own.culprit "SELECT pc, sum(units) FROM golden GROUP BY pc")" = \
		"$(number own.culprit "SELECT pc, sum(units) FROM golden_events GROUP BY pc")" ] || fail "times differ"
	[ "$(number own.culprit "SELECT pc, events, sum(executions) n FROM golden GROUP BY 1, 2 HAVING n > 0")" = \
		"$(number own.culprit "SELECT pc, events & 1023, sum(executions) n FROM golden_events GROUP BY 1, 2 HAVING n > 0")" ] ||
		fail "executions differ"
	[ "$(number own.culprit "SELECT count(*) FROM golden_events WHERE events > 1023")" -gt 5 ] || fail "no other events"
}

test_3667_every_third_miss_is_sampled() {
	own
	local misses
	misses=$(number own.culprit "SELECT sum(executions) FROM golden_events WHERE events >> 6 & 1")
	[ "$(number own.culprit "SELECT samples FROM sampler s JOIN profiler p USING (id) WHERE p.name = 'pebs'")" = \
		$((misses / 3)) ] || fail "not a third of $misses misses"
	[ "$(number own.culprit "SELECT DISTINCT events FROM profile p WHERE profiler = 67")" = 64 ] || fail "not the misses alone"
	[ "$(number own.culprit "SELECT sum(units) FROM profile p WHERE profiler = 67")" = \
		"$(number own.culprit "SELECT sum(units) FROM golden")" ] || fail "does not sum to the run"
}

test_3668_views_show_it_and_say_how_it_sampled() {
	own
	run report own.culprit --profiler pebs
	status_is 0
	out_has "Profile by pebs, $(number own.culprit "SELECT samples FROM sampler WHERE id = 67") samples"
	run annotate own.culprit --profiler all --width 250
	status_is 0
	out_has "all"
	run export own.culprit -f folded --profiler pebs
	status_is 0
	run accuracy own.culprit --bits --states
	status_is 0
	out_has "TEA's nine"
	out_has "load stall"
	run accuracy own.culprit --states --json
	python3 -c "
import json
states = json.load(open('$tmp/out'))['states']
assert all(abs(s['right']['tip'] - 100) < 1e-9 for s in states), states
assert abs(sum(s['share'] for s in states) - 1) < 0.01, states
drained = [s for s in states if s['category'] == 'mispredict']
assert all(s['right']['nci'] < 1 and s['right']['lci'] > 99 for s in drained) and drained, drained"
}

test_3669_a_profiler_needs_the_reference_and_a_trace_gives_the_same() {
	run sim --analyze cpistack --profiler a=tip -o x.culprit -- "$GUESTS/answers" work
	status_is 2
	err_has "needs analysis profile"
	run sim --max-insts 50k --profiler a=tip:all:7 --trace t.trace -o x.culprit -- "$GUESTS/answers" work
	run replay --profiler a=tip:all:7 -o y.culprit t.trace
	status_is 0
	[ "$(number x.culprit "SELECT * FROM profile WHERE profiler = 64")" = \
		"$(number y.culprit "SELECT * FROM profile WHERE profiler = 64")" ] || fail "replay differs"
	run accuracy few.culprit --bits
	status_is 2
	err_has "profile,own"
}

run_tests
