/* SPDX-License-Identifier: MIT */
/*
 * Ends in the way that its argument names, after a line of output that is flushed: the exit
 * statuses that a shell sees must be those of Linux.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile int zero;

static void on_exit_line(void)
{
	puts("exit handler");
}

static void on_signal(int signal)
{
	/* printf is no way to do it in general; here the signal is raised between statements. */
	printf("caught %d\n", signal);
	fflush(stdout);
	_exit(40 + signal);
}

static int end_with(const char *how)
{
	if (!strcmp(how, "return"))
		return 7;
	if (!strcmp(how, "exit"))
		exit(300);
	if (!strcmp(how, "_exit"))
		_exit(9);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "null"))
		*(volatile int *)(long)zero = 1;
	if (!strcmp(how, "readonly"))
		*(volatile char *)mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) =
		    1;
	if (!strcmp(how, "nowhere"))
		((void (*)(void))(long)(zero + 16))();
	if (!strcmp(how, "illegal"))
		__asm__ volatile(".4byte 0xffffffff");
	if (!strcmp(how, "ebreak"))
		__asm__ volatile("ebreak");
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(how, "term"))
		raise(SIGTERM);
	if (!strcmp(how, "pipe"))
		raise(SIGPIPE);
	if (!strcmp(how, "handled")) {
		signal(SIGSEGV, on_signal);
		*(volatile int *)(long)zero = 1;
	}
	if (!strcmp(how, "ignored")) {
		signal(SIGTERM, SIG_IGN);
		raise(SIGTERM);
		return 5;
	}
	return 99;
}

int main(int argc, char **argv)
{
	atexit(on_exit_line);
	printf("%d %s\n", argc, argv[argc - 1]);
	fflush(stdout);
	return end_with(argv[argc - 1]);
}
