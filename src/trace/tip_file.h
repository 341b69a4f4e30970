/* SPDX-License-Identifier: MIT */
/*
 * Samples of TIP and TEA as their hardware delivers them (tip2021 section 3, tea2023 section 3), and
 * the file that keeps them.
 *
 * A sample is what perf would write: 40 bytes that the kernel knows (core, process, thread, time),
 * the cycle register, the flags register with the PSVs packed into it, and an address register per
 * commit way. docs/tip-hardware.md describes the bytes.
 */
#ifndef TRACE_TIP_FILE_H
#define TRACE_TIP_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/export_file.h"
#include "util/util.h"

#define TIP_WAYS_MAX	 64
#define TIP_PSV_BITS_MAX 20
#define TIP_CSRS_MAX	 22	      /* words of the flags register at both maxima */
#define TIP_CYCLES_MAX	 (1ull << 43) /* of all samples of a file */
#define TIP_METADATA	 40	      /* bytes of a sample that the kernel adds */

/* Flags of a sample. None: instructions committed, and all valid addresses share it. */
enum tip_flag {
	TIP_STALLED = 1 << 0,	   /* the instruction at oldest stalls commit */
	TIP_FRONT_END = 1 << 1,	   /* the ROB was drained; oldest entered it first */
	TIP_EXCEPTION = 1 << 2,	   /* flushed: address 0 raised an exception */
	TIP_FLUSH = 1 << 3,	   /* flushed: address 0 flushed the pipeline */
	TIP_MISPREDICTED = 1 << 4, /* flushed: address 0 was mispredicted */
	TIP_FLUSHED = TIP_EXCEPTION | TIP_FLUSH | TIP_MISPREDICTED,
	TIP_FLAG_BITS = 5,
};

/* How wide the registers are on a machine. */
struct tip_layout {
	unsigned ways, id_bits, psv_bits;
	unsigned flag_bits;    /* used of the flags registers */
	unsigned csrs;	       /* 64-bit registers that hold them */
	unsigned sample_bytes; /* with the 40 bytes of metadata */
};
/* psv_bits 0: TIP alone. False: there is no such machine. */
bool tip_layout(unsigned ways, unsigned psv_bits, struct tip_layout *out);

struct tip_sample {
	uint64_t time;	 /* cycle of the run in which the counter overflowed */
	uint64_t cycles; /* that it stands for */
	uint64_t number;
	uint64_t valid; /* bit per address register */
	unsigned oldest, flags;
	uint32_t pid, tid, core;
	bool kernel; /* it was in the kernel */
	uint64_t address[TIP_WAYS_MAX];
	uint32_t psv[TIP_WAYS_MAX];
};

/* The registers of a sample, flags first, from and to its fields. */
void tip_pack(const struct tip_layout *l, const struct tip_sample *s, uint64_t *csr);
void tip_unpack(const struct tip_layout *l, const uint64_t *csr, struct tip_sample *s);
/* The registers that a sample blames, in order of age; how many. */
unsigned tip_blames(const struct tip_layout *l, const struct tip_sample *s,
		    unsigned which[TIP_WAYS_MAX]);

struct tip_image {
	char *path, *name;
	uint64_t start, end, bias;
};
struct tip_header {
	struct tip_layout layout;
	uint64_t period, clock_hz;
	char program[256], machine[64];
};

/* Writing: in this order, images any number of times. */
extern const struct output_kind tip_file_kind;
bool tip_write_header(struct export_file *f, const struct tip_header *h, struct err *e);
bool tip_write_sample(struct export_file *f, const struct tip_layout *l, const struct tip_sample *s,
		      struct err *e);
bool tip_write_image(struct export_file *f, const struct tip_image *i, struct err *e);
/* lost: cycles after the last sample that was delivered. */
bool tip_write_end(struct export_file *f, uint64_t samples, uint64_t cycles, uint64_t lost,
		   struct err *e);

/* Reading. Nothing in a file is trusted: every length, register and count is checked. */
struct tip_reader;
bool tip_file_is(const char *path);
struct tip_reader *tip_open(const char *path, struct err *e);
const struct tip_header *tip_header(const struct tip_reader *r);
enum tip_next { TIP_END, TIP_SAMPLE, TIP_ERROR };
enum tip_next tip_read(struct tip_reader *r, struct tip_sample *s, struct err *e);
/* Once tip_read has said TIP_END. */
const struct tip_image *tip_images(const struct tip_reader *r, size_t *count);
uint64_t tip_cycles(const struct tip_reader *r), tip_lost(const struct tip_reader *r);
/* From the first sample again. */
bool tip_rewind(struct tip_reader *r, struct err *e);
void tip_close(struct tip_reader *r);

#endif
