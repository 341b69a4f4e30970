/* SPDX-License-Identifier: MIT */
/*
 * The programs of hostile.h as machine code.
 *
 * tp points at a block of memory that says where a thread goes on after a fault (RESUME), what its
 * handler is to do (MODE) and what has happened so far (FAULTS, SUM). An item sets RESUME, goes
 * wrong, and begins anew with fresh registers behind it. Code that an item destroys stands in an
 * arena that every such item maps anew. Code is laid out twice: the first round finds the addresses
 * of labels.
 *
 * For qemu (plain) addresses and codes of signals are not mixed into the result, and what qemu 7.2
 * does otherwise is left out: addresses beyond the guest's, extended frames, fences that are
 * missing, garbage.
 */
#include "differential/random/hostile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "differential/random/program.h"
#include "isa/csr.h"
#include "isa/isa.h"
#include "util/util.h"

const char *const hostile_name[HOSTILE_KINDS] = {
	"jump",	     "page end", "access",  "illegal", "code",	 "race", "unmap",
	"sigreturn", "middle",	 "garbage", "pending", "thread", "fork",
};
const char *const hostile_end_name[END_KINDS] = {
	"exit",	     "default",	  "bad handler", "in handler", "exec",	"blocked",
	"bad stack", "bad frame", "unmap",	 "run off",    "first",
};

/* Names of registers and system calls that are used below. */
enum {
	RA = 1,
	SP = 2,
	TP = 4,
	T0 = 5,
	T1 = 6,
	T2 = 7,
	S0 = 8,
	S1 = 9,
	A0 = 10,
	A1,
	A2,
	A3,
	A4,
	A5,
	A7 = 17
};
enum {
	SYS_WRITE = 64,
	SYS_EXIT = 93,
	SYS_EXIT_GROUP = 94,
	SYS_FUTEX = 98,
	SYS_SETITIMER = 103,
	SYS_TGKILL = 131,
	SYS_SIGALTSTACK = 132,
	SYS_SIGACTION = 134,
	SYS_SIGPROCMASK = 135,
	SYS_SIGRETURN = 139,
	SYS_GETPID = 172,
	SYS_GETTID = 178,
	SYS_MUNMAP = 215,
	SYS_CLONE = 220,
	SYS_EXECVE = 221,
	SYS_MMAP = 222,
	SYS_MPROTECT = 226,
	SYS_MADVISE = 233,
	SYS_WAIT4 = 260,
};
enum {
	GUEST_SIGILL = 4,
	GUEST_SIGTRAP,
	GUEST_SIGBUS = 7,
	GUEST_SIGUSR1 = 10,
	GUEST_SIGSEGV,
	GUEST_SIGALRM = 14,
	GUEST_SIGCHLD = 17
};

/* Offsets of fields in a thread's block. */
enum { RESUME, FAULTS = 8, SUM = 16, MODE = 24, BAD_PC = 32, BLOCK_BYTES = 64 };
enum handler_mode { MODE_RETURN, MODE_LEAP, MODE_JUMP, MODE_EXIT, MODE_JUNK, MODE_ACCESS };

#define BLOCK_MAIN   (DATA_ADDR)
#define BLOCK_THREAD (DATA_ADDR + BLOCK_BYTES)
#define TID_WORD     (DATA_ADDR + 0x200)
#define SCRATCH	     (DATA_ADDR + 0x400)
#define ALT_STACK    (DATA_ADDR + 0x1000)
#define ALT_BYTES    0x3000
#define THREAD_STACK (DATA_ADDR + 0x6000) /* top of the second thread's stack */
#define MAIN_STACK   (DATA_ADDR + 0x7ff0)
#define ARENA	     0x20000000ull
#define ARENA_BYTES  0x4000
#define PAGE	     4096
#define CODE_MAX     (1u << 20)
#define LABELS_MAX   4096
#define ITEMS	     40

#define FRAME_BYTES (128 + 176 + 784)
#define FRAME_UC    128
#define FRAME_REGS  (FRAME_UC + 176)

/* Machine code that is copied elsewhere before it is executed. */
struct words {
	uint32_t w[600];
	unsigned n, bytes;
};

struct gen {
	const struct hostile_options *o;
	struct hostile *h;
	struct rng rng;
	uint8_t *bytes;
	size_t size;
	uint64_t labels[LABELS_MAX];
	unsigned nlabels;
	unsigned copy; /* label of the routine that copies into the arena */
};

static unsigned below(struct gen *g, unsigned n)
{
	return (unsigned)rng_below(&g->rng, n);
}

/* ---- code ---- */

static void put(struct gen *g, uint32_t word)
{
	unsigned n = (word & 3) == 3 ? 4 : 2;

	if (g->size + n > CODE_MAX)
		die("a hostile program of more than %u bytes", CODE_MAX);
	memcpy(g->bytes + g->size, &word, n);
	g->size += n;
}

static void put_bytes(struct gen *g, const void *data, size_t n)
{
	if (g->size + n > CODE_MAX)
		die("a hostile program of more than %u bytes", CODE_MAX);
	memcpy(g->bytes + g->size, data, n);
	g->size += n;
}

static unsigned label(struct gen *g)
{
	if (g->nlabels == LABELS_MAX)
		die("a hostile program of too many labels");
	return g->nlabels++;
}

static void place(struct gen *g, unsigned l)
{
	g->labels[l] = CODE_ADDR + g->size;
}

static int distance(const struct gen *g, unsigned l)
{
	return g->labels[l] ? (int)(int64_t)(g->labels[l] - CODE_ADDR - g->size) : 0;
}

/* Loads a 32-bit number, always in two words. */
static void li(struct gen *g, unsigned rd, uint64_t v)
{
	put(g, enc_u(OP_LUI, rd, (uint32_t)v + 0x800));
	put(g, enc_i(OP_ADDIW, rd, rd, (int)((uint32_t)v << 20) >> 20));
}

/* Loads any number from memory between the instructions. */
static void li_long(struct gen *g, unsigned rd, uint64_t v)
{
	put(g, enc_u(OP_AUIPC, rd, 0));
	put(g, enc_i(OP_LD, rd, rd, 12));
	put(g, enc_j(OP_JAL, 0, 12));
	put_bytes(g, &v, 8);
}

static void li_label(struct gen *g, unsigned rd, unsigned l)
{
	li(g, rd, g->labels[l]);
}

static void jump(struct gen *g, unsigned l)
{
	put(g, enc_j(OP_JAL, 0, distance(g, l)));
}

static void syscall(struct gen *g, unsigned number)
{
	put(g, enc_i(OP_ADDI, A7, 0, (int)number));
	put(g, enc_i(OP_ECALL, 0, 0, 0));
}

static void set_field(struct gen *g, unsigned field, unsigned reg)
{
	put(g, enc_s(OP_SD, TP, reg, (int)field));
}

static void set_mode(struct gen *g, enum handler_mode mode)
{
	put(g, enc_i(OP_ADDI, T0, 0, mode));
	set_field(g, MODE, T0);
}

/* Mixes reg into the result; destroys t1. */
static void mix(struct gen *g, unsigned reg)
{
	put(g, enc_i(OP_LD, T1, TP, SUM));
	put(g, enc_i(OP_RORI, T1, T1, 57));
	put(g, enc_r(OP_ADD, T1, T1, reg));
	set_field(g, SUM, T1);
}

/* Appends a word to code that will be copied elsewhere. */
static void add(struct words *w, uint32_t word)
{
	if (w->n == ARRAY_LEN(w->w))
		die("too many words");
	w->w[w->n++] = word;
	w->bytes += (word & 3) == 3 ? 4 : 2;
}

static void add_li(struct words *w, unsigned rd, uint64_t v)
{
	add(w, enc_u(OP_LUI, rd, (uint32_t)v + 0x800));
	add(w, enc_i(OP_ADDIW, rd, rd, (int)((uint32_t)v << 20) >> 20));
}

static void add_syscall(struct words *w, unsigned number)
{
	add(w, enc_i(OP_ADDI, A7, 0, (int)number));
	add(w, enc_i(OP_ECALL, 0, 0, 0));
}

static void add_resume(struct words *w)
{
	add(w, enc_i(OP_LD, T0, TP, RESUME));
	add(w, enc_i(OP_JALR, 0, T0, 0));
}

/* Adds up to `most` harmless instructions. */
static void add_filler(struct gen *g, struct words *w, unsigned most)
{
	for (unsigned n = below(g, most + 1); n; n--) {
		switch (below(g, 5)) {
		case 0:
			add(w, 0x0001); /* c.nop */
			break;
		case 1:
			add(w, enc_i(OP_ADDI, A4, A4, 1));
			break;
		case 2:
			add(w, enc_r(OP_MUL, A4, A4, A4));
			break;
		case 3: /* a mark (begin or end of a region) */
			add(w, enc_i(OP_SLTI, 0, 0, below(g, 2) ? 0x101 : 0x102));
			break;
		default:
			add(w, enc_i(OP_LD, A3, TP, SUM));
			break;
		}
	}
}

/* ---- what items share ---- */

static void fresh_registers(struct gen *g)
{
	li(g, TP, BLOCK_MAIN);
	li(g, SP, MAIN_STACK);
}

/* Begins an item: after a fault the thread goes on at label l, which the item places at its end. */
static unsigned begin(struct gen *g)
{
	unsigned l = label(g);

	fresh_registers(g);
	li_label(g, T0, l);
	set_field(g, RESUME, T0);
	return l;
}

static uint64_t bad_address(struct gen *g)
{
	const uint64_t limit = 1ull << 38;
	uint64_t random = rng_next(&g->rng);

	switch (below(g, g->o->plain ? 4 : 14)) {
	case 0:
		return below(g, 16) * 2;
	case 1:
		return 0x800000 + (random & 0xfffffe); /* not mapped */
	case 2:
		return SCRATCH + (random & 0xfe); /* not executable */
	case 3:
		return 0x30000000 + (random & 0xfffffffe);
	case 4:
		return limit - 2;
	case 5:
		return limit - 4;
	case 6:
		return limit;
	case 7:
		return limit + (random & 0xffe);
	case 8:
		return limit << below(g, 26);
	case 9:
		return -(uint64_t)(2 * below(g, 8) + 2);
	case 10:
		return random;
	case 11:
		return random | 1ull << 63;
	case 12:
		return limit - PAGE + (random & 0xffe);
	default:
		return (random & (limit - 1)) | 1; /* an odd address: jalr clears the lowest bit */
	}
}

/* Chooses how the handler resumes the item, if it does not simply return. */
static void choose_mode(struct gen *g)
{
	switch (below(g, 6)) {
	case 0:
		set_mode(g, MODE_LEAP);
		break;
	case 1:
		set_mode(g, MODE_JUNK);
		break;
	case 2:
		li_long(g, T0, bad_address(g));
		set_field(g, BAD_PC, T0);
		set_mode(g, MODE_JUMP);
		break;
	case 3:
		set_mode(g, MODE_ACCESS);
		break;
	default:
		set_mode(g, MODE_RETURN);
		break;
	}
}

/* Jumps to the address in t2, by one of several kinds of jump. */
static void jump_t2(struct gen *g)
{
	switch (below(g, 4)) {
	case 0:
		put(g, enc_i(OP_JALR, 0, T2, 0));
		break;
	case 1:
		put(g, enc_i(OP_JALR, RA, T2, 0));
		break;
	case 2: /* as a return */
		put(g, enc_i(OP_ADDI, RA, T2, 0));
		put(g, 0x8082);
		break;
	default:
		put(g, 0x8382); /* c.jr t2 */
		break;
	}
}

static void map_arena(struct gen *g)
{
	li(g, A0, ARENA);
	li(g, A1, ARENA_BYTES);
	put(g, enc_i(OP_ADDI, A2, 0, 7));
	put(g, enc_i(OP_ADDI, A3, 0, 0x32)); /* private, fixed, anonymous */
	put(g, enc_i(OP_ADDI, A4, 0, -1));
	put(g, enc_i(OP_ADDI, A5, 0, 0));
	syscall(g, SYS_MMAP);
}

/* Copies the words to an address of the arena. */
static void copy_words(struct gen *g, uint64_t to, const struct words *w)
{
	unsigned blob = label(g), after = label(g);

	li(g, A0, to);
	li_label(g, A1, blob);
	li(g, A2, to + w->bytes);
	put(g, enc_j(OP_JAL, RA, distance(g, g->copy)));
	jump(g, after);
	place(g, blob);
	for (unsigned i = 0; i < w->n; i++)
		put(g, w->w[i]);
	place(g, after);
}

/* Copies the words to the arena and executes them from `entry` bytes on, with junk in most
 * registers. */
static void run_words(struct gen *g, uint64_t at, const struct words *w, unsigned entry)
{
	map_arena(g);
	copy_words(g, at, w);
	put(g, enc_i(OP_FENCE_I, 0, 0, 0));
	choose_mode(g);
	li(g, T2, at + entry);
	jump_t2(g);
}

/* ---- items ---- */

static void item_jump(struct gen *g)
{
	unsigned again = label(g), l, end = label(g);

	/* Jump several times from the same place, so that predictors learn it. */
	li(g, S1, 1 + below(g, 5));
	li(g, T0, SCRATCH);
	put(g, enc_s(OP_SD, T0, S1, 8));
	place(g, again);
	l = begin(g);
	choose_mode(g);
	li_long(g, T2, bad_address(g));
	jump_t2(g);
	place(g, l);
	fresh_registers(g);
	li(g, T0, SCRATCH);
	put(g, enc_i(OP_LD, S1, T0, 8));
	put(g, enc_i(OP_ADDI, S1, S1, -1));
	put(g, enc_s(OP_SD, T0, S1, 8));
	put(g, enc_b(OP_BEQ, S1, 0, distance(g, end)));
	jump(g, again);
	place(g, end);
}

static void item_page_end(struct gen *g)
{
	struct words w = { 0 };
	unsigned l = begin(g);
	uint64_t at;

	add_filler(g, &w, 8);
	/* The last instruction begins two bytes before the end of a page. */
	add(&w, enc_i(OP_ADDI, A5, A5, 1 + (int)below(g, 2000)));
	at = ARENA + PAGE - w.bytes + 2;
	add_resume(&w);
	if (at & 1)
		die("an odd address");
	map_arena(g);
	copy_words(g, at, &w);
	put(g, enc_i(OP_FENCE_I, 0, 0, 0));
	li(g, A0, ARENA + PAGE);
	li(g, A1, PAGE);
	switch (below(g, 4)) {
	case 0:
		syscall(g, SYS_MUNMAP);
		break;
	case 1:
	case 2:
		put(g, enc_i(OP_ADDI, A2, 0, below(g, 2) ? 3 : 0));
		syscall(g, SYS_MPROTECT);
		break;
	default:
		break; /* nothing goes wrong in this case */
	}
	choose_mode(g);
	li(g, T2, at);
	jump_t2(g);
	place(g, l);
}

static void item_access(struct gen *g)
{
	static const uint16_t loads[] = {
		OP_LB, OP_LH, OP_LW, OP_LD, OP_LBU, OP_LWU, OP_FLW, OP_FLD
	};
	static const uint16_t stores[] = { OP_SB, OP_SH, OP_SW, OP_SD, OP_FSW, OP_FSD };
	static const uint16_t atomics[] = { OP_AMOADD_D, OP_AMOSWAP_W, OP_LR_D, OP_SC_D,
					    OP_AMOMAXU_D };
	unsigned l = begin(g);
	uint64_t addr = bad_address(g);

	if (addr >= SCRATCH && addr < SCRATCH + PAGE)
		addr = GUEST_SIGSEGV * 16; /* at the old address it would not fault */
	choose_mode(g);
	li_long(g, T2, addr);
	/* A multiplication before the access and an addition after it share its data register. */
	put(g, enc_r(OP_MUL, A5, A5, A4));
	switch (below(g, 3)) {
	case 0:
		put(g, enc_i(loads[below(g, ARRAY_LEN(loads))], A5, T2, (int)below(g, 64) - 32));
		break;
	case 1:
		put(g, enc_s(stores[below(g, ARRAY_LEN(stores))], T2, A5, (int)below(g, 64) - 32));
		break;
	default: {
		unsigned op = atomics[below(g, ARRAY_LEN(atomics))];

		/* A third of the atomics use an address that is mapped but not aligned. */
		if (!g->o->plain && !below(g, 3))
			li(g, T2, SCRATCH + 1 + below(g, 3));
		if (op == OP_SC_D) /* without a reservation it need not fault */
			put(g, enc_r(OP_LR_D, A4, T2, 0));
		put(g, enc_r(op, A5, T2, op == OP_LR_D ? 0 : A4));
		break;
	}
	}
	put(g, enc_r(OP_ADD, A4, A4, A5));
	place(g, l);
}

static void item_illegal(struct gen *g)
{
	static const uint32_t words[] = {
		0x00000000,
		0xffffffff,
		0x00100073 /* ebreak */,
		0x9002 /* c.ebreak */,
		0x8002 /* c.jr zero: reserved */,
		0x30200073 /* mret */,
		0x10200073 /* sret */,
		0x10500073 /* wfi */,
		0x30002573 /* mstatus */,
		0xc0001073 /* cycle is read-only */,
		0x6101 /* c.addi16sp 0 */,
		0x2001,
		0x12000073 /* sfence.vma */,
		0x0000007f,
		0x02007053 | 7 << 12,
	};
	unsigned l = begin(g);

	choose_mode(g);
	if (!below(g, 4)) { /* a reserved rounding mode */
		put(g, enc_i(OP_CSRRWI, 0, 5 + below(g, 3), CSR_FRM));
		put(g, enc_r(OP_FADD_D, 1, 2, 3) | 7 << 12);
	} else {
		put(g, words[below(g, g->o->plain ? 4 : ARRAY_LEN(words))]);
	}
	place(g, l);
	put(g, enc_i(OP_CSRRWI, 0, 0, CSR_FRM));
}

/* Changes one instruction repeatedly, and executes it each time. */
static void item_code(struct gen *g, bool fence)
{
	struct words w = { 0 }, head = { 0 };
	unsigned l = begin(g), times = 2 + below(g, 30), padding = below(g, 40);
	uint32_t first = enc_i(OP_ADDI, A5, A5, 1), second = enc_i(OP_ADDI, A5, A5, 7);
	uint64_t at = ARENA + below(g, 64) * 2, patch;

	if (fence && !below(g, 3))
		second = below(g, 2) ? enc_i(OP_EBREAK, 0, 0, 0) : 0xffffffff;
	add_li(&head, S1, times);
	add_li(&head, A3, first);
	add_li(&head, A4, second);
	add(&head, enc_i(OP_ADDI, A5, 0, 0));
	add_li(&head, S0, 0); /* the address of the patch, below */
	const unsigned top = head.bytes;
	add(&head, enc_s(OP_SW, S0, A3, 0));
	if (fence)
		add(&head,
		    enc_i(OP_FENCE_I, 0, 0, 0) | (g->o->plain ? 0 : (uint32_t)below(g, 4) << 15));
	for (unsigned i = 0; i < padding; i++)
		add(&head, 0x0001);
	const unsigned offset = head.bytes;
	add(&head, first);
	add(&head, enc_r(OP_XOR, A3, A3, A4));
	add(&head, enc_r(OP_XOR, A4, A3, A4));
	add(&head, enc_r(OP_XOR, A3, A3, A4));
	add(&head, enc_i(OP_ADDI, S1, S1, -1));
	add(&head, enc_b(OP_BNE, S1, 0, -(int)(head.bytes - top)));
	add_resume(&head);
	/* The changed instruction is mostly inside a page, sometimes across its end. */
	if (!below(g, 3))
		at = ARENA + PAGE - offset - 2;
	patch = at + offset;
	w = head;
	for (unsigned i = 0; i + 1 < w.n; i++) {
		struct words s0 = { 0 };

		add_li(&s0, S0, 0);
		if (w.w[i] == s0.w[0] && w.w[i + 1] == s0.w[1]) {
			s0.n = s0.bytes = 0;
			add_li(&s0, S0, patch);
			w.w[i] = s0.w[0];
			w.w[i + 1] = s0.w[1];
			break;
		}
	}
	run_words(g, at, &w, 0);
	place(g, l);
	if (fence) {
		/* Leave a5 out if the item may have ended in a fault whose handler changed
		 * registers. */
		put(g, enc_i(OP_LD, T0, TP, RESUME));
		if (second == enc_i(OP_ADDI, A5, A5, 7))
			mix(g, A5);
	}
}

static void item_unmap(struct gen *g)
{
	struct words w = { 0 };
	unsigned l = begin(g);
	uint64_t page = ARENA + PAGE, at = page + 2 * below(g, 100);

	add_filler(g, &w, 6);
	add_li(&w, A0, page);
	add_li(&w, A1, PAGE);
	switch (below(g, g->o->plain ? 3 : 5)) {
	case 0:
		add_syscall(&w, SYS_MUNMAP);
		break;
	case 1:
		add(&w, enc_i(OP_ADDI, A2, 0, below(g, 2) ? 3 : 0));
		add_syscall(&w, SYS_MPROTECT);
		break;
	case 2: /* the arena as a whole */
		add_li(&w, A0, ARENA);
		add_li(&w, A1, ARENA_BYTES);
		add_syscall(&w, SYS_MUNMAP);
		break;
	case 3: /* zeros instead */
		add(&w, enc_i(OP_ADDI, A2, 0, 7));
		add(&w, enc_i(OP_ADDI, A3, 0, 0x32));
		add(&w, enc_i(OP_ADDI, A4, 0, -1));
		add(&w, enc_i(OP_ADDI, A5, 0, 0));
		add_syscall(&w, SYS_MMAP);
		break;
	default:
		add(&w, enc_i(OP_ADDI, A2, 0, 4)); /* MADV_DONTNEED */
		add_syscall(&w, SYS_MADVISE);
		break;
	}
	/* The system call may be the instruction that crosses the beginning of the page. */
	if (!below(g, 3))
		at = page - w.bytes + 2;
	add_filler(g, &w, 4);
	add_resume(&w);
	run_words(g, at, &w, 0);
	place(g, l);
}

/* Puts a signal frame in place, from which sigreturn goes on at pc. */
static void put_frame(struct gen *g, uint64_t pc, uint64_t mask)
{
	uint8_t frame[FRAME_BYTES] = { 0 };
	uint64_t stack[3] = { ALT_STACK, 0, ALT_BYTES }, regs[32];

	for (unsigned i = 0; i < 128; i++)
		frame[i] = (uint8_t)rng_next(&g->rng);
	memcpy(frame + FRAME_UC + 16, stack, sizeof(stack));
	memcpy(frame + FRAME_UC + 40, &mask, 8);
	for (unsigned i = 0; i < 32; i++)
		regs[i] = below(g, 2) ? rng_next(&g->rng) : bad_address(g);
	regs[0] = pc;
	regs[TP] = BLOCK_MAIN;
	memcpy(frame + FRAME_REGS, regs, sizeof(regs));
	for (unsigned i = 0; i < 32; i++) {
		uint64_t f = rng_next(&g->rng);

		memcpy(frame + FRAME_REGS + 256 + 8 * i, &f, 8);
	}
	frame[FRAME_REGS + 512] = (uint8_t)below(g, g->o->plain ? 32 : 256);
	put_bytes(g, frame, sizeof(frame));
}

static uint64_t random_mask(struct gen *g)
{
	uint64_t mask = g->o->plain || below(g, 2) ? 0 : rng_next(&g->rng);

	for (unsigned s = 1; s < 32; s++)
		if (s == GUEST_SIGSEGV || s == GUEST_SIGBUS || s == GUEST_SIGILL ||
		    s == GUEST_SIGTRAP || s == GUEST_SIGUSR1)
			mask &= ~(1ull << (s - 1));
	return mask;
}

/* Calls sigreturn on a frame that stands in the code, aligned or not; sp points to it. */
static void sigreturn(struct gen *g, uint64_t pc, uint64_t mask)
{
	unsigned frame = label(g);

	li_label(g, SP, frame);
	syscall(g, SYS_SIGRETURN);
	if (!below(g, 2))
		put(g, 0x0001);
	place(g, frame);
	put_frame(g, pc, mask);
}

static void item_sigreturn(struct gen *g)
{
	unsigned l = begin(g);
	uint64_t pc = below(g, 3) ? bad_address(g) : g->labels[l];

	if (!g->o->plain && !below(g, 4))
		pc |= 1;
	choose_mode(g);
	sigreturn(g, pc, random_mask(g));
	place(g, l);
	put(g, enc_i(OP_CSRRWI, 0, 0, CSR_FRM));
}

static void item_middle(struct gen *g)
{
	static const uint16_t halves[] = { 0x0001, 0x0785 /* c.addi a5,1 */, 0x0000,
					   0x9002, 0x8282 /* c.jr t0 */,     0x8002,
					   0xffff };
	struct words w = { 0 };
	unsigned l = begin(g), entry;

	add_filler(g, &w, 5);
	entry = w.bytes + 2;
	/* lui a4, half: the upper half of the word is an instruction of its own. */
	add(&w, (uint32_t)halves[below(g, ARRAY_LEN(halves))] << 16 | 0x737);
	add_filler(g, &w, 3);
	add_resume(&w);
	map_arena(g);
	copy_words(g, ARENA + 16, &w);
	put(g, enc_i(OP_FENCE_I, 0, 0, 0));
	choose_mode(g);
	put(g, enc_i(OP_LD, T0, TP, RESUME));
	/* Half of the time enter at the beginning, so that both readings are decoded. */
	li(g, T2, ARENA + 16 + (below(g, 2) ? entry : 0));
	jump_t2(g);
	place(g, l);
}

/* Returns whether the instruction at the beginning of `word` neither makes a system call nor
 * branches backwards. */
static bool is_tame(uint32_t word)
{
	struct inst in = isa_decode(word);

	if (in.op == OP_ECALL)
		return false;
	return !(op_info[in.op].flags & OPF_CTRL) || in.op == OP_JALR || in.imm > 0;
}

static void item_garbage(struct gen *g)
{
	unsigned l = begin(g);
	uint16_t half[400];

	for (unsigned i = 0; i < ARRAY_LEN(half); i++)
		half[i] = (uint16_t)rng_next(&g->rng);
	for (unsigned i = ARRAY_LEN(half) - 1; i-- > 0;)
		while (!is_tame(half[i] | (uint32_t)half[i + 1] << 16))
			half[i] = (uint16_t)rng_next(&g->rng);
	map_arena(g);
	/* Copy plain bytes, not words: in random code instructions may begin at any halfword. */
	{
		unsigned blob = label(g), after = label(g);

		li(g, A0, ARENA);
		li_label(g, A1, blob);
		li(g, A2, ARENA + sizeof(half));
		put(g, enc_j(OP_JAL, RA, distance(g, g->copy)));
		jump(g, after);
		place(g, blob);
		put_bytes(g, half, sizeof(half));
		place(g, after);
	}
	put(g, enc_i(OP_FENCE_I, 0, 0, 0));
	set_mode(g, MODE_RETURN);
	li(g, T2, ARENA + 2 * below(g, 300));
	/* Give all registers small values, so that no store reaches the block and no jump the
	 * program's code. */
	for (unsigned r = 1; r < 32; r++)
		if (r != TP && r != T2)
			put(g, enc_i(OP_ADDI, r, 0, (int)below(g, 4096) - 2048));
	put(g, enc_i(OP_JALR, 0, T2, 0));
	place(g, l);
	fresh_registers(g);
	put(g, enc_i(OP_CSRRWI, 0, 0, CSR_FCSR));
}

static void item_pending(struct gen *g)
{
	unsigned l = begin(g);

	/* A blocked signal is pending; a signal frame unblocks it and goes on where no code is. */
	li(g, T0, SCRATCH + 64);
	put(g, enc_i(OP_ADDI, T1, 0, -1));
	put(g, enc_i(OP_ANDI, T1, T1, 1 << (GUEST_SIGUSR1 - 1)));
	put(g, enc_s(OP_SD, T0, T1, 0));
	put(g, enc_i(OP_ADDI, A0, 0, 0));
	put(g, enc_i(OP_ADDI, A1, T0, 0));
	put(g, enc_i(OP_ADDI, A2, 0, 0));
	put(g, enc_i(OP_ADDI, A3, 0, 8));
	syscall(g, SYS_SIGPROCMASK);
	syscall(g, SYS_GETPID);
	put(g, enc_i(OP_ADDI, S0, A0, 0));
	syscall(g, SYS_GETTID);
	put(g, enc_i(OP_ADDI, A1, A0, 0));
	put(g, enc_i(OP_ADDI, A0, S0, 0));
	put(g, enc_i(OP_ADDI, A2, 0, GUEST_SIGUSR1));
	syscall(g, SYS_TGKILL);
	choose_mode(g);
	sigreturn(g, bad_address(g), 0);
	place(g, l);
	put(g, enc_i(OP_CSRRWI, 0, 0, CSR_FRM));
}

static void item_thread(struct gen *g)
{
	unsigned l = begin(g), child = label(g), wait = label(g), done = label(g);
	const unsigned flags = 0x100 | 0x200 | 0x400 | 0x800 | 0x10000 | 0x40000 | 0x80000 |
			       0x100000 | 0x200000 | 0x1000000;

	li(g, T0, BLOCK_THREAD);
	li_label(g, T1, child);
	put(g, enc_s(OP_SD, T0, T1, RESUME));
	put(g, enc_s(OP_SD, T0, 0, MODE));
	li(g, A0, flags);
	li(g, A1, THREAD_STACK);
	li(g, A2, TID_WORD);
	li(g, A3, BLOCK_THREAD);
	li(g, A4, TID_WORD);
	set_mode(g, MODE_RETURN);
	syscall(g, SYS_CLONE);
	/* This is the first instruction of both threads after the call. */
	if (below(g, 2))
		put(g, 0);
	else
		put(g, enc_i(OP_LD, T0, A0, 0));
	place(g, child);
	li(g, SP, THREAD_STACK);
	{
		unsigned last = label(g);

		li_label(g, T0, last);
		set_field(g, RESUME, T0);
		li_long(g, T2, bad_address(g));
		jump_t2(g);
		place(g, last);
	}
	put(g, enc_i(OP_ADDI, A0, 0, 0));
	syscall(g, SYS_EXIT);
	place(g, l);
	fresh_registers(g);
	place(g, wait);
	li(g, A0, TID_WORD);
	put(g, enc_i(OP_LW, A2, A0, 0));
	put(g, enc_b(OP_BEQ, A2, 0, distance(g, done)));
	put(g, enc_i(OP_ADDI, A1, 0, 0));
	put(g, enc_i(OP_ADDI, A3, 0, 0));
	syscall(g, SYS_FUTEX);
	jump(g, wait);
	place(g, done);
}

static void item_fork(struct gen *g)
{
	unsigned l = begin(g), parent = label(g), end = label(g);

	set_mode(g, MODE_RETURN);
	put(g, enc_i(OP_ADDI, A0, 0, GUEST_SIGCHLD));
	for (unsigned r = A1; r <= A5; r++)
		put(g, enc_i(OP_ADDI, r, 0, 0));
	syscall(g, SYS_CLONE);
	put(g, enc_b(OP_BNE, A0, 0, distance(g, parent)));
	li_long(g, T2, bad_address(g));
	if (below(g, 2)) {
		/* The child jumps to the bad address, or executes an illegal instruction. */
		jump_t2(g);
	} else {
		put(g, 0);
	}
	place(g, l);
	put(g, enc_i(OP_LD, A0, TP, FAULTS));
	put(g, enc_i(OP_ANDI, A0, A0, 63));
	syscall(g, SYS_EXIT_GROUP);
	place(g, parent);
	li(g, A1, SCRATCH + 128);
	put(g, enc_i(OP_ADDI, A2, 0, 0));
	put(g, enc_i(OP_ADDI, A3, 0, 0));
	syscall(g, SYS_WAIT4);
	li(g, T0, SCRATCH + 128);
	put(g, enc_i(OP_LW, A5, T0, 0));
	mix(g, A5);
	place(g, end);
}

/* ---- the handler ---- */

static void put_handler(struct gen *g)
{
	unsigned count = label(g), modes[MODE_ACCESS + 1], over = label(g);

	put(g, enc_i(OP_ADDI, T0, 0, GUEST_SIGALRM));
	put(g, enc_b(OP_BNE, A0, T0, distance(g, count)));
	put(g, 0x8082);
	place(g, count);
	/* Find the thread's block: only the first thread has an alternate stack. */
	li(g, T0, ALT_STACK + ALT_BYTES);
	put(g, enc_b(OP_BLTU, T0, SP, 12));
	li(g, TP, BLOCK_MAIN);
	put(g, enc_i(OP_LD, T0, TP, FAULTS));
	put(g, enc_i(OP_ADDI, T0, T0, 1));
	set_field(g, FAULTS, T0);
	mix(g, A0);
	if (!g->o->plain) {
		put(g, enc_i(OP_LW, T0, A1, 8)); /* si_code, si_addr, pc */
		mix(g, T0);
		put(g, enc_i(OP_LD, T0, A1, 16));
		put(g, enc_i(OP_LD, T2, A2, 176));
		/* tgkill's siginfo has a process id where a fault has its address. */
		put(g, enc_i(OP_ADDI, A3, 0, GUEST_SIGUSR1));
		put(g, enc_b(OP_BEQ, A0, A3, 4 * 10));
		mix(g, T0);
		mix(g, T2);
		put(g, enc_i(OP_ADDI, 0, 0, 0));
	}
	for (unsigned m = 0; m < ARRAY_LEN(modes); m++)
		modes[m] = label(g);
	put(g, enc_i(OP_LD, T0, TP, MODE));
	set_field(g, MODE, 0);
	for (unsigned m = 1; m < ARRAY_LEN(modes); m++) {
		put(g, enc_i(OP_ADDI, T1, 0, (int)m));
		put(g, enc_b(OP_BEQ, T0, T1, distance(g, modes[m])));
	}
	place(g, modes[MODE_RETURN]);
	place(g, over);
	put(g, enc_i(OP_LD, T0, TP, RESUME));
	put(g, enc_s(OP_SD, A2, T0, 176));
	put(g, 0x8082);

	place(g, modes[MODE_LEAP]);
	put(g, enc_i(OP_ADDI, A0, 0, 2));
	li(g, A1, SCRATCH + 0x100);
	put(g, enc_s(OP_SD, A1, 0, 0));
	put(g, enc_i(OP_ADDI, A2, 0, 0));
	put(g, enc_i(OP_ADDI, A3, 0, 8));
	syscall(g, SYS_SIGPROCMASK);
	li(g, SP, MAIN_STACK);
	put(g, enc_i(OP_LD, T0, TP, RESUME));
	put(g, enc_i(OP_JALR, 0, T0, 0));

	place(g, modes[MODE_JUMP]);
	put(g, enc_i(OP_LD, T0, TP, BAD_PC));
	/* Fault a second time, at the address of the first fault. */
	put(g, enc_i(OP_JALR, RA, T0, 0));

	place(g, modes[MODE_EXIT]);
	put(g, enc_i(OP_ADDI, A0, 0, 42));
	syscall(g, SYS_EXIT_GROUP);

	place(g, modes[MODE_JUNK]); /* all registers but tp, some FP registers */
	for (unsigned r = 1; r < 32; r++)
		if (r != TP)
			put(g,
			    enc_s(OP_SD, A2, r,
				  176 + 8 * (int)((r * 7) % 31 + 1 == TP ? r : (r * 7) % 31 + 1)));
	for (unsigned r = 0; r < 32; r += 3)
		put(g, enc_s(OP_SD, A2, T0, 176 + 256 + 8 * (int)r));
	jump(g, over);

	place(g, modes[MODE_ACCESS]);
	put(g, enc_i(OP_LD, T0, 0, 8));
	jump(g, over);
}

static void put_copy(struct gen *g)
{
	place(g, g->copy);
	put(g, enc_i(OP_LHU, T0, A1, 0));
	put(g, enc_s(OP_SH, A0, T0, 0));
	put(g, enc_i(OP_ADDI, A0, A0, 2));
	put(g, enc_i(OP_ADDI, A1, A1, 2));
	put(g, enc_b(OP_BLTU, A0, A2, -16));
	put(g, 0x8082);
}

/* ---- beginning and end ---- */

static void set_action(struct gen *g, unsigned signo, unsigned reg, unsigned flags)
{
	li(g, A1, SCRATCH);
	put(g, enc_s(OP_SD, A1, reg, 0));
	li(g, T0, flags);
	put(g, enc_s(OP_SD, A1, T0, 8));
	put(g, enc_s(OP_SD, A1, 0, 16));
	put(g, enc_i(OP_ADDI, A0, 0, (int)signo));
	put(g, enc_i(OP_ADDI, A2, 0, 0));
	put(g, enc_i(OP_ADDI, A3, 0, 8));
	syscall(g, SYS_SIGACTION);
}

static const unsigned faults[] = { GUEST_SIGSEGV, GUEST_SIGBUS, GUEST_SIGILL, GUEST_SIGTRAP };
#define ACTION_FLAGS 0x58000004u /* SIGINFO, ONSTACK, RESTART, NODEFER */

static void set_alt_stack(struct gen *g, uint64_t at)
{
	li(g, A0, SCRATCH);
	li(g, T0, at);
	put(g, enc_s(OP_SD, A0, T0, 0));
	put(g, enc_s(OP_SD, A0, 0, 8));
	li(g, T0, ALT_BYTES);
	put(g, enc_s(OP_SD, A0, T0, 16));
	put(g, enc_i(OP_ADDI, A1, 0, 0));
	syscall(g, SYS_SIGALTSTACK);
}

static void put_start(struct gen *g, unsigned handler)
{
	fresh_registers(g);
	set_alt_stack(g, ALT_STACK);
	li_label(g, S0, handler);
	for (unsigned i = 0; i < ARRAY_LEN(faults); i++)
		set_action(g, faults[i], S0, ACTION_FLAGS);
	set_action(g, GUEST_SIGUSR1, S0, ACTION_FLAGS);
	if (!g->o->timer)
		return;
	set_action(g, GUEST_SIGALRM, S0, ACTION_FLAGS & ~0x40000000u);
	li(g, A1, SCRATCH);
	put(g, enc_s(OP_SD, A1, 0, 0));
	put(g, enc_s(OP_SD, A1, 0, 16));
	put(g, enc_i(OP_ADDI, T0, 0, 10 + (int)below(g, 30)));
	put(g, enc_s(OP_SD, A1, T0, 8));
	put(g, enc_s(OP_SD, A1, T0, 24));
	put(g, enc_i(OP_ADDI, A0, 0, 0));
	put(g, enc_i(OP_ADDI, A2, 0, 0));
	syscall(g, SYS_SETITIMER);
}

/* Ends the program by a jump to a bad address, in t2. */
static void end_by_jump(struct gen *g)
{
	li_long(g, T2, bad_address(g));
	jump_t2(g);
}

static void put_end(struct gen *g)
{
	fresh_registers(g);
	if (g->o->timer) {
		li(g, A1, SCRATCH);
		for (int i = 0; i < 4; i++)
			put(g, enc_s(OP_SD, A1, 0, 8 * i));
		put(g, enc_i(OP_ADDI, A0, 0, 0));
		put(g, enc_i(OP_ADDI, A2, 0, 0));
		syscall(g, SYS_SETITIMER);
	}
	put(g, enc_i(OP_ADDI, A0, 0, 1));
	li(g, A1, BLOCK_MAIN + FAULTS);
	put(g, enc_i(OP_ADDI, A2, 0, 16));
	syscall(g, SYS_WRITE);
	put(g, enc_i(OP_ADDI, A0, 0, 1));
	li(g, A1, BLOCK_THREAD + FAULTS);
	put(g, enc_i(OP_ADDI, A2, 0, 16));
	syscall(g, SYS_WRITE);
	set_mode(g, MODE_RETURN);
	switch (g->h->end) {
	case END_DEFAULT:
		for (unsigned i = 0; i < ARRAY_LEN(faults); i++)
			set_action(g, faults[i], 0, 0);
		end_by_jump(g);
		break;
	case END_BAD_HANDLER:
		li_long(g, S0, bad_address(g) | 0x100);
		for (unsigned i = 0; i < ARRAY_LEN(faults); i++)
			set_action(g, faults[i], S0,
				   ACTION_FLAGS & ~(below(g, 2) ? 0x40000000u : 0));
		end_by_jump(g);
		break;
	case END_IN_HANDLER:
		set_mode(g, MODE_EXIT);
		end_by_jump(g);
		break;
	case END_EXEC:
		li(g, A0, POOL_ADDR);
		li(g, A1, SCRATCH);
		put(g, enc_s(OP_SD, A1, A0, 0));
		put(g, enc_s(OP_SD, A1, 0, 8));
		put(g, enc_i(OP_ADDI, A2, A1, 8));
		syscall(g, SYS_EXECVE);
		put(g, 0x9002);
		break;
	case END_BLOCKED:
		put(g, enc_i(OP_ADDI, A0, 0, 0));
		li(g, A1, SCRATCH);
		put(g, enc_i(OP_ADDI, T0, 0, -1));
		put(g, enc_s(OP_SD, A1, T0, 0));
		put(g, enc_i(OP_ADDI, A2, 0, 0));
		put(g, enc_i(OP_ADDI, A3, 0, 8));
		syscall(g, SYS_SIGPROCMASK);
		end_by_jump(g);
		break;
	case END_BAD_STACK:
		set_alt_stack(g, 0x900000);
		end_by_jump(g);
		break;
	case END_BAD_FRAME: /* sigreturn from an unmapped frame; then the handler has no stack */
		set_alt_stack(g, 0x900000);
		li(g, SP, 0xa00000);
		syscall(g, SYS_SIGRETURN);
		break;
	case END_UNMAP:
		li(g, A0, CODE_ADDR);
		li(g, A1, CODE_MAX);
		syscall(g, SYS_MUNMAP);
		break;
	case END_RUN_OFF:
		for (unsigned i = 0; i < ARRAY_LEN(faults); i++)
			set_action(g, faults[i], 0, 0);
		break;
	default:
		put(g, enc_i(OP_LD, A0, TP, SUM));
		put(g, enc_i(OP_ANDI, A0, A0, 63));
		syscall(g, SYS_EXIT_GROUP);
		break;
	}
}

static void put_item(struct gen *g, enum hostile_kind kind)
{
	g->h->did[kind]++;
	switch (kind) {
	case HOSTILE_JUMP:
		item_jump(g);
		break;
	case HOSTILE_PAGE_END:
		item_page_end(g);
		break;
	case HOSTILE_ACCESS:
		item_access(g);
		break;
	case HOSTILE_ILLEGAL:
		item_illegal(g);
		break;
	case HOSTILE_CODE:
	case HOSTILE_RACE:
		item_code(g, kind == HOSTILE_CODE);
		break;
	case HOSTILE_UNMAP:
		item_unmap(g);
		break;
	case HOSTILE_SIGRETURN:
		item_sigreturn(g);
		break;
	case HOSTILE_MIDDLE:
		item_middle(g);
		break;
	case HOSTILE_GARBAGE:
		item_garbage(g);
		break;
	case HOSTILE_PENDING:
		item_pending(g);
		break;
	case HOSTILE_THREAD:
		item_thread(g);
		break;
	default:
		item_fork(g);
		break;
	}
}

/* In qemu a handler that cannot be entered faults for ever, and execve of guest programs fails. */
static bool is_plain(enum hostile_end end)
{
	return end == END_EXIT || end == END_DEFAULT || end == END_IN_HANDLER ||
	       end == END_BLOCKED || end == END_RUN_OFF;
}

static void generate(struct gen *g)
{
	unsigned handler;

	rng_seed(&g->rng, g->o->seed);
	memset(g->h, 0, sizeof(*g->h));
	g->size = 0;
	g->nlabels = 1;
	g->copy = label(g);
	handler = label(g);
	do
		g->h->end = (enum hostile_end)below(g, END_KINDS);
	while (g->o->plain && !is_plain(g->h->end));
	put_start(g, handler);
	for (unsigned i = 0; i < ITEMS; i++) {
		enum hostile_kind kind;

		do
			kind = (enum hostile_kind)below(g, HOSTILE_KINDS);
		while ((g->o->plain && (kind == HOSTILE_RACE || kind == HOSTILE_GARBAGE)) ||
		       ((kind == HOSTILE_FORK || kind == HOSTILE_THREAD) && below(g, 3)));
		put_item(g, kind);
	}
	/* Routines come before the end, because END_RUN_OFF executes past the end. */
	{
		unsigned end = label(g);

		jump(g, end);
		put_copy(g);
		place(g, handler);
		put_handler(g);
		place(g, end);
	}
	put_end(g);
}

bool hostile_write(const struct hostile_options *options, const char *path, struct hostile *h)
{
	static const uint8_t zeros[DATA_BYTES];
	struct gen *g = x_calloc(1, sizeof(*g));
	char pool[POOL_BYTES] = "", bad[512];
	bool ok;

	g->o = options;
	g->h = h;
	g->bytes = x_calloc(1, CODE_MAX);
	generate(g);
	generate(g);
	snprintf(bad, sizeof(bad), "%s.bad", path);
	memcpy(pool, bad, sizeof(bad));
	ok =
	    image_write(path, h->end == END_FIRST ? 0x700000 : CODE_ADDR, g->bytes, g->size, pool,
			zeros) &&
	    image_write(bad, 0x700000 + options->seed % 2 * 0x1ffe, g->bytes, g->size, pool, zeros);
	ok = ok && chmod(path, 0700) == 0 && chmod(bad, 0700) == 0;
	free(g->bytes);
	free(g);
	return ok;
}
