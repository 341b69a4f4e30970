# SPDX-License-Identifier: MIT
# Traces as their user meets them: written, replayed, cut, damaged, looked into, exported, imported.
. "$(dirname "$0")/lib.sh"
needs_guests

cd "$tmp"
"$CULPRIT" sim --analyze profile,folded,csv,null --trace whole.trace -o live.culprit -- "$GUESTS/answers" \
	>/dev/null 2>&1 </dev/null || true
mv answers.csv live.csv
mv answers.folded live.folded

# Replays with the arguments given and compares all that it writes with the run's own output, byte for byte except how
# long it took.
replays_the_same() {
	run replay whole.trace -o other.culprit --param csv=other.csv --param folded=other.folded "$@"
	status_is 0
	same_store live.culprit other.culprit
	cmp live.csv other.csv
	cmp live.folded other.folded
}

test_a_replay_writes_the_same_bytes_as_the_run() {
	replays_the_same --analyze profile,folded,csv,null
	replays_the_same --analyze profile,folded,csv,null --workers 0
	replays_the_same --analyze profile,folded,csv,null --workers 4
	replays_the_same --analyze profile,folded,csv,null:3 --workers 4 --buffer-memory 1M
	replays_the_same --analyze profile,folded,csv:3,null --workers 4 --buffer-memory 1M
	replays_the_same --analyze profile,folded,csv:5,null --workers 2
	replays_the_same --analyze profile,folded,csv:3,null --workers 0
	replays_the_same --analyze profile,folded:3,csv,null --workers 4 --buffer-memory 1M
	replays_the_same --analyze profile,folded:5,csv:2,null --workers 2
	replays_the_same --analyze profile,folded:3,csv,null --workers 0
	replays_the_same --analyze profile:3,folded,csv,null --workers 4 --buffer-memory 1M
	replays_the_same --analyze profile,folded,csv,null --salvage
}

# Samples that wait from batch to batch, threads, regions, ends of phases: all as one worker has them.
test_4804_a_profile_over_workers_is_that_of_one_worker() {
	local program options
	for options in "--period 7" "--period 997 --random --param sweep=1" "--start inst:3k --stop inst:9k --period 10" \
		"--start inst:2k --stop inst:2500 --start inst:60k --period 50 --random"; do
		for program in turns answers; do
			"$CULPRIT" sim --analyze none --trace p.trace --max-insts 120k -- "$GUESTS/$program" >/dev/null 2>&1 </dev/null || true
			# shellcheck disable=SC2086  # options are words
			{
				run replay p.trace --analyze profile $options -o one.culprit
				status_is 0
				run replay p.trace --analyze profile:3 $options --workers 3 --buffer-memory 1M -o many.culprit
				status_is 0
				same_store one.culprit many.culprit
				run replay p.trace --analyze profile:2 $options --workers 0 -o many.culprit
				same_store one.culprit many.culprit
			}
		done
	done
	[ "$(sqlite3 one.culprit "SELECT count(*) > 20 FROM golden")" = 1 ] || fail "hardly anything was profiled"
	run replay p.trace --analyze profile:2 --param tip-hardware=1 -o no.culprit
	status_is 2
	err_has "in one worker"
}

test_3690_a_table_has_the_fields_that_were_asked_for() {
	run replay whole.trace --analyze csv --param csv=some.csv --param csv-fields=pc,cycle,instruction,word,thread
	status_is 0
	awk -F, 'BEGIN { OFS = "," } { print $2, $3, $5, $1, $4 }' some.csv | cmp - live.csv
	run replay whole.trace --analyze csv:3 --param csv=more.csv --param csv-fields=events,class,fetch,target,instruction
	status_is 0
	[ "$(head -1 more.csv)" = events,class,fetch,target,instruction ]
	[ "$(wc -l <more.csv)" = "$(wc -l <live.csv)" ]
	grep -q '^ST-L1+ST-LLC.*,load,[0-9]*,0x[0-9a-f]*,[0-9]*$' more.csv || fail "no load missed: $(head -3 more.csv)"
	run replay whole.trace --analyze csv --param csv=more.csv --param csv-fields=pc
	status_is 0 # a table of other fields is one of culprit's, too
	run replay whole.trace --analyze csv --param csv=x.csv --param csv-fields=pc,wort
	status_is 2
	err_has "no field 'wort'; the nearest is 'word'"
}

test_3673_a_log_says_how_fast_the_run_was_and_how_full_the_buffers() {
	run sim --analyze csv:2 --param csv=log.csv --bus-log speed.csv --workers 2 -o log.culprit -- "$GUESTS/answers" work
	status_is 0
	run sim --analyze null --bus-log speed.csv -o log.culprit -- "$GUESTS/answers" work # replaces its own kind
	status_is 0
	run sim --analyze profile --bus-log speed.csv -o log.culprit -- "$GUESTS/answers" work
	[ "$(head -1 speed.csv)" = seconds,producer_seconds,cycle,instructions,waiting,buffers ] || fail "$(head -1 speed.csv)"
	[ "$(tail -1 speed.csv | cut -d, -f4)" = "$(sqlite3 log.culprit "SELECT value FROM run WHERE key = 'instructions'")" ] ||
		fail "not all instructions: $(tail -1 speed.csv)"
	awk -F, 'NR > 2 && ($1 < t || $3 < c || $5 > $6) { exit 1 } NR > 1 { t = $1; c = $3 }' speed.csv || fail "runs backwards"
	run sim --analyze none --bus-log x.csv -- "$GUESTS/answers"
	status_is 2
	err_has "no analysis runs"
	run sim --bus-log live.csv -o log.culprit -- "$GUESTS/answers"
	status_is 2
	err_has "--bus-log"
}

test_a_run_without_a_trace_gives_the_same_profile() {
	"$CULPRIT" sim --analyze profile,folded,csv,null --workers 0 -o plain.culprit -- "$GUESTS/answers" \
		>/dev/null 2>&1 </dev/null || true
	same_store live.culprit plain.culprit
	cmp live.csv answers.csv
	cmp live.folded answers.folded
}

test_a_trace_of_a_replay_is_as_good_as_the_first() {
	run replay whole.trace --analyze none --trace again.trace
	status_is 0
	run replay again.trace --analyze profile,folded,csv,null -o other.culprit --param csv=other.csv \
		--param folded=other.folded
	status_is 0
	same_store live.culprit other.culprit
	cmp live.csv other.csv
}

test_a_trace_of_committed_instructions_is_smaller_and_gives_the_same_text() {
	"$CULPRIT" sim --analyze none --trace few.trace --trace-records committed -- "$GUESTS/answers" \
		>/dev/null 2>&1 </dev/null || true
	[ "$(wc -c <few.trace)" -lt "$(wc -c <whole.trace)" ] || fail "it is not smaller"
	run replay few.trace --analyze csv,folded --param csv=few.csv --param folded=few.folded -o few.culprit
	status_is 0
	cmp live.csv few.csv
	cmp live.folded few.folded
	run replay few.trace --analyze profile
	refuses 'cycle records'
	run sim --trace x.trace --trace-records some -- "$GUESTS/answers"
	refuses "no choice 'some'"
}

test_a_region_begins_at_a_function() {
	run replay whole.trace --analyze csv --param csv=part.csv --start symbol:main --stop inst:100000000 -o part.culprit
	status_is 0
	[ "$(wc -l <part.csv)" -lt "$(wc -l <live.csv)" ] || fail "the region is the whole run"
	tail -n +2 part.csv | cut -d, -f4 >part.pcs
	[ -s part.pcs ] || fail "the region is empty"
}

test_folded_stacks_have_main_on_them_and_no_empty_lines() {
	grep -q ';main' live.folded || fail "main is on no stack"
	awk '{ if ($NF < 1) exit 1 }' live.folded
}

test_a_truncated_trace_is_refused_and_salvaged() {
	head -c $(($(stat -c %s whole.trace) - 10)) whole.trace >short.trace
	run replay short.trace -o short.culprit
	refuses truncated --salvage
	[ ! -e short.culprit ] || fail "a store was written"
	run replay short.trace -o short.culprit --salvage
	status_is 0
	err_lines 1
	[ -s short.culprit ]
}

test_a_damaged_trace_is_refused() {
	cp whole.trace bad.trace
	printf x | dd of=bad.trace bs=1 seek=$(($(stat -c %s whole.trace) / 2)) conv=notrunc 2>/dev/null
	run replay bad.trace -o bad.culprit
	refuses damaged --salvage
}

test_a_trace_from_the_future_is_refused() {
	cp whole.trace future.trace
	printf '\007' | dd of=future.trace bs=1 seek=8 conv=notrunc 2>/dev/null
	run replay future.trace
	refuses "version 7" "newer culprit"
	run replay --salvage future.trace
	refuses "version 7"
}

test_what_is_no_trace_is_refused() {
	echo something else >text
	run replay text
	refuses "not a culprit trace"
	run replay missing.trace
	refuses missing.trace
	run pipeline text
	refuses "not a culprit trace"
}

test_an_unknown_analysis_names_the_nearest() {
	run replay whole.trace --analyze profil
	refuses profil profile
	run replay whole.trace --analyze profile,profile
	refuses twice
	run replay whole.trace --analyze cpistack:2
	refuses shard
	run replay whole.trace --start nowhere
	refuses nowhere
	run replay whole.trace --workers many
	refuses many
}

test_the_pipeline_view_fits_its_width() {
	run pipeline whole.trace --width 120 --from 2000 --count 200
	status_is 0
	awk 'length($0) > 120 { exit 1 }' "$tmp/out" || fail "a line is wider than 120 columns"
	out_has "F-"
	[ "$(grep -cE '^ +[0-9]+ +[0-9a-f]+  ' "$tmp/out")" = 200 ] || fail "not 200 committed instructions"
	grep -qE '^ +- .*x' "$tmp/out" || fail "no squashed instruction"
}

test_the_pipeline_view_as_json_is_json() {
	run pipeline whole.trace --json --count 10
	status_is 0
	python3 -c 'import json, sys; rows = json.load(open(sys.argv[1]))["instructions"]
assert sum(r["committed"] for r in rows) == 10' "$tmp/out"
}

test_exports_have_their_formats() {
	run export whole.trace --count 100
	status_is 0
	[ "$(head -1 "$tmp/out")" = "$(printf 'Kanata\t0004')" ] || fail "not a Kanata log"
	grep -q '^W' "$tmp/out" || fail "no dependence"
	run export whole.trace -f csv --from 50 --count 7
	[ "$(wc -l <"$tmp/out")" = 8 ] || fail "not seven instructions"
	run export whole.trace -f csv --from cycle:10000 --count 3000
	status_is 0
	run export whole.trace --from 999999999999
	refuses "no instructions"
}

test_gem5_text_is_a_source_and_says_what_it_lacks() {
	run export whole.trace -f o3pipeview --count 3000 -o gem5.txt
	status_is 0
	run replay gem5.txt --analyze csv --param csv=gem5.csv -o gem5.culprit --trace gem5.trace
	status_is 0
	[ "$(wc -l <gem5.csv)" = 3001 ] || fail "not 3000 instructions"
	run pipeline gem5.trace --from 100 --count 10
	status_is 0
	run replay gem5.txt --analyze icost
	refuses icost "dependences"
	head -5 gem5.txt >half.txt
	run replay half.txt --analyze csv --param csv=half.csv -o half.culprit
	refuses half.txt:5
}

test_1790_cycles_rebuilt_from_gem5_text_tell_the_states_of_commit_within_two_percent() {
	run export whole.trace -f o3pipeview --count 1000000 -o all.txt
	status_is 0
	run replay all.txt --program "$GUESTS/answers" -o rebuilt.culprit
	status_is 0
	python3 - <<-'EOF' || fail "states of commit are off"
		import sqlite3, sys
		states = [[0], [2, 3, 4], [5, 6, 8], [1, 7]] # computing, stalled, flushed, drained
		def shares(name):
		    db = sqlite3.connect(name)
		    units = dict(db.execute("SELECT category, sum(units) FROM golden GROUP BY category"))
		    return [sum(units.get(c, 0) for c in state) / sum(units.values()) for state in states]
		truth, rebuilt = shares("live.culprit"), shares("rebuilt.culprit")
		print(truth, rebuilt)
		sys.exit(any(abs(a - b) > 0.02 for a, b in zip(truth, rebuilt)) or min(truth[0], truth[2]) < 0.02)
	EOF
	for view in report annotate accuracy "diff live.culprit" "report --json"; do
		run $view rebuilt.culprit
		status_is 0
		out_has rebuilt
	done
	run report rebuilt.culprit
	out_has main
	run replay all.txt --program nowhere -o x.culprit
	refuses nowhere
	run replay whole.trace --program "$GUESTS/answers" -o x.culprit
	refuses --program
}

test_1711_a_region_starts_with_an_instruction_word() {
	local word third
	word=$(awk -F, 'NR > 1000 { print $5; exit }' live.csv)
	third=$(awk -F, -v w="$word" '$5 == w && ++n == 3 { print $1; exit }' live.csv)
	run replay whole.trace --analyze csv --start "word:$word#3" -o w.culprit --param csv=w.csv
	[ "$(sed -n 2p w.csv | cut -d, -f1)" = "$third" ] || fail "it starts at $(sed -n 2p w.csv), not at $third"
	run sim --analyze none --start word:0x10001/0xffff -- "$GUESTS/answers" exit 0
	refuses "bits outside of its mask"
	run sim --analyze none --start word:0x100000000 -- "$GUESTS/answers" exit 0
	refuses "not an instruction word of at most 32 bits"
}

test_1712_counters_come_at_their_rate_and_end_with_the_run() {
	run sim --analyze counters --param counters.hz=128000 --param counters=c.txt -o c.culprit -- "$GUESTS/answers" exit 0
	[ "$(sqlite3 c.culprit "SELECT count(*) FROM counter_sample s, run WHERE key = 'instructions' AND name = key \
		AND s.value = run.value AND cycle = (SELECT max(cycle) FROM counter_sample)")" = 1 ] || fail "not the run's instructions"
	[ "$(sqlite3 c.culprit "SELECT count(DISTINCT cycle) FROM counter_sample")" = "$(($(wc -l <c.txt) - 1))" ] ||
		fail "store and file differ"
	# 3.2 GHz / 128 kHz: a sample in 25,000 cycles, and the end.
	[ "$(sqlite3 c.culprit "SELECT max(cycle) / 25000 + 1 FROM counter_sample")" = "$(($(wc -l <c.txt) - 1))" ] ||
		fail "not one in 25,000 cycles: $(cat c.txt)"
	run sim --analyze counters --param counters.hz=128001 -- "$GUESTS/answers" exit 0
	status_is 2
}

run_tests
