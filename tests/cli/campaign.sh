#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# culprit campaign as its user sees it: the file, what runs and what does not, results that survive everything.
. "$(dirname "$0")/lib.sh"
needs_guests

export CULPRIT_CACHE=$tmp/cache
guest=$GUESTS/answers

# Writes $tmp/NAME.ini from standard input, with a program "quick" of its own.
campaign() {
	{
		cat
		printf '\n[sim]\nmax-insts = 3k\n[program quick]\ncommand = %s exit 0\n' "$guest"
	} >"$tmp/$1.ini"
}

sql() {
	sqlite3 "$tmp/$1.db" "$2"
}

test_3030_settings_combine_and_rules_leave_runs_out() {
	campaign a <<-END
		[campaign]
		machines = boom-tip boom-tea
		skip = window.rob=32 machine=boom-tea
		[settings]
		window.rob = 32..128 *2
		l2.size = 256k 512k
	END
	run campaign "$tmp/a.ini" --dry-run
	status_is 0
	out_has "10 runs: 0 there, 0 failed, 10 to run; 2 left out"
	[ ! -e "$tmp/a.db" ] || fail "a dry run wrote results"
	run campaign "$tmp/a.ini"
	status_is 0
	out_has "10 runs: 10 done, 0 failed"
	[ "$(sql a "SELECT count(*) FROM run WHERE status = 'done' AND cpi > 0 AND host != ''")" = 10 ]
	[ "$(sql a "SELECT settings FROM run ORDER BY id LIMIT 1")" = '{"l2.size":"256k","window.rob":"32"}' ]
	run campaign "$tmp/a.ini" --dry-run
	out_has "10 runs: 10 there, 0 failed, 0 to run"
}

test_3031_paired_settings_go_together() {
	campaign b <<-END
		[settings]
		combine = paired
		window.rob = 32 64 128
		l2.size = 128k..512k *2
		lsu.load_queue = 16
		[settings more]
		l2.latency = 12 14
	END
	run campaign "$tmp/b.ini" --dry-run
	status_is 0
	out_has "6 runs:"
	out_has "window.rob=64 l2.size=256k lsu.load_queue=16 l2.latency=14"
	campaign b <<-END
		[settings]
		combine = paired
		window.rob = 32 64 128
		l2.size = 128k 256k
	END
	run campaign "$tmp/b.ini" --dry-run
	refuses "b.ini:4" "paired"
}

test_3032_all_is_checked_before_anything_runs() {
	local case
	# line that is wrong, what the message must name
	while IFS='|' read -r section line words; do
		printf '[campaign]\nmachines = boom-tip\n[program quick]\ncommand = %s exit 0\n[%s]\n%s\n' "$guest" "$section" \
			"$line" >"$tmp/c.ini"
		run campaign "$tmp/c.ini"
		refuses "c.ini" "$words"
		[ ! -e "$tmp/c.db" ] || fail "it began: $line"
	done <<-END
		campaign|machnes = boom-tip|the nearest is 'machines'
		campaign|how = ful|full, sampled or functional
		campaign|machines = bom-tip|there is no machine 'bom-tip'
		campaign|machines = nowhere.ini|nowhere.ini
		campaign|skip = window.rb=3|nothing called 'window.rb' varies
		campaign|skip = window|is not a condition
		campaign|limit-time = soon|is not a time
		campaign|limit-memory = much|limit-memory
		campaign|place = slrm|the nearest is 'slurm'
		campaign|analyses = profle|the nearest is 'profile'
		campaign|seeds = one|seeds
		campaing|x = y|the nearest is [campaign]
		settings|window.rb = 32|window.rob
		settings|window.rob = 9..3|from the smaller number
		settings|window.rob = 3..9 *1|a step must lead upwards
		settings|window.rob = 32 banana|banana
		settings|l2.size = 256k 300k|l2
		set|window.rob = 0|window.rob
		sim|max-inst = 3|the nearest is 'max-insts'
		sim|max-insts = many|max-insts
		program other|command = ./nowhere|there is no program './nowhere'
		program other|folder = nowhere|has no command
		program quick2|stdin = nowhere|has no command
		machine big|machine = boom-tep|boom-te
		machine big|window.rbo = 3|window.rob
	END
	printf '[program a]\ncommand = %s\nstdin = none.txt\n' "$guest" >"$tmp/c.ini"
	run campaign "$tmp/c.ini"
	refuses "c.ini:3" "none.txt"
	printf '[program a]\ncommand = %s\nfiles = none.txt\n' "$guest" >"$tmp/c.ini"
	run campaign "$tmp/c.ini"
	refuses "c.ini:3" "none.txt"
	printf '[program a]\ncommand = %s\nfolder = none\n' "$guest" >"$tmp/c.ini"
	run campaign "$tmp/c.ini"
	refuses "c.ini:3" "none"
	printf '[program a]\ncommand = %s\nsysroot = none\n' "$guest" >"$tmp/c.ini"
	run campaign "$tmp/c.ini"
	refuses "c.ini:3" "none"
	printf 'x = 3\n' >"$tmp/c.ini"
	run campaign "$tmp/c.ini"
	refuses "c.ini:1" "before the first"
	head -c 3000 /dev/urandom >"$tmp/c.ini"
	run campaign "$tmp/c.ini"
	status_is 2
	: >"$tmp/c.ini"
	run campaign "$tmp/c.ini"
	refuses "there is no section [program NAME]"
	run campaign "$tmp/missing.ini"
	refuses "missing.ini"
}

test_3033_nothing_runs_twice() {
	campaign d <<-END
		[settings]
		window.rob = 32 64
	END
	run campaign "$tmp/d.ini"
	status_is 0
	find "$CULPRIT_CACHE/jobs" -type f -exec touch -d 2001-01-01 {} +
	# another campaign with the same runs, and this one without its results
	cp "$tmp/d.ini" "$tmp/e.ini"
	run campaign "$tmp/e.ini"
	status_is 0
	rm "$tmp/d.db"
	run campaign "$tmp/d.ini"
	status_is 0
	[ "$(sql d "SELECT group_concat(cpi) FROM run")" = "$(sql e "SELECT group_concat(cpi) FROM run")" ]
	[ -z "$(find "$CULPRIT_CACHE/jobs" -type f -newermt 2002-01-01)" ] || fail "something ran again"
	# what the file no longer asks for stays, and is not shown
	sed -i 's/32 64/64/' "$tmp/d.ini"
	run campaign "$tmp/d.ini"
	out_has "1 runs: 1 done"
	[ "$(sql d "SELECT count(*) FROM run")" = 2 ]
	run campaign show "$tmp/d.ini"
	out_has "1 runs: 1 done"
	# another program is another run
	cp "$guest" "$tmp/changed"
	sed -i "s|command = .* exit|command = $tmp/changed exit|" "$tmp/d.ini"
	run campaign "$tmp/d.ini"
	printf 'more' >>"$tmp/changed"
	run campaign "$tmp/d.ini" --dry-run
	out_has "1 to run"
}

test_3034_a_failed_run_is_named_and_tried_again_only_when_asked() {
	cat >"$tmp/f.ini" <<-END
		[program good]
		command = $guest exit 0
		[program bad]
		command = $guest exit 3
		[program right]
		command = $guest exit 3
		status = 3
	END
	run campaign "$tmp/f.ini"
	status_is 1
	err_lines 1
	err_has "'bad boom-tip' failed: ended with status 3 instead of 0"
	log=$(sql f "SELECT log FROM run WHERE status = 'failed'")
	[ -s "$log" ] || fail "there is no log"
	err_has "$log"
	[ "$(sql f "SELECT count(*) FROM run WHERE status = 'done'")" = 2 ]
	touch -d 2001-01-01 "$log"
	run campaign "$tmp/f.ini"
	status_is 1
	out_has "3 runs: 2 done, 1 failed (--retry tries them again)"
	[ -z "$(find "$log" -newermt 2002-01-01)" ] || fail "it ran again unasked"
	run campaign "$tmp/f.ini" --retry
	status_is 1
	[ -n "$(find "$log" -newermt 2002-01-01)" ] || fail "it did not run again"
	run campaign show "$tmp/f.db"
	out_has "ended with status 3 instead of 0"
}

test_3035_a_run_over_its_limit_is_ended_and_named() {
	cat >"$tmp/g.ini" <<-END
		[campaign]
		how = functional
		limit-time = 0.5
		[program endless]
		command = $guest spin
		[program quick]
		command = $guest exit 0
	END
	run campaign "$tmp/g.ini"
	status_is 1
	err_has "'endless' failed: ended at its limit of 0.5 s"
	[ "$(sql g "SELECT status FROM run WHERE program = 'endless'")" = over ]
	[ "$(sql g "SELECT status FROM run WHERE program = 'quick'")" = done ]
	cat >"$tmp/g.ini" <<-END
		[campaign]
		how = functional
		limit-time = 60
		limit-memory = 64M
		[program large]
		command = $guest eat
	END
	run campaign "$tmp/g.ini"
	status_is 1
	err_has "ended at its limit of 64 MiB of memory"
}

test_3036_inputs_are_a_dimension() {
	printf 'one\n' >"$tmp/one.txt"
	printf 'two\ntwo\n' >"$tmp/two.txt"
	cat >"$tmp/h.ini" <<-END
		[campaign]
		how = functional
		[program status]
		command = $guest exit
		inputs = 0 1 2
		status = any
		[program text]
		command = $guest cat
		stdin = {input}
		input.short = one.txt
		input.long = two.txt
		status = any
	END
	run campaign "$tmp/h.ini"
	status_is 0
	[ "$(sql h "SELECT exit_status FROM run WHERE program = 'status' ORDER BY input" | xargs)" = "0 1 2" ] ||
		fail "not the exit status of each input"
	[ "$(sql h "SELECT input FROM run WHERE program = 'text' ORDER BY input" | xargs)" = "long short" ] ||
		fail "not both inputs"
	printf 'three\n' >"$tmp/one.txt"
	run campaign "$tmp/h.ini" --dry-run
	out_has "5 runs: 4 there, 0 failed, 1 to run"
}

test_3037_many_runs_want_a_yes() {
	campaign i <<-END
		[settings]
		window.rob = 32..512
		l2.latency = 10..40
	END
	run campaign "$tmp/i.ini"
	status_is 2
	err_has "14911 runs are more than 10000"
	err_has "--yes"
	campaign i <<-END
		[settings]
		window.rob = 1..9999999999
	END
	run campaign "$tmp/i.ini" --dry-run
	refuses "more than 1000000"
}

test_3038_results_hold_what_killed_runners_left() {
	campaign k <<-END
		[settings]
		window.rob = 32..128 +4
	END
	local round pid delay
	for round in 1 2 3 4 5 6; do
		"$CULPRIT" campaign "$tmp/k.ini" >"$tmp/out" 2>"$tmp/err" &
		pid=$!
		delay=$(printf '0.%03d' $((RANDOM % 400)))
		sleep "$delay"
		kill -KILL $pid 2>/dev/null || true
		wait $pid 2>/dev/null || true
		[ ! -s "$tmp/k.db" ] || [ "$(sql k 'PRAGMA integrity_check')" = ok ] || fail "damaged after $delay s"
	done
	run campaign "$tmp/k.ini"
	status_is 0
	out_has "25 runs: 25 done, 0 failed"
	[ "$(sql k "SELECT count(*), count(cpi), count(DISTINCT settings) FROM run")" = "25|25|25" ]
	# each result is there once, and nothing else is
	run campaign "$tmp/k.ini" --dry-run
	out_has "25 runs: 25 there"
}

test_3039_one_runner_at_a_time() {
	cat >"$tmp/l.ini" <<-END
		[campaign]
		how = functional
		limit-time = 20
		[program endless]
		command = $guest spin
	END
	"$CULPRIT" campaign "$tmp/l.ini" >/dev/null 2>&1 &
	local pid=$!
	while [ ! -s "$tmp/l.db" ]; do sleep 0.05; done
	run campaign "$tmp/l.ini"
	refuses "is being run already by process $pid"
	run campaign show "$tmp/l.ini"
	status_is 0
	out_has "1 runs: 0 done, 0 failed, 1 to come"
	kill -TERM $pid
	wait $pid && fail "it was interrupted" || [ $? = 2 ]
}

test_3040_tables_of_what_came_out() {
	campaign m <<-END
		[campaign]
		machines = boom-tip boom-tea
		[settings]
		window.rob = 16 64
		l1d.latency = 4 8
	END
	cat >>"$tmp/m.ini" <<-END
		[program other]
		command = $guest exit 0 again
	END
	run campaign "$tmp/m.ini"
	status_is 0
	run campaign show "$tmp/m.ini" --rows machine --columns l1d.latency --where "window.rob=64 program=quick" --json
	status_is 0
	python3 - "$tmp/out" "$tmp/m.db" <<-'END'
		import json, sqlite3, sys
		cells = json.load(open(sys.argv[1]))["cells"]
		db = sqlite3.connect(sys.argv[2])
		assert len(cells) == 4
		for c in cells:
		    want = db.execute("SELECT cpi FROM run WHERE program = 'quick' AND machine = ? AND json_extract(settings, "
		                      "'$.\"window.rob\"') = '64' AND json_extract(settings, '$.\"l1d.latency\"') = ?",
		                      (c["machine"], c["l1d.latency"])).fetchone()[0]
		    assert abs(c["cpi"] - want) < 1e-9 and c["runs"] == 1, (c, want)
	END
	run campaign show "$tmp/m.ini" --base window.rob=16 --json
	status_is 0
	python3 - "$tmp/out" "$tmp/m.db" <<-'END'
		import json, math, sqlite3, statistics, sys
		change = json.load(open(sys.argv[1]))["changes"]
		db = sqlite3.connect(sys.argv[2])
		cpi = {}
		for p, m, s, x in db.execute("SELECT program, machine, settings, cpi FROM run"):
		    s = json.loads(s)
		    cpi[p, m, s["l1d.latency"], s["window.rob"]] = x
		logs = [math.log(cpi[k[:3] + ("64",)] / cpi[k]) for k in cpi if k[3] == "16"]
		mean, half = statistics.mean(logs), 2.365 * statistics.stdev(logs) / math.sqrt(8)
		c = change[0]
		assert len(change) == 1 and c["pairs"] == 8 == len(logs)
		for key, x in ("change", mean), ("low", mean - half), ("high", mean + half):
		    assert abs(c[key + "_percent"] - 100 * (math.exp(x) - 1)) < 1e-6, (c, key)
	END
	run campaign show "$tmp/m.ini" --best --bound 'window.rob<=16' --json
	status_is 0
	python3 - "$tmp/out" <<-'END'
		import json, sys
		best = json.load(open(sys.argv[1]))["best"]
		assert len(best) == 4 and all(b["window.rob"] == "16" and b["runs"] == 2 for b in best)
		assert best[0]["l1d.latency"] == "4" and [b["cpi"] for b in best] == sorted(b["cpi"] for b in best)
	END
	run campaign show "$tmp/m.ini" --effects --json
	status_is 0
	python3 - "$tmp/out" <<-'END'
		import json, sys
		effects = json.load(open(sys.argv[1]))["effects"]
		assert {e["parameter"] for e in effects} == {"machine", "window.rob", "l1d.latency"}
		share = [e["variance_percent"] for e in effects]
		assert share == sorted(share, reverse=True) and 0 < sum(share) <= 100.0001 and all(e["groups"] == 8 for e in effects)
	END
	run campaign show "$tmp/m.ini" --csv --rows program --columns window.rob
	out_has "program,window.rob,cpi,half,runs"
	run campaign show "$tmp/m.ini" --runs --csv
	[ "$(wc -l <"$tmp/out")" = 17 ]
	run campaign show "$tmp/m.ini" --svg "$tmp/m.svg" --columns window.rob
	status_is 0
	python3 -c "import xml.dom.minidom, sys; d = xml.dom.minidom.parse('$tmp/m.svg')
assert len(d.getElementsByTagName('circle')) == 4 and len(d.getElementsByTagName('path')) == 2"
	run campaign show "$tmp/m.ini" --rows window.rbo
	refuses "the nearest is 'window.rob'"
	run campaign show "$tmp/m.ini" --metric cpl
	refuses "the nearest is 'cpi'"
	run campaign show "$tmp/m.ini" --base window.rob=17
	refuses "no run has that value"
	run campaign show "$tmp/m.ini" --best --bound 'cpi<0.001'
	refuses "within the bound"
}

# Estimates come with an interval, which tables and pictures show.
test_3041_intervals_are_shown() {
	campaign n <<-END
		[settings]
		window.rob = 16 64
	END
	run campaign "$tmp/n.ini"
	sql n "UPDATE run SET cpi = 2, cpi_low = 1.9, cpi_high = 2.1, error = 0.05"
	run campaign show "$tmp/n.ini" --svg "$tmp/n.svg"
	out_has "2.0000±5.0%"
	[ "$(grep -c 'class="error"' "$tmp/n.svg")" = 2 ] || fail "no error bars"
	run campaign show "$tmp/n.ini" --base window.rob=16 --json
	python3 -c "
import json, math
c = json.load(open('$tmp/out'))['changes'][0]
assert abs(c['high_percent'] - 100 * (math.exp(0.05 * math.sqrt(2)) - 1)) < 1e-9 and c['remark'] == 'within the noise'"
}

test_3042_profiles_of_runs_are_kept() {
	campaign o <<-END
		[campaign]
		analyses = profile
	END
	run campaign "$tmp/o.ini"
	status_is 0
	local profile
	profile=$(sql o "SELECT store FROM run")
	run report "$profile" --json
	status_is 0
	python3 -c "import json; json.load(open('$tmp/out'))"
	# a profile that is gone is made again
	rm "$profile"
	run campaign "$tmp/o.ini"
	out_has "1 runs: 1 done"
	[ -s "$profile" ] || fail "it was not made again"
}

test_3043_foreign_files_are_refused() {
	echo hello >"$tmp/p.db"
	run campaign show "$tmp/p.db"
	refuses "p.db"
	rm -f "$tmp/q.db"
	sqlite3 "$tmp/q.db" "PRAGMA application_id=1668639843; PRAGMA user_version=1; CREATE TABLE run(x)"
	run campaign show "$tmp/q.db"
	refuses "its tables are not those of a campaign"
	sqlite3 "$tmp/q.db" "PRAGMA user_version=9"
	run campaign show "$tmp/q.db"
	refuses "use a newer culprit"
	campaign p <<-END
		[campaign]
		output = p.db
	END
	run campaign "$tmp/p.ini"
	refuses "p.db"
	[ "$(cat "$tmp/p.db")" = hello ] || fail "somebody's file was changed"
	run campaign show "$tmp/nowhere.db"
	refuses "nowhere.db"
	run campaign show "$tmp/p.ini" --retry
	refuses "show runs nothing"
}

test_3044_what_a_program_writes_is_thrown_away() {
	cat >"$tmp/w.ini" <<-END
		[campaign]
		how = functional
		[program writes]
		command = $guest make written.txt
		status = any
	END
	run campaign "$tmp/w.ini"
	status_is 0
	[ ! -e "$tmp/written.txt" ] || fail "a run wrote into the user's folder"
	sql w "SELECT note FROM run" | grep -q "writes are thrown away" || fail "the row does not say what held the run"
}

run_tests
