/* SPDX-License-Identifier: MIT */
/* Bytes as text: zstd, then base64. Reading checks length, alphabet and the stated size. */
#include "util/pack.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "util/util.h"

#define ZSTD_LEVEL 3

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static char *to_base64(const uint8_t *in, size_t n)
{
	char *text = x_malloc((n + 2) / 3 * 4 + 1), *at = text;

	for (size_t i = 0; i < n; i += 3) {
		uint32_t w = (uint32_t)in[i] << 16 | (i + 1 < n ? (uint32_t)in[i + 1] << 8 : 0) |
			     (i + 2 < n ? in[i + 2] : 0);

		*at++ = digits[w >> 18];
		*at++ = digits[w >> 12 & 63];
		*at++ = i + 1 < n ? digits[w >> 6 & 63] : '=';
		*at++ = i + 2 < n ? digits[w & 63] : '=';
	}
	*at = '\0';
	return text;
}

static uint8_t *from_base64(const char *text, size_t *size)
{
	size_t length = strlen(text), n = 0;
	uint8_t *out = x_malloc(length / 4 * 3 + 3);
	uint32_t w = 0;
	bool ok = length % 4 == 0;
	size_t pad = 0;

	if (ok && length && text[length - 1] == '=')
		pad = 1 + (text[length - 2] == '=');

	for (size_t i = 0; ok && i < length; i++) {
		const char *at = strchr(digits, text[i]);

		if (!at && !(i >= length - pad)) {
			ok = false;
			break;
		}
		w = w << 6 | (at ? (uint32_t)(at - digits) : 0);
		if (i % 4 == 3) {
			out[n++] = (uint8_t)(w >> 16);
			out[n++] = (uint8_t)(w >> 8);
			out[n++] = (uint8_t)w;
			w = 0;
		}
	}
	*size = n - (ok ? pad : 0);
	if (ok)
		return out;
	free(out);
	return NULL;
}

char *pack_text(const void *data, size_t size)
{
	size_t bound = ZSTD_compressBound(size);
	uint8_t *packed = x_malloc(bound);
	size_t n = ZSTD_compress(packed, bound, data, size, ZSTD_LEVEL);
	char *text;

	if (ZSTD_isError(n))
		die("out of memory");
	text = to_base64(packed, n);
	free(packed);
	return text;
}

uint8_t *unpack_text(const char *text, size_t limit, size_t *size)
{
	size_t n;
	uint8_t *packed = from_base64(text, &n), *data = NULL;
	unsigned long long whole = packed ? ZSTD_getFrameContentSize(packed, n) : 0;

	/* the two error values are above any limit */
	if (packed && whole <= limit) {
		data = x_malloc((size_t)whole + 1);
		*size = ZSTD_decompress(data, (size_t)whole, packed, n);
		if (ZSTD_isError(*size) || *size != whole) {
			free(data);
			data = NULL;
		}
	}
	free(packed);
	return data;
}
