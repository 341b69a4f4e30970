/* SPDX-License-Identifier: MIT */
/*
 * culprit bbv: the basic block vectors of a program, one per interval of its run, as the field's files
 * have them. The program runs functionally; guest time comes from the count of instructions.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/progress.h"
#include "cmd/sim.h"
#include "cmd/vectors.h"
#include "image/image.h"
#include "util/outside.h"
#include "util/output.h"
#include "util/text.h"

struct bbv_values {
	const char *output, *blocks, *sysroot;
	uint64_t interval, max_insts, seed;
	struct cmd_strings env;
	bool data, partial, interpreter;
	int children;
};

/* ---- the table of blocks ---- */

static bool is_blocks(const uint8_t *head, size_t size, const char *path)
{
	(void)path;
	return output_begins(head, size, "# block\t");
}

static const struct output_kind blocks_kind = {
	.what = "a table of blocks",
	.option = "--blocks",
	.is = is_blocks,
};

/* The build-id of the file, or its name where it has none, as one word. */
static char *file_word(const struct guest_block *b)
{
	struct image_probe probe;
	struct err ignored;

	if (b->path && image_probe(b->path, &probe, &ignored) && probe.build_id[0])
		return x_strdup(probe.build_id);
	return text_shown_without(b->name, "\t");
}

/* One line per block: number, build-id, offset, name of the file. */
static bool put_blocks(FILE *f, const struct guest *g)
{
	const char *last = NULL;
	char *word = NULL, *name = NULL;

	fputs("# block\tbuild-id\toffset\tfile\n", f);
	for (uint64_t n = 1; n <= guest_vector_blocks(g); n++) {
		struct guest_block b = guest_vector_block(g, n);

		/* Names live as long as the guest, so that the same one is the same file. */
		if (b.name != last) {
			free(word);
			free(name);
			word = b.name ? file_word(&b) : NULL;
			name = b.name ? text_shown_without(b.name, "\t") : NULL;
			last = b.name;
		}
		fprintf(f, "%llu\t%s\t0x%llx\t%s\n", (unsigned long long)n, word ? word : "-",
			(unsigned long long)b.offset, name ? name : "-");
	}
	free(word);
	free(name);
	return !ferror(f);
}

static bool write_blocks(struct output *o, const struct guest *g, const char *path, struct err *e)
{
	FILE *f = output_stream(o, e);
	bool ok = f && put_blocks(f, g);

	if (f && (fclose(f) || !ok)) {
		char *shown = text_shown(path);

		err_set(e, "cannot write %s", shown);
		free(shown);
		ok = false;
	}
	if (ok)
		return output_commit(o, e);
	output_discard(o);
	return false;
}

/* ---- the run ---- */

static bool stop_asked(void)
{
	return sim_stop_signal() != 0;
}

static void on_progress(void *ctx, uint64_t insts)
{
	progress_update(ctx, insts);
}

static bool check(const struct bbv_values *o, struct err *e)
{
	if (o->children == GUEST_CHILDREN_SIMULATED)
		return err_set(e, "--children simulated: vectors are those of one process; run the "
				  "child's program by itself");
	if (!o->output)
		return err_set(e, "no file to write: name one with -o X.bb or -o X.bb.gz");
	return true;
}

static void summarise(const struct bbv_values *o, const struct vectors *v)
{
	char insts[NUMBER_COMMAS_BYTES], count[NUMBER_COMMAS_BYTES], blocks[NUMBER_COMMAS_BYTES];
	char *shown = text_shown(o->output);

	number_commas(v->insts, insts);
	number_commas(v->count, count);
	number_commas(v->blocks, blocks);
	warn("%s instructions, %s interval%s, %s blocks: %s", insts, count,
	     v->count == 1 ? "" : "s", blocks, shown);
	free(shown);
}

static bool run(struct guest *g, const struct bbv_values *o, struct vectors *v, struct err *e)
{
	struct progress progress;
	struct vectors_options options = {
		.interval = o->interval,
		.max_insts = o->max_insts,
		.data = o->data,
		.partial = o->partial,
		.file = o->output,
		.stop = stop_asked,
		.progress = on_progress,
		.progress_ctx = &progress,
	};
	struct output *blocks = NULL;
	bool ok;

	guest_hide(g, o->output);
	if (o->blocks) {
		guest_hide(g, o->blocks);
		blocks = output_open(o->blocks, &blocks_kind, e);
		if (!blocks)
			return false;
	}
	sim_catch_stop(g);
	progress_begin(&progress, o->max_insts);
	ok = vectors_run(g, &options, v, e);
	progress_end(&progress);
	sim_catch_stop(NULL);
	if (ok && blocks)
		return write_blocks(blocks, g, o->blocks, e);
	output_discard(blocks);
	return ok;
}

static int bbv_run(void *values, int nargs, char **args)
{
	const struct bbv_values *o = values;
	char **env = sim_make_env(&o->env), *program = sim_find_program(args[0], o->sysroot);
	struct guest_config config = {
		.argv = args,
		.envp = env,
		.program = program,
		.sysroot = o->sysroot,
		.seed = o->seed,
		.interpreter_only = o->interpreter,
	};
	struct confine_report confined = { .net = true };
	struct guest *g = NULL;
	struct vectors v;
	struct err e = { "" };
	int status = 2;

	(void)nargs;
	if (check(o, &e))
		g = guest_new(&config, &e);
	if (g) {
		confine_drop(&confined);
		if (run(g, o, &v, &e)) {
			summarise(o, &v);
			status = v.stopped		     ? 128 + sim_stop_signal()
				 : v.status == GUEST_RUNNING ? 0
							     : guest_exit_status(g);
		}
		guest_free(g);
	}
	if (e.text[0])
		warn("bbv: %s", e.text);
	free(env);
	free(program);
	return status;
}

#define VALUE(member) .offset = offsetof(struct bbv_values, member)

static const struct cmd_option options[] = {
	{ "output", CMD_TEXT, VALUE(output), .arg = "FILE", .letter = 'o',
	  .help = "Where the vectors go: a line for each interval. A name that ends with .gz is "
		  "compressed." },
	{ "interval", CMD_NUMBER, VALUE(interval), .arg = "N",
	  .range = { 1, SIM_INSTS_MAX, NUMBER_DECIMAL }, .unset = SAMPLING_INTERVAL,
	  .help = "Instructions of each interval but the last, which has the rest (k, M, G may "
		  "follow); 1M unless given." },
	{ "data", CMD_SWITCH, VALUE(data),
	  .help = "Adds what the interval did to memory, as a comment after each line: loads and "
		  "stores that found another line or page in tables of growing size." },
	{ "blocks", CMD_TEXT, VALUE(blocks), .arg = "FILE",
	  .help = "Also writes what the blocks are: number, build-id, offset, file." },
	{ "partial", CMD_SWITCH, VALUE(partial),
	  .help = "Writes what ran of a program that a signal killed, or that was interrupted." },
	{ "sysroot", CMD_TEXT, VALUE(sysroot), .arg = "DIR",
	  .help = "Looks absolute guest paths up under DIR first." },
	{ "max-insts", CMD_NUMBER, VALUE(max_insts), .arg = "N",
	  .range = { 1, SIM_INSTS_MAX, NUMBER_DECIMAL },
	  .help = "Stops after exactly N instructions (k, M, G may follow)." },
	{ "env", CMD_STRINGS, VALUE(env), .arg = "NAME=VALUE",
	  .help = "Sets a variable of the guest's environment. May be given more than once." },
	{ "seed", CMD_NUMBER, VALUE(seed), .arg = "N",
	  .help = "Changes what the guest gets as random numbers and process id; 0 unless given." },
	{ "children", CMD_CHOICE, VALUE(children), .choices = sim_children_choices,
	  .help = "What becomes of processes that the guest forks: they run and are not counted "
		  "(functional). Vectors of several processes do not exist." },
	{ "interpreter", CMD_SWITCH, VALUE(interpreter),
	  .help = "Never generates host code. Slower, same result." },
	{ .name = NULL },
};

static const struct cmd_example examples[] = {
	{ "culprit bbv -o program.bb -- ./program input",
	  "A vector for each million instructions." },
	{ "culprit bbv --interval 100k -o gcc.bb.gz --sysroot root -- /usr/bin/gcc -c x.c",
	  "Shorter intervals, in a compressed file." },
	{ NULL, NULL },
};

const struct command cmd_bbv = {
	.name = "bbv",
	.summary = "write the basic block vectors of a RISC-V program",
	.args = "[--] PROG [ARGS...]",
	.min_args = 1,
	.max_args = -1,
	.args_verbatim = true,
	.description =
	    "Runs the program functionally, as 'culprit sim --functional' does, and writes how "
	    "many "
	    "instructions each basic block executed in each interval of the run. The file is what "
	    "SimPoint reads and valgrind's exp-bbv writes; 'culprit simpoint' chooses points from "
	    "it.\n\n"
	    "A block is a run of instructions in sequence, from where a thread enters it to the "
	    "next "
	    "control transfer or system call. It belongs to a binary: a library that is loaded "
	    "elsewhere keeps its blocks. Blocks are numbered from 1 in the order in which they "
	    "first "
	    "ran. All threads of the process count together.",
	.exit_status =
	    "The program's own; 128 + n if signal n ended it, or culprit. 2 if nothing was "
	    "written.",
	.options = options,
	.examples = examples,
	.values_size = sizeof(struct bbv_values),
	.run = bbv_run,
};
