/* SPDX-License-Identifier: MIT */
/* Costs and interaction costs of a run from its dependence graph. */
#ifndef ANALYSIS_ICOST_ICOST_H
#define ANALYSIS_ICOST_ICOST_H

#include "analysis/icost/edges.h"
#include "analysis/icost/graph.h"
#include "analysis/icost/places.h"
#include "analysis/icost/shadow.h"
#include "analysis/icost/statics.h"
#include "trace/analysis.h"

#define ICOST_PHASES	 64
#define ICOST_PHASE_BASE 65536 /* instructions of the shortest phase */
#define ICOST_BATCH	 512
#define ICOST_RULES	 32

struct icost_phase {
	uint64_t insts;
	uint64_t length[GRAPH_LANES]; /* cumulative */
};

/* Categories as the user defines them. */
struct icost_categories {
	struct edges_rule rules[ICOST_RULES];
	size_t nrules; /* 0: the eight of categories.def */
	char names[GRAPH_CATEGORIES][32];
};

struct icost {
	struct edges_machine machine;
	struct edges *edges;
	struct shadow *shadow;
	struct graph *graph;
	struct graph_inst *batch;
	uint64_t pc[ICOST_BATCH]; /* of the instructions of the batch */
	size_t nbatch;
	struct icost_group {
		uint64_t number;
		unsigned size, left, chosen; /* in batches; left and chosen count from its end */
	} group;			     /* of batches, one of which is sampled for functions */
	uint64_t sampled;		     /* instructions in sampled batches */
	struct rng rng;
	uint16_t held[ICOST_BATCH]; /* see places_add */
	struct spent spent;
	/* Which stretches of the run are analysed; one_in 0: all of it. */
	struct schedule schedule;
	struct stretch stretch;	      /* the present one */
	bool begun;		      /* its fragment has begun */
	uint64_t length[GRAPH_LANES]; /* of all fragments that have ended */
	uint64_t reference;	      /* their cycles in the run, by commit stamps */
	uint64_t insts;
	uint64_t now_cycle; /* cycle of the present fragment's last commit */
	uint64_t residual[RESIDUAL_COUNT];
	struct icost_phase *phase;
	size_t nphases;
	uint64_t phase_insts, phase_end;
	struct icost_categories categories;
	struct statics *statics;
	struct places *places;
	struct images *const *images;
	const struct trace_info *info;
};

extern const struct analysis icost_analysis;

/* The names of the eight categories, without icost.categories. */
void icost_default_names(char names[GRAPH_CATEGORIES][32]);
/* "dl1+win" for a set of categories. Returns buf. */
char *icost_set_name(const char names[GRAPH_CATEGORIES][32], unsigned set, char *buf,
		     size_t size_bytes);

/* rules.c: the categories that the parameter icost.categories says, or, without it, the eight. */
bool icost_categories_read(struct icost_categories *c, const struct analysis_options *o,
			   struct err *e);

#endif
