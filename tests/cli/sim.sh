#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# culprit sim --functional as its user sees it: what goes in, what comes out, where, and with which status.
. "$(dirname "$0")/lib.sh"
needs_guests

sim() {
	run sim --functional "$@"
}

test_missing_program_is_one_line() {
	sim -- "$tmp/nowhere"
	refuses "$tmp/nowhere"
}

test_a_text_file_is_not_a_program() {
	echo "not a program" >"$tmp/text"
	chmod +x "$tmp/text"
	sim -- "$tmp/text"
	refuses "$tmp/text"
}

test_an_empty_file_is_not_a_program() {
	: >"$tmp/empty"
	sim -- "$tmp/empty"
	refuses "$tmp/empty"
}

test_a_directory_is_not_a_program() {
	sim -- "$tmp"
	refuses "$tmp"
}

test_a_program_of_the_host_is_refused() {
	sim -- "$CULPRIT"
	refuses
}

test_a_truncated_program_is_refused() {
	head -c 100 "$GUESTS/answers" >"$tmp/short"
	sim -- "$tmp/short"
	refuses "$tmp/short"
}

test_exit_status_passes_through() {
	local n
	for n in 0 1 2 42 255; do
		sim -- "$GUESTS/answers" exit $n
		status_is $n
	done
}

test_a_fatal_signal_gives_128_plus_n() {
	sim -- "$GUESTS/answers" abort
	status_is 134
	err_has "SIGABRT"
	sim -- "$GUESTS/answers" segv
	status_is 139
	err_has "SIGSEGV"
}

test_standard_output_is_the_guests_alone() {
	sim -- "$GUESTS/answers" echo "one" "two words" ""
	status_is 0
	printf 'one\ntwo words\n\n' | cmp - "$tmp/out"
}

test_standard_output_is_the_guests_alone_with_a_profile_too() {
	sim --profile -- "$GUESTS/answers" echo one
	printf 'one\n' | cmp - "$tmp/out"
	err_has "instruction mix"
	err_has "hot functions"
}

test_binary_output_is_untouched() {
	sim -- "$GUESTS/answers" bytes
	[ "$(wc -c <"$tmp/out")" = 256 ]
	[ "$(od -An -v -tu1 -w1 "$tmp/out" | awk '$1 != NR - 1' | wc -l)" = 0 ]
}

test_standard_error_is_the_guests_and_the_summary() {
	sim -- "$GUESTS/answers" complain
	status_is 0
	grep -qx "guest's own words" "$tmp/err"
	err_lines 2
}

test_standard_input_reaches_the_guest() {
	[ "$(printf 'a line\n' | "$CULPRIT" sim --functional -- "$GUESTS/answers" cat 2>/dev/null)" = "a line" ]
}

test_the_guest_can_have_other_streams_than_culprit() {
	sim --streams terminal:90x30,pipe,file -- "$GUESTS/answers" streams "$tmp/seen"
	status_is 0
	[ "$(cat "$tmp/seen")" = "$(printf '20000 tty 90x30\n10000 no 0x0\n100000 no 0x0\nread 0')" ] || fail "$(cat "$tmp/seen")"
	[ ! -s "$tmp/out" ] || fail "it wrote to culprit's output"
	err_lines 1
	sim --streams closed,terminal,null -- "$GUESTS/answers" streams "$tmp/seen"
	[ "$(cat "$tmp/seen")" = "$(printf 'closed\n20000 tty 0x0\n20000 no 0x0')" ] || fail "$(cat "$tmp/seen")"
	sim --streams pipe,-,- -- "$GUESTS/answers" cat
	out_is ""
	status_is 0
}

test_streams_that_do_not_exist_are_refused() {
	sim --streams null,null -- "$GUESTS/answers" exit 0
	refuses IN,OUT,ERR
	sim --streams null,printer,null -- "$GUESTS/answers" exit 0
	refuses printer terminal
}

test_summary_is_one_line_with_instructions_speed_and_time() {
	sim -- "$GUESTS/answers" exit 3
	err_lines 1
	grep -qE '^culprit: [0-9,]+ instructions, [0-9.]+ MIPS, [0-9.]+ s, exit status 3$' "$tmp/err"
}

test_arguments_that_look_like_options_are_the_guests() {
	sim -- "$GUESTS/answers" echo --seed -h --
	out_is "$(printf '%s\n' --seed -h --)"
	sim "$GUESTS/answers" echo --help
	out_is --help
}

test_environment_is_fixed_unless_asked() {
	FROM_HOST=1 run sim --functional -- "$GUESTS/answers" env
	status_is 0
	! grep -q FROM_HOST "$tmp/out"
	cp "$tmp/out" "$tmp/fixed"
	sim --env ADDED=1 --env "OTHER=two words" -- "$GUESTS/answers" env
	out_has "ADDED=1"
	out_has "OTHER=two words"
	[ "$(grep -cFxf "$tmp/fixed" "$tmp/out")" = "$(wc -l <"$tmp/fixed")" ]
}

test_environment_variable_given_replaces_the_fixed_one() {
	sim --env LANG=first --env LANG=second -- "$GUESTS/answers" env
	[ "$(grep '^LANG=' "$tmp/out")" = LANG=second ]
}

test_environment_without_a_name_is_refused() {
	sim --env nothing -- "$GUESTS/answers" env
	refuses "'nothing'"
}

test_runs_repeat_byte_for_byte() {
	sim --summary-json "$tmp/first" -- "$GUESTS/answers" varies
	cp "$tmp/out" "$tmp/expected"
	[ -s "$tmp/expected" ]
	sim --summary-json "$tmp/second" -- "$GUESTS/answers" varies
	cmp "$tmp/expected" "$tmp/out"
	cmp <(grep instructions "$tmp/first") <(grep instructions "$tmp/second")
}

test_seed_changes_what_is_random() {
	sim -- "$GUESTS/answers" varies
	cp "$tmp/out" "$tmp/expected"
	sim --seed 1 -- "$GUESTS/answers" varies
	! cmp -s "$tmp/expected" "$tmp/out"
	cp "$tmp/out" "$tmp/expected"
	sim --seed 1 -- "$GUESTS/answers" varies
	cmp "$tmp/expected" "$tmp/out"
}

test_interpreter_gives_the_same() {
	sim --summary-json "$tmp/first" -- "$GUESTS/answers" varies
	cp "$tmp/out" "$tmp/expected"
	sim --interpreter --summary-json "$tmp/second" -- "$GUESTS/answers" varies
	cmp "$tmp/expected" "$tmp/out"
	cmp <(grep instructions "$tmp/first") <(grep instructions "$tmp/second")
}

test_max_insts_is_exact() {
	local n
	for n in 1 1000 1234567 1M; do
		sim --max-insts $n --summary-json "$tmp/json" -- "$GUESTS/answers" spin
		status_is 0
		err_has "--max-insts"
		grep -q "\"instructions\": ${n/M/000000}," "$tmp/json"
		grep -q '"exit_status": null' "$tmp/json"
	done
}

test_summary_json_has_its_keys() {
	sim --summary-json "$tmp/json" -- "$GUESTS/answers" exit 5
	status_is 5
	python3 - "$tmp/json" "$GUESTS/answers" <<-'END'
		import json, sys
		run = json.load(open(sys.argv[1]))
		keys = ["program", "machine", "instructions", "cycles", "ipc", "exit_status", "host_seconds",
		        "mips"]
		assert list(run) == keys, list(run)
		assert run["program"] == sys.argv[2], run["program"]
		assert run["machine"] == "functional"
		assert run["exit_status"] == 5
		assert run["cycles"] is None and run["ipc"] is None
		assert run["instructions"] > 100
		rate = run["instructions"] / run["host_seconds"] / 1e6
		assert abs(run["mips"] - rate) < 0.01 * rate
	END
}

test_summary_json_that_cannot_be_written_stops_before_the_run() {
	sim --summary-json "$tmp/no/such/folder" -- "$GUESTS/answers" echo ran
	refuses "$tmp/no/such/folder"
}

test_profile_counts_every_instruction() {
	sim --profile --summary-json "$tmp/json" -- "$GUESTS/answers" work
	status_is 0
	python3 - "$tmp/err" "$tmp/json" <<-'END'
		import json, re, sys
		total = json.load(open(sys.argv[2]))["instructions"]
		sums = []
		for line in open(sys.argv[1]):
		    if re.match(r"(instruction mix|hot functions)$", line):
		        sums.append(0)
		    row = re.match(r" +[0-9.]+ % +([0-9,]+)  ", line)
		    if row:
		        sums[-1] += int(row[1].replace(",", ""))
		assert sums == [total, total], (sums, total)
	END
}

test_profile_names_the_hot_function() {
	sim --profile -- "$GUESTS/answers" work
	[ "$(sed -n '/^hot functions/{n;p}' "$tmp/err" | awk '{ print $4, $5 }')" = "hot_loop (answers)" ]
}

test_children_run_unmeasured_by_default() {
	sim --summary-json "$tmp/json" -- "$GUESTS/answers" fork
	status_is 4
	out_is "$(printf 'child\nparent')"
	err_lines 2
	grep -qx 'culprit: 1 forked process was not measured; --children simulated measures each by itself' "$tmp/err"
	[ ! -e "$tmp/json.1" ]
	run sim --functional -- "$GUESTS/answers" family
	grep -q '^culprit: 3 forked processes were not measured; ' "$tmp/err"
}

test_simulated_children_report_for_themselves() {
	sim --children simulated --summary-json "$tmp/json" -- "$GUESTS/answers" fork
	status_is 4
	out_is "$(printf 'child\nparent')"
	err_lines 2
	grep -qE '^culprit: child 1 \(answers\): [0-9,]+ instructions, .* exit status 5$' "$tmp/err"
	grep -q '"exit_status": 4' "$tmp/json"
	grep -q '"exit_status": 5' "$tmp/json.1"
	python3 -c 'import json, sys
parent, child = (json.load(open(f))["instructions"] for f in sys.argv[1:])
# The child works and the parent only waits; counts do not include what came before the fork.
assert 1000000 < child < 10000000 and parent < 100000, (parent, child)' "$tmp/json" "$tmp/json.1"
}

test_progress_is_for_terminals_only() {
	sim --max-insts 200M -- "$GUESTS/answers" spin
	err_lines 1
	! grep -q $'\r' "$tmp/err"
}

test_a_name_without_a_slash_is_found_in_the_sysroot() {
	mkdir -p "$tmp/root/usr/bin"
	cp "$GUESTS/answers" "$tmp/root/usr/bin/only-in-sysroot"
	sim --sysroot "$tmp/root" -- only-in-sysroot exit 9
	status_is 9
}

test_the_hosts_loader_has_nothing_to_say() {
	[ -e /etc/ld.so.cache ] || skip "this machine has no /etc/ld.so.cache"
	sim -- "$GUESTS/answers" exists /etc/ld.so.cache
	status_is 1
	mkdir -p "$tmp/root/etc"
	echo >"$tmp/root/etc/ld.so.cache"
	sim --sysroot "$tmp/root" -- "$GUESTS/answers" exists /etc/ld.so.cache
	status_is 0
	sim -- "$GUESTS/answers" exists /etc/passwd
	status_is 0
}

test_the_modelled_core_gives_the_same_output_and_cycles_too() {
	sim --summary-json "$tmp/functional" -- "$GUESTS/answers" echo one
	cp "$tmp/out" "$tmp/expected"
	run sim --machine boom-tea --summary-json "$tmp/json" -- "$GUESTS/answers" echo one
	status_is 0
	cmp "$tmp/expected" "$tmp/out"
	grep -qE '^culprit: [0-9,]+ instructions, [0-9,]+ cycles, IPC [0-9.]+, [0-9.]+ MIPS, ' "$tmp/err"
	cmp <(grep instructions "$tmp/functional") <(grep instructions "$tmp/json")
	python3 - "$tmp/json" <<-'END'
		import json, sys
		run = json.load(open(sys.argv[1]))
		assert run["machine"] == "boom-tea"
		assert run["cycles"] > 0
		assert abs(run["ipc"] - run["instructions"] / run["cycles"]) < 1e-6
	END
}

test_a_wrong_machine_parameter_names_the_nearest() {
	run sim --set window.rbo=3 -- "$GUESTS/answers" exit 0
	refuses "window.rob"
}

run_tests
