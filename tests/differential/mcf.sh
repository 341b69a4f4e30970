#!/bin/sh
# SPDX-License-Identifier: MIT
# Minimum-cost circulations against GLPK: random graphs, the same least cost.
# usage: mcf.sh PROGRAM COUNT
set -eu
program=$1
count=$2
command -v glpsol >/dev/null || { echo "glpsol is not installed (glpk-utils)"; exit 77; }
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
i=1
while [ "$i" -le "$count" ]; do
	nodes=$((2 + i * 7 % 60))
	ours=$("$program" "$i" "$nodes" "$folder/graph.lp")
	glpsol --lp "$folder/graph.lp" --write "$folder/answer" >"$folder/log" || { cat "$folder/log"; exit 1; }
	# The line "s bas rows columns f f value" has the status of the solution and its cost.
	theirs=$(awk '$1 == "s" && $5 == "f" && $6 == "f" { printf "%.0f", $7 }' "$folder/answer")
	if [ "$ours" != "$theirs" ]; then
		echo "graph $i of $nodes nodes: ours costs $ours, GLPK's $theirs"
		exit 1
	fi
	i=$((i + 1))
done
echo "$count graphs, the same cost as GLPK's"
