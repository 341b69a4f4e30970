/* SPDX-License-Identifier: MIT */
/*
 * Random programs: every row of the instruction table, full and compressed, with operands that are
 * often special, in loops that run often enough to be translated.
 *
 * Two things keep mistakes from being lost before the end. Floating-point operands come fresh from
 * a pool of special values half of the time (otherwise all registers are NaN soon), and results,
 * flags and random registers are mixed into one register all the time.
 *
 * What qemu 7.2 does not have, or does otherwise where the specification leaves it open, is made
 * only for comparing our own executors: Zicond, counters, a store-conditional of another width than
 * its reservation, ctzw of a zero word (qemu says 64), c.addi16sp by zero (reserved).
 */
#include <stdlib.h>
#include <string.h>

#include "differential/random/program.h"
#include "isa/csr.h"
#include "isa/format.h"
#include "isa/isa.h"
#include "util/util.h"

struct gen {
	struct program *p;
	struct rng rng;
	bool self;
	bool in_function;
	bool wide; /* width of reservations, unless both may be mixed */
	unsigned functions;
	unsigned insts;
};

static unsigned below(struct gen *g, unsigned n)
{
	return (unsigned)rng_below(&g->rng, n);
}

static bool one_in(struct gen *g, unsigned n)
{
	return below(g, n) == 0;
}

static bool may_write(const struct gen *g, unsigned r)
{
	switch (r) {
	case REG_SP:
	case REG_POOL:
	case REG_TRACE:
	case REG_S0:
	case REG_S1:
	case REG_SUM:
	case REG_INNER:
	case REG_OUTER:
		return false;
	case REG_LINK:
		return !g->in_function;
	default:
		return true;
	}
}

static unsigned random_dest(struct gen *g)
{
	for (;;) {
		unsigned r = below(g, 32);

		if (may_write(g, r))
			return r;
	}
}

static int pool_offset(struct gen *g, unsigned align)
{
	return (int)(below(g, POOL_BYTES / align) * align) - 2048;
}

/* -- items -- */

static struct item *item_add(struct gen *g, enum item_kind kind)
{
	struct program *p = g->p;

	if (p->nitems == p->room) {
		p->room = p->room * 2 + 1024;
		p->items = x_realloc(p->items, p->room * sizeof(*p->items));
	}
	struct item *it = &p->items[p->nitems++];

	memset(it, 0, sizeof(*it));
	it->kind = (uint8_t)kind;
	it->on = true;
	return it;
}

static void word_add(struct gen *g, struct item *it, uint32_t word)
{
	if (it->nwords == ITEM_WORDS)
		die("an item of too many words");
	it->words[it->nwords++] = word;
	g->insts++;
}

static void add_observation(struct gen *g, struct item *it, unsigned x)
{
	word_add(g, it, enc_r(one_in(g, 2) ? OP_XOR : OP_ADD, REG_SUM, REG_SUM, x));
	word_add(g, it, enc_i(OP_RORI, REG_SUM, REG_SUM, 1 + (int)below(g, 63)));
}

static void add_observation_f(struct gen *g, struct item *it, unsigned f)
{
	word_add(g, it, enc_r(OP_FMV_X_D, REG_ADDR, f, 0));
	add_observation(g, it, REG_ADDR);
}

/* -- values -- */

static uint64_t random_double(struct gen *g)
{
	static const uint64_t special[] = {
		0x0000000000000000, 0x8000000000000000, /* zeros */
		0x3ff0000000000000, 0xbff0000000000000, /* ones */
		0x7ff0000000000000, 0xfff0000000000000, /* infinities */
		0x7ff8000000000000, 0xfff8000000000000, /* quiet NaNs */
		0x7ff8000000000123, 0xffffffffffffffff, /* with a payload */
		0x7ff0000000000001, 0xfff4000000000000, /* signalling NaNs */
		0x0010000000000000, 0x8010000000000000, /* least normals */
		0x7fefffffffffffff, 0xffefffffffffffff, /* greatest normals */
		0x0000000000000001, 0x8000000000000001, /* least subnormals */
		0x000fffffffffffff, 0x800fffffffffffff, /* greatest subnormals */
		0x3fe0000000000000, 0xbfe0000000000000, /* halves */
		0x3fefffffffffffff, 0x3ff0000000000001, /* around one */
		0x4000000000000000, 0x4008000000000000, /* small integers */
		0x3fb999999999999a, 0x47efffffe0000000, /* a tenth; greatest single */
		0x47effffff0000000, 0x3810000000000000, /* just above it; least normal single */
		0x36a0000000000000, 0x3690000000000000, /* least single; half of it */
	};
	uint64_t r = rng_next(&g->rng), sign = r & 1ull << 63;
	uint64_t frac = rng_next(&g->rng) >> 12;

	switch (below(g, 12)) {
	case 0:
	case 1:
	case 2:
		return special[below(g, ARRAY_LEN(special))];
	case 3: /* around the limits of integers, and halves */
		frac = (r & 3) << (52 - (r >> 2 & 63) % 52);
		return sign | (1023ull + 30 + below(g, 35)) << 52 | (frac & 0xfffffffffffff);
	case 4: /* n + 0.5, n + 0.25 and the like */
		frac = (r >> 8) << (44 + below(g, 8)) & 0xfffffffffffff;
		return sign | (1023ull - 2 + below(g, 12)) << 52 | frac;
	case 5: /* all ones or few bits: ties and carries in rounding */
		frac = 0xfffffffffffffull << below(g, 52) & 0xfffffffffffff;
		return sign | (1023ull - 30 + below(g, 60)) << 52 | frac;
	case 6: /* subnormal */
		return sign | frac >> below(g, 52);
	case 7: /* near the limits */
		return sign | (one_in(g, 2) ? 1ull + below(g, 60) : 2046ull - below(g, 60)) << 52 |
		       (one_in(g, 2) ? frac : 0);
	case 8: /* near the limits of singles */
		return sign |
		       (one_in(g, 2) ? 1023ull - 152 + below(g, 30) : 1023ull + 124 + below(g, 6))
			   << 52 |
		       (one_in(g, 2) ? frac : frac & ~0x1fffffffull);
	case 9: /* few significant bits: exact results */
		return sign | (1023ull - 10 + below(g, 20)) << 52 | (frac & 0xff00000000000);
	case 10:
		return r;
	default:
		return sign | (1023ull - 4 + below(g, 8)) << 52 | frac;
	}
}

static uint32_t random_single(struct gen *g)
{
	static const uint32_t special[] = {
		0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
		0x7fc00000, 0xffc00000, 0x7fc00123, 0xffffffff, 0x7f800001, 0xffa00000,
		0x00800000, 0x80800000, 0x7f7fffff, 0xff7fffff, 0x00000001, 0x80000001,
		0x007fffff, 0x807fffff, 0x3f000000, 0xbf000000, 0x3f7fffff, 0x3f800001,
		0x4f000000, 0xcf000000, 0x4effffff, 0x5f000000, 0xdf000000, 0x5effffff,
		0x4f800000, 0x5f800000, 0x3dcccccd, 0x40000000, 0x40400000, 0xcf000001,
	};
	uint32_t r = (uint32_t)rng_next(&g->rng), sign = r & 0x80000000, frac = r & 0x7fffff;

	switch (below(g, 10)) {
	case 0:
	case 1:
	case 2:
		return special[below(g, ARRAY_LEN(special))];
	case 3:
		return sign | (127 - 2 + below(g, 12)) << 23 | (frac & 0x7f0000);
	case 4:
		return sign | (127 + 28 + below(g, 38)) << 23 | (one_in(g, 2) ? frac : 0);
	case 5:
		return sign | (127 - 20 + below(g, 40)) << 23 |
		       (0x7fffffu << below(g, 23) & 0x7fffff);
	case 6:
		return sign | frac >> below(g, 23);
	case 7:
		return sign | (one_in(g, 2) ? 1 + below(g, 30) : 254 - below(g, 30)) << 23 |
		       (one_in(g, 2) ? frac : 0);
	case 8:
		return r;
	default:
		return sign | (127 - 4 + below(g, 8)) << 23 | frac;
	}
}

static uint64_t random_integer(struct gen *g)
{
	static const uint64_t special[] = {
		0,
		1,
		2,
		~0ull,
		1ull << 63,
		~(1ull << 63),
		1ull << 31,
		~0ull << 31,
		(1ull << 31) - 1,
		0xffffffff,
		1ull << 32,
		0x8000000080000000,
		0x5555555555555555,
		0x0080ff7f01fe0180,
		~0ull << 32,
	};
	uint64_t r = rng_next(&g->rng);

	switch (below(g, 6)) {
	case 0:
		return special[below(g, ARRAY_LEN(special))];
	case 1:
		return r >> below(g, 64);
	case 2:
		return (uint64_t)((int64_t)r >> below(g, 64));
	case 3: /* around a power of two */
		return (1ull << below(g, 64)) + below(g, 5) - 2;
	case 4:
		return r << below(g, 64);
	default:
		return r;
	}
}

static uint64_t random_value(struct gen *g)
{
	switch (below(g, 8)) {
	case 0:
	case 1:
	case 2:
		return random_double(g);
	case 3:
	case 4:
		return 0xffffffff00000000 | random_single(g);
	case 5: /* badly boxed */
		return (one_in(g, 2) ? 0xfffffffe00000000 : rng_next(&g->rng) << 32) |
		       random_single(g);
	default:
		return random_integer(g);
	}
}

/* -- one instruction of a row -- */

/* Returns a random word of an operation that neither jumps nor touches memory, or 0. */
static uint32_t random_compute(struct gen *g)
{
	enum op op = (enum op)(1 + below(g, OP_COUNT - 1));
	const struct op_info *info = &op_info[op];
	uint32_t word = info->match | ((uint32_t)rng_next(&g->rng) & ~info->mask);
	struct inst in;

	if (info->cls == CLASS_CSR || info->cls == CLASS_SYSTEM || info->mem_bytes ||
	    info->flags & OPF_CTRL)
		return 0;
	if (op == OP_FENCE_I && !one_in(g, 50))
		return 0;
	if (!g->self && (op == OP_CZERO_EQZ || op == OP_CZERO_NEZ || op == OP_CTZW))
		return 0;
	if (info->flags & OPF_USES_RM) {
		unsigned rm = below(g, 10);

		word = (word & ~(7u << 12)) | (rm < 5 ? rm : 7) << 12;
	}
	in = isa_decode(word);
	/* The word may be a hint in the same encoding space. */
	if (isa_is_mark_begin(&in) || isa_is_mark_end(&in) ||
	    (op_info[in.op].flags & OPF_RD_INT && !may_write(g, in.rd)))
		return 0;
	return word;
}

static void add_fp_operand(struct gen *g, struct item *it, unsigned f, bool single)
{
	if (single && !one_in(g, 4))
		word_add(g, it, enc_i(OP_FLW, f, REG_POOL, pool_offset(g, 4)));
	else
		word_add(g, it, enc_i(OP_FLD, f, REG_POOL, pool_offset(g, 8)));
}

static void add_compute(struct gen *g)
{
	struct item *it = item_add(g, ITEM_PLAIN);
	uint32_t word;

	do {
		word = random_compute(g);
	} while (!word);

	struct inst in = isa_decode(word);
	const struct op_info *info = &op_info[in.op];
	bool fresh = one_in(g, 2);
	/* Names of single-precision operations contain .s or .w. */
	bool single = strstr(info->name, ".s") || strstr(info->name, ".w");

	if (fresh && info->flags & OPF_RS1_FP)
		add_fp_operand(g, it, in.rs1, single);
	if (fresh && info->flags & OPF_RS2_FP)
		add_fp_operand(g, it, in.rs2, single);
	if (fresh && info->flags & OPF_RS3_FP)
		add_fp_operand(g, it, in.rs3, single);
	if (info->flags & OPF_RS1_INT && may_write(g, in.rs1) && one_in(g, 4))
		word_add(g, it, enc_i(OP_LD, in.rs1, REG_POOL, pool_offset(g, 8)));
	if (info->flags & OPF_RS2_INT && may_write(g, in.rs2) && one_in(g, 4))
		word_add(g, it, enc_i(OP_LD, in.rs2, REG_POOL, pool_offset(g, 8)));
	if (info->flags & OPF_FFLAGS && one_in(g, 4))
		word_add(g, it, enc_i(OP_CSRRWI, 0, 0, CSR_FFLAGS));
	word_add(g, it, word);
	if (info->flags & OPF_FFLAGS && one_in(g, 3)) {
		unsigned rd = random_dest(g);

		word_add(g, it, enc_i(one_in(g, 2) ? OP_CSRRW : OP_CSRRS, rd, 0, CSR_FFLAGS));
		add_observation(g, it, rd);
	}
	if (info->flags & OPF_RD_FP && one_in(g, 2))
		add_observation_f(g, it, in.rd);
	else if (info->flags & OPF_RD_INT && one_in(g, 4))
		add_observation(g, it, in.rd);
}

static void add_ctzw(struct gen *g)
{
	struct item *it = item_add(g, ITEM_PLAIN);

	word_add(g, it, enc_i(OP_BSETI, REG_ADDR, below(g, 32), (int)below(g, 32)));
	word_add(g, it, enc_r(OP_CTZW, random_dest(g), REG_ADDR, 0));
}

/* Adds any compressed instruction that does not jump. */
static void add_compressed(struct gen *g)
{
	for (;;) {
		const struct c_row_info *row = &isa_c_rows[below(g, C_ROW_COUNT)];
		uint32_t w = row->match | ((uint32_t)rng_next(&g->rng) & 0xffff & ~row->mask);
		struct inst in = isa_decode(w);
		const struct op_info *info = &op_info[in.op];
		struct item *it;

		if (in.op == OP_ILLEGAL || in.op == OP_EBREAK || info->flags & OPF_CTRL ||
		    isa_is_mark_begin(&in) || isa_is_mark_end(&in))
			continue;
		if (row->format == FMT_C_16SP) {
			if (in.imm == 0 && !g->self)
				continue;
			it = item_add(g, ITEM_PLAIN);
			word_add(g, it, w);
			word_add(g, it, enc_i(OP_ADDI, REG_SP, REG_SP, -in.imm));
			return;
		}
		if (info->flags & OPF_RD_INT && !may_write(g, in.rd))
			continue;
		if (info->mem_bytes && in.rs1 != REG_SP && in.rs1 != REG_S0 && in.rs1 != REG_S1)
			continue;
		word_add(g, item_add(g, ITEM_PLAIN), w);
		return;
	}
}

/* Sets t5 to a base plus an offset that is known only at run time. */
static void add_address(struct gen *g, struct item *it, unsigned align)
{
	unsigned base = align > 1 ? REG_S0 : one_in(g, 2) ? REG_S1 : REG_S0;

	word_add(g, it, enc_i(OP_ANDI, REG_ADDR, below(g, 32), 0x7ff & -(int)align));
	word_add(g, it, enc_r(OP_ADD, REG_ADDR, REG_ADDR, base));
}

static void add_memory(struct gen *g)
{
	static const uint8_t bases[] = { REG_SP, REG_S0, REG_S1 };
	static const uint16_t ops[] = { OP_LB,	OP_LH, OP_LW, OP_LD, OP_LBU, OP_LHU, OP_LWU, OP_FLW,
					OP_FLD, OP_SB, OP_SH, OP_SW, OP_SD,  OP_FSW, OP_FSD };
	struct item *it = item_add(g, ITEM_PLAIN);
	unsigned op = ops[below(g, ARRAY_LEN(ops))], base = bases[below(g, 3)];
	int imm = (int)below(g, 4096) - 2048;
	/* The end of a page is 8 bytes above or below the bases; see segment_begin. */
	if (one_in(g, 3))
		imm = (int)below(g, 32) - 16;
	if (one_in(g, 2)) {
		add_address(g, it, 1);
		base = REG_ADDR;
	}
	if (op_info[op].flags & OPF_STORE) {
		word_add(g, it, enc_s(op, base, below(g, 32), imm));
	} else if (op_info[op].flags & OPF_RD_FP) {
		word_add(g, it, enc_i(op, below(g, 32), base, imm));
	} else {
		unsigned rd = random_dest(g);

		word_add(g, it, enc_i(op, rd, base, imm));
		if (one_in(g, 3))
			add_observation(g, it, rd);
	}
}

static void add_atomic(struct gen *g)
{
	struct item *it = item_add(g, ITEM_PLAIN);
	unsigned op, aqrl = below(g, 4) << 25, rd;

	add_address(g, it, 8);
	if (one_in(g, 3)) {
		unsigned lr = (g->self ? one_in(g, 2) : g->wide) ? OP_LR_D : OP_LR_W;
		unsigned sc = (g->self ? one_in(g, 2) : g->wide) ? OP_SC_D : OP_SC_W;

		rd = random_dest(g);
		if (rd == REG_ADDR)
			rd = 0;
		if (!one_in(g, 8))
			word_add(g, it, enc_r(lr, rd, REG_ADDR, 0) | aqrl);
		if (one_in(g, 4)) /* a store between, to the reserved address or not */
			word_add(g, it,
				 enc_s(one_in(g, 2) ? OP_SD : OP_SB, REG_ADDR, below(g, 32), 0));
		if (one_in(g, 8)) /* store-conditional to another address */
			word_add(g, it, enc_i(OP_ADDI, REG_ADDR, REG_ADDR, 8));
		rd = random_dest(g);
		if (!one_in(g, 8))
			word_add(g, it, enc_r(sc, rd, REG_ADDR, below(g, 32)) | aqrl);
	} else {
		do {
			op = below(g, OP_COUNT);
		} while (op_info[op].cls != CLASS_AMO || op == OP_SC_W || op == OP_SC_D);
		rd = random_dest(g);
		word_add(g, it, enc_r(op, rd, REG_ADDR, below(g, 32)) | aqrl);
	}
	if (one_in(g, 2))
		add_observation(g, it, rd);
}

static void add_csr(struct gen *g)
{
	static const uint16_t ops[] = { OP_CSRRW,  OP_CSRRS,  OP_CSRRC,
					OP_CSRRWI, OP_CSRRSI, OP_CSRRCI };
	static const uint16_t csrs[] = { CSR_FFLAGS, CSR_FRM,  CSR_FCSR,
					 CSR_CYCLE,  CSR_TIME, CSR_INSTRET };
	struct item *it = item_add(g, ITEM_PLAIN);
	unsigned csr = csrs[below(g, g->self ? 6 : 3)], rd = random_dest(g);

	if (csr_is_counter(csr)) {
		word_add(g, it, enc_i(OP_CSRRS, rd, 0, (int)csr));
		return;
	}
	word_add(g, it, enc_i(ops[below(g, 6)], rd, below(g, 32), (int)csr));
	if (one_in(g, 2)) { /* observe the new value */
		add_observation(g, it, rd);
		rd = random_dest(g);
		word_add(g, it, enc_i(OP_CSRRS, rd, 0, CSR_FCSR));
		add_observation(g, it, rd);
	}
	/* Never leave a reserved rounding mode behind. */
	if (csr != CSR_FFLAGS)
		word_add(g, it, enc_i(OP_CSRRWI, 0, below(g, 5), CSR_FRM));
}

static void add_reload(struct gen *g)
{
	struct item *it = item_add(g, ITEM_PLAIN);

	for (unsigned n = 1 + below(g, 4); n; n--) {
		if (one_in(g, 2))
			word_add(g, it, enc_i(OP_LD, random_dest(g), REG_POOL, pool_offset(g, 8)));
		else
			add_fp_operand(g, it, below(g, 32), one_in(g, 2));
	}
}

/* -- control -- */

static void add_skip(struct gen *g)
{
	static const uint16_t branches[] = { OP_BEQ, OP_BNE, OP_BLT, OP_BGE, OP_BLTU, OP_BGEU };
	struct item *it = item_add(g, ITEM_SKIP);
	unsigned rd = random_dest(g);

	it->skip = (uint8_t)below(g, 4);
	switch (below(g, 10)) {
	default: {
		unsigned rs1 = below(g, 32);

		it->fix_kind = FIX_B;
		word_add(g, it,
			 enc_b(branches[below(g, 6)], rs1, one_in(g, 5) ? rs1 : below(g, 32), 0));
		break;
	}
	case 0:
	case 1: {
		unsigned row = one_in(g, 2) ? ROW_C_BEQZ : ROW_C_BNEZ;

		it->fix_kind = FIX_CB;
		word_add(g, it, isa_c_rows[row].match | below(g, 8) << 7);
		break;
	}
	case 2:
		it->fix_kind = FIX_J;
		word_add(g, it, enc_j(OP_JAL, rd, 0));
		break;
	case 3:
		it->fix_kind = FIX_CJ;
		word_add(g, it, isa_c_rows[ROW_C_J].match);
		break;
	case 4: /* rd may be the base */
		it->fix_kind = FIX_I;
		it->fix = 1;
		word_add(g, it, enc_u(OP_AUIPC, REG_JUMP, 0));
		word_add(g, it, enc_i(OP_JALR, one_in(g, 4) ? REG_JUMP : rd, REG_JUMP, 0));
		break;
	case 5: {
		unsigned row = one_in(g, 2) || g->in_function ? ROW_C_JR : ROW_C_JALR;

		it->fix_kind = FIX_I;
		it->fix = 1;
		word_add(g, it, enc_u(OP_AUIPC, REG_JUMP, 0));
		word_add(g, it, enc_i(OP_ADDI, REG_JUMP, REG_JUMP, 0));
		word_add(g, it, isa_c_rows[row].match | REG_JUMP << 7);
		break;
	}
	}
}

/* Jumps to one of four places, by a value that is known only at run time. */
static void add_switch(struct gen *g)
{
	struct item *it = item_add(g, ITEM_PLAIN);
	unsigned rd = random_dest(g);

	word_add(g, it, enc_u(OP_AUIPC, REG_JUMP, 0));
	word_add(g, it, enc_i(OP_ANDI, REG_ADDR, below(g, 32), 12));
	word_add(g, it, enc_r(OP_ADD, REG_JUMP, REG_JUMP, REG_ADDR));
	word_add(g, it, enc_i(OP_JALR, rd, REG_JUMP, 16 + (int)below(g, 2)));
	for (int k = 0; k < 4; k++)
		word_add(g, it, enc_i(OP_ADDI, random_dest(g), below(g, 32), (int)below(g, 2048)));
}

/* Changes the instruction that follows, back and forth. */
static void add_patch(struct gen *g)
{
	struct item *it = item_add(g, ITEM_PLAIN);
	unsigned rd = random_dest(g);
	/* addi and xori differ in one bit, which the shifted 4 flips: 4 << 12 = 1 << 14 */
	word_add(g, it, enc_u(OP_AUIPC, REG_JUMP, 0));
	word_add(g, it, enc_i(OP_LW, REG_ADDR, REG_JUMP, 28));
	word_add(g, it, enc_u(OP_LUI, rd == REG_JUMP || rd == REG_ADDR ? 6 : rd, 1 << 14));
	word_add(g, it,
		 enc_r(OP_XOR, REG_ADDR, REG_ADDR, rd == REG_JUMP || rd == REG_ADDR ? 6 : rd));
	word_add(g, it, enc_s(OP_SW, REG_JUMP, REG_ADDR, 28));
	word_add(g, it, op_info[OP_FENCE_I].match);
	word_add(g, it, enc_i(OP_ADDI, 0, 0, 0));
	word_add(g, it, enc_i(OP_ADDI, rd, below(g, 32), (int)below(g, 2048)));
	add_observation(g, it, rd);
}

static void add_yield(struct gen *g)
{
	struct item *it = item_add(g, ITEM_PLAIN);

	word_add(g, it, enc_i(OP_ADDI, 17, 0, 124)); /* sched_yield */
	word_add(g, it, op_info[OP_ECALL].match);
}

static void add_call(struct gen *g)
{
	struct item *it = item_add(g, ITEM_CALL);

	it->function = (uint16_t)below(g, g->functions);
	if (one_in(g, 2)) {
		it->fix_kind = FIX_J;
		word_add(g, it, enc_j(OP_JAL, REG_LINK, 0));
	} else {
		it->fix_kind = FIX_PCREL;
		it->fix = 1;
		word_add(g, it, enc_u(OP_AUIPC, REG_JUMP, 0));
		word_add(g, it, enc_i(OP_JALR, REG_LINK, REG_JUMP, 0));
	}
}

static void add_random(struct gen *g)
{
	unsigned n = below(g, 100);

	if (n < 48)
		add_compute(g);
	else if (n < 60)
		add_compressed(g);
	else if (n < 74)
		add_memory(g);
	else if (n < 79)
		add_atomic(g);
	else if (n < 83)
		add_csr(g);
	else if (n < 86)
		add_reload(g);
	else if (n < 95)
		add_skip(g);
	else if (n < 97)
		add_switch(g);
	else if (n < 98)
		add_ctzw(g);
	else if (n < 99)
		g->in_function ? add_memory(g) : add_call(g);
	else if (one_in(g, 20))
		add_patch(g);
	else if (one_in(g, 10))
		add_yield(g);
}

static void add_inner_loop(struct gen *g)
{
	uint32_t begin = (uint32_t)g->p->nitems;
	struct item *it = item_add(g, ITEM_LOOP_BEGIN);

	word_add(g, it, enc_i(OP_ADDI, REG_INNER, 0, 1 + (int)below(g, 16)));
	for (unsigned n = 1 + below(g, 5); n; n--)
		add_random(g);
	it = item_add(g, ITEM_LOOP_END);
	it->partner = begin;
	it->fix_kind = FIX_B;
	it->fix = 1;
	word_add(g, it, enc_i(OP_ADDI, REG_INNER, REG_INNER, -1));
	word_add(g, it, enc_b(OP_BNE, REG_INNER, 0, 0));
}

static void load_address(struct gen *g, struct item *it, unsigned r, uint64_t addr)
{
	word_add(g, it, enc_u(OP_LUI, r, (uint32_t)addr + 0x800));
	word_add(g, it, enc_i(OP_ADDI, r, r, (int)((uint32_t)addr << 20) >> 20));
}

/* Begins an outer loop; some run often enough to be translated, some do not. */
static void segment_begin(struct gen *g)
{
	static const uint8_t times[] = { 1, 3, 13, 20, 30, 50 };
	struct item *it = item_add(g, ITEM_SEGMENT_BEGIN);
	/* s0 is aligned, for atomics; the others are near the end of a page or anywhere. */
	uint64_t s0 = DATA_ADDR + 4096 + below(g, 20480 / 8) * 8;
	uint64_t s1 = DATA_ADDR + 8192 + 4096 * below(g, 4) + below(g, 17) - 8;
	uint64_t sp = DATA_ADDR + 4096 + below(g, 20480);

	if (one_in(g, 2))
		sp &= ~15ull;
	load_address(g, it, REG_SP, sp);
	load_address(g, it, REG_S0, s0);
	load_address(g, it, REG_S1, s1);
	word_add(g, it, enc_i(OP_ADDI, REG_OUTER, 0, times[below(g, ARRAY_LEN(times))]));
}

static void add_segment(struct gen *g, unsigned insts)
{
	uint32_t begin = (uint32_t)g->p->nitems;
	unsigned end = g->insts + insts;
	struct item *it;

	segment_begin(g);
	while (g->insts < end) {
		if (one_in(g, 40))
			add_inner_loop(g);
		else
			add_random(g);
	}
	it = item_add(g, ITEM_SEGMENT_END);
	it->partner = begin;
	it->fix_kind = FIX_J;
	it->fix = 2;
	word_add(g, it, enc_i(OP_ADDI, REG_OUTER, REG_OUTER, -1));
	word_add(g, it, enc_b(OP_BEQ, REG_OUTER, 0, 8));
	word_add(g, it, enc_j(OP_JAL, 0, 0));
}

static void add_start(struct gen *g)
{
	struct item *it = item_add(g, ITEM_SEGMENT_BEGIN);

	load_address(g, it, REG_POOL, POOL_ADDR + 2048);
	word_add(g, it, enc_i(OP_CSRRW, 0, 0, CSR_FCSR));
	for (unsigned r = 0; r < 64; r += 8) {
		it = item_add(g, ITEM_SEGMENT_BEGIN);
		for (unsigned k = r; k < r + 8; k++)
			if (k >= 32)
				word_add(g, it, enc_i(OP_FLD, k - 32, REG_POOL, pool_offset(g, 8)));
			else if (k == REG_TRACE)
				word_add(g, it, enc_i(OP_ADDI, k, 0, 0));
			else if (k != REG_POOL)
				word_add(g, it, enc_i(OP_LD, k, REG_POOL, pool_offset(g, 8)));
	}
}

struct program *program_new(const struct program_options *options)
{
	struct gen g = { .p = x_calloc(1, sizeof(*g.p)), .self = options->self };
	unsigned per_segment, begin;

	rng_seed(&g.rng, options->seed);
	for (size_t i = 0; i < ARRAY_LEN(g.p->pool); i++)
		g.p->pool[i] = random_value(&g);
	for (size_t i = 0; i < ARRAY_LEN(g.p->data); i++)
		g.p->data[i] = random_value(&g);
	g.wide = one_in(&g, 2);
	g.functions = 1 + options->insts / 500;
	per_segment = 20 + below(&g, 300);
	add_start(&g);
	begin = g.insts;
	while (g.insts - begin < options->insts)
		add_segment(&g, 1 + below(&g, per_segment * 2));
	item_add(&g, ITEM_DUMP);
	g.in_function = true;
	for (unsigned f = 0; f < g.functions; f++) {
		item_add(&g, ITEM_FUNCTION)->function = (uint16_t)f;
		for (unsigned n = below(&g, 8); n; n--)
			add_random(&g);
		word_add(&g, item_add(&g, ITEM_RETURN), enc_i(OP_JALR, 0, REG_LINK, 0));
	}
	return g.p;
}

void program_free(struct program *p)
{
	free(p->items);
	free(p);
}
