/* SPDX-License-Identifier: MIT */
/*
 * Branch prediction: direction predictors, branch-target buffer, return-address stack and indirect
 * targets behind one handle.
 *
 * The life of a control instruction:
 *
 *   fetch     bpred_predict   in fetch order, right or wrong path; moves the speculative history
 *   resolve   bpred_repair    only if it was mispredicted; everything younger is forgotten
 *   flush     bpred_restore   only if it is squashed itself and it is the oldest squashed one
 *   commit    bpred_commit    in program order; the only call that trains a table
 *
 * Invariants
 *   1. Tables change only in bpred_commit (and bpred_warm), so a wrong path never trains anything.
 *   2. After bpred_repair or bpred_restore the speculative state (global, path and target history,
 *      return-address stack) equals, bit by bit, that of a machine which never went astray.
 *   3. No allocation, division or libm after bpred_new; the same calls give the same predictions on
 *      every host.
 *
 * A flush that begins at an instruction which is no control instruction (memory order, exception)
 * calls bpred_restore with the oldest squashed control instruction, or nothing if there is none.
 */
#ifndef CORE_BPRED_BPRED_H
#define CORE_BPRED_BPRED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct inst;
struct err;
struct bpred;

#define BPRED_TAGE_MAX 8 /* most tagged tables a TAGE can have */

/* Sizes are numbers of entries. A plain struct: start from bpred_config_default and change. */
struct bpred_config {
	char direction[16];	    /* a name from bpred_direction_names; "tage" */
	uint32_t bimodal_entries;   /* 2-bit counters; power of two, 16..1048576; 8192 */
	uint32_t gshare_entries;    /* 2-bit counters; power of two, 16..1048576; 8192 */
	uint32_t gshare_history;    /* bits of global history, 1..20, at most log2 of entries; 13 */
	uint32_t meta_entries;	    /* tournament's choosers; power of two, 16..1048576; 8192 */
	uint32_t tage_tables;	    /* tagged tables, 1..8; 8 */
	uint32_t tage_base_entries; /* 2-bit base counters; power of two, 16..1048576; 8192 */
	uint32_t tage_min_history;  /* bits seen by the shortest tagged table, 1..1024; 4 */
	uint32_t tage_max_history;  /* bits seen by the longest, geometric between, ..1024; 256 */
	uint32_t tage_entries[BPRED_TAGE_MAX]; /* per tagged table, shortest history first; power of
						  two, 16..8192; 2048 ×6, 1024 ×2 */
	uint32_t tage_tag_bits[BPRED_TAGE_MAX]; /* per tagged table, 4..11; 8 8 9 10 10 11 11 11 */
	uint32_t tage_useful_period; /* updates between two agings of the usefulness counters; power
					of two, 1024..16777216; 262144 */
	uint32_t loop_predictor;     /* TAGE: 1 adds a loop predictor, 0 not; 0 */
	uint32_t loop_entries;	     /* its entries, 4-way; power of two, 4..1024; 64 */
	uint32_t btb_entries;	     /* branch-target buffer; power of two, 1..1048576; 4096 */
	uint32_t btb_ways;	     /* its associativity; power of two, 1..16; 2 */
	uint32_t ras_entries;	     /* return-address stack, 0 (none)..1024; 32 */
	uint32_t indirect_entries; /* per table of the indirect-target predictor, 0 (BTB only) or a
				      power of two, 16..65536; 256 */
	uint32_t inflight;	   /* not hardware: most control instructions that can be between
				      predict and commit, 1..1048576; 1024 */
};
extern const struct bpred_config bpred_config_default;

/* One key of the configuration, for machine files: everything needed to parse, check and print. */
struct bpred_key {
	const char *name;    /* as the field: "btb_entries" */
	const char *unit;    /* "entries", "bits", … */
	const char *summary; /* one line */
	size_t offset_bytes; /* of the field in struct bpred_config */
	uint32_t count;	     /* numbers in the field; 0: the field is a name (char[16]) */
	uint32_t min, max;
	bool zero_ok; /* zero is allowed although below min: the part is absent */
	bool power_of_two;
};
extern const struct bpred_key bpred_keys[];
extern const size_t bpred_keys_count;

/*
 * Sets one key from text: a number, a name, or for per-table keys one number for all tables or a
 * list separated by spaces or commas. False and e filled if the key or the text is not valid.
 */
bool bpred_config_set(struct bpred_config *c, const char *key, const char *text, struct err *e);

/* True if a predictor can be built; otherwise e names the bad key and its valid range. */
bool bpred_check(const struct bpred_config *c, struct err *e);

/* The direction predictors, as one string for messages: "tage, gshare, …". */
const char *bpred_direction_names(void);

/* What really happens; known only on the right path. target is the next pc if taken. */
struct bpred_truth {
	bool taken;
	uint64_t target;
};

enum bpred_kind {
	BPRED_COND,	/* conditional branch */
	BPRED_JUMP,	/* jal that does not link */
	BPRED_CALL,	/* jal that links */
	BPRED_INDIRECT, /* jalr, neither call nor return */
	BPRED_ICALL,	/* jalr that links */
	BPRED_RETURN,	/* jalr from a link register */
	BPRED_CORO,	/* jalr from one link register that writes the other: pop, then push */
};

/* When fetch can follow the predicted path. */
enum bpred_when {
	BPRED_AT_FETCH,	  /* at once: predicted not taken, or the target came with the fetch */
	BPRED_AT_DECODE,  /* taken, no BTB entry; target known once decoded (direct, return): bubble
			   */
	BPRED_AT_EXECUTE, /* indirect and nothing knows a target: counts as a mispredict */
};

/*
 * One prediction, kept by the core with the in-flight instruction. The first part is the core's to
 * read and to overwrite; the rest is the state before this prediction and what training needs.
 */
struct bpred_pred {
	uint64_t target; /* next pc if taken; falls back to the next instruction if unknown */
	uint8_t taken;	 /* 1: predicted taken; jumps always are */
	uint8_t btb_hit; /* 1: predicted taken, and the BTB knew this instruction */
	uint8_t when;	 /* enum bpred_when */
	uint8_t kind;	 /* enum bpred_kind */

	/* private from here on */
	uint8_t dir; /* direction predictor's own: counters read, provider, flags */
	uint8_t dir2;
	uint16_t ras_top;		  /* state before: stack pointer */
	uint32_t ras_log;		  /*   undo-log position */
	uint32_t hist_pos;		  /*  place in the ring of global history */
	uint32_t path;			  /*   path history */
	uint32_t loop;			  /* loop predictor: entry, way and iteration */
	uint64_t ghist;			  /*   last 64 outcomes, youngest in bit 0 */
	uint64_t thist;			  /*   targets of the last indirect jumps */
	uint16_t fold[2][BPRED_TAGE_MAX]; /* folded histories, for indices and for tags */
};

/* A predictor after c, which must pass bpred_check. */
struct bpred *bpred_new(const struct bpred_config *c);
void bpred_free(struct bpred *bp);

/*
 * Predicts the control instruction in at pc and moves the speculative state along the prediction.
 * Call in fetch order for every control instruction and for no other. truth may be NULL; only the
 * perfect predictor looks at it (without it, it predicts as `taken` does).
 */
void bpred_predict(struct bpred *bp, uint64_t pc, const struct inst *in,
		   const struct bpred_truth *truth, struct bpred_pred *out);

/*
 * The instruction predicted as p did something else: speculative state as if it had been predicted
 * right, everything younger forgotten. To idealise one instruction, call it right after
 * bpred_predict with the truth and set p's public fields.
 */
void bpred_repair(struct bpred *bp, uint64_t pc, const struct inst *in, const struct bpred_pred *p,
		  bool taken, uint64_t target);

/* The instruction predicted as p is squashed: speculative state as before it was predicted. */
void bpred_restore(struct bpred *bp, const struct bpred_pred *p);

/* The instruction predicted as p commits: trains with the history seen at prediction. */
void bpred_commit(struct bpred *bp, uint64_t pc, const struct inst *in, const struct bpred_pred *p,
		  bool taken, uint64_t target);

/* Functional warming: predict, repair if need be and commit at once. True if predicted right. */
bool bpred_warm(struct bpred *bp, uint64_t pc, const struct inst *in, bool taken, uint64_t target);

/* True if p sent fetch to where the instruction really went. */
static inline bool bpred_right(const struct bpred_pred *p, bool taken, uint64_t target)
{
	return p->taken == taken &&
	       (!taken || (p->target == target && p->when != BPRED_AT_EXECUTE));
}

/* Storage the modelled hardware would need, in bits; 0 for predictors without state. */
uint64_t bpred_direction_bits(const struct bpred_config *c);
uint64_t bpred_btb_bits(const struct bpred_config *c);
uint64_t bpred_indirect_bits(const struct bpred_config *c);
/* Writes the storage table by table, as text. */
void bpred_print_storage(const struct bpred_config *c, FILE *f);

/* Hash of the speculative state and of the trained tables; for tests and debug builds. */
uint64_t bpred_hash_speculative(const struct bpred *bp);
uint64_t bpred_hash_tables(const struct bpred *bp);

#endif
