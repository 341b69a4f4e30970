#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs programs of the suite, and of Debian where they are installed, and holds the control-flow graphs in their
# profiles against the transfers that they made:   graphs.sh GRAPHS CULPRIT BUILD
set -u
graphs=$1 culprit=$2 build=$3
run=$(dirname "$0")/../../workloads/run
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
number=2539 count=0
programs="interp call_web lua gawk perl sqlite bzip2 xz busybox gojq"
set -- $programs
echo "1..$#"
for name in $programs; do
	number=$((number + 1)) count=$((count + 1))
	size=test
	[ "$count" -gt 2 ] || size=quick
	"$run" "$name" $size --build "$build" --under "$culprit" sim --machine inorder-2w --analyze issue,truth \
		--max-insts 500000 -o "$folder/$name.culprit" --sysroot {sysroot} -- >"$folder/out" 2>&1 </dev/null
	if [ $? = 77 ] || [ ! -s "$folder/$name.culprit" ]; then
		echo "ok $count - $number graphs of $name # SKIP it is not there"
		continue
	fi
	said=$("$graphs" check "$folder/$name.culprit" 2>&1)
	status=$?
	echo "$said" | tail -n 5 | sed 's/^/# /'
	share=$(echo "$said" | sed -n 's/.*resolved [0-9]* (\([0-9]*\).*/\1/p')
	if [ $status = 0 ] && [ "${share:-0}" -ge 90 ]; then
		echo "ok $count - $number every transfer of $name is in its graphs"
	else
		echo "not ok $count - $number every transfer of $name is in its graphs"
	fi
done
