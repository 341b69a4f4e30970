/* SPDX-License-Identifier: MIT */
/* Small helpers for all folders: memory, errors, paths, random numbers. */
#ifndef UTIL_UTIL_H
#define UTIL_UTIL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define likely(x)    __builtin_expect(!!(x), 1)
#define unlikely(x)  __builtin_expect(!!(x), 0)
#define PRINTF(f, a) __attribute__((format(printf, f, a)))

/* Ends the program with one line on stderr and exit status 2. Only for main, cmd/ and out of
 * memory. */
_Noreturn void die(const char *fmt, ...) PRINTF(1, 2);
/* One line on stderr, prefixed "culprit: ". */
void warn(const char *fmt, ...) PRINTF(1, 2);

/* What went wrong, in a sentence that names what, where and what to do. Empty when all is well. */
struct err {
	char text[512];
};
/* Fills e (if not NULL) and returns false, so that a failing path can `return err_set(e, …)`. */
bool err_set(struct err *e, const char *fmt, ...) PRINTF(2, 3);

/* Allocation that dies when memory runs out. x_calloc zeroes. */
void *x_malloc(size_t size_bytes);
void *x_calloc(size_t count, size_t size_bytes);
void *x_realloc(void *p, size_t size_bytes);
/* Not zeroed, at the start of a cache line. */
void *x_aligned(size_t size_bytes);
char *x_strdup(const char *s);
char *x_strndup(const char *s, size_t n);
char *x_asprintf(const char *fmt, ...) PRINTF(1, 2);

/* What follows the folder in a path: "" for the folder itself, NULL if it does not lie there. */
const char *path_below(const char *path, const char *folder);
/* What follows the last slash, or the whole path if nothing does. NULL stays NULL. */
const char *path_name(const char *path);
/* The user's cache folder for culprit: $CULPRIT_CACHE, or where XDG wants it. The caller frees. */
char *path_cache(void);

/* A small, fast, seedable generator (xoshiro256**), the same on every host. */
struct rng {
	uint64_t s[4];
};
void rng_seed(struct rng *r, uint64_t seed);
uint64_t rng_next(struct rng *r);
/* Uniform in [0, n), n > 0, without modulo bias. */
uint64_t rng_below(struct rng *r, uint64_t n);

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}
static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}
/* The largest 16-bit number stands for all above it. */
static inline uint16_t clip_u16(uint64_t x)
{
	return x < UINT16_MAX ? (uint16_t)x : UINT16_MAX;
}
/* Mixes all bits of a key; for hash tables. */
static inline uint64_t hash_u64(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

#endif
