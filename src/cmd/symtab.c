/* SPDX-License-Identifier: MIT */
/*
 * Reads .symtab, or .dynsym where that was stripped, with libelf. A function reaches as far as its
 * size says but not into the next one; one without a size (hand-written assembly) reaches up to the
 * next. Of several names for one address the first global one is kept. No DWARF, no inlining, no
 * versions.
 */
#include "cmd/symtab.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct entry {
	struct symbol symbol;
	bool global;
};

struct symtab {
	int fd;
	Elf *elf; /* owns the names */
	struct entry *entries;
	size_t count, room;
};

/* Where the section ends if it holds code, else 0. */
static uint64_t code_end(Elf *elf, size_t index)
{
	Elf_Scn *section = elf_getscn(elf, index);
	GElf_Shdr header;

	if (!section || !gelf_getshdr(section, &header) || !(header.sh_flags & SHF_EXECINSTR))
		return 0;
	return header.sh_addr + header.sh_size;
}

static void add_symbol(struct symtab *t, size_t strings, const GElf_Sym *sym)
{
	int type = GELF_ST_TYPE(sym->st_info);
	const char *name = elf_strptr(t->elf, strings, sym->st_name);
	uint64_t limit;

	if (!name || !name[0] || sym->st_shndx == SHN_UNDEF || sym->st_shndx >= SHN_LORESERVE)
		return;
	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return;
	/* Mapping symbols and local labels are marks in the code, not functions. */
	if (type == STT_NOTYPE && (name[0] == '$' || name[0] == '.'))
		return;
	limit = code_end(t->elf, sym->st_shndx);
	if (sym->st_value >= limit)
		return;
	if (t->count == t->room) {
		t->room = t->room ? 2 * t->room : 256;
		t->entries = x_realloc(t->entries, t->room * sizeof(*t->entries));
	}
	if (sym->st_size && sym->st_size < limit - sym->st_value)
		limit = sym->st_value + sym->st_size;
	t->entries[t->count++] = (struct entry){
		.symbol = { .name = name, .start = sym->st_value, .end = limit },
		.global = GELF_ST_BIND(sym->st_info) != STB_LOCAL,
	};
}

static bool read_table(struct symtab *t, GElf_Word wanted)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(t->elf, section))) {
		Elf_Data *data;

		if (!gelf_getshdr(section, &header) || header.sh_type != wanted ||
		    !header.sh_entsize)
			continue;
		data = elf_getdata(section, NULL);
		if (!data)
			return false;
		for (size_t i = 0; i < data->d_size / header.sh_entsize; i++) {
			GElf_Sym sym;
			if (gelf_getsym(data, (int)i, &sym))
				add_symbol(t, header.sh_link, &sym);
		}
		return true;
	}
	return false;
}

static int compare_entries(const void *va, const void *vb)
{
	const struct entry *a = va, *b = vb;

	if (a->symbol.start != b->symbol.start)
		return a->symbol.start < b->symbol.start ? -1 : 1;
	if (a->global != b->global)
		return a->global ? -1 : 1;
	return strcmp(a->symbol.name, b->symbol.name);
}

static void sort_and_cut(struct symtab *t)
{
	size_t kept = 0;

	if (t->count)
		qsort(t->entries, t->count, sizeof(*t->entries), compare_entries);
	for (size_t i = 0; i < t->count; i++) {
		if (kept && t->entries[kept - 1].symbol.start == t->entries[i].symbol.start)
			continue;
		t->entries[kept++] = t->entries[i];
	}
	t->count = kept;
	for (size_t i = 0; i + 1 < kept; i++)
		t->entries[i].symbol.end =
		    min_u64(t->entries[i].symbol.end, t->entries[i + 1].symbol.start);
}

struct symtab *symtab_open(const char *path, struct err *e)
{
	struct symtab *t = x_calloc(1, sizeof(*t));

	elf_version(EV_CURRENT);
	t->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (t->fd < 0) {
		err_set(e, "cannot read symbols of '%s': %s", path, strerror(errno));
		symtab_close(t);
		return NULL;
	}
	t->elf = elf_begin(t->fd, ELF_C_READ_MMAP, NULL);
	if (!t->elf || elf_kind(t->elf) != ELF_K_ELF) {
		err_set(e, "cannot read symbols of '%s': not an ELF file", path);
		symtab_close(t);
		return NULL;
	}
	if (!read_table(t, SHT_SYMTAB))
		read_table(t, SHT_DYNSYM);
	sort_and_cut(t);
	return t;
}

void symtab_close(struct symtab *t)
{
	if (!t)
		return;
	elf_end(t->elf);
	if (t->fd >= 0)
		close(t->fd);
	free(t->entries);
	free(t);
}

const struct symbol *symtab_find(const struct symtab *t, uint64_t addr)
{
	size_t low = 0, high = t->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (t->entries[mid].symbol.start <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low && addr < t->entries[low - 1].symbol.end ? &t->entries[low - 1].symbol : NULL;
}
