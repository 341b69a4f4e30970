/* SPDX-License-Identifier: MIT */
/* fork, exec, wait, pipes between processes and threads, epoll, eventfd, timerfd, vfork. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

static int channel[2];
static volatile int ended;

static void on_child(int signo)
{
	ended++;
}

static void *drain(void *arg)
{
	static char buf[50000];
	long total = 0;
	ssize_t n;

	while ((n = read(channel[0], buf, sizeof(buf))) > 0)
		total += n;
	return (void *)total;
}

static int wait_for(pid_t pid)
{
	int status = -1;

	if (waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct itimerspec in_3s = { .it_value = { 3, 0 } };
	static char big[300000];
	pthread_t thread;
	uint64_t n = 1;
	char buf[64];
	int fd[2], ep, ev, timer, *shared;
	void *total;
	pid_t pid;

	if (argc > 1) {
		printf("exec'ed with %s, closed %d\n", argv[1], fcntl(20, F_GETFD) == -1);
		return 7;
	}
	setvbuf(stdout, NULL, _IONBF, 0);
	if (pipe(fd))
		return 1;
	pid = fork();
	if (!pid) {
		close(fd[0]);
		write(fd[1], "child", 5);
		_exit(5);
	}
	close(fd[1]);
	memset(buf, 0, sizeof(buf));
	read(fd[0], buf, sizeof(buf));
	printf("pipe: %s, pid %d, status %d\n", buf, pid - getpid(), wait_for(pid));

	dup3(fd[0], 20, O_CLOEXEC);
	pid = fork();
	if (!pid) {
		execl("/proc/self/exe", "x", "argument", NULL);
		_exit(99);
	}
	printf("exec: %d\n", wait_for(pid));
	pid = fork();
	if (!pid)
		kill(getpid(), SIGUSR1);
	printf("killed: %d\n", wait_for(pid));
	pid = fork();
	if (!pid) {
		pause();
		_exit(0);
	}
	kill(pid, SIGTERM);
	printf("terminated: %d\n", wait_for(pid));
	pid = vfork();
	if (!pid)
		_exit(6);
	printf("vfork: %d\n", wait_for(pid));
	signal(SIGCHLD, on_child);
	pid = fork();
	if (!pid)
		_exit(3);
	while (!ended)
		sleep(1);
	printf("sigchld: %d\n", wait_for(pid));
	printf("no child: %d\n", waitpid(-1, NULL, 0));

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid = fork();
	if (!pid) {
		shared[3] = 42;
		_exit(0);
	}
	wait_for(pid);
	printf("shared: %d\n", shared[3]);

	if (pipe(channel))
		return 1;
	pthread_create(&thread, NULL, drain, NULL);
	for (int i = 0; i < 3; i++)
		write(channel[1], big, sizeof(big));
	close(channel[1]);
	pthread_join(thread, &total);
	printf("between threads: %ld\n", (long)total);

	ep = epoll_create1(0);
	ev = eventfd(0, 0);
	timer = timerfd_create(CLOCK_MONOTONIC, 0);
	event.data.u64 = 0x1122334455667788;
	epoll_ctl(ep, EPOLL_CTL_ADD, ev, &event);
	event.data.u64 = 9;
	epoll_ctl(ep, EPOLL_CTL_ADD, timer, &event);
	printf("epoll: %d", epoll_wait(ep, &event, 1, 0));
	write(ev, &n, 8);
	printf(" %d", epoll_wait(ep, &event, 1, -1));
	printf(" %llx", (unsigned long long)event.data.u64);
	read(ev, &n, 8);
	timerfd_settime(timer, 0, &in_3s, NULL);
	printf(" %d", epoll_wait(ep, &event, 1, 10000));
	printf(" %llu\n", (unsigned long long)event.data.u64);
	return 0;
}
