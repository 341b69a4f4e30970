/* SPDX-License-Identifier: MIT */
/*
 * The side-band of perf: a dummy software event on each processor, whose ring gets a record for each
 * mapping of code (with the build-id that the kernel reads itself), name, fork, exit, kernel symbol
 * and change of kernel code.
 *
 * Order: a ring is in order of time, since the kernel takes the time and reserves the room without
 * being interrupted by another such record. Across rings the oldest head is taken first, up to the
 * time of the look at the rings less a window: a processor that has taken the time of a record may
 * need a while until the record is in its ring (a virtual one may be stopped in between). A record
 * that comes later still is given away at once, and counted.
 *
 * The clock is CLOCK_BOOTTIME, that of the start times of tasks.
 */
#include "collect/sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "util/array.h"

#define RECORD_MAX     65536
#define NAME_MAX_BYTES 4096

/* ---- One record ---- */

struct reader {
	const uint8_t *at, *end;
	bool good;
};

static uint64_t take(struct reader *r, size_t bytes)
{
	uint64_t value = 0;

	if (!r->good || (size_t)(r->end - r->at) < bytes) {
		r->good = false;
		return 0;
	}
	memcpy(&value, r->at, bytes);
	r->at += bytes;
	return value;
}

/* A text that ends within the record. */
static const char *take_name(struct reader *r)
{
	const char *name = (const char *)r->at;

	if (!r->good || !memchr(name, '\0', min_u64((uint64_t)(r->end - r->at), NAME_MAX_BYTES)))
		r->good = false;
	return name;
}

static void parse_mmap(struct reader *r, const struct perf_event_header *h, struct maps_record *out)
{
	out->kind = MAPS_MMAP;
	out->pid = (int32_t)take(r, 4);
	out->tid = (int32_t)take(r, 4);
	out->address = take(r, 8);
	out->size_bytes = take(r, 8);
	out->pgoff = take(r, 8);
	out->kernel = (h->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	/* Records of version 1 have no rights; a flag tells data from code. */
	out->prot = h->misc & PERF_RECORD_MISC_MMAP_DATA ? PROT_READ : PROT_READ | PROT_EXEC;
	if (h->type == PERF_RECORD_MMAP2) {
		if (h->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
			const uint64_t n = take(r, 1);

			take(r, 3);
			if (n > sizeof(out->build_id) ||
			    (size_t)(r->end - r->at) < sizeof(out->build_id)) {
				r->good = false;
				return;
			}
			out->build_id_bytes = (uint8_t)n;
			memcpy(out->build_id, r->at, n);
			r->at += sizeof(out->build_id);
		} else {
			const unsigned major = (unsigned)take(r, 4);

			out->dev = makedev(major, (unsigned)take(r, 4));
			out->ino = take(r, 8);
			out->ino_generation = take(r, 8);
		}
		out->prot = (uint32_t)take(r, 4);
		out->shared = take(r, 4) & MAP_SHARED;
	}
	out->name = take_name(r);
}

static void parse_task(struct reader *r, const struct perf_event_header *h, struct maps_record *out)
{
	out->kind = h->type == PERF_RECORD_FORK ? MAPS_FORK : MAPS_EXIT;
	out->pid = (int32_t)take(r, 4);
	out->ppid = (int32_t)take(r, 4);
	out->tid = (int32_t)take(r, 4);
	take(r, 4); /* the parent's thread */
	out->time_ns = take(r, 8);
}

static void parse_ksymbol(struct reader *r, struct maps_record *out)
{
	out->kind = MAPS_KSYMBOL;
	out->address = take(r, 8);
	out->size_bytes = take(r, 4);
	out->bpf = take(r, 2) == PERF_RECORD_KSYMBOL_TYPE_BPF;
	out->unregister = take(r, 2) & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
	out->name = take_name(r);
}

/* A number of at most eight bytes in a record; 0: the record ends before. */
static uint64_t field(const uint8_t *record, size_t record_bytes, size_t at, size_t bytes)
{
	uint64_t value = 0;

	if (at + bytes <= record_bytes)
		memcpy(&value, record + at, bytes);
	return value;
}

size_t sideband_trailer(const uint8_t *record, size_t record_bytes, const struct sideband_format *f)
{
	struct perf_event_header h = { 0 };
	size_t at = record_bytes - f->trailer_bytes;

	if (record_bytes < sizeof(h) + f->trailer_bytes)
		return SIZE_MAX;
	memcpy(&h, record, sizeof(h));
	if (h.type == PERF_RECORD_KSYMBOL) {
		/* The name is filled up to eight bytes. */
		const size_t name = sizeof(h) + 16;

		at = name < record_bytes
			 ? name + strnlen((const char *)record + name, record_bytes - name) + 1
			 : record_bytes;
	} else if (h.type == PERF_RECORD_BPF_EVENT) {
		at = sizeof(h) + 16;
	} else if (h.type == PERF_RECORD_TEXT_POKE) {
		/* The old code and the new one behind their lengths, filled up. */
		at = sizeof(h) + 12 + field(record, record_bytes, sizeof(h) + 8, 2) +
		     field(record, record_bytes, sizeof(h) + 10, 2);
	}
	at = (at + 7) & ~(size_t)7;
	return at + f->trailer_bytes <= record_bytes ? at : SIZE_MAX;
}

enum sideband_result sideband_parse(const uint8_t *record, size_t record_bytes,
				    const struct sideband_format *f, struct maps_record *out,
				    uint64_t *lost)
{
	struct perf_event_header h;

	*out = (struct maps_record){ .name = "" };
	*lost = 0;
	if (record_bytes < sizeof(h) + f->trailer_bytes)
		return SIDEBAND_SENSELESS;
	memcpy(&h, record, sizeof(h));
	struct reader r = { record + sizeof(h), record + record_bytes - f->trailer_bytes, true };

	switch (h.type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		parse_mmap(&r, &h, out);
		break;
	case PERF_RECORD_COMM:
		out->kind = MAPS_COMM;
		out->pid = (int32_t)take(&r, 4);
		out->tid = (int32_t)take(&r, 4);
		out->exec = h.misc & PERF_RECORD_MISC_COMM_EXEC;
		out->name = take_name(&r);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		parse_task(&r, &h, out);
		break;
	case PERF_RECORD_KSYMBOL:
		parse_ksymbol(&r, out);
		break;
	case PERF_RECORD_TEXT_POKE:
		out->kind = MAPS_TEXT_POKE;
		out->address = take(&r, 8);
		break;
	case PERF_RECORD_LOST:
		take(&r, 8);
		*lost = take(&r, 8);
		return r.good ? SIDEBAND_LOST : SIDEBAND_SENSELESS;
	default:
		return SIDEBAND_OTHER;
	}
	if (r.good && f->time_at <= f->trailer_bytes && f->trailer_bytes - f->time_at >= 8) {
		const size_t trailer = sideband_trailer(record, record_bytes, f);

		if (trailer == SIZE_MAX)
			return SIDEBAND_SENSELESS;
		memcpy(&out->time_ns, record + trailer + f->time_at, 8);
	}
	return r.good ? SIDEBAND_RECORD : SIDEBAND_SENSELESS;
}

/* ---- Rings ---- */

/* Own events have the time and nothing else behind each record. */
static const struct sideband_format own_format = { .trailer_bytes = 8, .time_at = 0 };

struct ring {
	struct perf_event_mmap_page *page;
	const uint8_t *data;
	uint64_t tail, head; /* head: as of the last look */
	uint8_t *scratch;    /* a record that goes round the end of the ring */
	/* The next record, if there is one. */
	const uint8_t *record;
	size_t record_bytes;
	uint64_t time_ns;
};

struct sideband {
	struct ring *rings;
	int *fds;  /* of the rings, and then the timer's */
	int *cpus; /* of the rings */
	size_t nrings, room;
	struct perf_event_attr attr;
	bool gap;	   /* a processor came that nobody listened to until now */
	uint64_t old_lost; /* of rings that were replaced */
	int timer;
	size_t data_bytes; /* of each ring */
	uint64_t window_ns, given_ns;
	uint64_t now_ns;		  /* of the look; no record that it finds is younger */
	uint64_t next_count_ns;		  /* of losses */
	uint64_t made_good, made_good_ns; /* losses up to then were made good */
	bool counts_lost; /* the kernel tells how many were lost; else records do, later */
	struct sideband_status status;
};

uint64_t sideband_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Gives back to the kernel what has been read. */
static void ring_release(struct ring *r)
{
	__atomic_store_n(&r->page->data_tail, r->tail, __ATOMIC_RELEASE);
}

/* A record without a sensible time has that of the one before: no time may hold up a ring. */
static void take_time(struct sideband *s, struct ring *r, const uint8_t *at)
{
	uint64_t time_ns;

	memcpy(&time_ns, at, sizeof(time_ns));
	if (time_ns > s->now_ns + 1000000000u) {
		s->status.senseless++;
		return;
	}
	r->time_ns = time_ns;
}

/* Finds the next record of a ring. Loss and records that do not concern maps are passed over. */
static void ring_next(struct sideband *s, struct ring *r)
{
	for (r->record = NULL; r->tail < r->head;) {
		const size_t at = r->tail & (s->data_bytes - 1), left = s->data_bytes - at;
		struct perf_event_header h;

		if (r->head - r->tail < sizeof(h) || left < sizeof(h))
			break;
		memcpy(&h, r->data + at, sizeof(h));
		if (h.size < sizeof(h) || h.size > r->head - r->tail)
			break;
		r->record = r->data + at;
		if (h.size > left) {
			memcpy(r->scratch, r->data + at, left);
			memcpy(r->scratch + left, r->data, h.size - left);
			r->record = r->scratch;
		}
		r->record_bytes = h.size;
		if (h.type == PERF_RECORD_LOST && h.size >= sizeof(h) + 16) {
			uint64_t lost;

			memcpy(&lost, r->record + sizeof(h) + 8, sizeof(lost));
			s->status.lost += s->counts_lost ? 0 : lost;
		} else {
			const size_t trailer = sideband_trailer(r->record, h.size, &own_format);

			if (trailer != SIZE_MAX) {
				take_time(s, r, r->record + trailer);
				return;
			}
			s->status.senseless++;
		}
		r->tail += h.size;
		r->record = NULL;
	}
	/* What cannot be a record ends this look: the kernel writes no such thing. */
	if (r->tail < r->head && !r->record) {
		s->status.senseless++;
		r->tail = r->head;
	}
}

static void give(struct sideband *s, struct ring *r, struct maps *m)
{
	struct maps_record record;
	uint64_t lost;

	s->status.records++;
	s->status.bytes += r->record_bytes;
	if (r->time_ns < s->given_ns)
		s->status.late++;
	s->given_ns = max_u64(s->given_ns, r->time_ns);
	switch (sideband_parse(r->record, r->record_bytes, &own_format, &record, &lost)) {
	case SIDEBAND_RECORD:
		maps_add(m, &record);
		break;
	case SIDEBAND_SENSELESS:
		s->status.senseless++;
		break;
	default:
		break;
	}
	r->tail += r->record_bytes;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec t = { .tv_sec = (time_t)(ns / 1000000000u),
			      .tv_nsec = (long)(ns % 1000000000u) };

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR)
		;
}

/* A ring tells of its losses only with the next record that finds room. Asking costs an interrupt of each
 * processor: once a second, unless the caller wants everything. */
static void count_lost(struct sideband *s, bool now)
{
	uint64_t sum = s->old_lost, values[2];

	if (!s->counts_lost || (!now && s->now_ns < s->next_count_ns))
		return;
	s->next_count_ns = s->now_ns + 1000000000u;
	for (size_t i = 0; i < s->nrings; i++)
		if (read(s->fds[i], values, sizeof(values)) == sizeof(values))
			sum += values[1];
	s->status.lost = sum;
}

#define MAKE_GOOD_NS 2000000000u

/* After a loss all processes are read again; not more often than a storm allows. */
static void make_good(struct sideband *s, struct maps *m)
{
	const uint64_t now = sideband_now();

	if ((s->status.lost == s->made_good && !s->gap) ||
	    (s->made_good_ns && now - s->made_good_ns < MAKE_GOOD_NS))
		return;
	/* Without /proc there is nothing to read. */
	if (maps_read_running(m, NULL)) {
		s->made_good = s->status.lost;
		s->gap = false;
	}
	s->made_good_ns = now;
}

uint64_t sideband_read(struct sideband *s, struct maps *m, uint64_t until_ns)
{
	const bool all = until_ns != 0;
	uint64_t now = sideband_now(), expired;

	/* Only so that it is not readable any more. */
	while (read(s->timer, &expired, sizeof(expired)) > 0)
		;
	if (until_ns && until_ns + s->window_ns > now) {
		sleep_ns(until_ns + s->window_ns - now);
		now = sideband_now();
	}
	const uint64_t safe_ns = now > s->window_ns ? now - s->window_ns : 0;

	if (!until_ns || until_ns > safe_ns)
		until_ns = safe_ns;
	for (size_t i = 0; i < s->nrings; i++) {
		struct ring *r = &s->rings[i];

		r->head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
		s->now_ns = sideband_now();
		ring_next(s, r);
	}
	for (;;) {
		struct ring *first = NULL;

		for (size_t i = 0; i < s->nrings; i++) {
			struct ring *r = &s->rings[i];

			if (r->record && r->time_ns <= until_ns &&
			    (!first || r->time_ns < first->time_ns))
				first = r;
		}
		if (!first)
			break;
		give(s, first, m);
		ring_release(first);
		ring_next(s, first);
	}
	for (size_t i = 0; i < s->nrings; i++)
		ring_release(&s->rings[i]);
	count_lost(s, all);
	make_good(s, m);
	return until_ns;
}

/* ---- Opening ---- */

static int open_event(struct perf_event_attr *attr, int cpu)
{
	return (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static void add_note(char ***notes, size_t *n, const char *line)
{
	if (notes)
		*ARRAY_ADD(*notes, *n) = x_strdup(line);
}

/* The event's attributes as far as this kernel knows them. */
static int open_first(struct perf_event_attr *attr, int cpu, char ***notes, size_t *nnotes)
{
	int fd = open_event(attr, cpu);

	if (fd >= 0 || (errno != EINVAL && errno != E2BIG))
		return fd;
	attr->read_format = 0;
	fd = open_event(attr, cpu);
	if (fd >= 0)
		return fd;
	attr->text_poke = 0;
	attr->ksymbol = attr->bpf_event = 0;
	fd = open_event(attr, cpu);
	if (fd >= 0)
		add_note(notes, nnotes,
			 "this kernel does not tell of BPF programs that are loaded later");
	return fd;
}

static bool map_ring(struct sideband *s, struct ring *r, int fd)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	/* A user's locked memory is limited: a smaller ring is better than none. */
	for (;; s->data_bytes /= 2) {
		r->page =
		    mmap(NULL, page + s->data_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (r->page != MAP_FAILED)
			break;
		r->page = NULL;
		/* All rings have one size. */
		if ((errno != EPERM && errno != ENOMEM) || s->data_bytes <= page || r != s->rings)
			return false;
	}
	r->data = (const uint8_t *)r->page + page;
	r->scratch = x_malloc(RECORD_MAX);
	return true;
}

static bool add_ring(struct sideband *s, int fd, int cpu, struct err *e)
{
	struct ring *r = &s->rings[s->nrings];

	s->cpus[s->nrings] = cpu;
	s->fds[s->nrings++] = fd;
	if (map_ring(s, r, fd))
		return true;
	return err_set(e,
		       "side-band of processor %d: no memory for its ring (%s); give CAP_IPC_LOCK",
		       cpu, strerror(errno));
}

static size_t ring_size(uint32_t wanted)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t bytes = page;

	while (bytes * 2 <= (wanted ? wanted : 2u << 20))
		bytes *= 2;
	return bytes;
}

/* A file that only its process can open, and a map of generated code, are gone with the process: so
 * the rings are looked at before they fill. */
#define LOOK_NS 100000000

struct sideband *sideband_open(const struct sideband_options *o, char ***notes, size_t *nnotes,
			       struct err *e)
{
	const long possible = sysconf(_SC_NPROCESSORS_CONF);
	const size_t ncpus = o->cpus ? o->ncpus : (size_t)max_u64((uint64_t)possible, 1);
	struct sideband *s = x_calloc(1, sizeof(*s));

	s->window_ns = o->window_ns ? o->window_ns : 50000000;
	s->data_bytes = ring_size(o->ring_bytes);
	s->room = max_u64(ncpus, max_u64((uint64_t)possible, 1));
	s->rings = x_calloc(s->room, sizeof(*s->rings));
	s->fds = x_calloc(s->room + 1, sizeof(*s->fds));
	s->cpus = x_calloc(s->room, sizeof(*s->cpus));
	s->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_DUMMY,
					.sample_type = PERF_SAMPLE_TIME,
					.read_format = PERF_FORMAT_LOST,
					.mmap = 1,
					.mmap2 = 1,
					.comm = 1,
					.comm_exec = 1,
					.task = 1,
					.sample_id_all = 1,
					.watermark = 1,
					.wakeup_watermark = (uint32_t)(s->data_bytes / 4),
					.use_clockid = 1,
					.clockid = CLOCK_BOOTTIME,
					.ksymbol = 1,
					.bpf_event = 1,
					.text_poke = 1 };
	/* No build_id = 1: the kernel then marks the mappings of everybody else's events as
	 * having build-ids, too, which they have not, and `perf record` of another user ends
	 * with a failed assertion (seen with 6.18). Files are looked at instead. */

	for (size_t i = 0; i < ncpus; i++) {
		const int cpu = o->cpus ? o->cpus[i] : (int)i;
		const int fd =
		    s->nrings ? open_event(&attr, cpu) : open_first(&attr, cpu, notes, nnotes);

		if (fd < 0 && errno == ENODEV)
			continue; /* offline */
		if (fd < 0) {
			err_set(e,
				errno == EACCES || errno == EPERM
				    ? "side-band of processor %d: not allowed; run as root or give "
				      "CAP_PERFMON"
				    : "side-band of processor %d: %s",
				cpu, strerror(errno));
			sideband_close(s);
			return NULL;
		}
		if (!add_ring(s, fd, cpu, e)) {
			sideband_close(s);
			return NULL;
		}
	}
	s->counts_lost = attr.read_format;
	s->attr = attr;
	s->fds[s->nrings] = s->timer;
	const struct timespec look = { .tv_nsec = LOOK_NS };

	timerfd_settime(s->timer, 0, &(struct itimerspec){ look, look }, NULL);
	s->status.ring_bytes = s->nrings * s->data_bytes;
	return s;
}

static void close_ring(struct sideband *s, size_t i)
{
	if (s->rings[i].page)
		munmap(s->rings[i].page, (size_t)sysconf(_SC_PAGESIZE) + s->data_bytes);
	free(s->rings[i].scratch);
	close(s->fds[i]);
}

int sideband_add_cpu(struct sideband *s, int cpu, struct err *e)
{
	const int timer = s->fds[s->nrings];
	uint64_t values[2];

	for (size_t i = 0; i < s->nrings; i++) {
		if (s->cpus[i] != cpu)
			continue;
		/* The kernel has ended the event of a processor that went; all of its ring was read. */
		if (s->counts_lost && read(s->fds[i], values, sizeof(values)) == sizeof(values))
			s->old_lost += values[1];
		close_ring(s, i);
		s->nrings--;
		s->rings[i] = s->rings[s->nrings];
		s->fds[i] = s->fds[s->nrings];
		s->cpus[i] = s->cpus[s->nrings];
		break;
	}
	s->fds[s->nrings] = timer;
	if (s->nrings == s->room) {
		err_set(e, "processor %d is more than this machine was said to have", cpu);
		return -1;
	}
	const int fd = open_event(&s->attr, cpu);

	if (fd < 0) {
		err_set(e, "side-band of processor %d: %s", cpu, strerror(errno));
		return -1;
	}
	s->rings[s->nrings] = (struct ring){ 0 };
	s->fds[s->nrings + 1] = timer;
	s->gap = true;
	if (add_ring(s, fd, cpu, e))
		return fd;
	close_ring(s, --s->nrings);
	s->fds[s->nrings] = timer;
	return -1;
}

void sideband_close(struct sideband *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->nrings; i++)
		close_ring(s, i);
	if (s->timer >= 0)
		close(s->timer);
	free(s->rings);
	free(s->fds);
	free(s->cpus);
	free(s);
}

const int *sideband_fds(const struct sideband *s, size_t *n)
{
	*n = s->nrings + 1;
	return s->fds;
}

struct sideband_status sideband_status(const struct sideband *s)
{
	return s->status;
}
