/* SPDX-License-Identifier: MIT */
/*
 * The CSRs that user code can reach: fflags, frm, fcsr (read and write) and the Zicntr counters
 * (read only), whose values only the executor knows. Helps an executor to define CSR_READ and
 * CSR_WRITE.
 */
#ifndef ISA_CSR_H
#define ISA_CSR_H

#include <stdbool.h>
#include <stdint.h>

enum csr_number {
	CSR_FFLAGS = 0x001,
	CSR_FRM = 0x002,
	CSR_FCSR = 0x003,
	CSR_CYCLE = 0xc00,
	CSR_TIME = 0xc01,
	CSR_INSTRET = 0xc02,
};

static inline bool csr_is_counter(unsigned csr)
{
	return csr >= CSR_CYCLE && csr <= CSR_INSTRET;
}

static inline bool csr_is_fp(unsigned csr)
{
	return csr >= CSR_FFLAGS && csr <= CSR_FCSR;
}

/* csr_is_fp(csr) holds. */
static inline uint64_t csr_read_fp(unsigned csr, uint32_t fflags, uint32_t frm)
{
	return csr == CSR_FFLAGS ? fflags : csr == CSR_FRM ? frm : frm << 5 | fflags;
}

/* csr_is_fp(csr) holds. Bits that the register does not have are ignored. */
static inline void csr_write_fp(unsigned csr, uint64_t v, uint32_t *fflags, uint32_t *frm)
{
	if (csr != CSR_FRM)
		*fflags = v & 31;
	if (csr == CSR_FRM)
		*frm = v & 7;
	else if (csr == CSR_FCSR)
		*frm = v >> 5 & 7;
}

#endif
