/* SPDX-License-Identifier: MIT */
/*
 * What bench/live calls.
 *
 *	live slices RATE SLICES       what an interrupt costs a spinning thread: nothing, an empty program
 *	                              (floor) and the sampling program by turns, with our timers; with
 *	                              CONTROL and ACK set, `perf record` too, switched by its control pipe
 *	live simulate SECONDS RATE    records samples and replays them through tables of other shapes:
 *	                              dcpi1997, section 5.4
 *	live collect SECONDS RATE     a collection of the machine: reduction, misses, the collector's time
 *	                              (RATE 0: by budget)
 *
 * With PIDS set (numbers with commas between), simulate and collect sample those processes and what they
 * start. Prints one JSON object.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "collect/collector.h"
#include "collect/events.h"
#include "collect/program.h"
#include "util/array.h"

static double clock_s(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int order(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *x, size_t n)
{
	qsort(x, n, sizeof(*x), order);
	return x[n / 2];
}

/* ---- Slices ---- */

enum way { NOTHING, FLOOR, OURS, PERF, WAYS };

static double work(uint64_t steps)
{
	const double begin = clock_s(CLOCK_THREAD_CPUTIME_ID);
	uint64_t x = steps;

	for (uint64_t i = 0; i < steps; i++) {
		x = x * 6364136223846793005ull + 1442695040888963407ull;
		__asm__ volatile("" : "+r"(x));
	}
	return clock_s(CLOCK_THREAD_CPUTIME_ID) - begin;
}

static void open_timers(int *fds, double rate, int cpu, int program)
{
	uint64_t periods[EVENTS_STREAMS];
	struct event_spec s;
	struct rng rng;
	struct err e;

	if (!events_encode("cpu-clock", true, &s, &e))
		die("%s", e.text);
	rng_seed(&rng, 1);
	events_periods(&rng, rate, periods, EVENTS_STREAMS);
	for (int i = 0; i < EVENTS_STREAMS; i++) {
		fds[i] = event_open(&s, -1, cpu, periods[i], program);
		if (fds[i] < 0)
			die("cannot open the event; needs root");
	}
	free(s.name);
	free(s.actual);
}

static void command_perf(int control, int ack, const char *word)
{
	char answer[16];

	if (write(control, word, strlen(word)) < 0 || read(ack, answer, sizeof(answer)) < 0)
		die("perf does not answer");
}

static void slices(double rate, size_t n)
{
	const char *control_path = getenv("CONTROL"), *ack_path = getenv("ACK");
	const struct program_options o = { .nevents = 1 };
	double *time_s[WAYS], used[WAYS];
	int fds[2][EVENTS_STREAMS], control = -1, ack = -1;
	struct program p;
	struct err e;
	cpu_set_t one;

	if (control_path && ack_path) {
		control = open(control_path, O_RDWR | O_CLOEXEC);
		ack = open(ack_path, O_RDWR | O_CLOEXEC);
	}
	CPU_ZERO(&one);
	CPU_SET(1 % sysconf(_SC_NPROCESSORS_ONLN), &one);
	sched_setaffinity(0, sizeof(one), &one);
	if (!program_load(&p, &o, &e))
		die("%s", e.text);
	const int cpu = sched_getcpu();

	open_timers(fds[0], rate, cpu, p.empty_fd);
	open_timers(fds[1], rate, cpu, p.sample_fd[0]);
	for (int w = 0; w < WAYS; w++)
		time_s[w] = x_calloc(n, sizeof(double));
	const uint64_t steps = (uint64_t)(1e6 * 0.02 / work(1000000));
	const size_t ways = control >= 0 ? WAYS : PERF;

	for (size_t i = 0; i < n; i++)
		for (size_t w = 0; w < ways; w++) {
			if (w == PERF)
				command_perf(control, ack, "enable\n");
			for (int k = 0; (w == FLOOR || w == OURS) && k < EVENTS_STREAMS; k++)
				ioctl(fds[w - FLOOR][k], PERF_EVENT_IOC_ENABLE, 0);
			time_s[w][i] = work(steps);
			for (int k = 0; (w == FLOOR || w == OURS) && k < EVENTS_STREAMS; k++)
				ioctl(fds[w - FLOOR][k], PERF_EVENT_IOC_DISABLE, 0);
			if (w == PERF)
				command_perf(control, ack, "disable\n");
		}
	for (size_t w = 0; w < ways; w++)
		used[w] = median(time_s[w], n);
	const double base = used[NOTHING];

	printf("{\"rate\": %.0f, \"slices\": %zu, \"floor_percent\": %.3f, \"ours_percent\": %.3f, "
	       "\"added_percent\": %.3f, \"interrupt_us\": %.2f",
	       rate, n, 100 * (used[FLOOR] / base - 1), 100 * (used[OURS] / base - 1),
	       100 * (used[OURS] - used[FLOOR]) / base,
	       (used[FLOOR] - base) / (used[FLOOR] * rate) * 1e6);
	if (ways > PERF)
		printf(", \"perf_percent\": %.3f", 100 * (used[PERF] / base - 1));
	printf("}\n");
	program_unload(&p);
}

/* ---- Tables ---- */

struct sample {
	uint64_t place, address; /* keys: image and offset; process and address */
	uint32_t cpu, time_ms;
};

struct trace {
	struct sample *samples;
	size_t n;
};

static void take(void *self, const struct sample_record_trace *r)
{
	struct trace *t = self;
	struct sample *s = ARRAY_ADD(t->samples, t->n);

	*s =
	    (struct sample){ .place = r->key ? r->key : r->address,
			     .address = r->address ^ hash_u64(r->process.pid ^ r->process.start_ns),
			     .cpu = r->head.cpu & 63,
			     .time_ms = (uint32_t)(r->time_ns / 1000000) };
}

/* A table to replay samples through. */
struct shape {
	const char *name;
	bool by_image;
	size_t lines;
	unsigned ways;
	bool to_front;
	uint32_t drain_s; /* the table is emptied so often; 0: never */
};

/* What a table does in percent of the samples: all misses, and those that no table of that kind can
 * avoid, because nothing with the key came since the table was emptied. */
struct replayed {
	double misses, cold;
	double samples_per_entry; /* that leaves the table, by eviction or when it is emptied */
};

/* Keys that were seen on a processor since the table was emptied: a set by open addressing. */
struct seen {
	uint64_t *keys;
	size_t size, used;
};

static bool seen_first(struct seen *s, uint64_t key)
{
	if (2 * s->used >= s->size) {
		struct seen larger = { .size = s->size ? 2 * s->size : 1024 };

		larger.keys = x_calloc(larger.size, sizeof(*larger.keys));
		for (size_t i = 0; i < s->size; i++)
			if (s->keys[i])
				seen_first(&larger, s->keys[i]);
		free(s->keys);
		*s = larger;
	}
	size_t at = hash_u64(key) & (s->size - 1);

	for (; s->keys[at]; at = (at + 1) & (s->size - 1))
		if (s->keys[at] == key)
			return false;
	s->keys[at] = key;
	s->used++;
	return true;
}

/* Looks a key up in its bucket, and puts it there. True: it was not there. */
static bool touch(uint64_t *b, const struct shape *shape, uint64_t key, uint32_t *next,
		  size_t *evicted)
{
	unsigned w = 0;

	while (w < shape->ways && b[w] != key)
		w++;
	const bool miss = w == shape->ways;

	if (miss) {
		w = shape->to_front ? shape->ways - 1 : (*next)++ % shape->ways;
		*evicted += b[w] != 0;
		if (shape->to_front)
			memmove(b + 1, b, (shape->ways - 1) * sizeof(*b));
		b[shape->to_front ? 0 : w] = key;
	} else if (shape->to_front) {
		b[w] = b[0];
		b[0] = key;
	}
	return miss;
}

static size_t empty_tables(uint64_t *keys, size_t n)
{
	size_t entries = 0;

	for (size_t i = 0; i < n; i++)
		entries += keys[i] != 0;
	memset(keys, 0, n * sizeof(*keys));
	return entries;
}

static struct replayed replay(const struct trace *t, const struct shape *shape)
{
	const size_t n = shape->lines * shape->ways * 64;
	uint64_t *keys = x_calloc(n, sizeof(*keys));
	uint32_t next[64] = { 0 }, emptied_ms = t->n ? t->samples[0].time_ms : 0;
	struct seen seen = { 0 };
	size_t misses = 0, cold = 0, entries = 0;

	for (size_t i = 0; i < t->n; i++) {
		const struct sample *s = &t->samples[i];
		const uint64_t key = shape->by_image ? s->place : s->address;
		const size_t line = (key * 0x9e3779b97f4a7c15ull >> 40) % shape->lines;

		if (shape->drain_s && s->time_ms - emptied_ms >= shape->drain_s * 1000) {
			emptied_ms = s->time_ms;
			entries += empty_tables(keys, n);
			free(seen.keys);
			seen = (struct seen){ 0 };
		}
		cold += seen_first(&seen, key ^ hash_u64(s->cpu + 1));
		misses += touch(keys + (s->cpu * shape->lines + line) * shape->ways, shape, key,
				&next[s->cpu], &entries);
	}
	entries += empty_tables(keys, n);
	free(keys);
	free(seen.keys);
	const double samples = (double)(t->n ? t->n : 1);

	return (struct replayed){ 100 * (double)misses / samples, 100 * (double)cold / samples,
				  samples / (double)(entries ? entries : 1) };
}

static struct collector *begin(struct live_profile *p, double rate, bool trace, double drain_s)
{
	int32_t pids[64];
	size_t npids = 0;

	for (const char *s = getenv("PIDS"); s && *s && npids < ARRAY_LEN(pids);) {
		char *end;

		pids[npids++] = (int32_t)strtol(s, &end, 10);
		s = end + (*end == ',');
	}
	const struct collector_options o = { .pids = pids,
					     .npids = npids,
					     .rate = rate,
					     .kernel = true,
					     .trace = trace,
					     .drain_s = drain_s,
					     .ring_bytes = trace ? 1u << 22 : 0 };
	const struct live_sink sink = live_profile_sink(p);
	struct err e = { "" };
	char **notes;
	size_t nnotes;
	struct collector *c = collector_open(&o, &sink, &notes, &nnotes, &e);

	if (!c)
		die("%s", e.text);
	for (size_t i = 0; i < nnotes; i++)
		free(notes[i]);
	free(notes);
	return c;
}

static void poll_for(struct collector *c, double seconds)
{
	const double end = clock_s(CLOCK_MONOTONIC) + seconds;
	struct err e = { "" };

	while (clock_s(CLOCK_MONOTONIC) < end)
		if (!collector_poll(c, 100, &e))
			die("%s", e.text);
}

static void simulate(double seconds, double rate)
{
	struct live_profile *p = live_profile_new();
	struct collector *c = begin(p, rate, true, 0);
	struct trace t = { 0 };
	struct err e;

	collector_trace(c, take, &t);
	poll_for(c, seconds);
	collector_close(c, &e);
	printf("{\"samples\": %zu, \"tables\": {", t.n);
	static const struct shape shapes[] = {
		{ "process and address, 16 K, 4-way, round-robin", false, 4096, 4, false, 0 },
		{ "image and offset, 16 K, 4-way, round-robin", true, 4096, 4, false, 0 },
		{ "image and offset, 16 K, 4-way, swap-to-front", true, 4096, 4, true, 0 },
		{ "image and offset, 16 K, 4-way, swap-to-front, 60 s", true, 4096, 4, true, 60 },
		{ "image and offset, 16 K, 4-way, swap-to-front, 10 s", true, 4096, 4, true, 10 },
		{ "image and offset, 24 K, 6-way, round-robin", true, 4096, 6, false, 0 },
		{ "image and offset, 24 K, 6-way, swap-to-front", true, 4096, 6, true, 0 },
		{ "image and offset, 32 K, 4-way, swap-to-front, 60 s", true, 8192, 4, true, 60 },
		{ "image and offset, 36 K, 4-way, swap-to-front, 60 s", true, 9216, 4, true, 60 },
		{ "image and offset, 64 K, 4-way, swap-to-front", true, 16384, 4, true, 0 },
		{ "image and offset, 64 K, 4-way, swap-to-front, 60 s", true, 16384, 4, true, 60 },
		{ "image and offset, 36 K, 4-way, swap-to-front", true, 9216, 4, true, 0 },
		{ "image and offset, 36 K, 4-way, swap-to-front, 30 s", true, 9216, 4, true, 30 },
	};

	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		const struct replayed r = replay(&t, &shapes[i]);

		printf("%s\"%s\": {\"misses_percent\": %.2f, \"first_percent\": %.2f, "
		       "\"samples_per_entry\": %.2f}",
		       i ? ", " : "", shapes[i].name, r.misses, r.cold, r.samples_per_entry);
	}
	printf("}}\n");
	free(t.samples);
	live_profile_free(p);
}

/* ---- A collection ---- */

static void collect(double seconds, double rate)
{
	struct live_profile *p = live_profile_new();
	const double begin_s = clock_s(CLOCK_PROCESS_CPUTIME_ID);
	struct collector *c = begin(p, rate, false, 0);
	const double opened_s = clock_s(CLOCK_PROCESS_CPUTIME_ID);
	struct rusage u;
	struct err e;

	poll_for(c, seconds);
	const double polled_s = clock_s(CLOCK_PROCESS_CPUTIME_ID);
	struct collector_status s = collector_status(c);

	collector_flush(c, &e);
	const uint64_t entries = collector_status(c).entries;

	collector_close(c, &e);
	getrusage(RUSAGE_SELF, &u);
	const struct live_event *x = live_event(p, 0);
	size_t counts;

	live_counts(p, &counts);
	printf("{\"seconds\": %.1f, \"rate\": %.0f, \"taken\": %llu, \"stored\": %llu, \"lost\": "
	       "%llu, "
	       "\"pending\": %llu, \"misses_percent\": %.2f, \"entries\": %llu, "
	       "\"samples_per_entry\": %.2f, \"handler_ns\": %.0f, \"interrupt_ns\": %.0f, "
	       "\"start_cpu_s\": %.3f, \"collector_percent\": %.3f, \"lookups\": %llu, \"checks\": "
	       "%llu, "
	       "\"kernel_bytes\": %llu, \"peak_rss_kb\": %ld, \"counts\": %zu}\n",
	       seconds, s.rate, (unsigned long long)x->taken, (unsigned long long)x->stored,
	       (unsigned long long)x->lost, (unsigned long long)x->pending,
	       100.0 * (double)s.misses / (double)(s.hits + s.misses + 1),
	       (unsigned long long)entries, (double)x->stored / (double)(entries ? entries : 1),
	       s.handler_ns, s.interrupt_ns, opened_s - begin_s,
	       100 * (polled_s - opened_s) / seconds, (unsigned long long)s.lookups,
	       (unsigned long long)s.checks, (unsigned long long)s.memory_bytes, u.ru_maxrss,
	       counts);
	live_profile_free(p);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		die("live slices RATE SLICES | simulate SECONDS RATE | collect SECONDS RATE");
	const double a = atof(argv[2]), b = atof(argv[3]);

	if (strcmp(argv[1], "slices") == 0)
		slices(a, (size_t)b);
	else if (strcmp(argv[1], "simulate") == 0)
		simulate(a, b);
	else
		collect(a, b);
	return 0;
}
