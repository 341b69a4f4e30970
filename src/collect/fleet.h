/* SPDX-License-Identifier: MIT */
/*
 * A fleet: many machines' epochs in one PostgreSQL (docs/fleet.md). Without libpq each function says
 * what is missing.
 */
#ifndef COLLECT_FLEET_H
#define COLLECT_FLEET_H

#include "collect/db.h"

/* Makes the fleet's tables, functions and roles, or brings them to this version. */
bool fleet_init(const char *server, struct err *e);
/* Lets a role of the server push as this machine. */
bool fleet_add_machine(const char *server, const char *machine, const char *role, struct err *e);

struct fleet_pushed {
	uint64_t epochs, rows; /* sent now; rows are counts */
	uint64_t already;      /* the server had them */
	uint64_t symbols;
};
/* Sends every closed epoch that the server has not got, oldest first, each in one transaction. What
 * was sent stays sent when a later one fails. */
bool fleet_push(struct db *d, const char *server, struct fleet_pushed *out, struct err *e);

struct fleet_pulled {
	uint64_t epochs, rows;
};
/* Copies epochs that the database has not got yet; machine NULL: of all. */
bool fleet_pull(struct db *d, const char *server, const char *machine, uint64_t since_ns,
		struct fleet_pulled *out, struct err *e);

enum fleet_group { FLEET_IMAGE, FLEET_FUNCTION, FLEET_MACHINE, FLEET_KERNEL, FLEET_VERSION };
struct fleet_row {
	const char *name, *detail; /* not safe to show */
	uint64_t samples, machines;
};
/* Calls `each` for the largest groups, and gives the sum of all in *total. */
bool fleet_top(const char *server, uint64_t since_ns, const char *event, enum fleet_group group,
	       int limit, void (*each)(void *self, const struct fleet_row *r), void *self,
	       uint64_t *total, struct err *e);

#endif
