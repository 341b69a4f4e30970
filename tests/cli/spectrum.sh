#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# culprit spectrum as its user meets it: a run and its twin, recorded, replayed together, shown.
. "$(dirname "$0")/lib.sh"
needs_guests

twin=(--set ideal.dmiss=on --set ideal.imiss=on --set ideal.dtlb=on --set ideal.itlb=on)
program=("$GUESTS/answers" exit 0)

# record TRACE [OPTION…]: records the small program on puzak2007.
record() {
	local trace=$1
	shift
	"$CULPRIT" sim --machine puzak2007 "$@" --analyze none --max-insts 60k --trace "$trace" -- \
		"${program[@]}" >/dev/null 2>"$tmp/said"
}
record "$tmp/finite.trace" --trace-records misses
record "$tmp/infinite.trace" "${twin[@]}"
infinite_cycles=$(grep -o '[0-9,]* cycles' "$tmp/said" | tr -d ', a-z')
"$CULPRIT" replay "$tmp/finite.trace" --twin "$tmp/infinite.trace" --analyze spectrum \
	-o "$tmp/p.culprit" >/dev/null 2>&1

# Runs Python on the JSON in $tmp/out, as `j`; fails where the expression is false.
json_holds() {
	python3 -c "
import json
j = json.load(open('$tmp/out'))
assert $1, '''$1'''"
}

test_a_run_without_a_miss_has_every_key() {
	"$CULPRIT" replay "$tmp/finite.trace" --twin "$tmp/infinite.trace" --analyze spectrum --param spectrum.kinds=hint \
		-o "$tmp/none.culprit" >/dev/null 2>&1
	run spectrum "$tmp/none.culprit" --json
	status_is 0
	json_holds 'j["misses"] == 0'
	json_holds 'j["loads"] == j["pairs"] == j["lines"] == j["functions"] == []'
}

test_a_run_without_a_miss_says_so() {
	run spectrum "$tmp/none.culprit"
	status_is 0
	out_has 'The run has no miss'
	run spectrum "$tmp/none.culprit" --load main
	refuses 'the run has no miss'
}

test_what_is_not_there_cannot_be_selected() {
	run spectrum "$tmp/p.culprit" --pattern HX
	refuses "'HX'" 'letters HM'
	run spectrum "$tmp/p.culprit" --size 7
	refuses "'7'" 'from 1 to 6'
	run spectrum "$tmp/p.culprit" --kind hint --size 6
	refuses 'no such cluster (kind hint, of that size)' 'without --size'
	run spectrum "$tmp/p.culprit" --kind laod
	refuses "'laod'" "'load'"
	run spectrum "$tmp/p.culprit" --load 0x10
	refuses "'0x10'" 'the nearest that does is'
}

test_a_signal_keeps_what_was_measured() {
	"$CULPRIT" sim --machine puzak2007 --analyze spectrum -o "$tmp/stopped.culprit" -- "$GUESTS/answers" spin \
		>/dev/null 2>"$tmp/err" </dev/null &
	local pid=$!
	sleep 1
	kill -INT $pid
	status=0
	wait $pid || status=$?
	status_is 130
	run spectrum "$tmp/stopped.culprit" --json
	status_is 0
	json_holds 'j["net"] + j["drift"] + j["head"] + j["tail"] == j["adder"] == j["cycles"] - j["twin_cycles"]'
	json_holds 'j["misses"] > 0'
}

test_the_law_holds_and_the_twin_has_its_own_cycles() {
	run spectrum "$tmp/p.culprit" --json
	status_is 0
	json_holds 'j["net"] + j["drift"] + j["head"] + j["tail"] == j["adder"] > 0'
	json_holds 'j["cycles"] - j["twin_cycles"] == j["adder"]'
	json_holds "j['twin_cycles'] == $infinite_cycles"
	json_holds 'j["misses"] == sum(s["misses"] for s in j["sizes"]) > 50'
	json_holds 'sum(l["net"] for l in j["loads"]) == sum(l["even"] for l in j["loads"]) == j["net"]'
}

test_the_right_path_has_no_more_misses() {
	run spectrum "$tmp/p.culprit" --json
	cp "$tmp/out" "$tmp/all"
	run spectrum "$tmp/p.culprit" --json --right-path
	json_holds "0 < j['misses'] <= json.load(open('$tmp/all'))['misses']"
	json_holds 'sum(l["wrong_path"] for l in j["loads"]) == 0'
}

test_workers_do_not_change_the_profile() {
	local n
	for n in 0 3; do
		"$CULPRIT" replay "$tmp/finite.trace" --twin "$tmp/infinite.trace" --workers $n \
			--analyze spectrum -o "$tmp/w$n.culprit" >/dev/null 2>&1
	done
	same_store "$tmp/w0.culprit" "$tmp/w3.culprit"
}

test_a_region_obeys_the_law() {
	run replay "$tmp/finite.trace" --twin "$tmp/infinite.trace" --analyze spectrum \
		--start inst:5k --stop inst:40k -o "$tmp/r.culprit"
	status_is 0
	run spectrum "$tmp/r.culprit" --json
	json_holds 'j["net"] + j["drift"] + j["head"] + j["tail"] == j["adder"]'
}

test_the_text_has_the_adder_and_a_spectrogram() {
	run spectrum "$tmp/p.culprit"
	status_is 0
	out_has 'The finite cache adder'
	out_has 'Clusters of 1 miss: '
}

test_the_picture_is_svg() {
	run spectrum "$tmp/p.culprit" --svg "$tmp/s.svg"
	status_is 0
	python3 -c "
import xml.etree.ElementTree as t
names = [e.text for e in t.parse('$tmp/s.svg').getroot().iter() if e.tag.endswith('text')]
assert any(n and n.startswith('size 1: ') for n in names)"
}

test_a_profile_without_a_spectrum_says_how_to_get_one() {
	"$CULPRIT" sim --max-insts 10k -o "$tmp/plain.culprit" -- "${program[@]}" >/dev/null 2>&1
	run spectrum "$tmp/plain.culprit"
	refuses 'has no spectrum; --add runs this' '--analyze profile,spectrum'
}

# Prints the spectrum tables of a store, without the rows that tell how it was made.
spectrum_of() {
	sqlite3 "$1" .dump | grep '^INSERT INTO spectrum'
}

test_a_run_with_its_twin_says_what_two_traces_say() {
	local n
	for n in 0 3; do
		"$CULPRIT" sim --machine puzak2007 --max-insts 60k --analyze spectrum --workers $n -o "$tmp/live$n.culprit" \
			-- "${program[@]}" >/dev/null 2>&1
	done
	same_store "$tmp/live0.culprit" "$tmp/live3.culprit"
	spectrum_of "$tmp/p.culprit" >"$tmp/two-traces"
	spectrum_of "$tmp/live0.culprit" >"$tmp/live"
	[ "$(wc -l <"$tmp/live")" -gt 50 ] || fail "no spectrum"
	cmp "$tmp/two-traces" "$tmp/live"
}

test_a_twin_changes_nothing_else() {
	"$CULPRIT" sim --machine puzak2007 --analyze profile,cpistack -o "$tmp/alone.culprit" -- "${program[@]}" \
		>/dev/null 2>&1
	"$CULPRIT" sim --machine puzak2007 --analyze profile,cpistack,spectrum -o "$tmp/both.culprit" -- \
		"${program[@]}" >/dev/null 2>&1
	local name
	for name in alone both; do
		sqlite3 "$tmp/$name.culprit" .dump |
			grep -E "^INSERT INTO (golden|profile|sampler|cpi_|counter|run VALUES\('cycles')" >"$tmp/$name"
	done
	[ "$(wc -l <"$tmp/alone")" -gt 100 ] || fail "no rows"
	cmp "$tmp/alone" "$tmp/both"
}

test_other_analyses_do_not_change_the_spectrum() {
	"$CULPRIT" sim --machine boom-tip --analyze spectrum -o "$tmp/one.culprit" -- "${program[@]}" >/dev/null 2>&1
	"$CULPRIT" sim --machine boom-tip --analyze spectrum,cpistack,icost -o "$tmp/three.culprit" -- "${program[@]}" \
		>/dev/null 2>&1
	spectrum_of "$tmp/one.culprit" >"$tmp/one"
	spectrum_of "$tmp/three.culprit" >"$tmp/three"
	[ "$(wc -l <"$tmp/one")" -gt 50 ] || fail "no spectrum"
	cmp "$tmp/one" "$tmp/three"
}

test_a_trace_with_its_twin_replays_to_the_same_spectrum() {
	"$CULPRIT" sim --machine puzak2007 --max-insts 60k --analyze spectrum --trace "$tmp/both.trace" -o "$tmp/live.culprit" \
		-- "${program[@]}" >/dev/null 2>&1
	"$CULPRIT" replay "$tmp/both.trace" --analyze spectrum -o "$tmp/again.culprit" >/dev/null 2>&1
	spectrum_of "$tmp/live.culprit" >"$tmp/live"
	spectrum_of "$tmp/again.culprit" >"$tmp/again"
	[ "$(wc -l <"$tmp/live")" -gt 50 ] || fail "no spectrum"
	cmp "$tmp/live" "$tmp/again"
}

test_forked_processes_have_twins_of_their_own() {
	run sim --machine puzak2007 --children simulated --analyze spectrum -o "$tmp/tree.culprit" -- \
		"$GUESTS/answers" fork
	local child
	for child in "$tmp"/tree.culprit*; do
		run spectrum "$child" --json
		status_is 0
		json_holds 'j["net"] + j["drift"] + j["head"] + j["tail"] == j["adder"] == j["cycles"] - j["twin_cycles"]'
	done
	[ "$(ls "$tmp"/tree.culprit* | wc -l)" -gt 1 ] || fail "no child"
}

test_a_trace_alone_has_no_twin() {
	run replay "$tmp/finite.trace" --analyze spectrum -o "$tmp/x.culprit"
	refuses 'needs a twin'
}

test_a_twin_must_have_perfect_caches_and_the_run_must_not() {
	run replay "$tmp/finite.trace" --twin "$tmp/finite.trace" --analyze spectrum -o "$tmp/x.culprit"
	refuses 'not a twin' 'ideal.dmiss=on'
	run replay "$tmp/infinite.trace" --twin "$tmp/infinite.trace" --analyze spectrum -o "$tmp/x.culprit"
	refuses 'perfect'
}

test_traces_that_differ_say_where() {
	"$CULPRIT" sim --machine puzak2007 "${twin[@]}" --analyze none --max-insts 60k \
		--trace "$tmp/other.trace" -- "$GUESTS/answers" echo a b c >/dev/null 2>&1
	run replay "$tmp/finite.trace" --twin "$tmp/other.trace" --analyze spectrum -o "$tmp/x.culprit"
	refuses 'the traces differ: instruction ' ' in the run, at 0x'
	[ ! -e "$tmp/x.culprit" ]
}

test_a_trace_without_misses_says_so() {
	record "$tmp/plain.trace"
	run replay "$tmp/plain.trace" --twin "$tmp/infinite.trace" --analyze spectrum -o "$tmp/x.culprit"
	refuses 'needs misses' '--trace-records misses'
}

test_a_twin_that_ends_early_is_said() {
	"$CULPRIT" sim --machine puzak2007 "${twin[@]}" --analyze none --max-insts 5k \
		--trace "$tmp/short.trace" -- "${program[@]}" >/dev/null 2>&1
	run replay "$tmp/finite.trace" --twin "$tmp/short.trace" --analyze spectrum -o "$tmp/x.culprit"
	refuses 'ends before instruction 5001'
}

"$CULPRIT" sim --machine puzak2007 --max-insts 60k --analyze spectrum -o "$tmp/v.culprit" -- "${program[@]}" \
	>/dev/null 2>&1 </dev/null
export CULPRIT_CACHE=$tmp/cache

test_clusters_are_simulated_without_their_misses() {
	run spectrum "$tmp/v.culprit" --verify 8 --json
	status_is 0
	json_holds 'j["verify"]["clusters"] == 8 == len(j["verified"])'
	json_holds 'j["verify"]["net"]["median_error"] <= 1'
	json_holds 'j["verify"]["saved"] == sum(c["saved"] for c in j["verified"]) > 0'
	cp "$tmp/out" "$tmp/first"
	run spectrum "$tmp/v.culprit" --verify 8 --json
	cmp "$tmp/first" "$tmp/out"
	run spectrum "$tmp/v.culprit" --verify 3
	out_has 'Clusters simulated without their misses: 3 of '
}

test_translations_and_prefetches_become_hits_too() {
	"$CULPRIT" sim --machine boom-tip --max-insts 60k --analyze spectrum -o "$tmp/b.culprit" -- "${program[@]}" \
		>/dev/null 2>&1 </dev/null
	run spectrum "$tmp/b.culprit" --verify 6 --json
	status_is 0
	json_holds 'j["verify"]["net"]["median_error"] <= 1 and j["verify"]["saved"] > 100'
	[ "$(sqlite3 "$tmp/b.culprit" "SELECT count(DISTINCT kind) FROM spectrum_cluster_miss WHERE cluster < 6")" -gt 3 ]
}

test_a_miss_that_is_a_hit_is_named_like_its_record() {
	run sim --machine puzak2007 --max-insts 60k --hit load:100 -- "${program[@]}"
	refuses "'load:100' is not KIND:CYCLE:ADDRESS"
	run sim --machine puzak2007 --max-insts 60k --hit laod:100:0x1000 -- "${program[@]}"
	refuses "the nearest is 'load'"
}

test_perfect_caches_have_no_spectrum() {
	run sim --machine puzak2007 "${twin[@]}" --max-insts 60k --analyze spectrum -o "$tmp/x.culprit" -- "${program[@]}"
	refuses "the run's own caches and TLBs are perfect"
	run spectrum "$tmp/plain.culprit" --verify 3
	refuses 'has no spectrum'
}

test_a_zoom_may_begin_below_zero() {
	run spectrum "$tmp/v.culprit" --from -50 --to 0 --csv
	status_is 0
	tail -n +2 "$tmp/out" | awk -F, '$2 < -50 || $2 >= 0 { exit 1 }' || fail "costs outside of the zoom"
	run spectrum "$tmp/v.culprit" --to -10
	status_is 0
	run spectrum "$tmp/v.culprit" --from 5 --to -5
	refuses '--to -5 is not beyond --from 5'
	run spectrum "$tmp/v.culprit" --from a
	refuses "'a' is not a number of cycles"
}

test_a_profile_without_a_sample_says_so() {
	run sim --machine puzak2007 --max-insts 60k --analyze spectrum --param spectrum.sample=0 -o "$tmp/n.culprit" -- \
		"${program[@]}"
	run spectrum "$tmp/n.culprit" --verify 5
	refuses 'holds no clusters with their misses'
	run sim --machine puzak2007 --max-insts 60k --analyze spectrum --param spectrum.sample=9999 -o "$tmp/n.culprit" -- \
		"${program[@]}"
	refuses "spectrum.sample: '9999' is not a number from 0 to 4096"
}

"$CULPRIT" sim --machine puzak2007 --max-insts 60k --analyze profile,cpistack,icost,spectrum -o "$tmp/c.culprit" -- \
	"${program[@]}" >/dev/null 2>&1 </dev/null

test_the_spectrum_stands_beside_the_other_analyses() {
	run spectrum "$tmp/c.culprit" --compare --multisim --limit 3 --json
	status_is 0
	json_holds 'set(j["compared"]) == {"net", "misses_latency", "golden", "fmt", "icost", "multisim", "stack", "stack_reversed"}'
	json_holds '0 < j["compared"]["net"] == sum(l["net"] for l in j["loads"] if l["kind"] in ("load", "store", "atomic"))'
	json_holds 'abs(j["compared"]["multisim"] - j["compared"]["net"]) < 0.1 * j["adder"]'
	json_holds 'len(j["compared_loads"]) == 3 and all(l["simulated"] is not None for l in j["compared_loads"])'
	run spectrum "$tmp/v.culprit" --compare
	out_has 'More columns: culprit sim --analyze profile,cpistack,icost,spectrum'
	run spectrum "$tmp/v.culprit" --multisim
	refuses '--multisim needs --compare'
}

test_a_listing_has_the_misses_of_its_instructions() {
	run spectrum "$tmp/c.culprit" --json
	cp "$tmp/out" "$tmp/spectrum.json"
	run annotate "$tmp/c.culprit" --spectrum --limit 100 --json
	status_is 0
	json_holds "all(i['miss_net'] == sum(l['net'] for l in json.load(open('$tmp/spectrum.json'))['loads'] if l['pc'] == i['pc'])
		for f in j for i in f['instructions'] if i.get('miss_net') is not None)"
	json_holds 'sum(i.get("misses_near") is not None for f in j for i in f["instructions"]) > 5'
	run annotate "$tmp/c.culprit" --spectrum
	out_has '  L2   memory     each   hidden'
	"$CULPRIT" sim --max-insts 10k -o "$tmp/plain.culprit" -- "${program[@]}" >/dev/null 2>&1
	run annotate "$tmp/plain.culprit" --spectrum
	refuses 'has no spectrum' '--analyze profile,spectrum'
	run annotate "$tmp/c.culprit" --spectrum --icost
	refuses 'give one of them'
}

test_a_report_has_a_finding_about_misses() {
	"$CULPRIT" sim --machine puzak2007 --set l1d.size=1k --set l1d.ways=1 --max-insts 60k --analyze profile,spectrum \
		-o "$tmp/f.culprit" -- "$GUESTS/answers" work 2000 >/dev/null 2>&1 </dev/null
	run report "$tmp/f.culprit"
	out_has 'The misses at __tunables_init+' 'overlap each other'
}

test_a_diff_says_what_changed_in_the_spectrum() {
	"$CULPRIT" sim --machine puzak2007 --set l2.size=64k --max-insts 60k --analyze profile,spectrum -o "$tmp/d.culprit" -- \
		"${program[@]}" >/dev/null 2>&1 </dev/null
	run spectrum "$tmp/d.culprit" --json
	cp "$tmp/out" "$tmp/after.json"
	run diff "$tmp/c.culprit" "$tmp/d.culprit" --json
	status_is 0
	json_holds "j['spectrum']['totals'][0]['after'] == json.load(open('$tmp/after.json'))['adder']"
	json_holds "sum(l['net_after'] for l in j['spectrum']['loads']) == json.load(open('$tmp/after.json'))['net']"
	json_holds "sum(l['misses_after'] for l in j['spectrum']['sizes']) == json.load(open('$tmp/after.json'))['misses']"
	run diff "$tmp/c.culprit" "$tmp/plain.culprit"
	status_is 0
	! grep -q 'What caches cost' "$tmp/out"
}

run_tests
