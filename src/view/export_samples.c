/* SPDX-License-Identifier: MIT */
/*
 * TIP's samples as perf.data, which `perf report` reads, and as a table.
 *
 * perf knows one address a sample. A sample that n instructions share becomes n, with the cycles
 * divided among them; the periods of all add up to the cycles of the file. Maps and names of threads
 * come first, at time 0. The mappings are those of the binaries that the file names, segment by
 * segment, if they can still be read.
 */
#include "view/export_samples.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "image/image.h"
#include "trace/record.h"
#include "util/array.h"
#include "util/text.h"

#define THREADS_MAX 65536

/* perf.data's own header. */
struct section {
	uint64_t offset, size;
};
struct header {
	char magic[8];
	uint64_t size, attr_size;
	struct section attrs, data, types;
	uint64_t features[4];
};
struct attr {
	struct perf_event_attr attr;
	struct section ids;
};

/* What follows every record that is no sample (sample_id_all). */
struct trailer {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, res;
};

struct sample {
	struct perf_event_header header;
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, res;
	uint64_t period;
};

/* What the first pass finds: threads, and the bytes of all records. */
struct found {
	struct thread {
		uint32_t pid, tid;
	} * threads;
	size_t nthreads;
	uint64_t samples;
	uint8_t *side; /* records of names and mappings */
	size_t nside;
};

static void put(struct found *f, const void *data, size_t size)
{
	f->side = x_realloc(f->side, f->nside + size);
	memcpy(f->side + f->nside, data, size);
	f->nside += size;
}

static void put_text(struct found *f, const char *text)
{
	static const char zeros[8] = "";
	const size_t n = strlen(text) + 1;

	put(f, text, n);
	put(f, zeros, -n % 8);
}

/* Begins a record; finish() gives it its size and the trailer. */
static size_t begin(struct found *f, uint32_t type, uint16_t misc)
{
	const struct perf_event_header h = { .type = type, .misc = misc };
	const size_t at = f->nside;

	put(f, &h, sizeof(h));
	return at;
}

static void finish(struct found *f, size_t at, uint32_t pid, uint32_t tid)
{
	const struct trailer t = { .pid = pid, .tid = tid };
	struct perf_event_header h;

	put(f, &t, sizeof(t));
	memcpy(&h, f->side + at, sizeof(h));
	h.size = (uint16_t)(f->nside - at);
	memcpy(f->side + at, &h, sizeof(h));
}

static void put_mapping(struct found *f, const struct thread *t, const char *path, uint64_t start,
			uint64_t size, uint64_t offset)
{
	const size_t at = begin(f, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
	const uint32_t ids[] = { t->pid, t->pid };
	const uint64_t where[] = { start, size, offset };
	const uint32_t device[2] = { 0 };
	const uint64_t inode[2] = { 0 };
	const uint32_t access[] = { PROT_READ | PROT_EXEC, MAP_PRIVATE };

	put(f, ids, sizeof(ids));
	put(f, where, sizeof(where));
	put(f, device, sizeof(device));
	put(f, inode, sizeof(inode));
	put(f, access, sizeof(access));
	put_text(f, path);
	finish(f, at, t->pid, t->pid);
}

static void put_image(struct found *f, const struct thread *t, const struct tip_image *i)
{
	struct image_probe *probe = x_malloc(sizeof(*probe));

	if (!image_probe(i->path, probe, &(struct err){ "" })) {
		put_mapping(f, t, i->path, i->start, i->end - i->start, 0);
		free(probe);
		return;
	}
	for (size_t k = 0; k < probe->nsegments; k++)
		if (probe->segment[k].executable)
			put_mapping(f, t, i->path, probe->segment[k].address + i->bias,
				    probe->segment[k].memory_bytes, probe->segment[k].offset);
	free(probe);
}

static void put_names(struct found *f, const char *program)
{
	for (size_t i = 0; i < f->nthreads; i++) {
		const struct thread *t = &f->threads[i];
		const size_t at = begin(f, PERF_RECORD_COMM, 0);
		const uint32_t ids[] = { t->pid, t->tid };
		char comm[16];

		snprintf(comm, sizeof(comm), "%s", path_name(program));
		put(f, ids, sizeof(ids));
		put_text(f, comm);
		finish(f, at, t->pid, t->tid);
	}
}

static void note_thread(struct found *f, const struct tip_sample *s)
{
	/* The last one is most often the same. */
	for (size_t i = f->nthreads; i--;)
		if (f->threads[i].tid == s->tid && f->threads[i].pid == s->pid)
			return;
	if (f->nthreads < THREADS_MAX)
		*ARRAY_ADD(f->threads, f->nthreads) = (struct thread){ s->pid, s->tid };
}

/* The k-th of n shares of a sample's cycles. */
static uint64_t share(const struct tip_sample *s, unsigned k, unsigned n)
{
	return k ? s->cycles / n : s->cycles - (n - 1) * (s->cycles / n);
}

static bool find(struct tip_reader *r, struct found *f, struct err *e)
{
	struct tip_sample s;
	unsigned which[TIP_WAYS_MAX];
	enum tip_next next;
	size_t nimages;

	while ((next = tip_read(r, &s, e)) == TIP_SAMPLE) {
		const unsigned n = tip_blames(&tip_header(r)->layout, &s, which);

		note_thread(f, &s);
		for (unsigned k = 0; k < n; k++)
			f->samples += share(&s, k, n) != 0;
	}
	if (next == TIP_ERROR)
		return false;
	put_names(f, tip_header(r)->program);
	const struct tip_image *images = tip_images(r, &nimages);

	for (size_t t = 0; t < f->nthreads; t++) {
		bool known = false;

		for (size_t k = 0; k < t; k++)
			known |= f->threads[k].pid == f->threads[t].pid;
		for (size_t i = 0; !known && i < nimages; i++)
			put_image(f, &f->threads[t], &images[i]);
	}
	return true;
}

static void put_header(FILE *out, const struct found *f)
{
	struct attr a = { .attr = {
			      .type = PERF_TYPE_HARDWARE,
			      .size = sizeof(struct perf_event_attr),
			      .config = PERF_COUNT_HW_CPU_CYCLES,
			      .sample_period = 1,
			      .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
					     PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD,
			      .exclude_kernel = 1,
			      .sample_id_all = 1,
			      .mmap = 1,
			      .mmap2 = 1,
			      .comm = 1,
			  } };
	const struct header h = {
		.magic = { 'P', 'E', 'R', 'F', 'I', 'L', 'E', '2' },
		.size = sizeof(h),
		.attr_size = sizeof(a),
		.attrs = { sizeof(h), sizeof(a) },
		.data = { sizeof(h) + sizeof(a), f->nside + f->samples * sizeof(struct sample) },
	};

	a.ids = (struct section){ sizeof(h), 0 };
	fwrite(&h, sizeof(h), 1, out);
	fwrite(&a, sizeof(a), 1, out);
}

static bool put_samples(FILE *out, struct tip_reader *r, struct err *e)
{
	const uint64_t hz = tip_header(r)->clock_hz ? tip_header(r)->clock_hz : 1000000000;
	struct tip_sample s;
	unsigned which[TIP_WAYS_MAX];
	enum tip_next next;

	while ((next = tip_read(r, &s, e)) == TIP_SAMPLE) {
		const unsigned n = tip_blames(&tip_header(r)->layout, &s, which);

		for (unsigned k = 0; k < n; k++) {
			const struct sample p = {
				.header = { PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, sizeof(p) },
				.ip = s.address[which[k]],
				.pid = s.pid,
				.tid = s.tid,
				.time = (uint64_t)((double)s.time / (double)hz * 1e9),
				.cpu = s.core,
				.period = share(&s, k, n),
			};
			if (p.period)
				fwrite(&p, sizeof(p), 1, out);
		}
	}
	return next == TIP_END;
}

bool export_perf_data(FILE *out, struct tip_reader *r, struct err *e)
{
	struct found f = { .threads = NULL };
	bool ok = find(r, &f, e) && tip_rewind(r, e);

	if (ok) {
		put_header(out, &f);
		if (f.nside)
			fwrite(f.side, 1, f.nside, out);
		ok = put_samples(out, r, e);
	}
	free(f.threads);
	free(f.side);
	return ok && !ferror(out);
}

static const char samples_heading[] =
    "number,time,cycles,core,pid,tid,mode,state,oldest,valid,addresses,psvs\n";

static const char *state_of(const struct tip_sample *s)
{
	return s->flags & TIP_STALLED	     ? "stalled"
	       : s->flags & TIP_FRONT_END    ? "front end"
	       : s->flags & TIP_EXCEPTION    ? "exception"
	       : s->flags & TIP_FLUSH	     ? "flush"
	       : s->flags & TIP_MISPREDICTED ? "mispredicted"
					     : "computing";
}

bool export_samples(FILE *out, struct tip_reader *r, struct err *e)
{
	struct tip_sample s;
	enum tip_next next;

	fputs(samples_heading, out);
	while ((next = tip_read(r, &s, e)) == TIP_SAMPLE) {
		fprintf(out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%u,%u,%u,%s,%s,%u,0x%" PRIx64,
			s.number, s.time, s.cycles, s.core, s.pid, s.tid,
			s.kernel ? "kernel" : "user", state_of(&s), s.oldest, s.valid);
		for (int psv = 0; psv < 2; psv++)
			for (unsigned i = 0, n = 0; i < tip_header(r)->layout.ways; i++)
				if (s.valid >> i & 1)
					fprintf(out, "%s0x%" PRIx64, n++ ? " " : ",",
						psv ? s.psv[i] : s.address[i]);
		fputc('\n', out);
	}
	return next == TIP_END && !ferror(out);
}

bool export_is_perf_data(const uint8_t *head, size_t size, const char *path)
{
	return output_begins(head, size, "PERFILE2");
}

bool export_is_samples(const uint8_t *head, size_t size, const char *path)
{
	return output_begins(head, size, samples_heading);
}
