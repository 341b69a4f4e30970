/* SPDX-License-Identifier: MIT */
/* Reads the twin's trace block by block, beside the run's. */
#include "trace/twin.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct twin {
	struct trace_reader *reader;
	char *path;
	size_t block; /* the next to read */
	struct trace_records records;
	size_t at;     /* the next record */
	uint64_t last; /* po of the instruction read last; 0: none */
};

static bool is_on(const struct trace_info *info, const char *key)
{
	const char *value = trace_setting_find(info, "ideal", key);
	return value && (!strcmp(value, "on") || !strcmp(value, "yes"));
}

/* Checks that the twin fits the run. A trace that does not describe its machine, such as an import,
 * passes. */
static bool fits(const struct twin *t, const struct trace_info *of, struct err *e)
{
	static const char *const perfect[] = { "dmiss", "imiss", "dtlb", "itlb" };
	const struct trace_info *info = trace_reader_info(t->reader);
	bool all = true;
	for (size_t i = 0; i < ARRAY_LEN(perfect); i++) {
		all = all && is_on(of, perfect[i]);
		if (trace_setting_find(info, "ideal", perfect[i]) && !is_on(info, perfect[i]))
			return err_set(e,
				       "%s is not a twin's trace: its machine has ideal.%s=off; "
				       "record it with --set ideal.%s=on",
				       t->path, perfect[i], perfect[i]);
	}
	if (all)
		return err_set(e, "the run's own caches and TLBs are perfect: it has no misses; "
				  "record it without --set ideal.…");
	if (strcmp(info->meta.program, of->meta.program) != 0)
		return err_set(e, "%s is of program %s, the run of %s; both must be of one program",
			       t->path, info->meta.program, of->meta.program);
	if (info->absent & WANT_PRODUCERS)
		return err_set(e,
			       "%s does not say when instructions were dispatched; record it "
			       "without --trace-records committed",
			       t->path);
	return true;
}

struct twin *twin_open(const char *path, bool salvage, const struct trace_info *of, struct err *e)
{
	struct twin *t = x_calloc(1, sizeof(*t));
	t->path = x_strdup(path);
	t->reader = trace_reader_open(path, salvage, e);
	if (t->reader && fits(t, of, e))
		return t;
	twin_close(t);
	return NULL;
}

void twin_close(struct twin *t)
{
	if (!t)
		return;
	trace_reader_close(t->reader);
	free(t->path);
	free(t);
}

/* The next committed instruction. NULL: there is none, or, with a message in e, it cannot be
 * read. */
static const struct rec_inst *next(struct twin *t, struct err *e)
{
	for (;;) {
		while (t->at < t->records.ninsts) {
			const struct rec_inst *r = &t->records.insts[t->at++];
			if (r->flags & RI_COMMITTED)
				return r;
		}
		if (t->block == trace_reader_blocks(t->reader) ||
		    !trace_reader_read(t->reader, t->block, &t->records, e))
			return NULL;
		t->block++;
		t->at = 0;
	}
}

bool twin_find(struct twin *t, const struct rec_inst *r, struct rec_twin *out, struct err *e)
{
	struct err damage = { "" };
	while (t->last < r->po) {
		const struct rec_inst *i = next(t, &damage);
		if (!i && damage.text[0])
			return err_set(e, "%s", damage.text);
		if (!i)
			return err_set(e,
				       "%s ends before instruction %" PRIu64
				       "; record both traces to the same end",
				       t->path, r->po);
		t->last = i->po;
		if (i->po < r->po)
			continue;
		if (i->po != r->po)
			return err_set(e,
				       "%s has no instruction %" PRIu64
				       "; record both traces with the same --start and --stop",
				       t->path, r->po);
		if (i->pc != r->pc)
			return err_set(e,
				       "the traces differ: instruction %" PRIu64 " is at 0x%" PRIx64
				       " in the run, at 0x%" PRIx64
				       " in its twin; a program that reads the clock takes another "
				       "way on a faster machine",
				       r->po, r->pc, i->pc);
		*out = (struct rec_twin){ .po = r->po,
					  .dispatch = i->fetch + i->dispatch,
					  .commit = i->commit - i->dispatch };
		return true;
	}
	return err_set(e, "instruction %" PRIu64 " comes twice in the run", r->po);
}
