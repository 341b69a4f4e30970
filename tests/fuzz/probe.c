/* SPDX-License-Identifier: MIT */
/* The smallest fuzzer: whether it links says whether there is a libFuzzer. */
int LLVMFuzzerTestOneInput(const void *data, unsigned long size_bytes);

int LLVMFuzzerTestOneInput(const void *data, unsigned long size_bytes)
{
	return data && size_bytes > 1 ? 0 : 0;
}
