/* SPDX-License-Identifier: MIT */
/*
 * Call stacks. The kernel counts them by a hash of their frames and process; the frames come through
 * the ring whenever a stack enters the table. Frames are addresses of one process at one time, and
 * are looked up as of that time.
 *
 * User frames follow the chain of frame pointers. Where the chain ends before the first frame of the
 * thread (code without frame pointers, such as Debian 12's libc), the stack is marked broken; nothing
 * is made up for what is missing.
 */
#include <stdlib.h>
#include <string.h>

#include "collect/collector_int.h"
#include "util/array.h"

#define STACKS_MAX 65536

struct known_stack {
	uint64_t hash, time_ns;
	struct sample_process process;
	uint16_t nkernel, nuser;
	bool broken, found;
	uint32_t sink_process;
	union {
		uint64_t *address; /* until found */
		struct live_frame *frame;
	};
};

static uint32_t *slot(const struct collector *c, uint64_t hash)
{
	size_t at = hash_u64(hash) & (c->stack_table_size - 1);

	while (c->stack_table[at] && c->stacks[c->stack_table[at] - 1].hash != hash)
		at = (at + 1) & (c->stack_table_size - 1);
	return &c->stack_table[at];
}

static void room(struct collector *c)
{
	if (c->nstacks * 2 < c->stack_table_size)
		return;
	free(c->stack_table);
	c->stack_table_size = c->stack_table_size ? c->stack_table_size * 2 : 1024;
	c->stack_table = x_calloc(c->stack_table_size, sizeof(*c->stack_table));
	for (size_t i = 0; i < c->nstacks; i++)
		*slot(c, c->stacks[i].hash) = (uint32_t)i + 1;
}

void collector_put_stack(struct collector *c, const void *data, size_t bytes)
{
	const struct sample_record_stack *r = data;
	const size_t fixed = offsetof(struct sample_record_stack, frame);

	if (bytes < fixed || r->nkernel > SAMPLE_FRAMES || r->nuser > SAMPLE_FRAMES ||
	    bytes < fixed + (r->nkernel + r->nuser) * sizeof(uint64_t))
		return;
	room(c);
	uint32_t *at = slot(c, r->hash);

	if (*at)
		return;
	struct known_stack *s = ARRAY_ADD(c->stacks, c->nstacks);
	const size_t n = r->nkernel + r->nuser;

	*s = (struct known_stack){ .hash = r->hash,
				   .time_ns = r->time_ns,
				   .process = r->process,
				   .nkernel = (uint16_t)r->nkernel,
				   .nuser = (uint16_t)r->nuser,
				   .broken = r->broken };
	s->address = x_malloc((n + 1) * sizeof(uint64_t));
	memcpy(s->address, r->frame, n * sizeof(uint64_t));
	*at = (uint32_t)c->nstacks;
}

/* Turns addresses into images and offsets. A caller's frame is the address after its call: one byte
 * before that is within the call. */
static void find_frames(struct collector *c, struct known_stack *s)
{
	const struct maps_space space = { .pid = (int32_t)s->process.pid,
					  .exec_id = s->process.exec_id,
					  .start_ns = s->process.start_ns };
	const size_t n = (size_t)s->nkernel + s->nuser;
	struct live_frame *frames = x_malloc((n + 1) * sizeof(*frames));

	s->sink_process = LIVE_NO_PROCESS;
	for (size_t i = 0; i < n; i++) {
		const bool first = i == 0 || i == s->nkernel;
		const uint64_t address = s->address[i] - !first;
		const struct maps_place p = i < s->nkernel
						? maps_find_kernel(c->maps, space, address)
						: maps_find_at(c->maps, space, address, s->time_ns);

		frames[i] = (struct live_frame){ p.image, p.offset };
		if (c->options.per_process)
			s->sink_process = p.process;
	}
	free(s->address);
	s->frame = frames;
	s->found = true;
}

bool collector_stack(struct collector *c, uint32_t event, uint32_t space, uint64_t hash, uint64_t n)
{
	(void)space;
	if (!c->stack_table_size)
		return false;
	const uint32_t i = *slot(c, hash);

	if (!i || c->stacks[i - 1].time_ns > c->maps_until)
		return false;
	struct known_stack *s = &c->stacks[i - 1];

	if (!s->found)
		find_frames(c, s);
	c->sink.stack(c->sink.self, &(struct live_stack){ .process = s->sink_process,
							  .event = c->events[event].number,
							  .frames = s->frame,
							  .nframes = (size_t)s->nkernel + s->nuser,
							  .broken = s->broken,
							  .count = n });
	return true;
}

void collector_hold_stacks(const struct collector *c, struct held *h)
{
	for (size_t i = 0; i < c->nstacks; i++) {
		const struct known_stack *s = &c->stacks[i];

		if (!s->found)
			continue;
		held_mark(h, HELD_PROCESSES, s->sink_process);
		for (size_t k = 0; k < (size_t)s->nkernel + s->nuser; k++)
			held_mark(h, HELD_IMAGES, s->frame[k].image);
	}
}

bool collector_many_stacks(const struct collector *c)
{
	return c->nstacks > STACKS_MAX;
}

/* Stacks are announced whenever they enter a table, and no table has any after a cut. */
void collector_drop_stacks(struct collector *c)
{
	if (!collector_many_stacks(c))
		return;
	collector_free_stacks(c);
}

void collector_free_stacks(struct collector *c)
{
	for (size_t i = 0; i < c->nstacks; i++) {
		if (c->stacks[i].found)
			free(c->stacks[i].frame);
		else
			free(c->stacks[i].address);
	}
	free(c->stacks);
	free(c->stack_table);
	c->stacks = NULL;
	c->stack_table = NULL;
	c->nstacks = c->stack_table_size = 0;
}
