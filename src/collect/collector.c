/* SPDX-License-Identifier: MIT */
/*
 * The collector: opens the events, drains what the program in the kernel has counted, gives counts
 * their images through the maps, and hands them to the sink.
 *
 * A count has no time. It names an image token or a process number, and the ring says what those
 * are, with a time: they are looked up in the maps as those were at that time, after the side-band
 * has been read up to it. So the order of map changes and counts is exact however late a count is
 * drained.
 *
 * A cut swaps the tables of each processor, drains the large ones in parts, and swaps them back; the
 * second swap takes the totals of its moment (program_cut). Records of the ring that are younger than
 * the second swap of their processor wait until the cut is over. The totals of a cut are therefore of
 * one moment on each processor, and taken = stored + lost + pending holds exactly (L1).
 */
#include "collect/collector.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "collect/collector_int.h"
#include "util/array.h"

#define TOKENS_MAX 1536 /* of 2048 in the kernel's map */
#define SPACES_MAX 16384

/* A cut in parts of a few milliseconds, ten a second where there is time. */
#define DRAIN_BUCKETS  256
#define DRAIN_PART_NS  2000000u
#define DRAIN_EVERY_NS 100000000u
#define DRAIN_PARTS    50

/* Ended processes are forgotten so often, and so long after their end. */
#define FORGET_EVERY_NS 2000000000u
#define FORGET_AFTER_NS 3000000000u

/* ---- What tokens and numbers mean ---- */

static struct maps_space space_of(const struct sample_process *p)
{
	return (struct maps_space){ .pid = (int32_t)p->pid,
				    .exec_id = p->exec_id,
				    .start_ns = p->start_ns };
}

/* Numbers begin anew after the last one, so that what counts is how far one is behind the first that is
 * known. */
static uint32_t token_place(const struct collector *c, uint32_t number)
{
	return (number - c->tokens_base) & (SAMPLE_TOKENS - 1);
}

static struct token *find_token(struct collector *c, uint32_t number)
{
	const uint32_t i = token_place(c, number);

	return i < c->ntokens ? &c->tokens[i] : NULL;
}

static struct known_space *find_space(struct collector *c, uint32_t number)
{
	const uint32_t i = number - c->spaces_base;

	return i < c->nspaces ? &c->spaces[i] : NULL;
}

static void put_token(struct collector *c, const struct sample_record_image *r)
{
	/* Numbers come nearly in order: processors take them and announce them on their own. */
	const uint32_t at = token_place(c, r->number);

	while (at < SAMPLE_TOKENS / 2 && c->ntokens <= at)
		*ARRAY_ADD(c->tokens, c->ntokens) = (struct token){ 0 };
	struct token *t = find_token(c, r->number);

	if (t)
		*t = (struct token){ .process = r->process,
				     .time_ns = r->time_ns,
				     .address = r->address,
				     .offset = r->offset,
				     .state = TOKEN_ANNOUNCED };
}

static void put_space(struct collector *c, const struct sample_record_process *r)
{
	const uint32_t at = r->number - c->spaces_base;

	while (at < UINT32_MAX / 2 && c->nspaces <= at)
		*ARRAY_ADD(c->spaces, c->nspaces) = (struct known_space){ 0 };
	struct known_space *s = find_space(c, r->number);

	if (s)
		*s = (struct known_space){ .process = r->process,
					   .time_ns = r->time_ns,
					   .uid = r->uid,
					   .cgroup = r->cgroup,
					   .thread_ns = r->thread_ns,
					   .tid = r->tid,
					   .announced = true };
	if (s)
		snprintf(s->name, sizeof(s->name), "%.*s", (int)sizeof(r->name), r->name);
}

/* Looks a token up, if the maps are complete up to its time. */
static bool token_ready(struct collector *c, struct token *t)
{
	if (t->state == TOKEN_ANNOUNCED && t->time_ns <= c->maps_until) {
		t->place = maps_find_at(c->maps, space_of(&t->process), t->address, t->time_ns);
		t->state = t->place.offset == t->offset ? TOKEN_IMAGE : TOKEN_ADDRESSES;
	}
	return t->state >= TOKEN_IMAGE;
}

/* The sink's number of a process. */
static uint32_t process_of(struct collector *c, uint32_t number)
{
	struct known_space *s = find_space(c, number);

	if (!s || !s->announced)
		return LIVE_NO_PROCESS;
	if (!s->found) {
		const struct maps_space space = space_of(&s->process);

		maps_tell(c->maps, space, s->uid, s->cgroup, s->name);
		s->sink = s->tid
			      ? maps_thread(c->maps, space, (int32_t)s->tid, s->thread_ns, s->name)
			      : maps_find_kernel(c->maps, space, c->kernel_address).process;
		s->found = true;
	}
	return s->sink;
}

/* Where a key lies. False: its token is not known yet. */
static bool place_of(struct collector *c, uint64_t key, struct maps_place *place)
{
	const uint64_t offset = key & ((1ull << SAMPLE_OFFSET_BITS) - 1);

	if ((int64_t)key < 0) {
		c->kernel_address = key;
		*place = maps_find_kernel(c->maps, (struct maps_space){ 0 }, key);
		return true;
	}
	struct token *t = find_token(c, (uint32_t)(key >> SAMPLE_OFFSET_BITS));

	if (!t || !token_ready(c, t))
		return false;
	t->used = true;
	*place = t->place;
	if (t->state == TOKEN_IMAGE) {
		place->offset = offset;
		maps_hit(c->maps, place);
	} else {
		*place = maps_find_at(c->maps, space_of(&t->process),
				      t->address + (offset - t->offset), t->time_ns);
	}
	return true;
}

/* ---- Counts ---- */

/* Gives an entry to the sink. False: not yet. */
static bool deliver(struct collector *c, uint32_t cpu, const struct sample_entry *x)
{
	const uint8_t kind = SAMPLE_KIND(x->value), event = SAMPLE_EVENT(kind);
	const uint32_t number = SAMPLE_SPACE(x->value), n = SAMPLE_COUNT(x->value);
	struct maps_place place;

	if (event >= c->nevents)
		return true;
	if (SAMPLE_WHAT(kind) == SAMPLE_STACKS)
		return collector_stack(c, event, number, x->key, n);
	if (!place_of(c, x->key, &place))
		return false;
	if (number && c->options.per_process) {
		const struct known_space *s = find_space(c, number);

		if (!s || !s->announced || s->time_ns > c->maps_until)
			return false;
	}
	if (SAMPLE_WHAT(kind) != SAMPLE_HERE) {
		const bool taken = SAMPLE_WHAT(kind) == SAMPLE_EDGE_TAKEN;

		c->sink.edge(c->sink.self, &(struct live_edge){ .image = place.image,
								.offset = place.offset,
								.taken = taken ? n : 0,
								.not_taken = taken ? 0 : n });
		return true;
	}
	collector_count(c, &place, number ? process_of(c, number) : LIVE_NO_PROCESS, cpu, event, n);
	return true;
}

void collector_count(struct collector *c, const struct maps_place *place, uint32_t process,
		     uint32_t cpu, uint32_t event, uint64_t n)
{
	c->sink.count(
	    c->sink.self,
	    &(struct live_count){ .image = place->image,
				  .process = c->options.per_process ? process : LIVE_NO_PROCESS,
				  .event = c->events[event].number,
				  .cpu = c->options.per_cpu ? (uint16_t)cpu : LIVE_NO_CPU,
				  .offset = place->offset,
				  .count = n });
	c->events[event].stored += n;
}

static void take_entry(void *self, uint32_t cpu, const struct sample_entry *x)
{
	struct collector *c = self;

	c->drained_entries++;
	if (deliver(c, cpu, x))
		return;
	struct waiting_entry *w = ARRAY_ADD(c->waiting, c->nwaiting);

	*w = (struct waiting_entry){ .entry = *x, .cpu = cpu };
}

/* A sample that has no key. False: the maps are not complete up to its time. */
static bool deliver_unplaced(struct collector *c, const struct sample_record_unplaced *r)
{
	const uint32_t event = SAMPLE_EVENT(r->head.kind);

	if (r->time_ns > c->maps_until)
		return false;
	if (event >= c->nevents || SAMPLE_WHAT(r->head.kind) != SAMPLE_HERE)
		return true;
	const struct maps_space space = space_of(&r->process);
	const struct maps_place place = (int64_t)r->address < 0
					    ? maps_find_kernel(c->maps, space, r->address)
					    : maps_find_at(c->maps, space, r->address, r->time_ns);

	const uint32_t process =
	    c->options.per_thread && r->space ? process_of(c, r->space) : place.process;

	collector_count(c, &place, process, r->head.cpu, event, 1);
	return true;
}

/* Tries again what had to wait. */
static void deliver_waiting(struct collector *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->nwaiting; i++)
		if (!deliver(c, c->waiting[i].cpu, &c->waiting[i].entry))
			c->waiting[kept++] = c->waiting[i];
	collector_shrink((void **)&c->waiting, &c->nwaiting, kept, sizeof(*c->waiting));
	kept = 0;
	for (size_t i = 0; i < c->nunplaced; i++)
		if (!deliver_unplaced(c, &c->unplaced[i]))
			c->unplaced[kept++] = c->unplaced[i];
	collector_shrink((void **)&c->unplaced, &c->nunplaced, kept, sizeof(*c->unplaced));
}

void collector_shrink(void **array, size_t *n, size_t kept, size_t element_bytes)
{
	char *new = NULL;

	if (kept == *n)
		return;
	for (size_t i = 0; i < kept; i++) {
		new = array_one_more(new, i, element_bytes);
		memcpy(new + i *element_bytes, (char *)*array + i * element_bytes, element_bytes);
	}
	free(*array);
	*array = new;
	*n = kept;
}

/* ---- The ring ---- */

static void take_record(struct collector *c, const void *data, size_t bytes)
{
	const struct sample_head *h = data;

	switch (h->type) {
	case SAMPLE_ENTRY:
		if (bytes >= sizeof(struct sample_record_entry))
			take_entry(c, h->cpu, &((const struct sample_record_entry *)data)->entry);
		break;
	case SAMPLE_UNPLACED:
		if (bytes >= sizeof(struct sample_record_unplaced) && !deliver_unplaced(c, data))
			*ARRAY_ADD(c->unplaced, c->nunplaced) =
			    *(const struct sample_record_unplaced *)data;
		c->drained_entries++;
		break;
	case SAMPLE_IMAGE:
		if (bytes >= sizeof(struct sample_record_image))
			put_token(c, data);
		break;
	case SAMPLE_PROCESS:
		if (bytes >= sizeof(struct sample_record_process))
			put_space(c, data);
		break;
	case SAMPLE_STACK:
		collector_put_stack(c, data, bytes);
		break;
	case SAMPLE_TRACE:
		if (bytes >= sizeof(struct sample_record_trace) && c->trace)
			c->trace(c->trace_self, data);
		break;
	default:
		break;
	}
}

/* Counts that came after their processor was cut belong to the next cut. Announcements are needed by
 * anybody at any time. */
int collector_ring_record(void *self, void *data, size_t bytes)
{
	struct collector *c = self;
	const struct sample_head *h = data;

	if (bytes < sizeof(*h) || h->cpu >= c->program.cpus)
		return 0;
	if (c->cutting && (h->type == SAMPLE_ENTRY || h->type == SAMPLE_UNPLACED) &&
	    (int32_t)(h->epoch - c->cpu_epoch[h->cpu]) >= 0) {
		struct later *l = ARRAY_ADD(c->later, c->nlater);

		l->bytes = min_u64(bytes, sizeof(l->record));
		memcpy(&l->record, data, l->bytes);
		return 0;
	}
	take_record(c, data, bytes);
	return 0;
}

static void read_ring(struct collector *c)
{
	ring_buffer__consume(c->ring);
}

static void read_sideband(struct collector *c, uint64_t until_ns)
{
	c->maps_until = sideband_read(c->sideband, c->maps, until_ns);
}

/* ---- Cuts ---- */

static uint64_t pending_of(const struct collector *c, uint32_t event)
{
	uint64_t n = 0;

	for (size_t i = 0; i < c->nwaiting; i++) {
		const uint8_t kind = SAMPLE_KIND(c->waiting[i].entry.value);

		if (SAMPLE_WHAT(kind) == SAMPLE_HERE && SAMPLE_EVENT(kind) == event)
			n += SAMPLE_COUNT(c->waiting[i].entry.value);
	}
	for (size_t i = 0; i < c->nunplaced; i++)
		n += c->unplaced[i].head.kind == event;
	return n;
}

/* The totals of every event, as of the cut. */
static struct live_event *totals(struct collector *c)
{
	struct live_event *events = x_calloc(c->nevents, sizeof(*events));

	for (uint32_t i = 0; i < c->nevents; i++) {
		struct collected_event *x = &c->events[i];
		struct live_event *to = &events[i];

		*to = (struct live_event){ .name = c->list.specs[i].name,
					   .actual = c->list.specs[i].actual,
					   .rate = x->rate,
					   .period = x->period,
					   .running = collector_running(c, i),
					   .stored = x->stored,
					   .pending = pending_of(c, i) };
		for (uint32_t k = 0; k < c->program.cpus; k++) {
			const struct sample_totals *t = &c->program.cpu[k].at_cut[i];

			to->taken += t->taken;
			to->lost += t->lost_ring;
		}
	}
	return events;
}

static bool swap(struct collector *c, struct err *e)
{
	bool ok = true;

	for (uint32_t i = 0; i < c->program.cpus && ok; i++)
		ok = program_cut(&c->program, i, &c->old_table[i], e);
	c->drain_cpu = c->drain_bucket = 0;
	return ok;
}

/* Drains the tables that counted before the last swap, for about so much processor time (0: all of them).
 * What is too new for the maps waits. */
static bool drain(struct collector *c, uint64_t limit_ns, struct err *e)
{
	const double begin = collector_cpu_s(c);

	while (c->drain_cpu < c->program.cpus) {
		const uint32_t cpu = c->drain_cpu, which = c->old_table[cpu];
		const uint32_t left = c->program.buckets[which] - c->drain_bucket;
		const uint32_t n = left < DRAIN_BUCKETS ? left : DRAIN_BUCKETS;

		if (!program_drain(&c->program, cpu, which, c->drain_bucket, n, take_entry, c, e))
			return false;
		c->drain_bucket += n;
		if (n == left) {
			c->drain_cpu++;
			c->drain_bucket = 0;
		}
		if (limit_ns && (collector_cpu_s(c) - begin) * 1e9 >= (double)limit_ns)
			break;
	}
	return true;
}

static bool drained(const struct collector *c)
{
	return c->drain_cpu >= c->program.cpus;
}

/* From now on the small tables count, while the large ones are drained. */
static bool begin_cut(struct collector *c, struct err *e)
{
	for (uint32_t i = 0; i < c->program.cpus; i++)
		c->cpu_epoch[i] = SAMPLE_EPOCH(c->program.cpu[i].turn) + 2;
	if (!swap(c, e))
		return false;
	c->cutting = true;
	read_ring(c);
	read_sideband(c, 0);
	return true;
}

/* The large tables, which are empty now, count again. The totals are those of this second swap. */
static bool finish_cut(struct collector *c, struct err *e)
{
	const uint64_t time_ns = sideband_now();
	bool ok = swap(c, e);

	if (ok) {
		read_ring(c);
		read_sideband(c, sideband_now());
		ok = drain(c, 0, e);
	}
	deliver_waiting(c);
	if (ok) {
		struct live_event *events = totals(c);

		maps_publish(c->maps);
		collector_facts(c);
		ok = c->sink.cut(c->sink.self, events, c->nevents, &c->facts, e);
		free(events);
	}
	c->cutting = false;
	struct later *later = c->later;
	const size_t nlater = c->nlater;

	c->later = NULL;
	c->nlater = 0;
	for (size_t i = 0; i < nlater; i++)
		take_record(c, &later[i].record, later[i].bytes);
	free(later);
	maps_forget(c->maps, c->last_cut_ns);
	collector_end_spaces(c);
	c->last_cut_ns = time_ns;
	collector_recycle(c);
	return ok;
}

/* All of a cut at once, or the rest of the one that is going on. */
static bool cut(struct collector *c, struct err *e)
{
	return (c->cutting || begin_cut(c, e)) && drain(c, 0, e) && finish_cut(c, e);
}

static uint64_t drain_interval_ns(const struct collector *c)
{
	return (uint64_t)((c->options.drain_s > 0 ? c->options.drain_s : COLLECTOR_DRAIN_S) * 1e9);
}

/* The next part of a cut: draining a large table takes tens of milliseconds, which are spread over
 * seconds. The second swap and what follows it is a part of its own, later, as writing begins then. */
static bool continue_cut(struct collector *c, struct err *e)
{
	const uint64_t now = sideband_now();
	const uint64_t every = min_u64(DRAIN_EVERY_NS, drain_interval_ns(c) / DRAIN_PARTS);

	if (now < c->next_drain_ns)
		return true;
	if (drained(c))
		return finish_cut(c, e);
	if (!drain(c, DRAIN_PART_NS, e))
		return false;
	c->next_drain_ns = now + (drained(c) ? 10 * every : every);
	return true;
}

static int by_pid(const void *a, const void *b)
{
	const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

/*
 * What was announced is looked up as soon as the maps are complete up to its time, so that processes that
 * have ended need not be known until their counts are drained: a build has hundreds a second. Wanted
 * later are those whose code has no fixed place in an image, and stacks, whose frames are addresses.
 */
static void forget_ended(struct collector *c, uint64_t now)
{
	int32_t *pids = NULL;
	size_t n = 0;

	if (c->cutting || c->options.stacks || now < c->next_forget_ns)
		return;
	c->next_forget_ns = now + FORGET_EVERY_NS;
	for (size_t i = 0; i < c->ntokens; i++) {
		struct token *t = &c->tokens[i];

		if (t->state != TOKEN_NONE && (!token_ready(c, t) || t->state == TOKEN_ADDRESSES))
			*ARRAY_ADD(pids, n) = (int32_t)t->process.pid;
	}
	for (size_t i = 0; i < c->nspaces; i++) {
		const struct known_space *s = &c->spaces[i];

		if (!s->announced || s->found || maps_goes_on(c->maps, (int32_t)s->process.pid))
			continue;
		if (s->time_ns <= c->maps_until)
			process_of(c, c->spaces_base + (uint32_t)i);
		else
			*ARRAY_ADD(pids, n) = (int32_t)s->process.pid;
	}
	for (size_t i = 0; i < c->nunplaced; i++)
		*ARRAY_ADD(pids, n) = (int32_t)c->unplaced[i].process.pid;
	if (n)
		qsort(pids, n, sizeof(*pids), by_pid);
	maps_forget_ended(c->maps, now - FORGET_AFTER_NS, pids, n);
	free(pids);
}

/* Numbers of images and processes that ended would pile up, here and in the kernel. When there are
 * many, all are given anew; the old ones are forgotten after the next cut, which drains the last
 * counts that can have them. */
void collector_recycle(struct collector *c)
{
	if (c->recycling) {
		const uint32_t tokens = token_place(c, c->recycle_tokens);
		const uint32_t spaces = c->recycle_spaces - c->spaces_base;

		collector_drop((void **)&c->tokens, &c->ntokens, tokens, sizeof(*c->tokens));
		collector_drop((void **)&c->spaces, &c->nspaces, spaces, sizeof(*c->spaces));
		c->tokens_base += tokens;
		c->spaces_base += spaces;
		c->recycling = false;
		collector_drop_stacks(c);
		return;
	}
	if (c->ntokens < TOKENS_MAX && c->nspaces < SPACES_MAX && !collector_many_stacks(c))
		return;
	c->recycling = true;
	c->recycle_tokens = __atomic_load_n(&c->program.shared->tokens, __ATOMIC_SEQ_CST) + 1;
	c->recycle_spaces = __atomic_load_n(&c->program.shared->spaces, __ATOMIC_SEQ_CST) + 1;
	program_forget_images(&c->program);
	__atomic_add_fetch(&c->program.shared->generation, 1, __ATOMIC_SEQ_CST);
}

/* Removes the first `count` elements. */
void collector_drop(void **array, size_t *n, size_t count, size_t element_bytes)
{
	const size_t kept = count < *n ? *n - count : 0;

	if (kept)
		memmove(*array, (char *)*array + count * element_bytes, kept * element_bytes);
	if (kept == *n)
		return;
	*n = kept + 1; /* so that even an equal count is copied to an array of the right size */
	collector_shrink(array, n, kept, element_bytes);
}

/* ---- The interface ---- */

int collector_fd(const struct collector *c)
{
	return c->epoll_fd;
}

bool collector_flush(struct collector *c, struct err *e)
{
	return cut(c, e);
}

bool collector_poll(struct collector *c, int timeout_ms, struct err *e)
{
	struct epoll_event events[16];
	const int n = epoll_wait(c->epoll_fd, events, ARRAY_LEN(events), timeout_ms);

	if (n < 0 && errno != EINTR)
		return err_set(e, "cannot wait for samples: %s", strerror(errno));
	for (int i = 0; i < n; i++) {
		uint64_t expired;

		if (events[i].data.fd == c->timer_fd || events[i].data.fd == c->rotate_fd)
			if (read(events[i].data.fd, &expired, sizeof(expired)) < 0 &&
			    errno != EAGAIN)
				return err_set(e, "cannot read a timer: %s", strerror(errno));
		if (events[i].data.fd == c->rotate_fd)
			collector_rotate(c);
	}
	if (n > 0) {
		read_ring(c);
		read_sideband(c, 0);
		deliver_waiting(c);
	}
	const uint64_t now = sideband_now();

	if (now >= c->next_budget_ns) {
		collector_adjust(c);
		c->next_budget_ns = collector_next_look(c);
	}
	if (c->cutting)
		return continue_cut(c, e);
	if (n > 0) {
		forget_ended(c, now);
		collector_follow_cpus(c);
	}
	if (now < c->next_cut_ns)
		return true;
	c->next_cut_ns = now + drain_interval_ns(c);
	return begin_cut(c, e) && continue_cut(c, e);
}

struct collector_status collector_status(struct collector *c)
{
	struct collector_status s = { .rate = c->rate,
				      .interrupt_ns = c->interrupt_ns,
				      .daemon_cpu_s = collector_cpu_s(c),
				      .sideband_lost = sideband_status(c->sideband).lost,
				      .memory_bytes = c->program.memory_bytes };
	const struct maps_status m = maps_status(c->maps);
	double timed[2] = { 0 }, timed_ns[2] = { 0 };

	s.spaces = m.spaces;
	s.images = m.images;
	s.entries = c->drained_entries;
	for (uint32_t i = 0; i < c->program.cpus; i++) {
		const struct sample_cpu *x = &c->program.cpu[i];

		s.hits += x->hits;
		s.misses += x->misses;
		s.lookups += x->lookups;
		s.checks += x->checks;
		s.unplaced += x->unplaced;
		s.saturated += x->saturated;
		s.refused += x->refused;
		for (int k = 0; k < 2; k++) {
			timed[k] += (double)x->timed[k];
			timed_ns[k] += (double)x->timed_ns[k];
		}
		for (int k = 0; k < SAMPLE_EVENTS; k++)
			s.ring_lost += x->now[k].lost_ring;
	}
	if (timed[0] + timed[1] > 0)
		s.handler_ns = (timed_ns[0] + timed_ns[1]) / (timed[0] + timed[1]);
	s.hit_ns = timed[0] > 0 ? timed_ns[0] / timed[0] : 0;
	s.miss_ns = timed[1] > 0 ? timed_ns[1] / timed[1] : 0;
	return s;
}

bool collector_close(struct collector *c, struct err *e)
{
	if (!c)
		return true;
	collector_stop(c);
	const bool ok = cut(c, e);

	collector_free(c);
	return ok;
}
