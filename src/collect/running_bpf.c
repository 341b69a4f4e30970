/* SPDX-License-Identifier: MIT */
/*
 * Runs the iterator of running.bpf.c and reads its records. It needs CAP_BPF and CAP_PERFMON, but no
 * right to trace the processes, and does not wait for a lock that one of them holds for long. It is
 * loaded once, in a process of its own (apart.h).
 */
#include "collect/running_bpf.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "collect/apart.h"
#include "collect/maps_int.h"
#include "collect/running_object.h"
#include "collect/running_record.h"
#include "util/array.h"

/* A process whose records are being read. */
struct reading {
	struct maps *maps;
	struct running process;
	struct maps_record *mappings;
	size_t nmappings;
};

static void put(struct reading *r)
{
	if (r->process.pid) {
		r->process.maps = r->mappings;
		r->process.nmaps = r->nmappings;
		maps_put_running(r->maps, &r->process);
	}
	running_free_maps(r->mappings, r->nmappings);
	r->mappings = NULL;
	r->nmappings = 0;
}

static void take(struct reading *r, const struct running_record *x, const char *path)
{
	if (x->pid != r->process.pid || x->start_ns != r->process.start_ns ||
	    x->exec_id != r->process.exec_id) {
		put(r);
		r->process = (struct running){ .pid = x->pid,
					       .time_ns = x->time_ns,
					       .start_ns = x->start_ns,
					       .exec_id = x->exec_id,
					       .exec_known = true,
					       .threads = x->threads,
					       .uid = x->uid };
		memcpy(r->process.comm, x->comm, sizeof(x->comm) - 1);
	}
	char *name = x->vdso || !x->name_bytes ? x_strdup(x->vdso ? "[vdso]" : "//anon")
					       : x_strndup(path, x->name_bytes);

	*ARRAY_ADD(r->mappings, r->nmappings) =
	    (struct maps_record){ .kind = MAPS_MMAP,
				  .pid = x->pid,
				  .tid = x->pid,
				  .address = x->address,
				  .size_bytes = x->end - x->address,
				  .pgoff = x->pgoff,
				  .prot = PROT_READ | PROT_EXEC,
				  .shared = x->shared,
				  .dev = makedev((unsigned)(x->dev >> 20), x->dev & 0xfffff),
				  .ino = x->ino,
				  .name = name };
}

/* Takes all whole records; returns the bytes that they have. */
static size_t take_all(struct reading *r, const char *bytes, size_t size)
{
	struct running_record x;
	size_t at = 0;

	while (size - at >= sizeof(x)) {
		memcpy(&x, bytes + at, sizeof(x));
		if (size - at - sizeof(x) < x.name_bytes)
			break;
		take(r, &x, bytes + at + sizeof(x));
		at += sizeof(x) + x.name_bytes;
	}
	return at;
}

static bool read_records(struct maps *m, int fd)
{
	enum { ROOM = 65536 };
	struct reading r = { .maps = m };
	char *bytes = x_malloc(ROOM);
	size_t have = 0;
	ssize_t n;

	while ((n = read(fd, bytes + have, ROOM - have)) > 0 ||
	       (n < 0 && (errno == EINTR || errno == EAGAIN))) {
		if (n < 0)
			continue;
		have += (size_t)n;
		const size_t taken = take_all(&r, bytes, have);

		have -= taken;
		memmove(bytes, bytes + taken, have);
	}
	put(&r);
	free(bytes);
	return n == 0;
}

static int load(void *self, int *fds)
{
	libbpf_set_print(NULL);
	struct bpf_object *object =
	    bpf_object__open_mem(running_object, running_object_bytes, NULL);

	(void)self;
	if (!object)
		return errno;
	const int failed = bpf_object__load(object);

	if (failed)
		return -failed;
	fds[0] = bpf_program__fd(bpf_object__find_program_by_name(object, "running"));
	return 0;
}

bool running_bpf_read(struct maps *m)
{
	if (m->running_fd < 0 && apart(load, NULL, &m->running_fd, 1, &m->load_cpu_s))
		m->running_fd = -1;
	const int link =
	    m->running_fd < 0 ? -1 : bpf_link_create(m->running_fd, 0, BPF_TRACE_ITER, NULL);
	const int fd = link >= 0 ? bpf_iter_create(link) : -1;
	const bool good = fd >= 0 && read_records(m, fd);

	if (fd >= 0)
		close(fd);
	if (link >= 0)
		close(link);
	return good;
}
