/* SPDX-License-Identifier: MIT */
/*
 * culprit sim: loads a RISC-V program, runs it, and reports the run.
 *
 * The guest's standard output is the program's alone: whatever culprit says goes to standard error.
 * The exit status is the guest's; 2 when there was nothing to run; 128 + n when signal n stopped
 * culprit.
 */
#include "cmd/sim.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/progress.h"
#include "cmd/sim_into.h"
#include "util/outside.h"

extern const struct command cmd_sim;

/* All that the signal handler can reach: the guest to interrupt, and the signal that came. */
static struct guest *volatile running_guest;
static volatile sig_atomic_t stop_signal;

static void on_stop(int signal)
{
	stop_signal = signal;
	if (running_guest)
		guest_interrupt(running_guest);
}

int sim_stop_signal(void)
{
	return stop_signal;
}

void sim_catch_stop(struct guest *g)
{
	struct sigaction action = { .sa_handler = on_stop, .sa_flags = (int)SA_RESETHAND };

	running_guest = g;
	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

char **sim_make_env(const struct cmd_strings *added)
{
	size_t fixed = 0, n = 0;
	char **env;

	while (guest_environment[fixed])
		fixed++;
	env = x_calloc(fixed + added->count + 1, sizeof(*env));
	for (size_t i = 0; i < fixed + added->count; i++) {
		const char *item = i < fixed ? guest_environment[i] : added->items[i - fixed];
		size_t name_len = strcspn(item, "=") + 1, at = 0;

		while (at < n && strncmp(env[at], item, name_len))
			at++;
		env[at] = (char *)item;
		n += at == n;
	}
	return env;
}

char *sim_find_program(const char *name, const char *sysroot)
{
	static const char *const dirs[] = { "/usr/local/bin", "/usr/bin", "/bin", "/usr/games" };

	if (!sysroot || strchr(name, '/') || !access(name, F_OK))
		return x_strdup(name);
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		char *host = x_asprintf("%s%s/%s", sysroot, dirs[i], name);
		bool found = !access(host, X_OK);

		free(host);
		if (found)
			return x_asprintf("%s/%s", dirs[i], name);
	}
	return x_strdup(name);
}

static int exit_status(const struct sim_run *run)
{
	if (run->stop_signal)
		return 128 + run->stop_signal;
	return run->status == GUEST_RUNNING ? 0 : run->exit_status;
}

static int run_guest(struct sim *s)
{
	struct err e = { "" };
	int late_signal = 0;
	bool ok = true;

	if (s->options->profile)
		guest_count_blocks(s->guest, true);
	s->run.first_second = host_now();
	if (s->core) {
		struct trace_meta meta;

		core_meta(s->core, &meta);
		snprintf(s->machine, sizeof(s->machine), "%s", meta.machine);
		s->run.machine = s->machine;
		s->run.emit = s->session ? session_emit(s->session) : NULL;
		s->run.begin = sim_begin;
		s->run.begin_ctx = s;
		if (!s->intervals.count)
			sim_timing(s->core, s->guest, s->options, &s->run);
		else if (!sim_intervals(s, &s->intervals, &e)) {
			warn("sim: %s", e.text);
			running_guest = NULL;
			return 2;
		} else {
			running_guest = NULL;
			return exit_status(&s->run);
		}
	} else {
		s->run.machine = "functional";
		s->run.first_inst = guest_insts(s->guest);
		if (s->options->into)
			ok = sim_into_run(s, &e);
		else
			sim_functional(s->guest, s->options, &s->run);
	}
	running_guest = NULL;
	sim_leave_folder(s);
	if (s->options->into) {
		ok = ok && sim_into_write(s, &e);
		intervals_free(&s->vectors);
		if (!ok && !s->run.stop_signal)
			warn("sample: %s", e.text);
		return ok ? 0 : s->run.stop_signal ? 128 + s->run.stop_signal : 2;
	}

	if (s->options->profile)
		sim_print_profile(stderr, s->guest, s->options->sysroot);
	bool writes = s->session && session_emit(s->session);

	if (s->session) {
		ok = sim_session_close(s, &e);
		if (!ok)
			warn("sim: %s%s%s%s", s->run.child ? "child " : "",
			     s->run.child ? s->run.child : "", s->run.child ? ": " : "", e.text);
	}
	if (!s->run.stop_signal && stop_signal) {
		warn("sim: SIG%s came after the run; some addresses have no names",
		     sigabbrev_np(stop_signal));
		late_signal = stop_signal;
	}
	sim_print_summary(stderr, s->guest, &s->run);
	ok = sim_close_json(s, true) && ok;
	if (writes || !ok)
		sim_children_wrote(s, ok);
	ok = sim_children_report(stderr, s) && ok;
	return !ok ? 2 : late_signal ? 128 + late_signal : exit_status(&s->run);
}

/* The guest does not see the files that culprit writes: a second run would find those of the
 * first. */
static void hide_outputs(struct sim *s)
{
	static const char *const texts[] = { "csv", "folded", "bb" };
	const struct sim_options *o = s->options;

	if (s->store_path)
		guest_hide(s->guest, s->store_path);
	if (o->session.trace)
		guest_hide(s->guest, o->session.trace);
	if (o->summary_json)
		guest_hide(s->guest, o->summary_json);
	for (size_t i = 0; i < o->hide.count; i++)
		guest_hide(s->guest, o->hide.items[i]);
	for (size_t i = 0; i < s->intervals.count; i++)
		guest_hide(s->guest, s->intervals.items[i].output);
	/* files of the analyses that write text */
	for (size_t k = 0; k < ARRAY_LEN(texts); k++) {
		size_t n = strlen(texts[k]);
		char *name = x_asprintf("%s.%s", path_name(s->args[0]), texts[k]);

		if (o->session.analyze && strstr(o->session.analyze, texts[k]))
			guest_hide(s->guest, name);
		free(name);
		for (size_t i = 0; i < o->session.params.count; i++) {
			const char *param = o->session.params.items[i];

			if (!strncmp(param, texts[k], n) && param[n] == '=')
				guest_hide(s->guest, param + n + 1);
		}
	}
}

/* The guest, new or from a checkpoint. */
static struct guest *make_guest(struct sim *s, const struct guest_config *config, int *folder,
				struct err *e)
{
	return s->from ? sim_restore_guest(s, config, folder, e) : guest_new(config, e);
}

/* Which guest the options want; what is allocated is the caller's to free. */
static struct guest_config guest_of(struct sim *s, char **env, char *program)
{
	const struct sim_options *o = s->options;
	const struct sim_limits limits = sim_limits(o);
	struct guest_config config = {
		.argv = (char **)s->args,
		.envp = env,
		.program = program,
		.sysroot = o->sysroot,
		.streams = s->streams.fds,
		.seed = o->seed,
		.real_time = o->real_time,
		.private_files = s->saving != NULL,
		.discard_output = s->from && !o->show_output,
		.clock_cpi = sim_clock_cpi(o),
		.limit_files = limits.files,
		.limit_processes = limits.processes,
		.limit_output = limits.output,
		.limit_memory = limits.memory,
		.children = (enum guest_children)o->children,
		.interpreter_only = o->interpreter,
		.forked = sim_on_fork,
		.forked_ctx = s,
	};

	memcpy(config.input, s->streams.input, sizeof(config.input));
	memcpy(config.identity, s->streams.identity, sizeof(config.identity));
	return config;
}

/* Instructions of the run before what --settle lets be measured. */
static uint64_t interval_start(const struct sim *s)
{
	const struct sim_options *o = s->options;

	return guest_insts(s->guest) + o->fast_forward + o->settle +
	       (o->warm == SIM_WARM_ALL ? 0 : o->warm);
}

/* Makes the guest and what measures it, and runs it. The exit status. */
static int load_and_run(struct sim *s, char **env, char *program, struct confine_report *confined)
{
	const struct sim_options *o = s->options;
	const bool functional = o->functional || s->saving;
	const struct guest_config config = guest_of(s, env, program);
	int status = 2, folder = -1;
	struct err e = { "" };

	s->guest = make_guest(s, &config, &folder, &e);
	sim_streams_close(&s->streams);
	/* Before there are threads: they inherit the confinement. */
	if (s->guest && !o->sandbox)
		confine_drop(confined);
	confine_describe(confined, o->sandbox, s->confined, sizeof(s->confined));
	if (s->guest && o->sandbox)
		warn("sandbox: %s", s->confined);
	if (s->guest && (!functional || (s->saving && s->saving->with_core)))
		s->core = sim_timing_new(s->guest, o, &e);
	if (s->core && o->history && !o->restore && !guest_history(s->guest)) {
		err_set(&e, "--history: this host has no room for it");
		core_free(s->core);
		s->core = NULL;
	}
	if (s->core && (!sim_restore_core(s, &e) || !sim_restore_history(s, &e))) {
		core_free(s->core);
		s->core = NULL;
	}
	if (o->settle)
		s->interval =
		    (struct session_interval){ true, o->settle, o->max_insts, interval_start(s) };
	if (s->core && !s->saving && !o->intervals)
		s->session = sim_session_open(s, NULL, &e);
	if (s->session && session_path(s->session))
		s->store_path = x_strdup(session_path(s->session));
	if (s->guest)
		hide_outputs(s);
	if (s->guest && s->saving)
		sim_save_announce(s);
	for (size_t i = 0; i < s->intervals.count; i++)
		outside_expect(s->intervals.items[i].output);
	if (s->guest && (s->session || (functional && !e.text[0]) || (s->core && o->intervals))) {
		outside_seal();
		if (config.limit_memory)
			confine_limit_memory(config.limit_memory);
		sim_enter_folder(folder);
		sim_catch_stop(s->guest);
		status = s->saving ? sim_save(s) : run_guest(s);
		running_guest = NULL;
	} else {
		warn("%s: %s", s->command, e.text);
		sim_close_json(s, false);
	}
	return status;
}

int sim_main(const struct sim_options *o, char **args, struct sim_saving *saving)
{
	struct sim s = { .command = saving ? "checkpoint" : "sim",
			 .options = o,
			 .args = args,
			 .saving = saving };
	struct confine_report confined = { .net = true };
	char **env = NULL, *program = NULL;
	struct err e;
	int status = 2;

	if (!sim_options_check(o, &e) || !sim_restore_open(&s, &e) ||
	    (o->intervals && !sim_intervals_read(o->intervals, &s.intervals, &e)) ||
	    !sim_streams_open(o, &s.streams, &e)) {
		sim_streams_close(&s.streams);
		sim_restore_close(&s);
		sim_intervals_free(&s.intervals);
		warn("%s: %s", s.command, e.text);
		return 2;
	}
	program = s.from ? sim_restore_program(&s) : sim_find_program(s.args[0], o->sysroot);
	if (!o->functional || o->into)
		trust_key_load(&s.key, &e);
	if (o->sandbox && !sim_sandbox_enter(o, s.streams.fds, program ? program : "",
					     sim_limits(o).output, &confined, &status, &e)) {
		/* This is the process outside the sandbox, and the run is over. */
		sim_streams_close(&s.streams);
		sim_restore_close(&s);
		sim_intervals_free(&s.intervals);
		free(program);
		if (status < 0)
			warn("%s: %s", s.command, e.text);
		return status < 0 ? 2 : status;
	}
	/* The output is opened before the run, so that a bad name costs nothing. */
	if (!sim_open_json(&s, &e)) {
		sim_streams_close(&s.streams);
		sim_restore_close(&s);
		warn("%s: %s", s.command, e.text);
		free(program);
		return 2;
	}
	sim_children_init(&s);
	env = sim_make_env(&o->env);
	status = load_and_run(&s, env, program, &confined);
	if (s.run.child) {
		/* Memory that was the parent's at the fork is neither used nor freed. */
		fflush(NULL);
		_exit(status);
	}
	sim_intervals_free(&s.intervals);
	core_free(s.core);
	if (s.guest)
		guest_free(s.guest);
	sim_children_free(&s);
	sim_restore_close(&s);
	free(program);
	free(env);
	return status;
}

static int sim_run_command(void *values, int nargs, char **args)
{
	const struct sim_options *o = values;

	if (nargs && o->restore) {
		warn("sim: with --restore the program and its arguments come from the checkpoint; "
		     "leave out '%s'",
		     args[0]);
		return 2;
	}
	if (!nargs && !o->restore) {
		warn("sim: an argument is missing: culprit sim [options] %s", cmd_sim.args);
		return 2;
	}
	return sim_main(o, args, NULL);
}

static const struct cmd_example examples[] = {
	{ "culprit sim --functional -- ./program input", "Runs a statically linked program." },
	{ "culprit sim --functional --sysroot root -- /usr/bin/bzip2 -k file",
	  "Runs a dynamically linked one, with its libraries from root/." },
	{ "culprit sim --functional --profile --max-insts 100M -- ./program",
	  "Shows what the first 100 million instructions were." },
	{ "culprit sim --restore points/1000000000.checkpoint --warm 1M --max-insts 10M",
	  "Goes on from what 'culprit checkpoint' has saved, and measures 10 million "
	  "instructions." },
	{ "culprit sim --children simulated --sysroot root -- /bin/sh -c 'sort x | uniq'",
	  "Measures the shell in sh.culprit, sort in sh.culprit.1, uniq in sh.culprit.2." },
	{ NULL, NULL },
};

const struct command cmd_sim = {
	.name = "sim",
	.summary = "run a RISC-V program on the modelled machine",
	.args = "[--] PROG [ARGS...]",
	.max_args = -1,
	.args_verbatim = true,
	.description =
	    "Runs an unmodified RV64GC Linux program, static or dynamic. Its standard output is "
	    "its own; a one-line summary (instructions, host speed, time) goes to standard error, "
	    "and so does progress on a terminal when a run takes longer than two seconds.\n\n"
	    "Runs repeat exactly: the guest's time comes from the count of instructions, its "
	    "random numbers, process id and environment are fixed; see --seed, --real-time and "
	    "--env.\n\n"
	    "Processes that the program forks run, too, but are measured only with --children "
	    "simulated; the last line of the run says how many there were.\n\n"
	    "Ctrl-C ends the run cleanly, with the summary of what was run.",
	.exit_status =
	    "The program's own; 128 + n if signal n ended it, or culprit. 2 if there was nothing "
	    "to run (wrong options, no such program, not a RISC-V program) or a result could not "
	    "be written. 0 if --max-insts ended it.",
	.options = sim_option_table,
	.examples = examples,
	.values_size = sizeof(struct sim_options),
	.run = sim_run_command,
};
