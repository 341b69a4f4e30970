/* SPDX-License-Identifier: MIT */
/*
 * The kernel's side-band: mappings of code, names, forks, exits and kernel symbols of all processes,
 * as perf records of a dummy event on each processor. Needs CAP_PERFMON; no tracefs.
 */
#ifndef COLLECT_SIDEBAND_H
#define COLLECT_SIDEBAND_H

#include "collect/maps.h"

/* ---- One record ---- */

/* What follows the fields of every record (sample_id_all). */
struct sideband_format {
	size_t trailer_bytes;
	size_t time_at; /* where the time is within the trailer; SIZE_MAX: nowhere */
};

enum sideband_result {
	SIDEBAND_RECORD,   /* out is filled; its name points into the record */
	SIDEBAND_LOST,	   /* *lost records are missing */
	SIDEBAND_OTHER,	   /* of a kind that says nothing of mappings */
	SIDEBAND_SENSELESS /* too short, or without an end of its name */
};
/* Reads a record of record_bytes bytes, header and all. */
enum sideband_result sideband_parse(const uint8_t *record, size_t record_bytes,
				    const struct sideband_format *f, struct maps_record *out,
				    uint64_t *lost);

/* Where the trailer of a record begins; SIZE_MAX: the record is too short for it. */
size_t sideband_trailer(const uint8_t *record, size_t record_bytes,
			const struct sideband_format *f);

/* ---- Live ---- */

struct sideband;

struct sideband_options {
	uint32_t ring_bytes; /* per processor; 0: 2 MiB, a power of two or the next smaller one */
	uint64_t window_ns;  /* records are put in order within this time; 0: 50 ms */
	const int32_t *cpus; /* NULL: all that are online */
	size_t ncpus;
};

/* Records from now on. Open it before maps_read_running: what happens meanwhile waits here. notes as
 * in collector_open; may be NULL. */
struct sideband *sideband_open(const struct sideband_options *o, char ***notes, size_t *nnotes,
			       struct err *e);
void sideband_close(struct sideband *s);
/* Listens to a processor that came on line; what happened there before is made good by reading all
 * processes. Gives the descriptor to wait for, or -1. Call it right after sideband_read. */
int sideband_add_cpu(struct sideband *s, int cpu, struct err *e);
/* Descriptors that become readable when there is something to read: a ring is a quarter full, or a
 * tenth of a second is over. */
const int *sideband_fds(const struct sideband *s, size_t *n);
/* The clock of records and of start times: nanoseconds since boot, with suspended time. */
uint64_t sideband_now(void);
/*
 * Gives the maps all records up to the time, in order; those after it stay in the rings. Waits until
 * no older record can still come, at most the window. 0: as far as it goes without waiting. Returns
 * the time up to which the maps are complete.
 */
uint64_t sideband_read(struct sideband *s, struct maps *m, uint64_t until_ns);

struct sideband_status {
	uint64_t records, bytes;
	uint64_t lost; /* the rings were full; all processes are read again then */
	uint64_t late; /* came after a younger one had been given away */
	uint64_t senseless;
	uint64_t ring_bytes; /* of all rings */
};
struct sideband_status sideband_status(const struct sideband *s);

#endif
