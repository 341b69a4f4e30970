/* SPDX-License-Identifier: MIT */
/* culprit record: samples this machine, a process or a command, and writes a profile. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "collect/collector.h"
#include "collect/live_store.h"
#include "util/array.h"
#include "util/descriptor.h"
#include "util/number.h"
#include "util/text.h"

#define OUTPUT "live.culprit"

struct record {
	bool all, stacks, edges, user, per_process, per_thread, per_cpu;
	struct cmd_strings pids, events;
	const char *output, *budget, *seconds, *drain, *run_as;
	uint64_t rate, seed, mux_ms, table_entries, ring_bytes;
};

/* ---- The program that is recorded ---- */

struct child {
	pid_t pid;   /* 0: none */
	int go_fd;   /* closing it lets the program begin */
	int fail_fd; /* says why it could not */
};

/* Starts a process that waits to become the program. */
static bool child_start(struct child *c, char **args, struct err *e)
{
	int go[2], fail[2];

	if (pipe2(go, O_CLOEXEC) != 0 || pipe2(fail, O_CLOEXEC) != 0)
		return err_set(e, "cannot start %s: %s", args[0], strerror(errno));
	const pid_t pid = fork();

	if (pid < 0)
		return err_set(e, "cannot start %s: %s", args[0], strerror(errno));
	if (pid == 0) {
		sigset_t none;
		char byte;

		close(go[1]);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		/* One byte: begin. None: the recorder could not begin. */
		if (read(go[0], &byte, 1) == 1) {
			execvp(args[0], args);
			const int error = errno;

			if (write(fail[1], &error, sizeof(error)) < 0)
				_exit(126);
		}
		_exit(127);
	}
	close(go[0]);
	close(fail[1]);
	*c = (struct child){ .pid = pid, .go_fd = go[1], .fail_fd = fail[0] };
	return true;
}

/* Lets the program begin. False: it could not be executed. */
static bool child_go(struct child *c, const char *name, struct err *e)
{
	int error = 0;

	if (write(c->go_fd, "", 1) != 1)
		return err_set(e, "cannot start %s: %s", name, strerror(errno));
	close(c->go_fd);
	const ssize_t n = read(c->fail_fd, &error, sizeof(error));

	close(c->fail_fd);
	return n != sizeof(error) || err_set(e, "cannot execute %s: %s", name, strerror(error));
}

static void child_give_up(struct child *c)
{
	if (!c->pid)
		return;
	close(c->go_fd);
	close(c->fail_fd);
	waitpid(c->pid, NULL, 0);
}

/* ---- Options ---- */

static bool check_budget(const char *text, struct err *e)
{
	const char *unit;
	double x;

	if (number_real(text, &x, &unit) && x > 0 && strcmp(unit, "%") == 0 && x <= 50)
		return true;
	return err_set(e, "'%s' is not a budget; it is a share of a processor such as 1%%", text);
}

static bool check_seconds(const char *text, struct err *e)
{
	const char *unit;
	double x;

	if (number_real(text, &x, &unit) && x > 0 && !*unit)
		return true;
	return err_set(e, "'%s' is not a number of seconds such as 10 or 0.5", text);
}

static double real_of(const char *text, double unset, double factor)
{
	const char *unit;
	double x;

	return text && number_real(text, &x, &unit) ? x * factor : unset;
}

static bool check_pid(const char *text, struct err *e)
{
	uint64_t pid;
	const struct number_range range = { .min = 1, .max = INT32_MAX };

	return number_check("-p", text, &range, &pid, e);
}

/* Something to record is named, once. */
static bool check_what(const struct record *r, int nargs, struct err *e)
{
	if (!r->all && !r->pids.count && !nargs)
		return err_set(e, "say what to record: -a for all of the machine, -p PID, or a "
				  "program");
	if (r->all && r->pids.count)
		return err_set(e, "-a and -p exclude each other; give one of them");
	return true;
}

/* ---- Recording ---- */

struct recording {
	const struct record *options;
	struct live_profile *profile;
	struct collector *collector;
	struct child child;
	int signal_fd;
	int status; /* the program's, as a shell would have it; 0 without one */
	struct collector_status last;
};

static double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The signals that end a recording, and the program's end, are read from a descriptor. */
static int open_signals(void)
{
	return descriptor_signals((const int[]){ SIGINT, SIGTERM, SIGHUP, SIGCHLD, 0 });
}

static int shell_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Whether a signal has come that ends the recording. An interrupt from the terminal reaches the
 * program, too: its end is waited for, unless the user insists. */
static bool ended(struct recording *r, unsigned *interrupts)
{
	struct signalfd_siginfo info;
	int status;

	while (read(r->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		if (r->child.pid && info.ssi_signo != SIGINT)
			kill(r->child.pid, (int)info.ssi_signo);
		if (!r->child.pid || ++*interrupts > 1)
			return true;
	}
	if (r->child.pid && waitpid(r->child.pid, &status, WNOHANG) == r->child.pid) {
		r->status = shell_status(status);
		r->child.pid = 0;
		return true;
	}
	return false;
}

/* Whether none of the processes of -p lives any more. */
static bool all_gone(const struct collector_options *o)
{
	for (size_t i = 0; i < o->npids; i++)
		if (kill(o->pids[i], 0) == 0 || errno != ESRCH)
			return false;
	return o->npids > 0;
}

static bool collect(struct recording *r, const struct collector_options *o, struct err *e)
{
	const double limit = real_of(r->options->seconds, 0, 1);
	const double end = limit > 0 ? seconds_now() + limit : 0;
	unsigned interrupts = 0;

	for (;;) {
		struct pollfd fds[] = { { .fd = r->signal_fd, .events = POLLIN },
					{ .fd = collector_fd(r->collector), .events = POLLIN } };
		const double left = end > 0 ? end - seconds_now() : 1;
		const int ms = left < 0.2 ? (int)(left * 1000) + 1 : 200;

		if (ended(r, &interrupts) || left <= 0 || (!r->child.pid && all_gone(o)))
			return true;
		poll(fds, ARRAY_LEN(fds), ms);
		if (!collector_poll(r->collector, 0, e))
			return false;
	}
}

static void put_summary(FILE *out, const struct recording *r, const char *path, double seconds)
{
	const struct collector_status *s = &r->last;
	const struct live_facts *f = live_facts(r->profile);
	const double cpus = f->cpus ? f->cpus : 1;
	char *shown = text_shown(path);

	for (size_t i = 0; i < live_events(r->profile); i++) {
		const struct live_event *x = live_event(r->profile, i);

		fprintf(out, "%s%llu samples of %s", i ? ", " : "", (unsigned long long)x->taken,
			x->name);
		if (strcmp(x->name, x->actual) != 0)
			fprintf(out, " (%s)", x->actual);
		if (x->lost || x->pending)
			fprintf(out, ", %llu lost (%.3f%%)",
				(unsigned long long)(x->lost + x->pending),
				x->taken ? 100.0 * (double)(x->lost + x->pending) / (double)x->taken
					 : 0);
		else
			fputs(", none lost", out);
	}
	const double cost = s->rate * (s->interrupt_ns + s->handler_ns) * 1e-9 +
			    (seconds > 0 ? s->daemon_cpu_s / seconds / cpus : 0);

	fprintf(
	    out,
	    "; %.0f/s for each processor, at %.1f us an interrupt and %.0f ms for culprit: at most "
	    "%.2f%% of the machine\n",
	    s->rate, (s->interrupt_ns + s->handler_ns) / 1e3, s->daemon_cpu_s * 1e3, 100 * cost);
	fprintf(out, "culprit: %s: %zu images, %.2f s; culprit report %s shows it\n", shown,
		live_images(r->profile), seconds, shown);
	free(shown);
}

/* Runs the collector from its opening to its end. */
static bool record_all(struct recording *r, const struct collector_options *o, char **args,
		       struct err *e)
{
	const struct live_sink sink = live_profile_sink(r->profile);
	char **notes;
	size_t nnotes;

	r->collector = collector_open(o, &sink, &notes, &nnotes, e);
	for (size_t i = 0; i < nnotes; i++) {
		warn("%s", notes[i]);
		free(notes[i]);
	}
	free(notes);
	if (!r->collector)
		return false;
	bool ok = !r->child.pid || child_go(&r->child, args[0], e);

	if (ok)
		ok = collect(r, o, e);
	r->last = collector_status(r->collector);
	struct err ignored;

	return collector_close(r->collector, ok ? e : &ignored) && ok;
}

static int32_t *read_pids(const struct cmd_strings *s)
{
	int32_t *pids = x_calloc(s->count + 1, sizeof(*pids));

	for (size_t i = 0; i < s->count; i++)
		pids[i] = (int32_t)strtol(s->items[i], NULL, 10);
	return pids;
}

static char *joined(char **args)
{
	char *text = x_strdup(args[0] ? args[0] : "");

	for (size_t i = 1; args[0] && args[i]; i++) {
		char *more = x_asprintf("%s %s", text, args[i]);

		free(text);
		text = more;
	}
	return text;
}

static int record_run(void *values, int nargs, char **args)
{
	const struct record *v = values;
	struct recording r = { .options = v, .profile = live_profile_new(), .signal_fd = -1 };
	struct err e = { "" };
	char *command = joined(args);
	int32_t *pids = read_pids(&v->pids);
	struct collector_options o = {
		.events = v->events.items,
		.nevents = v->events.count,
		.rate = v->rate == OPTION_NOT_GIVEN ? 0 : (double)v->rate,
		.budget = real_of(v->budget, 0.01, 0.01),
		.seed = v->seed,
		.drain_s = real_of(v->drain, 0, 1),
		.pids = pids,
		.npids = v->pids.count,
		.per_process = v->per_process || v->per_thread,
		.per_thread = v->per_thread,
		.per_cpu = v->per_cpu,
		.stacks = v->stacks,
		.edges = v->edges,
		.kernel = !v->user,
		.table_entries = (uint32_t)v->table_entries,
		.ring_bytes = (uint32_t)v->ring_bytes,
		.run_as = v->run_as,
		.mux_ms = (uint32_t)v->mux_ms,
		.on_exec = nargs > 0 && !v->all && !v->pids.count,
		.command = command,
	};
	const char *path = v->output ? v->output : OUTPUT;
	const double begin = seconds_now();
	bool ok = check_what(v, nargs, &e);

	if (ok && nargs > 0) {
		r.signal_fd = open_signals();
		ok = child_start(&r.child, args, &e);
		if (o.on_exec) {
			pids[0] = r.child.pid;
			o.npids = 1;
		}
	} else if (ok) {
		r.signal_fd = open_signals();
	}
	const bool started = ok;

	ok = ok && record_all(&r, &o, args, &e);
	if (started && !r.collector)
		child_give_up(&r.child);
	const double seconds = seconds_now() - begin;

	if (r.collector && live_events(r.profile) && (ok || !e.text[0] || r.status == 0)) {
		struct err write_error = { "" };

		if (!live_store_write(r.profile, path, &write_error)) {
			warn("record: %s", write_error.text);
			ok = false;
		} else if (ok) {
			fputs("culprit: ", stderr);
			put_summary(stderr, &r, path, seconds);
		}
	}
	if (e.text[0])
		warn("record: %s", e.text);
	live_profile_free(r.profile);
	free(pids);
	free(command);
	if (r.signal_fd >= 0)
		close(r.signal_fd);
	return ok ? r.status : 2;
}

#define VALUE(member) .offset = offsetof(struct record, member)

static const struct cmd_option options[] = {
	{ .name = "all",
	  .letter = 'a',
	  VALUE(all),
	  .help = "Records every process and the kernel." },
	{ .name = "pid",
	  .letter = 'p',
	  .type = CMD_STRINGS,
	  VALUE(pids),
	  .arg = "PID",
	  .check = check_pid,
	  .help = "Records a process that runs already, and what it starts. Can be given again." },
	{ .name = "output",
	  .letter = 'o',
	  .type = CMD_PATH,
	  VALUE(output),
	  .arg = "FILE",
	  .help = "Writes the profile to FILE instead of " OUTPUT "." },
	{ .name = "seconds",
	  .type = CMD_TEXT,
	  VALUE(seconds),
	  .arg = "S",
	  .check = check_seconds,
	  .help = "Ends after S seconds; else Ctrl-C or the end of the program does." },
	{ .name = "event",
	  .letter = 'e',
	  .type = CMD_STRINGS,
	  VALUE(events),
	  .arg = "NAME",
	  .help = "Samples an event: cycles (the default), page-faults, context-switches, "
		  "cpu-clock, a raw code such as r01c2, any name that libpfm4 knows, with :p for a "
		  "precise address; default is cycles and imiss, mux also rotates others. Can be "
		  "given again, or with commas." },
	{ .name = "budget",
	  .type = CMD_TEXT,
	  VALUE(budget),
	  .arg = "P%",
	  .check = check_budget,
	  .help =
	      "Samples as fast as P percent of the machine allow, at most 5,200 times a second; "
	      "1% by default." },
	{ .name = "rate",
	  .type = CMD_NUMBER,
	  VALUE(rate),
	  .arg = "N",
	  .range = { 1, 1000000, NUMBER_DECIMAL },
	  .unset = OPTION_NOT_GIVEN,
	  .help = "Samples N times a second on every processor, whatever it costs." },
	{ .name = "seed",
	  .type = CMD_NUMBER,
	  VALUE(seed),
	  .arg = "N",
	  .help = "Seed of the random periods." },
	{ .name = "stacks", VALUE(stacks), .help = "Keeps call stacks, by frame pointers." },
	{ .name = "edges",
	  VALUE(edges),
	  .help = "Counts which way sampled conditional branches go." },
	{ .name = "user", VALUE(user), .help = "Leaves the kernel out." },
	{ .name = "per-process", VALUE(per_process), .help = "Keeps processes apart." },
	{ .name = "per-thread", VALUE(per_thread), .help = "Keeps threads apart, too." },
	{ .name = "per-cpu", VALUE(per_cpu), .help = "Keeps processors apart." },
	{ .name = "drain",
	  .type = CMD_TEXT,
	  VALUE(drain),
	  .arg = "S",
	  .check = check_seconds,
	  .help = "Empties the kernel's tables every S seconds; 60 by default." },
	{ .name = "mux-ms",
	  .type = CMD_NUMBER,
	  VALUE(mux_ms),
	  .arg = "N",
	  .range = { 1, 60000, NUMBER_DECIMAL },
	  .help = "Rotating events take turns of N milliseconds; 20 by default." },
	{ .name = "table-entries",
	  .type = CMD_NUMBER,
	  VALUE(table_entries),
	  .arg = "N",
	  .range = { 4, 1 << 20, NUMBER_DECIMAL },
	  .help = "Entries of a processor's table in the kernel; 36,864 by default." },
	{ .name = "ring-bytes",
	  .type = CMD_NUMBER,
	  VALUE(ring_bytes),
	  .arg = "N",
	  .range = { 4096, 1 << 28, NUMBER_DECIMAL },
	  .help = "Bytes of the ring that takes what leaves the tables; 262,144 by default." },
	{ .name = "run-as",
	  .type = CMD_TEXT,
	  VALUE(run_as),
	  .arg = "USER",
	  .help = "Becomes USER once sampling has begun, and keeps no more rights than it needs." },
	{ .name = NULL },
};

static const struct cmd_example examples[] = {
	{ "culprit record -- make -j4", "What a build spends its time on." },
	{ "culprit record -a --seconds 10", "Ten seconds of the whole machine." },
	{ "culprit record -p 1234 --stacks -o web.culprit",
	  "A process that runs, with its callers." },
	{ NULL, NULL },
};

const struct command cmd_record = {
	.name = "record",
	.summary = "sample this machine, a process or a program",
	.args = "[PROG [ARGS...]]",
	.min_args = 0,
	.max_args = -1,
	.args_verbatim = true,
	.description =
	    "Samples where the processors of this machine spend their time, counts the "
	    "samples in the "
	    "kernel, and writes a profile that report, annotate, diff and stats show.\n"
	    "\n"
	    "With -a or -p, a program only says how long: the recording ends when it does. "
	    "A program keeps its own output and exit status. Ctrl-C ends a recording "
	    "and keeps what was "
	    "measured. The summary's first line says how many samples were taken and "
	    "lost, the rate, "
	    "and what it cost.\n"
	    "\n"
	    "It needs CAP_BPF and CAP_PERFMON, or root.",
	.exit_status =
	    "The program's own, 128 and the signal's number if a signal ended it; 0 without a "
	    "program; 2 if nothing could be recorded or the command was used wrongly.",
	.options = options,
	.examples = examples,
	.values_size = sizeof(struct record),
	.run = record_run,
};
