/* SPDX-License-Identifier: MIT */
/*
 * culprit machines: lists the machines that can be modelled, or prints one with every parameter, as
 * a file that can be changed and read back.
 */
#include "cmd/cmd.h"

#include "analysis/cpistack/bits.h"
#include "analysis/profile/cost.h"
#include "analysis/profile/profilers.h"
#include "machine/machine.h"
#include "trace/record.h"

struct machines_values {
	struct cmd_strings set;
	bool reference, profiler_cost;
	uint64_t hertz, interrupt;
};

static int list_machines(void)
{
	for (size_t i = 0; i < machine_files_count; i++) {
		struct machine c;
		struct err e;

		if (!machine_load(&c, machine_files[i].name, &e)) {
			warn("machines: %s", e.text);
			return 1;
		}
		printf("%-18s %s\n", c.name, c.summary);
	}
	return 0;
}

static void print_storage(const struct machine *m)
{
	struct cost_storage s;

	cost_storage(m, PSV_TEA, &s);
	printf("Storage that TIP adds to the core: %u bytes\n"
	       "  offending-instruction register  %5u bits\n"
	       "  registers for software          %5u bits\n"
	       "that TEA adds: %u bytes; both: %u bytes\n"
	       "  fetch buffer                    %5u bits\n"
	       "  fetch, decode, dispatch         %5u bits\n"
	       "  load and store queues           %5u bits\n"
	       "  reorder buffer                  %5u bits\n"
	       "  last committed instruction      %5u bits\n",
	       s.tip_bytes, s.oir, s.csrs, s.tea_bytes, s.both_bytes, s.fetch_buffer, s.front,
	       s.lsu, s.rob, s.last);
}

/* What the counters of each CPI stack would cost. */
static void print_stacks(const struct machine *m)
{
	printf("\nCounters of CPI stacks (culprit stack), in bits; a global counter has %u:\n"
	       "%-14s %6s %10s %12s %10s %8s %9s %10s\n",
	       CPISTACK_GLOBAL, "method", "rows", "table", "ROB entries", "registers", "clocks",
	       "globals", "all");
	for (int i = 0; i < METHODS; i++) {
		struct cpistack_bits b;

		if (i == METHOD_STALLS && m->model != MODEL_INORDER)
			continue;
		cpistack_bits(m, (enum cpi_method)i, &b);
		printf("%-14s %6u %10u %12u %10u %8u %9u %10u\n", words_methods[i].name, b.rows,
		       b.table, b.rob, b.pointers, b.clocks, b.globals, b.bits);
	}
}

/* What every profiler would cost on this machine. */
static void print_cost(const struct machine *m, const struct machines_values *v)
{
	const double hertz = v->hertz != OPTION_NOT_GIVEN ? (double)v->hertz : COST_HERTZ;
	const double interrupt =
	    v->interrupt != OPTION_NOT_GIVEN ? (double)v->interrupt : COST_INTERRUPT;

	printf("Profilers on %s: %u commit ways, %u ROB entries, %.3g GHz\n\n", m->name,
	       m->commit_width, m->rob, m->clock_ghz);
	print_storage(m);
	printf("\nAt %.0f samples a second, interrupts of %.0f cycles and 25 for each byte:\n"
	       "%-14s %12s %14s %12s %10s\n",
	       hertz, interrupt, "profiler", "storage bits", "bytes a sample", "KB/s", "slowdown");
	for (int p = 0; p < PROFILER_COUNT; p++) {
		struct cost_profiler c;

		cost_profiler(m, (enum profiler_id)p, hertz, interrupt, &c);
		printf("%-14s %12u %14u %12.0f %9.2f%%\n", profilers[p].name, c.storage_bits,
		       c.sample_bytes, c.bytes_per_second / 1e3, 100 * c.slowdown);
	}
	printf(
	    "\nA trace of every cycle instead: %.0f GB/s for Oracle (addresses), %.0f GB/s for the "
	    "golden\nreference of TEA (addresses and events).\n",
	    cost_oracle(m) / 1e9, cost_golden(m) / 1e9);
	print_stacks(m);
}

static int machines_run(void *values, int nargs, char **args)
{
	const struct machines_values *v = values;
	struct machine c;
	struct err e;

	if (v->reference) {
		machine_print_reference(stdout);
		return 0;
	}
	if (!nargs && !v->set.count && !v->profiler_cost)
		return list_machines();
	if (nargs) {
		if (!machine_load(&c, args[0], &e))
			goto bad;
	} else {
		c = machine_default;
	}
	for (size_t i = 0; i < v->set.count; i++)
		if (!machine_set(&c, v->set.items[i], &e))
			goto bad;
	if (!machine_check(&c, &e))
		goto bad;
	if (v->profiler_cost) {
		print_cost(&c, v);
		return 0;
	}
	/* a machine that was changed is not that of the table */
	if (nargs && !v->set.count && !machine_print_table(args[0], stdout, &e))
		goto bad;
	machine_print(&c, stdout);
	return 0;
bad:
	warn("machines: %s", e.text);
	return 2;
}

static const struct cmd_option options[] = {
	{ .name = "set",
	  .type = CMD_STRINGS,
	  .offset = offsetof(struct machines_values, set),
	  .arg = "SECTION.KEY=VALUE",
	  .help =
	      "Changes a parameter of the machine that is printed. May be given more than once." },
	{ .name = "profiler-cost",
	  .type = CMD_SWITCH,
	  .offset = offsetof(struct machines_values, profiler_cost),
	  .help =
	      "Prints what each profiler would cost on that machine instead: storage in the core, "
	      "bytes a sample, data a second, and the time that interrupts take." },
	{ .name = "frequency",
	  .type = CMD_NUMBER,
	  .offset = offsetof(struct machines_values, hertz),
	  .unset = OPTION_NOT_GIVEN,
	  .arg = "HZ",
	  .range = { 1, 10000000, NUMBER_DECIMAL },
	  .help = "With --profiler-cost: samples a second; 4000 by default, as perf takes." },
	{ .name = "interrupt",
	  .type = CMD_NUMBER,
	  .offset = offsetof(struct machines_values, interrupt),
	  .unset = OPTION_NOT_GIVEN,
	  .arg = "CYCLES",
	  .range = { 0, 1000000000, NUMBER_DECIMAL },
	  .help = "With --profiler-cost: cycles of an interrupt beside 25 for each byte; 6600 by "
		  "default, as the papers' 1.0% and 1.1% imply." },
	{ .name = "reference",
	  .type = CMD_SWITCH,
	  .offset = offsetof(struct machines_values, reference),
	  .help =
	      "Prints every parameter with its unit, range, default and meaning, as Markdown." },
	{ .name = NULL },
};

static const struct cmd_example examples[] = {
	{ "culprit machines boom-tea", "Prints that machine with all its parameters." },
	{ "culprit machines boom-tea --profiler-cost",
	  "What TIP and TEA would cost in that core." },
	{ "culprit machines boom-tea --set window.rob=64 > small.ini",
	  "Makes a machine file of a variant." },
	{ NULL, NULL },
};

const struct command cmd_machines = {
	.name = "machines",
	.summary = "the machines that can be modelled, and their parameters",
	.args = "[NAME|FILE.ini]",
	.max_args = 1,
	.description =
	    "Lists the machines that are built in. With a name or a machine file it prints that "
	    "machine with every parameter and its meaning, as a file that can be changed and read "
	    "back; before them, if the machine is a paper's, the paper's table, row by row, with "
	    "what the machine makes of it and why. A mistake in a file is named with its line and "
	    "the nearest valid key.",
	.exit_status = "0; 2 if there is no such machine, or the file or a setting is wrong.",
	.options = options,
	.examples = examples,
	.values_size = sizeof(struct machines_values),
	.run = machines_run,
};
