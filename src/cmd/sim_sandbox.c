/* SPDX-License-Identifier: MIT */
/*
 * culprit sim --sandbox: turns options into what the guest may reach (confine/).
 *
 * The guest may read the program, the sysroot or else the host's library folders, the machine file,
 * and what --allow-read names. It may write to the working folder, /tmp, the sysroot and the
 * folders of --allow-read and --overlay; what it writes there is thrown away. The first two are
 * empty unless the guest may read them.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/sim.h"
#include "util/number.h"
#include "util/outside.h"

#define DEFAULT_MEMORY	  (4ull << 30)
#define DEFAULT_FILES	  1024
#define DEFAULT_PROCESSES 256
#define DEFAULT_OUTPUT	  (1ull << 30)

struct paths {
	char **items;
	size_t count;
};

static void add(struct paths *p, char *path)
{
	p->items = x_realloc(p->items, (p->count + 2) * sizeof(*p->items));
	p->items[p->count++] = path;
	p->items[p->count] = NULL;
}

static void paths_free(struct paths *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->items[i]);
	free(p->items);
}

/* An absolute path, with symbolic links as they were named. */
static char *absolute(const char *path)
{
	char folder[PATH_MAX];

	if (*path == '/' || !getcwd(folder, sizeof(folder)))
		return x_strdup(path);
	while (!strncmp(path, "./", 2))
		path += 2 + strspn(path + 2, "/");
	return strcmp(path, ".") ? x_asprintf("%s/%s", folder, path) : x_strdup(folder);
}

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* Whether the path lies in one of the folders. */
static bool holds(const struct paths *p, const char *path)
{
	for (size_t i = 0; i < p->count; i++) {
		char *real = realpath(p->items[i], NULL);
		bool inside = real && (!strcmp(real, "/") || path_below(path, real));

		free(real);
		if (inside)
			return true;
	}
	return false;
}

static bool add_named(struct paths *p, const char *option, const struct cmd_strings *names,
		      struct err *e)
{
	for (size_t i = 0; i < names->count; i++) {
		if (access(names->items[i], F_OK))
			return err_set(e, "--%s: cannot find '%s': %s", option, names->items[i],
				       strerror(errno));
		add(p, absolute(names->items[i]));
	}
	return true;
}

static const struct number_range limit_range = { 1, 0, NUMBER_DECIMAL };

/* 0: none. */
static uint64_t limit(const char *text, uint64_t fallback)
{
	uint64_t n = 0;

	if (!text)
		return fallback;
	return number_parse(text, &limit_range, &n) ? n : 0;
}

bool sim_check_limit(const char *text, struct err *e)
{
	uint64_t n;

	return !strcmp(text, "none") || number_parse(text, &limit_range, &n) ||
	       err_set(e, "'%s' is not valid: a number above 0 (k, M or G may follow) or none",
		       text);
}

struct sim_limits sim_limits(const struct sim_options *o)
{
	bool on = o->sandbox;

	return (struct sim_limits){
		.memory = limit(o->limit_memory, on ? DEFAULT_MEMORY : 0),
		.files = limit(o->limit_files, on ? DEFAULT_FILES : 0),
		.processes = limit(o->limit_processes, on ? DEFAULT_PROCESSES : 0),
		.output = limit(o->limit_output, on ? DEFAULT_OUTPUT : 0),
	};
}

/* Makes a folder writable for the guest, with its content if the guest may read it, else empty. */
static void add_scratch(struct paths *overlay, struct paths *scratch, const struct paths *read,
			const struct paths *write, const char *folder)
{
	char *real = realpath(folder, NULL);

	if (real && strcmp(real, "/") && !holds(overlay, real) && !holds(write, real))
		add(holds(read, real) ? overlay : scratch, x_strdup(real));
	free(real);
}

bool sim_sandbox_enter(const struct sim_options *o, const int *streams, const char *program,
		       uint64_t limit_output, struct confine_report *report, int *status,
		       struct err *e)
{
	static const char *const libraries[] = { "/lib",	   "/lib64",	 "/usr/lib",
						 "/usr/local/lib", "/usr/lib64", NULL };
	struct paths read = { NULL, 0 }, write = { NULL, 0 }, overlay = { NULL, 0 },
		     absent = { NULL, 0 }, scratch = { NULL, 0 };
	char *real;
	bool inside = false;

	*status = -1;
	if (!add_named(&read, "allow-read", &o->allow_read, e) ||
	    !add_named(&write, "allow-write", &o->allow_write, e) ||
	    !add_named(&overlay, "overlay", &o->overlay, e))
		goto out;
	for (size_t i = 0; i < o->absent.count; i++)
		add(&absent, absolute(o->absent.items[i]));
	for (size_t i = 0; i < read.count; i++) {
		real = is_folder(read.items[i]) ? realpath(read.items[i], NULL) : NULL;
		if (real && strcmp(real, "/") && !holds(&overlay, real) && !holds(&write, real))
			add(&overlay, x_strdup(read.items[i]));
		free(real);
	}
	if (!access(program, F_OK))
		add(&read, absolute(program));
	if (o->machine && !access(o->machine, R_OK) && !is_folder(o->machine))
		add(&read, absolute(o->machine));
	if (o->sysroot) {
		real = realpath(o->sysroot, NULL);
		if (real && strcmp(real, "/") && !holds(&overlay, real) && !holds(&write, real))
			add(holds(&read, real) ? &read : &overlay, absolute(o->sysroot));
		free(real);
	} else {
		for (size_t i = 0; libraries[i]; i++)
			add(&read, x_strdup(libraries[i]));
	}
	add_scratch(&overlay, &scratch, &read, &write, ".");
	add_scratch(&overlay, &scratch, &read, &write, P_tmpdir);

	const struct confine_plan plan = { .read = read.items,
					   .write = write.items,
					   .overlay = overlay.items,
					   .absent = absent.items,
					   .scratch = scratch.items,
					   .net = o->allow_net,
					   .terminal = isatty(streams[0]) || isatty(streams[1]) ||
						       isatty(streams[2]),
					   .limit_output = limit_output };

	inside = confine_enter(&plan, report, status, e);
out:
	paths_free(&read);
	paths_free(&write);
	paths_free(&overlay);
	paths_free(&absent);
	paths_free(&scratch);
	return inside;
}
