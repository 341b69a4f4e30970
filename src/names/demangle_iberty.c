/* SPDX-License-Identifier: MIT */
/*
 * Demangling, by libiberty.
 *
 * A name comes from a binary, and a short one can describe a text of any length, because its parts
 * may refer to each other. The functions of libiberty that print through a callback keep nothing in
 * allocated memory between the calls, so that the work can be ended in the middle when the text
 * gets too long.
 */
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

#include "names/demangle.h"

#define SHOWN_BYTES   4096
#define MANGLED_BYTES 4096 /* longer ones stay as they are */

struct printing {
	char text[SHOWN_BYTES];
	size_t bytes;
	jmp_buf too_long;
};

static void print(const char *s, size_t n, void *self)
{
	struct printing *p = self;

	if (n >= sizeof(p->text) - p->bytes)
		longjmp(p->too_long, 1);
	memcpy(p->text + p->bytes, s, n);
	p->bytes += n;
}

char *demangle(const char *name)
{
	struct printing p = { .bytes = 0 };

	if (!demangle_looks_mangled(name) || strnlen(name, MANGLED_BYTES) == MANGLED_BYTES)
		return NULL;
	if (setjmp(p.too_long))
		return NULL;
	/* Rust's older scheme looks like C++ with a hash at the end. */
	if (rust_demangle_callback(name, DMGL_NO_OPTS, print, &p))
		return x_strndup(p.text, p.bytes);
	p.bytes = 0;
	if (name[1] == 'Z' && cplus_demangle_v3_callback(name, DMGL_NO_OPTS, print, &p) && p.bytes)
		return x_strndup(p.text, p.bytes);
	return NULL;
}
