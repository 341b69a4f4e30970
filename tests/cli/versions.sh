#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Profiles that older versions wrote: every view shows what it shows of the same profile in today's format.
. "$(dirname "$0")/lib.sh"
needs_guests

export CULPRIT_CACHE=$tmp/cache CULPRIT_STATE=$tmp/state

# Creates $2 by the statements of the first version and copies the tables that it has from $1.
to_first_version() {
	sqlite3 "$2" <"$ROOT/tests/unit/store/version-1.sql"
	sqlite3 "$2" .tables | tr -s ' ' '\n' | while read -r table; do
		[ -z "$table" ] || echo "INSERT INTO $table SELECT * FROM new.$table;"
	done >"$tmp/copy.sql"
	sqlite3 "$2" "ATTACH '$1' AS new" ".read $tmp/copy.sql"
}

newest=$(awk '$2 == "STORE_VERSION" { print $3 }' "$ROOT/src/store/store.h")
cd "$tmp"
"$CULPRIT" sim --analyze profile,cpistack,icost --max-insts 200k -o new.culprit -- "$GUESTS/answers" work 20000 \
	>/dev/null 2>&1 </dev/null
# The first version had the profile alone.
"$CULPRIT" sim --analyze profile --max-insts 200k -o plain.culprit -- "$GUESTS/answers" work 20000 >/dev/null 2>&1 </dev/null
to_first_version plain.culprit first.culprit
# same.culprit has today's tables, with the version number of the first format.
cp new.culprit same.culprit
sqlite3 same.culprit 'PRAGMA user_version = 1'

# A command prints the same for both files, which have one name in two folders: texts name the file.
same_output() {
	local file new=$1 old=$2
	shift 2
	mkdir -p newer older
	cp "$new" newer/it.culprit
	cp "$old" older/it.culprit
	for file in newer older; do
		cd "$tmp/$file"
		run "$@" it.culprit
		cd "$tmp"
		status_is 0
		mv "$tmp/out" "$tmp/$file.out"
	done
	cmp newer.out older.out || fail "$* differs"
}

test_the_first_version_is_read_by_every_view() {
	[ "$(sqlite3 first.culprit 'PRAGMA user_version')" = 1 ]
	[ "$(sqlite3 new.culprit 'PRAGMA user_version')" = "$newest" ]
	[ -z "$(sqlite3 first.culprit .tables | grep cpi_)" ]
	for command in report annotate accuracy stats; do
		same_output plain.culprit first.culprit "$command"
		same_output plain.culprit first.culprit "$command" --json
	done
	same_output plain.culprit first.culprit diff "$tmp/new.culprit"
	run stack first.culprit
	refuses "--analyze profile,cpistack"
	run icost first.culprit
	refuses "--analyze profile,icost"
}

test_files_with_later_tables_and_an_older_number_are_read_by_every_view() {
	for command in report annotate accuracy stats icost "stack --no-reference"; do
		# shellcheck disable=SC2086
		same_output new.culprit same.culprit $command --json
	done
	same_output new.culprit same.culprit diff "$tmp/new.culprit"
}

test_an_older_profile_is_simulated_again() {
	same_output new.culprit same.culprit stack --json
	[ ! -s "$tmp/err" ] || fail "something was said"
}

test_an_older_file_stays_as_it_is() {
	cp first.culprit before.culprit
	run report first.culprit
	status_is 0
	cmp before.culprit first.culprit
}

test_a_newer_version_is_refused_in_one_line() {
	cp new.culprit newer.culprit
	sqlite3 newer.culprit "PRAGMA user_version = $((newest + 1))"
	for command in report annotate accuracy stats icost stack; do
		run $command newer.culprit
		refuses "newer.culprit has format version $((newest + 1)), this culprit reads up to $newest"
	done
}

run_tests
