/* SPDX-License-Identifier: MIT */
/*
 * The collector: samples this machine (or some of its processes) by perf_event and eBPF, counts in
 * the kernel, and hands the counts to a sink. open, then poll until done, then close.
 */
#ifndef COLLECT_COLLECTOR_H
#define COLLECT_COLLECTOR_H

#include "collect/live.h"

struct collector;
struct held;

struct collector_options {
	const char *const *events; /* names; NULL: "cycles"; "default" and "mux" are sets of them */
	size_t nevents;
	double rate;	     /* samples a second and processor; 0: by budget */
	double budget;	     /* share of a processor, 0.01 by default */
	uint64_t seed;	     /* of the random periods */
	double drain_s;	     /* between two cuts; 0: the default */
	const int32_t *pids; /* NULL: all processes */
	size_t npids;
	bool per_process, per_cpu; /* keep them apart */
	bool per_thread;	   /* and so are their threads; with per_process */
	bool stacks, edges, kernel;
	uint32_t table_entries, ring_bytes; /* 0: the default; tests make them tiny */
	const char *run_as;		    /* user to become after loading; NULL: stay */
	uint32_t count_max;  /* of one entry of the table; 0: the default; tests make it tiny */
	uint32_t mux_ms;     /* how long a rotating event is counted at a time; 0: the default */
	bool on_exec;	     /* begin when the process of `pids` calls execve */
	const char *command; /* for the facts; NULL: none */
	bool trace;	     /* samples are not counted but handed to collector_trace's function */
};

/* What `status` shows; counts are since open. */
struct collector_status {
	double rate, interrupt_ns, daemon_cpu_s;
	double handler_ns, hit_ns, miss_ns; /* of a sample: all, in the table, not in the table */
	uint64_t hits, misses, entries, ring_lost, sideband_lost;
	uint64_t spaces, images, memory_bytes;
	uint64_t lookups;  /* of a mapping by the kernel, in the handler */
	uint64_t checks;   /* of a known mapping after its address space changed */
	uint64_t unplaced; /* samples that came one by one, because no mapping was known in time */
	uint64_t
	    refused; /* times that the ring had room and took no record; it is asked once more */
	uint64_t saturated; /* counters of an entry that were full; nothing is lost by it */
};

/* Begins to sample into the sink. NULL, with one line that says what is missing and what to do, if
 * this machine or this user cannot. notes gets one line for each feature that is not there ("no PMU:
 * cycles are sampled by cpu-clock"); the caller frees its lines. */
struct collector *collector_open(const struct collector_options *o, const struct live_sink *sink,
				 char ***notes, size_t *nnotes, struct err *e);
struct sample_record_trace; /* collect/sample.h */
/* With the option `trace`: who gets every sample, from collector_poll and collector_close. */
void collector_trace(struct collector *c,
		     void (*fn)(void *self, const struct sample_record_trace *r), void *self);
/* A descriptor that becomes readable when there is something to do. */
int collector_fd(const struct collector *c);
/* Does what there is to do, waiting at most timeout_ms. Cuts happen in here. */
bool collector_poll(struct collector *c, int timeout_ms, struct err *e);
/* Drains everything and makes a cut now. */
bool collector_flush(struct collector *c, struct err *e);
/* Marks the sink's numbers that may be given to it again. */
void collector_hold(const struct collector *c, struct held *h);
struct collector_status collector_status(struct collector *c);
/* Drains, makes a last cut and ends. */
bool collector_close(struct collector *c, struct err *e);

#endif
