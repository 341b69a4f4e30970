/* SPDX-License-Identifier: MIT */
/*
 * TAGE: a bimodal base and up to eight tables with partial tags, each seeing a geometrically longer
 * global history; the longest match provides the prediction. After Seznec and Michaud, "A case for
 * (partially) TAgged GEometric history length branch prediction" (JILP 2006), with the refinements
 * of Seznec, "A new case for the TAGE branch predictor" (MICRO 2011): the alternate prediction in
 * place of a newly allocated entry where that has paid, training of the alternate while the
 * provider is not useful, and up to two entries allocated for a mispredict. By default 28 KB, the
 * size in tip2021 table A.1 and tea2023 table B.2, which say nothing of its tables.
 *
 * An entry is 16 bits: tag << 5 | usefulness << 3 | counter, counters 4 to 7 say taken. All tables
 * lie in one array, 28 KB by default. Indices and tags of all tables are computed in the eight
 * lanes of a vector; a lane without a table has a tag that no entry can hold.
 *
 * Assumptions: every table is read at once and in the cycle of the fetch; training reads the
 * provider again at commit. Not modelled: banks, read ports, delayed table writes, the statistical
 * corrector of later designs.
 */
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/bpred/history.h"
#include "core/bpred/loop.h"

enum {
	CTR_MASK = 7,
	USEFUL_SHIFT = 3,
	USEFUL_MASK = 3,
	TAG_SHIFT = 5,
	WEAK_TAKEN = 4,
	WEAK_NOT = 3,
	NO_TAG = 0xffff,
	ALT_COUNTERS = 16, /* use-alternate counters, 4 bits, by address */
	ALT_HALF = 8,
	ALLOC_MOST = 2,
};

/* p->dir: number of the provider in the low half and of the alternate in the high half, 0 for the
 * base, i + 1 for tagged table i. p->dir2: */
enum {
	SAID_PROVIDER = 1 << 0, /* directions */
	SAID_ALT = 1 << 1,
	SAID_TAGE = 1 << 2,
	NEW_PROVIDER = 1 << 3, /* provider is weak and not yet useful */
	LOOP_SURE = 1 << 4,
	SAID_LOOP = 1 << 5,
};

struct tage {
	uint32_t tables;
	uint32_t base_mask;
	uint8_t *base;
	uint16_t *entry; /* the tagged tables, one after the other */
	u16x8 start;	 /* of each table in entry */
	u16x8 index_mask, tag_mask, no_tag;
	u16x8 path_mask; /* the bits of path history that a lane takes */
	uint8_t use_alt[ALT_COUNTERS];
	uint32_t random; /* Galois LFSR, 32 bits */
	uint32_t age_mask, updates;
	uint32_t entries;
	/* loop predictor, NULL if off */
	struct loop *loop;
	int8_t with_loop; /* at least 0: believe it */
};

struct lookup {
	u16x8 index, tag;
};

/* Different for each lane and odd, so that tables place addresses and paths differently. */
static const u16x8 lane_mul = { 0x0001, 0x2c1b, 0x9e37, 0x6a4d, 0xb5c3, 0x4f29, 0xd3a7, 0x7e65 };

static inline struct lookup look(const struct tage *t, uint64_t pc, const void *folds,
				 uint32_t path_history)
{
	u16x8 fold[FOLD_COUNT], a = { 0 }, b = { 0 }, path = { 0 };
	struct lookup l;

	memcpy(fold, folds, sizeof(fold));
	a += (uint16_t)(pc >> 1);
	b += (uint16_t)(pc >> 6 ^ pc >> 14);
	path += (uint16_t)path_history;
	path = (path & t->path_mask) * lane_mul;
	l.index = (a ^ b * lane_mul ^ fold[FOLD_INDEX] ^ path ^ path >> 7) & t->index_mask;
	l.index += t->start;
	l.tag = ((a ^ fold[FOLD_TAG]) & t->tag_mask) | t->no_tag;
	return l;
}

/* Bit i: lane i of a; bit 8 + i: lane i of b. Lanes are all ones or all zeros. */
static inline unsigned lane_bits(u16x8 a, u16x8 b)
{
#ifdef __SSE2__
	return (unsigned)_mm_movemask_epi8(_mm_packs_epi16((__m128i)a, (__m128i)b));
#else
	unsigned bits = 0;

	for (unsigned i = 0; i < 8; i++)
		bits |= (a[i] & 1u) << i | (b[i] & 1u) << (8 + i);
	return bits;
#endif
}

static inline u16x8 read_entries(const struct tage *t, const struct lookup *l)
{
	const uint16_t *e = t->entry;

	return (u16x8){ e[l->index[0]], e[l->index[1]], e[l->index[2]], e[l->index[3]],
			e[l->index[4]], e[l->index[5]], e[l->index[6]], e[l->index[7]] };
}

/* Bit i set: tagged table i has a matching entry. */
static inline unsigned matches(const struct tage *t, const struct lookup *l)
{
	return lane_bits((u16x8)(read_entries(t, l) >> TAG_SHIFT == l->tag), (u16x8){ 0 });
}

static inline unsigned top_bit(unsigned x)
{
	return 31 - (unsigned)__builtin_clz(x);
}

static inline uint16_t *entry_of(struct tage *t, const struct lookup *l, unsigned i)
{
	return &t->entry[l->index[i]];
}

static inline unsigned ctr_of(unsigned e)
{
	return e & CTR_MASK;
}

static inline unsigned useful_of(unsigned e)
{
	return e >> USEFUL_SHIFT & USEFUL_MASK;
}

static inline uint16_t ctr_step(unsigned e, bool taken)
{
	return (uint16_t)(taken ? e + (ctr_of(e) < CTR_MASK) : e - (ctr_of(e) > 0));
}

static inline uint8_t *alt_counter(struct tage *t, uint64_t pc)
{
	return &t->use_alt[(pc >> 1 ^ pc >> 5) & (ALT_COUNTERS - 1)];
}

static void *tage_new(const struct bpred_config *c)
{
	struct tage *t = x_calloc(1, sizeof(*t));

	t->tables = c->tage_tables;
	t->base_mask = c->tage_base_entries - 1;
	t->base = counter2_new(c->tage_base_entries);
	t->no_tag = (u16x8){ 0 } + NO_TAG;
	for (uint32_t i = 0; i < c->tage_tables; i++) {
		uint32_t length = history_tage_length(c, i);

		t->start[i] = (uint16_t)t->entries;
		t->entries += c->tage_entries[i];
		t->index_mask[i] = (uint16_t)(c->tage_entries[i] - 1);
		t->tag_mask[i] = (uint16_t)((1u << c->tage_tag_bits[i]) - 1);
		t->no_tag[i] = 0;
		t->path_mask[i] = (uint16_t)(length < 16 ? (1u << length) - 1 : 0xffff);
	}
	t->entry = x_calloc(t->entries, sizeof(*t->entry));
	for (uint32_t i = 0; i < t->entries; i++)
		t->entry[i] = WEAK_TAKEN;
	memset(t->use_alt, ALT_HALF, sizeof(t->use_alt));
	t->random = 0x1badcafe;
	t->age_mask = c->tage_useful_period - 1;
	t->loop = c->loop_predictor ? loop_new(c) : NULL;
	return t;
}

static void tage_free(void *state)
{
	struct tage *t = state;

	loop_free(t->loop);
	free(t->base);
	free(t->entry);
	free(t);
}

/*
 * No branch depends on what the tables say, since the host would mispredict it where the guest's
 * branch is hard; the base is component 0, tagged table i is component i + 1. Gain: 33 to 30 ns.
 */
static inline bool predict_at(struct tage *t, uint64_t pc, const struct lookup *l,
			      struct bpred_pred *p)
{
	u16x8 e = read_entries(t, l);
	unsigned base = t->base[pc >> 1 & t->base_mask] >> 1;
	unsigned hit_taken =
	    lane_bits((u16x8)(e >> TAG_SHIFT == l->tag), (u16x8)((e & CTR_MASK) >= WEAK_TAKEN));
	/* usefulness 0 and counter 3 or 4 */
	u16x8 fresh = (u16x8)((e & (USEFUL_MASK << USEFUL_SHIFT | CTR_MASK)) - WEAK_NOT <= 1);
	unsigned hits = (hit_taken & 0xff) << 1 | 1;
	unsigned taken = hit_taken >> 8 << 1 | base;
	unsigned news = lane_bits(fresh, (u16x8){ 0 }) << 1;
	unsigned provider = top_bit(hits);
	unsigned alternate = top_bit((hits ^ 1u << provider) | 1);
	unsigned said = taken >> provider & 1, alt = taken >> alternate & 1;
	unsigned is_new = news >> provider & 1;
	unsigned tage = said ^ ((said ^ alt) & is_new & (*alt_counter(t, pc) >= ALT_HALF));
	unsigned flags =
	    said * SAID_PROVIDER | alt * SAID_ALT | tage * SAID_TAGE | is_new * NEW_PROVIDER;
	bool loop;

	if (t->loop && loop_predict(t->loop, pc, &loop)) {
		flags |= LOOP_SURE | (loop ? SAID_LOOP : 0);
		if (t->with_loop >= 0)
			tage = loop;
	}
	p->dir = (uint8_t)(provider | alternate << 4);
	p->dir2 = (uint8_t)flags;
	return tage;
}

static bool tage_predict(void *state, uint64_t pc, const struct history *h, struct bpred_pred *p)
{
	const struct lookup l = look(state, pc, h->fold, h->path);

	return predict_at(state, pc, &l, p);
}

/*
 * Takes entries with longer histories than the provider's for a branch that it got wrong. Starts at
 * the next longer one, or with probability 1/2 and 1/4 one and two further on, so that branches do
 * not all fight for the same table; skips a table after each success.
 */
static void allocate(struct tage *t, const struct lookup *l, unsigned first, bool taken)
{
	uint32_t r = lfsr_step(&t->random);
	unsigned taken_entries = 0;
	unsigned i = first;

	if (r & 1 && i + 1 < t->tables) {
		i++;
		if (r & 2 && i + 1 < t->tables)
			i++;
	}
	for (; i < t->tables && taken_entries < ALLOC_MOST; i++) {
		uint16_t *e = entry_of(t, l, i);

		if (useful_of(*e) != 0)
			continue;
		*e = (uint16_t)(l->tag[i] << TAG_SHIFT | (taken ? WEAK_TAKEN : WEAK_NOT));
		taken_entries++;
		i++;
	}
	if (taken_entries > 0)
		return;
	for (i = first; i < t->tables; i++) {
		uint16_t *e = entry_of(t, l, i);

		*e = (uint16_t)(*e - ((useful_of(*e) > 0) << USEFUL_SHIFT));
	}
}

/* Halves every usefulness counter; a plain loop over 16-bit words that compilers vectorise. */
static void age(struct tage *t)
{
	const uint16_t useful = USEFUL_MASK << USEFUL_SHIFT;

	for (uint32_t i = 0; i < t->entries; i++) {
		uint16_t e = t->entry[i];

		t->entry[i] = (uint16_t)((e & ~useful) | ((e & useful) >> 1 & useful));
	}
}

static void base_update(struct tage *t, uint64_t pc, bool taken)
{
	counter2_update(&t->base[pc >> 1 & t->base_mask], taken);
}

/* Trains what provided: the base, or a tagged entry if it still is the same. */
static void train(struct tage *t, const struct lookup *l, uint64_t pc, unsigned component,
		  bool taken)
{
	uint16_t *e;

	if (component == 0) {
		base_update(t, pc, taken);
		return;
	}
	e = entry_of(t, l, component - 1);
	if (*e >> TAG_SHIFT == l->tag[component - 1])
		*e = ctr_step(*e, taken);
}

/* Trains what lies beside the tagged tables; false: that was all. */
static inline bool update_beside(struct tage *t, uint64_t pc, const struct bpred_pred *p,
				 bool taken)
{
	unsigned flags = p->dir2;
	bool said = flags & SAID_PROVIDER, alt = flags & SAID_ALT, tage = flags & SAID_TAGE;

	if (t->loop) {
		bool sure = flags & LOOP_SURE, loop = flags & SAID_LOOP;

		if (sure && loop != tage)
			t->with_loop += loop == taken ? t->with_loop < 63 : -(t->with_loop > -64);
		loop_update(t->loop, pc, sure, loop, tage, taken, lfsr_step(&t->random));
	}
	if (flags & NEW_PROVIDER && said != alt) {
		uint8_t *a = alt_counter(t, pc);

		*a = (uint8_t)(alt == taken ? *a + (*a < 2 * ALT_HALF - 1) : *a - (*a > 0));
	}
	if (unlikely((++t->updates & t->age_mask) == 0))
		age(t);
	if ((p->dir & 15) == 0 && tage == taken) {
		base_update(t, pc, taken);
		return false;
	}
	return true;
}

static inline void update_tables(struct tage *t, uint64_t pc, const struct lookup *l,
				 const struct bpred_pred *p, bool taken)
{
	unsigned provider = p->dir & 15, alternate = p->dir >> 4, flags = p->dir2;
	bool said = flags & SAID_PROVIDER, alt = flags & SAID_ALT, tage = flags & SAID_TAGE;
	bool is_new = flags & NEW_PROVIDER;

	/* a new provider that was right but not believed needs no help */
	if (tage != taken && provider < t->tables && !(is_new && said == taken)) {
		unsigned now = matches(t, l) >> provider;

		/* an instance in flight before this one may have allocated for this history */
		if (now == 0)
			allocate(t, l, provider, taken);
		else
			train(t, l, pc, provider + top_bit(now) + 1, taken);
	}
	train(t, l, pc, provider, taken);
	if (provider != 0) {
		uint16_t *e = entry_of(t, l, provider - 1);

		if (*e >> TAG_SHIFT != l->tag[provider - 1])
			return;
		if (useful_of(*e) == 0)
			train(t, l, pc, alternate, taken);
		if (said == alt)
			return;
		if (said == taken)
			*e = (uint16_t)(*e + ((useful_of(*e) < USEFUL_MASK) << USEFUL_SHIFT));
		else
			*e = (uint16_t)(*e - ((useful_of(*e) > 0) << USEFUL_SHIFT));
	}
}

static void tage_update(void *state, uint64_t pc, const struct bpred_pred *p, bool taken)
{
	struct lookup l;

	if (!update_beside(state, pc, p, taken))
		return;
	l = look(state, pc, p->fold, p->path);
	update_tables(state, pc, &l, p, taken);
}

static bool tage_warm(void *state, uint64_t pc, const struct history *h, bool taken,
		      struct spec_log *log)
{
	struct tage *t = state;
	const struct lookup l = look(t, pc, h->fold, h->path);
	struct bpred_pred p;
	const bool right = predict_at(t, pc, &l, &p) == taken;

	if (t->loop)
		loop_advance(t->loop, pc, taken, log);
	if (update_beside(t, pc, &p, taken))
		update_tables(t, pc, &l, &p, taken);
	return right;
}

static void tage_advance(void *state, uint64_t pc, bool taken, struct spec_log *log)
{
	struct tage *t = state;

	if (t->loop)
		loop_advance(t->loop, pc, taken, log);
}

static uint64_t **tage_spec(void *state, size_t *n)
{
	struct tage *t = state;

	return loop_spec(t->loop, n);
}

/* Registers beside the tables: histories, use-alternate counters, LFSR, aging counter. */
static uint64_t register_bits(const struct bpred_config *c)
{
	uint64_t bits = c->tage_max_history + 16;

	for (uint32_t i = 0; i < c->tage_tables; i++)
		for (unsigned j = 0; j < FOLD_COUNT; j++)
			bits += history_fold_width(c, i, j);
	return bits + 4 * ALT_COUNTERS + 32 + (uint32_t)__builtin_ctz(c->tage_useful_period);
}

static uint64_t tage_bits(const struct bpred_config *c)
{
	uint64_t bits = 2 * (uint64_t)c->tage_base_entries + register_bits(c);

	for (uint32_t i = 0; i < c->tage_tables; i++)
		bits += (uint64_t)c->tage_entries[i] * (TAG_SHIFT + c->tage_tag_bits[i]);
	return bits + (c->loop_predictor ? loop_bits(c) + 7 : 0);
}

static void tage_print(const struct bpred_config *c, FILE *f)
{
	fprintf(f, "  base       %5u x  2 bits\n", c->tage_base_entries);
	for (uint32_t i = 0; i < c->tage_tables; i++)
		fprintf(f,
			"  table %u    %5u x %2u bits: tag %u, counter 3, useful 2; history %u\n",
			i + 1, c->tage_entries[i], TAG_SHIFT + c->tage_tag_bits[i],
			c->tage_tag_bits[i], history_tage_length(c, i));
	fprintf(f, "  registers  %5u bits\n", (unsigned)register_bits(c));
	if (c->loop_predictor)
		fprintf(f, "  loops      %5u bits in %u entries\n", (unsigned)loop_bits(c) + 7,
			c->loop_entries);
}

static uint64_t tage_hash(const void *state, uint64_t h)
{
	const struct tage *t = state;

	h = bpred_hash_bytes(h, t->base, t->base_mask + 1);
	h = bpred_hash_bytes(h, t->entry, t->entries * sizeof(*t->entry));
	h = bpred_hash_bytes(h, t->use_alt, sizeof(t->use_alt));
	h = hash_u64(h ^ ((uint64_t)t->random << 32 | t->updates));
	h = hash_u64(h ^ (uint8_t)t->with_loop);
	return t->loop ? loop_hash(t->loop, h) : h;
}

static uint64_t tage_hash_spec(const void *state, uint64_t h)
{
	const struct tage *t = state;

	return t->loop ? loop_hash_spec(t->loop, h) : h;
}

static void tage_saved(void *state, struct state *s)
{
	struct tage *t = state;
	uint8_t with_loop = (uint8_t)t->with_loop;

	saved_same(s, t->tables, "tage");
	saved_same(s, t->base_mask, "tage");
	saved_same(s, t->entries, "tage");
	for (unsigned i = 0; i < 8; i++) {
		saved_same(s, t->index_mask[i], "tage");
		saved_same(s, t->tag_mask[i], "tage");
	}
	saved_bytes(s, t->base, (size_t)t->base_mask + 1, 3);
	saved_u16s(s, t->entry, t->entries);
	saved_bytes(s, t->use_alt, sizeof(t->use_alt), 2 * ALT_HALF - 1);
	saved_lfsr(s, &t->random);
	state_u32(s, &t->updates);
	state_u8(s, &with_loop);
	t->with_loop = (int8_t)with_loop;
	saved_same(s, t->loop != NULL, "loop predictor");
	if (t->loop)
		loop_saved(t->loop, s);
}

const struct bpred_dir dir_tage = {
	.name = "tage",
	.summary = "tagged tables with geometric histories",
	.folds = true,
	.create = tage_new,
	.destroy = tage_free,
	.predict = tage_predict,
	.update = tage_update,
	.warm = tage_warm,
	.advance = tage_advance,
	.spec = tage_spec,
	.bits = tage_bits,
	.print = tage_print,
	.saved = tage_saved,
	.hash = tage_hash,
	.hash_spec = tage_hash_spec,
};
