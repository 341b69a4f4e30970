/* SPDX-License-Identifier: MIT */
/*
 * A machine's parameters. Every parameter is one row of one table (params.c): section, key, type,
 * unit, range, default and help. Reading INI files, `--set section.key=value`, error messages,
 * printing a machine with its comments and the reference in docs/ all derive from that table.
 *
 * A machine file may begin with `[machine] base = NAME`, which loads another machine first.
 */
#ifndef CORE_CONFIG_H
#define CORE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/bpred/bpred.h"
#include "core/mem/mem.h"
#include "util/util.h"
#include "trace/ideal.h"
#include "words/words.h"

/* What can be idealised (words.h); bits of core_config.ideal_all and of one static instruction's
 * mask. */
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
#define HINTS_MAX	  64 /* largest queue of prefetch hints */
#define IDEAL_PCS_MAX	  64
#define CONFIG_PARAMS_MAX 320

enum machine_model {
	MODEL_OOO,     /* out of order */
	MODEL_INORDER, /* issues in program order */
};

enum lsu_order {
	ORDER_SPECULATIVE,  /* loads pass stores of unknown address; a wrong guess flushes */
	ORDER_PERFECT,	    /* a load knows the store it depends on and waits for just that one */
	ORDER_CONSERVATIVE, /* a load waits until all older stores know their addresses */
};

enum serial_policy {
	SERIAL_NONE,  /* as any other instruction */
	SERIAL_WAIT,  /* waits for an empty ROB, holds dispatch until it commits */
	SERIAL_FLUSH, /* … and everything younger is fetched again after it */
};

/* A kind of functional unit. */
struct unit_config {
	uint32_t count;
	uint32_t latency; /* cycles from issue to the first cycle in which a dependent can issue */
	uint32_t pipelined; /* 1: takes a new operation every cycle; 0: busy for its latency */
};

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

struct core_config {
	char name[64];	   /* of the machine: its file's name without .ini */
	char base[64];	   /* machine it started from, or "" */
	char summary[160]; /* one line */
	double clock_ghz;
	uint32_t model; /* enum machine_model */

	/* front end */
	uint32_t fetch_width;
	uint32_t fetch_block_bytes;
	uint32_t fetch_taken;
	uint32_t fetch_buffer;
	uint32_t fetch_targets;
	uint32_t fetch_depth;
	uint32_t fetch_redirect;
	uint32_t fetch_flush;
	uint32_t fetch_btb_bubble;
	uint32_t decode_width;
	uint32_t decode_depth;
	uint32_t dispatch_width;
	uint32_t branches;

	/* window */
	uint32_t rob;
	uint32_t unified;
	uint32_t unified_queue, int_queue, mem_queue, fp_queue;
	uint32_t issue_width, int_issue, mem_issue, fp_issue;
	uint32_t int_regs, fp_regs;
	uint32_t wakeup;
	uint32_t commit_width;

	struct unit_config unit[UNIT_COUNT];

	/* loads and stores */
	uint32_t load_queue, store_queue;
	uint32_t shared_queue;
	uint32_t order; /* enum lsu_order */
	uint32_t wait_entries;
	uint32_t wait_clear;
	uint32_t forward_latency;
	uint32_t store_ports;
	uint32_t store_misses;
	uint32_t hint_queue;

	/* exceptions and serialisation */
	uint32_t syscall_cycles;
	uint32_t page_faults;
	uint32_t page_fault_cycles;
	uint32_t csr, fence, amo; /* enum serial_policy */

	struct memsys_config mem;
	struct bpred_config bpred;

	uint32_t ideal_all; /* enum ideal: for the whole run */
	struct {
		uint64_t pc;
		uint32_t mask; /* enum ideal: for this static instruction */
	} ideal_pcs[IDEAL_PCS_MAX];
	uint32_t nideal_pcs;

	bool check;			  /* debug builds: core_check every cycle; slow */
	char file[256];			  /* last file read, for messages */
	uint16_t line[CONFIG_PARAMS_MAX]; /* where each parameter was set in it; 0: not there */
};

enum param_type {
	PARAM_U32, /* a number; with k, M, G (2^10…) when its unit is bytes */
	PARAM_I32,
	PARAM_BOOL8,  /* bool: yes or no */
	PARAM_BOOL32, /* uint32_t 0 or 1: yes or no */
	PARAM_CHOICE, /* uint32_t: index into choices */
	PARAM_REAL,
	PARAM_TEXT,
	PARAM_IDEAL, /* on, off, or addresses of instructions */
	PARAM_BPRED, /* handed to bpred_config_set */
};

struct param {
	const char *section, *key;
	enum param_type type;
	size_t offset;	   /* in struct core_config */
	size_t size_bytes; /* PARAM_TEXT: room */
	const char *unit;
	double min, max;
	const char *initial; /* default as text; NULL: from memsys_config_default or bpred's */
	const char *help;    /* one line */
	const char *const *choices; /* PARAM_CHOICE: NULL-terminated */
	bool zero_ok;		    /* zero is valid though below min: the part is absent */
};

/* The table. Rows of one section stand together. */
size_t config_params(void);
struct param config_param(size_t i);

/* The defaults: an unnamed machine. */
void config_default(struct core_config *c);

/*
 * Reads a machine: the name of one that is built in ("boom-tip"), or a path (with a slash, or
 * ending in .ini). Does not check combinations; see config_check.
 */
bool config_load(struct core_config *c, const char *name_or_path, struct err *e);
/* The same from text; where names it in messages. */
bool config_parse(struct core_config *c, const char *text, const char *where, struct err *e);
/* One "section.key=value". */
bool config_set(struct core_config *c, const char *assignment, struct err *e);
/* True if the machine can work as a whole; otherwise e names keys, values and what is valid. */
bool config_check(const struct core_config *c, struct err *e);

/* Prints the resolved machine as an INI file with comments; reading it back gives the same machine.
 */
void config_print(const struct core_config *c, FILE *f);
/* Value of a parameter as text. */
void config_value(const struct core_config *c, const struct param *p, char *buf, size_t size_bytes);
/* Prints the reference of all parameters as a Markdown table. */
void config_print_reference(FILE *f);

/* The machines that are built in, in order of name. */
struct machine_file {
	const char *name;
	const char *text;
};
extern const struct machine_file machine_files[];
extern const size_t machine_files_count;

extern const char *const ideal_name[IDEAL_COUNT];

#endif
