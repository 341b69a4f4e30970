/* SPDX-License-Identifier: MIT */
/* The architectural state of one RISC-V hart as user code sees it. */
#ifndef GUEST_HART_H
#define GUEST_HART_H

#include <stdint.h>

struct hart {
	uint64_t x[32]; /* x[0] is zero at every instruction boundary */
	uint64_t f[32]; /* single-precision values are NaN-boxed */
	uint64_t pc;
	uint32_t fflags;   /* accrued exceptions, 5 bits */
	uint32_t frm;	   /* dynamic rounding mode, 3 bits */
	uint64_t lr_addr;  /* reservation: address, or ~0 when there is none */
	uint64_t lr_value; /* what the reserved load read */
};

#endif
