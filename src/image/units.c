/* SPDX-License-Identifier: MIT */
/*
 * Which compilation unit of DWARF an address belongs to. libdw looks in .debug_aranges alone, which
 * clang does not write. Where that says nothing, the units' own ranges are gathered once and
 * searched.
 */
#include <elfutils/libdw.h>
#include <stdlib.h>

#include "image/image_int.h"
#include "util/array.h"

#define RANGES_MAX (1u << 22) /* of all units of a file */

static int by_start(const void *a, const void *b)
{
	const struct unit_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static void gather(struct image *im, Dwarf *dwarf)
{
	Dwarf_Off at = 0, next;
	size_t header;

	for (; dwarf_nextcu(dwarf, at, &next, &header, NULL, NULL, NULL) == 0; at = next) {
		Dwarf_Addr base, start, end;
		Dwarf_Die die;

		if (next <= at || !dwarf_offdie(dwarf, at + header, &die))
			break;
		for (ptrdiff_t r = 0; im->nranges < RANGES_MAX &&
				      (r = dwarf_ranges(&die, r, &base, &start, &end)) > 0;)
			if (start < end)
				*ARRAY_ADD(im->ranges, im->nranges) =
				    (struct unit_range){ start, end, at + header };
	}
	if (im->nranges)
		qsort(im->ranges, im->nranges, sizeof(*im->ranges), by_start);
}

bool image_unit(struct image *im, uint64_t pc, Dwarf_Die *unit, uint64_t *bias)
{
	Dwarf_Addr found_bias;

	if (!im->module)
		return false;
	const Dwarf_Die *found = dwfl_module_addrdie(im->module, pc - im->skew, &found_bias);
	if (found) {
		*unit = *found;
		*bias = found_bias;
		return true;
	}
	Dwarf *dwarf = dwfl_module_getdwarf(im->module, &found_bias);
	if (!dwarf)
		return false;
	if (!im->ranged)
		gather(im, dwarf);
	im->ranged = true;
	const uint64_t own = pc - im->skew - found_bias;
	const size_t after = ARRAY_SEARCH(im->nranges, i, im->ranges[i].start <= own);
	*bias = found_bias;
	return after && own < im->ranges[after - 1].end &&
	       dwarf_offdie(dwarf, im->ranges[after - 1].unit, unit);
}
