# SPDX-License-Identifier: MIT
#
# For the tests in this folder: a test is a function named test_… as a sentence; it fails with the first
# command that does. Output is TAP. Sourced with CULPRIT (the program), ROOT (the source tree) and GUESTS
# (a folder of guest programs; empty where there is no cross compiler) set.
set -euo pipefail

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Runs culprit; sets $status, and leaves its output in $tmp/out and $tmp/err.
run() {
	status=0
	"$CULPRIT" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null || status=$?
}

fail() {
	echo "$*"
	for f in out err; do
		[ ! -f "$tmp/$f" ] || sed "s/^/  std$f: /" "$tmp/$f" | head -20
	done
	return 1
}

# Ends a test that cannot run here; it counts as skipped, not as passed.
skip() {
	echo "$*" >"$tmp/skipped"
	exit 0
}

status_is() {
	[ "$status" = "$1" ] || fail "exit status is $status, not $1"
}

# Compares the whole standard output, byte for byte except newlines at the end.
out_is() {
	[ "$(cat "$tmp/out")" = "$1" ] || fail "standard output is not: $1"
}

err_has() {
	grep -qF -- "$1" "$tmp/err" || fail "standard error lacks: $1"
}

err_lines() {
	[ "$(wc -l <"$tmp/err")" = "$1" ] || fail "standard error has not $1 lines"
}

out_has() {
	grep -qF -- "$1" "$tmp/out" || fail "standard output lacks: $1"
}

# Wrong use: the exit status is 2, standard output is empty, and standard error has one line with the words given.
refuses() {
	status_is 2
	[ ! -s "$tmp/out" ] || fail "standard output is not empty"
	err_lines 1
	local word
	for word in "$@"; do err_has "$word"; done
}

# Compares two profiles byte for byte, except the eight bytes of the row that says how long the host took.
same_store() {
	python3 - "$1" "$2" <<-'END' || fail "$1 and $2 differ"
		import sys
		def read(path):
		    data = open(path, "rb").read()
		    at = data.find(b"host_seconds") + len("host_seconds")
		    assert at > len("host_seconds") and data.count(b"host_seconds") == 1, path
		    return data[:at] + bytes(8) + data[at + 8:]
		a, b = read(sys.argv[1]), read(sys.argv[2])
		sys.exit(a != b)
	END
}

needs_guests() {
	[ -n "${GUESTS:-}" ] || {
		echo "1..0 # SKIP no riscv64 cross compiler: no guest programs"
		exit 0
	}
}

# Runs every test function, in the order of the file.
run_tests() {
	local number=0 failed=0 name output
	for name in $(grep -o '^test_[a-z0-9_]*' "$0"); do
		number=$((number + 1))
		rm -f "$tmp/skipped"
		# The test runs in a subshell outside any condition, so that set -e holds in it.
		set +e
		output=$( (set -e; "$name") 2>&1)
		local result=$?
		set -e
		if [ $result = 0 ] && [ -e "$tmp/skipped" ]; then
			echo "ok $number - ${name#test_} # SKIP $(cat "$tmp/skipped")"
		elif [ $result = 0 ]; then
			echo "ok $number - ${name#test_}"
		else
			failed=1
			echo "not ok $number - ${name#test_}"
			# Print to standard error, too: meson shows that, but not TAP's comments.
			sed "s/^/# /; 1i # $name" <<<"$output" | tee /dev/stderr
		fi
	done
	echo "1..$number"
	return $failed
}
