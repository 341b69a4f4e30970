/* SPDX-License-Identifier: MIT */
/*
 * Post-processing, as the papers' tool does it (tip2021 section 3.1, tea2023 section 3): each sample
 * gives 1/n of its cycles to each of the n instructions that it blames, with their PSVs. The flags
 * say what commit was doing; the class of the instruction, which the binary has, says what kind of
 * stall it was.
 */
#include "analysis/profile/tip_profile.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/profile/profile.h"
#include "analysis/symbolise.h"
#include "image/image.h"
#include "isa/isa.h"
#include "trace/tip_file.h"

struct tip_profile {
	struct tip_reader *reader;
	const struct tip_header *head;
	uint64_t scale, samples;
	struct cells profile, times; /* by pc and events; by pc and category */
};

/* TIME_ALU_STALL stands for any stall until the binary has been asked. */
static unsigned category_of(const struct tip_sample *s, uint32_t psv)
{
	if (s->kernel && s->flags & TIP_FLUSHED)
		return TIME_KERNEL;
	if (s->flags & TIP_STALLED)
		return TIME_ALU_STALL;
	if (s->flags & TIP_FRONT_END)
		return time_of_drain(psv);
	if (s->flags & TIP_MISPREDICTED)
		return TIME_MISPREDICT;
	return s->flags & TIP_FLUSHED ? TIME_MISC_FLUSH : TIME_EXECUTION;
}

static void add_sample(struct tip_profile *t, const struct tip_sample *s)
{
	unsigned which[TIP_WAYS_MAX];
	const unsigned n = tip_blames(&t->head->layout, s, which);
	const uint64_t each = t->scale / n;

	t->samples++;
	for (unsigned i = 0; i < n; i++) {
		const unsigned k = which[i];
		const uint32_t psv = s->psv[k] & PSV_TEA;
		const uint64_t units = s->cycles * (i ? each : t->scale - (n - 1) * each);

		cells_add(&t->profile, cell_key(s->address[k], psv, 0), units, 1);
		cells_add(&t->times, cell_key(s->address[k], 0, category_of(s, psv)), units, 1);
	}
}

static bool put_facts(const struct tip_profile *t, struct store *s, struct err *e)
{
	const uint64_t cycles = tip_cycles(t->reader);
	bool ok = store_insert(s, e, "run", "ss", "program", t->head->program) &&
		  store_insert(s, e, "run", "ss", "machine", t->head->machine) &&
		  store_insert(s, e, "run", "si", "cycles", (int64_t)cycles) &&
		  store_insert(s, e, "run", "si", "profiled_cycles", (int64_t)cycles) &&
		  store_insert(s, e, "run", "si", "scale", (int64_t)t->scale) &&
		  store_insert(s, e, "run", "sd", "clock_hz", (double)t->head->clock_hz) &&
		  store_insert(s, e, "sampler", "iiii", (int64_t)0, (int64_t)t->head->period,
			       (int64_t)0, (int64_t)t->samples) &&
		  store_insert(s, e, "profiler", "issiii", (int64_t)PROFILER_TEA_HW,
			       profilers[PROFILER_TEA_HW].name, profilers[PROFILER_TEA_HW].summary,
			       (int64_t)SELECT_HARDWARE, (int64_t)PSV_TEA,
			       (int64_t)t->head->layout.sample_bytes);

	for (int64_t i = 0; ok && i < TIME_CATEGORY_COUNT; i++)
		ok = store_insert(s, e, "category", "is", i, words_times[i].name);
	for (int64_t i = 0; ok && i < EVENT_TEA_COUNT; i++)
		ok = store_insert(s, e, "event", "issi", i, words_events[i].name,
				  words_events[i].meaning, (int64_t)0);
	return ok;
}

static bool put_profile(const struct tip_profile *t, struct store *s, struct err *e)
{
	struct cell *all = cells_sorted(&t->profile);
	bool ok = true;

	for (size_t i = 0; ok && i < t->profile.used; i++)
		ok = store_insert(s, e, "profile", "iiiii", (int64_t)0, (int64_t)PROFILER_TEA_HW,
				  (int64_t)cell_pc(&all[i]), (int64_t)cell_events(&all[i]),
				  (int64_t)all[i].units);
	free(all);
	return ok;
}

static unsigned class_named(const char *name)
{
	for (unsigned c = 0; name && c < CLASS_COUNT; c++)
		if (!strcmp(op_class_name[c], name))
			return c;
	return CLASS_ALU;
}

/* Stalls by the class of the instruction, as the binary has it. */
static bool put_times(const struct tip_profile *t, struct store *s, struct err *e)
{
	struct cell *all = cells_sorted(&t->times);
	bool ok = true;

	for (size_t i = 0; ok && i < t->times.used; i++) {
		unsigned category = cell_category(&all[i]);

		if (category == TIME_ALU_STALL) {
			struct store_rows r =
			    store_query(s, "SELECT class FROM instruction WHERE pc = ?1", "i",
					(int64_t)cell_pc(&all[i]));
			if (store_next(&r))
				category = time_of_stall(class_named(store_text(&r, 0)));
			ok = store_done(&r, e);
		}
		ok = ok && store_insert(s, e, "profile_category", "iiii", (int64_t)PROFILER_TEA_HW,
					(int64_t)cell_pc(&all[i]), (int64_t)category,
					(int64_t)all[i].units);
	}
	free(all);
	return ok;
}

static bool fill(struct tip_profile *t, struct store *s, struct err *e)
{
	struct images *set = images_new(NULL);
	size_t n;
	const struct tip_image *images = tip_images(t->reader, &n);

	/* Code of a file that cannot be read has no names. */
	for (size_t i = 0; i < n; i++)
		images_add(set, images[i].path, images[i].name, images[i].bias, NULL);
	const bool ok = put_facts(t, s, e) && put_profile(t, s, e) && symbolise(s, set, NULL, e) &&
			put_times(t, s, e) && store_commit(s, e);

	images_free(set);
	return ok;
}

static bool read_samples(struct tip_profile *t, struct err *e)
{
	struct tip_sample sample;
	enum tip_next next;

	while ((next = tip_read(t->reader, &sample, e)) == TIP_SAMPLE)
		add_sample(t, &sample);
	return next == TIP_END &&
	       (t->samples || err_set(e, "there is no sample in the file: run longer, or with a "
					 "shorter --period"));
}

struct store *tip_profile_open(const char *path, struct err *e)
{
	struct tip_profile t = { .reader = tip_open(path, e) };
	struct store *s = NULL;

	if (!t.reader)
		return NULL;
	t.head = tip_header(t.reader);
	t.scale = profile_scale(t.head->layout.ways);
	cells_init(&t.profile);
	cells_init(&t.times);
	if (read_samples(&t, e))
		s = store_create_memory(path, e);
	if (s && !fill(&t, s, e)) {
		store_close(s);
		s = NULL;
	}
	cells_free(&t.profile);
	cells_free(&t.times);
	tip_close(t.reader);
	return s;
}
