/* SPDX-License-Identifier: MIT */
/*
 * Imports gem5's O3PipeView text. It has seven lines an instruction, written when gem5 is done with
 * it, which is not quite in program order; a window of instructions is sorted by sequence number.
 *
 *      O3PipeView:fetch:TICK:PC:MICROPC:SEQ:DISASSEMBLY
 *      O3PipeView:decode:TICK      then rename, dispatch, issue, complete
 *      O3PipeView:retire:TICK:store:TICK
 *
 * A tick of 0 says that the instruction did not get that far; an instruction that never retires was
 * squashed. A cycle is the greatest common divisor of the ticks of the first instructions.
 *
 * The text lacks instruction words, when operands were ready, dependences, latencies by cause,
 * addresses and most events. Fields that follow from the rest are filled in: class and kind from the
 * mnemonic, target and direction of a branch from what committed next. Cycle records are made from
 * the stamps (rebuild.h).
 *
 * The text does not say when and why instructions were squashed either. If what commits next was
 * among them, it was fetched again: after a status-register access, a fence, an atomic or a system
 * call these flushed as they committed; else the instruction itself could not commit, a load because
 * it read too early, others because of an exception. Otherwise the branch before them was
 * mispredicted, and they went when it had executed. Squashed instructions are numbered in program
 * order from the last one that committed.
 */
#include "trace/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "isa/isa.h"
#include "trace/rebuild.h"
#include "util/array.h"

#define WINDOW	   8192	      /* how far out of order instructions may be */
#define LIFE_MAX   (1u << 31) /* cycles of an instruction */
#define CYCLES_MAX (1ull << 48)

enum o3_stage { FETCH, DECODE, RENAME, DISPATCH, ISSUE, COMPLETE, RETIRE, STAGES };
static const char *const stage_name[STAGES] = { "fetch", "decode",   "rename", "dispatch",
						"issue", "complete", "retire" };

struct o3_inst {
	uint64_t tick[STAGES];
	uint64_t pc, seq;
	char mnemonic[24];
};

struct o3_import {
	FILE *f;
	char *name;
	uint64_t line;
	char *text; /* the line, in memory of `room` bytes */
	size_t room;
	struct o3_inst heap[WINDOW]; /* the lowest sequence number first */
	size_t nheap;
	bool ended;
	uint64_t period; /* ticks a cycle */
	struct trace_info info;
	struct machine machine;
	struct rebuild *cycles;	  /* while records are fed */
	struct rebuild_flush why; /* before the first of those that wait, if it squashed nothing */
	uint64_t first, last, insts;
	/* The last committed instruction and those squashed after it, which wait for the next that
	 * commits. */
	struct rec_inst *waiting;
	size_t nwaiting, capacity;
	uint64_t last_po, last_seq;
};

bool import_is_o3pipeview(const char *text, size_t size)
{
	static const char prefix[] = "O3PipeView:";
	return size >= strlen(prefix) && !memcmp(text, prefix, strlen(prefix));
}

/* The next O3PipeView line, past other debug output. NULL at the end. */
static char *next_line(struct o3_import *im)
{
	ssize_t n;
	while ((n = getline(&im->text, &im->room, im->f)) >= 0) {
		im->line++;
		if (import_is_o3pipeview(im->text, (size_t)n)) {
			im->text[strcspn(im->text, "\r\n")] = '\0';
			return im->text + strlen("O3PipeView:");
		}
	}
	return NULL;
}

static bool wrong(const struct o3_import *im, const char *what, struct err *e)
{
	return err_set(e, "%s:%llu: %s; this is not whole O3PipeView output", im->name,
		       (unsigned long long)im->line, what);
}

/* Takes a number and the colon after it, if any. */
static bool take_number(char **p, int base, uint64_t *out)
{
	char *end;
	errno = 0;
	*out = strtoull(*p, &end, base);
	if (end == *p || errno || (*end && *end != ':'))
		return false;
	*p = *end ? end + 1 : end;
	return true;
}

static bool parse_fetch(struct o3_inst *in, char *p)
{
	uint64_t upc;
	if (!take_number(&p, 10, &in->tick[FETCH]) || !take_number(&p, 16, &in->pc) ||
	    !take_number(&p, 10, &upc) || !take_number(&p, 10, &in->seq))
		return false;
	p += strspn(p, " ");
	snprintf(in->mnemonic, sizeof(in->mnemonic), "%.*s", (int)strcspn(p, " ,"), p);
	return true;
}

enum got { GOT_INST, GOT_END, GOT_ERROR };

static enum got read_inst(struct o3_import *im, struct o3_inst *in, struct err *e)
{
	*in = (struct o3_inst){ 0 };
	for (int stage = 0; stage < STAGES; stage++) {
		char *p = next_line(im);
		size_t n = strlen(stage_name[stage]);
		if (!p && !stage)
			return GOT_END;
		if (!p) {
			wrong(im, "the text ends within an instruction", e);
			return GOT_ERROR;
		}
		if (strncmp(p, stage_name[stage], n) || p[n] != ':') {
			char what[64];
			snprintf(what, sizeof(what), "stage '%s' is missing", stage_name[stage]);
			wrong(im, what, e);
			return GOT_ERROR;
		}
		p += n + 1;
		if (stage == FETCH ? !parse_fetch(in, p) : !take_number(&p, 10, &in->tick[stage])) {
			wrong(im, "a number is not a number", e);
			return GOT_ERROR;
		}
	}
	return GOT_INST;
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t t = a % b;
		a = b;
		b = t;
	}
	return a;
}

static void heap_push(struct o3_import *im, const struct o3_inst *in)
{
	size_t at = im->nheap++;
	while (at && im->heap[(at - 1) / 2].seq > in->seq) {
		im->heap[at] = im->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	im->heap[at] = *in;
}

static struct o3_inst heap_pop(struct o3_import *im)
{
	struct o3_inst first = im->heap[0], last = im->heap[--im->nheap];
	size_t at = 0, child;
	while ((child = 2 * at + 1) < im->nheap) {
		child += child + 1 < im->nheap && im->heap[child + 1].seq < im->heap[child].seq;
		if (last.seq <= im->heap[child].seq)
			break;
		im->heap[at] = im->heap[child];
		at = child;
	}
	im->heap[at] = last;
	return first;
}

/* Fills the window. */
static bool look_ahead(struct o3_import *im, uint64_t *ticks, struct err *e)
{
	while (im->nheap < WINDOW && !im->ended) {
		struct o3_inst in;
		enum got got = read_inst(im, &in, e);
		if (got == GOT_ERROR)
			return false;
		im->ended = got == GOT_END;
		if (im->ended)
			break;
		for (int i = 0; ticks && i < STAGES; i++)
			*ticks = gcd(*ticks, in.tick[i]);
		heap_push(im, &in);
	}
	return true;
}

static const struct trace_setting rebuilt = { "run", TRACE_REBUILT,
					      "cycle records, from the stamps of O3PipeView text" };

struct o3_import *import_o3pipeview_open(FILE *f, const char *name, struct err *e)
{
	struct o3_import *im = x_calloc(1, sizeof(*im));
	im->f = f;
	im->name = x_strdup(name);
	snprintf(im->info.meta.program, sizeof(im->info.meta.program), "%s", name);
	snprintf(im->info.meta.machine, sizeof(im->info.meta.machine), "gem5, rebuilt");
	machine_unknown(&im->machine);
	im->info.machine = &im->machine;
	im->info.meta.commit_width = REBUILD_WIDTH;
	im->info.absent = WANT_HEAD | WANT_PRODUCERS | WANT_LATENCIES;
	im->info.settings = &rebuilt;
	im->info.nsettings = 1;
	bool ok = look_ahead(im, &im->period, e);
	if (ok && !im->nheap)
		ok = wrong(im, "there is no instruction", e);
	if (!ok) {
		import_o3pipeview_close(im);
		return NULL;
	}
	im->period = im->period ? im->period : 1;
	im->first = im->heap[0].tick[FETCH] / im->period;
	im->info.meta.clock_hz = 1e12 / (double)im->period; /* gem5's ticks are picoseconds */
	return im;
}

const struct trace_info *import_o3pipeview_info(const struct o3_import *im)
{
	return &im->info;
}

void import_o3pipeview_size(const struct o3_import *im, uint64_t *insts, uint64_t *cycles)
{
	*insts = im->insts;
	*cycles = im->last >= im->first ? im->last - im->first + 1 : 0;
}

void import_o3pipeview_close(struct o3_import *im)
{
	if (!im)
		return;
	free(im->name);
	free(im->text);
	free(im->waiting);
	free(im);
}

static bool is_compressed(const char *mnemonic)
{
	return mnemonic[0] == 'c' && (mnemonic[1] == '_' || mnemonic[1] == '.');
}

/* gem5 names compressed instructions c_… (others c.…), and those on the stack pointer …sp. */
static void classify(const char *mnemonic, struct rec_inst *r)
{
	char name[24];
	bool compressed = is_compressed(mnemonic);
	snprintf(name, sizeof(name), "%s", compressed ? mnemonic + 2 : mnemonic);
	for (char *p = name; *p; p++)
		*p = *p == '_' ? '.' : *p;
	size_t n = strlen(name);
	if (compressed && n > 3 && !strcmp(name + n - 2, "sp"))
		name[n - 2] = '\0';
	if (compressed && (!strcmp(name, "j") || !strcmp(name, "jr") || !strcmp(name, "jalr"))) {
		r->cls = CLASS_JUMP;
		r->flags |= RI_JUMP | (name[1] ? RI_INDIRECT : 0);
		return;
	}
	if (compressed && (!strcmp(name, "beqz") || !strcmp(name, "bnez")))
		name[3] = '\0';
	for (int op = OP_ILLEGAL + 1; op < OP_COUNT; op++) {
		if (strcmp(op_info[op].name, name))
			continue;
		r->cls = op_info[op].cls;
		r->size = op_info[op].mem_bytes;
		r->flags |= (op_info[op].flags & OPF_LOAD ? RI_LOAD : 0) |
			    (op_info[op].flags & OPF_STORE ? RI_STORE : 0);
		if (r->cls == CLASS_BRANCH)
			r->flags |= RI_BRANCH;
		if (r->cls == CLASS_JUMP)
			r->flags |= RI_JUMP | (!strcmp(name, "jalr") ? RI_INDIRECT : 0);
		return;
	}
}

static uint32_t stamp(const struct o3_import *im, const struct o3_inst *in, enum o3_stage stage)
{
	uint64_t fetch = in->tick[FETCH];
	return in->tick[stage] < fetch ? STAMP_NONE
				       : (uint32_t)((in->tick[stage] - fetch) / im->period);
}

static struct rec_inst convert(struct o3_import *im, const struct o3_inst *in)
{
	bool committed = in->tick[RETIRE] != 0;
	struct rec_inst r = { .seq = in->seq,
			      .pc = in->pc,
			      .fetch = in->tick[FETCH] / im->period,
			      .decode = stamp(im, in, DECODE),
			      .dispatch = stamp(im, in, DISPATCH),
			      .ready = STAMP_NONE,
			      .issue = stamp(im, in, ISSUE),
			      .complete = stamp(im, in, COMPLETE),
			      .flags = committed ? RI_COMMITTED : 0 };
	uint64_t leave = 0;
	for (int i = 0; i < STAGES; i++)
		leave = max_u64(leave, in->tick[i]);
	r.commit = (uint32_t)(leave / im->period - r.fetch);
	r.po = committed ? ++im->insts
			 : im->insts + (in->seq > im->last_seq ? in->seq - im->last_seq : 1);
	classify(in->mnemonic, &r);
	if (committed) {
		im->last_seq = in->seq;
		im->last = max_u64(im->last, leave / im->period);
	}
	return r;
}

static uint64_t leaving(const struct rec_inst *r)
{
	return r->fetch + r->commit;
}

static uint64_t finished(const struct rec_inst *r)
{
	return r->complete == STAMP_NONE ? leaving(r) : r->fetch + r->complete;
}

static bool is_control(const struct rec_inst *r)
{
	return r->flags & (RI_BRANCH | RI_JUMP);
}

/* Whether what comes after it begins anew once it has committed. */
static bool is_serial(const struct rec_inst *r)
{
	return r->cls == CLASS_CSR || r->cls == CLASS_FENCE || r->cls == CLASS_SYSTEM ||
	       r->cls == CLASS_AMO;
}

/* `next` was squashed and fetched again: `again` are the records of it and of what came after it. */
static struct rebuild_flush refetched(struct rec_inst *before, struct rec_inst *again, size_t n,
				      struct rec_inst *next)
{
	const bool order = next->cls == CLASS_LOAD;

	if (before && is_serial(before)) {
		const bool trap = before->cls == CLASS_SYSTEM;

		before->flags |= RI_FLUSHES | (trap ? RI_EXCEPTION : 0);
		before->psv |= trap ? PSV_FL_EX : PSV_FL_CSR;
		return (struct rebuild_flush){ trap ? FLUSH_EXCEPTION : FLUSH_CSR, before->po,
					       before->pc, leaving(before) };
	}
	for (size_t i = 0; i < n; i++)
		again[i].po = next->po + (again[i].seq - again[0].seq);
	next->flags |= RI_FLUSHES | RI_REFETCH | (order ? 0 : RI_EXCEPTION);
	next->psv |= order ? PSV_FL_MO : PSV_FL_EX;
	return (
	    struct rebuild_flush){ order ? FLUSH_ORDER : FLUSH_EXCEPTION, next->po, next->pc,
				   max_u64(finished(&again[0]), before ? leaving(before) + 1 : 0) };
}

/* Those that are squashed go together, when the flush happens and all have got as far as they did;
 * without a flush when they were last seen. */
static bool add_squashed(struct o3_import *im, struct rec_inst *r, size_t n,
			 const struct rebuild_flush *why, struct err *e)
{
	static const struct rebuild_flush none = { .cause = FLUSH_NONE };
	uint64_t leave = why->cycle;
	bool ok = true;

	for (size_t i = 0; i < n && why->cause == FLUSH_NONE; i++)
		leave = max_u64(leave, leaving(&r[i]));

	for (size_t i = 0; i < n; i++)
		leave =
		    max_u64(leave, r[i].fetch + (r[i].dispatch == STAMP_NONE ? 0 : r[i].dispatch));
	for (size_t i = 0; ok && i < n; i++) {
		r[i].commit = (uint32_t)min_u64(leave - r[i].fetch, LIFE_MAX);
		ok = rebuild_add(im->cycles, &r[i], i ? &none : why, e);
	}
	return ok;
}

/* What happened between two instructions that commit. */
struct between {
	struct rebuild_flush mispredict, again;
	size_t nwrong;		    /* squashed by the first of them; all others by the second */
	struct rebuild_flush alone; /* a flush that squashed nothing */
};

/*
 * Whether a squashed instruction, the n-th after a branch, is `next` itself before it was fetched
 * again: fetched once the branch had executed, or right after it and in the ROB. (A front end that
 * changes its mind fetches the right path for a moment, too.)
 */
static bool was_right(const struct rec_inst *r, size_t n, uint64_t resolved,
		      const struct rec_inst *next)
{
	return next && r->pc == next->pc &&
	       (r->fetch >= resolved || (!n && r->dispatch != STAMP_NONE));
}

/* Says why the n in r were squashed, and completes the records of the two between which they are:
 * each may be NULL. */
static struct between explain(struct rec_inst *before, struct rec_inst *r, size_t n,
			      struct rec_inst *next)
{
	struct between b = { .nwrong = 0 };
	const bool control = before && is_control(before);
	const uint64_t resolved = control ? finished(before) : 0;

	if (before && next) {
		before->flags |= control && before->target != next->pc ? RI_TAKEN : 0;
		before->target = next->pc;
	}
	while (b.nwrong < n && control && !was_right(&r[b.nwrong], b.nwrong, resolved, next))
		b.nwrong++;
	if (b.nwrong) {
		before->flags |= RI_MISPREDICT;
		before->psv |= PSV_FL_MB;
		b.mispredict =
		    (struct rebuild_flush){ FLUSH_MISPREDICT, before->po, before->pc, resolved };
	}
	if (b.nwrong < n && next)
		b.again = refetched(before, r + b.nwrong, n - b.nwrong, next);
	else if (!n && next && before && is_serial(before) && next->fetch > leaving(before))
		b.alone = refetched(before, NULL, 0, next);
	return b;
}

/* Hands over the last that committed and what was squashed after it; `next` commits after it (NULL:
 * nothing does). */
static bool hand_over(struct o3_import *im, struct rec_inst *next, struct err *e)
{
	if (!im->nwaiting) {
		im->why = explain(NULL, NULL, 0, next).alone;
		return true;
	}

	const bool led = im->waiting[0].flags & RI_COMMITTED;
	struct rec_inst *before = led ? &im->waiting[0] : NULL, *r = im->waiting + led;
	const size_t n = im->nwaiting - led;
	const struct between b = explain(before, r, n, next);
	const bool ok = (!before || rebuild_add(im->cycles, before, &im->why, e)) &&
			add_squashed(im, r, b.nwrong, &b.mispredict, e) &&
			add_squashed(im, r + b.nwrong, n - b.nwrong, &b.again, e);

	im->why = b.alone;
	im->nwaiting = 0;
	return ok;
}

/* Takes an instruction. A committed one tells what became of those before it. */
static bool take(struct o3_import *im, struct rec_inst *r, unsigned len, struct err *e)
{
	if (r->flags & RI_COMMITTED && !hand_over(im, r, e))
		return false;
	ARRAY_ROOM(im->waiting, im->capacity, im->nwaiting + 1);
	im->waiting[im->nwaiting] = *r;
	im->waiting[im->nwaiting++].target = r->pc + len; /* until it is known better */
	return im->nwaiting <= REBUILD_FLIGHT_MAX ||
	       err_set(e, "more than %d instructions are squashed together", REBUILD_FLIGHT_MAX);
}

/* Whether its stamps can be those of an instruction of this run. */
static bool check_life(const struct o3_import *im, const struct o3_inst *in, struct err *e)
{
	uint64_t end = 0;

	for (int i = 0; i < STAGES; i++)
		end = max_u64(end, in->tick[i]);
	return (end - in->tick[FETCH] < LIFE_MAX * im->period &&
		end / im->period - im->first < CYCLES_MAX) ||
	       wrong(im, "an instruction takes too long, or is too far from the first", e);
}

bool import_o3pipeview_feed(struct o3_import *im, struct emit *out, struct err *e)
{
	bool ok = true;
	uint64_t last = 0;

	im->cycles = rebuild_new(out);
	while (ok && im->nheap && !out->stop) {
		struct o3_inst in = heap_pop(im);
		if (in.seq <= last && last)
			ok = wrong(im, "instructions are too far from their order, or twice", e);
		last = in.seq;
		ok = ok && check_life(im, &in, e);
		if (!ok)
			break;
		struct rec_inst r = convert(im, &in);
		ok = take(im, &r, is_compressed(in.mnemonic) ? 2 : 4, e) && look_ahead(im, NULL, e);
	}
	ok = ok && hand_over(im, NULL, e);
	rebuild_end(im->cycles);
	im->last = max_u64(im->last, rebuild_last(im->cycles));
	rebuild_free(im->cycles);
	im->cycles = NULL;
	im->info.insts = im->insts;
	return ok;
}
