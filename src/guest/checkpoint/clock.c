/* SPDX-License-Identifier: MIT */
/*
 * Time in a checkpoint: what was skipped and set, and timers. Ticks are instructions, whose count is in section
 * process: a guest whose time has come from cycles is not saved (save.c).
 */
#include <signal.h>
#include <stdlib.h>

#include "guest/checkpoint/checkpoint.h"
#include "guest/kernel/clock.h"
#include "guest/process/process.h"

static void timer_state(struct state *s, struct vtimer *t)
{
	t->kind = (uint8_t)state_below(s, t->kind, TIMER_FD + 1);
	state_bool(s, &t->cpu_clock);
	state_bool(s, &t->posix);
	state_i32(s, &t->clock);
	state_u64(s, &t->next_ns);
	state_u64(s, &t->interval_ns);
	state_i32(s, &t->signo);
	state_bool(s, &t->notify_none);
	state_u64(s, &t->value);
	state_u32(s, &t->tid);
	state_i32(s, &t->overrun);
	if (state_reading(s)) {
		t->host_fd = -1;
		if (t->signo < 0 || t->signo > GUEST_SIGNALS)
			state_fail(s, "a timer has signal %d", t->signo);
	}
}

void checkpoint_clock(struct guest *g, struct state *s)
{
	struct clock *c = &g->clock;

	state_double(s, &c->ns_per_tick);
	state_double(s, &c->cpi);
	state_u64(s, &c->skip_ns);
	state_u64(s, &c->offset_ns);
	STATE_LIST(s, c->timers, c->ntimers, CHECKPOINT_TIMERS, t) timer_state(s, t);
	if (c->ntimers < TIMER_FIRST_POSIX)
		state_fail(s, "the timers of setitimer are missing");
	if (!(c->ns_per_tick > 0 && c->ns_per_tick < 1e9) || !(c->cpi > 0 && c->cpi < 1e9))
		state_fail(s, "the clock has an absurd rate");
	if (state_reading(s) && c->cpi != 1 && !guest_clocks_insts(g))
		state_fail(s, "its time comes from instructions (--clock-cpi); go on from it with "
			      "--clock insts");
}
