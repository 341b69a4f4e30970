/* SPDX-License-Identifier: MIT */
/* The fleet where culprit was built without libpq. */
#include "collect/fleet.h"

static bool missing(struct err *e)
{
	return err_set(e,
		       "this culprit was built without PostgreSQL; install libpq-dev and build it "
		       "again");
}

bool fleet_init(const char *server, struct err *e)
{
	return missing(e);
}

bool fleet_add_machine(const char *server, const char *machine, const char *role, struct err *e)
{
	return missing(e);
}

bool fleet_push(struct db *d, const char *server, struct fleet_pushed *out, struct err *e)
{
	return missing(e);
}

bool fleet_pull(struct db *d, const char *server, const char *machine, uint64_t since_ns,
		struct fleet_pulled *out, struct err *e)
{
	return missing(e);
}

bool fleet_top(const char *server, uint64_t since_ns, const char *event, enum fleet_group group,
	       int limit, void (*each)(void *self, const struct fleet_row *r), void *self,
	       uint64_t *total, struct err *e)
{
	return missing(e);
}
