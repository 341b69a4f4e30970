/* SPDX-License-Identifier: MIT */
/*
 * Opening a database, and SQLite behind a narrow interface. The file is in WAL mode: one process
 * writes while others read what was committed before. The folder has mode 0750 and the file 0640;
 * SQLite gives its log and its index the mode of the file.
 *
 * A database may come from anybody: its tables must be exactly ours, views and triggers are off, and
 * every pack is checked when it is read. The file `lock` is held by the owner, and says its pid.
 */
#include "collect/db.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collect/db_int.h"
#include "collect/db_schema.h"

_Static_assert(DB_VERSION == DB_SCHEMA_VERSIONS, "every version has its statements");

#define TEXT_OF(x)  #x
#define VALUE_OF(x) TEXT_OF(x)

/* ---- Statements ---- */

bool db_fail(struct db *d, const char *what, struct err *e)
{
	const int code = sqlite3_errcode(d->sql);

	if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
		return err_set(e, "%s/" DB_FILE " is damaged (%s); put back a copy of the folder",
			       d->path, sqlite3_errmsg(d->sql));
	return err_set(e, "%s/" DB_FILE ": %s: %s", d->path, what,
		       code == SQLITE_FULL ? strerror(ENOSPC) : sqlite3_errmsg(d->sql));
}

bool db_exec(struct db *d, const char *sql, struct err *e)
{
	return sqlite3_exec(d->sql, sql, NULL, NULL, NULL) == SQLITE_OK ||
	       db_fail(d, "cannot write", e);
}

static bool bind(sqlite3_stmt *stmt, const char *types, va_list ap)
{
	int rc = SQLITE_OK;

	for (int i = 0; types[i] && rc == SQLITE_OK; i++) {
		switch (types[i]) {
		case 'i':
			rc = sqlite3_bind_int64(stmt, i + 1, va_arg(ap, int64_t));
			break;
		case 'd':
			rc = sqlite3_bind_double(stmt, i + 1, va_arg(ap, double));
			break;
		case 's':
			rc = sqlite3_bind_text(stmt, i + 1, va_arg(ap, const char *), -1,
					       SQLITE_TRANSIENT);
			break;
		case 'b': {
			const uint8_t *data = va_arg(ap, const uint8_t *);
			const size_t size = va_arg(ap, size_t);

			rc = data ? sqlite3_bind_blob64(stmt, i + 1, data, size, SQLITE_STATIC)
				  : sqlite3_bind_null(stmt, i + 1);
			break;
		}
		default:
			rc = sqlite3_bind_null(stmt, i + 1);
		}
	}
	return rc == SQLITE_OK;
}

static sqlite3_stmt *prepare(struct db *d, const char *sql, bool *cached)
{
	sqlite3_stmt *stmt = NULL;

	*cached = true;
	for (size_t i = 0; i < d->ncached; i++)
		if (d->cached[i].text == sql && !sqlite3_stmt_busy(d->cached[i].stmt))
			return d->cached[i].stmt;
	if (sqlite3_prepare_v2(d->sql, sql, -1, &stmt, NULL) != SQLITE_OK)
		return NULL;
	*cached = d->ncached < ARRAY_LEN(d->cached);
	if (*cached) {
		d->cached[d->ncached].text = sql;
		d->cached[d->ncached++].stmt = stmt;
	}
	return stmt;
}

static struct db_rows query(struct db *d, const char *sql, const char *types, va_list ap)
{
	struct db_rows r = { .db = d, .status = SQLITE_ERROR };

	r.stmt = prepare(d, sql, &r.cached);
	if (r.stmt && bind(r.stmt, types, ap))
		r.status = SQLITE_OK;
	return r;
}

struct db_rows db_query(struct db *d, const char *sql, const char *types, ...)
{
	va_list ap;

	va_start(ap, types);
	struct db_rows r = query(d, sql, types, ap);

	va_end(ap);
	return r;
}

bool db_next(struct db_rows *r)
{
	if (r->status == SQLITE_OK || r->status == SQLITE_ROW)
		r->status = sqlite3_step(r->stmt);
	return r->status == SQLITE_ROW;
}

const char *db_text(const struct db_rows *r, int column)
{
	const char *s = (const char *)sqlite3_column_text(r->stmt, column);

	return s ? s : "";
}

const uint8_t *db_blob(const struct db_rows *r, int column, size_t *size)
{
	const uint8_t *data = sqlite3_column_blob(r->stmt, column);

	*size = data ? (size_t)sqlite3_column_bytes(r->stmt, column) : 0;
	return data;
}

bool db_done(struct db_rows *r, struct err *e)
{
	const bool ok =
	    r->status == SQLITE_OK || r->status == SQLITE_ROW || r->status == SQLITE_DONE;

	if (!ok)
		db_fail(r->db, r->db->may_write ? "cannot write" : "cannot read", e);
	if (r->stmt && r->cached) {
		sqlite3_reset(r->stmt);
		sqlite3_clear_bindings(r->stmt);
	} else {
		sqlite3_finalize(r->stmt);
	}
	r->stmt = NULL;
	return ok;
}

bool db_run(struct db *d, struct err *e, const char *sql, const char *types, ...)
{
	va_list ap;

	va_start(ap, types);
	struct db_rows r = query(d, sql, types, ap);

	va_end(ap);
	while (db_next(&r))
		;
	return db_done(&r, e);
}

int64_t db_number(struct db *d, const char *sql, int64_t fallback)
{
	struct db_rows r = db_query(d, sql, "");
	const int64_t value = db_next(&r) ? db_int(&r, 0) : fallback;

	db_done(&r, NULL);
	return value;
}

bool db_begin(struct db *d, struct err *e)
{
	return db_exec(d, "BEGIN IMMEDIATE", e);
}

bool db_end(struct db *d, bool ok, struct err *e)
{
	if (ok && db_exec(d, "COMMIT", e))
		return true;
	if (!sqlite3_get_autocommit(d->sql))
		sqlite3_exec(d->sql, "ROLLBACK", NULL, NULL, NULL);
	return false;
}

/* ---- Small things ---- */

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t real_wall(void *self)
{
	return clock_ns(CLOCK_REALTIME);
}

static uint64_t real_steady(void *self)
{
	return clock_ns(CLOCK_BOOTTIME);
}

const struct db_clock db_real_clock = { NULL, real_wall, real_steady };

uint64_t db_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

void db_uuid(char out[33])
{
	uint8_t bytes[16];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		die("the kernel gives no random numbers: %s", strerror(errno));
	for (size_t i = 0; i < sizeof(bytes); i++)
		sprintf(out + 2 * i, "%02x", bytes[i]);
}

char *db_image_key(const struct live_image *i)
{
	if (i->build_id && *i->build_id)
		return x_asprintf("%d build-id %s", (int)i->kind, i->build_id);
	return x_asprintf("%d file %llu %llu %llu %llu %s %s", (int)i->kind,
			  (unsigned long long)i->dev, (unsigned long long)i->ino,
			  (unsigned long long)i->size_bytes, (unsigned long long)i->mtime_ns,
			  i->digest && *i->digest ? i->digest : "-", i->name ? i->name : "");
}

/* ---- Opening ---- */

bool db_is(const char *path)
{
	struct stat st;
	char *file = x_asprintf("%s/" DB_FILE, path);
	const bool is = !stat(path, &st) && S_ISDIR(st.st_mode) && !stat(file, &st);

	free(file);
	return is;
}

static bool harden(struct db *d, struct err *e)
{
	static const struct {
		int id, value;
	} limits[] = {
		{ SQLITE_LIMIT_LENGTH, 2 * DB_PACK_MAX_BYTES },
		{ SQLITE_LIMIT_ATTACHED, 0 },
		{ SQLITE_LIMIT_TRIGGER_DEPTH, 1 },
		{ SQLITE_LIMIT_WORKER_THREADS, 0 },
		{ SQLITE_LIMIT_EXPR_DEPTH, 100 },
		{ SQLITE_LIMIT_COLUMN, 100 },
	};
	static const int off[] = { SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_TRIGGER,
				   SQLITE_DBCONFIG_ENABLE_VIEW };

	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		sqlite3_limit(d->sql, limits[i].id, limits[i].value);
	for (size_t i = 0; i < ARRAY_LEN(off); i++)
		sqlite3_db_config(d->sql, off[i], 0, NULL);
	sqlite3_db_config(d->sql, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_busy_timeout(d->sql, 5000);
	return db_exec(d, "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA cache_size=-1024",
		       e);
}

/* The tables of a version, from those of another one; 0: from nothing. */
static bool make_tables(sqlite3 *sql, int from, int to)
{
	bool ok = true;

	for (int v = from + 1; v <= to; v++)
		ok = ok && sqlite3_exec(sql, db_versions[v], NULL, NULL, NULL) == SQLITE_OK;
	return ok;
}

/* One text with all statements that a file's tables were made by. */
static char *tables_of(sqlite3 *sql)
{
	sqlite3_stmt *stmt = NULL;
	char *all = x_strdup("");

	if (sqlite3_prepare_v2(sql,
			       "SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM"
			       " sqlite_master ORDER BY type, name LIMIT 100",
			       -1, &stmt, NULL) == SQLITE_OK)
		while (sqlite3_step(stmt) == SQLITE_ROW) {
			char *more = x_asprintf("%s%s\n", all, sqlite3_column_text(stmt, 0));

			free(all);
			all = more;
		}
	sqlite3_finalize(stmt);
	return all;
}

/* The file has exactly the tables of its version. */
static bool tables_are_ours(struct db *d, int version, struct err *e)
{
	sqlite3 *memory = NULL;
	bool same = false;

	if (sqlite3_open(":memory:", &memory) == SQLITE_OK && make_tables(memory, 0, version)) {
		char *ours = tables_of(memory), *theirs = tables_of(d->sql);

		same = strcmp(ours, theirs) == 0;
		free(ours);
		free(theirs);
	}
	sqlite3_close(memory);
	return same || err_set(e,
			       "%s/" DB_FILE " is damaged: its tables are not those of a "
			       "profile database; put back a copy of the folder",
			       d->path);
}

static bool right_version(struct db *d, struct err *e)
{
	const int64_t id = db_number(d, "PRAGMA application_id", -1);
	const int64_t version = db_number(d, "PRAGMA user_version", -1);

	if (id == -1 || version == -1)
		return db_fail(d, "cannot read", e);
	if (id != DB_APPLICATION_ID)
		return err_set(e,
			       "%s/" DB_FILE " is not a culprit database; `culprit daemon` and "
			       "`culprit db import` make them",
			       d->path);
	if (version > DB_VERSION)
		return err_set(e,
			       "%s has format version %d, this culprit reads up to %d; use a newer "
			       "culprit",
			       d->path, (int)version, DB_VERSION);
	return (version >= 1 ||
		err_set(e, "%s has no valid format version; it is damaged", d->path)) &&
	       tables_are_ours(d, (int)version, e);
}

/* Makes the tables of a file that is still empty. */
static bool make_new(struct db *d, struct err *e)
{
	if (!db_exec(d,
		     "PRAGMA page_size=4096; PRAGMA auto_vacuum=INCREMENTAL;"
		     "PRAGMA journal_mode=WAL",
		     e) ||
	    !db_begin(d, e))
		return false;
	bool ok = true;

	/* Somebody else may have made them between our look and our lock. */
	if (db_number(d, "SELECT count(*) FROM sqlite_master", -1) == 0)
		ok = make_tables(d->sql, 0, DB_VERSION) &&
		     db_exec(d,
			     "PRAGMA application_id=" VALUE_OF(
				 DB_APPLICATION_ID) ";"
						    "PRAGMA user_version=" VALUE_OF(DB_VERSION),
			     e);
	return db_end(d, ok, e);
}

/* Brings a file of an older version up to this one; readers take it as it is. */
static bool migrate(struct db *d, struct err *e)
{
	if (db_number(d, "PRAGMA user_version", 0) == DB_VERSION)
		return true;
	bool ok = db_begin(d, e);
	const int version = (int)db_number(d, "PRAGMA user_version", 0);

	if (ok && version != DB_VERSION)
		ok = (make_tables(d->sql, version, DB_VERSION) ||
		      db_fail(d, "cannot bring it up to date", e)) &&
		     db_exec(d, "PRAGMA user_version=" VALUE_OF(DB_VERSION), e);
	return db_end(d, ok, e);
}

/* The folder and the file in it, which only this user and the folder's group may read. */
static bool make_files(const char *path, const char *file, struct err *e)
{
	struct stat st;

	if (mkdir(path, 0750) && errno != EEXIST)
		return err_set(e, "cannot make the folder %s: %s", path, strerror(errno));
	/* A link could be turned to another folder at any time, and somebody else's folder can be
	 * emptied by its owner. */
	if (lstat(path, &st) || !S_ISDIR(st.st_mode))
		return err_set(e, "%s is not a folder; name the folder itself, not a link to it",
			       path);
	if (st.st_uid != geteuid() && geteuid() != 0)
		return err_set(e, "the folder %s belongs to user %u; name one of your own", path,
			       st.st_uid);
	if (st.st_mode & S_IWOTH)
		return err_set(e, "everybody may write into %s; run `chmod o-w` on it first", path);
	const int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);

	if (fd < 0)
		return err_set(e, "cannot write %s: %s", file, strerror(errno));
	/* What the umask took away from the group is given back to a new file alone. */
	if (!fstat(fd, &st) && st.st_size == 0 && fchmod(fd, 0640))
		warn("%s: cannot set mode 0640: %s", file, strerror(errno));
	close(fd);
	return true;
}

static bool take_lock(struct db *d, int32_t *owner, struct err *e)
{
	char *name = x_asprintf("%s/lock", d->path);
	char text[32] = "";

	d->lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	free(name);
	if (d->lock < 0)
		return err_set(e, "cannot write %s/lock: %s", d->path, strerror(errno));
	if (flock(d->lock, LOCK_EX | LOCK_NB)) {
		const ssize_t n = pread(d->lock, text, sizeof(text) - 1, 0);
		const int pid = n > 0 ? atoi(text) : 0;

		if (owner)
			*owner = pid;
		close(d->lock);
		d->lock = -1;
		return err_set(e, "%s is in use by process %d; stop it first (culprit daemon stop)",
			       d->path, pid);
	}
	const int n = snprintf(text, sizeof(text), "%d\n", (int)getpid());

	if (ftruncate(d->lock, 0) || pwrite(d->lock, text, (size_t)n, 0) != n)
		warn("%s/lock: %s", d->path, strerror(errno));
	return true;
}

/* What has begun to write and is not finished is left alone as long as its process holds this. The
 * owner alone may clean up, while nobody holds it. */
static bool join_writers(struct db *d, enum db_mode mode, bool *alone, struct err *e)
{
	char *name = x_asprintf("%s/writers", d->path);

	d->writers = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	free(name);
	if (d->writers < 0)
		return err_set(e, "cannot write %s/writers: %s", d->path, strerror(errno));
	*alone = mode == DB_OWN && !flock(d->writers, LOCK_EX | LOCK_NB);
	return *alone || !flock(d->writers, LOCK_SH) ||
	       err_set(e, "%s/writers: %s", d->path, strerror(errno));
}

/* Opens the file for reading. A reader may lack the right to make the two files beside it that
 * SQLite wants; if there is no log, nobody writes, and the file can be read as it is. */
static bool open_to_read(struct db *d, const char *file, struct err *e)
{
	char *log = x_asprintf("%s-wal", file);
	char *uri = x_asprintf("file:%s?immutable=1", file);
	int rc = sqlite3_open_v2(file, &d->sql, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_exec(d->sql, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL);
	if (rc == SQLITE_CANTOPEN && access(log, F_OK) && !strpbrk(file, "?#%")) {
		sqlite3_close(d->sql);
		rc = sqlite3_open_v2(uri, &d->sql,
				     SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI,
				     NULL);
	}
	free(log);
	free(uri);
	return rc == SQLITE_OK || db_fail(d, "cannot read", e);
}

static bool open_file(struct db *d, enum db_mode mode, int32_t *owner, struct err *e)
{
	char *file = x_asprintf("%s/" DB_FILE, d->path);
	bool ok = true, alone = false;

	if (mode <= DB_WRITE && !db_is(d->path))
		ok = err_set(e, "%s is not a profile database: it has no file " DB_FILE, d->path);
	else if (mode == DB_READ)
		ok = open_to_read(d, file, e) && harden(d, e) && right_version(d, e);
	else
		ok = (mode == DB_WRITE || make_files(d->path, file, e)) &&
		     (mode != DB_OWN || take_lock(d, owner, e)) && join_writers(d, mode, &alone, e);
	if (ok && mode != DB_READ) {
		if (sqlite3_open_v2(file, &d->sql, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
				    NULL) != SQLITE_OK)
			ok = db_fail(d, "cannot open", e);
		ok = ok && harden(d, e);
		if (ok && db_number(d, "SELECT count(*) FROM sqlite_master", -1) == 0)
			ok = make_new(d, e);
		ok = ok && right_version(d, e) && migrate(d, e) &&
		     db_exec(d, "PRAGMA synchronous=NORMAL; PRAGMA journal_size_limit=4194304", e);
	}
	free(file);
	ok = ok && (!alone || db_clean(d, e));
	if (alone)
		flock(d->writers, LOCK_SH);
	return ok;
}

struct db *db_open(const char *path, enum db_mode mode, int32_t *owner, struct err *e)
{
	struct db *d = x_calloc(1, sizeof(*d));

	d->path = x_strdup(path);
	d->lock = d->writers = -1;
	d->may_write = mode != DB_READ;
	for (size_t n = strlen(d->path); n > 1 && d->path[n - 1] == '/'; n--)
		d->path[n - 1] = '\0';
	if (open_file(d, mode, owner, e))
		return d;
	db_close(d);
	return NULL;
}

void db_close(struct db *d)
{
	if (!d)
		return;
	db_merge_free(d);
	for (size_t i = 0; i < d->ncached; i++)
		sqlite3_finalize(d->cached[i].stmt);
	sqlite3_close(d->sql);
	if (d->lock >= 0)
		close(d->lock);
	if (d->writers >= 0)
		close(d->writers);
	free(d->path);
	free(d);
}

const char *db_path(const struct db *d)
{
	return d->path;
}
