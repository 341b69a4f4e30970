/* SPDX-License-Identifier: MIT */
/*
 * Reads a profile for the exporters: places with their inlined frames, and time by place, set of
 * events and category. Nothing is summed or rounded here but export_sample.time.
 */
#include "view/export.h"
#include "view/pooled.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/nearest.h"

/* While reading: one entry per distinct function, found by hash. */
struct reader {
	struct export_profile *p;
	size_t *slots; /* function index + 1; 0: free */
	size_t nslots;
};

static size_t hash(const char *name, const char *file, int line)
{
	uint64_t h = 14695981039346656037u + (unsigned)line;

	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * 1099511628211u;
	h = (h ^ 0xff) * 1099511628211u;
	for (; *file; file++)
		h = (h ^ (uint8_t)*file) * 1099511628211u;
	return (size_t)(h ^ h >> 32);
}

static size_t *slot_of(const struct reader *r, const char *name, const char *file, int line)
{
	for (size_t i = hash(name, file, line);; i++) {
		size_t *slot = &r->slots[i & (r->nslots - 1)];
		const struct export_function *f = *slot ? &r->p->functions[*slot - 1] : NULL;

		if (!f || (f->line == line && !strcmp(f->name, name) && !strcmp(f->file, file)))
			return slot;
	}
}

static void enlarge(struct reader *r)
{
	const struct export_profile *p = r->p;

	free(r->slots);
	r->nslots = r->nslots ? 2 * r->nslots : 1024;
	r->slots = x_calloc(r->nslots, sizeof(*r->slots));
	for (size_t i = 0; i < p->nfunctions; i++)
		*slot_of(r, p->functions[i].name, p->functions[i].file, p->functions[i].line) =
		    i + 1;
}

/* The number of a function; file NULL: not known. */
static size_t function_of(struct reader *r, const char *name, const char *file, int line)
{
	struct export_profile *p = r->p;

	file = file ? file : "";
	if (2 * p->nfunctions >= r->nslots)
		enlarge(r);
	size_t *slot = slot_of(r, name, file, line);

	if (!*slot) {
		*ARRAY_ADD(p->functions, p->nfunctions) =
		    (struct export_function){ x_strdup(name), x_strdup(file), line };
		*slot = p->nfunctions;
	}
	return *slot - 1;
}

static bool read_images(struct store *s, struct export_profile *p, struct err *e)
{
	struct store_rows r =
	    store_query(s, "SELECT path, build_id, start, end, bias FROM image ORDER BY start", "");

	while (store_next(&r)) {
		const char *path = store_shown(&r, 0), *id = store_shown(&r, 1);

		*ARRAY_ADD(p->images, p->nimages) = (struct export_image){
			.path = x_strdup(path ? path : "?"),
			.build_id = x_strdup(id ? id : ""),
			.start = (uint64_t)store_int(&r, 2),
			.end = (uint64_t)store_int(&r, 3),
			.bias = (uint64_t)store_int(&r, 4),
		};
	}
	return store_done(&r, e);
}

static size_t image_at(const struct export_profile *p, uint64_t pc)
{
	size_t i = ARRAY_SEARCH(p->nimages, k, p->images[k].start <= pc);

	return i && pc < p->images[i - 1].end ? i - 1 : EXPORT_NONE;
}

/* The file of a function's own code. It is named as instructions name it: table function may have
 * another path for the same file. By the function's place in the model; NULL: not known. */
static const char **files_of_functions(const struct model *m)
{
	const char **files = x_calloc(m->nfunctions + 1, sizeof(*files));

	for (size_t i = 0; i < m->ninsts; i++) {
		const struct model_inst *in = &m->insts[i];
		const struct model_function *f = model_function_of(m, in->function);

		if (f && !in->inlined && !files[f - m->functions])
			files[f - m->functions] = in->file;
	}
	for (size_t i = 0; i < m->nfunctions; i++)
		files[i] = files[i] ? files[i] : m->functions[i].file;
	return files;
}

/* A place for every instruction of the store, its frames still without what was inlined. */
static void make_places(struct reader *r)
{
	struct export_profile *p = r->p;
	const struct model *m = &p->model;
	const char **files = files_of_functions(m);

	p->places = x_calloc(m->ninsts + 1, sizeof(*p->places));
	for (size_t i = 0; i < m->ninsts; i++) {
		const struct model_inst *in = &m->insts[i];
		const struct model_function *f = model_function_of(m, in->function);
		const char *file = f ? files[f - m->functions] : NULL;
		struct export_place *place = &p->places[p->nplaces++];

		*place = (struct export_place){
			.pc = in->pc,
			.function = f ? f->id : -1,
			.image = image_at(p, in->pc),
		};
		*ARRAY_ADD(place->frames, place->nframes) = (struct export_frame){
			function_of(r, f ? f->name : "[unknown]",
				    in->file && !in->inlined ? in->file : file, f ? f->line : 0),
			in->line,
		};
	}
	free(files);
}

/* Puts the inlined frames before the enclosing function. */
static bool read_inlined(struct store *s, struct reader *r, struct err *e)
{
	struct export_profile *p = r->p;
	struct store_rows rows =
	    store_query(s, "SELECT pc, name, file, line FROM inlined ORDER BY pc, depth", "");

	while (store_next(&rows)) {
		const uint64_t pc = (uint64_t)store_int(&rows, 0);
		const size_t i = ARRAY_SEARCH(p->nplaces, k, p->places[k].pc < pc);
		const char *name = store_shown(&rows, 1);

		if (i == p->nplaces || p->places[i].pc != pc)
			continue;
		struct export_place *place = &p->places[i];
		struct export_frame outer = place->frames[place->nframes - 1];

		outer.line = 0;
		place->frames[place->nframes - 1] = (struct export_frame){
			function_of(r, name ? name : "[unknown]", store_shown(&rows, 2), 0),
			(int)store_int(&rows, 3),
		};
		*ARRAY_ADD(place->frames, place->nframes) = outer;
	}
	return store_done(&rows, e);
}

/* Time at an address that the store has no instruction for belongs to the extra place at the end. */
static size_t place_at(struct reader *r, uint64_t pc)
{
	struct export_profile *p = r->p;
	const size_t known = p->model.ninsts;
	const size_t i = ARRAY_SEARCH(known, k, p->places[k].pc < pc);

	if (i < known && p->places[i].pc == pc)
		return i;
	if (p->nplaces == known) {
		struct export_place *place = &p->places[p->nplaces++];

		*place = (struct export_place){ .function = -1, .image = EXPORT_NONE };
		*ARRAY_ADD(place->frames, place->nframes) =
		    (struct export_frame){ function_of(r, "[unknown]", NULL, 0), 0 };
	}
	return known;
}

struct wanted {
	int bit; /* -1: any event */
	const char *function;
};

static bool is_wanted(const struct export_profile *p, const struct wanted *w, size_t place,
		      unsigned events)
{
	const struct model_function *f = model_function_of(&p->model, p->places[place].function);

	return (w->bit < 0 || events >> w->bit & 1) &&
	       (!w->function || (f && !strcmp(f->name, w->function)));
}

static bool read_samples(struct store *s, struct reader *r, const struct wanted *w, struct err *e)
{
	struct export_profile *p = r->p;
	size_t *context = x_calloc(p->model.ninsts + 1, sizeof(*context)); /* of a place, + 1 */
	struct store_rows rows =
	    p->model.golden
		? store_query(s, "SELECT pc, events, category, units, executions FROM golden", "")
		: store_query(
		      s,
		      "SELECT pc, p.events & ?3, -1, units, 0 FROM profile p JOIN profiler r ON "
		      "r.id = profiler WHERE name = ?1 AND sampler = CASE WHEN r.id < ?2 "
		      "THEN 0 ELSE r.id END",
		      "sii", p->model.profiler, (int64_t)STORE_OWN_PROFILERS,
		      (int64_t)((1 << MODEL_EVENTS) - 1));

	while (store_next(&rows)) {
		const size_t place = place_at(r, (uint64_t)store_int(&rows, 0));
		const unsigned events = (unsigned)store_int(&rows, 1);

		if (!is_wanted(p, w, place, events))
			continue;
		if (!context[place]) {
			*ARRAY_ADD(p->contexts, p->ncontexts) =
			    (struct export_context){ place, EXPORT_NONE };
			context[place] = p->ncontexts;
		}
		*ARRAY_ADD(p->samples, p->nsamples) = (struct export_sample){
			.context = context[place] - 1,
			.events = events,
			.category = (int)store_int(&rows, 2),
			.units = (uint64_t)store_int(&rows, 3),
			.executions = (uint64_t)store_int(&rows, 4),
		};
	}
	free(context);
	return store_done(&rows, e);
}

static int by_place(const void *a, const void *b, void *profile)
{
	const struct export_sample *x = a, *y = b;
	const struct export_profile *p = profile;
	const struct export_place *v = &p->places[p->contexts[x->context].place],
				  *w = &p->places[p->contexts[y->context].place];
	const struct export_frame *f = v->frames, *g = w->frames;
	int order;

	if (v->function != w->function)
		return v->function < w->function ? -1 : 1;
	if ((order = strcmp(p->functions[f->function].file, p->functions[g->function].file)))
		return order;
	if (f->line != g->line)
		return f->line < g->line ? -1 : 1;
	if (v->pc != w->pc)
		return v->pc < w->pc ? -1 : 1;
	if (x->events != y->events)
		return x->events < y->events ? -1 : 1;
	if (x->category != y->category)
		return x->category < y->category ? -1 : 1;
	return (x->context > y->context) - (x->context < y->context);
}

static bool name_unknown(const struct model *m, const char *function, struct err *e)
{
	struct nearest n = { .word = function };

	for (size_t i = 0; i < m->nfunctions; i++)
		nearest_try(&n, m->functions[i].name);
	return err_set(e, "no function '%s' has any time%s%s%s", function,
		       n.best ? "; the nearest name is '" : "", n.best ? n.best : "",
		       n.best ? "'" : "");
}

static bool find_wanted(const struct export_profile *p, struct wanted *w, struct err *e)
{
	const struct model *m = &p->model;
	size_t count = 1;

	*w = (struct wanted){ -1, p->options.function };
	if (w->function) {
		free(model_functions(m, w->function, &count));
		if (!count)
			return name_unknown(m, w->function, e);
	}
	if (!p->options.event)
		return true;
	w->bit = model_event_bit(m, p->options.event);
	return w->bit >= 0 || err_set(e, "there is no event '%s'; `culprit list events` lists them",
				      p->options.event);
}

/* Method fmt, as `stack --phases` shows it. */
static bool read_phases(struct store *s, struct export_profile *p, struct err *e)
{
	const int64_t n = store_number(s, "SELECT count(*) FROM cpi_phase WHERE phase >= 0", 0);
	struct store_rows r = store_query(
	    s,
	    "SELECT p.phase, p.cycles, p.instructions, c.component, c.units * 1.0 / m.scale FROM "
	    "cpi_phase p JOIN cpi_method m JOIN cpi_component c ON c.phase = p.phase AND c.method "
	    "= m.id WHERE p.phase >= 0 AND m.name = 'fmt' ORDER BY p.phase",
	    "");

	p->phases = x_calloc((size_t)n + 1, sizeof(*p->phases));
	while (store_next(&r)) {
		const size_t i = (size_t)store_int(&r, 0);
		const char *name = store_shown(&r, 3);

		if (i >= (size_t)n)
			continue;
		p->nphases = i + 1;
		p->phases[i].cycles = store_double(&r, 1);
		p->phases[i].instructions = store_double(&r, 2);
		for (int k = 0; name && k < CPI_COMPONENTS; k++)
			if (!strcmp(name, words_components[k].name))
				p->phases[i].parts[k] = store_double(&r, 4);
	}
	return store_done(&r, e);
}

bool export_read(struct store *s, const struct export_options *o, struct export_profile *p,
		 struct err *e)
{
	struct reader r = { .p = p };
	struct wanted w;

	*p = (struct export_profile){ .options = *o };
	if (o->profiler && !strcmp(o->profiler, POOLED_PROFILER))
		return err_set(e, "times of " POOLED_PROFILER
				  " can be below 0, which other tools cannot "
				  "read: export --profiler tip");
	if (!model_read(s, o->profiler, &p->model, e))
		return false;
	p->scale = p->model.scale >= 1 ? (uint64_t)p->model.scale : 1;
	bool ok = find_wanted(p, &w, e) && read_images(s, p, e);

	if (ok) {
		make_places(&r);
		ok = read_inlined(s, &r, e) && read_samples(s, &r, &w, e) &&
		     (!o->calls ||
		      export_add_calls(s, function_of(&r, "[unknown]", NULL, 0), p, e)) &&
		     (!o->phases || read_phases(s, p, e));
	}
	if (ok && p->nsamples)
		qsort_r(p->samples, p->nsamples, sizeof(*p->samples), by_place, p);
	uint64_t sum = 0;

	for (size_t i = 0; ok && i < p->nsamples; i++)
		p->time += p->samples[i].time = export_round(p, &sum, p->samples[i].units);
	free(r.slots);
	if (!ok)
		export_free(p);
	return ok;
}

void export_free(struct export_profile *p)
{
	for (size_t i = 0; i < p->nfunctions; i++) {
		free(p->functions[i].name);
		free(p->functions[i].file);
	}
	for (size_t i = 0; i < p->nplaces; i++)
		free(p->places[i].frames);
	for (size_t i = 0; i < p->nimages; i++) {
		free(p->images[i].path);
		free(p->images[i].build_id);
	}
	free(p->functions);
	free(p->places);
	free(p->contexts);
	free(p->samples);
	free(p->images);
	free(p->phases);
	model_free(&p->model);
	*p = (struct export_profile){ 0 };
}
