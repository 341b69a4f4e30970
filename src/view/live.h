/* SPDX-License-Identifier: MIT */
/*
 * Views of live profiles: samples of a real machine, which have no cycles, no events of a pipeline
 * and no golden reference. live_model.c reads, the others show.
 */
#ifndef VIEW_LIVE_H
#define VIEW_LIVE_H

#include "view/doc.h"
#include "view/view.h"

/* What a row of a report stands for. */
enum live_by {
	LIVE_BY_PROCEDURE,
	LIVE_BY_IMAGE,
	LIVE_BY_PROCESS,
	LIVE_BY_CONTAINER,
	LIVE_BY_LINE,
	LIVE_BY_THREAD
};

struct live_event_row {
	int64_t id;
	char *name, *actual;
	double rate, running;
	uint64_t period;
	uint64_t taken, stored, lost, pending, unknown;
	uint64_t selected; /* samples that pass the filters */
};

/* A procedure, image, … with its samples. */
struct live_row {
	int64_t id;	   /* of the function, where it is one; else -1 */
	char *name;	   /* "memcpy", "libc.so.6", "cc1 (4711)", "x.c:12" */
	char *image;	   /* where it lies; NULL: not a part of one image */
	char *names;	   /* where the image's names are from (live_image.names), or NULL */
	uint64_t *samples; /* by index of the event */
};

struct live_model {
	char *machine, *command, *kernel;
	uint64_t begin_ns, end_ns, cpus, idle_ns;
	struct live_event_row *events; /* those that are shown */
	size_t nevents;
	struct live_row *rows; /* most samples of the first event first */
	size_t nrows;
	char *filter; /* in words, ""; as in ", image cc1" */
};

/* Whether a store holds a live profile. */
bool live_is(struct store *s);
/* Reads the samples that pass the filters of o, as rows. */
bool live_read(struct store *s, const struct view_options *o, enum live_by by, struct live_model *m,
	       struct err *e);
void live_free(struct live_model *m);

/* Samples of the first event, all rows. */
uint64_t live_total(const struct live_model *m);
/* Seconds that a sample of an event stands for; 0: it counts something else than time. */
double live_seconds(const struct live_event_row *v);
/* Adds the first lines: machine, time, samples, loss, unknown; and the same for JSON. */
void live_title(struct doc *d, const struct live_model *m);
/* Says which images have no names and why, a line for each kind of reason. */
void live_add_nameless(struct doc *d, const struct live_model *m);

/* An instruction of a function, for a listing. */
struct live_inst {
	uint64_t pc, address; /* address: the image's own */
	uint64_t target;      /* pc of where it jumps; 0: nowhere */
	char *disasm, *file, *inlined;
	int line;
	uint64_t *samples; /* by index of the event */
	uint64_t taken, not_taken;
};
struct live_function {
	char *function, *image, *file;
	int line;
	struct live_inst *insts;
	size_t count;
};
/* The code of the function that a row stands for, with the samples that pass the filters. */
bool live_read_code(struct store *s, const struct view_options *o, const struct live_model *m,
		    int64_t function, struct live_function *c, struct err *e);
void live_free_code(struct live_function *c);

bool live_report(struct store *s, const struct view_options *o, struct err *e);
bool live_annotate(struct store *s, const struct view_options *o, struct err *e);
/* Of live profiles, or of runs with `issue` samples. */
bool live_add_stats(struct doc *d, struct store **stores, size_t count,
		    const struct view_options *o, struct err *e);
bool live_stats(struct store **stores, size_t count, const struct view_options *o, struct err *e);
/* Both, or one of them, is live. */
bool live_diff(struct store *before, struct store *after, const struct view_options *o,
	       struct err *e);

#endif
