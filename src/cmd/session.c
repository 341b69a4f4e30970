/* SPDX-License-Identifier: MIT */
/*
 * From options to a bus with analyses on it, and from a finished run to a profile store. Everything
 * that goes into the store comes from the records, the machine and the run's result, in a fixed
 * order: a replayed trace gives the same bytes as the run it was taken from.
 */
#include "cmd/session.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/profile/own.h"
#include "analysis/profile/spec.h"
#include "analysis/symbolise.h"
#include "cmd/bus_log.h"
#include "cmd/plugin.h"
#include "image/image.h"
#include "jobs/recipe.h"
#include "store/store.h"
#include "util/nearest.h"

#define ANALYSES_MAX 32

const char *const session_trace_records[] = { "all", "misses", "committed", NULL };
/* The analyses that write them, in that order. */
static const char *const trace_writers[] = { "trace", "misses", "committed" };

const struct cmd_option session_group[] = {
#define SESSION(member, kind, option, use, ...)                                                    \
	{ .name = option,                                                                          \
	  .type = CMD_##kind,                                                                      \
	  .offset = offsetof(struct session_options, member),                                      \
	  __VA_ARGS__ },
#include "jobs/recipe.def"
	{ .name = NULL },
};

struct chosen {
	const struct analysis *analysis;
	unsigned shards;
};

struct session {
	struct trace_info info;
	struct machine machine; /* a copy, as info has it */
	struct analysis_options options;
	const char **params;
	char *trace_param, **profiler_params;
	struct region regions[REGION_MAX];
	size_t nregions;
	struct chosen chosen[ANALYSES_MAX];
	size_t nchosen;
	char *stem, *suffix, *debug_root, *bus_log;
	struct trace_setting *settings; /* copies */
	struct images *images;
	struct bus *bus;
	struct store *store;
};

static bool choose(struct session *s, const char *name, unsigned shards, unsigned absent,
		   struct err *e)
{
	const struct analysis *a =
	    plugin_is_path(name) ? plugin_load(name, e) : analysis_find(name);
	if (!a && plugin_is_path(name))
		return false;
	if (!a) {
		struct nearest near = { .word = name };
		for (const struct analysis *const *p = analysis_list; *p; p++)
			nearest_try(&near, (*p)->name);
		return err_set(e,
			       "there is no analysis '%s'; the nearest is '%s' ('culprit list "
			       "analyses' shows all)",
			       name, near.best ? near.best : "profile");
	}
	for (size_t i = 0; i < s->nchosen; i++)
		if (s->chosen[i].analysis == a)
			return err_set(e, "analysis '%s' is asked for twice", name);
	if (s->nchosen == ANALYSES_MAX)
		return err_set(e, "more than %d analyses at once", ANALYSES_MAX);
	if (a->wants & absent & WANT_MISSES)
		return err_set(
		    e,
		    "analysis '%s' needs misses, which these records do not have; record "
		    "them with 'culprit sim --trace FILE --trace-records misses'",
		    name);
	if (a->wants & absent & WANT_TWIN)
		return err_set(e,
			       "analysis '%s' needs a twin, which these records do not have; "
			       "'culprit replay TRACE --twin TRACE' takes it from a second trace",
			       name);
	if (a->wants & absent)
		return err_set(e,
			       "analysis '%s' needs %s, which these records do not have; traces of "
			       "'culprit sim --trace FILE' do",
			       name,
			       a->wants & absent & WANT_CYCLES	    ? "cycle records"
			       : a->wants & absent & WANT_PRODUCERS ? "dependences"
			       : a->wants & absent & WANT_LATENCIES ? "latencies by cause"
								    : "where fetch was");
	s->chosen[s->nchosen++] = (struct chosen){ a, shards };
	return true;
}

static bool is_chosen(const struct session *s, const struct analysis *a)
{
	for (size_t i = 0; i < s->nchosen; i++)
		if (s->chosen[i].analysis == a)
			return true;
	return false;
}

/* The analysis of --profiler. It needs the golden reference to be compared with. */
static bool choose_own(struct session *s, unsigned absent, struct err *e)
{
	if (!is_chosen(s, analysis_find("profile")))
		return err_set(e, "--profiler needs analysis profile; add it to --analyze");
	return is_chosen(s, &own_analysis) || choose(s, own_analysis.name, 1, absent, e);
}

static bool choose_all(struct session *s, const struct session_options *o, unsigned absent,
		       struct err *e)
{
	/* By default: what costs at most 15% more than the profile alone. */
	const char *list = o->analyze		  ? o->analyze
			   : absent & WANT_CYCLES ? "none"
						  : "profile,calls";
	bool ok = true;
	if (o->trace_records >= 0 && !o->trace)
		return err_set(e, "--trace-records says what goes into a trace; name it with "
				  "--trace FILE");
	if (!o->analyze && absent & WANT_CYCLES && !o->trace)
		return err_set(e, "these records have no cycles, so no profile can be made; choose "
				  "with --analyze (csv works) or --trace FILE");
	if (!strcmp(list, "all"))
		list = SESSION_ALL;
	if (strcmp(list, "none")) {
		char *copy = x_strdup(list), *rest = copy, *word;
		while (ok && (word = strsep(&rest, ","))) {
			char *colon = strchr(word, ':');
			uint64_t shards = 1;
			if (colon) {
				*colon = '\0';
				ok = number_check("--analyze: workers", colon + 1,
						  &(struct number_range){ 1, 64, NUMBER_PLAIN },
						  &shards, e);
			}
			ok = ok && choose(s, word, (unsigned)shards, absent, e);
		}
		free(copy);
	}
	if (ok && o->profilers.count)
		ok = choose_own(s, absent, e);
	if (ok && o->trace)
		/* A trace takes all that the source has; what the source lacks stays absent. */
		ok = choose(s, trace_writers[o->trace_records > 0 ? o->trace_records : 0], 1, 0, e);
	return ok;
}

static bool resolve_symbol(void *ctx, const char *name, uint64_t *addr)
{
	struct session *s = ctx;
	return s->images && images_find(s->images, name, addr);
}

static bool parse_regions(struct session *s, const struct session_options *o,
			  const struct session_interval *interval, struct err *e)
{
	if (interval->on) {
		uint64_t end = interval->skip + interval->count;
		s->nregions = 1;
		s->regions[0].start =
		    (struct trigger){ .kind = TRIGGER_AFTER, .value = interval->skip };
		if (interval->count)
			s->regions[0].stop =
			    (struct trigger){ .kind = TRIGGER_AFTER, .value = end };
		return true;
	}
	s->nregions = o->start.count > o->stop.count ? o->start.count : o->stop.count;
	if (s->nregions > REGION_MAX)
		return err_set(e, "more than %d regions (--start, --stop)", REGION_MAX);
	for (size_t i = 0; i < s->nregions; i++) {
		struct region *r = &s->regions[i];
		if (i < o->start.count &&
		    !trigger_parse(o->start.items[i], resolve_symbol, s, &r->start, e))
			return false;
		if (i < o->stop.count &&
		    !trigger_parse(o->stop.items[i], resolve_symbol, s, &r->stop, e))
			return false;
	}
	return true;
}

static void collect_params(struct session *s, const struct session_options *o)
{
	size_t n = 0;
	s->params = x_calloc(o->params.count + o->profilers.count + 2, sizeof(*s->params));
	s->profiler_params = x_calloc(o->profilers.count + 1, sizeof(*s->profiler_params));
	for (size_t i = 0; i < o->profilers.count; i++)
		s->params[n++] = s->profiler_params[i] =
		    x_asprintf("profiler=%s", o->profilers.items[i]);
	for (size_t i = 0; i < o->params.count; i++)
		s->params[n++] = o->params.items[i];
	if (o->trace)
		s->params[n++] = s->trace_param = x_asprintf("trace=%s", o->trace);
}

bool session_check_param(const char *text, struct err *e)
{
	const char *equals = strchr(text, '=');
	return (equals && equals > text && equals[1]) ||
	       err_set(e, "'%s' is not valid: KEY=VALUE", text);
}

bool session_check_profiler(const char *text, struct err *e)
{
	struct profiler_spec spec;

	return profiler_spec_parse(text, &spec, e);
}

/* The parameter that "KEY=VALUE" sets, if the analysis has it. */
static const struct analysis_param *param_of(const struct analysis *a, const char *text)
{
	const size_t n = strcspn(text, "=");

	for (const struct analysis_param *p = a->params; p && p->name; p++)
		if (!strncmp(p->name, text, n) && !p->name[n])
			return p;
	return NULL;
}

/* The parameter of that name: of an analysis that runs if one has it, otherwise of any. */
static const struct analysis_param *find_param(const struct session *s, const char *text,
					       const struct analysis **of)
{
	const struct analysis_param *found = NULL;

	for (size_t i = 0; !found && i < s->nchosen; i++)
		found = param_of(*of = s->chosen[i].analysis, text);
	for (size_t i = 0; !found && analysis_list[i]; i++)
		found = param_of(*of = analysis_list[i], text);
	return found;
}

static bool check_param(const struct session *s, const char *text, struct err *e)
{
	const struct analysis *of = NULL;
	const struct analysis_param *p = find_param(s, text, &of);
	char what[96], *word = x_strndup(text, strcspn(text, "="));
	struct nearest near = { .word = word };
	uint64_t number;
	bool runs = false, ok = true;
	for (size_t i = 0; i < s->nchosen; i++)
		runs |= s->chosen[i].analysis == of;
	for (size_t i = 0; !p && analysis_list[i]; i++)
		for (const struct analysis_param *q = analysis_list[i]->params; q && q->name; q++)
			nearest_try(&near, q->name);
	if (!p)
		ok = err_set(e,
			     "--param: no analysis has a parameter '%s'; the nearest is '%s' "
			     "('culprit list analyses' shows all)",
			     word, near.best);
	else if (!runs)
		ok = err_set(e,
			     "--param: '%s' is a parameter of %s, which does not run; add it to "
			     "--analyze",
			     word, of->name);
	snprintf(what, sizeof(what), "--param %.64s", word);
	free(word);
	return ok &&
	       (!p->number || number_check(what, strchr(text, '=') + 1, &p->range, &number, e));
}

static bool check_params(const struct session *s, const struct session_options *o, struct err *e)
{
	for (size_t i = 0; i < o->params.count; i++)
		if (!session_check_param(o->params.items[i], e) ||
		    !check_param(s, o->params.items[i], e))
			return false;
	return true;
}

/* Images that cannot be read are known by their addresses alone. */
static void load_images(struct session *s, const struct trace_image *images, size_t count)
{
	images_free(s->images);
	s->images = images_new(s->debug_root);
	for (size_t i = 0; i < count; i++)
		images_add(s->images, images[i].path,
			   images[i].name ? images[i].name : images[i].path, images[i].bias, NULL);
}

static bool open_bus(struct session *s, const struct session_options *o,
		     const struct session_setup *setup, struct err *e)
{
	struct bus_config config = { .regions = s->regions,
				     .nregions = s->nregions,
				     .before = setup->before,
				     .marks = s->bus_log != NULL };
	/* A flush can squash everything in flight in one cycle: a batch must hold several of
	 * those. */
	config.batch_insts = max_u64(2048, 16 * (uint64_t)s->info.meta.rob_entries);
	config.workers = o->workers != OPTION_NOT_GIVEN ? (unsigned)o->workers
							: bus_default_workers((unsigned)s->nchosen);
	config.memory_bytes = o->buffer_memory;
	s->bus = bus_new(&config, &s->info.meta, &s->options);
	for (size_t i = 0; i < s->nchosen; i++)
		if (!bus_add(s->bus, s->chosen[i].analysis, s->chosen[i].shards, e))
			return false;
	/* Workers must not take signals: the main thread may be waiting for one and would not
	 * wake. */
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	bool ok = bus_start(s->bus, e);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return ok;
}

static bool open_all(struct session *s, const struct session_options *o,
		     const struct session_setup *setup, struct err *e)
{
	if (o->frequency && o->period)
		return err_set(e, "--period and --frequency exclude each other");
	if (o->frequency && (double)o->frequency > setup->meta->clock_hz)
		return err_set(e,
			       "--frequency: '%llu' is not valid: the machine has %.0f cycles a "
			       "second",
			       (unsigned long long)o->frequency, setup->meta->clock_hz);
	if (!choose_all(s, o, setup->absent, e) || !check_params(s, o, e))
		return false;
	collect_params(s, o);
	load_images(s, setup->images, setup->nimages);
	if (!parse_regions(s, o, &setup->interval, e))
		return false;
	if (!s->nchosen)
		return !o->bus_log ||
		       err_set(e, "--bus-log: no analysis runs (--analyze null is one)");
	if (o->bus_log) {
		s->bus_log = x_asprintf("%s%s", o->bus_log, s->suffix);
		if (!bus_log_check(s->bus_log, e))
			return false;
	}
	char *path = o->output ? x_asprintf("%s%s", o->output, s->suffix)
			       : x_asprintf("%s.culprit%s", s->stem, s->suffix);
	s->store = store_create(path, e);
	free(path);
	uint64_t period = o->period ? o->period : 1000;
	if (o->frequency)
		period = max_u64(1, (uint64_t)(setup->meta->clock_hz / (double)o->frequency));
	s->options = (struct analysis_options){ .period = period,
						.random = o->random,
						.seed = setup->seed,
						/* nobody knows the cycles before it */
						.phase = hash_u64(setup->interval.start),
						.params = s->params,
						.stem = s->stem,
						.suffix = s->suffix,
						.info = &s->info,
						.images = &s->images };
	return s->store && open_bus(s, o, setup, e);
}

static void copy_settings(struct session *s, const struct session_setup *setup)
{
	/* room for the signature */
	s->settings = x_calloc(setup->nsettings + 1, sizeof(*s->settings));
	for (size_t i = 0; i < setup->nsettings; i++)
		s->settings[i] = (struct trace_setting){ x_strdup(setup->settings[i].section),
							 x_strdup(setup->settings[i].key),
							 x_strdup(setup->settings[i].value) };
	s->info.settings = s->settings;
	s->info.nsettings = setup->nsettings;
}

static void session_free(struct session *s)
{
	bus_free(s->bus);
	store_close(s->store);
	images_free(s->images);
	for (size_t i = 0; i < s->info.nsettings; i++) {
		free((char *)s->settings[i].section);
		free((char *)s->settings[i].key);
		free((char *)s->settings[i].value);
	}
	free(s->settings);
	for (size_t i = 0; s->profiler_params && s->profiler_params[i]; i++)
		free(s->profiler_params[i]);
	free(s->profiler_params);
	free(s->params);
	free(s->trace_param);
	free(s->stem);
	free(s->suffix);
	free(s->debug_root);
	free(s->bus_log);
	free(s);
}

struct session *session_open(const struct session_options *o, const struct session_setup *setup,
			     struct err *e)
{
	struct session *s = x_calloc(1, sizeof(*s));
	const char *program = setup->program ? setup->program : setup->meta->program;
	e->text[0] = '\0';
	s->stem = x_strdup(path_name(program));
	s->suffix = x_strdup(setup->suffix ? setup->suffix : "");
	s->debug_root = setup->debug_root ? x_strdup(setup->debug_root) : NULL;
	s->info = (struct trace_info){ .meta = *setup->meta,
				       .absent = setup->absent,
				       .machine = &s->machine,
				       .images = setup->images,
				       .nimages = setup->nimages };
	s->machine = *setup->machine;
	copy_settings(s, setup);
	bool ok = open_all(s, o, setup, e);
	s->info.images = NULL; /* they belong to the caller; session_close is given them again */
	s->info.nimages = 0;
	if (ok)
		return s;
	session_free(s);
	return NULL;
}

struct emit *session_emit(struct session *s)
{
	return s->bus ? bus_emit(s->bus) : NULL;
}

/* A row of the run's recipe that is known when the run is over. */
static bool put_fact(struct store *db, enum recipe_item item, const char *text, struct err *e)
{
	return !text || store_insert(db, e, "run", "ss", recipe_rows[item].key, text);
}

static bool put_run(struct session *s, struct err *e)
{
	const struct trace_info *i = &s->info;
	struct store *db = s->store;
	return store_insert(db, e, "run", "ss", "program", i->meta.program) &&
	       store_insert(db, e, "run", "ss", "machine", i->meta.machine) &&
	       store_insert(db, e, "run", "si", "instructions", (int64_t)i->insts) &&
	       store_insert(db, e, "run", "si", "cycles", (int64_t)i->cycles) &&
	       store_insert(db, e, "run", "sd", "ipc",
			    i->cycles ? (double)i->insts / (double)i->cycles : 0.0) &&
	       (i->ended ? store_insert(db, e, "run", "si", "exit_status", (int64_t)i->exit_status)
			 : store_insert(db, e, "run", "sn", "exit_status")) &&
	       store_insert(db, e, "run", "sd", "host_seconds", i->host_seconds) &&
	       put_fact(db, RUN_files, i->files, e) && put_fact(db, RUN_folders, i->folders, e) &&
	       put_fact(db, RUN_input, i->input, e) &&
	       store_insert(db, e, "run", "sd", "clock_hz", i->meta.clock_hz) &&
	       store_insert(db, e, "run", "si", recipe_rows[RUN_seed].key,
			    (int64_t)s->options.seed) &&
	       store_insert(db, e, "run", "si", "period", (int64_t)s->options.period) &&
	       store_insert(db, e, "run", "si", "random", (int64_t)s->options.random);
}

static bool put_machine(struct session *s, struct err *e)
{
	bool ok = true;
	for (size_t i = 0; ok && i < s->info.nsettings; i++) {
		const struct trace_setting *t = &s->info.settings[i];
		/* the run's recipe travels with the machine's settings */
		if (!strcmp(t->section, "run"))
			ok = store_insert(s->store, e, "run", "ss", t->key, t->value);
		else
			ok = store_insert(s->store, e, "machine", "sss", t->section, t->key,
					  t->value);
	}
	for (size_t i = 0; ok && i < s->info.ncounters; i++)
		ok = store_insert(s->store, e, "counter", "si", s->info.counters[i].name,
				  (int64_t)s->info.counters[i].value);
	return ok;
}

/* Signs the store, and the trace if one is written. */
static bool sign(struct session *s, const struct trust_key *key, struct err *e)
{
	char hex[DIGEST_HEX];
	if (!key || !trust_sign(s->store, key, hex))
		return true;
	s->settings[s->info.nsettings++] =
	    (struct trace_setting){ x_strdup("run"), x_strdup(TRUST_ROW), x_strdup(hex) };
	return store_insert(s->store, e, "run", "ss", TRUST_ROW, hex);
}

static bool finish(struct session *s, const struct session_result *r, struct err *e)
{
	if (!s->bus)
		return true;
	s->info.insts = r->insts;
	s->info.cycles = r->cycles;
	s->info.ended = r->ended;
	s->info.exit_status = r->exit_status;
	s->info.host_seconds = r->host_seconds;
	s->info.files = r->files;
	s->info.folders = r->folders;
	s->info.input = r->input;
	s->info.waits = r->waits;
	s->info.nwaits = r->nwaits;
	s->info.images = r->images;
	s->info.nimages = r->nimages;
	s->info.counters = r->counters;
	s->info.ncounters = r->ncounters;
	s->info.complete = true;
	load_images(s, r->images, r->nimages);
	return bus_stop(s->bus, e) && (!s->bus_log || bus_log_write(s->bus_log, s->bus, e)) &&
	       put_run(s, e) && put_machine(s, e) && sign(s, r->key, e) &&
	       bus_finish(s->bus, s->store, e) && symbolise(s->store, s->images, r->stop, e) &&
	       store_commit(s->store, e);
}

bool session_close(struct session *s, const struct session_result *result, struct err *e)
{
	bool ok = !result || finish(s, result, e);
	if (!result && s->bus)
		bus_stop(s->bus, NULL);
	session_free(s);
	return ok;
}

const char *session_path(const struct session *s)
{
	return s->store ? store_path(s->store) : NULL;
}

void session_quiet(struct session *s)
{
	if (s->bus)
		bus_quiet(s->bus);
}

void session_forget(struct session *s)
{
	if (s->bus)
		bus_forget(s->bus);
}

struct trigger_cutter session_regions(struct session *s)
{
	return s->bus ? bus_regions(s->bus) : (struct trigger_cutter){ 0 };
}
