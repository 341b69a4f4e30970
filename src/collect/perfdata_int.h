/* SPDX-License-Identifier: MIT */
/* What the two files that read perf.data share. Private to collect/. */
#ifndef COLLECT_PERFDATA_INT_H
#define COLLECT_PERFDATA_INT_H

#include <linux/perf_event.h>

#include "collect/perfdata.h"
#include "collect/sideband.h"

#define PERFDATA_EVENTS_MAX  256
#define PERFDATA_IDS_MAX     (1u << 20)
#define PERFDATA_SECTION_MAX (64u << 20)

struct perfdata_event {
	struct perf_event_attr attr;
	char *name;
	uint32_t number; /* the sink's */
	uint64_t samples, lost, periods;
};

struct perfdata_id {
	uint64_t id;
	uint32_t event;
};

struct perfdata_build {
	char *name;
	uint8_t id[20];
	uint8_t bytes;
};

struct perfdata {
	int fd;
	const char *name;
	const struct perfdata_options *o;
	const struct live_sink *sink;
	struct perfdata_event events[PERFDATA_EVENTS_MAX];
	size_t nevents;
	struct perfdata_id *ids; /* sorted by id once `sorted` */
	size_t nids;
	bool ids_sorted;
	struct perfdata_build *builds;
	size_t nbuilds;
	char *hostname, *release, *command;
	uint32_t cpus;
	bool pipe;
	uint64_t data_at, data_bytes; /* file mode */
	uint64_t said;		      /* kinds of records that a note was made for */
};

/* Says that something is left out. */
void perfdata_note(struct perfdata *p, const char *fmt, ...) PRINTF(2, 3);
/* Reads the header and, from a file, events and features. */
bool perfdata_header(struct perfdata *p, struct err *e);
/* One event, with its attributes of size bytes and n ids (not aligned). */
bool perfdata_add_event(struct perfdata *p, const uint8_t *attr, size_t size, const uint8_t *ids,
			size_t n, struct err *e);
/* A feature's bytes, from the file or from a record. */
void perfdata_feature(struct perfdata *p, unsigned feature, const uint8_t *data, size_t size);
/* One record of the table of build-ids. */
void perfdata_build_id(struct perfdata *p, const uint8_t *record, size_t size);
/* The event of an id; NULL: unknown. */
struct perfdata_event *perfdata_event_of(struct perfdata *p, uint64_t id);
const struct perfdata_build *perfdata_build_of(const struct perfdata *p, const char *name);
void perfdata_free(struct perfdata *p);

#endif
