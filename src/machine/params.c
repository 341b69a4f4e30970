/* SPDX-License-Identifier: MIT */
/*
 * The rows of params.h as a table, the defaults, and one parameter as text. Nothing here knows a
 * single parameter.
 */
#include "machine/machine.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "machine/machine_int.h"
#include "util/nearest.h"

const char *const ideal_name[IDEAL_COUNT] = {
#define X(id, name, ...) name,
	WORDS_COSTS(X) WORDS_IDEALS(X)
#undef X
};

#define X(id, name) name,
static const char *const names_MODELS[] = { MACHINE_MODELS(X) NULL };
static const char *const names_ORDERS[] = { MACHINE_ORDERS(X) NULL };
static const char *const names_SERIALS[] = { MACHINE_SERIALS(X) NULL };
static const char *const names_REPLACEMENTS[] = { MACHINE_REPLACEMENTS(X) NULL };
static const char *const names_PREFETCHERS[] = { MACHINE_PREFETCHERS(X) NULL };
static const char *const names_WALKS[] = { MACHINE_WALKS(X) NULL };
static const char *const names_MEMORIES[] = { MACHINE_MEMORIES(X) NULL };
static const char *const names_DIRECTIONS[] = { MACHINE_DIRECTIONS(X) NULL };
#undef X

const struct machine machine_default = { .name = "default",
					 .mem.seed = 1,
#define X(type, section, at, member, key, unit, min, max, flags, value, help) .at member = value,
					 MACHINE_PARAMS(X) MACHINE_BPRED(X, bpred.)
#undef X
};

/* The columns unit and choices, which mean something else for each type. */
#define UNIT_U32(u)	  u
#define UNIT_I32(u)	  u
#define UNIT_REAL(u)	  u
#define UNIT_NUMBER(u)	  u
#define UNIT_LIST(u)	  u
#define UNIT_BOOL(u)	  "yes/no"
#define UNIT_TEXT(u)	  "text"
#define UNIT_CHOICE(u)	  "name"
#define UNIT_NAME(u)	  "name"
#define CHOICES_U32(u)	  NULL
#define CHOICES_I32(u)	  NULL
#define CHOICES_REAL(u)	  NULL
#define CHOICES_NUMBER(u) NULL
#define CHOICES_LIST(u)	  NULL
#define CHOICES_BOOL(u)	  NULL
#define CHOICES_TEXT(u)	  NULL
#define CHOICES_CHOICE(u) names_##u
#define CHOICES_NAME(u)	  names_##u
#define ZERO		  PARAM_ZERO
#define POW2		  PARAM_POW2

const struct param machine_params[] = {
#define X(t, s, at, member, k, u, lo, hi, f, value, h)                                             \
	{ .section = s,                                                                            \
	  .key = k,                                                                                \
	  .type = PARAM_##t,                                                                       \
	  .offset = offsetof(struct machine, at member),                                           \
	  .size_bytes = sizeof(((struct machine *)0)->at member),                                  \
	  .unit = UNIT_##t(u),                                                                     \
	  .min = lo,                                                                               \
	  .max = hi,                                                                               \
	  .flags = f,                                                                              \
	  .help = h,                                                                               \
	  .choices = CHOICES_##t(u) },
	MACHINE_PARAMS(X)
#define IDEAL(id, k, h)                                                                            \
	{ .section = "ideal",                                                                      \
	  .key = k,                                                                                \
	  .type = PARAM_IDEAL,                                                                     \
	  .offset = IDEAL_##id,                                                                    \
	  .unit = "on/off/pcs",                                                                    \
	  .help = h },
#define COST(id, name, bit, letter, colour, rgb, kind, words, better, verb, meaning)               \
	IDEAL(id, name, meaning)
	    WORDS_COSTS(COST) WORDS_IDEALS(IDEAL) MACHINE_BPRED(X, bpred.)
#undef X
};
const size_t machine_params_count = ARRAY_LEN(machine_params);
_Static_assert(ARRAY_LEN(machine_params) <= MACHINE_PARAMS_MAX, "machine.line has room for all");

const struct param *machine_param_find(const char *section, const char *key, struct err *e)
{
	struct nearest near_section = { .word = section }, near_key = { .word = key };
	bool known = false;

	for (const struct param *p = machine_params; p < machine_params + machine_params_count;
	     p++) {
		if (strcmp(p->section, section))
			continue;
		known = true;
		if (!strcmp(p->key, key))
			return p;
	}
	if (!e)
		return NULL;
	for (const struct param *p = machine_params; p < machine_params + machine_params_count;
	     p++) {
		nearest_try(&near_section, p->section);
		if (!strcmp(p->section, section))
			nearest_try(&near_key, p->key);
	}
	if (known)
		err_set(e, "%s.%s: there is no such key; the nearest is '%s.%s'", section, key,
			section, near_key.best);
	else
		err_set(e, "%s.%s: there is no section '%s'; the nearest is '%s'", section, key,
			section, near_section.best);
	return NULL;
}

char *machine_param_choices(const struct param *p, char *buf, size_t size_bytes)
{
	size_t used = 0;

	*buf = 0;
	for (size_t i = 0; p->choices[i] && used < size_bytes; i++)
		used += (size_t)snprintf(buf + used, size_bytes - used, "%s%s", i ? ", " : "",
					 p->choices[i]);
	return buf;
}

/* ---- from text ---- */

static bool parse_bool(const char *text, bool *value)
{
	static const char *const words[] = { "no", "yes", "off", "on", "false", "true", "0", "1" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (!strcasecmp(text, words[i])) {
			*value = i & 1;
			return true;
		}
	}
	return false;
}

/* A number with an optional k, M or G, which are powers of 1024. */
static bool parse_number(const char *text, double *value)
{
	char *end;

	/* no space, sign or word that strtod would take */
	if (text[strspn(text, "-")] < '0' || text[strspn(text, "-")] > '9')
		return false;
	errno = 0;
	*value = strchr(text, 'x') || strchr(text, 'X') ? (double)strtoull(text, &end, 16)
							: strtod(text, &end);
	if (end == text || errno || !(*value >= -1e18 && *value <= 1e18))
		return false;
	if (!strcasecmp(end, "k"))
		*value *= 1024;
	else if (!strcasecmp(end, "m"))
		*value *= 1024 * 1024;
	else if (!strcasecmp(end, "g"))
		*value *= 1024.0 * 1024 * 1024;
	else if (*end)
		return false;
	return true;
}

/* The index of the choice that text names, or -1. */
static int find_choice(const struct param *p, const char *text)
{
	for (int i = 0; p->choices[i]; i++)
		if (!strcmp(text, p->choices[i]))
			return i;
	return -1;
}

static bool set_number(void *to, const struct param *p, const char *text, struct err *e)
{
	double number;

	if (!parse_number(text, &number) ||
	    (p->type != PARAM_REAL && number != (double)(int64_t)number) ||
	    ((number < p->min || number > p->max) && !(p->flags & PARAM_ZERO && number == 0)))
		return err_set(e, "%s.%s = %s: valid: %s%.10g…%.10g %s", p->section, p->key, text,
			       p->flags & PARAM_ZERO && p->min > 0 ? "0 or " : "", p->min, p->max,
			       p->unit);
	if (p->type == PARAM_REAL)
		*(double *)to = number;
	else if (p->type == PARAM_I32)
		*(int32_t *)to = (int32_t)number;
	else
		*(uint32_t *)to = (uint32_t)number;
	return true;
}

/* Reads one number of a list and what separates it from the next; NULL if there is none. */
static const char *read_item(const char *s, uint32_t *x)
{
	unsigned long v;
	char *end;

	while (isspace((unsigned char)*s))
		s++;
	if (!isdigit((unsigned char)*s))
		return NULL;
	errno = 0;
	v = strtoul(s, &end, 0);
	if (errno || v > UINT32_MAX)
		return NULL;
	*x = (uint32_t)v;
	if (*end != 0 && *end != ',' && !isspace((unsigned char)*end))
		return NULL;
	s = end;
	while (isspace((unsigned char)*s))
		s++;
	return *s == ',' ? s + 1 : s;
}

bool machine_item_check(const struct param *p, uint32_t x, struct err *e)
{
	bool pow2 = x != 0 && (x & (x - 1)) == 0;

	if ((x == 0 && p->flags & PARAM_ZERO) ||
	    (x >= p->min && x <= p->max && (!(p->flags & PARAM_POW2) || pow2)))
		return true;
	return err_set(e, "%s = %u: must be %s%s%.0f..%.0f %s", p->key, x,
		       p->flags & PARAM_ZERO ? "0 or " : "",
		       p->flags & PARAM_POW2 ? "a power of two in " : "in ", p->min, p->max,
		       p->unit);
}

static bool set_list(uint32_t *to, const struct param *p, const char *text, struct err *e)
{
	uint32_t x[BPRED_TAGE_MAX], n = 0, room = (uint32_t)(p->size_bytes / sizeof(*to));
	const char *s = text;

	do {
		if (n == room)
			return err_set(e, "%s = %s: must be at most %u numbers", p->key, text,
				       room);
		s = read_item(s, &x[n]);
		if (s == NULL)
			return err_set(e, "%s = %s: not a number; must be in %.0f..%.0f %s", p->key,
				       text, p->min, p->max, p->unit);
		if (!machine_item_check(p, x[n], e))
			return false;
		n++;
	} while (*s);
	for (uint32_t i = 0; i < room; i++)
		if (n == 1 || i < n)
			to[i] = x[n == 1 ? 0 : i];
	return true;
}

static bool set_ideal(struct machine *m, const struct param *p, const char *text, struct err *e)
{
	uint32_t bit = (uint32_t)p->offset;
	bool on;

	if (parse_bool(text, &on)) {
		m->ideal_all = on ? m->ideal_all | bit : m->ideal_all & ~bit;
		for (uint32_t i = 0; !on && i < m->nideal_pcs; i++)
			m->ideal_pcs[i].mask &= ~bit;
		return true;
	}
	if (bit & (IDEAL_WIN | IDEAL_BW | IDEAL_FETCH_BW | IDEAL_ISSUE_BW | IDEAL_COMMIT_BW))
		return err_set(
		    e, "ideal.%s = %s: valid: on, off (it belongs to no single instruction)",
		    p->key, text);
	for (const char *s = text; *s;) {
		char *end;
		uint64_t pc = strtoull(s, &end, 16);

		if (end == s || (*end && !strchr(", \t", *end)))
			return err_set(
			    e,
			    "ideal.%s = %s: valid: on, off, or addresses of instructions in "
			    "hexadecimal, separated by commas",
			    p->key, text);
		uint32_t i = 0;
		while (i < m->nideal_pcs && m->ideal_pcs[i].pc != pc)
			i++;
		if (i == IDEAL_PCS_MAX)
			return err_set(e, "ideal.%s: at most %d addresses in all", p->key,
				       IDEAL_PCS_MAX);
		if (i == m->nideal_pcs)
			m->ideal_pcs[m->nideal_pcs++].mask = 0;
		m->ideal_pcs[i].pc = pc;
		m->ideal_pcs[i].mask |= bit;
		s = end + strspn(end, ", \t");
	}
	return true;
}

bool machine_param_set(struct machine *m, const struct param *p, const char *text, struct err *e)
{
	void *to = (char *)m + p->offset;
	char all[128];
	int choice;

	switch (p->type) {
	case PARAM_U32:
	case PARAM_I32:
	case PARAM_REAL:
		return set_number(to, p, text, e);
	case PARAM_BOOL:
		return parse_bool(text, to) ||
		       err_set(e, "%s.%s = %s: valid: yes, no", p->section, p->key, text);
	case PARAM_CHOICE:
		choice = find_choice(p, text);
		if (choice < 0)
			return err_set(e, "%s.%s = %s: valid: %s", p->section, p->key, text,
				       machine_param_choices(p, all, sizeof(all)));
		*(uint32_t *)to = (uint32_t)choice;
		return true;
	case PARAM_NAME:
		if (find_choice(p, text) < 0)
			return err_set(e, "%s = %s: must be one of %s", p->key, text,
				       machine_param_choices(p, all, sizeof(all)));
		memset(to, 0, p->size_bytes);
		memcpy(to, text, strlen(text));
		return true;
	case PARAM_TEXT:
		if (strlen(text) >= p->size_bytes)
			return err_set(e, "%s.%s: longer than %zu characters", p->section, p->key,
				       p->size_bytes - 1);
		memset(to, 0, p->size_bytes); /* equal machines have equal bytes */
		memcpy(to, text, strlen(text));
		return true;
	case PARAM_NUMBER:
	case PARAM_LIST:
		return set_list(to, p, text, e);
	case PARAM_IDEAL:
		return set_ideal(m, p, text, e);
	}
	return false;
}

bool machine_put(struct machine *m, const char *section, const char *key, const char *value,
		 struct err *e)
{
	const struct param *p = machine_param_find(section, key, e);

	return p && machine_param_set(m, p, value, e);
}

bool machine_set(struct machine *m, const char *assignment, struct err *e)
{
	const char *equals = strchr(assignment, '=');
	const char *dot = strchr(assignment, '.');
	char section[64], key[64], value[512];

	if (!equals || !dot || dot > equals || (size_t)(dot - assignment) >= sizeof(section) ||
	    (size_t)(equals - dot) >= sizeof(key) || strlen(equals) >= sizeof(value))
		return err_set(e, "'%s' is not of the form section.key=value", assignment);
	snprintf(section, sizeof(section), "%.*s", (int)(dot - assignment), assignment);
	snprintf(key, sizeof(key), "%.*s", (int)(equals - dot - 1), dot + 1);
	snprintf(value, sizeof(value), "%s", equals + 1);
	for (char *k = key + strlen(key); k > key && (k[-1] == ' ' || k[-1] == '\t');)
		*--k = 0;
	if (!strcmp(section, "machine") && !strcmp(key, "base"))
		return err_set(e, "machine.base can only stand in a machine file; use --machine");

	const struct param *p = machine_param_find(section, key, e);

	if (!p)
		return false;
	m->line[p - machine_params] = 0;
	return machine_param_set(m, p, value + strspn(value, " \t"), e);
}

void machine_unknown(struct machine *m)
{
	*m = machine_default;
	snprintf(m->name, sizeof(m->name), "unknown");
	m->unified = true;
	m->unified_queue = m->int_queue = m->mem_queue = m->fp_queue = MACHINE_UNLIMITED;
	m->issue_width = m->int_issue = m->mem_issue = m->fp_issue = MACHINE_UNLIMITED;
	m->int_regs = m->fp_regs = MACHINE_UNLIMITED;
	m->order = ORDER_PERFECT; /* no load is flushed that the run did not flush */
	m->fetch_targets = m->branches = MACHINE_UNLIMITED;
	for (unsigned i = 0; i < UNIT_COUNT; i++)
		m->unit[i].count = MACHINE_UNLIMITED;
	for (unsigned i = 0; i < MEM_CACHES; i++)
		m->mem.cache[i].size_bytes = 0;
	m->mem.itlb.entries = m->mem.dtlb.entries = m->mem.stlb.entries = 0;
}

/* ---- to text ---- */

static void print_list(const uint32_t *x, size_t count, char *buf, size_t size_bytes)
{
	size_t used = 0;

	*buf = 0;
	for (size_t i = 0; i < count && used < size_bytes; i++)
		used += (size_t)snprintf(buf + used, size_bytes - used, "%s%u", i ? " " : "", x[i]);
}

static void print_ideal(const struct machine *m, uint32_t bit, char *buf, size_t size_bytes)
{
	size_t used = 0;

	snprintf(buf, size_bytes, "%s", m->ideal_all & bit ? "on" : "off");
	if (m->ideal_all & bit)
		return;
	for (uint32_t i = 0; i < m->nideal_pcs && used < size_bytes; i++)
		if (m->ideal_pcs[i].mask & bit)
			used += (size_t)snprintf(buf + used, size_bytes - used, "%s0x%" PRIx64,
						 used ? "," : "", m->ideal_pcs[i].pc);
}

void machine_param_text(const struct machine *m, const struct param *p, char *buf,
			size_t size_bytes)
{
	const void *at = (const char *)m + p->offset;

	switch (p->type) {
	case PARAM_U32:
		snprintf(buf, size_bytes, "%u", *(const uint32_t *)at);
		break;
	case PARAM_I32:
		snprintf(buf, size_bytes, "%d", *(const int32_t *)at);
		break;
	case PARAM_REAL:
		snprintf(buf, size_bytes, "%.10g", *(const double *)at);
		break;
	case PARAM_BOOL:
		snprintf(buf, size_bytes, "%s", *(const bool *)at ? "yes" : "no");
		break;
	case PARAM_CHOICE:
		snprintf(buf, size_bytes, "%s", p->choices[*(const uint32_t *)at]);
		break;
	case PARAM_TEXT:
	case PARAM_NAME:
		snprintf(buf, size_bytes, "%s", (const char *)at);
		break;
	case PARAM_NUMBER:
	case PARAM_LIST:
		print_list(at, p->size_bytes / sizeof(uint32_t), buf, size_bytes);
		break;
	case PARAM_IDEAL:
		print_ideal(m, (uint32_t)p->offset, buf, size_bytes);
		break;
	}
}
