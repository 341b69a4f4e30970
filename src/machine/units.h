/* SPDX-License-Identifier: MIT */
/*
 * Which class of instructions uses which functional unit, for how long. The core, the dependence graph
 * and the static schedule all ask here.
 *
 * An operation that issues in cycle t takes one unit of its kind (of unit[].count) in t. Its dependents
 * can issue from t + latency on (window.wakeup more if it is not a load). The unit takes its next
 * operation in t + busy at the earliest. For a load and an atomic, latency is that of an L1D hit that
 * neither misses the TLB nor waits for a store; nothing waits for a store's result, so a store's latency is the
 * time after which it can commit.
 */
#ifndef MACHINE_UNITS_H
#define MACHINE_UNITS_H

#include "isa/isa.h"
#include "machine/machine.h"

struct unit_use {
	uint8_t unit;	  /* enum unit_kind */
	uint32_t latency; /* cycles from issue to the result */
	uint32_t busy;	  /* cycles until the unit takes another operation; 1: it is pipelined */
};

/* True if a unit of this kind takes a new operation every cycle; ports always do. */
bool units_pipelined(const struct machine *m, enum unit_kind kind);
/* Of an instruction. */
struct unit_use units_of(const struct machine *m, const struct inst *in);
/* Of a class of instructions: what units_of() says of all its instructions but pause, which is of
 * CLASS_HINT and uses an ALU. */
struct unit_use units_of_class(const struct machine *m, enum op_class cls);

#endif
