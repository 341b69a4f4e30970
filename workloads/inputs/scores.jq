# SPDX-License-Identifier: MIT
# Groups, sorts and reduces an array of objects.
(group_by(.tags[0]) | map({tag: .[0].tags[0], n: length, best: (map(.score) | max)}) | sort_by(-.n, .tag) | .[0:10]),
(map(select(.ok) | .score) | add), (reduce .[] as $o (0; (. * 31 + ($o.name | length) + $o.id) % 1000003)),
([.[] | .name | test("^[a-m].*st")] | map(if . then 1 else 0 end) | add)
