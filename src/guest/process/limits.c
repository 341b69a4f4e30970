/* SPDX-License-Identifier: MIT */
/*
 * Limits on all processes of a guest together: how many there are, and how much they write. When a
 * limit is reached for the first time, one line says so; the guest gets the errno that Linux has
 * for it.
 *
 * What counts as output is what leaves the guest: files, and the standard streams that it was
 * started with; not the pipes and sockets between its own processes. A write is cut where the limit
 * is, as on a full disk; one from a vector goes through whole if it begins before.
 */
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "guest/files/fd.h"
#include "guest/kernel/sched.h"
#include "guest/kernel/syscall.h"
#include "guest/process/limits.h"
#include "guest/process/process.h"
#include "guest/process/procs.h"

/* Calls that write: which argument is the descriptor, and which the number of bytes (-1: none). */
static const struct {
	const char *name;
	int8_t fd, bytes;
} writers[] = {
	{ "write", 0, 2 },    { "pwrite64", 0, 2 },	   { "writev", 0, -1 },
	{ "pwritev", 0, -1 }, { "pwritev2", 0, -1 },	   { "sendfile", 0, 3 },
	{ "splice", 2, 4 },   { "copy_file_range", 2, 4 }, { "fallocate", 0, 3 },
	{ "sendto", 0, -1 },  { "sendmsg", 0, -1 },
};

static int find_writer(const struct thread *t)
{
	for (size_t i = 0; i < ARRAY_LEN(writers); i++)
		if (!strcmp(t->row->name, writers[i].name))
			return (int)i;
	return -1;
}

static bool leaves(struct guest *g, uint64_t fd)
{
	int host = fd_host(g, fd);
	struct stat st, stream;

	if (host < 0 || fstat(host, &st))
		return false;
	if (S_ISREG(st.st_mode))
		return true;
	if (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)) /* /dev/null */
		return false;
	for (int own = 0; own < 3; own++)
		if (!fstat(own, &stream) && stream.st_dev == st.st_dev &&
		    stream.st_ino == st.st_ino)
			return true;
	return false;
}

static void say(struct guest *g, unsigned which, const char *option, uint64_t limit,
		const char *what)
{
	if (!(atomic_fetch_or(&g->procs->limits_said, 1u << which) & 1u << which))
		warn("the guest has reached --limit-%s (%llu): %s", option,
		     (unsigned long long)limit, what);
}

bool limits_any(const struct guest *g)
{
	return g->config.limit_output | g->config.limit_files | g->config.limit_memory;
}

bool limits_process(struct guest *g)
{
	uint64_t limit = g->config.limit_processes;

	if (!limit || (uint64_t)g->procs->alive + g->sched.live - 1 < limit)
		return true;
	say(g, 0, "processes", limit, "it gets EAGAIN instead of another process or thread");
	return false;
}

static int64_t call_writer(struct guest *g, struct thread *t)
{
	int at = g->config.limit_output ? find_writer(t) : -1;
	uint64_t limit = g->config.limit_output, written = g->procs->written;
	uint64_t args[6];
	int64_t result;

	if (at < 0 || !leaves(g, t->args[writers[at].fd]))
		return t->row->fn(g, t, t->args);
	if (written >= limit) {
		say(g, 1, "output", limit, "it gets ENOSPC instead of writing more");
		return -ENOSPC;
	}
	memcpy(args, t->args, sizeof(args));
	if (writers[at].bytes >= 0)
		args[writers[at].bytes] = min_u64(args[writers[at].bytes], limit - written);
	result = t->row->fn(g, t, args);
	if (result >= 0)
		g->procs->written += writers[at].bytes == 3 && !strcmp(t->row->name, "fallocate")
					 ? args[3]
					 : (uint64_t)result;
	return result;
}

/* Pages of private memory that this process may write. */
static uint64_t data_bytes(void)
{
	unsigned long long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f && fscanf(f, "%*u %*u %*u %*u %*u %llu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * GUEST_PAGE_BYTES;
}

/* Whether the call would take more memory than is left. The host's own limit is higher by what
 * culprit itself needs. */
static bool takes_too_much(struct guest *g, const struct thread *t)
{
	const uint64_t *a = t->args;
	uint64_t more;

	if (!g->config.limit_memory)
		return false;
	if (t->row->fn == sys_mmap)
		more = a[1];
	else if (t->row->fn == sys_mremap)
		more = a[2] > a[1] ? a[2] - a[1] : 0;
	else
		return false;
	if (!g->data_before)
		g->data_before = data_bytes();
	return more &&
	       data_bytes() - min_u64(data_bytes(), g->data_before) + more > g->config.limit_memory;
}

int64_t limits_call(struct guest *g, struct thread *t)
{
	int64_t result = takes_too_much(g, t) ? -ENOMEM : call_writer(g, t);

	if (result == -ENOMEM && g->config.limit_memory)
		say(g, 2, "memory", g->config.limit_memory, "it gets ENOMEM");
	if (result == -EMFILE && g->config.limit_files)
		say(g, 3, "files", g->config.limit_files, "it gets EMFILE");
	return result;
}
