/* SPDX-License-Identifier: MIT */
/*
 * Processes that share writable memory take turns.
 *
 * The engine executes atomic instructions as a load and a store: right for the threads of a
 * process, which change places only between instructions, but not for two host processes that share
 * a page. Once any process of the tree has mapped writable shared memory, only the holder of the
 * baton executes; it is passed on at the end of a quantum and laid down before the host sleeps. A
 * tree without shared memory runs in parallel and never touches it.
 *
 * The lock is robust: a process that is killed while it holds the baton does not take it along.
 */
#include <pthread.h>
#include <sched.h>

#include "guest/process/baton.h"
#include "guest/process/process.h"
#include "guest/process/procs.h"

/* How long to wait for another process to take the baton before taking it again. */
#define PASS_TRIES 200

void baton_init(struct guest *g)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&g->procs->baton, &attr);
	pthread_mutexattr_destroy(&attr);
}

bool baton_used(const struct guest *g)
{
	return g->procs->shares && g->procs->alive > 1;
}

void baton_take(struct guest *g)
{
	if (g->baton || !baton_used(g))
		return;
	g->procs->waiting++;
	if (pthread_mutex_lock(&g->procs->baton) == EOWNERDEAD)
		pthread_mutex_consistent(&g->procs->baton);
	g->procs->waiting--;
	g->procs->turn++;
	g->baton = true;
	/* Another process may have written to the reserved address. */
	g->cur->hart.lr_addr = ~0ull;
}

void baton_drop(struct guest *g)
{
	if (!g->baton)
		return;
	g->baton = false;
	pthread_mutex_unlock(&g->procs->baton);
}

void baton_pass(struct guest *g)
{
	unsigned turn = g->procs->turn;

	if (!g->baton || !g->procs->waiting)
		return;
	baton_drop(g);
	for (int i = 0; i < PASS_TRIES && g->procs->turn == turn && g->procs->waiting; i++)
		sched_yield();
	baton_take(g);
}
