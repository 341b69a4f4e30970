#!/bin/sh
# SPDX-License-Identifier: MIT
# Three Debian programs on the idealised core: at least 99% of executions are at the head of the issue queue for as long
# as the schedule for the edge says by which their block was entered. What is left: the first instructions of functions
# and those after calls, whose producers are in the other function; a load that overlaps a store still queued; context
# further back than the block before. usage: run.sh SCORE SYSROOT NAME
set -eu
score=$1
name=$3
export CULPRIT_SYSROOT="$2"
bin=$CULPRIT_SYSROOT/usr/bin
[ -x "$bin/$name" ] || exit 77
insts=1500000
case $name in
bzip2 | xz) set -- "$bin/$name" -kc "$(dirname "$0")/score.c" ;;
gawk)
	insts=4000000 # of which the dynamic loader's are fewer then
	set -- "$bin/$name" 'BEGIN { for (i = 0; i < 100000; i++) s += length(i "x") }'
	;;
esac
exec "$score" schedule --insts $insts --worst 5 --least 0.99 "$@"
