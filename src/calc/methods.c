/* SPDX-License-Identifier: MIT */
/* The ways from the evidence of classes to frequencies. */
#include "calc/calc_int.h"
#include "calc/parts.h"

extern const struct calc_method calc_dcpi;

const struct calc_method *const calc_methods[] = { &calc_dcpi, &calc_profi, &calc_flow, &calc_bit,
						   NULL };
