#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Many machines and one PostgreSQL: what is pushed arrives once, and who may see what.
. "$(dirname "$0")/lib.sh"

. "$(dirname "$0")/fleet-server.sh"

test_2360_epochs_arrive_exactly_once_and_symbols_travel_once() {
	machines 5
	"$FLEET_MACHINES" make fleet 5 3 2000
	"$FLEET_MACHINES" push fleet 5 "$server" >first
	grep -q "^epochs=15 counts=[1-9][0-9]* already=0 symbols=[1-9]" first || fail "$(cat first)"
	"$FLEET_MACHINES" push fleet 5 "$server" >again
	grep -q "^epochs=0 counts=0 already=0 symbols=0 " again || fail "$(cat again)"
	[ "$(sql 'SELECT count(*) FROM culprit.epoch')" = 15 ]
	# Two builds of 40 images: each symbol is there once, however many machines ran it.
	sent=$(sed 's/.*symbols=\([0-9]*\).*/\1/' first)
	[ "$(sql 'SELECT count(*) FROM culprit.symbol')" = "$sent" ]
	for i in 0 1 2 3 4; do
		local=$("$CULPRIT" db show "fleet/$i" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["samples"])')
		remote=$(sql "SELECT sum(samples) FROM culprit.pack JOIN culprit.epoch ON epoch.id = epoch JOIN
			culprit.machine ON machine.id = machine WHERE name = 'machine$i'")
		[ "$local" = "$remote" ] || fail "machine$i has $local samples, the server $remote"
		[ "$(sql "SELECT sum(samples) FROM culprit.function_count JOIN culprit.epoch ON epoch.id = epoch JOIN
			culprit.machine ON machine.id = machine WHERE name = 'machine$i'")" = "$local" ]
	done
}

test_2361_an_epoch_that_the_server_has_already_is_not_counted_twice() {
	# The connection broke after the server had it: here it is not marked as sent.
	sqlite3 fleet/0/profile.db "UPDATE epoch SET pushed = 1 WHERE id = 2"
	"$FLEET_MACHINES" push fleet 1 "$server" >again
	grep -q "^epochs=0 counts=0 already=1 " again || fail "$(cat again)"
	[ "$(sql 'SELECT count(*) FROM culprit.epoch')" = 15 ]
	[ "$(sqlite3 fleet/0/profile.db "SELECT count(*) FROM epoch WHERE pushed = 2")" = 3 ]
}

test_2362_a_pusher_reads_nothing_and_writes_only_as_itself() {
	for table in epoch pack function_count symbol image machine; do
		! sql "SELECT count(*) FROM culprit.$table" m0 2>err.txt || fail "m0 reads $table"
		grep -q "permission denied" err.txt
		! sql "DELETE FROM culprit.$table" m0 2>/dev/null || fail "m0 deletes from $table"
		! sql "INSERT INTO culprit.$table DEFAULT VALUES" m0 2>/dev/null || fail "m0 inserts into $table"
	done
	# A role that is not a machine cannot push, and nobody can take an epoch of another machine.
	sql "CREATE ROLE stranger LOGIN; GRANT culprit_push TO stranger"
	"$FLEET_MACHINES" make strange 1 1 400
	! "$FLEET_MACHINES" push strange 1 "$server" stranger 2>err.txt || fail "a stranger pushed"
	grep -q "is not a machine" err.txt || fail "$(cat err.txt)"
	sqlite3 fleet/0/profile.db "UPDATE epoch SET pushed = 1 WHERE id = 1"
	! "$FLEET_MACHINES" push fleet 1 "$server" m1 2>err.txt || fail "m1 pushed an epoch of m0"
	grep -q "belongs to another machine" err.txt || fail "$(cat err.txt)"
	# The machine is the role's, whatever the epoch says.
	"$FLEET_MACHINES" push strange 1 "$server" m1 >/dev/null
	[ "$(sql "SELECT count(*) FROM culprit.epoch JOIN culprit.machine ON machine.id = machine WHERE name = 'machine1'")" = 4 ]
	"$FLEET_MACHINES" push fleet 1 "$server" >/dev/null
}

test_2363_the_largest_are_the_same_by_every_way() {
	sql "CREATE ROLE reader LOGIN; GRANT culprit_read TO reader"
	total=$(sql "SELECT sum(samples) FROM culprit.pack")
	for group in image function machine kernel version; do
		run db top --fleet "$server user=reader" --since 1d --group-by $group --limit 100000 --json
		status_is 0
		python3 - "$tmp/out" "$total" <<-'END' || fail "$group"
			import json, sys
			rows = json.load(open(sys.argv[1]))
			assert rows and sum(r["samples"] for r in rows) == int(sys.argv[2]), len(rows)
			assert [r["samples"] for r in rows] == sorted((r["samples"] for r in rows), reverse=True)
		END
	done
	run db top --fleet "$server user=reader" --since 1d --group-by function --limit 1
	out_has "function"
	run db top --fleet "$server user=reader" --since 1d --group-by machine --json --limit 10
	python3 -c "import json; r = json.load(open('$tmp/out')); assert len(r) == 5, r"
}

test_2364_what_is_pulled_is_what_was_pushed() {
	run db pull pulled --machine machine3 --fleet "$server user=reader"
	status_is 0
	out_has "3 epochs with"
	run db pull pulled --machine machine3 --fleet "$server user=reader"
	out_has "0 epochs with 0 counts"
	run db check pulled
	status_is 0
	"$CULPRIT" db export pulled | sort >there.txt
	"$CULPRIT" db export fleet/3 | sort >here.txt
	cmp there.txt here.txt || fail "the two databases differ"
	grep -q ";function" there.txt
}

test_2365_a_server_that_is_killed_while_machines_push_ends_with_every_epoch_once() {
	"$FLEET_MACHINES" make more 5 12 20000
	for round in 1 2 3; do
		("$FLEET_MACHINES" push more 5 "$server" || true) >/dev/null 2>&1 &
		pusher=$!
		sleep 0.4
		stop_server immediate
		wait $pusher
		start_server
	done
	"$FLEET_MACHINES" push more 5 "$server" >rest
	for i in 0 1 2 3 4; do
		sqlite3 "more/$i/profile.db" "SELECT uuid FROM epoch"
	done | sort >want.txt
	sql "SELECT uuid FROM culprit.epoch WHERE uuid IN ('$(paste -sd, want.txt | sed "s/,/','/g")') ORDER BY uuid" | sort >have.txt
	cmp want.txt have.txt || fail "epochs are missing or doubled"
	[ "$(sql "SELECT count(*) FROM culprit.epoch e WHERE NOT EXISTS (SELECT 1 FROM culprit.pack WHERE epoch = e.id)")" = 0 ]
}

test_2366_no_server_or_one_without_tables_is_a_line() {
	run db push fleet/0 --fleet "host=$tmp/nowhere dbname=x"
	[ "$status" = 2 ] && err_lines 1 && err_has "cannot connect"
	sql "CREATE DATABASE empty"
	run db push fleet/0 --fleet "host=$tmp/pg dbname=empty user=admin"
	[ "$status" = 2 ] && err_lines 1 && err_has "culprit db init"
	sql "INSERT INTO culprit.version VALUES (99)"
	run db top --fleet "$server user=reader"
	[ "$status" = 2 ] && err_lines 1 && err_has "version 99"
	sql "DELETE FROM culprit.version WHERE version = 99"
}

run_tests
