/* SPDX-License-Identifier: MIT */
/*
 * Wrong-path execution: the semantics of isa/insts.def on the registers at fetch.
 *
 * Registers are those of the path being fetched (core.regs); what an instruction overwrites is kept
 * with it, so there is no copy to make when a wrong path begins. Stores go to an overlay, which
 * loads look into before guest memory; a squash cuts it. What is not mapped reads as zero.
 *
 * Not modelled: CSRs and the reservation of lr/sc have no wrong-path state of their own (reads see
 * the guest's, writes are lost), and since the guest runs ahead at fetch, a wrong path that follows
 * a flush may read memory that later right-path stores have already changed.
 */
#include "core/pipe.h"

#include "isa/sem.h"

#define FILTER_BIT(a) (1ull << ((a) >> 3 & 63))

static uint64_t spec_load(const struct core *c, uint64_t addr, unsigned size)
{
	uint64_t value = guest_peek(c->guest, addr, size);

	if (likely(!(c->front.overlay_filter & (FILTER_BIT(addr) | FILTER_BIT(addr + size - 1)))))
		return value;
	/* Oldest first, so that the youngest store to a byte wins. */
	for (uint32_t i = 0; i < c->front.noverlay; i++) {
		const struct overlay_store *s = &c->front.overlay[i];

		for (unsigned k = 0; k < s->size; k++) {
			uint64_t at = s->addr + k - addr; /* wraps if the byte lies below */

			if (at < size)
				value = (value & ~(0xffull << 8 * at)) | (s->value >> 8 * k & 0xff)
									     << 8 * at;
		}
	}
	return value;
}

static void spec_store(struct core *c, uint64_t po, uint64_t addr, unsigned size, uint64_t value)
{
	assert(c->front.noverlay <= c->mask);
	c->front.overlay[c->front.noverlay++] =
	    (struct overlay_store){ .addr = addr, .value = value, .po = po, .size = size };
	c->front.overlay_filter |= FILTER_BIT(addr) | FILTER_BIT(addr + size - 1);
}

void spec_squash(struct core *c, uint64_t from)
{
	while (c->front.noverlay && c->front.overlay[c->front.noverlay - 1].po >= from)
		c->front.noverlay--;
	if (!c->front.noverlay)
		c->front.overlay_filter = 0;
}

void spec_execute(struct core *c, const struct uop *u, uint64_t po, struct spec_result *r)
{
	const struct inst *in = &u->in;
	const uint64_t *regs = c->front.regs;
	uint64_t lr_addr = c->front.hart->lr_addr, lr_value = c->front.hart->lr_value;
	uint32_t fflags = 0;
	bool sc_ok = false;

	(void)lr_addr, (void)lr_value, (void)fflags, (void)sc_ok;
	r->next_pc = u->pc + in->len;
	r->addr = regs[in->rs1] + (u->flags & UOP_ATOMIC ? 0 : (uint64_t)(int64_t)in->imm);
	r->value = 0;
	r->stuck = false;

#define X(f)		  regs[in->f]
#define F(f)		  regs[32 + in->f]
#define WX(f, v)	  (r->value = (uint64_t)(v))
#define WF(f, v)	  (r->value = (uint64_t)(v))
#define REG(f)		  in->f
#define IMM		  ((int64_t)in->imm)
#define PC		  u->pc
#define LEN		  ((uint64_t)in->len)
#define RM		  (in->rm < 5 ? in->rm : c->front.hart->frm < 5 ? c->front.hart->frm : 0)
#define FFLAGS		  fflags
#define LOAD(type, a)	  ((type)spec_load(c, (a), sizeof(type)))
#define STORE(type, a, v) spec_store(c, po, (a), sizeof(type), (uint64_t)(v))
#define AMO_CHECK(a, n)	  ((void)(a))
#define PREFETCH(a)	  ((void)(a))
#define LR_ADDR		  lr_addr
#define LR_VALUE	  lr_value
#define SC_DONE(ok)	  (sc_ok = (ok))
#define BRANCH(cond)                                                                               \
	do {                                                                                       \
		if (cond)                                                                          \
			r->next_pc = u->pc + (uint64_t)(int64_t)in->imm;                           \
	} while (0)
#define JUMP(a)		 (r->next_pc = (a))
#define JUMP_INDIRECT(a) (r->next_pc = (a))
#define CSR_READ(n)                                                                                \
	(csr_is_fp((unsigned)(n))                                                                  \
	     ? csr_read_fp((unsigned)(n), c->front.hart->fflags, c->front.hart->frm)               \
	     : 0)
#define CSR_WRITE(n, v) ((void)(v))
#define FENCE()		((void)0)
#define FENCE_I()	((void)0)
#define ECALL()		(r->stuck = true)
#define EBREAK()	(r->stuck = true)
#define ILLEGAL()	(r->stuck = true)
	switch (in->op) {
#define INST(id, name, mask, match, fmt, cls, bytes, flags, ...)                                   \
	case OP_##id: {                                                                            \
		__VA_ARGS__;                                                                       \
		break;                                                                             \
	}
#define CINST(...)
#include "isa/insts.def"
#undef INST
#undef CINST
	default:
		r->stuck = true;
	}
}
