/* SPDX-License-Identifier: MIT */
/* What the parts of the codec share: file_codec.c and one file per kind of record. */
#ifndef TRACE_FILE_CODEC_INT_H
#define TRACE_FILE_CODEC_INT_H

#include <stdlib.h>
#include <zstd.h>

#include "isa/isa.h"
#include "trace/file_codec.h"

/* Rows of the tables, and so columns of residuals and bits of a record's mask. */
enum inst_field {
#define FIELD(id, ...) I_##id,
#define NOTE(id, ...)  I_##id,
#include "trace/inst_fields.def"
	I_COUNT,
};
enum cycle_field {
#define FIELD(id, ...) C_##id,
#define GAP(id)	       C_##id,
#include "trace/cycle_fields.def"
	C_COUNT,
};
enum miss_field {
#define FIELD(id, ...) M_##id,
#include "trace/miss_fields.def"
	M_COUNT,
};
enum twin_field {
#define FIELD(id, ...) T_##id,
#include "trace/twin_fields.def"
	T_COUNT,
};
_Static_assert(I_COUNT <= 32 && C_COUNT <= 32, "a mask has 32 bits");

/* All columns: runs of committed and squashed instructions, masks byte by byte, residuals. */
enum column_number {
	COLUMN_RUNS,
	COLUMN_INST_MASK,			   /* four of them */
	COLUMN_INST = COLUMN_INST_MASK + 4,	   /* I_COUNT of them */
	COLUMN_CYCLE_MASK = COLUMN_INST + I_COUNT, /* four of them */
	COLUMN_CYCLE = COLUMN_CYCLE_MASK + 4,	   /* C_COUNT of them */
	COLUMN_ALWAYS = COLUMN_CYCLE + C_COUNT,
	/* Only in blocks with such records. */
	COLUMN_MISS_MASK = COLUMN_ALWAYS,	  /* four of them */
	COLUMN_MISS = COLUMN_MISS_MASK + 4,	  /* M_COUNT of them */
	COLUMN_TWIN_MASK = COLUMN_MISS + M_COUNT, /* four of them */
	COLUMN_TWIN = COLUMN_TWIN_MASK + 4,	  /* T_COUNT of them */
	COLUMN_COUNT = COLUMN_TWIN + T_COUNT,
};

/* Encoding: `at` moves through memory that is large enough for any block. Decoding: up to `end`. */
struct column {
	uint8_t *at;
	uint8_t *base, *end;
	size_t capacity;
};

/* What was last seen at a pc; all that brief records need, in half a cache line. */
struct static_inst {
	uint64_t pc;
	uint64_t taken_target; /* if known; else from the instruction word */
	uint32_t word;
	uint32_t flags; /* without FLAGS_ONCE */
	int32_t fetch_delta;
	uint32_t fixed : 24; /* size and class */
	uint32_t epoch : 7;  /* block in which it was seen, from 1; invalid in others */
	uint32_t has_target : 1;
};
_Static_assert(sizeof(struct static_inst) == 32, "half a cache line");
#define EPOCHS 127 /* blocks that are told apart */

/* What was last seen at a pc in the fields that only whole records have. */
struct static_notes {
	uint64_t addr;
	int64_t stride;
	uint32_t prod[3], prod_mem;
	uint16_t lat_exec;
	uint8_t dlevel;
	bool decoded; /* dst and src are known */
	uint8_t dst, src[3];
};

#define STATIC_SLOTS 8192
static inline size_t static_slot(uint64_t pc)
{
	return (pc * 0x9e3779b97f4a7c15ull >> 40) & (STATIC_SLOTS - 1);
}

/* Stages that an instruction did not reach. */
enum reach_bit {
	REACH_DECODE = 1,
	REACH_DISPATCH = 2,
	REACH_READY = 4,
	REACH_ISSUE = 8,
	REACH_COMPLETE = 16,
	REACH_NONE = 31,
};

/* A stage that an instruction did not reach, as a cycle. */
#define NEVER UINT64_MAX

/* Flags that say what happened this time rather than what the instruction is. */
#define FLAGS_ONCE                                                                                 \
	((uint32_t)(RI_MISPREDICT | RI_REFETCH | RI_BTB_MISS | RI_FAULT | RI_COMMITTED |           \
		    RI_FETCH_HEAD))

#define FLIGHT_SLOTS 2048 /* committed instructions whose stamps are remembered */
#define FLUSH_SLOTS  64
#define TAKEN_SLOTS  4096
#define RAS_SLOTS    16

struct flight {
	uint64_t po;
	uint64_t available; /* when dependents could use its result */
	uint64_t commit;
};

/* What later predictions need of an instruction; cycles absolute, or NEVER. */
struct mini {
	uint64_t seq, po, pc;
	uint64_t fetch, dispatch, issue, complete, leave;
	uint32_t flags;
	uint8_t dlevel;
};

/* What happened in a cycle of the block, as far as its instructions tell. */
struct moment {
	uint8_t nfetch, ndispatch, nissue, ncommit;
	uint16_t nsquash;  /* dispatched ones among those squashed */
	uint16_t any;	   /* something begins or ends here */
	uint32_t dispatch; /* 1 + index of the first that dispatches */
	uint32_t squash;   /* 1 + index of the oldest that is squashed */
};
#define MOMENTS_MAX  (1u << 20)
#define INDEX_FACTOR 4 /* numbers that by_seq and by_po can span, per instruction of the block */

/* What the next instructions need of the last few, apart from the tables below: small enough for an
 * encoder to keep in registers. */
struct recent {
	struct mini last,
	    last_squashed; /* of the right path; of the present run of squashed ones */
	uint64_t last_target, squashed_target;
	uint32_t dispatch_count, commit_count; /* in the last one's cycle */
	uint32_t tid, reach;
	uint64_t decode_depth, fetch_decode; /* dispatch - decode, decode - fetch */
	uint8_t stall;
};

struct inst_coder {
	struct recent recent;
	uint64_t redirect[2];	  /* cycles from a mispredicted branch's completion, and from a
				     flush's commit, to the next fetch */
	uint64_t writer[64];	  /* po of each register's last writer on the right path */
	uint64_t spec_writer[64]; /* po of its last writer in the run spec_run of squashed ones */
	uint32_t spec_run[64], run;
	uint32_t history;
	uint8_t taken[TAKEN_SLOTS];
	uint64_t ras[RAS_SLOTS];
	uint32_t ras_top;
	struct {
		uint64_t po, seq;
	} flush[FLUSH_SLOTS];	/* where fetch went on: program-order number and next seq */
	uint64_t wrong_pc[256]; /* where the wrong path began, by the last commit's pc */
	uint32_t psv[512];	/* events last seen with the same levels and flags */
	uint16_t lat_icache[8], lat_dmiss[8];
	uint64_t lat_data[8];
	uint8_t ilevel[2]; /* [1]: first of its fetch packet */
};

/* Masks on their way to their four columns, one for each byte. */
struct masks {
	uint32_t mask[128];
	size_t count;
};

struct codec {
	struct trace_meta meta;
	struct column column[COLUMN_COUNT];
	size_t ninsts, ncycles;
	struct rec_cycle *cycles; /* encoding: kept until the instructions are known */
	struct rec_miss *misses;  /* encoding: kept likewise; decoding: those of the block */
	struct rec_twin *twins;
	size_t nmisses, ntwins, misses_capacity, twins_capacity;
	struct mini *minis;
	uint8_t epoch;
	struct static_inst *statics;
	struct static_notes *notes;
	struct flight *flights;
	struct masks masks; /* encoding: of instructions */
	struct inst_coder inst;
	struct moment *moments;
	size_t nmoments;      /* room */
	size_t room_insts;    /* instructions for which minis and indices have room */
	uint32_t *by_seq;     /* 1 + index of the instruction with seq first_seq + i */
	uint32_t *next_right; /* 1 + index of the first committed instruction from that seq on */
	uint64_t first_seq;
	size_t nseq;
	uint32_t *by_po; /* 1 + index of the committed instruction with po first_po + i */
	uint64_t first_po;
	size_t npo;
	ZSTD_CCtx *zc;
	ZSTD_DCtx *zd;
	uint8_t *unpacked; /* decoding: the columns that were compressed */
	size_t unpacked_size;
	bool bad; /* decoding: a column ended early */
	bool version_2;
	struct codec_column_size sizes[COLUMN_COUNT];
};

/* file_codec.c: writes a number of more than seven bits. */
void column_put_long(struct column *c, uint64_t v);
static inline void column_put(struct column *c, uint64_t v)
{
	if (likely(v < 128))
		*c->at++ = (uint8_t)v;
	else
		column_put_long(c, v);
}
static inline uint8_t column_get_byte(struct codec *c, struct column *k)
{
	if (k->at == k->end) {
		c->bad = true;
		return 0;
	}
	return *k->at++;
}
static inline uint64_t column_get(struct codec *c, struct column *k)
{
	uint64_t v = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t b = column_get_byte(c, k);
		v |= (uint64_t)(b & 127) << shift;
		if (b < 128)
			return v;
	}
	c->bad = true;
	return 0;
}
static inline uint64_t zigzag(uint64_t d)
{
	/* cppcheck-suppress shiftTooManyBitsSigned ; gcc and clang define it */
	return d << 1 ^ (uint64_t)((int64_t)d >> 63);
}
static inline uint64_t unzigzag(uint64_t z)
{
	return z >> 1 ^ -(z & 1);
}

/* Stores the residual of a value if it was not predicted; returns whether it did. */
static inline bool column_put_diff(struct column *c, uint64_t value, uint64_t prediction)
{
	if (value == prediction)
		return false;
	column_put(c, zigzag(value - prediction));
	return true;
}
static inline bool column_put_bits(struct column *c, uint64_t value, uint64_t prediction)
{
	if (value == prediction)
		return false;
	column_put(c, value ^ prediction);
	return true;
}

/* file_codec.c: moves the masks into the four columns from `first` on, and back. masks_get returns
 * false if there are not exactly `count` of them. */
void masks_flush(struct codec *c, struct masks *m, unsigned first);
static inline void masks_put(struct codec *c, struct masks *m, unsigned first, uint32_t mask)
{
	m->mask[m->count++] = mask;
	if (unlikely(m->count == ARRAY_LEN(m->mask)))
		masks_flush(c, m, first);
}
struct mask_columns {
	const uint8_t *byte[4];
};
bool masks_get(struct codec *c, unsigned first, size_t count, struct mask_columns *out);
static inline uint32_t mask_at(const struct mask_columns *m, size_t i)
{
	return (uint32_t)m->byte[0][i] | (uint32_t)m->byte[1][i] << 8 |
	       (uint32_t)m->byte[2][i] << 16 | (uint32_t)m->byte[3][i] << 24;
}

/* For predictions and walks: a record's kind is a constant only if all of it is in one function. */
#define WALK_INLINE static inline __attribute__((always_inline))

/* file_codec.c: makes room for a block of ninsts instructions. */
void codec_room(struct codec *c, size_t ninsts);

/* file_inst.c */
void codec_inst_begin(struct codec *c);
void codec_inst_end(struct codec *c);
bool codec_inst_decode(struct codec *c, struct rec_inst *insts, size_t count);

/* file_cycle.c. codec_index must be called first: it makes the block's instructions findable by
 * number. */
void codec_index(struct codec *c);
static inline const struct mini *codec_by_seq(const struct codec *c, uint64_t seq)
{
	const uint64_t i = seq - c->first_seq;
	return seq >= c->first_seq && i < c->nseq && c->by_seq[i] ? &c->minis[c->by_seq[i] - 1]
								  : NULL;
}
static inline const struct mini *codec_by_po(const struct codec *c, uint64_t po)
{
	const uint64_t i = po - c->first_po;
	return po >= c->first_po && i < c->npo && c->by_po[i] ? &c->minis[c->by_po[i] - 1] : NULL;
}
void codec_cycle_encode(struct codec *c, uint64_t base);
bool codec_cycle_decode(struct codec *c, struct rec_cycle *cycles, size_t count, uint64_t base);

/* file_miss.c, file_twin.c */
void codec_miss_encode(struct codec *c);
bool codec_miss_decode(struct codec *c);
void codec_twin_encode(struct codec *c);
bool codec_twin_decode(struct codec *c);

#endif
