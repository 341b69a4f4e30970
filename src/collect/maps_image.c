/* SPDX-License-Identifier: MIT */
/*
 * The images of address spaces: one entry for each build-id, or else for each file as device, inode,
 * generation, size and mtime tell it. Records name an image by its mapping; the entry is found
 * through a hash table.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/maps_int.h"
#include "util/array.h"

static uint64_t mix(uint64_t hash, uint64_t value)
{
	return hash_u64(hash ^ value) + 0x9e3779b97f4a7c15ull;
}

static uint64_t mix_text(uint64_t hash, const char *s)
{
	for (; *s; s++)
		hash = (hash ^ (unsigned char)*s) * 0x100000001b3ull;
	return mix(hash, 0);
}

static uint64_t image_hash(const struct maps_image *i)
{
	uint64_t h = mix(1, i->kind);

	if (i->build_id[0])
		return mix_text(h, i->build_id);
	h = mix_text(mix_text(h, i->name), i->digest);
	h = mix(mix(mix(h, i->dev), i->ino), i->ino_generation);
	return mix(mix(h, i->size_bytes), i->mtime_ns);
}

static bool image_same(const struct maps_image *a, const struct maps_image *b)
{
	if (a->hash != b->hash || a->kind != b->kind || strcmp(a->build_id, b->build_id) != 0)
		return false;
	if (a->build_id[0])
		return true;
	return strcmp(a->name, b->name) == 0 && strcmp(a->digest, b->digest) == 0 &&
	       a->dev == b->dev && a->ino == b->ino && a->ino_generation == b->ino_generation &&
	       a->size_bytes == b->size_bytes && a->mtime_ns == b->mtime_ns;
}

static size_t slot(const struct maps *m, uint64_t hash, const struct maps_image *same)
{
	size_t at = hash & (m->image_table_size - 1);

	while (m->image_table[at] &&
	       !(same && image_same(&m->images[m->image_table[at] - 1], same)))
		at = (at + 1) & (m->image_table_size - 1);
	return at;
}

static void table_room(struct maps *m)
{
	if (2 * (m->nimages + 1) <= m->image_table_size)
		return;
	m->image_table_size = m->image_table_size ? 2 * m->image_table_size : 256;
	free(m->image_table);
	m->image_table = x_calloc(m->image_table_size, sizeof(*m->image_table));
	for (size_t i = 0; i < m->nimages; i++)
		m->image_table[slot(m, m->images[i].hash, NULL)] = (uint32_t)i + 1;
}

uint32_t maps_image_add(struct maps *m, const struct maps_image *like)
{
	struct maps_image i = *like;

	table_room(m);
	i.hash = image_hash(&i);
	const size_t at = slot(m, i.hash, &i);
	if (m->image_table[at])
		return m->image_table[at] - 1;
	i.name = x_strdup(i.name);
	i.path = i.path ? x_strdup(i.path) : NULL;
	i.number = MAPS_NONE;
	m->image_table[at] = (uint32_t)m->nimages + 1;
	*ARRAY_ADD(m->images, m->nimages) = i;
	return (uint32_t)(m->nimages - 1);
}

static bool begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

/* Memory that no file stands behind. memfd files without a build-id are the double mappings of JIT
 * compilers. */
static bool is_anonymous(const char *name)
{
	static const char *const names[] = { "//anon",	  "[heap]",	    "[stack", "[anon",
					     "/dev/zero", "/anon_hugepage", "/SYSV",  "anon_inode:",
					     "/memfd:",	  "[uprobes]" };

	if (!*name)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (begins(name, names[i]))
			return true;
	return false;
}

void maps_build_id_text(char out[41], const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n && i < 20; i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
	out[2 * (n < 20 ? n : 20)] = '\0';
}

/* The name without what the kernel adds to that of a file that was removed. */
static char *plain_name(const char *name)
{
	static const char deleted[] = " (deleted)";
	const size_t n = strlen(name), d = sizeof(deleted) - 1;

	return n > d && strcmp(name + n - d, deleted) == 0 ? x_strndup(name, n - d)
							   : x_strdup(name);
}

uint32_t maps_image_of(struct maps *m, const struct maps_record *r)
{
	struct maps_image like = { .kind = LIVE_FILE,
				   .pid = r->pid,
				   .start = r->address,
				   .end = r->address + r->size_bytes,
				   .pgoff = r->pgoff };

	if (begins(r->name, "[vdso]") || begins(r->name, "[vsyscall]")) {
		like.kind = LIVE_VDSO;
		like.name = begins(r->name, "[vdso]") ? "[vdso]" : "[vsyscall]";
		return maps_image_add(m, &like);
	}
	maps_build_id_text(like.build_id, r->build_id, r->build_id_bytes);
	if (!like.build_id[0]) {
		if (is_anonymous(r->name))
			return MAPS_IMAGE_ANON;
		like.dev = r->dev;
		like.ino = r->ino;
		like.ino_generation = r->ino_generation;
	}
	like.name = plain_name(r->name);
	const uint32_t i = maps_image_add(m, &like);

	free(like.name);
	m->images[i].pid = r->pid;
	m->images[i].start = r->address;
	m->images[i].end = like.end;
	m->images[i].pgoff = r->pgoff;
	return i;
}

uint32_t maps_image_number(struct maps *m, uint32_t image)
{
	struct maps_image *i = &m->images[image];

	if (i->number != MAPS_NONE)
		return i->number;
	const struct live_image out = { .kind = i->kind,
					.name = i->name,
					.path = i->path,
					.build_id = i->build_id,
					.digest = i->digest,
					.dev = i->dev,
					.ino = i->ino,
					.size_bytes = i->size_bytes,
					.mtime_ns = i->mtime_ns };

	i->number = m->sink.image(m->sink.self, &out);
	return i->number;
}

void maps_note(struct maps *m, const char *fmt, ...)
{
	va_list args;
	char *line;

	va_start(args, fmt);
	const int n = vasprintf(&line, fmt, args);
	va_end(args);
	if (n < 0)
		die("out of memory");
	for (size_t i = 0; i < m->nnotes; i++)
		if (strcmp(m->notes[i], line) == 0) {
			free(line);
			return;
		}
	*ARRAY_ADD(m->notes, m->nnotes) = line;
}

void maps_images_free(struct maps *m)
{
	for (size_t i = 0; i < m->nimages; i++) {
		free(m->images[i].name);
		free(m->images[i].path);
	}
	free(m->images);
	free(m->image_table);
	for (size_t i = 0; i < m->nnotes; i++)
		free(m->notes[i]);
	free(m->notes);
}
