# SPDX-License-Identifier: MIT
# For the tests of the fleet: Debian's own PostgreSQL, run by an unprivileged user in a temporary folder and reached by
# a socket alone. Sourced after lib.sh; FLEET_MACHINES is the program that simulates machines.

bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1)
[ -n "$bin" ] && [ -x "$bin/initdb" ] || {
	echo "1..0 # SKIP no PostgreSQL server is installed (postgresql)"
	exit 0
}
[ -x "${FLEET_MACHINES:-}" ] || {
	echo "1..0 # SKIP culprit was built without libpq"
	exit 0
}

id -un >/dev/null 2>&1 || {
	echo "1..0 # SKIP PostgreSQL refuses a user without a name"
	exit 0
}

# The server refuses root.
as_server() {
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"
	else
		"$@"
	fi
}

chmod 755 "$tmp"
cd "$tmp"
mkdir pg
[ "$(id -u)" != 0 ] || chown nobody:nogroup pg
as_server "$bin/initdb" -D pg/data -A trust -U admin --no-sync >/dev/null 2>&1
server="host=$tmp/pg dbname=postgres"

start_server() {
	as_server "$bin/pg_ctl" -D pg/data -w -l pg/log -o "-k $tmp/pg -c listen_addresses='' -c fsync=off -c shared_buffers=64MB" \
		start >/dev/null
}
stop_server() {
	as_server "$bin/pg_ctl" -D pg/data -w -m "$1" stop >/dev/null 2>&1 || true
}
trap 'stop_server immediate; rm -rf "$tmp"' EXIT
start_server

sql() {
	"$bin/psql" -X -A -t -q "$server user=${2:-admin}" -c "$1"
}

# Roles m0 … for machine0 …
machines() {
	run db init --fleet "$server user=admin"
	status_is 0
	for i in $(seq 0 $(($1 - 1))); do
		sql "DO \$\$ BEGIN CREATE ROLE m$i LOGIN; EXCEPTION WHEN duplicate_object THEN END \$\$"
		run db init "machine$i" --as "m$i" --fleet "$server user=admin"
		status_is 0
	done
}
