/* SPDX-License-Identifier: MIT */
/*
 * Makes a process image: program, interpreter, stack with arguments, environment and auxiliary
 * vector.
 *
 * Places are fixed, as on Linux without address randomisation: position-independent programs at 2/3
 * of the address space, libraries below the stack, the stack on top. There is no vDSO; a page with
 * the two instructions of the signal trampoline stands in for the part of it that programs rely on.
 */
#include <assert.h>
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "guest/files/path.h"
#include "guest/files/procfs.h"
#include "guest/kernel/sched.h"
#include "guest/memory/mem.h"
#include "guest/process/elf.h"
#include "guest/process/exec.h"
#include "guest/process/image.h"
#include "guest/process/process.h"

#define MAX_ARG_BYTES	(2u << 20)
#define SHEBANG_DEPTH	5
#define SHEBANG_BYTES	256
#define ISA_BIT(letter) (1ull << ((letter) - 'A'))

/* A program to run, after "#!" lines have been followed. */
struct exec_plan {
	struct elf_file program, interp;
	bool has_interp;
	char **argv; /* owned */
};

static size_t strings_len(char **v)
{
	size_t n = 0;

	while (v && v[n])
		n++;
	return n;
}

static char **strings_dup(char **v)
{
	size_t n = strings_len(v);
	char **copy = x_calloc(n + 1, sizeof(*copy));

	for (size_t i = 0; i < n; i++)
		copy[i] = x_strdup(v[i]);
	return copy;
}

static void strings_free(char **v)
{
	for (size_t i = 0; v && v[i]; i++)
		free(v[i]);
	free(v);
}

/* The line behind "#!" split into interpreter and optional argument; false if there is no such
 * line. */
static bool read_shebang(int fd, char line[SHEBANG_BYTES], char **interp, char **arg)
{
	ssize_t n = fd < 0 ? -1 : pread(fd, line, SHEBANG_BYTES - 1, 0);
	char *p, *end;

	if (n < 3 || line[0] != '#' || line[1] != '!')
		return false;
	line[n] = 0;
	line[strcspn(line, "\n")] = 0;
	p = line + 2 + strspn(line + 2, " \t");
	if (!*p)
		return false;
	end = p + strcspn(p, " \t");
	*interp = p;
	*arg = NULL;
	if (*end) {
		*end++ = 0;
		end += strspn(end, " \t");
		for (size_t len = strlen(end);
		     len && (end[len - 1] == ' ' || end[len - 1] == '\t');)
			end[--len] = 0;
		if (*end)
			*arg = end;
	}
	return true;
}

/* Opens what a name leads to: a host descriptor, or -errno. host is its name for messages and for
 * reading symbols later. */
static int open_program(struct guest *g, const char *name, char host[PATH_BYTES])
{
	struct path_at at;
	int fd = path_find(g, (uint64_t)AT_FDCWD, name, PATH_FOLLOW, &at);

	snprintf(host, PATH_BYTES, "%s", name);
	if (fd < 0)
		return fd;
	fd = at.node.row ? -EACCES : path_open(g, &at, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	/* The name as it was given, where that means the same to the host. */
	if (fd >= 0 &&
	    (at.in_sysroot || at.private || g->world.moved || !*at.name || g->world.cwd.row) &&
	    path_of_fd(fd, host) < 0)
		snprintf(host, PATH_BYTES, "%s", name);
	path_done(&at);
	return fd;
}

int exec_check(struct guest *g, const char *name)
{
	struct path_at at;
	struct stat st;
	int err = path_find(g, (uint64_t)AT_FDCWD, name, PATH_FOLLOW, &at);

	if (err)
		return err;
	err = path_stat(g, &at, &st);
	if (!err)
		err = at.node.row || !S_ISREG(st.st_mode) ? -EACCES : path_access(g, &at, X_OK);
	path_done(&at);
	return err;
}

static bool plan_open(struct guest *g, struct exec_plan *plan, const char *name, char **argv,
		      struct err *e, int *code)
{
	char host[PATH_BYTES];
	char *path = x_strdup(name);

	memset(plan, 0, sizeof(*plan));
	plan->program.fd = plan->interp.fd = -1;
	plan->argv = strings_dup(argv);
	for (int depth = 0;; depth++) {
		char line[SHEBANG_BYTES];
		char *interp, *arg;
		char **next;
		size_t n, at = 0;
		int fd = open_program(g, path, host);

		if (!read_shebang(fd, line, &interp, &arg)) {
			if (!elf_open(&plan->program, path, host, fd, e, code))
				break;
			free(path);
			return true;
		}
		close(fd);
		if (depth == SHEBANG_DEPTH) {
			*code = ELOOP;
			err_set(e,
				"%s: scripts whose interpreters are scripts go round in a circle",
				name);
			break;
		}
		/* argv becomes: interpreter, its argument, the script, the rest */
		n = strings_len(plan->argv);
		next = x_calloc(n + 4, sizeof(*next));
		next[at++] = x_strdup(interp);
		if (arg)
			next[at++] = x_strdup(arg);
		next[at++] = x_strdup(path);
		for (size_t i = 1; i < n; i++)
			next[at++] = x_strdup(plan->argv[i]);
		strings_free(plan->argv);
		plan->argv = next;
		free(path);
		path = x_strdup(interp);
	}
	free(path);
	return false;
}

static void plan_close(struct exec_plan *plan)
{
	elf_close(&plan->program);
	elf_close(&plan->interp);
	strings_free(plan->argv);
}

static bool plan_interp(struct guest *g, struct exec_plan *plan, struct err *e, int *code)
{
	const char *name = plan->program.interp;
	char host[PATH_BYTES];
	int fd;

	if (!name)
		return true;
	fd = open_program(g, name, host);
	if (fd == -ENOENT || fd == -ENOTDIR) {
		*code = ENOENT;
		return err_set(e, "%s: its interpreter %s is not there%s", plan->program.name, name,
			       g->world.sysroot_path
				   ? " (looked under the sysroot and on this machine)"
				   : "; name the folder that has it with --sysroot");
	}
	if (!elf_open(&plan->interp, name, host, fd, e, code))
		return false;
	if (plan->interp.type != ET_DYN && plan->interp.low < plan->program.high &&
	    plan->program.low < plan->interp.high) {
		*code = ENOEXEC;
		return err_set(e, "%s: overlaps its interpreter %s", plan->program.name, name);
	}
	plan->has_interp = true;
	return true;
}

struct stack {
	struct guest *g;
	uint64_t sp, low;
	bool full;
};

static uint64_t push(struct stack *s, const void *data, size_t n)
{
	if (s->full || s->sp - s->low < n) {
		s->full = true;
		return s->sp;
	}
	s->sp -= n;
	memcpy(s->g->mem.base + s->sp, data, n);
	return s->sp;
}

static void push_strings(struct stack *s, char **v, uint64_t *addr)
{
	size_t n = strings_len(v);

	/* The first string is the lowest, as on Linux: some programs rewrite their title. */
	for (size_t i = n; i-- > 0;)
		addr[i] = push(s, v[i], strlen(v[i]) + 1);
}

/* Maps the stack with a gap between it and the libraries' place; its lowest address, or 0. */
static uint64_t map_stack(struct guest *g, bool exec)
{
	uint64_t limit = g->limit[RLIMIT_STACK].cur;
	uint64_t stack_bytes = page_up(min_u64(max_u64(limit, 1 << 17), 1ull << 32));
	uint64_t low = GUEST_STACK_TOP - stack_bytes;

	if (mem_map(&g->mem, low, stack_bytes, PROT_READ | PROT_WRITE | (exec ? PROT_EXEC : 0),
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0, "[stack]") < 0)
		return 0;
	g->mem.map_top = low - (1 << 20);
	return low;
}

static bool build_stack(struct guest *g, const struct exec_plan *plan, char **envp, uint64_t bias,
			uint64_t interp_bias, uint64_t stack_low, uint64_t *sp_out, struct err *e)
{
	uint64_t random_at, execfn, *vector, *argv_at, *envp_at;
	uint64_t bytes[2] = { rng_next(&g->rng), rng_next(&g->rng) };
	size_t argc = strings_len(plan->argv), envc = strings_len(envp), n = 0;
	struct stack s = { .g = g, .sp = GUEST_STACK_TOP, .low = stack_low + GUEST_PAGE_BYTES };

	execfn = push(&s, plan->program.name, strlen(plan->program.name) + 1);
	argv_at = x_calloc(argc + 1, sizeof(*argv_at));
	envp_at = x_calloc(envc + 1, sizeof(*envp_at));
	push_strings(&s, envp, envp_at);
	push_strings(&s, plan->argv, argv_at);
	s.sp &= ~15ull;
	random_at = push(&s, bytes, sizeof(bytes));

	vector = x_calloc(1 + argc + 1 + envc + 1 + 2 * 24, sizeof(*vector));
	vector[n++] = argc;
	for (size_t i = 0; i < argc; i++)
		vector[n++] = argv_at[i];
	vector[n++] = 0;
	for (size_t i = 0; i < envc; i++)
		vector[n++] = envp_at[i];
	vector[n++] = 0;
	const uint64_t auxv[][2] = {
		{ AT_HWCAP, ISA_BIT('I') | ISA_BIT('M') | ISA_BIT('A') | ISA_BIT('F') |
				ISA_BIT('D') | ISA_BIT('C') },
		{ AT_PAGESZ, GUEST_PAGE_BYTES },
		{ AT_CLKTCK, 100 },
		{ AT_PHDR, plan->program.phdr_vaddr ? plan->program.phdr_vaddr + bias : 0 },
		{ AT_PHENT, sizeof(Elf64_Phdr) },
		{ AT_PHNUM, plan->program.phnum },
		{ AT_BASE, plan->has_interp ? interp_bias + plan->interp.low : 0 },
		{ AT_FLAGS, 0 },
		{ AT_ENTRY, plan->program.entry + bias },
		{ AT_UID, GUEST_UID },
		{ AT_EUID, GUEST_UID },
		{ AT_GID, GUEST_UID },
		{ AT_EGID, GUEST_UID },
		{ AT_SECURE, 0 },
		{ AT_RANDOM, random_at },
		{ AT_EXECFN, execfn },
		{ 51 /* AT_MINSIGSTKSZ */, 1088 + 16 },
		{ AT_NULL, 0 },
	};
	static_assert(sizeof(auxv) <= sizeof(g->program.auxv), "auxv fits");
	memcpy(g->program.auxv, auxv, sizeof(auxv));
	g->program.auxv_bytes = sizeof(auxv);
	for (size_t i = 0; i < ARRAY_LEN(auxv); i++) {
		vector[n++] = auxv[i][0];
		vector[n++] = auxv[i][1];
	}
	s.sp = (s.sp - n * 8) & ~15ull;
	s.sp += n * 8; /* so that the vector itself ends up aligned */
	*sp_out = push(&s, vector, n * 8);
	free(vector);
	free(argv_at);
	free(envp_at);
	return s.full ? err_set(e, "arguments and environment do not fit on the stack") : true;
}

static void map_trampoline(struct guest *g)
{
	static const uint32_t code[] = { 0x08b00893, 0x00000073 }; /* li a7,139; ecall */
	int64_t at = mem_map(&g->mem, GUEST_TRAMPOLINE, GUEST_PAGE_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0, "[vdso]");

	if (at < 0)
		die("out of memory: cannot map the guest's signal trampoline");
	memcpy(g->mem.base + at, code, sizeof(code));
	mem_protect(&g->mem, GUEST_TRAMPOLINE, GUEST_PAGE_BYTES, PROT_READ | PROT_EXEC);
}

static char *absolute(const struct guest *g, const struct elf_file *f)
{
	char path[PATH_BYTES];

	return x_strdup(path_of_fd(f->fd, path) == 0 ? path_guest(g, path) : f->name);
}

bool exec_load(struct guest *g, const char *name, char **argv, char **envp, struct err *e,
	       int *code)
{
	struct exec_plan plan;
	uint64_t bias = 0, interp_bias = 0, stack_low, sp = 0, arg_bytes = 0;
	struct thread *t = g->cur;
	bool ok = false;

	*code = ENOEXEC;
	for (size_t i = 0; argv[i]; i++)
		arg_bytes += strlen(argv[i]) + 9;
	for (size_t i = 0; envp[i]; i++)
		arg_bytes += strlen(envp[i]) + 9;
	if (arg_bytes > MAX_ARG_BYTES || arg_bytes > g->limit[RLIMIT_STACK].cur / 4) {
		*code = E2BIG;
		return err_set(e, "%s: %llu bytes of arguments and environment are too many", name,
			       (unsigned long long)arg_bytes);
	}
	if (!plan_open(g, &plan, name, argv, e, code) || !plan_interp(g, &plan, e, code)) {
		plan_close(&plan);
		return false;
	}

	/* From here on the old image is gone. */
	mem_reset(&g->mem);
	mappings_clear(g);
	map_trampoline(g);
	if (plan.program.type == ET_DYN)
		bias = GUEST_PIE_BASE - plan.program.low;
	if (!elf_map(g, &plan.program, bias, e))
		goto out;
	g->program.brk_start = g->program.brk = page_up(plan.program.high + bias);
	stack_low = map_stack(g, plan.program.stack_exec);
	if (!stack_low) {
		err_set(e, "%s: cannot map its stack", name);
		goto out;
	}
	g->program.entry = plan.program.entry + bias;
	if (plan.has_interp) {
		if (plan.interp.type == ET_DYN)
			interp_bias =
			    page_down(g->mem.map_top - (plan.interp.high - plan.interp.low)) -
			    plan.interp.low;
		if (!mem_is_free(&g->mem, plan.interp.low + interp_bias,
				 plan.interp.high + interp_bias)) {
			err_set(e, "%s: no room in memory for it and its interpreter %s", name,
				plan.interp.name);
			goto out;
		}
		if (!elf_map(g, &plan.interp, interp_bias, e))
			goto out;
		g->program.entry = plan.interp.entry + interp_bias;
	}
	if (!build_stack(g, &plan, envp, bias, interp_bias, stack_low, &sp, e))
		goto out;
	free(g->program.host);
	free(g->program.name);
	g->program.host = x_strdup(plan.program.host);
	g->program.name = absolute(g, &plan.program);
	if (g->program.fd >= 0)
		close(g->program.fd);
	g->program.fd = fcntl(plan.program.fd, F_DUPFD_CLOEXEC, 3);
	strings_free(g->program.argv);
	strings_free(g->program.envp);
	g->program.argv = strings_dup(plan.argv);
	g->program.envp = strings_dup(envp);
	snprintf(t->name, sizeof(t->name), "%.15s", path_name(name));
	proc_note(g);
	memset(&t->hart, 0, sizeof(t->hart));
	t->hart.lr_addr = ~0ull;
	t->hart.pc = g->program.entry & ~1ull; /* as sepc has no lowest bit */
	t->hart.x[2] = sp;
	ok = true;
out:
	plan_close(&plan);
	return ok;
}
