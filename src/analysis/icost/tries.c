/* SPDX-License-Identifier: MIT */
/*
 * Which other sizes of a machine's parts are tried: of queues, registers and other entries 3/4, 1/2, 3/8, 1/4
 * and 1/8; of widths and units, which are few, each that is smaller, or the same fractions; of all, caches too,
 * twice the size. And the machine without one of its limits.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/icost/resources.h"

#define FEW 6 /* units of which every smaller number is tried */

/* A part that the machine does not have, or that another one takes the place of. */
static bool is_absent(const struct machine *m, enum resource what)
{
	switch (what) {
	case RESOURCE_QUEUE:
		return !m->unified;
	case RESOURCE_INT_QUEUE:
	case RESOURCE_MEM_QUEUE:
	case RESOURCE_FP_QUEUE:
	case RESOURCE_INT_ISSUE:
	case RESOURCE_MEM_ISSUE:
	case RESOURCE_FP_ISSUE:
		return m->unified;
	default:
		return false;
	}
}

/* Its size in the machine; 0: it has none. */
static uint32_t size_of(const struct machine *m, enum resource what)
{
	const struct resource_param *r = &resource_params[what];
	const struct param *p = *r->key ? machine_param_find(r->section, r->key, NULL) : NULL;
	uint32_t n = 0;

	if (p)
		memcpy(&n, (const char *)m + p->offset, sizeof(n));
	return is_absent(m, what) || n == MACHINE_UNLIMITED ? 0 : n;
}

struct sized_limits resources_limits(const struct machine *machine)
{
	struct sized_limits l;

	for (unsigned k = 0; k < RESOURCES; k++) {
		l.of[k] = size_of(machine, (enum resource)k);
		if (!l.of[k] || machine->ideal_all & (IDEAL_BW | IDEAL_WIN))
			l.of[k] = SIZED_NONE;
	}
	return l;
}

static void add(struct resources_try *list, size_t *n, enum resource what, uint32_t real,
		uint32_t size)
{
	struct resources_try *t = &list[(*n)++];
	const struct resource_param *r = &resource_params[what];

	*t = (struct resources_try){ .change = { what, size }, .real = real };
	snprintf(t->settings, sizeof(t->settings), "%s.%s=%u", r->section, r->key, size);
}

/* One size of a kind that has them; nothing if it is not one that the machine takes. */
static void add_size(struct resources_try *list, size_t *n, enum resource what, uint32_t real,
		     uint32_t size)
{
	const struct resource_param *r = &resource_params[what];
	const struct param *p = machine_param_find(r->section, r->key, NULL);

	if (size == real || !size || size < p->min || size > p->max ||
	    *n >= RESOURCES_CHANGES - 8 ||
	    (*n && list[*n - 1].change.what == what && list[*n - 1].change.size == size))
		return;
	add(list, n, what, real, size);
}

static void add_sizes(const struct machine *m, struct resources_try *list, size_t *n,
		      enum resource what)
{
	static const uint32_t eighths[] = { 6, 4, 3, 2, 1 };
	const uint32_t real = size_of(m, what),
		       always = what == RESOURCE_INT_REGS || what == RESOURCE_FP_REGS ? 32 : 0;
	const enum resource_kind kind = resource_params[what].kind;

	if (real <= always)
		return;
	if (kind != RESOURCE_IS_CACHE) {
		if (kind != RESOURCE_IS_ENTRIES && real <= FEW)
			for (uint32_t size = real - 1; size; size--)
				add_size(list, n, what, real, size);
		else
			for (unsigned k = 0; k < ARRAY_LEN(eighths); k++)
				add_size(list, n, what, real,
					 always + (real - always) * eighths[k] / 8);
	}
	add_size(list, n, what, real, always + (real - always) * 2);
}

static void add_limit(struct resources_try *list, size_t *n, enum resource what)
{
	struct resources_try *t = &list[(*n)++];

	*t = (struct resources_try){ .change = { what, SIZED_NONE } };
	snprintf(t->settings, sizeof(t->settings), "ideal.%s=on", words_resources[what].name);
}

size_t resources_tries(const struct machine *machine, struct resources_try *list)
{
	size_t n = 0;

	for (unsigned k = 0; k < RESOURCES; k++)
		if (resource_params[k].kind == RESOURCE_IS_LIMIT)
			add_limit(list, &n, (enum resource)k);
		else
			add_sizes(machine, list, &n, (enum resource)k);
	return n;
}
