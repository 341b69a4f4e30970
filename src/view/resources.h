/* SPDX-License-Identifier: MIT */
/* What the machine would take with one part of another size, as the view reads it. */
#ifndef VIEW_RESOURCES_H
#define VIEW_RESOURCES_H

#include "store/store.h"
#include "view/model.h"

struct resource_row {
	char name[24];	/* of words_resources */
	unsigned what;	/* enum resource */
	int64_t size;	/* 0: without the limit */
	int64_t real;	/* of the machine */
	char *settings; /* what --set takes for it */
	double cycles;	/* how much longer the run would be, by the graph; below zero: shorter */
	bool verified;
	double simulated;
};

struct resource_model {
	struct resource_row *rows; /* by part, largest first */
	size_t count;
	double cycles;	/* of the run */
	double error;	/* of the graph of the machine as it is, as a share */
	double sampled; /* share of the instructions */
};

bool resources_read(struct store *s, struct resource_model *m, struct err *e);
void resources_free(struct resource_model *m);
/* Finds "NAME" (a limit), "NAME*2" or "NAME=SIZE"; NULL and e filled if it was not tried. */
struct resource_row *resources_find(struct resource_model *m, const char *text, struct err *e);
/* The smallest size of the part that this row is of for which, and for all larger ones, the run gets at
 * most `most` cycles longer; NULL: none that was tried. */
struct resource_row *resources_smallest(struct resource_model *m, const char *name, double most);
/* The next smaller one. NULL: none was tried. */
struct resource_row *resources_below(struct resource_model *m, const char *name, int64_t size);
/* Twice the machine's size; NULL: not tried. */
struct resource_row *resources_twice(struct resource_model *m, const char *name);

/* percent: how much longer the run may get. */
bool view_resources(struct store *s, const struct view_options *o, struct resource_model *m,
		    double percent, struct err *e);

#endif
