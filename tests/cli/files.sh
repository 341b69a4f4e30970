#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Unlucky and hostile files: which files are replaced, names that hold any bytes, limits of the shell.
. "$(dirname "$0")/lib.sh"
needs_guests
cd "$tmp"
short=(--max-insts 20k -- "$GUESTS/answers" work)

test_871_no_output_replaces_what_is_not_of_its_kind() {
	local words
	echo precious >keep
	"$CULPRIT" sim --trace good.trace -o good.culprit "${short[@]}" >/dev/null 2>&1 </dev/null
	for words in "sim -o keep" "sim --trace keep" "sim --analyze csv --param csv=keep" \
		"sim --analyze folded --param folded=keep" "sim --summary-json keep"; do
		run $words "${short[@]}"
		refuses keep "is not replaced"
	done
	for words in "export good.trace -o keep" "export good.trace -f csv -o keep" \
		"export good.trace -f o3pipeview -o keep" "replay good.trace -o keep"; do
		run $words
		refuses keep "is not replaced"
	done
	[ "$(cat keep)" = precious ] || fail "it has been replaced"
	# A trace is not a profile, a profile is not a trace, and another program's database is neither.
	run sim -o good.trace "${short[@]}"
	refuses good.trace
	run sim --trace good.culprit "${short[@]}"
	refuses good.culprit
	python3 -c 'import sqlite3; d = sqlite3.connect("other.db"); d.execute("CREATE TABLE t (x)"); d.commit()'
	run sim -o other.db "${short[@]}"
	refuses other.db "not a culprit profile"
	: >empty
	run sim -o empty "${short[@]}"
	refuses empty
	mkdir -p folder
	run sim -o folder "${short[@]}"
	refuses folder
	cp "$GUESTS/answers" answers
	run sim -o answers --max-insts 20k -- ./answers work
	refuses answers
	cmp answers "$GUESTS/answers"
	[ -z "$(find . -name '*.tmp')" ] || fail "temporary files are left"
}

test_872_an_output_replaces_its_own_kind() {
	local i
	for i in 1 2; do
		run sim --analyze profile,csv,folded --trace own.trace -o own.culprit --summary-json own.json "${short[@]}"
		status_is 0
		run export own.trace -o own.kanata
		status_is 0
		run export own.trace -f csv -o own.csv
		status_is 0
		run export own.trace -f o3pipeview -o own.o3
		status_is 0
	done
}

# e_shoff is 0 and e_shnum is kept, so the first "section" is the header of the file itself.
test_873_a_cut_section_table_costs_names_and_nothing_else() {
	python3 - "$GUESTS/answers" <<'PY'
import sys
d = bytearray(open(sys.argv[1], 'rb').read())
d[40:48] = bytes(8)
open('cut', 'wb').write(d)
PY
	chmod +x cut
	status=0
	timeout -k 1 60 "$CULPRIT" sim -o cut.culprit --max-insts 1M -- ./cut work >out 2>err </dev/null || status=$?
	status_is 0
	[ "$(wc -c <cut.culprit)" -lt 10000000 ] || fail "a store of $(wc -c <cut.culprit) bytes"
	run report cut.culprit
	status_is 0
}

test_874_names_never_reach_a_terminal_or_a_table_raw() {
	command -v riscv64-linux-gnu-objcopy >/dev/null || skip "no riscv64-linux-gnu-objcopy"
	python3 - "$CULPRIT" "$GUESTS/answers" <<'PY'
import csv, io, json, os, re, subprocess, sys
culprit, guest = sys.argv[1:]
evil = 'a\nb\x1b[31mc;d e,f"g\'h\ri\u009bj\u202ek\x7f'.encode() + b'\xff\xc3'
hidden = re.compile('[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]')
folder = b'ev\x1b]0;x\x07il \n\xff'
os.mkdir(folder)
program = folder + b'/pro\n\x1b[2Jg;r,"a\xffm'
names = subprocess.run(['riscv64-linux-gnu-nm', guest], capture_output=True, text=True, check=True).stdout.split('\n')
hot = [n.split()[2] for n in names if n[17:18] in ('T', 't', 'W', 'i') and len(n.split()) == 3][:4000]
with open('names', 'wb') as f:  # every function gets a name that holds all kinds of bytes
    for n in hot:
        f.write(n.encode() + b' ' + n.encode() + b'\n')
arguments = []
for n in ('main', 'work', 'hot_loop', '__libc_start_main_impl', '_IO_new_do_write', 'printf', 'exit', 'memcpy'):
    if n in hot:
        arguments += [b'--redefine-sym', n.encode() + b'=' + evil + n.encode()]
assert arguments
subprocess.run([b'riscv64-linux-gnu-objcopy', *arguments, guest.encode(), program], check=True)

def check(name, data):
    text = data.decode('utf-8')
    bad = hidden.search(text)
    assert not bad, (name, text[max(0, bad.start() - 40):bad.end() + 40])
    return text

def run(*words):
    p = subprocess.run([culprit.encode(), *(w if isinstance(w, bytes) else w.encode() for w in words)],
                       stdin=subprocess.DEVNULL, capture_output=True)
    assert p.returncode in (0, 2), (words, p.returncode, p.stderr)
    return check(words, p.stdout), check(words, p.stderr), p.returncode

work = ['--max-insts', '200k', '--', program, 'work', b'arg\x1b\n\xff']
out = subprocess.run([culprit.encode(), b'sim', b'--analyze', b'profile,cpistack,icost,csv,folded', b'--param', b'csv=e.csv',
                      b'--param', b'folded=e.folded', b'-o', b'e.culprit', *(w if isinstance(w, bytes) else w.encode() for w in work)],
                     stdin=subprocess.DEVNULL, capture_output=True)
assert out.returncode == 0, out.stderr
check('sim', out.stderr)
p = subprocess.run([culprit.encode(), b'sim', b'--functional', b'--profile', *(w if isinstance(w, bytes) else w.encode() for w in work)],
                   stdin=subprocess.DEVNULL, capture_output=True)
check('profile', p.stderr)
assert 'x1b' in p.stderr.decode() or 'x1b' in open('e.folded').read()
for line in check('folded', open('e.folded', 'rb').read()).splitlines():
    assert re.fullmatch(r'[^;]+(;[^;]+)* [0-9]+', line), line
rows = list(csv.reader(io.StringIO(check('csv', open('e.csv', 'rb').read()))))
assert all(len(r) == 5 for r in rows)
views = [['report'], ['annotate'], ['accuracy'], ['stack', '--no-reference'], ['icost'], ['stats'], ['diff', 'e.culprit'],
         ['accuracy', '--events'], ['annotate', '--icost'], ['stack', '--no-reference', '--phases'], ['icost', '--phases']]
tried = 0
for view in views:
    for how in ([], ['--json'], ['--csv']):
        text, _, status = run(*view, *how, 'e.culprit')
        tried += 1
        if status == 0 and how == ['--json']:
            json.loads(text)
        if status == 0 and how == ['--csv']:
            for block in text.split('\n\n'):
                widths = {len(r) for r in csv.reader(io.StringIO(block)) if r}
                assert len(widths) <= 1, (view, widths, block[:400])
# Errors show names of files that do not exist, have the wrong format, or must not be replaced.
for words in (['report', program], ['replay', program], ['sim', folder + b'/none'], ['sim', '-o', program, '--', guest],
              ['export', program], ['sim', b'--\x1b[2Jx'], [b'\x1b\n'], ['list', b'\x1b\xff'], ['machines', b'\x9b\n'],
              ['sim', '--machine', b'\x1b[2J', '--', guest], ['sim', '--set', b'\x1b.\n=\xff', '--', guest],
              ['sim', '--analyze', b'\x1b', '--', guest], ['report', '--profiler', b'\x1b\xff', 'e.culprit'],
              ['annotate', 'e.culprit', b'\x1b\n\xff'], ['report', '--event', b'\x1b', 'e.culprit']):
    assert run(*words)[2] == 2, words
    tried += 1
print(tried, 'outputs')
PY
}

test_875_what_a_killed_run_left_is_removed_by_the_next() {
	"$CULPRIT" sim --trace k.trace -o k.culprit -- "$GUESTS/answers" spin >/dev/null 2>&1 </dev/null &
	local pid=$! i
	for i in $(seq 100); do
		[ ! -e "k.culprit.$pid.tmp" ] || [ ! -e "k.trace.$pid.tmp" ] || break
		sleep 0.1
	done
	[ -e "k.culprit.$pid.tmp" ] || fail "there is no temporary file"
	# Another run does not touch the temporary file while it is being written.
	run sim --trace k.trace -o k.culprit "${short[@]}"
	status_is 0
	[ -e "k.culprit.$pid.tmp" ] && [ -e "k.trace.$pid.tmp" ] || fail "the other run's file was removed"
	kill -9 $pid
	wait $pid || true
	run sim --trace k.trace -o k.culprit "${short[@]}"
	status_is 0
	[ -z "$(find . -name 'k.*.tmp')" ] || fail "left: $(find . -name 'k.*.tmp')"
}

test_876_a_limit_of_file_sizes_is_an_error_of_one_line() {
	local words
	for words in "-o l.culprit" "--analyze none --trace l.trace" "--analyze csv --param csv=l.csv"; do
		status=0
		(ulimit -f 16 && exec "$CULPRIT" sim $words --max-insts 1M -- "$GUESTS/answers" work) >out 2>"$tmp/err" </dev/null ||
			status=$?
		status_is 2
		[ "$(grep -c 'File too large' "$tmp/err")" = 1 ] || fail "not one line says why ($words)"
		err_has instructions
	done
	[ "$(wc -c <l.csv)" -gt 8000 ] || fail "what could be written is not there"
}

test_877_a_tiny_stack_is_enough() {
	local limit
	for limit in 64 128 1024; do
		status=0
		(ulimit -s $limit && exec "$CULPRIT" sim --workers 2 --analyze profile,cpistack,icost,folded,csv \
			--trace s.trace -o s$limit.culprit "${short[@]}") >out 2>"$tmp/err" </dev/null || status=$?
		status_is 0
		for words in report annotate accuracy icost "stack --no-reference"; do
			(ulimit -s $limit && exec "$CULPRIT" $words s$limit.culprit) >out 2>"$tmp/err" </dev/null ||
				fail "$words fails with ulimit -s $limit"
		done
		(ulimit -s $limit && exec "$CULPRIT" replay s.trace -o r.culprit) >out 2>"$tmp/err" </dev/null ||
			fail "replay fails with ulimit -s $limit"
	done
}

test_878_a_damaged_entry_of_the_cache_counts_as_absent() {
	export CULPRIT_CACHE=$tmp/cache
	"$CULPRIT" sim --machine eyerman2006 --analyze cpistack -o c.culprit "${short[@]}" >/dev/null 2>&1 </dev/null
	run stack c.culprit
	status_is 0
	cp out before
	local entries
	mapfile -t entries < <(find cache/jobs -type f ! -name '*.log' | sort)
	[ "${#entries[@]}" -ge 6 ] || fail "only ${#entries[@]} entries"
	: >"${entries[0]}"
	echo garbage >"${entries[1]}"
	truncate -s 20 "${entries[2]}"
	rm "${entries[3]}" && mkdir "${entries[3]}" && touch "${entries[3]}/x"
	rm "${entries[4]}" && ln -s /etc/hostname "${entries[4]}"
	echo '{"cycles": "many"}' >"${entries[5]}"
	cp "${entries[6]}" "${entries[6]}.12345-1"
	run stack c.culprit
	status_is 0
	cmp out before
	[ ! -e "${entries[6]}.12345-1" ] || [ "$(dirname "${entries[6]}")" != "$(dirname "${entries[0]}")" ] ||
		fail "what a killed runner left is still there"
	run stack c.culprit
	status_is 0
	cmp out before
}

test_879_a_store_with_a_recursive_view_is_refused_at_once() {
	"$CULPRIT" sim -o v.culprit "${short[@]}" >/dev/null 2>&1 </dev/null
	python3 - <<'PY'
import sqlite3
db = sqlite3.connect('v.culprit')
db.execute('DROP TABLE golden')
db.execute('CREATE VIEW golden AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) '
           'SELECT i AS pc, 0 AS events, 0 AS category, 1 AS units, 1 AS executions FROM n')
db.commit()
PY
	local words
	for words in report annotate accuracy icost "stack --no-reference" stats; do
		status=0
		timeout -k 1 10 "$CULPRIT" $words v.culprit >"$tmp/out" 2>"$tmp/err" </dev/null || status=$?
		refuses v.culprit tables
	done
}

test_880_options_that_mean_nothing_are_refused() {
	local line words
	while read -r line; do
		[ -n "$line" ] || continue
		eval "words=($line)"
		run sim "${words[@]}" -- "$GUESTS/answers" work
		refuses "${words[0]#--}"
	done <<'END'
		--max-insts 0
		--period 0
		--frequency 0
		--frequency 100000G
		--buffer-memory k
		--buffer-memory " 5"
		--seed " 5"
		--seed -1
		--workers 65
		--param nosuch=1
		--param csv=x.csv
		--param sweep=2
		--param sweep
		--param =1
		--streams terminal:-1x5,null,null
		--streams terminal:5,null,null
		--streams terminal:5x5x,null,null
		--streams terminalx,null,null
		--streams null,null
		--start inst:-1
		--start "inst: 5"
		--stop pc:0x
		--stop "cycle:5 "
		--analyze ""
		--analyze profile:0
		--analyze profile:1x
		--output ""
		--trace ""
		--sysroot ""
		--env =x
		--machine "" 
		--functional --machine boom-tip
		--functional -o x.culprit
END
	run sim --analyze icost --param icost.sample=0 -- "$GUESTS/answers" work
	refuses icost.sample
	run sim --analyze icost --param icost.sample=5x -- "$GUESTS/answers" work
	refuses icost.sample
	run sim --max-insts 1k --start inst:0 --stop inst:5M -o m.culprit -- "$GUESTS/answers" work
	status_is 0
}

run_tests
