/* SPDX-License-Identifier: MIT */
/* What the files of the machine layer share. */
#ifndef MACHINE_MACHINE_INT_H
#define MACHINE_MACHINE_INT_H

#include "machine/machine.h"

/* One number of a PARAM_NUMBER or PARAM_LIST; false and a message with the valid range. */
bool machine_item_check(const struct param *p, uint32_t x, struct err *e);

#endif
