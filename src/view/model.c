/* SPDX-License-Identifier: MIT */
/* Reads a profile from a store, and says in words and colours what views have in common. */
#include "view/model.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "view/pooled.h"

_Static_assert(TIME_CATEGORY_COUNT <= MODEL_CATEGORIES,
	       "the model has room for all time categories");

/* How an event looks, and which event it implies and hides; see words.h. */
static const struct {
	char letter;
	enum term_colour colour;
	int rank;
	unsigned hides; /* set of events */
} look[EVENT_COUNT] = {
#define HIDES_NONE  0
#define HIDES_ST_L1 (1u << EVENT_ST_L1)
#define X(id, name, letter, colour, rank, hides, meaning)                                          \
	{ letter, TERM_##colour, rank, HIDES_##hides },
	WORDS_EVENTS(X)
#undef X
};

char *model_run_text(struct store *s, const char *key, const char *fallback)
{
	struct store_rows r = store_query(s, "SELECT value FROM run WHERE key = ?1", "s", key);
	const char *text = store_next(&r) ? store_shown(&r, 0) : NULL;
	char *copy = x_strdup(text ? text : fallback);
	store_done(&r, NULL);
	return copy;
}

double model_run_number(struct store *s, const char *key, double fallback)
{
	struct store_rows r = store_query(s, "SELECT value FROM run WHERE key = ?1", "s", key);
	double value = store_next(&r) ? store_double(&r, 0) : fallback;
	store_done(&r, NULL);
	return value;
}

/* Cuts a text that is too long, but no character of it. */
static void copy_cut(char *to, size_t size_bytes, const char *text)
{
	size_t n = strlen(text);

	if (n >= size_bytes)
		for (n = size_bytes - 1; n && ((unsigned char)text[n] & 0xc0) == 0x80; n--)
			;
	memcpy(to, text, n);
	to[n] = 0;
}

void model_run_names(struct store *s, char program[MODEL_PROGRAM], char machine[MODEL_MACHINE])
{
	char *text = model_run_text(s, "program", "?");

	copy_cut(program, MODEL_PROGRAM, text);
	free(text);
	text = model_run_text(s, "machine", "?");
	copy_cut(machine, MODEL_MACHINE, text);
	free(text);
}

char *model_copy(struct store_rows *r, int column)
{
	const char *text = store_shown(r, column);

	return text ? x_strdup(text) : NULL;
}

void model_title(struct doc *d, const char *program, const char *machine, double instructions,
		 double cycles, const char *format, ...)
{
	char insts[32], time[32], rest[160];
	va_list ap;

	va_start(ap, format);
	vsnprintf(rest, sizeof(rest), format, ap);
	va_end(ap);
	doc_line(d, path_name(program), " on %s: %s instructions in %s cycles%s", machine,
		 number_commas((uint64_t)instructions, insts),
		 number_commas((uint64_t)cycles, time), rest);
}

/* Memory of what instructions point to, in large pieces: most have one component, and a heap would double it. */
struct model_chunk {
	struct model_chunk *next;
	size_t used, size; /* bytes */
	_Alignas(8) char bytes[];
};

#define CHUNK_BYTES ((size_t)1 << 18)

static void *chunk_take(struct model *m, size_t bytes)
{
	struct model_chunk *c = m->chunks;

	if (!c || c->size - c->used < bytes) {
		const size_t size = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;

		c = x_malloc(sizeof(*c) + size);
		*c = (struct model_chunk){ m->chunks, 0, size };
		m->chunks = c;
	}
	c->used += bytes;
	return c->bytes + c->used - bytes;
}

/* Makes room for one more component after those of an instruction, in place if nothing came after them. */
static struct model_component *one_more(struct model *m, struct model_inst *i)
{
	struct model_chunk *c = m->chunks;
	const size_t bytes = i->nstack * sizeof(*i->stack);

	if (c && i->nstack && (char *)(i->stack + i->nstack) == c->bytes + c->used &&
	    c->size - c->used >= sizeof(*i->stack)) {
		c->used += sizeof(*i->stack);
	} else {
		void *to = chunk_take(m, bytes + sizeof(*i->stack));

		if (bytes)
			memcpy(to, i->stack, bytes);
		i->stack = to;
	}
	return &i->stack[i->nstack++];
}

static const double no_categories[TIME_CATEGORY_COUNT];

static void add_category(struct model *m, struct model_inst *i, unsigned category, double cycles)
{
	double *mine;

	if (category >= TIME_CATEGORY_COUNT || cycles == 0)
		return;
	if (i->category == no_categories) {
		mine = chunk_take(m, sizeof(no_categories));
		memset(mine, 0, sizeof(no_categories));
		i->category = mine;
	}
	mine = (double *)(uintptr_t)i->category;
	mine[category] += cycles;
}

void model_forget_time(struct model_inst *i)
{
	i->cycles = 0;
	i->executions = 0;
	i->nstack = 0;
	i->category = no_categories;
}

static bool read_functions(struct store *s, struct model *m, struct err *e)
{
	struct store_rows r = store_query(
	    s,
	    "SELECT f.id, f.name, f.file, f.line, f.start, f.end, i.name FROM function f "
	    "LEFT JOIN image i ON i.id = f.image ORDER BY f.id",
	    "");
	while (store_next(&r)) {
		*ARRAY_ADD(m->functions, m->nfunctions) = (struct model_function){
			.id = store_int(&r, 0),
			.name = x_strdup(store_shown(&r, 1) ? store_shown(&r, 1) : "[unknown]"),
			.file = model_copy(&r, 2),
			.line = (int)store_int(&r, 3),
			.start = (uint64_t)store_int(&r, 4),
			.end = (uint64_t)store_int(&r, 5),
			.image = model_copy(&r, 6),
		};
	}
	return store_done(&r, e);
}

/* Texts as they are in the file, and what is shown of each: that is found out once for all that are the same. */
struct texts {
	struct interned raw;
	const char **shown; /* by number - 1 */
	size_t capacity;
};

/* The text of a column as it is shown; last: that of the row before, which often has the same. */
static const char *text_of(const struct store_rows *r, int column, struct model *m, struct texts *t,
			   uint32_t *last)
{
	const char *text = store_text(r, column);

	if (!text)
		return NULL;
	if (*last && !strcmp(t->raw.list[*last - 1], text))
		return t->shown[*last - 1];
	const size_t had = t->raw.count;
	const uint32_t n = *last = interned_number(&t->raw, text);

	if (t->raw.count > had) {
		ARRAY_ROOM(t->shown, t->capacity, t->raw.count);
		t->shown[n - 1] = interned(&m->texts, store_shown(r, column));
	}
	return t->shown[n - 1];
}

static bool read_insts(struct store *s, struct model *m, struct err *e)
{
	struct texts texts = { 0 };
	uint32_t disasm = 0, file = 0, cls = 0;
	struct store_rows r = store_query(
	    s,
	    "SELECT pc, function, block, disasm, file, line, class, word FROM instruction "
	    "ORDER BY pc",
	    "");
	while (store_next(&r)) {
		*ARRAY_ADD(m->insts, m->ninsts) = (struct model_inst){
			.pc = (uint64_t)store_int(&r, 0),
			.function = store_int(&r, 1),
			.block = store_int(&r, 2),
			.disasm = text_of(&r, 3, m, &texts, &disasm),
			.file = text_of(&r, 4, m, &texts, &file),
			.line = (int)store_int(&r, 5),
			.cls = text_of(&r, 6, m, &texts, &cls),
			.word = (uint32_t)store_int(&r, 7),
			.category = no_categories,
		};
	}
	if (m->ninsts)
		m->insts = x_realloc(m->insts, m->ninsts * sizeof(*m->insts));
	interned_free(&texts.raw);
	free(texts.shown);
	return store_done(&r, e);
}

size_t model_first_from(const struct model *m, uint64_t pc)
{
	return ARRAY_SEARCH(m->ninsts, i, m->insts[i].pc < pc);
}

/* The same; hint: of the address before, which is often its neighbour, and then of this one. */
static struct model_inst *inst_after(const struct model *m, uint64_t pc, size_t *hint)
{
	size_t i = *hint;

	while (i < m->ninsts && i < *hint + 4 && m->insts[i].pc < pc)
		i++;
	if (i >= m->ninsts || m->insts[i].pc != pc)
		i = model_first_from(m, pc);
	*hint = i;
	return i < m->ninsts && m->insts[i].pc == pc ? &m->insts[i] : NULL;
}

struct model_inst *model_inst_at(const struct model *m, uint64_t pc)
{
	size_t i = model_first_from(m, pc);
	return i < m->ninsts && m->insts[i].pc == pc ? &m->insts[i] : NULL;
}

static bool read_inlined(struct store *s, struct model *m, struct err *e)
{
	struct store_rows r =
	    store_query(s, "SELECT pc, name FROM inlined WHERE depth = 0 ORDER BY pc", "");
	while (store_next(&r)) {
		struct model_inst *i = model_inst_at(m, (uint64_t)store_int(&r, 0));
		if (i && !i->inlined)
			i->inlined = interned(&m->texts, store_shown(&r, 1));
	}
	return store_done(&r, e);
}

static void add_time(struct model *m, struct model_inst *i, unsigned events, double cycles)
{
	i->cycles += cycles;
	for (size_t k = 0; k < i->nstack; k++)
		if (i->stack[k].events == events) {
			i->stack[k].cycles += cycles;
			return;
		}
	*one_more(m, i) = (struct model_component){ events, cycles };
}

static int by_component_cycles(const void *a, const void *b)
{
	const struct model_component *x = a, *y = b;
	if (x->cycles != y->cycles)
		return x->cycles < y->cycles ? 1 : -1;
	return (x->events > y->events) - (x->events < y->events);
}

static bool read_golden(struct store *s, const struct model_part *part, struct model *m,
			struct err *e)
{
	const bool whole = !part->thread && !part->user_only;
	const int64_t left_out = part->user_only ? TIME_KERNEL : -1;
	struct store_rows r =
	    part->thread
		? store_query(s,
			      "SELECT pc, events, category, units, executions FROM golden_thread "
			      "WHERE category <> ?1 AND tid = ?2 ORDER BY pc",
			      "ii", left_out, (int64_t)*part->thread)
		: store_query(s,
			      "SELECT pc, events, category, units, executions FROM golden "
			      "WHERE category <> ?1 ORDER BY pc",
			      "i", left_out);
	double cycles_read = 0;
	size_t hint = 0;
	uint64_t executions = 0;
	while (store_next(&r)) {
		struct model_inst *i = inst_after(m, (uint64_t)store_int(&r, 0), &hint);
		unsigned category = (unsigned)store_int(&r, 2) % MODEL_CATEGORIES;
		double cycles = (double)store_int(&r, 3) / m->scale;
		m->category[category] += cycles;
		cycles_read += cycles;
		executions += (uint64_t)store_int(&r, 4);
		if (!i)
			continue;
		add_time(m, i, (unsigned)store_int(&r, 1), cycles);
		add_category(m, i, category, cycles);
		i->executions += (uint64_t)store_int(&r, 4);
	}
	if (!store_done(&r, e))
		return false;
	if (whole)
		return true;
	m->cycles = (uint64_t)(cycles_read + 0.5);
	m->instructions = executions;
	m->ipc = cycles_read > 0 ? (double)executions / cycles_read : 0;
	return m->cycles || !part->thread ||
	       err_set(e, "%s has no time of thread %llu; `report --by thread` lists the threads",
		       store_path(s), (unsigned long long)*part->thread);
}

static int by_thread_cycles(const void *a, const void *b)
{
	const struct model_thread *x = a, *y = b;

	if (x->cycles != y->cycles)
		return x->cycles < y->cycles ? 1 : -1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

struct model_thread *model_threads(struct store *s, double scale, size_t *count)
{
	struct model_thread *list = NULL;
	struct store_rows r =
	    store_query(s,
			"SELECT tid, sum(units), sum(executions), sum(CASE category WHEN ?1 THEN "
			"units ELSE 0 END), (SELECT blocked FROM thread_time t WHERE t.tid = "
			"g.tid), (SELECT ready FROM thread_time t WHERE t.tid = g.tid) FROM "
			"golden_thread g GROUP BY tid",
			"i", (int64_t)TIME_KERNEL);

	*count = 0;
	while (store_next(&r))
		*ARRAY_ADD(list, *count) = (struct model_thread){ (uint64_t)store_int(&r, 0),
								  (uint64_t)store_int(&r, 2),
								  (double)store_int(&r, 1) / scale,
								  (double)store_int(&r, 3) / scale,
								  !store_is_null(&r, 4),
								  store_double(&r, 4),
								  store_double(&r, 5) };
	store_done(&r, NULL);
	if (*count)
		qsort(list, *count, sizeof(*list), by_thread_cycles);
	return list;
}

/* Samples whose executions are pooled. What commit was doing is as TIP has it. */
static bool read_pooled(struct store *s, struct model *m, struct err *e)
{
	struct pooled p;

	if (!pooled_read(s, &p, e))
		return false;
	m->intervals = x_calloc(m->ninsts + 1, sizeof(*m->intervals));
	for (uint32_t k = 0; k < p.count; k++) {
		struct model_inst *i = model_inst_at(m, p.pcs[k]);

		if (i && p.times[k].cycles != 0)
			add_time(m, i, 0, p.times[k].cycles);
		if (i) {
			m->intervals[i - m->insts] =
			    (struct model_interval){ p.times[k].low, p.times[k].high };
		}
	}
	pooled_free(&p);
	return true;
}

static bool read_sampled(struct store *s, struct model *m, const char *profiler, struct err *e)
{
	struct store_rows r =
	    store_query(s, "SELECT id FROM profiler WHERE name = ?1", "s", profiler);
	int64_t id = store_next(&r) ? store_int(&r, 0) : -1;
	if (!store_done(&r, e))
		return false;
	if (id < 0)
		return err_set(e, "there is no profiler '%s' in %s; `culprit accuracy` lists them",
			       profiler, store_path(s));
	if (!strcmp(profiler, POOLED_PROFILER) && !read_pooled(s, m, e))
		return false;
	if (id >= STORE_OWN_PROFILERS) {
		r = store_query(s, "SELECT samples, period FROM sampler WHERE id = ?1", "i", id);
		m->samples = store_next(&r) ? (uint64_t)store_int(&r, 0) : 0;
		m->period = (uint64_t)store_int(&r, 1);
		if (!store_done(&r, e))
			return false;
	}
	r = store_query(
	    s, "SELECT pc, events, units FROM profile WHERE profiler = ?1 AND sampler = ?2", "ii",
	    id, id < STORE_OWN_PROFILERS ? (int64_t)0 : id);
	while (store_next(&r)) {
		struct model_inst *i = model_inst_at(m, (uint64_t)store_int(&r, 0));
		if (i)
			add_time(m, i, (unsigned)store_int(&r, 1),
				 (double)store_int(&r, 2) / m->scale);
	}
	if (!store_done(&r, e))
		return false;
	r = store_query(s, "SELECT pc, category, units FROM profile_category WHERE profiler = ?1",
			"i", id);
	while (store_next(&r)) {
		struct model_inst *i = model_inst_at(m, (uint64_t)store_int(&r, 0));
		const unsigned category = (unsigned)store_int(&r, 1) % MODEL_CATEGORIES;
		const double cycles = (double)store_int(&r, 2) / m->scale;

		m->category[category] += cycles;
		if (i)
			add_category(m, i, category, cycles);
	}
	return store_done(&r, e);
}

static bool read_names(struct store *s, struct model *m, struct err *e)
{
	struct store_rows r = store_query(s, "SELECT id, name FROM category", "");
	while (store_next(&r)) {
		size_t id = (size_t)store_int(&r, 0) % MODEL_CATEGORIES;
		free(m->category_name[id]);
		m->category_name[id] = x_strdup(store_shown(&r, 1));
		m->ncategories = id + 1 > m->ncategories ? id + 1 : m->ncategories;
	}
	if (!store_done(&r, e))
		return false;
	r = store_query(s, "SELECT bit, name, meaning, executions FROM event", "");
	while (store_next(&r)) {
		size_t bit = (size_t)store_int(&r, 0);
		if (bit >= MODEL_EVENTS || m->event_name[bit])
			continue;
		m->event_name[bit] = x_strdup(store_shown(&r, 1));
		m->event_meaning[bit] = x_strdup(store_shown(&r, 2));
		m->event_count[bit] = (uint64_t)store_int(&r, 3);
	}
	return store_done(&r, e);
}

static void read_run(struct store *s, struct model *m)
{
	model_run_names(s, m->program, m->machine);
	m->scale = model_run_number(s, "scale", 1);
	m->instructions = (uint64_t)model_run_number(s, "profiled_instructions", 0);
	m->cycles = (uint64_t)model_run_number(s, "profiled_cycles", 0);
	m->ipc = m->cycles ? (double)m->instructions / (double)m->cycles : 0;
	m->clock_hz = model_run_number(s, "clock_hz", 0);
	m->host_seconds = model_run_number(s, "host_seconds", 0);
	m->exit_status = (int)model_run_number(s, "exit_status", 0);
	m->samples = (uint64_t)store_number(s, "SELECT samples FROM sampler WHERE id = 0", 0);
	m->period = (uint64_t)store_number(s, "SELECT period FROM sampler WHERE id = 0", 0);
}

bool model_read(struct store *s, const char *profiler, struct model *m, struct err *e)
{
	return model_read_part(s, profiler, &(struct model_part){ .thread = NULL }, m, e);
}

/* The only profiler of a store without a golden reference, such as one made from samples. */
static char *only_profiler(struct store *s)
{
	struct store_rows r =
	    store_query(s,
			"SELECT max(name) FROM profiler WHERE NOT EXISTS (SELECT 1 "
			"FROM golden) HAVING count(*) = 1",
			"");
	char *name = store_next(&r) ? model_copy(&r, 0) : NULL;

	store_done(&r, NULL);
	return name;
}

bool model_read_part(struct store *s, const char *profiler, const struct model_part *part,
		     struct model *m, struct err *e)
{
	char *only = profiler ? NULL : only_profiler(s);

	if (only)
		profiler = only;
	memset(m, 0, sizeof(*m));
	m->golden = !profiler || !strcmp(profiler, "oracle");
	snprintf(m->profiler, sizeof(m->profiler), "%s", m->golden ? "oracle" : profiler);
	read_run(s, m);
	bool ok = (m->golden || (!part->thread && !part->user_only) ||
		   err_set(e, "time by thread and the kernel's time are known for the golden "
			      "reference alone")) &&
		  estimated_read(s, &m->estimated, e) && read_names(s, m, e) &&
		  read_functions(s, m, e) && read_insts(s, m, e) && read_inlined(s, m, e) &&
		  (m->golden ? read_golden(s, part, m, e) : read_sampled(s, m, profiler, e));
	if (ok && !m->cycles)
		ok = err_set(e, "%s holds no profile: run `culprit sim` with --analyze profile",
			     store_path(s));
	for (size_t i = 0; ok && i < m->ninsts; i++) {
		struct model_inst *in = &m->insts[i];
		if (in->nstack)
			qsort(in->stack, in->nstack, sizeof(*in->stack), by_component_cycles);
		struct model_function *f = model_function_of(m, in->function);
		if (f)
			f->cycles += in->cycles;
	}
	if (!ok)
		model_free(m);
	free(only);
	return ok;
}

bool model_has_golden(struct store *s)
{
	return store_number(s, "SELECT 1 FROM golden LIMIT 1", 0) != 0;
}

void model_free(struct model *m)
{
	while (m->chunks) {
		struct model_chunk *next = m->chunks->next;

		free(m->chunks);
		m->chunks = next;
	}
	interned_free(&m->texts);
	for (size_t i = 0; i < m->nfunctions; i++) {
		free(m->functions[i].name);
		free(m->functions[i].file);
		free(m->functions[i].image);
	}
	for (size_t i = 0; i < MODEL_EVENTS; i++) {
		free(m->event_name[i]);
		free(m->event_meaning[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(m->category_name); i++)
		free(m->category_name[i]);
	free(m->intervals);
	free(m->insts);
	free(m->functions);
	estimated_free(&m->estimated);
	memset(m, 0, sizeof(*m));
}

/* Only profilers by choice report events that the store does not name. */
static const char *event_name(const struct model *m, unsigned bit)
{
	if (bit < MODEL_EVENTS)
		return m->event_name[bit] ? m->event_name[bit] : "?";
	return bit < EVENT_COUNT ? words_events[bit].name : "?";
}

char *model_events(const struct model *m, unsigned events, char *buf, size_t size_bytes)
{
	size_t n = 0;
	for (unsigned b = 0; b < EVENT_COUNT; b++)
		if (events >> b & 1)
			events &= ~look[b].hides;
	buf[0] = '\0';
	for (unsigned b = 0; b < EVENT_COUNT; b++)
		if (events >> b & 1 && n < size_bytes)
			n += (size_t)snprintf(buf + n, size_bytes - n, "%s%s", n ? "+" : "",
					      event_name(m, b));
	if (!events)
		snprintf(buf, size_bytes, "base");
	return buf;
}

int model_event_bit(const struct model *m, const char *name)
{
	for (int b = 0; b < MODEL_EVENTS; b++)
		if (m->event_name[b] && !strcasecmp(m->event_name[b], name))
			return b;
	return -1;
}

/* The event of a set that decides how it looks; -1 if the set is empty. */
static int worst(unsigned events)
{
	int best = -1;
	for (int b = 0; b < EVENT_COUNT; b++)
		if (events >> b & 1 && (best < 0 || look[b].rank < look[best].rank))
			best = b;
	return best;
}

enum term_colour model_colour(unsigned events)
{
	int bit = worst(events);
	return bit < 0 ? TERM_GREY : look[bit].colour;
}

char model_letter(unsigned events)
{
	int bit = worst(events);
	return bit < 0 ? '=' : look[bit].letter;
}

double model_with_event(const struct model_inst *i, unsigned bit)
{
	double sum = 0;
	for (size_t k = 0; k < i->nstack; k++)
		if (i->stack[k].events >> bit & 1)
			sum += i->stack[k].cycles;
	return sum;
}

size_t model_parts(const struct model_inst *i, double full, struct term_part *parts, size_t max)
{
	size_t n = 0;
	for (; n < i->nstack && n < max; n++)
		parts[n] =
		    (struct term_part){ i->stack[n].cycles / full, model_colour(i->stack[n].events),
					model_letter(i->stack[n].events) };
	return n;
}

void model_stack_cell(struct doc_table *t, const struct model *m, const struct model_inst *i)
{
	char name[96];

	cell_map(t);
	for (size_t k = 0; k < i->nstack; k++)
		cell_put(t, model_events(m, i->stack[k].events, name, sizeof(name)),
			 i->stack[k].cycles);
}

void model_source_cell(struct doc_table *t, const char *file, int line)
{
	if (file && line)
		cell_format(t, "%s:%d", file, line);
	else
		cell_text(t, "");
}

const struct model_inst *model_insts_of(const struct model *m, const struct model_function *f,
					size_t *count)
{
	size_t first = model_first_from(m, f->start), end = model_first_from(m, f->end);
	*count = end > first ? end - first : 0;
	return &m->insts[first];
}

bool model_inlined_into(struct store *s, const char *name, char *host, size_t size_bytes)
{
	struct store_rows r = store_query(
	    s,
	    "SELECT f.name, count(*) FROM inlined i JOIN instruction n ON n.pc = i.pc JOIN "
	    "function f "
	    "ON f.id = n.function WHERE i.name = ?1 GROUP BY f.id ORDER BY 2 DESC LIMIT 1",
	    "s", name);
	bool found = store_next(&r);
	if (found)
		snprintf(host, size_bytes, "%s", store_shown(&r, 0));
	store_done(&r, NULL);
	return found;
}

struct model_function *model_function_of(const struct model *m, int64_t id)
{
	size_t i = ARRAY_SEARCH(m->nfunctions, k, m->functions[k].id < id);
	return i < m->nfunctions && m->functions[i].id == id ? &m->functions[i] : NULL;
}

static int by_function_cycles(const void *a, const void *b)
{
	const struct model_function *x = *(const struct model_function *const *)a,
				    *y = *(const struct model_function *const *)b;
	if (x->cycles != y->cycles)
		return x->cycles < y->cycles ? 1 : -1;
	return (x->start > y->start) - (x->start < y->start);
}

const struct model_function **model_functions(const struct model *m, const char *name,
					      size_t *count)
{
	const struct model_function **list = x_calloc(m->nfunctions, sizeof(*list));

	*count = 0;
	for (size_t i = 0; i < m->nfunctions; i++)
		if (!name || !strcmp(name, m->functions[i].name))
			list[(*count)++] = &m->functions[i];
	qsort(list, *count, sizeof(*list), by_function_cycles);
	return list;
}

int model_by_cycles(const void *a, const void *b)
{
	const struct model_inst *x = *(const struct model_inst *const *)a,
				*y = *(const struct model_inst *const *)b;
	if (x->cycles != y->cycles)
		return x->cycles < y->cycles ? 1 : -1;
	return (x->pc > y->pc) - (x->pc < y->pc);
}

bool model_offset_name(const char *function, uint64_t distance, char *buf, size_t size_bytes)
{
	const char *plus = function[0] == '[' ? strrchr(function, '+') : NULL;
	if (!plus)
		return false;
	uint64_t offset = strtoull(plus + 1, NULL, 16) + distance;
	snprintf(buf, size_bytes, "%.*s+0x%" PRIx64 "]", (int)(plus - function), function, offset);
	return true;
}

/* "foo" or "foo+0x12"; a name for which there is no room loses its middle. */
static void put_symbol(const char *name, uint64_t offset, char *buf, size_t size_bytes)
{
	char tail[24] = "";

	if (offset)
		snprintf(tail, sizeof(tail), "+0x%" PRIx64, offset);
	const size_t n = strlen(name), room = size_bytes - strlen(tail) - 1;

	if (n <= room)
		snprintf(buf, size_bytes, "%s%s", name, tail);
	else {
		size_t head = (room - strlen("…")) / 2, from = n - (room - strlen("…") - head);

		while (head && ((unsigned char)name[head] & 0xc0) == 0x80)
			head--;
		while (((unsigned char)name[from] & 0xc0) == 0x80)
			from++;
		snprintf(buf, size_bytes, "%.*s…%s%s", (int)head, name, name + from, tail);
	}
}

void model_where(const struct model *m, const struct model_inst *i, char *symbol,
		 size_t symbol_size, char *source, size_t source_size)
{
	const struct model_function *f = model_function_of(m, i->function);
	if (f && model_offset_name(f->name, i->pc - f->start, symbol, symbol_size))
		;
	else if (f && (i->pc > f->start || f->image))
		put_symbol(f->name, i->pc - f->start, symbol, symbol_size);
	else
		snprintf(symbol, symbol_size, "[0x%" PRIx64 "]", i->pc);
	source[0] = '\0';
	if (i->file && i->line)
		snprintf(source, source_size, "%s:%d", path_name(i->file), i->line);
}
