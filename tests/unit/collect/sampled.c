/* SPDX-License-Identifier: MIT */
/*
 * What the sampling tests sample: a static program at fixed addresses that does known things.
 * Functions are told as offsets in its file.
 *
 *	sampled shares SECONDS       three functions; prints the time of each
 *	sampled branches SECONDS PATTERN   one branch, taken as the bits of the pattern say
 *	sampled frames SECONDS       a chain of calls
 *	sampled faults N             touches N pages
 *	sampled faulting SECONDS     touches two new pages every half a millisecond of its own time
 *	sampled exec N A B           runs itself as A and B by turns, N times
 *	sampled remap N A B          maps two files of code at one address by turns
 *	sampled spin SECONDS CPU
 *	sampled threads SECONDS      two threads, "long" and "short"; prints the time of each
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

extern const char __executable_start[];

static double now_s(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Each in a page of its own, so that an offset tells which one it was. */
#define WORK(name)                                                                                 \
	__attribute__((noinline, aligned(4096))) static void name(long n)                          \
	{                                                                                          \
		long x = n;                                                                        \
		for (long i = 0; i < n; i++)                                                       \
			__asm__ volatile("imul %0, %0" : "+r"(x));                                 \
	}
WORK(seventy)
WORK(twenty)
WORK(ten)
WORK(end_of_work)

static unsigned long offset_of(void *f)
{
	return (unsigned long)((const char *)f - __executable_start);
}

static void shares(double seconds)
{
	static void (*const f[])(long) = { seventy, twenty, ten };
	static const long n[] = { 700000, 200000, 100000 };
	double time_s[3] = { 0 };
	const double end = now_s(CLOCK_PROCESS_CPUTIME_ID) + seconds;

	while (now_s(CLOCK_PROCESS_CPUTIME_ID) < end)
		for (int i = 0; i < 3; i++) {
			const double begin = now_s(CLOCK_PROCESS_CPUTIME_ID);

			f[i](n[i]);
			time_s[i] += now_s(CLOCK_PROCESS_CPUTIME_ID) - begin;
		}
	for (int i = 0; i < 3; i++)
		printf("%lx %.6f\n", offset_of((void *)f[i]), time_s[i]);
	end_of_work(1);
}

/* The fences let every sample near a branch fall on it, whichever way it goes: on the first one where an
 * interrupt comes right after a fence (Intel), on the second where it comes an instruction later (AMD). */
__attribute__((noinline, aligned(4096))) static void branches(long n, uint64_t pattern)
{
	for (long i = 0; i < n; i++)
		__asm__ volatile(
		    "bt %1, %0\n\tlfence\n\tjc 1f\n\tnop\n1:\tlfence\n\t"
		    "bt %1, %0\n\tlfence\n\tnop\n\tjc 2f\n\tnop\n2:\tlfence" ::"r"(pattern),
		    "r"(i)
		    : "cc");
}

#define CALL(name, what)                                                                           \
	__attribute__((noinline, aligned(4096))) static void name(long n)                          \
	{                                                                                          \
		what(n);                                                                           \
		__asm__ volatile("");                                                              \
	}
/* It needs its frame. */
__attribute__((noinline, aligned(4096))) static void leaf(long n)
{
	volatile long x = n;

	for (long i = 0; i < n; i++)
		x = x * 3;
}
CALL(third, leaf)
CALL(second, third)
CALL(first, second)

static void burn(void (*f)(long), double seconds)
{
	const double end = now_s(CLOCK_PROCESS_CPUTIME_ID) + seconds;

	while (now_s(CLOCK_PROCESS_CPUTIME_ID) < end)
		f(100000);
}

static void faults(long n)
{
	char *p = mmap(NULL, (size_t)n * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	madvise(p, (size_t)n * 4096, MADV_NOHUGEPAGE);
	for (long i = 0; i < n; i++)
		p[i * 4096] = 1;
	munmap(p, (size_t)n * 4096);
}

/* The program named …a works in seventy, the other one in twenty. */
static int exec_turns(char **argv)
{
	const long n = atol(argv[2]);
	const int is_a = argv[0][strlen(argv[0]) - 1] == 'a';
	char left[24];

	burn(is_a ? seventy : twenty, 0.02);
	if (n <= 1)
		return 0;
	snprintf(left, sizeof(left), "%ld", n - 1);
	char *const args[] = { is_a ? argv[4] : argv[3], "exec", left, argv[3], argv[4], NULL };

	execv(args[0], args);
	return 1;
}

/* Code that works at offset 256 of one file and 512 of the other. */
static int remap_turns(long n, char **files)
{
	void *const at = (void *)0x10000000;

	for (long i = 0; i < n; i++) {
		const int fd = open(files[i & 1], O_RDONLY);
		char *p = mmap(at, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0);
		const double end = now_s(CLOCK_PROCESS_CPUTIME_ID) + 0.02;

		close(fd);
		if (p != at)
			return 1;
		while (now_s(CLOCK_PROCESS_CPUTIME_ID) < end)
			((void (*)(long))(p + (i & 1 ? 512 : 256)))(100000);
		munmap(at, 4096);
	}
	return 0;
}

struct thread_work {
	const char *name;
	double seconds;
};

static void *work_in_thread(void *self)
{
	struct thread_work *t = self;
	const double begin = now_s(CLOCK_THREAD_CPUTIME_ID);

	pthread_setname_np(pthread_self(), t->name);
	while (now_s(CLOCK_THREAD_CPUTIME_ID) < begin + t->seconds)
		ten(10000);
	t->seconds = now_s(CLOCK_THREAD_CPUTIME_ID) - begin;
	return NULL;
}

static int threads(double seconds)
{
	struct thread_work work[] = { { "long", seconds }, { "short", seconds / 2 } };
	pthread_t thread[2];

	for (int i = 0; i < 2; i++)
		if (pthread_create(&thread[i], NULL, work_in_thread, &work[i]) != 0)
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	printf("%.6f %.6f\n", work[0].seconds, work[1].seconds);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	const double x = argc > 2 ? atof(argv[2]) : 0;

	if (strcmp(what, "shares") == 0)
		shares(x);
	else if (strcmp(what, "frames") == 0) {
		printf("%lx %lx %lx %lx %lx\n", offset_of((void *)first), offset_of((void *)second),
		       offset_of((void *)third), offset_of((void *)leaf),
		       offset_of((void *)seventy));
		burn(first, x);
	} else if (strcmp(what, "branches") == 0 && argc > 3) {
		const double end = now_s(CLOCK_PROCESS_CPUTIME_ID) + x;

		printf("%lx\n", offset_of((void *)branches));
		while (now_s(CLOCK_PROCESS_CPUTIME_ID) < end)
			branches(100000 & ~63, strtoull(argv[3], NULL, 16));
	} else if (strcmp(what, "faulting") == 0) {
		/* Few, because faults that are counted take longer, and would come more seldom. */
		const double begin = now_s(CLOCK_PROCESS_CPUTIME_ID);

		for (long i = 1; i < x * 2000; i++) {
			while (now_s(CLOCK_PROCESS_CPUTIME_ID) < begin + (double)i * 5e-4)
				ten(2000);
			faults(2);
		}
	} else if (strcmp(what, "faults") == 0)
		faults((long)x);
	else if (strcmp(what, "exec") == 0 && argc > 4)
		return exec_turns(argv);
	else if (strcmp(what, "remap") == 0 && argc > 4)
		return remap_turns((long)x, argv + 3);
	else if (strcmp(what, "threads") == 0)
		return threads(x);
	else if (strcmp(what, "spin") == 0) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(argc > 3 ? atoi(argv[3]) : 0, &set);
		sched_setaffinity(0, sizeof(set), &set);
		burn(seventy, x);
	} else
		return 2;
	return 0;
}
