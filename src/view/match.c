/* SPDX-License-Identifier: MIT */
/*
 * Pairs the instructions of two builds of a function: the order-preserving pairing with the highest
 * score, by dynamic programming as for the longest common subsequence.
 *
 * Two instructions can be a pair if they have the same mnemonic and either come from the same
 * source line or have operands of the same kinds. From source lines that are known to be different
 * they pair only if they are alike in every operand, which is what an edit above them leaves. The
 * score counts the line most, then the operands, then their kinds.
 *
 * The common beginning and end of both listings are paired at once, so that two runs of one build
 * cost nothing. The table is limited to CELLS_MAX entries; for longer functions only pairs near the
 * diagonal are looked at.
 */
#include "view/match.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define CELLS_MAX ((size_t)48 << 20)

static uint64_t digest(uint64_t h, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		h = hash_u64(h ^ (unsigned char)text[i]);
	return h | 1; /* 0 is unknown */
}

static char register_kind(const char *name, size_t length)
{
	static const char *const plain[] = { "zero", "ra", "sp", "gp", "tp", "fp" };
	for (size_t i = 0; i < ARRAY_LEN(plain); i++)
		if (strlen(plain[i]) == length && !memcmp(plain[i], name, length))
			return 'x';
	bool floating = length > 2 && name[0] == 'f';
	const char *at = name + floating;
	const char *end = name + length;
	if (at == end || !strchr("ast", *at++) || at == end)
		return 0;
	while (at < end && isdigit((unsigned char)*at))
		at++;
	return at == end ? (floating ? 'f' : 'x') : 0;
}

/* Operands with registers and numbers as their kinds. */
static uint64_t shape_of(uint64_t h, const char *at, const char *end)
{
	while (at < end) {
		const char *from = at;
		if (isdigit((unsigned char)*at) || (*at == '-' && at + 1 < end)) {
			at++;
			while (at < end && isalnum((unsigned char)*at))
				at++;
			h = digest(h, "#", 1);
			continue;
		}
		while (at < end && (isalnum((unsigned char)*at) || *at == '_'))
			at++;
		char kind = register_kind(from, (size_t)(at - from));
		if (at == from)
			at++;
		h = kind ? digest(h, &kind, 1) : digest(h, from, (size_t)(at - from));
	}
	return h;
}

struct match_key match_key(const char *disasm, const char *file, int line)
{
	struct match_key k = { 0 };
	if (!disasm)
		disasm = "";
	size_t mnemonic = strcspn(disasm, " \t");
	const char *operands = disasm + mnemonic + strspn(disasm + mnemonic, " \t");
	const char *end = operands + strlen(operands), *target = strstr(operands, " <");
	if (target) { /* the address before the name of where it leads */
		for (end = target; end > operands && end[-1] != ',';)
			end--;
	}
	k.mnemonic = digest(0, disasm, mnemonic);
	k.text = digest(hash_u64(k.mnemonic), operands, (size_t)(end - operands));
	k.shape = shape_of(hash_u64(k.mnemonic), operands, end);
	if (file && line > 0) {
		const char *base = path_name(file);
		k.line = digest((uint64_t)line, base, strlen(base));
	}
	return k;
}

/* 0: no pair. */
static int32_t score(const struct match_key *a, const struct match_key *b)
{
	if (a->mnemonic != b->mnemonic)
		return 0;
	bool known = a->line && b->line, same_text = a->text == b->text;
	if (known && a->line != b->line)
		return same_text ? 2 : 0;
	if (!known && a->shape != b->shape)
		return 0;
	return 1 + (a->shape == b->shape) + 2 * same_text + 3 * known;
}

enum step { STEP_BEFORE, STEP_AFTER, STEP_BOTH };

/* The part of row i that is looked at: columns from..to, both included. */
struct band {
	size_t n, m, half;
	size_t width; /* room for a row */
};
static size_t band_from(const struct band *b, size_t i)
{
	size_t middle = i * b->m / b->n;
	return middle > b->half ? middle - b->half : 0;
}
static size_t band_to(const struct band *b, size_t i)
{
	size_t middle = i * b->m / b->n;
	return b->m - middle > b->half ? middle + b->half : b->m;
}

/* Fills steps, a row per element of a. Cells outside the band are worth what the
 * nearest one before them is, and cost nothing to cross. */
static void fill(const struct match_key *a, const struct match_key *b, const struct band *band,
		 uint8_t *steps)
{
	int32_t *best = x_calloc(band->m + 1, sizeof(*best)); /* of the row above, then of this */
	size_t filled = band->m; /* columns of best that hold the row above */
	for (size_t i = 1; i <= band->n; i++) {
		size_t from = band_from(band, i), to = band_to(band, i);
		uint8_t *row = steps + (i - 1) * band->width;
		for (; filled < to; filled++)
			best[filled + 1] = best[filled];
		int32_t diagonal = from ? best[from - 1] : 0;
		for (size_t j = from; j <= to; j++) {
			int32_t up = best[j], value = up;
			enum step step = STEP_BEFORE;
			if (j > 0 && best[j - 1] > value && j > from) {
				value = best[j - 1];
				step = STEP_AFTER;
			}
			int32_t pair = j > 0 ? score(&a[i - 1], &b[j - 1]) : 0;
			if (pair && diagonal + pair >= value) {
				value = diagonal + pair;
				step = STEP_BOTH;
			}
			diagonal = up;
			best[j] = value;
			row[j - from] = (uint8_t)step;
		}
		filled = to;
	}
	free(best);
}

/* Aligns what is left without the common beginning and end; `offset` is the length of the former.
 * Returns how many pairs. */
static size_t align(const struct match_key *a, size_t n, const struct match_key *b, size_t m,
		    size_t offset, struct match_pair *pairs)
{
	size_t count = 0, i = n, j = m;
	struct band band = { n, m, m, m + 1 };
	uint8_t *steps = NULL;
	if (n && m) {
		if (n * band.width > CELLS_MAX) {
			band.half = CELLS_MAX / n / 2 + m / n + 1;
			band.width = 2 * band.half + 1;
		}
		steps = x_malloc(n * band.width);
		fill(a, b, &band, steps);
	}
	while (i || j) {
		enum step step = STEP_BEFORE;
		if (!i || (j && j > band_to(&band, i)))
			step = STEP_AFTER;
		else if (j && j >= band_from(&band, i))
			step = steps[(i - 1) * band.width + j - band_from(&band, i)];
		i -= step != STEP_AFTER;
		j -= step != STEP_BEFORE;
		pairs[count++] =
		    (struct match_pair){ step == STEP_AFTER ? MATCH_NONE : offset + i,
					 step == STEP_BEFORE ? MATCH_NONE : offset + j };
	}
	free(steps);
	for (size_t k = 0; k < count / 2; k++) {
		struct match_pair t = pairs[k];
		pairs[k] = pairs[count - 1 - k];
		pairs[count - 1 - k] = t;
	}
	return count;
}

static bool alike(const struct match_key *a, const struct match_key *b)
{
	return a->text == b->text && (a->line == b->line || !a->line || !b->line);
}

size_t match_keys(const struct match_key *a, size_t n, const struct match_key *b, size_t m,
		  struct match_pair *pairs)
{
	size_t head = 0, tail = 0, shorter = n < m ? n : m;
	while (head < shorter && alike(&a[head], &b[head]))
		head++;
	while (tail < shorter - head && alike(&a[n - 1 - tail], &b[m - 1 - tail]))
		tail++;
	for (size_t i = 0; i < head; i++)
		pairs[i] = (struct match_pair){ i, i };
	size_t count =
	    head + align(a + head, n - head - tail, b + head, m - head - tail, head, pairs + head);
	for (size_t i = tail; i-- > 0;)
		pairs[count++] = (struct match_pair){ n - 1 - i, m - 1 - i };
	return count;
}

static int by_name(const void *x, const void *y)
{
	const struct model_function *a = *(const struct model_function *const *)x,
				    *b = *(const struct model_function *const *)y;
	int order = strcmp(a->name, b->name);
	if (!order)
		order =
		    strcmp(a->file ? path_name(a->file) : "", b->file ? path_name(b->file) : "");
	return order ? order : (a->start > b->start) - (a->start < b->start);
}

static const struct model_function **sorted(const struct model *m)
{
	const struct model_function **all = x_malloc((m->nfunctions + 1) * sizeof(*all));
	for (size_t i = 0; i < m->nfunctions; i++)
		all[i] = &m->functions[i];
	qsort(all, m->nfunctions, sizeof(*all), by_name);
	return all;
}

/* Whether a name occurs once in a sorted list: then its file does not matter. */
static bool alone(const struct model_function **list, size_t count, size_t at)
{
	return (at == 0 || strcmp(list[at - 1]->name, list[at]->name) != 0) &&
	       (at + 1 == count || strcmp(list[at + 1]->name, list[at]->name) != 0);
}

size_t match_functions(const struct model *a, const struct model *b, struct match_pair **pairs)
{
	const struct model_function **x = sorted(a), **y = sorted(b);
	size_t i = 0, j = 0, count = 0;
	*pairs = x_malloc((a->nfunctions + b->nfunctions + 1) * sizeof(**pairs));
	while (i < a->nfunctions || j < b->nfunctions) {
		int order = i == a->nfunctions ? 1 : j == b->nfunctions ? -1 : 0;
		if (!order) {
			order = strcmp(x[i]->name, y[j]->name);
			if (!order && !(alone(x, a->nfunctions, i) && alone(y, b->nfunctions, j)))
				order = strcmp(x[i]->file ? path_name(x[i]->file) : "",
					       y[j]->file ? path_name(y[j]->file) : "");
		}
		(*pairs)[count++] = (struct match_pair){
			order > 0 ? MATCH_NONE : (size_t)(x[i] - a->functions),
			order < 0 ? MATCH_NONE : (size_t)(y[j] - b->functions),
		};
		i += order <= 0;
		j += order >= 0;
	}
	free(x);
	free(y);
	return count;
}

/* Instructions of a function: first index and number. They are stored by address. */
static size_t range_of(const struct model *m, size_t function, size_t *first)
{
	size_t count = 0;

	if (function == MATCH_NONE)
		return 0;
	*first = model_first_from(m, m->functions[function].start);
	while (*first + count < m->ninsts &&
	       m->insts[*first + count].function == m->functions[function].id)
		count++;
	return count;
}

static struct match_key *keys_of(const struct model *m)
{
	struct match_key *keys = x_malloc((m->ninsts + 1) * sizeof(*keys));
	for (size_t i = 0; i < m->ninsts; i++)
		keys[i] = match_key(m->insts[i].disasm, m->insts[i].file, m->insts[i].line);
	return keys;
}

size_t match_insts(const struct model *a, const struct model *b, struct match_pair **pairs)
{
	struct match_key *ka = keys_of(a), *kb = keys_of(b);
	struct match_pair *functions;
	size_t nfunctions = match_functions(a, b, &functions), count = 0;
	*pairs = x_malloc((a->ninsts + b->ninsts + 1) * sizeof(**pairs));
	for (size_t f = 0; f < nfunctions; f++) {
		size_t first_a = 0, first_b = 0;
		size_t n = range_of(a, functions[f].before, &first_a);
		size_t m = range_of(b, functions[f].after, &first_b);
		struct match_pair *out = *pairs + count;
		size_t found = match_keys(ka + first_a, n, kb + first_b, m, out);
		for (size_t i = 0; i < found; i++) {
			out[i].before += out[i].before == MATCH_NONE ? 0 : first_a;
			out[i].after += out[i].after == MATCH_NONE ? 0 : first_b;
		}
		count += found;
	}
	free(functions);
	free(ka);
	free(kb);
	return count;
}
