/* SPDX-License-Identifier: MIT */
/*
 * Which functions are parts that the compiler split off another one. Symbols say it (f.cold belongs to
 * f). Where the file has none, a piece of code without a name belongs to the function into whose middle
 * it jumps, as a cold part does when it is done; and DWARF says it for parts that never come back.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#include "image/cfg_graphs.h"
#include "util/array.h"

struct image_graphs *image_graphs(struct image *im)
{
	if (im->graphs)
		return im->graphs;
	im->graphs = x_calloc(1, sizeof(*im->graphs));
	im->graphs->whole = x_malloc((im->nfunctions + 1) * sizeof(*im->graphs->whole));
	im->graphs->returns = x_calloc(im->nfunctions + 1, 1);
	im->graphs->writes = x_calloc(im->nfunctions + 1, sizeof(*im->graphs->writes));
	for (size_t i = 0; i < im->nfunctions; i++)
		im->graphs->whole[i] = UINT32_MAX;
	return im->graphs;
}

void image_free_graphs(struct image *im)
{
	if (!im->graphs)
		return;
	free(im->graphs->whole);
	free(im->graphs->returns);
	free(im->graphs->writes);
	free(im->graphs->entries);
	free(im->graphs->by_name);
	free(im->graphs);
	im->graphs = NULL;
}

/* How many characters of a part's name are its function's; 0: it is no part. */
static size_t base_name(const char *name)
{
	static const char *const marks[] = { ".cold", ".__part." };

	for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
		const char *at = strstr(name, marks[i]), *rest = at ? at + strlen(marks[i]) : NULL;

		if (at && at > name && (!*rest || rest[strspn(rest, ".0123456789")] == '\0'))
			return (size_t)(at - name);
	}
	return 0;
}

static int by_name(const void *a, const void *b, void *functions)
{
	const struct function_range *f = functions;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const int order = strcmp(f[x].name, f[y].name);

	return order ? order : (x > y) - (x < y);
}

static int compare_base(const char *name, const char *base, size_t length)
{
	const int order = strncmp(name, base, length);

	return order ? order : name[length] != '\0';
}

/* The function with this name; NULL: there is none, or several and none of them holds `near`. */
static const struct function_range *find_base(struct image *im, const char *base, size_t length,
					      uint64_t near)
{
	struct image_graphs *g = image_graphs(im);

	if (!g->by_name) {
		g->by_name = x_malloc((im->nfunctions + 1) * sizeof(*g->by_name));
		for (uint32_t i = 0; i < im->nfunctions; i++)
			g->by_name[i] = i;
		qsort_r(g->by_name, im->nfunctions, sizeof(*g->by_name), by_name, im->functions);
	}
	const struct function_range *only = NULL;
	size_t found = 0;
	for (size_t i =
		 ARRAY_SEARCH(im->nfunctions, k,
			      compare_base(im->functions[g->by_name[k]].name, base, length) < 0);
	     i < im->nfunctions; i++) {
		const struct function_range *f = &im->functions[g->by_name[i]];

		if (compare_base(f->name, base, length))
			break;
		only = f;
		found++;
		if (near >= f->start && near < f->end)
			return f;
	}
	return found == 1 ? only : NULL;
}

/* The first address in the middle of another function that code jumps to; 0: none. */
static uint64_t jumps_into(const struct image *im, const struct function_range *f)
{
	size_t left = 0;
	const uint8_t *bytes = image_code(im, f->start, &left);
	struct cfg_inst in = { 0 }, before;
	bool is_inst;

	for (uint64_t pc = f->start; bytes && pc < f->end && pc - f->start < left;
	     pc += in.size_bytes) {
		before = in;
		if (!image_decode_after(im->arch, bytes + (pc - f->start), left - (pc - f->start),
					pc, &before, &in, &is_inst))
			break;
		if (!in.direct || (in.flow != IMAGE_JUMP && in.flow != IMAGE_BRANCH) ||
		    (in.target >= f->start && in.target < f->end))
			continue;
		const struct function_range *to = image_function(im, in.target);
		if (to && to->start != in.target)
			return in.target;
	}
	return 0;
}

/* The function whose ranges in DWARF hold pc; NULL: DWARF does not say. */
static const struct function_range *by_dwarf(struct image *im, uint64_t pc)
{
	Dwarf_Die unit;
	Dwarf_Addr entry;
	uint64_t bias;
	struct scope *at = image_scope(im, pc, &unit);

	while (at && dwarf_tag(&at->die) != DW_TAG_subprogram)
		at = image_outer_scope(im, &unit, at);
	if (!at || dwarf_entrypc(&at->die, &entry) || !image_unit(im, pc, &unit, &bias))
		return NULL;
	return image_function(im, entry + bias + im->skew);
}

/* The function that code without a name is a part of; NULL: none. Hot and cold part of one function
 * jump into each other: the larger is the function. */
static const struct function_range *by_jumps(const struct image *im, const struct function_range *f,
					     uint64_t into)
{
	const struct function_range *to = image_function(im, into);
	const uint64_t back = to->name[0] == '[' ? jumps_into(im, to) : 0;
	const uint64_t size = f->end - f->start, other = to->end - to->start;

	if (back >= f->start && back < f->end &&
	    (size > other || (size == other && f->start > to->start)))
		return NULL;
	return to;
}

const struct function_range *image_whole(struct image *im, const struct function_range *f)
{
	struct image_graphs *g = image_graphs(im);
	const size_t index = (size_t)(f - im->functions);
	const size_t base = base_name(f->name);
	const struct function_range *whole = NULL;

	if (g->whole[index] != UINT32_MAX)
		return &im->functions[g->whole[index]];
	if (base || f->name[0] == '[') {
		const uint64_t into = jumps_into(im, f);

		if (base)
			whole = find_base(im, f->name, base, into);
		else
			whole = into ? by_jumps(im, f, into) : by_dwarf(im, f->start);
	}
	g->whole[index] = (uint32_t)(whole ? (size_t)(whole - im->functions) : index);
	return &im->functions[g->whole[index]];
}
