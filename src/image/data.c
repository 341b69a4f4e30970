/* SPDX-License-Identifier: MIT */
/*
 * Data of an image that a running program cannot change, as the loader leaves it: read-only segments
 * and what becomes read-only after relocation. Jump tables are read from here.
 */
#include <elf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "image/image_int.h"
#include "util/array.h"

#define SEGMENTS_MAX 64

struct span {
	uint64_t start, end;
	const uint8_t *bytes;
};

struct reloc {
	uint64_t at, value;
	const char *name; /* of its symbol; NULL: none */
	bool known;	  /* value is what the loader writes */
};

struct image_data {
	struct span fixed[SEGMENTS_MAX]; /* segments that are not writable */
	struct span any[SEGMENTS_MAX];	 /* all segments */
	size_t nfixed, nany;
	struct span relro[SEGMENTS_MAX]; /* without bytes */
	size_t nrelro;
	struct reloc *relocs; /* sorted */
	size_t nrelocs;
};

static void read_spans(struct image *im, Elf *elf)
{
	struct image_data *d = im->data;
	size_t n;

	if (elf_getphdrnum(elf, &n))
		return;
	for (size_t i = 0; i < n && d->nany < SEGMENTS_MAX; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(elf, (int)i, &ph))
			continue;
		const uint64_t start = im->bias + ph.p_vaddr;
		if (ph.p_type == PT_GNU_RELRO && d->nrelro < SEGMENTS_MAX)
			d->relro[d->nrelro++] =
			    (struct span){ .start = start, .end = start + ph.p_memsz };
		if (ph.p_type != PT_LOAD || !ph.p_filesz)
			continue;
		const Elf_Data *data =
		    elf_getdata_rawchunk(elf, (int64_t)ph.p_offset, ph.p_filesz, ELF_T_BYTE);
		if (!data || !data->d_buf || data->d_size < ph.p_filesz ||
		    start + ph.p_filesz < start)
			continue;
		const struct span s = { start, start + ph.p_filesz, data->d_buf };
		d->any[d->nany++] = s;
		if (!(ph.p_flags & PF_W))
			d->fixed[d->nfixed++] = s;
	}
}

static void add_reloc(struct image *im, const GElf_Rela *r, Elf_Data *symbols, Elf *elf,
		      size_t strings)
{
	const unsigned type = (unsigned)GELF_R_TYPE(r->r_info);
	struct reloc out = { .at = im->bias + r->r_offset };
	GElf_Sym sym;

	if (type == im->arch->relative) {
		out.value = im->bias + (uint64_t)r->r_addend;
		out.known = true;
	} else if (symbols && gelf_getsym(symbols, (int)GELF_R_SYM(r->r_info), &sym)) {
		out.name = elf_strptr(elf, strings, sym.st_name);
		out.value = im->bias + sym.st_value + (uint64_t)r->r_addend;
		/* a symbol that another image may define first is not ours to follow */
		out.known = type == im->arch->absolute && sym.st_shndx != SHN_UNDEF &&
			    GELF_ST_BIND(sym.st_info) == STB_LOCAL;
	}
	*ARRAY_ADD(im->data->relocs, im->data->nrelocs) = out;
}

static int by_address(const void *a, const void *b)
{
	const struct reloc *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

static void read_relocs(struct image *im, Elf *elf)
{
	struct image_data *d = im->data;
	size_t sections = 0;

	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn)) && sections < IMAGE_SECTIONS_MAX;
	     sections++) {
		GElf_Shdr sh, linked;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_RELA || !(sh.sh_flags & SHF_ALLOC))
			continue;
		Elf_Data *data = elf_getdata(scn, NULL);
		Elf_Scn *link = elf_getscn(elf, sh.sh_link);
		Elf_Data *symbols =
		    link && gelf_getshdr(link, &linked) &&
			    (linked.sh_type == SHT_DYNSYM || linked.sh_type == SHT_SYMTAB)
			? elf_getdata(link, NULL)
			: NULL;
		GElf_Rela r;
		for (int i = 0; data && d->nrelocs < IMAGE_SYMBOLS_MAX && gelf_getrela(data, i, &r);
		     i++)
			add_reloc(im, &r, symbols, elf, symbols ? linked.sh_link : 0);
	}
	if (d->nrelocs)
		qsort(d->relocs, d->nrelocs, sizeof(*d->relocs), by_address);
}

static struct image_data *data_of(struct image *im)
{
	GElf_Addr bias;

	if (im->data)
		return im->data;
	im->data = x_calloc(1, sizeof(*im->data));
	Elf *elf = im->module && im->arch ? dwfl_module_getelf(im->module, &bias) : NULL;
	if (elf) {
		read_spans(im, elf);
		read_relocs(im, elf);
	}
	return im->data;
}

static const struct reloc *reloc_at(const struct image_data *d, uint64_t at)
{
	const size_t i = ARRAY_SEARCH(d->nrelocs, k, d->relocs[k].at < at);

	return i < d->nrelocs && d->relocs[i].at == at ? &d->relocs[i] : NULL;
}

static const uint8_t *bytes_in(const struct span *s, size_t n, uint64_t at, unsigned bytes)
{
	for (size_t i = 0; i < n; i++)
		if (at >= s[i].start && at < s[i].end && s[i].end - at >= bytes)
			return s[i].bytes + (at - s[i].start);
	return NULL;
}

bool image_constant(struct image *im, uint64_t at, unsigned bytes, uint64_t *value)
{
	const struct image_data *d = data_of(im);
	const uint8_t *from = bytes_in(d->fixed, d->nfixed, at, bytes);

	for (size_t i = 0; !from && i < d->nrelro; i++)
		if (at >= d->relro[i].start && at < d->relro[i].end)
			from = bytes_in(d->any, d->nany, at, bytes);
	if (!from || bytes > 8)
		return false;
	const struct reloc *r = bytes == 8 ? reloc_at(d, at) : NULL;
	*value = 0;
	memcpy(value, from, bytes);
	if (r)
		*value = r->value;
	return !r || r->known;
}

const char *image_slot(struct image *im, uint64_t at)
{
	const struct reloc *r = reloc_at(data_of(im), at);

	return r ? r->name : NULL;
}

bool image_slot_first(struct image *im, uint64_t at, uint64_t *target)
{
	const struct image_data *d = data_of(im);
	const uint8_t *from = bytes_in(d->any, d->nany, at, sizeof(*target));

	if (!from)
		return false;
	memcpy(target, from, sizeof(*target));
	*target += im->bias;
	return true;
}

void image_free_data(struct image *im)
{
	if (im->data)
		free(im->data->relocs);
	free(im->data);
	im->data = NULL;
}
