/* SPDX-License-Identifier: MIT */
/* Messages, allocation that does not fail, paths, and random numbers (Blackman and Vigna, 2018). */
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

#include "util/text.h"

static void put_line(const char *fmt, va_list ap)
{
	char *text;

	if (vasprintf(&text, fmt, ap) < 0) {
		fputs("culprit: out of memory\n", stderr);
		return;
	}
	text_make_plain(text);
	fprintf(stderr, "culprit: %s\n", text);
	free(text);
}

void die(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	put_line(fmt, ap);
	va_end(ap);
	exit(2);
}

void warn(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	put_line(fmt, ap);
	va_end(ap);
}

bool err_set(struct err *e, const char *fmt, ...)
{
	if (e) {
		va_list ap;
		va_start(ap, fmt);
		vsnprintf(e->text, sizeof(e->text), fmt, ap);
		va_end(ap);
		text_make_plain(e->text);
	}
	return false;
}

static void *checked(void *p, size_t size_bytes)
{
	if (!p)
		die("out of memory (%zu bytes asked for)", size_bytes);
	return p;
}

void *x_malloc(size_t size_bytes)
{
	return checked(malloc(size_bytes ? size_bytes : 1), size_bytes);
}

void *x_calloc(size_t count, size_t size_bytes)
{
	return checked(calloc(count ? count : 1, size_bytes ? size_bytes : 1), size_bytes);
}

void *x_realloc(void *p, size_t size_bytes)
{
	return checked(realloc(p, size_bytes ? size_bytes : 1), size_bytes);
}

void *x_aligned(size_t size_bytes)
{
	return checked(aligned_alloc(64, (size_bytes + 63) & ~(size_t)63), size_bytes);
}

char *x_strdup(const char *s)
{
	return checked(strdup(s), strlen(s));
}

char *x_strndup(const char *s, size_t n)
{
	return checked(strndup(s, n), n);
}

char *x_asprintf(const char *fmt, ...)
{
	va_list ap;
	char *s;
	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		die("out of memory");
	va_end(ap);
	return s;
}

const char *path_below(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	if (strncmp(path, folder, n) || (path[n] && path[n] != '/'))
		return NULL;
	return path + n + (path[n] == '/');
}

const char *path_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash && slash[1] ? slash + 1 : path;
}

static uint64_t rotl(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

void rng_seed(struct rng *r, uint64_t seed)
{
	for (int i = 0; i < 4; i++)
		r->s[i] = hash_u64(seed += 0x9e3779b97f4a7c15ull);
}

uint64_t rng_next(struct rng *r)
{
	uint64_t *s = r->s;
	uint64_t result = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;
	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotl(s[3], 45);
	return result;
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
	return (uint64_t)(((unsigned __int128)rng_next(r) * n) >> 64);
}

char *path_cache(void)
{
	const char *own = getenv("CULPRIT_CACHE"), *xdg = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");

	if (own && *own)
		return x_strdup(own);
	if (xdg && *xdg == '/')
		return x_asprintf("%s/culprit", xdg);
	return x_asprintf("%s/.cache/culprit", home && *home ? home : "/tmp");
}
