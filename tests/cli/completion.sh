#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What `culprit help --completion` makes: bash completes with it.
. "$(dirname "$0")/lib.sh"
cd "$tmp"
"$CULPRIT" help --completion bash >bash
. ./bash

# words WORD…: what bash would offer for the last word; in $COMPREPLY.
words() {
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	_culprit
}

test_1550_every_command_and_every_option_of_its_help_is_offered() {
	local name option
	words culprit ""
	for name in $("$CULPRIT" help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
		[[ " ${COMPREPLY[*]} " == *" $name "* ]] || fail "no command $name"
	done
	for name in sim report html icost; do
		words culprit "$name" --
		for option in $("$CULPRIT" "$name" --help | grep -oE '^  (-., )?--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
			[[ " ${COMPREPLY[*]} " == *" $option "* ]] || fail "$name has no $option"
		done
	done
}

test_1551_values_are_machines_analyses_events_and_files() {
	words culprit sim --machine boom
	[[ " ${COMPREPLY[*]} " == *" boom-tip "* ]] || fail "no machine: ${COMPREPLY[*]}"
	words culprit sim --analyze ic
	[ "${COMPREPLY[*]}" = icost ] || fail "no analysis: ${COMPREPLY[*]}"
	words culprit report x.culprit --event ST-LL
	[ "${COMPREPLY[*]}" = ST-LLC ] || fail "no event: ${COMPREPLY[*]}"
	words culprit export x.culprit -f ppr
	[ "${COMPREPLY[*]}" = pprof ] || fail "no format: ${COMPREPLY[*]}"
	touch one.culprit
	words culprit report one
	[ "${COMPREPLY[*]}" = one.culprit ] || fail "no file: ${COMPREPLY[*]}"
}

test_1552_functions_are_those_of_the_profile() {
	needs_guest_program
	"$CULPRIT" sim --max-insts 50000 -o run.culprit -- "$GUESTS/phases" 2 >/dev/null 2>&1
	PATH=$(dirname "$CULPRIT"):$PATH
	words culprit report run.culprit --function mai
	[[ " ${COMPREPLY[*]} " == *" main "* ]] || fail "no function: ${COMPREPLY[*]}"
}

test_1553_other_shells_get_theirs_and_unknown_ones_a_message() {
	run help --completion fish
	status_is 0
	grep -q "seen_subcommand_from html' -l trace" out
	! command -v fish >/dev/null || fish --no-execute out || fail "fish does not read it"
	run help --completion zsh
	status_is 0
	[ "$(head -n 1 out)" = "#compdef culprit" ]
	! command -v zsh >/dev/null || zsh -n out || fail "zsh does not read it"
	run help --completion tcsh
	refuses tcsh
}

needs_guest_program() {
	[ -n "${GUESTS:-}" ] || skip "no cross compiler"
}

run_tests
