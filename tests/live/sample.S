/* SPDX-License-Identifier: MIT */
/* A program that never runs: code for tests of listings, the same bytes with every assembler. */
	.text
	.globl hot
	.type hot, @function
hot:
	xor	%eax, %eax
	mov	$1000, %ecx
1:	add	(%rdi,%rcx,8), %rax
	cmp	$7, %rax
	je	2f
	imul	%rdx, %rax
2:	dec	%rcx
	jnz	1b
	call	leaf
	ret
	.size hot, . - hot

	.type leaf, @function
leaf:
	.cfi_startproc
	nop
	ret
	.cfi_endproc
	.size leaf, . - leaf

	.globl _start
	.type _start, @function
_start:
	call	hot
	ud2
	.size _start, . - _start
	.section .note.GNU-stack, "", @progbits
