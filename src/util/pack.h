/* SPDX-License-Identifier: MIT */
/* Bytes as text: compressed by zstd, then in base64, so that they fit where text goes. */
#ifndef UTIL_PACK_H
#define UTIL_PACK_H

#include <stddef.h>
#include <stdint.h>

/* The caller frees. The same bytes always give the same text. */
char *pack_text(const void *data, size_t size_bytes);
/* NULL if the text was not made by pack_text, or stands for more than limit_bytes. The caller
 * frees. */
uint8_t *unpack_text(const char *text, size_t limit_bytes, size_t *size_bytes);

#endif
