/* SPDX-License-Identifier: MIT */
/*
 * Runs jobs as processes of this host. Each has a process group of its own, so that Ctrl-C reaches
 * only the runner, which then ends them; and each is killed when the runner dies.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jobs/place.h"

struct child {
	pid_t pid; /* 0: free */
	size_t id;
};

struct local {
	unsigned count;
	struct child *children;
	struct pollfd *fds; /* of each child; fd -1: free */
};

static void *local_open(unsigned parallel, struct err *e)
{
	struct local *l = x_calloc(1, sizeof(*l));

	l->count = parallel ? parallel : 1;
	l->children = x_calloc(l->count, sizeof(*l->children));
	l->fds = x_calloc(l->count, sizeof(*l->fds));
	for (unsigned i = 0; i < l->count; i++)
		l->fds[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
	return l;
}

/* Becomes the job, in the child after fork: calls only what is safe there. Never returns. */
static _Noreturn void become(const struct job_task *t, pid_t runner)
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
		execv(t->argv[0], t->argv);
	dprintf(2, "cannot run '%s': %s\n", t->argv[0], strerror(errno));
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

	struct child child = { .id = id };

	child.pid = fork();
	if (!child.pid)
		become(task, runner);
	if (child.pid < 0) {
		err_set(e, "%s: cannot start a process: %s", task->name, strerror(errno));
		return false;
	}
	l->children[at] = child;
	l->fds[at].fd = pidfd_open(child.pid, 0);
	return true;
}

static int reap(struct local *l, unsigned at)
{
	int status = 0;

	while (waitpid(l->children[at].pid, &status, 0) < 0 && errno == EINTR)
		;
	if (l->fds[at].fd >= 0)
		close(l->fds[at].fd);
	l->fds[at].fd = -1;
	l->children[at].pid = 0;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static bool local_wait(void *state, int timeout_ms, struct job_end *end)
{
	struct local *l = state;

	bool blind = false; /* the kernel has no pidfds: poll often */

	for (unsigned i = 0; i < l->count; i++)
		blind |= l->children[i].pid && l->fds[i].fd < 0;
	poll(l->fds, l->count, blind && timeout_ms > 10 ? 10 : timeout_ms);
	for (unsigned i = 0; i < l->count; i++) {
		siginfo_t info = { .si_pid = 0 };

		if (l->children[i].pid &&
		    !waitid(P_PID, (id_t)l->children[i].pid, &info, WEXITED | WNOHANG | WNOWAIT) &&
		    info.si_pid) {
			end->id = l->children[i].id;
			end->status = reap(l, i);
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
		reap(l, i);
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

const struct job_place *const job_places[] = { &job_place_local, NULL };
