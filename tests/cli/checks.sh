#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The checks of the source itself: they pass on the tree as it is, and fail on what they are made to find.
. "$(dirname "$0")/lib.sh"

# A small source tree with one file in it: tree PATH TEXT
tree() {
	rm -rf "$tmp/src"
	mkdir -p "$tmp/src/util" "$tmp/src/guest" "$tmp/src/core" "$tmp/src/analysis"
	touch "$tmp/src/util/util.h" "$tmp/src/guest/guest.h" "$tmp/src/core/core.h"
	mkdir -p "$(dirname "$tmp/src/$1")"
	printf '%s\n' "$2" >"$tmp/src/$1"
}
layers() {
	status=0
	"$ROOT/scripts/check-layers" "$tmp/src" >"$tmp/out" 2>&1 || status=$?
}
headers() {
	status=0
	"$ROOT/scripts/check-headers" "$tmp/src" >"$tmp/out" 2>&1 || status=$?
}

test_the_sources_keep_their_layers() {
	"$ROOT/scripts/check-layers"
}

test_a_lower_layer_may_be_included() {
	tree core/a.c '#include "guest/guest.h"'
	layers
	status_is 0
}

test_a_higher_layer_may_not() {
	tree util/a.c '#include "guest/guest.h"'
	layers
	status_is 1
	out_has "util/a.c:1: util must not include"
}

test_an_analysis_may_not_include_the_core() {
	tree analysis/a.c '  #  include "core/core.h"'
	layers
	status_is 1
}

test_an_include_must_be_relative_to_src() {
	tree guest/a.c '#include "guest.h"'
	layers
	status_is 1
	out_has "is not a path from src/"
}

test_a_folder_must_be_in_the_table() {
	tree newfolder/a.c ''
	layers
	status_is 1
	out_has "newfolder"
}

# A tree with one page and one function: page TEXT
page() {
	rm -rf "$tmp/tree"
	mkdir -p "$tmp/tree/src/core" "$tmp/tree/docs" "$tmp/tree/include"
	echo 'int lsu_load(void);' >"$tmp/tree/src/core/lsu.h"
	touch "$tmp/tree/README.md" "$tmp/tree/CONTRIBUTING.md"
	printf '%s\n' "$1" >"$tmp/tree/docs/page.md"
	status=0
	"$ROOT/scripts/check-docs" "$tmp/tree" >"$tmp/out" 2>&1 || status=$?
}

test_1100_the_pages_name_files_and_functions_that_exist() {
	"$ROOT/scripts/check-docs"
	page 'A load begins in `lsu_load()` (`core/lsu.h`).'
	status_is 0
}

test_1101_a_page_that_names_a_missing_file_or_function_fails() {
	page 'It is in `core/gone.c`.'
	status_is 1
	out_has "docs/page.md:1: there is no file core/gone.c"
	page 'It is `lsu_gone()`.'
	status_is 1
	out_has "there is no function lsu_gone()"
}

test_1102_a_line_of_a_page_has_120_columns_at_most() {
	page "$(printf 'a%.0s' {1..121})"
	status_is 1
	out_has "121 columns"
	page "$(printf '\n    a%.0s' {1..3})$(printf 'b%.0s' {1..200})"
	status_is 0
}

test_a_header_that_needs_another_fails() {
	tree util/a.h 'extern uint32_t a;'
	headers
	[ $status != 0 ]
	out_has "util/a.h does not compile alone"
}

test_a_header_that_includes_what_it_needs_passes() {
	tree util/a.h '#include <stdint.h>
extern uint32_t a;'
	headers
	status_is 0
}

# A small tree of tests: numbers FILE TEXT [FILE TEXT]…, checked.
numbers() {
	rm -rf "$tmp/tree"
	while [ $# -gt 0 ]; do
		mkdir -p "$(dirname "$tmp/tree/$1")"
		printf '%s\n' "$2" >"$tmp/tree/$1"
		shift 2
	done
	status=0
	"$ROOT/scripts/check-tests" "$tmp/tree" >"$tmp/out" 2>&1 || status=$?
}

test_a_number_names_one_test_in_the_tree() {
	"$ROOT/scripts/check-tests"
}

test_a_number_that_names_two_tests_is_found_in_every_language() {
	local c='static void test_100_a_is_b(void **state)' sh='test_100_c_is_d() {' py='def test_100_e_is_f():'
	numbers tests/unit/a.c "$c" tests/unit/b.c "${c//100/101}"
	status_is 0
	numbers tests/unit/a.c "$c" tests/cli/b.sh "$sh"
	status_is 1
	out_has "tests/unit/a.c:1: test 100 is also in tests/cli/b.sh:1"
	numbers tests/cli/a.sh "$sh" tests/golden/b.py "$py"
	status_is 1
	numbers tests/unit/a.c "$c
$c"
	status_is 1
	out_has "tests/unit/a.c:2: test 100 is also in tests/unit/a.c:1"
}

test_two_tests_of_one_name_in_a_file_are_found() {
	numbers tests/cli/a.sh $'test_a_is_b() {\n}\ntest_a_is_b() {' tests/cli/b.sh 'test_100_c_is_d() {'
	status_is 1
	out_has "tests/cli/a.sh:3: test_a_is_b is also in tests/cli/a.sh:1"
}

test_a_page_that_names_a_test_that_is_not_there_is_found() {
	numbers tests/cli/a.sh 'test_100_a_is_b() {' docs/a.md 'It holds (test 100).'
	status_is 0
	numbers tests/cli/a.sh 'test_100_a_is_b() {' docs/a.md 'It holds (test 101).'
	status_is 1
	out_has "docs/a.md:1: there is no test 101"
}

test_tests_that_are_not_found_at_all_are_noticed() {
	numbers tests/cli/a.sh 'something_else() {'
	status_is 1
}

# The machine of this test is a root folder of its own.
test_a_changed_machine_is_noticed() {
	local root=$tmp/root change
	for change in 'chmod 600 etc/passwd' 'chmod 700 tmp' 'echo x >>etc/hosts' 'echo x >etc/ld.so.preload' 'chmod 777 dev' \
		'mkdir dev/new' 'rm dev/link' 'rm etc/group' 'ln -sf x dev/link; mv dev/link dev/other'; do
		rm -rf "$root"
		mkdir -p "$root"/{etc,dev,tmp,usr/bin}
		touch "$root"/etc/{passwd,group,hosts}
		ln -s null "$root/dev/link"
		"$ROOT/scripts/machine-state" "$root" >"$tmp/before"
		"$ROOT/scripts/machine-state" "$root" >"$tmp/after"
		cmp "$tmp/before" "$tmp/after"
		(cd "$root" && eval "$change")
		"$ROOT/scripts/machine-state" "$root" >"$tmp/after"
		! cmp -s "$tmp/before" "$tmp/after" || fail "it does not notice: $change"
	done
	[ "$(id -u)" = 0 ] || return 0
	"$ROOT/scripts/machine-state" "$root" >"$tmp/before"
	chown 4321 "$root/etc/passwd"
	"$ROOT/scripts/machine-state" "$root" >"$tmp/after"
	! cmp -s "$tmp/before" "$tmp/after" || fail "it does not notice another owner"
}

run_tests
