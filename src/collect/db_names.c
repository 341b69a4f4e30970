/* SPDX-License-Identifier: MIT */
/*
 * Numbers of images, processes and events. A number is the row's id, so nothing has to be kept for a
 * row that is on disk: what is not in the cache is looked up by its identity. The caches and the rows
 * that wait are bounded, so that a storm of processes does not make the daemon grow.
 */
#include "collect/db_names.h"

#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define RESERVE_IMAGES	  256
#define RESERVE_PROCESSES 4096
#define PROCESS_CACHE	  16384 /* entries of 24 bytes, direct mapped */
#define WAITING_PROCESSES 50000
#define NEEDED_CACHE	  4096 /* entries of 16 bytes, direct mapped */
#define KNOWN_IMAGES	  4096 /* that are kept in memory; the others are looked up in the file */
#define RESERVE_TRIES	  4096
#define NUMBERS_END	  (UINT32_MAX - 1)
#define ROWS_AT_ONCE	  200

struct range {
	int64_t next, end;
};

/* An image whose row, or whose symbols and code, are not written yet. */
struct waiting_image {
	uint32_t id;
	char *key;
	struct live_image image; /* texts are our own */
	bool has_row;		 /* only symbols and code are new */
	struct db_bytes symbols, code;
};

struct waiting_process {
	uint32_t id;
	struct live_process process; /* texts are our own */
};

struct known_image {
	char *key;
	uint32_t id;
	size_t symbols, code; /* so many of them came with it and are written, or wait */
};

struct alias {
	uint32_t ours, row;
};

struct cached {
	uint64_t start_ns;
	int32_t pid;
	uint32_t exec_id, id;
};

/* A row that has got its second already. */
struct needed {
	int64_t second;
	uint32_t row;
	enum held_kind kind;
};

struct db_names {
	struct db *db;
	char *boot_id;
	uint64_t kept_max_bytes;
	struct range images_left, processes_left;
	uint32_t unknown;
	struct known_image *images; /* by key */
	size_t nimages;
	struct cached *cache;
	struct needed *needed;
	int64_t begin_s;
	struct waiting_image *new_images;
	struct waiting_process *new_processes;
	size_t nnew_images, nnew_processes, done_images, done_processes;
	struct alias *image_alias, *process_alias;
	size_t nimage_alias, nprocess_alias;
};

struct db_names *db_names_new(struct db *d, const char *boot_id, uint64_t kept_max_bytes)
{
	struct db_names *n = x_calloc(1, sizeof(*n));

	n->db = d;
	n->boot_id = x_strdup(boot_id ? boot_id : "");
	n->kept_max_bytes = kept_max_bytes ? kept_max_bytes : 64u << 20;
	n->cache = x_calloc(PROCESS_CACHE, sizeof(*n->cache));
	n->needed = x_calloc(NEEDED_CACHE, sizeof(*n->needed));
	n->unknown =
	    db_names_image(n, &(struct live_image){ .kind = LIVE_UNKNOWN, .name = "[unknown]" });
	return n;
}

static void free_image(struct waiting_image *w)
{
	free(w->key);
	free(w->image.name);
	free(w->image.path);
	free(w->image.build_id);
	free(w->image.digest);
	db_bytes_free(&w->symbols);
	db_bytes_free(&w->code);
}

static void free_process(struct waiting_process *w)
{
	free(w->process.comm);
	free(w->process.exe);
	free(w->process.container);
}

void db_names_free(struct db_names *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->nimages; i++)
		free(n->images[i].key);
	for (size_t i = 0; i < n->nnew_images; i++)
		free_image(&n->new_images[i]);
	for (size_t i = 0; i < n->nnew_processes; i++)
		free_process(&n->new_processes[i]);
	free(n->images);
	free(n->new_images);
	free(n->new_processes);
	free(n->image_alias);
	free(n->process_alias);
	free(n->cache);
	free(n->needed);
	free(n->boot_id);
	free(n);
}

/* Whether rows have any of these numbers. */
static bool is_used(struct db *d, enum held_kind kind, int64_t first, int64_t end)
{
	struct db_rows r = db_query(
	    d,
	    kind == HELD_IMAGES ? "SELECT 1 FROM image WHERE id >= ?1 AND id < ?2 LIMIT 1"
				: "SELECT 1 FROM process WHERE id >= ?1 AND id < ?2 LIMIT 1",
	    "ii", first, end);
	const bool used = db_next(&r);

	return !db_done(&r, NULL) || used;
}

/*
 * Reserves numbers in the file, inside a transaction. After the largest number they begin anew: a
 * machine that starts a thousand processes a second takes seven weeks to get there. By then most rows
 * are gone, and numbers that some still have are passed over.
 */
static bool reserve(struct db *d, enum held_kind kind, int64_t many, struct range *left)
{
	const char *name = kind == HELD_IMAGES ? "image" : "process";
	struct db_rows r = db_query(d, "SELECT next FROM sequence WHERE name = ?1", "s", name);
	int64_t first = db_next(&r) ? db_int(&r, 0) : 1;

	if (!db_done(&r, NULL))
		return false;
	for (int tries = 0; tries < RESERVE_TRIES; tries++, first += many) {
		if (first < 1 || first > NUMBERS_END - many)
			first = 1;
		if (is_used(d, kind, first, first + many))
			continue;
		*left = (struct range){ first, first + many };
		return db_run(d, NULL,
			      "INSERT INTO sequence VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE"
			      " SET next = ?2",
			      "si", name, first + many);
	}
	return false;
}

/* The next number of a kind; reserves more in the file where none is left. 0: there is none. */
static uint32_t next_number(struct db *d, enum held_kind kind, int64_t many, struct range *left)
{
	struct range more = { 0 };

	if (left->next == left->end) {
		const bool own = sqlite3_get_autocommit(d->sql);
		bool ok = !own || db_begin(d, NULL);

		ok = ok && reserve(d, kind, many, &more);
		if (own)
			ok = db_end(d, ok, NULL);
		if (!ok)
			return 0;
		*left = more;
	}
	return (uint32_t)left->next++;
}

/* ---- Images ---- */

static char *copy(const char *s)
{
	return x_strdup(s ? s : "");
}

static struct waiting_image *image_waits(struct db_names *n, const char *key, uint32_t id,
					 const struct live_image *i, bool has_row)
{
	struct waiting_image *w = ARRAY_ADD(n->new_images, n->nnew_images);

	*w = (struct waiting_image){ .id = id, .key = copy(key), .image = *i, .has_row = has_row };
	w->image.name = copy(i->name);
	w->image.path = i->path ? copy(i->path) : NULL;
	w->image.build_id = copy(i->build_id);
	w->image.digest = copy(i->digest);
	w->image.symbols = NULL;
	w->image.code = NULL;
	if (i->nsymbols)
		db_pack_symbols(i->symbols, i->nsymbols, &w->symbols);
	if (i->ncode)
		db_pack_code(i->code, i->ncode, &w->code);
	return w;
}

/* Symbols and code that came after the image: with what waits already, or by themselves. */
static void kept_waits(struct db_names *n, const char *key, uint32_t id, const struct live_image *i)
{
	for (size_t k = 0; k < n->nnew_images; k++) {
		struct waiting_image *w = &n->new_images[k];

		if (w->id != id)
			continue;
		/* What is known of an image only grows. */
		db_pack_symbols(i->symbols, i->nsymbols, &w->symbols);
		db_pack_code(i->code, i->ncode, &w->code);
		return;
	}
	image_waits(n, key, id, i, true);
}

uint32_t db_names_image(struct db_names *n, const struct live_image *i)
{
	char *key = db_image_key(i);
	const size_t at = ARRAY_SEARCH(n->nimages, k, strcmp(n->images[k].key, key) < 0);

	if (at < n->nimages && strcmp(n->images[at].key, key) == 0) {
		struct known_image *known = &n->images[at];

		if (i->nsymbols > known->symbols || i->ncode > known->code) {
			kept_waits(n, key, known->id, i);
			known->symbols = max_u64(known->symbols, i->nsymbols);
			known->code = max_u64(known->code, i->ncode);
		}
		free(key);
		return known->id;
	}
	struct db_rows r = db_query(n->db, "SELECT id FROM image WHERE identity = ?1", "s", key);
	uint32_t id = db_next(&r) ? (uint32_t)db_int(&r, 0) : 0;

	db_done(&r, NULL);
	const bool has_row = id != 0;

	if (!id)
		id = next_number(n->db, HELD_IMAGES, RESERVE_IMAGES, &n->images_left);
	if (!id) {
		free(key);
		return n->unknown;
	}
	if (!has_row || i->nsymbols || i->ncode)
		image_waits(n, key, id, i, has_row);
	ARRAY_ADD(n->images, n->nimages);
	memmove(&n->images[at + 1], &n->images[at], (n->nimages - 1 - at) * sizeof(*n->images));
	n->images[at] = (struct known_image){ key, id, i->nsymbols, i->ncode };
	return id;
}

/* Adds the old elements that the new ones lack: both are sorted by a first member `offset`. On equal
 * offsets the longer one stays. */
#define MERGE(type, new, nnew, old, nold, out, nout)                                               \
	do {                                                                                       \
		size_t a_ = 0, b_ = 0;                                                             \
		(nout) = 0;                                                                        \
		(out) = x_malloc(((nnew) + (nold) + 1) * sizeof(type));                            \
		while (a_ < (nnew) || b_ < (nold)) {                                               \
			const bool both_ =                                                         \
			    a_ < (nnew) && b_ < (nold) && (new)[a_].offset == (old)[b_].offset;    \
			const bool first_ =                                                        \
			    b_ == (nold) ||                                                        \
			    (a_ < (nnew) && (new)[a_].offset < (old)[b_].offset) ||                \
			    (both_ && (new)[a_].size_bytes >= (old)[b_].size_bytes);               \
			(out)[(nout)++] = first_ ? (new)[a_] : (old)[b_];                          \
			a_ += first_ || both_;                                                     \
			b_ += !first_ || both_;                                                    \
		}                                                                                  \
	} while (0)

/* Adds what the row has to packed symbols; what is no pack adds nothing. */
static void merge_symbols(struct db_bytes *to, const uint8_t *data, size_t size)
{
	struct live_symbol *new = NULL, *old = NULL, *all;
	size_t nnew = 0, nold = 0, n;

	if (data && db_unpack_symbols(data, size, &old, &nold) &&
	    (!to->data || db_unpack_symbols(to->data, to->size, &new, &nnew))) {
		MERGE(struct live_symbol, new, nnew, old, nold, all, n);
		db_pack_symbols(all, n, to);
		free(all);
	}
	db_symbols_free(new, nnew);
	db_symbols_free(old, nold);
}

static void merge_code(struct db_bytes *to, const uint8_t *data, size_t size)
{
	struct live_code *new = NULL, *old = NULL, *all;
	size_t nnew = 0, nold = 0, n;

	if (data && db_unpack_code(data, size, &old, &nold) &&
	    (!to->data || db_unpack_code(to->data, to->size, &new, &nnew))) {
		MERGE(struct live_code, new, nnew, old, nold, all, n);
		db_pack_code(all, n, to);
		free(all);
	}
	db_code_free(new, nnew);
	db_code_free(old, nold);
}

/* Symbols and code of an image add up: a daemon that starts anew begins with none. */
static bool write_kept(struct db_names *n, struct waiting_image *w, uint32_t row, struct err *e)
{
	if (!w->symbols.data && !w->code.data)
		return true;
	struct db_rows r =
	    db_query(n->db, "SELECT symbols, code FROM kept WHERE image = ?1", "i", (int64_t)row);
	size_t symbols = 0, code = 0;

	if (db_next(&r)) {
		const uint8_t *data = db_blob(&r, 0, &symbols);

		merge_symbols(&w->symbols, data, symbols);
		data = db_blob(&r, 1, &code);
		merge_code(&w->code, data, code);
	}
	if (!db_done(&r, e))
		return false;
	const uint64_t have = (uint64_t)db_number(
	    n->db,
	    "SELECT ifnull(sum(ifnull(length(symbols), 0) + ifnull(length(code), 0)), 0) FROM kept",
	    0);

	if (have - symbols - code + w->symbols.size + w->code.size > n->kept_max_bytes)
		return true;
	return db_run(n->db, e, "INSERT OR REPLACE INTO kept VALUES (?1, ?2, ?3)", "ibb",
		      (int64_t)row, w->symbols.data, w->symbols.size, w->code.data, w->code.size);
}

/* The row with our identity, which may be somebody else's. */
static bool row_of(struct db_rows r, uint32_t ours, struct alias **aliases, size_t *n,
		   uint32_t *row, struct err *e)
{
	*row = ours;
	if (db_next(&r))
		*row = (uint32_t)db_int(&r, 0);
	if (*row != ours)
		*ARRAY_ADD(*aliases, *n) = (struct alias){ ours, *row };
	return db_done(&r, e);
}

static bool write_image(struct db_names *n, struct waiting_image *w, struct err *e)
{
	const struct live_image *i = &w->image;
	uint32_t row = db_names_row_of_image(n, w->id);

	if (!w->has_row &&
	    (!db_run(n->db, e,
		     "INSERT OR IGNORE INTO image VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7,"
		     " ?8, ?9, ?10, ?11, ?12)",
		     "isissssiiiii", (int64_t)w->id, w->key, (int64_t)i->kind, i->name, i->path,
		     i->build_id, i->digest, (int64_t)i->dev, (int64_t)i->ino,
		     (int64_t)i->size_bytes, (int64_t)i->mtime_ns, n->begin_s) ||
	     !row_of(db_query(n->db, "SELECT id FROM image WHERE identity = ?1", "s", w->key),
		     w->id, &n->image_alias, &n->nimage_alias, &row, e)))
		return false;
	return write_kept(n, w, row, e);
}

/* ---- Processes ---- */

static bool same_process(const struct live_process *a, const struct live_process *b)
{
	return a->pid == b->pid && a->exec_id == b->exec_id && a->start_ns == b->start_ns;
}

static struct db_rows process_row(struct db_names *n, const struct live_process *p)
{
	return db_query(n->db,
			"SELECT id FROM process WHERE boot_id = ?1 AND pid = ?2 AND"
			" start_ns = ?3 AND exec_id = ?4",
			"siii", n->boot_id, (int64_t)p->pid, (int64_t)p->start_ns,
			(int64_t)p->exec_id);
}

/* A process that is not in the cache: one that waits and was pushed out, or a row. 0: it is new. */
static uint32_t find_process(struct db_names *n, const struct live_process *p, bool pushed_out)
{
	uint32_t id = 0;

	for (size_t i = pushed_out ? n->nnew_processes : 0; i-- && !id;)
		if (same_process(&n->new_processes[i].process, p))
			id = n->new_processes[i].id;
	if (id)
		return id;
	struct db_rows r = process_row(n, p);

	if (db_next(&r))
		id = (uint32_t)db_int(&r, 0);
	db_done(&r, NULL);
	return id;
}

static uint32_t new_process(struct db_names *n, const struct live_process *p)
{
	const uint32_t id =
	    n->nnew_processes < WAITING_PROCESSES
		? next_number(n->db, HELD_PROCESSES, RESERVE_PROCESSES, &n->processes_left)
		: 0;

	if (!id)
		return 0;
	struct waiting_process *w = ARRAY_ADD(n->new_processes, n->nnew_processes);

	*w = (struct waiting_process){ .id = id, .process = *p };
	w->process.comm = copy(p->comm);
	w->process.exe = copy(p->exe);
	w->process.container = copy(p->container);
	return id;
}

uint32_t db_names_process(struct db_names *n, const struct live_process *p)
{
	struct cached *at =
	    &n->cache[hash_u64((uint64_t)(uint32_t)p->pid << 32 ^ p->exec_id ^ p->start_ns * 31) %
		      PROCESS_CACHE];

	if (at->id && at->pid == p->pid && at->exec_id == p->exec_id && at->start_ns == p->start_ns)
		return at->id;
	uint32_t id = find_process(n, p, at->id != 0);

	id = id ? id : new_process(n, p);
	if (!id)
		return LIVE_NO_PROCESS;
	*at = (struct cached){ p->start_ns, p->pid, p->exec_id, id };
	return id;
}

static bool write_process(struct db_names *n, const struct waiting_process *w, struct err *e)
{
	const struct live_process *p = &w->process;
	uint32_t row;

	return db_run(n->db, e,
		      "INSERT OR IGNORE INTO process VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7,"
		      " ?8, ?9, ?10)",
		      "isiiiisssi", (int64_t)w->id, n->boot_id, (int64_t)p->pid,
		      (int64_t)p->start_ns, (int64_t)p->exec_id, (int64_t)p->uid, p->comm, p->exe,
		      p->container, n->begin_s) &&
	       row_of(process_row(n, p), w->id, &n->process_alias, &n->nprocess_alias, &row, e);
}

/* ---- Events ---- */

/* Events are few, and asked for once: their rows are written at once. */
uint32_t db_names_event(struct db_names *n, const struct live_event *x)
{
	const char *name = x->name ? x->name : "", *actual = x->actual ? x->actual : "";
	uint32_t id = 0;

	db_run(n->db, NULL, "INSERT OR IGNORE INTO event (name, actual) VALUES (?1, ?2)", "ss",
	       name, actual);
	struct db_rows r = db_query(n->db, "SELECT id FROM event WHERE name = ?1 AND actual = ?2",
				    "ss", name, actual);

	if (db_next(&r))
		id = (uint32_t)db_int(&r, 0);
	db_done(&r, NULL);
	return id;
}

/* ---- Writing ---- */

bool db_names_write(struct db_names *n, bool *more, struct err *e)
{
	bool ok = true;

	for (int i = 0; ok && i < ROWS_AT_ONCE; i++) {
		if (n->done_images < n->nnew_images)
			ok = write_image(n, &n->new_images[n->done_images++], e);
		else if (n->done_processes < n->nnew_processes)
			ok = write_process(n, &n->new_processes[n->done_processes++], e);
		else
			break;
	}
	*more = n->done_images < n->nnew_images || n->done_processes < n->nnew_processes;
	return ok;
}

/* A machine that builds has new images all day. Those that wait have no row to be found by. */
static void forget_many_images(struct db_names *n)
{
	if (n->nimages <= KNOWN_IMAGES || n->nnew_images)
		return;
	for (size_t i = 0; i < n->nimages; i++)
		free(n->images[i].key);
	free(n->images);
	n->images = NULL;
	n->nimages = 0;
}

void db_names_written(struct db_names *n, bool committed)
{
	if (committed) {
		for (size_t i = 0; i < n->done_images; i++)
			free_image(&n->new_images[i]);
		for (size_t i = 0; i < n->done_processes; i++)
			free_process(&n->new_processes[i]);
		n->nnew_images -= n->done_images;
		n->nnew_processes -= n->done_processes;
		for (size_t i = 0; i < n->nnew_images; i++)
			n->new_images[i] = n->new_images[i + n->done_images];
		for (size_t i = 0; i < n->nnew_processes; i++)
			n->new_processes[i] = n->new_processes[i + n->done_processes];
	}
	if (!committed)
		memset(n->needed, 0, NEEDED_CACHE * sizeof(*n->needed));
	n->done_images = n->done_processes = 0;
	forget_many_images(n);
}

/* ---- What is needed, held and gone ---- */

void db_names_begin(struct db_names *n, int64_t second)
{
	n->begin_s = second;
}

bool db_names_need(struct db_names *n, enum held_kind kind, uint32_t row, int64_t second,
		   struct err *e)
{
	struct needed *at = &n->needed[(row * 2 + (uint32_t)kind) % NEEDED_CACHE];

	if (at->row == row && at->kind == kind && at->second == second)
		return true;
	*at = (struct needed){ second, row, kind };
	return db_run(n->db, e,
		      kind == HELD_IMAGES
			  ? "UPDATE image SET last_s = ?2 WHERE id = ?1 AND last_s < ?2"
			  : "UPDATE process SET last_s = ?2 WHERE id = ?1 AND last_s < ?2",
		      "ii", (int64_t)row, second);
}

void db_names_hold(const struct db_names *n, struct held *h)
{
	held_mark(h, HELD_IMAGES, n->unknown);
	for (size_t i = 0; i < n->nnew_images; i++)
		held_mark(h, HELD_IMAGES, db_names_row_of_image(n, n->new_images[i].id));
	/* Whoever holds our number of a row that somebody else made, holds the row. These are few. */
	for (size_t i = 0; i < n->nimage_alias; i++)
		held_mark(h, HELD_IMAGES, n->image_alias[i].row);
	for (size_t i = 0; i < n->nprocess_alias; i++)
		held_mark(h, HELD_PROCESSES, n->process_alias[i].row);
}

static bool is_gone(const struct held *gone, uint32_t row)
{
	const size_t at = held_find(gone, row);

	return at != SIZE_MAX && !gone->held[at];
}

void db_names_forget(struct db_names *n, const struct held *gone)
{
	size_t kept = 0;

	/* A place in the cache stays taken: a process that waits may have been pushed out of it. */
	for (size_t i = 0; gone->kind == HELD_PROCESSES && i < PROCESS_CACHE; i++)
		if (n->cache[i].id && is_gone(gone, n->cache[i].id))
			n->cache[i] = (struct cached){ .pid = -1, .id = n->cache[i].id };
	if (gone->kind != HELD_IMAGES)
		return;
	for (size_t i = 0; i < n->nimages; i++)
		if (is_gone(gone, n->images[i].id))
			free(n->images[i].key);
		else
			n->images[kept++] = n->images[i];
	n->nimages = kept;
}

static uint32_t row_in(const struct alias *aliases, size_t n, uint32_t id)
{
	for (size_t i = 0; i < n; i++)
		if (aliases[i].ours == id)
			return aliases[i].row;
	return id;
}

uint32_t db_names_row_of_image(const struct db_names *n, uint32_t id)
{
	return row_in(n->image_alias, n->nimage_alias, id);
}

uint32_t db_names_row_of_process(const struct db_names *n, uint32_t id)
{
	return row_in(n->process_alias, n->nprocess_alias, id);
}
