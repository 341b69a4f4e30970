#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# culprit sim --sandbox against guests that try to get out: as this user, as an ordinary user, and where no namespaces
# can be created. Their attempts reach only files, processes and sockets of this test.
. "$(dirname "$0")/lib.sh"
needs_guests

# Everything lies where an ordinary user can reach it, in a folder that is not the guest's /tmp.
chmod 755 "$tmp"
mkdir "$tmp/bin" "$tmp/work" "$tmp/outside" "$tmp/home" "$tmp/given"
cp "$CULPRIT" "$tmp/bin/culprit"
cp "$GUESTS/attempts" "$GUESTS/answers" "$tmp/bin"
attempt=$tmp/bin/attempts
outside=$tmp/outside given=$tmp/given
# The files are open to everybody: permissions must not be what protects them.
echo secret >"$outside/secret"
echo kept >"$outside/file"
echo given >"$given/file"
chmod -R a+rwX "$outside" "$given" "$tmp/work" "$tmp/home"
# An overlay of an ordinary user can copy only files of that user.
[ "$(id -u)" != 0 ] || chown -R 54321:54321 "$given"
cd "$tmp/work"

worlds=(same)
[ "$(id -u)" != 0 ] || worlds+=(user)
# World "bare": a user namespace without capabilities, in which no other namespaces can be created.
bare=(unshare --user --map-root-user sh -c
	'echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all "$@"' sh)
! "${bare[@]}" true 2>/dev/null || worlds+=(bare)

# in_world WORLD COMMAND…: runs it as this user, as an ordinary user, or without namespaces.
in_world() {
	local world=$1
	shift
	case $world in
	same) "$@" ;;
	user) HOME=$tmp/home setpriv --reuid=54321 --regid=54321 --clear-groups "$@" ;;
	bare) "${bare[@]}" "$@" ;;
	esac
}

# confined WORLD OPTION… -- PROGRAM…: runs culprit sim --sandbox.
confined() {
	local world=$1
	shift
	status=0
	in_world "$world" "$tmp/bin/culprit" sim --functional --sandbox "$@" >"$tmp/out" 2>"$tmp/err" </dev/null ||
		status=$?
}

# Prints all that can be seen of the files outside.
look() {
	find "$outside" "$given" -printf '%p %y %m %u %g %s %T@ %C@\n' | sort
	find "$outside" "$given" -type f -exec cksum {} + | sort
}

# Checks that every attempt was made and none succeeded.
all_refused() {
	[ "$(wc -l <"$tmp/out")" = "$1" ] || fail "not $1 attempts were made"
	! grep 'done$' "$tmp/out" || fail "an attempt succeeded"
}

test_what_is_in_force_is_said_in_one_line() {
	confined same -- "$tmp/bin/answers" exit 3
	status_is 3
	err_lines 2
	grep -q '^culprit: sandbox: .*seccomp' "$tmp/err" || fail "it is not said"
	for world in "${worlds[@]}"; do
		confined "$world" -- "$tmp/bin/answers" exit 3
		status_is 3
		err_has "no network"
	done
	[[ ! " ${worlds[*]} " = *" bare "* ]] || err_has "no namespaces"
}

test_nothing_outside_can_be_read() {
	for world in "${worlds[@]}"; do
		confined "$world" -- "$attempt" "read=$outside/secret" "list=$outside" read=/etc/hosts list=/etc list=/ \
			"read=$tmp/work/../outside/secret" "read=/proc/self/cwd/../outside/secret" \
			"read=/proc/self/root$outside/secret" "read=/proc/1/root$outside/secret"
		status_is 0
		all_refused 9
	done
}

test_nothing_outside_can_be_changed() {
	look >"$tmp/before"
	for world in "${worlds[@]}"; do
		confined "$world" -- "$attempt" "write=$outside/file" "write=$outside/new" "truncate=$outside/file" \
			"remove=$outside/file" "rename=$outside/file" "link=$outside/file" "folder=$outside/folder" \
			"chmod=$outside/file" "touch=$outside/file" "xattr=$outside/file" "device=$outside/device" \
			"by-link=$outside/file" "detour=$outside/file" "from-root=$outside/new" "chmod=$outside" \
			"chmod=$attempt" "truncate=$attempt" "write=$attempt"
		status_is 0
		[ "$(wc -l <"$tmp/out")" = 18 ] || fail "not all was tried"
		look >"$tmp/after"
		cmp "$tmp/before" "$tmp/after" || fail "something outside has changed"
		cmp "$GUESTS/attempts" "$attempt" || fail "the program has changed"
		[ -z "$(ls -A "$tmp/work")" ] || fail "something is in the working folder"
	done
}

test_what_may_be_read_can_be_changed_for_itself_alone() {
	look >"$tmp/before"
	for world in "${worlds[@]}"; do
		confined "$world" --allow-read "$given" -- "$attempt" "read=$given/file" "list=$given" "write=$given/file" \
			"read=$outside/secret"
		out_has "read $given/file: done"
		out_has "list $given: done"
		# without namespaces there is no overlay whose changes could be thrown away
		out_has "write $given/file: $([ "$world" = bare ] && echo EACCES || echo "done")"
		! grep "secret: done" "$tmp/out" || fail "more can be read"
		look >"$tmp/after"
		cmp "$tmp/before" "$tmp/after" || fail "something outside has changed"
	done
}

test_what_may_be_written_is_kept() {
	local n=1
	for world in "${worlds[@]}"; do
		confined "$world" --allow-write "$given" -- "$attempt" "write=$given/file" "write=$outside/file"
		grep -q "^write $given/file: done" "$tmp/out" || fail "what is allowed is not possible"
		n=$((n + 1))
		[ "$(wc -l <"$given/file")" = $n ] || fail "it was not written"
		[ "$(cat "$outside/file")" = kept ]
		# here the guest's working folder lies inside the writable one
		mkdir -m 777 "$given/sub"
		cd "$given/sub"
		confined "$world" --allow-write "$given" --allow-read "$given/sub" -- "$attempt" write=here
		cd "$tmp/work"
		[ -s "$given/sub/here" ] || fail "it was not written to the working folder"
		rm -r "$given/sub"
	done
	echo given >"$given/file"
}

test_there_is_no_network() {
	python3 - "$tmp/socket" "$tmp/port" "$tmp/came" <<-'END' &
		import socket, sys, select
		t = socket.create_server(("127.0.0.1", 0))
		u = socket.socket(socket.AF_UNIX); u.bind(sys.argv[1]); u.listen()
		a = socket.socket(socket.AF_UNIX); a.bind("\0" + sys.argv[1]); a.listen()
		import os; os.chmod(sys.argv[1], 0o777)
		open(sys.argv[2] + ".tmp", "w").write(str(t.getsockname()[1])); os.rename(sys.argv[2] + ".tmp", sys.argv[2])
		while True:
		    for s in select.select([t, u, a], [], [])[0]:
		        s.accept(); open(sys.argv[3], "a").write("x")
	END
	local server=$!
	for _ in $(seq 100); do [ ! -e "$tmp/port" ] || break; sleep 0.1; done
	local port
	port=$(cat "$tmp/port")
	for world in "${worlds[@]}"; do
		local attempts=("tcp=$port" packet=1 "unix=@$tmp/socket")
		# the mount namespace hides a socket with a path; without one it stays visible
		[ "$world" = bare ] || attempts+=("unix=$tmp/socket")
		confined "$world" -- "$attempt" "${attempts[@]}"
		all_refused ${#attempts[@]}
	done
	[ ! -e "$tmp/came" ] || fail "something came through"
	confined same --allow-net -- "$attempt" "tcp=$port"
	out_is "tcp $port: done"
	kill $server
}

# The victim is a process of this test that a signal would end.
test_nobody_else_can_be_signalled_or_looked_at() {
	sleep 300 &
	local victim=$!
	for world in "${worlds[@]}"; do
		confined "$world" -- "$attempt" kill=$victim kill-group=$victim tgkill=$victim sigqueue=$victim pidfd=$victim \
			proc-folder=$victim vm=$victim proc=$victim/environ proc=$victim/mem proc=$victim/maps
		all_refused 10
		[ "$world" = bare ] || confined "$world" -- "$attempt" proc=$victim/cmdline proc=$victim/stat
		[ "$world" = bare ] || all_refused 2
		kill -0 $victim || fail "it was signalled"
	done
	# the same holds without a sandbox
	run sim --functional -- "$attempt" kill=$victim kill-group=$victim tgkill=$victim sigqueue=$victim pidfd=$victim \
		proc-folder=$victim vm=$victim
	all_refused 7
	kill -0 $victim || fail "it was signalled"
	kill $victim
}

test_limits_end_in_the_errno_of_linux_and_one_line() {
	for world in "${worlds[@]}"; do
		confined "$world" --limit-processes 10 -- "$attempt" processes=1000
		out_has "made 9"
		out_has "processes 1000: EAGAIN"
		err_has "--limit-processes (10)"
		cd "$given"
		confined "$world" --limit-output 100k --allow-write . -- "$attempt" output=1000000
		cd "$tmp/work"
		err_has "--limit-output (100000)"
		[ "$(stat -c %s "$given/much")" = 100000 ] || fail "it wrote $(stat -c %s "$given/much") bytes"
		rm "$given/much"
		confined "$world" --limit-memory 100M -- "$attempt" memory=1000000000
		out_is "memory 1000000000: ENOMEM"
		err_has "--limit-memory (100000000)"
		confined "$world" --limit-files 20 -- "$attempt" files=100
		out_is "files 100: EMFILE"
		err_has "--limit-files (20)"
		err_lines 3
	done
	# the default limit stops a fork bomb
	confined same -- "$attempt" processes=100000
	out_has "processes 100000: EAGAIN"
}

test_output_is_cut_at_the_byte() {
	status=0
	"$CULPRIT" sim --functional --sandbox --limit-output 1000 -- "$GUESTS/answers" bytes >"$tmp/out" 2>"$tmp/err" \
		</dev/null || status=$?
	[ "$(wc -c <"$tmp/out")" -le 1000 ] || fail "more came out"
}

# The process outside the sandbox writes profile, summary, trace and stacks, also those of forked processes.
test_results_are_written_though_the_guest_cannot_write() {
	mkdir -p "$tmp/plain" "$tmp/caged"
	for way in plain caged; do
		(cd "$tmp/$way" && "$CULPRIT" sim $([ $way = plain ] || echo --sandbox) --children simulated --trace x.trace \
			--analyze profile,csv,folded --summary-json j.json -- "$GUESTS/answers" family >o 2>e </dev/null) ||
			[ $? = 4 ] # the program's own status
	done
	(cd "$tmp/plain" && ls) >"$tmp/a"
	(cd "$tmp/caged" && ls) >"$tmp/b"
	cmp "$tmp/a" "$tmp/b"
	[ "$(grep -c culprit "$tmp/b")" = 4 ] || fail "not four profiles"
	for f in answers.csv answers.folded answers.csv.1 answers.folded.2; do cmp "$tmp/plain/$f" "$tmp/caged/$f"; done
	for f in answers.culprit answers.culprit.1; do
		cmp <(cd "$tmp/plain" && "$CULPRIT" report "$f") <(cd "$tmp/caged" && "$CULPRIT" report "$f")
	done
}

test_the_guest_cannot_write_its_own_profile() {
	for world in "${worlds[@]}"; do
		status=0
		in_world "$world" "$tmp/bin/culprit" sim --sandbox --analyze profile -o "$given/p.culprit" -- "$attempt" \
			"write=$given/p.culprit" "write=$given/p.culprit.2.tmp" "remove=$given/p.culprit.2.tmp" "list=$given" \
			>"$tmp/out" 2>"$tmp/err" </dev/null || status=$?
		status_is 0
		[ "$(ls "$given")" = "$(printf 'file\np.culprit')" ] || fail "something else is there"
		run report "$given/p.culprit"
		status_is 0
		rm -f "$given/p.culprit"
	done
}

test_a_profile_replaces_nothing_but_a_profile() {
	echo mine >"$tmp/mine"
	run sim --sandbox -o "$tmp/mine" -- "$GUESTS/answers" exit 0
	status_is 2
	[ "$(cat "$tmp/mine")" = mine ] || fail "it was replaced"
}

test_a_signal_ends_a_confined_run_once() {
	"$CULPRIT" sim --sandbox -o "$tmp/stopped.culprit" -- "$GUESTS/answers" spin >"$tmp/out" 2>"$tmp/err" </dev/null &
	local run=$!
	sleep 2
	kill -INT $run
	status=0
	wait $run || status=$?
	status_is 130
	err_has "stopped by SIGINT"
	run report "$tmp/stopped.culprit"
	status_is 0
}

test_options_of_a_sandbox_need_one() {
	for option in "--allow-read $given" "--allow-write $given" --allow-net "--overlay $given" "--absent x"; do
		run sim --functional $option -- "$GUESTS/answers" exit 0
		refuses -- --sandbox
	done
	run sim --functional --sandbox --limit-memory 0 -- "$GUESTS/answers" exit 0
	refuses limit-memory none
	run sim --functional --sandbox --allow-read "$tmp/nowhere" -- "$GUESTS/answers" exit 0
	refuses "$tmp/nowhere"
}

run_tests
