/* SPDX-License-Identifier: MIT */
/*
 * The functional pass of `culprit sample`: basic block vectors, how often each instruction ran, and the
 * run's recipe, all in one folder. Only sample.c asks for it; a user has `culprit bbv`.
 *
 * Numbers in these files are those of this host, and a line in front says which version they are: the
 * files are a cache, and one that is not as expected is made again.
 */
#include "cmd/sim_into.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/progress.h"
#include "cmd/vectors.h"
#include "image/image.h"
#include "jobs/recipe.h"
#include "names/names.h"
#include "store/store.h"

static bool asked_to_stop(void)
{
	return sim_stop_signal() != 0;
}

static void show_progress(void *ctx, uint64_t insts)
{
	progress_update(ctx, insts);
}

bool sim_into_run(struct sim *s, struct err *e)
{
	const struct sim_into *into = s->options->into;
	struct progress progress;
	struct vectors found = { .insts = 0 };
	struct vectors_options o = { .interval = into->interval,
				     .max_insts = s->options->max_insts,
				     .data = into->data,
				     .partial = into->partial,
				     .rows = true,
				     .dims = into->dims,
				     .seed = into->seed,
				     .file = into->bb,
				     .stop = asked_to_stop,
				     .progress = show_progress,
				     .progress_ctx = &progress };
	bool ok;

	progress_begin(&progress, s->options->max_insts);
	ok = vectors_run(s->guest, &o, &found, e);
	progress_end(&progress);
	s->run.host_seconds = host_now() - s->run.first_second;
	s->run.insts = found.insts;
	s->run.status = found.status;
	s->run.exit_status = found.status == GUEST_RUNNING ? 0 : guest_exit_status(s->guest);
	s->run.stop_signal = found.stopped ? sim_stop_signal() : 0;
	s->vectors = found.intervals;
	return ok;
}

/* ---- files of numbers ---- */

#define MAGIC_BYTES 24

static bool put(FILE *f, const void *data, size_t size, size_t count)
{
	return !count || fwrite(data, size, count, f) == count;
}

static bool get(FILE *f, void *data, size_t size, size_t count)
{
	return !count || fread(data, size, count, f) == count;
}

static FILE *create(const char *dir, const char *name, const char *magic, char **path)
{
	char head[MAGIC_BYTES] = "";
	FILE *f;

	snprintf(head, sizeof(head), "%s", magic);
	*path = x_asprintf("%s/%s", dir, name);
	f = fopen(*path, "we");
	if (f && !put(f, head, 1, sizeof(head))) {
		fclose(f);
		f = NULL;
	}
	return f;
}

static FILE *reopen(const char *dir, const char *name, const char *magic)
{
	char head[MAGIC_BYTES], *path = x_asprintf("%s/%s", dir, name);
	FILE *f = fopen(path, "re");

	free(path);
	if (f && (!get(f, head, 1, sizeof(head)) || strncmp(head, magic, sizeof(head)))) {
		fclose(f);
		f = NULL;
	}
	return f;
}

static bool finish(FILE *f, bool ok, char *path, struct err *e)
{
	if (f && fclose(f))
		ok = false;
	if (!ok)
		err_set(e, "cannot write '%s': %s", path, strerror(errno));
	free(path);
	return ok;
}

#define VECTORS_MAGIC	 "culprit vectors 1\n"
#define EXECUTIONS_MAGIC "culprit executions 1\n"

static bool write_vectors(const char *dir, const struct intervals *v, struct err *e)
{
	const uint64_t head[] = { v->interval, v->dims, v->count };
	char *path;
	FILE *f = create(dir, "vectors", VECTORS_MAGIC, &path);
	bool ok = f && put(f, head, sizeof(head), 1) &&
		  put(f, v->insts, sizeof(*v->insts), v->count) &&
		  put(f, v->rows, sizeof(*v->rows) * v->dims, v->count);

	return finish(f, ok, path, e);
}

bool sim_into_vectors(const char *dir, struct intervals *out)
{
	FILE *f = reopen(dir, "vectors", VECTORS_MAGIC);
	uint64_t head[3];
	bool ok = f && get(f, head, sizeof(head), 1) && head[1] && head[1] <= SIM_INTO_DIMS &&
		  head[2] && head[2] <= SIM_INTO_INTERVALS;

	*out = (struct intervals){ .interval = 0 };
	if (ok) {
		*out = (struct intervals){ .interval = head[0],
					   .dims = (unsigned)head[1],
					   .count = head[2],
					   .rows = x_calloc(head[2] * head[1], sizeof(*out->rows)),
					   .insts = x_calloc(head[2], sizeof(*out->insts)) };
		ok = get(f, out->insts, sizeof(*out->insts), out->count) &&
		     get(f, out->rows, sizeof(*out->rows) * out->dims, out->count) &&
		     fgetc(f) == EOF;
	}
	if (f)
		fclose(f);
	if (!ok)
		intervals_free(out);
	return ok;
}

/* How often each instruction ran. */
struct executions {
	struct executed {
		uint64_t pc, times;
	} * items;
	size_t count, room;
};

static void visit(void *ctx, uint64_t pc, const struct inst *insts, size_t count, uint64_t times)
{
	struct executions *x = ctx;

	if (x->count + count > x->room) {
		x->room = 2 * (x->count + count);
		x->items = x_realloc(x->items, x->room * sizeof(*x->items));
	}
	for (size_t i = 0; i < count; i++) {
		x->items[x->count++] = (struct executed){ pc, times };
		pc += insts[i].len;
	}
}

static int by_pc(const void *a, const void *b)
{
	const struct executed *x = a, *y = b;

	return x->pc < y->pc ? -1 : x->pc > y->pc;
}

static bool write_executions(const char *dir, struct guest *g, struct err *e)
{
	struct executions x = { .items = NULL };
	size_t n = 0;

	guest_visit_blocks(g, visit, &x);
	if (x.count)
		qsort(x.items, x.count, sizeof(*x.items), by_pc);
	for (size_t i = 0; i < x.count; i++) {
		if (n && x.items[n - 1].pc == x.items[i].pc)
			x.items[n - 1].times += x.items[i].times;
		else
			x.items[n++] = x.items[i];
	}

	const uint64_t head = n;
	char *path;
	FILE *f = create(dir, "executions", EXECUTIONS_MAGIC, &path);
	bool ok = f && put(f, &head, sizeof(head), 1) && put(f, x.items, sizeof(*x.items), n);

	free(x.items);
	return finish(f, ok, path, e);
}

bool sim_into_executions(const char *dir, uint64_t **pcs, uint64_t **times, size_t *count)
{
	FILE *f = reopen(dir, "executions", EXECUTIONS_MAGIC);
	uint64_t head = 0;
	bool ok = f && get(f, &head, sizeof(head), 1) && head <= SIM_INTO_PCS;

	*count = ok ? head : 0;
	*pcs = x_calloc(*count + 1, sizeof(**pcs));
	*times = x_calloc(*count + 1, sizeof(**times));
	for (size_t i = 0; ok && i < head; i++)
		ok = get(f, &(*pcs)[i], sizeof(**pcs), 1) &&
		     get(f, &(*times)[i], sizeof(**times), 1);
	if (f)
		fclose(f);
	return ok;
}

/* ---- the recipe ---- */

static bool put_images(struct sim *s, struct store *db, struct err *e)
{
	struct images *set = images_new(s->options->sysroot);
	const struct guest_image *images;
	size_t n = guest_images(s->guest, &images);
	bool ok;

	for (size_t i = 0; i < n; i++)
		images_add(set, images[i].path, images[i].name, images[i].bias, NULL);
	ok = names_put_images(db, set, 0, e);
	images_free(set);
	return ok;
}

static bool put_fact(struct store *db, enum recipe_item item, char *text, struct err *e)
{
	bool ok = !text || store_insert(db, e, "run", "ss", recipe_rows[item].key, text);

	free(text);
	return ok;
}

static bool put_recipe(struct sim *s, struct store *db, struct err *e)
{
	size_t n;
	struct trace_setting *rows = sim_command_rows(s, &n);
	bool ok = true;

	for (size_t i = 0; i < n; i++) {
		ok = ok && store_insert(db, e, "run", "ss", rows[i].key, rows[i].value);
		free((char *)rows[i].value);
	}
	free(rows);
	return ok;
}

static bool write_run(struct sim *s, const char *dir, struct err *e)
{
	char *path = x_asprintf("%s/" SIM_INTO_RUN, dir), hex[DIGEST_HEX];
	struct store *db = store_create(path, e);
	const struct sim_run *run = &s->run;
	bool ok = db;

	guest_notes(s->guest);
	ok = ok && store_insert(db, e, "run", "ss", "program", guest_program(s->guest)) &&
	     store_insert(db, e, "run", "si", "instructions", (int64_t)run->insts) &&
	     (run->status == GUEST_EXITED
		  ? store_insert(db, e, "run", "si", "exit_status", (int64_t)run->exit_status)
		  : store_insert(db, e, "run", "sn", "exit_status")) &&
	     store_insert(db, e, "run", "sd", "host_seconds", run->host_seconds) &&
	     put_fact(db, RUN_files, sim_files_text(s->guest), e) &&
	     put_fact(db, RUN_folders, sim_folders_text(s->guest), e) &&
	     put_fact(db, RUN_input, sim_streams_kept(&s->streams), e) &&
	     store_insert(db, e, "run", "si", recipe_rows[RUN_seed].key,
			  (int64_t)s->options->seed) &&
	     put_recipe(s, db, e) && put_images(s, db, e);
	if (ok && trust_sign(db, &s->key, hex))
		ok = store_insert(db, e, "run", "ss", TRUST_ROW, hex);
	ok = ok && store_commit(db, e);
	store_close(db);
	free(path);
	return ok;
}

bool sim_into_write(struct sim *s, struct err *e)
{
	const char *dir = s->options->into->dir;

	return write_vectors(dir, &s->vectors, e) && write_executions(dir, s->guest, e) &&
	       write_run(s, dir, e);
}
