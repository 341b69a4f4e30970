/* SPDX-License-Identifier: MIT */
/*
 * Hands over to cmd/, after making the process independent of its caller: closed standard streams
 * are opened, a file-size limit is a write error instead of a deadly signal, and the stack has room
 * whatever its limit is.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#include "cmd/cmd.h"

#define STACK_LEAST (1u << 20) /* a stack limit from here on is enough */
#define STACK_BYTES (8u << 20) /* of a stack of our own */
#define GUARD_BYTES (1u << 16)

/*
 * Opens a closed standard stream as /dev/null: otherwise the next file to be opened, a profile say,
 * would get its number, and messages would go there. It is marked close-on-exec, which an inherited
 * stream never is, so that sim_streams.c can tell them apart.
 */
static void hold_closed_streams(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR | O_CLOEXEC) != fd)
			return;
}

struct call {
	ucontext_t before, inside;
	int argc;
	char **argv;
	int status;
};

/* makecontext passes integers only. */
static void run_inside(unsigned high, unsigned low)
{
	struct call *c = (struct call *)((uintptr_t)high << 32 | low);

	c->status = cmd_main(c->argc, c->argv);
}

static int run_on_own_stack(int argc, char **argv)
{
	struct call c = { .argc = argc, .argv = argv };
	char *stack = mmap(NULL, STACK_BYTES + GUARD_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);

	if (stack == MAP_FAILED || mprotect(stack, GUARD_BYTES, PROT_NONE) || getcontext(&c.inside))
		die("no memory for a stack, and its limit is below 1 MiB; raise it with ulimit -s");
	c.inside.uc_stack.ss_sp = stack + GUARD_BYTES;
	c.inside.uc_stack.ss_size = STACK_BYTES;
	c.inside.uc_link = &c.before;
	makecontext(&c.inside, (void (*)(void))run_inside, 2, (unsigned)((uintptr_t)&c >> 32),
		    (unsigned)(uintptr_t)&c);
	if (swapcontext(&c.before, &c.inside))
		die("cannot change to a stack of its own");
	return c.status;
}

int main(int argc, char **argv)
{
	struct rlimit stack;

	hold_closed_streams();
	signal(SIGXFSZ, SIG_IGN);
	if (getrlimit(RLIMIT_STACK, &stack) || stack.rlim_cur >= STACK_LEAST)
		return cmd_main(argc, argv);
	return run_on_own_stack(argc, argv);
}
