/* SPDX-License-Identifier: MIT */
#include "cmd/simulating.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "jobs/trust.h"

static char *run_text(struct store *s, const char *key)
{
	struct store_rows q = store_query(s, "SELECT value FROM run WHERE key = ?1", "s", key);
	char *text = NULL;

	if (store_next(&q) && store_text(&q, 0))
		text = x_strdup(store_text(&q, 0));
	store_done(&q, NULL);
	return text;
}

/* As a shell would take it. */
static void put_word(FILE *f, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "-_./=:,+@%";

	if (*word && !word[strspn(word, plain)]) {
		fputs(word, f);
		return;
	}
	fputc('\'', f);
	for (; *word; word++)
		fputs(*word == '\'' ? "'\\''" : (char[]){ *word, 0 }, f);
	fputc('\'', f);
}

/* What the store would have run; NULL: it does not say. */
static char *command_text(struct store *s)
{
	char *argv = run_text(s, "argv"), *cwd = run_text(s, "cwd"), *text = NULL;
	char *sysroot = run_text(s, "sysroot");
	json_t *list = argv ? json_loads(argv, 0, NULL) : NULL;
	size_t size;
	FILE *f = json_array_size(list) ? open_memstream(&text, &size) : NULL;

	if (f) {
		if (cwd) {
			fputs("cd ", f);
			put_word(f, cwd);
			fputs(" && ", f);
		}
		fputs("culprit sim --sandbox", f);
		if (sysroot) {
			fputs(" --sysroot ", f);
			put_word(f, sysroot);
		}
		fputs(" --", f);
		for (size_t i = 0; i < json_array_size(list); i++) {
			const char *word = json_string_value(json_array_get(list, i));

			fputc(' ', f);
			put_word(f, word ? word : "?");
		}
		if (fclose(f))
			die("out of memory");
	}
	json_decref(list);
	free(argv);
	free(cwd);
	free(sysroot);
	return text;
}

bool simulating_trusted(const char *command, struct store *s, const struct simulating *o)
{
	struct trust_key key;
	struct err e = { "" };
	char *text;

	if (o->trust)
		return true;
	trust_key_load(&key, &e);
	if (trust_holds(s, &key))
		return true;
	text = command_text(s);

	bool says = text;

	if (says)
		warn("%s: %s %s, so it is shown without simulations; --trust allows them, which "
		     "run: %s",
		     command, store_path(s),
		     key.is_there ? "was not written by this user's culprit on this machine"
				  : e.text,
		     text);
	free(text);
	/* what says no command cannot be simulated, for a reason that the caller tells */
	return !says;
}

struct job simulating_itself(const struct rerun *r)
{
	return rerun_job(r, "as it was", NULL, 0);
}

bool simulating_repeats(const char *command, const struct rerun *r, const struct job *itself,
			double cycles)
{
	const char *changes = rerun_changes(r);
	struct rerun_result result;
	struct err e;

	if (!rerun_read(itself, &result, &e)) {
		warn("%s: the run as it was: %s", command, e.text);
		return false;
	}
	if ((double)result.cycles == cycles)
		return true;
	warn("%s: the run does not repeat: it took %.0f cycles and now takes %llu, so what is "
	     "simulated is not what was measured: %s",
	     command, cycles, (unsigned long long)result.cycles,
	     changes
		 ? changes
		 : "a file that it reads may have changed since, or one that it wrote may be in "
		   "its way; and "
		   "--simulator must be a build with the same timing");
	return false;
}
