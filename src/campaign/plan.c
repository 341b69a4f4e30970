/* SPDX-License-Identifier: MIT */
/*
 * Makes the runs of a campaign and checks everything that can be checked before one of them runs: that
 * files are there, that each machine passes its check with its settings, that culprit knows the options.
 *
 * A run's digest covers what decides its result: culprit itself, the command, the content of the program,
 * of files among its arguments, of its standard input and of those that the file names, what the sysroot
 * holds (names, sizes and times), the machine with all parameters, options, analyses and seed. What a run
 * writes is thrown away, so that runs of one program can go on at the same time.
 */
#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "campaign/campaign.h"
#include "campaign/result.h"
#include "util/array.h"
#include "util/nearest.h"

/* The work of one call. */
struct planner {
	const struct campaign *c;
	struct campaign_plan *plan;
	const struct campaign_commands *commands;
	const char *simulator;
	struct digest base; /* of what all runs share */
	struct err *e;
};

static bool wrong(const struct planner *p, int line, const char *what)
{
	return err_set(p->e, "%s:%d: %s", p->c->path, line, what);
}

/* A path of the file: relative to the file's folder. */
static char *own_path(const struct planner *p, const char *path)
{
	return *path == '/' ? x_strdup(path) : x_asprintf("%s/%s", p->c->folder, path);
}

static char *replace_input(const char *text, const char *with)
{
	static const char mark[] = "{input}";
	char *out = x_strdup(text);

	for (char *at = out; (at = strstr(at, mark));) {
		const size_t before = (size_t)(at - out);
		char *more = x_asprintf("%.*s%s%s", (int)before, out, with, at + sizeof(mark) - 1);

		free(out);
		out = more;
		at = out + before + strlen(with);
	}
	return out;
}

/* ---- programs ---- */

static bool is_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* Where a word of a command leads on the host, if it is a file there; NULL: it is none. */
static char *host_file(const char *word, const char *folder, const char *sysroot)
{
	char *path = NULL;

	if (*word == '/' && sysroot) {
		path = x_asprintf("%s%s", sysroot, word);
		if (is_file(path))
			return path;
		free(path);
	}
	path = *word == '/' ? x_strdup(word) : x_asprintf("%s/%s", folder, word);
	if (is_file(path))
		return path;
	free(path);
	return NULL;
}

/* As `culprit sim` finds a program by its name alone. */
static char *host_program(const char *word, const char *folder, const char *sysroot)
{
	static const char *const folders[] = { "/usr/local/bin", "/usr/bin", "/bin", "/usr/games" };
	char *path = host_file(word, folder, sysroot);

	for (size_t i = 0; !path && sysroot && !strchr(word, '/') && i < ARRAY_LEN(folders); i++) {
		path = x_asprintf("%s%s/%s", sysroot, folders[i], word);
		if (!is_file(path)) {
			free(path);
			path = NULL;
		}
	}
	return path;
}

/* Adds the files below a folder to a digest, by name, size and time. */
static void digest_tree(struct digest *d, const char *folder, unsigned depth)
{
	struct stat st;
	struct dirent **names = NULL;
	const int n = depth < 64 ? scandir(folder, &names, NULL, alphasort) : -1;

	for (int i = 0; i < n; i++) {
		const char *name = names[i]->d_name;
		char *path = x_asprintf("%s/%s", folder, name);

		if (strcmp(name, ".") && strcmp(name, "..") && !lstat(path, &st)) {
			const int64_t facts[] = { st.st_mode, S_ISDIR(st.st_mode) ? 0 : st.st_size,
						  S_ISREG(st.st_mode) ? st.st_mtim.tv_sec : 0,
						  S_ISREG(st.st_mode) ? st.st_mtim.tv_nsec : 0 };

			digest_text(d, name);
			digest_add(d, facts, sizeof(facts));
			if (S_ISDIR(st.st_mode))
				digest_tree(d, path, depth + 1);
		}
		free(path);
		free(names[i]);
	}
	free(names);
	digest_text(d, NULL);
}

/* What a program needs on the host; absolute paths. */
struct place {
	char *folder, *sysroot;
	char tree[DIGEST_HEX]; /* of what the sysroot holds */
};

static bool find_place(struct planner *p, const struct campaign_program *g, struct place *out)
{
	out->folder = g->folder.text ? own_path(p, g->folder.text) : x_strdup(p->c->folder);
	out->sysroot = g->sysroot.text ? own_path(p, g->sysroot.text) : NULL;
	*out->tree = 0;
	if (!is_folder(out->folder))
		return err_set(p->e, "%s:%d: there is no folder '%s'", p->c->path, g->folder.line,
			       out->folder);
	if (out->sysroot && !is_folder(out->sysroot))
		return err_set(p->e, "%s:%d: there is no folder '%s'", p->c->path, g->sysroot.line,
			       out->sysroot);
	if (out->sysroot) {
		struct digest d;

		digest_init(&d);
		digest_tree(&d, out->sysroot, 0);
		digest_hex(&d, out->tree);
	}
	return true;
}

/* Adds the words of a text with spaces between. */
static void add_words(struct words *out, const char *text)
{
	char *copy = x_strdup(text), *rest = copy;

	for (char *one; (one = strsep(&rest, " \t"));)
		if (*one)
			words_add(out, one);
	free(copy);
}

/* The command of a program with one of its inputs, which stands at the end where it is not named. */
static void make_command(const struct campaign_program *g, const struct campaign_input *in,
			 struct words *out)
{
	bool named = g->stdin_file.text && strstr(g->stdin_file.text, "{input}");

	for (size_t i = 0; i < g->command.count; i++) {
		const char *word = g->command.items[i];

		if (!strcmp(word, "{input}")) {
			add_words(out, in->text); /* alone, it may be several arguments */
			named = true;
		} else {
			char *made = replace_input(word, in->text);

			named |= strstr(word, "{input}") != NULL;
			words_add(out, made);
			free(made);
		}
	}
	if (!named)
		add_words(out, in->text);
}

/* Adds the files that section "files" names; each must be there. */
static bool digest_files(struct planner *p, const struct campaign_program *g,
			 const struct campaign_input *in, const struct place *at, struct digest *d)
{
	char *all = g->files.text ? replace_input(g->files.text, in->text) : NULL, *rest = all;
	bool ok = true;

	for (char *one; ok && all && (one = strsep(&rest, " \t"));) {
		char *path = *one ? host_file(one, at->folder, at->sysroot) : NULL;

		if (*one && !path)
			ok = err_set(p->e, "%s:%d: there is no file '%s'", p->c->path,
				     g->files.line, one);
		if (path)
			digest_file(d, path);
		free(path);
	}
	free(all);
	return ok;
}

static char *stdin_path(const struct campaign_program *g, const struct campaign_input *in,
			const struct place *at)
{
	char *name = g->stdin_file.text ? replace_input(g->stdin_file.text, in->text) : NULL;
	char *path = !name	    ? NULL
		     : *name == '/' ? x_strdup(name)
				    : x_asprintf("%s/%s", at->folder, name);

	free(name);
	return path;
}

/* Checks a program with one input and adds what decides its runs. */
static bool digest_program(struct planner *p, const struct campaign_program *g,
			   const struct campaign_input *in, const struct place *at,
			   const struct words *command, struct digest *d)
{
	char *program = host_program(command->items[0], at->folder, at->sysroot);
	char *input = stdin_path(g, in, at);
	bool ok = true;

	if (!program)
		ok = err_set(p->e, "%s:%d: there is no program '%s' in '%s'%s%s%s", p->c->path,
			     g->command_line, command->items[0], at->folder,
			     at->sysroot ? " or the sysroot '" : "", at->sysroot ? at->sysroot : "",
			     at->sysroot ? "'" : "");
	else if (!digest_file(d, program))
		ok = err_set(p->e, "%s:%d: cannot read '%s'", p->c->path, g->command_line, program);
	if (ok && input && (!is_file(input) || access(input, R_OK)))
		ok = err_set(p->e, "%s:%d: there is no file '%s' for standard input", p->c->path,
			     g->stdin_file.line, input);
	digest_text(d, at->folder);
	digest_text(d, at->sysroot);
	digest_text(d, at->tree);
	for (size_t i = 0; ok && i < command->count; i++) {
		char *path = i ? host_file(command->items[i], at->folder, at->sysroot) : NULL;

		digest_text(d, command->items[i]);
		if (path)
			digest_file(d, path);
		free(path);
	}
	for (size_t i = 0; i < g->env.count; i++)
		digest_text(d, g->env.items[i]);
	digest_text(d, input);
	if (ok && input)
		digest_file(d, input);
	ok = ok && digest_files(p, g, in, at, d);
	free(program);
	free(input);
	return ok;
}

/* ---- machines ---- */

static bool apply(struct planner *p, struct machine *m, const char *name, const char *value,
		  int line)
{
	char *text = x_asprintf("%s=%s", name, value);
	struct err inner = { "" };
	const bool ok = machine_set(m, text, &inner) || wrong(p, line, inner.text);

	free(text);
	return ok;
}

/* Writes a machine that is not built in as a file of the cache, whole: what it is based on may have
 * another path where runs are. */
static char *keep_machine(const struct planner *p, const struct campaign_machine *m, struct err *e)
{
	char *text = NULL, hex[DIGEST_HEX];
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	struct digest d;

	if (!f)
		die("out of memory");
	machine_print(&m->machine, f);
	/* cppcheck-suppress nullPointerRedundantCheck ; die() does not return */
	if (fclose(f))
		die("out of memory");
	digest_init(&d);
	digest_add(&d, text, size);
	digest_hex(&d, hex);

	char *folder = x_asprintf("%s/machines/%.32s", p->plan->cache_dir, hex);
	char *path = x_asprintf("%s/%s.ini", folder, m->name);
	char *temp = x_asprintf("%s.%ld", path, (long)getpid());
	bool made = jobs_make_dirs(folder, e);

	f = made ? fopen(temp, "we") : NULL;

	bool ok = f && fwrite(text, 1, size, f) == size;

	if (f && fclose(f))
		ok = false;
	if (made && (!ok || rename(temp, path)))
		ok = err_set(e, "cannot write '%s': %s", path, strerror(errno));
	free(temp);
	free(folder);
	free(text);
	if (ok)
		return path;
	free(path);
	return NULL;
}

static bool load_machines(struct planner *p)
{
	for (size_t i = 0; i < p->c->nmachines; i++) {
		struct campaign_machine *m = &p->c->machines[i];
		const size_t n = strlen(m->source);
		const bool is_path =
		    strchr(m->source, '/') || (n > 4 && !strcmp(m->source + n - 4, ".ini"));
		char *path = is_path ? own_path(p, m->source) : x_strdup(m->source);
		struct err inner = { "" };
		bool ok = machine_load(&m->machine, path, &inner) || wrong(p, m->line, inner.text);

		free(path);
		if (ok && is_path && !strcmp(m->name, m->source)) {
			free(m->name);
			m->name = x_strdup(m->machine.name);
		}
		for (size_t k = 0; ok && k < m->nsets; k++)
			ok = apply(p, &m->machine, m->sets[k].name, m->sets[k].values.items[0],
				   m->sets[k].line);
		for (size_t k = 0; ok && k < p->c->nfixed; k++)
			ok = apply(p, &m->machine, p->c->fixed[k].name,
				   p->c->fixed[k].values.items[0], p->c->fixed[k].line);
		if (ok && is_path) {
			free(m->file);
			m->file = keep_machine(p, m, p->e);
			ok = m->file;
		}
		if (!ok)
			return false;
	}
	return true;
}

/* ---- settings ---- */

/* How many combinations a group has; 0: its lists do not fit. */
static size_t group_size(const struct campaign_group *g)
{
	size_t n = 1;

	for (size_t i = 0; i < g->nsettings; i++) {
		const size_t k = g->settings[i].values.count;

		if (!g->paired && n > CAMPAIGN_RUNS_MOST / k)
			return CAMPAIGN_RUNS_MOST + 1;
		if (g->paired && k != 1 && n != 1 && k != n)
			return 0;
		n = g->paired ? (k > n ? k : n) : n * k;
	}
	return n;
}

/* Adds the names and values of a group's n-th combination. */
static void group_pick(const struct campaign_group *g, size_t n, struct words *out)
{
	size_t left = group_size(g);

	for (size_t i = 0; i < g->nsettings; i++) {
		const struct campaign_setting *s = &g->settings[i];
		size_t at;

		if (g->paired) {
			at = s->values.count == 1 ? 0 : n;
		} else {
			left /= s->values.count;
			at = n / left % s->values.count;
		}
		words_add(out, s->name);
		words_add(out, s->values.items[at]);
	}
}

static bool check_groups(struct planner *p, size_t *combinations)
{
	*combinations = 1;
	for (size_t i = 0; i < p->c->ngroups; i++) {
		const struct campaign_group *g = &p->c->groups[i];
		const size_t n = group_size(g);

		if (!n)
			return wrong(
			    p, g->settings[g->nsettings - 1].line,
			    "combine = paired: all settings of the section need as many values");
		for (size_t k = 0; k < g->nsettings; k++)
			for (size_t m = 0; m <= i; m++)
				for (size_t o = 0; o < (m == i ? k : p->c->groups[m].nsettings);
				     o++)
					if (!strcmp(p->c->groups[m].settings[o].name,
						    g->settings[k].name))
						return err_set(p->e, "%s:%d: %s varies twice",
							       p->c->path, g->settings[k].line,
							       g->settings[k].name);
		if (*combinations > CAMPAIGN_RUNS_MOST / n)
			return err_set(p->e, "%s: more than %d runs", p->c->path,
				       CAMPAIGN_RUNS_MOST);
		*combinations *= n;
	}
	return true;
}

/* ---- rules ---- */

const char *campaign_field(const struct campaign_run *r, const char *name)
{
	if (!strcmp(name, "program"))
		return r->program->name;
	if (!strcmp(name, "input"))
		return r->input->name;
	if (!strcmp(name, "machine"))
		return r->machine ? r->machine->name : NULL;
	if (!strcmp(name, "seed"))
		return r->seed;
	for (size_t i = 0; i + 1 < r->settings.count; i += 2)
		if (!strcmp(r->settings.items[i], name))
			return r->settings.items[i + 1];
	return NULL;
}

static bool check_rules(struct planner *p)
{
	static const char *const fields[] = { "program", "input", "machine", "seed" };

	for (size_t i = 0; i < p->c->nrules; i++)
		for (size_t k = 0; k < p->c->rules[i].when.count; k++) {
			const char *field = p->c->rules[i].when.items[k].field;
			struct nearest near = { .word = field };

			for (size_t f = 0; f < ARRAY_LEN(fields); f++)
				nearest_try(&near, fields[f]);
			for (size_t g = 0; g < p->c->ngroups; g++)
				for (size_t s = 0; s < p->c->groups[g].nsettings; s++)
					nearest_try(&near, p->c->groups[g].settings[s].name);
			if (near.distance)
				return err_set(
				    p->e, "%s:%d: nothing called '%s' varies; the nearest is '%s'",
				    p->c->path, p->c->rules[i].line, field, near.best);
		}
	return true;
}

static const char *lookup(void *ctx, const char *field)
{
	return campaign_field(ctx, field);
}

/* Whether the rules leave a run in. */
static bool is_wanted(const struct campaign *c, struct campaign_run *r)
{
	bool only = false, listed = false;

	for (size_t i = 0; i < c->nrules; i++) {
		const bool holds = conditions_hold(&c->rules[i].when, lookup, r);

		if (!c->rules[i].only && holds)
			return false;
		only |= c->rules[i].only;
		listed |= c->rules[i].only && holds;
	}
	return !only || listed;
}

/* ---- runs ---- */

static void add_if_known(const struct planner *p, struct words *w, const char *command,
			 enum recipe_item item, const char *word)
{
	const char *option = recipe_rows[item].option;

	if (p->commands->has(command, option))
		words_add_option(w, option, word);
}

/* What a run may do: it reads everything, what it writes is thrown away, and it has no network. */
static void add_sandbox(const struct planner *p, struct words *w, const char *command)
{
	static const enum recipe_item limits[] = { RUN_limit_memory, RUN_limit_files,
						   RUN_limit_processes, RUN_limit_output };

	if (!p->commands->has(command, recipe_rows[RUN_sandbox].option))
		return;
	words_add_option(w, recipe_rows[RUN_sandbox].option, NULL);
	words_add_option(w, recipe_rows[RUN_allow_read].option, "/");
	for (unsigned i = 0; i < ARRAY_LEN(limits); i++)
		words_add_option(w, recipe_rows[limits[i]].option, "none");
}

static const char *analyses_of(const struct campaign *c)
{
	return c->analyses.text ? c->analyses.text : "none";
}

static bool wants_store(const struct campaign *c)
{
	return c->how == CAMPAIGN_SAMPLED ||
	       (c->how == CAMPAIGN_FULL && strcmp(analyses_of(c), "none") != 0);
}

/* The command line of a run, but for culprit itself. */
static void make_words(const struct planner *p, const struct campaign_run *r,
		       const struct place *at, const struct words *command, struct words *w)
{
	const struct campaign *c = p->c;
	const char *name = c->how == CAMPAIGN_SAMPLED ? "sample" : "sim";

	words_add(w, name);
	add_sandbox(p, w, name);
	if (c->how == CAMPAIGN_FUNCTIONAL)
		words_add_option(w, "functional", NULL);
	if (r->machine) {
		words_add_option(w, "machine",
				 r->machine->file ? r->machine->file : r->machine->source);
		for (size_t k = 0; !r->machine->file && k < r->machine->nsets + c->nfixed; k++) {
			const struct campaign_setting *s = k < r->machine->nsets
							       ? &r->machine->sets[k]
							       : &c->fixed[k - r->machine->nsets];
			char *text = x_asprintf("%s=%s", s->name, s->values.items[0]);

			words_add_option(w, "set", text);
			free(text);
		}
		for (size_t k = 0; k + 1 < r->settings.count; k += 2) {
			char *text =
			    x_asprintf("%s=%s", r->settings.items[k], r->settings.items[k + 1]);

			words_add_option(w, "set", text);
			free(text);
		}
		/* a sampled run is a profile in any case */
		if (c->how == CAMPAIGN_FULL || c->analyses.text)
			words_add_option(w, "analyze", analyses_of(c));
	}
	if (at->sysroot)
		words_add_option(w, "sysroot", at->sysroot);
	if (strcmp(r->seed, "0") != 0)
		words_add_option(w, p->commands->has(name, "guest-seed") ? "guest-seed" : "seed",
				 r->seed);
	for (size_t k = 0; k < r->program->env.count; k++)
		words_add_option(w, "env", r->program->env.items[k]);
	for (size_t k = 0; k < c->nsim; k++)
		words_add_option(w, c->sim[k].name, c->sim[k].value);
	for (size_t k = 0; c->how == CAMPAIGN_SAMPLED && k < c->nsample; k++)
		words_add_option(w, c->sample[k].name, c->sample[k].value);
	if (c->how == CAMPAIGN_SAMPLED) {
		if (p->commands->has(name, "jobs"))
			words_add_option(w, "jobs", "1");
		if (p->commands->has(name, "cache"))
			words_add_option(w, "cache", p->plan->cache_dir);
	} else if (!wants_store(c)) {
		add_if_known(p, w, name, RUN_summary_json, JOB_RESULT);
	}
	if (wants_store(c))
		words_add_option(w, "output", JOB_RESULT);
	words_add(w, "--");
	for (size_t k = 0; k < command->count; k++)
		words_add(w, command->items[k]);
}

static char *settings_json(const struct words *s)
{
	json_t *o = json_object();
	char *text;

	for (size_t k = 0; k + 1 < s->count; k += 2)
		json_object_set_new_nocheck(o, s->items[k], json_string_nocheck(s->items[k + 1]));
	text = json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS);
	json_decref(o);
	if (!text)
		text = x_strdup("{}");
	return text;
}

static char *run_name(const struct campaign_run *r)
{
	char *name =
	    x_asprintf("%s%s%s%s%s", r->program->name, *r->input->name ? " " : "", r->input->name,
		       r->machine ? " " : "", r->machine ? r->machine->name : "");

	for (size_t k = 0; k + 1 < r->settings.count; k += 2) {
		char *more =
		    x_asprintf("%s %s=%s", name, r->settings.items[k], r->settings.items[k + 1]);

		free(name);
		name = more;
	}
	if (strcmp(r->seed, "0") != 0) {
		char *more = x_asprintf("%s seed=%s", name, r->seed);

		free(name);
		name = more;
	}
	return name;
}

/* Applies the run's settings to its machine, checks it and adds it to the digest. */
static bool check_machine(struct planner *p, const struct campaign_run *r, struct digest *d)
{
	struct machine m;
	struct err inner = { "" };

	if (!r->machine)
		return true;
	m = r->machine->machine;
	for (size_t k = 0; k + 1 < r->settings.count; k += 2) {
		char *text = x_asprintf("%s=%s", r->settings.items[k], r->settings.items[k + 1]);
		const bool ok = machine_set(&m, text, &inner);

		free(text);
		if (!ok)
			return err_set(p->e, "%s: %s", p->c->path, inner.text);
	}
	if (!machine_check(&m, &inner)) {
		char *name = run_name(r);

		err_set(p->e,
			"%s: the machine of '%s' cannot work: %s; change it, or leave the run "
			"out with skip",
			p->c->path, name, inner.text);
		free(name);
		return false;
	}
	digest_text(d, r->machine->name);
	for (size_t k = 0; k < machine_params_count; k++) {
		char value[512];

		machine_param_text(&m, &machine_params[k], value, sizeof(value));
		digest_text(d, value);
	}
	return true;
}

/* Makes the job of a run whose dimensions are known. */
static bool make_job(struct planner *p, struct campaign_run *r, const struct place *at,
		     const struct words *command, struct digest d)
{
	struct words w = { NULL, 0 };
	bool ok = check_machine(p, r, &d);

	r->json = settings_json(&r->settings);
	words_add(&w, p->simulator);
	make_words(p, r, at, command, &w);
	for (size_t i = 1; i < w.count; i++)
		digest_text(&d, w.items[i]);
	r->job = (struct job){ .name = run_name(r),
			       .argv = w.items,
			       .dir = x_strdup(at->folder),
			       .input = stdin_path(r->program, r->input, at),
			       .want_status = r->program->status,
			       .usable = result_is_usable,
			       .limits = p->c->limits };
	/* a result under a digest is one of a run that went well */
	digest_add(&d, &r->program->status, sizeof(r->program->status));
	digest_hex(&d, r->job.key);
	return ok;
}

static bool check_command(struct planner *p, const struct campaign_run *r)
{
	struct err inner = { "" };

	return p->commands->check(r->job.argv + 1, &inner) ||
	       err_set(p->e, "%s: %s", p->c->path, inner.text);
}

/* All runs of one program with one input. */
static bool plan_input(struct planner *p, const struct campaign_program *g,
		       const struct campaign_input *in, const struct place *at, size_t combinations)
{
	const size_t machines = p->c->nmachines ? p->c->nmachines : 1;
	struct digest d = p->base;
	struct words command = { NULL, 0 };
	bool ok, checked = false;
	size_t first[2] = { 0,
			    0 }; /* of sampled runs: 1 + the one that makes points for the others */

	make_command(g, in, &command);
	ok = digest_program(p, g, in, at, &command, &d);
	for (size_t s = 0; ok && s < p->c->seeds.count; s++)
		for (size_t i = 0; ok && i < machines * combinations; i++) {
			struct campaign_run r = { .program = g,
						  .input = in,
						  .machine = p->c->nmachines
								 ? &p->c->machines[i / combinations]
								 : NULL,
						  .seed = p->c->seeds.items[s] };
			size_t n = i % combinations, left = combinations;

			for (size_t k = 0; k < p->c->ngroups; k++) {
				left /= group_size(&p->c->groups[k]);
				group_pick(&p->c->groups[k],
					   n / left % group_size(&p->c->groups[k]), &r.settings);
			}
			if (!is_wanted(p->c, &r)) {
				p->plan->skipped++;
				words_free(&r.settings);
				continue;
			}
			ok = make_job(p, &r, at, &command, d);
			if (p->c->how == CAMPAIGN_SAMPLED) {
				/* points belong to program, input and seed, and serve every machine */
				if (first[1] != s + 1)
					first[0] = p->plan->count + 1, first[1] = s + 1;
				else
					r.job.after = first[0];
			}
			if (ok && !checked)
				ok = check_command(p, &r);
			checked = true;
			*ARRAY_ADD(p->plan->runs, p->plan->count) = r;
			if (p->plan->count > CAMPAIGN_RUNS_MOST)
				ok = err_set(p->e, "%s: more than %d runs", p->c->path,
					     CAMPAIGN_RUNS_MOST);
		}
	words_free(&command);
	return ok;
}

static bool plan_programs(struct planner *p, size_t combinations)
{
	bool ok = true;

	for (size_t i = 0; ok && i < p->c->nprograms; i++) {
		const struct campaign_program *g = &p->c->programs[i];
		struct place at = { NULL, NULL, "" };

		ok = find_place(p, g, &at);
		for (size_t k = 0; ok && k < g->ninputs; k++)
			ok = plan_input(p, g, &g->inputs[k], &at, combinations);
		free(at.folder);
		free(at.sysroot);
	}
	return ok;
}

static bool check_sampled(struct planner *p)
{
	static const char *const needed[] = { "machine", "analyze", "output" };
	bool ok = p->commands->has("sample", NULL);

	for (size_t i = 0; ok && i < ARRAY_LEN(needed); i++)
		ok = p->commands->has("sample", needed[i]);
	return ok ||
	       wrong(p, p->c->how_line,
		     "how = sampled: this culprit has no command 'sample'; full and functional "
		     "are there");
}

struct campaign_plan *campaign_plan(const struct campaign *c, const char *simulator,
				    const char *cache_dir, const struct campaign_commands *commands,
				    struct err *e)
{
	struct campaign_plan *plan = x_calloc(1, sizeof(*plan));
	struct planner p = { .c = c, .plan = plan, .commands = commands, .e = e };
	char *own = realpath(simulator ? simulator : "/proc/self/exe", NULL);
	size_t combinations = 0;
	bool ok =
	    own || err_set(e, "cannot find '%s'", simulator ? simulator : "culprit's program");

	plan->campaign = c;
	plan->cache_dir = cache_dir ? x_strdup(cache_dir) : jobs_cache_dir();
	p.simulator = own;
	digest_init(&p.base);
	digest_text(&p.base, "culprit campaign 1");
	ok = ok && (digest_file(&p.base, own) || err_set(e, "cannot read '%s'", own));
	ok = ok && (c->how != CAMPAIGN_SAMPLED || check_sampled(&p)) && load_machines(&p) &&
	     check_groups(&p, &combinations) && check_rules(&p) && plan_programs(&p, combinations);
	if (ok && !plan->count)
		ok = err_set(e, "%s: only and skip leave no run", c->path);
	free(own);
	if (ok)
		return plan;
	campaign_plan_free(plan);
	return NULL;
}

void campaign_plan_free(struct campaign_plan *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->count; i++) {
		words_free(&p->runs[i].settings);
		free(p->runs[i].json);
		job_free(&p->runs[i].job);
	}
	free(p->runs);
	free(p->cache_dir);
	free(p);
}
