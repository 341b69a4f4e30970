/* SPDX-License-Identifier: MIT */
/* Tests handlers for faults, timers and queued signals, changes of registers through the signal
 * frame, and interrupted calls. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

static sigjmp_buf back;
static volatile int count;
static void *fault_addr;

static void on_fault(int signo, siginfo_t *info, void *context)
{
	fault_addr = info->si_addr;
	siglongjmp(back, signo);
}

static void on_alarm(int signo)
{
	count++;
}

/* Steps over the two bytes of c.ebreak and leaves a value in a0. */
static void on_trap(int signo, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	uc->uc_mcontext.__gregs[0] += 2;
	uc->uc_mcontext.__gregs[10] = 77;
}

static void *on_stack;
static void note_stack(int signo)
{
	int here;

	on_stack = &here;
}

int main(void)
{
	struct sigaction act = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };
	struct itimerval every = { { 0, 10000 }, { 0, 10000 } }, never = { { 0, 0 }, { 0, 0 } };
	struct timespec ts = { 5, 0 }, left;
	union sigval value = { .sival_int = 42 };
	siginfo_t info;
	sigset_t set;
	int got, fd[2];
	char *page;
	double kept = 1.5;

	sigaltstack(&stack, NULL);
	sigaction(SIGSEGV, &act, NULL);
	sigaction(SIGBUS, &act, NULL);
	if (!(got = sigsetjmp(back, 1)))
		*(volatile int *)0x124 = 1;
	printf("null: %d at %p\n", got, fault_addr);
	page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!(got = sigsetjmp(back, 1)))
		page[5] = 1;
	printf("read-only: %d %d\n", got, fault_addr == page + 5);
	if (!(got = sigsetjmp(back, 1)))
		((void (*)(void))page)();
	printf("not code: %d %d\n", got, fault_addr == page);

	act.sa_sigaction = on_trap;
	sigaction(SIGTRAP, &act, NULL);
	register long a0 __asm__("a0") = 5;
	__asm__ volatile("c.ebreak" : "+r"(a0));
	printf("trap: %ld %.1f\n", a0, kept);

	act.sa_handler = note_stack;
	act.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &act, NULL);
	raise(SIGUSR2);
	printf("alternate stack: %d\n", (char *)on_stack > (char *)stack.ss_sp &&
					    (char *)on_stack < (char *)stack.ss_sp + stack.ss_size);

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &every, NULL);
	while (count < 5)
		;
	while (count < 8)
		pause();
	setitimer(ITIMER_REAL, &never, NULL);
	printf("alarms\n");

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGRTMIN + 1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGUSR1);
	sigwait(&set, &got);
	printf("sigwait: %d\n", got == SIGUSR1);
	for (int i = 0; i < 2; i++) {
		sigqueue(getpid(), SIGRTMIN + 1, value);
		value.sival_int++;
	}
	sigwaitinfo(&set, &info);
	printf("queued: %d", info.si_value.sival_int);
	sigwaitinfo(&set, &info);
	printf(" %d\n", info.si_value.sival_int);
	got = sigtimedwait(&set, &info, &(struct timespec){ 1, 0 });
	printf("sigtimedwait: %d %d\n", got, errno == EAGAIN);

	alarm(1);
	got = nanosleep(&ts, &left);
	printf("nanosleep: %d %d %ld\n", got, errno == EINTR,
	       (long)left.tv_sec + (left.tv_nsec > 500000000));

	/* With SA_RESTART (which signal() sets) an interrupted read goes on; without it, the read
	 * ends. */
	if (pipe(fd))
		return 1;
	act.sa_handler = on_alarm;
	act.sa_flags = 0;
	sigaction(SIGALRM, &act, NULL);
	alarm(1);
	got = (int)read(fd[0], &got, 1);
	printf("read: %d %d\n", got, errno == EINTR);
	signal(SIGPIPE, SIG_IGN);
	close(fd[0]);
	got = (int)write(fd[1], "x", 1);
	printf("write: %d %d\n", got, errno == EPIPE);
	fflush(stdout);
	abort();
}
