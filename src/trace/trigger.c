/* SPDX-License-Identifier: MIT */
/*
 * Cuts the record streams into regions. The cutter works on whole batches and walks from one
 * decision point, which is a cycle, to the next: a cycle condition is found by its cycle, an
 * instruction condition by scanning inst records, which are in commit order. Slices are the records
 * between decision points.
 *
 * Only committed instructions count for conditions; squashed ones belong to the region of the cycle
 * in which they are squashed.
 */
#include "trace/trigger.h"

#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/number.h"

/* Parses a number, with units if `units` allows them. It may be followed by '#'; *end is there. */
static bool parse_number(const char *s, enum number_units units, const char **end, uint64_t *out)
{
	size_t n = strcspn(s, "#");
	char *word = x_strndup(s, n);
	bool ok = number_parse(word, &(struct number_range){ .units = units }, out);
	free(word);
	*end = s + n;
	return ok;
}

/* Reads WORD[/MASK]; *end is at what follows. */
static bool parse_word(const char *s, const char **end, struct trigger *out)
{
	const struct number_range range = { .max = UINT32_MAX, .units = NUMBER_PLAIN };
	const size_t n = strcspn(s, "#");
	char *word = x_strndup(s, n), *mask = strchr(word, '/');
	uint64_t bits = UINT32_MAX;

	if (mask)
		*mask++ = 0;
	const bool ok = number_parse(word, &range, &out->value) &&
			(!mask || number_parse(mask, &range, &bits)) && !(out->value & ~bits);
	free(word);
	out->kind = TRIGGER_WORD;
	out->mask = (uint32_t)bits;
	*end = s + n;
	return ok;
}

static bool any_name(void *ctx, const char *name, uint64_t *addr)
{
	*addr = 0;
	return *name;
}

bool trigger_check(const char *text, struct err *e)
{
	struct trigger t;
	return trigger_parse(text, any_name, NULL, &t, e);
}

bool trigger_parse(const char *text, bool (*resolve)(void *ctx, const char *name, uint64_t *addr),
		   void *ctx, struct trigger *out, struct err *e)
{
	static const char usage[] =
	    "use cycle:N, inst:N, pc:ADDR[#n], word:WORD[/MASK][#n], symbol:NAME[#n] or mark";
	const char *colon = strchr(text, ':'), *rest = colon ? colon + 1 : text, *end = rest;
	size_t word = colon ? (size_t)(colon - text) : 0;
	*out = (struct trigger){ .kind = TRIGGER_INST, .nth = 1 };

	if (!strcmp(text, "mark")) {
		out->kind = TRIGGER_MARK;
		return true;
	}
	if (word == 6 && !strncmp(text, "symbol", word)) {
		const char *hash = strrchr(rest, '#');
		char *name = hash ? x_strndup(rest, (size_t)(hash - rest)) : x_strdup(rest);
		bool found = resolve && resolve(ctx, name, &out->value);
		free(name);
		if (!found)
			return err_set(e, "trigger '%s': no function of that name in the program",
				       text);
		out->kind = TRIGGER_PC;
		end = hash ? hash : rest + strlen(rest);
	} else if (word == 4 && !strncmp(text, "word", word)) {
		if (!parse_word(rest, &end, out))
			return err_set(e,
				       "trigger '%s': not an instruction word of at most 32 bits, "
				       "or one with bits outside of its mask; %s",
				       text, usage);
	} else {
		if (word == 5 && !strncmp(text, "cycle", word))
			out->kind = TRIGGER_CYCLE;
		else if (word == 2 && !strncmp(text, "pc", word))
			out->kind = TRIGGER_PC;
		else if (colon && !(word == 4 && !strncmp(text, "inst", word)))
			return err_set(e, "trigger '%s': unknown kind; %s", text, usage);
		if (!parse_number(rest, out->kind == TRIGGER_PC ? NUMBER_PLAIN : NUMBER_DECIMAL,
				  &end, &out->value))
			return err_set(e, "trigger '%s': not a number; %s", text, usage);
	}
	if ((out->kind == TRIGGER_PC || out->kind == TRIGGER_WORD) && *end == '#') {
		if (!parse_number(end + 1, NUMBER_DECIMAL, &end, &out->nth))
			return err_set(e, "trigger '%s': what follows # is not a number", text);
	}
	if (*end)
		return err_set(e, "trigger '%s': '%s' is left over; %s", text, end, usage);
	return true;
}

static uint64_t commit_cycle(const struct rec_inst *r)
{
	return r->fetch + r->commit;
}

static bool is_counted(const struct rec_inst *r)
{
	return (r->flags & (RI_COMMITTED | RI_FAULT)) == RI_COMMITTED;
}

/* Finds the cycle after the commit of the value-th instruction. An instruction may come in an earlier
 * batch than the cycle in which it commits. */
static bool find_after(struct trigger_cutter *t, uint64_t value, uint64_t from, uint64_t batch_end,
		       const struct rec_inst *insts, size_t ninsts, uint64_t *when)
{
	uint64_t n = t->counted;

	for (size_t i = 0; i < ninsts && n < value && !t->due; i++)
		if (is_counted(&insts[i]) && ++n == value)
			t->due = commit_cycle(&insts[i]) + 1;
	/* One that came with a batch before commits in the cycle that ended the wait for another. */
	*when = t->counted < value || t->due ? t->due : from;
	if (*when > batch_end || !*when)
		return false;
	t->due = 0;
	return true;
}

/* Finds the cycle at which condition c becomes true, from inst record *at and cycle `from` on.
 * False if it does not in this batch. On success *at is the instruction after the one that
 * triggered. */
static bool find(struct trigger_cutter *t, const struct trigger *c, bool start, uint64_t from,
		 uint64_t batch_end, const struct rec_inst *insts, size_t ninsts, size_t *at,
		 uint64_t *when)
{
	if (c->kind == TRIGGER_NONE) {
		*when = from;
		return start;
	}
	if (c->kind == TRIGGER_CYCLE) {
		*when = max_u64(c->value, from);
		return *when < batch_end;
	}
	if (c->kind == TRIGGER_AFTER)
		return find_after(t, c->value, from, batch_end, insts, ninsts, when);
	uint32_t mark = start ? RI_MARK_BEGIN : RI_MARK_END;
	for (size_t i = *at; i < ninsts; i++) {
		const struct rec_inst *r = &insts[i];
		if (!(r->flags & RI_COMMITTED))
			continue;
		bool hit = c->kind == TRIGGER_INST   ? r->po >= c->value
			   : c->kind == TRIGGER_MARK ? (r->flags & mark) != 0
			   : c->kind == TRIGGER_WORD ? (r->word & c->mask) == c->value
						     : r->pc == c->value;
		if (hit && (c->kind == TRIGGER_PC || c->kind == TRIGGER_WORD) && c->nth &&
		    ++t->seen != c->nth)
			hit = false;
		if (hit) {
			*at = i + 1;
			*when = max_u64(commit_cycle(r), from);
			return true;
		}
	}
	*at = ninsts;
	return false;
}

static bool can_repeat(const struct region *r)
{
	return r->start.kind == TRIGGER_MARK ||
	       ((r->start.kind == TRIGGER_PC || r->start.kind == TRIGGER_WORD) &&
		r->start.nth == 0);
}

/* Makes a record start exactly at cycle `when`, splitting a folded run if need be; returns its
 * index. */
static size_t split_at(struct rec_cycle *cycles, size_t *n, size_t from, uint64_t when)
{
	/* The first record that ends after `when`. */
	const size_t lo =
	    from +
	    ARRAY_SEARCH(*n - from, i, cycles[from + i].cycle + cycles[from + i].repeat <= when);
	if (lo == *n || cycles[lo].cycle >= when)
		return lo;
	memmove(&cycles[lo + 1], &cycles[lo], (*n - lo) * sizeof(*cycles));
	++*n;
	uint32_t before = (uint32_t)(when - cycles[lo].cycle);
	uint16_t issued = (uint16_t)((uint64_t)cycles[lo].nissue * before / cycles[lo].repeat);
	cycles[lo].repeat = before;
	cycles[lo].nissue = issued;
	cycles[lo + 1].cycle = when;
	cycles[lo + 1].repeat -= before;
	cycles[lo + 1].nissue -= issued;
	return lo + 1;
}

static size_t first_inst_from(const struct rec_inst *insts, size_t n, size_t from, uint64_t when)
{
	while (from < n && commit_cycle(&insts[from]) < when)
		from++;
	return from;
}

static size_t cut(struct trigger_cutter *t, struct rec_cycle *cycles, size_t *ncycles,
		  const struct rec_inst *insts, size_t ninsts, struct trigger_slice *slices,
		  size_t max_slices)
{
	if (!*ncycles) {
		if (t->current < t->count && t->regions[t->current].start.kind == TRIGGER_AFTER) {
			const struct region *r = &t->regions[t->current];
			uint64_t value = t->inside ? r->stop.value : r->start.value, when;
			find_after(t, value, 0, 0, insts, ninsts, &when);
		}
		return 0;
	}
	const struct rec_cycle *last = &cycles[*ncycles - 1];
	uint64_t now = cycles[0].cycle, batch_end = last->cycle + last->repeat, when;
	size_t nslices = 0, at = 0, ci = 0, ii = 0;

	while (t->current < t->count) {
		const struct region *r = &t->regions[t->current];
		if (!t->inside) {
			if (!find(t, &r->start, true, now, batch_end, insts, ninsts, &at, &when))
				return nslices;
			t->inside = true;
			t->seen = 0;
			ci = split_at(cycles, ncycles, ci, when);
			ii = first_inst_from(insts, ninsts, ii, when);
			now = when;
		}
		bool stops = find(t, &r->stop, false, now, batch_end, insts, ninsts, &at, &when);
		size_t cend = stops ? split_at(cycles, ncycles, ci, when) : *ncycles;
		size_t iend = stops ? first_inst_from(insts, ninsts, ii, when) : ninsts;
		if (nslices < max_slices && (cend > ci || iend > ii))
			slices[nslices++] = (struct trigger_slice){ ci, cend, ii, iend, 0 };
		if (!stops)
			return nslices;
		t->inside = false;
		t->seen = 0;
		now = when;
		ci = cend;
		ii = iend;
		if (t->current + 1 < t->count || !can_repeat(r))
			t->current++;
	}
	return nslices;
}

size_t trigger_cut(struct trigger_cutter *t, struct rec_cycle *cycles, size_t *ncycles,
		   const struct rec_inst *insts, size_t ninsts, struct trigger_slice *slices,
		   size_t max_slices)
{
	if (!t->count) {
		slices[0] = (struct trigger_slice){ 0, *ncycles, 0, ninsts, 0 };
		return *ncycles || ninsts;
	}
	size_t n = cut(t, cycles, ncycles, insts, ninsts, slices, max_slices);
	if (t->regions[0].start.kind == TRIGGER_AFTER)
		for (size_t i = 0; i < ninsts; i++)
			t->counted += is_counted(&insts[i]);
	return n;
}
