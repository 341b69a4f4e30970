/* SPDX-License-Identifier: MIT */
/*
 * System V shared memory: parts of the tree's file without a name, mapped into the guest.
 *
 * How often a segment is attached is the number of entries in a table of attaches, each of one
 * process: those of a process that ended go with it, however it ended. A segment that is unmapped
 * with munmap is noticed when its process next makes one of these calls, or ends.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include "guest/kernel/ipc_int.h"
#include "guest/kernel/sched.h"
#include "guest/kernel/syscall.h"
#include "guest/memory/copy.h"
#include "guest/memory/mem.h"
#include "guest/process/process.h"
#include "guest/process/procs.h"

/* Numbers of riscv64, which the C library does not name. */
#define SHM_STAT_ANY_ 15
#define SHM_HUGETLB_  04000
#define SHM_DEST_     01000

struct shmid64 {
	struct ipc_perm64 perm;
	uint64_t size_bytes;
	int64_t atime, dtime, ctime;
	int32_t cpid, lpid;
	uint64_t attaches;
	uint64_t unused[2];
};

static struct ipc_segment *segment_of(struct guest *g, int id)
{
	return ipc_by_id(g->ipc->segment, g->ipc->nsegments, sizeof(g->ipc->segment[0]), id);
}

static uint64_t attaches(struct guest *g, int id)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < g->ipc->nattaches; i++)
		if (g->ipc->attach[i].pid && g->ipc->attach[i].id == id)
			n += g->ipc->attach[i].parts;
	return n;
}

/* Frees the memory of a removed segment that no process has attached. */
static void destroy_if_unused(struct guest *g, struct ipc_segment *s)
{
	if (!s->removed || attaches(g, s->head.id))
		return;
	fallocate(g->shared_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)s->offset,
		  (off_t)page_up(s->size_bytes));
	s->head.used = false;
}

static void drop_attach(struct guest *g, struct ipc_attach *a)
{
	struct ipc_segment *s = segment_of(g, a->id);
	int pid = a->pid;

	a->pid = 0;
	while (g->ipc->nattaches && !g->ipc->attach[g->ipc->nattaches - 1].pid)
		g->ipc->nattaches--;
	if (s) {
		s->dtime = ipc_seconds(g);
		s->lpid = pid;
		destroy_if_unused(g, s);
	}
}

void shm_detach_all(struct guest *g, int pid)
{
	for (unsigned i = 0; i < g->ipc->nattaches; i++)
		if (g->ipc->attach[i].pid == pid)
			drop_attach(g, &g->ipc->attach[i]);
}

/* How many parts of the segment are still mapped where it was attached? */
static unsigned still_mapped(struct guest *g, const struct ipc_attach *a,
			     const struct ipc_segment *s)
{
	const struct mem_region *r = mem_region_at(&g->mem, a->addr);
	unsigned n = 0;

	for (; r && r < g->mem.regions + g->mem.nregions && r->start < a->addr + s->size_bytes; r++)
		if (r->file && r->shared && r->offset - s->offset == r->start - a->addr &&
		    r->offset - s->offset < page_up(s->size_bytes) && r->name &&
		    strncmp(r->name, "/SYSV", 5) == 0)
			n++;
	return n;
}

/* Removes attaches that this process has unmapped by other calls, and those of processes that
 * are gone. */
static void tidy(struct guest *g)
{
	for (unsigned i = 0; i < g->ipc->nattaches; i++) {
		struct ipc_attach *a = &g->ipc->attach[i];
		const struct ipc_segment *s = a->pid ? segment_of(g, a->id) : NULL;

		if (s && a->pid == g->pid)
			a->parts = still_mapped(g, a, s);
		if (s && (a->pid == g->pid ? !a->parts : !proc_alive(g, a->pid)))
			drop_attach(g, a);
	}
}

/* The first gap between segments that is large enough. */
static uint64_t find_room(struct guest *g, uint64_t bytes)
{
	uint64_t from = 0;
	bool moved;

	do {
		moved = false;
		for (unsigned i = 0; i < g->ipc->nsegments; i++) {
			const struct ipc_segment *s = &g->ipc->segment[i];
			uint64_t end = s->offset + page_up(s->size_bytes);

			if (s->head.used && s->size_bytes && s->offset < from + bytes &&
			    from < end) {
				from = end;
				moved = true;
			}
		}
	} while (moved);
	return from;
}

static int64_t segment_new(struct guest *g, struct ipc_segment *s, uint64_t size)
{
	struct ipc_head head = s->head;
	uint64_t room, end;
	off_t now;

	memset(s, 0, sizeof(*s));
	room = find_room(g, page_up(size));
	end = room + page_up(size);
	now = lseek(g->shared_fd, 0, SEEK_END);
	if (now < 0 || ((uint64_t)now < end && ftruncate(g->shared_fd, (off_t)end) < 0))
		return -ENOMEM;
	s->head = head;
	s->offset = room;
	s->size_bytes = size;
	s->head.ctime = ipc_seconds(g);
	s->cpid = g->pid;
	return 0;
}

int64_t sys_shmget(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct ipc_segment *s;
	uint64_t size = a[1];
	bool made;
	int64_t r;
	int i;

	(void)t;
	ipc_lock(g);
	tidy(g);
	i = ipc_get(g, g->ipc->segment, &g->ipc->nsegments, SHM_SEGMENTS, sizeof(*s),
		    &g->ipc->segment_seq, (int)a[0], (int)a[2], &made);
	r = i;
	if (i >= 0) {
		s = &g->ipc->segment[i];
		r = s->head.id;
		if (made && (size < SHM_MIN || size > GUEST_ADDR_LIMIT))
			r = -EINVAL;
		else if (made && ((int)a[2] & SHM_HUGETLB_))
			r = -ENOMEM; /* there are no huge pages */
		else if (made) {
			int64_t err;

			s->size_bytes = 0;
			err = segment_new(g, s, size);
			if (err)
				r = err;
		} else if (size > s->size_bytes)
			r = -EINVAL;
		if (made && r < 0)
			s->head.used = false;
	}
	ipc_unlock(g);
	return r;
}

static int64_t attach(struct guest *g, const uint64_t *a)
{
	struct ipc_segment *s = (int)a[0] < 0 ? NULL : segment_of(g, (int)a[0]);
	struct ipc_attach *slot = NULL;
	int flags = (int)a[2], prot = PROT_READ, map = MAP_SHARED;
	uint64_t addr = a[1], length;
	char name[32];
	int64_t got;
	unsigned i;

	if (!s)
		return -EINVAL;
	if (addr & (GUEST_PAGE_BYTES - 1)) {
		if (!(flags & SHM_RND))
			return -EINVAL;
		addr = page_down(addr);
		if (!addr && (flags & SHM_REMAP))
			return -EINVAL;
	} else if (!addr && (flags & SHM_REMAP)) {
		return -EINVAL;
	}
	if (!(flags & SHM_RDONLY))
		prot |= PROT_WRITE;
	if (flags & SHM_EXEC)
		prot |= PROT_EXEC;
	if (!ipc_may(&s->head, 4u | (prot & PROT_WRITE ? 2u : 0u) | (prot & PROT_EXEC ? 1u : 0u)))
		return -EACCES;
	length = page_up(s->size_bytes);
	if (addr && addr + length < addr)
		return -EINVAL;
	if (addr && !(flags & SHM_REMAP) &&
	    (addr >= GUEST_ADDR_LIMIT || length > GUEST_ADDR_LIMIT - addr ||
	     !mem_is_free(&g->mem, addr, addr + length)))
		return -EINVAL;
	for (i = 0; i < SHM_ATTACHES && g->ipc->attach[i].pid; i++)
		;
	if (i == SHM_ATTACHES)
		return -ENOMEM;
	slot = &g->ipc->attach[i];
	if (addr)
		map |= MAP_FIXED;
	snprintf(name, sizeof(name), "/SYSV%08x (deleted)", (unsigned)s->head.perm.key);
	got = mem_map(&g->mem, addr, length, prot, map, g->shared_fd, s->offset, name);
	if (got < 0)
		return got;
	if (prot & PROT_WRITE)
		g->procs->shares = 1;
	*slot = (struct ipc_attach){
		.pid = g->pid, .id = s->head.id, .parts = 1, .addr = (uint64_t)got
	};
	if (i >= g->ipc->nattaches)
		g->ipc->nattaches = i + 1;
	tidy(g); /* SHM_REMAP may have covered another */
	s->atime = ipc_seconds(g);
	s->lpid = g->pid;
	return got;
}

int64_t sys_shmat(struct guest *g, struct thread *t, const uint64_t *a)
{
	int64_t r;

	(void)t;
	ipc_lock(g);
	tidy(g);
	r = attach(g, a);
	ipc_unlock(g);
	return r;
}

int64_t sys_shmdt(struct guest *g, struct thread *t, const uint64_t *a)
{
	int64_t r = -EINVAL;

	(void)t;
	ipc_lock(g);
	tidy(g);
	for (unsigned i = 0; i < g->ipc->nattaches; i++) {
		struct ipc_attach *at = &g->ipc->attach[i];
		const struct ipc_segment *s;

		if (at->pid != g->pid || at->addr != a[0])
			continue;
		s = segment_of(g, at->id);
		/* Unmaps only what is still the segment's: a part may have been mapped over. */
		while (s && still_mapped(g, at, s)) {
			const struct mem_region *m = mem_region_at(&g->mem, at->addr);

			while (m->offset - s->offset != m->start - at->addr || !m->name ||
			       strncmp(m->name, "/SYSV", 5) != 0)
				m++;
			if (mem_unmap(&g->mem, m->start, m->end - m->start) < 0)
				break;
		}
		drop_attach(g, at);
		r = 0;
		break;
	}
	ipc_unlock(g);
	return r;
}

static int64_t stat_out(struct guest *g, const void *object, uint64_t addr)
{
	const struct ipc_segment *s = object;
	struct shmid64 out;

	memset(&out, 0, sizeof(out));
	out.perm = s->head.perm;
	if (s->removed)
		out.perm.mode |= SHM_DEST_;
	out.size_bytes = s->size_bytes;
	out.atime = s->atime;
	out.dtime = s->dtime;
	out.ctime = s->head.ctime;
	out.cpid = s->cpid;
	out.lpid = s->lpid;
	out.attaches = attaches(g, s->head.id);
	return copy_out(g, addr, &out, sizeof(out));
}

static int64_t info_out(struct guest *g, int command, uint64_t addr)
{
	int64_t highest = 0;
	uint64_t pages = 0;
	int32_t used = 0;

	for (unsigned i = 0; i < g->ipc->nsegments; i++) {
		if (!g->ipc->segment[i].head.used)
			continue;
		highest = i;
		used++;
		pages += page_up(g->ipc->segment[i].size_bytes) / GUEST_PAGE_BYTES;
	}
	if (command == IPC_INFO) {
		uint64_t limits[9] = { UINT64_MAX - (1ull << 24), SHM_MIN, SHM_SEGMENTS,
				       SHM_SEGMENTS, UINT64_MAX - (1ull << 24) };

		return copy_out(g, addr, limits, sizeof(limits)) < 0 ? -EFAULT : highest;
	} else {
		struct {
			int32_t used, pad;
			uint64_t total, resident, swapped, attempts, successes;
		} out = { .used = used, .total = pages, .resident = pages };

		return copy_out(g, addr, &out, sizeof(out)) < 0 ? -EFAULT : highest;
	}
}

static void remove_segment(struct guest *g, void *object)
{
	struct ipc_segment *s = object;

	s->removed = true;
	s->head.perm.key = IPC_PRIVATE; /* its name is free */
	destroy_if_unused(g, s);
}

static int64_t lock_segment(struct guest *g, void *object, int num, int command, uint64_t arg)
{
	struct ipc_segment *s = object;

	(void)g, (void)num, (void)arg;
	if (!s || (command != SHM_LOCK && command != SHM_UNLOCK))
		return -EINVAL;
	if (command == SHM_LOCK)
		s->head.perm.mode |= 02000;
	else
		s->head.perm.mode &= ~02000u;
	return 0;
}

int64_t sys_shmctl(struct guest *g, struct thread *t, const uint64_t *a)
{
	int64_t r;

	(void)t;
	if ((int)a[0] < 0 || (int)a[1] < 0)
		return -EINVAL;
	ipc_lock(g);
	tidy(g);
	r = ipc_control(g,
			&(struct ipc_objects){ .heads = g->ipc->segment,
					       .n = g->ipc->nsegments,
					       .stride = sizeof(g->ipc->segment[0]),
					       .info = SHM_INFO,
					       .stat = SHM_STAT,
					       .stat_any = SHM_STAT_ANY_,
					       .info_out = info_out,
					       .stat_out = stat_out,
					       .set_bytes = sizeof(struct shmid64),
					       .remove = remove_segment,
					       .other = lock_segment },
			(int)a[0], 0, (int)a[1], a[2]);
	ipc_unlock(g);
	return r;
}
