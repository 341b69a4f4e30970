/* SPDX-License-Identifier: MIT */
/*
 * culprit sim --intervals: measures many intervals of one run, each into a store of its own, without a
 * checkpoint: run functionally, warm, settle, measure, run on. Between two intervals the guest runs at
 * full speed, and the core that measures the second is as new, so an interval costs what it costs alone.
 * Where the second begins before the guest could leave the core, the core goes on instead: intervals
 * laid end to end have exactly the cycles of a run in one piece.
 *
 * The file has a line for each interval, in the order of the run, with words between spaces:
 *
 *      START WARM SETTLE INSTS FILE
 *
 * START is the number of instructions before the interval, INSTS its length; WARM and SETTLE are as the
 * options of these names, before START. WARM may be `all`: then the core of the interval before is not
 * made anew but goes on, and learns from all instructions in between. A warm-up that is longer than what precedes the interval begins
 * with the first instruction; one that would begin in the interval before begins after it. A line that
 * begins with # is a comment.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/progress.h"
#include "cmd/sim.h"
#include "util/array.h"
#include "util/text.h"

#define LINE_BYTES 8192

static bool parse_line(char *line, struct sim_interval *i)
{
	const struct number_range range = { 0, SIM_INSTS_MAX, NUMBER_DECIMAL };
	uint64_t *numbers[] = { &i->start, &i->warm, &i->settle, &i->insts };

	for (size_t k = 0; k < ARRAY_LEN(numbers); k++) {
		char *word = strsep(&line, " ");

		if (line && numbers[k] == &i->warm && !strcmp(word, sim_warm_words[0]))
			i->warm = SIM_WARM_ALL;
		else if (!line || !number_parse(word, &range, numbers[k]))
			return false;
	}
	if (!*line || !i->insts)
		return false;
	i->output = x_strdup(line);
	return true;
}

static bool add_line(struct sim_intervals *list, char *line, const char *path, size_t number,
		     struct err *e)
{
	struct sim_interval i = { 0 };

	if (!line[0] || line[0] == '#')
		return true;
	if (!parse_line(line, &i))
		return err_set(e, "%s: line %zu is not START WARM SETTLE INSTS FILE", path, number);

	const struct sim_interval *last = list->count ? &list->items[list->count - 1] : NULL;
	bool follows = !last || i.start >= last->start + last->insts;

	*ARRAY_ADD(list->items, list->count) = i;
	return follows ||
	       err_set(e, "%s: line %zu begins before the interval before it ends", path, number);
}

bool sim_intervals_read(const char *path, struct sim_intervals *list, struct err *e)
{
	FILE *f = fopen(path, "re");
	char *line = x_calloc(1, LINE_BYTES);
	bool ok = f || err_set(e, "%s: %s", path, strerror(errno));

	for (size_t number = 1; ok && fgets(line, LINE_BYTES, f); number++) {
		size_t n = strlen(line);

		if (!n || line[n - 1] != '\n')
			ok = err_set(e, "%s: line %zu is too long, or has no end", path, number);
		else
			line[n - 1] = '\0';
		ok = ok && add_line(list, line, path, number, e);
	}
	if (ok && !list->count)
		ok = err_set(e, "%s: no interval in it", path);
	if (f)
		fclose(f);
	free(line);
	return ok;
}

void sim_intervals_free(struct sim_intervals *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i].output);
	free(list->items);
	*list = (struct sim_intervals){ NULL, 0 };
}

/* Runs functionally to that instruction. False if the program ends before, or culprit is to stop. */
static bool run_to(struct sim *s, uint64_t position)
{
	while (guest_insts(s->guest) < position && !sim_stop_signal())
		if (guest_run(s->guest, position - guest_insts(s->guest)) != GUEST_RUNNING)
			return false;
	return !sim_stop_signal();
}

/* Opens the interval's session; records come from the next cycle on. running: from a core in which
 * instructions are in flight, whose records another session has taken. */
static struct session *open_session(struct sim *s, const struct sim_interval *i, bool running,
				    struct err *e)
{
	uint64_t here = core_position(s->core), skip = i->start > here ? i->start - here : 0;

	s->relisten = running;
	s->interval =
	    (struct session_interval){ true, skip, i->start + i->insts - here - skip, i->start };
	return sim_session_open(s, NULL, e);
}

/* Where the interval's timed part begins. */
static uint64_t timed_from(const struct sim_interval *i)
{
	return i->start - min_u64(i->start, i->settle);
}

/* Brings guest and core to where the interval's timed part begins. False if the program ends first.
 * The core is a new one: what an interval costs does not depend on which others are measured. */
static bool approach(struct sim *s, const struct sim_interval *i)
{
	uint64_t timed = timed_from(i);
	struct err e;

	if (i->warm == SIM_WARM_ALL)
		return guest_insts(s->guest) >= timed ||
		       core_warm(s->core, timed - guest_insts(s->guest)) != CORE_ENDED;
	if (!run_to(s, timed - min_u64(timed, i->warm)))
		return false;
	core_free(s->core);
	s->core = sim_timing_new(s->guest, s->options, &e);
	assert(s->core); /* the options have made one before */
	return guest_insts(s->guest) >= timed ||
	       core_warm(s->core, timed - guest_insts(s->guest)) != CORE_ENDED;
}

/* Times until the guest's instruction `position` has committed. */
static enum core_status time_to(struct sim *s, uint64_t position)
{
	enum core_status status;

	core_target(s->core, position);
	core_limit(s->core, 0);
	do
		status = core_continue(s->core, SIM_SLICE_CYCLES);
	while (status == CORE_RUNNING && !sim_stop_signal() && !(s->run.emit && s->run.emit->stop));
	return status;
}

/* Sets what the store says of its run: the same run alone gives the same interval. */
static void set_recipe(struct sim_options *o, const struct sim_interval *i)
{
	o->settle = min_u64(i->settle, i->start);
	o->warm = min_u64(i->warm, i->start - o->settle);
	o->fast_forward = i->start - o->settle - o->warm;
	o->max_insts = i->insts;
	o->session.output = i->output;
}

/* What was measured between two moments of the core. */
static void set_run(struct sim_run *run, const struct core_stats *first, uint64_t position,
		    const struct core_stats *last, double seconds)
{
	run->cycles = last->cycles - first->cycles;
	run->faults = last->faults - first->faults;
	run->stepped = last->steps - first->steps;
	run->insts = position + run->faults;
	run->host_seconds = seconds;
	run->has_cycles = true;
}

static bool too_late(const struct sim_interval *i, struct err *e)
{
	return err_set(e, "%s: the program ends before instruction %" PRIu64, i->output, i->start);
}

/* Runs the interval on the core and notes what it cost. */
static enum core_status measure(struct sim *s, const struct sim_interval *i)
{
	double begun = host_now();
	/* A target of 0 is none: nothing precedes the first instruction. */
	enum core_status status = i->start ? time_to(s, i->start) : CORE_REACHED;
	struct core_stats first = *core_stats(s->core);

	if (status == CORE_REACHED)
		status = time_to(s, i->start + i->insts);

	uint64_t end = min_u64(core_position(s->core), i->start + i->insts);

	set_run(&s->run, &first, end > i->start ? end - i->start : 0, core_stats(s->core),
		host_now() - begun);
	s->run.failed = s->run.emit && s->run.emit->stop;
	s->run.stop_signal = status == CORE_RUNNING ? sim_stop_signal() : 0;
	s->run.status = status == CORE_ENDED ? guest_run(s->guest, 0) : GUEST_RUNNING;
	s->run.exit_status = s->run.status == GUEST_RUNNING ? 0 : guest_exit_status(s->guest);
	return status;
}

/* Writes the interval's store; none of one that was interrupted or did not begin. */
static bool write_store(struct sim *s, const struct sim_interval *i, struct err *e)
{
	bool ok;

	if (s->run.stop_signal || !s->run.insts) {
		session_close(s->session, NULL, e);
		s->session = NULL;
		return s->run.stop_signal || too_late(i, e);
	}
	ok = sim_session_close(s, e);
	if (ok)
		sim_print_summary(stderr, s->guest, &s->run);
	return ok;
}

/* Nothing more is measured before the guest has run on. */
static void leave_core(struct sim *s)
{
	core_drain(s->core);
	core_cut(s->core);
	core_listen(s->core, NULL);
}

bool sim_intervals(struct sim *s, const struct sim_intervals *list, struct err *e)
{
	const struct sim_options *given = s->options;
	struct sim_options mine = *given;
	enum core_status status = CORE_STOPPED;
	struct session *next = NULL;
	bool ok = true;

	/* cppcheck-suppress autoVariables ; given back below */
	s->options = &mine;
	for (size_t k = 0; ok && k < list->count && !sim_stop_signal(); k++) {
		const struct sim_interval *i = &list->items[k], *after = i + 1;

		set_recipe(&mine, i);
		if (!next && (status == CORE_ENDED || !approach(s, i))) {
			ok = sim_stop_signal() || too_late(i, e);
			break;
		}
		s->session = next ? next : open_session(s, i, false, e);
		next = NULL;
		if (!s->session)
			ok = false;
		if (!ok)
			break;
		s->run.emit = session_emit(s->session);
		status = measure(s, i);
		if (status == CORE_REACHED && k + 1 < list->count &&
		    guest_insts(s->guest) >= timed_from(after)) {
			set_recipe(&mine, after);
			next = open_session(s, after, true, e);
			ok = next;
		}
		if (!next)
			leave_core(s);
		ok = write_store(s, i, e) && ok;
	}
	if (next) {
		leave_core(s);
		session_close(next, NULL, e);
	}
	s->run.stop_signal = s->run.status == GUEST_RUNNING ? sim_stop_signal() : 0;
	s->options = given;
	return ok;
}
