#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The command line as such: help, version, man pages, and every kind of wrong use.
. "$(dirname "$0")/lib.sh"

test_without_arguments_it_lists_the_commands() {
	run
	status_is 0
	out_has "  sim "
	err_lines 0
}

test_version_is_one_line() {
	run --version
	status_is 0
	grep -qE '^culprit [0-9]+\.[0-9]+\.[0-9]+$' "$tmp/out"
}

test_unknown_command_names_the_nearest() {
	run smi
	refuses "'smi'" "'sim'"
}

test_unknown_option_names_the_nearest() {
	run sim --sede=1 x
	refuses "'--sede'" "'--seed'"
}

test_wrong_choice_names_the_nearest() {
	run sim --children simulate x
	refuses "'simulated'"
}

test_bad_number_is_named() {
	run sim --max-insts many x
	refuses "--max-insts" "'many'"
}

test_missing_value_is_named() {
	run sim --sysroot
	refuses "--sysroot DIR"
}

test_missing_argument_is_named() {
	run sim --functional
	refuses "PROG"
}

test_too_many_arguments_are_named() {
	run list commands twice
	refuses "'twice'"
}

test_unknown_kind_to_list_names_the_nearest() {
	run list comands
	refuses "'commands'"
}

test_a_printed_machine_is_the_same_machine_when_read_back() {
	local name
	run machines
	status_is 0
	for name in $(awk '{ print $1 }' "$tmp/out"); do
		run machines "$name"
		status_is 0
		cp "$tmp/out" "$tmp/$name.ini"
		run machines "$tmp/$name.ini"
		status_is 0
		cmp "$tmp/$name.ini" "$tmp/out"
	done
}

test_a_machine_can_be_changed_and_mistakes_are_named() {
	run machines boom-tip --set window.rob=64
	status_is 0
	grep -qE '^rob = 64' "$tmp/out"
	run machines boom-tip --set window.rbo=64
	refuses window.rob
	run machines bom-tip
	refuses boom-tip
}

test_every_command_has_help_with_a_usage_line() {
	run list commands
	local names name
	names=$(awk '{ print $1 }' "$tmp/out")
	[ "$(wc -l <<<"$names")" -ge 3 ]
	for name in $names; do
		run "$name" --help
		status_is 0
		out_has "culprit $name"
		cp "$tmp/out" "$tmp/help"
		run help "$name"
		cmp "$tmp/help" "$tmp/out"
	done
}

test_help_fits_eighty_columns() {
	run list commands
	local name
	for name in $(awk '{ print $1 }' "$tmp/out"); do
		run help "$name"
		! awk 'length > 80 { print; found = 1 } END { exit !found }' "$tmp/out"
	done
}

test_every_command_has_a_man_page_in_the_build() {
	run list commands
	local name
	for name in $(awk '{ print "-" $1 }' "$tmp/out") ''; do
		[ -s "$BUILD_DOCS/culprit$name.1" ] || fail "no culprit$name.1 in $BUILD_DOCS"
	done
}

test_man_pages_are_clean_roff() {
	command -v man >/dev/null || skip "no man"
	local page
	for page in "$BUILD_DOCS"/*.1; do
		LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l "$page" 2>&1 >"$tmp/rendered" | tee "$tmp/warnings"
		[ ! -s "$tmp/warnings" ]
		grep -q '^NAME' "$tmp/rendered"
	done
}

test_a_man_page_has_every_option_of_its_command() {
	local option
	run help sim
	for option in $(grep -oE '^  (-., )?--[a-z-]+' "$tmp/out" | grep -oE -- '--[a-z-]+'); do
		grep -qF -- "${option//-/\\-}" "$BUILD_DOCS/culprit-sim.1" || fail "no $option"
	done
}

test_a_closed_standard_output_is_an_error() {
	local status=0
	"$CULPRIT" help >/dev/full 2>"$tmp/err" || status=$?
	[ $status = 2 ]
	err_has "standard output"
}

run_tests
