/* SPDX-License-Identifier: MIT */
/*
 * Shotgun profiling (fields2004 section 5): costs and interaction costs from what hardware could
 * sample. monitor.c is the hardware: it sees every instruction and keeps samples; watch.c gives it
 * what it sees. fragment.c is the software: from samples, the binary and the machine's description alone
 * it builds fragments of the dependence graph. shotgun.c joins them and scores the result; samples.c
 * keeps the samples in a file, from which shotgun.c builds the same fragments later.
 */
#ifndef ANALYSIS_SHOTGUN_SHOTGUN_H
#define ANALYSIS_SHOTGUN_SHOTGUN_H

#include "analysis/icost/edges.h"
#include "analysis/icost/graph.h"
#include "image/image.h"
#include "trace/analysis.h"

/* The paper's samples; parameters change them. */
#define SHOTGUN_CONTEXT	     10	  /* instructions before and after a detailed sample */
#define SHOTGUN_LONG	     2000 /* instructions of a signature sample */
#define SHOTGUN_BITS	     2	  /* of an instruction's signature */
#define SHOTGUN_CONTEXT_MOST 15	  /* a signature has 64 bits */
#define SHOTGUN_LONG_MOST    4000

/* What a sample has. */
struct shotgun_shape {
	uint32_t length;  /* instructions of a signature sample */
	uint32_t context; /* instructions before and after a detailed sample */
	uint32_t bits;	  /* of an instruction: 1: the first alone, which says where branches go */
};

#define SHOTGUN_SHAPE ((struct shotgun_shape){ SHOTGUN_LONG, SHOTGUN_CONTEXT, SHOTGUN_BITS })

/* The instructions whose bits a detailed sample has. */
static inline uint32_t shotgun_span(const struct shotgun_shape *s)
{
	return 2 * s->context + 1;
}

/* Signature bits (fields2004 table VI). */
enum shotgun_bit {
	SHOTGUN_BIT1 = 1 << 0, /* taken branch, load or store; 0 if it missed the L2 D-cache */
	SHOTGUN_BIT2 = 1 << 1, /* I-cache miss, D-cache miss, TLB miss or mispredict */
};
/* What hardware sees beside the record. */
struct shotgun_seen {
	/* Cycles saved because a wrong path had fetched its line, and that of its data: a bit in the
	 * tag would mark lines that squashed instructions filled. */
	uint16_t isaved, dsaved;
	/* What stopped it at dispatch; the queue's counters and the number of the last instruction that
	 * left it say the rest. */
	struct stall_facts stall;
	enum mem_level stored; /* stores: where the tags have the line as it commits */
};
unsigned shotgun_bits(const struct rec_inst *r, enum mem_level stored);

/* A detailed sample: what table V says is measured, and the signature around it. */
struct shotgun_detail {
	uint64_t pc;
	uint64_t target;    /* indirect branches: where it went */
	uint64_t signature; /* two bits an instruction, the oldest lowest; the sample's own in the
			       middle */
	uint32_t flags;	    /* RI_MISPREDICT, RI_BTB_MISS, RI_TAKEN, RI_SERIAL, RI_REFETCH */
	uint32_t prod_mem, prod_line; /* distances */
	uint16_t icache, itlb;	      /* DD */
	uint16_t contention;	      /* RE */
	uint16_t latency, miss, dtlb; /* EP: all of it; of that a miss; of that translation */
	uint16_t isaved, dsaved;      /* cycles saved because a wrong path had fetched the line */
	uint16_t resolve;	      /* fetch to completion */
	uint16_t flush; /* after a flush or trap: from the commit before to this fetch */
	uint16_t stall, drain, left; /* struct stall_facts */
	uint16_t bus;		     /* of a miss: waiting for buses */
	uint8_t stalled_by;	     /* enum dispatch_stall */
	uint8_t level, ilevel;	     /* where its data came from, and its fetch packet */
	bool faulted;		     /* a load that was fetched again after its own fault */
	uint8_t bits;		     /* its own */
};

/* A signature sample. */
struct shotgun_long {
	uint64_t start; /* PC of the first */
	uint8_t bits[SHOTGUN_LONG_MOST];
	/* Not in hardware: scores what the software infers. All 0 in samples from a file. */
	uint64_t pcs[SHOTGUN_LONG_MOST];
};

/* All that the software gets. */
struct shotgun_samples {
	struct shotgun_shape shape;
	uint64_t insts, cycles;		      /* of the run */
	const struct shotgun_detail *details; /* by PC, then signature */
	size_t ndetails;
	const struct shotgun_long *longs;
	size_t nlongs;
	bool scored; /* longs have the run's PCs */
};

/* ---- monitor.c ---- */

struct monitor_config {
	uint32_t detail_period;	       /* instructions between detailed samples, in the mean */
	uint32_t long_period;	       /* instructions between signature samples, in the mean */
	size_t max_details, max_longs; /* more replace random earlier ones */
	uint64_t seed;
	struct shotgun_shape shape;
};

struct monitor;
struct monitor *monitor_new(const struct monitor_config *c);
void monitor_free(struct monitor *m);
/* Takes the next committed instruction. True if it is the first of a signature sample. */
bool monitor_add(struct monitor *m, const struct rec_inst *r, const struct shotgun_seen *seen);
/* Ends sampling: after it the details are complete and sorted by PC. */
void monitor_finish(struct monitor *m);
const struct shotgun_detail *monitor_details(const struct monitor *m, size_t *count);
const struct shotgun_long *monitor_longs(const struct monitor *m, size_t *count);

/* ---- watch.c ---- */

/* The monitor, and what makes the facts that it sees from the records. */
struct shotgun_watch {
	struct edges_machine machine;
	struct monitor *monitor;
	struct edges *edges;
	struct shadow *shadow;
	struct shotgun_shape shape;
	uint64_t insts, first_cycle, last_cycle;
};

/* Rates and shape are the parameters of the analysis. */
bool shotgun_watch_start(struct shotgun_watch *w, const struct trace_meta *meta,
			 const struct analysis_options *o, struct err *e);
/* Takes a committed instruction, whose edges it also returns. True if a signature sample begins. */
bool shotgun_watch_next(struct shotgun_watch *w, const struct rec_inst *r,
			struct graph_inst *edges);
/* Ends sampling. The samples stay the monitor's. */
struct shotgun_samples shotgun_watch_finish(struct shotgun_watch *w);
void shotgun_watch_free(struct shotgun_watch *w);

/* The parameters of rates and shape, for a list of them. */
#define SHOTGUN_PARAMS                                                                             \
	{ "shotgun.detail",                                                                        \
	  "instructions between two detailed samples",                                             \
	  true,                                                                                    \
	  { 3, 1000000000, NUMBER_DECIMAL } },                                                     \
	    { "shotgun.signature",                                                                 \
	      "instructions between two signature samples",                                        \
	      true,                                                                                \
	      { 1, 1000000000, NUMBER_DECIMAL } },                                                 \
	    { "shotgun.length",                                                                    \
	      "instructions of a signature sample, and of a fragment; 2000 by default",            \
	      true,                                                                                \
	      { 64, SHOTGUN_LONG_MOST, NUMBER_DECIMAL } },                                         \
	    { "shotgun.context",                                                                   \
	      "instructions on each side of a detailed sample whose bits it has; 10 by default",   \
	      true,                                                                                \
	      { 1, SHOTGUN_CONTEXT_MOST, NUMBER_DECIMAL } },                                       \
	{                                                                                          \
		"shotgun.bits",                                                                    \
		    "bits of an instruction's signature; 1: only whether branches were taken; 2 "  \
		    "by default",                                                                  \
		    true,                                                                          \
		{                                                                                  \
			1, SHOTGUN_BITS, NUMBER_DECIMAL                                            \
		}                                                                                  \
	}

/* ---- samples.c ---- */

/* Samples as bytes; the caller frees. */
uint8_t *shotgun_pack(const struct shotgun_samples *s, size_t *size);
/* Samples from bytes that somebody sent: false, with the reason, unless every number is one that
 * hardware of that shape could have delivered. shotgun_unpacked_free frees what it points to. */
bool shotgun_unpack(struct shotgun_samples *s, const uint8_t *data, size_t size, struct err *e);
/* Whether a machine could have delivered them; false, with the reason. */
bool shotgun_fits(const struct shotgun_samples *s, const struct edges_machine *m, struct err *e);
void shotgun_unpacked_free(struct shotgun_samples *s);

/* ---- fragment.c ---- */

/* How fragments came out. */
struct fragment_counts {
	uint64_t built, discarded;
	uint64_t insts;	    /* in fragments that were built */
	uint64_t no_sample; /* of those, without any detailed sample of their PC */
	uint64_t inexact;   /* instructions whose signature no sample has exactly */
	uint64_t right_pc;  /* instructions whose PC was inferred right */
	uint64_t indirect,
	    indirect_right;   /* indirect branches whose target a sample gave; the first
					      that was tried was right */
	uint64_t errant;      /* fragments that went astray at least once, built or not */
	uint64_t wrong_built; /* fragments with a wrong PC that were built all the same */
};

enum shotgun_design {
	DESIGN_STATIC = 2, /* one sample per static instruction, along the inferred path */
	DESIGN_SHORT = 3,  /* short signatures alone: samples that overlap are chained */
	DESIGN_LONG = 4,   /* short signatures patched into a long one */
	/* For comparison (shotgun.ablation). */
	DESIGN_HOT = 5,	   /* design 2 without signatures: along paths that are as hot as samples of
			      branches say */
	DESIGN_LETTER = 6, /* design 4 as figure 7 has it: no guess is tried out or taken back */
};

struct fragments;
struct fragments *fragments_new(const struct edges_machine *m, struct images *images,
				const struct shotgun_detail *details, size_t ndetails,
				uint64_t seed, struct shotgun_shape shape);
void fragments_free(struct fragments *f);
/* Categories of the user's own; the array must outlive f. */
void fragments_rules(struct fragments *f, const struct edges_rule *rules, size_t count);
/*
 * Builds a fragment on the skeleton `on` (DESIGN_SHORT uses only its start) into out, which has
 * room for the shape's length. Returns its instructions; 0 if it was discarded.
 */
size_t fragments_build(struct fragments *f, enum shotgun_design design,
		       const struct shotgun_long *on, struct graph_inst *out);
/* The inferred addresses of the fragment built last. Valid until the next is. */
const uint64_t *fragments_pcs(const struct fragments *f);
struct fragment_counts fragments_counts(const struct fragments *f);

extern const struct analysis shotgun_analysis;
extern const struct analysis shotgun_samples_analysis;

#endif
