/* SPDX-License-Identifier: MIT */
/*
 * Reading, setting, checking and printing machines. Everything here walks the table in params.c;
 * nothing knows a single parameter but config_check, which holds the rules that join several of
 * them.
 */
#include "core/config.h"

#include <assert.h>
#include <errno.h>
#include <ini.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/nearest.h"

#define BASE_DEPTH_MAX 8

void config_default(struct core_config *c)
{
	memset(c, 0, sizeof(*c));
	snprintf(c->name, sizeof(c->name), "default");
	memsys_config_default(&c->mem);
	c->bpred = bpred_config_default;
	assert(config_params() <= CONFIG_PARAMS_MAX);
	for (size_t i = 0; i < config_params(); i++) {
		struct param p = config_param(i);

		if (!p.initial || p.type == PARAM_TEXT)
			continue;

		struct err e;
		char assignment[160];

		snprintf(assignment, sizeof(assignment), "%s.%s=%s", p.section, p.key, p.initial);
		if (!config_set(c, assignment, &e)) {
			warn("default of %s", e.text);
			abort();
		}
	}
}

static void *field(struct core_config *c, const struct param *p)
{
	return (char *)c + p->offset;
}

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

static bool set_ideal(struct core_config *c, const struct param *p, const char *text, struct err *e)
{
	uint32_t bit = (uint32_t)p->offset;
	bool on;

	if (parse_bool(text, &on)) {
		c->ideal_all = on ? c->ideal_all | bit : c->ideal_all & ~bit;
		for (uint32_t i = 0; !on && i < c->nideal_pcs; i++)
			c->ideal_pcs[i].mask &= ~bit;
		return true;
	}
	if (bit & (IDEAL_WIN | IDEAL_BW))
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
		while (i < c->nideal_pcs && c->ideal_pcs[i].pc != pc)
			i++;
		if (i == IDEAL_PCS_MAX)
			return err_set(e, "ideal.%s: at most %d addresses in all", p->key,
				       IDEAL_PCS_MAX);
		if (i == c->nideal_pcs)
			c->ideal_pcs[c->nideal_pcs++].mask = 0;
		c->ideal_pcs[i].pc = pc;
		c->ideal_pcs[i].mask |= bit;
		s = end + strspn(end, ", \t");
	}
	return true;
}

static bool set_param(struct core_config *c, const struct param *p, const char *text, struct err *e)
{
	double number;
	bool on;

	switch (p->type) {
	case PARAM_U32:
	case PARAM_I32:
	case PARAM_REAL:
		if (!parse_number(text, &number) ||
		    (p->type != PARAM_REAL && number != (double)(int64_t)number) ||
		    ((number < p->min || number > p->max) && !(p->zero_ok && number == 0)))
			return err_set(e, "%s.%s = %s: valid: %s%.10g…%.10g %s", p->section, p->key,
				       text, p->zero_ok && p->min > 0 ? "0 or " : "", p->min,
				       p->max, p->unit);
		if (p->type == PARAM_REAL)
			*(double *)field(c, p) = number;
		else if (p->type == PARAM_I32)
			*(int32_t *)field(c, p) = (int32_t)number;
		else
			*(uint32_t *)field(c, p) = (uint32_t)number;
		return true;
	case PARAM_BOOL8:
	case PARAM_BOOL32:
		if (!parse_bool(text, &on))
			return err_set(e, "%s.%s = %s: valid: yes, no", p->section, p->key, text);
		if (p->type == PARAM_BOOL8)
			*(bool *)field(c, p) = on;
		else
			*(uint32_t *)field(c, p) = on;
		return true;
	case PARAM_CHOICE: {
		char all[128] = "";
		size_t used = 0;

		for (uint32_t i = 0; p->choices[i]; i++) {
			if (!strcmp(text, p->choices[i])) {
				*(uint32_t *)field(c, p) = i;
				return true;
			}
			used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s",
						 i ? ", " : "", p->choices[i]);
		}
		return err_set(e, "%s.%s = %s: valid: %s", p->section, p->key, text, all);
	}
	case PARAM_TEXT:
		if (strlen(text) >= p->size_bytes)
			return err_set(e, "%s.%s: longer than %zu characters", p->section, p->key,
				       p->size_bytes - 1);
		snprintf(field(c, p), p->size_bytes, "%s", text);
		return true;
	case PARAM_IDEAL:
		return set_ideal(c, p, text, e);
	case PARAM_BPRED:
		return bpred_config_set(&c->bpred, p->key, text, e);
	}
	return false;
}

/* Index of a parameter, or -1 and a message with the nearest one. */
static int find_param(const char *section, const char *key, struct err *e)
{
	struct nearest near_section = { .word = section }, near_key = { .word = key };
	bool known = false;

	for (size_t i = 0; i < config_params(); i++) {
		struct param p = config_param(i);

		if (!strcmp(p.section, section)) {
			known = true;
			if (!strcmp(p.key, key))
				return (int)i;
		}
	}
	for (size_t i = 0; i < config_params(); i++) {
		struct param p = config_param(i);

		nearest_try(&near_section, p.section);
		if (!strcmp(p.section, section))
			nearest_try(&near_key, p.key);
	}
	if (known)
		err_set(e, "%s.%s: there is no such key; the nearest is '%s.%s'", section, key,
			section, near_key.best);
	else
		err_set(e, "%s.%s: there is no section '%s'; the nearest is '%s'", section, key,
			section, near_section.best);
	return -1;
}

bool config_set(struct core_config *c, const char *assignment, struct err *e)
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

	int i = find_param(section, key, e);
	if (i < 0)
		return false;
	struct param p = config_param((size_t)i);
	c->line[i] = 0;
	return set_param(c, &p, value + strspn(value, " \t"), e);
}

/* What the INI reader hands from line to line. */
struct reading {
	struct core_config *c;
	const char *next; /* rest of the text */
	const char *where;
	int line;
	int depth;
	bool any; /* something was set already */
	bool failed;
	struct err *e;
};

static char *read_line(char *buf, int size, void *ctx)
{
	struct reading *r = ctx;

	if (!*r->next || size < 2)
		return NULL;
	size_t n = strcspn(r->next, "\n");
	size_t take = n + (r->next[n] == '\n');
	size_t copy = take < (size_t)size - 1 ? take : (size_t)size - 1;

	r->line++;
	if (memchr(r->next, 0, copy))
		copy = strlen(r->next);
	memcpy(buf, r->next, copy);
	buf[copy] = 0;
	if (copy < take) {
		err_set(r->e, "%s:%d: line longer than %d characters", r->where, r->line, size - 2);
		r->failed = true;
		return NULL;
	}
	r->next += take;
	return buf;
}

static bool parse_at(struct core_config *c, const char *text, const char *where, int depth,
		     struct err *e);
static bool load_at(struct core_config *c, const char *name, int depth, struct err *e);

static int read_pair(void *ctx, const char *section, const char *key, const char *value)
{
	struct reading *r = ctx;
	struct err inner;

	if (r->failed)
		return 0;
	int i = find_param(section, key, &inner);
	if (i >= 0 && !strcmp(section, "machine") && !strcmp(key, "base")) {
		if (r->any)
			err_set(&inner, "machine.base must come before everything else"), i = -1;
		else if (*value && !load_at(r->c, value, r->depth + 1, &inner))
			i = -1;
		else
			memset(r->c->line, 0, sizeof(r->c->line));
	}
	if (i >= 0) {
		struct param p = config_param((size_t)i);

		r->any = true;
		r->c->line[i] = clip_u16(r->line);
		if (set_param(r->c, &p, value, &inner))
			return 1;
	}
	err_set(r->e, "%s:%d: %s", r->where, r->line, inner.text);
	r->failed = true;
	return 0;
}

static bool parse_at(struct core_config *c, const char *text, const char *where, int depth,
		     struct err *e)
{
	struct reading r = { .c = c, .next = text, .where = where, .depth = depth, .e = e };
	int bad = ini_parse_stream(read_line, &r, read_pair, &r);

	if (!r.failed && bad)
		return err_set(e, "%s:%d: neither a [section] nor key = value", where, bad);
	snprintf(c->file, sizeof(c->file), "%s", where);
	return !r.failed;
}

bool config_parse(struct core_config *c, const char *text, const char *where, struct err *e)
{
	config_default(c);
	return parse_at(c, text, where, 0, e);
}

static char *read_file(const char *path, struct err *e)
{
	FILE *f = fopen(path, "rb");
	size_t used = 0, room = 1 << 16, limit = 1 << 22;

	if (!f) {
		err_set(e, "%s: cannot open: %s", path, strerror(errno));
		return NULL;
	}
	char *text = x_malloc(room + 1);
	for (size_t n; (n = fread(text + used, 1, room - used, f)) > 0;) {
		used += n;
		if (used == room && room < limit)
			text = x_realloc(text, (room *= 2) + 1);
	}
	bool bad = ferror(f) || used == limit;
	if (bad)
		err_set(e, "%s: cannot read: %s", path,
			used == limit ? "too large" : strerror(errno));
	fclose(f);
	text[used] = 0;
	if (bad) {
		free(text);
		return NULL;
	}
	return text;
}

/* Parses the machine called name on top of c, whatever c holds. */
static bool load_at(struct core_config *c, const char *name, int depth, struct err *e)
{
	size_t n = strlen(name);
	bool is_path = strchr(name, '/') || (n > 4 && !strcmp(name + n - 4, ".ini"));

	if (depth > BASE_DEPTH_MAX)
		return err_set(e, "machine.base = %s: machines refer to each other in a circle",
			       name);
	if (is_path) {
		char *text = read_file(name, e);
		bool ok = text && parse_at(c, text, name, depth, e);

		free(text);
		return ok;
	}
	struct nearest near = { .word = name };
	for (size_t i = 0; i < machine_files_count; i++) {
		if (!strcmp(machine_files[i].name, name)) {
			char where[128];

			snprintf(where, sizeof(where), "machines/%s.ini", name);
			return parse_at(c, machine_files[i].text, where, depth, e);
		}
		nearest_try(&near, machine_files[i].name);
	}
	return err_set(
	    e,
	    "there is no machine '%s'; the nearest is '%s' ('culprit machines' lists all; a "
	    "file needs a slash or .ini)",
	    name, near.best ? near.best : "none");
}

bool config_load(struct core_config *c, const char *name_or_path, struct err *e)
{
	config_default(c);
	if (!load_at(c, name_or_path, 0, e))
		return false;

	const char *name = path_name(name_or_path);
	size_t n = strlen(name);

	if (n > 4 && !strcmp(name + n - 4, ".ini"))
		n -= 4;
	snprintf(c->name, sizeof(c->name), "%.*s", (int)n, name);
	return true;
}

/* Fails with the place at which section.key was set, if it was set in a file. */
static bool bad_value(const struct core_config *c, const char *name, struct err *e, const char *fmt,
		      ...) PRINTF(4, 5);
static bool bad_value(const struct core_config *c, const char *name, struct err *e, const char *fmt,
		      ...)
{
	char text[400], prefix[300] = "";
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	for (size_t i = 0; i < config_params(); i++) {
		struct param p = config_param(i);
		char full[128];

		snprintf(full, sizeof(full), "%s.%s", p.section, p.key);
		if (!strcmp(full, name) && c->line[i])
			snprintf(prefix, sizeof(prefix), "%s:%u: ", c->file, c->line[i]);
	}
	return err_set(e, "%s%s", prefix, text);
}

static bool is_power_of_two(uint32_t x)
{
	return x && !(x & (x - 1));
}

bool config_check(const struct core_config *c, struct err *e)
{
	struct err inner;

	if (c->rob < c->commit_width)
		return bad_value(
		    c, "window.rob", e,
		    "window.rob = %u is smaller than window.commit_width = %u; valid: %u…1024",
		    c->rob, c->commit_width, c->commit_width);
	if (c->rob < c->decode_width)
		return bad_value(
		    c, "window.rob", e,
		    "window.rob = %u is smaller than decode.width = %u; valid: %u…1024", c->rob,
		    c->decode_width, c->decode_width);
	if (!is_power_of_two(c->fetch_block_bytes))
		return bad_value(c, "fetch.block_bytes", e,
				 "fetch.block_bytes = %u: valid: powers of two, 4…256",
				 c->fetch_block_bytes);
	if (c->fetch_block_bytes > c->mem.line_bytes)
		return bad_value(c, "fetch.block_bytes", e,
				 "fetch.block_bytes = %u is larger than mem.line = %u; valid: 4…%u",
				 c->fetch_block_bytes, c->mem.line_bytes, c->mem.line_bytes);
	if (c->fetch_buffer < c->decode_width)
		return bad_value(
		    c, "fetch.buffer", e,
		    "fetch.buffer = %u is smaller than decode.width = %u; valid: %u…1024",
		    c->fetch_buffer, c->decode_width, c->decode_width);
	if (c->wait_entries && !is_power_of_two(c->wait_entries))
		return bad_value(c, "lsu.wait_entries", e,
				 "lsu.wait_entries = %u: valid: 0 or powers of two, 16…65536",
				 c->wait_entries);
	if (!bpred_check(&c->bpred, &inner)) {
		char key[64];

		snprintf(key, sizeof(key), "%.*s", (int)strcspn(inner.text, " =:"), inner.text);
		bool prefixed = !strncmp(key, "bpred.", 6);
		char full[80];
		snprintf(full, sizeof(full), "%s%s", prefixed ? "" : "bpred.", key);
		return bad_value(c, full, e, "%s%s", prefixed ? "" : "bpred.", inner.text);
	}
	if (!memsys_check(&c->mem, &inner)) {
		char key[64];

		snprintf(key, sizeof(key), "%.*s", (int)strcspn(inner.text, " =:"), inner.text);
		return bad_value(c, key, e, "%s", inner.text);
	}
	return true;
}

static void print_bpred_value(const struct core_config *c, const struct param *p, char *buf,
			      size_t size_bytes)
{
	const void *at = (const char *)c + p->offset;
	size_t used = 0;

	if (!p->size_bytes) {
		snprintf(buf, size_bytes, "%s", (const char *)at);
		return;
	}
	*buf = 0;
	for (size_t i = 0; i < p->size_bytes && used < size_bytes; i++)
		used += (size_t)snprintf(buf + used, size_bytes - used, "%s%u", i ? " " : "",
					 ((const uint32_t *)at)[i]);
}

static void print_ideal_value(const struct core_config *c, uint32_t bit, char *buf,
			      size_t size_bytes)
{
	size_t used = 0;

	snprintf(buf, size_bytes, "%s", c->ideal_all & bit ? "on" : "off");
	if (c->ideal_all & bit)
		return;
	for (uint32_t i = 0; i < c->nideal_pcs && used < size_bytes; i++)
		if (c->ideal_pcs[i].mask & bit)
			used += (size_t)snprintf(buf + used, size_bytes - used, "%s0x%" PRIx64,
						 used ? "," : "", c->ideal_pcs[i].pc);
}

void config_value(const struct core_config *c, const struct param *p, char *buf, size_t size_bytes)
{
	const void *at = (const char *)c + p->offset;

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
	case PARAM_BOOL8:
		snprintf(buf, size_bytes, "%s", *(const bool *)at ? "yes" : "no");
		break;
	case PARAM_BOOL32:
		snprintf(buf, size_bytes, "%s", *(const uint32_t *)at ? "yes" : "no");
		break;
	case PARAM_CHOICE:
		snprintf(buf, size_bytes, "%s", p->choices[*(const uint32_t *)at]);
		break;
	case PARAM_TEXT:
		snprintf(buf, size_bytes, "%s", (const char *)at);
		break;
	case PARAM_IDEAL:
		print_ideal_value(c, (uint32_t)p->offset, buf, size_bytes);
		break;
	case PARAM_BPRED:
		print_bpred_value(c, p, buf, size_bytes);
		break;
	}
}

static void print_valid(const struct param *p, FILE *f)
{
	if (p->type == PARAM_CHOICE) {
		for (size_t i = 0; p->choices[i]; i++)
			fprintf(f, "%s%s", i ? ", " : "", p->choices[i]);
	} else if (p->type == PARAM_IDEAL || p->type == PARAM_BOOL8 || p->type == PARAM_BOOL32) {
		fprintf(f, "%s", p->unit);
	} else if (p->type == PARAM_BPRED && !p->size_bytes) {
		fprintf(f, "%s", bpred_direction_names());
	} else if (p->type != PARAM_TEXT) {
		fprintf(f, "%s%.10g…%.10g %s", p->zero_ok && p->min > 0 ? "0 or " : "", p->min,
			p->max, p->unit);
	}
}

void config_print(const struct core_config *c, FILE *f)
{
	const char *section = "";

	fprintf(f, "; %s: every parameter of the machine, as resolved\n", c->name);
	for (size_t i = 0; i < config_params(); i++) {
		struct param p = config_param(i);
		char value[1024];

		if (!strcmp(p.section, "machine") && !strcmp(p.key, "base"))
			continue;
		if (strcmp(section, p.section))
			fprintf(f, "\n[%s]\n", section = p.section);
		config_value(c, &p, value, sizeof(value));
		fprintf(f, "; %s", p.help);
		if (p.type != PARAM_TEXT) {
			fprintf(f, " (");
			print_valid(&p, f);
			fprintf(f, ")");
		}
		fprintf(f, "\n%s = %s\n", p.key, value);
	}
}

void config_print_reference(FILE *f)
{
	struct core_config c;
	const char *section = "";

	config_default(&c);
	for (size_t i = 0; i < config_params(); i++) {
		struct param p = config_param(i);
		char value[1024];

		if (strcmp(section, p.section))
			fprintf(f,
				"\n### [%s]\n\n| key | default | valid | meaning |\n| --- | --- | "
				"--- | --- |\n",
				section = p.section);
		config_value(&c, &p, value, sizeof(value));
		fprintf(f, "| `%s` | %s | ", p.key, value);
		print_valid(&p, f);
		fprintf(f, " | %s |\n", p.help);
	}
}
