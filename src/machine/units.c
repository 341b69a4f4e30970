/* SPDX-License-Identifier: MIT */
/* Which class of instructions uses which functional unit, for how long: one row per class. */
#include "machine/units.h"

static const struct {
	uint8_t unit;	 /* enum unit_kind */
	uint8_t instead; /* where the machine has no unit of that kind */
} unit_of[CLASS_COUNT] = {
	[CLASS_ALU] = { UNIT_ALU, UNIT_ALU },	   [CLASS_MUL] = { UNIT_MUL, UNIT_MUL },
	[CLASS_DIV] = { UNIT_DIV, UNIT_DIV },	   [CLASS_BRANCH] = { UNIT_BRANCH, UNIT_ALU },
	[CLASS_JUMP] = { UNIT_ALU, UNIT_ALU },	   [CLASS_LOAD] = { UNIT_LOAD, UNIT_LOAD },
	[CLASS_STORE] = { UNIT_STORE, UNIT_LOAD }, [CLASS_AMO] = { UNIT_LOAD, UNIT_LOAD },
	[CLASS_FADD] = { UNIT_FADD, UNIT_FADD },   [CLASS_FMUL] = { UNIT_FMUL, UNIT_FMUL },
	[CLASS_FDIV] = { UNIT_FDIV, UNIT_FMUL },   [CLASS_FSQRT] = { UNIT_FSQRT, UNIT_FDIV },
	[CLASS_CSR] = { UNIT_ALU, UNIT_ALU },	   [CLASS_FENCE] = { UNIT_ALU, UNIT_ALU },
	[CLASS_SYSTEM] = { UNIT_ALU, UNIT_ALU },   [CLASS_HINT] = { UNIT_LOAD, UNIT_LOAD },
};

static uint32_t latency_of(const struct machine *m, enum op_class cls, unsigned unit)
{
	switch (cls) {
	case CLASS_LOAD:
	case CLASS_AMO:
		return m->mem.cache[MEM_L1D].latency;
	case CLASS_STORE:
	case CLASS_HINT:
		return 1;
	case CLASS_FSQRT: /* also where a divider or multiplier does it */
		return m->unit[UNIT_FSQRT].latency;
	case CLASS_FDIV:
		return m->unit[UNIT_FDIV].latency;
	default:
		return m->unit[unit].latency;
	}
}

bool units_pipelined(const struct machine *m, enum unit_kind kind)
{
	if (kind == UNIT_FMUL && !m->unit[UNIT_FDIV].count && !m->unit[UNIT_FDIV].pipelined)
		return false; /* a division occupies it */
	return kind == UNIT_LOAD || kind == UNIT_STORE || m->unit[kind].pipelined;
}

struct unit_use units_of_class(const struct machine *m, enum op_class cls)
{
	const unsigned wanted = unit_of[cls].unit;
	unsigned unit = m->unit[wanted].count ? wanted : unit_of[cls].instead;
	bool pipelined = units_pipelined(m, unit);

	if (!m->unit[unit].count) /* square roots, where neither they nor divisions have a unit */
		unit = UNIT_FMUL;
	if (unit == UNIT_FMUL) /* each kind of operation as its own unit would */
		pipelined = m->unit[cls == CLASS_FMUL ? UNIT_FMUL : UNIT_FDIV].pipelined;

	const uint32_t latency = latency_of(m, cls, unit);

	return (struct unit_use){ .unit = (uint8_t)unit,
				  .latency = latency,
				  .busy = pipelined ? 1 : latency };
}

struct unit_use units_of(const struct machine *m, const struct inst *in)
{
	struct unit_use use = units_of_class(m, (enum op_class)op_info[in->op].cls);

	if (in->op == OP_PAUSE)
		use.unit = UNIT_ALU;
	return use;
}
