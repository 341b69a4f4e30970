/* SPDX-License-Identifier: MIT */
/*
 * 1263-1266: predictors that run ahead of fetch (core/bpred/walk.c) go where predictions at fetch
 * would go, as long as the BTB knows every control instruction on the way, and leave no trace.
 */
#include "bpred_stream.h"

#define SITES 128
#define BLOCK 64
#define START 0x10000

/* A program of control instructions, one in each block, at different places. */
struct program {
	struct inst inst[SITES];
	uint64_t pc[SITES];
	unsigned count[SITES]; /* executed so far */
	uint64_t stack[64];
	unsigned depth;
	struct rng rng;
};

static struct inst inst_of(unsigned s)
{
	struct inst in;

	switch (s % 8) {
	case 4:
		in = stream_jump;
		break;
	case 5:
		in = stream_call;
		break;
	case 6:
		return stream_return;
	case 7:
		return s % 16 == 7 ? stream_indirect : stream_icall;
	default:
		in = stream_branch;
	}
	/* Forwards and back, and from the last site to the first. */
	in.imm = s + 1 == SITES ? 0 : BLOCK * ((int)(s * 7 % 11) - (s < 6 ? 0 : 5));
	return in;
}

static void program_init(struct program *p)
{
	memset(p, 0, sizeof(*p));
	rng_seed(&p->rng, 7);
	for (unsigned s = 0; s < SITES; s++) {
		p->pc[s] = START + BLOCK * s + s % 5 * 8;
		p->inst[s] = inst_of(s);
	}
	p->inst[SITES - 1] = stream_jump;
	p->inst[SITES - 1].imm = (int)(START - p->pc[SITES - 1]);
}

/* The first control instruction from pc on. */
static unsigned site_at(const struct program *p, uint64_t pc)
{
	unsigned s = pc < START ? 0 : (unsigned)((pc - START) / BLOCK);

	return s < SITES && p->pc[s] < pc ? s + 1 : s;
}

static bool is_branch(const struct inst *in)
{
	return in->op == OP_BEQ;
}

/* Where the instruction really goes: branches by count and chance, returns by the stack. */
static uint64_t execute(struct program *p, unsigned s, bool *taken)
{
	const struct inst *in = &p->inst[s];
	unsigned n = p->count[s]++;
	uint64_t target = p->pc[s] + (uint64_t)(int64_t)in->imm;

	*taken = !is_branch(in) || n % (4 + s % 13) == 0 || (s % 9 == 0 && rng_next(&p->rng) % 2);
	if (in->op == OP_JALR && in->rs1 == 1)
		target = p->depth ? p->stack[--p->depth] : START;
	else if (in->op == OP_JALR)
		target = START + (n + s) % 4 * 16 * BLOCK;
	if (in->rd == 1 && p->depth < 64)
		p->stack[p->depth++] = p->pc[s] + in->len;
	return *taken ? target : p->pc[s] + in->len;
}

/* As bpred_walk, by predictions at fetch. */
static uint64_t predict_block(struct bpred *bp, const struct program *p, uint64_t pc, uint64_t end,
			      bool *taken)
{
	struct bpred_pred pred;

	for (unsigned s = site_at(p, pc); s < SITES && p->pc[s] < end; s = site_at(p, pc)) {
		bpred_predict(bp, p->pc[s], &p->inst[s], NULL, &pred);
		if (pred.taken) {
			assert_int_equal(pred.btb_hit, 1);
			*taken = true;
			return pred.target;
		}
		pc = p->pc[s] + p->inst[s].len;
	}
	*taken = false;
	return end;
}

/* Compares 24 blocks of the walk from pc with predictions, then takes these back. */
static void check_walk(struct bpred *bp, struct bpred_walk *w, const struct program *p, uint64_t pc)
{
	uint64_t before = bpred_hash_speculative(bp), tables = bpred_hash_tables(bp), at = pc;
	uint64_t next[24];
	bool taken[24], there;
	struct bpred_pred first;

	bpred_walk_begin(bp, w);
	for (unsigned i = 0; i < 24; i++)
		at = next[i] = bpred_walk(bp, w, at, (at | (BLOCK - 1)) + 1, &taken[i]);
	assert_int_equal(bpred_hash_speculative(bp), before);
	assert_int_equal(bpred_hash_tables(bp), tables);

	/* Something to go back to. */
	bpred_predict(bp, 0x900000, &stream_jump, NULL, &first);
	bpred_restore(bp, &first);
	for (unsigned i = 0; i < 24; i++) {
		pc = predict_block(bp, p, pc, (pc | (BLOCK - 1)) + 1, &there);
		assert_int_equal(pc, next[i]);
		assert_int_equal(there, taken[i]);
	}
	bpred_restore(bp, &first);
	assert_int_equal(bpred_hash_speculative(bp), before);
}

static void check_predictor(const struct bpred_config *c)
{
	struct bpred *bp = bpred_new(c);
	struct bpred_walk *w = bpred_walk_new(bp);
	static struct program p;
	uint64_t pc = START;

	program_init(&p);
	/* The BTB knows every instruction. */
	for (unsigned s = 0; s < SITES; s++)
		bpred_warm(bp, p.pc[s], &p.inst[s], true,
			   p.inst[s].op == OP_JALR ? START
						   : p.pc[s] + (uint64_t)(int64_t)p.inst[s].imm);
	for (unsigned i = 0; i < 20000; i++) {
		unsigned s = site_at(&p, pc);
		bool taken;

		if (i % 37 == 0)
			check_walk(bp, w, &p, pc);
		pc = execute(&p, s, &taken);
		bpred_warm(bp, p.pc[s], &p.inst[s], taken, taken || is_branch(&p.inst[s]) ? pc : 0);
	}
	bpred_walk_free(w);
	bpred_free(bp);
}

static void test_1263_a_walk_goes_where_fetch_would_go_by_any_predictor(void **state)
{
	static const char *const names[] = { "tage", "gshare", "bimodal", "tournament", "taken" };

	for (unsigned i = 0; i < ARRAY_LEN(names); i++) {
		struct bpred_config c = stream_config(names[i]);

		check_predictor(&c);
	}
}

static void test_1264_a_walk_has_loop_counts_of_its_own(void **state)
{
	struct bpred_config c = stream_config("tage");
	struct bpred *bp;
	struct bpred_walk *w;
	bool taken;

	c.loop_predictor = 1;
	check_predictor(&c);

	/* A loop of 300 iterations is too long for TAGE's histories. */
	bp = bpred_new(&c);
	w = bpred_walk_new(bp);
	for (unsigned i = 0; i < 300 * 200; i++)
		stream_cond(bp, START, i % 300 < 299);
	bpred_walk_begin(bp, w);
	for (unsigned i = 0; i < 600; i++) {
		bpred_walk(bp, w, START, START + BLOCK, &taken);
		assert_int_equal(taken, i % 300 < 299);
	}
	bpred_walk_free(w);
	bpred_free(bp);
}

static void test_1265_a_walk_works_in_small_and_odd_machines(void **state)
{
	struct bpred_config c = stream_config("tage");

	c.ras_entries = 0;
	check_predictor(&c);
	c.ras_entries = 3;
	c.indirect_entries = 0;
	check_predictor(&c);
	c = stream_config("gshare");
	c.btb_ways = 16;
	check_predictor(&c);
}

static void check_entries(const struct bpred_config *c)
{
	struct bpred *bp = bpred_new(c);
	struct bpred_walk *w = bpred_walk_new(bp);
	bool taken;

	bpred_walk_begin(bp, w);
	assert_int_equal(bpred_walk(bp, w, START + 6, START + BLOCK, &taken), START + BLOCK);
	assert_false(taken);
	/* From the instruction on, and not from behind it. */
	bpred_warm(bp, START + 8, &stream_jump, true, START + 264);
	assert_int_equal(bpred_walk(bp, w, START + 8, START + BLOCK, &taken), START + 264);
	assert_true(taken);
	assert_int_equal(bpred_walk(bp, w, START + 10, START + BLOCK, &taken), START + BLOCK);
	assert_false(taken);
	/* A block at the end of the address space. */
	assert_int_equal(bpred_walk(bp, w, UINT64_MAX - 7, 0, &taken), 0);
	assert_false(taken);
	bpred_walk_free(w);
	bpred_free(bp);
}

static void test_1266_an_instruction_without_an_entry_goes_on_to_the_next(void **state)
{
	struct bpred_config c = stream_config("taken");

	check_entries(&c);
	/* Fewer sets than a block has places for instructions. */
	c.btb_entries = 8;
	check_entries(&c);
	c.btb_ways = 8;
	check_entries(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_1263_a_walk_goes_where_fetch_would_go_by_any_predictor),
		cmocka_unit_test(test_1264_a_walk_has_loop_counts_of_its_own),
		cmocka_unit_test(test_1265_a_walk_works_in_small_and_odd_machines),
		cmocka_unit_test(test_1266_an_instruction_without_an_entry_goes_on_to_the_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
