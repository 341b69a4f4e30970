/* SPDX-License-Identifier: MIT */
/*
 * The profile database: a folder with one SQLite file, in which live profiles are kept by epoch
 * (docs/store.md). One writer adds counts and publishes them cut by cut; readers see whole cuts and
 * never wait.
 *
 * Invariants:
 *	D1  In every epoch and for every event: taken = stored + lost + pending; stored is the sum
 *	    of the epoch's packs. A closed epoch has nothing pending.
 *	D2  Epochs of one machine that a daemon wrote do not overlap in time.
 *	D3  A pack belongs to a reader's view if its epoch is open or closed and its cut is not
 *	    above the epoch's last one. Everything else is work in progress, or waste to be removed.
 *	D4  Compacting and merging change no sum.
 */
#ifndef COLLECT_DB_H
#define COLLECT_DB_H

#include "collect/live.h"

struct db;

enum db_mode {
	DB_READ,
	DB_WRITE,  /* beside other writers: import, push */
	DB_CREATE, /* makes the folder if there is none */
	DB_OWN, /* DB_CREATE, and no other process may own it: the daemon, prune, compact, merge */
};

/* Whether the path is a folder that holds a database. */
bool db_is(const char *path);
/* NULL, and e says what is wrong and what to do. With DB_OWN, what a killed owner left unfinished is
 * cleaned up, and *owner (if not NULL) gets the process that owns it if that is why it failed. */
struct db *db_open(const char *path, enum db_mode mode, int32_t *owner, struct err *e);
void db_close(struct db *d);
const char *db_path(const struct db *d);

/* ---- Writing ---- */

/* Two clocks in nanoseconds: of the wall (since 1970), and one that never jumps. Tests replace
 * them. */
struct db_clock {
	void *self;
	uint64_t (*wall_ns)(void *self);
	uint64_t (*steady_ns)(void *self);
};
extern const struct db_clock db_real_clock;

#define DB_SOURCE_DAEMON "daemon"

struct db_writer_options {
	const struct db_clock *clock; /* NULL: the real one */
	const char *source;	      /* DB_SOURCE_DAEMON, or what was imported */
	const char *uuid;	      /* of the epoch, which a fleet has already; NULL: a new one */
	const char *boot_id;	      /* what processes belong to: pids begin anew with each */
	bool per_process, per_cpu;    /* keep them apart */
	bool at_once;		      /* a cut is on disk when it returns; else by db_writer_step */
	bool facts_time;	 /* epochs begin and end by the facts' times, not by the clock */
	size_t waiting_max;	 /* counts that may wait in memory; 0: 262,144 (about 12 MB) */
	uint64_t kept_max_bytes; /* symbols and code of lost images; 0: 64 MiB */
};

struct db_writer;

struct db_writer *db_writer_open(struct db *d, const struct db_writer_options *o, struct err *e);
struct live_sink db_writer_sink(struct db_writer *w);
/* Writes for at most about cpu_ms of processor time. *more: there is something left to write. A
 * failure (a full disk) leaves everything in memory, for the next step to try again. */
bool db_writer_step(struct db_writer *w, double cpu_ms, bool *more, struct err *e);
/* Writes all that was cut. */
bool db_writer_flush(struct db_writer *w, struct err *e);
/* Ends the epoch; the next cut begins another one. Everything that was cut must be written. */
bool db_writer_end_epoch(struct db_writer *w, struct err *e);
/* Flushes, ends the epoch and frees, also where it fails. */
bool db_writer_close(struct db_writer *w, struct err *e);
/* Frees without writing anything. */
void db_writer_drop(struct db_writer *w);

struct db_writer_status {
	uint64_t epoch; /* 0: none is open */
	uint64_t epoch_begin_ns;
	uint64_t cuts;	  /* published in this epoch */
	uint64_t waiting; /* counts in memory */
	uint64_t lost;	  /* samples that did not fit in memory, since open */
	uint64_t age_ns;  /* of the epoch, by the steady clock */
	bool behind;	  /* something that was cut is not on disk yet */
};
struct db_writer_status db_writer_status(const struct db_writer *w);

/* ---- Reading ---- */

/* What to read; NULL and 0 mean everything. Names are whole names, the part after the last slash, or
 * patterns with * and ?. */
struct db_selection {
	uint64_t epoch;
	uint64_t since_ns, until_ns;
	const char *machine, *image;
	const char *process; /* a pid, a command's name or a program's */
	const char *container, *event;
	const uint32_t *uid;
	const uint16_t *cpu;
};

/* The caller frees. NULL, and e, if there is nothing or the database is damaged. */
struct live_profile *db_select(struct db *d, const struct db_selection *s, struct err *e);

struct db_epoch {
	uint64_t id, begin_ns, end_ns, cuts, parts; /* parts: epochs that were merged into it */
	bool open, pushed;
	char *uuid, *source, *machine, *boot_id, *kernel, *command;
	uint32_t cpus;
	double budget;
	uint64_t taken, stored, lost, pending, unknown; /* all events together */
	uint64_t entries, bytes;			/* counts, and what they take on disk */
};
/* All epochs, by time; the caller frees with db_epochs_free. */
bool db_epochs(struct db *d, struct db_epoch **epochs, size_t *n, struct err *e);
void db_epochs_free(struct db_epoch *epochs, size_t n);

struct db_size {
	uint64_t file_bytes, pack_bytes, entries, samples, images, processes, kept_bytes;
	uint64_t covered_ns; /* by epochs */
};
bool db_size(struct db *d, struct db_size *out, struct err *e);

/* ---- Keeping it small ---- */

struct held; /* collect/held.h */
struct db_keep {
	uint64_t now_ns;
	uint64_t max_age_ns;   /* 0: for ever */
	uint64_t max_bytes;    /* 0: as large as it gets */
	uint64_t day_after_ns; /* epochs that ended this long ago are merged by day; 0: never */
	/* Where the database has a writer: marks the numbers that its source may give to it again. NULL:
	 * not known, so that no process and no image is removed. */
	void (*hold)(void *self, struct held *h);
	void *self;
};

/* Does about cpu_ms of what there is to do: packs the cuts of closed epochs, merges old epochs by
 * day, drops what is too old or too much, removes waste, and processes and images that nothing needs. Readers see each change as a whole. */
bool db_keep_step(struct db *d, const struct db_keep *k, double cpu_ms, bool *more, struct err *e);
/* Merges these closed epochs of one machine into the first of them. */
bool db_merge(struct db *d, const uint64_t *ids, size_t n, struct err *e);
/* Gives free pages back to the file system. */
bool db_vacuum(struct db *d, struct err *e);

/* ---- Checking ---- */

/* Calls `say` with a line for everything that is wrong; false if there was something. */
bool db_check(struct db *d, void (*say)(void *self, const char *line), void *self);

#endif
