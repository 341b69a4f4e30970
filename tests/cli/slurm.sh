#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Slurm as a place for runs, on a real cluster of one node. LONG: all of it; else what takes a few seconds.
. "$(dirname "$0")/lib.sh"
needs_guests
. "$(dirname "$0")/slurm-cluster.sh"
missing=$(cluster_missing)
[ -z "$missing" ] || {
	echo "1..0 # SKIP $missing"
	exit 0
}
trap 'cluster_stop; rm -rf "$tmp"' EXIT
chmod 755 "$tmp"
export CULPRIT_CACHE=$tmp/cache
# a path of its own, so that its processes can be told from all others
guest=$tmp/answers
cp "$GUESTS/answers" "$guest"
cluster_start "$tmp/slurm" || exit 1

sql() {
	sqlite3 "$tmp/$1.db" "$2"
}

# How many jobs Slurm has started.
jobs_started() {
	squeue -h -t all -o %A | sort -u | wc -l
}

# Waits up to N seconds until a command succeeds.
until_true() {
	local limit=$1 i
	shift
	for ((i = 0; i < limit * 10; i++)); do
		if eval "$*" >/dev/null 2>&1; then return 0; fi
		sleep 0.1
	done
	fail "not within $limit s: $*"
}

nothing_left() {
	local left
	left=$(find "$CULPRIT_CACHE"/slurm*/queue "$CULPRIT_CACHE"/slurm*/claimed "$CULPRIT_CACHE"/slurm*/ended \
		"$CULPRIT_CACHE"/slurm*/work -type f 2>/dev/null)
	[ -z "$left" ] || fail "files are left in the queue: $left"
}

test_3050_runs_share_few_jobs() {
	cat >"$tmp/a.ini" <<-END
		[campaign]
		place = slurm
		[settings]
		window.rob = 32..128 +8
		[program quick]
		command = $guest exit 0
		[program bad]
		command = $guest exit 3
		[program endless]
		command = $guest spin
		[campaign]
		only = program=quick
		only = program=bad window.rob=32
	END
	run campaign "$tmp/a.ini"
	status_is 1
	err_lines 1
	err_has "'bad boom-tip window.rob=32' failed: ended with status 3 instead of 0"
	[ -s "$(sql a "SELECT log FROM run WHERE status = 'failed'")" ] || fail "there is no log"
	[ "$(sql a "SELECT count(*) FROM run WHERE status = 'done' AND cpi > 0")" = 13 ]
	[ "$(sql a "SELECT DISTINCT host FROM run")" = "$(hostname)" ]
	sql a "SELECT DISTINCT note FROM run WHERE status = 'done'" | grep -q "writes are thrown away"
	[ "$(jobs_started)" -le 3 ] || fail "14 short runs took $(jobs_started) jobs"
	nothing_left
	# the same results as on this host
	sed 's/place = slurm/place = local/' "$tmp/a.ini" >"$tmp/b.ini"
	run campaign "$tmp/b.ini" --cache "$tmp/other"
	[ "$(sql a "SELECT settings, cpi FROM run WHERE status = 'done'")" = "$(sql b "SELECT settings, cpi FROM run WHERE status = 'done'")" ]
}

test_3051_a_limit_of_ours_holds_inside_the_job() {
	[ -n "${LONG:-}" ] || skip "in make test-all"
	cat >"$tmp/c.ini" <<-END
		[campaign]
		how = functional
		limit-time = 1
		[program endless]
		command = $guest spin
	END
	run campaign "$tmp/c.ini" --place slurm:main
	status_is 1
	err_has "ended at its limit of 1 s"
	[ "$(sql c "SELECT status FROM run")" = over ]
	sed -i 's/spin/spin c/' "$tmp/c.ini"
	run campaign "$tmp/c.ini" --place slurm:nowhere
	status_is 2
	err_has "Slurm takes no jobs"
}

# Starts a campaign of endless runs in the background; sets $runner.
start_endless() {
	cat >"$tmp/$1.ini" <<-END
		[campaign]
		how = functional
		place = slurm
		limit-time = ${2:-60}
		[program endless]
		command = $guest spin $1
	END
	"$CULPRIT" campaign "$tmp/$1.ini" >"$tmp/out" 2>"$tmp/err" </dev/null &
	runner=$!
	until_true 30 "ls '$CULPRIT_CACHE/slurm/claimed' | grep -q ."
}

test_3052_a_killed_run_and_a_cancelled_job_are_named() {
	[ -n "${LONG:-}" ] || skip "in make test-all"
	start_endless d
	local pid
	until_true 20 "pgrep -f '^[^ ]*culprit.*$guest spin d\$'"
	for pid in $(pgrep -f "^[^ ]*culprit.*$guest spin d\$"); do kill -KILL "$pid" 2>/dev/null || true; done
	wait $runner && fail "it must fail" || status=$?
	status_is 1
	err_has "signal 9 ended it"
	start_endless e
	scancel --user=root
	wait $runner && fail "it must fail" || status=$?
	status_is 1
	err_has "was cancelled from outside"
	nothing_left
}

test_3053_a_second_runner_takes_over() {
	[ -n "${LONG:-}" ] || skip "in make test-all"
	local before
	start_endless f 6
	kill -KILL $runner
	wait $runner 2>/dev/null || true
	before=$(jobs_started)
	run campaign "$tmp/f.ini"
	status_is 1
	err_has "ended at its limit of 6 s"
	[ "$(jobs_started)" = "$before" ] || fail "it was submitted again"
	nothing_left
}

test_3054_a_stop_leaves_nothing_behind() {
	[ -n "${LONG:-}" ] || skip "in make test-all"
	start_endless g
	kill -INT $runner
	wait $runner && fail "it was interrupted" || status=$?
	status_is 2
	err_has "interrupted"
	until_true 20 '[ -z "$(squeue -h)" ]'
	nothing_left
	run campaign "$tmp/g.ini" --dry-run
	out_has "1 to run"
}

test_3055_stack_runs_there_too() {
	[ -n "${LONG:-}" ] || skip "in make test-all"
	"$CULPRIT" sim --machine eyerman2006 --analyze cpistack --max-insts 3k -o "$tmp/s.culprit" -- "$guest" exit 0 2>/dev/null
	run stack "$tmp/s.culprit" --json --place slurm
	status_is 0
	cp "$tmp/out" "$tmp/there"
	run stack "$tmp/s.culprit" --json --cache "$tmp/here"
	cmp "$tmp/there" "$tmp/out"
	nothing_left
}

test_3056_a_user_who_is_not_root() {
	local user=nobody cache=$tmp/of-nobody
	mkdir "$cache" "$tmp/theirs"
	cp "$CULPRIT" "$tmp/culprit"
	chmod 755 "$tmp/culprit" "$guest"
	printf '[program quick]\ncommand = %s exit 0\n[sim]\nmax-insts = 3k\n' "$guest" >"$tmp/theirs/u.ini"
	chown -R $user "$cache" "$tmp/theirs"
	setpriv --reuid=$user --regid=nogroup --clear-groups env -u CULPRIT_CACHE HOME="$tmp/theirs" \
		"$tmp/culprit" campaign "$tmp/theirs/u.ini" --place slurm --cache "$cache" >"$tmp/out" 2>"$tmp/err" </dev/null
	out_has "1 runs: 1 done"
	[ "$(sqlite3 "$tmp/theirs/u.db" "SELECT status FROM run")" = done ]
}

test_3057_a_node_that_does_not_see_the_cache_is_named() {
	[ -n "${LONG:-}" ] || skip "in make test-all"
	cluster_kill slurmd
	unshare -m sh -c "mkdir -p '$CULPRIT_CACHE' && mount -t tmpfs none '$CULPRIT_CACHE' && exec slurmd"
	cluster_ready
	printf '[program q]\ncommand = %s exit 7\nstatus = 7\n' "$guest" >"$tmp/h.ini"
	run campaign "$tmp/h.ini" --place slurm
	status_is 2
	err_has "does not see the folder"
	cluster_kill slurmd
	slurmd
	cluster_ready
}

test_3058_slurmd_killed_under_a_job() {
	[ -n "${LONG:-}" ] || skip "in make test-all"
	start_endless i 25
	cluster_kill slurmd KILL
	scontrol update nodename="$node" state=down reason=test
	until_true 20 "squeue -h -o %T | grep -q PENDING"
	# the run's first copy lives on; a second one may begin
	slurmd
	# The node may have come back by itself already: then there is nothing to resume.
	scontrol update nodename="$node" state=resume 2>/dev/null || true
	until_true 60 "[ \"\$(sinfo -h -o %t)\" != down ]"
	wait $runner && fail "it must end at its limit" || status=$?
	status_is 1
	err_has "ended at its limit of 25 s"
	[ "$(grep -c "failed" "$tmp/err")" = 1 ] || fail "it ended twice"
	until_true 60 '[ -z "$(pgrep -f "$guest spin i\$")" ]'
}

test_3059_the_controller_is_restarted() {
	[ -n "${LONG:-}" ] || skip "in make test-all"
	start_endless j 20
	cluster_kill slurmctld
	sleep 5
	slurmctld
	wait $runner && fail "it must end at its limit" || status=$?
	status_is 1
	err_has "ended at its limit of 20 s"
	nothing_left
}

run_tests
