/* SPDX-License-Identifier: MIT */
/*
 * Reads the headers of an ELF64 RISC-V program or interpreter and maps its segments.
 *
 * Nothing in the file is trusted: every offset is compared with the size of the file, every address
 * with the size of the address space, and segments must be in order and not overlap. Section
 * headers are not read here.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/files/path.h"
#include "guest/memory/mem.h"
#include "guest/process/elf.h"
#include "guest/process/exec.h"
#include "guest/process/image.h"
#include "guest/process/process.h"

#define MAX_PHNUM 4096
/* Bytes of one image in memory; leaves room for stack and heap. */
#define MAX_SPAN (GUEST_ADDR_LIMIT / 4)

static bool refuse(struct elf_file *f, struct err *e, int *code, int error, const char *why)
{
	*code = error;
	err_set(e, "%s: %s", f->name, why);
	elf_close(f);
	return false;
}

static bool read_at(int fd, void *buf, size_t n, uint64_t offset)
{
	return pread(fd, buf, n, (off_t)offset) == (ssize_t)n;
}

static const char *add_segment(struct elf_file *f, const Elf64_Phdr *p)
{
	struct elf_segment *s = &f->segment[f->nsegments];

	if (p->p_memsz == 0)
		return NULL;
	if (p->p_filesz > p->p_memsz)
		return "a segment is larger in the file than in memory; the file is damaged";
	if (p->p_offset > f->size_bytes || p->p_filesz > f->size_bytes - p->p_offset)
		return "a segment lies beyond the end of the file; the file is truncated";
	if (p->p_vaddr >= GUEST_ADDR_LIMIT || p->p_memsz > GUEST_ADDR_LIMIT - p->p_vaddr)
		return "a segment does not fit into the 38-bit address space";
	if ((p->p_offset ^ p->p_vaddr) & (GUEST_PAGE_BYTES - 1))
		return "a segment's file offset and address disagree within the page";
	if (f->nsegments && p->p_vaddr < page_down(s[-1].vaddr + s[-1].memsz - 1))
		return "segments overlap or are out of order";
	s->vaddr = p->p_vaddr;
	s->offset = p->p_offset;
	s->filesz = p->p_filesz;
	s->memsz = p->p_memsz;
	s->prot =
	    (uint8_t)((p->p_flags & PF_R ? PROT_READ : 0) | (p->p_flags & PF_W ? PROT_WRITE : 0) |
		      (p->p_flags & PF_X ? PROT_EXEC : 0));
	if (f->phoff >= p->p_offset &&
	    f->phoff + f->phnum * sizeof(Elf64_Phdr) <= p->p_offset + p->p_filesz)
		f->phdr_vaddr = p->p_vaddr + (f->phoff - p->p_offset);
	if (f->nsegments++ == 0)
		f->low = page_down(p->p_vaddr);
	f->high = page_up(p->p_vaddr + p->p_memsz);
	return NULL;
}

static const char *read_interp(struct elf_file *f, const Elf64_Phdr *p)
{
	if (p->p_filesz < 2 || p->p_filesz > PATH_BYTES)
		return "the name of the interpreter has an impossible length";
	if (p->p_offset > f->size_bytes || p->p_filesz > f->size_bytes - p->p_offset)
		return "the name of the interpreter lies beyond the end of the file";
	free(f->interp);
	f->interp = x_calloc(1, p->p_filesz + 1);
	if (!read_at(f->fd, f->interp, p->p_filesz, p->p_offset))
		return "cannot read the name of the interpreter";
	if (f->interp[p->p_filesz - 1] != 0)
		return "the name of the interpreter does not end";
	return NULL;
}

bool elf_open(struct elf_file *f, const char *name, const char *host, int fd, struct err *e,
	      int *code)
{
	Elf64_Ehdr h;
	Elf64_Phdr *ph;
	struct stat st;
	const char *why = NULL;

	memset(f, 0, sizeof(*f));
	f->name = x_strdup(name);
	f->host = x_strdup(host);
	f->fd = fd;
	if (f->fd < 0)
		return refuse(f, e, code, -fd, strerror(-fd));
	if (fstat(f->fd, &st) < 0 || !S_ISREG(st.st_mode))
		return refuse(f, e, code, EACCES, "not a regular file");
	f->size_bytes = (uint64_t)st.st_size;
	if (f->size_bytes < SELFMAG || !read_at(f->fd, h.e_ident, SELFMAG, 0) ||
	    memcmp(h.e_ident, ELFMAG, SELFMAG) != 0)
		return refuse(f, e, code, ENOEXEC, "not an ELF file");
	if (!read_at(f->fd, &h, sizeof(h), 0))
		return refuse(f, e, code, ENOEXEC, "the ELF header is truncated");
	if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB)
		return refuse(f, e, code, ENOEXEC,
			      "not a 64-bit little-endian ELF file; only RV64GC programs run");
	if (h.e_machine != EM_RISCV)
		return refuse(f, e, code, ENOEXEC,
			      "not a RISC-V program; compile it with riscv64-linux-gnu-gcc, or "
			      "name a folder with Debian's riscv64 programs by --sysroot");
	if (h.e_type != ET_EXEC && h.e_type != ET_DYN)
		return refuse(f, e, code, ENOEXEC,
			      "an ELF file, but not a program (link it first)");
	if (h.e_phnum == 0 || h.e_phentsize != sizeof(Elf64_Phdr))
		return refuse(f, e, code, ENOEXEC, "has no usable program headers");
	if (h.e_phnum > MAX_PHNUM)
		return refuse(f, e, code, ENOEXEC, "has an absurd number of program headers");
	if (h.e_phoff > f->size_bytes || h.e_phnum * sizeof(*ph) > f->size_bytes - h.e_phoff)
		return refuse(f, e, code, ENOEXEC,
			      "the program headers lie beyond the end of the file");
	f->type = h.e_type;
	f->entry = h.e_entry;
	f->phoff = h.e_phoff;
	f->phnum = h.e_phnum;
	f->stack_exec = false;
	ph = x_calloc(h.e_phnum, sizeof(*ph));
	f->segment = x_calloc(h.e_phnum, sizeof(*f->segment));
	if (!read_at(f->fd, ph, h.e_phnum * sizeof(*ph), h.e_phoff))
		why = "cannot read the program headers";
	for (unsigned i = 0; i < f->phnum && !why; i++) {
		if (ph[i].p_type == PT_LOAD)
			why = add_segment(f, &ph[i]);
		else if (ph[i].p_type == PT_INTERP)
			why = read_interp(f, &ph[i]);
		else if (ph[i].p_type == PT_GNU_STACK)
			f->stack_exec = ph[i].p_flags & PF_X;
	}
	free(ph);
	if (!why && f->nsegments == 0)
		why = "has nothing to load";
	if (!why && f->high - f->low > MAX_SPAN)
		why = "needs more memory than the guest has addresses for";
	if (!why && f->type == ET_EXEC && f->low == 0)
		why = "wants to be loaded at address zero";
	if (!why && f->type == ET_EXEC && f->high > GUEST_PIE_BASE)
		why = "wants to be loaded where the guest's stack and libraries stand";
	return why ? refuse(f, e, code, ENOEXEC, why) : true;
}

void elf_close(struct elf_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	free(f->segment);
	free(f->interp);
	free(f->host);
	free(f->name);
	memset(f, 0, sizeof(*f));
	f->fd = -1;
}

bool elf_map(struct guest *g, const struct elf_file *f, uint64_t bias, struct err *e)
{
	char path[PATH_BYTES];
	const char *name = path_of_fd(f->fd, path) == 0 ? path_guest(g, path) : f->name;

	for (size_t i = 0; i < f->nsegments; i++) {
		const struct elf_segment *s = &f->segment[i];
		uint64_t start = page_down(s->vaddr + bias);
		uint64_t file_end = s->vaddr + bias + s->filesz;
		uint64_t end = page_up(s->vaddr + bias + s->memsz);
		uint64_t mapped = page_up(file_end);
		int64_t got = 0;

		if (s->filesz)
			got = mem_map(&g->mem, start, mapped - start, s->prot,
				      MAP_PRIVATE | MAP_FIXED, f->fd,
				      s->offset - (s->vaddr + bias - start), name);
		else
			mapped = start;
		if (got >= 0 && end > mapped)
			got = mem_map(&g->mem, mapped, end - mapped, s->prot,
				      MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0, NULL);
		if (got < 0)
			return err_set(e, "%s: cannot map a segment at 0x%llx: %s", f->name,
				       (unsigned long long)start, strerror((int)-got));
		/* The rest of the last file page is bss. */
		if (s->memsz > s->filesz && s->filesz && mapped > file_end) {
			if (!(s->prot & PROT_WRITE))
				return err_set(e, "%s: a read-only segment has bss", f->name);
			memset(g->mem.base + file_end, 0, mapped - file_end);
		}
	}
	mappings_add(g, f->host, f->name, f->low + bias, f->high + bias, bias);
	return true;
}
