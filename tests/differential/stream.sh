#!/bin/bash
# SPDX-License-Identifier: MIT
# One program executes the same instructions in every way to run it (stream.c): the programs of the suite, Debian's
# where they are installed, and guest tests with threads, signals, timers and clocks:
#     stream.sh STREAM BUILD GUESTS [INSTS]      INSTS: how many of each program; 200000 by default
set -u
stream=$(realpath "$1") build=$2 guests=$3 insts=${4:-200000}
run=$(realpath "$(dirname "$0")/../../workloads/run")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
count=0

# report NUMBER SENTENCE STATUS
report() {
	count=$((count + 1))
	sed 's/^/# /' out
	case $3 in
	0) echo "ok $count - $1 $2" ;;
	77) echo "ok $count - $1 $2 # SKIP it is not there" ;;
	*) echo "not ok $count - $1 $2" ;;
	esac
}

# guest NUMBER SENTENCE OPTIONS… PROGRAM…
guest() {
	local number=$1 sentence=$2
	shift 2
	"$stream" -n "$insts" "$@" </dev/null >out 2>&1
	report "$number" "$sentence" $?
}

# suite NUMBER SIZE NAMES SENTENCE [OPTIONS…]
suite() {
	local number=$1 size=$2 names=$3 sentence=$4 bad=0 name there=0
	shift 4
	: >out
	for name in $names; do
		"$run" "$name" "$size" --build "$build" --under "$stream" -n "$insts" "$@" >one 2>&1 </dev/null
		case $? in
		0) there=$((there + 1)) ;;
		77) ;;
		*)
			bad=1
			sed "s/^/$name: /" one >>out
			;;
		esac
	done
	[ $bad = 1 ] || [ $there -gt 0 ] || bad=77
	echo "$there programs" >>out
	report "$number" "$sentence" $bad
}

echo 1..8
guest 2810 "clocks and timers by instructions" "$guests/clocks.rv"
guest 2811 "clocks and timers at 2.7 cycles an instruction" -c 2.7 -m inorder-2w "$guests/clocks.rv"
guest 2812 "by cycles they are not the same" -d -c 0 "$guests/clocks.rv"
guest 2813 "threads" "$guests/threads.rv"
guest 2814 "signals and faults" -m inorder-2w "$guests/signals.rv"
guest 2815 "a crash" "$guests/crash.rv"
suite 2816 quick "$(sed -n 's/^\([a-z]\w*\) *|.*/\1/p' "$(dirname "$run")/suite.txt")" "the programs of the suite"
suite 2817 test "gojq musl_threads lua gawk perl sqlite bzip2 xz zstd" \
	"Debian's programs, Go's threads and timers included" -L {sysroot}
