/* SPDX-License-Identifier: MIT */
/* Loads from random places of 256 KiB and branches that nobody can predict; half of them call a function. */
	.globl _start
_start:
	lla	s1, table
	li	s2, 88172645463325252
	li	s3, 3000
	li	s4, 0x3fff8
loop:
	slli	t0, s2, 13
	xor	s2, s2, t0
	srli	t0, s2, 7
	xor	s2, s2, t0
	slli	t0, s2, 17
	xor	s2, s2, t0
	and	t1, s2, s4
	add	t1, t1, s1
	ld	t2, 0(t1)
	add	s5, s5, t2
	srli	t3, s2, 32
	andi	t3, t3, 1
	beqz	t3, next
	call	step
next:
	addi	s3, s3, -1
	bnez	s3, loop
	li	a0, 0
	li	a7, 93
	ecall
	.size	_start, . - _start

	.type	step, @function
step:
	sd	s5, 0(t1)
	ret
	.size	step, . - step

	.bss
	.align	12
table:
	.zero	0x40000
