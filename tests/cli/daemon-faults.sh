#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The whole daemon, on this machine, when things go wrong: it is killed, stopped, restarted, its disk is full. Each
# test has a database of its own, and nothing that it started outlives it. LONG=1 means more rounds and longer waits,
# an hour for its memory (SOAK=600: that many seconds).
. "$(dirname "$0")/lib.sh"

long=${LONG:-}
started=()

end_all() {
	[ ${#started[@]} = 0 ] || kill -KILL "${started[@]}" 2>/dev/null || :
}

may_sample() {
	[ "$(id -u)" = 0 ] || skip "needs root"
	run record -o "$tmp/may.culprit" -- true
	[ "$status" = 0 ] || skip "cannot sample here: $(grep -F 'record:' "$tmp/err" | head -n 1)"
	trap end_all EXIT
}

# Something that uses a processor.
busy() {
	sh -c 'while :; do :; done' &
	started+=($!)
}

# Starts a daemon for the folder $1, with the options that follow; $daemon is its process. It returns once it samples.
start() {
	local folder=$1 i
	shift
	rm -f "$folder/socket"
	"$CULPRIT" daemon --foreground --rate 500 "$@" "$folder" >"$tmp/out" 2>"$tmp/err" &
	daemon=$!
	started+=("$daemon")
	for i in $(seq 1000); do
		grep -q '^rate:' <("$CULPRIT" daemon status "$folder" 2>/dev/null) && return
		kill -0 "$daemon" 2>/dev/null || fail "the daemon has ended"
		sleep 0.02
	done
	fail "the daemon does not answer"
}

stop() {
	"$CULPRIT" daemon stop "$1" >/dev/null
	wait "$daemon" || fail "the daemon ended with status $?"
}

# A figure of the line that begins with $2: (word $3 of it).
figure() {
	"$CULPRIT" daemon status "$1" | awk -v line="$2" -v word="$3" 'index($0, line) == 1 && !n++ { print $word }'
}

# taken = stored + lost + pending, in the status and in the database.
equation_holds() {
	local try
	for try in 1 2 3 4 5; do
		"$CULPRIT" daemon flush "$1" >/dev/null
		"$CULPRIT" daemon status "$1" >"$tmp/status"
		# Between two epochs there are no events.
		! grep -q '^event: ' "$tmp/status" || break
		sleep "0.$try"
	done
	awk '/^event: / { n++; if ($3 != $6 + $9 + $12) bad = 1 } END { exit bad || !n }' "$tmp/status" ||
		fail "taken = stored + lost + pending does not hold: $(cat "$tmp/status")"
}

whole() {
	run db check "$1"
	status_is 0
}

# The end of the newest epoch, in nanoseconds since 1970.
newest() {
	sqlite3 -readonly "file:$1/profile.db?mode=ro" "SELECT max(end_ns) FROM epoch" 2>/dev/null
}

test_2750_a_daemon_that_is_killed_loses_at_most_one_drain_interval() {
	may_sample
	command -v sqlite3 >/dev/null || skip "needs sqlite3"
	local rounds=${long:+100} i begun killed end worst=0
	busy
	for i in $(seq "${rounds:-4}"); do
		start "$tmp/db" --drain 1s
		begun=$(date +%s%N)
		sleep "$((RANDOM % 3)).$((RANDOM % 10))"
		kill -KILL "$daemon"
		killed=$(date +%s%N)
		wait "$daemon" 2>/dev/null || :
		whole "$tmp/db"
		end=$(newest "$tmp/db")
		[ "${end:-0}" -gt "$begun" ] || end=$begun
		[ $((killed - end)) -le "$worst" ] || worst=$((killed - end))
	done
	# One interval, and a second for a machine that is busy with other things.
	[ "$worst" -le 2000000000 ] || fail "lost $((worst / 1000000)) ms"
	run report "$tmp/db"
	status_is 0
}

test_2751_a_full_disk_costs_nothing_that_is_stored_and_heals() {
	may_sample
	unshare -m true 2>/dev/null || skip "cannot make a mount namespace"
	busy
	mkdir "$tmp/small"
	export -f start stop fail figure equation_holds whole run status_is
	export CULPRIT tmp
	status=0
	unshare -m bash -euo pipefail -c '
		started=()
		mount -t tmpfs -o size=2m none "$tmp/small"
		db=$tmp/small/db
		start "$db" --drain 1s --per-process
		trap "kill -KILL $daemon 2>/dev/null || :" EXIT
		sleep 2
		"$CULPRIT" daemon flush "$db" >/dev/null
		stored=$(figure "$db" event: 6)
		dd if=/dev/zero of="$tmp/small/filler" bs=4k 2>/dev/null || :
		for i in $(seq 200); do
			"$CULPRIT" daemon status "$db" >"$tmp/status"
			grep -E "^database:.*(full|No space)" "$tmp/status" >/dev/null && break
			sleep 0.1
		done
		grep -E "^database:.*(full|No space)" "$tmp/status" >/dev/null || fail "the disk is full, and it does not say so"
		# What was stored can be read, and is still there.
		run report "$db" --json
		status_is 0
		[ "$(figure "$db" event: 6)" -ge "$stored" ]
		rm "$tmp/small/filler"
		for i in $(seq 200); do
			"$CULPRIT" daemon status "$db" >"$tmp/status"
			grep -E "^database:.*(full|No space)" "$tmp/status" >/dev/null || break
			sleep 0.1
		done
		! grep -E "^database:.*(full|No space)" "$tmp/status" >/dev/null || fail "it does not heal"
		"$CULPRIT" daemon flush "$db" >/dev/null
		[ "$(figure "$db" event: 6)" -gt "$stored" ] || fail "nothing more is stored"
		equation_holds "$db"
		stop "$db"
		trap - EXIT
		whole "$db"
	' || status=$?
	status_is 0
}

test_2752_ten_thousand_processes_are_known() {
	may_sample
	unshare -p true 2>/dev/null || skip "cannot make a pid namespace"
	[ "$(cat /proc/sys/kernel/pid_max)" -gt 20000 ] || skip "needs 10,000 free pids"
	local crowd peak
	mkfifo "$tmp/go" "$tmp/said"
	unshare -p -f --kill-child "$TARGET" crowd 10000 <"$tmp/go" >"$tmp/said" &
	crowd=$!
	started+=("$crowd")
	exec 8>"$tmp/go"
	read -r _ <"$tmp/said" || skip "cannot start 10,000 processes"
	busy
	start "$tmp/db" --drain 1s --per-process
	sleep 2
	"$CULPRIT" daemon flush "$tmp/db" >/dev/null
	[ "$(figure "$tmp/db" known: 2)" -ge 10000 ] || fail "it knows $(figure "$tmp/db" known: 2) address spaces"
	equation_holds "$tmp/db"
	peak=$(awk '/^VmHWM/{print $2}' "/proc/$daemon/status")
	kill -KILL "$crowd"
	wait "$crowd" 2>/dev/null || :
	stop "$tmp/db"
	whole "$tmp/db"
	[ -n "$SANITIZED" ] || [ "$peak" -le 32768 ] || fail "$peak KiB"
	run report "$tmp/db" --json
	status_is 0
	python3 -c 'import json, sys
e = json.load(open(sys.argv[1]))["profile"]["events"][0]
sys.exit(e["unknown"] > 0.0005 * e["stored"] + 1)' "$tmp/out" || fail "unknown samples"
}

test_2753_readers_are_served_while_it_restarts() {
	may_sample
	local i readers
	busy
	start "$tmp/db" --drain 1s
	"$CULPRIT" daemon flush "$tmp/db" >/dev/null
	(
		set -e
		while [ ! -e "$tmp/enough" ]; do
			"$CULPRIT" report "$tmp/db" --json >"$tmp/read" 2>"$tmp/read-err" || {
				mv "$tmp/read-err" "$tmp/refused"
				exit 1
			}
			python3 -c 'import json, sys
p = json.load(open(sys.argv[1]))["profile"]["events"][0]
sys.exit(p["taken"] != p["stored"] + p["lost"] + p["pending"])' "$tmp/read" || {
				cp "$tmp/read" "$tmp/refused"
				exit 1
			}
		done
	) &
	readers=$!
	started+=("$readers")
	for i in 1 2 3; do
		sleep 0.5
		[ "$i" = 2 ] && {
			kill -KILL "$daemon"
			wait "$daemon" 2>/dev/null || :
		} || stop "$tmp/db"
		start "$tmp/db" --drain 1s
	done
	touch "$tmp/enough"
	wait "$readers" || fail "a reader failed: $(head -c 500 "$tmp/refused")"
	stop "$tmp/db"
	whole "$tmp/db"
}

test_2754_samples_of_a_daemon_that_is_stopped_wait_or_are_counted_as_lost() {
	may_sample
	local seconds=${long:+60} before after
	seconds=${seconds:-4}
	busy
	start "$tmp/db" --drain 1s --per-process
	"$CULPRIT" daemon flush "$tmp/db" >/dev/null
	before=$(figure "$tmp/db" event: 3)
	kill -STOP "$daemon"
	sleep "$seconds"
	kill -CONT "$daemon"
	"$CULPRIT" daemon flush "$tmp/db" >/dev/null
	after=$(figure "$tmp/db" event: 3)
	equation_holds "$tmp/db"
	# A processor was busy all the time, at 500 samples a second.
	[ $((after - before)) -ge $((seconds * 450)) ] || fail "only $((after - before)) samples in $seconds s"
	stop "$tmp/db"
	whole "$tmp/db"
	run report "$tmp/db" --json
	python3 -c 'import json, sys
e = json.load(open(sys.argv[1]))["profile"]["events"][0]
sys.exit(e["taken"] != e["stored"] + e["lost"])' "$tmp/out" || fail "samples are missing"
}

test_2755_a_second_daemon_names_the_first_and_ends() {
	may_sample
	start "$tmp/db"
	run daemon --foreground "$tmp/db"
	status_is 2
	err_has "process $daemon;"
	[ -n "$(figure "$tmp/db" rate: 2)" ] || fail "the first one does not answer any more"
	stop "$tmp/db"
	whole "$tmp/db"
}

# What a figure may grow to while it is flat: a quarter more, and what a second of the storm brings.
is_flat() {
	[ "$3" -le $(($2 + $2 / 4 + 2000)) ] || fail "$2 $1, then $3"
}

# What the daemon has resident in the mean of $1 seconds, in KiB: a storm's moments differ by megabytes.
mean_resident() {
	local i sum=0
	for i in $(seq "$1"); do
		sleep 1
		sum=$((sum + $(awk '/^VmRSS/{print $2}' "/proc/$daemon/status")))
	done
	echo $((sum / $1))
}

test_2756_its_memory_and_its_database_do_not_grow() {
	may_sample
	[ -z "$SANITIZED" ] || skip "the sanitizer's memory grows"
	# In half a minute the tables of a storm's processes still fill.
	local seconds=${SOAK:-${long:+3600}} most=${long:+1024} early late peak rows size
	seconds=${seconds:-30} most=${most:-4096}
	busy
	sh -c 'while :; do /bin/true; done' &
	started+=($!)
	start "$tmp/db" --drain 1s --per-process --epoch-length "$((seconds < 300 ? 2 : 5))s" --keep "$((seconds / 6))s"
	sleep $((seconds / 3))
	rows=$(sqlite3 "$tmp/db/profile.db" 'SELECT count(*) FROM process')
	size=$(stat -c %s "$tmp/db/profile.db")
	early=$(mean_resident $((seconds / 3)))
	late=$(mean_resident $((seconds - 2 * (seconds / 3))))
	peak=$(awk '/^VmHWM/{print $2}' "/proc/$daemon/status")
	is_flat "processes" "$rows" "$(sqlite3 "$tmp/db/profile.db" 'SELECT count(*) FROM process')"
	is_flat "KiB of database" $((size / 1024)) $(($(stat -c %s "$tmp/db/profile.db") / 1024))
	[ "$(sqlite3 "$tmp/db/profile.db" 'SELECT max(id) FROM process')" -gt "$((2 * rows))" ] || fail "nothing was new"
	equation_holds "$tmp/db"
	stop "$tmp/db"
	whole "$tmp/db"
	echo "# $early KiB, then $late, at the peak $peak; $rows processes and $((size / 1024)) KiB of database at first"
	[ $((late - early)) -le "$most" ] || fail "$early KiB, then $late KiB"
	[ "$peak" -le 32768 ] || fail "$peak KiB at the peak"
}

test_2758_it_stays_below_16_mb() {
	may_sample
	[ -z "$SANITIZED" ] || skip "the sanitizer takes more"
	local peak
	busy
	start "$tmp/db" --drain 1s --per-process
	sleep 3
	"$CULPRIT" daemon flush "$tmp/db" >/dev/null
	peak=$(awk '/^VmHWM/{print $2}' "/proc/$daemon/status")
	stop "$tmp/db"
	[ "$peak" -le 16384 ] || fail "$peak KiB at the peak"
}

test_2757_its_unit_is_one_that_systemd_takes() {
	command -v systemd-analyze >/dev/null || skip "systemd-analyze is not installed"
	# The program and its manual page need not be installed.
	sed "s|@bindir@/culprit|$CULPRIT|; /^Documentation=/d" "$ROOT/scripts/culprit.service.in" >"$tmp/culprit.service"
	systemd-analyze verify "$tmp/culprit.service" >"$tmp/out" 2>"$tmp/err" || fail "systemd-analyze verify"
	! grep -F culprit.service "$tmp/err" || fail "systemd complains"
}

run_tests
