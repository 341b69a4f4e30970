#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Profiles from elsewhere cause no simulation; with --trust the programs that they name run in a sandbox.
. "$(dirname "$0")/lib.sh"
needs_guests

export CULPRIT_CACHE=$tmp/cache CULPRIT_STATE=$tmp/state

# The simulator of these tests counts its calls.
printf '#!/bin/sh\necho x >>"%s/calls"\nexec "%s" "$@"\n' "$tmp" "$CULPRIT" >"$tmp/counting"
chmod +x "$tmp/counting"
calls() {
	[ ! -e "$tmp/calls" ] || wc -l <"$tmp/calls"
}

mkdir "$tmp/work"
mine=$tmp/mine.culprit other=$tmp/other.culprit
(cd "$tmp/work" && for n in 1 2; do
	"$CULPRIT" sim --machine fields2004 --analyze cpistack,icost --max-insts 10M -o "$tmp/$n.culprit" -- \
		"$GUESTS/answers" work $((20000 + n)) >/dev/null 2>&1 </dev/null
done)
mv "$tmp/1.culprit" "$mine"
mv "$tmp/2.culprit" "$other"

# $pc is a multiplication that was executed.
pc=0x$(printf %x "$(sqlite3 "$mine" "SELECT pc FROM icost_instruction JOIN instruction USING (pc) WHERE class = 'mul'
	ORDER BY latency DESC LIMIT 1")") event=lgalu

sql() {
	sqlite3 "$1" "$2"
}

# Each row changes one thing that a hostile sender might change.
changes=(
	"UPDATE run SET value = '[\"$GUESTS/attempts\",\"write=$tmp/work/escaped\"]' WHERE key = 'argv'"
	"UPDATE run SET value = '/' WHERE key = 'cwd'"
	"DELETE FROM run WHERE key = 'cwd'"
	"INSERT INTO run VALUES ('env', '[\"LD_PRELOAD=/tmp/x\"]')"
	"INSERT INTO run VALUES ('sysroot', '$tmp')"
	"INSERT INTO run VALUES ('stdin', '/etc/passwd')"
	"UPDATE run SET value = '{\"read\":[],\"changed\":[],\"made\":[\"/etc/passwd\"]}' WHERE key = 'files'"
	"UPDATE run SET value = '-,-,-' WHERE key = 'streams'"
	"UPDATE run SET value = 1 WHERE key = 'max_insts'"
	"UPDATE run SET value = 7 WHERE key = 'seed'"
	"INSERT INTO run VALUES ('children', 'simulated')"
	"INSERT INTO run VALUES ('start', '[\"1\"]')"
	"INSERT INTO run VALUES ('sandbox', 1)"
	"INSERT INTO run VALUES ('allow_read', '[\"/\"]')"
	"INSERT INTO run VALUES ('allow_write', '[\"/\"]')"
	"INSERT INTO run VALUES ('overlay', '[\"/\"]')"
	"INSERT INTO run VALUES ('absent', '[\"/etc/passwd\"]')"
	"INSERT INTO run VALUES ('limit_memory', 'none')"
	"UPDATE machine SET value = '8' WHERE key = 'rob'"
	"INSERT INTO machine VALUES ('machine', 'zzz', '1')"
	"DELETE FROM run WHERE key = 'signature'"
	"UPDATE run SET value = '' WHERE key = 'signature'"
	"UPDATE run SET value = NULL WHERE key = 'signature'"
	"UPDATE run SET value = upper(value) WHERE key = 'signature'"
	"UPDATE run SET value = substr(value, 1, 63) WHERE key = 'signature'"
	"UPDATE run SET value = value || '0' WHERE key = 'signature'"
	"ATTACH '$other' AS o; UPDATE run SET value = (SELECT value FROM o.run WHERE key = 'signature') WHERE key = 'signature'"
)
# A store with one of these changes is refused when it is opened.
refused=(
	"ALTER TABLE run RENAME TO real_run; CREATE VIEW run AS SELECT * FROM real_run"
	"ALTER TABLE machine RENAME TO real_machine; CREATE VIEW machine AS SELECT * FROM real_machine"
)

# reads FILE OPTION…: runs all commands that could simulate; sets the status and the number of simulations.
reads() {
	local file=$1
	shift
	run stack "$file" --simulator "$tmp/counting" "$@"
	local first=$status
	cp "$tmp/err" "$tmp/first"
	run icost "$file" --multisim --simulator "$tmp/counting" "$@"
	[ "$status" = "$first" ] || fail "icost ends with $status, stack with $first"
	err_lines "$(wc -l <"$tmp/first")"
	run icost "$file" --what-if "$event@$pc" --verify --simulator "$tmp/counting" "$@"
	[ "$status" = "$first" ] || fail "icost --verify ends with $status, stack with $first"
	err_lines "$(wc -l <"$tmp/first")"
}

test_ones_own_profile_is_simulated() {
	run stack "$mine" --simulator "$tmp/counting"
	status_is 0
	err_lines 0
	[ "$(calls)" = 12 ] || fail "not 12 simulations"
	rm "$tmp/calls"
}

test_a_changed_profile_runs_nothing() {
	local n=0
	for change in "${changes[@]}"; do
		cp "$mine" "$tmp/h.culprit"
		sql "$tmp/h.culprit" "$change"
		reads "$tmp/h.culprit" --again
		status_is 0
		err_lines 1
		err_has "was not written by this user's culprit on this machine"
		err_has "--trust"
		[ -z "$(calls)" ] || fail "it was simulated after: $change"
		n=$((n + 3))
	done
	[ ! -e "$tmp/work/escaped" ] || fail "the program was run"
	[ $n = $((3 * ${#changes[@]})) ]
	for change in "${refused[@]}"; do
		cp "$mine" "$tmp/h.culprit"
		sql "$tmp/h.culprit" "$change"
		reads "$tmp/h.culprit" --again
		status_is 2
		[ -z "$(calls)" ] || fail "it was simulated after: $change"
	done
	echo "# $n attempts"
}

test_the_command_is_shown_as_a_shell_takes_it() {
	cp "$mine" "$tmp/h.culprit"
	sql "$tmp/h.culprit" "UPDATE run SET value = '[\"/bin/a b\",\"it''s\",\"x\"]' WHERE key = 'argv'"
	run stack "$tmp/h.culprit"
	status_is 0
	out_has "mispredicted branches"
	err_has "cd $tmp/work && culprit sim --sandbox -- '/bin/a b' 'it'\\''s' x"
}

test_another_users_or_machines_profile_runs_nothing() {
	CULPRIT_STATE=$tmp/another reads "$mine"
	status_is 0
	err_has "was not written by this user's culprit"
	# a key that others can read is not used
	cp -r "$tmp/state" "$tmp/open"
	chmod 644 "$tmp/open/key"
	CULPRIT_STATE=$tmp/open reads "$mine"
	status_is 0
	err_has "$tmp/open/key"
	env -u CULPRIT_STATE -u XDG_STATE_HOME -u HOME "$CULPRIT" stack "$mine" >"$tmp/out" 2>"$tmp/err"
	err_has CULPRIT_STATE
	[ -z "$(calls)" ] || fail "it was simulated"
}

test_the_key_is_the_users_alone() {
	[ "$(stat -c '%a %s' "$tmp/state/key")" = "600 32" ]
	! grep -qF "$(cat "$tmp/state/key" | od -An -tx1 | tr -d ' \n')" "$mine"
}

test_without_a_key_a_run_is_measured_all_the_same() {
	echo x >"$tmp/file"
	CULPRIT_STATE=$tmp/file/no run sim --analyze cpistack -o "$tmp/n.culprit" -- "$GUESTS/answers" exit 0
	status_is 0
	run stack "$tmp/n.culprit"
	status_is 0
	err_has "--trust"
}

test_a_replayed_trace_of_ones_own_is_trusted_and_a_changed_one_is_not() {
	run sim --machine eyerman2006 --analyze cpistack --max-insts 20k --trace "$tmp/t.trace" -o "$tmp/t.culprit" -- \
		"$GUESTS/answers" exit 0
	run replay "$tmp/t.trace" --analyze cpistack -o "$tmp/r.culprit"
	status_is 0
	run stack "$tmp/r.culprit" --simulator "$tmp/counting"
	status_is 0
	[ "$(calls)" = 12 ] || fail "not 12 simulations"
	rm "$tmp/calls"
	CULPRIT_STATE=$tmp/another run stack "$tmp/r.culprit" --simulator "$tmp/counting" --again
	[ -z "$(calls)" ] || fail "it was simulated"
}

# The folders that the profile names do not matter: all that a simulation writes is thrown away.
test_trusted_or_not_a_simulation_is_confined() {
	mkdir -p "$tmp/victim"
	echo kept >"$tmp/victim/file"
	sleep 300 &
	local victim=$!
	cp "$mine" "$tmp/h.culprit"
	sql "$tmp/h.culprit" "UPDATE run SET value = '[\"$GUESTS/attempts\",\"write=$tmp/victim/file\",\"remove=$tmp/victim/file\",
		\"write=$tmp/work/new\",\"write=$tmp/victim/new\",\"chmod=$tmp/victim\",\"kill=$victim\",\"detour=$tmp/victim/new\"]'
		WHERE key = 'argv';
		DELETE FROM run WHERE key = 'max_insts';
		UPDATE run SET value = '/' WHERE key = 'cwd';
		UPDATE run SET value = '{\"read\":[],\"changed\":[\"/x\"],\"made\":[\"$tmp/victim/file\"]}' WHERE key = 'files';
		INSERT INTO run VALUES ('sandbox', 1), ('allow_read', '[\"/\"]'), ('allow_write', '[\"$tmp/victim\"]')"
	stat -c '%n %a %u %Y %s' "$tmp/victim" "$tmp/victim/file" >"$tmp/before"
	run stack "$tmp/h.culprit" --trust --simulator "$tmp/counting"
	[ "$(calls)" = 12 ] || fail "not 12 simulations"
	rm "$tmp/calls"
	stat -c '%n %a %u %Y %s' "$tmp/victim" "$tmp/victim/file" >"$tmp/after"
	cmp "$tmp/before" "$tmp/after" || fail "a simulation changed something"
	[ "$(ls "$tmp/victim")" = file ] || fail "a simulation wrote something"
	[ ! -e "$tmp/work/new" ] || fail "a simulation wrote something"
	kill -0 $victim || fail "a simulation sent a signal"
	kill $victim
}

run_tests
