/* SPDX-License-Identifier: MIT */
/*
 * Signals: sending, choosing, delivering, and the riscv64 signal frame.
 *
 * The frame is laid out as Linux lays it out: siginfo (128 bytes), ucontext with 32 registers (pc
 * first), the D-extension state, and an end marker for further extensions; ra points to the
 * trampoline page. Numbers, siginfo and default actions are those of x86-64, which riscv64 shares.
 *
 * Signals from outside reach the guest only if it handles or waits for them; otherwise the host's
 * own default acts on the whole program, which is what a user who presses Ctrl-C expects.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/engine/engine.h"
#include "guest/files/fd.h"
#include "guest/kernel/clock.h"
#include "guest/kernel/sched.h"
#include "guest/kernel/signal.h"
#include "guest/kernel/syscall.h"
#include "guest/memory/copy.h"
#include "guest/process/baton.h"
#include "guest/process/exec.h"
#include "guest/process/image.h"
#include "guest/process/process.h"
#include "guest/process/procs.h"

#define BIT(signo)	(1ull << ((signo)-1))
#define G_SIG_DFL	0
#define G_SIG_IGN	1
#define G_SA_SIGINFO	4
#define G_SA_ONSTACK	0x08000000
#define G_SA_RESTART	0x10000000
#define G_SA_NODEFER	0x40000000
#define G_SA_RESETHAND	0x80000000u
#define G_SS_ONSTACK	1
#define G_SS_DISABLE	2
#define G_SS_AUTODISARM 0x80000000u
#define UNBLOCKABLE	(BIT(SIGKILL) | BIT(SIGSTOP))

static const char *const signal_name[GUEST_SIGNALS + 1] = {
	[1] = "SIGHUP",	    [2] = "SIGINT",   [3] = "SIGQUIT",	 [4] = "SIGILL",   [5] = "SIGTRAP",
	[6] = "SIGABRT",    [7] = "SIGBUS",   [8] = "SIGFPE",	 [9] = "SIGKILL",  [10] = "SIGUSR1",
	[11] = "SIGSEGV",   [12] = "SIGUSR2", [13] = "SIGPIPE",	 [14] = "SIGALRM", [15] = "SIGTERM",
	[16] = "SIGSTKFLT", [17] = "SIGCHLD", [18] = "SIGCONT",	 [19] = "SIGSTOP", [20] = "SIGTSTP",
	[21] = "SIGTTIN",   [22] = "SIGTTOU", [23] = "SIGURG",	 [24] = "SIGXCPU", [25] = "SIGXFSZ",
	[26] = "SIGVTALRM", [27] = "SIGPROF", [28] = "SIGWINCH", [29] = "SIGIO",   [30] = "SIGPWR",
	[31] = "SIGSYS",
};

/* The guest's frame on its stack. */
struct guest_ucontext {
	uint64_t flags, link;
	uint64_t stack_sp;
	uint32_t stack_flags, stack_pad;
	uint64_t stack_size;
	uint64_t sigmask;
	uint8_t unused[1024 / 8 - 8];
	uint8_t align[8];
	uint64_t regs[32]; /* pc, then x1..x31 */
	uint64_t f[32];
	uint32_t fcsr;
	uint8_t fp_rest[516 - 32 * 8 - 4 + 4];
	uint32_t end_magic, end_size;
};
struct guest_sigframe {
	uint8_t info[128];
	struct guest_ucontext uc;
};
_Static_assert(offsetof(struct guest_ucontext, regs) == 176, "uc_mcontext");
_Static_assert(offsetof(struct guest_ucontext, end_magic) == 176 + 256 + 520, "extension header");
_Static_assert(sizeof(struct guest_sigframe) == 128 + 176 + 784, "rt_sigframe");

enum { ACT_TERM, ACT_CORE, ACT_IGNORE, ACT_STOP };

static int default_action(int signo)
{
	switch (signo) {
	case SIGCHLD:
	case SIGURG:
	case SIGWINCH:
	case SIGCONT:
		return ACT_IGNORE;
	case SIGSTOP:
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
		return ACT_STOP;
	case SIGQUIT:
	case SIGILL:
	case SIGTRAP:
	case SIGABRT:
	case SIGBUS:
	case SIGFPE:
	case SIGSEGV:
	case SIGSYS:
	case SIGXCPU:
	case SIGXFSZ:
		return ACT_CORE;
	default:
		return ACT_TERM;
	}
}

static bool ignored(const struct guest *g, int signo)
{
	uint64_t h = g->signals.action[signo].handler;

	return h == G_SIG_IGN || (h == G_SIG_DFL && default_action(signo) == ACT_IGNORE);
}

void signal_flush(struct sig_pending *p)
{
	while (p->head) {
		struct sig_node *n = p->head;

		p->head = n->next;
		free(n);
	}
	p->set = 0;
}

void signal_send(struct guest *g, struct thread *t, const siginfo_t *info)
{
	struct sig_pending *p = t ? &t->pending : &g->signals.pending;
	int signo = info->si_signo;
	struct sig_node **at, *n;
	bool wanted = false;

	if (signo < 1 || signo > GUEST_SIGNALS)
		return;
	for (size_t i = 0; i < g->sched.nthreads; i++) {
		const struct thread *o = g->sched.threads[i];

		if (t && o != t)
			continue;
		/* Blocked signals stay pending even if they would be ignored: a thread may wait for
		 * them. */
		wanted |= o->state != THREAD_DEAD && ((o->sigmask | o->wait.sigset) & BIT(signo));
	}
	if (ignored(g, signo) && !wanted)
		return;
	if (signo < 32 && (p->set & BIT(signo)))
		return; /* standard signals do not queue */
	n = x_calloc(1, sizeof(*n));
	n->info = *info;
	for (at = &p->head; *at; at = &(*at)->next)
		;
	*at = n;
	p->set |= BIT(signo);
	g->event_at = 0;
	signal_update_fds(g);
}

void signal_send_kernel(struct guest *g, struct thread *t, int signo)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = signo;
	info.si_code = SI_KERNEL;
	signal_send(g, t, &info);
}

static bool take_from(struct sig_pending *p, uint64_t set, siginfo_t *info)
{
	struct sig_node **at, *n;
	int signo;
	bool more = false;

	if (!(p->set & set))
		return false;
	signo = __builtin_ctzll(p->set & set) + 1;
	for (at = &p->head; (*at)->info.si_signo != signo; at = &(*at)->next)
		;
	n = *at;
	*info = n->info;
	*at = n->next;
	free(n);
	for (n = p->head; n; n = n->next)
		more |= n->info.si_signo == signo;
	if (!more)
		p->set &= ~BIT(signo);
	return true;
}

bool signal_take(struct guest *g, struct thread *t, uint64_t set, siginfo_t *info)
{
	/* Faults first: they belong to the instruction that the thread is at. */
	const uint64_t sync =
	    BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGILL) | BIT(SIGTRAP) | BIT(SIGFPE) | BIT(SIGSYS);
	bool got = take_from(&t->pending, set & sync, info) || take_from(&t->pending, set, info) ||
		   take_from(&g->signals.pending, set, info);

	if (got)
		signal_update_fds(g);
	return got;
}

bool signal_pending(const struct guest *g, const struct thread *t)
{
	uint64_t set = t->pending.set | g->signals.pending.set;

	if (!set)
		return false;
	if (t->state == THREAD_BLOCKED && (set & t->wait.sigset))
		return true;
	return set & ~t->sigmask;
}

/* signalfd: its eventfd is readable exactly while a signal of its set is pending. */
void signal_update_fds(struct guest *g)
{
	for (size_t i = 0; i < g->nfds; i++) {
		const struct fd_entry *f = &g->fds[i];
		uint64_t set, count = 1;
		ssize_t n;

		if (f->kind != FD_SIGNAL)
			continue;
		set = g->signals.pending.set;
		for (size_t k = 0; k < g->sched.nthreads; k++)
			set |= g->sched.threads[k]->pending.set;
		n = read(f->host, &count, sizeof(count));
		count = 1;
		if (set & f->sigset)
			n = write(f->host, &count, sizeof(count));
		(void)n;
	}
}

static void report_crash(struct guest *g, const struct thread *t, const siginfo_t *info)
{
	char where[512], fault[64] = "";

	fflush(NULL);
	image_describe(g, t->hart.pc, where, sizeof(where));
	if (info->si_code > 0 && info->si_code != SI_KERNEL)
		snprintf(fault, sizeof(fault), ", fault address 0x%llx",
			 (unsigned long long)(uintptr_t)info->si_addr);
	warn("%s was killed by %s at pc 0x%llx (%s)%s", g->program.name,
	     signal_name[info->si_signo], (unsigned long long)t->hart.pc, where, fault);
}

static void default_act(struct guest *g, struct thread *t, const siginfo_t *info)
{
	switch (default_action(info->si_signo)) {
	case ACT_IGNORE:
		break;
	case ACT_STOP:
		fflush(NULL);
		baton_drop(g); /* the others go on meanwhile */
		kill(getpid(), SIGSTOP);
		baton_take(g);
		break;
	case ACT_CORE:
		report_crash(g, t, info);
		guest_end(g, info->si_signo | 0x80);
		break;
	default:
		guest_end(g, info->si_signo);
		break;
	}
}

static bool on_alt_stack(const struct thread *t, uint64_t sp)
{
	return t->alt_size && sp > t->alt_sp && sp - t->alt_sp <= t->alt_size;
}

static void enter_handler(struct guest *g, struct thread *t, const siginfo_t *info)
{
	int signo = info->si_signo;
	struct sig_action *act = &g->signals.action[signo];
	struct guest_sigframe frame;
	struct hart *h = &t->hart;
	uint64_t sp = h->x[2], handler = act->handler;

	if (t->rseq_addr)
		rseq_abort(g, t);
	if ((act->flags & G_SA_ONSTACK) && t->alt_size && !on_alt_stack(t, sp))
		sp = t->alt_sp + t->alt_size;
	/* The alternate stack is in use and full: Linux writes nothing below it. */
	if (on_alt_stack(t, h->x[2]) && !on_alt_stack(t, h->x[2] - sizeof(frame)))
		sp = 0;
	sp = (sp - sizeof(frame)) & ~15ull;
	memset(&frame, 0, sizeof(frame));
	memcpy(frame.info, info, sizeof(frame.info));
	frame.uc.stack_sp = t->alt_sp;
	frame.uc.stack_size = t->alt_size;
	frame.uc.stack_flags = t->alt_size
				   ? (on_alt_stack(t, h->x[2]) ? G_SS_ONSTACK : 0) | t->alt_flags
				   : G_SS_DISABLE;
	frame.uc.sigmask = t->restore_sigmask ? t->saved_sigmask : t->sigmask;
	frame.uc.regs[0] = h->pc;
	memcpy(&frame.uc.regs[1], &h->x[1], 31 * sizeof(uint64_t));
	memcpy(frame.uc.f, h->f, sizeof(frame.uc.f));
	frame.uc.fcsr = (h->frm << 5) | h->fflags;
	if (copy_out(g, sp, &frame, sizeof(frame)) < 0) {
		siginfo_t segv;

		memset(&segv, 0, sizeof(segv));
		segv.si_signo = SIGSEGV;
		segv.si_code = SEGV_MAPERR;
		segv.si_addr = (void *)(uintptr_t)sp;
		report_crash(g, t, &segv);
		guest_end(g, SIGSEGV | 0x80);
		return;
	}
	t->restore_sigmask = false;
	t->sigmask |= act->mask | (act->flags & G_SA_NODEFER ? 0 : BIT(signo));
	t->sigmask &= ~UNBLOCKABLE;
	if (t->alt_flags & G_SS_AUTODISARM) {
		t->alt_sp = t->alt_size = 0;
		t->alt_flags = 0;
	}
	if (act->flags & G_SA_RESETHAND)
		act->handler = G_SIG_DFL;
	h->x[10] = (uint64_t)signo;
	h->x[11] = sp + offsetof(struct guest_sigframe, info);
	h->x[12] = sp + offsetof(struct guest_sigframe, uc);
	h->x[1] = GUEST_TRAMPOLINE;
	h->x[2] = sp;
	h->pc = handler & ~1ull; /* as sepc has no lowest bit */
	h->lr_addr = ~0ull;
}

/* Decides how a system call ends that a handler interrupts. */
static void interrupt_call(struct guest *g, struct thread *t, const struct sig_action *act)
{
	bool timed = t->wait.deadline_ns != NO_TIME && t->wait.kind == WAIT_FUTEX;

	if (t->wait.progress && t->row->flags & SF_RESTART) {
		syscall_finish(g, t, (int64_t)t->wait.progress);
	} else if ((t->row->flags & SF_RESTART) && (act->flags & G_SA_RESTART) && !timed) {
		syscall_finish(g, t, SYS_DONE);
		t->hart.x[10] = t->args[0];
		t->hart.pc -= 4;
	} else {
		uint64_t now = clock_boot_ns(g),
			 left = t->wait.deadline_ns > now ? t->wait.deadline_ns - now : 0;

		/* Tells the guest what is left of the sleep, if it asked for that. */
		if (t->row->fn == sys_nanosleep && t->args[1])
			timespec_out(g, t->args[1], left);
		if (t->row->fn == sys_clock_nanosleep && !(t->args[1] & 1) && t->args[3])
			timespec_out(g, t->args[3], left);
		syscall_finish(g, t, -EINTR);
	}
}

void signal_deliver(struct guest *g, struct thread *t)
{
	siginfo_t info;

	if (t->state == THREAD_BLOCKED &&
	    ((t->pending.set | g->signals.pending.set) & t->wait.sigset))
		syscall_retry(g, t);
	while (!g->ended && t->state != THREAD_DEAD && signal_pending(g, t) &&
	       signal_take(g, t, ~t->sigmask, &info)) {
		struct sig_action act = g->signals.action[info.si_signo];

		if (act.handler == G_SIG_IGN)
			continue;
		if (act.handler == G_SIG_DFL) {
			default_act(g, t, &info);
			continue;
		}
		if (t->state == THREAD_BLOCKED)
			interrupt_call(g, t, &act);
		enter_handler(g, t, &info);
	}
	if (t->restore_sigmask && t->state == THREAD_READY) {
		t->sigmask = t->saved_sigmask;
		t->restore_sigmask = false;
		if (signal_pending(g, t))
			g->event_at = 0;
	}
}

void signal_fault(struct guest *g, struct thread *t, int signo, int code, uint64_t addr)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = signo;
	info.si_code = code;
	info.si_addr = (void *)(uintptr_t)addr;
	/* A fault that cannot be handled kills, however the signal is set. */
	if ((t->sigmask & BIT(signo)) || g->signals.action[signo].handler == G_SIG_IGN) {
		g->signals.action[signo].handler = G_SIG_DFL;
		t->sigmask &= ~BIT(signo);
	}
	signal_send(g, t, &info);
}

void signal_after_exec(struct guest *g)
{
	for (int s = 1; s <= GUEST_SIGNALS; s++) {
		if (g->signals.action[s].handler != G_SIG_IGN)
			g->signals.action[s].handler = G_SIG_DFL;
		g->signals.action[s].flags = g->signals.action[s].mask = 0;
	}
}

void rseq_abort(struct guest *g, struct thread *t)
{
	struct {
		uint32_t version, flags;
		uint64_t start, length, abort;
	} cs;
	uint64_t at, zero = 0;

	if (copy_in(g, &at, t->rseq_addr + 8, 8) < 0 || !at)
		return;
	if (copy_in(g, &cs, at, sizeof(cs)) < 0)
		return;
	if (t->hart.pc - cs.start < cs.length)
		t->hart.pc = cs.abort;
	copy_out(g, t->rseq_addr + 8, &zero, 8);
}

/* ---- signals of the host ---- */

/* A signal handler has no argument that says which guest it is for: it is for the last guest that
 * was made. */
static struct guest *_Atomic host_target;

static void host_handler(int signo)
{
	struct guest *g = host_target;

	if (!g)
		return;
	g->signals.host_pending |= BIT(signo);
	engine_interrupt(g->engine);
}

void signal_watch_host(struct guest *g, int signo)
{
	struct sigaction old, act;

	if (signo < 1 || signo > GUEST_SIGNALS || (g->signals.host_caught & BIT(signo)))
		return;
	/* Faults are the engine's; what the program around us handles (Ctrl-C) stays its own. */
	if (signo == SIGSEGV || signo == SIGBUS || signo == SIGILL || signo == SIGFPE ||
	    signo == SIGTRAP || signo == SIGKILL || signo == SIGSTOP || signo == SIGABRT)
		return;
	if (sigaction(signo, NULL, &old) < 0 || (old.sa_flags & SA_SIGINFO) ||
	    (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN))
		return;
	memset(&act, 0, sizeof(act));
	act.sa_handler = host_handler;
	sigfillset(&act.sa_mask);
	if (sigaction(signo, &act, NULL) == 0)
		g->signals.host_caught |= BIT(signo);
}

void signal_adopt_host(struct guest *g)
{
	struct sigaction old;

	host_target = g;
	/* A broken pipe is an error to the guest's call, and then the guest's signal. */
	if (sigaction(SIGPIPE, NULL, &old) == 0 && !(old.sa_flags & SA_SIGINFO) &&
	    old.sa_handler == SIG_DFL)
		signal(SIGPIPE, SIG_IGN);
	signal_watch_host(g, SIGNAL_LOOK);
}

void signal_release_host(struct guest *g)
{
	for (int s = 1; s <= GUEST_SIGNALS; s++)
		if (g->signals.host_caught & BIT(s))
			signal(s, SIG_DFL);
	g->signals.host_caught = 0;
	if (host_target == g)
		host_target = NULL;
}

void signal_reset_host(struct guest *g)
{
	static const int of_the_user[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

	host_target = g;
	g->signals.host_pending =
	    BIT(SIGNAL_LOOK); /* mail may have come before there was anybody to read it */
	for (size_t i = 0; i < ARRAY_LEN(of_the_user); i++)
		if (!(g->signals.host_caught & BIT(of_the_user[i])))
			signal(of_the_user[i], SIG_DFL);
	if (g->config.children != GUEST_CHILDREN_SIMULATED)
		return;
	/* What ends a measured process must not end the host's before it has written its results.
	 */
	for (int s = 1; s <= GUEST_SIGNALS; s++)
		if (s != SIGPIPE) /* the guest's calls raise it themselves */
			signal_watch_host(g, s);
}

void signal_collect_host(struct guest *g)
{
	uint64_t set = g->signals.host_pending;

	if (likely(!set))
		return;
	set = atomic_exchange(&g->signals.host_pending, 0);
	proc_read_mail(g);
	if (set & BIT(SIGNAL_LOOK))
		g->ipc_look = true;
	set &= ~BIT(SIGNAL_LOOK);
	while (set) {
		int signo = __builtin_ctzll(set) + 1;
		siginfo_t info, host;

		set &= set - 1;
		memset(&info, 0, sizeof(info));
		info.si_signo = signo;
		info.si_code = SI_USER;
		if (signo == SIGCHLD) {
			g->family.child_look = true;
			memset(&host, 0, sizeof(host));
			info.si_code = CLD_EXITED;
			if (waitid(P_ALL, 0, &host, WEXITED | WNOHANG | WNOWAIT) == 0 &&
			    host.si_pid) {
				for (size_t i = 0; i < g->family.nchildren; i++)
					if (g->family.children[i].host_pid == host.si_pid)
						info.si_pid = g->family.children[i].guest_pid;
				info.si_code = host.si_code;
				info.si_status = host.si_status;
			}
			info.si_uid = GUEST_UID;
		} else {
			info.si_pid = g->ppid;
			info.si_uid = GUEST_UID;
		}
		signal_send(g, NULL, &info);
	}
}

/* ---- system calls that need the frame ---- */

int64_t sys_rt_sigreturn(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct guest_sigframe frame;
	struct hart *h = &t->hart;

	(void)a;
	if (copy_in(g, &frame, h->x[2], sizeof(frame)) < 0) {
		signal_fault(g, t, SIGSEGV, SEGV_MAPERR, h->x[2]);
		return SYS_DONE;
	}
	t->sigmask = frame.uc.sigmask & ~UNBLOCKABLE;
	h->pc = frame.uc.regs[0] & ~1ull;
	memcpy(&h->x[1], &frame.uc.regs[1], 31 * sizeof(uint64_t));
	memcpy(h->f, frame.uc.f, sizeof(frame.uc.f));
	h->fflags = frame.uc.fcsr & 31;
	h->frm = (frame.uc.fcsr >> 5) & 7;
	h->lr_addr = ~0ull;
	if (!on_alt_stack(t, h->x[2])) {
		if (frame.uc.stack_flags & G_SS_DISABLE) {
			t->alt_sp = t->alt_size = 0;
			t->alt_flags = 0;
		} else {
			t->alt_sp = frame.uc.stack_sp;
			t->alt_size = frame.uc.stack_size;
			t->alt_flags = frame.uc.stack_flags & G_SS_AUTODISARM;
		}
	}
	return SYS_DONE;
}

int64_t sys_sigaltstack(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct {
		uint64_t sp;
		uint32_t flags, pad;
		uint64_t size;
	} ss,
	    old = { t->alt_sp,
		    t->alt_size ? (on_alt_stack(t, t->hart.x[2]) ? G_SS_ONSTACK : 0) | t->alt_flags
				: G_SS_DISABLE,
		    0, t->alt_size };

	if (a[0]) {
		if (copy_in(g, &ss, a[0], sizeof(ss)) < 0)
			return -EFAULT;
		if (on_alt_stack(t, t->hart.x[2]))
			return -EPERM;
		if ((ss.flags & ~G_SS_AUTODISARM) > G_SS_DISABLE)
			return -EINVAL;
		if ((ss.flags & ~G_SS_AUTODISARM) == G_SS_DISABLE)
			ss.sp = ss.size = ss.flags = 0;
		else if (ss.size < 2048 &&
			 (ss.sp != t->alt_sp || ss.size != t->alt_size || ss.flags != t->alt_flags))
			return -ENOMEM;
	}
	if (a[1] && copy_out(g, a[1], &old, sizeof(old)) < 0)
		return -EFAULT;
	if (a[0]) {
		t->alt_sp = ss.sp;
		t->alt_size = ss.size;
		t->alt_flags = ss.flags & G_SS_AUTODISARM;
	}
	return 0;
}
