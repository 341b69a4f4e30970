/* SPDX-License-Identifier: MIT */
/*
 * Functions of programs in Go: their section .gopclntab has the name and the bounds of every function,
 * for the run time's own tracebacks, and stripping leaves it. Read are the layouts since Go 1.16: of 1.16
 * (entries of the size of a pointer), and of 1.18 and 1.20 on (entries of four bytes, from the beginning of the
 * text). The layout is that of the linker (cmd/link/internal/ld/pcln.go) and of debug/gosym.
 *
 * Files may be damaged: every offset is checked, and a table that does not hold together names nothing.
 */
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "image/image_int.h"

#define MAGIC_116 0xfffffffau
#define MAGIC_118 0xfffffff0u
#define MAGIC_120 0xfffffff1u

/* Bytes of the section, read as numbers of the file's own order; only little-endian files are read. */
struct table {
	const uint8_t *bytes;
	size_t size;
	bool good; /* nothing outside was asked for */
};

static uint64_t number(struct table *t, uint64_t at, unsigned size)
{
	uint64_t value = 0;

	if (at > t->size || t->size - at < size) {
		t->good = false;
		return 0;
	}
	memcpy(&value, t->bytes + at, size);
	return value;
}

/* Where things are in the section. */
struct layout {
	uint64_t count;
	uint64_t text;	  /* address that entries are relative to */
	uint64_t names;	  /* offset of the names */
	uint64_t entries; /* offset of the entries, and of what they lead to */
	unsigned entry;	  /* size of an address, and of an offset, there */
};

static bool read_layout(struct table *t, uint64_t text, struct layout *l)
{
	const uint64_t magic = number(t, 0, 4);
	const unsigned pointer = (unsigned)number(t, 7, 1);
	const bool old = magic == MAGIC_116;

	if ((!old && magic != MAGIC_118 && magic != MAGIC_120) || number(t, 4, 2) ||
	    (pointer != 4 && pointer != 8))
		return false;
	uint64_t words[8];

	for (unsigned k = 0; k < ARRAY_LEN(words); k++)
		words[k] = k < 7 || !old ? number(t, 8 + (uint64_t)k * pointer, pointer) : 0;
	*l = (struct layout){ .count = words[0],
			      .text = old	 ? 0
				      : words[2] ? words[2]
						 : text,
			      .names = words[old ? 2 : 3],
			      .entries = words[old ? 6 : 7],
			      .entry = old ? pointer : 4 };
	return t->good && l->count && l->count <= t->size / (2 * l->entry) &&
	       l->entries < t->size && l->names < t->size;
}

/* The name at an offset: NULL if it does not end in the section. */
static const char *name_at(const struct table *t, uint64_t at, size_t *length)
{
	if (at >= t->size)
		return NULL;
	const char *name = (const char *)t->bytes + at;

	*length = strnlen(name, t->size - at);
	return *length && *length < t->size - at ? name : NULL;
}

static void read_functions(struct image *im, struct table *t, const struct layout *l)
{
	const unsigned step = 2 * l->entry;
	const size_t known = im->nfunctions;

	for (uint64_t k = 0; k < l->count && im->nfunctions < IMAGE_SYMBOLS_MAX; k++) {
		const uint64_t at = l->entries + k * step;
		const uint64_t start = number(t, at, l->entry) + l->text,
			       what = l->entries + number(t, at + l->entry, l->entry),
			       end = number(t, at + step, l->entry) + l->text;
		/* what it leads to: its address again, then the offset of its name */
		const uint64_t name_offset = number(t, what + l->entry, 4);
		size_t length;
		const char *name = name_at(t, l->names + name_offset, &length);

		if (!t->good)
			return;
		if (!name || end <= start)
			continue;
		image_add_function(im, start + im->bias, end + im->bias, known, name,
				   min_u64(length, IMAGE_NAME_BYTES));
	}
}

void image_gather_go(struct image *im)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(im->module, &bias);
	size_t names, sections = 0;
	uint64_t text = 0;
	struct table t = { .good = true };

	if (!elf || elf_getshdrstrndx(elf, &names) ||
	    (elf_getident(elf, NULL) && elf_getident(elf, NULL)[EI_DATA] != ELFDATA2LSB))
		return;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn)) && sections < IMAGE_SECTIONS_MAX;
	     sections++) {
		GElf_Shdr sh;
		const char *name =
		    gelf_getshdr(scn, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;

		if (name && !strcmp(name, ".text"))
			text = sh.sh_addr;
		/* in position-independent files it is .data.rel.ro.gopclntab */
		const char *last = name ? strrchr(name, '.') : NULL;
		Elf_Data *data = last && !strcmp(last, ".gopclntab") && sh.sh_type != SHT_NOBITS
				     ? elf_rawdata(scn, NULL)
				     : NULL;
		if (data && data->d_buf) {
			t.bytes = data->d_buf;
			t.size = data->d_size;
		}
	}
	struct layout l;

	if (t.bytes && read_layout(&t, text, &l))
		read_functions(im, &t, &l);
}
