#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# culprit record as its user meets it. Where this user may not sample, the tests that do are skipped.
. "$(dirname "$0")/lib.sh"

# Tried once, for all tests.
run record -o "$tmp/may.culprit" -- true
[ "$status" = 0 ] || { grep -F 'record:' "$tmp/err" || echo "status $status"; } | head -n 1 >"$tmp/cannot"
may_sample() {
	[ ! -e "$tmp/cannot" ] || skip "cannot sample here: $(cat "$tmp/cannot")"
}

test_2050_a_program_keeps_its_output_and_status() {
	may_sample
	status=0
	"$CULPRIT" record -o "$tmp/a.culprit" -- sh -c 'echo out; echo err >&2; exit 7' >"$tmp/out" 2>"$tmp/err" ||
		status=$?
	status_is 7
	out_is out
	err_has err
	[ -s "$tmp/a.culprit" ]
}

test_2051_a_signal_is_the_programs_status_too() {
	may_sample
	run record -o "$tmp/a.culprit" -- sh -c 'kill -KILL $$'
	status_is 137
}

test_2052_the_first_line_of_the_summary_has_samples_loss_rate_and_cost() {
	may_sample
	run record --rate 1000 -o "$tmp/a.culprit" -- sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'
	status_is 0
	grep -E '^culprit: [0-9]+ samples of cycles.*(none|[0-9]+) lost.*; 1000/s .* us an interrupt .*% of the machine$' \
		"$tmp/err" >/dev/null || fail "no such line"
}

test_2053_an_interrupt_keeps_what_was_measured() {
	may_sample
	"$CULPRIT" record -a -o "$tmp/a.culprit" >"$tmp/out" 2>"$tmp/err" &
	local pid=$! i
	for i in $(seq 3000); do
		[ -d "/proc/$pid/fd" ] && ls -l "/proc/$pid/fd" 2>/dev/null | grep -q signalfd && break
		sleep 0.02
	done
	sleep 1
	kill -INT "$pid"
	wait "$pid"
	[ -s "$tmp/a.culprit" ]
	err_has "samples of cycles"
}

test_2059_with_all_of_the_machine_a_program_says_how_long() {
	may_sample
	sh -c 'while :; do :; done' &
	local busy=$!
	status=0
	"$CULPRIT" record -a --rate 2000 -o "$tmp/a.culprit" -- sh -c 'sleep 1; exit 3' >"$tmp/out" 2>"$tmp/err" || status=$?
	kill "$busy"
	status_is 3
	run report "$tmp/a.culprit" --by image --json
	status_is 0
	grep -q '/dash\|/sh"\|/bash' "$tmp/out" || fail "the other process is not there"
}

test_2060_perf_records_as_usual_beside_it() {
	may_sample
	command -v perf >/dev/null || skip "perf is not installed (linux-perf)"
	perf record -q -o "$tmp/alone.data" -e cpu-clock -- true 2>"$tmp/err" || skip "perf cannot record here"
	"$CULPRIT" record -a -o "$tmp/a.culprit" -- sh -c '
		for i in 1 2 3; do perf record -q -o "$1/beside.data" -e cpu-clock -- ls / || exit 9; done' sh "$tmp" \
		>"$tmp/out" 2>"$tmp/err" || fail "perf failed beside culprit"
}

test_2054_a_program_that_does_not_exist_is_named() {
	may_sample
	run record -o "$tmp/a.culprit" -- "$tmp/nothing-here"
	status_is 2
	err_has "nothing-here"
}

test_2055_wrong_use_is_one_line() {
	run record
	refuses "-a" "-p"
	run record -a -p 1
	refuses "exclude"
	run record --budget 1 -a
	refuses "1%"
	run record --seconds soon -a
	refuses "'soon'"
}

test_2056_an_unknown_event_names_the_nearest() {
	may_sample
	run record -e page-fualts -o "$tmp/a.culprit" -- true
	status_is 2
	err_has "'page-faults'"
}

test_2057_a_rate_above_the_kernels_limit_says_so() {
	may_sample
	run record --rate 1000000 -a --seconds 1 -o "$tmp/a.culprit"
	[ "$(cat /proc/sys/kernel/perf_event_max_sample_rate)" -ge 1000000 ] || {
		status_is 2
		err_has perf_event_max_sample_rate
	}
}

test_2058_after_run_as_only_what_sampling_needs_is_left() {
	may_sample
	[ "$(id -u)" = 0 ] || skip "needs root to become another user"
	chmod 755 "$tmp"
	mkdir -m 777 "$tmp/open"
	"$CULPRIT" record -a --seconds 2 --run-as nobody -o "$tmp/open/a.culprit" >"$tmp/out" 2>"$tmp/err" &
	local pid=$! caps=none i
	for i in $(seq 3000); do
		kill -0 "$pid" 2>/dev/null || break
		[ "$(awk '/^Uid/{print $2}' "/proc/$pid/status" 2>/dev/null)" = 65534 ] && {
			caps=$(awk '/^CapEff/{print $2}' "/proc/$pid/status")
			break
		}
		sleep 0.02
	done
	wait "$pid"
	[ "$caps" != none ] || fail "it did not become nobody"
	# CAP_SYSLOG, CAP_PERFMON, CAP_BPF, CAP_CHECKPOINT_RESTORE and no others.
	[ $((0x$caps & ~((1 << 34) | (1 << 38) | (1 << 39) | (1 << 40)))) = 0 ] || fail "capabilities $caps"
	[ -s "$tmp/open/a.culprit" ]
}

test_4621_ranks_and_the_hottest_instruction_are_those_of_perf_in_the_same_run() {
	may_sample
	command -v perf >/dev/null && command -v cc >/dev/null || skip "perf or cc is not installed"
	local i
	{
		echo 'static volatile unsigned long sink;'
		for i in $(seq 0 11); do
			printf '__attribute__((noinline)) void f%d(long n) { while (n-- > 0) sink += n; }\n' "$i"
		done
		# Each takes 1.4 times as long as the one before it.
		echo 'int main(void) { for (int k = 0; k < 40000; k++) {'
		for i in $(seq 0 11); do
			printf 'f%d(%d); ' "$i" "$(awk "BEGIN { print int(1500 * 1.4 ^ $i) }")"
		done
		echo '} return 0; }'
	} >"$tmp/ranks.c"
	cc -O1 -g -static -no-pie -o "$tmp/ranks" "$tmp/ranks.c" 2>/dev/null || skip "cc makes no static program"
	perf record -q -e cpu-clock:u -c 250000 -o "$tmp/data" -- \
		"$CULPRIT" record --rate 4000 -o "$tmp/ranks.culprit" -- "$tmp/ranks" >"$tmp/out" 2>"$tmp/err"
	perf script -i "$tmp/data" --comm ranks -F ip,sym 2>/dev/null >"$tmp/theirs"
	sqlite3 -separator ' ' "$tmp/ranks.culprit" "SELECT printf('%x', c.pc - i.bias), f.name, sum(c.count) FROM live_count c
		JOIN image i ON c.pc >= i.start AND c.pc < i.end JOIN function f ON f.image = i.id AND c.pc >= f.start AND c.pc < f.end
		WHERE i.name LIKE '%/ranks' GROUP BY c.pc" >"$tmp/ours"
	python3 - "$tmp/ours" "$tmp/theirs" <<-'END'
	import collections, sys
	ours, theirs = ({"ip": collections.Counter(), "name": collections.Counter()} for _ in range(2))
	for line in open(sys.argv[1]):
	    ip, name, n = line.split()
	    ours["ip"][ip] += int(n)
	    ours["name"][name] += int(n)
	for line in open(sys.argv[2]):
	    ip, name = line.split()[:2]
	    theirs["ip"][ip] += 1
	    theirs["name"][name.split("+")[0]] += 1
	names = ["f%d" % i for i in range(12)]
	totals = [sum(x["name"][n] for n in names) for x in (ours, theirs)]
	assert min(totals) > 2000, totals
	worst = max(abs(ours["name"][n] / totals[0] - theirs["name"][n] / totals[1]) for n in names)
	ranks = [sorted(names, key=lambda n: x["name"][n]) for x in (ours, theirs)]
	apart = sum((ranks[0].index(n) - ranks[1].index(n)) ** 2 for n in names)
	correlation = 1 - 6 * apart / (12 * (12 * 12 - 1))
	hottest = [x["ip"].most_common(1)[0][0] for x in (ours, theirs)]
	print("%d and %d samples, shares within %.2f points, rank correlation %.4f, hottest %s" %
	      (*totals, 100 * worst, correlation, " ".join(hottest)))
	# One point, and what two samples of so few can differ by.
	assert worst < 0.01 + 3 * (0.25 / totals[0] + 0.25 / totals[1]) ** 0.5
	assert correlation >= 0.99
	# Of two that are as hot, either may come first.
	assert hottest[0] == hottest[1] or ours["ip"][hottest[1]] > 0.9 * ours["ip"][hottest[0]]
	END
}

run_tests
