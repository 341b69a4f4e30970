/* SPDX-License-Identifier: MIT */
/*
 * The cycles of each interval of so many instructions, as text: a line "instructions cycles" for each.
 * It is the truth that a choice of points is held against.
 *
 * An interval ends with the cycle in which its last instruction commits, and the next one begins there,
 * so that intervals laid end to end give the run's cycles (but for those after the last commit). The
 * same instructions count as in basic block vectors: the n-th line is the n-th vector's.
 */
#include "analysis/intervals.h"

#include <errno.h>
#include <stdlib.h>

#include "util/outside.h"
#include "util/output.h"
#include "util/text.h"

struct intervals_state {
	struct output *output;
	FILE *file;
	uint64_t interval, insts; /* insts: of the current interval */
	uint64_t began, now;	  /* cycles */
	bool any;
};

static bool is_intervals(const uint8_t *head, size_t size, const char *path)
{
	(void)path;
	return output_begins(head, size, "# instructions cycles\n");
}

static const struct output_kind kind = {
	.what = "a file of intervals",
	.option = "--param cycles",
	.is = is_intervals,
};

static bool intervals_start(void *state, const struct trace_meta *meta,
			    const struct analysis_options *o, struct err *e)
{
	struct intervals_state *s = state;
	char *path = analysis_path(o, "cycles", "cycles");

	(void)meta;
	outside_expect(path);
	s->interval = analysis_number(o, "interval", 1000000);
	s->output = output_open(path, &kind, e);
	if (s->output)
		s->file = output_stream(s->output, e);
	free(path);
	if (!s->file) {
		output_discard(s->output);
		s->output = NULL;
		return false;
	}
	fputs("# instructions cycles\n", s->file);
	return true;
}

static void end_interval(struct intervals_state *s)
{
	fprintf(s->file, "%llu %llu\n", (unsigned long long)s->insts,
		(unsigned long long)(s->now - s->began));
	s->began = s->now;
	s->insts = 0;
}

static bool intervals_insts(void *state, const struct rec_inst *insts, size_t count, struct err *e)
{
	struct intervals_state *s = state;

	for (size_t i = 0; i < count; i++) {
		if ((insts[i].flags & (RI_COMMITTED | RI_FAULT)) != RI_COMMITTED)
			continue;
		if (!s->any)
			s->began = insts[i].fetch;
		s->any = true;
		s->now = insts[i].fetch + insts[i].commit + 1;
		if (++s->insts == s->interval)
			end_interval(s);
	}
	return !ferror(s->file) || err_set(e, "intervals: cannot write: %s", strerror(errno));
}

static bool intervals_finish(void *state, struct store *store, struct err *e)
{
	struct intervals_state *s = state;
	struct output *output = s->output;

	(void)store;
	if (s->insts)
		end_interval(s);
	const bool failed = fflush(s->file) || ferror(s->file);
	const int why = errno;

	fclose(s->file);
	s->file = NULL;
	s->output = NULL;
	if (!failed && s->any)
		return output_commit(output, e);
	output_discard(output);
	return failed ? err_set(e, "intervals: cannot write: %s", strerror(why))
		      : err_set(e, "intervals: no instruction was recorded, so there is none");
}

static void intervals_free_state(void *state)
{
	struct intervals_state *s = state;

	if (s->file)
		fclose(s->file);
	output_discard(s->output);
}

static const struct analysis_param params[] = {
	{ "cycles", "the file to write", false, { 0 } },
	{ "interval",
	  "instructions of each interval; 1M by default",
	  true,
	  { 1, 1000000000000000000ull, NUMBER_DECIMAL } },
	{ .name = NULL },
};

const struct analysis intervals_analysis = {
	.name = "intervals",
	.summary = "cycles of each interval (--param cycles=FILE, --param interval=N)",
	.wants = WANT_INSTS | WANT_BRIEF,
	.params = params,
	.writes_file = true,
	.state_size = sizeof(struct intervals_state),
	.start = intervals_start,
	.insts = intervals_insts,
	.finish = intervals_finish,
	.free = intervals_free_state,
};
