/* SPDX-License-Identifier: MIT */
/*
 * A live profile in memory: arrays of images, processes, events, counts, stacks and edges, each
 * found through a hash table of indices. Reading sorts; adding after that makes the order stale, not
 * the indices that others hold: images, processes and events never move.
 */
#include "collect/live.h"

#include <stdlib.h>
#include <string.h>

#include "util/array.h"

/* A hash table of indices of an array. An entry is index + 1; 0 is empty. */
struct table {
	uint32_t *entries;
	size_t size; /* a power of two, or 0 */
	size_t used;
};

struct kept_stack {
	struct live_stack stack; /* frames are the profile's own */
	uint64_t hash;
};

struct live_profile {
	struct live_image *images;
	struct live_process *processes;
	struct live_event *events;
	struct live_count *counts;
	struct kept_stack *stacks;
	struct live_edge *edges;
	size_t nimages, nprocesses, nevents, ncounts, nstacks, nedges;
	struct table image_table, process_table, count_table, stack_table, edge_table;
	struct live_facts facts;
	struct live_stack *stacks_shown; /* what live_stacks returned */
};

/* ---- Hashing ---- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
	return hash_u64(hash ^ value) + 0x9e3779b97f4a7c15ull;
}

static uint64_t mix_text(uint64_t hash, const char *s)
{
	for (; s && *s; s++)
		hash = (hash ^ (unsigned char)*s) * 0x100000001b3ull;
	return mix(hash, 0);
}

/* Has room for one more entry; hash gives the hash of the element with an index. */
static void table_room(struct table *t, const struct live_profile *p,
		       uint64_t (*hash)(const struct live_profile *p, size_t i))
{
	if (t->used * 2 < t->size)
		return;
	const size_t size = t->size ? t->size * 2 : 64;
	uint32_t *entries = x_calloc(size, sizeof(*entries));

	for (size_t i = 0; i < t->size; i++) {
		if (!t->entries[i])
			continue;
		size_t at = hash(p, t->entries[i] - 1) & (size - 1);

		while (entries[at])
			at = (at + 1) & (size - 1);
		entries[at] = t->entries[i];
	}
	free(t->entries);
	t->entries = entries;
	t->size = size;
}

/* Puts the indices of a sorted array back. */
static void table_refill(struct table *t, const struct live_profile *p, size_t n,
			 uint64_t (*hash)(const struct live_profile *p, size_t i))
{
	if (!t->size)
		return;
	memset(t->entries, 0, t->size * sizeof(*t->entries));
	for (size_t i = 0; i < n; i++) {
		size_t at = hash(p, i) & (t->size - 1);

		while (t->entries[at])
			at = (at + 1) & (t->size - 1);
		t->entries[at] = (uint32_t)i + 1;
	}
}

/* Walks the entries of a hash: i is the index of a candidate, and `same` says whether it is the one
 * that is looked for. Gives its index, or SIZE_MAX, and leaves the place for a new one in `at`. */
#define TABLE_FIND(t, hash, at, i, same)                                                           \
	({                                                                                         \
		size_t i##_found_ = SIZE_MAX;                                                      \
		(at) = (hash) & ((t)->size - 1);                                                   \
		for (; (t)->entries[at]; (at) = ((at) + 1) & ((t)->size - 1)) {                    \
			const size_t i = (t)->entries[at] - 1;                                     \
			if (same) {                                                                \
				i##_found_ = i;                                                    \
				break;                                                             \
			}                                                                          \
		}                                                                                  \
		i##_found_;                                                                        \
	})

static void table_put(struct table *t, size_t at, size_t index)
{
	t->entries[at] = (uint32_t)index + 1;
	t->used++;
}

/* ---- Images ---- */

static const char *text(const char *s)
{
	return s ? s : "";
}

static uint64_t image_hash(const struct live_image *i)
{
	uint64_t h = mix(1, i->kind);

	if (*text(i->build_id))
		return mix_text(h, i->build_id);
	h = mix_text(mix_text(h, i->name), i->digest);
	return mix(mix(mix(mix(h, i->dev), i->ino), i->size_bytes), i->mtime_ns);
}

static uint64_t image_hash_at(const struct live_profile *p, size_t i)
{
	return image_hash(&p->images[i]);
}

static bool image_same(const struct live_image *a, const struct live_image *b)
{
	if (a->kind != b->kind || strcmp(text(a->build_id), text(b->build_id)) != 0)
		return false;
	if (*text(a->build_id))
		return true;
	return strcmp(text(a->name), text(b->name)) == 0 &&
	       strcmp(text(a->digest), text(b->digest)) == 0 && a->dev == b->dev &&
	       a->ino == b->ino && a->size_bytes == b->size_bytes && a->mtime_ns == b->mtime_ns;
}

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Of symbols with one offset, the first in this order is taken, whichever came first. */
static int symbol_order(const void *a, const void *b)
{
	const struct live_symbol *x = a, *y = b;
	int o = order(x->offset, y->offset);

	o = o ? o : order(y->size_bytes, x->size_bytes);
	return o ? o : strcmp(text(x->name), text(y->name));
}

static int code_order(const void *a, const void *b)
{
	const struct live_code *x = a, *y = b;
	int o = order(x->offset, y->offset);

	o = o ? o : order(y->size_bytes, x->size_bytes);
	return o ? o : memcmp(x->bytes, y->bytes, x->size_bytes);
}

/* Adds the symbols that are not there yet. */
static void keep_symbols(struct live_image *to, const struct live_image *from)
{
	struct live_symbol *all = x_calloc(to->nsymbols + from->nsymbols, sizeof(*all));
	size_t n = 0;

	for (size_t i = 0; i < to->nsymbols; i++)
		all[n++] = to->symbols[i];
	for (size_t i = 0; i < from->nsymbols; i++) {
		all[n] = from->symbols[i];
		all[n++].name = x_strdup(text(from->symbols[i].name));
	}
	qsort(all, n, sizeof(*all), symbol_order);
	to->nsymbols = 0;
	for (size_t i = 0; i < n; i++) {
		if (to->nsymbols && all[to->nsymbols - 1].offset == all[i].offset)
			free(all[i].name);
		else
			all[to->nsymbols++] = all[i];
	}
	free(to->symbols);
	to->symbols = all;
}

static void keep_code(struct live_image *to, const struct live_image *from)
{
	struct live_code *all = x_calloc(to->ncode + from->ncode, sizeof(*all));
	size_t n = 0;

	for (size_t i = 0; i < to->ncode; i++)
		all[n++] = to->code[i];
	for (size_t i = 0; i < from->ncode; i++) {
		all[n] = from->code[i];
		all[n].bytes = x_malloc(all[n].size_bytes + 1);
		memcpy(all[n].bytes, from->code[i].bytes, all[n].size_bytes);
		n++;
	}
	qsort(all, n, sizeof(*all), code_order);
	to->ncode = 0;
	for (size_t i = 0; i < n; i++) {
		if (to->ncode && all[to->ncode - 1].offset == all[i].offset)
			free(all[i].bytes);
		else
			all[to->ncode++] = all[i];
	}
	free(to->code);
	to->code = all;
}

/* Keeps the symbols and the code that an image has not got yet. */
static void image_keep(struct live_image *to, const struct live_image *from)
{
	if (!to->path && from->path)
		to->path = x_strdup(from->path);
	if (from->nsymbols)
		keep_symbols(to, from);
	if (from->ncode)
		keep_code(to, from);
}

static uint32_t add_image(void *self, const struct live_image *i)
{
	struct live_profile *p = self;
	size_t at;

	table_room(&p->image_table, p, image_hash_at);
	size_t found =
	    TABLE_FIND(&p->image_table, image_hash(i), at, k, image_same(&p->images[k], i));
	if (found == SIZE_MAX) {
		found = p->nimages;
		struct live_image *new = ARRAY_ADD(p->images, p->nimages);

		*new = *i;
		new->name = x_strdup(text(i->name));
		new->build_id = x_strdup(text(i->build_id));
		new->digest = x_strdup(text(i->digest));
		new->path = NULL;
		new->symbols = NULL;
		new->code = NULL;
		new->nsymbols = new->ncode = 0;
		table_put(&p->image_table, at, found);
	}
	image_keep(&p->images[found], i);
	return (uint32_t)found;
}

/* ---- Processes and events ---- */

static uint64_t process_hash(const struct live_process *x)
{
	const uint64_t h = mix(mix(mix(2, (uint32_t)x->pid), x->exec_id), x->start_ns);

	return x->tid ? mix(mix(h, (uint32_t)x->tid), x->thread_ns) : h;
}

static bool process_same(const struct live_process *a, const struct live_process *b)
{
	return a->pid == b->pid && a->exec_id == b->exec_id && a->start_ns == b->start_ns &&
	       a->tid == b->tid && a->thread_ns == b->thread_ns;
}

static uint64_t process_hash_at(const struct live_profile *p, size_t i)
{
	return process_hash(&p->processes[i]);
}

static uint32_t add_process(void *self, const struct live_process *x)
{
	struct live_profile *p = self;
	size_t at;

	table_room(&p->process_table, p, process_hash_at);
	const size_t found = TABLE_FIND(&p->process_table, process_hash(x), at, k,
					process_same(&p->processes[k], x));
	if (found != SIZE_MAX) {
		struct live_process *known = &p->processes[found];

		if (x->tid && strcmp(known->thread, text(x->thread)) != 0) {
			free(known->thread);
			known->thread = x_strdup(text(x->thread));
		}
		return (uint32_t)found;
	}
	table_put(&p->process_table, at, p->nprocesses);
	struct live_process *new = ARRAY_ADD(p->processes, p->nprocesses);

	*new = *x;
	new->comm = x_strdup(text(x->comm));
	new->exe = x_strdup(text(x->exe));
	new->container = x_strdup(text(x->container));
	new->thread = x_strdup(text(x->thread));
	return (uint32_t)(p->nprocesses - 1);
}

static uint32_t add_event(void *self, const struct live_event *e)
{
	struct live_profile *p = self;

	for (size_t i = 0; i < p->nevents; i++)
		if (strcmp(p->events[i].name, text(e->name)) == 0)
			return (uint32_t)i;
	struct live_event *new = ARRAY_ADD(p->events, p->nevents);

	*new = *e;
	new->name = x_strdup(text(e->name));
	new->actual = x_strdup(text(e->actual));
	return (uint32_t)(p->nevents - 1);
}

/* ---- Counts, stacks, edges ---- */

static uint64_t count_hash(const struct live_count *c)
{
	return mix(
	    mix(mix(3, (uint64_t)c->image << 32 | c->process), (uint64_t)c->event << 16 | c->cpu),
	    c->offset);
}

static uint64_t count_hash_at(const struct live_profile *p, size_t i)
{
	return count_hash(&p->counts[i]);
}

static int count_order(const void *a, const void *b)
{
	const struct live_count *x = a, *y = b;
	int o;

	if ((o = order(x->image, y->image)) || (o = order(x->offset, y->offset)) ||
	    (o = order(x->event, y->event)) || (o = order(x->process, y->process)))
		return o;
	return order(x->cpu, y->cpu);
}

static void add_count(void *self, const struct live_count *c)
{
	struct live_profile *p = self;
	size_t at;

	table_room(&p->count_table, p, count_hash_at);
	const size_t found =
	    TABLE_FIND(&p->count_table, count_hash(c), at, k, count_order(&p->counts[k], c) == 0);
	if (found != SIZE_MAX) {
		p->counts[found].count += c->count;
		return;
	}
	table_put(&p->count_table, at, p->ncounts);
	*ARRAY_ADD(p->counts, p->ncounts) = *c;
}

static uint64_t stack_hash(const struct live_stack *s)
{
	uint64_t h = mix(mix(4, (uint64_t)s->process << 32 | s->event), s->broken);

	for (size_t i = 0; i < s->nframes; i++)
		h = mix(mix(h, s->frames[i].image), s->frames[i].offset);
	return h;
}

static uint64_t stack_hash_at(const struct live_profile *p, size_t i)
{
	return p->stacks[i].hash;
}

static int stack_order(const void *a, const void *b)
{
	const struct live_stack *x = a, *y = b;
	int o;

	if ((o = order(x->event, y->event)) || (o = order(x->process, y->process)))
		return o;
	for (size_t i = 0; i < x->nframes && i < y->nframes; i++)
		if ((o = order(x->frames[i].image, y->frames[i].image)) ||
		    (o = order(x->frames[i].offset, y->frames[i].offset)))
			return o;
	o = order(x->nframes, y->nframes);
	return o ? o : order(x->broken, y->broken);
}

static void add_stack(void *self, const struct live_stack *s)
{
	struct live_profile *p = self;
	const uint64_t hash = stack_hash(s);
	size_t at;

	table_room(&p->stack_table, p, stack_hash_at);
	const size_t found =
	    TABLE_FIND(&p->stack_table, hash, at, k,
		       p->stacks[k].hash == hash && stack_order(&p->stacks[k].stack, s) == 0);
	if (found != SIZE_MAX) {
		p->stacks[found].stack.count += s->count;
		return;
	}
	table_put(&p->stack_table, at, p->nstacks);
	struct live_frame *frames = x_malloc((s->nframes + 1) * sizeof(*frames));

	if (s->nframes)
		memcpy(frames, s->frames, s->nframes * sizeof(*frames));
	struct kept_stack *new = ARRAY_ADD(p->stacks, p->nstacks);

	*new = (struct kept_stack){ .stack = *s, .hash = hash };
	new->stack.frames = frames;
}

static uint64_t edge_hash_at(const struct live_profile *p, size_t i)
{
	return mix(mix(5, p->edges[i].image), p->edges[i].offset);
}

static void add_edge(void *self, const struct live_edge *x)
{
	struct live_profile *p = self;
	size_t at;

	table_room(&p->edge_table, p, edge_hash_at);
	const size_t found =
	    TABLE_FIND(&p->edge_table, mix(mix(5, x->image), x->offset), at, k,
		       p->edges[k].image == x->image && p->edges[k].offset == x->offset);
	if (found != SIZE_MAX) {
		p->edges[found].taken += x->taken;
		p->edges[found].not_taken += x->not_taken;
		return;
	}
	table_put(&p->edge_table, at, p->nedges);
	*ARRAY_ADD(p->edges, p->nedges) = *x;
}

static int edge_order(const void *a, const void *b)
{
	const struct live_edge *x = a, *y = b;
	const int o = order(x->image, y->image);

	return o ? o : order(x->offset, y->offset);
}

/* ---- Facts ---- */

static void put_text(char **to, const char *from)
{
	char *copy = x_strdup(text(from));

	free(*to);
	*to = copy;
}

static void put_facts(struct live_facts *to, const struct live_facts *from)
{
	char **texts[] = { &to->machine, &to->boot_id, &to->kernel, &to->kernel_build_id,
			   &to->command };
	const char *values[] = { from->machine, from->boot_id, from->kernel, from->kernel_build_id,
				 from->command };
	struct live_facts kept = *to;

	*to = *from;
	to->machine = kept.machine;
	to->boot_id = kept.boot_id;
	to->kernel = kept.kernel;
	to->kernel_build_id = kept.kernel_build_id;
	to->command = kept.command;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		put_text(texts[i], values[i]);
}

/* Totals and facts are those of the last cut: a cut says all that has happened so far. */
static bool cut(void *self, const struct live_event *events, size_t nevents,
		const struct live_facts *facts, struct err *e)
{
	struct live_profile *p = self;

	(void)e;
	for (size_t i = 0; i < nevents; i++) {
		/* First the number: a new event may move the array. */
		const uint32_t number = add_event(p, &events[i]);
		struct live_event *to = &p->events[number];
		char *name = to->name, *actual = to->actual;

		*to = events[i];
		to->name = name;
		to->actual = actual;
	}
	put_facts(&p->facts, facts);
	return true;
}

/* ---- The profile ---- */

struct live_profile *live_profile_new(void)
{
	struct live_profile *p = x_calloc(1, sizeof(*p));

	put_facts(&p->facts, &(struct live_facts){ 0 });
	return p;
}

static void free_image(struct live_image *i)
{
	for (size_t k = 0; k < i->nsymbols; k++)
		free(i->symbols[k].name);
	for (size_t k = 0; k < i->ncode; k++)
		free(i->code[k].bytes);
	free(i->symbols);
	free(i->code);
	free(i->name);
	free(i->path);
	free(i->build_id);
	free(i->digest);
}

void live_profile_free(struct live_profile *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->nimages; i++)
		free_image(&p->images[i]);
	for (size_t i = 0; i < p->nprocesses; i++) {
		free(p->processes[i].comm);
		free(p->processes[i].exe);
		free(p->processes[i].container);
		free(p->processes[i].thread);
	}
	for (size_t i = 0; i < p->nevents; i++) {
		free(p->events[i].name);
		free(p->events[i].actual);
	}
	for (size_t i = 0; i < p->nstacks; i++)
		free((void *)p->stacks[i].stack.frames);
	struct table *tables[] = { &p->image_table, &p->process_table, &p->count_table,
				   &p->stack_table, &p->edge_table };

	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		free(tables[i]->entries);
	free(p->images);
	free(p->processes);
	free(p->events);
	free(p->counts);
	free(p->stacks);
	free(p->stacks_shown);
	free(p->edges);
	free(p->facts.machine);
	free(p->facts.boot_id);
	free(p->facts.kernel);
	free(p->facts.kernel_build_id);
	free(p->facts.command);
	free(p);
}

struct live_sink live_profile_sink(struct live_profile *p)
{
	return (struct live_sink){
		.self = p,
		.image = add_image,
		.process = add_process,
		.event = add_event,
		.count = add_count,
		.stack = add_stack,
		.edge = add_edge,
		.cut = cut,
	};
}

/* Joins the facts of two collections; a text that differs becomes "". */
static void merge_facts(struct live_facts *to, const struct live_facts *from)
{
	char **a[] = { &to->machine, &to->boot_id, &to->kernel, &to->kernel_build_id,
		       &to->command };
	char *const *b[] = { &from->machine, &from->boot_id, &from->kernel, &from->kernel_build_id,
			     &from->command };

	if (!to->begin_ns && !to->end_ns) {
		put_facts(to, from);
		return;
	}
	if (!from->begin_ns && !from->end_ns)
		return;
	for (size_t i = 0; i < ARRAY_LEN(a); i++)
		if (strcmp(*a[i], *b[i]) != 0)
			**a[i] = '\0';
	to->begin_ns = min_u64(to->begin_ns, from->begin_ns);
	to->end_ns = max_u64(to->end_ns, from->end_ns);
	to->cpus = (uint32_t)max_u64(to->cpus, from->cpus);
	to->idle_ns += from->idle_ns;
	to->daemon_cpu_ns += from->daemon_cpu_ns;
	if (from->budget > to->budget)
		to->budget = from->budget;
	if (from->interrupt_ns > to->interrupt_ns)
		to->interrupt_ns = from->interrupt_ns;
}

void live_profile_merge(struct live_profile *to, const struct live_profile *from)
{
	uint32_t *image = x_malloc((from->nimages + 1) * sizeof(*image));
	uint32_t *process = x_malloc((from->nprocesses + 1) * sizeof(*process));
	uint32_t *event = x_malloc((from->nevents + 1) * sizeof(*event));

	for (size_t i = 0; i < from->nimages; i++)
		image[i] = add_image(to, &from->images[i]);
	for (size_t i = 0; i < from->nprocesses; i++)
		process[i] = add_process(to, &from->processes[i]);
	for (size_t i = 0; i < from->nevents; i++) {
		const struct live_event *e = &from->events[i];
		const size_t before = to->nevents;

		event[i] = add_event(to, e);
		if (to->nevents > before)
			continue;
		struct live_event *sum = &to->events[event[i]];

		sum->taken += e->taken;
		sum->stored += e->stored;
		sum->lost += e->lost;
		sum->pending += e->pending;
	}
	for (size_t i = 0; i < from->ncounts; i++) {
		struct live_count c = from->counts[i];

		c.image = image[c.image];
		c.event = event[c.event];
		if (c.process != LIVE_NO_PROCESS)
			c.process = process[c.process];
		add_count(to, &c);
	}
	for (size_t i = 0; i < from->nstacks; i++) {
		struct live_stack s = from->stacks[i].stack;
		struct live_frame *frames = x_malloc((s.nframes + 1) * sizeof(*frames));

		for (size_t k = 0; k < s.nframes; k++)
			frames[k] =
			    (struct live_frame){ image[s.frames[k].image], s.frames[k].offset };
		s.frames = frames;
		s.event = event[s.event];
		if (s.process != LIVE_NO_PROCESS)
			s.process = process[s.process];
		add_stack(to, &s);
		free(frames);
	}
	for (size_t i = 0; i < from->nedges; i++) {
		struct live_edge x = from->edges[i];

		x.image = image[x.image];
		add_edge(to, &x);
	}
	merge_facts(&to->facts, &from->facts);
	free(image);
	free(process);
	free(event);
}

size_t live_images(const struct live_profile *p)
{
	return p->nimages;
}

const struct live_image *live_image(const struct live_profile *p, size_t i)
{
	return &p->images[i];
}

size_t live_processes(const struct live_profile *p)
{
	return p->nprocesses;
}

const struct live_process *live_process(const struct live_profile *p, size_t i)
{
	return &p->processes[i];
}

size_t live_events(const struct live_profile *p)
{
	return p->nevents;
}

const struct live_event *live_event(const struct live_profile *p, size_t i)
{
	return &p->events[i];
}

const struct live_facts *live_facts(const struct live_profile *p)
{
	return &p->facts;
}

const struct live_count *live_counts_unsorted(const struct live_profile *p, size_t *n)
{
	*n = p->ncounts;
	return p->counts;
}

const struct live_count *live_counts(struct live_profile *p, size_t *n)
{
	*n = p->ncounts;
	if (p->ncounts) {
		qsort(p->counts, p->ncounts, sizeof(*p->counts), count_order);
		table_refill(&p->count_table, p, p->ncounts, count_hash_at);
	}
	return p->counts;
}

const struct live_stack *live_stacks(struct live_profile *p, size_t *n)
{
	*n = p->nstacks;
	free(p->stacks_shown);
	p->stacks_shown = x_malloc((p->nstacks + 1) * sizeof(*p->stacks_shown));
	for (size_t i = 0; i < p->nstacks; i++)
		p->stacks_shown[i] = p->stacks[i].stack;
	if (p->nstacks)
		qsort(p->stacks_shown, p->nstacks, sizeof(*p->stacks_shown), stack_order);
	return p->stacks_shown;
}

const struct live_edge *live_edges(struct live_profile *p, size_t *n)
{
	*n = p->nedges;
	if (p->nedges) {
		qsort(p->edges, p->nedges, sizeof(*p->edges), edge_order);
		table_refill(&p->edge_table, p, p->nedges, edge_hash_at);
	}
	return p->edges;
}
