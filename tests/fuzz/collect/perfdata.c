/* SPDX-License-Identifier: MIT */
/* Fuzzes the reader of perf.data: any bytes give a profile or a message. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/perfdata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const int fd = memfd_create("perf.data", MFD_CLOEXEC);
	struct live_profile *p = live_profile_new();
	const struct live_sink sink = live_profile_sink(p);
	const struct perfdata_options o = { 0 };
	struct err e = { "" };

	if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) < 0)
		abort();
	if (!perfdata_read(fd, "fuzzed", &o, &sink, &e) && !*e.text)
		abort();
	live_profile_free(p);
	close(fd);
	return 0;
}
