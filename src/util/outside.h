/* SPDX-License-Identifier: MIT */
/*
 * The files that culprit writes for itself: profiles, traces, summaries. A process that has
 * confined itself may not reach them by name; it then asks the process that stayed outside
 * (confine/), which opens and renames these files, and no others, for it.
 */
#ifndef UTIL_OUTSIDE_H
#define UTIL_OUTSIDE_H

#include <stdbool.h>
#include <sys/stat.h>

/* As open, rename and unlink are; errno says what went wrong. */
int outside_open(const char *path, int flags, int mode);
/* flags: as renameat2 has them. */
int outside_rename(const char *from, const char *to, unsigned flags);
int outside_unlink(const char *path);
/* As stat (follow) or lstat, for names that were announced or opened and no others. */
int outside_stat(const char *path, bool follow, struct stat *st);
/* Announces that path will be opened later. After outside_seal only announced and opened paths can
 * be opened, also with numbers behind them (FILE.2.1). */
void outside_expect(const char *path);
void outside_seal(void);

/* From now on the calls above go through this socket to outside_serve's process. */
void outside_through(int socket);

/* Whether calls go through a socket. */
bool outside_is_elsewhere(void);

/* The other side: which files it has opened and may open. */
struct outside_server;
struct outside_server *outside_server_new(void);
void outside_server_free(struct outside_server *s);
/* Reads and answers one request; false once no process can ask any more. */
bool outside_serve(struct outside_server *s, int socket);

#endif
