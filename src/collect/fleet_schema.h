/* SPDX-License-Identifier: MIT */
/* The statements that make the fleet's tables. Private to collect/. */
#ifndef COLLECT_FLEET_SCHEMA_H
#define COLLECT_FLEET_SCHEMA_H

#define FLEET_SCHEMA_VERSION 1
/* Statements that turn version v - 1 into v; entry 0 makes the schema and its table of versions. */
extern const char *const fleet_versions[FLEET_SCHEMA_VERSION + 1];

#endif
