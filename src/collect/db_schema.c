/* SPDX-License-Identifier: MIT */
/*
 * The tables of the database, by the version that brought them. docs/store.md describes them. `data`
 * is what an epoch's packs are filed under: compacting writes the same counts under a new number and
 * then changes the epoch's row, so that a reader sees the old packs or the new ones. `last_s` is the
 * second in which the last epoch began that needs a row (db_prune.c); of rows that were there before
 * it, the newest epoch's.
 */
#include "collect/db_schema.h"

const char *const db_versions[DB_SCHEMA_VERSIONS + 1] = {
	[1] = "CREATE TABLE sequence (name TEXT PRIMARY KEY, next INTEGER NOT NULL) WITHOUT ROWID;"
	      "CREATE TABLE waste (data INTEGER PRIMARY KEY);"
	      "CREATE TABLE epoch (id INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE,"
	      " state INTEGER NOT NULL, data INTEGER NOT NULL UNIQUE, cuts INTEGER NOT NULL,"
	      " parts INTEGER NOT NULL, pushed INTEGER NOT NULL, source TEXT NOT NULL,"
	      " machine TEXT NOT NULL, boot_id TEXT NOT NULL, kernel TEXT NOT NULL,"
	      " kernel_build_id TEXT NOT NULL, command TEXT NOT NULL, begin_ns INTEGER NOT NULL,"
	      " end_ns INTEGER NOT NULL, cpus INTEGER NOT NULL, idle_ns INTEGER NOT NULL,"
	      " budget REAL NOT NULL, interrupt_ns REAL NOT NULL, daemon_cpu_ns REAL NOT NULL);"
	      "CREATE TABLE event (id INTEGER PRIMARY KEY, name TEXT NOT NULL,"
	      " actual TEXT NOT NULL, UNIQUE (name, actual));"
	      "CREATE TABLE epoch_event (epoch INTEGER NOT NULL, event INTEGER NOT NULL,"
	      " rate REAL NOT NULL, period INTEGER NOT NULL, running REAL NOT NULL,"
	      " taken INTEGER NOT NULL, stored INTEGER NOT NULL, lost INTEGER NOT NULL,"
	      " pending INTEGER NOT NULL, PRIMARY KEY (epoch, event)) WITHOUT ROWID;"
	      "CREATE TABLE image (id INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE,"
	      " kind INTEGER NOT NULL, name TEXT NOT NULL, path TEXT, build_id TEXT NOT NULL,"
	      " digest TEXT NOT NULL, dev INTEGER NOT NULL, ino INTEGER NOT NULL,"
	      " size_bytes INTEGER NOT NULL, mtime_ns INTEGER NOT NULL);"
	      "CREATE TABLE kept (image INTEGER PRIMARY KEY, symbols BLOB, code BLOB);"
	      "CREATE TABLE process (id INTEGER PRIMARY KEY, boot_id TEXT NOT NULL,"
	      " pid INTEGER NOT NULL, start_ns INTEGER NOT NULL, exec_id INTEGER NOT NULL,"
	      " uid INTEGER NOT NULL, comm TEXT NOT NULL, exe TEXT NOT NULL,"
	      " container TEXT NOT NULL, UNIQUE (boot_id, pid, start_ns, exec_id));"
	      "CREATE TABLE pack (data INTEGER NOT NULL, image INTEGER NOT NULL,"
	      " event INTEGER NOT NULL, process INTEGER NOT NULL, cpu INTEGER NOT NULL,"
	      " cut INTEGER NOT NULL, entries INTEGER NOT NULL, samples INTEGER NOT NULL,"
	      " counts BLOB NOT NULL, PRIMARY KEY (data, image, event, process, cpu, cut))"
	      " WITHOUT ROWID;"
	      "CREATE TABLE stack_pack (data INTEGER NOT NULL, event INTEGER NOT NULL,"
	      " process INTEGER NOT NULL, cut INTEGER NOT NULL, entries INTEGER NOT NULL,"
	      " samples INTEGER NOT NULL, stacks BLOB NOT NULL,"
	      " PRIMARY KEY (data, event, process, cut)) WITHOUT ROWID;"
	      "CREATE TABLE edge_pack (data INTEGER NOT NULL, image INTEGER NOT NULL,"
	      " cut INTEGER NOT NULL, entries INTEGER NOT NULL, edges BLOB NOT NULL,"
	      " PRIMARY KEY (data, image, cut)) WITHOUT ROWID;",
	[2] = "ALTER TABLE image ADD COLUMN last_s INTEGER NOT NULL DEFAULT 0;"
	      "ALTER TABLE process ADD COLUMN last_s INTEGER NOT NULL DEFAULT 0;"
	      "UPDATE image SET last_s = (SELECT ifnull(max(begin_ns), 0) / 1000000000 FROM epoch);"
	      "UPDATE process SET last_s = (SELECT ifnull(max(begin_ns), 0) / 1000000000 FROM"
	      " epoch);"
	      "CREATE INDEX image_last ON image (last_s);"
	      "CREATE INDEX process_last ON process (last_s);",
};
