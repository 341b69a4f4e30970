#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs repeat byte for byte: profiles (except how long the host took) and traces, for any number of workers. Where a
# listed folder has changed since the run, the commands name it.
. "$(dirname "$0")/lib.sh"
needs_guests

cd "$tmp"
export CULPRIT_CACHE=$tmp/cache
everything=profile,cpistack,icost,shotgun,csv,folded,null
workloads=$(dirname "$CULPRIT")/../workloads

# Runs a program with all analyses and a trace, for each number of workers, and compares all that was written.
same_bytes() {
	local workers name
	for workers in 1 2 3 4 1; do
		rm -rf made.txt
		"$CULPRIT" sim --workers $workers --analyze $everything --trace now.trace -o now.culprit --param csv=now.csv \
			--param folded=now.folded "$@" >now.out 2>now.err </dev/null || true
		for name in now.trace now.csv now.folded now.out; do
			[ ! -e "first.$name" ] || cmp "first.$name" "$name"
		done
		[ ! -e first.culprit ] || same_store first.culprit now.culprit
		for name in now.trace now.csv now.folded now.out; do cp "$name" "first.$name"; done
		cp now.culprit first.culprit
	done
	rm -f first.*
}

test_a_suite_program_repeats_byte_for_byte() { same_bytes --max-insts 60k -- "$workloads/quicksort" 200; }
test_threads_repeat_byte_for_byte() { same_bytes --max-insts 60k -- "$workloads/threads"; }
test_a_program_that_writes_files_repeats_byte_for_byte() { same_bytes -- "$GUESTS/answers" make made.txt; }
test_a_program_that_lists_its_folder_repeats_byte_for_byte() {
	local n
	mkdir -p folder traces && cd folder
	for n in 1 2 3; do
		"$CULPRIT" sim --workers $n --analyze profile,csv,folded --trace x.trace -- "$GUESTS/answers" list . >../listed.txt 2>/dev/null \
			</dev/null
		cp x.trace ../traces/$n.trace
		cp answers.culprit ../traces/$n.culprit
	done
	! grep -q answers ../listed.txt || fail "it lists what culprit writes"
	cmp ../traces/1.trace ../traces/2.trace
	cmp ../traces/1.trace ../traces/3.trace
	same_store ../traces/1.culprit ../traces/3.culprit
}
test_committed_traces_repeat_byte_for_byte() {
	local n
	for n in 1 2; do
		"$CULPRIT" sim --workers $n --analyze none --trace $n.trace --trace-records committed -- "$GUESTS/answers" work 5000 \
			>/dev/null 2>&1 </dev/null
	done
	cmp 1.trace 2.trace
}

test_forked_processes_repeat_byte_for_byte() {
	local n kind suffix
	for n in 1 2 3; do
		mkdir -p "fork$n" work
		(cd work && "$CULPRIT" sim --children simulated --workers $n --analyze profile,cpistack --trace x.trace -o x.culprit -- \
			"$GUESTS/answers" family >out 2>err </dev/null) || true
		mv work/* "fork$n/"
	done
	for suffix in "" .1 .1.1 .2; do
		cmp "fork1/x.trace$suffix" "fork2/x.trace$suffix"
		cmp "fork1/x.trace$suffix" "fork3/x.trace$suffix"
		same_store "fork1/x.culprit$suffix" "fork2/x.culprit$suffix"
		same_store "fork1/x.culprit$suffix" "fork3/x.culprit$suffix"
	done
}

# The guest does not see the order of the host's file system; offsets from telldir stay valid.
test_folders_are_listed_in_the_order_of_their_names() {
	mkdir -p many
	(cd many && seq 1 700 | shuf --random-source=<(yes) | xargs touch)
	run sim --functional -- "$GUESTS/answers" list many
	status_is 0
	head -n -1 out | cmp - <(printf '.\n..\n'; LC_ALL=C ls many)
	[ "$(tail -1 out | cut -d' ' -f1)" = $((700 + 702)) ] || fail "seekdir or rewinddir went elsewhere: $(tail -1 out)"
}

test_what_culprit_writes_is_not_in_the_guests_folders() {
	mkdir -p own && cd own
	run sim --analyze null --trace a.trace -o a.culprit --summary-json a.json -- "$GUESTS/answers" list .
	[ "$(head -n -1 "$tmp/out")" = "$(printf '.\n..')" ] || fail "there is something"
	run sim --analyze null --trace a.trace -o a.culprit --summary-json a.json -- "$GUESTS/answers" list .
	[ "$(head -n -1 "$tmp/out")" = "$(printf '.\n..')" ] || fail "the second run finds something"
}

# One line names the folder, and what appeared or vanished there.
test_a_folder_that_changed_is_named_with_what_appeared() {
	mkdir -p listed/folder
	touch listed/a listed/b
	run sim --machine eyerman2006 --analyze cpistack,icost -o l.culprit -- "$GUESTS/answers" list listed
	run stack l.culprit --json
	status_is 0
	touch listed/new
	run stack l.culprit --json
	status_is 1
	grep -F "does not repeat" err | grep -F "'$tmp/listed'" | grep -qF "has gained 'new'" || fail "not said"
	run icost l.culprit --multisim --json
	status_is 1
	err_has "has gained 'new'"
	rm listed/a
	mkdir listed/more
	run stack l.culprit --json
	err_has "has gained 'more/', 'new' and has lost 'a'"
	rm -r listed/new listed/more
	touch listed/a
	run stack l.culprit --json
	status_is 0
}

# The shell creates the output file before the run lists the folder; the profile appears after that.
test_the_own_folder_listed_into_a_file_repeats() {
	mkdir -p here && cd here
	"$CULPRIT" sim --machine eyerman2006 --analyze cpistack -- "$GUESTS/answers" list . >list.txt 2>/dev/null </dev/null
	grep -qx list.txt list.txt
	run stack answers.culprit --json
	status_is 0
}

# A file that a forked process creates is in the next run's way just like one of the first process.
test_what_children_make_and_list_is_known() {
	sysroot=${CULPRIT_SYSROOT:-$ROOT/build/sysroot}
	[ -e "$sysroot/usr/bin/busybox" ] || skip "no busybox in $sysroot"
	mkdir -p child && cd child
	run sim --sysroot "$sysroot" --fast-forward 10M -- /usr/bin/busybox sh -c '(echo a >made; ls /); true'
	python3 - <<-END
		import json, sqlite3
		run = dict(sqlite3.connect("busybox.culprit").execute("SELECT key, value FROM run"))
		assert "$tmp/child/made" in json.loads(run["files"])["made"], run["files"]
		assert any(f["path"] == "$sysroot" for f in json.loads(run["folders"])), run["folders"]
	END
}

run_tests
