#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# culprit html: the page of a run, as a file and in a browser.
. "$(dirname "$0")/lib.sh"
needs_guests
cd "$tmp"
"$CULPRIT" sim --max-insts 300000 --analyze profile,cpistack,icost -o run.culprit -- "$GUESTS/phases" 2 >/dev/null 2>&1
if ! "$CULPRIT" html run.culprit -o first.html 2>why; then
	grep -q "without its page" why || cat why >&2
	echo "1..0 # SKIP $(cat why)"
	exit 0
fi

# dom FRAGMENT [FILE]: the page as Chromium has it when its script has run, in $tmp/dom; its log in $tmp/log.
dom() {
	command -v chromium >/dev/null || skip "chromium is not installed"
	HOME=$tmp XDG_CONFIG_HOME=$tmp/x XDG_CACHE_HOME=$tmp/x TMPDIR=$tmp timeout 120 chromium --headless --no-sandbox \
		--disable-gpu --disable-dev-shm-usage --user-data-dir="$tmp/browser" --virtual-time-budget=20000 \
		--enable-logging=stderr --v=0 --dump-dom "file://$tmp/${2:-first.html}#$1" >dom 2>log ||
		fail "chromium ended with $?: $(tail -3 log)"
	! grep CONSOLE log || fail "the browser's console has a message"
	grep -q 'data-ready="yes"' dom || fail "the page did not finish"
}

# same SCRIPT: Python that compares; it has `cells` (every element of the page with a data-value: its attributes)
# and json_of(COMMAND…).
same() {
	CULPRIT=$CULPRIT python3 - "$1" <<-'END' || fail "the page and --json differ"
		import html.parser, json, os, subprocess, sys
		cells = []
		class Reader(html.parser.HTMLParser):
		    def handle_starttag(self, tag, attrs):
		        a = dict(attrs)
		        if "data-value" in a or "data-method" in a:
		            cells.append(a)
		Reader().feed(open("dom", encoding="utf-8").read())
		def json_of(*words):
		    return json.loads(subprocess.run([os.environ["CULPRIT"], *words, "--json"], check=True, capture_output=True).stdout)
		def near(a, b):
		    return abs(float(a) - float(b)) <= 1e-9 * max(1, abs(float(b)))
		exec(sys.argv[1])
	END
}

test_two_calls_give_the_same_bytes() {
	run html run.culprit -o second.html
	status_is 0
	cmp first.html second.html
}

test_the_page_asks_for_nothing_and_its_policy_forbids_it() {
	grep -q "default-src 'none'" first.html
	! grep -qE '(src|href)="?(https?:|//)' first.html || fail "it names another place"
	! grep -q innerHTML first.html || fail "it writes HTML from text"
}

test_bad_input_and_output_are_one_line_each() {
	run html
	status_is 2
	echo text >no.culprit
	run html no.culprit -o x.html
	refuses no.culprit
	[ ! -e x.html ] || fail "it wrote a page"
	run html run.culprit -o "$tmp"
	refuses "$tmp"
	echo mine >notes.txt
	run html run.culprit -o notes.txt
	refuses notes.txt
	[ "$(cat notes.txt)" = mine ] || fail "it replaced a file that is not its own"
	run html run.culprit -o /dev/full
	status_is 2
}

test_cycles_on_the_overview_are_those_of_report() {
	dom page=overview
	same '
report = json_of("report", "run.culprit")
shown = [c["data-value"] for c in cells]
for name, cycles in report["cycle_stack"].items():
    i = shown.index(name)
    assert near(shown[i + 1], cycles), (name, shown[i + 1], cycles)
for f in report["functions"][:10]:
    i = shown.index(f["symbol"])
    assert near(shown[i + 1], f["cycles"]), (f, shown[i + 1])
'
}

test_time_by_function_line_and_instruction_sums_to_the_run() {
	local by
	for by in function line instruction; do
		dom "page=time&by=$by"
		same '
total = json_of("report", "run.culprit")["run"]["cycles"]
assert abs(float(cells[0]["data-value"]) - total) < 1e-6 * total, (cells[0], total)
'
	done
}

test_stacks_are_those_of_stack() {
	dom page=stacks
	same '
methods = {m["name"]: m["components"] for m in json_of("stack", "run.culprit", "--no-reference")["methods"]}
starts = [i for i, c in enumerate(cells) if "data-method" in c]
assert len(starts) == len(methods) > 5, (len(starts), len(methods))
for i in starts:
    components = methods[cells[i]["data-method"]]
    for k, (name, cpi) in enumerate(components.items()):
        row = cells[i + 1 + 4 * k : i + 5 + 4 * k]
        assert row[0]["data-value"] == name and near(row[1]["data-value"], cpi), (row, name, cpi)
'
}

test_costs_and_interactions_are_those_of_icost() {
	dom "page=buy&set=bw%2Bdmiss"
	same '
icost = json_of("icost", "run.culprit")
assert near(cells[0]["data-value"], icost["costs"]["bw+dmiss"]), cells[0]
pairs = [c for c in cells if "data-set" in c]
assert len(pairs) == 64
for c in pairs:
    assert near(c["data-value"], icost["icosts"][c["data-set"]]), c
'
}

test_a_page_without_its_analysis_says_what_makes_it() {
	"$CULPRIT" sim --max-insts 100000 --analyze profile -o only.culprit -- "$GUESTS/phases" 2 >/dev/null 2>&1
	run html only.culprit -o only.html
	status_is 0
	dom page=buy only.html
	grep -q 'class="missing"' dom
	grep -q 'analyze icost' dom || fail "it does not name the analysis"
}

test_names_from_the_program_are_text() {
	cp run.culprit bad.culprit
	sqlite3 bad.culprit "UPDATE function SET name = '</script><img src=x onerror=document.title=\"planted\">' || id"
	run html bad.culprit -o bad.html
	status_is 0
	dom page=time bad.html
	! grep -q '<title>planted' dom || fail "a name was executed"
	! grep -q '<img' dom || fail "a name became an element"
	grep -q '&lt;/script&gt;&lt;img' dom || fail "the name is not shown"
}

run_tests
