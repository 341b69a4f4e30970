#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Names of C++ functions, in live profiles and in runs. The program is C: its functions have the names by which a C++
# compiler would call them.
. "$(dirname "$0")/lib.sh"

program() {
	cat >"$tmp/shapes.c" <<-'END'
		#include <stdint.h>
		#define STEP(n) x = (x ^ x >> n) * 0x9e3779b97f4a7c15u; __asm__ volatile("" : "+r"(x))
		uint64_t area(uint64_t n) __asm__("_ZN5shape4areaEm");
		uint64_t plain_sum(uint64_t n);
		__attribute__((noinline)) uint64_t area(uint64_t n)
		{
			uint64_t x = n;
			for (uint64_t i = 0; i < n; i++) {
				STEP(7);
			}
			return x;
		}
		__attribute__((noinline)) uint64_t plain_sum(uint64_t n)
		{
			uint64_t x = n;
			for (uint64_t i = 0; i < n; i++) {
				STEP(5);
			}
			return x;
		}
		int main(int argc, char **argv)
		{
			uint64_t x = 0;
			for (int i = 0; i < ROUNDS; i++)
				x += area(100000) + plain_sum(50000);
			return x == 1;
		}
	END
}

readable() {
	run report "$1"
	status_is 0
	out_has "shape::area"
	out_has "plain_sum"
	! grep -q '_ZN' "$tmp/out" || fail "a mangled name"
	run report "$1" --raw-names
	status_is 0
	out_has "_ZN5shape4areaEm"
	run annotate "$1" shape::area
	status_is 0
	out_has "shape::area"
	run annotate "$1" --raw-names _ZN5shape4areaEm
	status_is 0
}

test_2770_live_profiles_have_readable_names() {
	run record -o "$tmp/may.culprit" -- true
	[ "$status" = 0 ] || skip "cannot sample here"
	program
	cc -O1 -g -DROUNDS=1500 "$tmp/shapes.c" -o "$tmp/shapes"
	run record --rate 2000 -o "$tmp/live.culprit" -- "$tmp/shapes"
	status_is 0
	run report "$tmp/live.culprit"
	readable "$tmp/live.culprit"
}

test_2771_runs_have_readable_names() {
	needs_guests
	program
	riscv64-linux-gnu-gcc -O1 -g -static -DROUNDS=1 "$tmp/shapes.c" -o "$tmp/shapes"
	run sim -o "$tmp/run.culprit" "$tmp/shapes"
	status_is 0
	readable "$tmp/run.culprit"
	# What calls it has the readable name, too.
	run annotate "$tmp/run.culprit" main
	status_is 0
	out_has "<shape::area>"
	run diff "$tmp/run.culprit" "$tmp/run.culprit"
	status_is 0
	! grep -q '_ZN' "$tmp/out" || fail "a mangled name"
}

# A program without symbols, $tmp/run/a; the profile of it in $tmp/run/bare.culprit, and that of the same program with
# symbols in whole.culprit; its debug file in $tmp/found by name and in $tmp/by-id by build-id.
stripped() {
	local id objcopy=riscv64-linux-gnu-objcopy each
	[ ! -f "$tmp/run/bare.culprit" ] || return 0
	program
	mkdir -p "$tmp/run" "$tmp/found" "$tmp/whole"
	riscv64-linux-gnu-gcc -O1 -g -static -DROUNDS=1 "$tmp/shapes.c" -o "$tmp/whole/a"
	$objcopy --only-keep-debug "$tmp/whole/a" "$tmp/found/a.dbg"
	$objcopy --strip-all --add-gnu-debuglink="$tmp/found/a.dbg" "$tmp/whole/a" "$tmp/a.bare"
	id=$(riscv64-linux-gnu-readelf -n "$tmp/a.bare" | sed -n 's/.*Build ID: //p')
	mkdir -p "$tmp/by-id/.build-id/${id:0:2}"
	cp "$tmp/found/a.dbg" "$tmp/by-id/.build-id/${id:0:2}/${id:2}.debug"
	cd "$tmp/run" # the path is an input of the run
	for each in whole bare; do
		cp "$tmp/whole/a" a
		[ $each = whole ] || cp "$tmp/a.bare" a
		"$CULPRIT" sim --analyze profile,cpistack,icost,calls -o $each.culprit -- ./a
	done
	echo "$id" >"$tmp/id"
}

# The names and lines of a profile, instruction by instruction, and its functions.
names_of() {
	"$CULPRIT" report "$@" --json | python3 -c '
import json, sys
for i in sorted(json.load(sys.stdin)["instructions"], key=lambda i: i["pc"]):
    print({k: i[k] for k in ("pc", "symbol", "source", "disasm", "cycles", "stack") if k in i})'
	"$CULPRIT" export "$@" -f folded --exact | sort
}

test_4760_a_program_without_symbols_gets_its_names_from_a_folder_of_debug_files() {
	needs_guests
	local before way
	stripped
	before=$(sha256sum <"$tmp/run/bare.culprit")
	run report "$tmp/run/bare.culprit"
	status_is 0
	! grep -q 'shape::area' "$tmp/out" || fail "it is not stripped"
	names_of "$tmp/run/whole.culprit" >"$tmp/whole.txt"
	grep -q 'shapes.c' "$tmp/whole.txt" || fail "the program itself has no lines"
	for way in found by-id; do
		names_of "$tmp/run/bare.culprit" --debug "$tmp/$way" >"$tmp/again.txt"
		diff "$tmp/whole.txt" "$tmp/again.txt" >"$tmp/out" || fail "$way: other names than those of the program with symbols"
	done
	[ "$before" = "$(sha256sum <"$tmp/run/bare.culprit")" ] || fail "the profile was changed"
}

test_4761_every_view_takes_names_from_debug_files() {
	needs_guests
	local view
	stripped
	cd /
	for view in report "annotate" "stack --by function" "icost --json" stats "export -f folded" "export -f pprof -o $tmp/x.pb.gz" \
		"export -f speedscope" "accuracy" "report --raw-names"; do
		set -- $view
		run "$1" "$tmp/run/bare.culprit" "${@:2}" --debug "$tmp/found"
		status_is 0
		[ ! -s "$tmp/err" ] || fail "$view says something"
		case $view in
		accuracy | *pb.gz) ;;
		*) grep -qE 'shape::area|_ZN5shape4areaEm' "$tmp/out" || fail "$view has no name" ;;
		esac
	done
	run diff "$tmp/run/bare.culprit" "$tmp/run/whole.culprit" --debug "$tmp/found" --limit 1000
	status_is 0
	out_has "shape::area"
	! grep -q ' - ' "$tmp/out" || fail "a function of one that the other does not have"
	run html "$tmp/run/bare.culprit" --debug "$tmp/found" --source none -o "$tmp/page.html"
	status_is 0
	run html "$tmp/run/bare.culprit" --source none -o "$tmp/bare.html"
	! cmp -s "$tmp/page.html" "$tmp/bare.html" || fail "the page has no names"
}

test_4762_a_report_says_where_debug_files_were_looked_for() {
	needs_guests
	stripped
	run report "$tmp/run/bare.culprit" --width 200
	status_is 0
	out_has "100% of it in code without symbols"
	out_has "looked for in the binaries' own folders, /usr/lib/debug; --debug DIR looks for"
	out_has ".build-id/$(sed 's/^\(..\)/\1\//' "$tmp/id").debug (a) in DIR"
	# In a sysroot a file has another path than the program knows it by.
	cp "$tmp/run/bare.culprit" "$tmp/other.culprit"
	sqlite3 "$tmp/other.culprit" "UPDATE image SET name = '/usr/bin/other'"
	run report "$tmp/other.culprit" --width 200
	out_has ".build-id/$(sed 's/^\(..\)/\1\//' "$tmp/id").debug (other) in DIR"
	mkdir -p "$tmp/empty"
	run report "$tmp/run/bare.culprit" --width 200 --debug "$tmp/empty"
	status_is 0
	out_has "looked for in $tmp/empty, the binaries' own folders"
	err_has "no debug file there belongs to a binary of"
	run report "$tmp/run/bare.culprit" --json --debug "$tmp/found"
	status_is 0
	out_has "\"$(cat "$tmp/id")\""
	run report "$tmp/run/bare.culprit" --debug "$tmp/found"
	! grep -q 'Debug files were looked' "$tmp/out" || fail "it asks for files that it has"
}

test_4763_debug_files_that_do_not_belong_are_not_used() {
	needs_guests
	stripped
	run report "$tmp/run/bare.culprit" --debug "$tmp/nowhere"
	refuses "cannot look for debug files in $tmp/nowhere" "No such file"
	run report "$tmp/run/bare.culprit" --debug "$tmp/found/a.dbg"
	refuses "not a folder"
	# The name is right, the build is another one.
	mkdir -p "$tmp/wrong"
	riscv64-linux-gnu-gcc -O0 -g -static -DROUNDS=2 "$tmp/shapes.c" -o "$tmp/wrong/a"
	riscv64-linux-gnu-objcopy --only-keep-debug "$tmp/wrong/a" "$tmp/wrong/a.dbg"
	run report "$tmp/run/bare.culprit" --debug "$tmp/wrong"
	status_is 0
	err_has "no debug file there belongs"
	# The program is another one now.
	cp "$tmp/run/a" "$tmp/kept"
	cp "$tmp/wrong/a" "$tmp/run/a"
	run report "$tmp/run/bare.culprit" --debug "$tmp/found"
	status_is 0
	err_has "/run/a was changed since the profile was made"
	rm "$tmp/run/a"
	run report "$tmp/run/bare.culprit" --debug "$tmp/found"
	status_is 0
	err_has "/run/a cannot be read"
	mv "$tmp/kept" "$tmp/run/a"
	# Two folders: the first that has it counts; one without it does no harm.
	run report "$tmp/run/bare.culprit" --debug "$tmp/wrong" --debug "$tmp/found"
	status_is 0
	out_has "shape::area"
}

run_tests
