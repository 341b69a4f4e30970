/* SPDX-License-Identifier: MIT */
/* SHA-256 (FIPS 180-4): results are kept under the digest of all that they were computed from. */
#ifndef UTIL_DIGEST_H
#define UTIL_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct digest {
	uint32_t h[8];
	uint64_t bytes; /* taken so far */
	uint8_t block[64];
	bool by_host; /* the processor has instructions for it */
};

#define DIGEST_HEX 65 /* 64 digits and a zero */

void digest_init(struct digest *d);
void digest_add(struct digest *d, const void *data, size_t bytes);
/* Adds a text and its length, so that "ab","c" and "a","bc" differ. NULL differs from "". */
void digest_text(struct digest *d, const char *text);
/* Adds a file's content and its length. False if it cannot be read: only that fact is added
 * then. */
bool digest_file(struct digest *d, const char *path);
/* Adds the content of an open file, from its beginning; the place in it stays. False if it cannot be read. */
bool digest_descriptor(struct digest *d, int fd);
void digest_hex(struct digest *d, char hex[DIGEST_HEX]);

#endif
