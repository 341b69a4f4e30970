/* SPDX-License-Identifier: MIT */
/*
 * culprit sim --children simulated: measures forked processes too, each by itself.
 *
 * A fork of the guest is a fork of culprit. The child has a copy of everything, but the bus's
 * threads, the files and the database belong to the parent. So the child leaves those alone, lets
 * the instructions in flight in its copy of the core commit, and then begins anew: with a session
 * of its own, on a core as warm as its parent's, counting cycles and instructions from there. It
 * measures from the first instruction after the fork.
 *
 * A child that executes another program begins anew at that point, because addresses mean something
 * else from then on. The first process does not.
 *
 * The n-th child of the first process has the number "n", the m-th child of that one "n.m". The
 * number follows the names of the files that the child writes; it depends on the order of forks
 * alone.
 */
#include "cmd/sim.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cmd/progress.h"
#include "util/output.h"
#include "util/text.h"

/* In memory that all processes of the tree share. */
struct sim_tree {
	_Atomic unsigned wrote;	 /* children that have written all their results */
	_Atomic unsigned failed; /* children that could not */
};

void sim_children_init(struct sim *s)
{
	s->tree =
	    mmap(NULL, sizeof(*s->tree), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s->tree == MAP_FAILED)
		die("out of memory: cannot map what the processes share");
}

void sim_children_free(struct sim *s)
{
	munmap(s->tree, sizeof(*s->tree));
	free(s->run.child);
	free(s->suffix);
	free(s->program);
	free(s->store_path);
}

static void become_child(struct sim *s)
{
	char *name =
	    s->run.child ? x_asprintf("%s.%u", s->run.child, s->forks) : x_asprintf("%u", s->forks);
	struct err e;

	output_forget(s->json);
	s->json = NULL;
	free(s->run.child);
	free(s->suffix);
	s->run.child = name;
	s->suffix = x_asprintf(".%s", name);
	s->forks = 0;
	s->run.emit = NULL;
	if (s->session) {
		session_forget(s->session);
		s->parents = s->session;
		s->session = NULL;
	}
	if (!sim_open_json(s, &e)) {
		warn("sim: child %s: %s", name, e.text);
		s->tree->failed++;
	}
}

/* Begins measuring with the next instruction. */
static void begin_soon(struct sim *s)
{
	s->run.anew = true;
	if (s->core) {
		/* Fetches nothing after the system call until what is in flight has committed. */
		core_limit(s->core, 1);
		return;
	}
	sim_begin(s);
}

void sim_on_fork(void *ctx, enum guest_fork phase, unsigned number)
{
	struct sim *s = ctx;

	(void)number;
	switch (phase) {
	case GUEST_FORK_PREPARE:
		s->forks++;
		if (s->session)
			session_quiet(s->session);
		break;
	case GUEST_FORK_PARENT:
		break;
	case GUEST_FORK_CHILD:
		if (s->core)
			core_forked(s->core);
		become_child(s);
		s->fork_cycle = s->core ? core_stats(s->core)->cycles : 0;
		begin_soon(s);
		break;
	case GUEST_FORK_EXEC:
		if (s->run.child)
			begin_soon(s);
		break;
	}
}

void sim_begin(void *ctx)
{
	struct sim *s = ctx;
	struct err e = { "" };

	s->run.anew = false;
	s->run.first_second = host_now();
	s->run.first_inst = s->core ? core_stats(s->core)->insts : guest_insts(s->guest);
	s->run.first_cycle = s->core ? core_stats(s->core)->cycles : 0;
	s->run.first_step = s->core ? core_stats(s->core)->steps : 0;
	s->run.first_fault = s->core ? core_stats(s->core)->faults : 0;
	if (s->options->profile)
		guest_count_blocks(s->guest, true);
	if (!s->session && !s->parents)
		return;

	struct trigger_cutter before = session_regions(s->session ? s->session : s->parents);

	core_listen(s->core, NULL);
	if (s->session)
		session_close(s->session, NULL, NULL);
	s->session = sim_session_open(s, &before, &e);
	s->run.emit = s->session ? session_emit(s->session) : NULL;
	if (s->session)
		return;
	warn("sim: child %s: %s", s->run.child, e.text);
	s->tree->failed++;
}

void sim_children_wrote(struct sim *s, bool ok)
{
	if (s->run.child)
		(*(ok ? &s->tree->wrote : &s->tree->failed))++;
}

bool sim_children_report(FILE *out, const struct sim *s)
{
	unsigned forks = guest_forks(s->guest), wrote = s->tree->wrote, failed = s->tree->failed;
	const char *were = forks == 1 ? " was" : "es were";

	if (!forks || s->run.child)
		return true;
	if (s->options->children == GUEST_CHILDREN_FUNCTIONAL) {
		fprintf(out,
			"culprit: %u forked process%s not measured; --children simulated measures "
			"each by itself\n",
			forks, were);
	} else if (s->store_path) {
		char *path = text_shown(s->store_path);

		fprintf(out, "culprit: %u of %u forked process%s measured%s%s%s%s\n", wrote, forks,
			were, wrote ? ", in " : "", wrote ? path : "",
			!wrote	     ? ""
			: forks == 1 ? ".1"
				     : ".1 and so on",
			wrote + failed < forks ? "; the rest has not ended" : "");
		free(path);
	}
	return !failed;
}
