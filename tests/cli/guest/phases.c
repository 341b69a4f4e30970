/* SPDX-License-Identifier: MIT */
/*
 * A guest with two phases by turns: arithmetic in registers, and a walk through more memory than the caches
 * hold. For tests of sampled simulation.
 *
 *      phases ROUNDS [crash | append FILE | input | fork]
 *
 * At its end it says how far it came; with the word it dies by SIGSEGV instead, appends a line to a file in
 * every round, adds what it reads from standard input to the sum, or has a child all the time.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NODES = 1 << 17 };
static unsigned next[NODES];

__attribute__((noinline)) unsigned compute(unsigned x, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		x = (x ^ (x >> 7)) * 1664525u + 1013904223u;
	return x;
}

__attribute__((noinline)) unsigned walk(unsigned at, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		at = next[at];
	return at;
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 10, sum = 1, at = 0;
	const char *word = argc > 2 ? argv[2] : "";
	pid_t child = 0;
	char line[64];

	for (unsigned i = 0; i < NODES; i++)
		next[i] = (i * 4099u + 977u) & (NODES - 1);
	if (!strcmp(word, "fork") && !(child = fork())) {
		pause();
		_exit(0);
	}
	for (unsigned i = 0; i < rounds; i++) {
		sum = compute(sum, 50000);
		at = walk(at, 50000);
		if (!strcmp(word, "append")) {
			FILE *f = fopen(argv[3], "a");

			fprintf(f, "round %u\n", i);
			fclose(f);
		} else if (!strcmp(word, "input") && fgets(line, sizeof(line), stdin)) {
			sum += (unsigned)strlen(line);
		}
	}
	if (!strcmp(word, "crash"))
		raise(SIGSEGV);
	if (child) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	printf("%u rounds, %08x\n", rounds, sum ^ at);
	return 0;
}
