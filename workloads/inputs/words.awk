# SPDX-License-Identifier: MIT
# Counts words, measures lines, and lists the commonest words.
{
	gsub(/[.,]/, "")
	for (i = 1; i <= NF; i++) {
		count[tolower($i)]++
		letters += length($i)
	}
	if (match($0, /st[aeiou]+n/))
		matched++
	root += sqrt(NR) * sin(NF)
}
END {
	n = asorti(count, order, "@val_num_desc")
	for (i = 1; i <= 20 && i <= n; i++)
		top[i] = count[order[i]]
	for (i = 1; i <= 20 && i <= n; i++)
		printf "%d ", top[i]
	printf "\n%d %d %d %d %.6f\n", NR, n, letters, matched, root
}
