/* SPDX-License-Identifier: MIT */
/*
 * Which addresses belong to which function. Symbols of type function come first (.symtab where
 * there is one, else .dynsym; libdwfl also reads .gnu_debugdata and separate debug files); a symbol
 * without a size, as hand-written assembly has them, reaches to the next one. What symbols leave
 * uncovered is taken from the table of Go's run time (golang.c), then from the ranges that .eh_frame
 * describes, named by their offset in the file, as `[libfoo.so+0x1234]`.
 */
#include <elfutils/libdw.h>
#include <inttypes.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "image/image_int.h"
#include "util/array.h"

static int by_code_start(const void *a, const void *b)
{
	const struct code *x = a, *y = b;
	return (x->start > y->start) - (x->start < y->start);
}

#define SEGMENTS_MAX 64 /* executable segments; linkers make one or two */

struct segments {
	GElf_Phdr ph[SEGMENTS_MAX];
	size_t count;
};

static void read_segments(Elf *elf, struct segments *s)
{
	size_t n;
	s->count = 0;
	if (elf_getphdrnum(elf, &n))
		return;
	for (size_t i = 0; i < n && s->count < SEGMENTS_MAX; i++) {
		GElf_Phdr *ph = &s->ph[s->count];
		if (gelf_getphdr(elf, (int)i, ph) && ph->p_type == PT_LOAD && ph->p_flags & PF_X)
			s->count++;
	}
}

/* Adds code that the file really has: inside an executable segment, and inside the file. */
static void add_code(struct image *im, Elf *elf, const struct segments *s, uint64_t vaddr,
		     uint64_t size, uint64_t offset)
{
	for (size_t i = 0; size && i < s->count; i++) {
		const GElf_Phdr *ph = &s->ph[i];
		if (vaddr < ph->p_vaddr || vaddr - ph->p_vaddr >= ph->p_filesz ||
		    size > ph->p_filesz - (vaddr - ph->p_vaddr) ||
		    offset - ph->p_offset != vaddr - ph->p_vaddr)
			continue;
		Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)offset, size, ELF_T_BYTE);
		if (!data || !data->d_buf || data->d_size < size)
			return;
		uint64_t start = vaddr + im->bias;
		*ARRAY_ADD(im->code, im->ncode) = (struct code){ start, start + size, data->d_buf };
		return;
	}
}

static void gather_code(struct image *im)
{
	GElf_Addr bias;
	GElf_Shdr sh;
	struct segments segments;
	size_t n = 0, kept = 0;
	Elf *elf = dwfl_module_getelf(im->module, &bias);
	if (!elf)
		return;
	read_segments(elf, &segments);
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn)) && n < IMAGE_SECTIONS_MAX; n++)
		if (gelf_getshdr(scn, &sh) && sh.sh_flags & SHF_EXECINSTR &&
		    sh.sh_type != SHT_NOBITS)
			add_code(im, elf, &segments, sh.sh_addr, sh.sh_size, sh.sh_offset);
	for (size_t i = 0; !im->ncode && i < segments.count; i++)
		add_code(im, elf, &segments, segments.ph[i].p_vaddr, segments.ph[i].p_filesz,
			 segments.ph[i].p_offset);
	if (im->ncode)
		qsort(im->code, im->ncode, sizeof(*im->code), by_code_start);
	for (size_t i = 0; i < im->ncode; i++)
		if (im->code[i].end > im->code[i].start &&
		    (!kept || im->code[i].start >= im->code[kept - 1].end))
			im->code[kept++] = im->code[i];
	im->ncode = kept;
}

static const struct code *code_at(const struct image *im, uint64_t pc)
{
	const size_t after = ARRAY_SEARCH(im->ncode, i, im->code[i].start <= pc);
	return after && pc < im->code[after - 1].end ? &im->code[after - 1] : NULL;
}

const uint8_t *image_code(const struct image *im, uint64_t pc, size_t *left_bytes)
{
	const struct code *code = code_at(im, pc);
	if (!code)
		return NULL;
	*left_bytes = code->end - pc;
	return code->bytes + (pc - code->start);
}

static void add(struct image *im, uint64_t start, uint64_t end, const char *name, bool owned)
{
	*ARRAY_ADD(im->functions, im->nfunctions) =
	    (struct function_range){ start, end, name, owned };
}

static void add_offset_named(struct image *im, uint64_t start, uint64_t end)
{
	const char *name = path_name(im->name);
	const size_t n = strlen(name);
	const bool bracketed = n > 2 && name[0] == '[' && name[n - 1] == ']';
	add(im, start, end,
	    x_asprintf("[%.*s+0x%" PRIx64 "]", (int)(bracketed ? n - 2 : n), name + bracketed,
		       start - im->bias),
	    true);
}

/* Orders several names of one address; the first is the one that a user would use: fewer
 * underscores in front, then the shorter, then by text. */
static int by_start(const void *a, const void *b)
{
	const struct function_range *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	size_t ux = strspn(x->name, "_"), uy = strspn(y->name, "_");
	if (ux != uy)
		return ux < uy ? -1 : 1;
	size_t lx = strlen(x->name), ly = strlen(y->name);
	if (lx != ly)
		return lx < ly ? -1 : 1;
	int order = strcmp(x->name, y->name);
	return order ? order : (x->end > y->end) - (x->end < y->end);
}

void image_sort_functions(struct image *im)
{
	if (im->nfunctions)
		qsort(im->functions, im->nfunctions, sizeof(*im->functions), by_start);
}

size_t image_join_functions(struct image *im)
{
	size_t kept = 0;

	image_sort_functions(im);
	for (size_t i = 0; i < im->nfunctions; i++) {
		struct function_range f = im->functions[i];

		if (kept && im->functions[kept - 1].start == f.start) {
			im->functions[kept - 1].end = max_u64(im->functions[kept - 1].end, f.end);
			if (f.owned)
				free((char *)f.name);
		} else {
			im->functions[kept++] = f;
		}
	}
	im->nfunctions = kept;
	return kept;
}

static uint64_t section_end(const struct image *im, uint64_t pc)
{
	const struct code *code = code_at(im, pc);
	return code ? code->end : pc;
}

static void gather_symbols(struct image *im)
{
	int n = dwfl_module_getsymtab(im->module);
	for (int i = 1; i < n && im->nfunctions < IMAGE_SYMBOLS_MAX; i++) {
		GElf_Sym sym;
		GElf_Addr addr;
		const char *name =
		    dwfl_module_getsym_info(im->module, i, &sym, &addr, NULL, NULL, NULL);
		int type = name ? GELF_ST_TYPE(sym.st_info) : STT_OBJECT;
		if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
			continue;
		if (!*name || name[0] == '$' || sym.st_shndx == SHN_UNDEF ||
		    !strncmp(name, ".L", 2))
			continue;
		addr += im->skew;
		if (!code_at(im, addr))
			continue;
		bool cut = strnlen(name, IMAGE_NAME_BYTES) == IMAGE_NAME_BYTES;
		uint64_t end = addr + sym.st_size;
		add(im, addr, end < addr ? addr : end,
		    cut ? x_strndup(name, IMAGE_NAME_BYTES) : name, cut);
	}
	if (!im->nfunctions)
		return;
	const size_t kept = image_join_functions(im);
	for (size_t i = 0; i < kept; i++) {
		struct function_range *f = &im->functions[i];
		uint64_t limit = i + 1 < kept ? min_u64(f[1].start, section_end(im, f->start))
					      : section_end(im, f->start);
		if (f->end == f->start || f->end > limit)
			f->end = limit;
	}
}

/* Sorts the functions, and cuts each where the next one begins or its section ends. */
static void sort_apart(struct image *im)
{
	image_sort_functions(im);
	for (size_t i = 0; i < im->nfunctions; i++) {
		struct function_range *f = &im->functions[i];
		f->end = min_u64(f->end, section_end(im, f->start));
		if (i + 1 < im->nfunctions)
			f->end = min_u64(f->end, f[1].start);
	}
}

/* Pointers relative to themselves, four bytes, signed: what compilers emit for RISC-V. */
#define PCREL_SDATA4 0x1b

static bool cie_is_pcrel(const unsigned char *ident, Elf_Data *data, Dwarf_Off at)
{
	Dwarf_CFI_Entry cie;
	Dwarf_Off next;
	if (dwarf_next_cfi(ident, data, true, at, &next, &cie) || !dwarf_cfi_cie_p(&cie))
		return false;
	const char *r = strchr(cie.cie.augmentation, 'R');
	const uint8_t *bytes = cie.cie.augmentation_data;
	if (!r || cie.cie.augmentation[0] != 'z' || !bytes)
		return false;
	size_t at_byte = 0;
	for (const char *c = cie.cie.augmentation + 1; c < r; c++)
		at_byte += *c == 'P'   ? 5
			   : *c == 'L' ? 1
				       : 0; /* personality: encoding and four bytes */
	return at_byte < cie.cie.augmentation_data_size && bytes[at_byte] == PCREL_SDATA4;
}

static void gather_unwind(struct image *im)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(im->module, &bias);
	size_t names, known = im->nfunctions;
	size_t ident_size;
	const unsigned char *ident =
	    elf ? (const unsigned char *)elf_getident(elf, &ident_size) : NULL;
	if (!ident || elf_getshdrstrndx(elf, &names))
		return;
	size_t sections = 0;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn)) && sections < IMAGE_SECTIONS_MAX;
	     sections++) {
		GElf_Shdr sh;
		const char *name =
		    gelf_getshdr(scn, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;
		Elf_Data *data = name && !strcmp(name, ".eh_frame") ? elf_rawdata(scn, NULL) : NULL;
		if (!data || !data->d_buf)
			continue;
		Dwarf_CFI_Entry fde;
		for (Dwarf_Off at = 0, next;
		     im->nfunctions < IMAGE_SYMBOLS_MAX &&
		     dwarf_next_cfi(ident, data, true, at, &next, &fde) == 0 && next > at;
		     at = next) {
			int32_t location;
			uint32_t size;
			if (dwarf_cfi_cie_p(&fde) || fde.fde.end - fde.fde.start < 8 ||
			    !cie_is_pcrel(ident, data, fde.fde.CIE_pointer))
				continue;
			memcpy(&location, fde.fde.start, 4);
			memcpy(&size, fde.fde.start + 4, 4);
			uint64_t from = im->bias + sh.sh_addr +
					(uint64_t)(fde.fde.start - (const uint8_t *)data->d_buf);
			uint64_t pc = from + (uint64_t)(int64_t)location;
			struct image sorted = *im;
			sorted.nfunctions = known; /* the part that is sorted already */
			if (size && code_at(im, pc) && !image_function(&sorted, pc))
				add_offset_named(im, pc, pc + size);
		}
		break;
	}
	if (im->nfunctions > known)
		sort_apart(im);
}

void image_add_function(struct image *im, uint64_t start, uint64_t end, size_t known,
			const char *name, size_t name_bytes)
{
	struct image sorted = *im;

	sorted.nfunctions = known; /* the part that is sorted already */
	if (end > start && code_at(im, start) && !image_function(&sorted, start))
		add(im, start, end, x_strndup(name, name_bytes), true);
}

/* After functions were added behind those that are sorted. */
static void sort_added(struct image *im, size_t known)
{
	if (im->nfunctions == known)
		return;
	image_join_functions(im);
	sort_apart(im);
}

void image_fill_gap(struct image *im, uint64_t at, uint64_t end, size_t known, size_t *next)
{
	for (; *next < known && im->functions[*next].start < end; ++*next) {
		uint64_t start = im->functions[*next].start, stop = im->functions[*next].end;
		if (stop <= at)
			continue;
		if (start > at)
			add_offset_named(im, at, start);
		at = stop;
	}
	if (at < end)
		add_offset_named(im, at, end);
}

static void fill_gaps(struct image *im)
{
	size_t known = im->nfunctions, i = 0;
	for (size_t c = 0; c < im->ncode; c++)
		image_fill_gap(im, im->code[c].start, im->code[c].end, known, &i);
	if (im->nfunctions > known)
		sort_apart(im);
}

void image_gather_functions(const struct images *s, struct image *im)
{
	if (!im->module)
		return;
	gather_code(im);
	if (image_read_cache(s, im))
		return;
	gather_symbols(im);
	const size_t known = im->nfunctions;
	image_gather_go(im);
	sort_added(im, known);
	gather_unwind(im);
	fill_gaps(im);
	image_write_cache(s, im);
}
