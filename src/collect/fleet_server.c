/* SPDX-License-Identifier: MIT */
/*
 * libpq, opened when a server is first asked for. With what it brings along (TLS, Kerberos, LDAP) it
 * takes 5 MB of every process that has it, and the daemon, which is to stay small, never asks.
 */
#include "collect/fleet_server.h"

#include <dlfcn.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libpq.so.5"

/* What is called of it; the header has the types. */
#define FUNCTIONS(X)                                                                               \
	X(PQclear)                                                                                 \
	X(PQconnectdb)                                                                             \
	X(PQerrorMessage)                                                                          \
	X(PQescapeIdentifier)                                                                      \
	X(PQexec)                                                                                  \
	X(PQexecParams)                                                                            \
	X(PQfinish)                                                                                \
	X(PQfreemem)                                                                               \
	X(PQgetvalue)                                                                              \
	X(PQntuples)                                                                               \
	X(PQresultErrorField)                                                                      \
	X(PQresultStatus)                                                                          \
	X(PQstatus)                                                                                \
	X(PQunescapeBytea)

struct server {
	void *library;
	PGconn *connection;
#define POINTER(name) __typeof__(&(name)) name;
	FUNCTIONS(POINTER)
};

struct answer {
	const struct server *server;
	PGresult *result;
};

static bool load(struct server *s, struct err *e)
{
	bool ok;

	s->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	ok = s->library != NULL;
#define FIND(name)                                                                                 \
	s->name = ok ? (__typeof__(&(name)))dlsym(s->library, #name) : NULL;                       \
	ok = ok && s->name;
	FUNCTIONS(FIND)
	return ok || err_set(e, "the fleet needs " LIBRARY " (Debian: libpq5): %s", dlerror());
}

/* What the server said, as one line. */
static bool failed(const struct server *s, const PGresult *r, const char *what, struct err *e)
{
	const char *primary = r ? s->PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY) : NULL;
	char line[300];

	snprintf(line, sizeof(line), "%s", primary ? primary : s->PQerrorMessage(s->connection));
	line[strcspn(line, "\n")] = '\0';
	return err_set(e, "the fleet's server: %s: %s", what, line);
}

struct server *server_open(const char *where, struct err *e)
{
	struct server *s = x_calloc(1, sizeof(*s));

	if (load(s, e)) {
		s->connection = s->PQconnectdb(where);
		const bool connected = s->PQstatus(s->connection) == CONNECTION_OK;

		if (connected &&
		    server_exec(s, "SET client_min_messages = warning", "cannot begin", e))
			return s;
		if (!connected)
			failed(s, NULL, "cannot connect", e);
	}
	server_close(s);
	return NULL;
}

/* The library stays: it has registered what runs when the process ends. */
void server_close(struct server *s)
{
	if (s && s->connection)
		s->PQfinish(s->connection);
	free(s);
}

bool server_exec(struct server *s, const char *sql, const char *what, struct err *e)
{
	PGresult *r = s->PQexec(s->connection, sql);
	const ExecStatusType status = s->PQresultStatus(r);
	const bool ok =
	    status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || failed(s, r, what, e);

	s->PQclear(r);
	return ok;
}

struct answer *server_ask(struct server *s, const char *sql, int n, const char *const *values,
			  const char *what, struct err *e)
{
	PGresult *r = s->PQexecParams(s->connection, sql, n, NULL, values, NULL, NULL, 0);

	if (s->PQresultStatus(r) != PGRES_TUPLES_OK) {
		failed(s, r, what, e);
		s->PQclear(r);
		return NULL;
	}
	struct answer *a = x_malloc(sizeof(*a));

	*a = (struct answer){ s, r };
	return a;
}

char *server_quoted(struct server *s, const char *name)
{
	char *theirs = s->PQescapeIdentifier(s->connection, name, strlen(name));
	char *ours = theirs ? x_strdup(theirs) : NULL;

	s->PQfreemem(theirs);
	return ours;
}

int answer_rows(const struct answer *r)
{
	return r ? r->server->PQntuples(r->result) : 0;
}

char *answer_text(const struct answer *r, int row, int column)
{
	return r->server->PQgetvalue(r->result, row, column);
}

uint8_t *answer_bytes(const struct answer *r, int row, int column, size_t *size)
{
	const struct server *s = r->server;
	uint8_t *theirs = s->PQunescapeBytea((uint8_t *)answer_text(r, row, column), size);
	uint8_t *ours = theirs ? x_malloc(*size + 1) : NULL;

	if (ours)
		memcpy(ours, theirs, *size);
	s->PQfreemem(theirs);
	return ours;
}

void answer_free(struct answer *r)
{
	if (r)
		r->server->PQclear(r->result);
	free(r);
}
