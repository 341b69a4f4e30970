/* SPDX-License-Identifier: MIT */
/*
 * What the guest's standard streams are, in three words with commas between: how --streams takes it
 * and a profile keeps it.
 *
 * A word is a kind and what follows it, each after a plus sign:
 *
 *      null zero full random   the devices of these names
 *      file                    r, w or rw; append …; size=, at= (position), mode= (octal)
 *      pipe, socket            a pipe is the end to read or to write: r, w, rw; named: it was
 *                              opened by a name (a FIFO); mode=
 *      terminal[:COLSxROWS]    tty= its mode (termios), pixels=WxH, mode= (octal)
 *      closed
 *      =N                      the very stream N (2>&1): flags and position are shared
 *      -                       culprit's own; at= and flags are set there
 *      other                   something else, which cannot be made
 *
 * as=PATH: what stat says of it is what it says of the file there (device, inode, links), so that a
 * program that compares its output with its input finds what it found; , + % and what is no ASCII
 * are written as %XX. of=N: the same file, pipe or terminal as stream N, but opened by itself.
 */
#ifndef JOBS_STREAMS_H
#define JOBS_STREAMS_H

#include <stdio.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "util/util.h"

#define STREAMS 3

enum stream_kind {
	STREAM_NULL,
	STREAM_ZERO,
	STREAM_FULL,
	STREAM_RANDOM,
	STREAM_FILE,
	STREAM_PIPE,
	STREAM_SOCKET,
	STREAM_TERMINAL,
	STREAM_CLOSED,
	STREAM_SAME,
	STREAM_OWN,
	STREAM_OTHER,
	STREAM_KINDS
};
/* The word of each kind. */
extern const char *const stream_kinds[STREAM_KINDS];

/* How a stream can be opened, beside r, w and rw. */
struct stream_flag {
	const char *name;
	int flag; /* O_APPEND … */
};
#define STREAM_FLAGS 6
extern const struct stream_flag stream_flags[STREAM_FLAGS];

/* One stream. */
struct stream {
	enum stream_kind kind;
	int access;		 /* O_RDONLY, O_WRONLY, O_RDWR; -1: as usual for its kind */
	int flags;		 /* a set of stream_flags */
	bool named;		 /* of a pipe: it was opened by a name */
	int of;			 /* the stream that it is or whose file it is; -1: none */
	uint64_t size_bytes, at; /* of a file */
	unsigned mode;		 /* permissions of a file; 0: not said */
	const char *as;		 /* path (as written) of the file that stat shows; NULL: its own */
	bool has_tty;		 /* tty is known */
	struct winsize window;
	struct termios tty;
};

/* Reads three words. Cuts the text, which the streams then point into. Accepts STREAM_OTHER too. */
bool streams_read(char *text, struct stream all[STREAMS], struct err *e);
/* Fills e: the word is of no kind that can be made. */
bool streams_unknown(const char *word, struct err *e);
/* Writes the word for one stream. */
void stream_write(FILE *f, const struct stream *s);

#endif
