#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Views of live profiles as their user meets them: hand-made profiles, and the exact texts.
. "$ROOT/tests/cli/lib.sh"
expected=$ROOT/tests/live/expected
export CULPRIT_CACHE="$tmp/cache" LC_ALL=C.UTF-8
cd "$tmp"
cp "$SAMPLE" sample

# golden NAME: the last output is what expected/NAME.txt has; RECORD=1 writes it.
golden() {
	sed "s#$tmp#/tmp/live#g" "$tmp/out" >"$tmp/shown"
	[ -z "${RECORD:-}" ] || cp "$tmp/shown" "$expected/$1.txt"
	cmp -s "$tmp/shown" "$expected/$1.txt" || {
		diff "$expected/$1.txt" "$tmp/shown" | head -20
		fail "the text of $1 is another one"
	}
}

# A machine with everything: a program, one without a file, one that has changed, kernel, generated code.
"$MAKE" mix.culprit <<-END
	facts build1 - 1794837600 1794837610 2
	event cycles cpu-clock 1000000 10000 9900 90 10
	event imiss imiss 5000 1000 1000 0 0
	image file $tmp/sample $tmp/sample own 0
	image file /opt/gone/server - aabbccddeeff0011 0
	image file $tmp/changed $tmp/sample ffffffffffffffff 0
	image kernel [kernel] - - 0
	symbol 3 0x1000 0x200 do_syscall_64
	symbol 3 0x1200 0 clear_page
	image jit [jit\\x20node] - - 0
	symbol 4 0x7f1200001000 0x20 LazyCompile:~f
	code 4 0x7f1200001000 4883c00174f9c3
	image anon [jit\\x20java] - - 0
	image unknown [unknown] - - 0
	process 100 worker /usr/bin/worker web-1 1000
	process 101 worker /usr/bin/worker - 1000
	process 7 kthreadd - - 0
	count 0 @hot+7 0 0 0 5000
	count 0 @hot+15 0 0 1 400
	count 0 @hot+7 1 0 0 600
	count 0 @leaf 0 1 1 1200
	count 1 0x4321 0 1 0 700
	count 2 0x1000 0 1 0 300
	count 3 0x1010 0 2 0 900
	count 3 0x1234 0 2 0 500
	count 4 0x7f1200001004 0 1 1 600
	count 5 0 0 1 1 290
	count 6 0 0 0 0 10
	count 3 0x1010 1 2 0 400
	stack 0 0 5000 0 0:@hot+7 0:@_start+5
	stack 0 1 1200 1 0:@leaf
	edge 0 @hot+15 30 10
END

test_2210_report_is_dcpiprofs_table() {
	run report mix.culprit
	status_is 0
	golden report
}

test_2211_report_has_a_row_for_every_image_process_container_or_line() {
	for by in image process container line; do
		run report mix.culprit --by "$by"
		status_is 0
		golden "report-$by"
	done
	run report mix.culprit --by thread
	refuses "record --per-thread"
}

test_1355_report_by_thread_has_a_row_for_each_and_by_process_one_for_all() {
	"$MAKE" threads.culprit <<-END
		facts build1 - 1794837600 1794837610 2
		event cycles cpu-clock 1000000 600 600 0 0
		image unknown [unknown] - - 0
		process 100 server /usr/bin/server - 0 100 server
		process 100 server /usr/bin/server - 0 101 io-1
		process 100 server /usr/bin/server - 0 102 io-1
		process 200 other /usr/bin/other - 0 200 other
		count 0 0 0 0 0 300
		count 0 0 0 1 0 150
		count 0 0 0 2 0 100
		count 0 0 0 3 0 50
	END
	run report threads.culprit --by thread --csv
	status_is 0
	[ "$(cut -d , -f 1,5,6 "$tmp/out")" = "cycles,thread,program
300,server (100),/usr/bin/server
150,io-1 (101),/usr/bin/server
100,io-1 (102),/usr/bin/server
50,other (200),/usr/bin/other" ] || fail "not the threads"
	run report threads.culprit --by process --csv
	[ "$(cut -d , -f 1,5,6 "$tmp/out")" = "cycles,process,program
550,server (100),/usr/bin/server
50,other (200),/usr/bin/other" ] || fail "not the processes"
	run report threads.culprit --by thread --process 200 --csv
	[ "$(wc -l <"$tmp/out")" = 2 ] || fail "not one thread"
}

# Processor time of a command, in milliseconds.
cpu_ms() {
	local TIMEFORMAT='%U %S'
	{ time "$@" >"$tmp/out" 2>"$tmp/err"; } 2>&1 | awk '{ printf "%d", 1000 * ($1 + $2) }'
}

test_1356_a_library_of_100_mb_has_names_within_two_seconds_and_then_at_once() {
	local library=/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1 first second
	[ -e "$library" ] || skip "libLLVM-14 is not installed (clang)"
	"$MAKE" large.culprit <<-END
		facts build1 - 1794837600 1794837610 2
		event cycles cpu-clock 1000000 3 3 0 0
		image file $library $library own 0
		count 0 0x2000000 0 - 0 1
		count 0 0x3000000 0 - 0 1
		count 0 0x4000000 0 - 0 1
	END
	export CULPRIT_CACHE=$tmp/large-cache
	first=$(cpu_ms "$CULPRIT" report large.culprit)
	grep -q 'libLLVM' "$tmp/out" || fail "no samples of it"
	! grep -qF '[libLLVM-14.so.1]' "$tmp/out" || fail "its functions have no names"
	second=$(cpu_ms "$CULPRIT" report large.culprit)
	[ -n "${SANITIZED:-}" ] || [ "$first" -le 2000 ] || fail "$first ms the first time"
	[ -n "${SANITIZED:-}" ] || [ "$second" -le 100 ] || fail "$second ms the second time"
}

test_2212_filters_select_samples() {
	local filter
	for filter in "--image sample" "--image samp*" "--image 0123456789abcdef0123456789abcdef01234567" "--process 100" \
		"--process worker" "--container web-1" "--user 0" "--cpu 1" "--event imiss"; do
		# shellcheck disable=SC2086 # an option and its value
		run report mix.culprit $filter --csv
		status_is 0
		{ echo "$filter" && cat "$tmp/out"; } >>"$tmp/filtered"
	done
	sed -i "s#$tmp#/tmp/live#g" "$tmp/filtered" && cp "$tmp/filtered" "$tmp/out"
	golden filters
	run report mix.culprit --event cycle
	refuses "there is no event 'cycle'" "cycles imiss"
	run report mix.culprit --user nobody-has-this-name
	refuses "there is no such user"
	run report mix.culprit --cpu first
	refuses "--cpu"
	run report mix.culprit --since 1h
	refuses "mix.culprit is not a profile database"
	run report mix.culprit --image no-such-image
	status_is 0
	out_has "There are no samples that match."
}

test_2213_annotate_shows_source_code_and_samples_of_every_event() {
	run annotate mix.culprit hot
	status_is 0
	golden annotate
	run annotate mix.culprit hot --json
	status_is 0
	golden annotate-json
	run annotate mix.culprit "LazyCompile:~f"
	status_is 0
	golden annotate-jit
	run annotate mix.culprit nothing
	refuses "no function 'nothing' has any samples"
}

test_2214_json_and_csv_have_all_of_a_report() {
	run report mix.culprit --json
	status_is 0
	golden report-json
	run report mix.culprit --csv
	status_is 0
	golden report-csv
}

test_2215_views_that_need_a_run_say_so_in_one_line() {
	local view
	for view in stack icost spectrum accuracy; do
		run "$view" mix.culprit
		refuses "$view: mix.culprit has samples of a live machine" "culprit sim"
	done
	run annotate mix.culprit --icost
	refuses "mix.culprit"
}

test_2216_a_profile_without_samples_is_shown() {
	"$MAKE" empty.culprit <<<'facts host - 1794837600 1794837601 1'
	run report empty.culprit
	status_is 0
	golden empty
	run annotate empty.culprit
	refuses "no function '' has any samples"
	run stats empty.culprit empty.culprit
	status_is 0
	run diff empty.culprit empty.culprit
	status_is 0
}

test_2217_hostile_names_are_shown_escaped() {
	"$MAKE" hostile.culprit <<-'END'
		facts \x1b[31mhost\x0a - 1794837600 1794837601 1
		event ev\x1b]0;x\x07,il" cpu-clock 1000000 30 30 0 0
		image jit [jit\x0a\xff\xfe] - - 0
		symbol 0 0x1000 0x20 \x1b[2Jf\xe2\x80\xae\x0a
		image file ../../\x0aetc/passwd - - 0
		process 1 \x1b[31m\x0a \x0d - 0
		count 0 0x1004 0 0 - 20
		count 1 0x1004 0 0 - 10
	END
	for view in "report" "report --by process" "report --by image" "report --csv" "report --json" annotate stats; do
		# shellcheck disable=SC2086 # a command and its options
		run ${view/ / hostile.culprit } $([ "$view" = "${view/ /}" ] && echo hostile.culprit)
		status_is 0
		! LC_ALL=C grep -q "$(printf '[\001-\010\013-\037\177]')" "$tmp/out" || fail "$view shows control characters"
		iconv -f utf-8 -t utf-8 "$tmp/out" >/dev/null || fail "$view shows what is not UTF-8"
		! grep -q "$(printf '\342\200\256')" "$tmp/out" || fail "$view turns the direction of writing"
	done
	run report hostile.culprit
	[ "$(wc -l <"$tmp/out")" -le 7 ] || fail "a name has broken a line"
}

# The rows of figure 3: counts of eight sets with its sums, least, most and deviations.
test_2218_stats_has_the_numbers_of_figure_3() {
	python3 - "$MAKE" <<-'END'
		import math, subprocess, sys
		rows = [("smooth_", 441040, 21168.70, 38155, 88075), ("fftb_", 72385, 368.74, 8578, 9622),
		        ("fftf_", 71129, 327.68, 8467, 9453), ("parmvr_", 4242079, 14097.11, 515253, 555180),
		        ("putb_", 378622, 1032.09, 46206, 48786), ("vslv1p_", 410929, 1161.61, 50420, 53110)]
		sets = [860301, 862645, 871952, 870780, 942929, 893154, 890969, 951871]
		counts = []
		for name, total, deviation, least, most in rows:
		    mean, rest = total / 8, (total - least - most) / 6
		    left = 7 * deviation**2 - (least - mean)**2 - (most - mean)**2
		    t = math.sqrt(max(left / 6 - (rest - mean)**2, 0))
		    # k of the other six above their mean and the rest below, all between least and most
		    for k in range(1, 6):
		        high, low = rest + t * math.sqrt((6 - k) / k), rest - t * math.sqrt(k / (6 - k))
		        if least <= low and high <= most:
		            break
		    middle = [round(high)] * k + [round(low)] * (6 - k)
		    middle[0] += total - least - most - sum(middle)
		    # whole numbers: moves samples between two sets until the deviation is right
		    def off(m): return abs(sum((x - mean)**2 for x in [least, most] + m) - 7 * deviation**2)
		    for _ in range(200):
		        moved = [middle[:] for _ in range(150)]
		        for n, m in enumerate(moved):
		            i, j, d = n % 6, (n // 6) % 5, n // 30 + 1
		            m[i] += d
		            m[j + (j >= i)] -= d
		        moved = [m for m in moved if least <= min(m) and max(m) <= most]
		        middle = min(moved + [middle], key=off)
		    counts.append([least, most] + middle)
		for s in range(8):
		    text = ["facts host - 1794837600 1794837601 1", "event cycles cycles 62000 0 0 0 0",
		            "image jit wave5 - - 0"]
		    for i, row in enumerate(rows + [("others",)]):
		        text.append(f"symbol 0 {i * 16} 16 {row[0]}")
		    for i in range(len(rows)):
		        text.append(f"count 0 {i * 16} 0 - - {counts[i][s]}")
		    text.append(f"count 0 {len(rows) * 16} 0 - - {sets[s] - sum(c[s] for c in counts)}")
		    subprocess.run([sys.argv[1], f"set{s + 1}.culprit"], input="\n".join(text), text=True, check=True)
	END
	run stats set?.culprit
	status_is 0
	python3 - "$tmp/out" <<-'END' || fail "the numbers are others"
		import sys
		figure = """11.32% 441040.00 6.17% 8 55130.00 21168.70 38155.00 88075.00 smooth_
		1.44% 72385.00 1.01% 8 9048.12 368.74 8578.00 9622.00 fftb_
		1.39% 71129.00 1.00% 8 8891.12 327.68 8467.00 9453.00 fftf_
		0.94% 4242079.00 59.37% 8 530259.87 14097.11 515253.00 555180.00 parmvr_
		0.68% 378622.00 5.30% 8 47327.75 1032.09 46206.00 48786.00 putb_
		0.65% 410929.00 5.75% 8 51366.13 1161.61 50420.00 53110.00 vslv1p_"""
		text = open(sys.argv[1]).read()
		assert "TOTAL 7,144,601" in text and "set 8 = 951,871" in text, text
		lines = [l.split() for l in text.splitlines()]
		have = [l for l in lines if len(l) > 8 and l[8].endswith("_")]
		for have_row, want_row in zip(have, [l.split() for l in figure.splitlines()], strict=True):
		    assert have_row[8] == want_row[8], (have_row, want_row)
		    for h, w, allowed in zip(have_row, want_row[:8], [0, 0, 0, 0, 0.011, 0.06, 0, 0]):
		        assert abs(float(h.rstrip("%")) - float(w.rstrip("%"))) <= allowed, (have_row, want_row)
	END
}

test_2219_diff_says_what_changed_and_how_sure_that_is() {
	"$MAKE" after.culprit <<-END
		facts build2 - 1794837600 1794837610 2
		event cycles cpu-clock 1000000 5000 5000 0 0
		image file $tmp/sample $tmp/sample own 0
		image kernel [kernel] - - 0
		symbol 1 0x1000 0x200 do_syscall_64
		count 0 @hot+7 0 - - 2700
		count 0 @leaf 0 - - 1300
		count 1 0x1010 0 - - 455
		count 0 @_start 0 - - 545
	END
	run diff mix.culprit after.culprit
	status_is 0
	golden diff
	# 5400 of 9900 and 2700 of 5000: chance alone does as much; leaf has doubled
	run diff mix.culprit after.culprit --csv
	grep -q '^5400.000,2700.000,-0.00545455,-0.6[0-9]*,,hot' "$tmp/out" || fail "hot is not like that"
	grep -q '^1200.000,1300.000,0.1387.*,\*,leaf' "$tmp/out" || fail "leaf is not marked"
	# samples of one machine against themselves
	run diff mix.culprit mix.culprit --csv
	[ "$(grep -c '0.00000000,0.000,,' "$tmp/out")" = 9 ] || fail "a profile differs from itself"
}

test_2220_samples_and_a_modelled_run_are_compared_by_source_line() {
	[ -n "${GUESTS:-}" ] || skip "no riscv64 cross compiler"
	"$CULPRIT" sim -o run.culprit -- "$GUESTS/answers" exit 0 >/dev/null 2>&1
	run diff run.culprit mix.culprit
	status_is 0
	out_has "Source lines, by change of their share"
	out_has "sample.S:9"
	run diff mix.culprit run.culprit --json
	status_is 0
	python3 - "$tmp/out" <<-'END' || fail "the shares of the lines do not add up"
		import json, sys
		j = json.load(open(sys.argv[1]))
		assert abs(sum(l["before"] for l in j["lines"]) - j["total_before"]) < 1e-6
		assert abs(sum(l["after"] for l in j["lines"]) / j["total_after"] - 1) < 1e-6
		assert {"line", "z", "change"} <= j["lines"][0].keys()
	END
	run stats mix.culprit run.culprit
	refuses "run.culprit is a run on a modelled core"
}

test_2221_a_profile_says_what_it_does_not_keep_apart() {
	run report after.culprit --by process
	refuses "keeps the samples of all processes together"
	run report after.culprit --cpu 0
	refuses "keeps the samples of all processors together"
}

test_2222_the_queries_of_the_documentation_answer() {
	python3 - "$ROOT/docs/store.md" mix.culprit <<-'END' || fail "a query of docs/store.md has no answer"
		import re, sqlite3, sys
		text = open(sys.argv[1]).read()
		text = text[text.index("## Live profiles"):]
		text = text[:text.index("\n## ")]
		queries = re.findall(r"((?:^    .*\n)+)", text, re.M)
		assert len(queries) == 5, len(queries)
		db = sqlite3.connect(sys.argv[2])
		answers = [db.execute(q).fetchall() for q in queries]
		assert answers[0][0][0] == "hot" and answers[0][0][2] == 5400, answers[0]
		assert answers[2][0][1:3] == ("401007", "add (%rdi,%rcx,8),%rax"), answers[2]
		assert round(sum(row[2] for row in answers[3]), 6) == 100, answers[3]
		assert sorted(answers[4]) == [("_start;hot 5000",), ("leaf 1200",)], answers[4]
	END
}

run_tests
