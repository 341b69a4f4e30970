/* SPDX-License-Identifier: MIT */
/* The list of places, and what all of them share. */
#include "jobs/place.h"

#include <stdlib.h>
#include <string.h>

#include "util/nearest.h"

const struct job_place *const job_places[] = { &job_place_local, &job_place_slurm, NULL };

const struct job_place *job_place_find(const char *text, const char **argument, struct err *e)
{
	const size_t n = strcspn(text, ":");
	char *name = x_strndup(text, n);
	struct nearest near = { .word = name };
	const struct job_place *found = NULL;

	*argument = text[n] ? text + n + 1 : NULL;
	for (const struct job_place *const *p = job_places; *p && !found; p++) {
		nearest_try(&near, (*p)->name);
		if (!strcmp((*p)->name, name))
			found = *p;
	}
	if (!found)
		err_set(e, "there is no place '%s'; the nearest is '%s'", name, near.best);
	free(name);
	if (found && *argument && (!found->argument || !**argument)) {
		err_set(e, "'%s': after '%s' may stand %s", text, found->name,
			found->argument ? found->argument : "nothing");
		return NULL;
	}
	return found;
}

void job_end_free(struct job_end *end)
{
	free(end->host);
	free(end->result);
	free(end->log);
	free(end->message);
	*end = (struct job_end){ .id = 0 };
}

static char *replace(const char *word, const char *with)
{
	const char *at = strstr(word, JOB_RESULT);

	return at ? x_asprintf("%.*s%s%s", (int)(at - word), word, with, at + strlen(JOB_RESULT))
		  : x_strdup(word);
}

char **job_words(char *const *argv, const char *result)
{
	size_t n = 0;

	while (argv[n])
		n++;

	char **words = x_calloc(n + 1, sizeof(*words));

	for (size_t k = 0; k < n; k++)
		words[k] = replace(argv[k], result);
	return words;
}
