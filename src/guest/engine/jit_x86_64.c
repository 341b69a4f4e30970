/* SPDX-License-Identifier: MIT */
/*
 * The x86-64 translator: its buffer, the stubs around generated code, blocks and the links between
 * them.
 *
 * A block's code begins by paying for all its instructions; if the budget does not suffice it pays
 * back and leaves, and the engine's loop goes on one by one. Direct jumps are links: they first
 * leave with their number, and are patched to go straight to the other block once that has code.
 * Indirect jumps look into a table of (pc, code). Whatever is rare about an instruction (operands
 * that need the soft floating point, addresses outside of the guest's) goes to a slow path at the
 * end of the block, which calls the operation's C function and comes back.
 *
 * The code stands in a file in memory that is mapped twice: where it runs, executable and not
 * writable, and somewhere else, writable and not executable. (On x86 a store through one address is
 * seen by fetches from the other; no call is needed after writing.) Before the executable mapping,
 * in reach of its code, stands the data, which is not executable. Where the host does not allow
 * such mappings there is no translator.
 *
 * The file is shared memory, so a forked process must not go on with it: both mappings are left out
 * of a fork, and the child puts a file of its own in their places, which was filled before.
 */
#include <assert.h>
#include <cpuid.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "guest/engine/jit_x86_64.h"
#include "util/array.h"
#include "util/util.h"

/* sp, s0, s1, a0-a5: three quarters of the register operands in compiled code. */
const uint8_t jit_host_of[32] = {
	[0 ... 1] = REG_NONE,	RBX,				      /* sp */
	[3 ... 7] = REG_NONE,	R12, R13, RDI, RSI, R8, R9, R10, R11, /* s0 s1 a0-a5 */
	[16 ... 31] = REG_NONE,
};

static void each_mapped(struct code *c, bool load)
{
	for (unsigned r = 0; r < 32; r++) {
		if (jit_host_of[r] == REG_NONE)
			continue;
		struct opnd at = trans_hart(offsetof(struct hart, x) + 8 * r);
		if (load)
			asm_load(c, jit_host_of[r], at);
		else
			asm_store(c, at, jit_host_of[r]);
	}
}

/* Generated code calls this for one instruction; the hart is complete. */
static void run_slow(struct engine *e, uint32_t number)
{
	struct jit *j = e->jit;
	struct jit_block *jb = &j->blocks[number / BLOCK_MAX_INSTS];
	unsigned i = number % BLOCK_MAX_INSTS;
	struct block *b = jb->block;
	struct hart *h = e->hart;
	const struct inst *in = &b->insts[i];
	uint64_t pc = b->pc;

	for (unsigned k = 0; k < i; k++)
		pc += b->insts[k].len;
	h->fflags |= j->data->fflags_of_mxcsr[j->data->mxcsr & 63];
	h->pc = pc;
	e->block = b;
	e->cur = in;
	uint64_t operand = engine_operand(e, h, in);
	enum engine_exit result = engine_op(e, h, in);
	if (result == ENGINE_BUDGET)
		engine_note(e, in, operand);
	if (unlikely(result != ENGINE_BUDGET)) {
		assert(result == ENGINE_ILLEGAL); /* other exits end untranslated blocks */
		siglongjmp(e->env, ENGINE_JMP_ILLEGAL);
	}
}

static void emit_save(struct jit *j, struct code *c, struct engine *e)
{
	each_mapped(c, false);
	asm_imm(c, RCX, (uintptr_t)&e->left);
	asm_store(c, asm_mem(RCX, 0), R14);
	asm_op(c, 0, 0, 0x0fae, 3, asm_near(&j->data->mxcsr), 0); /* stmxcsr */
}

/* The stubs that all generated code shares. */
static void emit_stubs(struct jit *j, struct engine *e)
{
	static const uint8_t saved[] = { RBX, RBP, R12, R13, R14, R15 };
	struct code *c = &j->code;

	j->enter = (uint32_t(*)(const void *, struct hart *, uint8_t *, uint64_t))(uintptr_t)c->p;
	for (unsigned i = 0; i < ARRAY_LEN(saved); i++)
		asm_op(c, 0, 0, 0xff, 6, asm_reg(saved[i]), 0); /* push */
	asm_alu_imm(c, ALU_SUB, ASM_W, asm_reg(RSP), 8);
	asm_mov(c, RAX, RDI);
	asm_lea(c, ASM_W, RBP, asm_mem(RSI, HART_BIAS));
	asm_mov(c, R15, RDX);
	asm_mov(c, R14, RCX);
	asm_op(c, 0, 0, 0x0fae, 2, asm_near(&j->data->mxcsr_default), 0); /* ldmxcsr */
	each_mapped(c, true);
	asm_op(c, 0, 0, 0xff, 4, asm_reg(RAX), 0); /* jmp rax */

	j->exit_indirect = c->p;
	asm_store(c, trans_hart(offsetof(struct hart, pc)), RAX);
	asm_imm(c, RAX, JIT_EXIT_INDIRECT);
	j->exit = c->p;
	emit_save(j, c, e);
	asm_alu_imm(c, ALU_ADD, ASM_W, asm_reg(RSP), 8);
	for (unsigned i = ARRAY_LEN(saved); i-- > 0;)
		asm_op(c, 0, 0, 0x8f, 0, asm_reg(saved[i]), 0); /* pop */
	asm_u8(c, 0xc3);

	j->first_run = c->p;
	asm_imm(c, RCX, (uintptr_t)&e->vector_end);
	asm_load(c, RDX, asm_mem(RCX, 0));
	asm_op(c, 0, 0, 0x89, RAX, asm_mem(RDX, 0), 0); /* mov [rdx], eax */
	asm_alu_imm(c, ALU_ADD, ASM_W, asm_mem(RCX, 0), sizeof(*e->vector_end));
	asm_u8(c, 0xc3);

	j->slow = c->p;
	emit_save(j, c, e);
	asm_alu_imm(c, ALU_SUB, ASM_W, asm_reg(RSP), 8);
	asm_imm(c, RDI, (uintptr_t)e);
	asm_op(c, 0, 0, 0x8b, RSI, asm_reg(RDX), 0);
	asm_imm(c, RAX, (uintptr_t)run_slow);
	asm_op(c, 0, 0, 0xff, 2, asm_reg(RAX), 0); /* call rax */
	asm_alu_imm(c, ALU_ADD, ASM_W, asm_reg(RSP), 8);
	asm_op(c, 0, 0, 0x0fae, 2, asm_near(&j->data->mxcsr_default), 0);
	each_mapped(c, true);
	asm_u8(c, 0xc3);
}

/* Puts edx into its entry of a table and counts it; returns where to patch a jump that is taken if it
 * was there. ecx may be used. */
static uint8_t *emit_put(struct code *c, const uint32_t *table, uint32_t entries, uint64_t *count)
{
	asm_op(c, 0, 0, 0x8b, RCX, asm_reg(RDX), 0);
	asm_alu_imm(c, ALU_AND, 0, asm_reg(RCX), (int32_t)entries - 1);
	asm_alu(c, ALU_CMP, 0, RDX, asm_table(table, RCX, 2));
	uint8_t *there = asm_jcc(c, CC_E);
	asm_op(c, 0, 0, 0x89, RDX, asm_table(table, RCX, 2), 0);
	asm_imm(c, RCX, (uintptr_t)count);
	asm_op(c, 0, ASM_W, 0xff, 0, asm_mem(RCX, 0), 0); /* inc */
	return there;
}

/* locality_touch for a line that is not in the first table. */
void jit_locality(struct jit *j, struct locality *l)
{
	struct code *c = &j->code;

	assert(c->p == j->code_start);
	j->other_line = c->p;
	uint8_t *there = emit_put(c, l->lines_0, LOCALITY_LINES_0, &l->counts[0]);
	asm_patch(c, there, c->p);
	uint8_t *in_1 = emit_put(c, l->lines_1, LOCALITY_LINES_1, &l->counts[1]);
	uint8_t *in_2 = emit_put(c, l->lines_2, LOCALITY_LINES_2, &l->counts[2]);
	asm_patch(c, in_1, c->p);
	asm_patch(c, in_2, c->p);
	asm_shift_imm(c, SHIFT_RIGHT, 0, RDX, LOCALITY_PAGE_BITS - LOCALITY_LINE_BITS);
	in_1 = emit_put(c, l->pages_0, LOCALITY_PAGES_0, &l->counts[3]);
	in_2 = emit_put(c, l->pages_1, LOCALITY_PAGES_1, &l->counts[4]);
	asm_patch(c, in_1, c->p);
	asm_patch(c, in_2, c->p);
	asm_u8(c, 0xc3);
	j->code_start = c->p;
}

/* history_touch for a line that is not in its entry, and its page is touched. */
static const uint8_t *emit_history(struct code *c, struct history *h, bool store)
{
	const uint8_t *begin = c->p;

	asm_movzx8(c, RCX, RDX);
	asm_op(c, 0, 0, 0x8b, RAX, asm_table(h->near[store], RCX, 2), 0);
	asm_op(c, 0, 0, 0x89, RDX, asm_table(h->near[store], RCX, 2), 0);
	asm_shift_imm(c, SHIFT_RIGHT, 0, RDX, 12 - GUEST_LINE_BITS);
	asm_imm(c, RCX, (uintptr_t)h->touched);
	asm_op(c, 0, 0, 0xc6, 0, asm_index(RCX, RDX, 0, 0), 1); /* mov byte */
	asm_u8(c, 1);
	asm_imm(c, RDX, (uintptr_t)&h->now);
	asm_op(c, 0, 0, 0xff, 0, asm_mem(RDX, 0), 0); /* inc */
	asm_op(c, 0, 0, 0x8b, RDX, asm_mem(RDX, 0), 0);
	asm_imm(c, RCX, (uintptr_t)h->times);
	asm_op(c, 0, 0, 0x89, RDX, asm_index(RCX, RAX, 3, store ? sizeof(uint32_t) : 0), 0);
	asm_u8(c, 0xc3);
	return begin;
}

void jit_history(struct jit *j, struct history *h)
{
	assert(j->code.p == j->code_start);
	j->other_line = emit_history(&j->code, h, false);
	j->other_stored = emit_history(&j->code, h, true);
	j->code_start = j->code.p;
}

/* After the access of an instruction whose address is in rdx. */
static void emit_touch(struct trans *t)
{
	const struct history *h = t->e->history;
	const bool store = op_info[t->in->op].flags & OPF_STORE;
	struct code *c = &t->c;

	asm_shift_imm(c, SHIFT_RIGHT, ASM_W, RDX, h ? GUEST_LINE_BITS : LOCALITY_LINE_BITS);
	_Static_assert(LOCALITY_LINES_0 == 256 && HISTORY_NEAR == 256, "one byte is the entry");
	asm_movzx8(c, RCX, RDX);
	asm_alu(c, ALU_CMP, 0, RDX,
		asm_table(h ? h->near[store] : t->e->locality->lines_0, RCX, 2));
	t->touched[t->i] = asm_jcc(c, CC_NE);
	t->touched_back[t->i] = c->p;
}

static void clear_targets(struct jit *j)
{
	memset(j->data->targets, 0, sizeof(j->data->targets));
	j->data->targets[0].pc = 1;
}

static void fill_data(struct jit_data *d)
{
	d->sign_d[0] = 1ull << 63;
	d->abs_d[0] = ~(1ull << 63);
	d->sign_s[0] = 1ull << 31;
	d->abs_s[0] = ~(1ull << 31);
	d->box[0] = 0xffffffff00000000ull;
	d->limit = GUEST_ADDR_LIMIT;
	d->two_32 = 4294967296.0;
	d->two_63 = 9223372036854775808.0;
	d->two_64 = 18446744073709551616.0;
	d->mxcsr_default = MXCSR_DEFAULT;
	for (unsigned m = 0; m < 64; m++)
		d->fflags_of_mxcsr[m] =
		    (uint8_t)((m & 1 ? 16 : 0) | (m & 4 ? 8 : 0) | (m & 8 ? 4 : 0) |
			      (m & 16 ? 2 : 0) | (m & 32 ? 1 : 0));
}

static void detect_cpu(struct jit *j)
{
	j->has_sse41 = __builtin_cpu_supports("sse4.1");
	j->has_fma = __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx");
	j->has_bmi1 = __builtin_cpu_supports("bmi") && __builtin_cpu_supports("avx");
	j->has_bmi2 = __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("avx");
	j->has_popcnt = __builtin_cpu_supports("popcnt");
	unsigned a, b, c, d;
	j->has_lzcnt = __get_cpuid(0x80000001, &a, &b, &c, &d) && (c & 1u << 5);
}

#define DATA_BYTES ((sizeof(struct jit_data) + 4095) & ~(size_t)4095)
#define CODE_BYTES (JIT_BUFFER_BYTES - DATA_BYTES)

/* A file in memory for the code; -1 if the host does not allow one. */
static int code_file(void)
{
#ifdef MFD_NOEXEC_SEAL
	int fd = memfd_create("culprit-code", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
#else
	int fd = memfd_create("culprit-code", MFD_CLOEXEC | 8u); /* the same, in newer headers */
#endif

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("culprit-code", MFD_CLOEXEC);
	if (fd >= 0 && ftruncate(fd, (off_t)CODE_BYTES) < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Maps the file for execution at code, and for writing at alias (NULL: anywhere); where, or NULL.
 */
static uint8_t *map_code(int fd, uint8_t *code, uint8_t *alias)
{
	int fixed = alias ? MAP_FIXED : 0;

	if (mmap(code, CODE_BYTES, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, fd, 0) ==
	    MAP_FAILED)
		return NULL;
	alias = mmap(alias, CODE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | fixed, fd, 0);
	if (alias == MAP_FAILED)
		return NULL;
	if (madvise(code, CODE_BYTES, MADV_DONTFORK) == 0 &&
	    madvise(alias, CODE_BYTES, MADV_DONTFORK) == 0)
		return alias;
	munmap(alias, CODE_BYTES);
	return NULL;
}

struct jit *jit_new(struct engine *e)
{
	uint8_t *buffer = mmap(NULL, JIT_BUFFER_BYTES, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint8_t *alias = NULL;
	int fd = code_file();

	if (buffer != MAP_FAILED && fd >= 0)
		alias = map_code(fd, buffer + DATA_BYTES, NULL);
	if (fd >= 0)
		close(fd);
	if (!alias) {
		if (buffer != MAP_FAILED)
			munmap(buffer, JIT_BUFFER_BYTES);
		return NULL;
	}
	struct jit *j = x_calloc(1, sizeof(*j));
	j->fork_fd = -1;
	j->data = (struct jit_data *)buffer;
	fill_data(j->data);
	j->data->targets[0].pc = 1;
	detect_cpu(j);
	j->code.p = buffer + DATA_BYTES;
	j->code.end = buffer + JIT_BUFFER_BYTES;
	j->code.alias = alias - j->code.p;
	emit_stubs(j, e);
	j->code_start = j->code.p;
	return j;
}

static uint8_t *code_begin(const struct jit *j)
{
	return (uint8_t *)j->data + DATA_BYTES;
}

void jit_free(struct jit *j)
{
	munmap(code_begin(j) + j->code.alias, CODE_BYTES);
	munmap(j->data, JIT_BUFFER_BYTES);
	free(j->links);
	free(j->blocks);
	free(j->map);
	free(j);
}

void jit_track(struct jit *j, uint8_t *touched)
{
	j->data->touched = touched;
}

void jit_fork_begin(struct jit *j)
{
	size_t used = (size_t)(j->code.p - code_begin(j)), done = 0;
	ssize_t n = 0;

	j->fork_fd = code_file();
	while (j->fork_fd >= 0 && done < used) {
		n = pwrite(j->fork_fd, code_begin(j) + j->code.alias + done, used - done,
			   (off_t)done);
		if (n <= 0)
			jit_fork_end(j);
		else
			done += (size_t)n;
	}
}

void jit_fork_end(struct jit *j)
{
	if (j->fork_fd >= 0)
		close(j->fork_fd);
	j->fork_fd = -1;
}

bool jit_fork_child(struct jit *j)
{
	bool ok = j->fork_fd >= 0 &&
		  map_code(j->fork_fd, code_begin(j), code_begin(j) + j->code.alias) != NULL;

	jit_fork_end(j);
	return ok;
}

bool jit_can_run(const struct jit *j, const struct hart *h)
{
	(void)j;
	return h->frm == 0;
}

void jit_unlink(struct jit *j)
{
	for (size_t i = 0; i < j->link_count; i++)
		asm_patch(&j->code, j->links[i].at, j->links[i].stub);
	clear_targets(j);
}

void jit_reset(struct jit *j)
{
	j->code.p = j->code_start;
	j->code.full = false;
	j->link_count = 0;
	j->block_count = 0;
	j->map_count = 0;
	clear_targets(j);
}

void trans_slow_if(struct trans *t, enum host_cc cc)
{
	t->slow[t->i].used = true;
	t->fixups[t->fixup_count++] =
	    (struct trans_fixup){ .at = asm_jcc(&t->c, cc), .inst = (uint8_t)t->i };
}

static void emit_slow_call(struct trans *t, unsigned i)
{
	asm_imm(&t->c, RDX, (uint32_t)(t->j->block_count * BLOCK_MAX_INSTS + i));
	asm_call(&t->c, t->j->slow);
}

/* This instruction is done by the function of its operation. */
static void trans_slow_always(struct trans *t)
{
	emit_slow_call(t, t->i);
	trans_forget_fp(t);
	if (op_info[t->in->op].flags & OPF_RD_INT)
		t->slack[t->in->rd] = -1;
}

static void add_link(struct trans *t, uint8_t *at, uint64_t target, uint64_t leader)
{
	t->links[t->link_count].leader = leader;
	t->links[t->link_count].at = at;
	t->links[t->link_count++].target = target;
}

static void emit_exit_at(struct trans *t, uint64_t pc, uint32_t result)
{
	asm_imm(&t->c, RAX, pc);
	asm_store(&t->c, trans_hart(offsetof(struct hart, pc)), RAX);
	asm_imm(&t->c, RAX, result);
	asm_jmp_to(&t->c, t->j->exit);
}

static void emit_branch(struct trans *t)
{
	const struct inst *in = t->in;
	static const enum host_cc forward[] = { CC_E, CC_NE, CC_L, CC_GE, CC_B, CC_AE };
	static const enum host_cc swapped[] = { CC_E, CC_NE, CC_G, CC_LE, CC_A, CC_BE };
	unsigned k = in->op == OP_BEQ	 ? 0
		     : in->op == OP_BNE	 ? 1
		     : in->op == OP_BLT	 ? 2
		     : in->op == OP_BGE	 ? 3
		     : in->op == OP_BLTU ? 4
					 : 5;
	enum host_cc cc = forward[k];

	if (in->rs1 == 0) {
		unsigned b = trans_use(t, in->rs2, RAX);
		asm_test(&t->c, ASM_W, b, b);
		cc = swapped[k];
	} else if (in->rs2 == 0) {
		if (jit_host_of[in->rs1] != REG_NONE)
			asm_test(&t->c, ASM_W, jit_host_of[in->rs1], jit_host_of[in->rs1]);
		else
			asm_alu_imm(&t->c, ALU_CMP, ASM_W, trans_x(in->rs1), 0);
	} else {
		unsigned a = trans_use(t, in->rs1, RAX);
		asm_alu(&t->c, ALU_CMP, ASM_W, a, trans_x(in->rs2));
	}
	add_link(t, asm_jcc(&t->c, cc), t->pc + (uint64_t)(int64_t)in->imm, LEADER_NEW);
	add_link(t, asm_jmp(&t->c), t->pc + in->len, LEADER_NEW);
}

static void emit_jalr(struct trans *t)
{
	const struct inst *in = t->in;
	struct code *c = &t->c;

	asm_load(c, RAX, trans_x(in->rs1));
	if (in->imm)
		asm_alu_imm(c, ALU_ADD, ASM_W, asm_reg(RAX), in->imm);
	asm_alu_imm(c, ALU_AND, ASM_W, asm_reg(RAX), -2);
	if (in->rd) {
		unsigned d = trans_dest(in->rd, RCX);
		asm_imm(c, d, t->pc + in->len);
		trans_done(t, in->rd, d);
	}
	asm_op(c, 0, 0, 0x8b, RCX, asm_reg(RAX), 0);
	asm_alu_imm(c, ALU_AND, 0, asm_reg(RCX), (JIT_TARGETS - 1) << 1);
	asm_lea(c, ASM_W, RDX, asm_near(t->j->data->targets));
	asm_alu(c, ALU_CMP, ASM_W, RAX, asm_index(RDX, RCX, 3, 0));
	uint8_t *miss = asm_jcc(c, CC_NE);
	if (!c->full)
		asm_patch(c, miss, t->j->exit_indirect);
	asm_op(c, 0, 0, 0xff, 4, asm_index(RDX, RCX, 3, 8), 0); /* jmp */
}

static void emit_ctrl(struct trans *t)
{
	const struct inst *in = t->in;

	if (in->op == OP_JALR) {
		emit_jalr(t);
	} else if (in->op == OP_JAL) {
		if (in->rd) {
			unsigned d = trans_dest(in->rd, RAX);
			asm_imm(&t->c, d, t->pc + in->len);
			trans_done(t, in->rd, d);
		}
		add_link(t, asm_jmp(&t->c), t->pc + (uint64_t)(int64_t)in->imm, LEADER_NEW);
	} else {
		emit_branch(t);
	}
}

static void emit_cold(struct trans *t, uint8_t *unpaid)
{
	struct jit *j = t->j;
	struct code *c = &t->c;

	uint64_t pc = t->b->pc;

	for (unsigned i = 0; i < t->b->count; i++) {
		struct trans_slow *s = &t->slow[i];
		if (!s->used) {
			pc += t->b->insts[i].len;
			continue;
		}
		for (unsigned k = 0; k < t->fixup_count; k++)
			if (t->fixups[k].inst == i)
				asm_patch(c, t->fixups[k].at, c->p);
		emit_slow_call(t, i);
		pc += t->b->insts[i].len;
		if (s->leaves && i + 1 < t->b->count) {
			asm_alu_imm(c, ALU_ADD, ASM_W, asm_reg(R14),
				    (int32_t)(t->b->count - i - 1));
			emit_exit_at(t, pc, JIT_EXIT_PLAIN);
			continue;
		}
		for (unsigned f = 0; f < 32; f++)
			if (s->xmm_of[f] != REG_NONE)
				asm_sse(c, 0xf3, 0x0f7e, s->xmm_of[f], trans_f(f)); /* movq */
		asm_jmp_to(c, s->resume);
	}
	asm_patch(c, unpaid, c->p);
	asm_alu_imm(c, ALU_ADD, ASM_W, asm_reg(R14), (int32_t)t->b->count);
	if (t->e->vectors) {
		asm_imm(c, RAX, t->b->leader);
		asm_imm(c, RCX, (uintptr_t)&t->e->leader);
		asm_store(c, asm_mem(RCX, 0), RAX);
	}
	emit_exit_at(t, t->b->pc, JIT_EXIT_PLAIN);
	for (unsigned i = 0; i < t->b->count; i++) {
		if (!t->touched[i])
			continue;
		asm_patch(c, t->touched[i], c->p);
		asm_call(c, t->e->history && op_info[t->b->insts[i].op].flags & OPF_STORE
				? j->other_stored
				: j->other_line);
		asm_jmp_to(c, t->touched_back[i]);
	}
	if (t->e->vectors) {
		asm_patch(c, t->first_run, c->p);
		asm_imm(c, RAX, vectors_number(t->e, t->b->tally));
		asm_call(c, j->first_run);
		asm_jmp_to(c, t->first_run + 4);
	}
	for (unsigned i = 0; i < t->link_count; i++) {
		if (t->links[i].target == t->b->pc && t->b->leader == t->b->pc) {
			asm_patch(c, t->links[i].at, t->b->code); /* a loop of one block */
			continue;
		}
		ARRAY_ROOM(j->links, j->link_capacity, j->link_count + 1);
		j->links[j->link_count] = (struct jit_link){ .at = t->links[i].at,
							     .stub = c->p,
							     .leader = t->links[i].leader };
		asm_patch(c, t->links[i].at, c->p);
		emit_exit_at(t, t->links[i].target, JIT_LINK_FIRST + (uint32_t)j->link_count++);
	}
}

static void map_add(struct jit *j, uint16_t offset)
{
	ARRAY_ROOM(j->map, j->map_capacity, j->map_count + 1);
	j->map[j->map_count++] = offset;
}

const void *jit_near(const struct jit *j)
{
	return (const uint8_t *)j->data + JIT_BUFFER_BYTES;
}

/* Counts a run of the block. With vectors, a first run takes a way of its own. */
static void emit_count(struct trans *t)
{
	const void *times = t->e->vectors ? (const void *)&t->b->tally->times : &t->b->times;
	intptr_t distance = (intptr_t)times - (intptr_t)t->c.p;
	struct opnd at = asm_near(times);

	if (distance < INT32_MIN / 2 || distance > INT32_MAX / 2) {
		asm_imm(&t->c, RAX, (uintptr_t)times);
		at = asm_mem(RAX, 0);
	}
	asm_op(&t->c, 0, ASM_W, 0xff, 0, at, 0); /* inc */
	if (t->e->vectors)
		t->first_run = asm_jcc(&t->c, CC_E);
}

bool jit_translate(struct jit *j, struct engine *e, struct block *b)
{
	/* The engine's loop must see these ends, so such blocks are not translated. */
	if (b->end_kind == BLOCK_END_KERNEL || b->end_kind == BLOCK_END_MARK) {
		b->heat = HEAT_NEVER;
		return true;
	}
	if (j->code.end - j->code.p < JIT_BLOCK_ROOM ||
	    j->block_count >= UINT32_MAX / BLOCK_MAX_INSTS / 2)
		return false;
	struct trans *t = x_malloc(sizeof(*t));
	*t = (struct trans){ .j = j, .e = e, .b = b, .c = j->code, .pc = b->pc, .next_xmm = 2 };
	memset(t->slack, 0xff, sizeof(t->slack));
	trans_forget_fp(t);

	b->code = t->c.p;
	uint32_t map = (uint32_t)j->map_count;
	asm_alu_imm(&t->c, ALU_SUB, ASM_W, asm_reg(R14), (int32_t)b->count);
	uint8_t *unpaid = asm_jcc(&t->c, CC_L);
	if (e->counts)
		emit_count(t);
	for (t->i = 0; t->i < b->count; t->i++) {
		t->in = &b->insts[t->i];
		map_add(j, (uint16_t)(t->c.p - (uint8_t *)b->code));
		if (op_info[t->in->op].flags & OPF_CTRL)
			emit_ctrl(t);
		else if (!trans_int(t) && !trans_mem(t) && !trans_fp(t))
			trans_slow_always(t);
		else if (engine_notes(e, t->in))
			emit_touch(t);
		if (t->slow[t->i].used) {
			t->slow[t->i].resume = t->c.p;
			memcpy(t->slow[t->i].xmm_of, t->xmm_of, sizeof(t->xmm_of));
		}
		t->pc += t->in->len;
	}
	map_add(j, (uint16_t)(t->c.p - (uint8_t *)b->code));
	if (b->end_kind == BLOCK_END_SEQ)
		add_link(t, asm_jmp(&t->c), t->pc, b->leader);
	const uint8_t *hot_end = t->c.p;
	emit_cold(t, unpaid);

	ARRAY_ROOM(j->blocks, j->block_capacity, j->block_count + 1);
	j->blocks[j->block_count++] =
	    (struct jit_block){ .start = b->code, .end = hot_end, .block = b, .map = map };
	assert(!t->c.full);
	j->code = t->c;
	free(t);
	return true;
}

enum engine_exit jit_run(struct jit *j, struct engine *e, struct hart *h, struct block *b)
{
	for (;;) {
		uint32_t link = j->enter(b->code, h, e->base, e->left);
		h->fflags |= j->data->fflags_of_mxcsr[j->data->mxcsr & 63];
		if (link == JIT_EXIT_PLAIN)
			return RUN_AGAIN;
		if (e->vectors) {
			bool alone = false;

			e->leader = link == JIT_EXIT_INDIRECT
					? LEADER_NEW
					: j->links[link - JIT_LINK_FIRST].leader;
			b = engine_next(e, h, &alone);
		} else {
			b = cache_lookup(e, h->pc);
		}
		if (!b || !b->code)
			return RUN_AGAIN;
		if (link == JIT_EXIT_INDIRECT) {
			unsigned i = (h->pc >> 1) % JIT_TARGETS;
			j->data->targets[i].pc = h->pc;
			j->data->targets[i].code = b->code;
		} else {
			asm_patch(&j->code, j->links[link - JIT_LINK_FIRST].at, b->code);
		}
	}
}

static struct jit_block *find_block(const struct jit *j, const uint8_t *at)
{
	size_t i = ARRAY_SEARCH(j->block_count, k, j->blocks[k].end <= at);

	return i < j->block_count && j->blocks[i].start <= at ? &j->blocks[i] : NULL;
}

void jit_recover(struct jit *j, struct engine *e, void *ucontext)
{
	static const int greg_of[16] = { REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
					 REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
					 REG_R12, REG_R13, REG_R14, REG_R15 };
	ucontext_t *uc = ucontext;
	const uint8_t *at = (const uint8_t *)uc->uc_mcontext.gregs[REG_RIP];
	struct jit_block *jb = find_block(j, at);
	struct hart *h = e->hart;

	if (!jb)
		return; /* in C: the hart is complete */
	for (unsigned r = 0; r < 32; r++)
		if (jit_host_of[r] != REG_NONE)
			h->x[r] = (uint64_t)uc->uc_mcontext.gregs[greg_of[jit_host_of[r]]];
	h->fflags |= j->data->fflags_of_mxcsr[uc->uc_mcontext.fpregs->mxcsr & 63];
	e->left = (uint64_t)uc->uc_mcontext.gregs[REG_R14];
	e->block = jb->block;
	unsigned i = 0;
	while (jb->start + j->map[jb->map + i + 1] <= at)
		i++;
	e->cur = &jb->block->insts[i];
}
