/* SPDX-License-Identifier: MIT */
/*
 * A bytecode interpreter: fetch, indirect jump through one table, a few operations, and back. The
 * program that it runs sieves primes and sums a recurrence, so that the sequence of bytecodes has a
 * pattern that only history-based predictors of indirect jumps learn.
 *
 *      interp ROUNDS
 */
#include "workload.h"

enum op { LOADI, MOVE, ADD, ADDI, MUL, XOR, SHR, JLT, JNZ, LDM, STM, LOOP, HALT };

struct code {
	uint8_t op, a, b, c;
	int32_t imm;
};

enum { CELLS = 1024 };

static const struct code program[] = {
	/* r0: rounds left; r1: prime candidate; r2: multiple; r3: limit; r4: accumulator; r8: 1;
	   r9: multiplier */
	{ LOADI, 3, 0, 0, CELLS },
	{ LOADI, 8, 0, 0, 1 },
	{ LOADI, 4, 0, 0, 7 },
	{ LOADI, 9, 0, 0, 0x2545f491 },
	/* 4: one round: clear the cells */
	{ LOADI, 1, 0, 0, 0 },
	{ LOADI, 5, 0, 0, 0 },
	{ STM, 5, 1, 0, 0 },
	{ ADDI, 1, 1, 0, 1 },
	{ JLT, 1, 3, 0, 6 },
	/* 9: sieve from 2 on */
	{ LOADI, 1, 0, 0, 2 },
	{ LDM, 5, 1, 0, 0 },
	{ JNZ, 5, 0, 0, 18 },
	{ ADD, 4, 4, 1, 0 }, /* a prime: add it, strike its multiples */
	{ ADD, 2, 1, 1, 0 },
	{ JLT, 3, 2, 0, 18 },
	{ STM, 8, 2, 0, 0 },
	{ ADD, 2, 2, 1, 0 },
	{ JLT, 2, 3, 0, 15 },
	/* 18: the recurrence */
	{ ADD, 4, 4, 1, 0 },
	{ MUL, 6, 4, 9, 0 },
	{ SHR, 7, 6, 0, 32 },
	{ XOR, 4, 6, 7, 0 },
	{ ADDI, 1, 1, 0, 1 },
	{ JLT, 1, 3, 0, 10 },
	{ LOOP, 0, 0, 0, 4 },
	{ HALT, 0, 0, 0, 0 },
};

static uint64_t __attribute__((noinline)) interpret(const struct code *code, uint64_t rounds)
{
	uint64_t r[16] = { rounds }, mem[CELLS] = { 0 };
	const struct code *pc = code;

	for (;;) {
		const struct code *i = pc++;

		switch (i->op) {
		case LOADI:
			r[i->a] = i->imm;
			break;
		case MOVE:
			r[i->a] = r[i->b];
			break;
		case ADD:
			r[i->a] = r[i->b] + r[i->c];
			break;
		case ADDI:
			r[i->a] = r[i->b] + i->imm;
			break;
		case MUL:
			r[i->a] = r[i->b] * r[i->c];
			break;
		case XOR:
			r[i->a] = r[i->b] ^ r[i->c];
			break;
		case SHR:
			r[i->a] = r[i->b] >> i->imm;
			break;
		case JLT:
			if (r[i->a] < r[i->b])
				pc = code + i->imm;
			break;
		case JNZ:
			if (r[i->a])
				pc = code + i->imm;
			break;
		case LDM:
			r[i->a] = mem[r[i->b] % CELLS];
			break;
		case STM:
			mem[r[i->b] % CELLS] = r[i->a];
			break;
		case LOOP:
			if (--r[0])
				pc = code + i->imm;
			break;
		default:
			return r[4];
		}
	}
}

int main(int argc, char **argv)
{
	uint64_t rounds = workload_arg(argc, argv, 1, 50, 1, UINT64_MAX), sum;

	CULPRIT_BEGIN();
	sum = interpret(program, rounds);
	CULPRIT_END();
	return workload_print("interp", workload_mix(0, sum));
}
