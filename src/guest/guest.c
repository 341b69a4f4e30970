/* SPDX-License-Identifier: MIT */
/*
 * The guest machine put together: loading, running, stepping.
 *
 * guest_run and guest_step look after threads, signals and timers at the same instructions: after
 * every ecall and fault, and when the instruction count reaches event_at. A run in one piece, in
 * many pieces or instruction by instruction is therefore the same run.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "guest/checkpoint/checkpoint.h"
#include "guest/checkpoint/parts.h"
#include "guest/engine/engine.h"
#include "guest/files/fd.h"
#include "guest/files/files.h"
#include "guest/files/input.h"
#include "guest/files/listing.h"
#include "guest/files/path.h"
#include "guest/kernel/clock.h"
#include "guest/kernel/sched.h"
#include "guest/kernel/signal.h"
#include "guest/kernel/syscall.h"
#include "guest/memory/mem.h"
#include "guest/process/exec.h"
#include "guest/process/image.h"
#include "guest/process/limits.h"
#include "guest/process/process.h"
#include "guest/process/procs.h"

#define DEFAULT_QUANTUM	    50000
#define DEFAULT_STACK_BYTES (8ull << 20)

/* Not the host's environment, so that runs repeat. The folders that it names exist for the guest
 * on every host (nodes.c). */
const char *const guest_environment[] = {
	"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/guest", "LANG=C", "TZ=UTC", NULL,
};

static void code_changed(void *ctx, uint64_t start, uint64_t end)
{
	struct guest *g = ctx;

	if (g->engine)
		engine_invalidate(g->engine, start, end);
}

static void set_limits(struct guest *g)
{
	for (size_t i = 0; i < ARRAY_LEN(g->limit); i++)
		g->limit[i] = (struct guest_limits){ UINT64_MAX, UINT64_MAX };
	g->limit[RLIMIT_STACK].cur =
	    g->config.stack_bytes ? g->config.stack_bytes : DEFAULT_STACK_BYTES;
	g->limit[RLIMIT_CORE].cur = 0;
	g->limit[RLIMIT_NPROC] = (struct guest_limits){ 32768, 32768 };
	g->limit[RLIMIT_NOFILE] = (struct guest_limits){ 1024, 65536 };
	if (g->config.limit_processes)
		g->limit[RLIMIT_NPROC].cur = g->limit[RLIMIT_NPROC].max = g->config.limit_processes;
	if (g->config.limit_files) {
		g->limit[RLIMIT_NOFILE].max =
		    min_u64(g->limit[RLIMIT_NOFILE].max, g->config.limit_files);
		g->limit[RLIMIT_NOFILE].cur =
		    min_u64(g->limit[RLIMIT_NOFILE].cur, g->config.limit_files);
	}
	g->limit[RLIMIT_MEMLOCK] = (struct guest_limits){ 8u << 20, 8u << 20 };
	g->limit[RLIMIT_SIGPENDING] = (struct guest_limits){ 32768, 32768 };
	g->limit[RLIMIT_MSGQUEUE] = (struct guest_limits){ 819200, 819200 };
	g->limit[RLIMIT_NICE] = g->limit[RLIMIT_RTPRIO] = (struct guest_limits){ 0, 0 };
}

static bool open_sysroot(struct guest *g, struct err *e)
{
	const char *dir = g->config.sysroot;

	g->world.sysroot_fd = -1;
	if (!dir)
		return true;
	g->world.sysroot_path = realpath(dir, NULL);
	if (g->world.sysroot_path)
		g->world.sysroot_fd = open(g->world.sysroot_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (g->world.sysroot_fd < 0)
		return err_set(e, "%s: not a usable sysroot: %s", dir, strerror(errno));
	if (strcmp(g->world.sysroot_path, "/") == 0) {
		free(g->world.sysroot_path);
		g->world.sysroot_path = NULL;
	}
	return true;
}

/* What a guest has before it has a program: memory, an engine, and where its names begin. */
static struct guest *begin(const struct guest_config *config, struct err *e)
{
	struct guest *g = x_calloc(1, sizeof(*g));
	struct engine_config ec = {
		.interpreter_only = config->interpreter_only,
		.counter = clock_counter,
		.counter_ctx = g,
		.place = image_place,
	};

	g->config = *config;
	g->family.vfork_fd = -1;
	g->world.sysroot_fd = g->program.fd = g->world.root_fd = g->world.start_fd = -1;
	files_init(g);
	g->clock.cpi = config->clock_cpi > 0 ? config->clock_cpi : 1;
	g->clock.ns_per_tick = g->clock.cpi * 1e9 / (config->clock_hz > 0 ? config->clock_hz : 1e9);
	g->sched.quantum = config->quantum ? config->quantum : DEFAULT_QUANTUM;
	g->umask_value = 022;
	rng_seed(&g->rng, config->seed);
	set_limits(g);
	if (!open_sysroot(g, e) || !mem_init(&g->mem, e)) {
		guest_free(g);
		return NULL;
	}
	g->mem.code_changed = code_changed;
	g->mem.code_changed_ctx = g;
	g->engine = engine_new(&g->mem, &ec);
	path_world_init(g);
	if (config->private_files && !view_begin(g, e)) {
		guest_free(g);
		return NULL;
	}
	return g;
}

struct guest *guest_new(const struct guest_config *config, struct err *e)
{
	const char *program = config->program ? config->program : config->argv[0];
	struct guest *g;
	int code;

	if (!program) {
		err_set(e, "no program to run");
		return NULL;
	}
	g = begin(config, e);
	if (!g)
		return NULL;
	procs_init(g);
	fds_init(g);
	input_init(g);
	g->clock.ntimers = TIMER_FIRST_POSIX;
	g->clock.timers = x_calloc(g->clock.ntimers, sizeof(*g->clock.timers));
	g->cur = thread_new(g);
	g->cur->tid = (uint32_t)g->pid;
	g->cur->wait.deadline_ns = NO_TIME;
	if (!exec_load(g, program, config->argv,
		       config->envp ? config->envp : (char **)(uintptr_t)guest_environment, e,
		       &code))
		goto fail;
	signal_adopt_host(g);
	guest_settle(g);
	return g;
fail:
	guest_free(g);
	return NULL;
}

struct guest *guest_restore(const struct guest_config *config, struct state_file *f, struct err *e)
{
	struct guest *g = begin(config, e);

	if (!g)
		return NULL;
	signal_adopt_host(g);
	if (checkpoint_load(g, f, e))
		return g;
	guest_free(g);
	return NULL;
}

static void free_strings(char **v)
{
	for (size_t i = 0; v && v[i]; i++)
		free(v[i]);
	free(v);
}

void guest_free(struct guest *g)
{
	if (!g)
		return;
	if (g->procs)
		proc_end_others(g);
	signal_release_host(g);
	threads_free(g, NULL);
	free(g->sched.threads);
	free(g->sched.log.waits);
	signal_flush(&g->signals.pending);
	for (size_t i = TIMER_FIRST_POSIX; i < g->clock.ntimers; i++)
		if (g->clock.timers[i].kind == TIMER_FD)
			close(g->clock.timers[i].host_fd);
	free(g->clock.timers);
	fds_free(g);
	input_free(g);
	files_free(g);
	listings_free(g);
	if (g->procs)
		procs_free(g);
	if (g->engine)
		engine_free(g->engine);
	touched_free(g);
	if (g->mem.base)
		mem_fini(&g->mem);
	mappings_clear(g);
	image_files_free(g);
	inputs_free(g);
	saved_free(g);
	free_strings(g->program.argv);
	free_strings(g->program.envp);
	free(g->program.host);
	free(g->program.name);
	if (g->program.fd >= 0)
		close(g->program.fd);
	view_free(g);
	path_world_free(g);
	if (g->world.sysroot_fd >= 0)
		close(g->world.sysroot_fd);
	free(g->world.sysroot_path);
	free(g);
}

/* What follows an instruction that did not simply execute. */
static void handle(struct guest *g, enum engine_exit why)
{
	struct thread *t = g->cur;
	const struct engine_fault *f;
	uint64_t missing;

	switch (why) {
	case ENGINE_BUDGET:
	case ENGINE_INTERRUPTED:
		break;
	case ENGINE_ECALL:
		syscall_enter(g, t);
		break;
	case ENGINE_EBREAK:
		signal_fault(g, t, SIGTRAP, TRAP_BRKPT, t->hart.pc);
		break;
	case ENGINE_ILLEGAL:
		signal_fault(g, t, SIGILL, ILL_ILLOPC, t->hart.pc);
		break;
	case ENGINE_FAULT:
		f = engine_last_fault(g->engine);
		if (f->bus)
			signal_fault(g, t, SIGBUS, f->misaligned ? BUS_ADRALN : BUS_ADRERR,
				     f->addr);
		else
			signal_fault(g, t, SIGSEGV, f->mapped ? SEGV_ACCERR : SEGV_MAPERR, f->addr);
		break;
	case ENGINE_FETCH_FAULT:
		/* If the first two bytes are there, the fault is on the page of the next two. */
		missing = t->hart.pc + (mem_page_has(&g->mem, t->hart.pc, MEM_X) ? 2 : 0);
		signal_fault(g, t, SIGSEGV,
			     mem_page_has(&g->mem, missing, MEM_MAPPED) ? SEGV_ACCERR : SEGV_MAPERR,
			     missing);
		break;
	case ENGINE_MARK_BEGIN:
	case ENGINE_MARK_END:
		if (g->config.mark)
			g->config.mark(g->config.mark_ctx, why == ENGINE_MARK_BEGIN);
		break;
	}
}

/* Runs a child that nobody measures to its end, in the copy of this program that its fork has
 * made. */
static _Noreturn void run_to_the_end(struct guest *g)
{
	g->family.run_here = false;
	while (guest_run(g, UINT64_MAX) == GUEST_RUNNING)
		if (g->interrupted)
			guest_end(g, SIGINT);
	fflush(NULL);
	_exit(g->exit_status);
}

static enum guest_status status(const struct guest *g)
{
	if (!g->ended)
		return GUEST_RUNNING;
	return (g->wait_status & 0x7f) ? GUEST_KILLED : GUEST_EXITED;
}

static bool is_fault(enum engine_exit why)
{
	return why == ENGINE_EBREAK || why == ENGINE_ILLEGAL || why == ENGINE_FAULT ||
	       why == ENGINE_FETCH_FAULT;
}

/* A control transfer after which the kernel looked: where it went on is known only then. */
static void tell_held(struct guest *g, const struct guest_watcher *w, struct guest_seen *held,
		      const struct thread *t, uint64_t pc)
{
	held->switched = !g->ended && (g->cur != t || g->cur->hart.pc != pc);
	w->seen(w->ctx, held, 1, pc);
}

static enum guest_status run(struct guest *g, uint64_t max_insts, const struct guest_watcher *w)
{
	uint64_t left = max_insts;

	if (g->stalled)
		guest_settle(g);
	while (left && !g->ended && !g->stalled) {
		uint64_t slice = min_u64(left, g->event_at > g->insts ? g->event_at - g->insts : 1),
			 budget = slice;
		enum engine_exit why;

		if (unlikely(g->event_at <= g->insts)) {
			guest_settle(g);
			continue;
		}
		if (unlikely(g->vectors))
			engine_vector_thread(g->engine, &g->cur->vector);
		struct thread *t = g->cur;
		struct guest_seen held;
		struct inst copy;
		bool holds = false;

		why = engine_run(g->engine, &t->hart, &budget);
		g->insts += slice - budget;
		left -= slice - budget;
		if (unlikely(w != NULL)) {
			bool looks = why == ENGINE_BUDGET && g->insts >= g->event_at;

			holds = engine_watched(g->engine, t->hart.pc, looks ? &held : NULL, &copy);
			left -= w->faults_count && is_fault(why) && left;
		}

		const uint64_t pc = t->hart.pc;

		if (g->cycle_mode)
			g->tick_base += slice - budget;
		if (unlikely(why == ENGINE_BUDGET && g->insts < g->event_at))
			continue;
		if (why == ENGINE_MARK_BEGIN || why == ENGINE_MARK_END) {
			handle(g, why);
			if (g->insts < g->event_at && !g->interrupted)
				continue;
		} else {
			handle(g, why);
		}
		if (unlikely(g->family.run_here))
			run_to_the_end(g);
		if (!g->ended)
			guest_settle(g);
		if (unlikely(holds))
			tell_held(g, w, &held, t, pc);
		if (g->interrupted)
			break;
	}
	g->interrupted = 0;
	return status(g);
}

enum guest_status guest_run(struct guest *g, uint64_t max_insts)
{
	uint64_t most;

	while (unlikely((most = engine_age_history(g->engine)) < max_insts)) {
		const uint64_t before = g->insts;
		const enum guest_status s = run(g, most, NULL);

		if (s != GUEST_RUNNING || g->insts - before < most)
			return s;
		max_insts -= most;
	}
	return run(g, max_insts, NULL);
}

enum guest_status guest_watch(struct guest *g, uint64_t max_insts, const struct guest_watcher *w)
{
	enum guest_status result;

	engine_watch(g->engine, w->seen, w->ctx);
	result = run(g, max_insts, w);
	engine_watch(g->engine, NULL, NULL);
	return result;
}

static void enter_kernel(struct guest *g)
{
	if (unlikely(g->on_kernel))
		g->on_kernel(g->on_kernel_ctx);
}

void guest_on_kernel(struct guest *g, void (*fn)(void *ctx), void *ctx)
{
	g->on_kernel = fn;
	g->on_kernel_ctx = ctx;
}

void guest_step(struct guest *g, struct guest_step *out)
{
	struct thread *t;
	enum engine_exit why;

	if (unlikely(g->stalled)) {
		enter_kernel(g);
		guest_settle(g);
	}
	t = g->cur;
	out->flags = 0;
	why = engine_step(g->engine, &t->hart, out);
	out->tid = t->tid;
	if (likely(why == ENGINE_BUDGET)) {
		if (likely(++g->insts < g->event_at))
			return;
	} else {
		uint32_t flags = out->flags;

		if (why == ENGINE_ECALL) {
			g->insts++;
			out->flags = flags | STEP_SYSCALL;
		} else if (why == ENGINE_MARK_BEGIN || why == ENGINE_MARK_END) {
			g->insts++;
		} else if (why != ENGINE_INTERRUPTED) {
			out->flags = flags | STEP_FAULT;
			g->sched.log.faults++;
		}
		enter_kernel(g);
		handle(g, why);
		if (unlikely(g->family.run_here))
			run_to_the_end(g);
		if ((why == ENGINE_MARK_BEGIN || why == ENGINE_MARK_END) && g->insts < g->event_at)
			return;
	}
	enter_kernel(g);
	{
		uint64_t pc = t->hart.pc;

		if (!g->ended)
			guest_settle(g);
		if (g->ended) {
			out->flags |= STEP_END;
			out->next_pc = pc;
		} else {
			bool returned = why == ENGINE_ECALL && pc != out->pc + 4;

			if (g->cur != t || g->cur->hart.pc != pc || returned)
				out->flags |= STEP_SWITCH;
			out->next_pc = g->cur->hart.pc;
		}
	}
}

const struct hart *guest_hart(const struct guest *g)
{
	return &g->cur->hart;
}

uint64_t guest_insts(const struct guest *g)
{
	return g->insts;
}

int guest_exit_status(const struct guest *g)
{
	return g->exit_status;
}

const char *guest_program(const struct guest *g)
{
	return g->program.name;
}

unsigned guest_forks(const struct guest *g)
{
	return (unsigned)g->procs->processes - 1;
}

void guest_set_cycles(struct guest *g, uint64_t cycles)
{
	if (unlikely(!g->cycle_mode)) {
		if (guest_clocks_insts(g))
			return;
		g->tick_base = g->insts - cycles;
		g->cycle_mode = true;
		g->event_at = 0;
		g->event_cycles = UINT64_MAX;
	}
	g->cycles = cycles;
	if (unlikely(cycles >= g->event_cycles))
		g->event_at = 0;
}

bool guest_clocks_insts(const struct guest *g)
{
	return g->config.clock_cpi > 0;
}

void guest_interrupt(struct guest *g)
{
	g->interrupted = 1;
	engine_interrupt(g->engine);
}

uint64_t guest_peek(const struct guest *g, uint64_t addr, unsigned size_bytes)
{
	return mem_peek(&g->mem, addr, size_bytes);
}

unsigned guest_code(const struct guest *g, uint64_t pc, uint32_t *word)
{
	return mem_peek_code(&g->mem, pc, word);
}

const struct inst *guest_fetch(struct guest *g, uint64_t pc)
{
	return engine_fetch(g->engine, pc);
}

uint64_t guest_code_version(const struct guest *g)
{
	return engine_code_version(g->engine);
}

void guest_count_blocks(struct guest *g, bool on)
{
	engine_count_blocks(g->engine, on);
}

void guest_visit_blocks(struct guest *g,
			void (*visit)(void *ctx, uint64_t pc, const struct inst *insts,
				      size_t count, uint64_t times),
			void *ctx)
{
	engine_visit_blocks(g->engine, visit, ctx);
}

void guest_take_data(struct guest *g, uint64_t counts[LOCALITY_COUNTS])
{
	engine_take_data(g->engine, counts);
}

void guest_vectors(struct guest *g, bool on, bool data)
{
	g->vectors = on;
	engine_vectors(g->engine, on, data);
}

void guest_take_vector(struct guest *g, void (*visit)(void *ctx, uint64_t block, uint64_t insts),
		       void *ctx)
{
	engine_take_vector(g->engine, visit, ctx);
}

uint64_t guest_vector_blocks(const struct guest *g)
{
	return engine_vector_blocks(g->engine);
}
