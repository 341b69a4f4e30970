/* SPDX-License-Identifier: MIT */
/* A guest that does what its first argument says, for the tests of the command line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

__attribute__((noinline)) unsigned hot_loop(unsigned n)
{
	unsigned x = 1;

	for (unsigned i = 0; i < n; i++)
		x = x * 1664525u + 1013904223u;
	return x;
}

static void say_ready(void)
{
	puts("ready");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "exit")) {
		return atoi(argv[2]);
	} else if (!strcmp(what, "echo")) {
		for (int i = 2; i < argc; i++)
			puts(argv[i]);
	} else if (!strcmp(what, "bytes")) {
		for (int i = 0; i < 256; i++)
			putchar(i);
	} else if (!strcmp(what, "complain")) {
		fputs("guest's own words\n", stderr);
	} else if (!strcmp(what, "cat")) {
		for (int c; (c = getchar()) != EOF;)
			putchar(c);
	} else if (!strcmp(what, "env")) {
		for (char **e = environ; *e; e++)
			puts(*e);
	} else if (!strcmp(what, "varies")) {
		unsigned long random;
		struct timespec now;

		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			return 1;
		clock_gettime(CLOCK_REALTIME, &now);
		printf("%lx %ld.%09ld %d\n", random, (long)now.tv_sec, now.tv_nsec, getpid());
	} else if (!strcmp(what, "work")) {
		printf("%u\n", hot_loop(1000000));
	} else if (!strcmp(what, "spin")) {
		say_ready();
		for (;;)
			hot_loop(1000);
	} else if (!strcmp(what, "wait")) {
		say_ready();
		getchar();
	} else if (!strcmp(what, "fork")) {
		int status;

		if (!fork()) {
			puts(hot_loop(300000) ? "child" : "");
			return 5;
		}
		wait(&status);
		puts("parent");
		return WEXITSTATUS(status) == 5 ? 4 : 1;
	} else if (!strcmp(what, "abort")) {
		abort();
	} else if (!strcmp(what, "segv")) {
		*(volatile int *)8 = 1;
	} else {
		return 3;
	}
	return 0;
}
