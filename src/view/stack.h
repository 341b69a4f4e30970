/* SPDX-License-Identifier: MIT */
/* CPI stacks as the view reads them: by method and component, in cycles. */
#ifndef VIEW_STACK_H
#define VIEW_STACK_H

#include "view/model.h"

/* A stack that was simulated; see cmd/stack_reference.h. */
struct stack_reference {
	const char *name, *summary;
	double cycles[CPI_SIMULATED];
};

/* One run and what it is compared with. */
struct stack_input {
	struct store *store;
	const struct stack_reference *references; /* the first is the one that errors are against */
	size_t nreferences;
};

struct stack_options {
	bool phases;	    /* the stack over time */
	const char *method; /* of the time axis; NULL: fmt */
	const char *svg;    /* file for a picture; NULL: none */
};

bool view_stack(const struct stack_input *inputs, size_t count, const struct view_options *o,
		const struct stack_options *so, struct err *e);

/* stack_intervals.c: intervals between miss events, instead. svg: a file for a picture; NULL: none. */
bool view_intervals(struct store *s, const struct view_options *o, const char *svg, struct err *e);

/* stack_places.c: FMT by function or by instruction, instead. */
enum stack_by { STACK_BY_RUN, STACK_BY_FUNCTION, STACK_BY_INSTRUCTION };
bool view_places(struct store *s, const struct view_options *o, enum stack_by by, struct err *e);

/* FMT's cycles and events at an address, or in a function. */
struct stack_place {
	uint64_t pc;
	double cycles[CPI_COMPONENTS], events[CPI_COMPONENTS];
};
struct stack_places {
	struct stack_place *all; /* by address */
	size_t count;
	double run; /* cycles */
};
/* False and e filled if the store has none. */
bool stack_places_read(struct store *s, struct stack_places *p, struct err *e);
void stack_places_free(struct stack_places *p);
/* NULL: nothing is known of the address. */
const struct stack_place *stack_place_at(const struct stack_places *p, uint64_t pc);
double stack_place_cycles(const struct stack_place *p);
/* The same without the base: what miss events, long latency and the like cost. */
double stack_place_lost(const struct stack_place *p);
/* The largest of these in words, with cycles for each event. */
void stack_place_words(const struct stack_place *p, double run, char *text, size_t size_bytes);

/* stack_model.c */
/* The component of a name; -1: there is none. */
int stack_part_of(const char *name);
#define STACK_METHODS 16
#define STACK_CLOCKS  3

struct stack_method {
	char name[24];
	char summary[96];
	double cycles[CPI_COMPONENTS];
	bool reference;		     /* simulated */
	bool compared;		     /* there is a reference, and this is not the first */
	double error[CPI_SIMULATED]; /* in % of all cycles, with sign */
	double max_error;
	enum cpi_component worst;      /* the component that it is in */
	double margin[CPI_COMPONENTS]; /* half of the 95% interval, in cycles; NAN: not known */
};

struct stack_phase {
	double cycles, insts;
	double parts[CPI_COMPONENTS];
};

struct stack_function {
	int64_t id;
	char *name;
	double cycles, parts[CPI_COMPONENTS];
};

/* Slots by top-down analysis, in cycles. */
struct stack_topdown {
	char name[48];
	double cycles;
};

struct stack_model {
	char program[MODEL_PROGRAM], machine[MODEL_MACHINE];
	double cycles, insts;
	double width;  /* of dispatch; 0: not known */
	bool in_order; /* the machine issues in order */
	/* cycles that the front end lost while a long data miss was at the ROB's head; was outstanding */
	double overlap_cycles, beside_long_cycles;
	/* the unit that is not pipelined and that the run needs longest, and for how many cycles; no base
	 * can be less */
	char busiest[16];
	double busiest_cycles;
	/* What an ideal machine needs at least: without misses, with L1 D-misses, with mispredicted branches,
	 * too; 0: not known. */
	double ideal[STACK_CLOCKS];
	/* miss events: on all paths, and of instructions that committed */
	double events[CPI_SIMULATED], committed[CPI_SIMULATED];
	struct stack_method methods[STACK_METHODS]; /* references first */
	size_t nmethods;
	struct stack_topdown topdown[12];
	size_t ntopdown;
	struct stack_phase *phases; /* of the method asked for */
	size_t nphases;
	struct stack_function *functions; /* most cycles first */
	size_t nfunctions;
	const char *function_method; /* of the functions' stacks */
	struct estimated estimated;
};

bool stack_read(const struct stack_input *in, const char *phase_method, struct stack_model *m,
		struct err *e);
void stack_free(struct stack_model *m);
/* The cycles of a component of which a simulated stack has one, too: the base takes those that it
 * lacks. */
double stack_comparable(const struct stack_method *s, int part);

#endif
