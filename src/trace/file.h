/* SPDX-License-Identifier: MIT */
/*
 * Trace files: all records of a run in independently decodable, compressed, checksummed blocks with
 * an index by cycle and by instruction. docs/trace-format.md describes the bytes.
 *
 * Writing is an analysis (trace_analysis) so that a trace is one more listener on the bus. Reading
 * gives blocks of records (trace_reader), or feeds an emit with them (replay.h).
 */
#ifndef TRACE_FILE_H
#define TRACE_FILE_H

#include "machine/machine.h"
#include "trace/analysis.h"
#include "trace/waits.h"
#include "trace/record.h"
#include "util/util.h"

/* A parameter of the machine or, in section "run", of the run. */
struct trace_setting {
	const char *section, *key, *value;
};
/* The key of section "run" that says which records were not seen, but made from others. */
#define TRACE_REBUILT "rebuilt"

/* A binary in the guest's memory. */
struct trace_image {
	const char *path;    /* host path */
	const char *name;    /* as the guest knows it */
	uint64_t start, end; /* addresses */
	uint64_t bias;	     /* address - ELF virtual address */
};
struct trace_counter {
	const char *name;
	uint64_t value;
};

/*
 * What a trace file says of the run beside its records. The writer reads it when it starts, and
 * again when it finishes and more of it is known.
 */
struct trace_info {
	struct trace_meta meta;
	unsigned absent; /* enum trace_want that the source of the records did not fill in */
	/* The machine that the settings describe; machine_unknown() if the source does not say. A
	 * file has only the settings. */
	const struct machine *machine;
	const struct trace_setting *settings;
	size_t nsettings;
	const struct trace_image *images;
	size_t nimages;
	const struct trace_counter *counters;
	size_t ncounters;
	uint64_t insts, cycles; /* of the whole run, traced or not */
	bool ended;		/* exit_status is valid */
	int exit_status;
	double host_seconds; /* not in a file, because it differs in every run */
	const char *files;   /* JSON: files that the run read and wrote; NULL: not known */
	const char *folders; /* JSON: folders that the run listed, with contents; NULL: none */
	const char *input;   /* the input that came through a pipe, packed; NULL: not known */
	bool complete;	     /* the run was traced to its end */
	const struct trace_wait *waits; /* of its threads, by begin */
	size_t nwaits;
};

/* The value of a setting, or NULL. */
static inline const char *trace_setting_find(const struct trace_info *info, const char *section,
					     const char *key)
{
	for (size_t i = 0; i < info->nsettings; i++)
		if (!strcmp(info->settings[i].section, section) &&
		    !strcmp(info->settings[i].key, key))
			return info->settings[i].value;
	return NULL;
}

/* Writes all records that it gets to the file named by the parameter trace=FILE. */
extern const struct analysis trace_analysis;
/* Writes the same, and a record per miss. */
extern const struct analysis trace_misses_analysis;
/* Writes committed instructions alone, and only the first cache line of each record. */
extern const struct analysis trace_committed_analysis;

#endif
