/* SPDX-License-Identifier: MIT */
/*
 * Runs jobs as processes of this host. Each has a process group of its own, so that Ctrl-C reaches
 * only the runner, which then ends them; and each is killed when the runner dies.
 *
 * A task that is over a limit is killed with its group. Its memory is what it and all processes that
 * descend from it have resident, looked up twice a second and only where there is a limit.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "jobs/place.h"
#include "util/array.h"

#define MEMORY_SECONDS 0.5 /* between two looks */

struct child {
	pid_t pid; /* 0: free */
	size_t id;
	double since;
	struct job_limits limits;
	enum job_over over;
	uint64_t resident_bytes; /* of its group at the last look */
};

struct local {
	unsigned count;
	struct child *children;
	struct pollfd *fds; /* of each child; fd -1: free */
	double looked;	    /* when memory was looked up */
	char host[HOST_NAME_MAX + 1];
};

static double now_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *local_open(const struct job_place_options *o, struct err *e)
{
	struct local *l = x_calloc(1, sizeof(*l));

	gethostname(l->host, sizeof(l->host) - 1);
	l->count = o->parallel ? o->parallel : 1;
	l->children = x_calloc(l->count, sizeof(*l->children));
	l->fds = x_calloc(l->count, sizeof(*l->fds));
	for (unsigned i = 0; i < l->count; i++)
		l->fds[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
	return l;
}

/* Becomes the job, in the child after fork: calls only what is safe there. Never returns. */
static _Noreturn void become(const struct job_task *t, char *const *argv, pid_t runner)
{
	sigset_t none;
	int in = open(t->input ? t->input : "/dev/null", O_RDONLY);
	int out = open(t->log, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
		_exit(127);
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != runner)
		_exit(127);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (!t->dir || !chdir(t->dir))
		execv(argv[0], argv);
	dprintf(2, "cannot run '%s': %s\n", argv[0], strerror(errno));
	_exit(127);
}

static bool local_start(void *state, const struct job_task *task, size_t id, struct err *e)
{
	struct local *l = state;
	unsigned at = 0;
	pid_t runner = getpid();

	while (at < l->count && l->children[at].pid)
		at++;
	if (at == l->count)
		return err_set(e, "%s: no more than %u jobs can run at a time", task->name,
			       l->count);

	struct child child = { .id = id, .since = now_seconds(), .limits = task->limits };
	char **argv = job_words(task->argv, task->result);

	child.pid = fork();
	if (!child.pid)
		become(task, argv, runner);
	for (char **a = argv; *a; a++)
		free(*a);
	free(argv);
	if (child.pid < 0) {
		err_set(e, "%s: cannot start a process: %s", task->name, strerror(errno));
		return false;
	}
	l->children[at] = child;
	l->fds[at].fd = pidfd_open(child.pid, 0);
	return true;
}

/* Waits for a child that has ended or been killed, and frees its place. */
static int reap(struct local *l, unsigned at, struct rusage *used)
{
	int status = 0;

	while (wait4(l->children[at].pid, &status, 0, used) < 0 && errno == EINTR)
		;
	if (l->fds[at].fd >= 0)
		close(l->fds[at].fd);
	l->fds[at].fd = -1;
	l->children[at].pid = 0;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* A process of this host. */
struct process {
	long pid, parent, pages;
};

static bool read_process(const char *pid, struct process *out)
{
	char path[64], text[1024];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	text[n] = 0;
	out->pid = strtol(pid, NULL, 10);

	/* the name of the program is in parentheses and may hold anything */
	const char *after = strrchr(text, ')');

	return after &&
	       sscanf(after + 1,
		      " %*c %ld %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
		      "%*d %*u %*u %ld",
		      &out->parent, &out->pages) == 2;
}

static int by_pid(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Adds what a process has resident to the child that it descends from. A sandbox has sessions and groups
 * of its own, so parents are what counts. */
static void add_resident(struct local *l, const struct process *all, size_t n,
			 const struct process *p)
{
	const uint64_t bytes = (uint64_t)p->pages * (uint64_t)sysconf(_SC_PAGESIZE);

	for (unsigned depth = 0; p && depth < 64; depth++) {
		for (unsigned i = 0; i < l->count; i++)
			if (l->children[i].pid && l->children[i].pid == p->pid) {
				l->children[i].resident_bytes += bytes;
				return;
			}
		p = bsearch(&(struct process){ .pid = p->parent }, all, n, sizeof(*all), by_pid);
	}
}

static void look_at_memory(struct local *l)
{
	DIR *proc = opendir("/proc");
	struct process *all = NULL, one;
	size_t n = 0;

	for (unsigned i = 0; i < l->count; i++)
		l->children[i].resident_bytes = 0;
	for (struct dirent *d; proc && (d = readdir(proc));)
		if (*d->d_name >= '1' && *d->d_name <= '9' && read_process(d->d_name, &one))
			*ARRAY_ADD(all, n) = one;
	if (proc)
		closedir(proc);
	if (n)
		qsort(all, n, sizeof(*all), by_pid);
	for (size_t i = 0; i < n; i++)
		add_resident(l, all, n, &all[i]);
	free(all);
}

/* Kills the children that are over a limit; they end soon after. */
static void end_those_over(struct local *l)
{
	const double now = now_seconds();
	bool memory = false;

	for (unsigned i = 0; i < l->count; i++)
		memory |= l->children[i].pid && l->children[i].limits.memory_bytes;
	if (memory && now - l->looked >= MEMORY_SECONDS) {
		look_at_memory(l);
		l->looked = now;
	}
	for (unsigned i = 0; i < l->count; i++) {
		struct child *c = &l->children[i];

		if (!c->pid || c->over)
			continue;
		if (c->limits.seconds > 0 && now - c->since > c->limits.seconds)
			c->over = JOB_OVER_TIME;
		else if (c->limits.memory_bytes && c->resident_bytes > c->limits.memory_bytes)
			c->over = JOB_OVER_MEMORY;
		if (c->over) {
			kill(-c->pid, SIGKILL);
			kill(c->pid, SIGKILL);
		}
	}
}

static bool local_wait(void *state, int timeout_ms, struct job_end *end)
{
	struct local *l = state;

	bool blind = false; /* the kernel has no pidfds: poll often */

	for (unsigned i = 0; i < l->count; i++)
		blind |= l->children[i].pid && l->fds[i].fd < 0;
	poll(l->fds, l->count, blind && timeout_ms > 10 ? 10 : timeout_ms);
	end_those_over(l);
	for (unsigned i = 0; i < l->count; i++) {
		siginfo_t info = { .si_pid = 0 };
		struct rusage used = { .ru_maxrss = 0 };

		if (l->children[i].pid &&
		    !waitid(P_PID, (id_t)l->children[i].pid, &info, WEXITED | WNOHANG | WNOWAIT) &&
		    info.si_pid) {
			const struct child c = l->children[i];

			*end = (struct job_end){ .id = c.id,
						 .over = c.over,
						 .seconds = now_seconds() - c.since,
						 .host = x_strdup(l->host),
						 .status = reap(l, i, &used) };
			end->memory_bytes = (uint64_t)used.ru_maxrss * 1024;
			return true;
		}
	}
	return false;
}

static void local_cancel(void *state)
{
	struct local *l = state;

	for (unsigned i = 0; i < l->count; i++) {
		if (!l->children[i].pid)
			continue;
		kill(-l->children[i].pid, SIGKILL);
		kill(l->children[i].pid, SIGKILL);
		reap(l, i, NULL);
	}
}

static void local_close(void *state)
{
	struct local *l = state;

	local_cancel(l);
	free(l->children);
	free(l->fds);
	free(l);
}

const struct job_place job_place_local = {
	.name = "local",
	.summary = "processes of this host",
	.open = local_open,
	.start = local_start,
	.wait = local_wait,
	.cancel = local_cancel,
	.close = local_close,
};
