/* SPDX-License-Identifier: MIT */
/*
 * Names of generated code. A process that executes memory without a file may have a perf map,
 * /tmp/perf-PID.map, with the pid that it has itself and the /tmp that it sees; or it may have mapped
 * a jitdump file, which that mapping names. Both are opened below the root of the process without
 * following links, must be regular files of the process' own user, and are read piece by piece as
 * they grow: each byte once, and a limited number of them.
 *
 * A later entry covers an earlier one at the same addresses: compilers move code and use memory
 * again. Counts that were taken before are then found under the later name.
 *
 * A process may be gone when its counts are asked for. So the folder of its map is held open from
 * its first executable memory on, for a limited number of processes.
 */
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/identity.h"
#include "collect/jit_files.h"
#include "collect/maps_int.h"
#include "collect/sideband.h"
#include "util/array.h"

#define CHUNK_BYTES 65536
#define READ_BYTES  (16u << 20) /* at one time */
#define TOTAL_BYTES (256u << 20)
#define ENTRIES_MAX 131072
#define RETRY_NS    1000000000u /* between looks for a process */
#define OPEN_NS	    20000000u	/* between looks for its map */

struct entry {
	char *name;
	uint64_t start, size_bytes, code_at;
	bool used; /* while sweeping */
};

struct jit {
	struct life *life;
	int tmp;	 /* folder of the map, by O_PATH; -1: not reached */
	int map, dump;	 /* -1: none */
	int32_t own_pid; /* as the process itself sees it */
	uint32_t uid;	 /* its user */
	uint64_t map_at, dump_at;
	uint64_t tried_ns; /* last look for a map */
	uint64_t opened_ns;
	uint32_t root; /* of the functions, by address */
	struct entry *entries;
	size_t nentries;
	uint32_t image; /* MAPS_NONE: not made yet */
	bool dump_bad;
	/* While reading. */
	struct maps *maps;
	bool from_dump;
};

/* ---- The process ---- */

/* Reads its user and its innermost pid. False: it is gone. */
static bool read_status(const char *proc, struct jit *j, int32_t pid)
{
	char *path = x_asprintf("%s/%d/status", proc, pid), line[512];
	FILE *f = fopen(path, "re");
	bool found = false;

	free(path);
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		unsigned real, effective;

		if (sscanf(line, "Uid: %u %u", &real, &effective) == 2) {
			j->uid = effective;
			found = true;
		} else if (strncmp(line, "NSpid:", 6) == 0) {
			const char *last = strrchr(line, '\t');

			j->own_pid = last ? atoi(last) : pid;
		}
	}
	fclose(f);
	return found;
}

static int open_tmp(const char *proc, int32_t pid)
{
	const int root = identity_root(proc, pid);
	int fd = -1;

	if (root >= 0) {
		fd = identity_open_below(root, "tmp", O_PATH | O_DIRECTORY,
					 RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);
		close(root);
	}
	return fd;
}

static struct jit *jit_of(struct life *l, struct space *s)
{
	if (!s->jit) {
		s->jit = x_calloc(1, sizeof(*s->jit));
		s->jit->life = l;
		s->jit->tmp = s->jit->map = s->jit->dump = -1;
		s->jit->own_pid = l->pid;
		s->jit->uid = UINT32_MAX;
		s->jit->image = MAPS_NONE;
	}
	return s->jit;
}

static void hold(struct maps *m, int *to, int fd)
{
	if (fd < 0)
		return;
	if (m->pins >= MAPS_PINS) {
		close(fd);
		return;
	}
	m->pins++;
	*to = fd;
}

static void let_go(struct maps *m, int *fd)
{
	if (*fd < 0)
		return;
	close(*fd);
	*fd = -1;
	m->pins--;
}

void jit_prepare(struct maps *m, struct life *l, struct space *s)
{
	if (!m->proc || l->end_ns || (s->jit && (s->jit->tmp >= 0 || s->jit->map >= 0)))
		return;
	struct jit *j = jit_of(l, s);
	const uint64_t now = sideband_now();

	if (j->tried_ns && now - j->tried_ns < RETRY_NS)
		return;
	j->tried_ns = now;
	if (read_status(m->proc, j, l->pid))
		hold(m, &j->tmp, open_tmp(m->proc, l->pid));
}

/* Whether a file is the process' own. */
static bool is_own(const struct jit *j, int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == j->uid;
}

static int own_file(const struct jit *j, int fd)
{
	fd = identity_reopen(fd);
	if (fd >= 0 && !is_own(j, fd)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

void jit_dump_mapped(struct maps *m, struct life *l, struct space *s, const struct maps_record *r)
{
	const char *name = path_name(r->name);
	int pid, end = 0;

	if (!m->proc || sscanf(name, "jit-%d.dump%n", &pid, &end) != 1 || !end)
		return;
	struct jit *j = jit_of(l, s);

	if (j->dump >= 0 || !read_status(m->proc, j, l->pid))
		return;
	const int root = identity_root(m->proc, l->pid);

	if (root < 0)
		return;
	hold(m, &j->dump,
	     own_file(j, identity_open_below(root, r->name, O_PATH,
					     RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS)));
	close(root);
}

static void open_map(struct maps *m, struct space *s, struct jit *j)
{
	char name[32];

	const uint64_t now = sideband_now();

	jit_prepare(m, j->life, s);
	if (j->tmp < 0 || (j->opened_ns && now - j->opened_ns < OPEN_NS))
		return;
	j->opened_ns = now;
	snprintf(name, sizeof(name), "perf-%d.map", j->own_pid);
	hold(m, &j->map,
	     own_file(j, identity_open_below(j->tmp, name, O_PATH | O_NOFOLLOW,
					     RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS)));
	if (j->map >= 0)
		let_go(m, &j->tmp);
}

/* ---- Functions ---- */

static uint32_t entry_at(const struct jit *j, uint64_t address)
{
	struct interval at;

	return range_sets_find(j->maps->intervals, j->root, address, &at) ? at.what : MAPS_NONE;
}

/* Forgets functions whose place others have taken. */
static void sweep(struct jit *j)
{
	struct interval at;
	uint32_t *number = x_malloc(j->nentries * sizeof(*number));
	struct entry *kept = NULL;
	size_t nkept = 0;
	uint32_t root = 0;

	for (uint64_t a = 0; range_sets_next(j->maps->intervals, j->root, a, &at); a = at.end)
		j->entries[at.what].used = true;
	for (size_t i = 0; i < j->nentries; i++) {
		number[i] = (uint32_t)nkept;
		if (j->entries[i].used) {
			j->entries[i].used = false;
			*ARRAY_ADD(kept, nkept) = j->entries[i];
		} else {
			free(j->entries[i].name);
		}
	}
	for (uint64_t a = 0; range_sets_next(j->maps->intervals, j->root, a, &at); a = at.end) {
		at.what = number[at.what];
		root = range_sets_set(j->maps->intervals, root, at);
	}
	range_sets_drop(j->maps->intervals, j->root);
	j->root = root;
	free(j->entries);
	free(number);
	j->entries = kept;
	j->nentries = nkept;
}

static void add_function(void *self, const struct jit_load *l)
{
	struct jit *j = self;
	const char *name = l->name;
	size_t n = l->name_bytes;
	uint64_t code_at = l->code_at;

	if (!n) {
		const uint32_t moved = entry_at(j, l->code_at);

		if (moved == MAPS_NONE)
			return;
		name = j->entries[moved].name;
		n = strlen(name);
		code_at = j->entries[moved].code_at;
	}
	char *copy = x_strndup(name, n);

	if (j->nentries >= ENTRIES_MAX)
		sweep(j);
	if (j->nentries >= ENTRIES_MAX) {
		free(copy);
		return;
	}
	const uint32_t what = (uint32_t)j->nentries;

	*ARRAY_ADD(j->entries, j->nentries) =
	    (struct entry){ copy, l->start, l->size_bytes, j->from_dump ? code_at : 0, false };
	/* base is the start, so that two functions never look like one. */
	j->root =
	    range_sets_set(j->maps->intervals, j->root,
			   (struct interval){ l->start, l->start + l->size_bytes, l->start, what });
}

static void read_map(struct jit *j)
{
	char *chunk = x_malloc(CHUNK_BYTES);
	size_t done = 0;

	while (done < READ_BYTES && j->map_at < TOTAL_BYTES) {
		const ssize_t n = pread(j->map, chunk, CHUNK_BYTES, (off_t)j->map_at);

		if (n <= 0)
			break;
		size_t used = jit_parse_map(chunk, (size_t)n, add_function, j);

		/* No line is that long: this is something else. */
		if (!used && n == CHUNK_BYTES)
			used = (size_t)n;
		if (!used)
			break;
		j->map_at += used;
		done += used;
	}
	free(chunk);
}

static void refresh(struct maps *m, struct space *s, struct jit *j)
{
	struct stat st;

	j->maps = m;
	if (j->map < 0)
		open_map(m, s, j);
	if (j->map >= 0 && fstat(j->map, &st) == 0 && (uint64_t)st.st_size > j->map_at) {
		j->from_dump = false;
		read_map(j);
	}
	if (j->dump >= 0 && !j->dump_bad && j->dump_at < TOTAL_BYTES) {
		j->from_dump = true;
		j->dump_bad = !jit_read_dump(j->dump, &j->dump_at, READ_BYTES, add_function, j);
	}
}

/* ---- Asking ---- */

static uint32_t image_of(struct maps *m, const struct life *l, const struct space *s)
{
	struct jit *j = s->jit;

	if (j->image != MAPS_NONE)
		return j->image;
	const char *program = s->exe == MAPS_NONE ? s->comm : path_name(m->images[s->exe].name);
	char *name = x_asprintf("[jit %s]", program);
	struct maps_image like = { .kind = LIVE_JIT, .name = name };

	/* Two processes generate different code. */
	snprintf(like.digest, sizeof(like.digest), "%d-%llu-%u", l->pid,
		 (unsigned long long)(l->start_ns ? l->start_ns : l->born_ns),
		 l->first_exec + (uint32_t)(s - l->spaces));
	j->image = maps_image_add(m, &like);
	m->images[j->image].jit = j;
	m->images[j->image].found = true;
	free(name);
	return j->image;
}

uint32_t jit_find(struct maps *m, struct life *l, struct space *s, uint64_t address)
{
	struct jit *j = jit_of(l, s);

	j->maps = m;
	if (entry_at(j, address) == MAPS_NONE) {
		if (!m->proc)
			return MAPS_NONE;
		refresh(m, s, j);
		if (entry_at(j, address) == MAPS_NONE)
			return MAPS_NONE;
	}
	return image_of(m, l, s);
}

bool jit_function(struct maps *m, struct jit *j, uint64_t address, struct jit_function *f)
{
	j->maps = m;
	const uint32_t i = entry_at(j, address);

	if (i == MAPS_NONE)
		return false;
	const struct entry *e = &j->entries[i];

	*f = (struct jit_function){ .start = e->start,
				    .size_bytes = e->size_bytes,
				    .name = e->name,
				    .code_fd = e->code_at ? j->dump : -1,
				    .code_at = e->code_at,
				    .pid = j->life->end_ns ? 0 : j->life->pid };
	return true;
}

void jit_forget(struct maps *m, struct jit *j)
{
	if (!j)
		return;
	if (j->image != MAPS_NONE)
		m->images[j->image].jit = NULL;
	let_go(m, &j->tmp);
	let_go(m, &j->map);
	let_go(m, &j->dump);
	range_sets_drop(m->intervals, j->root);
	for (size_t i = 0; i < j->nentries; i++)
		free(j->entries[i].name);
	free(j->entries);
	free(j);
}
