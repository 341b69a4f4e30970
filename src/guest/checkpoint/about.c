/* SPDX-License-Identifier: MIT */
/*
 * What a checkpoint is of, in a section of its own, for those who look at it without restoring it. Nothing is restored
 * from here.
 */
#include <stdlib.h>
#include <string.h>

#include "guest/checkpoint/checkpoint.h"
#include "guest/checkpoint/parts.h"
#include "guest/files/path.h"
#include "guest/kernel/clock.h"
#include "guest/memory/mem.h"
#include "guest/process/process.h"
#include "state/file.h"

#define INPUTS_MAX (1u << 20)

static void saved_state(struct state *s, struct guest_saved *a)
{
	state_text(s, &a->program, CHECKPOINT_TEXT);
	strings_state(s, &a->argv);
	state_text(s, &a->folder, CHECKPOINT_TEXT);
	state_u64(s, &a->insts);
	state_u64(s, &a->seed);
	state_u64(s, &a->guest_ns);
	state_u32(s, &a->threads);
	state_u32(s, &a->blocked);
	state_u32(s, &a->descriptors);
	state_u64(s, &a->regions);
	state_u64(s, &a->mapped_bytes);
	STATE_LIST(s, a->inputs, a->ninputs, INPUTS_MAX, i)
	{
		state_text(s, &i->path, CHECKPOINT_TEXT);
		state_u64(s, &i->bytes);
		state_raw(s, i->digest, sizeof(i->digest) - 1);
	}
	if (state_reading(s) && state_ok(s) && (!a->program || !a->folder || !a->argv[0]))
		state_fail(s, "it does not say of which program it is");
}

void checkpoint_about(struct guest *g, struct state *s)
{
	char folder[PATH_BYTES] = "";
	struct guest_saved a = {
		.program = g->program.name,
		.argv = g->program.argv,
		.folder = folder,
		.insts = g->insts,
		.seed = g->config.seed,
		.guest_ns = clock_boot_ns(g),
		.threads = (uint32_t)g->sched.live,
		.regions = g->mem.nregions,
	};

	if (path_cwd(g, folder) < 0)
		folder[0] = 0;
	for (size_t i = 0; i < g->sched.nthreads; i++)
		a.blocked += g->sched.threads[i]->state == THREAD_BLOCKED;
	for (size_t i = 0; i < g->nfds; i++)
		a.descriptors += g->fds[i].kind != FD_CLOSED;
	for (size_t i = 0; i < g->mem.nregions; i++)
		a.mapped_bytes += g->mem.regions[i].end - g->mem.regions[i].start;
	a.inputs = inputs_named(g, &a.ninputs);
	saved_state(s, &a);
}

bool guest_saved_read(struct state_file *f, struct guest_saved *out, struct err *e)
{
	struct state *s = state_file_section(f, CHECKPOINT_ABOUT);

	memset(out, 0, sizeof(*out));
	if (!s)
		return err_set(e, "its section %s is missing", CHECKPOINT_ABOUT);
	saved_state(s, out);
	state_end(s);
	if (state_ok(s))
		return true;
	guest_saved_free(out);
	return err_set(e, "%s", state_error(s));
}

void guest_saved_free(struct guest_saved *a)
{
	free(a->program);
	free(a->folder);
	for (size_t i = 0; a->argv && a->argv[i]; i++)
		free(a->argv[i]);
	free(a->argv);
	for (size_t i = 0; i < a->ninputs; i++)
		free(a->inputs[i].path);
	free(a->inputs);
	memset(a, 0, sizeof(*a));
}
