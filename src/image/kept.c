/* SPDX-License-Identifier: MIT */
/*
 * Images without a file: the kernel, generated code, files that are gone. Their functions, and some
 * of their code, are what somebody kept of them.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "image/image_int.h"
#include "util/array.h"

#if defined(__x86_64__)
#define HOST_MACHINE EM_X86_64
#elif defined(__riscv)
#define HOST_MACHINE EM_RISCV
#else
#define HOST_MACHINE EM_NONE
#endif

static void add_function(struct image *im, uint64_t start, uint64_t end, char *name)
{
	*ARRAY_ADD(im->functions, im->nfunctions) =
	    (struct function_range){ start, end, name, true };
}

/* Copies the symbols that lie in the image, apart from each other and without gaps. */
static void add_symbols(struct image *im, const struct image_kept *k)
{
	for (size_t i = 0; i < k->nsymbols && im->nfunctions < IMAGE_SYMBOLS_MAX; i++) {
		const struct image_symbol *s = &k->symbols[i];

		if (s->start < im->start || s->start >= im->end || !s->name || !*s->name)
			continue;
		const uint64_t end = s->start + s->size_bytes;

		add_function(im, s->start, end < s->start ? s->start : end,
			     x_strndup(s->name, IMAGE_NAME_BYTES));
	}
	const size_t kept = image_join_functions(im);

	for (size_t i = 0; i < kept; i++) {
		struct function_range *f = &im->functions[i];
		const uint64_t limit = i + 1 < kept ? f[1].start : im->end;

		if (f->end == f->start || f->end > limit)
			f->end = limit;
	}
	size_t next = 0;

	image_fill_gap(im, im->start, im->end, kept, &next);
	image_sort_functions(im);
}

static int by_start(const void *a, const void *b)
{
	const struct code *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static void add_code(struct image *im, const struct image_kept *k)
{
	size_t bytes = 0, kept = 0;

	for (size_t i = 0; i < k->ncode; i++)
		bytes += k->code[i].size_bytes;
	im->kept = x_malloc(bytes + 1);
	bytes = 0;
	for (size_t i = 0; i < k->ncode; i++) {
		const struct image_bytes *c = &k->code[i];

		if (c->start < im->start || c->start >= im->end ||
		    c->size_bytes > im->end - c->start || !c->size_bytes)
			continue;
		memcpy(im->kept + bytes, c->bytes, c->size_bytes);
		*ARRAY_ADD(im->code, im->ncode) =
		    (struct code){ c->start, c->start + c->size_bytes, im->kept + bytes };
		bytes += c->size_bytes;
	}
	if (im->ncode)
		qsort(im->code, im->ncode, sizeof(*im->code), by_start);
	for (size_t i = 0; i < im->ncode; i++)
		if (!kept || im->code[i].start >= im->code[kept - 1].end)
			im->code[kept++] = im->code[i];
	im->ncode = kept;
}

void images_add_kept(struct images *s, const struct image_kept *k)
{
	struct image *im = ARRAY_ADD(s->image, s->count);
	const bool bracketed = k->name[0] == '[';

	*im = (struct image){ .path = x_strdup(""),
			      .name = x_strdup(k->name),
			      .bias = k->bias,
			      .start = k->start,
			      .end = k->end,
			      .arch = arch_find(k->machine ? k->machine : HOST_MACHINE),
			      .gathered = true };
	if (k->nsymbols)
		add_symbols(im, k);
	else if (k->end > k->start)
		add_function(im, k->start, k->end,
			     bracketed ? x_strdup(k->name)
				       : x_asprintf("[%s]", path_name(k->name)));
	if (k->ncode)
		add_code(im, k);
}
