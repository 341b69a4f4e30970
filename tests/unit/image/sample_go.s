# A program with the function table of Go's run time (.gopclntab, as Go 1.20 and later write it) and no symbols.
	.option norelax
	.option norvc
	.text
	.globl _start
_start:
	nop
	jal	helper
	nop
	ret
helper:
	addi	a0, a0, 1
	nop
	ret
end:
	.section .gopclntab, "a"
table:
	.word	0xfffffff1
	.byte	0, 0, 2, 8
	.quad	2			# functions
	.quad	0			# files
	.quad	_start			# the text
	.quad	names - table
	.quad	0, 0, 0
	.quad	entries - table
names:
	.asciz	"main.main"
	.asciz	"main.(*T).helper"
	.balign	4
entries:
	.word	0, first - entries
	.word	helper - _start, second - entries
	.word	end - _start
first:
	.word	0, 0
second:
	.word	helper - _start, 10
