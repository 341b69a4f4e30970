/* SPDX-License-Identifier: MIT */
/*
 * culprit checkpoint: runs a program functionally and saves it after given numbers of instructions; checkpoint show
 * says what is in a checkpoint.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/reading.h"
#include "cmd/sim.h"
#include "jobs/recipe.h"
#include "state/file.h"
#include "util/array.h"
#include "util/text.h"
#include "view/doc.h"

struct checkpoint_values {
	struct reading reading; /* of show: --json */
	struct sim_options sim;
	const char *at, *output;
	bool with_core, with_history, skip;
};

static const struct number_range point_range = { 0, SIM_INSTS_MAX, NUMBER_DECIMAL };

/* The next number of a list with commas between; false: it is none. */
static bool next_point(const char **text, uint64_t *n)
{
	char word[32];
	const size_t length = strcspn(*text, ",");

	if (!length || length >= sizeof(word))
		return false;
	memcpy(word, *text, length);
	word[length] = 0;
	*text += length;
	return number_parse(word, &point_range, n);
}

static int by_number(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The points, ascending and each once; the caller frees. NULL: the text is no list of numbers. */
static uint64_t *parse_points(const char *text, size_t *count)
{
	uint64_t *points = NULL, n;
	size_t all = 0;

	for (;; text++) {
		if (!next_point(&text, &n)) {
			free(points);
			return NULL;
		}
		*ARRAY_ADD(points, all) = n;
		if (!*text)
			break;
	}
	qsort(points, all, sizeof(*points), by_number);
	*count = 0;
	for (size_t i = 0; i < all; i++)
		if (!i || points[i] != points[i - 1])
			points[(*count)++] = points[i];
	return points;
}

static bool check_points(const char *text, struct err *e)
{
	size_t n;
	uint64_t *points = parse_points(text, &n);

	free(points);
	return points || err_set(e,
				 "'%s' is not valid: numbers of instructions with commas between "
				 "(k, M or G may follow)",
				 text);
}

static int make(const struct checkpoint_values *v, char **args)
{
	struct sim_saving saving = { .with_core = v->with_core,
				     .with_history = v->with_history,
				     .skip = v->skip };
	struct sim_options sim = v->sim;
	struct err e = { "" };
	uint64_t *points;
	char *folder = NULL;
	int status = 2;

	if (!v->with_core && (sim.machine || sim.sets.count)) {
		warn("checkpoint: --machine and --set are about the core of --with-core; a process "
		     "alone "
		     "is of no machine");
		return 2;
	}
	if (v->with_core && v->with_history) {
		warn("checkpoint: --with-core saves caches as they are, --with-history what any "
		     "caches would be made from; they exclude each other");
		return 2;
	}
	if (!v->at || !v->output) {
		warn("checkpoint: say after how many instructions with --at N,N,… and where the "
		     "files go with -o DIR");
		return 2;
	}
	sim.clock = SIM_CLOCK_INSTS;
	points = parse_points(v->at, &saving.count);
	saving.at = points;
	saving.pool = state_pool_open(v->output, &e);
	if (saving.pool)
		folder = realpath(v->output, NULL);
	saving.folder = folder;
	if (folder)
		status = sim_main(&sim, args, &saving);
	else
		warn("checkpoint: %s", e.text);
	state_pool_close(saving.pool);
	free(folder);
	free(points);
	return status;
}

static void shown_text(struct doc *d, const char *label, const char *key, const char *value)
{
	char *shown = text_shown(value);

	doc_line(d, label, " %s", shown);
	doc_text(d, key, shown);
	free(shown);
}

static void shown_number(struct doc *d, const char *label, const char *key, uint64_t n)
{
	doc_line(d, label, " %" PRIu64, n);
	doc_integer(d, key, (int64_t)n);
}

static void describe(struct doc *d, const struct guest_saved *a, const struct state_file *f)
{
	static const struct doc_column inputs[] = {
		{ DOC_DATA("path"), DOC_SHOWN("needs unchanged", NULL, -50), .before = "" },
		{ DOC_DATA("bytes"), DOC_SHOWN("bytes", "%.0f", 12) },
		{ DOC_DATA("sha256"), DOC_SHOWN("SHA-256", NULL, -64), .ragged = true },
	};
	static const struct doc_column sections[] = {
		{ DOC_DATA("section"), DOC_SHOWN("section", NULL, -12), .before = "" },
		{ DOC_DATA("version"), DOC_SHOWN("version", "%.0f", 7) },
		{ DOC_DATA("bytes"), DOC_SHOWN("bytes", "%.0f", 12) },
		{ DOC_DATA("packed_bytes"), DOC_SHOWN("in the file", "%.0f", 12) },
	};
	uint64_t pieces, packed;
	struct state_file_part part;
	struct doc_table *t;

	shown_text(d, "program", "program", a->program);
	doc_array(d, "argv");
	for (size_t i = 0; a->argv[i]; i++) {
		char *shown = text_shown(a->argv[i]);

		doc_line(d, i ? "argument" : "called", " %s", shown);
		doc_text(d, NULL, shown);
		free(shown);
	}
	doc_close(d);
	shown_text(d, "folder", "folder", a->folder);
	shown_number(d, "instructions", "insts", a->insts);
	shown_number(d, "seed", "seed", a->seed);
	doc_line(d, "threads", " %u, of which %u wait", a->threads, a->blocked);
	doc_integer(d, "threads", a->threads);
	doc_integer(d, "blocked_threads", a->blocked);
	shown_number(d, "open descriptors", "descriptors", a->descriptors);
	doc_line(d, "memory", " %" PRIu64 " regions of %" PRIu64 " KiB", a->regions,
		 a->mapped_bytes >> 10);
	doc_integer(d, "regions", (int64_t)a->regions);
	doc_integer(d, "mapped_bytes", (int64_t)a->mapped_bytes);
	state_file_pieces(f, &pieces, &packed);
	doc_line(d, "pages and files",
		 " %" PRIu64 " KiB in frames that it uses, %" PRIu64 " KiB in the pool",
		 pieces >> 10, packed >> 10);
	doc_integer(d, "frame_bytes", (int64_t)pieces);
	doc_integer(d, "frame_packed_bytes", (int64_t)packed);
	doc_blank(d);
	t = DOC_TABLE(d, inputs, .key = "inputs", .heads = true);
	for (size_t i = 0; i < a->ninputs; i++) {
		char *shown = text_shown(a->inputs[i].path ? a->inputs[i].path : "");
		char *digest = text_shown(a->inputs[i].digest);

		doc_row(t);
		cell_text(t, shown);
		cell_integer(t, (int64_t)a->inputs[i].bytes);
		cell_text(t, digest);
		free(shown);
		free(digest);
	}
	doc_blank(d);
	t = DOC_TABLE(d, sections, .key = "sections", .heads = true);
	for (size_t i = 0; state_file_part(f, i, &part); i++) {
		doc_row(t);
		cell_text(t, part.name);
		cell_integer(t, part.version);
		cell_integer(t, (int64_t)part.bytes);
		cell_integer(t, (int64_t)part.packed_bytes);
	}
}

static int show(const struct checkpoint_values *v, const char *path)
{
	struct err e = { "" }, inner = { "" };
	struct state_file *f = state_file_open(path, &e);
	struct guest_saved a = { 0 };
	struct view_options o;
	bool ok = f && reading_options("checkpoint", &v->reading, &o);

	if (ok && !guest_saved_read(f, &a, &inner))
		ok = err_set(&e, "%s: %s", path, inner.text);
	if (ok) {
		struct doc *d = doc_new();

		describe(d, &a, f);
		ok = doc_print(d, &o, &e);
		doc_free(d);
	}
	guest_saved_free(&a);
	state_file_free(f);
	return reading_status("checkpoint", ok, &e);
}

/* What stands behind "show": options may, too. */
static const struct cmd_option show_options[] = { READING_OPTIONS, { .name = NULL } };
static const struct command show_command = {
	.name = "checkpoint show",
	.args = "FILE",
	.min_args = 1,
	.max_args = 1,
	.options = show_options,
	.values_size = sizeof(struct checkpoint_values),
};

static int checkpoint_run(void *values, int nargs, char **args)
{
	struct checkpoint_values *v = values;
	struct cmd_parsed parsed = { 0 };
	struct err e = { "" };

	if (strcmp(args[0], "show") || v->at || v->output)
		return make(v, args);
	if (cmd_parse(&show_command, nargs - 1, args + 1, v, &parsed, &e) && !parsed.help)
		return show(v, parsed.args[0]);
	warn("checkpoint: %s", e.text[0] ? e.text : "see 'culprit checkpoint --help'");
	return 2;
}

/* Rows of `culprit sim` from one option to another. */
#define OF_SIM(from, to)                                                                           \
	{                                                                                          \
		.offset = offsetof(struct checkpoint_values, sim),                                 \
		.group = &sim_option_table[RUN_##from], .group_count = RUN_##to - RUN_##from + 1   \
	}
#define OPTION(member) .offset = offsetof(struct checkpoint_values, member)

static const struct cmd_option options[] = {
	{ .name = "at",
	  .type = CMD_TEXT,
	  OPTION(at),
	  .arg = "N,N,...",
	  .check = check_points,
	  .help = "After how many instructions to save the process (k, M, G may follow)." },
	{ .name = "output",
	  .type = CMD_TEXT,
	  OPTION(output),
	  .arg = "DIR",
	  .letter = 'o',
	  .help = "The folder for the checkpoints: N.checkpoint each, and pages.pool, which they "
		  "share. It is made if it "
		  "is not there." },
	{ .name = "skip",
	  .type = CMD_SWITCH,
	  OPTION(skip),
	  .help = "Goes on where the process cannot be saved: that checkpoint is left out." },
	{ .name = "with-core",
	  .type = CMD_SWITCH,
	  OPTION(with_core),
	  .help = "Caches, TLBs, predictors and prefetchers of a machine learn on the way, which "
		  "takes longer, and are saved "
		  "too ('culprit sim --restore FILE --restore-core')." },
	{ .name = "with-history",
	  .type = CMD_SWITCH,
	  OPTION(with_history),
	  .help = "Notes on the way which lines loads and stores touched last, and saves that too: "
		  "caches and TLBs "
		  "of any machine begin with them ('culprit sim --restore FILE --history'). Takes "
		  "up to a third "
		  "longer." },
	OF_SIM(machine, sets),
	OF_SIM(clock, clock_cpi),
	OF_SIM(sysroot, hide),
	OF_SIM(seed, real_time),
	OF_SIM(interpreter, interpreter),
	OF_SIM(sandbox, limit_output),
	READING_OPTIONS,
	{ .name = NULL },
};

static const struct cmd_example examples[] = {
	{ "culprit checkpoint --at 1G,2G,3G -o points -- ./program input",
	  "Saves the process after one, two and three billion instructions." },
	{ "culprit checkpoint --with-core --machine boom-tip --at 1G -o points -- ./program",
	  "With what the core has learnt by then: a live-point." },
	{ "culprit checkpoint show points/1000000000.checkpoint", "Says what is in a checkpoint." },
	{ "culprit sim --restore points/1000000000.checkpoint --warm 1M --max-insts 10M",
	  "Goes on from there, on the modelled machine." },
	{ NULL, NULL },
};

const struct command cmd_checkpoint = {
	.name = "checkpoint",
	.summary = "save a running program, to go on from there later",
	.args = "[--] PROG [ARGS...] | show FILE",
	.min_args = 1,
	.max_args = -1,
	.args_verbatim = true,
	.description = "Runs a program functionally, as 'culprit sim --functional' does, and saves "
		       "the whole process after given "
		       "numbers of instructions: threads, memory, signals, timers, open files. "
		       "'culprit sim --restore' goes on from "
		       "there, in another folder, as another user or on another machine, as if "
		       "there had been no pause.\n\n"
		       "Nothing of this machine is in a checkpoint. The program, its libraries and "
		       "the files that it reads are named "
		       "by a digest and must be there unchanged, below --sysroot or under the same "
		       "path. A process with a child, a "
		       "connection to elsewhere, a terminal or memory shared with others cannot be "
		       "saved; a line says what stands in "
		       "the way.\n\n"
		       "The program's standard output appears as it runs.",
	.exit_status =
	    "0 if all checkpoints were written. 2 if not: wrong options, no such program, "
	    "something that cannot be "
	    "saved, or a program that ended before. 128 + n if signal n stopped culprit.",
	.options = options,
	.examples = examples,
	.values_size = sizeof(struct checkpoint_values),
	.run = checkpoint_run,
};
