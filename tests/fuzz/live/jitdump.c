/* SPDX-License-Identifier: MIT */
/* Fuzzes the reader of jitdump files. */
#include <assert.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/jit_files.h"
#include "util/util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

static void found(void *self, const struct jit_load *l)
{
	const size_t *size_bytes = self;

	assert(l->size_bytes && l->start + l->size_bytes >= l->start);
	assert(l->name_bytes <= JIT_NAME_BYTES && strnlen(l->name, l->name_bytes) == l->name_bytes);
	/* A move has the old address in the place of the code's. */
	if (l->name_bytes && l->code_at)
		assert(l->code_at + l->size_bytes <= *size_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	const int fd = memfd_create("dump", MFD_CLOEXEC);
	uint64_t at = 0;

	if (fd < 0 || write(fd, data, size_bytes) != (ssize_t)size_bytes)
		die("cannot write the file");
	if (jit_read_dump(fd, &at, 1u << 20, found, &size_bytes)) {
		const uint64_t end = at;

		jit_read_dump(fd, &at, 1u << 20, found, &size_bytes);
		assert(at >= end);
	}
	close(fd);
	return 0;
}
