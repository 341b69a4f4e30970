/* SPDX-License-Identifier: MIT */
/* Compiles and links only where clang has libFuzzer. */
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	return data && size_bytes ? 0 : 0;
}
