/* SPDX-License-Identifier: MIT */
/* culprit sim: its options (jobs/recipe.def), and which of them go together. */
#include <assert.h>
#include <string.h>

#include "cmd/sim.h"
#include "jobs/recipe.h"
#include "trace/hits.h"

const char *const sim_children_choices[] = { "functional", "simulated", NULL };
const char *const sim_clock_choices[] = { "cycles", "insts", NULL };
const char *const sim_unknown_choices[] = { "empty", "hits", "misses", NULL };
const char *const sim_warm_words[] = { "all", NULL };

static bool sim_check_cpi(const char *text, struct err *e)
{
	const char *unit;
	double cpi;

	return (number_real(text, &cpi, &unit) && !*unit && cpi >= 0.001 && cpi <= 1000) ||
	       err_set(e, "'%s' is not valid: cycles per instruction, from 0.001 to 1000", text);
}

double sim_clock_cpi(const struct sim_options *o)
{
	const char *unit;
	double cpi = 1;

	if (!o->clock)
		return 0;
	if (o->clock_cpi)
		number_real(o->clock_cpi, &cpi, &unit);
	return cpi;
}

static bool sim_check_content(const char *text, struct err *e)
{
	return (*text >= '0' && *text <= '2' && text[1] == '=' && text[2]) ||
	       err_set(e, "'%s' is not valid: N=FILE, N one of 0, 1 and 2", text);
}

#define ROW(member, kind, option, ...)                                                             \
	{ .name = option,                                                                          \
	  .type = CMD_##kind,                                                                      \
	  .offset = offsetof(struct sim_options, member),                                          \
	  __VA_ARGS__ },
const struct cmd_option sim_option_table[] = {
#define SIM(member, kind, option, use, ...)	ROW(member, kind, option, __VA_ARGS__)
#define SESSION(member, kind, option, use, ...) ROW(session.member, kind, option, __VA_ARGS__)
#include "jobs/recipe.def"
	{ .name = NULL },
};
static_assert(ARRAY_LEN(sim_option_table) == RUN_OPTIONS + 1, "in the order of enum recipe_item");

/* The first option of that use that was given; NULL: none. */
static const char *given(const struct sim_options *o, enum recipe_use use)
{
	for (unsigned i = 0; i < RUN_OPTIONS; i++)
		if (recipe_rows[i].use & use && cmd_given(&sim_option_table[i], o))
			return recipe_rows[i].option;
	return NULL;
}

static bool check_env(const struct cmd_strings *env, struct err *e)
{
	for (size_t i = 0; i < env->count; i++) {
		const char *equals = strchr(env->items[i], '=');
		if (!equals || equals == env->items[i])
			return err_set(e, "--env: '%s' is not NAME=VALUE", env->items[i]);
	}
	return true;
}

bool sim_options_check(const struct sim_options *o, struct err *e)
{
	const char *timed = o->functional ? given(o, RECIPE_TIMED) : NULL;
	const char *inside = o->sandbox ? NULL : given(o, RECIPE_INSIDE);

	if (timed)
		return err_set(e, "--%s means nothing with --functional, which models no machine",
			       timed);
	if (!check_env(&o->env, e))
		return false;
	if (o->settle && (o->session.start.count || o->session.stop.count))
		return err_set(
		    e, "--settle says where measuring begins; it excludes --start and --stop");
	if (o->settle && o->children)
		return err_set(e,
			       "--settle measures one process; it excludes --children simulated");
	if (o->intervals && (o->fast_forward || o->warm || o->settle))
		return err_set(
		    e, "--intervals says what is run and measured; it excludes --fast-forward, "
		       "--warm and --settle");
	if (o->intervals && (o->session.start.count || o->session.stop.count || o->children ||
			     o->session.trace || o->summary_json || o->session.output))
		return err_set(e, "--intervals excludes --start, --stop, --children simulated, "
				  "--trace, --summary-json and --output");
	if (o->intervals && !o->clock)
		return err_set(e,
			       "--intervals counts instructions that are always the same; it needs "
			       "--clock insts");
	if (o->history && (o->intervals || o->restore_core || o->warm == SIM_WARM_ALL))
		return err_set(e, "--history says what caches have before --warm N; it excludes "
				  "--warm all, --intervals and --restore-core");
	if (o->history && o->restore && o->fast_forward)
		return err_set(e, "--history with --restore is that of the checkpoint, which "
				  "excludes --fast-forward");
	if (o->restore_core && !o->restore)
		return err_set(
		    e, "--restore-core is about the checkpoint of --restore, and there is none");
	if (o->restore_core && o->unknown)
		return err_set(
		    e,
		    "--unknown is about a core that begins empty; with --restore-core it does not");
	if (o->clock_cpi && !o->clock)
		return err_set(
		    e,
		    "--clock-cpi says how time follows from instructions; it needs --clock insts");
	if (o->clock && o->real_time)
		return err_set(
		    e, "--clock insts contradicts --real-time, which takes the host's clock");
	return !inside || err_set(e, "--%s says what a sandbox allows; it needs --sandbox", inside);
}
