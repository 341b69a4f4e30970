/* SPDX-License-Identifier: MIT */
/* The names of one processor's events, by libpfm4; without it (events_pfm_none.c) there are none. */
#ifndef COLLECT_EVENTS_PFM_H
#define COLLECT_EVENTS_PFM_H

#include <linux/perf_event.h>
#include <stdbool.h>

bool events_pfm_here(void);
/* Fills in type and configuration of an event. False: it is not known. */
bool events_pfm_encode(const char *name, struct perf_event_attr *a);

#endif
