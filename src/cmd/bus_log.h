/* SPDX-License-Identifier: MIT */
/* --bus-log: speed and buffers of a run over time, as text; docs/trace-format.md has the columns. */
#ifndef CMD_BUS_LOG_H
#define CMD_BUS_LOG_H

#include "trace/bus.h"

/* Whether it may be written there; call it before the run. */
bool bus_log_check(const char *path, struct err *e);
bool bus_log_write(const char *path, const struct bus *b, struct err *e);

#endif
