/* SPDX-License-Identifier: MIT */
/* A run as the views see it: read once from the store, then sorted and filtered in memory. */
#ifndef VIEW_MODEL_H
#define VIEW_MODEL_H

#include "store/store.h"
#include "util/interned.h"
#include "util/util.h"
#include "view/doc.h"
#include "view/estimated.h"
#include "words/words.h"

#define MODEL_EVENTS	 EVENT_PROFILED_COUNT
#define MODEL_CATEGORIES 16  /* at least TIME_CATEGORY_COUNT */
#define MODEL_PROGRAM	 512 /* bytes of a program's path */
#define MODEL_MACHINE	 128 /* bytes of a machine's name */

struct model_component {
	unsigned events; /* set of event bits; 0: base */
	double cycles;
};

struct model_inst {
	uint64_t pc;
	int64_t function, block;
	const char *disasm, *file, *cls; /* in model.texts, as the next one; NULL: not known */
	const char *inlined;		 /* the innermost function that was inlined here, or NULL */
	uint32_t word;
	int line;
	double cycles;
	uint64_t executions;
	struct model_component *stack; /* largest first */
	size_t nstack;
	const double *category; /* cycles by time category, TIME_CATEGORY_COUNT of them; all 0 if
				   it has no time or the profile does not know */
};

struct model_function {
	int64_t id;
	char *name, *file, *image;
	int line;
	uint64_t start, end;
	double cycles;
};

struct model {
	char program[MODEL_PROGRAM], machine[MODEL_MACHINE];
	uint64_t instructions, cycles; /* of the profiled part */
	double ipc, clock_hz, host_seconds, scale;
	int exit_status;
	uint64_t samples, period;
	struct model_inst *insts; /* by pc */
	size_t ninsts;
	struct model_chunk *chunks;	  /* have stacks and categories of all instructions */
	struct interned texts;		  /* of all instructions: many have the same */
	struct model_function *functions; /* by id */
	size_t nfunctions;
	char *category_name[MODEL_CATEGORIES];
	double category[MODEL_CATEGORIES];
	size_t ncategories;
	char *event_name[MODEL_EVENTS], *event_meaning[MODEL_EVENTS];
	uint64_t event_count[MODEL_EVENTS];
	bool golden; /* the profile shown is the golden reference */
	struct model_interval {
		double low, high; /* of cycles, at 95% */
	} * intervals;		  /* of each instruction, or NULL */
	char profiler[32];
	struct estimated estimated;
};

/* profiler: "oracle" or NULL for the golden reference, else one of the sampled profilers' names. */
bool model_read(struct store *s, const char *profiler, struct model *m, struct err *e);
/* The same of a part of the run, of which the golden reference alone knows. */
struct model_part {
	bool user_only;		/* without the time of the kernel */
	const uint64_t *thread; /* only this guest thread; NULL: all */
};
bool model_read_part(struct store *s, const char *profiler, const struct model_part *part,
		     struct model *m, struct err *e);
/* Guest threads with their time, most first. */
struct model_thread {
	uint64_t tid, instructions;
	double cycles, kernel; /* kernel: part of cycles */
	bool waits;	       /* blocked and ready are known */
	double blocked, ready; /* cycles in which it waited, and in which it could have run */
};
/* None if there was only one. The caller frees. */
struct model_thread *model_threads(struct store *s, double scale, size_t *count);
void model_free(struct model *m);
/* Whether every cycle of the run is in the store. */
bool model_has_golden(struct store *s);

/* "ST-LLC", "ST-LLC+ST-TLB", "base". A miss of the last level hides its L1 miss. Returns buf. */
char *model_events(const struct model *m, unsigned events, char *buf, size_t size_bytes);
/* Takes all time from an instruction. */
void model_forget_time(struct model_inst *i);
/* The instruction at an address, or NULL; the index of the first one that is not below it. */
struct model_inst *model_inst_at(const struct model *m, uint64_t pc);
size_t model_first_from(const struct model *m, uint64_t pc);
/* The functions of that name (NULL: all), most cycles first; the caller frees. */
const struct model_function **model_functions(const struct model *m, const char *name,
					      size_t *count);
/* For qsort of pointers to instructions: most cycles first. */
int model_by_cycles(const void *a, const void *b);
/* The instructions of a function, in order of address. */
const struct model_inst *model_insts_of(const struct model *m, const struct model_function *f,
					size_t *count);
/* Finds the function that contains most of the code of an inlined one; false if there is none. */
bool model_inlined_into(struct store *s, const char *name, char *host, size_t size_bytes);
/* Cycles of an instruction whose set of events has the one with this bit. */
double model_with_event(const struct model_inst *i, unsigned bit);
/* An instruction's stack as parts of a bar that is `full` cycles long. Returns how many parts. */
size_t model_parts(const struct model_inst *i, double full, struct term_part *parts, size_t max);
/* The bit of a name like "ST-L1"; -1 if there is none. */
int model_event_bit(const struct model *m, const char *name);
enum term_colour model_colour(unsigned events);
char model_letter(unsigned events);

struct model_function *model_function_of(const struct model *m, int64_t id);
/* Names an instruction of a function that is known by its offset alone ("[libfoo.so+0x1200]") in
 * the same way; distance: from the function's start, in bytes. False: the function has a name. */
bool model_offset_name(const char *function, uint64_t distance, char *buf, size_t size_bytes);
/* Writes "foo+0x12" and "file.c:88" (or ""), short forms for a table. What does not fit is cut in the middle;
 * MODEL_SYMBOL bytes hold any name that a binary has. */
#define MODEL_SYMBOL 4400
void model_where(const struct model *m, const struct model_inst *i, char *symbol,
		 size_t symbol_size, char *source, size_t source_size);

/* What many views have in common. The first line, "PROGRAM on MACHINE: 12 instructions in 34
 * cycles", and what format adds to it: */
void model_title(struct doc *d, const char *program, const char *machine, double instructions,
		 double cycles, const char *format, ...) PRINTF(6, 7);
/* a cell with an instruction's stack, and one with "file.c:88" (or ""). */
void model_stack_cell(struct doc_table *t, const struct model *m, const struct model_inst *i);
void model_source_cell(struct doc_table *t, const char *file, int line);

/* A text from table run; fallback if it is not there. The caller frees. */
char *model_run_text(struct store *s, const char *key, const char *fallback);
double model_run_number(struct store *s, const char *key, double fallback);
void model_run_names(struct store *s, char program[MODEL_PROGRAM], char machine[MODEL_MACHINE]);
/* The text of a column of the present row, or NULL. The caller frees. */
char *model_copy(struct store_rows *r, int column);

#endif
