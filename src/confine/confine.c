/* SPDX-License-Identifier: MIT */
/*
 * Three processes make a sandbox. The one outside serves files (util/outside.h) and passes signals
 * on. The first one inside makes the namespaces' root folder, confines itself, starts the process
 * that goes on with the simulation, and reaps orphans; when it ends, all others inside end. The
 * first process of a namespace gets no signal that it does not handle; this is why the guest runs
 * in another.
 *
 * SIGINT and SIGTERM. A terminal and `kill -- -GROUP` send to all three, `kill PID` to the one
 * outside alone. The one outside passes on what a process sent; the first one inside hands it over
 * unless it has received the same signal itself, so that the simulation sees each signal once.
 */
#include "confine/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confine/confine_int.h"
#include "util/outside.h"

#define GROUP_MS 20 /* within which a signal to a group reaches all its processes */

void confine_drop(struct confine_report *report)
{
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	report->net = true;
	report->capabilities = capabilities_drop();
	report->landlock = landlock_apply(NULL, false, NULL);
	report->seccomp = seccomp_apply(SECCOMP_ALL);
}

void confine_limit_memory(uint64_t bytes)
{
	const uint64_t own = 512 << 20; /* what culprit itself may need */
	unsigned long long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f && fscanf(f, "%*u %*u %*u %*u %*u %llu", &pages) == 1) {
		rlim_t most = pages * (uint64_t)sysconf(_SC_PAGESIZE) + bytes + own;

		setrlimit(RLIMIT_DATA, &(struct rlimit){ most, most });
	}
	if (f)
		fclose(f);
}

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

/* Maps the user to itself in a new user namespace. */
static bool keep_user(uid_t uid, gid_t gid)
{
	char user[48], group[48];

	snprintf(user, sizeof(user), "%u %u 1", (unsigned)uid, (unsigned)uid);
	snprintf(group, sizeof(group), "%u %u 1", (unsigned)gid, (unsigned)gid);
	write_text("/proc/self/setgroups", "deny");
	return write_text("/proc/self/uid_map", user) && write_text("/proc/self/gid_map", group);
}

/* Brings up the loopback interface: the namespace's network has nothing else. */
static void loopback_up(void)
{
	struct ifreq r = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &r))
		errno = 0; /* then there is none */
	if (fd >= 0)
		close(fd);
}

enum world {
	WORLD_NEW,  /* without a user namespace: needs the right to make namespaces */
	WORLD_USER, /* with a user namespace, which may be allowed to everybody */
	WORLD_SAME, /* none */
};

/* Forks; the child is in new namespaces. */
static pid_t fork_into(enum world world, bool net)
{
	unsigned long flags = SIGCHLD;

	if (world != WORLD_SAME)
		flags |= CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
			 (net ? 0 : CLONE_NEWNET);
	if (world == WORLD_USER)
		flags |= CLONE_NEWUSER;
	if (world == WORLD_SAME)
		return fork();
	return (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
}

static int status_of(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

/* The first process inside, while the simulation runs; when it ends, the kernel ends all
 * processes inside. */
static _Noreturn void keep(pid_t simulation, const sigset_t *signals)
{
	for (;;) {
		siginfo_t info, again;
		sigset_t same;
		int status, signal = sigwaitinfo(signals, &info);
		pid_t pid;

		if (signal == SIGCHLD) {
			while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
				if (pid == simulation)
					_exit(status_of(status));
			continue;
		}
		if (signal < 0 || info.si_code != SI_QUEUE)
			continue;
		sigemptyset(&same);
		sigaddset(&same, signal);
		if (sigtimedwait(&same, &again, &(struct timespec){ 0, GROUP_MS * 1000000l }) < 0)
			kill(simulation, signal);
	}
}

/* Confines this process. The report says which means are in force. */
static void confine_inside(const struct confine_plan *plan, struct confine_report *report,
			   const bool *covered)
{
	report->landlock = landlock_apply(plan, report->namespaces, covered);
	for (size_t i = 0; plan->overlay && plan->overlay[i]; i++)
		report->uncovered += !covered[i];
	report->capabilities = capabilities_drop();
	/* in namespaces of its own there is nobody to talk to, and files that may not change are
	 * mounted read-only */
	report->seccomp = seccomp_apply(report->namespaces ? SECCOMP_ALL
					: plan->net	   ? SECCOMP_NO_MARKS
							   : SECCOMP_LOCAL);
}

/* False if the root folder could not be made; nothing has then changed for anybody else. */
static bool begin_inside(const struct confine_plan *plan, enum world world, uid_t uid, gid_t gid,
			 struct confine_report *report)
{
	size_t n = 0;

	while (plan->overlay && plan->overlay[n])
		n++;

	bool *covered = x_calloc(n + 1, sizeof(*covered));
	bool ok = world != WORLD_USER || keep_user(uid, gid);

	if (ok && world != WORLD_SAME) {
		if (!plan->net)
			loopback_up();
		ok = report->namespaces = root_build(plan, covered);
	}
	if (ok)
		confine_inside(plan, report, covered);
	free(covered);
	return ok;
}

/* What the process outside waits for: requests, signals, the end of the others. */
static int serve(int socket, pid_t inside, const sigset_t *signals)
{
	struct outside_server *server = outside_server_new();
	struct pollfd fds[2] = { { .fd = socket, .events = POLLIN },
				 { .fd = signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK),
				   .events = POLLIN } };
	int status = 0;
	bool ended = false;

	while (!ended) {
		struct signalfd_siginfo info;

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		if (fds[0].revents && !outside_serve(server, socket))
			fds[0].fd = -1;
		while (read(fds[1].fd, &info, sizeof(info)) == sizeof(info)) {
			if (info.ssi_signo == SIGCHLD)
				ended = waitpid(inside, &status, WNOHANG) == inside;
			else if (info.ssi_code == SI_USER || info.ssi_code == SI_QUEUE)
				sigqueue(inside, (int)info.ssi_signo, (union sigval){ 0 });
		}
	}
	close(fds[1].fd);
	outside_server_free(server);
	return status_of(status);
}

struct inside {
	pid_t pid;
	int socket; /* outside: for requests */
};

/*
 * Starts the processes inside; true in the one that goes on. In the one outside, pid is that of the
 * first process inside, or -1 if the sandbox cannot be made.
 */
static bool start(const struct confine_plan *plan, enum world world, const sigset_t *signals,
		  const sigset_t *before, struct confine_report *report, struct inside *out)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int ends[2], ready[2];
	char byte = 0;

	out->pid = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return false;
	if (pipe2(ready, O_CLOEXEC)) {
		close(ends[0]);
		close(ends[1]);
		return false;
	}
	fflush(NULL);
	out->pid = fork_into(world, plan->net);
	if (!out->pid) {
		pid_t simulation;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ends[0]);
		close(ready[0]);
		if (!begin_inside(plan, world, uid, gid, report) || write(ready[1], "", 1) != 1)
			_exit(2);
		simulation = fork();
		if (simulation) {
			close(ends[1]);
			close(ready[1]);
			if (simulation < 0)
				_exit(2);
			keep(simulation, signals);
		}
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ready[1]);
		outside_through(ends[1]);
		sigprocmask(SIG_SETMASK, before, NULL);
		return true;
	}
	close(ends[1]);
	close(ready[1]);
	out->socket = ends[0];
	if (out->pid > 0 && read(ready[0], &byte, 1) != 1) {
		waitpid(out->pid, NULL, 0);
		out->pid = -1;
	}
	close(ready[0]);
	if (out->pid < 0)
		close(ends[0]);
	return false;
}

bool confine_enter(const struct confine_plan *plan, struct confine_report *report, int *status,
		   struct err *e)
{
	sigset_t signals, before;
	struct inside in = { .pid = -1 };

	*report = (struct confine_report){ .net = plan->net };
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, &before);
	for (enum world w = WORLD_NEW; w <= WORLD_SAME && in.pid < 0; w++)
		if (start(plan, w, &signals, &before, report, &in))
			return true;
	if (in.pid < 0) {
		*status = -1;
		err_set(e, "cannot start the processes of a sandbox: %s", strerror(errno));
	} else {
		*status = serve(in.socket, in.pid, &signals);
		close(in.socket);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return false;
}

void confine_describe(const struct confine_report *r, bool sandbox, char *text, size_t size)
{
	char landlock[48] = "no Landlock";

	if (r->landlock)
		snprintf(landlock, sizeof(landlock), "Landlock %d", r->landlock);
	snprintf(text, size, "%s%s, %s, %s%s%s%s%s", sandbox ? "" : "no sandbox: ",
		 sandbox && r->namespaces ? "namespaces" : "no namespaces", landlock,
		 r->seccomp ? "seccomp" : "no seccomp",
		 r->capabilities ? "" : ", capabilities kept",
		 !sandbox	 ? ""
		 : r->namespaces ? "; writes are thrown away"
		 : r->landlock	 ? "; writes only where allowed"
				 : "; FILES ARE NOT PROTECTED",
		 !sandbox || r->net	       ? ""
		 : r->namespaces || r->seccomp ? "; no network"
					       : "; NETWORK IS NOT PROTECTED",
		 r->uncovered ? "; a folder could not be covered and is read-only" : "");
}
