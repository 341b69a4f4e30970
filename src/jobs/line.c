/* SPDX-License-Identifier: MIT */
/* A line on the terminal that shows how far the jobs have come. */
#include <stdio.h>
#include <unistd.h>

#include "jobs/jobs.h"

void jobs_line_show(void *ctx, const struct jobs_progress *p)
{
	struct jobs_line *l = ctx;
	char text[160];
	size_t ended = p->cached + p->done + p->failed;
	int n;

	if (!l->asked) {
		l->asked = true;
		l->is_tty = isatty(STDERR_FILENO);
	}
	if (!l->is_tty || p->seconds < 0.5 || (l->used && p->seconds - l->shown < 0.2))
		return;
	l->shown = p->seconds;
	n = snprintf(text, sizeof(text), "%zu of %zu runs", ended, p->total);
	if (p->cached)
		n +=
		    snprintf(text + n, sizeof(text) - (size_t)n, ", %zu from the cache", p->cached);
	if (p->failed)
		n += snprintf(text + n, sizeof(text) - (size_t)n, ", %zu failed", p->failed);
	if (p->seconds_left >= 0)
		n += snprintf(text + n, sizeof(text) - (size_t)n, ", about %.0f s left",
			      p->seconds_left);
	if (p->name)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "  %.60s", p->name);
	fprintf(stderr, "\r%s\033[K", text);
	fflush(stderr);
	l->used = n;
}

void jobs_line_end(struct jobs_line *l)
{
	if (l->used)
		fputs("\r\033[K", stderr);
	l->used = 0;
}
