/* SPDX-License-Identifier: MIT */
/*
 * Where the kernel's code lies: its text from _stext to _etext, modules, BPF programs and other code
 * that it generates, all from /proc/kallsyms and /proc/modules at the start; later programs come
 * through the side-band. Modules do not: /proc/modules is read again when an address is unknown, at
 * most once a second.
 *
 * Without CAP_SYSLOG all addresses there are 0. Then all of the kernel is one place, and a note says
 * so.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/identity.h"
#include "collect/kernel_names.h"
#include "collect/maps_int.h"
#include "collect/sideband.h"
#include "util/array.h"

#define MODULE_MAX (64ull << 20)

/* ---- kallsyms ---- */

struct kernel_symbol {
	uint64_t address;
	char type;
	const char *name, *module; /* module "": the kernel's own */
};
typedef void found_symbol(void *self, const struct kernel_symbol *s);

/* "ADDRESS TYPE NAME", and "\t[MODULE]" unless it is the kernel's own. Cuts the line. */
static bool parse_symbol(char *line, struct kernel_symbol *s)
{
	char *end;

	s->address = strtoull(line, &end, 16);
	if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ' || !end[3])
		return false;
	s->type = end[1];
	s->name = end + 3;
	s->module = "";
	char *module = strchr(end + 3, '\t');

	if (!module)
		return true;
	*module++ = '\0';
	const size_t n = strlen(module);

	if (n > 2 && module[0] == '[' && module[n - 1] == ']') {
		module[n - 1] = '\0';
		s->module = module + 1;
	}
	return true;
}

/* Calls back for each symbol; false: kallsyms cannot be read. */
static bool read_symbols(const char *proc, found_symbol *found, void *self)
{
	enum { ROOM = 65536 };
	char *path = x_asprintf("%s/kallsyms", proc), *text = x_malloc(ROOM);
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct kernel_symbol s;
	size_t have = 0;
	ssize_t n;

	free(path);
	while (fd >= 0 && (n = read(fd, text + have, ROOM - have)) > 0) {
		char *line = text, *end;

		have += (size_t)n;
		for (; (end = memchr(line, '\n', have - (size_t)(line - text))); line = end + 1) {
			*end = '\0';
			if (parse_symbol(line, &s))
				found(self, &s);
		}
		have -= (size_t)(line - text);
		memmove(text, line, have);
		if (have == ROOM)
			break;
	}
	if (fd >= 0)
		close(fd);
	free(text);
	return fd >= 0;
}

const char *kernel_name(const struct maps *m, uint64_t address, uint64_t *start, uint64_t *end)
{
	return m->names ? kernel_names_find(m->names, address, start, end) : NULL;
}

size_t kernel_bytes(const struct maps *m)
{
	return m->names ? kernel_names_bytes(m->names) : 0;
}

void kernel_free(struct maps *m)
{
	kernel_names_free(m->names);
	m->names = NULL;
}

/* ---- Ranges ---- */

struct range {
	uint64_t start, end;
	char name[512];
	enum live_kind kind;
};

struct ranges {
	uint64_t stext, etext;
	struct range *list;
	size_t count;
	bool any, visible;
	struct kernel_names *names;
};

/* Symbols of a module become its range, until /proc/modules tells better. */
static void add_symbol(void *self, const struct kernel_symbol *s)
{
	struct ranges *r = self;

	r->any = true;
	r->visible |= s->address != 0;
	if (s->address && strchr("tTwW", s->type))
		kernel_names_add(r->names, s->address, s->name);
	if (!s->module[0]) {
		if (strcmp(s->name, "_stext") == 0)
			r->stext = s->address;
		else if (strcmp(s->name, "_etext") == 0)
			r->etext = s->address;
		return;
	}
	if (!s->address || (s->type != 't' && s->type != 'T'))
		return;
	const bool bpf = strcmp(s->module, "bpf") == 0;
	struct range *last = r->count ? &r->list[r->count - 1] : NULL;
	char name[64 + 3];

	snprintf(name, sizeof(name), "[%.64s]", s->module);
	if (!bpf && last && last->kind == LIVE_MODULE && strcmp(last->name, name) == 0) {
		last->start = min_u64(last->start, s->address);
		last->end = max_u64(last->end, s->address + 1);
		return;
	}
	struct range *new = ARRAY_ADD(r->list, r->count);

	*new = (struct range){ s->address, s->address + 1, "", bpf ? LIVE_BPF : LIVE_MODULE };
	snprintf(new->name, sizeof(new->name), "%s", bpf ? s->name : name);
}

static int by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static size_t read_small(const char *path, void *to, size_t room)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, to, room);

	if (fd >= 0)
		close(fd);
	return n < 0 ? 0 : (size_t)n;
}

static void module_build_id(const char *name, char out[41])
{
	uint8_t note[256], id[BUILD_ID_BYTES];
	char *path = x_asprintf("/sys/module/%.*s/notes/.note.gnu.build-id", (int)strlen(name) - 2,
				name + 1);
	const size_t n = read_small(path, note, sizeof(note));

	free(path);
	maps_build_id_text(out, id, identity_note(note, n, id));
}

/* Puts ranges into the kernel's space. The end of code that has only a start is the next start. */
static void put_ranges(struct maps *m, struct ranges *r)
{
	const uint64_t now = sideband_now();

	if (r->count)
		qsort(r->list, r->count, sizeof(*r->list), by_start);
	for (size_t i = 0; i < r->count; i++) {
		struct range *x = &r->list[i];
		const uint64_t limit = x->start + MODULE_MAX;
		const uint64_t next = i + 1 < r->count ? r->list[i + 1].start : limit;
		struct maps_image like = { .kind = x->kind, .name = x->name };

		if (x->kind == LIVE_BPF)
			x->end = min_u64(next, x->start + (1u << 20));
		else
			x->end = min_u64(next, max_u64(x->end, (x->end + 4095) & ~4095ull));
		if (x->kind == LIVE_MODULE)
			module_build_id(x->name, like.build_id);
		const uint32_t image = maps_image_add(m, &like);

		m->images[image].start = x->start;
		m->images[image].end = x->end;
		maps_space_put(m, &m->kernel, (struct interval){ x->start, x->end, 0, image }, now);
	}
}

/* Lines are "name size users by state address". */
static void add_modules(struct maps *m, struct ranges *r)
{
	char *path = x_asprintf("%s/modules", m->proc);
	FILE *f = fopen(path, "re");
	char line[4096], name[64];
	unsigned long long size, address;

	free(path);
	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63s %llu %*s %*s %*s 0x%llx", name, &size, &address) != 3 ||
		    !address || !size || size > MODULE_MAX)
			continue;
		struct range *x = NULL;
		char shown[sizeof(name) + 2];

		snprintf(shown, sizeof(shown), "[%s]", name);
		for (size_t i = 0; i < r->count && !x; i++)
			if (strcmp(r->list[i].name, shown) == 0)
				x = &r->list[i];
		if (!x)
			x = ARRAY_ADD(r->list, r->count);
		*x = (struct range){ address, address + size, "", LIVE_MODULE };
		memcpy(x->name, shown, sizeof(shown));
	}
	fclose(f);
}

/* Reads all symbols, and keeps the names of functions. */
static bool read_ranges(struct maps *m, struct ranges *r)
{
	*r = (struct ranges){ .names = kernel_names_new() };
	const bool good = read_symbols(m->proc, add_symbol, r) && r->any;

	kernel_names_pack(r->names);
	kernel_names_free(m->names);
	m->names = r->names;
	return good;
}

void kernel_read_modules(struct maps *m)
{
	const uint64_t now = sideband_now();
	const size_t images = m->nimages;
	struct ranges r = { 0 };

	if (!m->proc || m->kernel_hidden || now - m->modules_read_ns < 1000000000u)
		return;
	m->modules_read_ns = now;
	add_modules(m, &r);
	put_ranges(m, &r);
	free(r.list);
	if (m->nimages == images)
		return;
	read_ranges(m, &r);
	free(r.list);
}

static void read_build_id(struct maps *m)
{
	uint8_t notes[8192], id[BUILD_ID_BYTES];
	const size_t n = read_small("/sys/kernel/notes", notes, sizeof(notes));

	maps_build_id_text(m->kernel_build_id, id, identity_note(notes, n, id));
}

void kernel_read(struct maps *m)
{
	struct ranges r;
	struct maps_image like = { .kind = LIVE_KERNEL, .name = "[kernel]" };

	if (m->kernel_read || !m->proc)
		return;
	m->kernel_read = true;
	m->modules_read_ns = sideband_now();
	read_build_id(m);
	memcpy(like.build_id, m->kernel_build_id, sizeof(like.build_id));
	if (!read_ranges(m, &r))
		maps_note(m, "%s/kallsyms cannot be read: the kernel is shown as one place",
			  m->proc);
	else if (!r.visible)
		maps_note(m, "the kernel's addresses are hidden: it is shown as one place; give "
			     "CAP_SYSLOG");
	const uint32_t image = maps_image_add(m, &like);

	m->kernel_image = image;
	if (r.stext && r.etext > r.stext) {
		m->images[image].start = r.stext;
		m->images[image].end = r.etext;
		maps_space_put(m, &m->kernel, (struct interval){ r.stext, r.etext, 0, image },
			       m->modules_read_ns);
		add_modules(m, &r);
		put_ranges(m, &r);
	} else {
		/* Below what the side-band says of BPF programs, which has addresses. */
		m->kernel_hidden = true;
	}
	free(r.list);
}

/* ---- The vdso ---- */

/* A copy of this process' own vdso, as a file: all programs of this width have the same. */
static int own_vdso(void)
{
	const uint8_t *vdso = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	FILE *f = vdso ? fopen("/proc/self/maps", "re") : NULL;
	unsigned long long start, end;
	size_t size = 0;
	char line[4096];

	if (!f)
		return -1;
	while (!size && fgets(line, sizeof(line), f))
		if (sscanf(line, "%llx-%llx", &start, &end) == 2 && start == (uintptr_t)vdso)
			size = (size_t)(end - start);
	fclose(f);
	const int fd = size ? memfd_create("vdso", MFD_CLOEXEC) : -1;

	if (fd >= 0 && write(fd, vdso, size) != (ssize_t)size) {
		close(fd);
		return -1;
	}
	return fd;
}

uint32_t kernel_vdso(struct maps *m, uint64_t address)
{
	/* A program of 32 bits has another one. */
	struct maps_image like = { .kind = LIVE_VDSO,
				   .name = address >> 32 ? "[vdso]" : "[vdso32]" };
	uint8_t id[BUILD_ID_BYTES];

	if (!m->proc || !(address >> 32))
		return maps_image_add(m, &like);
	if (m->vdso != MAPS_NONE)
		return m->vdso;
	const int fd = own_vdso();

	if (fd >= 0)
		maps_build_id_text(like.build_id, id, identity_build_id(fd, id));
	m->vdso = maps_image_add(m, &like);
	m->images[m->vdso].pin = fd;
	m->images[m->vdso].found = true;
	return m->vdso;
}
