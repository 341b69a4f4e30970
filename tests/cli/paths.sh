#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What a guest can name: a /proc, /sys and /dev of its own, and files that are its user's.
#
# Hostile guests run in a cage: as nobody, or as the ordinary user that runs this, in namespaces of their
# own for users, mounts, processes and the network, with a /proc that shows only the cage.
. "$(dirname "$0")/lib.sh"
needs_guests

chmod 755 "$tmp"

# cage root|user COMMAND: in the cage COMMAND runs as root of the cage, or as user 1001 of it. $place is a
# folder of its own, $place/bind a second mount of the cage's /proc.
cage() {
	local who=$1 as=() inner=()
	shift
	[ "$(id -u)" != 0 ] || as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	[ "$who" = root ] || inner=(unshare --user --map-user=1001 --map-group=1001)
	place=$tmp/cage-$who
	mkdir -p "$place/work" "$place/bind"
	chmod 777 "$place" "$place/work"
	"${as[@]}" unshare --user --map-root-user --mount --pid --fork --net bash -c '
		set -e
		mount -t proc proc /proc
		mount --bind /proc "$1/bind"
		cd "$1/work"
		shift
		exec "$@"' bash "$place" "${inner[@]}" "$@"
}

can_cage() {
	cage root true 2>/dev/null && cage user true 2>/dev/null
}

# Standard input of the guest is the folder /proc of the cage. In it culprit is process 1; the guest is
# told the number of another one.
escapes() {
	local who=$1 culprit=${2:-$CULPRIT}
	status=0
	cage "$who" env CULPRIT_TEST_MARK=1 bash -c \
		'sleep 100 & exec "$1" sim --functional -- "$2" $! "$3/work" "$3/bind" </proc' \
		bash "$culprit" "$GUESTS/escape" "$tmp/cage-$who" >"$tmp/out" 2>"$tmp/err" || status=$?
}

test_955_no_spelling_reaches_the_host_for_root() {
	can_cage || skip "no namespaces here"
	escapes root
	out_has " 0 reached"
	status_is 0
}

test_956_no_spelling_reaches_the_host_for_a_user() {
	can_cage || skip "no namespaces here"
	escapes user
	out_has " 0 reached"
	status_is 0
}

# The guest prints the same lines for root, for a user and outside of the cage.
test_957_proc_and_files_are_a_guests_own_for_every_user() {
	mkdir "$tmp/own"
	run sim --functional -- "$GUESTS/picture" "$tmp/own"
	out_has " 0 failed"
	[ -z "$(ls -A "$tmp/own")" ] || fail "files are left: $(ls -A "$tmp/own")"
	can_cage || return 0
	local who
	cp "$tmp/out" "$tmp/first"
	for who in root user; do
		cage "$who" "$CULPRIT" sim --functional -- "$GUESTS/picture" "$place/work" \
			>"$tmp/out" 2>"$tmp/err" || fail "as $who"
		cmp "$tmp/first" "$tmp/out" || fail "differs as $who"
	done
}

# HOME names a folder that exists, and nothing in it tells of the host's user.
test_958_there_is_one_environment_and_what_it_names_exists() {
	run sim --functional -- "$GUESTS/answers" env
	out_is "PATH=/usr/local/bin:/usr/bin:/bin
HOME=/home/guest
LANG=C
TZ=UTC"
	[ "$(grep -rln 'HOME=/' "$ROOT/src" | wc -l)" = 1 ] || fail "a second default environment"
}

# A guest does not get a working folder or standard stream of culprit's that lies in the kernel's /proc.
test_959_a_start_in_proc_gives_no_way_into_it() {
	status=0
	(cd /proc/self && exec "$CULPRIT" sim --functional -- "$GUESTS/answers" read self/task/../mem) \
		>"$tmp/out" 2>"$tmp/err" </dev/null || status=$?
	err_has "Permission denied"
	(cd /proc/1 && exec "$CULPRIT" sim --functional -- "$GUESTS/answers" read status) \
		>"$tmp/out" 2>"$tmp/err" </dev/null || status=$?
	err_has "No such file"
	status=0
	"$CULPRIT" sim --functional -- "$GUESTS/answers" read /dev/stdin >"$tmp/out" 2>"$tmp/err" \
		</proc/version || status=$?
	err_has "closed for the guest"
	[ ! -s "$tmp/out" ] || fail "it read the host's /proc"
}

run_tests
