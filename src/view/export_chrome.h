/* SPDX-License-Identifier: MIT */
/* A window of a trace as Chrome's trace events. */
#ifndef VIEW_EXPORT_CHROME_H
#define VIEW_EXPORT_CHROME_H

#include "trace/export.h"

/* Calls, and counters where the trace has cycle records. False if out cannot be written. */
bool export_chrome(FILE *out, const struct trace_info *info, const struct window_records *w);
bool export_is_chrome(const uint8_t *head, size_t size, const char *path);

#endif
