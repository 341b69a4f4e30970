#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A disk that is really full: a small tmpfs in a mount namespace of its own. Whichever file is being written, one line
# names it and the reason, the exit status is 2, and what was written can be read.

# This needs root, or a user who may create a mount namespace.
if [ -z "${FULL_DISK:-}" ]; then
	for how in "unshare -m" "unshare -rm"; do
		if $how mount -t tmpfs -o size=64k none /tmp 2>/dev/null; then
			exec $how env FULL_DISK=1 bash "$0"
		fi
	done
	echo "1..0 # SKIP no permission to mount a small tmpfs, which a full disk takes"
	exit 0
fi
. "$(dirname "$0")/lib.sh"
needs_guests

disk=$tmp/disk
mkdir "$disk"
trap 'umount -q "$disk"; rm -rf "$tmp"' EXIT
cd "$tmp"

# new_disk KIB: an empty disk of that size; removes the profile of an earlier test.
new_disk() {
	! mountpoint -q "$disk" || umount "$disk"
	mount -t tmpfs -o size="$1k" none "$disk"
	rm -f x.culprit
}

fill_disk() {
	! cat /dev/zero >"$disk/filler" 2>/dev/null
}

kib() {
	echo $(($(wc -c <"$1") / 1024))
}

# Tests that the first file is a prefix of the second.
is_prefix() {
	[ -s "$1" ] || fail "$1 is empty"
	cmp -n "$(wc -c <"$1")" "$1" "$2"
	[ "$(wc -c <"$1")" -lt "$(wc -c <"$2")" ] || fail "$1 is complete"
}

# Standard error has one line about the file and one with the run's summary (if there was one); no temporary file is
# left.
is_full() {
	local file=$1 lines=${2:-2}
	status_is 2
	err_lines "$lines"
	[ "$(grep -cF "No space left on device" "$tmp/err")" = 1 ] || fail "not one line says that the disk is full"
	grep -F "No space left on device" "$tmp/err" | grep -qF "$file" || fail "the line does not name $file"
	[ -z "$(find "$disk" -name '*.tmp')" ] || fail "temporary files are left"
}

work=(--max-insts 1M -- "$GUESTS/answers" work)
"$CULPRIT" sim --analyze csv,folded --trace whole.trace -o whole.culprit "${work[@]}" >/dev/null 2>&1 </dev/null
"$CULPRIT" sim --analyze committed --param trace=few.trace -o few.culprit "${work[@]}" >/dev/null 2>&1 </dev/null

test_a_cut_trace_can_be_salvaged() {
	local workers
	for workers in 0 2; do
		new_disk $(($(kib whole.trace) - 8))
		run sim --workers $workers --analyze none --trace disk/x.trace -o x.culprit "${work[@]}"
		is_full disk/x.trace
		err_has --salvage
		[ ! -e x.culprit ] || fail "a store of half a run was written"
		run replay disk/x.trace --analyze csv --param csv=x.csv -o x.culprit
		refuses --salvage
		run replay disk/x.trace --salvage --analyze csv,profile --param csv=x.csv -o x.culprit
		status_is 0
		is_prefix x.csv answers.csv
		run report x.culprit
		status_is 0
		rm x.culprit
	done
}

test_a_cut_trace_of_committed_instructions_can_be_salvaged() {
	new_disk $(($(kib few.trace) - 8))
	run sim --analyze committed --param trace=disk/x.trace -o x.culprit "${work[@]}"
	is_full disk/x.trace
	run replay disk/x.trace --salvage --analyze csv --param csv=x.csv -o x.culprit
	status_is 0
	is_prefix x.csv answers.csv
}

test_a_trace_of_which_nothing_is_whole_is_not_left_behind() {
	new_disk 16
	run sim --analyze none --trace disk/x.trace -o x.culprit "${work[@]}"
	is_full disk/x.trace
	! grep -q salvage "$tmp/err" || fail "promises what is not there"
	[ -z "$(ls disk)" ] || fail "something is left: $(ls disk)"
}

test_a_run_that_cannot_go_on_says_so() {
	new_disk 300
	run sim --analyze csv --param csv=disk/x.csv -o x.culprit "${work[@]}"
	is_full disk/x.csv
	grep -qE '^culprit: [0-9,]+ instructions, .*, stopped because an analysis failed$' "$tmp/err" ||
		fail "the summary gives another reason"
}

test_a_cut_csv_has_whole_lines() {
	local size
	for size in 4 300 1000; do
		new_disk $size
		run sim --analyze csv --param csv=disk/x.csv -o x.culprit "${work[@]}"
		is_full disk/x.csv
		is_prefix disk/x.csv answers.csv
		[ -z "$(tail -c 1 disk/x.csv)" ] || fail "the last line is cut"
		# The file fills the disk, but for the line that was being written.
		[ "$(kib disk/x.csv)" -ge $((size - 1)) ] || fail "only $(kib disk/x.csv) of $size KiB are there"
	done
}

test_cut_folded_stacks_have_whole_lines() {
	new_disk 4
	run sim --analyze folded --param folded=disk/x.folded -o x.culprit "${work[@]}"
	is_full disk/x.folded
	is_prefix disk/x.folded answers.folded
	[ -z "$(tail -c 1 disk/x.folded)" ] || fail "the last line is cut"
	[ ! -e x.culprit ] || fail "a store was written though its run failed"
}

test_a_store_that_does_not_fit_is_not_left_behind_and_costs_no_trace() {
	new_disk $(($(kib whole.culprit) / 2))
	run sim --trace other.trace -o disk/x.culprit "${work[@]}"
	is_full disk/x.culprit
	[ -z "$(ls disk)" ] || fail "something is left: $(ls disk)"
	run replay other.trace --analyze csv --param csv=other.csv -o other.culprit
	status_is 0
	cmp other.csv answers.csv
}

test_a_store_that_a_replay_cannot_write_is_not_left_behind() {
	new_disk $(($(kib whole.culprit) / 2))
	run replay whole.trace -o disk/x.culprit
	is_full disk/x.culprit 1
	[ -z "$(ls disk)" ] || fail "something is left: $(ls disk)"
	run replay whole.trace -o disk/x.culprit --start inst:1 --stop inst:2 --analyze null
	[ "$status" = 0 ] || is_full disk/x.culprit 1
}

test_an_older_store_survives_a_full_disk() {
	new_disk $(($(kib whole.culprit) * 5 / 4))
	cp whole.culprit disk/x.culprit
	run replay whole.trace -o disk/x.culprit
	is_full disk/x.culprit 1
	cmp whole.culprit disk/x.culprit
}

test_a_disk_without_any_room_is_seen_at_once() {
	new_disk 8
	fill_disk
	run sim --analyze none --trace disk/x.trace -o x.culprit "${work[@]}"
	is_full disk/x.trace 1
	run sim -o disk/x.culprit "${work[@]}"
	is_full disk/x.culprit 1
	run replay whole.trace -o disk/x.culprit
	is_full disk/x.culprit 1
	run sim --functional --summary-json disk/x.json "${work[@]}"
	is_full disk/x.json
	run export whole.trace -o disk/x.kanata
	is_full disk/x.kanata 1
}

# The path is a link to a device: what is not a plain file must be written in place, never replaced.
test_a_device_is_written_not_replaced() {
	ln -sf /dev/full device
	run sim --functional --summary-json device "${work[@]}"
	is_full device
	run sim --analyze csv --param csv=device -o x.culprit "${work[@]}"
	is_full device
	run sim --analyze folded --param folded=device -o x.culprit "${work[@]}"
	is_full device
	run sim --analyze none --trace device -o x.culprit "${work[@]}"
	is_full device 1
	run sim -o device "${work[@]}"
	refuses device "not a file"
	[ "$(readlink device)" = /dev/full ] && [ -c /dev/full ] || fail "the device has been replaced"
	mkfifo pipe
	cat pipe >through.csv &
	run sim --analyze csv --param csv=pipe -o x.culprit "${work[@]}"
	status_is 0
	wait
	cmp through.csv answers.csv
	[ -p pipe ] || fail "the pipe has been replaced"
}

test_views_say_that_standard_output_is_full() {
	local words
	"$CULPRIT" sim -o view.culprit "${work[@]}" >/dev/null 2>&1 </dev/null
	for words in "report view.culprit" "report --json view.culprit" "annotate view.culprit" \
		"accuracy view.culprit" "stats view.culprit view.culprit" "diff view.culprit view.culprit" \
		"pipeline whole.trace" "export whole.trace" "machines" "list" "help sim" "sim --help"; do
		status=0
		"$CULPRIT" $words >/dev/full 2>err </dev/null || status=$?
		[ $status = 2 ] || fail "$words: exit status is $status, not 2"
		[ "$(cat err)" = "culprit: cannot write to standard output: No space left on device" ] ||
			fail "$words: says $(cat err)"
	done
}

run_tests
