#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Names of C++ functions, in live profiles and in runs. The program is C: its functions have the names by which a C++
# compiler would call them.
. "$(dirname "$0")/lib.sh"

program() {
	cat >"$tmp/shapes.c" <<-'END'
		#include <stdint.h>
		#define STEP(n) x = (x ^ x >> n) * 0x9e3779b97f4a7c15u; __asm__ volatile("" : "+r"(x))
		uint64_t area(uint64_t n) __asm__("_ZN5shape4areaEm");
		uint64_t plain_sum(uint64_t n);
		__attribute__((noinline)) uint64_t area(uint64_t n)
		{
			uint64_t x = n;
			for (uint64_t i = 0; i < n; i++) {
				STEP(7);
			}
			return x;
		}
		__attribute__((noinline)) uint64_t plain_sum(uint64_t n)
		{
			uint64_t x = n;
			for (uint64_t i = 0; i < n; i++) {
				STEP(5);
			}
			return x;
		}
		int main(int argc, char **argv)
		{
			uint64_t x = 0;
			for (int i = 0; i < ROUNDS; i++)
				x += area(100000) + plain_sum(50000);
			return x == 1;
		}
	END
}

readable() {
	run report "$1"
	status_is 0
	out_has "shape::area"
	out_has "plain_sum"
	! grep -q '_ZN' "$tmp/out" || fail "a mangled name"
	run report "$1" --raw-names
	status_is 0
	out_has "_ZN5shape4areaEm"
	run annotate "$1" shape::area
	status_is 0
	out_has "shape::area"
	run annotate "$1" --raw-names _ZN5shape4areaEm
	status_is 0
}

test_2770_live_profiles_have_readable_names() {
	run record -o "$tmp/may.culprit" -- true
	[ "$status" = 0 ] || skip "cannot sample here"
	program
	cc -O1 -g -DROUNDS=1500 "$tmp/shapes.c" -o "$tmp/shapes"
	run record --rate 2000 -o "$tmp/live.culprit" -- "$tmp/shapes"
	status_is 0
	run report "$tmp/live.culprit"
	readable "$tmp/live.culprit"
}

test_2771_runs_have_readable_names() {
	needs_guests
	program
	riscv64-linux-gnu-gcc -O1 -g -static -DROUNDS=1 "$tmp/shapes.c" -o "$tmp/shapes"
	run sim -o "$tmp/run.culprit" "$tmp/shapes"
	status_is 0
	readable "$tmp/run.culprit"
	# What calls it has the readable name, too.
	run annotate "$tmp/run.culprit" main
	status_is 0
	out_has "<shape::area>"
	run diff "$tmp/run.culprit" "$tmp/run.culprit"
	status_is 0
	! grep -q '_ZN' "$tmp/out" || fail "a mangled name"
}

run_tests
