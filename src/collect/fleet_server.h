/* SPDX-License-Identifier: MIT */
/* The fleet's PostgreSQL server: statements and what it answers. */
#ifndef COLLECT_FLEET_SERVER_H
#define COLLECT_FLEET_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/util.h"

struct server;
struct answer;

/* Connects, by libpq's words for where and as whom. NULL, and e, if that fails. */
struct server *server_open(const char *where, struct err *e);
void server_close(struct server *s); /* NULL is fine */

/* what: the beginning of a message if it fails, such as "cannot begin". */
bool server_exec(struct server *s, const char *sql, const char *what, struct err *e);
/* A query with parameters as text; NULL, and e, if it fails. */
struct answer *server_ask(struct server *s, const char *sql, int n, const char *const *values,
			  const char *what, struct err *e);
/* A name as part of a statement; the caller frees. NULL if it cannot be one. */
char *server_quoted(struct server *s, const char *name);

/* NULL is an answer without rows. */
int answer_rows(const struct answer *r);
/* "" for NULL; valid as long as the answer. */
char *answer_text(const struct answer *r, int row, int column);
/* A bytea. NULL: it is none. The caller frees. */
uint8_t *answer_bytes(const struct answer *r, int row, int column, size_t *size);
void answer_free(struct answer *r);

#endif
