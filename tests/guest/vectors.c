/* SPDX-License-Identifier: MIT */
/*
 * Everything that makes it hard to say which static block an instruction belongs to: code without a
 * branch that is longer than any block of the engine, jumps into the middle of it, instructions that
 * must stand alone, code that is written and written again, code of one file at two addresses, faults at
 * the first instruction of a block and inside one, timers, threads, and another program.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

static volatile int ticks;
static char *closed; /* a page that a handler opens */
static sigjmp_buf back;

static void on_tick(int sig)
{
	ticks++;
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	if (info->si_addr == (void *)7)
		siglongjmp(back, 1);
	mprotect(closed, 4096, PROT_READ | PROT_WRITE);
}

/* 300 instructions without a branch, some of which the engine must see alone; entered at three
 * places. */
static __attribute__((noinline)) long straight(long n, int where)
{
	__asm__ volatile("beqz %1, 1f\n"
			 "li t1, 1\n"
			 "beq %1, t1, 2f\n"
			 "j 3f\n"
			 "1: .rept 100\n addi %0, %0, 1\n .endr\n"
			 "frrm t0\n"
			 "2: .rept 100\n addi %0, %0, 3\n .endr\n"
			 "rdcycle t0\n"
			 "fence.i\n"
			 "3: .rept 100\n addi %0, %0, 5\n .endr\n"
			 : "+r"(n)
			 : "r"((long)where)
			 : "t0", "t1");
	return n;
}

/* A load that is the first instruction of its block, and one that is not. */
static __attribute__((noinline)) long touch(const char *p, long n)
{
	__asm__ volatile("j 1f\n"
			 "1: lb t0, 0(%1)\n"
			 "add %0, %0, t0\n"
			 "lb t0, 1(%1)\n"
			 "add %0, %0, t0\n"
			 : "+r"(n)
			 : "r"(p)
			 : "t0", "memory");
	return n;
}

static void *worker(void *arg)
{
	long n = (long)arg;

	for (int i = 0; i < 400; i++)
		n = straight(n, i % 3);
	return (void *)n;
}

/* li a0, number; ret: written into the same place again and again. */
static long written(void)
{
	uint32_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long sum = 0;

	for (int i = 0; i < 60; i++) {
		code[0] = 0x00000513u | (uint32_t)i << 20;   /* li a0, i */
		code[1] = i % 2 ? 0x00008067u : 0x00150513u; /* ret, or addi a0, a0, 1 */
		code[2] = 0x00008067u;
		__builtin___clear_cache((char *)code, (char *)(code + 3));
		for (int k = 0; k < 20; k++)
			sum += ((long (*)(void))code)();
	}
	munmap(code, 4096);
	return sum;
}

static __attribute__((noinline, aligned(64))) long leaf(long n)
{
	for (int i = 0; i < 10; i++)
		n = n * 3 + i;
	return n;
}

/* The page of leaf, mapped again from the file: at two addresses, one after the other. */
static long elsewhere(void)
{
	extern char __executable_start[];
	FILE *self = fopen("/proc/self/exe", "r");
	uintptr_t at = (uintptr_t)leaf & ~4095ul, offset = at - (uintptr_t)__executable_start;
	long n = leaf(1);

	for (int i = 0; self && i < 4; i++) {
		char *p = mmap(i % 2 ? (void *)0x2000000000 : NULL, 8192, PROT_READ | PROT_EXEC,
			       MAP_PRIVATE, fileno(self), (long)offset);

		n += ((long (*)(long))(p + ((uintptr_t)leaf - at)))(n);
		munmap(p, 8192);
	}
	if (self)
		fclose(self);
	return n;
}

int main(int argc, char **argv)
{
	struct sigaction fault = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	struct sigaction tick = { .sa_handler = on_tick };
	struct itimerval timer = { { 0, 7 }, { 0, 7 } };
	long sum = 0;
	pthread_t thread[3];

	sigaction(SIGSEGV, &fault, NULL);
	sigaction(SIGALRM, &tick, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (long i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, worker, (void *)i);
	for (int i = 0; i < 300; i++)
		sum = straight(sum, i % 3);
	closed = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 30; i++) {
		mprotect(closed, 4096, PROT_NONE);
		sum = touch(closed, sum);
		if (sigsetjmp(back, 1) == 0)
			sum = touch((char *)7, sum);
	}
	sum += written() + elsewhere();
	for (int i = 0; i < 3; i++) {
		void *result;

		pthread_join(thread[i], &result);
		sum += (long)result;
	}
	memset(&timer, 0, sizeof(timer));
	setitimer(ITIMER_REAL, &timer, NULL);
	printf("%ld %d\n", sum, ticks > 5);
	fflush(stdout);
	if (argc < 2)
		execl(argv[0], argv[0], "again", NULL);
	return 0;
}
