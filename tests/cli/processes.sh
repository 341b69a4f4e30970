# SPDX-License-Identifier: MIT
# Processes: what they share, and which of them a guest can reach.
. "$(dirname "$0")/lib.sh"
needs_guests

# Runs strangers.c against a process of the host, with the options given; its standard input is a socket on which a
# pidfd of that process waits.
against_a_stranger() {
	status=0
	python3 - "$CULPRIT" "$GUESTS/strangers" "$@" >"$tmp/out" 2>"$tmp/err" <<'END' || status=$?
import os, socket, subprocess, sys
culprit, guest, *words = sys.argv[1:]
victim = subprocess.Popen(words + ["sleep", "60"])
ours, theirs = socket.socketpair()
socket.send_fds(ours, [b"x"], [os.pidfd_open(victim.pid)])
try:
    run = subprocess.run(words + [culprit, "sim", "--functional", "--", guest, str(victim.pid), "0"], stdin=theirs,
                         timeout=60)
    alive = victim.poll() is None
    priority = os.getpriority(os.PRIO_PROCESS, victim.pid) if alive else None
finally:
    victim.kill()
    victim.wait()
if not alive:
    sys.exit("the process of the host was killed")
if priority != os.getpriority(os.PRIO_PROCESS, 0):
    sys.exit("the priority of the process of the host was changed")
sys.exit(run.returncode)
END
}

test_985_a_process_of_the_host_does_not_exist_for_the_guest() {
	against_a_stranger
	status_is 0
	out_has " 0 wrong"
}

test_986_nor_does_one_of_the_same_ordinary_user() {
	if [ "$(id -u)" = 0 ]; then
		local path
		for path in "$CULPRIT" "$GUESTS/strangers"; do
			setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$path" || return 0
		done
		against_a_stranger setpriv --reuid 65534 --regid 65534 --clear-groups
	else
		against_a_stranger
	fi
	status_is 0
	out_has " 0 wrong"
}

# Runs a program in two builds, for this machine (where Linux answers) and for the guest, and compares.
same_as_linux() {
	timeout 60 "$GUESTS/$1_host" >"$tmp/linux"
	run sim --functional -- "$GUESTS/$1"
	status_is 0
	diff "$tmp/linux" "$tmp/out"
}

test_263_system_v_ipc_answers_as_linux_does() {
	same_as_linux ipc
}

test_264_futexes_with_an_owner_answer_as_linux_does() {
	same_as_linux owners
}

test_265_calls_made_of_others_answer_as_linux_does() {
	same_as_linux more
}

test_266_signals_between_processes_arrive_as_they_were_sent() {
	same_as_linux mail
}

test_987_the_guests_ipc_is_not_the_hosts() {
	ipcs -a >"$tmp/before" 2>/dev/null || skip "no ipcs"
	run sim --functional -- "$GUESTS/ipc" keep
	status_is 0
	out_is "kept"
	ipcs -a | diff "$tmp/before" -
}

test_988_ids_of_ipc_objects_and_processes_repeat() {
	run sim --functional -- "$GUESTS/ipc" ids
	status_is 0
	cp "$tmp/out" "$tmp/first"
	run sim --functional -- "$GUESTS/ipc" ids
	diff "$tmp/first" "$tmp/out"
}

test_989_a_call_that_libraries_only_probe_is_not_named() {
	run sim --functional -- "$GUESTS/more" probe
	status_is 0
	! grep -q "is not there" "$tmp/err" || fail "a call that is only probed was named"
}

test_990_a_process_that_sleeps_gives_busy_ones_the_time() {
	run sim --functional -- "$GUESTS/mail" sleep
	status_is 0
	out_is "done before the second was over"
}

# A child that waits for ever; the run is cut while it does.
test_3290_a_run_that_is_cut_leaves_no_process() {
	local how left
	cp "$GUESTS/phases" "$tmp/left-over"
	for how in --functional '--analyze none'; do
		run sim $how --max-insts 1M -- "$tmp/left-over" 4 fork
		err_has "1 forked process was not measured"
		for _ in $(seq 200); do
			left=$(pgrep -cf "$tmp/left-over" || true)
			[ "$left" != 0 ] || break
			sleep 0.05
		done
		[ "$left" = 0 ] || fail "sim $how left $left processes"
	done
}

run_tests
