/* SPDX-License-Identifier: MIT */
/*
 * The set of binaries that a program consists of, and the way from an address to what a person
 * calls it. Every image is one libdwfl module reported at its own bias, so that addresses are those
 * of the running program. Nothing of an image is read before an address in it is asked for: its
 * function ranges then (symbols.c), the scopes of a compilation unit with its first address
 * (scopes.c), lines one by one.
 */
#include "image/image.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/image_int.h"
#include "util/array.h"

static int no_elf(Dwfl_Module *m, void **data, const char *name, Dwarf_Addr base, char **file,
		  Elf **elf)
{
	return -1; /* all modules are reported with their file */
}

struct images *images_new(const char *debug_root)
{
	struct images *s = x_calloc(1, sizeof(*s));
	s->debug_path = debug_root
			    ? x_asprintf(":.debug:%s/usr/lib/debug:/usr/lib/debug", debug_root)
			    : x_strdup(":.debug:/usr/lib/debug");
	s->callbacks = (Dwfl_Callbacks){ .find_elf = no_elf,
					 .find_debuginfo = dwfl_standard_find_debuginfo,
					 .section_address = dwfl_offline_section_address,
					 .debuginfo_path = &s->debug_path };
	image_guard();
	s->dwfl = dwfl_begin(&s->callbacks);
	s->blocks_of = UINT64_MAX;
	return s;
}

bool images_look_in(struct images *s, const char *const *folders, size_t count, struct err *e)
{
	char *path = x_strdup("");

	for (size_t i = 0; i < count; i++) {
		char *real = realpath(folders[i], NULL);
		struct stat st;
		bool ok = true;

		if (!real || stat(real, &st) != 0)
			ok = err_set(e, "cannot look for debug files in %s: %s", folders[i],
				     strerror(errno));
		else if (!S_ISDIR(st.st_mode))
			ok = err_set(e, "cannot look for debug files in %s: it is not a folder",
				     folders[i]);
		else if (strchr(real, ':'))
			ok = err_set(e,
				     "cannot look for debug files in %s: the name of a folder with "
				     "debug files must have no ':'",
				     folders[i]);
		if (!ok) {
			free(real);
			free(path);
			return false;
		}
		char *longer = x_asprintf("%s%s:", path, real);

		free(real);
		free(path);
		path = longer;
	}
	/* libdwfl's checks stay on: the list begins without a sign */
	char *all = x_asprintf("%s%s", path, s->debug_path);

	free(path);
	free(s->debug_path);
	s->debug_path = all;
	return true;
}

const char *images_debug_file(struct images *s, size_t index)
{
	const struct image *im = &s->image[index];
	const char *file = NULL, *debug = NULL;
	Dwarf_Addr bias;

	if (!im->module)
		return NULL;
	dwfl_module_getdwarf(im->module, &bias);
	dwfl_module_getsymtab(im->module);
	dwfl_module_info(im->module, NULL, NULL, NULL, NULL, NULL, &file, &debug);
	return debug && (!file || strcmp(file, debug) != 0) ? debug : NULL;
}

void images_set_cache(struct images *s, const char *folder)
{
	free(s->cache);
	s->cache = x_strdup(folder);
}

void images_show_own_addresses(struct images *s)
{
	s->own_addresses = true;
}

void images_free(struct images *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++) {
		struct image *im = &s->image[i];
		for (size_t k = 0; k < im->nfunctions; k++)
			if (im->functions[k].owned)
				free((char *)im->functions[k].name);
		free(im->functions);
		free(im->code);
		free(im->names);
		free(im->kept);
		image_free_scopes(im);
		image_free_data(im);
		image_free_graphs(im);
		free(im->path);
		free(im->name);
	}
	for (size_t i = 0; i < s->nfiles; i++)
		free(s->files[i].joined);
	free(s->files);
	free(s->image);
	free(s->block_starts);
	if (s->dwfl)
		dwfl_end(s->dwfl);
	if (image_became_shorter())
		warn("a program or library became shorter while it was read: some names may be "
		     "missing");
	free(s->debug_path);
	free(s->cache);
	free(s);
}

static void read_build_id(struct image *im)
{
	const unsigned char *bits;
	GElf_Addr at;
	int n = dwfl_module_build_id(im->module, &bits, &at);
	for (int i = 0; i < n && 2 * i + 2 < (int)sizeof(im->build_id); i++)
		snprintf(im->build_id + 2 * i, 3, "%02x", bits[i]);
}

/* Addresses covered by loadable segments. */
static bool read_extent(Elf *elf, uint64_t bias, uint64_t *start, uint64_t *end)
{
	size_t n;
	*start = UINT64_MAX;
	*end = 0;
	if (elf_getphdrnum(elf, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;
		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD)
			continue;
		*start = min_u64(*start, bias + ph.p_vaddr);
		*end = max_u64(*end, bias + ph.p_vaddr + ph.p_memsz);
	}
	return *end > *start;
}

bool images_add(struct images *s, const char *path, const char *name, uint64_t bias, struct err *e)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->image[i].bias == bias && !strcmp(s->image[i].path, path))
			return true;
	uint64_t start, end;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return err_set(e, "cannot read symbols from %s: %s", path, strerror(errno));
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	bool ok = elf && elf_kind(elf) == ELF_K_ELF && read_extent(elf, bias, &start, &end);
	GElf_Ehdr header;
	ok = ok && gelf_getehdr(elf, &header);
	size_t file_bytes = 0;
	if (ok)
		elf_rawfile(elf, &file_bytes);
	elf_end(elf);
	close(fd);
	if (!ok)
		return err_set(e, "cannot read symbols from %s: not an ELF program or library",
			       path);

	dwfl_report_begin_add(s->dwfl);
	Dwfl_Module *module = dwfl_report_elf(s->dwfl, name, path, -1, bias, true);
	dwfl_report_end(s->dwfl, NULL, NULL);
	if (!module)
		return err_set(e, "cannot read symbols from %s: %s", path, dwfl_errmsg(-1));
	struct image *im = ARRAY_ADD(s->image, s->count);
	*im = (struct image){ .path = x_strdup(path),
			      .name = x_strdup(name),
			      .bias = bias,
			      .start = start,
			      .end = end,
			      .module = module,
			      .arch = arch_find(header.e_machine),
			      .skew = header.e_type == ET_EXEC ? bias : 0,
			      .file_bytes = file_bytes };
	read_build_id(im);
	return true;
}

size_t images_count(const struct images *s)
{
	return s->count;
}

struct image_info images_info(const struct images *s, size_t index)
{
	const struct image *im = &s->image[index];
	return (
	    struct image_info){ im->path, im->name, im->build_id, im->bias, im->start, im->end };
}

struct image *image_at(const struct images *s, uint64_t pc)
{
	for (size_t i = 0; i < s->count; i++) {
		struct image *im = &s->image[i];
		if (pc < im->start || pc >= im->end)
			continue;
		if (!im->gathered)
			image_gather_functions(s, im);
		im->gathered = true;
		return im;
	}
	return NULL;
}

const struct function_range *image_function(const struct image *im, uint64_t pc)
{
	const size_t after = ARRAY_SEARCH(im->nfunctions, i, im->functions[i].start <= pc);
	return after && pc < im->functions[after - 1].end ? &im->functions[after - 1] : NULL;
}

#define RECENT_FILES 64

static const char *find_joined(const struct images *s, const char *dir, const char *file)
{
	for (size_t i = s->nfiles; i-- > 0 && s->nfiles - i <= RECENT_FILES;)
		if (s->files[i].dir == dir && s->files[i].file == file)
			return s->files[i].joined;
	return NULL;
}

/* Keeps the name that was joined from folder and file. */
static const char *joined(struct images *s, const char *dir, const char *file, char *name)
{
	*ARRAY_ADD(s->files, s->nfiles) = (struct joined_file){ dir, file, name };
	return name;
}

/* The name, or its first part if it is too long. */
static const char *bounded(struct images *s, const char *name)
{
	if (!name || strnlen(name, IMAGE_NAME_BYTES) < IMAGE_NAME_BYTES)
		return name;
	const char *known = find_joined(s, NULL, name);
	return known ? known : joined(s, NULL, name, x_strndup(name, IMAGE_NAME_BYTES));
}

/* Line tables name files as the compiler was told, often relative to where it ran. The joined name
 * is kept for as long as the set lives; successive lines mostly share it. */
static const char *absolute_file(struct images *s, const char *dir, const char *file)
{
	if (!file || file[0] == '/' || !dir)
		return bounded(s, file);
	const char *known = find_joined(s, dir, file);
	if (known)
		return known;
	return joined(s, dir, file,
		      x_asprintf("%.*s/%.*s", IMAGE_NAME_BYTES, dir, IMAGE_NAME_BYTES, file));
}

struct place images_function(struct images *s, uint64_t pc)
{
	struct place p = { .image = SIZE_MAX, .function = "[unknown]", .start = pc, .end = pc };
	struct image *im = image_at(s, pc);
	if (!im)
		return p;
	p.image = (size_t)(im - s->image);
	const struct function_range *f = image_function(im, pc);
	if (f) {
		p.function = f->name;
		p.start = f->start;
		p.end = f->end;
	}
	return p;
}

struct place images_place(struct images *s, uint64_t pc)
{
	struct place p = images_function(s, pc);
	if (p.image == SIZE_MAX)
		return p;
	struct image *im = &s->image[p.image];
	Dwarf_Attribute attr;
	Dwarf_Die unit;
	uint64_t bias;
	if (!image_unit(im, pc, &unit, &bias))
		return p;
	Dwarf_Line *line = dwarf_getsrc_die(&unit, pc - im->skew - bias);
	if (!line || dwarf_lineno(line, &p.line))
		return p;
	p.file = absolute_file(s, dwarf_formstring(dwarf_attr(&unit, DW_AT_comp_dir, &attr)),
			       dwarf_linesrc(line, NULL, NULL));
	return p;
}

static const char *unit_file(struct images *s, Dwarf_Die *unit, Dwarf_Word index)
{
	Dwarf_Attribute attr;
	Dwarf_Files *files;
	size_t n;
	if (dwarf_getsrcfiles(unit, &files, &n) || index >= n)
		return NULL;
	return absolute_file(s, dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attr)),
			     dwarf_filesrc(files, index, NULL, NULL));
}

bool images_declared(struct images *s, uint64_t pc, const char **file, int *line)
{
	Dwarf_Die unit;
	struct image *im = image_at(s, pc);
	struct scope *at = im ? image_scope(im, pc, &unit) : NULL;
	while (at && dwarf_tag(&at->die) != DW_TAG_subprogram)
		at = image_outer_scope(im, &unit, at);
	if (!at)
		return false;
	*file = bounded(s, dwarf_decl_file(&at->die));
	return *file && dwarf_decl_line(&at->die, line) == 0;
}

size_t images_inlined(struct images *s, uint64_t pc, struct inline_frame *frames, size_t max)
{
	Dwarf_Die unit;
	size_t count = 0;
	struct image *im = image_at(s, pc);
	struct scope *at = im ? image_scope(im, pc, &unit) : NULL;
	if (!at || dwarf_tag(&at->die) == DW_TAG_subprogram)
		return 0;
	struct place here = images_place(s, pc);
	const char *file = here.file;
	int line = here.line;
	while (at && dwarf_tag(&at->die) != DW_TAG_subprogram && count < max) {
		Dwarf_Attribute attr;
		Dwarf_Word number;
		const char *name = bounded(s, dwarf_diename(&at->die));
		frames[count++] = (struct inline_frame){ name ? name : "[inlined]", file, line };
		/* the next frame out is at the call */
		if (dwarf_formudata(dwarf_attr(&at->die, DW_AT_call_file, &attr), &number) == 0)
			file = unit_file(s, &unit, number);
		if (dwarf_formudata(dwarf_attr(&at->die, DW_AT_call_line, &attr), &number) == 0)
			line = (int)number;
		at = image_outer_scope(im, &unit, at);
	}
	return count;
}

bool images_find(struct images *s, const char *function, uint64_t *addr)
{
	for (size_t i = 0; i < s->count; i++) {
		Dwfl_Module *m = s->image[i].module;
		int n = m ? dwfl_module_getsymtab(m) : 0;
		for (int k = 1; k < n; k++) {
			GElf_Sym sym;
			GElf_Addr at;
			const char *name =
			    dwfl_module_getsym_info(m, k, &sym, &at, NULL, NULL, NULL);
			int type = GELF_ST_TYPE(sym.st_info);
			if (name && sym.st_shndx != SHN_UNDEF && !strcmp(name, function) &&
			    (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE)) {
				*addr = at + s->image[i].skew;
				return true;
			}
		}
	}
	return false;
}
