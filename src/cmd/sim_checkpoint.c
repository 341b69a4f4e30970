/* SPDX-License-Identifier: MIT */
/*
 * culprit sim --restore and culprit checkpoint: a guest out of a checkpoint, and into checkpoints.
 *
 * The file is opened before culprit confines itself, so a sandbox needs no access to it. The program that it names may be
 * read in a sandbox like one that is named on the command line, but only if it has the digest that the checkpoint says:
 * a checkpoint from elsewhere cannot open a file whose content its maker did not know.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/progress.h"
#include "cmd/sim.h"
#include "jobs/recipe.h"
#include "util/digest.h"
#include "util/outside.h"

#define CORE_SECTION	"core"
#define HISTORY_SECTION "history"

/* Options that say how a program begins. */
static bool begins(const struct sim_options *o, struct err *e)
{
	static const enum recipe_item of_a_beginning[] = { RUN_env, RUN_seed, RUN_real_time,
							   RUN_clock_cpi };

	for (size_t i = 0; i < ARRAY_LEN(of_a_beginning); i++)
		if (cmd_given(&sim_option_table[of_a_beginning[i]], o))
			return err_set(e,
				       "--%s says how a program begins; with --restore that is in "
				       "the checkpoint",
				       recipe_rows[of_a_beginning[i]].option);
	return true;
}

bool sim_restore_open(struct sim *s, struct err *e)
{
	const char *path = s->options->restore;
	struct err inner = { "" };

	if (!path)
		return true;
	if (!begins(s->options, e))
		return false;
	s->from = state_file_open(path, e);
	if (!s->from)
		return false;
	if (!guest_saved_read(s->from, &s->saved, &inner))
		return err_set(e, "%s: %s", path, inner.text);
	s->args = s->saved.argv;
	return true;
}

void sim_restore_close(struct sim *s)
{
	state_file_free(s->from);
	guest_saved_free(&s->saved);
	s->from = NULL;
}

static bool has_digest(const char *path, const char *want)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char hex[DIGEST_HEX] = "";
	struct digest d;

	digest_init(&d);
	if (fd >= 0 && digest_descriptor(&d, fd))
		digest_hex(&d, hex);
	if (fd >= 0)
		close(fd);
	return !strcmp(hex, want);
}

char *sim_restore_program(const struct sim *s)
{
	const struct guest_saved *a = &s->saved;
	const char *sysroot = s->options->sysroot, *digest = "-";
	char *host = x_asprintf("%s%s", sysroot ? sysroot : "", a->program);

	for (size_t i = 0; i < a->ninputs; i++)
		if (!strcmp(a->inputs[i].path, a->program))
			digest = a->inputs[i].digest;
	if (sysroot && access(host, R_OK)) {
		free(host);
		host = x_strdup(a->program);
	}
	if (has_digest(host, digest))
		return host;
	free(host);
	return NULL;
}

struct guest *sim_restore_guest(struct sim *s, const struct guest_config *config, int *folder,
				struct err *e)
{
	const int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct guest_config own = *config;
	struct err inner = { "" };
	struct guest *g;

	own.argv = s->saved.argv;
	own.private_files = true;
	g = guest_restore(&own, s->from, &inner);
	if (!g)
		err_set(e, "%s: %s", s->options->restore, inner.text);
	*folder = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (here >= 0 && fchdir(here) < 0)
		warn("%s: cannot return to the working folder", s->command);
	s->home = here;
	return g;
}

bool sim_restore_core(struct sim *s, struct err *e)
{
	struct state *t;

	if (!s->options->restore_core)
		return true;
	t = state_file_section(s->from, CORE_SECTION);
	if (!t)
		return err_set(
		    e,
		    "%s: it has no core; 'culprit checkpoint --with-core' saves one with "
		    "the process",
		    s->options->restore);
	core_state(s->core, t);
	state_end(t);
	return state_ok(t) || err_set(e, "%s: %s", s->options->restore, state_error(t));
}

bool sim_restore_history(struct sim *s, struct err *e)
{
	struct guest_lines lines = { 0 };
	struct state *t;

	if (!s->options->history || !s->from)
		return true;
	t = state_file_section(s->from, HISTORY_SECTION);
	if (!t)
		return err_set(e,
			       "%s: it has no history; 'culprit checkpoint --with-history' saves "
			       "one with the process",
			       s->options->restore);
	guest_lines_state(&lines, t);
	state_end(t);
	if (state_ok(t))
		core_recall(s->core, &lines);
	guest_lines_free(&lines);
	return state_ok(t) || err_set(e, "%s: %s", s->options->restore, state_error(t));
}

void sim_enter_folder(int folder)
{
	if (folder < 0)
		return;
	if (fchdir(folder) < 0)
		warn("cannot enter the guest's working folder");
	close(folder);
}

void sim_leave_folder(struct sim *s)
{
	if (!s->from || s->home < 0)
		return;
	if (fchdir(s->home) < 0)
		warn("%s: cannot return to the working folder", s->command);
	close(s->home);
	s->home = -1;
}

char *sim_checkpoint_path(const char *folder, uint64_t insts)
{
	return x_asprintf("%s/%" PRIu64 STATE_FILE_SUFFIX, folder, insts);
}

static bool save_here(struct sim *s, struct err *e)
{
	struct state_file *f = state_file_new(s->saving->pool);
	char *path = sim_checkpoint_path(s->saving->folder, guest_insts(s->guest));
	bool ok = guest_save(s->guest, f, e);

	if (ok && s->core) {
		struct state *t = state_file_section(f, CORE_SECTION);

		core_pause(s->core);
		core_state(s->core, t);
		state_end(t);
	}
	if (ok && s->saving->with_history) {
		struct state *t = state_file_section(f, HISTORY_SECTION);
		struct guest_lines lines;

		guest_history_take(s->guest, &lines);
		guest_lines_state(&lines, t);
		state_end(t);
		guest_lines_free(&lines);
	}
	ok = ok && state_file_write(f, path, e);
	state_file_free(f);
	free(path);
	return ok;
}

void sim_save_announce(const struct sim *s)
{
	for (size_t i = 0; i < s->saving->count; i++) {
		char *path = sim_checkpoint_path(s->saving->folder, s->saving->at[i]);

		outside_expect(path);
		free(path);
	}
	guest_hide(s->guest, s->saving->folder);
}

/* Runs on, functionally; with a core, what it has learns on the way. False if the program has ended. */
static bool run_on(struct sim *s, uint64_t insts)
{
	const uint64_t n = min_u64(insts, s->core ? 1u << 20 : 32u << 20);

	return s->core ? core_warm(s->core, n) != CORE_ENDED
		       : guest_run(s->guest, n) == GUEST_RUNNING;
}

int sim_save(struct sim *s)
{
	const struct sim_saving *v = s->saving;
	struct progress progress;
	struct err e = { "" };
	size_t done = 0;

	/* From the first instruction on: a page costs its page fault only once. */
	guest_touched(s->guest);
	if (v->with_history && !guest_history(s->guest)) {
		warn("checkpoint: --with-history: this host has no room for it");
		return 2;
	}
	progress_begin(&progress, v->at[v->count - 1]);
	while (done < v->count && !e.text[0]) {
		const uint64_t now = guest_insts(s->guest);

		if (now == v->at[done]) {
			struct err inner = { "" };

			if ((v->skip && !guest_can_save(s->guest, &inner)) || save_here(s, &inner))
				done++;
			else
				err_set(&e, "after %" PRIu64 " instructions: %s", now, inner.text);
			continue;
		}
		if (sim_stop_signal())
			err_set(&e, "stopped by SIG%s after %" PRIu64 " instructions",
				sigabbrev_np(sim_stop_signal()), now);
		else if (!run_on(s, v->at[done] - now))
			err_set(&e,
				"the program ended after %" PRIu64 " instructions, before %" PRIu64,
				guest_insts(s->guest), v->at[done]);
		progress_update(&progress, guest_insts(s->guest));
	}
	progress_end(&progress);
	if (done < v->count) {
		warn("checkpoint: %s; %zu of %zu checkpoints are in %s", e.text, done, v->count,
		     v->folder);
		return sim_stop_signal() ? 128 + sim_stop_signal() : 2;
	}
	warn("checkpoint: %zu checkpoint%s in %s", done, done == 1 ? "" : "s", v->folder);
	return 0;
}
