divert(-1)
define(`DISCS', ifdef(`DISCS', DISCS, 10))
define(`move', `Move disc $1 from $2 to $3.')
define(`hanoi', `ifelse($1, 0, , `hanoi(decr($1), $2, $4, $3)move($1, $2, $3)
hanoi(decr($1), $4, $3, $2)')')
define(`sum', `ifelse($1, 0, 0, `eval($1 + sum(decr($1)))')')
divert(0)dnl
hanoi(DISCS, left, right, middle)
sum(200)
