#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A guest that attacks the memory of culprit itself: through holes in its address space, by using up all the mappings
# that the host allows, and through generated code.
. "$(dirname "$0")/lib.sh"
needs_guests

cd "$tmp"
holes=$GUEST_PROGRAMS/holes.rv
maps=$GUEST_PROGRAMS/maps.rv

# The modes: functional with generated code, functional without it, and timed.
modes=("--functional" "--functional --interpreter" "-o x.culprit")
in_each_mode() {
	local mode
	for mode in "${modes[@]}"; do
		rm -f x.culprit
		run sim $mode -- "$@"
		[ "$status" = 0 ] || fail "$mode: exit status is $status"
		cat out
	done >all
}

test_970_a_failed_mmap_leaves_no_hole() {
	in_each_mode "$holes" mmap
	[ "$(sort -u all)" = "after a failed mmap: nothing to see" ] || fail "$(cat all)"
}

test_971_a_child_has_no_hole_where_it_does_not_inherit() {
	in_each_mode "$holes" fork
	[ "$(sort -u all)" = "in a child that does not inherit it: nothing to see" ] || fail "$(cat all)"
	run sim --children simulated -o y.culprit -- "$holes" fork
	status_is 0
	out_is "in a child that does not inherit it: nothing to see"
}

test_972_a_mapping_that_moves_leaves_no_hole() {
	in_each_mode "$holes" mremap
	[ "$(sort -u all)" = "behind a mapping that moved: nothing to see" ] || fail "$(cat all)"
}

# The guest is refused with ENOMEM, at the same place in every mode, and lives on; culprit writes its store.
uses_up_mappings() {
	local modes=("--functional" "-o x.culprit")
	in_each_mode "$maps" "$1"
	[ "$(sort -u all | wc -l)" = "$2" ] || fail "modes differ: $(cat all)"
	[ "$(grep -c 'refused with ENOMEM after' all)" -ge 2 ] || fail "never refused: $(cat all)"
	! grep 'refused with' all | grep -v ENOMEM || fail "refused with something else"
	[ "$(grep -cx 'mapped again: 1' all)" = 2 ] || fail "did not live on: $(cat all)"
	run report x.culprit
	status_is 0
}

test_973_pages_with_other_rights_use_up_the_guests_mappings_and_not_culprits() {
	uses_up_mappings protection 3
}

test_974_so_do_pages_that_the_host_does_not_join() {
	uses_up_mappings filling 4
}

test_975_and_pages_that_are_taken_away_between_others() {
	uses_up_mappings unmapping 3
}

test_976_and_pages_that_a_child_does_not_inherit() {
	uses_up_mappings forking 4
	[ "$(grep -cx 'the child ended with 3' all)" = 2 ] || fail "the child did not run: $(cat all)"
}

test_977_no_mapping_of_the_process_is_writable_and_executable() {
	mkfifo in
	"$CULPRIT" sim --functional -- "$holes" wait <in >out 2>err &
	local pid=$! i
	exec 9>in
	for i in $(seq 300); do
		! grep -q ready out || break
		sleep 0.1
	done
	cp "/proc/$pid/maps" maps
	echo >&9
	exec 9>&-
	wait "$pid" || fail "the guest failed"
	grep -q ready out || fail "the guest was not ready"
	! grep -E '^[^ ]+ .?.?wx' maps || fail "writable and executable"
	if [ "$(uname -m)" = x86_64 ]; then
		[ "$(grep -cE '^[^ ]+ r-xs .*culprit-code' maps)" = 1 ] || fail "no generated code: $(cat maps)"
		[ "$(grep -cE '^[^ ]+ rw-s .*culprit-code' maps)" = 1 ] || fail "no place to write it: $(cat maps)"
	fi
	# The reservation: the adjacent mappings around the guest's program, none of them code.
	python3 - maps <<-'END'
		import sys
		groups = []
		for line in open(sys.argv[1]):
		    fields = line.split()
		    start, end = (int(x, 16) for x in fields[0].split("-"))
		    if not groups or groups[-1][-1][1] != start:
		        groups.append([])
		    groups[-1].append((start, end, fields[1], line))
		whole = [g for g in groups if any("holes.rv" in m[3] for m in g)]
		assert len(whole) == 1, "no reservation"
		low = next(i for i, m in enumerate(whole[0]) if m[2] == "---p")
		high = max(i for i, m in enumerate(whole[0]) if m[2] == "---p")
		inside = whole[0][low:high + 1]
		assert inside[-1][1] - inside[0][0] == (1 << 38) + (128 << 10), inside[-1][1] - inside[0][0]
		for m in inside:
		    assert "x" not in m[2] and "culprit-code" not in m[3], m[3]
	END
}

run_tests
