/* SPDX-License-Identifier: MIT */
/*
 * What a machine is: the parameters of the modelled processor, typed, with their names, units,
 * ranges and defaults. Each is one row of params.h. The core is built from a struct machine, and
 * analyses get the same struct with the records: from a live run, and from a trace file, which keeps
 * the parameters as text.
 *
 * A machine file may begin with `[machine] base = NAME`, which loads another machine first.
 */
#ifndef MACHINE_MACHINE_H
#define MACHINE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "machine/params.h"
#include "util/util.h"
#include "words/words.h"

/* What can be idealised (words.h); bits of machine.ideal_all and of one static instruction's mask. */
enum ideal_index {
#define X(id, ...) IDEAL_AT_##id,
	WORDS_COSTS(X) WORDS_IDEALS(X)
#undef X
	    IDEAL_COUNT
};
enum ideal {
#define X(id, ...) IDEAL_##id = 1 << IDEAL_AT_##id,
	WORDS_COSTS(X) WORDS_IDEALS(X)
#undef X
	    IDEAL_ALL = (1 << IDEAL_COUNT) - 1,
};
extern const char *const ideal_name[IDEAL_COUNT];

/* What idealising window and bandwidth means, for the core that does it and for the analyses that
 * predict what it saves. */
#define IDEAL_WIN_FACTOR 20 /* reorder buffer, queues and registers are so many times as large */
#define IDEAL_BW_WIDTH	 64 /* instructions a cycle: as many as records can count */
#define IDEAL_PCS_MAX	 64

#define HINTS_MAX	 64 /* largest queue of prefetch hints */
#define WRITE_BUFFER_MAX 64 /* most lines a write buffer can hold */
#define BPRED_TAGE_MAX	 8  /* most tagged tables a TAGE can have */

#define X(id, name) id,
enum machine_model { MACHINE_MODELS(X) };
enum lsu_order { MACHINE_ORDERS(X) };
enum serial_policy { MACHINE_SERIALS(X) };
enum mem_replacement { MACHINE_REPLACEMENTS(X) MEM_REPLACEMENTS };
enum mem_prefetcher { MACHINE_PREFETCHERS(X) MEM_PF_COUNT };
enum mem_walk { MACHINE_WALKS(X) MEM_WALKS };
enum mem_memory { MACHINE_MEMORIES(X) MEM_MEMORIES };
#undef X

/* Kinds of functional units. */
enum unit_kind {
	UNIT_ALU,    /* one-cycle integer; jumps; CSR accesses */
	UNIT_BRANCH, /* conditional branches; count 0: they use the ALUs */
	UNIT_MUL,
	UNIT_DIV,
	UNIT_FADD,
	UNIT_FMUL,
	UNIT_FDIV,
	UNIT_FSQRT, /* count 0: uses the FP dividers */
	UNIT_LOAD,  /* load and address-generation ports */
	UNIT_STORE, /* store-address ports; count 0: uses the load ports */
	UNIT_COUNT,
};

/* The caches, from the core outwards. */
enum mem_cache {
	MEM_L1I,
	MEM_L1D,
	MEM_L2,
	MEM_LLC,
	MEM_CACHES,
};

/* ---- the structs; members are the rows of params.h ---- */

#define MEMBER_U32(name, room)			     uint32_t name;
#define MEMBER_I32(name, room)			     int32_t name;
#define MEMBER_REAL(name, room)			     double name;
#define MEMBER_BOOL(name, room)			     bool name;
#define MEMBER_CHOICE(name, room)		     uint32_t name;
#define MEMBER_TEXT(name, room)			     char name[room];
#define MEMBER_NAME(name, room)			     char name[16];
#define MEMBER_NUMBER(name, room)		     uint32_t name;
#define MEMBER_LIST(name, room)			     uint32_t name[BPRED_TAGE_MAX];
#define X(type, section, at, member, key, unit, ...) MEMBER_##type(member, unit)

struct unit_config {
	MACHINE_UNIT(X, , , , , , , )
};

struct mem_prefetch_config {
	MACHINE_PREFETCH(X, , )
};

struct mem_bus_config {
	MACHINE_BUS(X, , )
};

struct mem_cache_config {
	MACHINE_CACHE(X, , , MACHINE_L2)
	struct mem_prefetch_config prefetch;
	struct mem_bus_config bus; /* to the caches above; unused for L1s */
};

struct mem_tlb_config {
	MACHINE_TLB(X, , , )
};

struct mem_dram_config {
	MACHINE_DRAM(X, )
};

struct mem_memory_config {
	MACHINE_MEMORY(X, )
	struct mem_bus_config bus;
	struct mem_dram_config dram;
};

struct memsys_config {
	MACHINE_WALK(X, )
	MACHINE_L1D_IDEAL(X, )
	struct mem_cache_config cache[MEM_CACHES];
	struct mem_tlb_config itlb, dtlb, stlb;
	struct mem_memory_config mem;
	uint64_t seed; /* of random replacement */
};

struct bpred_config {
	MACHINE_BPRED(X, )
};

/* Room for where each parameter was set; params.c checks that it is enough. */
#define MACHINE_PARAMS_MAX 320

struct machine {
	char name[64]; /* its file's name without .ini */
	MACHINE_CORE(X)
	MACHINE_LSU(X)
	struct unit_config unit[UNIT_COUNT];
	struct memsys_config mem;
	struct bpred_config bpred;

	uint32_t ideal_all; /* enum ideal: for the whole run */
	struct {
		uint64_t pc;
		uint32_t mask; /* enum ideal: for this static instruction */
	} ideal_pcs[IDEAL_PCS_MAX];
	uint32_t nideal_pcs;

	char file[256];			   /* last file read, for messages */
	uint16_t line[MACHINE_PARAMS_MAX]; /* where each parameter was set in it; 0: not there */
};

#undef X
#undef MEMBER_U32
#undef MEMBER_I32
#undef MEMBER_REAL
#undef MEMBER_BOOL
#undef MEMBER_CHOICE
#undef MEMBER_TEXT
#undef MEMBER_NAME
#undef MEMBER_NUMBER
#undef MEMBER_LIST

/* ---- machines ---- */

/* Every parameter at its default. Machine files and traces start from it. */
extern const struct machine machine_default;

/*
 * The machine of a trace that does not describe it, as one from another simulator: the defaults,
 * but queues, registers, units and other limits are MACHINE_UNLIMITED and there are no caches and
 * no TLBs, so that nothing is blamed on what is not known.
 */
void machine_unknown(struct machine *m);
#define MACHINE_UNLIMITED UINT32_MAX

/*
 * Reads a machine: the name of one that is built in ("boom-tip"), or a path (with a slash, or
 * ending in .ini). Does not check combinations; see machine_check.
 */
bool machine_load(struct machine *m, const char *name_or_path, struct err *e);
/* The same from text; where names it in messages. */
bool machine_parse(struct machine *m, const char *text, const char *where, struct err *e);
/* One "section.key=value". */
bool machine_set(struct machine *m, const char *assignment, struct err *e);
/* The same in three parts. Unlike machine_set it takes machine.base, which it does not load. */
bool machine_put(struct machine *m, const char *section, const char *key, const char *value,
		 struct err *e);

/* True if the machine can work as a whole; otherwise e names keys, values and what is valid. */
bool machine_check(const struct machine *m, struct err *e);
/* Parts of that check, for callers that have only that part of a machine. Messages name keys as in a
 * machine file ("l1d.ways = 3: …, valid: …"), those of branch prediction without their section. */
bool machine_check_memory(const struct memsys_config *c, struct err *e);
bool machine_check_bpred(const struct bpred_config *c, struct err *e);

/* Bytes of a line of this enum mem_cache; of any other number: of memory. */
uint32_t machine_line_bytes(const struct memsys_config *c, int cache);

/* Prints the machine as an INI file with comments; reading it back gives the same machine. */
void machine_print(const struct machine *m, FILE *f);
/*
 * The table of a machine file (table.c): what the paper says, what the file makes of it, why. Reads the file
 * again and takes row by row, the heading first; none if the file has no table. False if the file cannot be
 * read or take says so.
 */
struct machine_row {
	const char *part, *paper, *ours, *why;
};
typedef bool machine_row_take(void *ctx, const struct machine_row *r, struct err *e);
bool machine_table(const char *name_or_path, machine_row_take *take, void *ctx, struct err *e);
/* Prints the rows as they stand in a machine file. */
bool machine_print_table(const char *name_or_path, FILE *f, struct err *e);
/* Prints the reference of all parameters as a Markdown table. */
void machine_print_reference(FILE *f);

/* The machines that are built in, in order of name. */
struct machine_file {
	const char *name;
	const char *text;
};
extern const struct machine_file machine_files[];
extern const size_t machine_files_count;

/* ---- parameters ---- */

enum param_type {
	PARAM_U32,
	PARAM_I32,
	PARAM_REAL,
	PARAM_BOOL,
	PARAM_CHOICE, /* uint32_t: index into choices */
	PARAM_TEXT,
	PARAM_NAME,   /* char[]: one of choices */
	PARAM_NUMBER, /* one uint32_t, read as a list is */
	PARAM_LIST,   /* several; one number stands for all of them */
	PARAM_IDEAL,  /* on, off, or addresses of instructions */
};
enum param_flag {
	PARAM_ZERO = 1 << 0, /* zero is valid though below min: the part is absent */
	PARAM_POW2 = 1 << 1,
};

struct param {
	const char *section, *key;
	enum param_type type;
	size_t offset;	   /* in struct machine; PARAM_IDEAL: enum ideal */
	size_t size_bytes; /* of the member */
	const char *unit;
	double min, max;
	unsigned flags;		    /* enum param_flag */
	const char *help;	    /* one line */
	const char *const *choices; /* NULL-terminated */
};

/* The rows. Those of one section stand together. */
extern const struct param machine_params[];
extern const size_t machine_params_count;
/* The row, or NULL and, if e is not NULL, a message with the nearest one. */
const struct param *machine_param_find(const char *section, const char *key, struct err *e);
/* Sets a parameter from text; false and a message with what is valid. */
bool machine_param_set(struct machine *m, const struct param *p, const char *text, struct err *e);
/* Value of a parameter as text. */
void machine_param_text(const struct machine *m, const struct param *p, char *buf,
			size_t size_bytes);
/* The choices as text for messages: "lru, plru, random". Returns buf. */
char *machine_param_choices(const struct param *p, char *buf, size_t size_bytes);

#endif
