/* SPDX-License-Identifier: MIT */
/* The database's tables. Private to collect/. */
#ifndef COLLECT_DB_SCHEMA_H
#define COLLECT_DB_SCHEMA_H

#define DB_SCHEMA_VERSIONS 2
/* The statements that turn version v - 1 into v; entry 0 is unused. */
extern const char *const db_versions[DB_SCHEMA_VERSIONS + 1];

#endif
