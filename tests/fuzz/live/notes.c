/* SPDX-License-Identifier: MIT */
/* Fuzzes what reads ELF files of profiled processes: build-ids, identities, and symbols and code of
 * files that are kept. */
#include <assert.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/identity.h"
#include "collect/maps_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	struct live_profile *profile = live_profile_new();
	const struct live_sink sink = live_profile_sink(profile);
	struct maps *m = maps_new(&sink, NULL);
	const int fd = memfd_create("elf", MFD_CLOEXEC);
	struct identity id;
	uint8_t note[BUILD_ID_BYTES];

	if (fd < 0 || write(fd, data, size_bytes) != (ssize_t)size_bytes)
		die("cannot write the file");
	assert(identity_note(data, size_bytes, note) <= BUILD_ID_BYTES);
	assert(identity_of(fd, &id) && id.build_id_bytes <= BUILD_ID_BYTES);
	const uint32_t i =
	    maps_image_add(m, &(struct maps_image){ .kind = LIVE_FILE, .name = "/x" });

	m->images[i].pin = fd;
	maps_image_number(m, i);
	for (uint64_t offset = 0; offset < size_bytes + 64; offset += 16)
		keep_hit(m, i, offset);
	maps_publish(m);
	const struct live_image *kept = live_image(profile, 0);

	for (size_t k = 1; k < kept->nsymbols; k++)
		assert(kept->symbols[k - 1].offset < kept->symbols[k].offset);
	for (size_t k = 0; k < kept->ncode; k++)
		assert(kept->code[k].offset + kept->code[k].size_bytes <= size_bytes);
	maps_free(m);
	live_profile_free(profile);
	return 0;
}
