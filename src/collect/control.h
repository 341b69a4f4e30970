/* SPDX-License-Identifier: MIT */
/*
 * The daemon's socket: a line of text in, a text back. Who asks is known from the kernel, not from
 * what is said. Private to the daemon and its command.
 */
#ifndef COLLECT_CONTROL_H
#define COLLECT_CONTROL_H

#include <stdio.h>

#include "util/util.h"

struct control_peer {
	uint32_t uid;
	bool trusted; /* root, the daemon's own user, or a member of the database's group */
};

/* A listening socket of mode 0660 that belongs to the group (NULL: of the folder it is in). -1: it
 * cannot be made. A socket that nobody listens on is replaced. */
int control_listen(const char *path, const char *group, struct err *e);
/* Accepts a peer that waits and reads its line. -1: there is none, or it says nothing in time. */
int control_accept(int listener, uint32_t group, struct control_peer *peer, char *line,
		   size_t size);
/* Sends the answer and closes. */
void control_answer(int fd, const char *text);
/* The other side: asks, and prints the answer. False if nobody answers, or the answer is an error. */
bool control_ask(const char *path, const char *line, FILE *out, struct err *e);

#endif
