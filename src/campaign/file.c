/* SPDX-License-Identifier: MIT */
/*
 * Reads a campaign's file. Each section is a row of sections[], each key of a section a row of its table,
 * so an unknown one gets the nearest name. What a value means on the host (files, machines) is checked
 * in plan.c; here are syntax and the lines that things stand in.
 */
#include <libgen.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "campaign/campaign.h"
#include "util/array.h"
#include "util/inifile.h"
#include "util/nearest.h"
#include "util/number.h"
#include "util/text.h"

const char *const campaign_hows[CAMPAIGN_HOWS + 1] = { "full", "sampled", "functional", NULL };

/* What goes from line to line. */
struct reader {
	struct campaign *c;
	char *section; /* the one that the last line was in */
	struct campaign_program *program;
	struct campaign_machine *machine;
	struct campaign_group *group;
};

/* ---- values ---- */

/* Splits a text into words as a shell does: quotes and backslashes, nothing else. */
static bool split(const char *text, struct words *out, struct err *e)
{
	char *word = x_malloc(strlen(text) + 1);
	bool ok = true;

	while (ok) {
		char quote = 0;
		size_t n = 0;

		text += strspn(text, " \t");
		if (!*text)
			break;
		for (; *text && (quote || !strchr(" \t", *text)); text++) {
			if (quote ? *text == quote : *text == '\'' || *text == '"')
				quote = quote ? 0 : *text;
			else if (*text == '\\' && quote != '\'' && text[1])
				word[n++] = *++text;
			else
				word[n++] = *text;
		}
		word[n] = 0;
		if (quote)
			ok = err_set(e, "a quote (%c) is not closed", quote);
		else
			words_add(out, word);
	}
	free(word);
	return ok;
}

/* A range "A..B" with a step "+S" or "*F"; whole numbers stay whole. */
struct range {
	double from, to, step;
	bool times, whole;
	bool sized; /* a number had a unit: 128k */
};

static bool read_real(const char *text, size_t n, double *out)
{
	char copy[64];

	if (!n || n >= sizeof(copy))
		return false;
	memcpy(copy, text, n);
	copy[n] = 0;
	return condition_number(copy, out) && isfinite(*out);
}

/* A value of a range as a machine file has it. */
static void put_value(char text[40], const struct range *r, double x)
{
	static const struct {
		double bytes;
		char unit;
	} units[] = { { 1 << 30, 'G' }, { 1 << 20, 'M' }, { 1 << 10, 'k' } };

	snprintf(text, 40, r->whole ? "%.0f" : "%.10g", x);
	for (size_t i = 0; r->sized && i < ARRAY_LEN(units); i++)
		if (x >= units[i].bytes && fmod(x, units[i].bytes) == 0) {
			snprintf(text, 40, "%.0f%c", x / units[i].bytes, units[i].unit);
			return;
		}
}

static bool add_range(struct words *out, const struct range *r, struct err *e)
{
	if (r->times ? r->step <= 1 || r->from <= 0 : r->step <= 0)
		return err_set(e, "a step must lead upwards: *2, or +16");
	if (r->from > r->to)
		return err_set(e, "a range goes from the smaller number to the larger one");
	for (size_t i = 0;; i++) {
		const double x =
		    r->times ? r->from * pow(r->step, (double)i) : r->from + r->step * (double)i;
		char text[40];

		/* the last value may miss the end by rounding */
		if (x > r->to + fabs(r->to) * 1e-12)
			return true;
		if (out->count >= CAMPAIGN_RUNS_MOST)
			return err_set(e, "more than %d values", CAMPAIGN_RUNS_MOST);
		put_value(text, r, x);
		words_add(out, text);
	}
}

bool campaign_values(const char *text, struct words *out, struct err *e)
{
	struct words in = { NULL, 0 };
	bool ok = split(text, &in, e);

	for (size_t i = 0; ok && i < in.count; i++) {
		const char *word = in.items[i], *dots = strstr(word, "..");
		struct range r = { .step = 1 };

		if (!dots) {
			words_add(out, word);
			continue;
		}

		const char *step = dots + strcspn(dots, "*+");
		const size_t n = (size_t)(step - dots) - 2;

		if (!*step && i + 1 < in.count && strchr("*+", *in.items[i + 1]))
			step = in.items[++i];
		r.times = *step == '*';
		ok = read_real(word, (size_t)(dots - word), &r.from) &&
		     read_real(dots + 2, n, &r.to) &&
		     (!*step || read_real(step + 1, strlen(step + 1), &r.step));
		r.sized = strpbrk(word, "kMG");
		r.whole =
		    ok && r.from == trunc(r.from) && r.step == trunc(r.step) && fabs(r.to) < 1e15;
		ok = ok ? add_range(out, &r, e)
			: err_set(e, "'%s' is not a range: FROM..TO, then *FACTOR or +STEP", word);
	}
	words_free(&in);
	return ok && (out->count || err_set(e, "there is no value"));
}

/* Seconds from 90, 90s, 15m, 2h. */
static bool read_seconds(const char *text, double *out, struct err *e)
{
	static const struct {
		const char *unit;
		double seconds;
	} units[] = { { "", 1 }, { "s", 1 }, { "m", 60 }, { "h", 3600 }, { "d", 86400 } };
	const char *unit;

	if (number_real(text, out, &unit) && *out > 0)
		for (size_t i = 0; i < ARRAY_LEN(units); i++)
			if (!strcmp(unit, units[i].unit)) {
				*out *= units[i].seconds;
				return true;
			}
	return err_set(e, "'%s' is not a time: 90, 90s, 15m, 2h", text);
}

/* ---- keys ---- */

typedef bool take_value(struct reader *r, const struct inifile_pair *p, struct err *e);

struct key {
	const char *name;
	take_value *take;
	bool many; /* may be given more than once, and go on in a second line */
};

static bool set_text(struct campaign_text *t, const struct inifile_pair *p)
{
	free(t->text);
	*t = (struct campaign_text){ x_strdup(p->value), p->line };
	return true;
}

static bool take_output(struct reader *r, const struct inifile_pair *p, struct err *e)
{
	free(r->c->output);
	r->c->output =
	    *p->value == '/' ? x_strdup(p->value) : x_asprintf("%s/%s", r->c->folder, p->value);
	return *p->value || err_set(e, "output needs the name of a file");
}

static bool take_how(struct reader *r, const struct inifile_pair *p, struct err *e)
{
	r->c->how_line = p->line;
	for (unsigned i = 0; i < CAMPAIGN_HOWS; i++)
		if (!strcmp(p->value, campaign_hows[i])) {
			r->c->how = (enum campaign_how)i;
			return true;
		}
	return err_set(e, "how = %s: it is full, sampled or functional", p->value);
}

static bool take_analyses(struct reader *r, const struct inifile_pair *p, struct err *e)
{
	return set_text(&r->c->analyses, p);
}

static bool take_place(struct reader *r, const struct inifile_pair *p, struct err *e)
{
	const char *argument;

	return job_place_find(p->value, &argument, e) && set_text(&r->c->place, p);
}

static bool take_seeds(struct reader *r, const struct inifile_pair *p, struct err *e)
{
	static const struct number_range range = { 0, INT64_MAX, NUMBER_PLAIN };
	uint64_t seed;

	if (!campaign_values(p->value, &r->c->seeds, e))
		return false;
	for (size_t i = 0; i < r->c->seeds.count; i++)
		if (!number_check("seeds", r->c->seeds.items[i], &range, &seed, e))
			return false;
	return true;
}

static bool take_jobs(struct reader *r, const struct inifile_pair *p, struct err *e)
{
	static const struct number_range range = { 1, 100000, NUMBER_PLAIN };

	return number_check("jobs", p->value, &range, &r->c->jobs, e);
}

static bool take_limit_time(struct reader *r, const struct inifile_pair *p, struct err *e)
{
	return read_seconds(p->value, &r->c->limits.seconds, e);
}

static bool take_limit_memory(struct reader *r, const struct inifile_pair *p, struct err *e)
{
	static const struct number_range range = { 1 << 20, 1ull << 50, NUMBER_BINARY };

	return number_check("limit-memory", p->value, &range, &r->c->limits.memory_bytes, e);
}

static bool take_machines(struct reader *r, const struct inifile_pair *p, struct err *e)
{
	struct words w = { NULL, 0 };
	bool ok = split(p->value, &w, e);

	for (size_t i = 0; ok && i < w.count; i++)
		*ARRAY_ADD(r->c->machines, r->c->nmachines) =
		    (struct campaign_machine){ .name = x_strdup(w.items[i]),
					       .source = x_strdup(w.items[i]),
					       .line = p->line };
	words_free(&w);
	return ok;
}

static bool take_rule(struct reader *r, const struct inifile_pair *p, struct err *e)
{
	struct campaign_rule *rule = ARRAY_ADD(r->c->rules, r->c->nrules);

	*rule = (struct campaign_rule){ .only = !strcmp(p->key, "only"), .line = p->line };
	return conditions_parse(&rule->when, p->value, e);
}

static const struct key campaign_keys[] = {
	{ "output", take_output, false },
	{ "how", take_how, false },
	{ "analyses", take_analyses, false },
	{ "machines", take_machines, true },
	{ "seeds", take_seeds, true },
	{ "only", take_rule, true },
	{ "skip", take_rule, true },
	{ "limit-time", take_limit_time, false },
	{ "limit-memory", take_limit_memory, false },
	{ "place", take_place, false },
	{ "jobs", take_jobs, false },
	{ NULL, NULL, false },
};

static bool take_command(struct reader *r, const struct inifile_pair *p, struct err *e)
{
	if (r->program->command.count && !p->continued)
		return err_set(e, "there are two commands; a second program needs its own section");
	r->program->command_line = r->program->command_line ? r->program->command_line : p->line;
	return split(p->value, &r->program->command, e);
}

static bool take_folder(struct reader *r, const struct inifile_pair *p, struct err *e)
{
	return set_text(&r->program->folder, p);
}

static bool take_sysroot(struct reader *r, const struct inifile_pair *p, struct err *e)
{
	return set_text(&r->program->sysroot, p);
}

static bool take_stdin(struct reader *r, const struct inifile_pair *p, struct err *e)
{
	return set_text(&r->program->stdin_file, p);
}

static bool take_files(struct reader *r, const struct inifile_pair *p, struct err *e)
{
	struct campaign_text *t = &r->program->files;
	char *all = t->text ? x_asprintf("%s %s", t->text, p->value) : x_strdup(p->value);

	free(t->text);
	*t = (struct campaign_text){ all, t->line ? t->line : p->line };
	return true;
}

static bool take_env(struct reader *r, const struct inifile_pair *p, struct err *e)
{
	return split(p->value, &r->program->env, e);
}

static void add_input(struct campaign_program *p, const char *name, const char *text, int line)
{
	*ARRAY_ADD(p->inputs, p->ninputs) =
	    (struct campaign_input){ x_strdup(name), x_strdup(text), line };
}

static bool take_inputs(struct reader *r, const struct inifile_pair *p, struct err *e)
{
	struct words w = { NULL, 0 };
	const bool ok = campaign_values(p->value, &w, e);

	for (size_t i = 0; ok && i < w.count; i++)
		add_input(r->program, w.items[i], w.items[i], p->line);
	words_free(&w);
	return ok;
}

static bool take_status(struct reader *r, const struct inifile_pair *p, struct err *e)
{
	static const struct number_range range = { 0, 255, NUMBER_PLAIN };
	uint64_t n = 0;

	if (!strcmp(p->value, "any")) {
		r->program->status = -1;
		return true;
	}
	if (!number_check("status", p->value, &range, &n, e))
		return false;
	r->program->status = (int)n;
	return true;
}

static const struct key program_keys[] = {
	{ "command", take_command, true },
	{ "folder", take_folder, false },
	{ "sysroot", take_sysroot, false },
	{ "stdin", take_stdin, false },
	{ "inputs", take_inputs, true },
	{ "files", take_files, true },
	{ "env", take_env, true },
	{ "status", take_status, false },
	{ NULL, NULL, false },
};

static bool take_machine(struct reader *r, const struct inifile_pair *p, struct err *e)
{
	free(r->machine->source);
	r->machine->source = x_strdup(p->value);
	return true;
}

static const struct key machine_keys[] = {
	{ "machine", take_machine, false },
	{ NULL, NULL, false },
};

/* ---- sections ---- */

/* A name given twice would make two rows of results that cannot be told apart. */
static bool is_new(const char *what, const char *name, bool there, struct err *e)
{
	if (!*name)
		return err_set(e, "a section [%s NAME] needs a name", what);
	if (!text_is_plain(name) || strchr(name, '|'))
		return err_set(e, "the name of a %s may not hold that character", what);
	return !there || err_set(e, "there are two sections [%s %s]", what, name);
}

static bool begin_program(struct reader *r, const char *name, int line, struct err *e)
{
	bool there = false;

	for (size_t i = 0; i < r->c->nprograms; i++)
		there |= !strcmp(r->c->programs[i].name, name);
	if (!is_new("program", name, there, e))
		return false;
	r->program = ARRAY_ADD(r->c->programs, r->c->nprograms);
	*r->program = (struct campaign_program){ .name = x_strdup(name), .line = line };
	return true;
}

static bool begin_machine(struct reader *r, const char *name, int line, struct err *e)
{
	if (!is_new("machine", name, false, e))
		return false;
	r->machine = ARRAY_ADD(r->c->machines, r->c->nmachines);
	*r->machine = (struct campaign_machine){ .name = x_strdup(name),
						 .source = x_strdup(name),
						 .line = line };
	return true;
}

static bool begin_group(struct reader *r, const char *name, int line, struct err *e)
{
	r->group = ARRAY_ADD(r->c->groups, r->c->ngroups);
	*r->group = (struct campaign_group){ .section = x_strdup(name) };
	return true;
}

static bool begin_nothing(struct reader *r, const char *name, int line, struct err *e)
{
	return true;
}

static bool in_table(const struct key *keys, struct reader *r, const struct inifile_pair *p,
		     struct err *e)
{
	struct nearest near = { .word = p->key };

	for (const struct key *k = keys; k->name; k++) {
		if (!strcmp(k->name, p->key))
			return (!p->continued || k->many ||
				err_set(e, "%s goes on in a second line; it takes one value",
					p->key)) &&
			       k->take(r, p, e);
		nearest_try(&near, k->name);
	}
	return err_set(e, "there is no key '%s' in [%s]; the nearest is '%s'", p->key, p->section,
		       near.best);
}

static bool in_campaign(struct reader *r, const struct inifile_pair *p, struct err *e)
{
	return in_table(campaign_keys, r, p, e);
}

static bool in_program(struct reader *r, const struct inifile_pair *p, struct err *e)
{
	if (strncmp(p->key, "input.", 6) || !p->key[6])
		return in_table(program_keys, r, p, e);
	if (!is_new("input", p->key + 6, false, e))
		return false;
	add_input(r->program, p->key + 6, p->value, p->line);
	return true;
}

/* Whether there is such a parameter of machines. */
static bool is_parameter(const char *name, struct err *e)
{
	const size_t n = strcspn(name, ".");
	char *section = x_strndup(name, n);
	const bool ok = name[n] ? machine_param_find(section, name + n + 1, e) != NULL
				: err_set(e, "'%s' is not SECTION.KEY of a machine", name);

	free(section);
	return ok;
}

static struct campaign_setting *add_setting(struct campaign_setting **all, size_t *n,
					    const struct inifile_pair *p)
{
	struct campaign_setting *last = *n ? &(*all)[*n - 1] : NULL;

	if (p->continued && last && !strcmp(last->name, p->key))
		return last;
	last = ARRAY_ADD(*all, *n);
	*last = (struct campaign_setting){ .name = x_strdup(p->key), .line = p->line };
	return last;
}

static bool add_fixed(struct campaign_setting **all, size_t *n, const struct inifile_pair *p,
		      struct err *e)
{
	struct campaign_setting *s;

	if (!is_parameter(p->key, e))
		return false;
	s = add_setting(all, n, p);
	words_add(&s->values, p->value);
	return s->values.count == 1 ||
	       err_set(e, "[%s] gives a parameter one value; [settings] varies them", p->section);
}

static bool in_machine(struct reader *r, const struct inifile_pair *p, struct err *e)
{
	return strchr(p->key, '.') ? add_fixed(&r->machine->sets, &r->machine->nsets, p, e)
				   : in_table(machine_keys, r, p, e);
}

static bool in_settings(struct reader *r, const struct inifile_pair *p, struct err *e)
{
	struct campaign_setting *s;

	if (!strcmp(p->key, "combine")) {
		r->group->paired = !strcmp(p->value, "paired");
		return r->group->paired || !strcmp(p->value, "all") ||
		       err_set(e, "combine = %s: it is all or paired", p->value);
	}
	if (!is_parameter(p->key, e))
		return false;
	s = add_setting(&r->group->settings, &r->group->nsettings, p);
	return campaign_values(p->value, &s->values, e);
}

static bool in_set(struct reader *r, const struct inifile_pair *p, struct err *e)
{
	return add_fixed(&r->c->fixed, &r->c->nfixed, p, e);
}

static void add_option(struct campaign_option **all, size_t *n, const struct inifile_pair *p)
{
	const bool is_switch = !strcmp(p->value, "yes");

	*ARRAY_ADD(*all, *n) =
	    (struct campaign_option){ x_strdup(p->key), is_switch ? NULL : x_strdup(p->value),
				      p->line };
}

static bool in_sim(struct reader *r, const struct inifile_pair *p, struct err *e)
{
	struct nearest near = { .word = p->key };

	/* what decides a run and is not said elsewhere in the file */
	for (unsigned i = 0; i < RUN_OPTIONS; i++) {
		const struct recipe_row *row = &recipe_rows[i];

		if (!(row->use & RECIPE_REPEAT) || i == RUN_sysroot || i == RUN_seed)
			continue;
		if (!strcmp(row->option, p->key)) {
			add_option(&r->c->sim, &r->c->nsim, p);
			return true;
		}
		nearest_try(&near, row->option);
	}
	return err_set(e, "there is no key '%s' in [sim]; the nearest is '%s'", p->key, near.best);
}

static bool in_sample(struct reader *r, const struct inifile_pair *p, struct err *e)
{
	add_option(&r->c->sample, &r->c->nsample, p);
	return true;
}

static const struct section {
	const char *name;
	bool named; /* a name may follow */
	bool (*begin)(struct reader *r, const char *name, int line, struct err *e);
	take_value *take;
} sections[] = {
	{ "campaign", false, begin_nothing, in_campaign },
	{ "program", true, begin_program, in_program },
	{ "machine", true, begin_machine, in_machine },
	{ "settings", true, begin_group, in_settings },
	{ "set", false, begin_nothing, in_set },
	{ "sim", false, begin_nothing, in_sim },
	{ "sample", false, begin_nothing, in_sample },
};

static bool take_pair(void *ctx, const struct inifile_pair *p, struct err *e)
{
	struct reader *r = ctx;
	const size_t n = strcspn(p->section, " ");
	const char *name = p->section + n + strspn(p->section + n, " ");
	struct nearest near = { .word = p->section };

	for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
		const struct section *s = &sections[i];

		nearest_try(&near, s->name);
		if (strlen(s->name) != n || strncmp(s->name, p->section, n) || (*name && !s->named))
			continue;
		if (!r->section || strcmp(r->section, p->section)) {
			free(r->section);
			r->section = x_strdup(p->section);
			if (!s->begin(r, name, p->line, e))
				return false;
		}
		return s->take(r, p, e);
	}
	return *p->section ? err_set(e, "there is no section [%s]; the nearest is [%s]", p->section,
				     near.best)
			   : err_set(e, "%s stands before the first [section]", p->key);
}

/* What has to be there, and what is there by default. */
static bool complete(struct campaign *c, struct err *e)
{
	if (!c->nprograms)
		return err_set(e, "%s: there is no section [program NAME]", c->path);
	for (size_t i = 0; i < c->nprograms; i++) {
		struct campaign_program *p = &c->programs[i];

		if (!p->command.count)
			return err_set(e, "%s:%d: [program %s] has no command", c->path, p->line,
				       p->name);
		if (!p->ninputs)
			add_input(p, "", "", p->line);
		for (size_t k = 0; k < p->ninputs; k++)
			for (size_t m = 0; m < k; m++)
				if (!strcmp(p->inputs[k].name, p->inputs[m].name))
					return err_set(e, "%s:%d: there are two inputs '%s'",
						       c->path, p->inputs[k].line,
						       p->inputs[k].name);
	}
	if (!c->seeds.count)
		words_add(&c->seeds, "0");
	if (c->how == CAMPAIGN_FUNCTIONAL && (c->nmachines || c->ngroups || c->nfixed))
		return err_set(e,
			       "%s:%d: how = functional models no machine; leave machines and "
			       "settings out",
			       c->path, c->how_line);
	if (c->how == CAMPAIGN_FUNCTIONAL && c->analyses.text)
		return err_set(e,
			       "%s:%d: analyses need a machine, and how = functional models none",
			       c->path, c->analyses.line);
	if (c->how != CAMPAIGN_FUNCTIONAL && !c->nmachines)
		*ARRAY_ADD(c->machines, c->nmachines) =
		    (struct campaign_machine){ .name = x_strdup("boom-tip"),
					       .source = x_strdup("boom-tip") };
	for (size_t i = 0; i < c->nmachines; i++)
		for (size_t k = 0; k < i; k++)
			if (!strcmp(c->machines[i].name, c->machines[k].name))
				return err_set(e, "%s:%d: there are two machines '%s'", c->path,
					       c->machines[i].line, c->machines[i].name);
	return true;
}

static char *default_output(const char *path)
{
	const size_t n = strlen(path);

	return x_asprintf("%.*s.db", (int)(n > 4 && !strcmp(path + n - 4, ".ini") ? n - 4 : n),
			  path);
}

struct campaign *campaign_read(const char *path, struct err *e)
{
	struct campaign *c = x_calloc(1, sizeof(*c));
	char *text = inifile_text(path, e), *real = text ? realpath(path, NULL) : NULL;
	struct reader r = { .c = c };
	bool ok = real;

	c->path = x_strdup(path);
	if (ok) {
		c->output = default_output(real);
		c->folder = x_strdup(dirname(real));
		ok = inifile_parse(text, path, take_pair, &r, e) && complete(c, e);
	}
	free(r.section);
	free(real);
	free(text);
	if (ok)
		return c;
	campaign_free(c);
	return NULL;
}

char *campaign_results(const char *path, struct err *e)
{
	struct campaign *c = campaign_read(path, e);
	char *output = c ? x_strdup(c->output) : NULL;

	campaign_free(c);
	return output;
}

static void free_settings(struct campaign_setting *all, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(all[i].name);
		words_free(&all[i].values);
	}
	free(all);
}

static void free_options(struct campaign_option *all, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(all[i].name);
		free(all[i].value);
	}
	free(all);
}

static void free_program(struct campaign_program *p)
{
	free(p->name);
	words_free(&p->command);
	words_free(&p->env);
	free(p->folder.text);
	free(p->sysroot.text);
	free(p->stdin_file.text);
	free(p->files.text);
	for (size_t i = 0; i < p->ninputs; i++) {
		free(p->inputs[i].name);
		free(p->inputs[i].text);
	}
	free(p->inputs);
}

void campaign_free(struct campaign *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->nprograms; i++)
		free_program(&c->programs[i]);
	for (size_t i = 0; i < c->nmachines; i++) {
		free(c->machines[i].name);
		free(c->machines[i].source);
		free(c->machines[i].file);
		free_settings(c->machines[i].sets, c->machines[i].nsets);
	}
	for (size_t i = 0; i < c->ngroups; i++) {
		free(c->groups[i].section);
		free_settings(c->groups[i].settings, c->groups[i].nsettings);
	}
	for (size_t i = 0; i < c->nrules; i++)
		conditions_free(&c->rules[i].when);
	free_settings(c->fixed, c->nfixed);
	free_options(c->sim, c->nsim);
	free_options(c->sample, c->nsample);
	words_free(&c->seeds);
	free(c->programs);
	free(c->machines);
	free(c->groups);
	free(c->rules);
	free(c->analyses.text);
	free(c->place.text);
	free(c->output);
	free(c->folder);
	free(c->path);
	free(c);
}
