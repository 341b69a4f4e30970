/* SPDX-License-Identifier: MIT */
/* A made-up source of counts. */
#include "synth.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void synth_begin(struct synth *s, uint64_t seed)
{
	*s = (struct synth){
		.nimages = 9,
		.nprocesses = 6,
		.noffsets = 400,
		.stacks = true,
		.facts = { .machine = "host",
			   .boot_id = "boot-1",
			   .kernel = "6.1",
			   .command = "",
			   .kernel_build_id = "",
			   .cpus = 2,
			   .budget = 0.01 },
		.events = { { .name = "cycles", .actual = "cpu-clock", .rate = 1000, .running = 1 },
			    { .name = "imiss", .actual = "imiss", .rate = 100, .running = 0.5 } },
	};
	rng_seed(&s->rng, seed);
}

static uint32_t an_image(struct synth *s, const struct live_sink *sink)
{
	static struct live_symbol symbols[] = { { 0, 64, "first" }, { 64, 100, "second" } };
	static uint8_t bytes[] = { 0x90, 0xc3 };
	static struct live_code code[] = { { 64, 2, bytes } };
	const uint64_t k = s->first_image + rng_below(&s->rng, s->nimages);
	char name[32], build_id[48];
	struct live_image i = { .kind = LIVE_FILE, .name = name, .build_id = build_id };

	snprintf(name, sizeof(name), "/usr/lib/lib%d.so", (int)k);
	snprintf(build_id, sizeof(build_id), "%040d", (int)k);
	if (k % 2 == 0)
		build_id[0] = '\0';
	i.ino = k;
	if (k == 0)
		i = (struct live_image){ .kind = LIVE_UNKNOWN, .name = "[unknown]" };
	if (k == 4) {
		i.symbols = symbols;
		i.nsymbols = 2;
		i.code = code;
		i.ncode = 1;
	}
	return sink->image(sink->self, &i);
}

static uint32_t a_process(struct synth *s, const struct live_sink *sink)
{
	const uint64_t k = s->first_process + rng_below(&s->rng, s->nprocesses);
	char comm[16];

	snprintf(comm, sizeof(comm), "prog%d", (int)(k % 4));
	return sink->process(sink->self, &(struct live_process){ .pid = (int32_t)(100 + k),
								 .start_ns = k * 7,
								 .uid = (uint32_t)(k % 3),
								 .comm = comm,
								 .exe = "/usr/bin/prog",
								 .container = k % 2 ? "web" : "" });
}

void synth_counts(struct synth *s, const struct live_sink *sink, int n)
{
	for (int k = 0; k < n; k++) {
		struct live_event *e = &s->events[rng_below(&s->rng, 4) == 0];
		struct live_frame frames[3];
		const struct live_count c = { .image = an_image(s, sink),
					      .process = a_process(s, sink),
					      .event = sink->event(sink->self, e),
					      .cpu = (uint16_t)rng_below(&s->rng, 2),
					      .offset = rng_below(&s->rng, s->noffsets) * 4,
					      .count = 1 + rng_below(&s->rng, 5) };

		sink->count(sink->self, &c);
		e->taken += c.count;
		e->stored += c.count;
		if (!s->stacks)
			continue;
		for (int f = 0; f < 3; f++)
			frames[f] = (struct live_frame){ an_image(s, sink), rng_below(&s->rng, 3) };
		sink->stack(sink->self,
			    &(struct live_stack){ c.process, c.event, frames,
						  1 + rng_below(&s->rng, 3), false, c.count });
		sink->edge(sink->self, &(struct live_edge){ c.image, c.offset, c.count, 1 });
	}
}

bool synth_cut(struct synth *s, const struct live_sink *sink, struct err *e)
{
	struct live_event events[2] = { s->events[0], s->events[1] };

	events[0].taken += s->pending;
	events[0].pending = s->pending;
	s->facts.end_ns += 1000;
	return sink->cut(sink->self, events, 2, &s->facts, e);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

char *synth_text(struct live_profile *p)
{
	size_t n, stacks, edges, bytes = 1;
	const struct live_count *c = live_counts(p, &n);
	const struct live_stack *s = live_stacks(p, &stacks);
	const struct live_edge *x = live_edges(p, &edges);
	const size_t all = n + stacks + edges + live_events(p);
	char **lines = x_calloc(all + 1, sizeof(*lines)), **to = lines;

	for (size_t i = 0; i < n; i++)
		*to++ = x_asprintf(
		    "count %s %lx %s %d %d %lu", live_image(p, c[i].image)->name,
		    (unsigned long)c[i].offset, live_event(p, c[i].event)->name,
		    c[i].process == LIVE_NO_PROCESS ? -1 : live_process(p, c[i].process)->pid,
		    c[i].cpu, (unsigned long)c[i].count);
	for (size_t i = 0; i < stacks; i++) {
		char *line = x_asprintf(
		    "stack %s %d %lu", live_event(p, s[i].event)->name,
		    s[i].process == LIVE_NO_PROCESS ? -1 : live_process(p, s[i].process)->pid,
		    (unsigned long)s[i].count);
		for (size_t k = 0; k < s[i].nframes; k++) {
			char *more =
			    x_asprintf("%s %s+%lx", line, live_image(p, s[i].frames[k].image)->name,
				       (unsigned long)s[i].frames[k].offset);
			free(line);
			line = more;
		}
		*to++ = line;
	}
	for (size_t i = 0; i < edges; i++)
		*to++ = x_asprintf("edge %s %lx %lu %lu", live_image(p, x[i].image)->name,
				   (unsigned long)x[i].offset, (unsigned long)x[i].taken,
				   (unsigned long)x[i].not_taken);
	for (size_t i = 0; i < live_events(p); i++) {
		const struct live_event *e = live_event(p, i);

		*to++ = x_asprintf("event %s %s %lu %lu %lu %lu", e->name, e->actual,
				   (unsigned long)e->taken, (unsigned long)e->stored,
				   (unsigned long)e->lost, (unsigned long)e->pending);
	}
	qsort(lines, all, sizeof(*lines), by_text);
	for (size_t i = 0; i < all; i++)
		bytes += strlen(lines[i]) + 1;
	char *text = x_calloc(1, bytes), *end = text;

	for (size_t i = 0; i < all; i++) {
		end += sprintf(end, "%s\n", lines[i]);
		free(lines[i]);
	}
	free(lines);
	return text;
}

int synth_make_folder(void **state)
{
	char folder[] = "/tmp/culprit-test-XXXXXX";

	*state = mkdtemp(folder) ? x_strdup(folder) : NULL;
	return !*state || chmod(folder, 0755) || chdir(folder);
}

int synth_remove_folder(void **state)
{
	char *command = x_asprintf("rm -rf '%s'", (char *)*state);
	const bool ok = chdir("/") == 0 && system(command) == 0;

	free(command);
	free(*state);
	return !ok;
}
