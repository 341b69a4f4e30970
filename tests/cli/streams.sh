#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A run is simulated again on streams that look as they did: after every form of redirection, `stack` and `icost
# --multisim` count exactly the cycles of the profile. The guest "inspect" does work that depends on all that it can
# see of its streams and reads from them; gzip and gawk are used as people run them.
. "$(dirname "$0")/lib.sh"
needs_guests

cd "$tmp"
export CULPRIT_CACHE=$tmp/cache
sysroot=${CULPRIT_SYSROOT:-$ROOT/build/sysroot}
seq 1 10 >in

# The programs: the guest that looks at everything, and two of Debian's, whose start-up is not timed.
look=(--analyze cpistack,icost -- "$GUESTS/answers" inspect)
gzip=(--sysroot "$sysroot" --fast-forward 125k --analyze cpistack -- /usr/bin/gzip -c)
gawk=(--sysroot "$sysroot" --fast-forward 1440k --analyze cpistack -- /usr/bin/gawk '{ s += $1 } END { print s }')

# Simulates p.culprit again and checks that it is the same run.
repeats() {
	run stack p.culprit --json
	status_is 0
	[ ! -s err ] || fail "stack: something was said"
	python3 -c '
import json
m = [x["name"] for x in json.load(open("out"))["methods"]]
assert "simulated" in m and "inverse" in m' || fail "no simulated stack"
	[ "${1:-}" = alone ] || return 0
	# icost simulates by the same code, on the same streams, as stack: in a quick run one form is enough.
	[ -n "$LONG" ] || [ ! -e multisim ] || return 0
	touch multisim
	run icost p.culprit --multisim --json
	status_is 0
	[ ! -s err ] || fail "icost: something was said"
}

sim=("$CULPRIT" sim --machine eyerman2006 -o p.culprit)

# Calls a function that runs "$@" redirected in some way, with each of the programs. Debian's take most of the time:
# a quick run has them with three ways.
each() {
	local form=$1
	rm -f p.culprit
	$form "${sim[@]}" "${look[@]}"
	repeats alone
	[ -e "$sysroot/usr/bin/gawk" ] || return 0
	[ -z "$SANITIZED" ] || return 0
	[ -n "$LONG" ] || [[ " in_file piped terminal " = *" $form "* ]] || return 0
	$form "${sim[@]}" "${gzip[@]}"
	repeats
	$form "${sim[@]}" "${gawk[@]}"
	repeats
}

in_file() { "$@" <in >/dev/null 2>/dev/null; }
in_the_middle() { { read -r _; "$@" >/dev/null 2>/dev/null; } <in; }
out_file() { "$@" <in >out.txt 2>/dev/null; }
appended() { echo before >>more && "$@" <in >>more 2>/dev/null; }
both_ways() { seq 1 5 >rw && "$@" <in 1<>rw 2>/dev/null; }
piped() { seq 1 10 | "$@" 2>/dev/null | cat >/dev/null; }
slowly_piped() { (echo a; sleep 0.3; echo b) | "$@" 2>/dev/null | cat >/dev/null; }
joined() { "$@" <in >both 2>&1; }
joined_pipe() { "$@" 2>&1 <in | cat >/dev/null; }
closed_in() { "$@" <&- >out.txt 2>/dev/null || true; }
closed_out() { "$@" <in >&- 2>/dev/null || true; }
closed_err() { "$@" <in >out.txt 2>&- || true; }
closed_all() { "$@" <&- >&- 2>&- || true; }
same_file() { seq 1 5 >self && "$@" <self >>self 2>/dev/null || true; }
devices() { "$@" </dev/zero >/dev/full 2>/dev/null || true; }

named_pipes() {
	rm -f to from && mkfifo to from
	seq 1 50 >to &
	cat from >/dev/null &
	"$@" <to >from 2>/dev/null
	wait
}
sockets() {
	python3 - "$@" <<-'END'
		import os, socket, subprocess, sys
		ours, theirs = socket.socketpair()
		ours.sendall(b"1 one\n2 two\n")
		ours.shutdown(socket.SHUT_WR)
		subprocess.run(sys.argv[1:], stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL, check=True)
	END
}

# Runs a command on a terminal of 100 columns and 40 rows with a changed erase character, and types two lines and end
# of input. Unlike the terminal of a simulation it is not the first free one.
terminal() {
	python3 - "$@" <<-'END'
		import fcntl, os, pty, struct, sys, termios
		others = [pty.openpty() for _ in range(2)]
		pid, fd = pty.fork()
		if not pid:
		    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 800, 600))
		    mode = termios.tcgetattr(0)
		    mode[6][termios.VERASE] = b"\x08"
		    termios.tcsetattr(0, termios.TCSANOW, mode)
		    os.execvp(sys.argv[1], sys.argv[1:])
		os.write(fd, b"1 one\n2 two\n\x04")
		try:
		    while os.read(fd, 65536):
		        pass
		except OSError:
		    pass
		os.waitpid(pid, 0)
	END
}

test_input_from_a_file() { each in_file; }
test_input_from_the_middle_of_a_file() { in_the_middle "${sim[@]}" "${look[@]}" && repeats alone; }
test_output_to_a_file() { each out_file; }
test_output_appended_to_a_file() { each appended; }
test_output_over_a_file_open_both_ways() { each both_ways; }
test_pipes_on_both_sides() { each piped; }
test_a_pipe_that_gives_piece_by_piece() { slowly_piped "${sim[@]}" "${look[@]}" && repeats alone; }
test_errors_where_output_goes() { each joined; }
test_errors_into_the_pipe_of_the_output() { joined_pipe "${sim[@]}" "${look[@]}" && repeats alone; }
test_a_closed_input() { each closed_in; }
test_a_closed_output() { each closed_out; }
test_closed_errors() { closed_err "${sim[@]}" "${look[@]}" && repeats alone; }
test_all_streams_closed() { closed_all "${sim[@]}" "${look[@]}" && repeats alone; }
test_a_file_read_and_appended_to() { same_file "${sim[@]}" "${look[@]}" && repeats alone; }
test_a_terminal() { each terminal; }
test_a_terminal_opened_by_its_name() {
	terminal sh -c '"$@" <$(tty) >$(tty) 2>/dev/null' sh "${sim[@]}" "${look[@]}"
	repeats alone
}
test_pipes_with_names() { named_pipes "${sim[@]}" "${look[@]}" && repeats alone; }
test_sockets() { sockets "${sim[@]}" "${look[@]}" && repeats alone; }
# A program that compares the devices of its input and output finds the same answer, wherever temporary files lie.
test_output_on_another_file_system() {
	[ -d /dev/shm ] && [ -w /dev/shm ] || skip "/dev/shm cannot be written"
	local there
	there=$(mktemp -d /dev/shm/culprit-test-XXXXXX)
	"${sim[@]}" "${look[@]}" <in >"$there/a, b+c%" 2>/dev/null
	repeats alone
	rm -r "$there"
	run stack p.culprit --json --again
	status_is 0
}
test_devices() {
	devices "${sim[@]}" --max-insts 30k "${look[@]}"
	repeats alone
}

# The pace of the writer does not change the run.
test_a_pipe_gives_the_same_run_at_any_pace() {
	seq 1 3000 | "${sim[@]}" "${look[@]}" >/dev/null 2>&1
	mv p.culprit fast.culprit
	{ seq 1 1000; sleep 0.05; seq 1001 2000; sleep 0.05; seq 2001 3000; } | "${sim[@]}" "${look[@]}" >/dev/null 2>&1
	same_store p.culprit fast.culprit
}

test_a_dialogue_through_pipes_goes_on() {
	rm -f to from && mkfifo to from
	"$CULPRIT" sim --functional -- "$GUESTS/answers" cat <to >from 2>/dev/null &
	exec 7>to 8<from
	seq 1 2000 >&7
	exec 7>&-
	timeout 20 cat <&8 | cmp - <(seq 1 2000)
	wait
}

test_what_is_typed_unseen_is_not_kept() {
	python3 - "${sim[@]}" "${look[@]}" <<-'END'
		import os, pty, sys, termios
		pid, fd = pty.fork()
		if not pid:
		    mode = termios.tcgetattr(0)
		    mode[3] &= ~termios.ECHO
		    termios.tcsetattr(0, termios.TCSANOW, mode)
		    os.execv(sys.argv[1], sys.argv[1:])
		os.write(fd, b"the secret word\n\x04")
		try:
		    while os.read(fd, 65536):
		        pass
		except OSError:
		    pass
		os.waitpid(pid, 0)
	END
	[ -z "$(sqlite3 p.culprit "SELECT * FROM run WHERE key = 'input'")" ] || fail "it is in the profile"
	run stack p.culprit --json
	status_is 1
	err_has "typed unseen"
}

test_too_much_input_is_not_kept() {
	head -c 17M /dev/zero | "$CULPRIT" sim --fast-forward 1G --analyze null -o p.culprit -- "$GUESTS/answers" inspect \
		>/dev/null 2>&1
	[ -z "$(sqlite3 p.culprit "SELECT * FROM run WHERE key = 'input'")" ] || fail "it is in the profile"
	[ "$(stat -c %s p.culprit)" -lt 1000000 ] || fail "the profile has $(stat -c %s p.culprit) bytes"
}

# --streams takes flags, position and content of a stream, and refuses words without a meaning.
test_streams_are_made_as_their_words_say() {
	echo 12345 >content
	"$CULPRIT" sim --functional --streams file+r+at=2+size=6,-,- --content 0=content -- "$GUESTS/answers" cat \
		>out 2>err
	[ "$(cat out)" = 345 ]
	local bad
	for bad in terminal:-1x5 terminal:5 terminal:5x terminal:5x5x terminal:70000x1 'terminal: 5x5' terminal:0x5x \
		terminals file+size=-1 file+at=x file+mode=9 file+nosuch pipe+at=5 null+size=5 closed+r =0 =2 =x file+of=0 other \
		-+rw '' file+ file+at= terminal+tty=1.2.3; do
		run sim --functional --streams "$bad,null,null" -- "$GUESTS/answers" exit 0
		refuses --streams
	done
	for bad in =1 =2 pipe+of=0 file+of=1; do
		run sim --functional --streams "null,$bad,null" -- "$GUESTS/answers" exit 0
		refuses --streams
	done
	for bad in 3=content 0 0= x=content; do
		run sim --functional --streams file,null,null --content "$bad" -- "$GUESTS/answers" exit 0
		refuses --content
	done
	run sim --functional --content 0=content -- "$GUESTS/answers" exit 0
	refuses --streams
	run sim --functional --streams pipe,null,null --input nowhere -- "$GUESTS/answers" exit 0
	refuses nowhere
}

run_tests
