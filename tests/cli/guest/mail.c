/* SPDX-License-Identifier: MIT */
/* Sends signals from one process to another and prints what arrives. It is compiled for this
 * machine and for the guest, and both must print the same. With an argument: a busy process and one
 * that sleeps. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int *shared; /* [0]: the child's progress */

static void at(int n)
{
	shared[0] = n;
}

static void until(int n)
{
	while (((volatile int *)shared)[0] != n)
		usleep(500);
}

static void ends(pid_t pid)
{
	int status = 0;

	waitpid(pid, &status, 0);
	printf("status %x\n", status);
	at(0);
}

static void show(int signo, siginfo_t *info, void *context)
{
	(void)context;
	printf("signal %d, code %d, from the parent %d, uid %d, value %d\n", signo, info->si_code,
	       info->si_pid == getppid(), info->si_uid == getuid(),
	       info->si_code == SI_QUEUE ? info->si_value.sival_int : 0);
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_sigaction = show, .sa_flags = SA_SIGINFO };
	union sigval value = { 7 };
	sigset_t set;
	siginfo_t info;
	pid_t pid, grandchild;
	int status;

	(void)argv;
	setvbuf(stdout, NULL, _IOLBF, 0);
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (argc > 1) {
		/* Another process works for about a quarter of a second while this one sleeps. */
		pid = fork();
		if (!pid) {
			for (volatile long i = 0; i < 20000000; i++)
				;
			at(1);
			pause();
		}
		sleep(1);
		puts(shared[0] ? "done before the second was over" : "not done");
		kill(pid, SIGKILL);
		return 0;
	}
	/* Handlers see the siginfo that the sender gives. */
	sigfillset(&act.sa_mask);
	pid = fork();
	if (!pid) {
		sigaction(SIGUSR1, &act, NULL);
		sigaction(SIGTERM, &act, NULL);
		sigaction(SIGINT, &act, NULL);
		sigaction(SIGRTMIN, &act, NULL);
		sigaction(SIGURG, &act, NULL);
		for (int i = 1; i <= 6; i++) {
			at(i);
			pause();
		}
		_exit(0);
	}
	until(1);
	kill(pid, SIGUSR1);
	until(2);
	kill(pid, SIGTERM);
	until(3);
	kill(pid, SIGINT);
	until(4);
	sigqueue(pid, SIGRTMIN, value);
	until(5);
	kill(pid, SIGURG);
	until(6);
	syscall(SYS_tgkill, pid, pid, SIGUSR1);
	ends(pid);
	/* Blocked signals wait; real-time signals queue in order, others do not queue. */
	pid = fork();
	if (!pid) {
		sigfillset(&set);
		sigprocmask(SIG_SETMASK, &set, NULL);
		at(1);
		until(2);
		sigemptyset(&set);
		sigaddset(&set, SIGTERM);
		sigaddset(&set, SIGRTMIN + 1);
		for (int i = 0; i < 6; i++) {
			struct timespec none = { 0, 0 };

			if (sigtimedwait(&set, &info, &none) < 0)
				break;
			show(info.si_signo, &info, NULL);
		}
		_exit(3);
	}
	until(1);
	for (int i = 0; i < 3; i++) {
		kill(pid, SIGTERM);
		value.sival_int = i;
		sigqueue(pid, SIGRTMIN + 1, value);
	}
	at(2);
	ends(pid);
	/* These signals are ignored, though the host's default would end the process. */
	pid = fork();
	if (!pid) {
		signal(SIGTERM, SIG_IGN);
		signal(SIGHUP, SIG_IGN);
		at(1);
		until(2);
		_exit(4);
	}
	until(1);
	kill(pid, SIGTERM);
	kill(pid, SIGHUP);
	at(2);
	ends(pid);
	/* Default actions of all standard signals. */
	for (int signo = 1; signo <= 31; signo++) {
		if (signo == SIGSTOP || signo == SIGTSTP || signo == SIGTTIN || signo == SIGTTOU ||
		    signo == SIGCHLD || signo == SIGCONT || signo == SIGURG || signo == SIGWINCH)
			continue;
		pid = fork();
		if (!pid) {
			at(1);
			for (;;)
				pause();
		}
		until(1);
		kill(pid, signo);
		waitpid(pid, &status, 0);
		at(0);
		printf("%d: %x\n", signo, status & 0x7f);
	}
	/* A process is stopped and continued. */
	pid = fork();
	if (!pid) {
		at(1);
		until(2);
		_exit(5);
	}
	until(1);
	kill(pid, SIGSTOP);
	waitpid(pid, &status, WUNTRACED);
	printf("stopped %d by %d\n", WIFSTOPPED(status), WSTOPSIG(status));
	at(2);
	kill(pid, SIGCONT);
	ends(pid);
	pid = fork();
	if (!pid) {
		at(1);
		for (;;)
			pause();
	}
	until(1);
	kill(pid, SIGSTOP);
	waitpid(pid, &status, WUNTRACED);
	kill(pid, SIGKILL);
	ends(pid);
	/* A signal to a process group, and the signal that a parent's end sends. */
	pid = fork();
	if (!pid) {
		setpgid(0, 0);
		if (!fork())
			for (;;)
				pause();
		if (!fork())
			for (;;)
				pause();
		at(1);
		for (;;)
			pause();
	}
	until(1);
	printf("group: %d\n", kill(-pid, SIGUSR2));
	ends(pid);
	pid = fork();
	if (!pid) {
		grandchild = fork();
		if (!grandchild) {
			prctl(PR_SET_PDEATHSIG, SIGTERM);
			sigfillset(&set);
			sigprocmask(SIG_SETMASK, &set, NULL);
			at(1);
			sigemptyset(&set);
			sigaddset(&set, SIGTERM);
			printf("told: %d\n", sigwaitinfo(&set, &info));
			printf("orphan: %d\n", getppid() != pid);
			at(2);
			_exit(0);
		}
		until(1);
		_exit(6);
	}
	until(2);
	ends(pid);
	return 0;
}
