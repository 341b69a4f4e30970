# A dictionary of words, a sort and a count, all by string commands.
set n [lindex $argv 0]
set seed 12345
proc next {} { global seed; set seed [expr {($seed * 1103515245 + 12345) & 0x7fffffff}]; return $seed }
set words {}
for {set i 0} {$i < $n} {incr i} {
	set w ""
	for {set k 0} {$k < 3 + [next] % 5} {incr k} { append w [string index "aeioubcdfghklmnprst" [expr {[next] % 19}]] }
	dict incr count $w
	lappend words $w
}
set sorted [lsort -unique $words]
set long [lsearch -all -inline -regexp $sorted {^[aeiou].*[^aeiou]$}]
puts "[llength $sorted] [llength $long] [dict size $count] [string length [join [lreverse $sorted] ,]]"
