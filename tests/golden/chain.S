/* SPDX-License-Identifier: MIT */
/* A chain of divisions and multiplications beside independent additions, then a burst of stores. */
	.globl _start
_start:
	lla	s1, buffer
	li	s3, 800
	li	s4, 1000003
	li	a0, 1
loop:
	div	a1, s4, a0
	mul	a0, a1, s3
	ori	a0, a0, 1
	add	t0, t0, s3
	add	t1, t1, s3
	add	t2, t2, s3
	add	t3, t3, s3
	li	t5, 8
	mv	t6, s1
fill:
	sd	a0, 0(t6)
	sd	t0, 64(t6)
	addi	t6, t6, 128
	addi	t5, t5, -1
	bnez	t5, fill
	addi	s1, s1, 1024
	addi	s3, s3, -1
	bnez	s3, loop
	li	a0, 0
	li	a7, 93
	ecall
	.size	_start, . - _start

	.bss
	.align	12
buffer:
	.zero	800 * 1024 + 1024
