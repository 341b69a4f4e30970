/* SPDX-License-Identifier: MIT */
/*
 * The records of perf.data: samples and the kernel's side-band, in order of time. Each processor's
 * records are in order, and perf writes them in rounds: after a round nothing comes that is older
 * than the youngest record of the round before. So records wait in a heap by time until then.
 *
 * A compressed record holds a piece of a zstd stream of records; a record may begin in one piece and
 * end in the next.
 *
 * Every sample counts once: with a period that varies (-F of an event other than a clock) perf
 * report weighs samples by period, and shares differ from its.
 */
#include "collect/perfdata.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "collect/perfdata_int.h"
#include "util/array.h"

/* Records that perf itself makes, beside the kernel's. */
enum {
	RECORD_HEADER_ATTR = 64,
	RECORD_HEADER_EVENT_TYPE = 65,
	RECORD_HEADER_TRACING_DATA = 66,
	RECORD_HEADER_BUILD_ID = 67,
	RECORD_FINISHED_ROUND = 68,
	RECORD_AUXTRACE = 71,
	RECORD_HEADER_FEATURE = 80,
	RECORD_COMPRESSED = 81,
	RECORD_LAST = 90
};

#define QUEUE_MAX_BYTES (256u << 20)
#define FRAMES_MAX	1024
#define RECORD_BYTES	65536

/* A record that waits for its turn. */
struct waiting {
	uint64_t time, order;
	uint8_t *record;
	uint32_t size;
};

struct reading {
	struct perfdata p;
	struct maps *maps;
	struct sideband_format format; /* of all records but samples */
	bool format_known;
	struct waiting *heap;
	size_t nheap, heap_room, heap_bytes;
	uint64_t order;
	uint64_t round_max, last_round_max; /* youngest times of this round and the one before */
	ZSTD_DStream *zstd;
	uint8_t *plain; /* decompressed, not read yet */
	size_t nplain, plain_room;
	uint64_t left; /* bytes of the file's data */
	uint64_t first_ns, last_ns;
	uint64_t senseless, unknown_ids;
	struct live_frame *frames;
};

/* ---- Formats ---- */

/* Where things are in records that are not samples, by the first event: perf makes them alike. */
static void find_format(struct reading *r)
{
	const struct perf_event_attr *a = &r->p.events[0].attr;
	static const uint64_t fields[] = { PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
					   PERF_SAMPLE_ID,  PERF_SAMPLE_STREAM_ID,
					   PERF_SAMPLE_CPU, PERF_SAMPLE_IDENTIFIER };

	r->format = (struct sideband_format){ .time_at = SIZE_MAX };
	r->format_known = true;
	if (!a->sample_id_all)
		return;
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if (!(a->sample_type & fields[i]))
			continue;
		if (fields[i] == PERF_SAMPLE_TIME)
			r->format.time_at = r->format.trailer_bytes;
		r->format.trailer_bytes += 8;
	}
}

struct words {
	const uint8_t *at, *end;
	bool bad;
};

static uint64_t word(struct words *w)
{
	uint64_t x = 0;

	if (w->end - w->at < 8) {
		w->bad = true;
		return 0;
	}
	memcpy(&x, w->at, 8);
	w->at += 8;
	return x;
}

/* The event that a sample is of: by its identifier, its id, or because there is only one. */
static struct perfdata_event *event_of(struct reading *r, const uint8_t *record, size_t size)
{
	const uint64_t type = r->p.events[0].attr.sample_type;
	struct words w = { record + sizeof(struct perf_event_header), record + size, false };

	if (!(type & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ID)))
		return &r->p.events[0];
	if (!(type & PERF_SAMPLE_IDENTIFIER))
		for (uint64_t before = type & (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
					       PERF_SAMPLE_ADDR);
		     before; before &= before - 1)
			word(&w);
	const uint64_t id = word(&w);
	struct perfdata_event *x = w.bad ? NULL : perfdata_event_of(&r->p, id);

	if (!x && r->p.nevents == 1)
		x = &r->p.events[0];
	return x;
}

struct sample {
	uint64_t ip, time, period;
	int32_t pid;
	uint16_t cpu;
	const uint8_t *chain;
	size_t nchain;
};

/* Passes over the values of a group. */
static void skip_read(struct words *w, uint64_t format)
{
	const unsigned each = 1 + !!(format & PERF_FORMAT_ID) + !!(format & (1u << 4)); /* LOST */
	const uint64_t n = format & PERF_FORMAT_GROUP ? word(w) : 1;
	const uint64_t times = (uint64_t) !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
			       !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);

	if (n > 65536 || (uint64_t)(w->end - w->at) < 8 * (n * each + times))
		w->bad = true;
	else
		w->at += 8 * (n * each + times);
}

static bool parse_sample(const struct perf_event_attr *a, const uint8_t *record, size_t size,
			 struct sample *s)
{
	struct words w = { record + sizeof(struct perf_event_header), record + size, false };
	const uint64_t type = a->sample_type;

	*s = (struct sample){ .cpu = LIVE_NO_CPU, .pid = -1, .period = a->sample_period };
	if (type & PERF_SAMPLE_IDENTIFIER)
		word(&w);
	if (type & PERF_SAMPLE_IP)
		s->ip = word(&w);
	if (type & PERF_SAMPLE_TID)
		s->pid = (int32_t)word(&w);
	if (type & PERF_SAMPLE_TIME)
		s->time = word(&w);
	if (type & PERF_SAMPLE_ADDR)
		word(&w);
	if (type & PERF_SAMPLE_ID)
		word(&w);
	if (type & PERF_SAMPLE_STREAM_ID)
		word(&w);
	if (type & PERF_SAMPLE_CPU)
		s->cpu = (uint16_t)word(&w);
	if (type & PERF_SAMPLE_PERIOD)
		s->period = word(&w);
	if (type & PERF_SAMPLE_READ)
		skip_read(&w, a->read_format);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		const uint64_t n = word(&w);

		if (n > (uint64_t)(w.end - w.at) / 8)
			return false;
		s->chain = w.at;
		s->nchain = (size_t)n;
	}
	return !w.bad;
}

/* ---- Samples ---- */

static struct maps_place place_of(struct reading *r, int32_t pid, unsigned mode, uint64_t address)
{
	const struct maps_space space = { .pid = pid };

	return mode == PERF_RECORD_MISC_KERNEL || mode == PERF_RECORD_MISC_HYPERVISOR ||
		       mode == PERF_RECORD_MISC_GUEST_KERNEL
		   ? maps_find_kernel(r->maps, space, address)
		   : maps_find(r->maps, space, address);
}

/* The call chain, innermost first; marks in it say where the kernel ends and the program begins. */
static void add_stack(struct reading *r, const struct sample *s, struct live_stack *stack)
{
	unsigned mode = PERF_RECORD_MISC_USER;

	stack->frames = r->frames;
	for (size_t i = 0; i < s->nchain && stack->nframes < FRAMES_MAX; i++) {
		uint64_t ip;

		memcpy(&ip, s->chain + 8 * i, 8);
		if (ip >= (uint64_t)PERF_CONTEXT_MAX) {
			mode = ip == (uint64_t)PERF_CONTEXT_USER     ? PERF_RECORD_MISC_USER
			       : ip == (uint64_t)PERF_CONTEXT_KERNEL ? PERF_RECORD_MISC_KERNEL
								     : PERF_RECORD_MISC_HYPERVISOR;
			continue;
		}
		const struct maps_place at = place_of(r, s->pid, mode, ip);

		r->frames[stack->nframes++] = (struct live_frame){ at.image, at.offset };
	}
	if (stack->nframes)
		r->p.sink->stack(r->p.sink->self, stack);
}

static void add_sample(struct reading *r, const uint8_t *record, size_t size)
{
	struct perfdata_event *x = event_of(r, record, size);
	struct perf_event_header h;
	struct sample s;

	if (!x || !parse_sample(&x->attr, record, size, &s)) {
		r->unknown_ids += !x;
		r->senseless += x != NULL;
		return;
	}
	memcpy(&h, record, sizeof(h));
	const struct maps_place at =
	    place_of(r, s.pid, h.misc & PERF_RECORD_MISC_CPUMODE_MASK, s.ip);

	if (x->number == UINT32_MAX)
		x->number = r->p.sink->event(
		    r->p.sink->self, &(struct live_event){ .name = x->name, .actual = x->name });
	r->p.sink->count(r->p.sink->self, &(struct live_count){ .image = at.image,
								.process = at.process,
								.event = x->number,
								.cpu = s.cpu,
								.offset = at.offset,
								.count = 1 });
	x->samples++;
	x->periods += s.period;
	if (s.time) {
		r->first_ns = r->first_ns ? min_u64(r->first_ns, s.time) : s.time;
		r->last_ns = max_u64(r->last_ns, s.time);
	}
	struct live_stack stack = { .process = at.process, .event = x->number, .count = 1 };

	if (s.nchain)
		add_stack(r, &s, &stack);
}

/* ---- Records, one by one in order of time ---- */

static void add_lost(struct reading *r, const uint8_t *record, size_t size, bool has_id)
{
	struct words w = { record + sizeof(struct perf_event_header), record + size, false };
	struct perfdata_event *x = has_id ? perfdata_event_of(&r->p, word(&w)) : NULL;
	const uint64_t n = word(&w);

	if (!w.bad && n < (uint64_t)1 << 48)
		(x ? x : &r->p.events[0])->lost += n;
}

/* Mappings have no build-id of their own unless perf was asked for it; the file's table has them. */
static void give_build_id(struct reading *r, struct maps_record *m)
{
	const struct perfdata_build *b =
	    m->kind == MAPS_MMAP && !m->build_id_bytes ? perfdata_build_of(&r->p, m->name) : NULL;

	if (!b && m->kind == MAPS_MMAP && m->kernel && !m->build_id_bytes &&
	    !strncmp(m->name, "[kernel.kallsyms]", 17))
		b = perfdata_build_of(&r->p, "[kernel.kallsyms]");
	if (b) {
		memcpy(m->build_id, b->id, sizeof(m->build_id));
		m->build_id_bytes = b->bytes;
	}
}

static void deliver(struct reading *r, const uint8_t *record, size_t size)
{
	struct perf_event_header h;
	struct maps_record m;
	uint64_t lost;

	memcpy(&h, record, sizeof(h));
	if (h.type == PERF_RECORD_SAMPLE) {
		add_sample(r, record, size);
	} else if (h.type == PERF_RECORD_LOST || h.type == PERF_RECORD_LOST_SAMPLES) {
		add_lost(r, record, size, h.type == PERF_RECORD_LOST);
	} else {
		switch (sideband_parse(record, size, &r->format, &m, &lost)) {
		case SIDEBAND_RECORD:
			give_build_id(r, &m);
			maps_add(r->maps, &m);
			break;
		case SIDEBAND_SENSELESS:
			r->senseless++;
			break;
		default:
			break;
		}
	}
	if (h.type == PERF_RECORD_AUX && !(r->p.said & 1)) {
		r->p.said |= 1;
		perfdata_note(&r->p, "%s: traces of hardware (AUX) are left out", r->p.name);
	}
}

static uint64_t time_of(struct reading *r, const uint8_t *record, size_t size)
{
	struct perf_event_header h;
	struct sample s;
	uint64_t time = 0;

	memcpy(&h, record, sizeof(h));
	if (h.type == PERF_RECORD_SAMPLE) {
		struct perfdata_event *x = event_of(r, record, size);

		return x && parse_sample(&x->attr, record, size, &s) ? s.time : 0;
	}
	const size_t trailer = sideband_trailer(record, size, &r->format);

	if (r->format.time_at != SIZE_MAX && trailer != SIZE_MAX)
		memcpy(&time, record + trailer + r->format.time_at, 8);
	return time;
}

/* ---- The heap ---- */

static bool before(const struct waiting *a, const struct waiting *b)
{
	return a->time != b->time ? a->time < b->time : a->order < b->order;
}

static void push(struct reading *r, uint64_t time, const uint8_t *record, size_t size)
{
	struct waiting w = { time, r->order++, x_malloc(size), (uint32_t)size };
	size_t at = r->nheap++;

	memcpy(w.record, record, size);
	ARRAY_ROOM(r->heap, r->heap_room, r->nheap);
	for (; at && before(&w, &r->heap[(at - 1) / 2]); at = (at - 1) / 2)
		r->heap[at] = r->heap[(at - 1) / 2];
	r->heap[at] = w;
	r->heap_bytes += size + sizeof(w);
}

static void pop(struct reading *r)
{
	const struct waiting first = r->heap[0], last = r->heap[--r->nheap];
	size_t at = 0;

	for (size_t child; (child = 2 * at + 1) < r->nheap; at = child) {
		if (child + 1 < r->nheap && before(&r->heap[child + 1], &r->heap[child]))
			child++;
		if (!before(&r->heap[child], &last))
			break;
		r->heap[at] = r->heap[child];
	}
	if (r->nheap)
		r->heap[at] = last;
	r->heap_bytes -= first.size + sizeof(first);
	deliver(r, first.record, first.size);
	free(first.record);
}

static void deliver_until(struct reading *r, uint64_t time)
{
	while (r->nheap && r->heap[0].time <= time)
		pop(r);
}

static void queue(struct reading *r, const uint8_t *record, size_t size)
{
	const uint64_t time = time_of(r, record, size);

	if (!time || time == UINT64_MAX) {
		deliver(r, record, size);
		return;
	}
	r->round_max = max_u64(r->round_max, time);
	push(r, time, record, size);
	while (r->heap_bytes > QUEUE_MAX_BYTES)
		pop(r);
}

/* ---- The stream ---- */

static bool damaged(struct reading *r, const char *what, struct err *e)
{
	return err_set(e, "%s is damaged: %s", r->p.name, what);
}

/* Reads exactly n bytes of the data. *none: there was not one more. */
static bool read_bytes(struct reading *r, uint8_t *to, size_t n, bool *none)
{
	size_t done = 0;

	*none = r->left == 0;
	if (n > r->left)
		return false;
	while (done < n) {
		const ssize_t got = read(r->p.fd, to + done, n - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			*none = !done;
			return false;
		}
		done += (size_t)got;
	}
	r->left -= r->left == UINT64_MAX ? 0 : n;
	return true;
}

/* Passes over bytes that follow a record without being one. */
static bool skip_bytes(struct reading *r, uint64_t n, struct err *e)
{
	uint8_t block[4096];
	bool none;

	for (n = (n + 7) & ~(uint64_t)7; n;) {
		const size_t part = (size_t)min_u64(n, sizeof(block));

		if (!read_bytes(r, block, part, &none))
			return damaged(r, "it ends within a record", e);
		n -= part;
	}
	return true;
}

static bool record(struct reading *r, const uint8_t *record, size_t size, bool outer,
		   struct err *e);

/* Decompresses a piece of the stream and reads the records that are complete now. */
static bool compressed(struct reading *r, const uint8_t *data, size_t size, struct err *e)
{
	ZSTD_inBuffer in = { data, size, 0 };
	size_t at = 0;

	if (!r->zstd) {
		r->zstd = ZSTD_createDStream();
		if (!r->zstd || ZSTD_isError(ZSTD_initDStream(r->zstd)))
			return err_set(e, "%s: zstd does not start", r->p.name);
		/* perf compresses with windows of at most 8 MiB. */
		ZSTD_DCtx_setParameter(r->zstd, ZSTD_d_windowLogMax, 27);
	}
	while (in.pos < in.size) {
		if (r->nplain > QUEUE_MAX_BYTES)
			return damaged(r, "a compressed record is too large", e);
		ARRAY_ROOM(r->plain, r->plain_room, r->nplain + RECORD_BYTES);
		ZSTD_outBuffer out = { r->plain, r->plain_room, r->nplain };
		const size_t rc = ZSTD_decompressStream(r->zstd, &out, &in);

		if (ZSTD_isError(rc))
			return damaged(r, ZSTD_getErrorName(rc), e);
		r->nplain = out.pos;
		struct perf_event_header h;

		for (at = 0; r->nplain - at >= sizeof(h); at += h.size) {
			memcpy(&h, r->plain + at, sizeof(h));
			if (h.size < sizeof(h))
				return damaged(r, "a compressed record has no size", e);
			if (h.size > r->nplain - at)
				break;
			if (!record(r, r->plain + at, h.size, false, e))
				return false;
		}
		memmove(r->plain, r->plain + at, r->nplain - at);
		r->nplain -= at;
	}
	return true;
}

static bool pipe_attr(struct reading *r, const uint8_t *record, size_t size, struct err *e)
{
	const uint8_t *attr = record + sizeof(struct perf_event_header);
	const size_t room = size - sizeof(struct perf_event_header);
	uint32_t attr_size = 0;

	if (room >= PERF_ATTR_SIZE_VER0)
		memcpy(&attr_size, attr + 4, 4);
	if (attr_size < PERF_ATTR_SIZE_VER0 || attr_size > room)
		return damaged(r, "an event's attributes are cut off", e);
	return perfdata_add_event(&r->p, attr, attr_size, attr + attr_size, (room - attr_size) / 8,
				  e);
}

/* Records of perf itself. */
static bool own_record(struct reading *r, const struct perf_event_header *h, const uint8_t *record,
		       size_t size, bool outer, struct err *e)
{
	const uint8_t *body = record + sizeof(*h);
	const size_t room = size - sizeof(*h);
	uint64_t number = 0;

	switch (h->type) {
	case RECORD_HEADER_ATTR:
		return pipe_attr(r, record, size, e);
	case RECORD_HEADER_BUILD_ID:
		perfdata_build_id(&r->p, record, size);
		return true;
	case RECORD_HEADER_FEATURE:
		if (room >= 8) {
			memcpy(&number, body, 8);
			perfdata_feature(&r->p, (unsigned)min_u64(number, UINT16_MAX), body + 8,
					 room - 8);
		}
		return true;
	case RECORD_FINISHED_ROUND:
		deliver_until(r, r->last_round_max);
		r->last_round_max = r->round_max;
		return true;
	case RECORD_COMPRESSED:
		return outer ? compressed(r, body, room, e)
			     : damaged(r, "a compressed record within another", e);
	case RECORD_AUXTRACE:
	case RECORD_HEADER_TRACING_DATA:
		memcpy(&number, body, min_u64(room, h->type == RECORD_AUXTRACE ? 8 : 4));
		if (!(r->p.said & 2))
			perfdata_note(&r->p, "%s: traces that are not samples are left out",
				      r->p.name);
		r->p.said |= 2;
		return outer ? skip_bytes(r, number, e)
			     : damaged(r, "a trace within a compressed record", e);
	default:
		if (h->type > RECORD_LAST && !(r->p.said & 4)) {
			r->p.said |= 4;
			perfdata_note(&r->p,
				      "%s: records of type %u are not known here and are "
				      "left out",
				      r->p.name, h->type);
		}
		return true;
	}
}

static bool record(struct reading *r, const uint8_t *data, size_t size, bool outer, struct err *e)
{
	struct perf_event_header h;

	memcpy(&h, data, sizeof(h));
	if (h.type >= 64)
		return own_record(r, &h, data, size, outer, e);
	if (!r->p.nevents)
		return damaged(r, "it has samples and no events", e);
	if (!r->format_known)
		find_format(r);
	queue(r, data, size);
	return true;
}

static bool read_records(struct reading *r, struct err *e)
{
	uint8_t *buffer = x_malloc(RECORD_BYTES);
	struct perf_event_header h;
	bool ok = true, none = false;

	while (ok) {
		if (!read_bytes(r, buffer, sizeof(h), &none)) {
			if (!none)
				perfdata_note(&r->p, "%s is cut off within a record", r->p.name);
			break;
		}
		memcpy(&h, buffer, sizeof(h));
		if (h.size < sizeof(h)) {
			ok = damaged(r, "a record has no size", e);
		} else if (!read_bytes(r, buffer + sizeof(h), h.size - sizeof(h), &none)) {
			perfdata_note(&r->p, "%s is cut off within a record", r->p.name);
			break;
		} else {
			ok = record(r, buffer, h.size, true, e);
		}
	}
	if (ok)
		deliver_until(r, UINT64_MAX);
	free(buffer);
	return ok;
}

/* ---- All of it ---- */

static bool cut(struct reading *r, struct err *e)
{
	struct live_event events[PERFDATA_EVENTS_MAX];
	struct stat st = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < r->p.nevents; i++) {
		const struct perfdata_event *x = &r->p.events[i];
		const bool by_rate = x->attr.freq;

		if (!x->samples && !x->lost)
			continue;
		events[n++] = (struct live_event){
			.name = x->name,
			.actual = x->name,
			.rate = by_rate ? (double)x->attr.sample_freq : 0,
			.period = x->samples ? x->periods / x->samples : 0,
			.running = 1,
			.taken = x->samples + x->lost,
			.stored = x->samples,
			.lost = x->lost,
		};
	}
	if (!n)
		return err_set(e, "%s has no samples", r->p.name);
	fstat(r->p.fd, &st);
	/* Times within are since boot; the file was written when the recording ended. */
	const uint64_t end =
	    (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	const struct live_facts facts = {
		.machine = r->p.hostname,
		.kernel = r->p.release,
		.command = r->p.command,
		.cpus = r->p.cpus,
		.begin_ns = end - min_u64(end, r->last_ns - r->first_ns),
		.end_ns = end,
	};

	maps_publish(r->maps);
	return r->p.sink->cut(r->p.sink->self, events, n, &facts, e);
}

bool perfdata_read(int fd, const char *name, const struct perfdata_options *o,
		   const struct live_sink *sink, struct err *e)
{
	struct reading *r = x_calloc(1, sizeof(*r));

	r->p.fd = fd;
	r->p.name = name;
	r->p.o = o;
	r->p.sink = sink;
	r->maps = maps_new(sink, NULL);
	r->frames = x_malloc(FRAMES_MAX * sizeof(*r->frames));
	r->left = UINT64_MAX;
	bool ok = perfdata_header(&r->p, e);

	if (ok && !r->p.pipe)
		r->left = r->p.data_bytes;
	ok = ok && read_records(r, e) && cut(r, e);
	if (r->senseless || r->unknown_ids)
		perfdata_note(&r->p,
			      "%s: %llu damaged records and %llu samples of unknown events "
			      "are left out",
			      name, (unsigned long long)r->senseless,
			      (unsigned long long)r->unknown_ids);
	for (size_t i = 0; i < r->nheap; i++)
		free(r->heap[i].record);
	free(r->heap);
	free(r->plain);
	free(r->frames);
	ZSTD_freeDStream(r->zstd);
	maps_free(r->maps);
	perfdata_free(&r->p);
	free(r);
	return ok;
}
