# Swaps neighbours, marks long words, joins lines that end in a comma or an "n".
s/([a-z]+) ([a-z]+)/\2 \1/g
s/\b([A-Z])([a-z]{6,})\b/[\1\2]/g
y/bcdfg/BCDFG/
/n$/ { N
	s/\n/ /
}
s/(.)\1/<\1>/g
/\[.*\]/ { h
	s/[^A-Z]//g
	G
}
