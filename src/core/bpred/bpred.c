/* SPDX-License-Identifier: MIT */
/*
 * Branch prediction as a whole: which part is asked for which instruction, the speculative state
 * and its repair, training at commit, and the return-address stack.
 *
 * The kind of an instruction is taken from the instruction itself, as if predecode bits came with
 * the cache line. Conditional branches ask the direction predictor; calls push and returns pop the
 * return-address stack, by RISC-V's link-register rules (ra, t0); other indirect jumps ask the
 * indirect predictor, and so do returns if there is no stack.
 *
 * The stack is circular: too deep a recursion overwrites the oldest entries, and too many returns
 * read old ones again, as hardware does. Repair is complete: what wrong-path calls overwrote is put
 * back from an undo log. Real stacks repair the pointer and at most the top entry; the difference
 * is below what the papers' tables say about theirs.
 */
#include "core/bpred/bpred.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/bpred/state.h"
#include "isa/isa.h"

static const struct bpred_dir *const directions[] = {
#define X(id, name) &dir_##id,
	MACHINE_DIRECTIONS(X)
#undef X
};

const struct bpred_dir *bpred_dir_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(directions); i++)
		if (strcmp(directions[i]->name, name) == 0)
			return directions[i];
	return NULL;
}

uint8_t *counter2_new(uint32_t entries)
{
	uint8_t *c = x_malloc(entries);

	memset(c, 2, entries);
	return c;
}

uint64_t bpred_hash_bytes(uint64_t h, const void *p, size_t size_bytes)
{
	const uint8_t *b = p;
	uint64_t word;

	for (; size_bytes >= 8; b += 8, size_bytes -= 8) {
		memcpy(&word, b, 8);
		h = hash_u64(h ^ word) + 1;
	}
	for (; size_bytes > 0; b++, size_bytes--)
		h = hash_u64(h ^ *b) + 1;
	return h;
}

struct bpred *bpred_new(const struct bpred_config *c)
{
	struct bpred *bp = x_calloc(1, sizeof(*bp));
	uint32_t size = 1;

	assert(machine_check_bpred(c, NULL));
	bp->dir = bpred_dir_find(c->direction);
	history_init(&bp->spec.history, c, bp->dir->folds);
	bp->dir_state = bp->dir->create ? bp->dir->create(c) : NULL;
	bp->dir_advance = bp->dir->advance && c->loop_predictor;
	while (size < c->inflight + 1)
		size *= 2;
	bp->spec.log.mask = size - 1;
	bp->spec.log.undo = x_calloc(size, sizeof(*bp->spec.log.undo));
	bp->ras_entries = c->ras_entries;
	bp->spec.ras = x_calloc(c->ras_entries + 1, sizeof(*bp->spec.ras));
	btb_init(&bp->btb, c);
	indirect_init(&bp->indirect, c);
	return bp;
}

void bpred_free(struct bpred *bp)
{
	if (bp == NULL)
		return;
	if (bp->dir->destroy)
		bp->dir->destroy(bp->dir_state);
	history_fini(&bp->spec.history);
	btb_fini(&bp->btb);
	indirect_fini(&bp->indirect);
	free(bp->spec.log.undo);
	free(bp->spec.ras);
	free(bp);
}

static bool is_link(unsigned reg)
{
	return reg == 1 || reg == 5;
}

static enum bpred_kind kind_of(const struct inst *in)
{
	const struct op_info *info = &op_info[in->op];

	assert(info->flags & OPF_CTRL);
	if (info->cls == CLASS_BRANCH)
		return BPRED_COND;
	if (!(info->flags & OPF_RS1_INT))
		return is_link(in->rd) ? BPRED_CALL : BPRED_JUMP;
	if (is_link(in->rs1) && in->rd != in->rs1)
		return is_link(in->rd) ? BPRED_CORO : BPRED_RETURN;
	return is_link(in->rd) ? BPRED_ICALL : BPRED_INDIRECT;
}

/* Targets that stand in the instruction; no host branch depends on the predicted direction. */
static void predict_direct(struct bpred *bp, uint64_t pc, const struct inst *in,
			   struct bpred_pred *p)
{
	bool hit = btb_has(&bp->btb, pc);

	p->target = pc + (uint64_t)(int64_t)in->imm;
	p->btb_hit = p->taken & hit;
	p->when = (p->taken & !hit) ? BPRED_AT_DECODE : BPRED_AT_FETCH;
}

static void predict_indirect(struct bpred *bp, uint64_t pc, const struct inst *in,
			     struct bpred_pred *p)
{
	uint64_t btb = 0;

	p->btb_hit = btb_find(&bp->btb, pc, &btb);
	if (on_stack(bp, p->kind)) {
		p->target = bp->spec.ras[bp->spec.ras_top];
		p->when = p->btb_hit ? BPRED_AT_FETCH : BPRED_AT_DECODE;
		return;
	}
	p->target = indirect_predict(&bp->indirect, pc, btb, p);
	p->when = BPRED_AT_FETCH;
	if (p->target == 0) {
		p->target = pc + in->len;
		p->when = BPRED_AT_EXECUTE;
	}
}

void bpred_predict(struct bpred *bp, uint64_t pc, const struct inst *in,
		   const struct bpred_truth *truth, struct bpred_pred *out)
{
	out->kind = (uint8_t)kind_of(in);
	out->dir = 0;
	out->dir2 = 0;
	out->ras_top = (uint16_t)bp->spec.ras_top;
	out->ras_log = bp->spec.log.pos;
	history_save(&bp->spec.history, out);
	if (bp->dir->oracle && truth) {
		out->taken = truth->taken;
		out->target = truth->target;
		out->btb_hit = truth->taken;
		out->when = BPRED_AT_FETCH;
	} else {
		out->taken = out->kind != BPRED_COND ||
			     bp->dir->predict(bp->dir_state, pc, &bp->spec.history, out);
		if (out->kind <= BPRED_CALL)
			predict_direct(bp, pc, in, out);
		else
			predict_indirect(bp, pc, in, out);
	}
	spec_advance(bp, &bp->spec, pc, out->kind, in->len, out->taken, out->target);
}

void bpred_restore(struct bpred *bp, const struct bpred_pred *p)
{
	struct spec_log *log = &bp->spec.log;

	assert(log->pos - p->ras_log <= log->mask + 1);
	while (log->pos != p->ras_log) {
		const struct spec_undo *u = &log->undo[--log->pos & log->mask];

		*u->place = u->old;
	}
	bp->spec.ras_top = p->ras_top;
	history_restore(&bp->spec.history, p);
}

void bpred_repair(struct bpred *bp, uint64_t pc, const struct inst *in, const struct bpred_pred *p,
		  bool taken, uint64_t target)
{
	bpred_restore(bp, p);
	spec_advance(bp, &bp->spec, pc, p->kind, in->len, taken, target);
}

void bpred_commit(struct bpred *bp, uint64_t pc, const struct inst *in, const struct bpred_pred *p,
		  bool taken, uint64_t target)
{
	if (bp->dir->oracle) {
		/* It needs no BTB; what runs ahead of fetch does, and is not told the truth. */
		if (taken && bp->btb.what)
			btb_update(&bp->btb, pc, target, btb_what(p->kind, in->len));
		return;
	}
	if (p->kind == BPRED_COND) {
		if (bp->dir->update)
			bp->dir->update(bp->dir_state, pc, p, taken);
	} else if (p->kind == BPRED_INDIRECT || p->kind == BPRED_ICALL ||
		   (p->kind >= BPRED_RETURN && bp->ras_entries == 0)) {
		indirect_update(&bp->indirect, pc, p, target);
	}
	if (taken)
		btb_update(&bp->btb, pc, target, btb_what(p->kind, in->len));
}

/* True if the target was predicted right. */
static bool warm_indirect(struct bpred *bp, uint64_t pc, const struct inst *in, uint64_t target)
{
	struct bpred_pred p;
	uint64_t btb = 0;
	bool right;

	history_save(&bp->spec.history, &p);
	btb_find(&bp->btb, pc, &btb);
	p.target = indirect_predict(&bp->indirect, pc, btb, &p);
	right = p.target == target;
	if (p.target == 0)
		p.target = pc + in->len;
	indirect_update(&bp->indirect, pc, &p, target);
	return right;
}

/*
 * Nothing is in flight, so the speculative state goes straight to what happened: what bpred_predict,
 * bpred_repair and bpred_commit leave, without a snapshot, and without asking the BTB where nothing
 * depends on its answer.
 */
bool bpred_warm(struct bpred *bp, uint64_t pc, const struct inst *in, bool taken, uint64_t target)
{
	struct bpred_pred p;
	const unsigned kind = kind_of(in);
	bool right = true;

	if (bp->dir->oracle) {
		spec_advance(bp, &bp->spec, pc, kind, in->len, taken, target);
	} else if (kind == BPRED_COND && bp->dir->warm) {
		right = bp->dir->warm(bp->dir_state, pc, &bp->spec.history, taken, &bp->spec.log);
		history_advance(&bp->spec.history, pc, kind, taken, target);
	} else if (kind == BPRED_COND) {
		history_save(&bp->spec.history, &p);
		right = bp->dir->predict(bp->dir_state, pc, &bp->spec.history, &p) == taken;
		spec_advance(bp, &bp->spec, pc, kind, in->len, taken, target);
		if (bp->dir->update)
			bp->dir->update(bp->dir_state, pc, &p, taken);
	} else {
		if (on_stack(bp, kind))
			right = bp->spec.ras[bp->spec.ras_top] == target;
		else if (kind > BPRED_CALL)
			right = warm_indirect(bp, pc, in, target);
		spec_advance(bp, &bp->spec, pc, kind, in->len, taken, target);
	}
	if (taken && (!bp->dir->oracle || bp->btb.what))
		btb_update(&bp->btb, pc, target, btb_what(kind, in->len));
	return right;
}

uint64_t bpred_direction_bits(const struct bpred_config *c)
{
	const struct bpred_dir *d = bpred_dir_find(c->direction);

	return d->bits ? d->bits(c) : 0;
}

uint64_t bpred_btb_bits(const struct bpred_config *c)
{
	return btb_bits(c);
}

uint64_t bpred_indirect_bits(const struct bpred_config *c)
{
	return indirect_bits(c);
}

void bpred_print_storage(const struct bpred_config *c, FILE *f)
{
	const struct bpred_dir *d = bpred_dir_find(c->direction);
	uint64_t bits = bpred_direction_bits(c);

	fprintf(f, "%s: %llu bits, %.2f KB\n", d->name, (unsigned long long)bits,
		(double)bits / 8192);
	if (d->print)
		d->print(c, f);
	fprintf(f, "btb: %u entries, %u-way, %.2f KB\n", c->btb_entries, c->btb_ways,
		(double)btb_bits(c) / 8192);
	fprintf(f, "ras: %u entries\n", c->ras_entries);
	/* cppcheck-suppress invalidPrintfArgType_uint ; an enum constant */
	fprintf(f, "indirect: %u tables of %u entries, %.2f KB\n",
		c->indirect_entries ? INDIRECT_TABLES : 0, c->indirect_entries,
		(double)indirect_bits(c) / 8192);
}

uint64_t bpred_hash_speculative(const struct bpred *bp)
{
	const struct history *hist = &bp->spec.history;
	uint64_t h = bpred_hash_bytes(1, bp->spec.ras, bp->ras_entries * sizeof(*bp->spec.ras));

	h = hash_u64(h ^ bp->spec.ras_top);
	h = hash_u64(h ^ hist->ghist);
	h = hash_u64(h ^ hist->thist);
	h = hash_u64(h ^ ((uint64_t)hist->path << 32 | hist->pos));
	h = bpred_hash_bytes(h, hist->fold, sizeof(hist->fold));
	for (unsigned i = 0; i < BPRED_TAGE_MAX; i++)
		for (uint32_t k = 1; k <= hist->length[i]; k++)
			h = h * 3 + hist->ring[(hist->pos - k) & hist->mask];
	return bp->dir->hash_spec ? bp->dir->hash_spec(bp->dir_state, h) : h;
}

uint64_t bpred_hash_tables(const struct bpred *bp)
{
	uint64_t h = btb_hash(&bp->btb, 2);

	h = indirect_hash(&bp->indirect, h);
	return bp->dir->hash ? bp->dir->hash(bp->dir_state, h) : h;
}
