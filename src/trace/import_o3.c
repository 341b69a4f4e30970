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
 * addresses, events, and all cycle records. Fields that follow from the rest are filled in: class
 * and kind from the mnemonic, target and direction of a branch from what committed next, and a
 * mispredict from the instructions that were fetched after it and thrown away. Squashed
 * instructions are numbered in program order from the last one that committed.
 */
#include "trace/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "isa/isa.h"
#include "util/array.h"

#define WINDOW 8192 /* how far out of order instructions may be */

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

struct o3_import *import_o3pipeview_open(FILE *f, const char *name, struct err *e)
{
	struct o3_import *im = x_calloc(1, sizeof(*im));
	im->f = f;
	im->name = x_strdup(name);
	snprintf(im->info.meta.program, sizeof(im->info.meta.program), "%s", name);
	snprintf(im->info.meta.machine, sizeof(im->info.meta.machine), "gem5");
	machine_unknown(&im->machine);
	im->info.machine = &im->machine;
	im->info.absent = WANT_CYCLES | WANT_HEAD | WANT_PRODUCERS | WANT_LATENCIES | WANT_FETCH;
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

static void hand_over(struct o3_import *im, struct emit *out)
{
	for (size_t i = 0; i < im->nwaiting && !out->stop; i++) {
		if (!(im->waiting[i].flags & RI_COMMITTED) &&
		    !(out->wants & (WANT_SQUASHED | WANT_SQUASHED_EVENTS)))
			continue;
		emit_reserve(out, 1);
		emit_copy_inst(out, &im->waiting[i]);
	}
	im->nwaiting = 0;
}

/* Takes an instruction. A committed one tells where the one before it went. */
static void take(struct o3_import *im, const struct rec_inst *r, unsigned len, struct emit *out)
{
	if (r->flags & RI_COMMITTED && im->nwaiting) {
		struct rec_inst *before = &im->waiting[0];
		if (before->flags & RI_COMMITTED) {
			bool elsewhere = before->target != r->pc;
			if (elsewhere && before->flags & (RI_BRANCH | RI_JUMP))
				before->flags |= RI_TAKEN;
			before->target = r->pc;
			if (before->flags & (RI_BRANCH | RI_JUMP) && r->seq != before->seq + 1)
				before->flags |= RI_MISPREDICT;
		}
		hand_over(im, out);
	}
	ARRAY_ROOM(im->waiting, im->capacity, im->nwaiting + 1);
	im->waiting[im->nwaiting] = *r;
	im->waiting[im->nwaiting++].target = r->pc + len; /* until it is known better */
}

bool import_o3pipeview_feed(struct o3_import *im, struct emit *out, struct err *e)
{
	bool ok = true;
	uint64_t last = 0;
	while (ok && im->nheap && !out->stop) {
		struct o3_inst in = heap_pop(im);
		if (in.seq <= last && last)
			ok = wrong(im, "instructions are too far from their order, or twice", e);
		last = in.seq;
		struct rec_inst r = convert(im, &in);
		take(im, &r, is_compressed(in.mnemonic) ? 2 : 4, out);
		ok = ok && look_ahead(im, NULL, e);
	}
	hand_over(im, out);
	im->info.insts = im->insts;
	return ok;
}
