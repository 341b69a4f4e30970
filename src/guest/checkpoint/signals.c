/* SPDX-License-Identifier: MIT */
/*
 * Signals in a checkpoint: actions, and what is pending. A pending signal's siginfo is kept as the 128 bytes that
 * the guest would read, whose layout is that of riscv64's Linux. Which signals of the host are the guest's
 * follows from the set of those that it watched.
 */
#include <stdlib.h>
#include <string.h>

#include "guest/checkpoint/checkpoint.h"
#include "guest/checkpoint/parts.h"
#include "guest/kernel/signal.h"
#include "guest/process/process.h"

void pending_state(struct state *s, struct sig_pending *p)
{
	struct sig_node **end = &p->head;
	size_t n = 0;

	for (const struct sig_node *at = state_reading(s) ? NULL : p->head; at; at = at->next)
		n++;
	n = state_count(s, n, CHECKPOINT_SIGNALS);
	state_u64(s, &p->set);
	for (size_t i = 0; i < n && state_ok(s); i++) {
		if (state_reading(s))
			*end = x_calloc(1, sizeof(**end));
		state_raw(s, &(*end)->info, sizeof((*end)->info));
		if ((*end)->info.si_signo < 1 || (*end)->info.si_signo > GUEST_SIGNALS)
			state_fail(s, "a pending signal has number %d", (*end)->info.si_signo);
		end = &(*end)->next;
	}
}

void checkpoint_signals(struct guest *g, struct state *s)
{
	uint64_t watched = g->signals.host_caught;

	for (size_t i = 1; i <= GUEST_SIGNALS; i++) {
		struct sig_action *a = &g->signals.action[i];

		state_u64(s, &a->handler);
		state_u64(s, &a->flags);
		state_u64(s, &a->mask);
	}
	pending_state(s, &g->signals.pending);
	state_u64(s, &watched);
	for (int i = 1; state_reading(s) && state_ok(s) && i <= GUEST_SIGNALS; i++)
		if (watched >> (i - 1) & 1)
			signal_watch_host(g, i);
}
