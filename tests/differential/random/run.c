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

static pid_t start(const struct runner *r, enum machine m)
{
	static const char *const output[MACHINES] = { "out.0", "out.1", "out.2" };
	static const char *const errors[MACHINES] = { "err.0", "err.1", "err.2" };
	static const char *const summary[MACHINES] = { "sum.0", "sum.1", "sum.2" };
	char elf[128], out[128], err[128], sum[128];
	struct rlimit limit = { CPU_SECONDS, CPU_SECONDS };
	pid_t pid = fork();
	int fd;

	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (pid)
		return pid;
	path_of(r, "program", elf);
	path_of(r, summary[m], sum);
	setrlimit(RLIMIT_CPU, &limit);
	fd = open(path_of(r, output[m], out), O_RDWR | O_CREAT | O_TRUNC, 0600);
	dup2(fd, 1);
	fd = open(path_of(r, errors[m], err), O_RDWR | O_CREAT | O_TRUNC, 0600);
	dup2(fd, 2);
	if (m == MACHINE_QEMU)
		execl(r->qemu, r->qemu, elf, NULL);
	else if (m == MACHINE_INTERPRETED)
		execl(r->culprit, r->culprit, "sim", "--functional", "--interpreter",
		      "--summary-json", sum, "--", elf, NULL);
	else
		execl(r->culprit, r->culprit, "sim", "--functional", "--summary-json", sum, "--",
		      elf, NULL);
	_exit(127);
}

static void collect(const struct runner *r, enum machine m, pid_t pid, struct outcome *o)
{
	char path[128], name[16], text[4096];
	FILE *f;

	memset(o, 0, sizeof(*o));
	while (waitpid(pid, &o->status, 0) < 0)
		if (errno != EINTR)
			die("waitpid: %s", strerror(errno));
	if (WIFEXITED(o->status) && WEXITSTATUS(o->status) == 127)
		die("cannot run %s", m == MACHINE_QEMU ? r->qemu : r->culprit);
	snprintf(name, sizeof(name), "out.%d", m);
	f = fopen(path_of(r, name, path), "rb");
	if (!f)
		die("%s: %s", path, strerror(errno));
	o->output_bytes = fread(o->output, 1, sizeof(o->output), f);
	fclose(f);
	if (m == MACHINE_QEMU)
		return;
	snprintf(name, sizeof(name), "sum.%d", m);
	f = fopen(path_of(r, name, path), "r");
	if (!f)
		return; /* the status says why */
	text[fread(text, 1, sizeof(text) - 1, f)] = 0;
	fclose(f);
	const char *key = strstr(text, "\"instructions\":");
	o->insts = key ? strtoull(key + strlen("\"instructions\":"), NULL, 10) : 0;
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
		collect(r, m, pid[m], &out->of[m]);
}

/* A guest killed by a signal is a status for us and a signal for qemu. */
static int status_of(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

enum machine run_differs(const struct runner *r, const struct outcomes *out)
{
	const struct outcome *a = &out->of[0];

	for (enum machine m = 1; m < (r->qemu ? MACHINES : MACHINE_QEMU); m++) {
		const struct outcome *b = &out->of[m];

		if (status_of(a->status) != status_of(b->status) ||
		    a->output_bytes != b->output_bytes ||
		    memcmp(a->output, b->output, OUTPUT_BYTES))
			return m;
		if (m != MACHINE_QEMU && a->insts != b->insts)
			return m;
	}
	/* All agree, but on what? Every program ends with its dump. */
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

	printf("status %d and %d, bytes %zu and %zu\n", status_of(a->status), status_of(b->status),
	       a->output_bytes, b->output_bytes);
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
