#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# culprit icost --what-if: what its own tables name, it takes.
. "$(dirname "$0")/lib.sh"
needs_guests

cd "$tmp"
cp "$GUESTS/answers" .

profile() {
	[ -f p.culprit ] || run sim --machine boom-tip --analyze icost --param icost.statics=1 --max-insts 120k -o p.culprit -- ./answers
}

# EVENT@PLACE of everything on the longest path, in every form in which a view prints a place.
places() {
	python3 -c "
import sqlite3
db = sqlite3.connect('file:p.culprit?mode=ro', uri=True)
for pc, kind, cls, name in db.execute('SELECT p.pc, p.kind, i.class, f.name FROM icost_critical p '
		'JOIN instruction i USING (pc) LEFT JOIN function f ON f.id = i.function WHERE cycles > 0 '
		'ORDER BY p.pc % 7, p.pc LIMIT 90'):
	longer = cls in ('mul', 'div') or cls.startswith('f')
	latency = 'dl1' if cls in ('load', 'amo') else 'lgalu' if longer else 'shalu'
	event = {'miss': 'dmiss', 'mispredict': 'bmisp', 'imiss': 'imiss', 'latency': latency}.get(kind)
	if not event or (kind == 'latency' and cls == 'store'):
		continue
	for place in ['0x%x' % pc, '%x' % pc] + (['%s %x' % (name, pc)] if name else []):
		print('%s@%s' % (event, place))
"
}

test_1702_whatever_is_on_the_longest_path_is_taken_in_every_form_that_views_print() {
	local words=()
	profile
	places >asked
	[ "$(wc -l <asked)" -gt 60 ] || fail "only $(wc -l <asked) places"
	while read -r place; do
		words+=(--what-if "$place")
		if [ ${#words[@]} -ge 64 ]; then
			run icost p.culprit --json "${words[@]}"
			status_is 0
			words=()
		fi
	done <asked
	run icost p.culprit "${words[@]}"
	status_is 0
}

test_1703_what_is_never_on_the_longest_path_is_refused_in_one_line() {
	local never
	profile
	never=$(python3 -c "
import sqlite3
db = sqlite3.connect('file:p.culprit?mode=ro', uri=True)
print('0x%x' % db.execute('SELECT pc FROM icost_instruction c JOIN instruction i USING (pc) WHERE class = \'alu\' AND '
	'miss = 0 AND pc NOT IN (SELECT pc FROM icost_critical WHERE kind = \'miss\') LIMIT 1').fetchone()[0])")
	run icost p.culprit --what-if "dmiss@$never"
	status_is 2
	[ "$(wc -l <"$tmp/err")" = 1 ] || fail "not one line"
	err_has "is ever on the longest path"
	run icost p.culprit --what-if dmiss@0x3
	status_is 2
	err_has "no instruction that was executed"
}

test_1709_several_events_and_places_are_idealised_together() {
	local places
	profile
	places=$(python3 -c "
import sqlite3
db = sqlite3.connect('file:p.culprit?mode=ro', uri=True)
print(','.join('0x%x' % r[0] for r in db.execute('SELECT pc FROM icost_critical WHERE kind = \'imiss\' AND cycles > 0 '
	'ORDER BY cycles DESC LIMIT 2')))")
	run icost p.culprit --json --what-if "imiss@${places%,*}" --what-if "imiss@${places#*,}" --what-if "imiss@$places" \
		--what-if "imiss+shalu@$places"
	status_is 0
	python3 -c "
import json
a, b, both, more = json.load(open('$tmp/out'))['what_if']
assert both['instructions'] == 2 and a['instructions'] == b['instructions'] == 1, both
assert both['predicted'] > max(a['predicted'], b['predicted']), (a, b, both)
assert more['predicted'] >= both['predicted'], (both, more)"
	run icost p.culprit --what-if "imiss@$places,0x3"
	status_is 2
	err_has "no instruction that was executed is at 0x3"
	run icost p.culprit --what-if "imiss+nothing@$places"
	status_is 2
	err_has "there is no event 'nothing'"
}

test_1713_a_shotgun_profiler_alone_gives_every_view_of_costs() {
	run sim --machine boom-tip --analyze shotgun --param shotgun.detail=30 --param shotgun.signature=2500 --max-insts 120k \
		-o s.culprit -- "$GUESTS/turns"
	run icost s.culprit --json
	status_is 0
	python3 -c "
import json
j = json.load(open('$tmp/out'))
assert j['by_profiler'], j.keys()"
	run icost s.culprit
	out_has "Costs are those of a shotgun profiler"
	out_has "Critical instructions"
	[ "$(sqlite3 s.culprit 'SELECT count(*) FROM shotgun_instruction')" -gt 20 ] || fail "hardly any instruction"
	profile
	run icost p.culprit --profiler shotgun
	status_is 2
	err_has "no costs from a shotgun profiler"
	run icost p.culprit --profiler tip
	status_is 2
	err_has "it is shotgun"
}

# Says what design $2's share of the cycles is for each category of profile $1, beside the graph's; $3: what must hold.
shotgun_is() {
	python3 -c "
import sqlite3
db = sqlite3.connect('file:$1?mode=ro', uri=True)
cycles = float(db.execute('SELECT value FROM run WHERE key = \'graph_cycles\'').fetchone()[0])
one = '(categories & (categories - 1)) = 0'
graph = {n: 100 * c / cycles for n, c in db.execute('SELECT name, cost FROM icost WHERE phase = -1 AND ' + one)}
shotgun = {n: 100 * c / cycles for n, c in db.execute('SELECT name, cost FROM shotgun WHERE design = $2 AND ' + one)}
assert $3, (graph, shotgun)"
}

test_3494_a_fragment_among_others_does_not_make_a_window_seem_dearer() {
	[ -x "${WORKLOADS:-}/store_burst" ] || skip "no workloads"
	run sim --machine fields2004 --analyze icost,shotgun --fast-forward 200k --max-insts 150k --param icost.statics=0 \
		--param shotgun.signature=1500 --param shotgun.detail=25 -o w.culprit -- "$WORKLOADS/store_burst" 5000
	status_is 0
	shotgun_is w.culprit 0 "abs(graph['win'] - shotgun['win']) < 4 and graph['win'] > 20"
	shotgun_is w.culprit 4 "abs(graph['win'] - shotgun['win']) < 4"
}

test_3495_the_profiler_has_the_categories_that_the_user_defined() {
	run sim --machine boom-tip --analyze icost,shotgun --param shotgun.detail=30 --param shotgun.signature=2500 \
		--max-insts 120k --param icost.categories=all=shalu+lgalu,l1=dl1,bmisp,l2=dmiss:l2 -o o.culprit -- "$GUESTS/turns"
	status_is 0
	shotgun_is o.culprit 0 "set(graph) == set(shotgun) and 'all' in graph and 'dmiss' not in graph"
	shotgun_is o.culprit 0 "all(abs(graph[n] - shotgun[n]) < 8 for n in graph)"
	shotgun_is o.culprit 4 "set(graph) == set(shotgun)"
}

test_3496_simulations_are_not_compared_with_categories_that_they_do_not_know() {
	[ -f o.culprit ] || run sim --machine boom-tip --analyze icost --max-insts 20k \
		--param icost.categories=all=shalu+lgalu -o o.culprit -- "$GUESTS/turns"
	run icost o.culprit --multisim --trust
	refuses "categories of its own" "'all'"
}

test_4853_the_designs_for_comparison_are_scored_beside_ours() {
	run sim --machine boom-tip --analyze icost,shotgun --param shotgun.detail=30 --param shotgun.signature=2500 \
		--param shotgun.ablation=1 --max-insts 120k -o d.culprit -- "$GUESTS/turns"
	status_is 0
	run icost d.culprit
	out_has "hot paths"
	out_has "figure 7"
	run icost d.culprit --json
	python3 -c "
import json
designs = {d['design']: d for d in json.load(open('$tmp/out'))['shotgun']}
ours, letter, hot = designs[4], designs[6], designs[5]
assert ours['fragments_built'] + ours['fragments_discarded'] == letter['fragments_built'] + letter['fragments_discarded']
# Figure 7 takes back no guess, so it can only throw more away.
assert 0 < letter['fragments_built'] <= ours['fragments_built'], (letter, ours)
assert hot['fragments_built'] > 0 and hot['costs'] != designs[2]['costs']
" || fail "the designs are not those"
	run sim --machine boom-tip --analyze icost,shotgun --max-insts 60k -o n.culprit -- "$GUESTS/turns"
	run icost n.culprit --json
	python3 -c "import json; assert [d['design'] for d in json.load(open('$tmp/out'))['shotgun']] == [0, 2, 3, 4]" ||
		fail "designs for comparison without being asked"
}

run_tests
