/* SPDX-License-Identifier: MIT */
/* culprit daemon: profiles this machine all day into a database; and talks to a daemon that runs. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/selecting.h"
#include "collect/control.h"
#include "collect/daemon.h"

struct daemon_values {
	bool foreground, per_process, per_cpu, stacks, edges;
	const char *socket, *group, *run_as, *budget, *epoch, *keep, *day, *drain;
	uint64_t rate, seed, max_bytes;
	struct cmd_strings events;
};

static bool check_budget(const char *text, struct err *e)
{
	char *end;
	const double x = strtod(text, &end);

	return (end != text && !strcmp(end, "%") && x > 0 && x <= 50) ||
	       err_set(e, "'%s' is no budget; it is a share of a processor such as 1%%", text);
}

static uint64_t duration(const char *text, uint64_t unset)
{
	uint64_t ns = unset;

	if (text)
		selecting_duration(text, &ns);
	return ns;
}

static bool run_daemon(const struct daemon_values *v, const char *folder, int ready, struct err *e)
{
	const struct collector_options collector = {
		.events = v->events.items,
		.nevents = v->events.count,
		.rate = (double)v->rate,
		.budget = v->budget ? strtod(v->budget, NULL) / 100 : 0.01,
		.seed = v->seed,
		.drain_s = (double)duration(v->drain, 0) / 1e9,
		.per_process = v->per_process,
		.per_cpu = v->per_cpu,
		.stacks = v->stacks,
		.edges = v->edges,
		.kernel = true,
		.run_as = v->run_as,
		.command = "culprit daemon",
	};
	const struct daemon_options o = {
		.folder = folder,
		.socket = v->socket,
		.group = v->group,
		.run_as = v->run_as,
		.per_process = v->per_process,
		.per_cpu = v->per_cpu,
		.epoch_ns = duration(v->epoch, 0),
		.keep = { .max_age_ns = duration(v->keep, 0),
			  .max_bytes = v->max_bytes,
			  .day_after_ns = duration(v->day, 86400000000000u) },
		.ready_fd = ready,
	};
	const struct daemon_source source = daemon_collector(&collector);

	return daemon_run(&o, &source, e);
}

/* Runs it in a process of its own, and waits until it runs or says why it does not. */
static int in_background(const struct daemon_values *v, const char *folder)
{
	int ready[2];
	char byte;

	if (pipe2(ready, O_CLOEXEC)) {
		warn("daemon: %s", strerror(errno));
		return 2;
	}
	const pid_t child = fork();

	if (child < 0) {
		warn("daemon: cannot start: %s", strerror(errno));
		return 2;
	}
	if (!child) {
		struct err e = { "" };

		close(ready[0]);
		setsid();
		const int null = open("/dev/null", O_RDWR);

		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		const bool ok = run_daemon(v, folder, ready[1], &e);

		if (!ok)
			warn("daemon: %s", e.text);
		_exit(ok ? 0 : 2);
	}
	close(ready[1]);
	const bool runs = read(ready[0], &byte, 1) == 1;
	int status;

	close(ready[0]);
	if (runs) {
		printf("process %d profiles this machine into %s\n", (int)child, folder);
		return cmd_flush() ? 0 : 2;
	}
	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

static int daemon_command(void *values, int nargs, char **args)
{
	static const char *const asks[] = { "status", "flush", "epoch", "stop" };
	const struct daemon_values *v = values;
	struct err e = { "" };

	for (size_t i = 0; nargs == 2 && i < ARRAY_LEN(asks); i++)
		if (!strcmp(args[0], asks[i])) {
			char *socket = daemon_socket(args[1], v->socket);
			const bool ok = control_ask(socket, asks[i], stdout, &e);

			free(socket);
			if (!ok)
				warn("daemon: %s", e.text);
			return ok && cmd_flush() ? 0 : 2;
		}
	if (nargs == 2) {
		warn("daemon: there is no '%s'; valid are status, flush, epoch and stop", args[0]);
		return 2;
	}
	if (!v->foreground)
		return in_background(v, args[0]);
	if (run_daemon(v, args[0], -1, &e))
		return 0;
	warn("daemon: %s", e.text);
	return 2;
}

#define OPTION(field) .offset = offsetof(struct daemon_values, field)
static const struct cmd_option options[] = {
	{ .name = "foreground",
	  .type = CMD_SWITCH,
	  OPTION(foreground),
	  .help = "Stays in the foreground, for systemd" },
	{ .name = "event",
	  .type = CMD_STRINGS,
	  .letter = 'e',
	  OPTION(events),
	  .arg = "EVENT",
	  .help = "What to sample by, cycles by default; can be given more than once" },
	{ .name = "rate",
	  .type = CMD_NUMBER,
	  OPTION(rate),
	  .arg = "N",
	  .range = { 1, 1000000, NUMBER_DECIMAL },
	  .help = "Samples a second and processor, instead of a budget" },
	{ .name = "budget",
	  .type = CMD_TEXT,
	  OPTION(budget),
	  .arg = "P%",
	  .check = check_budget,
	  .help = "What sampling may cost, as a share of each processor; 1% by default" },
	{ .name = "seed",
	  .type = CMD_NUMBER,
	  OPTION(seed),
	  .arg = "N",
	  .help = "Of the random periods" },
	{ .name = "drain",
	  .type = CMD_TEXT,
	  OPTION(drain),
	  .arg = "TIME",
	  .check = selecting_check_duration,
	  .help = "How often counts are fetched from the kernel; a crash costs no more than that" },
	{ .name = "per-process",
	  .type = CMD_SWITCH,
	  OPTION(per_process),
	  .help = "Keeps the counts of processes and containers apart" },
	{ .name = "per-cpu",
	  .type = CMD_SWITCH,
	  OPTION(per_cpu),
	  .help = "Keeps the counts of processors apart" },
	{ .name = "stacks",
	  .type = CMD_SWITCH,
	  OPTION(stacks),
	  .help = "Collects call stacks, too" },
	{ .name = "edges",
	  .type = CMD_SWITCH,
	  OPTION(edges),
	  .help = "Samples which way branches go, too" },
	{ .name = "epoch-length",
	  .type = CMD_TEXT,
	  OPTION(epoch),
	  .arg = "TIME",
	  .check = selecting_check_duration,
	  .help = "When a new epoch begins by itself; 1h by default" },
	{ .name = "days-after",
	  .type = CMD_TEXT,
	  OPTION(day),
	  .arg = "TIME",
	  .check = selecting_check_duration,
	  .help = "When the epochs of a day are merged into one; 1d by default" },
	{ .name = "keep",
	  .type = CMD_TEXT,
	  OPTION(keep),
	  .arg = "TIME",
	  .check = selecting_check_duration,
	  .help = "Drops epochs that ended longer ago; by default none" },
	{ .name = "max-size",
	  .type = CMD_NUMBER,
	  OPTION(max_bytes),
	  .arg = "BYTES",
	  .range = { 1, 0, NUMBER_BINARY },
	  .help = "Drops the oldest epochs where the database takes more" },
	{ .name = "socket",
	  .type = CMD_PATH,
	  OPTION(socket),
	  .arg = "PATH",
	  .help = "Where it listens; FOLDER/socket by default" },
	{ .name = "group",
	  .type = CMD_TEXT,
	  OPTION(group),
	  .arg = "GROUP",
	  .help = "Whose members may use the socket; members of the folder's group see everything, "
		  "others only their own processes" },
	{ .name = "run-as",
	  .type = CMD_TEXT,
	  OPTION(run_as),
	  .arg = "USER",
	  .help = "Becomes this user after loading, with the capabilities that sampling needs" },
	{ .name = NULL },
};

static const struct cmd_example examples[] = {
	{ "culprit daemon /var/lib/culprit", "Profiles this machine from now on." },
	{ "culprit daemon status /var/lib/culprit", "What it has taken, stored and lost." },
	{ "culprit report /var/lib/culprit --since 1h", "Where the last hour went." },
	{ NULL, NULL },
};

const struct command cmd_daemon = {
	.name = "daemon",
	.summary = "profiles this machine all day into a database",
	.args = "[status|flush|epoch|stop] FOLDER",
	.min_args = 1,
	.max_args = 2,
	.description =
	    "Samples every process and the kernel, and keeps the counts in a profile database, the "
	    "folder. `report`, `annotate`, `diff` and `stats` show it while the daemon runs.\n\n"
	    "status says what it does. flush writes everything that was sampled so far. epoch ends "
	    "the epoch and begins another one. stop ends the daemon after a flush.",
	.exit_status = "0 on success, 2 if it cannot run, another daemon owns the folder, or the "
		       "command was used wrongly.",
	.options = options,
	.examples = examples,
	.values_size = sizeof(struct daemon_values),
	.run = daemon_command,
};
