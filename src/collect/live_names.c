/* SPDX-License-Identifier: MIT */
/* Finds the file of an image, or what was kept of it, and names what lies in it. */
#include "collect/live_names.h"

#include <stdlib.h>
#include <string.h>

#include "util/array.h"

const char *const live_source_name[LIVE_SOURCES] = {
	[LIVE_FROM_FILE] = "file",	 [LIVE_FROM_UNCHECKED] = "unchecked",
	[LIVE_FROM_KEPT] = "kept",	 [LIVE_FROM_CHANGED] = "changed",
	[LIVE_FROM_MISSING] = "missing", [LIVE_FROM_NOTHING] = "none",
};

const char *const live_kind_name[LIVE_KINDS] = {
	[LIVE_FILE] = "file", [LIVE_KERNEL] = "kernel",	  [LIVE_MODULE] = "module",
	[LIVE_BPF] = "bpf",   [LIVE_VDSO] = "vdso",	  [LIVE_JIT] = "jit",
	[LIVE_ANON] = "anon", [LIVE_UNKNOWN] = "unknown",
};

/* Whether the file is the one that was sampled. */
static enum live_source compare(const struct live_image *i, const struct image_probe *p)
{
	if (i->build_id && *i->build_id)
		return strcmp(i->build_id, p->build_id) == 0 ? LIVE_FROM_FILE : LIVE_FROM_CHANGED;
	if (!i->size_bytes && !i->mtime_ns)
		return LIVE_FROM_UNCHECKED;
	return i->size_bytes == p->size_bytes && (!i->mtime_ns || i->mtime_ns == p->mtime_ns)
		   ? LIVE_FROM_FILE
		   : LIVE_FROM_CHANGED;
}

/* Takes the file if it is the right one; notes why if not. */
static bool try_file(struct live_place *p, const struct live_image *i, const char *path)
{
	struct image_probe probe;

	if (!image_probe(path, &probe, NULL))
		return false;
	p->source = compare(i, &probe);
	if (p->source == LIVE_FROM_CHANGED)
		return false;
	p->path = x_strdup(path);
	p->probe = x_malloc(sizeof(*p->probe));
	*p->probe = probe;
	return true;
}

/* A build-id is a name of files in a folder: nothing but hex digits may get there. */
static bool is_build_id(const char *text)
{
	const size_t n = text ? strlen(text) : 0;

	return n >= 8 && n <= 64 && strspn(text, "0123456789abcdef") == n;
}

static bool try_build_id(struct live_place *p, const struct live_image *i)
{
	static const char *const folders[] = { "/usr/lib/debug/.build-id", "/usr/lib/.build-id" };

	for (size_t k = 0; is_build_id(i->build_id) && k < ARRAY_LEN(folders); k++) {
		char *path = x_asprintf("%s/%.2s/%s", folders[k], i->build_id, i->build_id + 2);
		const bool found = try_file(p, i, path);

		free(path);
		if (found)
			return true;
	}
	return false;
}

struct live_place live_place_of(const struct live_image *i)
{
	struct live_place p = { .source =
				    i->kind == LIVE_FILE ? LIVE_FROM_MISSING : LIVE_FROM_NOTHING };

	if (i->kind == LIVE_FILE) {
		if ((i->path && *i->path && try_file(&p, i, i->path)) ||
		    (i->name && i->name[0] == '/' && try_file(&p, i, i->name)))
			return p;
		const enum live_source why = p.source;

		if (try_build_id(&p, i))
			return p;
		p.source = why;
	}
	if (i->nsymbols)
		p.source = LIVE_FROM_KEPT;
	return p;
}

void live_place_free(struct live_place *p)
{
	free(p->path);
	free(p->probe);
	*p = (struct live_place){ .path = NULL };
}

uint64_t live_place_address(const struct live_place *p, uint64_t offset)
{
	uint64_t address = offset;

	if (p->probe)
		image_probe_address(p->probe, offset, &address);
	return address;
}

static void add_kept(struct images *set, const struct live_image *i, uint64_t bias, uint64_t start,
		     uint64_t end)
{
	struct image_symbol *symbols = x_calloc(i->nsymbols + 1, sizeof(*symbols));
	struct image_bytes *code = x_calloc(i->ncode + 1, sizeof(*code));

	for (size_t k = 0; k < i->nsymbols; k++)
		symbols[k] = (struct image_symbol){ bias + i->symbols[k].offset,
						    i->symbols[k].size_bytes, i->symbols[k].name };
	for (size_t k = 0; k < i->ncode; k++)
		code[k] = (struct image_bytes){ bias + i->code[k].offset, i->code[k].size_bytes,
						i->code[k].bytes };
	images_add_kept(set, &(struct image_kept){ .name = i->name,
						   .bias = bias,
						   .start = start,
						   .end = end,
						   .symbols = symbols,
						   .nsymbols = i->nsymbols,
						   .code = code,
						   .ncode = i->ncode });
	free(symbols);
	free(code);
}

struct images *live_place_open(const struct live_place *p, const struct live_image *i,
			       uint64_t bias, uint64_t start, uint64_t end)
{
	struct images *set = images_new(NULL);
	char *cache = path_cache(), *folder = x_asprintf("%s/symbols", cache);

	images_set_cache(set, folder);
	images_show_own_addresses(set);
	free(cache);
	free(folder);
	if (!p->path || !images_add(set, p->path, i->name, bias, NULL))
		add_kept(set, i, bias, start, end);
	return set;
}

/* ---- Names of frames ---- */

#define OPEN_MOST 64 /* images that are open at a time; each may hold a descriptor */

struct open_image {
	uint32_t image;
	struct live_place place;
	struct images *set;
	uint64_t used; /* when it was last asked for */
};

struct live_names {
	const struct live_profile *profile;
	struct open_image open[OPEN_MOST];
	size_t count;
	uint64_t clock;
	char *name; /* what live_names_find returned */
};

struct live_names *live_names_new(const struct live_profile *p)
{
	struct live_names *n = x_calloc(1, sizeof(*n));

	n->profile = p;
	return n;
}

static void close_image(struct open_image *o)
{
	images_free(o->set);
	live_place_free(&o->place);
}

void live_names_free(struct live_names *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->count; i++)
		close_image(&n->open[i]);
	free(n->name);
	free(n);
}

static struct open_image *open_image(struct live_names *n, uint32_t image)
{
	struct open_image *o = &n->open[0];

	for (size_t i = 0; i < n->count; i++) {
		if (n->open[i].image == image)
			return &n->open[i];
		if (n->open[i].used < o->used)
			o = &n->open[i];
	}
	if (n->count < OPEN_MOST)
		o = &n->open[n->count++];
	else
		close_image(o);
	const struct live_image *i = live_image(n->profile, image);

	o->image = image;
	o->place = live_place_of(i);
	o->set = live_place_open(&o->place, i, 0, 0, UINT64_MAX);
	return o;
}

struct live_name live_names_find(struct live_names *n, uint32_t image, uint64_t offset)
{
	const struct live_image *i = live_image(n->profile, image);
	struct open_image *o = open_image(n, image);
	const uint64_t address = live_place_address(&o->place, offset);
	const struct place p = images_function(o->set, address);

	o->used = ++n->clock;
	free(n->name);
	n->name =
	    p.image == SIZE_MAX ? x_asprintf("[%s]", path_name(i->name)) : x_strdup(p.function);
	return (struct live_name){ n->name, i->name, address,
				   p.image == SIZE_MAX ? 0 : address - p.start };
}
