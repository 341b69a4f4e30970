#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A fleet of 200 machines (FLEET=20: so many) with a day of profiles each, 50,000 counts a machine: what it costs to send
# them, and to ask `db top`. Costs are processor time of client and server together, so that a busy machine does not
# change them; what runs alone takes no longer than that.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/fleet-server.sh"

fleet=${FLEET:-200}

# Processor time of the server and of all that it has started, in milliseconds.
server_ms() {
	local postmaster process
	postmaster=$(as_server head -n 1 pg/data/postmaster.pid)
	for process in "$postmaster" $(pgrep -P "$postmaster"); do
		cat "/proc/$process/stat" 2>/dev/null || :
	done | sed 's/.*) //' | awk -v ticks="$(getconf CLK_TCK)" -v first=1 '
		{ sum += $12 + $13 } first { sum += $14 + $15; first = 0 } END { printf "%d", 1000 * sum / ticks }'
}

# Runs a command; $spent is the processor time of it and the server, in milliseconds.
spend() {
	local TIMEFORMAT='%U %S' before client
	before=$(server_ms)
	client=$({ time "$@" >"$tmp/out" 2>"$tmp/err" </dev/null; } 2>&1 | awk 'END { printf "%d", 1000 * ($1 + $2) }')
	spent=$((client + $(server_ms) - before))
}

test_1360_counts_arrive_at_100000_a_second() {
	run db init --fleet "$server user=admin"
	status_is 0
	sql "DO \$\$ BEGIN FOR i IN 0..$((fleet - 1)) LOOP
		EXECUTE format('CREATE ROLE m%s LOGIN IN ROLE culprit_push', i);
		INSERT INTO culprit.machine (name, role) VALUES ('machine' || i, 'm' || i); END LOOP; END \$\$"
	"$FLEET_MACHINES" make day "$fleet" 24 2120
	spend "$FLEET_MACHINES" push day "$fleet" "$server"
	counts=$(sed 's/.*counts=\([0-9]*\).*/\1/' "$tmp/out")
	[ "${counts:-0}" -ge $((fleet * 50000)) ] || fail "only $counts counts"
	[ "$(sql 'SELECT count(*) FROM culprit.epoch')" = $((fleet * 24)) ] || fail "epochs are missing"
	[ "$(sql 'SELECT sum(entries) FROM culprit.pack')" = "$counts" ] || fail "counts are missing"
	echo "$counts counts for $spent ms"
	[ -n "${SANITIZED:-}" ] || [ $((counts * 1000 / spent)) -ge 100000 ] || fail "$counts counts take $spent ms"
}

test_1361_the_largest_of_a_day_are_there_in_a_second() {
	local slow=
	sql "CREATE ROLE reader LOGIN; GRANT culprit_read TO reader"
	sql "ANALYZE"
	total=$(sql "SELECT sum(samples) FROM culprit.pack")
	for group in image function machine kernel version; do
		spend "$CULPRIT" db top --fleet "$server user=reader" --since 25h --group-by $group --limit 100000 --json
		python3 -c "import json; r = json.load(open('$tmp/out')); assert sum(x['samples'] for x in r) == $total, len(r)"
		echo "$group: $spent ms"
		[ "$spent" -le 1000 ] || slow="$slow $group: $spent ms;"
	done
	: >"$tmp/out"
	[ -n "${SANITIZED:-}" ] || [ -z "$slow" ] || fail "$slow"
}

run_tests
