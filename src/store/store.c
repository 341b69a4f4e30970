/* SPDX-License-Identifier: MIT */
/*
 * SQLite behind a narrow interface. A new store is written without a journal: the file gets its
 * name only when it is complete, so there is nothing to roll back to.
 */
#include "store/store.h"

#include <ctype.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/check.h"
#include "util/output.h"
#include "util/outside.h"
#include "util/text.h"

#define CACHED_INSERTS 32

struct store {
	sqlite3 *db;
	char *path;
	struct output *output; /* of a new store until it is committed */
	struct {
		char *table, *types;
		sqlite3_stmt *stmt;
	} inserts[CACHED_INSERTS];
	size_t ninserts;
	size_t last_insert; /* index of the statement used last */
	struct shown *shown;
};

/* A text of a statement's current row, made safe to show. */
struct shown {
	struct shown *next;
	sqlite3_stmt *stmt;
	char *text;
};

static bool is_store(const uint8_t *head, size_t size, const char *path)
{
	static const char sqlite[16] = "SQLite format 3";
	/* big endian, as SQLite has it */
	static const uint8_t id[] = { STORE_APPLICATION_ID >> 24, STORE_APPLICATION_ID >> 16 & 255,
				      STORE_APPLICATION_ID >> 8 & 255, STORE_APPLICATION_ID & 255 };
	return size >= 100 && !memcmp(head, sqlite, sizeof(sqlite)) &&
	       !memcmp(head + 68, id, sizeof(id));
}

static const struct output_kind store_kind = {
	.what = "a culprit profile",
	.option = "-o",
	.only_files = true,
	.is = is_store,
};

static bool sql_err(struct store *s, struct err *e, const char *what)
{
	/* SQLite says "database or disk is full". */
	bool full = sqlite3_errcode(s->db) == SQLITE_FULL;
	/* It does not say why a write failed. */
	int cause = errno == EFBIG || errno == EDQUOT ? errno : 0;
	if (sqlite3_errcode(s->db) != SQLITE_IOERR)
		cause = 0;
	return err_set(e, "%s: %s: %s", s->path, what,
		       full    ? strerror(ENOSPC)
		       : cause ? strerror(cause)
			       : sqlite3_errmsg(s->db));
}

static bool exec(struct store *s, const char *sql, struct err *e, const char *what)
{
	return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK || sql_err(s, e, what);
}

/* Makes SQLite open files as culprit opens all that it writes. */
static void write_through(void)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

	if (vfs && vfs->iVersion >= 3 && vfs->xSetSystemCall)
		vfs->xSetSystemCall(vfs, "open", (sqlite3_syscall_ptr)outside_open);
}

/* Makes the tables of a new store, and begins its one transaction. */
static struct store *make_tables(struct store *s, struct err *e)
{
	char setup[256];
	snprintf(setup, sizeof(setup),
		 "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA page_size=8192;"
		 "PRAGMA application_id=%d; PRAGMA user_version=%d; BEGIN;",
		 STORE_APPLICATION_ID, STORE_VERSION);
	bool ok = exec(s, setup, e, "cannot write");
	for (int v = 1; v <= STORE_VERSION; v++)
		ok = ok && exec(s, store_versions[v], e, "cannot make tables");
	if (ok)
		return s;
	store_close(s);
	return NULL;
}

struct store *store_create_memory(const char *name, struct err *e)
{
	struct store *s = x_calloc(1, sizeof(*s));
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
	s->path = x_strdup(name);
	if (sqlite3_open_v2(":memory:", &s->db, flags, NULL) != SQLITE_OK)
		die("out of memory");
	return make_tables(s, e);
}

struct store *store_create(const char *path, struct err *e)
{
	struct output *output = output_open(path, &store_kind, e);
	if (!output)
		return NULL;
	struct store *s = x_calloc(1, sizeof(*s));
	s->path = x_strdup(path);
	s->output = output;
	write_through();
	/* a store is used by one thread at a time */
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
	if (sqlite3_open_v2(output_now(output), &s->db, flags, NULL) != SQLITE_OK) {
		err_set(e, "cannot create %s: %s; choose another place with -o", path,
			sqlite3_errmsg(s->db));
		store_close(s);
		return NULL;
	}
	return make_tables(s, e);
}

static void forget_inserts(struct store *s)
{
	for (size_t i = 0; i < s->ninserts; i++) {
		sqlite3_finalize(s->inserts[i].stmt);
		free(s->inserts[i].table);
		free(s->inserts[i].types);
	}
	s->ninserts = 0;
}

bool store_commit(struct store *s, struct err *e)
{
	forget_inserts(s);
	if (!exec(s, "COMMIT", e, "cannot write"))
		return false;
	struct output *output = s->output;
	s->output = NULL;
	return !output || output_commit(output, e);
}

/* Trusts nothing in the schema, and limits what a hostile file can make SQLite do. */
static bool harden(struct store *s, struct err *e)
{
	static const struct {
		int id, value;
	} limits[] = { { SQLITE_LIMIT_LENGTH, 1 << 26 },     { SQLITE_LIMIT_SQL_LENGTH, 100000 },
		       { SQLITE_LIMIT_COLUMN, 100 },	     { SQLITE_LIMIT_EXPR_DEPTH, 100 },
		       { SQLITE_LIMIT_COMPOUND_SELECT, 30 }, { SQLITE_LIMIT_ATTACHED, 0 },
		       { SQLITE_LIMIT_TRIGGER_DEPTH, 1 },    { SQLITE_LIMIT_WORKER_THREADS, 0 } };
	static const int off[] = { SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_TRIGGER,
				   SQLITE_DBCONFIG_ENABLE_VIEW };
	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		sqlite3_limit(s->db, limits[i].id, limits[i].value);
	for (size_t i = 0; i < ARRAY_LEN(off); i++)
		sqlite3_db_config(s->db, off[i], 0, NULL);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	return exec(s, "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0", e, "cannot open");
}

/* Replaces the file by a copy in memory. what_for: why, as messages end. */
static bool copy_to_memory(struct store *s, const char *what_for, struct err *e)
{
	sqlite3 *memory, *file = s->db;
	sqlite3_backup *copy = NULL;

	if (sqlite3_open(":memory:", &memory) == SQLITE_OK)
		copy = sqlite3_backup_init(memory, "main", file, "main");
	int status = copy ? sqlite3_backup_step(copy, -1) : sqlite3_errcode(memory);
	if (copy)
		sqlite3_backup_finish(copy);
	s->db = memory;
	sqlite3_close(file);
	if (status != SQLITE_DONE)
		return err_set(e, "%s cannot be copied %s: %s", s->path, what_for,
			       sqlite3_errstr(status));
	return harden(s, e);
}

bool store_detach(struct store *s, struct err *e)
{
	forget_inserts(s);
	return copy_to_memory(s, "to change its names", e);
}

/* Adds the tables of later versions, to a copy in memory. */
static bool migrate(struct store *s, int version, struct err *e)
{
	char why[64];

	if (version == STORE_VERSION)
		return true;
	snprintf(why, sizeof(why), "to migrate it from format %d", version);

	bool ok = copy_to_memory(s, why, e);

	for (int v = version + 1; v <= STORE_VERSION; v++)
		ok = ok && exec(s, store_versions[v], e, "cannot be migrated");
	return ok && store_check_schema(s, STORE_VERSION, e);
}

/*
 * Opens a profile that may come from anyone: as a file that never changes, so that SQLite reads no
 * journal beside it and writes nothing. check.c then checks the content.
 */
static bool open_hardened(struct store *s, const char *path, struct err *e)
{
	char *real = realpath(path, NULL);
	struct stat st;
	if (!real || access(path, R_OK) || stat(path, &st)) {
		free(real);
		return err_set(e, "cannot read %s: %s; `culprit sim` writes such files", path,
			       strerror(errno));
	}
	if (!S_ISREG(st.st_mode)) {
		free(real);
		return err_set(e, "cannot read %s: it is not a file; `culprit sim` writes profiles",
			       path);
	}
	char *uri = x_malloc(3 * strlen(real) + 32), *to = uri + sprintf(uri, "file://");
	for (const char *c = real; *c; c++)
		to +=
		    sprintf(to, strchr("/._-", *c) || isalnum((unsigned char)*c) ? "%c" : "%%%02X",
			    (unsigned char)*c);
	strcpy(to, "?immutable=1");
	free(real);
	const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
	bool ok = sqlite3_open_v2(uri, &s->db, flags, NULL) == SQLITE_OK;
	free(uri);
	if (!ok)
		return sql_err(s, e, "cannot open");
	return harden(s, e);
}

struct store *store_adopt(struct sqlite3 *db, const char *path, struct err *e)
{
	struct store *s = x_calloc(1, sizeof(*s));
	s->db = db;
	s->path = x_strdup(path);
	if (harden(s, e))
		return s;
	store_close(s);
	return NULL;
}

static bool is_whole(struct store *s, struct err *e)
{
	struct store_rows r = store_query(s, "PRAGMA quick_check(1)", "");
	const char *said = store_next(&r) ? store_text(&r, 0) : NULL;
	bool ok = said && !strcmp(said, "ok");
	return (store_done(&r, e) && ok) ||
	       err_set(e, "%s is damaged: run `culprit sim` again", s->path);
}

/* Whether the file says that it is a profile of a version that this culprit reads. */
static bool is_ours(struct store *s, int *out, const char *path, struct err *e)
{
	int id = (int)store_number(s, "PRAGMA application_id", -1);
	int version = (int)store_number(s, "PRAGMA user_version", -1);
	*out = version;
	if (id != STORE_APPLICATION_ID)
		return err_set(e, "%s is not a culprit profile; `culprit sim` writes them", path);
	if (version > STORE_VERSION)
		return err_set(
		    e, "%s has format version %d, this culprit reads up to %d; use a newer culprit",
		    path, version, STORE_VERSION);
	return version >= 1 || err_set(e, "%s has no valid format version; it is damaged", path);
}

struct store *store_glance(const char *path, struct err *e)
{
	struct store *s = x_calloc(1, sizeof(*s));
	int version;
	s->path = x_strdup(path);
	if (open_hardened(s, path, e) && is_ours(s, &version, path, e))
		return s;
	store_close(s);
	return NULL;
}

struct store *store_open(const char *path, struct err *e)
{
	struct store *s = x_calloc(1, sizeof(*s));
	int version = 0;
	s->path = x_strdup(path);
	/* The schema first: the other checks rely on it. */
	bool ok = open_hardened(s, path, e) && is_ours(s, &version, path, e) &&
		  store_check_schema(s, version, e) && is_whole(s, e) && migrate(s, version, e) &&
		  store_check_values(s, e);
	if (!ok) {
		store_close(s);
		return NULL;
	}
	return s;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	forget_inserts(s);
	sqlite3_close(s->db);
	output_discard(s->output);
	free(s->path);
	free(s);
}

const char *store_path(const struct store *s)
{
	return s->path;
}

/* texts: SQLITE_STATIC if they stay valid until the statement is done. */
static bool bind(sqlite3_stmt *stmt, const char *types, sqlite3_destructor_type texts, va_list ap)
{
	for (int i = 0; types[i]; i++) {
		int rc = SQLITE_OK;
		switch (types[i]) {
		case 'i':
			rc = sqlite3_bind_int64(stmt, i + 1, va_arg(ap, int64_t));
			break;
		case 'd':
			rc = sqlite3_bind_double(stmt, i + 1, va_arg(ap, double));
			break;
		case 's':
			rc = sqlite3_bind_text(stmt, i + 1, va_arg(ap, const char *), -1, texts);
			break;
		case 'b': {
			const void *bytes = va_arg(ap, const void *);
			rc = sqlite3_bind_blob64(stmt, i + 1, bytes,
						 (sqlite3_uint64)va_arg(ap, size_t), texts);
			break;
		}
		default:
			rc = sqlite3_bind_null(stmt, i + 1);
		}
		if (rc != SQLITE_OK)
			return false;
	}
	return true;
}

static sqlite3_stmt *insert_stmt(struct store *s, const char *table, const char *types)
{
	/* most rows go into the table of the row before */
	for (size_t n = 0, i = s->last_insert; n < s->ninserts; n++, i++) {
		i = i < s->ninserts ? i : 0;
		if (!strcmp(s->inserts[i].table, table) && !strcmp(s->inserts[i].types, types)) {
			s->last_insert = i;
			return s->inserts[i].stmt;
		}
	}
	if (s->ninserts == CACHED_INSERTS)
		forget_inserts(s);
	char sql[512];
	int n = snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES (", table);
	for (size_t i = 0; types[i]; i++)
		n += snprintf(sql + n, sizeof(sql) - (size_t)n, i ? ",?" : "?");
	snprintf(sql + n, sizeof(sql) - (size_t)n, ")");
	sqlite3_stmt *stmt;
	if (sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL) != SQLITE_OK)
		return NULL;
	s->inserts[s->ninserts].table = x_strdup(table);
	s->inserts[s->ninserts].types = x_strdup(types);
	s->inserts[s->ninserts++].stmt = stmt;
	return stmt;
}

/* Inserts the row whose values are bound if ok. */
static bool insert_bound(struct store *s, struct err *e, const char *table, sqlite3_stmt *stmt,
			 bool ok)
{
	ok = ok && sqlite3_step(stmt) == SQLITE_DONE;
	if (!ok)
		sql_err(s, e, table);
	sqlite3_reset(stmt);
	return ok;
}

bool store_insert(struct store *s, struct err *e, const char *table, const char *types, ...)
{
	sqlite3_stmt *stmt = insert_stmt(s, table, types);
	if (!stmt)
		return sql_err(s, e, table);
	va_list ap;
	va_start(ap, types);
	bool ok = bind(stmt, types, SQLITE_STATIC, ap);
	va_end(ap);
	return insert_bound(s, e, table, stmt, ok);
}

bool store_insert_values(struct store *s, struct err *e, const char *table,
			 const struct store_value *values, size_t count)
{
	char types[32] = "";
	for (size_t i = 0; i < count && i < sizeof(types) - 1; i++)
		types[i] = values[i].type;
	sqlite3_stmt *stmt = insert_stmt(s, table, types);
	if (!stmt)
		return sql_err(s, e, table);
	bool ok = true;
	for (int i = 0; ok && types[i]; i++) {
		const struct store_value *v = &values[i];
		int rc = v->type == 'i'	  ? sqlite3_bind_int64(stmt, i + 1, v->number)
			 : v->type == 'd' ? sqlite3_bind_double(stmt, i + 1, v->real)
			 : v->type == 's'
			     ? sqlite3_bind_text(stmt, i + 1, v->text, -1, SQLITE_STATIC)
			     : sqlite3_bind_null(stmt, i + 1);
		ok = rc == SQLITE_OK;
	}
	return insert_bound(s, e, table, stmt, ok);
}

struct store_rows store_query(struct store *s, const char *sql, const char *types, ...)
{
	struct store_rows r = { .store = s };
	r.status = sqlite3_prepare_v2(s->db, sql, -1, &r.stmt, NULL);
	if (r.status == SQLITE_OK) {
		va_list ap;
		va_start(ap, types);
		if (!bind(r.stmt, types, SQLITE_TRANSIENT, ap))
			r.status = SQLITE_ERROR;
		va_end(ap);
	}
	return r;
}

static void forget_shown(struct store *s, sqlite3_stmt *stmt)
{
	for (struct shown **at = &s->shown; *at;) {
		struct shown *this = *at;
		if (this->stmt == stmt) {
			*at = this->next;
			free(this->text);
			free(this);
		} else {
			at = &this->next;
		}
	}
}

bool store_next(struct store_rows *r)
{
	forget_shown(r->store, r->stmt);
	if (r->status == SQLITE_OK || r->status == SQLITE_ROW)
		r->status = sqlite3_step(r->stmt);
	return r->status == SQLITE_ROW;
}

int64_t store_int(const struct store_rows *r, int column)
{
	return sqlite3_column_int64(r->stmt, column);
}

double store_double(const struct store_rows *r, int column)
{
	return sqlite3_column_double(r->stmt, column);
}

const char *store_text(const struct store_rows *r, int column)
{
	return (const char *)sqlite3_column_text(r->stmt, column);
}

const char *store_shown(const struct store_rows *r, int column)
{
	const char *text = store_text(r, column);
	if (!text || text_is_plain(text))
		return text;
	struct shown *new = x_malloc(sizeof(*new));
	*new = (struct shown){ r->store->shown, r->stmt, text_shown(text) };
	r->store->shown = new;
	return new->text;
}

const void *store_blob(const struct store_rows *r, int column, size_t *size_bytes)
{
	const void *bytes = r->stmt ? sqlite3_column_blob(r->stmt, column) : NULL;

	*size_bytes = bytes ? (size_t)sqlite3_column_bytes(r->stmt, column) : 0;
	return bytes;
}

bool store_is_null(const struct store_rows *r, int column)
{
	return sqlite3_column_type(r->stmt, column) == SQLITE_NULL;
}

bool store_done(struct store_rows *r, struct err *e)
{
	bool ok = r->status == SQLITE_OK || r->status == SQLITE_ROW || r->status == SQLITE_DONE;
	if (!ok)
		sql_err(r->store, e, "cannot read");
	forget_shown(r->store, r->stmt);
	sqlite3_finalize(r->stmt);
	r->stmt = NULL;
	return ok;
}

static void call_taught(sqlite3_context *c, int n, sqlite3_value **values)
{
	char *(**f)(const char *text) = sqlite3_user_data(c);
	const char *text = (const char *)sqlite3_value_text(values[0]);
	char *made = text ? (*f)(text) : NULL;

	(void)n;
	if (made)
		sqlite3_result_text(c, made, -1, free);
	else
		sqlite3_result_value(c, values[0]);
}

bool store_teach(struct store *s, const char *name, char *(*f)(const char *text), struct err *e)
{
	char *(**kept)(const char *text) = x_malloc(sizeof(*kept)); /* no void * holds a function */

	*kept = f;
	return sqlite3_create_function_v2(s->db, name, 1,
					  SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
					  kept, call_taught, NULL, NULL, free) == SQLITE_OK ||
	       sql_err(s, e, "cannot read");
}

int64_t store_number(struct store *s, const char *sql, int64_t fallback)
{
	struct store_rows r = store_query(s, sql, "");
	int64_t value = store_next(&r) ? store_int(&r, 0) : fallback;
	store_done(&r, NULL);
	return value;
}
