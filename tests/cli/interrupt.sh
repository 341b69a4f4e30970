#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A run that is stopped from outside ends cleanly and keeps what was measured.
. "$(dirname "$0")/lib.sh"
needs_guests

# Starts a guest, waits until it says that it is ready, sends the signal, collects status and output.
stop_with() {
	local signal=$1 pid deadline
	shift
	# Remove the output of an earlier guest: it must not be taken for this one's.
	rm -f "$tmp/out"
	"$CULPRIT" sim --functional --summary-json "$tmp/json" "$@" >"$tmp/out" 2>"$tmp/err" < <(sleep 60) &
	pid=$!
	deadline=$((SECONDS + 30))
	until grep -qs ready "$tmp/out" || [ $SECONDS -ge $deadline ]; do sleep 0.02; done
	kill -"$signal" $pid
	status=0
	wait $pid || status=$?
}

keeps_summary() {
	grep -qE "^culprit: [0-9,]+ instructions, .*, stopped by $1\$" "$tmp/err" || fail "no summary"
	python3 -c 'import json, sys
run = json.load(open(sys.argv[1]))
assert run["instructions"] > 0 and run["exit_status"] is None' "$tmp/json"
}

test_interrupt_ends_a_busy_guest_with_the_summary() {
	stop_with INT -- "$GUESTS/answers" spin
	status_is 130
	keeps_summary SIGINT
}

test_interrupt_ends_an_interpreted_guest_with_the_summary() {
	stop_with INT --interpreter -- "$GUESTS/answers" spin
	status_is 130
	keeps_summary SIGINT
}

test_interrupt_ends_a_guest_that_waits_for_input() {
	stop_with INT -- "$GUESTS/answers" wait
	status_is 130
	keeps_summary SIGINT
}

test_interrupt_keeps_the_profile() {
	stop_with INT --profile -- "$GUESTS/answers" spin
	status_is 130
	keeps_summary SIGINT
	err_has "hot functions"
}

test_terminate_ends_it_too() {
	stop_with TERM -- "$GUESTS/answers" spin
	status_is 143
	keeps_summary SIGTERM
}

# A real terminal shows progress after two seconds; then Ctrl-C arrives as a user types it.
test_terminal_shows_progress_and_control_c_ends_it() {
	python3 - "$CULPRIT" "$GUESTS/answers" <<-'END'
		import os, pty, re, sys, time
		pid, fd = pty.fork()
		if pid == 0:
		    os.execv(sys.argv[1], [sys.argv[1], "sim", "--functional", "--", sys.argv[2], "spin"])
		seen, typed, start = b"", False, time.time()
		while time.time() - start < 60:
		    if not typed and re.search(rb"M instructions, [0-9.]+ MIPS", seen):
		        assert time.time() - start > 1.9, "progress before two seconds"
		        os.write(fd, b"\x03")
		        typed = True
		    try:
		        data = os.read(fd, 4096)
		    except OSError:
		        break
		    if not data:
		        break
		    seen += data
		status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
		print(seen)
		assert typed, "no progress"
		assert status == 130, status
		assert re.search(rb"culprit: [0-9,]+ instructions, .*stopped by SIGINT", seen)
	END
}

run_tests
