#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# culprit on another kernel: Debian's own, booted by qemu without hardware help, with busybox and this culprit alone in
# its initramfs. The machine boots once; the tests read what it printed.
. "$(dirname "$0")/lib.sh"

for program in qemu-system-x86_64 busybox; do
	command -v $program >/dev/null || {
		echo "1..0 # SKIP $program is not installed (scripts/setup.sh slow)"
		exit 0
	}
done
[ -z "${SANITIZED:-}" ] || {
	echo "1..0 # SKIP an emulated machine is too slow for the sanitizers"
	exit 0
}
kernel=$("$ROOT/scripts/debian-kernel" 2>"$tmp/err") || {
	echo "1..0 # SKIP $(tail -n 1 "$tmp/err")"
	exit 0
}
ldd "$CULPRIT" | grep -q libbpf || {
	echo "1..0 # SKIP culprit was built without libbpf"
	exit 0
}

# ---- What runs there ----

guest=$tmp/guest
mkdir -p "$guest"/{bin,proc,sys,dev,tmp,modules}
cp -L "$(command -v busybox)" "$guest/bin/busybox"
ln -s busybox "$guest/bin/sh"
cp "$CULPRIT" "$guest/bin/culprit"
strip "$guest/bin/culprit"
# Debian has a static busybox and another one.
{ ldd "$CULPRIT" && ldd "$guest/bin/busybox" 2>/dev/null || :; } | grep -o '/[^ ]*' | while read -r library; do
	mkdir -p "$guest/$(dirname "$library")"
	cp -L "$library" "$guest/$library"
done
cp "$kernel"/lib/modules/*/kernel/lib/raid6/raid6_pq.ko "$guest/modules/"

# It says what it begins with "== NAME". The module tries its functions when it is loaded, for a second. A byte on
# the serial line wakes the machine: the host's clock sends it.
cat >"$guest/init" <<'END'
#!/bin/sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
cd /tmp

echo
echo "== kernel"
uname -r
echo "== record"
culprit record -a --rate 500 -o a.culprit -- sh -c 'insmod /modules/raid6_pq.ko; exit 3' 2>&1
echo "status $?"
culprit report a.culprit --by image --csv | cat
echo "== procedures"
culprit report a.culprit --image '[raid6_pq]' --csv | cat
echo "== processes"
culprit record --per-process --stacks --edges --rate 500 -o b.culprit -- \
	sh -c 'i=0; while [ $i -lt 9999 ]; do i=$((i+1)); done' 2>&1
culprit report b.culprit --by process --csv | cat
echo "== profile"
gzip -c b.culprit | base64

echo "== daemon"
sh -c 'while :; do :; done' &
culprit daemon --foreground --rate 200 --drain 1s db >daemon.log 2>&1 &
for i in $(seq 100); do
	culprit daemon status db 2>/dev/null | grep -q ^rate: && break
	sleep 0.2
done
sleep 2
culprit daemon flush db
culprit daemon status db | grep ^event:
for f in $(find /sys/devices -path '*tty/ttyS0/power/wakeup'); do echo enabled >$f; done
echo "== freeze"
cut -d ' ' -f 1 /proc/uptime
echo freeze >/sys/power/state
echo "== awake"
cut -d ' ' -f 1 /proc/uptime
sleep 2
culprit daemon flush db
culprit daemon status db | grep -E '^(event|lost):'
echo "== check"
culprit daemon stop db
wait %2
echo "status $?"
culprit db check db
cat daemon.log
dmesg | grep -E 'BUG|WARNING|Oops|soft lockup'

echo "== processors"
kill %1
cat /sys/devices/system/cpu/possible /sys/devices/system/cpu/online
culprit daemon --foreground --rate 200 --per-cpu --drain 1s db2 >daemon2.log 2>&1 &
for i in $(seq 100); do
	culprit daemon status db2 2>/dev/null | grep -q ^rate: && break
	sleep 0.2
done
# samples NAME: those of processor 1 so far.
samples() {
	culprit daemon flush db2
	culprit daemon status db2 | grep ^event:
	echo "$1 $(culprit report db2 --cpu 1 --by image --csv 2>/dev/null | awk -F, '$1 + 0 { n += $1 } END { print n + 0 }')"
}
taskset 2 sh -c 'while :; do :; done' &
sleep 3
samples before
echo 0 >/sys/devices/system/cpu/cpu1/online
cat /sys/devices/system/cpu/online
sleep 2
samples gone
sleep 2
samples still
echo 1 >/sys/devices/system/cpu/cpu1/online
taskset 2 sh -c 'while :; do :; done' &
sleep 4
samples back
culprit daemon stop db2
echo "status $?"
culprit db check db2
cat daemon2.log
dmesg | grep -E 'BUG|WARNING|Oops|soft lockup'
echo "== end"
reboot -f
END
chmod +x "$guest/init"
(cd "$guest" && find . | busybox cpio -o -H newc 2>/dev/null) | gzip -1 >"$tmp/initrd"

# ---- One boot ----

mkfifo "$tmp/line"
touch "$tmp/console"
(
	# A byte before it sleeps would not wake it: some seconds, then one after another.
	while ! grep -q '^== freeze' "$tmp/console"; do sleep 0.2; done
	sleep 3
	while ! grep -q '^== awake' "$tmp/console"; do
		echo
		sleep 1
	done
	sleep 300
) >"$tmp/line" 2>/dev/null &
waker=$!
trap 'kill $waker 2>/dev/null || :; rm -rf "$tmp"' EXIT
timeout 500 qemu-system-x86_64 -machine pc -cpu max -accel tcg -smp 2,maxcpus=4 -m 768 -nographic -vga none -net none -no-reboot \
	-kernel "$kernel"/boot/vmlinuz-* -initrd "$tmp/initrd" -append "console=ttyS0 quiet panic=-1" \
	<"$tmp/line" >"$tmp/console" 2>"$tmp/err" || :
sed -i 's/\r//g' "$tmp/console"

# part NAME: what was printed between "== NAME" and the next one.
part() {
	awk -v name="== $1" '$0 == name { on = 1; next } /^== / { on = 0 } on' "$tmp/console" >"$tmp/out"
	[ -s "$tmp/out" ] || {
		cp "$tmp/console" "$tmp/out"
		fail "the machine did not come to '$1'"
	}
}

# ---- Tests ----

test_1350_the_same_object_loads_on_debians_kernel() {
	part kernel
	out_has "6.1."
	part record
	out_has "status 3"
	grep -E '^culprit: [1-9][0-9]* samples of cycles.* none lost;' "$tmp/out" || fail "no samples"
}

test_1351_a_module_that_is_loaded_meanwhile_is_profiled_by_name() {
	part record
	awk -F, '$NF == "[raid6_pq]" && $1 > 30 { n++ } END { exit !n }' "$tmp/out" || fail "no samples of [raid6_pq]"
	part procedures
	# Functions of the module, by name, and nothing without one.
	[ "$(grep -c ',raid6_[a-z0-9_]*,\[raid6_pq\]$' "$tmp/out")" -ge 2 ] || fail "its functions have no names"
	! grep -F '[raid6_pq+' "$tmp/out" || fail "code of the module without a name"
}

# --edges is loaded, too; qemu interrupts at the targets of branches alone, so that none is seen.
test_1352_stacks_and_processes_are_there_too() {
	part processes
	grep -E '^culprit: [1-9][0-9]* samples of cycles' "$tmp/out" || fail "no samples"
	awk -F, '/sh \(/ && $1 > 10 { n++ } END { exit !n }' "$tmp/out" || fail "the shell has no samples"
	part profile
	base64 -d "$tmp/out" | gunzip >"$tmp/b.culprit" || fail "the profile did not come through"
	command -v sqlite3 >/dev/null || skip "needs sqlite3"
	[ "$(sqlite3 "$tmp/b.culprit" "SELECT max(n) > 2 FROM (SELECT count(*) AS n FROM live_frame GROUP BY stack)")" = 1 ] ||
		fail "no stack has two callers"
}

test_1353_a_daemon_survives_a_machine_that_sleeps() {
	local before after slept
	part freeze
	before=$(head -n 1 "$tmp/out")
	part awake
	after=$(head -n 1 "$tmp/out")
	slept=$(awk -v a="$before" -v b="$after" 'BEGIN { print int(b - a) }')
	[ "$slept" -ge 2 ] || fail "the machine did not sleep"
	awk '/^event:/ { n++; if ($3 != $6 + $9 + $12) bad = 1 } END { exit bad || !n }' "$tmp/out" ||
		fail "taken = stored + lost + pending does not hold"
	after=$(awk '/^event:/ { print $3; exit }' "$tmp/out")
	part daemon
	before=$(awk '/^event:/ { print $3; exit }' "$tmp/out")
	# A processor is busy: it goes on to be sampled in the two seconds after.
	[ "$after" -gt $((before + 100)) ] || fail "$before samples before, $after after it woke"
	part check
	out_has "status 0"
	out_has clean
	! grep -E 'BUG|WARNING|Oops|lockup' "$tmp/out" || fail "the kernel complains"
}

# The machine has two processors of four that are possible, and one of them goes and comes back.
test_4406_processors_that_come_and_go_lose_nothing_and_are_sampled_again() {
	local before gone still back
	part processors
	[ "$(sed -n 1,2p "$tmp/out" | tr '\n' ' ')" = "0-3 0-1 " ] || fail "not two processors of four"
	for name in before gone still back; do
		printf -v "$name" %s "$(awk -v name="$name" '$1 == name { print $2 }' "$tmp/out")"
	done
	[ "$before" -gt 100 ] || fail "processor 1 had $before samples"
	[ "$still" = "$gone" ] || fail "samples of a processor that is off line: $gone, then $still"
	[ "$back" -gt $((gone + 100)) ] || fail "$gone samples when it went, $back after it came back"
	awk '/^event:/ { n++; if ($3 != $6 + $9 + $12) bad = 1 } END { exit bad || n != 4 }' "$tmp/out" ||
		fail "taken = stored + lost + pending does not hold"
	out_has "status 0"
	out_has clean
	! grep -E 'BUG|WARNING|Oops|lockup|is not sampled' "$tmp/out" || fail "somebody complains"
}

run_tests
