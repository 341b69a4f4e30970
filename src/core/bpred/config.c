/* SPDX-License-Identifier: MIT */
/*
 * The configuration of branch prediction: one row per key, from which parsing, checking and
 * listings follow.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/bpred/dir.h"
#include "util/util.h"

const struct bpred_config bpred_config_default = {
	.direction = "tage",
	.bimodal_entries = 8192,
	.gshare_entries = 8192,
	.gshare_history = 13,
	.meta_entries = 8192,
	.tage_tables = 8,
	.tage_base_entries = 8192,
	.tage_min_history = 4,
	.tage_max_history = 256,
	.tage_entries = { 2048, 2048, 2048, 2048, 2048, 2048, 1024, 1024 },
	.tage_tag_bits = { 8, 8, 9, 10, 10, 11, 11, 11 },
	.tage_useful_period = 262144,
	.loop_predictor = 0,
	.loop_entries = 64,
	.btb_entries = 4096,
	.btb_ways = 2,
	.ras_entries = 32,
	.indirect_entries = 256,
	.inflight = 1024,
};

#define KEY(field, n, lo, hi, zero, pow2, u, text)                                                 \
	{                                                                                          \
#field, u, text, offsetof(struct bpred_config, field), n, lo, hi, zero, pow2       \
	}

const struct bpred_key bpred_keys[] = {
	KEY(direction, 0, 0, 0, false, false, "name", "direction predictor"),
	KEY(bimodal_entries, 1, 16, 1 << 20, false, true, "entries", "bimodal: 2-bit counters"),
	KEY(gshare_entries, 1, 16, 1 << 20, false, true, "entries", "gshare: 2-bit counters"),
	KEY(gshare_history, 1, 1, 20, false, false, "bits", "gshare: global history"),
	KEY(meta_entries, 1, 16, 1 << 20, false, true, "entries", "tournament: choosers"),
	KEY(tage_tables, 1, 1, BPRED_TAGE_MAX, false, false, "tables", "TAGE: tagged tables"),
	KEY(tage_base_entries, 1, 16, 1 << 20, false, true, "entries", "TAGE: base counters"),
	KEY(tage_min_history, 1, 1, 1024, false, false, "bits", "TAGE: shortest history"),
	KEY(tage_max_history, 1, 1, 1024, false, false, "bits", "TAGE: longest history"),
	KEY(tage_entries, BPRED_TAGE_MAX, 16, 1 << 13, false, true, "entries",
	    "TAGE: entries of each tagged table, shortest history first"),
	KEY(tage_tag_bits, BPRED_TAGE_MAX, 4, 11, false, false, "bits",
	    "TAGE: tag of each tagged table"),
	KEY(tage_useful_period, 1, 1024, 1 << 24, false, true, "updates",
	    "TAGE: between two agings of usefulness"),
	KEY(loop_predictor, 1, 0, 1, false, false, "flag", "TAGE: with a loop predictor"),
	KEY(loop_entries, 1, 4, 1024, false, true, "entries", "loop predictor: 4-way entries"),
	KEY(btb_entries, 1, 1, 1 << 20, false, true, "entries", "branch-target buffer"),
	KEY(btb_ways, 1, 1, 16, false, true, "ways", "branch-target buffer"),
	KEY(ras_entries, 1, 0, 1024, false, false, "entries", "return-address stack, 0 for none"),
	KEY(indirect_entries, 1, 16, 1 << 16, true, true, "entries",
	    "indirect targets, per table, 0 for BTB only"),
	KEY(inflight, 1, 1, 1 << 20, false, false, "instructions",
	    "control instructions in flight, at most"),
};
const size_t bpred_keys_count = ARRAY_LEN(bpred_keys);

static bool check_number(const struct bpred_key *k, uint32_t x, struct err *e)
{
	bool pow2 = x != 0 && (x & (x - 1)) == 0;

	if ((x == 0 && k->zero_ok) || (x >= k->min && x <= k->max && (!k->power_of_two || pow2)))
		return true;
	return err_set(e, "%s = %u: must be %s%s%u..%u %s", k->name, x, k->zero_ok ? "0 or " : "",
		       k->power_of_two ? "a power of two in " : "in ", k->min, k->max, k->unit);
}

static bool check_name(const char *name, struct err *e)
{
	if (memchr(name, 0, sizeof(bpred_config_default.direction)) && bpred_dir_find(name))
		return true;
	return err_set(e, "direction = %.15s: must be one of %s", name, bpred_direction_names());
}

/* Reads one number and what separates it from the next; NULL if there is none. */
static const char *read_number(const char *s, uint32_t *x)
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

static bool set_numbers(const struct bpred_key *k, uint32_t *field, const char *text, struct err *e)
{
	uint32_t x[BPRED_TAGE_MAX], n = 0;
	const char *s = text;

	do {
		if (n == k->count)
			return err_set(e, "%s = %s: must be at most %u numbers", k->name, text,
				       k->count);
		s = read_number(s, &x[n]);
		if (s == NULL)
			return err_set(e, "%s = %s: not a number; must be in %u..%u %s", k->name,
				       text, k->min, k->max, k->unit);
		if (!check_number(k, x[n], e))
			return false;
		n++;
	} while (*s);
	for (uint32_t i = 0; i < k->count; i++)
		if (n == 1 || i < n)
			field[i] = x[n == 1 ? 0 : i];
	return true;
}

bool bpred_config_set(struct bpred_config *c, const char *key, const char *text, struct err *e)
{
	for (size_t i = 0; i < bpred_keys_count; i++) {
		const struct bpred_key *k = &bpred_keys[i];
		void *field = (char *)c + k->offset_bytes;

		if (strcmp(k->name, key) != 0)
			continue;
		if (k->count > 0)
			return set_numbers(k, field, text, e);
		if (!bpred_dir_find(text))
			return err_set(e, "%s = %s: must be one of %s", key, text,
				       bpred_direction_names());
		strcpy(field, text);
		return true;
	}
	return err_set(e, "%s: no such key of branch prediction", key);
}

bool bpred_check(const struct bpred_config *c, struct err *e)
{
	for (size_t i = 0; i < bpred_keys_count; i++) {
		const struct bpred_key *k = &bpred_keys[i];
		const void *field = (const char *)c + k->offset_bytes;
		const uint32_t *x = field;

		if (k->count == 0 && !check_name(field, e))
			return false;
		for (uint32_t j = 0; j < k->count; j++)
			if ((k->count == 1 || j < c->tage_tables) && !check_number(k, x[j], e))
				return false;
	}
	if (c->gshare_history > (uint32_t)__builtin_ctz(c->gshare_entries))
		return err_set(e,
			       "gshare_history = %u: must be in 1..%u bits, log2 of gshare_entries",
			       c->gshare_history, (uint32_t)__builtin_ctz(c->gshare_entries));
	if (c->tage_min_history > c->tage_max_history)
		return err_set(e, "tage_min_history = %u: must be in 1..%u, tage_max_history",
			       c->tage_min_history, c->tage_max_history);
	if (c->btb_ways > c->btb_entries)
		return err_set(e, "btb_ways = %u: must be in 1..%u, btb_entries", c->btb_ways,
			       c->btb_entries);
	return true;
}
