/* SPDX-License-Identifier: MIT */
/*
 * SHA-256 as FIPS 180-4 has it; its constants are there. A short simulation may need the digests of large inputs (a
 * checkpoint names them so), and on x86-64 most processors have instructions for it: 8 to 10 times as fast.
 */
#include "util/digest.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/util.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

static const uint32_t constant[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static uint32_t rotate(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

#if defined(__x86_64__)
#define BY_HOST __attribute__((target("sha,sse4.1")))

static bool host_has_sha(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && c & bit_SSE4_1 &&
	       __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_SHA;
}

/* The processor's instructions hold the eight words as A, B, E, F and C, D, G, H, and do four rounds in a pair. */
BY_HOST static void take_by_host(uint32_t h[8], const uint8_t *p, size_t blocks)
{
	const __m128i swap = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
	const __m128i abcd = _mm_loadu_si128((const __m128i *)h),
		      efgh = _mm_loadu_si128((const __m128i *)(h + 4));
	const __m128i badc = _mm_shuffle_epi32(abcd, 0xb1), hgfe = _mm_shuffle_epi32(efgh, 0x1b);
	__m128i abef = _mm_alignr_epi8(badc, hgfe, 8), cdgh = _mm_blend_epi16(hgfe, badc, 0xf0);

	for (; blocks; blocks--, p += 64) {
		const __m128i abef_before = abef, cdgh_before = cdgh;
		__m128i w[4];

		for (unsigned i = 0; i < 16; i++) {
			__m128i *now = &w[i % 4];

			if (i < 4) {
				*now = _mm_shuffle_epi8(
				    _mm_loadu_si128((const __m128i *)(p + 16 * i)), swap);
			} else {
				const __m128i last = w[(i + 3) % 4];
				const __m128i sum =
				    _mm_add_epi32(_mm_sha256msg1_epu32(*now, w[(i + 1) % 4]),
						  _mm_alignr_epi8(last, w[(i + 2) % 4], 4));

				*now = _mm_sha256msg2_epu32(sum, last);
			}
			const __m128i words = _mm_add_epi32(
			    *now, _mm_loadu_si128((const __m128i *)(constant + 4 * i)));

			cdgh = _mm_sha256rnds2_epu32(cdgh, abef, words);
			abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(words, 0x0e));
		}
		abef = _mm_add_epi32(abef, abef_before);
		cdgh = _mm_add_epi32(cdgh, cdgh_before);
	}
	const __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);

	_mm_storeu_si128((__m128i *)h, _mm_blend_epi16(feba, dchg, 0xf0));
	_mm_storeu_si128((__m128i *)(h + 4), _mm_alignr_epi8(dchg, feba, 8));
}
#else
static bool host_has_sha(void)
{
	return false;
}

static void take_by_host(uint32_t h[8], const uint8_t *p, size_t blocks)
{
	(void)h, (void)p, (void)blocks;
}
#endif

static void take_block(struct digest *d, const uint8_t *p)
{
	uint32_t w[64], v[8];

	for (unsigned i = 0; i < 16; i++, p += 4)
		w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
	for (unsigned i = 16; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];

		w[i] = w[i - 16] + w[i - 7] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) +
		       (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
	}
	memcpy(v, d->h, sizeof(v));
	for (unsigned i = 0; i < 64; i++) {
		uint32_t s1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
		uint32_t s0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
		uint32_t t1 = v[7] + s1 + ((v[4] & v[5]) ^ (~v[4] & v[6])) + constant[i] + w[i];
		uint32_t t2 = s0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));

		memmove(v + 1, v, 7 * sizeof(v[0]));
		v[4] += t1;
		v[0] = t1 + t2;
	}
	for (unsigned i = 0; i < 8; i++)
		d->h[i] += v[i];
}

void digest_init(struct digest *d)
{
	static const uint32_t start[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

	memcpy(d->h, start, sizeof(start));
	d->bytes = 0;
	d->by_host = host_has_sha();
}

static void take_blocks(struct digest *d, const uint8_t *p, size_t blocks)
{
	if (d->by_host)
		take_by_host(d->h, p, blocks);
	for (; !d->by_host && blocks; blocks--, p += sizeof(d->block))
		take_block(d, p);
}

void digest_add(struct digest *d, const void *data, size_t bytes)
{
	const uint8_t *p = data;

	if (d->bytes % sizeof(d->block) == 0 && bytes >= sizeof(d->block)) {
		const size_t blocks = bytes / sizeof(d->block);

		take_blocks(d, p, blocks);
		d->bytes += blocks * sizeof(d->block);
		p += blocks * sizeof(d->block);
		bytes %= sizeof(d->block);
	}
	while (bytes) {
		size_t at = d->bytes % sizeof(d->block);
		size_t n = sizeof(d->block) - at < bytes ? sizeof(d->block) - at : bytes;

		memcpy(d->block + at, p, n);
		d->bytes += n;
		p += n;
		bytes -= n;
		if (at + n == sizeof(d->block))
			take_blocks(d, d->block, 1);
	}
}

static void digest_number(struct digest *d, uint64_t n)
{
	uint8_t b[8];

	for (unsigned i = 0; i < 8; i++)
		b[i] = (uint8_t)(n >> (56 - 8 * i));
	digest_add(d, b, sizeof(b));
}

void digest_text(struct digest *d, const char *text)
{
	digest_number(d, text ? strlen(text) : UINT64_MAX);
	if (text)
		digest_add(d, text, strlen(text));
}

bool digest_descriptor(struct digest *d, int fd)
{
	char *buf = x_malloc(1 << 16);
	uint64_t at = 0;
	ssize_t n;

	while ((n = pread(fd, buf, 1 << 16, (off_t)at)) > 0) {
		digest_add(d, buf, (size_t)n);
		at += (uint64_t)n;
	}
	free(buf);
	return n == 0;
}

bool digest_file(struct digest *d, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		if (fd >= 0)
			close(fd);
		digest_number(d, UINT64_MAX);
		return false;
	}

	char *buf = x_malloc(1 << 16);
	uint64_t total = 0;
	ssize_t n;

	while ((n = read(fd, buf, 1 << 16)) > 0) {
		digest_add(d, buf, (size_t)n);
		total += (uint64_t)n;
	}
	digest_number(d, n < 0 ? UINT64_MAX : total);
	free(buf);
	close(fd);
	return n == 0;
}

void digest_hex(struct digest *d, char hex[DIGEST_HEX])
{
	uint64_t bits = d->bytes * 8;
	static const uint8_t pad[64] = { 0x80 };

	digest_add(d, pad, 1 + (119 - d->bytes % 64) % 64);
	digest_number(d, bits);
	for (unsigned i = 0; i < 8; i++)
		snprintf(hex + (size_t)8 * i, 9, "%08x", d->h[i]);
}
