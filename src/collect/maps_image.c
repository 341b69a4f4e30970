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
#include <sys/stat.h>
#include <unistd.h>

#include "collect/held.h"
#include "collect/identity.h"
#include "collect/maps_int.h"
#include "util/array.h"

/* ---- The table ---- */

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
		if (m->images[i].name)
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
	i.pin = -1;
	uint32_t n = (uint32_t)m->nimages;

	if (m->nfree_images) {
		n = m->free_images[--m->nfree_images];
		m->images[n] = i;
	} else {
		*ARRAY_ADD(m->images, m->nimages) = i;
	}
	m->image_table[at] = n + 1;
	return n;
}

/* ---- Forgetting ---- */

#define IMAGES_KEPT 2048

static void image_clear(struct maps *m, struct maps_image *i)
{
	if (i->kept)
		m->kept_bytes -= keep_free(i->kept);
	if (i->pin >= 0) {
		close(i->pin);
		m->pins -= i->kind == LIVE_FILE;
	}
	free(i->name);
	free(i->path);
	*i = (struct maps_image){ .number = MAPS_NONE, .pin = -1 };
}

/* A descriptor keeps its file system from being unmounted: not longer than its process lives. */
static void close_pins(struct maps *m)
{
	for (size_t i = 0; i < m->nimages; i++) {
		struct maps_image *image = &m->images[i];

		if (image->pin < 0 || image->kind != LIVE_FILE)
			continue;
		const struct life *l = maps_newest(m, image->pid);

		if (l && !l->end_ns)
			continue;
		close(image->pin);
		m->pins--;
		image->pin = -1;
		image->tries = 0;
		image->found = false;
	}
}

void maps_images_sweep(struct maps *m)
{
	if (m->pins)
		close_pins(m);
	if (m->nimages - m->nfree_images < max_u64(IMAGES_KEPT, 2 * m->swept_images))
		return;
	bool *used = x_calloc(m->nimages, sizeof(*used));

	/* Trees of generated code count their functions: a few images too many are kept. */
	range_sets_mark(m->intervals, used, m->nimages);
	maps_mark_images(m, used);
	for (uint32_t i = 0; i < m->nimages; i++) {
		struct maps_image *image = &m->images[i];

		if (used[i] || !image->name || image->jit)
			continue;
		image_clear(m, image);
		*ARRAY_ADD(m->free_images, m->nfree_images) = i;
	}
	free(used);
	memset(m->image_table, 0, m->image_table_size * sizeof(*m->image_table));
	for (size_t i = 0; i < m->nimages; i++)
		if (m->images[i].name)
			m->image_table[slot(m, m->images[i].hash, NULL)] = (uint32_t)i + 1;
	m->swept_images = m->nimages - m->nfree_images;
}

/* ---- Files of one pass over all processes ---- */

/* At one moment device and inode tell files apart, so that one look at each is enough. */
struct scan {
	struct scanned {
		uint64_t dev, ino;
		uint32_t image;
	} * files;
	size_t count, size;
};

struct scan *scan_new(void)
{
	return x_calloc(1, sizeof(struct scan));
}

void scan_free(struct scan *s)
{
	free(s->files);
	free(s);
}

static struct scanned *scan_slot(const struct scan *s, uint64_t dev, uint64_t ino)
{
	size_t at = mix(mix(7, dev), ino) & (s->size - 1);

	while (s->files[at].ino && (s->files[at].ino != ino || s->files[at].dev != dev))
		at = (at + 1) & (s->size - 1);
	return &s->files[at];
}

static bool scan_find(const struct scan *s, const struct maps_record *r, uint32_t *image)
{
	if (!s->count || !r->ino)
		return false;
	const struct scanned *f = scan_slot(s, r->dev, r->ino);

	*image = f->image;
	return f->ino;
}

static void scan_add(struct scan *s, const struct maps_record *r, uint32_t image)
{
	if (!r->ino)
		return;
	if (2 * (s->count + 1) > s->size) {
		struct scanned *old = s->files;
		const size_t nold = s->size;

		s->size = nold ? 2 * nold : 256;
		s->files = x_calloc(s->size, sizeof(*s->files));
		for (size_t i = 0; i < nold; i++)
			if (old[i].ino)
				*scan_slot(s, old[i].dev, old[i].ino) = old[i];
		free(old);
	}
	*scan_slot(s, r->dev, r->ino) = (struct scanned){ r->dev, r->ino, image };
	s->count++;
}

/* ---- Records ---- */

static bool begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

/* Memory that no file stands behind. A memfd is a file if it has the head of one: JIT compilers use
 * them to map their code twice. */
static bool is_anonymous(const char *name)
{
	static const char *const names[] = { "//anon", "[heap]",      "[stack",
					     "[anon",  "/dev/zero",   "/anon_hugepage",
					     "/SYSV",  "anon_inode:", "[uprobes]" };

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

/* Whether an open file is that image. */
static bool is_image(const struct maps_image *i, const struct identity *id)
{
	char text[41];

	maps_build_id_text(text, id->build_id, id->build_id_bytes);
	if (i->build_id[0])
		return strcmp(i->build_id, text) == 0;
	if (i->digest[0])
		return false;
	return i->ino == id->ino && i->size_bytes == id->size_bytes && i->mtime_ns == id->mtime_ns;
}

static int open_of_process(struct maps *m, const struct maps_record *r, struct identity *id)
{
	int fd = identity_open_mapped(m->proc, r->pid, r->address, r->address + r->size_bytes);

	if (fd < 0)
		fd = identity_open_inside(m->proc, r->pid, r->name);
	if (fd >= 0 && !identity_of(fd, id)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Finds where this host has the image: under its name; else its descriptor is held, since only its
 * process can name it. fd: of the file, or -1; is used up. */
static void find_file(struct maps *m, struct maps_image *i, const struct maps_record *r, int fd)
{
	struct identity id;
	const int here = identity_open_here(i->name);
	const bool same = here >= 0 && identity_of(here, &id) && is_image(i, &id);

	if (here >= 0)
		close(here);
	if (same) {
		i->path = x_strdup(i->name);
		i->here_ino = id.ino;
		i->here_mtime_ns = id.mtime_ns;
		i->found = true;
	} else if (m->pins < MAPS_PINS) {
		if (fd < 0)
			fd = open_of_process(m, r, &id);
		else
			identity_of(fd, &id);
		if (fd >= 0 && (i->digest[0] || is_image(i, &id))) {
			i->pin = fd;
			i->found = true;
			m->pins++;
			fd = -1;
		}
	}
	if (!i->found && ++i->tries >= 8)
		i->found = true;
	if (fd >= 0)
		close(fd);
}

/* Whether the file at the image's path is still the one that was found there. */
static bool is_unchanged(const struct maps_image *i)
{
	struct stat st;

	return stat(i->path, &st) == 0 && st.st_ino == i->here_ino &&
	       (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec ==
		   i->here_mtime_ns;
}

void maps_image_recheck(struct maps *m, struct maps_image *i)
{
	const struct maps_record r = {
		.pid = i->pid, .address = i->start, .size_bytes = i->end - i->start, .name = i->name
	};

	if (i->kind != LIVE_FILE || !i->path || is_unchanged(i))
		return;
	free(i->path);
	i->path = NULL;
	i->tries = 0;
	i->found = false;
	find_file(m, i, &r, -1);
}

#define NOTES_MAX    64
#define DIGEST_BYTES (16u << 20)

/* The identity of a file that came without a build-id: what it is now. Returns a descriptor, or -1
 * if nothing can be reached. False: it is memory rather than a file. */
static bool look_at_file(struct maps *m, const struct maps_record *r, struct maps_image *like,
			 int *fd)
{
	const bool memory = begins(r->name, "/memfd:");
	struct identity id;
	struct elf_head h;

	*fd = open_of_process(m, r, &id);
	if (*fd < 0 && !memory) {
		*fd = identity_open_here(like->name);
		if (*fd >= 0 && !identity_of(*fd, &id)) {
			close(*fd);
			*fd = -1;
		}
	}
	/* The pid may have been used again, or the file replaced. */
	if (*fd >= 0 && r->ino && id.ino != r->ino) {
		close(*fd);
		*fd = -1;
	}
	if (*fd < 0) {
		const size_t n =
		    identity_ask_kernel(m->proc, r->pid, r->address, r->ino, id.build_id);

		maps_build_id_text(like->build_id, id.build_id, n);
		/* A program in memory is mapped as files are; what a JIT maps twice is shared. */
		return !memory || !r->shared;
	}
	if (memory && !elf_read_head(*fd, &h)) {
		close(*fd);
		*fd = -1;
		return false;
	}
	maps_build_id_text(like->build_id, id.build_id, id.build_id_bytes);
	if (like->build_id[0])
		return true;
	like->ino_generation = 0;
	/* Each memfd has an inode of its own, whatever is in it. */
	if (memory && identity_digest(*fd, DIGEST_BYTES, like->digest)) {
		like->dev = like->ino = 0;
		return true;
	}
	like->dev = id.dev;
	like->ino = id.ino;
	like->size_bytes = id.size_bytes;
	like->mtime_ns = id.mtime_ns;
	return true;
}

static struct known_file *known_at(struct maps *m, const struct maps_record *r)
{
	return &m->known[hash_u64(r->dev ^ hash_u64(r->ino ^ r->ino_generation << 32)) %
			 KNOWN_FILES];
}

/* The image of a file that was looked at before and is as it was; MAPS_NONE: none. Programs start
 * thousands of times a second, and opening each of their files each time would cost more than
 * sampling does. */
static uint32_t known_image(struct maps *m, const struct maps_record *r, const char *name)
{
	const struct known_file *k = known_at(m, r);

	if (!r->ino || k->dev != r->dev || k->ino != r->ino || k->generation != r->ino_generation)
		return MAPS_NONE;
	const struct maps_image *i = &m->images[k->image];

	return i->kind == LIVE_FILE && i->path && i->here_ino == r->ino && i->name &&
		       strcmp(i->name, name) == 0 && is_unchanged(i)
		   ? k->image
		   : MAPS_NONE;
}

/* The image of a record of a file, or of memory. */
static uint32_t file_image(struct maps *m, const struct maps_record *r)
{
	struct maps_image like = { .kind = LIVE_FILE, .name = plain_name(r->name) };
	uint32_t i = MAPS_IMAGE_ANON;
	int fd = -1;

	if (!r->build_id_bytes && m->proc && (i = known_image(m, r, like.name)) != MAPS_NONE)
		goto known;
	i = MAPS_IMAGE_ANON;
	maps_build_id_text(like.build_id, r->build_id, r->build_id_bytes);
	if (!like.build_id[0]) {
		like.dev = r->dev;
		like.ino = r->ino;
		like.ino_generation = r->ino_generation;
		if (m->proc ? !look_at_file(m, r, &like, &fd) : begins(r->name, "/memfd:"))
			goto done;
	}
	i = maps_image_add(m, &like);
	if (m->proc && !m->images[i].found) {
		find_file(m, &m->images[i], r, fd);
		fd = -1;
	}
	*known_at(m, r) = (struct known_file){ r->dev, r->ino, r->ino_generation, i };
known:
	m->images[i].pid = r->pid;
	m->images[i].start = r->address;
	m->images[i].end = r->address + r->size_bytes;
done:
	if (fd >= 0)
		close(fd);
	free(like.name);
	return i;
}

uint32_t maps_image_of(struct maps *m, const struct maps_record *r)
{
	uint32_t i;

	if (begins(r->name, "[vdso]"))
		return kernel_vdso(m, r->address);
	if (begins(r->name, "[vsyscall]"))
		return maps_image_add(
		    m, &(struct maps_image){ .kind = LIVE_VDSO, .name = "[vsyscall]" });
	if (!r->build_id_bytes && is_anonymous(r->name))
		return MAPS_IMAGE_ANON;
	if (m->scan && scan_find(m->scan, r, &i))
		return i;
	i = file_image(m, r);
	if (m->scan)
		scan_add(m->scan, r, i);
	return i;
}

struct live_image maps_live_image(const struct maps_image *i)
{
	return (struct live_image){ .kind = i->kind,
				    .name = i->name,
				    .path = i->path,
				    .build_id = (char *)i->build_id,
				    .digest = (char *)i->digest,
				    .dev = i->dev,
				    .ino = i->ino,
				    .size_bytes = i->size_bytes,
				    .mtime_ns = i->mtime_ns };
}

uint32_t maps_image_number(struct maps *m, uint32_t image)
{
	struct maps_image *i = &m->images[image];

	if (i->number == MAPS_NONE) {
		const struct live_image out = maps_live_image(i);

		i->number = m->sink.image(m->sink.self, &out);
	}
	return i->number;
}

bool maps_knows(const struct maps *m, int32_t pid)
{
	return maps_newest(m, pid);
}

static void hold_life(const struct life *l, struct held *h)
{
	for (size_t i = 0; i < l->nspaces; i++)
		held_mark(h, HELD_PROCESSES, l->spaces[i].process);
}

void maps_hold(const struct maps *m, struct held *h)
{
	for (size_t i = 0; i < m->nimages; i++)
		if (m->images[i].name)
			held_mark(h, HELD_IMAGES, m->images[i].number);
	held_mark(h, HELD_PROCESSES, m->idle);
	held_mark(h, HELD_PROCESSES, m->kernel.process);
	for (size_t b = 0; b < m->nbuckets; b++)
		for (const struct life *l = m->buckets[b]; l; l = l->next)
			for (const struct life *o = l; o; o = o->older)
				hold_life(o, h);
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
		if (strcmp(m->notes[i], line) == 0 || m->nnotes == NOTES_MAX) {
			free(line);
			return;
		}
	*ARRAY_ADD(m->notes, m->nnotes) = line;
}

void maps_images_free(struct maps *m)
{
	for (size_t i = 0; i < m->nimages; i++)
		image_clear(m, &m->images[i]);
	free(m->images);
	free(m->free_images);
	free(m->image_table);
	for (size_t i = 0; i < m->nnotes; i++)
		free(m->notes[i]);
	free(m->notes);
}
