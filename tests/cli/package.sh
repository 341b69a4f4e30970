#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The Debian package: it is built from a copy of the tree, lintian finds nothing, and it installs, runs and goes without
# a trace, into a folder of its own. Part of make test-all: it compiles everything once more.
. "$(dirname "$0")/lib.sh"
for tool in dpkg-buildpackage dh lintian; do
	command -v $tool >/dev/null || {
		echo "1..0 # SKIP no $tool"
		exit 0
	}
done
cd "$tmp"
mkdir tree
(cd "$ROOT" && git ls-files -co --exclude-standard -z | tar -c --null -T -) | tar -x -C tree
[ ! -d /usr/lib/ccache ] || PATH=/usr/lib/ccache:$PATH
export CCACHE_BASEDIR=$tmp/tree CCACHE_NOHASHDIR=1

test_1590_the_package_is_built_and_lintian_finds_nothing() {
	(cd tree && dpkg-buildpackage -us -uc -b) >built 2>&1 || fail "$(tail -20 built)"
	lintian --fail-on error,warning ./*.changes >found 2>&1 || fail "$(cat found)"
}

test_1591_it_installs_runs_and_goes_without_a_trace() {
	local deb
	deb=$(ls culprit_*.deb)
	mkdir -p root/var/lib/dpkg/info root/var/lib/dpkg/updates
	: >root/var/lib/dpkg/status
	dpkg --root="$tmp/root" --force-depends --force-not-root --log=/dev/null -i "$deb" >installed 2>&1 || fail "$(cat installed)"
	[ "$(root/usr/bin/culprit --version)" = "$("$CULPRIT" --version)" ] || fail "another version"
	[ -z "$GUESTS" ] || root/usr/bin/culprit sim --max-insts 5000 -o run.culprit -- "$GUESTS/phases" 2 >/dev/null 2>&1 ||
		fail "it does not run"
	dpkg --root="$tmp/root" --force-not-root --log=/dev/null --purge culprit >removed 2>&1 || fail "$(cat removed)"
	[ -z "$(find root -type f -o -type l | grep -v "^root/var/lib/dpkg/")" ] || fail "left: $(find root -type f | head)"
}

run_tests
