/* SPDX-License-Identifier: MIT */
/*
 * From a host SIGSEGV or SIGBUS to a guest fault.
 *
 * A guest load is a host load, so a bad address arrives as a host signal. The handler finds the
 * engine that runs on this thread, brings the hart's registers into memory if generated code held
 * them in host registers, and jumps back to the engine's loop. e->cur says which instruction
 * faulted. A fault that is not in guest memory, or with no engine at work, is a bug of the host
 * program and gets the default action.
 *
 * A page of a restored guest that is not there yet is loaded, and the access repeated (memory/lazy.c).
 *
 * SA_NODEFER: the handler is left by siglongjmp without restoring the signal mask, which is a
 * system call cheaper per fault and per run.
 */
#include <string.h>

#include "guest/engine/impl.h"
#include "guest/engine/jit.h"
#include "isa/isa.h"

static _Thread_local struct engine *engine_current;

struct engine *engine_enter(struct engine *e)
{
	struct engine *before = engine_current;
	engine_current = e;
	return before;
}

void engine_leave(struct engine *before)
{
	engine_current = before;
}

static void fill_fault(struct engine *e, uint64_t addr)
{
	e->fault = (struct engine_fault){
		.addr = addr,
		.write = e->cur && (op_info[e->cur->op].flags & OPF_STORE),
		.mapped = mem_page_has(e->mem, addr, MEM_MAPPED),
	};
}

static _Noreturn void leave_executor(struct engine *e)
{
	if (e->stepping)
		STEP_LONGJMP(e->step_env);
	siglongjmp(e->env, ENGINE_JMP_FAULT);
}

void engine_raise(struct engine *e, uint64_t addr)
{
	fill_fault(e, addr);
	leave_executor(e);
}

void engine_raise_misaligned(struct engine *e, uint64_t addr)
{
	fill_fault(e, addr);
	e->fault.bus = true;
	e->fault.misaligned = true;
	leave_executor(e);
}

static void on_fault(int sig, siginfo_t *info, void *ucontext)
{
	struct engine *e = engine_current;
	uint64_t addr = 0;
	bool ours = false;

	if (e) {
		addr = (uint64_t)(uintptr_t)info->si_addr - (uint64_t)(uintptr_t)e->base;
		ours = addr + ENGINE_GUARD_BYTES < GUEST_ADDR_LIMIT + 2 * ENGINE_GUARD_BYTES &&
		       info->si_code > 0;
	}
	if (!ours) {
		signal(sig, SIG_DFL); /* the access is repeated on return, and ends the process */
		if (info->si_code <= 0)
			raise(sig);
		return;
	}
	if (sig == SIGSEGV && e->mem->lazy && mem_lazy_fault(e->mem, addr))
		return; /* the access is repeated */
	if (e->fetching) {
		e->fault = (struct engine_fault){ .addr = addr, .bus = sig == SIGBUS };
		e->fault.mapped = mem_page_has(e->mem, addr, MEM_MAPPED);
		siglongjmp(e->fetch_env, 1);
	}
	if (e->jit)
		jit_recover(e->jit, e, ucontext);
	fill_fault(e, addr);
	e->fault.bus = sig == SIGBUS;
	leave_executor(e);
}

void engine_install_handlers(void)
{
	struct sigaction action = { .sa_sigaction = on_fault,
				    .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };

	sigemptyset(&action.sa_mask);
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
}
