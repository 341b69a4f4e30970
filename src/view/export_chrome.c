/* SPDX-License-Identifier: MIT */
/*
 * Chrome's trace events (the "Trace Event Format", JSON object form), which chrome://tracing, Perfetto
 * and speedscope read. A microsecond there is a cycle here.
 *
 * Calls are B and E events, a track per guest thread. Stacks follow calls and returns as those of
 * analysis `folded` do, and the cycles up to a commit belong to the stack of the oldest instruction
 * that commits then: a call begins, and ends, with the cycle after the commit of its jump. What is on
 * the stack before the window is not known: its function is found when it is returned to. The frames
 * of a thread that does not run are closed, and opened again when it does.
 *
 * Counters: IPC, and CPI by time category as a profile divides it, over stretches of at least a
 * thousandth of the window that end with a commit.
 */
#include "view/export_chrome.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "image/image.h"
#include "isa/isa.h"
#include "util/array.h"
#include "util/text.h"
#include "view/export.h"

#define MARK "{\"otherData\":{\"exporter\":\"culprit "

#define DEPTH_MAX 512  /* deeper calls belong to the frame at this depth */
#define BINS	  1000 /* of the counters, at most */

struct frame {
	uint64_t back;	  /* return address */
	const char *name; /* as images_function() gives it */
};

struct thread {
	uint32_t tid, depth;
	uint64_t too_deep;
	struct frame *frames;
};

struct writer {
	FILE *out;
	struct images *images;
	struct thread *threads;
	size_t nthreads, current; /* current: SIZE_MAX before the first */
	uint64_t now;		  /* where the last cycle that is accounted for ends */
};

static void put_event(struct writer *w, char kind, uint32_t tid, const char *name)
{
	char *shown = text_shown(name);

	fprintf(w->out,
		",\n{\"ph\":\"%c\",\"pid\":1,\"tid\":%" PRIu32 ",\"ts\":%" PRIu64 ",\"name\":",
		kind, tid, w->now);
	export_json_text(w->out, shown);
	fputs(",\"cat\":\"call\"}", w->out);
	free(shown);
}

static void open_frame(struct writer *w, struct thread *t, uint64_t entry, uint64_t back)
{
	struct frame *f = &t->frames[t->depth++];

	*f = (struct frame){ back, images_function(w->images, entry).function };
	put_event(w, 'B', t->tid, f->name);
}

static void close_frames(struct writer *w, struct thread *t, uint32_t depth)
{
	while (t->depth > depth) {
		t->depth--;
		put_event(w, 'E', t->tid, t->frames[t->depth].name);
	}
}

static struct thread *thread_of(struct writer *w, uint32_t tid)
{
	size_t i = 0;

	while (i < w->nthreads && w->threads[i].tid != tid)
		i++;
	if (i == w->nthreads) {
		*ARRAY_ADD(w->threads, w->nthreads) = (struct thread){
			.tid = tid,
			.frames = x_calloc(DEPTH_MAX, sizeof(struct frame)),
		};
		fprintf(w->out,
			",\n{\"ph\":\"M\",\"pid\":1,\"tid\":%" PRIu32
			",\"ts\":0,\"name\":\"thread_name\",\"args\":{\"name\":\"thread %" PRIu32
			"\"}}",
			tid, tid);
	}
	w->current = i;
	return &w->threads[i];
}

static struct thread *switch_to(struct writer *w, uint32_t tid)
{
	if (w->current != SIZE_MAX && w->threads[w->current].tid == tid)
		return &w->threads[w->current];
	if (w->current != SIZE_MAX) {
		struct thread *old = &w->threads[w->current];

		for (uint32_t d = old->depth; d--;)
			put_event(w, 'E', old->tid, old->frames[d].name);
	}
	struct thread *t = thread_of(w, tid);

	for (uint32_t d = 0; d < t->depth; d++)
		put_event(w, 'B', t->tid, t->frames[d].name);
	return t;
}

/* A jump within a function changes nothing; one to another function replaces the frame. */
static void jump(struct writer *w, struct thread *t, uint64_t target)
{
	struct frame *top = &t->frames[t->depth - 1];

	if (strcmp(top->name, images_function(w->images, target).function) != 0) {
		const uint64_t back = top->back;

		close_frames(w, t, t->depth - 1);
		open_frame(w, t, target, back);
	}
}

static void go_back(struct writer *w, struct thread *t, uint64_t target)
{
	for (uint32_t d = t->depth; d-- > 1;)
		if (t->frames[d].back == target) {
			close_frames(w, t, d);
			return;
		}
	close_frames(w, t, 1);
	jump(w, t, target);
}

static void follow(struct writer *w, const struct rec_inst *r)
{
	struct thread *t = switch_to(w, r->tid);

	if (!t->depth)
		open_frame(w, t, r->pc, 0);
	w->now = max_u64(w->now, r->fetch + r->commit + 1);
	if (r->flags & RI_CALL) {
		if (t->depth == DEPTH_MAX)
			t->too_deep++;
		else
			open_frame(w, t, r->target, r->pc + ((r->word & 3) == 3 ? 4 : 2));
	} else if (r->flags & RI_RETURN) {
		if (t->too_deep)
			t->too_deep--;
		else
			go_back(w, t, r->target);
	} else if (r->flags & RI_JUMP && !t->too_deep) {
		jump(w, t, r->target);
	}
}

static void put_calls(struct writer *w, const struct window_records *records)
{
	for (size_t i = 0; i < records->ninsts; i++)
		if (records->insts[i].flags & RI_COMMITTED)
			follow(w, &records->insts[i]);
	if (w->current != SIZE_MAX)
		close_frames(w, &w->threads[w->current], 0);
}

/* A stretch of the counters. */
struct bin {
	uint64_t begin, cycles, commits;
	uint64_t part[TIME_CATEGORY_COUNT];
};

static void put_bin(FILE *out, const struct bin *b)
{
	fprintf(out,
		",\n{\"ph\":\"C\",\"pid\":1,\"tid\":0,\"ts\":%" PRIu64
		",\"name\":\"IPC\",\"args\":{\"IPC\":%.10g}},\n{\"ph\":\"C\",\"pid\":1,\"tid\":0,"
		"\"ts\":%" PRIu64 ",\"name\":\"CPI\",\"args\":{",
		b->begin, (double)b->commits / (double)b->cycles, b->begin);
	for (int k = 0; k < TIME_CATEGORY_COUNT; k++) {
		fputs(k ? "," : "", out);
		export_json_text(out, words_times[k].name);
		fprintf(out, ":%.10g", (double)b->part[k] / (double)b->commits);
	}
	fputs("}}", out);
}

/* The category of a cycle, as analysis `profile` has it. next: the instruction that commits next. */
static enum time_category category_of(const struct rec_cycle *c, const struct rec_inst *next)
{
	if (c->ncommit)
		return TIME_EXECUTION;
	if (!(c->flags & RC_ROB_EMPTY))
		return next && next->cls == CLASS_LOAD ? TIME_LOAD_STALL
		       : next && (next->cls == CLASS_STORE || next->cls == CLASS_AMO)
			   ? TIME_STORE_STALL
			   : TIME_ALU_STALL;
	if (c->flush_cause == FLUSH_NONE)
		return next && next->psv & PSV_DR_SQ ? TIME_STORES : TIME_FRONTEND;
	if (c->flush_cause == FLUSH_MISPREDICT)
		return TIME_MISPREDICT;
	return c->fetch_stall == FETCH_EXCEPTION && c->flush_cause == FLUSH_EXCEPTION
		   ? TIME_KERNEL
		   : TIME_MISC_FLUSH;
}

static void put_counters(FILE *out, const struct window_records *w)
{
	struct bin b = { .cycles = 0 };
	uint64_t sum = 0;
	size_t next = 0;

	for (size_t i = 0; i < w->ncycles; i++)
		sum += w->cycles[i].repeat;
	for (size_t i = 0; i < w->ncycles; i++) {
		const struct rec_cycle *c = &w->cycles[i];

		while (next < w->ninsts &&
		       (!(w->insts[next].flags & RI_COMMITTED) ||
			w->insts[next].fetch + w->insts[next].commit < c->cycle))
			next++;
		if (!b.cycles)
			b.begin = c->cycle;
		b.cycles += c->repeat;
		b.commits += c->ncommit;
		b.part[category_of(c, next < w->ninsts ? &w->insts[next] : NULL)] += c->repeat;
		if (c->ncommit && b.cycles >= sum / BINS) {
			put_bin(out, &b);
			b = (struct bin){ .cycles = 0 };
		}
	}
	if (b.commits)
		put_bin(out, &b);
}

bool export_chrome(FILE *out, const struct trace_info *info, const struct window_records *records)
{
	struct writer w = { .out = out, .images = images_new(NULL), .current = SIZE_MAX };
	char *program = text_shown(info->meta.program);

	for (size_t i = 0; i < info->nimages; i++) {
		const struct trace_image *im = &info->images[i];

		images_add(w.images, im->path, im->name, im->bias, &(struct err){ "" });
	}
	for (size_t i = records->ninsts; i--;)
		if (records->insts[i].flags & RI_COMMITTED)
			w.now = records->insts[i].fetch + records->insts[i].commit;
	fputs(MARK CULPRIT_VERSION
	      "\",\"unit\":\"1 us is 1 cycle\"},\"displayTimeUnit\":\"ns\","
	      "\n\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":1,\"tid\":0,\"ts\":0,"
	      "\"name\":\"process_name\",\"args\":{\"name\":",
	      out);
	export_json_text(out, path_name(program));
	fputs("}}", out);
	put_calls(&w, records);
	put_counters(out, records);
	fputs("\n]}\n", out);
	for (size_t i = 0; i < w.nthreads; i++)
		free(w.threads[i].frames);
	free(w.threads);
	free(program);
	images_free(w.images);
	return !ferror(out);
}

bool export_is_chrome(const uint8_t *head, size_t size, const char *path)
{
	return output_begins(head, size, MARK);
}
