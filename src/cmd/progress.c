/* SPDX-License-Identifier: MIT */
/*
 * The progress line of a run. It shows the speed since it was last written, so that a change of
 * phase is visible; the time left, where the end is known, follows from the mean speed.
 */
#include "cmd/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "util/util.h"

double host_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void progress_begin(struct progress *p, uint64_t goal_insts)
{
	*p = (struct progress){ .on = isatty(STDERR_FILENO),
				.goal = goal_insts,
				.start = host_now() };
	p->last = p->start;
}

void progress_update(struct progress *p, uint64_t insts)
{
	double now, mips;

	if (!p->on)
		return;
	now = host_now();
	if (now - p->start < 2 || now - p->last < 0.2)
		return;
	mips = (double)(insts - p->last_insts) / (now - p->last) / 1e6;
	fprintf(stderr, "\rculprit: %.0f M instructions, %.*f MIPS, %.0f s", (double)insts / 1e6,
		mips < 10 ? 2 : 0, mips, now - p->start);
	if (p->goal > insts && insts)
		fprintf(stderr, ", %.0f s left",
			(now - p->start) / (double)insts * (double)(p->goal - insts));
	fputs("\033[K", stderr);
	fflush(stderr);
	p->shown = true;
	p->last = now;
	p->last_insts = insts;
}

void progress_end(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}
