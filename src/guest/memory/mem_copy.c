/* SPDX-License-Identifier: MIT */
/*
 * Checked copies between guest memory and culprit's own, for system calls and wrong-path reads. A
 * range is looked up page by page before anything is touched, so a bad address is an error and not
 * a fault, and no range can begin or end outside of the guest's addresses.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "guest/memory/mem.h"
#include "util/util.h"

/* Every page of the range has want; *bus if touching one may raise SIGBUS. */
static bool check(const struct guest_mem *m, uint64_t addr, size_t n, unsigned want, bool *bus)
{
	unsigned seen = 0;

	if (!mem_range_ok(addr, n))
		return false;
	for (uint64_t page = addr / GUEST_PAGE_BYTES; page <= (addr + n - 1) / GUEST_PAGE_BYTES;
	     page++) {
		if ((m->prot[page] & want) != want)
			return false;
		seen |= m->prot[page];
	}
	*bus = seen & MEM_BUS;
	return true;
}

/*
 * Copies made by the host's kernel, which reports a page beyond the end of a file as an error where
 * a plain access would raise a signal. Each copy opens its own pipe: a kept one would be shared
 * with forked processes.
 */
static int copy_by_kernel(uint8_t *host, uint8_t *buf, size_t n, bool write_host)
{
	uint8_t *from = write_host ? buf : host, *to = write_host ? host : buf;
	int ends[2], err = 0;

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return -EFAULT;
	for (size_t done = 0; done < n && !err;) {
		size_t part = min_u64(n - done, GUEST_PAGE_BYTES);

		/* A piece of at most one page is taken whole or not at all. */
		if (write(ends[1], from + done, part) != (ssize_t)part ||
		    read(ends[0], to + done, part) != (ssize_t)part)
			err = -EFAULT;
		done += part;
	}
	close(ends[0]);
	close(ends[1]);
	return err;
}

int mem_read_page(const struct guest_mem *m, void *dst, uint64_t addr)
{
	return copy_by_kernel(m->base + addr, dst, GUEST_PAGE_BYTES, false);
}

int mem_read(const struct guest_mem *m, void *dst, uint64_t addr, size_t n)
{
	bool bus;

	if (n == 0)
		return 0;
	if (!check(m, addr, n, MEM_R, &bus))
		return -EFAULT;
	mem_load(m, addr, n);
	if (unlikely(bus))
		return copy_by_kernel(m->base + addr, dst, n, false);
	memcpy(dst, m->base + addr, n);
	return 0;
}

int mem_write(struct guest_mem *m, uint64_t addr, const void *src, size_t n)
{
	bool bus;

	if (n == 0)
		return 0;
	if (!check(m, addr, n, MEM_R | MEM_W, &bus))
		return -EFAULT;
	mem_load(m, addr, n);
	if (unlikely(bus)) {
		if (copy_by_kernel(m->base + addr, (uint8_t *)(uintptr_t)src, n, true) < 0)
			return -EFAULT;
	} else {
		memcpy(m->base + addr, src, n);
	}
	mem_written(m, addr, n);
	return 0;
}

void mem_written(struct guest_mem *m, uint64_t addr, uint64_t n)
{
	if (n == 0 || !mem_range_ok(addr, n))
		return;
	for (uint64_t page = addr / GUEST_PAGE_BYTES; page <= (addr + n - 1) / GUEST_PAGE_BYTES;
	     page++) {
		if (m->prot[page] & MEM_X) {
			if (m->code_changed)
				m->code_changed(m->code_changed_ctx, addr, addr + n);
			return;
		}
	}
}

int64_t mem_read_string(const struct guest_mem *m, char *dst, uint64_t addr, size_t size_bytes)
{
	size_t done = 0;

	while (done < size_bytes) {
		size_t n = GUEST_PAGE_BYTES - ((addr + done) & (GUEST_PAGE_BYTES - 1));
		const char *zero;

		if (n > size_bytes - done)
			n = size_bytes - done;
		if (mem_read(m, dst + done, addr + done, n) < 0)
			return -EFAULT;
		zero = memchr(dst + done, 0, n);
		if (zero)
			return zero - dst;
		done += n;
	}
	return -ENAMETOOLONG;
}

uint64_t mem_peek(const struct guest_mem *m, uint64_t addr, unsigned size_bytes)
{
	uint64_t value = 0;
	bool bus;

	if (size_bytes > 8)
		size_bytes = 8;
	if (likely(size_bytes && check(m, addr, size_bytes, MEM_R, &bus))) {
		if (unlikely(m->lazy) && mem_lazy_peek(m, &value, addr, size_bytes))
			return value;
		if (unlikely(bus))
			return copy_by_kernel(m->base + addr, (uint8_t *)&value, size_bytes, false)
				   ? 0
				   : value;
		memcpy(&value, m->base + addr, size_bytes);
		return value;
	}
	for (unsigned i = 0; i < size_bytes; i++) {
		uint8_t byte = 0;

		if (mem_page_has(m, addr + i, MEM_R) &&
		    ((m->lazy && mem_lazy_peek(m, &byte, addr + i, 1)) ||
		     mem_read(m, &byte, addr + i, 1) == 0))
			value |= (uint64_t)byte << (8 * i);
	}
	return value;
}

/* Two bytes of code. */
static bool peek_half(const struct guest_mem *m, uint64_t pc, uint16_t *half)
{
	bool bus;

	if ((pc & 1) || !check(m, pc, 2, MEM_X, &bus))
		return false;
	if (unlikely(m->lazy) && mem_lazy_peek(m, half, pc, 2))
		return true;
	if (unlikely(bus))
		return copy_by_kernel(m->base + pc, (uint8_t *)half, 2, false) == 0;
	memcpy(half, m->base + pc, 2);
	return true;
}

unsigned mem_peek_code(const struct guest_mem *m, uint64_t pc, uint32_t *word)
{
	uint16_t half[2] = { 0, 0 };

	if (!peek_half(m, pc, &half[0]))
		return 0;
	*word = half[0];
	if ((half[0] & 3) != 3)
		return 2;
	if (!peek_half(m, pc + 2, &half[1]))
		return 0;
	*word |= (uint32_t)half[1] << 16;
	return 4;
}
