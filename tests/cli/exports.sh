# SPDX-License-Identifier: MIT
# Profiles in the formats of other tools, each read by its real consumer where that is installed. Sums of time by
# function, line and event are compared with the store's own, to the unit.
. "$(dirname "$0")/lib.sh"
needs_guests

here=$(dirname "$0")
cd "$tmp"
"$CULPRIT" sim --analyze profile,cpistack,calls,folded --param folded=a.folded --trace a.trace -o a.culprit \
	-- "$GUESTS/answers" >/dev/null 2>&1 </dev/null || true
cp a.culprit hostile.culprit
# A name of its own for each of the hottest functions, so that the names survive only if they are escaped right.
python3 - hostile.culprit <<'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
names = [b"semi;colon; 12", b"new\nline", b'quote"back\\slash', b"</script><script>alert(1)</script>", b"\xff\xc3broken",
         b"x" * 10000, b"(7) number", b"fn=(1) evil", b"tab\there", "\u202eright to left".encode(), b"paren (x) y", b"# hash"]
rows = db.execute("SELECT n.function FROM golden g JOIN instruction n USING (pc) GROUP BY 1 ORDER BY sum(units) DESC")
for (f,), name in zip(rows.fetchall(), names):
    db.execute("UPDATE function SET name = CAST(? AS TEXT) WHERE id = ?", (name, f))
db.execute("UPDATE inlined SET name = 'in;lined \"' || name, file = 'dir;/a b\"' || file")
db.commit()
END

check() {
	python3 "$here/exports.py" "$@" || fail "exports.py $*"
}

needs_go() {
	command -v go >/dev/null || skip "no go: go tool pprof cannot read the profile"
	export HOME=$tmp PPROF_TMPDIR=$tmp
}

test_3250_pprof_reads_the_times_of_the_store() {
	needs_go
	local s
	for s in a hostile; do
		run export $s.culprit -f pprof --exact -o $s.pb.gz
		status_is 0
		go tool pprof -symbolize=demangle=none -raw $s.pb.gz >$s.raw 2>err
		check pprof $s.culprit $s.raw
		go tool pprof -tags -unit=x $s.pb.gz >$s.tags 2>err
		check tags $s.culprit $s.tags
	done
	run export a.culprit -f pprof -o a.pb.gz
	go tool pprof -top -nodecount=3 a.pb.gz >top 2>err
	grep -q "^Type: cycles" top || fail "cycles are not what pprof shows first: $(cat top)"
	grep -q "of $(sqlite3 a.culprit "SELECT value FROM run WHERE key = 'profiled_cycles'")cycles total" top ||
		fail "not the run's cycles: $(cat top)"
	go tool pprof -top -diff_base a.pb.gz a.pb.gz >top 2>err
	grep -q "Showing nodes accounting for 0" top || fail "a profile differs from itself: $(cat top)"
	go tool pprof -top -tagfocus event=FL-MB a.pb.gz >top 2>err || fail "no -tagfocus"
	go tool pprof -peek main a.pb.gz >top 2>err && grep -q main top || fail "no -peek"
}

test_3251_callgrind_annotate_reads_the_times_of_the_store() {
	command -v callgrind_annotate >/dev/null || skip "no callgrind_annotate (valgrind)"
	local s
	for s in a hostile; do
		run export $s.culprit -f callgrind --exact -o $s.callgrind
		status_is 0
		callgrind_annotate --tree=both --threshold=100 --show-percs=no $s.callgrind >$s.annotated 2>warnings
		[ ! -s warnings ] || fail "callgrind_annotate warns: $(head -3 warnings)"
		check callgrind $s.culprit $s.callgrind $s.annotated
	done
}

test_3252_folded_stacks_have_the_times_of_the_store() {
	local s
	for s in a hostile; do
		run export $s.culprit -f folded --exact
		status_is 0
		check folded $s.culprit "$tmp/out"
		run export $s.culprit -f folded --exact --event-leaf
		status_is 0
		check folded-events $s.culprit "$tmp/out"
	done
}

test_3253_speedscope_files_follow_the_schema() {
	local s
	for s in a hostile; do
		run export $s.culprit -f speedscope --exact -o $s.speedscope.json
		status_is 0
		check speedscope $s.culprit $s.speedscope.json
		run export $s.culprit -f speedscope --exact --event-leaf
		check speedscope-events $s.culprit "$tmp/out"
	done
}

test_3254_perf_script_text_has_the_times_of_the_store() {
	local s
	for s in a hostile; do
		run export $s.culprit -f perf-script --exact
		status_is 0
		check perf-script $s.culprit "$tmp/out"
	done
}

test_3255_rounded_cycles_sum_to_the_run() {
	run export a.culprit -f folded
	status_is 0
	check rounded a.culprit "$tmp/out"
}

test_3256_profiler_event_and_function_restrict_an_export() {
	run export a.culprit -f folded --exact --profiler nci
	status_is 0
	check sum "$tmp/out" "$(sqlite3 a.culprit "SELECT sum(units) FROM profile WHERE sampler = 0 AND profiler =
		(SELECT id FROM profiler WHERE name = 'nci')")"
	run export a.culprit -f folded --exact --event FL-MB
	check sum "$tmp/out" "$(sqlite3 a.culprit "SELECT sum(units) FROM golden WHERE events &
		(1 << (SELECT bit FROM event WHERE name = 'FL-MB'))")"
	run export a.culprit -f folded --exact --function main
	check sum "$tmp/out" "$(sqlite3 a.culprit "SELECT sum(units) FROM golden JOIN instruction n USING (pc)
		JOIN function f ON f.id = n.function WHERE f.name = 'main'")"
	run export a.culprit -f folded --function mian
	refuses "no function 'mian'" "'main'"
	run export a.culprit -f folded --event ST-NONE
	refuses "no event 'ST-NONE'"
	run export a.culprit -f folded --profiler nobody
	refuses "no profiler 'nobody'"
	run export a.culprit -f folded --count 3
	refuses "--count"
	run export a.culprit -f csv --event FL-MB
	refuses "--event"
	run export a.culprit -f pprof --event-leaf
	refuses "--event-leaf"
}

test_3257_a_file_is_replaced_whole_or_left_alone() {
	local f said
	mkdir folder
	for f in pprof callgrind folded speedscope perf-script firefox; do
		run export a.culprit -f $f -o one.$f
		status_is 0
		run export a.culprit -f $f -o one.$f
		status_is 0
		run export a.culprit -f $f -o -
		cmp "$tmp/out" one.$f || fail "$f: standard output differs from the file"
		cp one.$f before
		status=0
		said=$(ulimit -f 0; trap '' XFSZ; "$CULPRIT" export a.culprit -f $f -o one.$f 2>&1) || status=$?
		status_is 2
		[ "$said" = "culprit: export: cannot write one.$f: File too large" ] || fail "says: $said"
		cmp before one.$f || fail "$f: a failed export changed the file"
		run export a.culprit -f $f -o folder
		refuses folder
		run export a.culprit -f $f -o a.culprit
		refuses a.culprit
		[ -z "$(ls ./*.tmp 2>/dev/null)" ] || fail "$f: a temporary file is left"
		status=0
		"$CULPRIT" export a.culprit -f $f >/dev/full 2>"$tmp/err" || status=$?
		: >"$tmp/out"
		refuses "No space left"
	done
}

test_3258_what_is_no_profile_is_refused() {
	local f
	head -c 5000 a.culprit >cut.culprit
	for f in pprof callgrind folded speedscope perf-script firefox; do
		run export cut.culprit -f $f
		refuses cut.culprit
		run export "$here/exports.sh" -f $f
		refuses exports.sh
	done
	"$CULPRIT" sim --analyze null -o none.culprit -- "$GUESTS/answers" >/dev/null 2>&1 </dev/null || true
	run export none.culprit -f pprof
	refuses "holds no profile"
}

test_3430_firefox_profiles_have_the_times_of_the_store_under_its_call_stacks() {
	local s
	for s in a hostile; do
		run export $s.culprit -f firefox --exact
		status_is 0
		check firefox $s.culprit "$tmp/out"
	done
	cp a.culprit no-calls.culprit
	sqlite3 no-calls.culprit "DELETE FROM call_context; DELETE FROM cpi_phase"
	run export no-calls.culprit -f firefox
	status_is 0
	python3 -m json.tool "$tmp/out" >/dev/null || fail "no JSON"
}

test_3431_call_stacks_divide_the_times_of_the_store() {
	local f
	run export a.culprit -f folded --exact --calls
	status_is 0
	check calls a.culprit "$tmp/out"
	for f in pprof speedscope perf-script; do
		run export a.culprit -f $f --calls
		status_is 0
	done
	run export a.culprit -f callgrind --calls
	refuses "--calls"
	run export a.trace -f chrome --calls
	refuses "--calls"
	cp a.culprit without.culprit
	sqlite3 without.culprit "DELETE FROM call_context"
	run export without.culprit -f folded --calls
	refuses "no call stacks" "--analyze profile,calls"
	sqlite3 without.culprit "INSERT INTO call_context VALUES (1, 1, 0, 5)"
	run export without.culprit -f folded --calls
	refuses "damaged"
}

test_3432_chrome_events_are_the_calls_of_the_run() {
	run export a.trace -f chrome -n 1000000 -o a.chrome
	status_is 0
	check chrome a.folded a.chrome
	run export a.trace -f chrome --from cycle:20000 --count 3000
	status_is 0
	check chrome-names "$tmp/out"
	run export a.trace -f chrome -o a.chrome
	status_is 0
	run export a.trace -f chrome -o a.folded
	refuses a.folded
	run export a.culprit -f chrome
	refuses a.culprit
}

test_3433_hostile_names_in_chrome_events_are_shown_as_text() {
	python3 - "$GUESTS/answers" evil <<'END'
import sys
data = open(sys.argv[1], "rb").read()
for old, new in (b"__libc_start_main", b'"\\\1\xff\xe2\x80\xae</b>{}[],:'), (b"_dl_aux_init", b"a\nb\tc\x7f\xc2\x9b  z"):
    data = data.replace(b"\0" + old + b"\0", b"\0" + new.ljust(len(old), b"z")[:len(old)] + b"\0")
open(sys.argv[2], "wb").write(data)
END
	chmod +x evil
	"$CULPRIT" sim --analyze none --trace evil.trace --max-insts 8k -o evil.culprit -- ./evil >/dev/null 2>&1 </dev/null || true
	run export evil.trace -f chrome
	status_is 0
	check chrome-names "$tmp/out" '"\\x01\xff\u{202e}</b>{}[],:' 'a\x0ab c\x7f\u{9b}  zz'
}

run_tests
