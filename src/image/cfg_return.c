/* SPDX-License-Identifier: MIT */
/*
 * Whether a call comes back. A function does if some path from its start leads to a return, to an
 * indirect jump, or to a tail call of a function that does, over calls that come back: the least
 * solution, so that functions that call each other for ever do not. Some are known by their names,
 * because what ends them is out of sight (a signal, longjmp). Stubs of the procedure linkage table are
 * called what the loader binds them to.
 *
 * Code before the first call is looked at first: most functions are answered without asking any other.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "image/cfg_graphs.h"
#include "util/array.h"

#define DEPTH_MAX    48 /* functions that ask each other; deeper ones are taken to return */
#define STUB_INSTS   4	/* instructions of a stub up to its jump */
#define CALLS_DEPTH  3	/* of calls that are looked into for what they write */
#define CALLEE_BYTES 4096
#define ASKED_MAX    4096 /* functions looked into for one answer */

struct question {
	struct images *set;
	unsigned depth, asked;
	const uint8_t *open[DEPTH_MAX]; /* functions that are being asked, by depth */
	unsigned low; /* least depth of an open function that an answer rests on */
};

static bool ask(struct question *q, uint64_t callee);

static bool never_returns_by_name(const char *name)
{
	static const char *const names[] = {
		"abort",
		"exit",
		"_exit",
		"_Exit",
		"quick_exit",
		"__stack_chk_fail",
		"__stack_chk_fail_local",
		"__assert_fail",
		"__assert_perror_fail",
		"__assert",
		"longjmp",
		"_longjmp",
		"siglongjmp",
		"__longjmp_chk",
		"____longjmp_chk",
		"__fortify_fail",
		"__chk_fail",
		"__libc_fatal",
		"__libc_start_main",
		"err",
		"errx",
		"verr",
		"verrx",
		"pthread_exit",
		"thrd_exit",
		"__cxa_throw",
		"__cxa_rethrow",
		"__cxa_bad_cast",
		"__cxa_bad_typeid",
		"__cxa_throw_bad_array_new_length",
		"__cxa_pure_virtual",
		"__cxa_deleted_virtual",
		"_Unwind_Resume",
		"_ZSt9terminatev",
		"_ZSt17__throw_bad_allocv",
		"_ZSt20__throw_length_errorPKc",
		"_ZSt19__throw_logic_errorPKc",
		"_ZSt20__throw_out_of_rangePKc",
		"_ZSt24__throw_out_of_range_fmtPKcz",
		"_ZSt28__throw_bad_array_new_lengthv",
		"_ZSt16__throw_bad_castv",
		"_ZSt25__throw_bad_function_callv",
		"_ZSt20__throw_system_errori",
		"_ZSt24__throw_invalid_argumentPKc",
		"_ZSt21__throw_runtime_errorPKc",
		"_ZSt21__glibcxx_assert_failPKciS0_S0_",
		"_ZSt22__throw_overflow_errorPKc",
		"__rust_start_panic",
		"rust_panic",
		"svcerr_die",
		"__GI_abort",
		"__GI_exit",
		"__GI__exit",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* The slot that a stub jumps to the content of: its code adds up constants and loads one. False: it is
 * no stub. */
static bool stub_slot(struct image *im, uint64_t pc, uint64_t *slot)
{
	uint64_t value[ARCH_MEMORY] = { 0 }, loaded_from[ARCH_MEMORY] = { 0 }, known = 0,
		 loaded = 0;
	size_t left = 0;
	const uint8_t *bytes = image_code(im, pc, &left);
	struct arch_effect f;
	struct image_inst in;

	for (unsigned i = 0; bytes && i < STUB_INSTS; i++) {
		if (!left || !im->arch->decode(bytes, left, pc, &in) || in.size_bytes > left ||
		    !im->arch->effect(bytes, left, pc, &f))
			return false;
		const bool memory = f.x.kind == ARCH_MEM && f.index == ARCH_NO_REG &&
				    (f.base == ARCH_NO_REG || known >> f.base & 1);
		const uint64_t at = (f.base == ARCH_NO_REG ? 0 : value[f.base]) + (uint64_t)f.disp;

		if (f.op == ARCH_JUMP) {
			if (memory)
				*slot = at;
			else if (f.x.kind == ARCH_REG && loaded >> f.x.reg & 1 && !f.disp)
				*slot = loaded_from[f.x.reg];
			else
				return false;
			return in.flow == IMAGE_JUMP;
		}
		if (in.flow != IMAGE_NEXT)
			return false;
		known &= ~f.writes;
		loaded &= ~f.writes;
		if (f.op == ARCH_MOVE && f.x.kind == ARCH_IMM && f.dst != ARCH_NO_REG) {
			value[f.dst] = (uint64_t)f.x.imm;
			known |= 1ull << f.dst;
		} else if (f.op == ARCH_MOVE && memory && f.bits == 64 && f.dst != ARCH_NO_REG) {
			loaded_from[f.dst] = at;
			loaded |= 1ull << f.dst;
		}
		bytes += in.size_bytes;
		left -= in.size_bytes;
		pc += in.size_bytes;
	}
	return false;
}

bool image_system_exits(const struct image *im, uint64_t from, uint64_t pc)
{
	size_t left = 0;
	const uint8_t *bytes = image_code(im, from, &left);
	struct arch_effect f;
	struct image_inst in;
	uint64_t value[ARCH_MEMORY] = { 0 }, known = 0;

	for (uint64_t at = from; bytes && left && at <= pc; at += in.size_bytes) {
		if (!im->arch->decode(bytes, left, at, &in) || in.size_bytes > left ||
		    !im->arch->effect(bytes, left, at, &f))
			return false;
		if (at == pc)
			return f.op == ARCH_SYSTEM && f.x.kind == ARCH_REG &&
			       known >> f.x.reg & 1 && im->arch->exits(value[f.x.reg]);
		known &= ~f.writes;
		if (in.flow == IMAGE_CALL)
			known &= ~im->arch->call_writes;
		const bool constant = f.x.kind == ARCH_IMM && f.dst != ARCH_NO_REG;
		if (constant && (f.op == ARCH_MOVE || (f.op == ARCH_ADD && f.y.kind == ARCH_IMM))) {
			value[f.dst] =
			    (uint64_t)f.x.imm + (f.op == ARCH_ADD ? (uint64_t)f.y.imm : 0);
			known |= 1ull << f.dst;
		}
		bytes += in.size_bytes;
		left -= in.size_bytes;
	}
	return false;
}

/* Code that can be reached: over no call, or if a call or tail call comes back. */
struct later {
	uint64_t callee, next; /* next 0: a tail call */
};

struct paths {
	struct image *im;
	const struct function_range *f;
	uint8_t *seen; /* by offset / unit */
	uint64_t *work;
	size_t nwork;
	struct later *later;
	size_t nlater;
};

static void add_path(struct paths *p, uint64_t pc)
{
	const unsigned unit = p->im->arch->unit_bytes;

	if (pc < p->f->start || pc >= p->f->end)
		*ARRAY_ADD(p->later, p->nlater) = (struct later){ .callee = pc };
	else if ((pc - p->f->start) % unit == 0 && !p->seen[(pc - p->f->start) / unit])
		*ARRAY_ADD(p->work, p->nwork) = pc;
}

/* Goes along one path; true: it leaves the function in a way that returns. */
static bool walk_path(struct paths *p, uint64_t pc)
{
	const struct arch *arch = p->im->arch;
	const uint64_t from = pc;
	struct cfg_inst in = { 0 }, before;
	bool is_inst;

	for (;; pc += in.size_bytes) {
		size_t left = 0;
		const uint8_t *bytes = image_code(p->im, pc, &left);

		if (pc >= p->f->end) {
			add_path(p, pc);
			return false;
		}
		uint8_t *seen = &p->seen[(pc - p->f->start) / arch->unit_bytes];
		before = in;
		if (*seen || !bytes ||
		    !image_decode_after(arch, bytes, left, pc, &before, &in, &is_inst))
			return false;
		*seen = 1;
		const struct image_inst plain = { .word = in.word, .size_bytes = in.size_bytes };
		if (!is_inst || arch->stops(&plain) ||
		    (arch->is_system(in.word, in.size_bytes) &&
		     image_system_exits(p->im, from, pc)))
			return false;
		if (in.flow == IMAGE_RETURN || (in.flow == IMAGE_JUMP && !in.direct))
			return true;
		if (in.flow == IMAGE_JUMP || in.flow == IMAGE_BRANCH)
			add_path(p, in.target);
		if (in.flow == IMAGE_CALL && in.direct)
			*ARRAY_ADD(p->later, p->nlater) =
			    (struct later){ in.target, pc + in.size_bytes };
		if (in.flow == IMAGE_JUMP || (in.flow == IMAGE_CALL && in.direct))
			return false;
	}
}

/* Looks into a function. */
static bool look(struct question *q, struct image *im, const struct function_range *f)
{
	struct paths p = { .im = im, .f = f };
	bool returns = false;

	p.seen = x_calloc((f->end - f->start) / im->arch->unit_bytes + 1, 1);
	add_path(&p, f->start);
	while (!returns && (p.nwork || p.nlater)) {
		if (p.nwork) {
			returns = walk_path(&p, p.work[--p.nwork]);
			continue;
		}
		const struct later l = p.later[--p.nlater];
		if (l.next && l.next < f->end && p.seen[(l.next - f->start) / im->arch->unit_bytes])
			continue;
		if (!ask(q, l.callee))
			continue;
		if (!l.next)
			returns = true;
		else
			add_path(&p, l.next);
	}
	free(p.seen);
	free(p.work);
	free(p.later);
	return returns;
}

static bool ask(struct question *q, uint64_t callee)
{
	struct image *im = image_at(q->set, callee);
	const struct function_range *f = im ? image_function(im, callee) : NULL;
	uint64_t slot;

	if (!f || !im->arch || !im->arch->effect || f->end - f->start > IMAGE_BLOCKS_BYTES)
		return true;
	if (f->start != callee || f->name[0] == '[') {
		const char *name = stub_slot(im, callee, &slot) ? image_slot(im, slot) : NULL;

		if (name)
			return !never_returns_by_name(name);
	}
	if (f->start != callee)
		return true;
	uint8_t *known = &image_graphs(im)->returns[f - im->functions];
	if (*known == RETURNS_ASKED)
		for (unsigned i = 0; i < q->depth && i < q->low; i++)
			if (q->open[i] == known)
				q->low = i;
	if (*known)
		return *known == RETURNS;
	if (never_returns_by_name(f->name)) {
		*known = RETURNS_NEVER;
		return false;
	}
	if (q->depth >= DEPTH_MAX || q->asked++ >= ASKED_MAX)
		return true;
	const unsigned depth = q->depth++, outer = q->low;
	q->open[depth] = known;
	q->low = UINT_MAX;
	*known = RETURNS_ASKED;
	const bool returns = look(q, im, f);
	q->depth--;
	/* "never" is not certain while it rests on a function that is still open */
	*known = returns ? RETURNS : q->low < depth ? RETURNS_UNKNOWN : RETURNS_NEVER;
	if (returns || q->low >= depth || q->low > outer)
		q->low = outer;
	return returns;
}

bool image_returns(struct images *set, uint64_t callee)
{
	struct question q = { .set = set, .low = UINT_MAX };

	return ask(&q, callee);
}

/* Adds what an instruction of a callee writes; false: not known. */
static bool add_writes(struct image *im, const struct function_range *f, const struct cfg_inst *in,
		       const uint8_t *bytes, size_t left, unsigned depth, uint64_t *writes)
{
	const bool away = in->target < f->start || in->target >= f->end;
	struct arch_effect effect;

	if (!im->arch->effect(bytes, left, in->pc, &effect))
		return false;
	*writes |= effect.writes;
	if (in->flow == IMAGE_CALL || (in->flow == IMAGE_JUMP && (!in->direct || away)) ||
	    (in->flow == IMAGE_BRANCH && away))
		*writes |= in->direct ? image_call_writes(im, in->target, depth + 1)
				      : im->arch->call_writes;
	return true;
}

uint64_t image_call_writes(struct image *im, uint64_t callee, unsigned depth)
{
	const struct arch *arch = im->arch;
	const struct function_range *f = image_function(im, callee);
	size_t left = 0;
	const uint8_t *bytes = f ? image_code(im, callee, &left) : NULL;
	struct cfg_inst in = { .flow = IMAGE_NEXT }, before;
	bool is_inst = true, known = true;

	if (!bytes || f->start != callee || depth > CALLS_DEPTH ||
	    f->end - f->start > CALLEE_BYTES || left < f->end - f->start)
		return arch->call_writes;
	uint64_t *answer = &image_graphs(im)->writes[f - im->functions];
	if (*answer)
		return *answer & arch->call_writes;
	*answer = WRITES_KNOWN | arch->call_writes; /* if it calls itself */
	uint64_t writes = WRITES_KNOWN;
	for (uint64_t at = 0; known && at < f->end - f->start; at += in.size_bytes) {
		before = in;
		known = image_decode_after(arch, bytes + at, left - at, callee + at, &before, &in,
					   &is_inst) &&
			is_inst && add_writes(im, f, &in, bytes + at, left - at, depth, &writes);
	}
	if (known && (in.flow == IMAGE_JUMP || in.flow == IMAGE_RETURN || in.flow == IMAGE_CALL))
		*answer = writes;
	return *answer & arch->call_writes;
}
