/* SPDX-License-Identifier: MIT */
/*
 * culprit sim --profile: executed instructions by class and by function, from the guest's exact
 * block counts. These are counts, not time.
 *
 * Instructions outside every known function are listed under their file's name; code that no file
 * holds (generated at run time) is listed under [anonymous].
 */
#include "cmd/sim.h"

#include <stdlib.h>
#include <string.h>

#include "image/image.h"
#include "util/array.h"
#include "util/number.h"
#include "util/text.h"

#define HOT_FUNCTIONS 12

/* A function, or the code of a file without a name. At first one function may have several rows. */
struct function {
	const char *name; /* NULL: not known */
	size_t image;	  /* index in images; SIZE_MAX: in no file */
	uint64_t start;	  /* guest address; 0 if the name is not known */
	uint64_t insts;
};

struct profile {
	struct images *images;
	uint64_t by_class[CLASS_COUNT];
	uint64_t total;
	struct function *functions;
	size_t nfunctions;
	uint64_t start, end; /* guest addresses of the last row of functions */
};

/* Makes the function around pc the last row of p->functions. */
static void enter_function(struct profile *p, uint64_t pc)
{
	const struct function *last = p->nfunctions ? &p->functions[p->nfunctions - 1] : NULL;
	struct place place = images_place(p->images, pc);
	struct function f = { NULL, place.image, 0, 0 };

	p->start = pc;
	p->end = pc + 1;
	if (place.start <= pc && pc < place.end) {
		f.name = place.function;
		f.start = p->start = place.start;
		p->end = place.end;
	}
	if (last && !f.name && !last->name && f.image == last->image)
		return;
	*ARRAY_ADD(p->functions, p->nfunctions) = f;
}

static void count_block(void *ctx, uint64_t pc, const struct inst *insts, size_t count,
			uint64_t times)
{
	struct profile *p = ctx;

	for (size_t i = 0; i < count; i++) {
		if (pc < p->start || pc >= p->end)
			enter_function(p, pc);
		p->functions[p->nfunctions - 1].insts += times;
		p->by_class[op_info[insts[i].op].cls] += times;
		p->total += times;
		pc += insts[i].len;
	}
}

static int by_place(const void *va, const void *vb)
{
	const struct function *a = va, *b = vb;

	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

static int by_insts(const void *va, const void *vb)
{
	const struct function *a = va, *b = vb;

	if (a->insts != b->insts)
		return a->insts > b->insts ? -1 : 1;
	return by_place(va, vb);
}

/* Makes one row per function, the one with most instructions first. */
static void merge_functions(struct profile *p)
{
	size_t kept = 0;

	if (!p->nfunctions)
		return;
	qsort(p->functions, p->nfunctions, sizeof(*p->functions), by_place);
	for (size_t i = 1; i < p->nfunctions; i++) {
		if (by_place(&p->functions[kept], &p->functions[i]))
			p->functions[++kept] = p->functions[i];
		else
			p->functions[kept].insts += p->functions[i].insts;
	}
	p->nfunctions = kept + 1;
	qsort(p->functions, p->nfunctions, sizeof(*p->functions), by_insts);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void print_mix(FILE *out, const struct profile *p)
{
	char number[NUMBER_COMMAS_BYTES];
	bool done[CLASS_COUNT] = { false };

	fprintf(out, "\ninstruction mix\n");
	for (;;) {
		int best = -1;

		for (int c = 0; c < CLASS_COUNT; c++)
			if (!done[c] && p->by_class[c] &&
			    (best < 0 || p->by_class[c] > p->by_class[best]))
				best = c;
		if (best < 0)
			return;
		done[best] = true;
		fprintf(out, "  %6.2f %%  %16s  %s\n", percent(p->by_class[best], p->total),
			number_commas(p->by_class[best], number), op_class_name[best]);
	}
}

static const char *image_name(const struct profile *p, size_t image)
{
	return image == SIZE_MAX ? "anonymous" : path_name(images_info(p->images, image).name);
}

static void print_functions(FILE *out, const struct profile *p)
{
	char number[NUMBER_COMMAS_BYTES];
	size_t shown = 0;
	uint64_t rest = p->total;

	/* Leave out functions with less than a ten-thousandth of all instructions. */
	while (shown < min_u64(p->nfunctions, HOT_FUNCTIONS) &&
	       p->functions[shown].insts > p->total / 10000)
		shown++;

	fprintf(out, "\nhot functions\n");
	for (size_t i = 0; i < shown; i++) {
		const struct function *f = &p->functions[i];

		char *name = text_shown(f->name ? f->name : "[no symbol]");
		char *image = text_shown(image_name(p, f->image));

		rest -= f->insts;
		fprintf(out, "  %6.2f %%  %16s  %s  (%s)\n", percent(f->insts, p->total),
			number_commas(f->insts, number), name, image);
		free(name);
		free(image);
	}
	if (p->nfunctions > shown)
		fprintf(out, "  %6.2f %%  %16s  in %zu others\n", percent(rest, p->total),
			number_commas(rest, number), p->nfunctions - shown);
	fputc('\n', out);
}

void sim_print_profile(FILE *out, struct guest *g, const char *sysroot)
{
	struct profile p = { .images = images_new(sysroot), .start = 1, .end = 0 };
	const struct guest_image *images;
	size_t count = guest_images(g, &images);
	struct err e;

	/* Functions of a file that can no longer be read have no names. */
	for (size_t i = 0; i < count; i++)
		images_add(p.images, images[i].path, images[i].name, images[i].bias, &e);
	guest_visit_blocks(g, count_block, &p);
	merge_functions(&p);
	print_mix(out, &p);
	print_functions(out, &p);
	images_free(p.images);
	free(p.functions);
}
