/* SPDX-License-Identifier: MIT */
/* A guest into a checkpoint and out of it: the order of sections, and what cannot be saved. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/checkpoint/checkpoint.h"
#include "guest/checkpoint/parts.h"
#include "guest/files/procfs.h"
#include "guest/kernel/clock.h"
#include "guest/kernel/signal.h"
#include "guest/process/process.h"
#include "guest/process/procs.h"
#include "state/file.h"

bool guest_can_save(struct guest *g, struct err *e)
{
	if (g->ended)
		return err_set(e, "the program has ended");
	if (g->config.real_time)
		return err_set(
		    e, "with --real-time the guest's clock is the host's, which cannot be saved");
	if (g->cycle_mode)
		return err_set(
		    e,
		    "the guest's time comes from cycles, which cannot be saved; use --clock insts");
	if (g->family.child_number)
		return err_set(e, "a forked process cannot be saved, only the first one");
	if (g->family.nchildren || g->procs->alive > 1)
		return err_set(e,
			       "it has a child process (%d) that has not been waited for, which "
			       "cannot be saved",
			       g->family.nchildren ? g->family.children[0].guest_pid : 0);
	if (g->signals.host_pending)
		signal_collect_host(g);
	return checkpoint_can_descriptors(g, e);
}

static void memory_section(struct guest *g, struct state *s, struct state_file *f)
{
	checkpoint_memory(g, s, state_reading(s) ? state_file_source(f) : NULL);
}

struct part {
	const char *name;
	void (*walk)(struct guest *g, struct state *s);
	void (*walk_file)(struct guest *g, struct state *s, struct state_file *f);
	bool optional; /* a checkpoint may lack it */
};

static const struct part parts[] = {
	{ .name = "files", .walk = checkpoint_content },
	{ .name = "process", .walk = checkpoint_process },
	{ .name = "signals", .walk = checkpoint_signals },
	{ .name = "clock", .walk = checkpoint_clock },
	{ .name = "ipc", .walk = checkpoint_ipc },
	{ .name = "descriptors", .walk = checkpoint_descriptors },
	{ .name = "memory", .walk_file = memory_section },
	{ .name = "threads", .walk = checkpoint_threads },
	{ .name = "touched", .walk = guest_touched_state, .optional = true },
};

static bool walk(struct guest *g, const struct part *p, struct state_file *f, struct err *e)
{
	struct state *s = state_file_section(f, p->name);

	if (!s)
		return p->optional ? true : err_set(e, "its section %s is missing", p->name);
	if (p->walk)
		p->walk(g, s);
	else
		p->walk_file(g, s, f);
	state_end(s);
	return state_ok(s) ? true : err_set(e, "%s", state_error(s));
}

bool guest_save(struct guest *g, struct state_file *f, struct err *e)
{
	const struct part about = { .name = CHECKPOINT_ABOUT, .walk = checkpoint_about };

	if (!guest_can_save(g, e))
		return false;
	inputs_begin(g);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (!walk(g, &parts[i], f, e))
			return false;
	return walk(g, &about, f, e);
}

bool checkpoint_load(struct guest *g, struct state_file *f, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (!walk(g, &parts[i], f, e))
			return false;
	checkpoint_files_done(g);
	proc_note(g);
	return true;
}
