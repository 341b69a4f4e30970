# SPDX-License-Identifier: MIT
# Counts words with a hash and regular expressions, and sorts them.
use strict;
my (%count, $vowels, $swapped);
while (my $line = <>) {
	$count{lc $1}++ while $line =~ /(\w+)/g;
	$vowels += ($line =~ tr/aeiou//);
	$line =~ s/(\w+) (\w+)/$2 $1/g;
	$swapped = ($swapped * 33 + unpack("%32C*", $line)) % 4294967291;
}
my @order = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
print join(" ", map { "$_=$count{$_}" } @order[0 .. ($#order < 15 ? $#order : 15)]), "\n";
print scalar(@order), " $vowels $swapped\n";
