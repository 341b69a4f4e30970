/* SPDX-License-Identifier: MIT */
/* Exports to other tools' formats. */
#ifndef TRACE_EXPORT_H
#define TRACE_EXPORT_H

#include <stdio.h>

#include "trace/analysis.h"
#include "trace/file_read.h"

/* Committed instructions with their cycles, one per line (STEM.csv, or the parameter csv=FILE). */
extern const struct analysis csv_analysis;

/* Part of a run: instructions from the one numbered (or committing in the cycle) `from` on. */
struct window {
	bool by_cycle;
	uint64_t from, count; /* instructions or cycles; count 0: to the end */
};

/*
 * The instructions of a window in fetch order, squashed ones among them, and its cycle records
 * (only those in which one of them is in flight). By instruction: committed ones from .. from +
 * count - 1 and what was squashed between them. By cycle: what left the machine in those cycles. At
 * most max instructions. The caller frees both arrays.
 */
struct window_records {
	struct rec_inst *insts;
	size_t ninsts;
	struct rec_cycle *cycles;
	size_t ncycles;
};
bool window_read(struct trace_reader *r, const struct window *w, size_t max,
		 struct window_records *out, struct err *e);
void window_free(struct window_records *w);

/* Kanata 0004, as Konata reads it: stages in lane 0, stalls in lane 1, dependences as arrows. */
bool export_kanata(FILE *out, const struct trace_info *info, const struct window_records *w);
/* gem5's O3PipeView text, `ticks` a cycle (gem5's util/o3-pipeview.py and Konata read it). */
bool export_o3pipeview(FILE *out, const struct trace_info *info, const struct window_records *w,
		       uint64_t ticks);
/* Whether a file was written by one of these, or by csv_analysis; for output_kind. */
bool export_is_kanata(const uint8_t *head, size_t size, const char *path);
bool export_is_o3pipeview(const uint8_t *head, size_t size, const char *path);
bool export_is_csv(const uint8_t *head, size_t size, const char *path);
/* Writes the same columns as csv_analysis. */
bool export_csv(FILE *out, const struct trace_info *info, const struct window_records *w);

#endif
