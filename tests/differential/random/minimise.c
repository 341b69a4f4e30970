/* SPDX-License-Identifier: MIT */
/*
 * Makes a failing program smaller: iterations first, then runs of items, halving their length, for
 * as long as the machines still disagree. Not the smallest possible, but a screenful.
 */
#include <stdio.h>
#include <stdlib.h>

#include "differential/random/run.h"
#include "isa/isa.h"
#include "util/util.h"

static bool fails(const struct runner *r, const struct program *p)
{
	static struct outcomes out; /* large; only the minimiser uses it */

	run_everywhere(r, p, &out);
	return run_differs(r, &out) != MACHINES;
}

static bool can_be_off(const struct item *it)
{
	return it->kind == ITEM_PLAIN || it->kind == ITEM_SKIP || it->kind == ITEM_CALL ||
	       it->kind == ITEM_LOOP_BEGIN;
}

/* Switches items [from, to) off; returns how many were on. */
static size_t switch_off(struct program *p, size_t from, size_t to, bool *was)
{
	size_t n = 0;

	for (size_t i = from; i < to; i++) {
		was[i] = p->items[i].on;
		if (can_be_off(&p->items[i]) && was[i]) {
			p->items[i].on = false;
			n++;
		}
	}
	return n;
}

static void less_iterations(const struct runner *r, struct program *p)
{
	static const int counts[] = { 1, 2, 14 };

	for (size_t i = 0; i < p->nitems; i++) {
		struct item *it = &p->items[i];
		uint32_t *word = &it->words[it->nwords ? it->nwords - 1 : 0], before = *word;

		/* The loop counter is the last word of the item that begins a loop. */
		if (!(it->kind == ITEM_LOOP_BEGIN && it->on) &&
		    !(it->kind == ITEM_SEGMENT_BEGIN && isa_decode(before).op == OP_ADDI &&
		      isa_decode(before).rd == REG_OUTER))
			continue;
		for (size_t k = 0; k < ARRAY_LEN(counts); k++) {
			if ((int)(before >> 20) <= counts[k])
				break;
			*word = (before & 0xfffff) | (uint32_t)counts[k] << 20;
			if (fails(r, p))
				break;
			*word = before;
		}
	}
}

void program_minimise(const struct runner *r, struct program *p)
{
	bool *was = x_calloc(p->nitems, sizeof(*was));

	for (size_t length = p->nitems; length; length /= 2) {
		for (size_t end = p->nitems; end; end = end > length ? end - length : 0) {
			size_t from = end > length ? end - length : 0;

			if (!switch_off(p, from, end, was))
				continue;
			if (!fails(r, p))
				for (size_t i = from; i < end; i++)
					p->items[i].on = was[i];
		}
	}
	/* Remove empty segments, too: they take no time but clutter the output. */
	for (size_t i = START_ITEMS; i + 1 < p->nitems; i++) {
		struct item *it = &p->items[i];
		bool empty = it->kind == ITEM_SEGMENT_BEGIN;
		size_t k = i + 1;

		for (; empty && p->items[k].kind != ITEM_SEGMENT_END && k + 1 < p->nitems; k++)
			empty = !program_is_on(p, k);
		if (empty && p->items[k].kind == ITEM_SEGMENT_END) {
			uint8_t begin = it->nwords, end = p->items[k].nwords;

			it->nwords = p->items[k].nwords = 0;
			if (!fails(r, p)) {
				it->nwords = begin;
				p->items[k].nwords = end;
			}
		}
	}
	less_iterations(r, p);
	free(was);
}

void program_print(const struct program *p)
{
	struct code code;
	char text[128];

	program_layout(p, &code);
	for (uint64_t at = code.at[START_ITEMS] - CODE_ADDR; at < code.size_bytes;) {
		uint32_t word = 0;
		struct inst in;

		for (unsigned k = 0; k < 4 && at + k < code.size_bytes; k++)
			word |= (uint32_t)code.bytes[at + k] << 8 * k;
		in = isa_decode(word);
		isa_disasm(&in, CODE_ADDR + at, DISASM_RAW, text, sizeof(text));
		if (CODE_ADDR + at == code.dump)
			break;
		printf("%8llx: %08x  %s\n", CODE_ADDR + at, in.word, text);
		at += in.len;
	}
	code_free(&code);
}
