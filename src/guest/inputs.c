/* SPDX-License-Identifier: MIT */
/*
 * Which files the guest reads, so that who keeps results of its runs knows what they depend on. A
 * file counts when it is opened to be read; one that is ever opened to be written does not, because
 * the run makes its content. Children that are forked note theirs in their own process.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/process.h"

#define INPUTS_MAX 4096 /* of a program that walks over a file system the first are enough */

struct input {
	char *path; /* on the host */
	bool written;
};

static bool is_kernels(const char *path)
{
	return !strncmp(path, "/proc/", 6) || !strncmp(path, "/sys/", 5);
}

void inputs_opened(struct guest *g, int host, int flags)
{
	bool written = (flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC;
	char link[32], path[PATH_BYTES];
	struct stat st;
	ssize_t n;

	if (flags & (O_PATH | O_DIRECTORY) || fstat(host, &st) || !S_ISREG(st.st_mode))
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", host);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0 || path[0] != '/')
		return;
	path[n] = 0;
	for (size_t i = 0; i < g->ninputs; i++)
		if (!strcmp(g->inputs[i].path, path)) {
			g->inputs[i].written |= written;
			return;
		}
	if (g->ninputs == INPUTS_MAX || is_kernels(path))
		return;
	if (!(g->ninputs & (g->ninputs - 1)))
		g->inputs =
		    x_realloc(g->inputs, (g->ninputs ? 2 * g->ninputs : 1) * sizeof(*g->inputs));
	g->inputs[g->ninputs++] = (struct input){ x_strdup(path), written };
}

size_t guest_inputs(const struct guest *g, const char ***paths)
{
	size_t n = 0;

	*paths = x_calloc(g->ninputs + 1, sizeof(**paths));
	for (size_t i = 0; i < g->ninputs; i++)
		if (!g->inputs[i].written)
			(*paths)[n++] = g->inputs[i].path;
	return n;
}

void inputs_free(struct guest *g)
{
	for (size_t i = 0; i < g->ninputs; i++)
		free(g->inputs[i].path);
	free(g->inputs);
}
