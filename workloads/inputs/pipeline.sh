# SPDX-License-Identifier: MIT
# A shell that forks and execs itself for every applet of its pipelines.
set -e
file=$1
tr " a-z" "\nA-Z" < "$file" | sort | uniq -c | sort -rn | head -n 5
wc < "$file"
total=0
for word in $(head -c 200 "$file"); do
	total=$((total + ${#word}))
done
echo "$total $(md5sum < "$file")"
(exit 3) || echo "status $?"
