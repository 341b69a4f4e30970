/* SPDX-License-Identifier: MIT */
/* Views of a campaign's results (store/results.h). campaign_model.c reads, the others show. */
#ifndef VIEW_CAMPAIGN_H
#define VIEW_CAMPAIGN_H

#include "store/results.h"
#include "util/condition.h"
#include "view/doc.h"
#include "view/view.h"

/* ---- the model ---- */

/* One run. A value that it does not have is NAN. */
struct campaign_row {
	int64_t id;
	char **fields; /* by index of campaign_model.fields; NULL: it has none */
	char *status, *message, *log, *host, *store, *note;
	bool done;
	double cpi, cpi_low, cpi_high, error, instructions, cycles, seconds, memory_bytes;
};

struct campaign_model {
	char **fields; /* program, input, machine, seed, then every setting, by name */
	size_t nfields;
	struct campaign_row *rows;
	size_t nrows;
	size_t done, failed, waiting;
};
enum { CAMPAIGN_PROGRAM, CAMPAIGN_INPUT, CAMPAIGN_MACHINE, CAMPAIGN_SEED, CAMPAIGN_FIXED_FIELDS };

/* Reads the runs that the file asked for last and for which the conditions hold. */
bool campaign_read_model(struct store *s, const struct conditions *where, struct campaign_model *m,
			 struct err *e);
void campaign_free_model(struct campaign_model *m);
/* The index of a field; -1 and e filled with the nearest name if there is none. */
int campaign_find_field(const struct campaign_model *m, const char *name, struct err *e);
/* Whether more than one value of a field occurs. */
bool campaign_varies(const struct campaign_model *m, int field);
/* The values of a field that occur, numbers in their order, then texts as they came. The texts are the
 * model's; the caller frees the list. */
const char **campaign_field_values(const struct campaign_model *m, int field, size_t *count);

/* What can be shown of a run. */
struct campaign_metric {
	const char *name, *unit, *format;
	double (*of)(const struct campaign_row *r);
	/* half of its 95% interval; NULL: it is exact */
	double (*half)(const struct campaign_row *r);
	bool more_is_better;
};
extern const struct campaign_metric campaign_metrics[];
const struct campaign_metric *campaign_find_metric(const char *name, struct err *e);

/* Several values as one: their geometric mean, with the interval that their own intervals give. */
struct campaign_mean {
	size_t n;
	double value, half; /* half: of the 95% interval; 0 if all are exact */
};
struct campaign_mean campaign_average(const struct campaign_model *m,
				      const struct campaign_metric *metric,
				      bool (*wanted)(const struct campaign_row *r, const void *ctx),
				      const void *ctx);
/* The factor of Student's distribution for a 95% interval. */
double campaign_student(size_t degrees);

/* ---- views ---- */

struct campaign_view {
	const char *rows, *columns, *metric; /* NULL: what suits the campaign */
	const char *base;		     /* FIELD=VALUE: changes against it */
	const char *bound;		     /* conditions on settings and metrics for `best` */
	bool best, effects, runs;
	const char *svg;
};
bool view_campaign(struct store *s, const struct conditions *where, const struct campaign_view *v,
		   const struct view_options *o, struct err *e);

/* For the files of this view. */
struct campaign_pivot {
	const struct campaign_model *m;
	const struct campaign_metric *metric;
	int row, column; /* fields; -1: all in one */
	const char **rows, **columns;
	size_t nrows, ncolumns;
	struct campaign_mean *cells; /* nrows x ncolumns */
};
bool campaign_make_pivot(const struct campaign_model *m, const struct campaign_view *v,
			 struct campaign_pivot *p, struct err *e);
void campaign_free_pivot(struct campaign_pivot *p);
bool campaign_draw(const struct campaign_pivot *p, const char *path, struct err *e);
bool campaign_add_base(struct doc *d, const struct campaign_model *m, const struct campaign_view *v,
		       const struct campaign_metric *metric, struct err *e);
bool campaign_add_best(struct doc *d, const struct campaign_model *m, const struct campaign_view *v,
		       const struct campaign_metric *metric, size_t limit, struct err *e);
void campaign_add_effects(struct doc *d, const struct campaign_model *m,
			  const struct campaign_metric *metric);

#endif
