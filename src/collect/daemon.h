/* SPDX-License-Identifier: MIT */
/*
 * The daemon: takes counts from a source (the collector) all day and keeps them in a database. It
 * writes and compacts in short pieces, ends epochs by time and by command, answers on its socket,
 * and goes on when the disk is full.
 */
#ifndef COLLECT_DAEMON_H
#define COLLECT_DAEMON_H

#include "collect/collector.h"
#include "collect/db.h"

/* Where counts come from; the collector, or a made-up one in tests. */
struct daemon_source {
	void *(*open)(void *self, const struct live_sink *sink, struct err *e);
	int (*fd)(void *source);
	bool (*poll)(void *source, int timeout_ms, struct err *e);
	bool (*flush)(void *source, struct err *e);
	/* Marks the sink's numbers that it may give again; NULL: not known. */
	void (*hold)(void *source, struct held *h);
	/* Some lines for `status`; NULL: none. */
	void (*status)(void *source, FILE *out);
	bool (*close)(void *source, struct err *e);
	void *self;
};

/* The collector as a source; its notes are said by warn. */
struct daemon_source daemon_collector(const struct collector_options *o);

struct daemon_options {
	const char *folder;
	const char *socket; /* NULL: FOLDER/socket */
	const char *group;  /* that may use the socket; NULL: the folder's */
	const char *run_as; /* whom the database belongs to; the source drops what else it may */
	bool per_process, per_cpu;
	uint64_t epoch_ns;	      /* 0: an hour */
	struct db_keep keep;	      /* now_ns is not looked at */
	size_t waiting_max;	      /* as in db_writer_options */
	const struct db_clock *clock; /* NULL: the real one */
	int ready_fd; /* a byte is written there once it runs, and it is closed; -1: nobody waits */
};

/* Runs until it is told to stop, by SIGTERM, SIGINT or the socket. */
bool daemon_run(const struct daemon_options *o, const struct daemon_source *source, struct err *e);
/* Where the daemon of a folder listens; the caller frees. */
char *daemon_socket(const char *folder, const char *socket);

#endif
