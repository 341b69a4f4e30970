#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Simulating a stored run again: `stack`, `icost --multisim` and `icost --verify` can simulate the same runs, and
# refuse the same runs for the same reasons.
. "$(dirname "$0")/lib.sh"
needs_guests

export CULPRIT_CACHE=$tmp/cache
machine=eyerman2006 part=(--start 20000 --stop 80000)
program=("$GUESTS/answers" work 20000)

# Prints the address of a multiplication whose costs are in the profile, in hexadecimal.
some_pc() {
	printf '0x%x' "$(sqlite3 "$1" "SELECT pc FROM icost_instruction JOIN instruction USING (pc) WHERE class = 'mul'
		ORDER BY latency DESC LIMIT 1")"
}

# Writes a profile with costs and stacks of a program, run with the options given.
profile() {
	local file=$1
	shift
	run sim --machine "$machine" --analyze icost,cpistack -o "$file" "$@" -- "${program[@]}"
	status_is 0
}

# Prints the cycles in the regions of a run with the options given.
cycles_in_regions() {
	"$CULPRIT" sim --machine "$machine" --analyze null -o "$tmp/cycles.culprit" "$@" -- "${program[@]}" \
		>"$tmp/out" 2>"$tmp/err" </dev/null
	python3 -c "
import sqlite3
db = sqlite3.connect('file:$tmp/cycles.culprit?mode=ro', uri=True)
print(db.execute(\"SELECT value FROM counter WHERE name = 'null.cycles'\").fetchone()[0])"
}

# Runs Python on the JSON in $tmp/out, as `j`.
json_holds() {
	python3 -c "
import json
j = json.load(open('$tmp/out'))
assert $1, '''$1'''"
}

test_a_part_of_a_run_has_simulated_costs_of_the_same_part() {
	local as_it_was perfect
	as_it_was=$(cycles_in_regions "${part[@]}")
	perfect=$(cycles_in_regions "${part[@]}" --set ideal.shalu=on)
	[ "$as_it_was" -gt "$perfect" ] || fail "operations of one cycle cost nothing there"
	profile "$tmp/part.culprit" "${part[@]}"
	run icost "$tmp/part.culprit" --multisim --json
	status_is 0
	json_holds "j['simulated_costs']['shalu'] == $as_it_was - $perfect"
	json_holds "len(j['simulated_costs']) == 36"
}

test_two_parts_of_a_run_can_be_simulated_again() {
	profile "$tmp/two.culprit" --start 1000 --stop 30000 --start 40000 --stop 60000
	run icost "$tmp/two.culprit" --what-if "lgalu@$(some_pc "$tmp/two.culprit")" --verify --json
	status_is 0
	json_holds "j['what_if'][0]['simulated'] is not None"
	run stack "$tmp/two.culprit" --json
	status_is 0
}

test_a_what_if_in_a_part_of_a_run_is_verified() {
	profile "$tmp/part.culprit" "${part[@]}"
	run icost "$tmp/part.culprit" --what-if "lgalu@$(some_pc "$tmp/part.culprit")" --verify --json
	status_is 0
	json_holds "j['what_if'][0]['simulated'] is not None"
}

# A profile by icost alone does not count the cycles of its regions, so the whole run is compared.
test_a_part_that_does_not_repeat_is_found_out() {
	echo 100 >"$tmp/much"
	run sim --analyze icost --start 1000 --stop 5000 -o "$tmp/w.culprit" -- "$GUESTS/answers" work-by "x=$tmp/much"
	run icost "$tmp/w.culprit" --multisim --json
	status_is 0
	echo 50000 >"$tmp/much"
	run icost "$tmp/w.culprit" --multisim --json
	status_is 1
	err_has "does not repeat"
	json_holds "not j['simulated_costs']"
}

# Prints the line of a refusal without the command's name and without the hint at --no-reference.
reason() {
	status_is 2
	err_lines 1
	sed -E 's/^culprit: [a-z]+: //; s/; --no-reference .*//' "$tmp/err"
}

# all_refuse FILE WORD [X]: stack, icost --multisim and (without X) icost --verify refuse FILE for the same reason,
# which contains WORD.
all_refuse() {
	local file=$1 word=$2 first
	run stack "$file"
	first=$(reason)
	[ -n "$first" ]
	case $first in *"$word"*) ;; *) fail "'$first' lacks '$word'" ;; esac
	run icost "$file" --multisim
	[ "$(reason)" = "$first" ] || fail "icost --multisim refuses for another reason than: $first"
	[ "$#" = 2 ] || return 0
	run icost "$file" --what-if "lgalu@$(some_pc "$file")" --verify
	[ "$(reason)" = "$first" ] || fail "icost --verify refuses for another reason than: $first"
}

test_all_refuse_the_same_runs_for_the_same_reasons() {
	profile "$tmp/time.culprit" --real-time
	all_refuse "$tmp/time.culprit" --real-time
	profile "$tmp/cycles.culprit" --start cycle:3000
	all_refuse "$tmp/cycles.culprit" cycle:N
	run sim --machine "$machine" --children simulated --analyze icost,cpistack -o "$tmp/fork.culprit" -- \
		"$GUESTS/answers" family
	all_refuse "$tmp/fork.culprit.1" "forked process" "too short to know costs of an instruction"
}

# A file whose path contains the name of a stream kind is still a file.
test_a_stream_is_not_taken_for_another_by_its_name() {
	mkdir -p "$tmp/other"
	head -c 999 /dev/zero >"$tmp/other/in"
	"$CULPRIT" sim --analyze cpistack -o "$tmp/in.culprit" -- "$GUESTS/answers" cat >/dev/null 2>&1 <"$tmp/other/in"
	run stack "$tmp/in.culprit" --json
	status_is 0
}

# Prints all that a profile holds but what differs from run to run.
content() {
	python3 - "$1" <<-'EOF'
		import sqlite3, sys
		db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
		for line in db.iterdump():
		    if "'host_seconds'" not in line:
		        print(line)
	EOF
}

test_1791_a_profile_without_an_analysis_names_the_command_that_adds_it_and_runs_it() {
	local command
	cd "$tmp"
	run sim --set window.rob=64 --period 500 -o less.culprit -- "${program[@]}"
	run sim --set window.rob=64 --period 500 --analyze profile,cpistack,calls -o all.culprit -- "${program[@]}"
	run stack less.culprit --no-reference
	status_is 2
	err_has "less.culprit has no CPI stacks; --add runs this"
	command=$(sed 's/.*sandbox: //; s/ culprit sim / "$CULPRIT" sim /' "$tmp/err")
	cp less.culprit before.culprit
	run stack less.culprit --no-reference --add
	status_is 0
	mv "$tmp/out" added.txt
	run stack all.culprit --no-reference
	cmp "$tmp/out" added.txt
	content less.culprit >added.sql
	content all.culprit >all.sql
	diff added.sql all.sql || fail "what was added is not what the run itself would have kept"
	cp before.culprit less.culprit
	(eval "$command") >/dev/null 2>&1 || fail "the command that it names fails: $command"
	run stack less.culprit --no-reference
	status_is 0
	cmp "$tmp/out" added.txt
	run icost less.culprit --add
	status_is 0
	out_has "the graph has"
	run icost less.culprit --add --what-if bmisp@main --verify
	status_is 0
}

test_4764_a_listing_a_calculation_and_a_page_add_what_they_lack() {
	local command
	cd "$tmp"
	run sim --set window.rob=64 -o bare.culprit -- "${program[@]}"
	run annotate bare.culprit --icost
	refuses "bare.culprit has no costs; --add runs this" "--analyze profile,icost,calls"
	run calc bare.culprit
	refuses "bare.culprit has no samples of commit; --add runs this" "--analyze profile,calls,commits"
	# The command begins in the run's own folder and writes the file that was asked for, wherever one is.
	mkdir -p below
	cd below
	run annotate ../bare.culprit --stack
	refuses "no CPI stacks" "--output $tmp/bare.culprit"
	run annotate ../bare.culprit --stack --add
	status_is 0
	cd ..
	run calc bare.culprit --add
	status_is 0
	run annotate bare.culprit --calc
	status_is 0
	run html bare.culprit --add -o bare.html
	status_is 0
	[ "$(sqlite3 bare.culprit "SELECT (SELECT count(*) FROM icost) > 0, (SELECT count(*) FROM cpi_phase) > 0,
		(SELECT count(*) FROM calc_commit) > 0, (SELECT count(*) FROM stretch) > 0,
		(SELECT count(*) FROM call_context) > 0")" = "1|1|1|1|1" ] || fail "the profile has not all"
}

test_1792_a_run_that_does_not_repeat_keeps_its_profile() {
	cd "$tmp"
	run sim --real-time -o time.culprit -- "${program[@]}"
	cp time.culprit kept.culprit
	run stack time.culprit --add
	status_is 2
	cmp time.culprit kept.culprit
	[ "$(find . -name '*.culprit*' -newer kept.culprit | wc -l)" = 0 ] || fail "something is left"
}
test_1793_adding_to_a_profile_with_a_profiler_of_ones_own_loses_nothing() {
	cd "$tmp"
	run sim --period 500 --profiler "mine=nci:ST-L1,FL-MB:300" -o own.culprit -- "${program[@]}"
	status_is 0
	cp own.culprit kept.culprit
	run stack own.culprit --add
	status_is 2
	err_has "would be lost"
	cmp own.culprit kept.culprit
}

run_tests
