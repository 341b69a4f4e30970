/* SPDX-License-Identifier: MIT */
/*
 * Writes a live profile into a store. A store's key is an address, and the images of a machine lie
 * at overlapping addresses, so that every image gets a place of its own: pc = image.bias + the
 * image's own address (ELF virtual; the offset where there is no file), and places begin at
 * multiples of PLACE_BYTES. Images are opened one after the other: a machine has more of them than a
 * process may have descriptors.
 */
#include "collect/live_store.h"

#include <stdlib.h>
#include <string.h>

#include "collect/live_names.h"
#include "names/names.h"
#include "util/array.h"

#define GRAPH_SAMPLES 20 /* that a function's graph is worth its bytes for */
#define PLACE_BYTES   ((uint64_t)1 << 40)
#define PLACES_MOST   ((uint64_t)1 << 22)

/* An image as it lies in the store. */
struct placed {
	struct live_place place;
	uint64_t bias, start, end; /* [start, end) is its own */
	struct names_pc *pcs;	   /* addresses that need names */
	size_t npcs, capacity;
	bool any; /* an address is known: low and high are */
	uint64_t low, high;
};

struct writer {
	struct live_profile *p;
	struct store *store;
	struct placed *images;
	size_t nimages;
	const struct live_count *counts;
	const struct live_stack *stacks;
	const struct live_edge *edges;
	size_t ncounts, nstacks, nedges;
	uint64_t total;
};

/* One row of live_count. */
struct count_row {
	uint64_t pc;
	int64_t event, process, cpu;
	uint64_t count;
};

static const char *text(const char *s)
{
	return s ? s : "";
}

/* ---- Places ---- */

static void widen(struct placed *x, uint64_t address)
{
	x->low = x->any ? min_u64(x->low, address) : address;
	x->high = x->any ? max_u64(x->high, address) : address;
	x->any = true;
}

static void see(struct writer *w, uint32_t image, uint64_t offset)
{
	struct placed *x = &w->images[image];

	widen(x, live_place_address(&x->place, offset));
}

static void see_all(struct writer *w)
{
	for (size_t i = 0; i < w->ncounts; i++)
		see(w, w->counts[i].image, w->counts[i].offset);
	for (size_t i = 0; i < w->nstacks; i++)
		for (size_t k = 0; k < w->stacks[i].nframes; k++)
			see(w, w->stacks[i].frames[k].image, w->stacks[i].frames[k].offset);
	for (size_t i = 0; i < w->nedges; i++)
		see(w, w->edges[i].image, w->edges[i].offset);
	for (size_t i = 0; i < w->nimages; i++) {
		const struct image_probe *probe = w->images[i].place.probe;

		for (size_t k = 0; probe && k < probe->nsegments; k++) {
			const struct image_segment *s = &probe->segment[k];

			widen(&w->images[i], s->address);
			widen(&w->images[i],
			      s->address + (s->memory_bytes ? s->memory_bytes - 1 : 0));
		}
	}
}

/* Gives every image a place that is long enough for its addresses; address 0 of a file lies at the
 * beginning of its place unless it has others beyond the place's length. */
static bool place_all(struct writer *w, struct err *e)
{
	uint64_t next = 1;

	see_all(w);
	for (size_t i = 0; i < w->nimages; i++) {
		struct placed *x = &w->images[i];
		const uint64_t origin = x->high < PLACE_BYTES ? 0 : x->low & ~(uint64_t)4095;
		const uint64_t places = (x->high - origin) / PLACE_BYTES + 1;

		if (places > PLACES_MOST - next)
			return err_set(e,
				       "%s: too many images, or images at addresses that no "
				       "process has; select fewer of them",
				       store_path(w->store));
		x->start = next * PLACE_BYTES;
		x->bias = x->start - origin;
		next += places;
		x->end = next * PLACE_BYTES;
	}
	return true;
}

static uint64_t pc_of(const struct writer *w, uint32_t image, uint64_t offset)
{
	const struct placed *x = &w->images[image];

	return x->bias + live_place_address(&x->place, offset);
}

static void want_name(struct writer *w, uint32_t image, uint64_t pc, uint64_t units)
{
	struct placed *x = &w->images[image];

	ARRAY_ROOM(x->pcs, x->capacity, x->npcs + 1);
	x->pcs[x->npcs++] = (struct names_pc){ pc, (int64_t)units };
	w->total += units;
}

/* ---- Rows ---- */

static bool put_text(struct writer *w, const char *key, const char *value, struct err *e)
{
	return store_insert(w->store, e, "run", "ss", key, text(value));
}

static bool put_number(struct writer *w, const char *key, uint64_t value, struct err *e)
{
	return store_insert(w->store, e, "run", "si", key, (int64_t)(value & INT64_MAX));
}

static bool put_facts(struct writer *w, struct err *e)
{
	const struct live_facts *f = live_facts(w->p);

	return put_text(w, "kind", "live", e) && put_text(w, "program", f->command, e) &&
	       put_text(w, "machine", f->machine, e) && put_text(w, "boot_id", f->boot_id, e) &&
	       put_text(w, "kernel", f->kernel, e) &&
	       put_text(w, "kernel_build_id", f->kernel_build_id, e) &&
	       put_number(w, "begin_ns", f->begin_ns, e) && put_number(w, "end_ns", f->end_ns, e) &&
	       put_number(w, "cpus", f->cpus, e) && put_number(w, "idle_ns", f->idle_ns, e) &&
	       store_insert(w->store, e, "run", "sd", "budget", f->budget) &&
	       store_insert(w->store, e, "run", "sd", "interrupt_ns", f->interrupt_ns) &&
	       store_insert(w->store, e, "run", "sd", "daemon_cpu_ns", f->daemon_cpu_ns);
}

static bool put_events(struct writer *w, struct err *e)
{
	const size_t n = live_events(w->p);
	uint64_t *unknown = x_calloc(n + 1, sizeof(*unknown));
	bool ok = true;

	for (size_t i = 0; i < w->ncounts; i++)
		if (live_image(w->p, w->counts[i].image)->kind == LIVE_UNKNOWN)
			unknown[w->counts[i].event] += w->counts[i].count;
	for (size_t i = 0; ok && i < n; i++) {
		const struct live_event *v = live_event(w->p, i);

		ok = store_insert(w->store, e, "live_event", "issdidiiiii", (int64_t)i,
				  text(v->name), text(v->actual), v->rate, (int64_t)v->period,
				  v->running, (int64_t)v->taken, (int64_t)v->stored,
				  (int64_t)v->lost, (int64_t)v->pending, (int64_t)unknown[i]);
	}
	free(unknown);
	return ok;
}

static bool put_processes(struct writer *w, struct err *e)
{
	bool ok = true;

	for (size_t i = 0; ok && i < live_processes(w->p); i++) {
		const struct live_process *x = live_process(w->p, i);

		ok = store_insert(w->store, e, "live_process", "iiiiisss", (int64_t)i,
				  (int64_t)x->pid, (int64_t)x->exec_id, (int64_t)x->start_ns,
				  (int64_t)x->uid, text(x->comm), text(x->exe), text(x->container));
		if (ok && x->tid)
			ok = store_insert(w->store, e, "live_thread", "iiis", (int64_t)i,
					  (int64_t)x->tid, (int64_t)x->thread_ns, text(x->thread));
	}
	return ok;
}

static bool put_images(struct writer *w, struct err *e)
{
	bool ok = true;

	for (size_t i = 0; ok && i < w->nimages; i++) {
		const struct live_image *m = live_image(w->p, i);
		const struct placed *x = &w->images[i];

		ok = store_insert(w->store, e, "image", "isssiii", (int64_t)i,
				  text(x->place.path ? x->place.path : m->path), text(m->name),
				  text(m->build_id), (int64_t)x->start, (int64_t)x->end,
				  (int64_t)x->bias) &&
		     store_insert(w->store, e, "live_image", "isssiiii", (int64_t)i,
				  live_kind_name[m->kind], live_source_name[x->place.source],
				  text(m->digest), (int64_t)m->dev, (int64_t)m->ino,
				  (int64_t)m->size_bytes, (int64_t)m->mtime_ns);
	}
	return ok;
}

static int by_key(const void *a, const void *b)
{
	const struct count_row *x = a, *y = b;

	if (x->pc != y->pc)
		return x->pc < y->pc ? -1 : 1;
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

/* Segments of a broken file may overlap, so that two offsets are one address: their counts add up. */
static size_t merge_rows(struct count_row *rows, size_t n)
{
	size_t kept = 0;

	if (n)
		qsort(rows, n, sizeof(*rows), by_key);
	for (size_t i = 0; i < n; i++) {
		if (kept && by_key(&rows[kept - 1], &rows[i]) == 0)
			rows[kept - 1].count += rows[i].count;
		else
			rows[kept++] = rows[i];
	}
	return kept;
}

static bool put_counts(struct writer *w, struct err *e)
{
	struct count_row *rows = x_malloc((w->ncounts + 1) * sizeof(*rows));
	bool ok = true;

	for (size_t i = 0; i < w->ncounts; i++) {
		const struct live_count *c = &w->counts[i];
		const uint64_t pc = pc_of(w, c->image, c->offset);

		rows[i] =
		    (struct count_row){ pc, c->event,
					c->process == LIVE_NO_PROCESS ? -1 : (int64_t)c->process,
					c->cpu == LIVE_NO_CPU ? -1 : (int64_t)c->cpu, c->count };
		want_name(w, c->image, pc, c->count);
	}
	const size_t n = merge_rows(rows, w->ncounts);

	for (size_t i = 0; ok && i < n; i++)
		ok = store_insert(w->store, e, "live_count", "iiiii", (int64_t)rows[i].pc,
				  rows[i].event, rows[i].process, rows[i].cpu,
				  (int64_t)rows[i].count);
	free(rows);
	return ok;
}

static bool put_stacks(struct writer *w, struct err *e)
{
	bool ok = true;

	for (size_t i = 0; ok && i < w->nstacks; i++) {
		const struct live_stack *s = &w->stacks[i];

		ok = store_insert(w->store, e, "live_stack", "iiiii", (int64_t)i, (int64_t)s->event,
				  s->process == LIVE_NO_PROCESS ? (int64_t)-1 : (int64_t)s->process,
				  (int64_t)s->broken, (int64_t)s->count);
		for (size_t k = 0; ok && k < s->nframes; k++) {
			const struct live_frame *f = &s->frames[k];
			const uint64_t pc = pc_of(w, f->image, f->offset);

			want_name(w, f->image, pc, 0);
			ok = store_insert(w->store, e, "live_frame", "iii", (int64_t)i, (int64_t)k,
					  (int64_t)pc);
		}
	}
	return ok;
}

static int by_edge_pc(const void *a, const void *b)
{
	const struct live_edge *x = a, *y = b;

	return (x->offset > y->offset) - (x->offset < y->offset);
}

static bool put_edges(struct writer *w, struct err *e)
{
	struct live_edge *rows = x_malloc((w->nedges + 1) * sizeof(*rows));
	size_t n = 0;
	bool ok = true;

	for (size_t i = 0; i < w->nedges; i++) {
		rows[i] = w->edges[i];
		rows[i].offset = pc_of(w, rows[i].image, rows[i].offset);
	}
	if (w->nedges)
		qsort(rows, w->nedges, sizeof(*rows), by_edge_pc);
	for (size_t i = 0; i < w->nedges; i++) {
		if (n && rows[n - 1].offset == rows[i].offset) {
			rows[n - 1].taken += rows[i].taken;
			rows[n - 1].not_taken += rows[i].not_taken;
		} else {
			rows[n++] = rows[i];
		}
	}
	for (size_t i = 0; ok && i < n; i++) {
		want_name(w, rows[i].image, rows[i].offset, 0);
		ok = store_insert(w->store, e, "live_edge", "iii", (int64_t)rows[i].offset,
				  (int64_t)rows[i].taken, (int64_t)rows[i].not_taken);
	}
	free(rows);
	return ok;
}

static bool put_names(struct writer *w, struct err *e)
{
	struct names *names = names_new(
	    w->store, &(struct names_options){
			  .total = w->total, .jumps = true, .graphs_from = GRAPH_SAMPLES });
	bool ok = true;

	for (size_t i = 0; ok && i < w->nimages; i++) {
		struct placed *x = &w->images[i];

		if (!x->npcs)
			continue;
		struct images *set =
		    live_place_open(&x->place, live_image(w->p, i), x->bias, x->start, x->end);

		ok = names_add(names, set, (int64_t)i, x->pcs, x->npcs, e);
		images_free(set);
	}
	names_free(names);
	return ok;
}

static bool write_all(struct live_profile *p, struct store *store, struct err *e)
{
	struct writer w = { .p = p, .store = store, .nimages = live_images(p) };

	w.images = x_calloc(w.nimages + 1, sizeof(*w.images));
	w.counts = live_counts(p, &w.ncounts);
	w.stacks = live_stacks(p, &w.nstacks);
	w.edges = live_edges(p, &w.nedges);
	for (size_t i = 0; i < w.nimages; i++)
		w.images[i].place = live_place_of(live_image(p, i));
	const bool ok = place_all(&w, e) && put_facts(&w, e) && put_events(&w, e) &&
			put_processes(&w, e) && put_images(&w, e) && put_counts(&w, e) &&
			put_stacks(&w, e) && put_edges(&w, e) && put_names(&w, e);

	for (size_t i = 0; i < w.nimages; i++) {
		live_place_free(&w.images[i].place);
		free(w.images[i].pcs);
	}
	free(w.images);
	return ok;
}

static struct store *finish(struct store *s, struct live_profile *p, struct err *e)
{
	if (s && write_all(p, s, e) && store_commit(s, e))
		return s;
	store_close(s);
	return NULL;
}

bool live_store_write(struct live_profile *p, const char *path, struct err *e)
{
	struct store *s = finish(store_create(path, e), p, e);

	store_close(s);
	return s != NULL;
}

struct store *live_store_open(struct live_profile *p, const char *name, struct err *e)
{
	return finish(store_create_memory(name, e), p, e);
}
