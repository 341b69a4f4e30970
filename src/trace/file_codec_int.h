/* SPDX-License-Identifier: MIT */
/* What the two halves of the codec (instructions, cycles) share. */
#ifndef TRACE_FILE_CODEC_INT_H
#define TRACE_FILE_CODEC_INT_H

#include <zstd.h>

#include "isa/isa.h"
#include "trace/file_codec.h"

/* Columns of residuals, in the order in which fields are walked; a field's number is its mask bit.
 */
#define INST_FIELDS(X)                                                                             \
	X(PC)                                                                                      \
	X(WORD)                                                                                    \
	X(PO)                                                                                      \
	X(SEQ)                                                                                     \
	X(TID)                                                                                     \
	X(FETCH)                                                                                   \
	X(FLAGS)                                                                                   \
	X(REACH)                                                                                   \
	X(DISPATCH)                                                                                \
	X(DECODE)                                                                                  \
	X(PROD0)                                                                                   \
	X(PROD1)                                                                                   \
	X(PROD2)                                                                                   \
	X(PROD_MEM)                                                                                \
	X(PROD_LINE)                                                                               \
	X(READY)                                                                                   \
	X(ISSUE)                                                                                   \
	X(DLEVEL)                                                                                  \
	X(ILEVEL)                                                                                  \
	X(LAT_EXEC)                                                                                \
	X(LAT_DMISS)                                                                               \
	X(COMPLETE)                                                                                \
	X(COMMIT)                                                                                  \
	X(PSV)                                                                                     \
	X(ADDR)                                                                                    \
	X(TARGET)                                                                                  \
	X(STATIC)                                                                                  \
	X(LAT_ICACHE)                                                                              \
	X(LAT_ITLB)                                                                                \
	X(LAT_FU)                                                                                  \
	X(LAT_DATA)                                                                                \
	X(DISPATCH_STALL)

#define CYCLE_FIELDS(X)                                                                            \
	X(CYCLE)                                                                                   \
	X(REPEAT)                                                                                  \
	X(ROB_USED)                                                                                \
	X(HEAD_PO)                                                                                 \
	X(HEAD_PC)                                                                                 \
	X(NCOMMIT)                                                                                 \
	X(NDISPATCH)                                                                               \
	X(NFETCH)                                                                                  \
	X(NISSUE)                                                                                  \
	X(DISPATCH_SEQ)                                                                            \
	X(DISPATCH_PC)                                                                             \
	X(FETCH_SEQ)                                                                               \
	X(FETCH_PO)                                                                                \
	X(FETCH_PC)                                                                                \
	X(FLUSH_PO)                                                                                \
	X(FLUSH_PC)                                                                                \
	X(FLUSH_CAUSE)                                                                             \
	X(FLAGS)                                                                                   \
	X(DISPATCH_STALL)                                                                          \
	X(FETCH_STALL)                                                                             \
	X(PAD)

enum inst_field {
#define X(name) I_##name,
	INST_FIELDS(X)
#undef X
	    I_COUNT,
};
enum cycle_field {
#define X(name) C_##name,
	CYCLE_FIELDS(X)
#undef X
	    C_COUNT,
};
_Static_assert(I_COUNT <= 32 && C_COUNT <= 32, "a mask has 32 bits");

/* All columns: runs of committed and squashed instructions, masks byte by byte, residuals. */
enum column_number {
	COLUMN_RUNS,
	COLUMN_INST_MASK,			   /* four of them */
	COLUMN_INST = COLUMN_INST_MASK + 4,	   /* I_COUNT of them */
	COLUMN_CYCLE_MASK = COLUMN_INST + I_COUNT, /* four of them */
	COLUMN_CYCLE = COLUMN_CYCLE_MASK + 4,	   /* C_COUNT of them */
	COLUMN_COUNT = COLUMN_CYCLE + C_COUNT,
};

/* Encoding: at runs through memory that is large enough for any block. Decoding: up to end. */
struct column {
	uint8_t *at;
	uint8_t *base, *end;
	size_t capacity;
};

/* What was last seen at a pc. */
struct static_inst {
	uint64_t pc;
	uint32_t epoch; /* block in which it was seen; others do not count */
	uint32_t word;
	uint32_t flags;
	uint16_t size;
	uint8_t cls;
	uint8_t dlevel;
	uint8_t dst, src[3];
	uint8_t len;
	uint64_t addr;
	int64_t stride;
	uint64_t taken_target;
	uint32_t prod[3], prod_mem;
	int32_t fetch_delta;
	uint16_t lat_exec;
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

/* Flags that say what happened this time rather than what the instruction is. */
#define FLAGS_ONCE (RI_MISPREDICT | RI_REFETCH | RI_BTB_MISS | RI_FAULT)

#define FLIGHT_SLOTS 2048 /* committed instructions whose stamps are remembered */
#define FLUSH_SLOTS  64
#define TAKEN_SLOTS  4096
#define RAS_SLOTS    16

struct flight {
	uint64_t po;
	uint64_t available; /* when dependents could use its result */
	uint64_t commit;
};

/* What later predictions need of an instruction; cycles absolute, UINT64_MAX: never. */
struct mini {
	uint64_t seq, po, pc;
	uint64_t fetch, dispatch, issue, complete, leave;
	uint32_t flags;
	uint8_t dlevel;
};

/* Per cycle of the block, as far as its instructions tell. */
struct moment {
	uint8_t nfetch, ndispatch, nissue, ncommit;
	uint16_t nsquash;  /* dispatched ones among those squashed */
	uint16_t any;	   /* something begins or ends here */
	uint32_t dispatch; /* 1 + index of the first that dispatches */
	uint32_t squash;   /* 1 + index of the oldest that is squashed */
};
#define MOMENTS_MAX  (1u << 20)
#define INDEX_FACTOR 4 /* numbers that by_seq and by_po can span, per instruction of the block */

struct inst_coder {
	struct mini last, last_squashed; /* of the right path; of the present run */
	uint64_t last_target, squashed_target;
	uint64_t dispatch_cycle, commit_cycle;
	uint32_t dispatch_count, commit_count;
	uint32_t tid, reach;
	uint64_t decode_depth, fetch_decode; /* dispatch - decode, decode - fetch */
	uint64_t
	    redirect[2]; /* from a mispredict's completion, a flush's commit, to the next fetch */
	uint64_t writer[64];	  /* po of each register's last writer */
	uint64_t spec_writer[64]; /* … in the present run of squashed ones */
	uint32_t spec_run[64], run;
	uint32_t history;
	uint8_t taken[TAKEN_SLOTS];
	uint64_t ras[RAS_SLOTS];
	uint32_t ras_top;
	struct {
		uint64_t po, seq;
	} flush[FLUSH_SLOTS];	/* where fetch went on: program-order number and next seq */
	uint64_t wrong_pc[256]; /* where the wrong path began, by the last commit's pc */
	uint32_t psv[256];	/* events last seen with the same levels and flags */
	uint16_t lat_icache[8], lat_dmiss[8];
	uint64_t lat_data[8];
	uint8_t ilevel[2];
	uint8_t stall;
};

struct codec {
	struct trace_meta meta;
	struct column column[COLUMN_COUNT];
	size_t ninsts, ncycles;
	struct rec_cycle *cycles; /* encoding: kept until the instructions are known */
	struct mini *minis;
	uint32_t epoch;
	struct static_inst *statics;
	struct brief_inst *briefs; /* file_brief.c */
	uint8_t brief_epoch;
	struct flight *flights;
	struct inst_coder inst;
	struct moment *moments;
	size_t nmoments;      /* room */
	size_t room_insts;    /* instructions for which minis and indices have room */
	uint32_t *by_seq;     /* 1 + index of the instruction with seq first_seq + i */
	uint32_t *next_right; /* … of the first committed one from there on */
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
	struct codec_column_size sizes[COLUMN_COUNT];
};

/* What a committed instruction teaches the predictions of directions and return addresses. counter:
 * its branch's; after: the address behind it. */
static inline void inst_coder_learn(struct inst_coder *k, uint32_t flags, uint8_t *counter,
				    uint64_t after)
{
	if (flags & RI_BRANCH) {
		const bool taken = flags & RI_TAKEN;
		if (taken && *counter < 3)
			++*counter;
		else if (!taken && *counter)
			--*counter;
		k->history = k->history << 1 | taken;
	}
	if (flags & RI_RETURN)
		k->ras_top--;
	if (flags & RI_CALL)
		k->ras[++k->ras_top % RAS_SLOTS] = after;
}

static inline void column_byte(struct column *c, uint8_t v)
{
	*c->at++ = v;
}
/* file_codec.c: a number of more than seven bits. */
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

/*
 * One field: DIFF codes value - prediction, BITS value ^ prediction. In a function with `c`, the
 * columns' number `first`, `mask` and, but for PUT_…, the constant `encoding`.
 */
#define PUT(id, residual, coded)                                                                   \
	do {                                                                                       \
		uint64_t d_ = (residual);                                                          \
		if (d_) {                                                                          \
			mask |= 1u << (id);                                                        \
			column_put(&c->column[first + (id)], coded);                               \
		}                                                                                  \
	} while (0)
#define PUT_DIFF(id, value, prediction)                                                            \
	PUT(id, (uint64_t)(value) - (uint64_t)(prediction), zigzag(d_))
#define PUT_BITS(id, value, prediction) PUT(id, (uint64_t)(value) ^ (uint64_t)(prediction), d_)
#define DIFF(id, lvalue, prediction)                                                               \
	do {                                                                                       \
		uint64_t p_ = (uint64_t)(prediction);                                              \
		if (encoding) {                                                                    \
			PUT_DIFF(id, lvalue, p_);                                                  \
		} else {                                                                           \
			if (mask >> (id)&1)                                                        \
				p_ += unzigzag(column_get(c, &c->column[first + (id)]));           \
			lvalue = (__typeof__(lvalue))p_;                                           \
		}                                                                                  \
	} while (0)
#define BITS(id, lvalue, prediction)                                                               \
	do {                                                                                       \
		uint64_t p_ = (uint64_t)(prediction);                                              \
		if (encoding) {                                                                    \
			PUT_BITS(id, lvalue, p_);                                                  \
		} else {                                                                           \
			if (mask >> (id)&1)                                                        \
				p_ ^= column_get(c, &c->column[first + (id)]);                     \
			lvalue = (__typeof__(lvalue))p_;                                           \
		}                                                                                  \
	} while (0)

/* file_codec.c: makes room for a block of so many. */
void codec_room(struct codec *c, size_t ninsts);

/* file_inst.c */
void codec_inst_begin(struct codec *c);
void codec_inst_encode(struct codec *c, const struct rec_inst *insts, size_t count);
bool codec_inst_decode(struct codec *c, struct rec_inst *insts, size_t count);

/* file_cycle.c */
void codec_cycle_encode(struct codec *c, uint64_t base);
bool codec_cycle_decode(struct codec *c, struct rec_cycle *cycles, size_t count, uint64_t base);

#endif
