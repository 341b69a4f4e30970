/* SPDX-License-Identifier: MIT */
/*
 * Finds the instruction after which two machines disagree, in a program that is already small.
 *
 * Our executors: both stop exactly after N instructions, so bisection over N finds the last
 * agreement. A block of translated code runs as a whole, so what comes just before is printed with
 * it. qemu: its log of the registers before every instruction (single steps, unchained), side by
 * side with guest_step. It does not show fcsr, which is why the program copies it to tp while
 * tracing.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "differential/random/run.h"
#include "guest/guest.h"
#include "util/util.h"

#define BEFORE 8 /* instructions shown before the first one that differs */

static struct guest *load(const struct runner *r, bool interpreter)
{
	char path[128], *argv[] = { path, NULL };
	struct guest_config config = { .argv = argv, .interpreter_only = interpreter };
	struct guest *g;
	struct err e;

	snprintf(path, sizeof(path), "%s/program", r->folder);
	g = guest_new(&config, &e);
	if (!g)
		die("%s", e.text);
	return g;
}

static void print_inst(const struct hart *h, const struct inst *in, uint64_t pc)
{
	struct inst_operands ops = isa_operands(in);
	char text[128];

	isa_disasm(in, pc, DISASM_RAW, text, sizeof(text));
	printf("%8" PRIx64 ": %08x  %-40s", pc, in->word, text);
	for (int i = 0; i < 3; i++)
		if (ops.src[i])
			printf(" %s=%016" PRIx64,
			       ops.src[i] < 32 ? isa_xreg_name[ops.src[i]]
					       : isa_freg_name[ops.src[i] - 32],
			       ops.src[i] < 32 ? h->x[ops.src[i]] : h->f[ops.src[i] - 32]);
	printf(" fflags=%02x frm=%u\n", h->fflags, h->frm);
}

static bool same_state(const struct hart *a, const struct hart *b)
{
	return !memcmp(a->x, b->x, sizeof(a->x)) && !memcmp(a->f, b->f, sizeof(a->f)) &&
	       a->pc == b->pc && a->fflags == b->fflags && a->frm == b->frm;
}

static void print_state_difference(const struct hart *a, const struct hart *b, const char *name_b)
{
	for (int i = 0; i < 32; i++) {
		if (a->x[i] != b->x[i])
			printf("  %s: %016" PRIx64 ", %s %016" PRIx64 "\n", isa_xreg_name[i],
			       a->x[i], name_b, b->x[i]);
		if (a->f[i] != b->f[i])
			printf("  %s: %016" PRIx64 ", %s %016" PRIx64 "\n", isa_freg_name[i],
			       a->f[i], name_b, b->f[i]);
	}
	if (a->pc != b->pc)
		printf("  pc: %" PRIx64 ", %s %" PRIx64 "\n", a->pc, name_b, b->pc);
	if (a->fflags != b->fflags || a->frm != b->frm)
		printf("  fflags, frm: %02x %u, %s %02x %u\n", a->fflags, a->frm, name_b, b->fflags,
		       b->frm);
}

/* Returns the state after n instructions. */
static struct hart state_after(const struct runner *r, bool interpreter, uint64_t n, uint64_t *data)
{
	struct guest *g = load(r, interpreter);
	struct hart h;

	guest_run(g, n);
	h = *guest_hart(g);
	for (size_t i = 0; i < DATA_BYTES / 8; i++)
		data[i] = guest_peek(g, DATA_ADDR + i * 8, 8);
	guest_free(g);
	return h;
}

static bool agree_after(const struct runner *r, uint64_t n)
{
	static uint64_t data[2][DATA_BYTES / 8];
	struct hart a = state_after(r, false, n, data[0]), b = state_after(r, true, n, data[1]);

	return same_state(&a, &b) && !memcmp(data[0], data[1], sizeof(data[0]));
}

/* Returns the number of instructions until pc is reached. */
static uint64_t insts_until(const struct runner *r, uint64_t pc)
{
	struct guest *g = load(r, true);
	struct guest_step step = { 0 };
	uint64_t n = 0;

	while (!(step.flags & STEP_END) && guest_hart(g)->pc != pc) {
		guest_step(g, &step);
		n++;
	}
	guest_free(g);
	return n;
}

static void locate_between_executors(const struct runner *r, uint64_t dump)
{
	uint64_t low = 0, high = insts_until(r, dump), n;
	static uint64_t data[2][DATA_BYTES / 8];
	struct guest_step step;
	struct guest *g;

	if (agree_after(r, high)) {
		printf("registers and data agree at the end; the instruction counts do not\n");
		return;
	}
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (agree_after(r, middle))
			low = middle;
		else
			high = middle;
	}
	printf("the executors agree after %" PRIu64 " instructions, not after the next:\n", low);
	g = load(r, true);
	n = low > BEFORE ? low - BEFORE : 0;
	guest_run(g, n);
	for (; n < high; n++) {
		struct hart h = *guest_hart(g);

		guest_step(g, &step);
		print_inst(&h, step.inst, step.pc);
	}
	guest_free(g);
	struct hart a = state_after(r, false, high, data[0]),
		    b = state_after(r, true, high, data[1]);

	print_state_difference(&a, &b, machine_name[MACHINE_INTERPRETED]);
	for (size_t i = 0; i < DATA_BYTES / 8; i++)
		if (data[0][i] != data[1][i])
			printf("  data 0x%llx: %016" PRIx64 ", %s %016" PRIx64 "\n",
			       DATA_ADDR + i * 8, data[0][i], machine_name[MACHINE_INTERPRETED],
			       data[1][i]);
}

/* Reads the next state from qemu's log; returns false at its end. */
static bool log_next(FILE *log, struct hart *h, bool *pc_read)
{
	char word[64];

	memset(h, 0, sizeof(*h));
	if (!*pc_read) {
		while (fscanf(log, "%63s", word) == 1 && strcmp(word, "pc"))
			;
	}
	if (feof(log) || fscanf(log, "%" SCNx64, &h->pc) != 1)
		return false;
	*pc_read = false;
	while (fscanf(log, "%63s", word) == 1) {
		unsigned n;
		int used = 0;

		if (!strcmp(word, "pc")) {
			*pc_read = true;
			break;
		}
		if ((word[0] == 'x' || word[0] == 'f') && isdigit((unsigned char)word[1]) &&
		    sscanf(word + 1, "%u/%n", &n, &used) == 1 && used && n < 32)
			if (fscanf(log, "%" SCNx64, word[0] == 'x' ? &h->x[n] : &h->f[n]) != 1)
				return false;
	}
	return true;
}

static FILE *qemu_log(const struct runner *r)
{
	char program[128], path[128];
	pid_t pid = fork();

	snprintf(program, sizeof(program), "%s/program", r->folder);
	snprintf(path, sizeof(path), "%s/qemu.log", r->folder);
	if (pid == 0) {
		if (!freopen("/dev/null", "w", stdout))
			_exit(127);
		execl(r->qemu, r->qemu, "-singlestep", "-d", "cpu,fpu,nochain", "-D", path, program,
		      NULL);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return fopen(path, "r");
}

static void locate_against_qemu(const struct runner *r, uint64_t start, uint64_t dump)
{
	FILE *log = qemu_log(r);
	struct guest *g = load(r, true);
	struct hart theirs, ours, before = { 0 };
	struct guest_step step = { 0 };
	const struct inst *last = NULL;
	bool pc_read = false, found = false;

	while (log && log_next(log, &theirs, &pc_read)) {
		ours = *guest_hart(g);
		if (ours.pc < start) /* the first sp may differ */
			memcpy(theirs.x, ours.x, sizeof(ours.x));
		theirs.fflags = ours.fflags;
		theirs.frm = ours.frm;
		if (!same_state(&ours, &theirs)) {
			found = true;
			break;
		}
		if (ours.pc == dump || step.flags & STEP_END)
			break;
		before = ours;
		guest_step(g, &step);
		last = step.inst;
	}
	if (found && last) {
		printf("the first instruction after which qemu has another state"
		       " (tp is fcsr):\n");
		print_inst(&before, last, step.pc);
		print_state_difference(&ours, &theirs, machine_name[MACHINE_QEMU]);
	} else {
		printf("all registers agree in single steps; the difference is in memory or comes "
		       "only from translated code\n");
	}
	if (log)
		fclose(log);
	guest_free(g);
}

void locate(const struct runner *r, struct program *p, enum machine m)
{
	struct outcomes *out = x_calloc(1, sizeof(*out));
	struct code code;

	p->trace = m == MACHINE_QEMU;
	run_everywhere(r, p, out); /* also writes the program's file, which the code below needs */
	program_layout(p, &code);
	if (m == MACHINE_INTERPRETED)
		locate_between_executors(r, code.dump);
	else if (m == MACHINE_QEMU)
		locate_against_qemu(r, code.at[START_ITEMS], code.dump);
	else
		printf("no machine came to the end of the program: it was made wrongly, or "
		       "cannot be run\n");
	code_free(&code);
	free(out);
}
