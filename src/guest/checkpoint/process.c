/* SPDX-License-Identifier: MIT */
/*
 * The process in a checkpoint: its program with arguments, environment and auxiliary vector, working folder, ids, limits,
 * random numbers, counters of instructions; and which files stand where as code. Nothing here comes from the host but
 * the content of files that are named by digest.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest/checkpoint/checkpoint.h"
#include "guest/checkpoint/parts.h"
#include "guest/files/nodes.h"
#include "guest/files/path.h"
#include "guest/process/image.h"
#include "guest/process/process.h"
#include "guest/process/procs.h"
#include "util/text.h"

#define IMAGES_MAX 65536u

void strings_state(struct state *s, char ***list)
{
	size_t n = 0;

	while (!state_reading(s) && *list && (*list)[n])
		n++;
	STATE_LIST(s, *list, n, CHECKPOINT_TEXTS, item) state_text(s, item, CHECKPOINT_TEXT);
	if (!state_reading(s))
		return;
	for (size_t i = 0; i < n; i++)
		if (!(*list)[i])
			state_fail(s, "an argument is missing");
	*list = x_realloc(*list, (n + 1) * sizeof(**list));
	(*list)[n] = NULL;
}

static void program_state(struct guest *g, struct state *s)
{
	struct program *p = &g->program;
	char host[PATH_BYTES];
	int fd = state_reading(s) ? -1 : fcntl(p->fd, F_DUPFD_CLOEXEC, 3);

	checkpoint_input(g, s, &p->name, &fd);
	strings_state(s, &p->argv);
	strings_state(s, &p->envp);
	p->auxv_bytes = state_count(s, p->auxv_bytes, sizeof(p->auxv));
	for (size_t i = 0; i < p->auxv_bytes / 8; i++)
		state_u64(s, &p->auxv[i]);
	state_u64(s, &p->entry);
	state_u64(s, &p->brk_start);
	state_u64(s, &p->brk);
	if (state_reading(s) && fd >= 0) {
		p->host = x_strdup(path_of_fd(fd, host) == 0 ? host : p->name);
		p->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	}
	if (fd >= 0)
		close(fd);
	if (p->auxv_bytes % 16 || p->brk < p->brk_start || p->brk > GUEST_ADDR_LIMIT)
		state_fail(s, "the description of the program is absurd");
	if (state_reading(s) && state_ok(s) && !p->argv[0])
		state_fail(s, "the program has no name");
}

static void images_state(struct guest *g, struct state *s)
{
	const size_t n = state_count(s, g->nimages, IMAGES_MAX);

	for (size_t i = 0; i < n && state_ok(s); i++) {
		struct guest_image image =
		    state_reading(s) ? (struct guest_image){ 0 } : g->images[i];
		char *name = (char *)image.name;

		state_text(s, &name, CHECKPOINT_TEXT);
		state_u64(s, &image.start);
		state_u64(s, &image.end);
		state_u64(s, &image.bias);
		if (!state_reading(s))
			continue;
		if (name && state_ok(s)) {
			char *host = input_host_path(g, name);

			mappings_add(g, host, name, image.start, image.end, image.bias);
			free(host);
		}
		free(name);
	}
}

#define ATOMIC_INT(s, field)                                                                       \
	do {                                                                                       \
		int value_ = (int)(field);                                                         \
		state_i32(s, &value_);                                                             \
		(field) = value_;                                                                  \
	} while (0)

/* Ids, and this process' row in the table of the tree, which has no other process. */
static void ids_state(struct guest *g, struct state *s)
{
	struct proc_slot *slot = proc_slot(g, g->pid);
	int pid = g->pid;

	/* They follow from the seed. */
	state_i32(s, &pid);
	if (pid != g->pid)
		state_fail(s, "the process has number %d, which is not that of its seed", pid);
	ATOMIC_INT(s, slot->ppid);
	ATOMIC_INT(s, slot->pgid);
	ATOMIC_INT(s, slot->sid);
	ATOMIC_INT(s, slot->nice);
	ATOMIC_INT(s, slot->death_signal);
	ATOMIC_INT(s, slot->execed);
	ATOMIC_INT(s, g->procs->next);
	ATOMIC_INT(s, g->procs->processes);
	ATOMIC_INT(s, g->procs->shares);
	ATOMIC_INT(s, g->procs->foreground);
	ATOMIC_INT(s, g->procs->limits_said);
	uint64_t written = g->procs->written;

	state_u64(s, &written);
	g->procs->written = written;
	state_u64(s, &g->family.children_cpu_ns);
	if (g->procs->next < 0 || g->procs->processes < 1)
		state_fail(s, "the numbers of processes are absurd");
}

void checkpoint_process(struct guest *g, struct state *s)
{
	state_u64(s, &g->config.seed);
	if (state_reading(s))
		procs_init(g);
	for (size_t i = 0; i < ARRAY_LEN(g->rng.s); i++)
		state_u64(s, &g->rng.s[i]);
	state_u64(s, &g->insts);
	state_u64(s, &g->event_at);
	state_bool(s, &g->stalled);
	ids_state(g, s);
	for (size_t i = 0; i < ARRAY_LEN(g->limit); i++) {
		state_u64(s, &g->limit[i].cur);
		state_u64(s, &g->limit[i].max);
	}
	state_u32(s, &g->umask_value);
	state_u64(s, &g->personality);
	state_i32(s, &g->wait_status);
	state_raw(s, g->named, sizeof(g->named));
	program_state(g, s);
	images_state(g, s);
	if (g->umask_value > 0777)
		state_fail(s, "the mask of new files is absurd");
}
