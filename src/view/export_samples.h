/* SPDX-License-Identifier: MIT */
/* A file of TIP's samples (trace/tip_file.h) for other tools. */
#ifndef VIEW_EXPORT_SAMPLES_H
#define VIEW_EXPORT_SAMPLES_H

#include <stdio.h>

#include "trace/tip_file.h"

/* perf.data: a sample per instruction that a sample blames, with its share of the cycles as the
 * period. */
bool export_perf_data(FILE *out, struct tip_reader *r, struct err *e);
/* A line per sample: its registers. */
bool export_samples(FILE *out, struct tip_reader *r, struct err *e);

bool export_is_perf_data(const uint8_t *head, size_t size, const char *path);
bool export_is_samples(const uint8_t *head, size_t size, const char *path);

#endif
