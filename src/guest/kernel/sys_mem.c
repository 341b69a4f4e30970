/* SPDX-License-Identifier: MIT */
/* System calls about memory; the work is in mem.c. */
#include <linux/membarrier.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guest/files/fd.h"
#include "guest/files/path.h"
#include "guest/kernel/sched.h"
#include "guest/kernel/syscall.h"
#include "guest/memory/copy.h"
#include "guest/memory/mem.h"
#include "guest/process/image.h"
#include "guest/process/process.h"
#include "guest/process/procs.h"

int64_t sys_brk(struct guest *g, struct thread *t, const uint64_t *a)
{
	uint64_t old = page_up(g->program.brk), want;

	(void)t;
	if (a[0] < g->program.brk_start || a[0] >= GUEST_ADDR_LIMIT)
		return (int64_t)g->program.brk;
	want = page_up(a[0]);
	if (want > old) {
		if (!mem_is_free(&g->mem, old, want) ||
		    mem_map(&g->mem, old, want - old, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0, NULL) < 0)
			return (int64_t)g->program.brk;
	} else if (want < old) {
		if (mem_unmap(&g->mem, want, old - want) < 0)
			return (int64_t)g->program.brk;
	}
	g->program.brk = a[0];
	return (int64_t)g->program.brk;
}

int64_t sys_mmap(struct guest *g, struct thread *t, const uint64_t *a)
{
	int flags = (int)a[3], fd = -1;
	char link[64], path[PATH_BYTES];
	const char *name = NULL;
	int64_t got;

	(void)t;
	if (!(flags & MAP_ANONYMOUS)) {
		ssize_t n;

		fd = fd_host(g, a[4]);
		if (fd < 0)
			return -EBADF;
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = readlink(link, path, sizeof(path) - 1);
		if (n > 0) {
			path[n] = 0;
			name = path_guest(g, path);
		}
	}
	got = mem_map(&g->mem, a[0], a[1], (int)a[2], flags, fd, a[5], name);
	if (got >= 0 && (flags & MAP_TYPE) != MAP_PRIVATE && ((int)a[2] & PROT_WRITE))
		g->procs->shares = 1;
	if (got >= 0 && fd >= 0 && ((int)a[2] & PROT_EXEC))
		mappings_note_mmap(g, fd, (uint64_t)got, a[5]);
	return got;
}

int64_t sys_munmap(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	return mem_unmap(&g->mem, a[0], a[1]);
}

int64_t sys_mremap(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	return mem_remap(&g->mem, a[0], a[1], a[2], (int)a[3], a[4]);
}

int64_t sys_mprotect(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	return mem_protect(&g->mem, a[0], a[1], (int)a[2] & 7);
}

int64_t sys_msync(struct guest *g, struct thread *t, const uint64_t *a)
{
	int64_t err = mem_check_mapped(&g->mem, a[0], a[1]);

	(void)t;
	if (err)
		return err;
	return a[1] ? ret_errno(msync(g->mem.base + a[0], page_up(a[1]), (int)a[2])) : 0;
}

/* Locking changes nothing that a guest can see. */
static int64_t lock(struct guest *g, const uint64_t *a)
{
	uint64_t start = page_down(a[0]);

	return a[1] > GUEST_ADDR_LIMIT ? -ENOMEM
				       : mem_check_mapped(&g->mem, start, a[0] - start + a[1]);
}

int64_t sys_mlock(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	return lock(g, a);
}

int64_t sys_mlock2(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	return lock(g, a);
}

int64_t sys_munlock(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	return lock(g, a);
}

int64_t sys_mlockall(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)g, (void)t, (void)a;
	return 0;
}

int64_t sys_munlockall(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)g, (void)t, (void)a;
	return 0;
}

int64_t sys_mincore(struct guest *g, struct thread *t, const uint64_t *a)
{
	uint64_t pages = page_up(a[1]) / GUEST_PAGE_BYTES;
	uint8_t one[256];
	int64_t err = mem_check_mapped(&g->mem, a[0], a[1]);

	(void)t;
	if (err)
		return err;
	/* Every mapped page counts as resident: what the host has swapped or not yet made is its
	 * affair. */
	memset(one, 1, sizeof(one));
	for (uint64_t i = 0; i < pages; i += sizeof(one))
		if (copy_out(g, a[2] + i, one, min_u64(sizeof(one), pages - i)) < 0)
			return -EFAULT;
	return 0;
}

int64_t sys_madvise(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	if (a[1] > GUEST_ADDR_LIMIT)
		return -EINVAL;
	return mem_advise(&g->mem, a[0], a[1], (int)a[2]);
}

int64_t sys_riscv_flush_icache(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	if (a[2] & ~1ull)
		return -EINVAL;
	if (a[0] < a[1] && a[1] <= GUEST_ADDR_LIMIT)
		g->mem.code_changed(g->mem.code_changed_ctx, a[0], a[1]);
	else
		g->mem.code_changed(g->mem.code_changed_ctx, 0, GUEST_ADDR_LIMIT);
	return 0;
}

int64_t sys_memfd_create(struct guest *g, struct thread *t, const uint64_t *a)
{
	char name[256];
	int64_t n = mem_read_string(&g->mem, name, a[0], 250);
	int fd;

	(void)t;
	if (n < 0)
		return n == -ENAMETOOLONG ? -EINVAL : n;
	fd = memfd_create(name, ((unsigned)a[1] & ~MFD_HUGETLB) | MFD_CLOEXEC);
	return fd < 0 ? -errno : fd_install(g, fd, 0, a[1] & MFD_CLOEXEC, FD_PLAIN);
}

int64_t sys_membarrier(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)g, (void)t;
	/* One hart: every thread sees memory in order. */
	switch ((int)a[0]) {
	case MEMBARRIER_CMD_QUERY:
		return MEMBARRIER_CMD_GLOBAL | MEMBARRIER_CMD_GLOBAL_EXPEDITED |
		       MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED | MEMBARRIER_CMD_PRIVATE_EXPEDITED |
		       MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
	case MEMBARRIER_CMD_GLOBAL:
	case MEMBARRIER_CMD_GLOBAL_EXPEDITED:
	case MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED:
	case MEMBARRIER_CMD_PRIVATE_EXPEDITED:
	case MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED:
		return 0;
	default:
		return -EINVAL;
	}
}

int64_t sys_get_mempolicy(struct guest *g, struct thread *t, const uint64_t *a)
{
	int policy = 0;

	(void)t;
	if (a[0] && copy_out(g, a[0], &policy, sizeof(policy)) < 0)
		return -EFAULT;
	return 0;
}

int64_t sys_set_mempolicy(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)g, (void)t, (void)a;
	return 0;
}
