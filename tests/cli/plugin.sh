#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An analysis in a shared object, built outside the tree from what `make install` installs.
. "$(dirname "$0")/lib.sh"
needs_guests
command -v pkg-config >/dev/null && command -v cc >/dev/null && command -v meson >/dev/null || {
	echo "1..0 # SKIP no cc, meson or pkg-config"
	exit 0
}
cd "$tmp"
meson install -C "$(dirname "$CULPRIT")/.." --no-rebuild --tags devel --destdir "$tmp/root" >installed 2>&1 || cat installed >&2
PKG_CONFIG_LIBDIR=$(dirname "$(find root -name culprit.pc)")
export PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR=$tmp/root
cp "$ROOT/docs/example-analysis.c" mine.c

build() {
	# shellcheck disable=SC2046
	cc -shared -fPIC -Wall -Werror $(pkg-config --cflags culprit) "$@"
}

test_1570_an_analysis_built_outside_the_tree_runs() {
	build -o mine.so mine.c
	run sim --max-insts 5000 --analyze profile,./mine.so -o run.culprit -- "$GUESTS/phases" 2
	status_is 0
	[ "$(sqlite3 run.culprit "SELECT value > 0 FROM counter WHERE name = 'load'")" = 1 ] || fail "it wrote nothing"
	run sim --max-insts 5000 --analyze mine.so:2 -o two.culprit -- "$GUESTS/phases" 2
	refuses "cannot be sharded"
}

test_1571_one_for_another_layout_is_refused_with_both_numbers() {
	sed 's/CULPRIT_ANALYSIS(lifetime_analysis)/const struct culprit_plugin culprit_plugin = { 77, \&lifetime_analysis };/' \
		mine.c >old.c
	build -o old.so old.c
	run sim --analyze ./old.so -o x.culprit -- "$GUESTS/phases" 2
	refuses "old.so is made for records of layout 77" "has layout 3"
	[ ! -e x.culprit ] || fail "it wrote a profile"
}

test_1572_what_is_no_analysis_is_refused() {
	echo 'int nothing;' >nothing.c
	build -o nothing.so nothing.c
	run sim --analyze ./nothing.so -- "$GUESTS/phases" 2
	refuses "nothing.so has no analysis"
	echo text >text.so
	run sim --analyze text.so -- "$GUESTS/phases" 2
	refuses text.so
	run sim --analyze ./missing.so -- "$GUESTS/phases" 2
	refuses missing.so
	sed 's/"lifetime"/"profile"/' mine.c >profile.c
	build -o profile.so profile.c
	run sim --analyze ./profile.so -- "$GUESTS/phases" 2
	refuses "as one of culprit's own"
}

run_tests
