/* SPDX-License-Identifier: MIT */
/* Loads analyses from shared objects. What they may use is in src/plugin.list. */
#include "cmd/plugin.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "trace/plugin.h"

bool plugin_is_path(const char *name)
{
	const size_t n = strlen(name);

	return strchr(name, '/') || (n > 3 && !strcmp(name + n - 3, ".so"));
}

/* Why the object cannot be used; true if it can. */
static bool fits(const char *path, const struct culprit_plugin *p, struct err *e)
{
	const struct analysis *a = p->analysis;

	if (p->layout != CULPRIT_LAYOUT)
		return err_set(e,
			       "--analyze: %s is made for records of layout %u, and this culprit "
			       "has layout %u; build it again with this culprit's headers",
			       path, p->layout, CULPRIT_LAYOUT);
	if (!a || !a->name || !a->finish || !(a->insts || a->cycles || a->batch || a->misses))
		return err_set(e,
			       "--analyze: the analysis of %s has no name, takes no records or "
			       "does not finish (trace/analysis.h)",
			       path);
	if (analysis_find(a->name))
		return err_set(e, "--analyze: %s is called '%s', as one of culprit's own analyses",
			       path, a->name);
	return true;
}

const struct analysis *plugin_load(const char *path, struct err *e)
{
	/* A name without a slash would be looked for among the system's libraries. */
	char *file = strchr(path, '/') ? x_strdup(path) : x_asprintf("./%s", path);
	void *object = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	const struct culprit_plugin *p = object ? dlsym(object, "culprit_plugin") : NULL;

	free(file);
	if (!object)
		err_set(e, "--analyze: cannot load %s", dlerror());
	else if (!p)
		err_set(e,
			"--analyze: %s has no analysis: it does not end with "
			"CULPRIT_ANALYSIS(…) of trace/plugin.h",
			path);
	else if (fits(path, p, e))
		return p->analysis;
	if (object)
		dlclose(object);
	return NULL;
}
