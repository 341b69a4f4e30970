/* SPDX-License-Identifier: MIT */
/* What a sampled profile was made of: the run by clusters, its points, where the error comes from. */
#ifndef VIEW_SAMPLE_H
#define VIEW_SAMPLE_H

#include "sampling/estimate.h"
#include "store/store.h"
#include "view/view.h"

bool view_sample(struct store *s, const struct view_options *o, const char *svg, struct err *e);

/* ---- sample_model.c ---- */

struct sample_shown_point {
	uint64_t start, length, stands_for, instructions, cycles;
	uint32_t cluster;
	bool chosen; /* the closest to its cluster's centre */
	bool has_bracket;
	double low_cycles, high_cycles;
};

struct sample_shown_cluster {
	uint64_t intervals, instructions;
	double spread;
	size_t points;
	double cpi, least, most; /* of its points */
	double share;		 /* of the variance */
	uint64_t more;		 /* points that belong here to halve the error */
};

struct sample_model {
	char program[256], machine[64], method[32], warm[32];
	uint64_t total, interval, settle, intervals;
	struct sample_shown_point *points; /* by start */
	size_t npoints, brackets;	   /* all; those with a bracket */
	struct sample_shown_cluster *clusters;
	size_t nclusters;
	struct sample_strip {
		uint64_t first, count; /* intervals */
		uint32_t cluster;
	} * strip;
	size_t nstrip;
	struct estimate cpi; /* with brackets */
	double sampling;     /* relative error without them; NAN: not known */
	uint64_t more;	     /* points that halve it; UINT64_MAX: not known, or too many */
	uint64_t units;	     /* of systematic sampling */
};

bool sample_read(struct store *s, struct sample_model *m, struct err *e);
void sample_model_free(struct sample_model *m);
/* The cluster that most instructions of a part of the run belong to, and their share. nclusters: none. */
size_t sample_cluster_at(const struct sample_model *m, double from, double to, double *share);
/* The letter that stands for a cluster. */
char sample_letter(size_t cluster);

/* ---- sample_svg.c ---- */
bool sample_draw(const struct sample_model *m, const char *path, struct err *e);

#endif
