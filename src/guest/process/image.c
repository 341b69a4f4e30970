/* SPDX-License-Identifier: MIT */
/*
 * Which ELF files stand where in guest memory, and the names of places in them for messages about
 * crashes.
 *
 * Libraries are noticed when the guest's loader maps their code. The symbol reader is small and
 * slow on purpose: it runs once, when a guest dies; image/ has the real one.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/files/path.h"
#include "guest/memory/mem.h"
#include "guest/process/image.h"
#include "guest/process/process.h"
#include "util/array.h"

void mappings_clear(struct guest *g)
{
	for (size_t i = 0; i < g->nimages; i++) {
		free((char *)g->images[i].path);
		free((char *)g->images[i].name);
	}
	free(g->images);
	g->images = NULL;
	g->nimages = 0;
}

void mappings_add(struct guest *g, const char *host, const char *name, uint64_t start, uint64_t end,
		  uint64_t bias)
{
	size_t keep = 0;

	/* What stood there before is gone: the guest unloaded it. */
	for (size_t i = 0; i < g->nimages; i++) {
		if (g->images[i].start < end && start < g->images[i].end) {
			free((char *)g->images[i].path);
			free((char *)g->images[i].name);
		} else {
			g->images[keep++] = g->images[i];
		}
	}
	g->nimages = keep;
	*ARRAY_ADD(g->images, g->nimages) = (struct guest_image){
		.path = x_strdup(host),
		.name = x_strdup(name),
		.start = start,
		.end = end,
		.bias = bias,
	};
}

void mappings_note_mmap(struct guest *g, int host_fd, uint64_t addr, uint64_t offset)
{
	Elf64_Ehdr h;
	Elf64_Phdr ph[64];
	char link[64], path[PATH_BYTES];
	uint64_t low = UINT64_MAX, high = 0, bias = 0;
	bool found = false;
	ssize_t n;

	if (pread(host_fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h) ||
	    memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_machine != EM_RISCV ||
	    h.e_phentsize != sizeof(ph[0]) || h.e_phnum > ARRAY_LEN(ph))
		return;
	if (pread(host_fd, ph, h.e_phnum * sizeof(ph[0]), (off_t)h.e_phoff) !=
	    (ssize_t)(h.e_phnum * sizeof(ph[0])))
		return;
	for (unsigned i = 0; i < h.e_phnum; i++) {
		if (ph[i].p_type != PT_LOAD)
			continue;
		low = min_u64(low, page_down(ph[i].p_vaddr));
		high = max_u64(high, page_up(ph[i].p_vaddr + ph[i].p_memsz));
		if (!found && (ph[i].p_flags & PF_X) && page_down(ph[i].p_offset) == offset) {
			bias = addr - page_down(ph[i].p_vaddr);
			found = true;
		}
	}
	if (!found || high < low || high - low > GUEST_ADDR_LIMIT)
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", host_fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return;
	path[n] = 0;
	for (size_t i = 0; i < g->nimages; i++)
		if (g->images[i].bias == bias && strcmp(g->images[i].path, path) == 0)
			return;
	mappings_add(g, path, path_guest(g, path), low + bias, high + bias, bias);
}

/* A file from which code was executed. */
struct image_file {
	uint64_t dev, ino;
	char *path; /* on the host; NULL: not known */
	char *name; /* as the guest knows it */
};

void image_files_free(struct guest *g)
{
	for (size_t i = 0; i < g->nimage_files; i++) {
		free(g->image_files[i].path);
		free(g->image_files[i].name);
	}
	free(g->image_files);
}

void image_place(void *guest, uint64_t pc, struct engine_place *out)
{
	struct guest *g = guest;
	const struct mem_region *r = mem_region_at(&g->mem, pc);
	const char *path = NULL;

	*out = (struct engine_place){ .offset = pc };
	if (!r || r->start > pc || !r->file)
		return;
	out->offset = pc - r->start + r->offset;
	for (size_t i = 0; i < g->nimage_files && !out->file; i++)
		if (g->image_files[i].dev == r->dev && g->image_files[i].ino == r->ino)
			out->file = i + 1;
	if (out->file)
		return;
	for (size_t i = 0; i < g->nimages && !path; i++)
		if (g->images[i].start <= pc && pc < g->images[i].end)
			path = g->images[i].path;
	*ARRAY_ADD(g->image_files, g->nimage_files) = (struct image_file){
		.dev = r->dev,
		.ino = r->ino,
		.path = path ? x_strdup(path) : NULL,
		.name = x_strdup(r->name ? r->name : ""),
	};
	out->file = g->nimage_files;
}

struct guest_block guest_vector_block(const struct guest *g, uint64_t number)
{
	struct engine_place at = engine_vector_place(g->engine, number);
	const struct image_file *f = at.file ? &g->image_files[at.file - 1] : NULL;

	return (struct guest_block){
		.path = f ? f->path : NULL,
		.name = f ? f->name : NULL,
		.offset = at.offset,
	};
}

size_t guest_images(const struct guest *g, const struct guest_image **images)
{
	*images = g->images;
	return g->nimages;
}

/* Reads a part of a file, or NULL; the caller frees it. */
static void *read_part(int fd, uint64_t size_bytes, uint64_t offset, uint64_t n)
{
	void *p;

	if (n == 0 || offset > size_bytes || n > size_bytes - offset || n > (1u << 30))
		return NULL;
	p = x_malloc(n);
	if (pread(fd, p, n, (off_t)offset) == (ssize_t)n)
		return p;
	free(p);
	return NULL;
}

static bool search_symbols(int fd, uint64_t size_bytes, const Elf64_Shdr *table,
			   const Elf64_Shdr *strings, uint64_t vaddr, char *buf, size_t buf_bytes)
{
	Elf64_Sym *sym = read_part(fd, size_bytes, table->sh_offset, table->sh_size);
	char *str = read_part(fd, size_bytes, strings->sh_offset, strings->sh_size);
	const Elf64_Sym *best = NULL;

	for (size_t i = 0; sym && str && i < table->sh_size / sizeof(*sym); i++) {
		bool inside = sym[i].st_size ? vaddr < sym[i].st_value + sym[i].st_size : true;

		if (ELF64_ST_TYPE(sym[i].st_info) != STT_FUNC || sym[i].st_shndx == SHN_UNDEF ||
		    sym[i].st_value > vaddr || !inside || sym[i].st_name >= strings->sh_size)
			continue;
		if (!best || sym[i].st_value > best->st_value)
			best = &sym[i];
	}
	if (best)
		snprintf(buf, buf_bytes, "%.*s+0x%llx",
			 (int)strnlen(str + best->st_name,
				      min_u64(200, strings->sh_size - best->st_name)),
			 str + best->st_name, (unsigned long long)(vaddr - best->st_value));
	free(sym);
	free(str);
	return best;
}

static bool symbol_in(const char *path, uint64_t vaddr, char *buf, size_t buf_bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr h;
	Elf64_Shdr *sh = NULL;
	struct stat st;
	bool found = false;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && pread(fd, &h, sizeof(h), 0) == (ssize_t)sizeof(h) &&
	    h.e_shentsize == sizeof(*sh))
		sh = read_part(fd, (uint64_t)st.st_size, h.e_shoff, h.e_shnum * sizeof(*sh));
	for (unsigned want = 0; sh && want < 2 && !found; want++) {
		for (unsigned i = 0; i < h.e_shnum && !found; i++)
			if (sh[i].sh_type == (want ? SHT_DYNSYM : SHT_SYMTAB) &&
			    sh[i].sh_link < h.e_shnum)
				found = search_symbols(fd, (uint64_t)st.st_size, &sh[i],
						       &sh[sh[i].sh_link], vaddr, buf, buf_bytes);
	}
	free(sh);
	close(fd);
	return found;
}

void image_describe(const struct guest *g, uint64_t pc, char *buf, size_t size_bytes)
{
	for (size_t i = 0; i < g->nimages; i++) {
		const struct guest_image *im = &g->images[i];
		char symbol[256];

		if (pc < im->start || pc >= im->end)
			continue;
		if (symbol_in(im->path, pc - im->bias, symbol, sizeof(symbol)))
			snprintf(buf, size_bytes, "%s, %s+0x%llx", symbol, im->name,
				 (unsigned long long)(pc - im->bias));
		else
			snprintf(buf, size_bytes, "%s+0x%llx", im->name,
				 (unsigned long long)(pc - im->bias));
		return;
	}
	snprintf(buf, size_bytes, "no known image");
}
