/* SPDX-License-Identifier: MIT */
/*
 * Builds fragments of the dependence graph by the algorithm of fields2004 figure 7, from samples,
 * the binary and the machine's description. It follows a signature sample (design 4) instruction by
 * instruction. Of the detailed samples of the instruction's PC, it pastes in the one whose
 * signature has most bits in common. The next PC follows from the binary, from the taken bit, from
 * a stack of calls, or from the sample's target. If the bits say something that the instruction
 * there cannot do, the fragment is thrown away.
 *
 * What the samples do not say comes from the machine's description: packets of fetch, queues,
 * registers, the front end's depth. An instruction without any sample gets the latencies of its
 * kind and what its two bits tell.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/icost/build.h"
#include "analysis/icost/lane.h"
#include "analysis/icost/thresholds.h"
#include "analysis/shotgun/shotgun.h"
#include "util/array.h"

#define CALLS	 64
#define CODE	 (1u << 16) /* entries of the cache of decoded instructions */
#define LOOK_MAX 1024	    /* samples of one PC that are compared */
#define TRIES	 24	    /* targets tried for one indirect branch */
#define APART	 (1u << 20)
#define AHEAD	 48   /* instructions on which a target is tried */
#define BACK_MAX 4000 /* wrong guesses in one fragment */

/* An instruction of the binary. */
struct text {
	uint64_t pc;
	bool known;
	struct inst in;
	struct code code;
};

/* How far the path has come; restored after a wrong guess. */
struct path {
	uint64_t pc; /* of the next instruction */
	size_t i;
	bool jumped;
	uint64_t calls[CALLS];
	unsigned ncalls;
	unsigned packet, taken;
	size_t heads; /* packets */
	uint64_t block;
	struct build_mark build;
	size_t right, missing, inexact;
	struct shotgun_detail before; /* the last instruction's sample */
};

/* An indirect branch whose target was guessed from a sample. */
struct guess {
	struct path after; /* the path after the branch, but for its target */
	uint64_t of, signature, mask;
	uint64_t tried[TRIES];
	unsigned ntried;
};

struct fragments {
	struct builder b;
	struct images *images;
	const struct shotgun_detail *details;
	size_t ndetails;
	struct text *code; /* by address */
	uint64_t *targets; /* of all sampled indirect branches, and the addresses after all calls */
	size_t ntargets;
	struct rng rng;
	struct lane *lane; /* issue slots where one-cycle operations take no time */
	struct fragment_counts counts;
	struct shotgun_shape shape;
	uint64_t whole; /* the mask of a detailed sample's signature */
	/* The fragment being built. */
	struct path at;
	uint64_t pcs[SHOTGUN_LONG_MOST];
	uint16_t slot[SHOTGUN_LONG_MOST]; /* of stores and missed lines */
	uint64_t before; /* number of its first instruction, far from those of the last fragment */
	struct guess *guesses; /* as many as a fragment has instructions */
	size_t nguesses;
};

struct fragments *fragments_new(const struct edges_machine *m, struct images *images,
				const struct shotgun_detail *details, size_t ndetails,
				uint64_t seed, struct shotgun_shape shape)
{
	struct fragments *f = x_calloc(1, sizeof(*f));
	f->shape = shape;
	f->whole = (1ull << 2 * shotgun_span(&shape)) - 1;
	f->b.m = *m;
	f->images = images;
	f->details = details;
	f->ndetails = ndetails;
	f->code = x_calloc(CODE, sizeof(*f->code));
	f->guesses = x_calloc(shape.length, sizeof(*f->guesses));
	rng_seed(&f->rng, seed);
	const struct graph_config config = edges_graph_config(m);
	f->lane = lane_new(&config, 1u << CAT_SHALU, m->issue_slots, NULL);
	return f;
}

void fragments_free(struct fragments *f)
{
	if (!f)
		return;
	lane_free(f->lane);
	free(f->code);
	free(f->targets);
	free(f->guesses);
	free(f);
}

void fragments_rules(struct fragments *f, const struct edges_rule *rules, size_t count)
{
	f->b.rules = rules;
	f->b.nrules = count;
}

struct fragment_counts fragments_counts(const struct fragments *f)
{
	return f->counts;
}

const uint64_t *fragments_pcs(const struct fragments *f)
{
	return f->pcs;
}

/* ---- the binary ---- */

static const struct text *code_at(struct fragments *f, uint64_t pc)
{
	struct text *c = &f->code[hash_u64(pc) % CODE];
	uint32_t word;
	if (c->known && c->pc == pc)
		return c;
	if (!images_word(f->images, pc, &word))
		return NULL;
	*c = (struct text){ .pc = pc, .known = true, .in = isa_decode(word) };
	if (c->in.op == OP_ILLEGAL) {
		c->known = false;
		return NULL;
	}
	c->code = code_of(&f->b.m, &c->in, op_info[c->in.op].cls);
	return c;
}

/* Step 2e: whether the instruction can have these bits. */
static bool is_legal(const struct fragments *f, const struct text *c, unsigned bits)
{
	const bool branch = c->code.cls == CLASS_BRANCH || c->code.cls == CLASS_JUMP;
	if (bits & SHOTGUN_BIT1 && !branch && !(c->code.load || c->code.store))
		return false;
	if (c->code.cls == CLASS_JUMP && !(bits & SHOTGUN_BIT1))
		return false;
	/* Bit 1 of an access is 0 only if it missed, which bit 2 says. */
	return f->shape.bits < SHOTGUN_BITS || !(c->code.load || c->code.store) ||
	       bits & SHOTGUN_BIT1 || bits & SHOTGUN_BIT2;
}

/* ---- samples ---- */

/* Index of the first sample at or after (pc, signature), the order of samples. */
static size_t first_of(const struct fragments *f, uint64_t pc, uint64_t signature)
{
	const struct shotgun_detail *d = f->details;
	return ARRAY_SEARCH(f->ndetails, i,
			    d[i].pc < pc || (d[i].pc == pc && d[i].signature < signature));
}

/* One of the samples of pc whose masked bits are exactly these, if the mask has all bits, or all
 * but those of the last instruction: only then are they a range in the order of samples. */
static const struct shotgun_detail *exact(struct fragments *f, uint64_t pc, uint64_t signature,
					  uint64_t mask)
{
	const unsigned top = 2 * (shotgun_span(&f->shape) - 1), ranges = mask == f->whole ? 1 : 4;
	size_t from[4], count[4], n = 0;
	if (mask != f->whole && mask != f->whole >> 2)
		return NULL;
	for (unsigned k = 0; k < ranges; k++) {
		const uint64_t bits =
		    ranges == 1 ? signature : (signature & mask) | (uint64_t)k << top;
		from[k] = first_of(f, pc, bits);
		count[k] = first_of(f, pc, bits + 1) - from[k];
		n += count[k];
	}
	if (!n)
		return NULL;
	size_t chosen = rng_below(&f->rng, n);
	unsigned k = 0;
	while (chosen >= count[k])
		chosen -= count[k++];
	return &f->details[from[k] + chosen];
}

static bool holds(const uint64_t *list, unsigned n, uint64_t x)
{
	while (n)
		if (list[--n] == x)
			return true;
	return false;
}

/* Steps 2a and 2b: the sample of pc that has most of the masked bits in common and whose target is
 * not one of not_to. */
static const struct shotgun_detail *closest(struct fragments *f, uint64_t pc, uint64_t signature,
					    uint64_t mask, const uint64_t *not_to, unsigned nnot,
					    int *differs)
{
	const struct shotgun_detail *same = nnot ? NULL : exact(f, pc, signature, mask);
	if (same) {
		*differs = 0;
		return same;
	}
	const size_t first = first_of(f, pc, 0), n = first_of(f, pc + 1, 0) - first;
	const struct shotgun_detail *best = NULL;
	*differs = 99;
	if (!n)
		return NULL;
	/* If there are very many, only some are compared; of equally good ones each is equally
	 * likely. */
	const size_t step = (n + LOOK_MAX - 1) / LOOK_MAX, from = rng_below(&f->rng, step);
	unsigned equal = 0;
	for (size_t i = from; i < n; i += step) {
		const struct shotgun_detail *d = &f->details[first + i];
		const int bits = __builtin_popcountll((d->signature ^ signature) & mask);
		if (nnot && holds(not_to, nnot, d->target))
			continue;
		if (bits < *differs) {
			*differs = bits;
			equal = 0;
		}
		if (bits == *differs && rng_below(&f->rng, ++equal) == 0)
			best = d;
	}
	return best;
}

/* What the two bits and the binary say of an instruction that was never sampled. */
static struct shotgun_detail unsampled(const struct fragments *f, const struct text *c,
				       unsigned bits)
{
	const struct edges_machine *m = &f->b.m;
	const bool first = bits & SHOTGUN_BIT1, second = bits & SHOTGUN_BIT2;
	struct shotgun_detail d = { .pc = c->pc, .bits = (uint8_t)bits, .level = LEVEL_NONE };
	d.latency = 1;
	if (c->code.load) {
		const uint32_t miss = (first ? m->l2_latency : m->mem_latency) - m->l1d_latency;
		d.miss = second ? (uint16_t)miss : 0;
		d.latency = (uint16_t)(m->l1d_latency + d.miss);
		d.level = !second ? LEVEL_L1 : first ? LEVEL_L2 : LEVEL_MEM;
	} else if (c->code.cls == CLASS_BRANCH || c->code.cls == CLASS_JUMP) {
		d.flags |= second ? RI_MISPREDICT : 0;
	} else if (c->code.longer) {
		d.latency = (uint16_t)m->of_class[c->code.cls].latency;
	} else if (second) {
		d.icache = (uint16_t)m->l2_latency;
	}
	return d;
}

/* ---- nodes and edges ---- */

static uint16_t pool_slot(struct fragments *f)
{
	const unsigned n = f->b.at.next_pool++ % (GRAPH_SLOT_PORTS - GRAPH_SLOT_POOL);
	return (uint16_t)(GRAPH_SLOT_POOL + n);
}

static void fetch_edges(struct fragments *f, uint64_t pc, const struct shotgun_detail *d,
			const struct shotgun_detail *before, bool jumped, struct graph_inst *out)
{
	const struct edges_machine *m = &f->b.m;
	struct fetch_facts facts = {
		.pc = pc,
		.redirected = before && before->flags & RI_MISPREDICT,
		.bubble = before && before->flags & RI_BTB_MISS,
		.own = d->icache,
		.own_cat = CAT_IMISS,
		.level = d->ilevel,
		.rest = d->itlb,
		.buffer = min_u64(1 + m->front_entries + (uint64_t)FRONT_SLACK * m->fetch_width,
				  GRAPH_REACH),
	};
	if (d->flush)
		build_flush(&f->b, d->flush, d->faulted, &facts);
	/* Within the limit of taken branches, the packet goes on in the block of the jump's
	 * target. */
	const uint64_t block = pc / m->block_bytes;
	if (jumped && f->at.taken < m->taken_per_fetch)
		f->at.block = block;
	const bool full = f->at.packet >= m->fetch_width || f->at.taken >= m->taken_per_fetch ||
			  block != f->at.block,
		   cut = facts.redirected || facts.bubble;
	/* A miss in the middle of a packet begins in the packet's cycle. */
	facts.steps = full || cut || facts.flushed || !before;
	facts.cut = !full && cut ? CAT_BW_BMISP : CAT_BW;
	if (!facts.steps && !d->icache && !d->itlb)
		return;
	build_fetch(&f->b, &facts, out);
	out->fetch[2] = part_as(d->isaved, CAT_SAVED_IMISS);
	f->at.packet = f->at.taken = 0;
	f->at.block = block;
}

static void dispatch_edges(struct fragments *f, const struct code *c,
			   const struct shotgun_detail *d, const struct shotgun_detail *before,
			   struct graph_inst *out)
{
	const struct stall_facts facts = {
		.by = d->stalled_by, .cycles = d->stall, .drain = d->drain, .left = d->left
	};
	build_window(&f->b, c, out);
	if (d->flags & RI_SERIAL || (before && before->flags & RI_SERIAL))
		out->flags |= GRAPH_SERIAL;
	if (facts.cycles)
		build_stall(&f->b, c, d->pc, &facts, out);
	out->iq_bw = out->iq_bw_dl1 = out->iq;
}

static uint16_t slot_before(const struct fragments *f, size_t i, uint32_t distance_back)
{
	return distance_back && distance_back <= i ? f->slot[i - distance_back] : 0;
}

static void load_edges(struct fragments *f, size_t i, const struct shotgun_detail *d,
		       struct graph_inst *out)
{
	const struct edges_machine *m = &f->b.m;
	const uint64_t number = f->b.at.number,
		       after = reach_after(&f->b.reach, number, slots_root(&f->b.slots, out),
					   f->b.slots.count);
	struct load_facts facts = { .latency = d->latency,
				    .hit =
					d->level == LEVEL_FWD ? m->forward_latency : m->l1d_latency,
				    .dtlb = d->dtlb,
				    .line = slot_before(f, i, d->prod_line),
				    .level = d->level };
	build_hit(&f->b, d->pc, &facts, out);
	const bool missed = facts.miss;
	if (facts.line)
		facts.miss = 0; /* all of the latency is waiting for that line */
	else
		facts.saved = d->dsaved;
	facts.bus = f->b.nrules ? 0 : min_u64(facts.miss, d->bus);
	facts.miss -= facts.bus;
	if (facts.miss)
		facts.as =
		    (uint8_t)reach_saves(&f->b.reach, number, after, f->b.slots.count, &facts.most);
	if ((d->dsaved || missed) && !facts.line)
		reach_line(&f->b.reach, number, after, d->dsaved);
	if (build_miss(&f->b, d->pc, &facts, out))
		out->mem = pool_slot(f);
	f->slot[i] = facts.line ? facts.line : out->mem;
}

static void execute_edges(struct fragments *f, size_t i, const struct code *c,
			  const struct shotgun_detail *d, struct graph_inst *out)
{
	const struct edges_machine *m = &f->b.m;
	build_sources(c, c->load ? slot_before(f, i, d->prod_mem) : 0, out);
	f->slot[i] = 0;
	if (c->unit < EDGES_UNITS && !m->unit[c->unit].pipelined) {
		/* The description says how long the unit is busy; that explains the contention. */
		const unsigned n = f->b.at.next_port[c->unit]++ % m->unit[c->unit].count;
		const uint16_t slot = (uint16_t)(GRAPH_SLOT_PORTS + c->unit * EDGES_PORTS + n);
		build_port(out, slot, slot, part_as(d->latency, CAT_LGALU), true);
	} else {
		out->re = part_as(d->contention, CAT_BW);
	}
	if (c->load) {
		load_edges(f, i, d, out);
	} else if (c->split) {
		out->ep = 1;
		out->data = c->src[1];
	} else {
		build_operation(&f->b, d->pc, c, d->latency, out);
	}
	if (c->store && !out->mem)
		out->mem = f->slot[i] = pool_slot(f);
	build_done(&f->b, c, d->latency, out);
}

/* ---- the path ---- */

/* Step 2d: the PC after this one; 0 if only a sample can say. */
static uint64_t next_pc(struct fragments *f, const struct text *c, unsigned bits)
{
	const uint64_t after = c->pc + c->in.len;
	f->at.jumped = false;
	if (c->code.cls != CLASS_BRANCH && c->code.cls != CLASS_JUMP)
		return after;
	if (c->code.cls == CLASS_BRANCH) {
		f->at.jumped = bits & SHOTGUN_BIT1;
		return f->at.jumped ? c->pc + (uint64_t)(int64_t)c->in.imm : after;
	}
	f->at.jumped = true;
	uint64_t to = 0;
	if (!isa_is_indirect(&c->in))
		to = c->pc + (uint64_t)(int64_t)c->in.imm;
	else if (isa_is_return(&c->in) && f->at.ncalls)
		to = f->at.calls[--f->at.ncalls % CALLS];
	if (isa_is_call(&c->in))
		f->at.calls[f->at.ncalls++ % CALLS] = after;
	return to;
}

/* The bits around instruction i of a skeleton; mask: which of them exist. */
static uint64_t signature_at(const struct fragments *f, const struct shotgun_long *on, size_t i,
			     uint64_t *mask)
{
	const int context = (int)f->shape.context;
	uint64_t bits = 0;
	*mask = 0;
	for (int k = -context; k <= context; k++) {
		const int64_t at = (int64_t)i + k;
		if (at < 0 || at >= (int64_t)f->shape.length)
			continue;
		bits |= (uint64_t)on->bits[at] << 2 * (k + context);
		*mask |= 3ull << 2 * (k + context);
	}
	return bits;
}

static const struct shotgun_detail *sample_for(struct fragments *f, enum shotgun_design design,
					       uint64_t pc, uint64_t signature, uint64_t mask)
{
	int differs;
	if (design == DESIGN_STATIC || design == DESIGN_HOT) {
		/* always the same sample of a pc */
		const size_t at = first_of(f, pc, 0), n = first_of(f, pc + 1, 0) - at;
		return n ? &f->details[at + hash_u64(pc) % n] : NULL;
	}
	const struct shotgun_detail *d = closest(f, pc, signature, mask, NULL, 0, &differs);
	f->at.inexact += d && differs;
	return d;
}

static int by_number(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;
	return (*a > *b) - (*a < *b);
}

static void find_targets(struct fragments *f)
{
	size_t n = 0;
	f->targets = x_calloc(f->ndetails + 1, sizeof(*f->targets));
	for (size_t k = 0; k < f->ndetails; k++) {
		const struct text *c = code_at(f, f->details[k].pc);
		if (!c || c->code.cls != CLASS_JUMP)
			continue;
		if (isa_is_call(&c->in))
			f->targets[n++] = c->pc + c->in.len;
		else if (isa_is_indirect(&c->in))
			f->targets[n++] = f->details[k].target;
	}
	qsort(f->targets, n, sizeof(*f->targets), by_number);
	for (size_t k = 0; k < n; k++)
		if (!k || f->targets[k] != f->targets[k - 1])
			f->targets[f->ntargets++] = f->targets[k];
}

/* How many instructions from pc on agree with the skeleton's bits, up to the next branch whose
 * target is not in the binary; 0 if one of them does not. */
static unsigned plausible(struct fragments *f, const struct shotgun_long *on, size_t i, uint64_t pc)
{
	unsigned n = 0;
	for (; n < AHEAD && i + n < f->shape.length; n++) {
		const unsigned bits = on->bits[i + n];
		const struct text *c = code_at(f, pc);
		if (!c || !is_legal(f, c, bits))
			return 0;
		if (c->code.cls == CLASS_JUMP && isa_is_indirect(&c->in))
			return n + 1;
		pc += (c->code.cls == CLASS_JUMP ||
		       (c->code.cls == CLASS_BRANCH && bits & SHOTGUN_BIT1))
			  ? (uint64_t)(int64_t)c->in.imm
			  : c->in.len;
	}
	return n + 1;
}

/*
 * Continues at the target that a sample of the indirect branch just built has. If none is left,
 * tries the targets of all such branches and takes the one after which the code fits the skeleton
 * best.
 */
static bool guess_target(struct fragments *f, const struct shotgun_long *on, struct guess *g)
{
	int differs;
	uint64_t to = 0;
	f->at = g->after;
	f->b.at = g->after.build;
	while (g->ntried < TRIES) {
		const struct shotgun_detail *d =
		    closest(f, g->of, g->signature, g->mask, g->tried, g->ntried, &differs);
		if (!d)
			break;
		g->tried[g->ntried++] = d->target;
		if (plausible(f, on, f->at.i, d->target)) {
			f->at.pc = d->target;
			return true;
		}
	}
	unsigned best = 0;
	for (size_t k = 0; g->ntried < TRIES && k < f->ntargets; k++) {
		const unsigned n = plausible(f, on, f->at.i, f->targets[k]);
		if (n > best && !holds(g->tried, g->ntried, f->targets[k])) {
			best = n;
			to = f->targets[k];
		}
	}
	if (!best)
		return false;
	g->tried[g->ntried++] = to;
	f->at.pc = to;
	return true;
}

/* A guess was wrong: returns to the last one, or the ones before it, and tries another target.
 * False if there is none. */
static bool go_back(struct fragments *f, const struct shotgun_long *on)
{
	while (f->nguesses) {
		if (guess_target(f, on, &f->guesses[f->nguesses - 1]))
			return true;
		f->nguesses--;
	}
	return false;
}

/* Any of the samples of pc: it goes each way as often as they did. */
static const struct shotgun_detail *any_way(struct fragments *f, uint64_t pc)
{
	const size_t at = first_of(f, pc, 0), n = first_of(f, pc + 1, 0) - at;
	return n ? &f->details[at + rng_below(&f->rng, n)] : NULL;
}

/* The bits that say where the path goes from here. way: the sample that says so; NULL: none. */
static unsigned path_bits(const struct fragments *f, enum shotgun_design design,
			  const struct text *c, const struct shotgun_long *on, uint64_t signature,
			  const struct shotgun_detail *way)
{
	if (design != DESIGN_SHORT && design != DESIGN_HOT)
		return on->bits[f->at.i];
	if (way)
		return way->bits;
	if (c->code.cls == CLASS_JUMP)
		return SHOTGUN_BIT1;
	return design == DESIGN_SHORT ? signature >> 2 * f->shape.context & 3 : 0;
}

/* Scores the first target of an indirect branch. On a path that has gone astray no target is right, and
 * every guess that is taken back comes to other branches: only those of the right path count. */
static void count_target(struct fragments *f, const struct shotgun_long *on, bool found)
{
	if (f->at.i >= f->shape.length || f->at.right < f->at.i)
		return;
	f->counts.indirect++;
	f->counts.indirect_right += found && f->at.pc == on->pcs[f->at.i];
}

/* Builds the next instruction of the path. False if it cannot have the bits that it should. */
static bool build_one(struct fragments *f, enum shotgun_design design,
		      const struct shotgun_long *on, uint64_t *signature, uint64_t *mask,
		      struct graph_inst *out)
{
	const size_t i = f->at.i;
	const uint64_t pc = f->at.pc;
	const struct text *c = pc ? code_at(f, pc) : NULL;
	if (!c)
		return false;
	if (design != DESIGN_SHORT || i == 0)
		*signature = signature_at(f, on, i, mask);
	const struct shotgun_detail *d = sample_for(f, design, pc, *signature, *mask);
	const struct shotgun_detail *way = design == DESIGN_HOT ? any_way(f, pc) : d;
	const unsigned bits = path_bits(f, design, c, on, *signature, way);
	if (design != DESIGN_SHORT && design != DESIGN_HOT && !is_legal(f, c, bits))
		return false;
	const struct shotgun_detail now = d ? *d : unsampled(f, c, bits);
	f->pcs[i] = pc;
	f->at.missing += !d;
	f->at.right += pc == on->pcs[i];
	memset(out, 0, sizeof(*out));
	fetch_edges(f, pc, &now, i ? &f->at.before : NULL, f->at.jumped, out);
	dispatch_edges(f, &c->code, &now, i ? &f->at.before : NULL, out);
	execute_edges(f, i, &c->code, &now, out);
	f->at.heads += out->flags & GRAPH_HEAD ? 1 : 0;
	if (now.flags & RI_MISPREDICT)
		build_mispredict(&f->b, now.resolve, i + 1, f->at.heads ? f->at.heads : 1,
				 f->b.m.rob, out);
	build_next(&f->b, &c->code);
	f->at.packet++;
	f->at.before = now;
	f->at.i++;
	f->at.pc = next_pc(f, c, bits);
	f->at.taken += f->at.jumped;
	if (!f->at.pc && (design == DESIGN_SHORT || design == DESIGN_HOT)) {
		f->at.pc = way ? way->target : 0;
	} else if (!f->at.pc && design == DESIGN_LETTER) {
		f->at.pc = d ? d->target : 0;
		count_target(f, on, true);
	} else if (!f->at.pc) {
		struct guess *g = &f->guesses[f->nguesses++];
		f->at.build = f->b.at;
		*g = (struct guess){
			.after = f->at, .of = pc, .signature = *signature, .mask = *mask
		};
		const bool found = guess_target(f, on, g);
		f->nguesses -= !found;
		count_target(f, on, found);
	}
	if (design == DESIGN_SHORT) {
		/* The next instruction's sample must overlap this sample's signature. */
		*signature = (d ? d->signature : *signature) >> 2;
		*mask = f->whole >> 2;
	}
	return true;
}

/* Waits for an issue slot in the lanes where one-cycle operations take no time. All guesses have come
 * to their end, so that the calendar never has to go back. */
static void slot_edges(struct fragments *f, struct graph_inst *out)
{
	for (size_t i = 0; i < f->at.i && !f->b.nrules; i++) {
		const struct text *c = code_at(f, f->pcs[i]);
		const uint32_t wait = lane_next(f->lane, &out[i], 0, c && !c->code.queue).slot;
		build_slots(wait, &out[i]);
	}
}

size_t fragments_build(struct fragments *f, enum shotgun_design design,
		       const struct shotgun_long *on, struct graph_inst *out)
{
	uint64_t signature = 0, mask = 0;
	unsigned back = 0;
	if (!f->targets)
		find_targets(f);
	f->before += APART;
	f->at = (struct path){ .pc = on->start };
	if (design == DESIGN_HOT && f->ndetails) /* it begins wherever a sample was taken */
		f->at.pc = f->details[rng_below(&f->rng, f->ndetails)].pc;
	f->b.at = (struct build_mark){ .number = f->before };
	slots_reset(&f->b.slots, 0, f->b.m.rob); /* slots are the lane's */
	f->nguesses = 0;
	while (f->at.i < f->shape.length)
		if (!build_one(f, design, on, &signature, &mask, &out[f->at.i]) &&
		    (back++ == BACK_MAX || !go_back(f, on))) {
			f->counts.discarded++;
			f->counts.errant++;
			return 0;
		}
	slot_edges(f, out);
	f->counts.built++;
	f->counts.insts += f->at.i;
	f->counts.no_sample += f->at.missing;
	f->counts.inexact += f->at.inexact;
	f->counts.right_pc += f->at.right;
	f->counts.wrong_built += f->at.right < f->at.i;
	f->counts.errant += back || f->at.right < f->at.i;
	return f->at.i;
}
