/* SPDX-License-Identifier: MIT */
/* Pipeline spectroscopy as the view reads it: clusters of misses, what they cost, who causes them. */
#ifndef VIEW_SPECTRUM_H
#define VIEW_SPECTRUM_H

#include "store/store.h"
#include "trace/hits.h"
#include "view/doc.h"
#include "view/view.h"

#define SPECTRUM_SHOWN	     4 /* sizes without --size */
#define SPECTRUM_LARGEST     6 /* with a spectrogram */
#define SPECTRUM_TOO_FEW     200
#define SPECTRUM_VERIFY_MOST 4096

struct spectrum_options {
	uint64_t size;	     /* only this one; 0: 1 to SPECTRUM_SHOWN */
	const char *pattern; /* only clusters of this pattern; NULL: all */
	const char *kind;    /* only clusters of misses of this kind; NULL: all */
	const char *load;    /* only this load: pc, FILE:LINE or symbol; NULL: all */
	bool right;	     /* clusters of right-path misses alone */
	bool net;	     /* net cost instead of the paper's */
	bool zoom;	     /* from and to hold */
	int64_t from, to;    /* cycles */
	const char *svg;     /* file for a picture; NULL: none */
	const struct spectrum_verify *verify;	/* clusters that were simulated; NULL: none */
	const struct spectrum_compare *compare; /* what other analyses say; NULL: not asked for */
};

bool view_spectrum(struct store *s, const struct view_options *o, const struct spectrum_options *so,
		   struct err *e);

/* ---- spectrum_model.c ---- */

#define SPECTRUM_MODEL_LEVELS 3

struct spectrum_bin {
	int64_t cycles;
	uint64_t clusters;
};

struct spectrum_peak {
	int64_t sum, median, low, high;
	uint64_t clusters;
	char name[64];
};

/* Of one size. */
struct spectrogram {
	unsigned size;
	uint64_t clusters; /* of the kind and pattern asked for */
	struct spectrum_bin *bins;
	size_t nbins;
	struct spectrum_peak *peaks;
	size_t npeaks;
	struct { /* what the theory predicts, of all kinds */
		int64_t cycles;
		double share;
	} * predicted;
	size_t npredicted;
};

struct spectrum_size {
	uint64_t size, clusters, misses, level[SPECTRUM_MODEL_LEVELS];
	int64_t cost, net;
};

struct spectrum_pattern {
	unsigned size;
	char text[16];
	uint64_t clusters, of;	   /* … of all clusters of that size */
	double predicted;	   /* below 0: the theory could not be fitted */
	double second, ends;	   /* … by a chain of second order; by one with ends */
	uint64_t overlapped, zero; /* size 2 */
};

struct spectrum_load {
	int64_t id;
	uint64_t pc;
	char kind[16];
	char *disasm, *function, *file;
	uint64_t function_start;
	int line;
	uint64_t misses, level[SPECTRUM_MODEL_LEVELS], wrong, isolated, hidden, sizes;
	int64_t even, exposed;
	struct spectrum_bin *bins; /* growth of the lag at its misses */
	size_t nbins;
};

struct spectrum_pair {
	size_t first, second; /* indices of loads */
	uint64_t overlapped, serial, overlapped_cycles, serial_cycles;
};

struct spectrum_level {
	char letter[4], name[16];
	int64_t latency;
	uint64_t misses;
	double share;
};

struct spectrum_kind {
	char name[16];
	uint64_t misses, wrong, merged, used, level[SPECTRUM_MODEL_LEVELS];
	double cycles, queue;
};

struct spectrum_model {
	char program[512], machine[128];
	uint64_t instructions;
	int64_t cycles, twin_cycles, adder, cost, net, drift, head, tail;
	uint64_t misses, clusters, cut_clusters, cut_misses, merged, largest, zero, negative;
	bool fitted;
	double a, ks[SPECTRUM_LARGEST]; /* ks below 0: too few */
	double ks_second[SPECTRUM_LARGEST], ks_ends[SPECTRUM_LARGEST];
	struct spectrum_level levels[SPECTRUM_MODEL_LEVELS];
	size_t nlevels;
	struct spectrum_kind kinds[16];
	size_t nkinds;
	struct spectrum_size *sizes;
	size_t nsizes;
	struct spectrogram grams[SPECTRUM_LARGEST];
	struct spectrum_pattern *patterns;
	size_t npatterns;
	struct spectrum_load *loads; /* the most exposed cycles first */
	size_t nloads;
	struct spectrum_pair *pairs; /* the most cycles first */
	size_t npairs;
};

bool spectrum_read(struct store *s, const struct spectrum_options *so, struct spectrum_model *m,
		   struct err *e);
void spectrum_free(struct spectrum_model *m);
/* Where a load is, for people: "file.c:88 @105ee", "main+0x12" or an address. */
#define SPECTRUM_PLACE 400 /* columns cut it as they need */
void spectrum_place(const struct spectrum_load *l, char text[SPECTRUM_PLACE]);
/* … both loads of a pair; false if one of them is not shown. */
bool spectrum_pair_places(const struct spectrum_model *m, const struct spectrum_pair *p,
			  char first[SPECTRUM_PLACE], char second[SPECTRUM_PLACE]);

/* Why a strong pair matters, and what to do; false: it is not strong, or neither clear. */
bool spectrum_pair_sentence(const struct spectrum_model *m, const struct spectrum_pair *p,
			    char *text, size_t size);

static inline double share_of(double part, double all)
{
	return all != 0 ? part / all : 0;
}

/* ---- spectrum_values.c ---- */

void spectrum_values(struct doc *d, const struct spectrum_model *m);

/* ---- spectrum_verify.c ---- */

/* A cluster of the sample, and what making its misses hits saves. */
struct spectrum_cluster {
	int64_t id;
	uint64_t begin, end, size;
	char kind[16], pattern[16];
	uint64_t last, last_commit; /* the instruction at which net cost ends; when it commits */
	int64_t cost, net;
	bool simulated;
	int64_t saved;	    /* cycles when `last` commits */
	int64_t in_the_end; /* cycles of the run */
};
struct spectrum_verify {
	struct spectrum_cluster *cluster;
	size_t count;
	uint64_t of;	    /* clusters of the run */
	uint64_t too_large; /* of them, those that no sample can have */
};
/* Reads the first clusters of the sample, at most so many. */
bool spectrum_read_clusters(struct store *s, size_t most, struct spectrum_verify *v, struct err *e);
/* The misses of one of them; the caller frees. */
struct hit *spectrum_read_hits(struct store *s, int64_t cluster, size_t *count, struct err *e);
void spectrum_verify_free(struct spectrum_verify *v);
void spectrum_add_verified(struct doc *d, const struct spectrum_verify *v,
			   const struct view_options *o);

/* ---- spectrum_positions.c ---- */

/* A peak whose position means something has so many clusters, and no wider shoulders. */
#define SPECTRUM_PEAK_LEAST 20
#define SPECTRUM_PEAK_WIDE  30
/* Where a peak should be, by those of clusters of one and two misses; false: nothing follows. */
bool spectrum_position(const struct spectrum_model *m, unsigned size, const struct spectrum_peak *p,
		       int64_t *expected);

/* ---- spectrum_compare.c ---- */

#define DATA_KINDS "('load', 'store', 'atomic')"

/* What an analysis says all data misses cost. */
struct spectrum_method {
	const char *key, *name;
	double cycles;
};
/* A static instruction. */
struct spectrum_compared {
	uint64_t pc, misses;
	char place[SPECTRUM_PLACE];
	int64_t net, even, latency; /* latency: misses times the latency of their level */
	bool known[3];
	double cycles[3]; /* time with ST-L1 alone; with ST-LLC; the graph's cost */
	bool simulated;
	double saved; /* if simulated: without its misses */
};
/* Two of them. */
struct spectrum_interaction {
	size_t load[2];
	uint64_t overlapped, serial;
	double icost;
};
struct spectrum_compare {
	struct spectrum_method methods[12];
	size_t nmethods;
	struct spectrum_compared *loads;
	size_t nloads;
	struct spectrum_interaction pairs[16];
	size_t npairs;
	bool whole; /* the store has all analyses */
};
/* most: loads. */
bool spectrum_compare_read(struct store *s, size_t most, struct spectrum_compare *c, struct err *e);
/* Adds what a simulation says. */
void spectrum_compare_simulated(struct spectrum_compare *c, const char *key, const char *name,
				double cycles);
void spectrum_compare_free(struct spectrum_compare *c);
void spectrum_add_compared(struct doc *d, const struct spectrum_compare *c,
			   const struct spectrum_model *m);

/* ---- spectrum_svg.c ---- */

bool spectrum_draw(const struct spectrum_model *m, const struct spectrum_options *so,
		   struct err *e);

#endif
