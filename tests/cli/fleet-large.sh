#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A fleet of 200 machines with a day of profiles each, 10 million counts: how fast they arrive, and how fast `db top`
# answers. The bars are those of a machine with two processors; the best of three answers counts.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/fleet-server.sh"

rows() {
	sed 's/.*counts=\([0-9]*\).*/\1/' "$1"
}

test_1360_ten_million_counts_arrive_at_100000_a_second() {
	machines 200 >/dev/null
	"$FLEET_MACHINES" make day 200 24 2120
	"$FLEET_MACHINES" push day 200 "$server" >pushed
	cat pushed
	[ "$(rows pushed)" -ge 10000000 ] || fail "only $(rows pushed) counts"
	[ "$(sql 'SELECT count(*) FROM culprit.epoch')" = 4800 ] || fail "epochs are missing"
	[ "$(sql 'SELECT sum(entries) FROM culprit.pack')" = "$(rows pushed)" ] || fail "counts are missing"
	rate=$(sed 's/.*rate=\([0-9]*\).*/\1/' pushed)
	[ -n "${SANITIZED:-}" ] || [ "$rate" -ge 100000 ] || fail "$rate counts a second"
}

test_1361_the_largest_of_a_day_are_there_in_a_second() {
	sql "CREATE ROLE reader LOGIN; GRANT culprit_read TO reader"
	sql "ANALYZE"
	total=$(sql "SELECT sum(samples) FROM culprit.pack")
	for group in image function machine kernel version; do
		best=
		for try in 1 2 3; do
			begin=$(date +%s%N)
			run db top --fleet "$server user=reader" --since 25h --group-by $group --limit 100000 --json
			ms=$((($(date +%s%N) - begin) / 1000000))
			status_is 0
			[ -n "$best" ] && [ "$best" -le "$ms" ] || best=$ms
		done
		python3 -c "import json; r = json.load(open('$tmp/out')); assert sum(x['samples'] for x in r) == $total, len(r)"
		echo "$group: $best ms"
		[ -n "${SANITIZED:-}" ] || [ "$best" -le 1000 ] || fail "$group takes $best ms"
	done
}

run_tests
