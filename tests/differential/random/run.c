/* SPDX-License-Identifier: MIT */
/* Starts the machines, each with its standard output in a file, and compares what they wrote. */
#include "differential/random/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isa/isa.h"
#include "util/util.h"

#define CPU_SECONDS 60

const char *const machine_name[MACHINES] = { "translated code", "interpreter", "qemu" };

static const char *path_of(const struct runner *r, const char *name, char buf[128])
{
	snprintf(buf, 128, "%s/%s", r->folder, name);
	return buf;
}

pid_t run_start(const struct runner *r, unsigned number, const char *const *argv)
{
	char name[16], path[128];
	struct rlimit limit = { CPU_SECONDS, CPU_SECONDS };
	pid_t pid = fork();

	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (pid)
		return pid;
	setrlimit(RLIMIT_CPU, &limit);
	for (int stream = 1; stream <= 2; stream++) {
		snprintf(name, sizeof(name), "%s.%u", stream == 1 ? "out" : "err", number);
		dup2(open(path_of(r, name, path), O_RDWR | O_CREAT | O_TRUNC, 0600), stream);
	}
	execv(argv[0], (char *const *)argv);
	_exit(127);
}

static uint64_t number_of(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

void run_collect(const struct runner *r, unsigned number, pid_t pid, struct outcome *o)
{
	char path[128], name[16], text[4096];
	FILE *f;

	memset(o, 0, sizeof(*o));
	while (waitpid(pid, &o->status, 0) < 0)
		if (errno != EINTR)
			die("waitpid: %s", strerror(errno));
	if (WIFEXITED(o->status) && WEXITSTATUS(o->status) == 127)
		die("run %u could not be started", number);
	snprintf(name, sizeof(name), "out.%u", number);
	f = fopen(path_of(r, name, path), "rb");
	if (!f)
		die("%s: %s", path, strerror(errno));
	o->output_bytes = fread(o->output, 1, sizeof(o->output), f);
	fclose(f);
	snprintf(name, sizeof(name), "sum.%u", number);
	f = fopen(path_of(r, name, path), "r");
	if (!f)
		return; /* the status says why */
	text[fread(text, 1, sizeof(text) - 1, f)] = 0;
	fclose(f);
	o->insts = number_of(text, "\"instructions\":");
	o->faults = number_of(text, "\"faults\":");
}

static pid_t start(const struct runner *r, enum machine m)
{
	char elf[128], sum[128], name[16];
	const char *argv[] = { r->culprit, "sim", "--functional", "--summary-json", sum, "--", elf,
			       NULL,	   NULL };

	path_of(r, "program", elf);
	snprintf(name, sizeof(name), "sum.%u", (unsigned)m);
	path_of(r, name, sum);
	if (m == MACHINE_QEMU) {
		argv[0] = r->qemu;
		argv[1] = elf;
		argv[2] = NULL;
	} else if (m == MACHINE_INTERPRETED) {
		argv[5] = "--interpreter";
		argv[6] = "--";
		argv[7] = elf;
	}
	return run_start(r, m, argv);
}

void run_everywhere(const struct runner *r, const struct program *p, struct outcomes *out)
{
	struct code code;
	pid_t pid[MACHINES];
	char path[128];
	enum machine n = r->qemu ? MACHINES : MACHINE_QEMU;

	program_layout(p, &code);
	if (!program_write(p, &code, path_of(r, "program", path)) || chmod(path, 0700) < 0)
		die("%s: %s", path, strerror(errno));
	code_free(&code);
	fflush(stdout);
	for (enum machine m = 0; m < n; m++)
		pid[m] = start(r, m);
	for (enum machine m = 0; m < n; m++)
		run_collect(r, m, pid[m], &out->of[m]);
}

int run_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

enum machine run_differs(const struct runner *r, const struct outcomes *out)
{
	const struct outcome *a = &out->of[0];

	for (enum machine m = 1; m < (r->qemu ? MACHINES : MACHINE_QEMU); m++) {
		const struct outcome *b = &out->of[m];

		if (run_status(a->status) != run_status(b->status) ||
		    a->output_bytes != b->output_bytes ||
		    memcmp(a->output, b->output, OUTPUT_BYTES))
			return m;
		if (m != MACHINE_QEMU && a->insts != b->insts)
			return m;
	}
	/* All machines agree, but a program that did not write its whole dump has failed in all of
	 * them. */
	return a->output_bytes == OUTPUT_BYTES ? MACHINES : MACHINE_TRANSLATED;
}

static uint64_t word_at(const struct outcome *o, size_t at)
{
	uint64_t v;

	memcpy(&v, o->output + at, 8);
	return v;
}

void run_print_difference(const struct outcomes *out, enum machine m)
{
	const struct outcome *a = &out->of[0], *b = &out->of[m];
	unsigned lines = 0;

	printf("status %d and %d, bytes %zu and %zu\n", run_status(a->status),
	       run_status(b->status), a->output_bytes, b->output_bytes);
	if (m != MACHINE_QEMU && a->insts != b->insts)
		printf("instructions %llu and %llu\n", (unsigned long long)a->insts,
		       (unsigned long long)b->insts);
	for (size_t at = 0; at < OUTPUT_BYTES && lines < 20; at += 8) {
		uint64_t va = word_at(a, at), vb = word_at(b, at);
		char name[32];

		if (va == vb)
			continue;
		if (at < 256)
			snprintf(name, sizeof(name), "%s", isa_xreg_name[at / 8]);
		else if (at < 512)
			snprintf(name, sizeof(name), "%s", isa_freg_name[at / 8 - 32]);
		else if (at < DUMP_BYTES)
			snprintf(name, sizeof(name), "fcsr");
		else
			snprintf(name, sizeof(name), "data 0x%llx", DATA_ADDR + at - DUMP_BYTES);
		printf("%-14s %016llx  %016llx\n", name, (unsigned long long)va,
		       (unsigned long long)vb);
		lines++;
	}
}
