/* SPDX-License-Identifier: MIT */
/*
 * Address spaces. A pid is not a process: each use of a pid is a struct life, and each program that
 * it executes a struct space with its own mappings. A fork shares the parent's mappings, and the
 * first change of either side copies what it changes (collect/intervals.h).
 *
 * A sample names its process by pid, start time and count of execve calls. The side-band has none
 * but the pid: a life is the one whose fork record is the first at or after the start time (the
 * kernel takes the start time just before it writes the record, on the same clock), and a space is
 * found by counting the execve calls of its life.
 *
 * What the side-band does not have: munmap, mremap and mprotect that takes the right to execute
 * away. A range that was unmapped keeps its image until another executable mapping is put there. No
 * code can run there meanwhile, so no sample is wrong; a moved mapping (mremap of code, which no
 * loader does) is unknown at its new place. A child of vfork, or of clone with CLONE_VM, is taken
 * for a fork: code that it maps before it calls execve is not known to its parent.
 */
#include "collect/maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/maps_int.h"
#include "util/array.h"

#define VERSIONS_MAX 64

/* ---- Lives ---- */

static size_t bucket(const struct maps *m, int32_t pid)
{
	return hash_u64((uint32_t)pid) & (m->nbuckets - 1);
}

struct life *maps_newest(const struct maps *m, int32_t pid)
{
	struct life *l = m->buckets[bucket(m, pid)];

	while (l && l->pid != pid)
		l = l->next;
	return l;
}

static void buckets_room(struct maps *m)
{
	if (m->nlives < m->nbuckets)
		return;
	struct life **old = m->buckets;
	const size_t nold = m->nbuckets;

	m->nbuckets *= 2;
	m->buckets = x_calloc(m->nbuckets, sizeof(struct life *));
	for (size_t i = 0; i < nold; i++)
		for (struct life *l = old[i], *next; l; l = next) {
			next = l->next;
			l->next = m->buckets[bucket(m, l->pid)];
			m->buckets[bucket(m, l->pid)] = l;
		}
	free(old);
}

static void life_end(struct life *l, uint64_t time_ns)
{
	if (!l->end_ns)
		l->end_ns = max_u64(time_ns, 1);
}

/* Adds a use of a pid; the one before it, if any, is over. */
static struct life *life_new(struct maps *m, int32_t pid, uint64_t time_ns)
{
	struct life *l = x_calloc(1, sizeof(*l));

	buckets_room(m);
	struct life **at = &m->buckets[bucket(m, pid)];

	while (*at && (*at)->pid != pid)
		at = &(*at)->next;
	if (*at) {
		life_end(*at, time_ns);
		l->next = (*at)->next;
		l->older = *at;
		l->older->next = NULL;
	}
	*at = l;
	l->pid = pid;
	l->threads = 1;
	l->uid = UINT32_MAX;
	m->nlives++;
	struct space *s = ARRAY_ADD(l->spaces, l->nspaces);

	*s = (struct space){ .since_ns = time_ns, .exe = MAPS_NONE, .process = MAPS_NONE };
	return l;
}

static void space_empty(struct maps *m, struct space *s)
{
	for (size_t i = 0; i < s->nversions; i++)
		range_sets_drop(m->intervals, s->versions[i].root);
	free(s->versions);
	s->versions = NULL;
	s->nversions = 0;
	range_sets_drop(m->intervals, s->root);
	s->root = 0;
	jit_forget(m, s->jit);
	s->jit = NULL;
}

static void life_free(struct maps *m, struct life *l)
{
	for (size_t i = 0; i < l->nspaces; i++)
		space_empty(m, &l->spaces[i]);
	free(l->spaces);
	free(l->container);
	free(l);
	m->nlives--;
}

/* The life that a record of its pid speaks of, made if there is none; NULL if the record is older
 * than what is known. */
static struct life *life_of_record(struct maps *m, const struct maps_record *r)
{
	struct life *l = maps_newest(m, r->pid);

	if (l && r->time_ns < l->snapshot_ns) {
		m->ignored++;
		return NULL;
	}
	/* A mapping after the end: the fork was not seen. */
	if (!l || (l->end_ns && r->time_ns > l->end_ns))
		l = life_new(m, r->pid, r->time_ns);
	l->record_ns = r->time_ns;
	return l;
}

/* ---- Mappings ---- */

/* Keeps the mappings as they were before a change, for counts that are older than it. */
static void keep_version(struct maps *m, struct space *s, uint64_t time_ns)
{
	if (s->nversions && s->versions[s->nversions - 1].until_ns == time_ns)
		return;
	if (s->nversions == VERSIONS_MAX) {
		range_sets_drop(m->intervals, s->versions[0].root);
		memmove(s->versions, s->versions + 1, --s->nversions * sizeof(*s->versions));
		/* ARRAY_ADD would take the count for a reason to enlarge. */
		s->versions[s->nversions++] =
		    (struct maps_version){ time_ns, range_sets_share(m->intervals, s->root) };
		return;
	}
	*ARRAY_ADD(s->versions, s->nversions) =
	    (struct maps_version){ time_ns, range_sets_share(m->intervals, s->root) };
}

/* Whether anything lies in a range. */
static bool is_covered(const struct maps *m, uint32_t root, uint64_t start, uint64_t end,
		       struct interval *first)
{
	return range_sets_next(m->intervals, root, start, first) && first->start < end;
}

void maps_space_put(struct maps *m, struct space *s, struct interval range, uint64_t time_ns)
{
	struct interval old;

	if (range.start >= range.end)
		return;
	if (is_covered(m, s->root, range.start, range.end, &old)) {
		if (old.start <= range.start && old.end >= range.end && old.what == range.what &&
		    old.base + (range.start - old.start) == range.base)
			return;
		keep_version(m, s, time_ns);
	}
	s->root = range_sets_set(m->intervals, s->root, range);
}

void maps_space_clear(struct maps *m, struct space *s, uint64_t start, uint64_t end,
		      uint64_t time_ns)
{
	struct interval old;

	if (start >= end || !is_covered(m, s->root, start, end, &old))
		return;
	keep_version(m, s, time_ns);
	s->root = range_sets_clear(m->intervals, s->root, start, end);
}

static uint64_t end_of(const struct maps_record *r)
{
	return r->size_bytes > UINT64_MAX - r->address ? UINT64_MAX : r->address + r->size_bytes;
}

static void put_mapping(struct maps *m, struct life *l, struct space *s,
			const struct maps_record *r)
{
	const uint32_t image = maps_image_of(m, r);
	const enum live_kind kind = m->images[image].kind;

	maps_space_put(
	    m, s,
	    (struct interval){ r->address, end_of(r), kind == LIVE_VDSO ? 0 : r->pgoff, image },
	    r->time_ns);
	/* The kernel maps the program before its interpreter and all libraries. */
	if (s->exe == MAPS_NONE && kind == LIVE_FILE)
		s->exe = image;
	if (image == MAPS_IMAGE_ANON)
		jit_prepare(m, l, s);
	else if (kind == LIVE_FILE)
		jit_dump_mapped(m, l, s, r);
}

static void add_user_mmap(struct maps *m, const struct maps_record *r)
{
	struct life *l = life_of_record(m, r);

	if (!l)
		return;
	if (r->prot & PROT_EXEC)
		put_mapping(m, l, maps_now(l), r);
	else
		maps_space_clear(m, maps_now(l), r->address, end_of(r), r->time_ns);
}

/* ---- Records ---- */

static void add_comm(struct maps *m, const struct maps_record *r)
{
	struct life *l = life_of_record(m, r);

	if (!l)
		return;
	if (r->exec) {
		struct space *old = maps_now(l);

		old->until_ns = r->time_ns;
		*ARRAY_ADD(l->spaces, l->nspaces) = (struct space){ .since_ns = r->time_ns,
								    .exe = MAPS_NONE,
								    .process = MAPS_NONE };
		l->threads = 1; /* execve ends all other threads */
	} else if (r->tid != r->pid) {
		return; /* a thread's own name */
	}
	struct space *s = maps_now(l);

	strncpy(s->comm, r->name, sizeof(s->comm) - 1);
	s->comm[sizeof(s->comm) - 1] = '\0';
}

static void add_fork(struct maps *m, const struct maps_record *r)
{
	struct life *known = maps_newest(m, r->pid);

	if (known && r->time_ns < known->snapshot_ns) {
		m->ignored++;
		return;
	}
	if (r->pid == r->ppid) {
		struct life *l = life_of_record(m, r);

		if (l)
			l->threads++;
		return;
	}
	struct life *l = life_new(m, r->pid, r->time_ns), *parent = maps_newest(m, r->ppid);

	l->born_ns = l->record_ns = r->time_ns;
	if (!parent)
		return;
	struct space *from = maps_now(parent), *to = maps_now(l);

	to->root = range_sets_share(m->intervals, from->root);
	to->exe = from->exe;
	to->looked = from->looked;
	memcpy(to->comm, from->comm, sizeof(to->comm));
	l->uid = parent->uid;
	l->cgroup = parent->cgroup;
	l->container = parent->container ? x_strdup(parent->container) : NULL;
	l->first_exec = parent->first_exec + parent->nspaces - 1;
	l->first_exec_known = parent->first_exec_known;
}

static void add_exit(struct maps *m, const struct maps_record *r)
{
	struct life *l = maps_newest(m, r->pid);

	if (!l || l->end_ns || r->time_ns < l->snapshot_ns)
		return;
	l->record_ns = r->time_ns;
	if (l->threads)
		l->threads--;
	if (!l->threads)
		life_end(l, r->time_ns);
}

static void add_ksymbol(struct maps *m, const struct maps_record *r)
{
	if (r->unregister) {
		maps_space_clear(m, &m->kernel, r->address, end_of(r), r->time_ns);
		return;
	}
	const struct maps_image like = { .kind = r->bpf ? LIVE_BPF : LIVE_MODULE,
					 .name = (char *)r->name };
	const uint32_t image = maps_image_add(m, &like);

	m->images[image].start = r->address;
	m->images[image].end = end_of(r);
	maps_space_put(m, &m->kernel, (struct interval){ r->address, end_of(r), 0, image },
		       r->time_ns);
}

/* Of a recorded file: "[kernel.kallsyms]_text" or a module. */
static void add_kernel_mmap(struct maps *m, const struct maps_record *r)
{
	const bool text =
	    strncmp(r->name, "[kernel.", 8) == 0 || strncmp(r->name, "[guest.kernel.", 14) == 0;
	struct maps_image like = { .kind = text ? LIVE_KERNEL : LIVE_MODULE,
				   .name = text ? "[kernel]" : (char *)r->name };
	uint64_t base = 0;

	maps_build_id_text(like.build_id, r->build_id, r->build_id_bytes);
	/* Offsets count from _stext, whose address comes as the page offset. */
	if (text && r->pgoff && r->pgoff >= r->address && r->pgoff < end_of(r))
		base = r->address - r->pgoff;
	maps_space_put(m, &m->kernel,
		       (struct interval){ r->address, end_of(r), base, maps_image_add(m, &like) },
		       r->time_ns);
}

void maps_add(struct maps *m, const struct maps_record *r)
{
	m->records++;
	m->time_ns = max_u64(m->time_ns, r->time_ns);
	switch (r->kind) {
	case MAPS_MMAP:
		if (r->kernel)
			add_kernel_mmap(m, r);
		else
			add_user_mmap(m, r);
		break;
	case MAPS_COMM:
		add_comm(m, r);
		break;
	case MAPS_FORK:
		add_fork(m, r);
		break;
	case MAPS_EXIT:
		add_exit(m, r);
		break;
	case MAPS_KSYMBOL:
		add_ksymbol(m, r);
		break;
	case MAPS_TEXT_POKE:
		break; /* changes bytes of the kernel's code, not where it lies or what it is called */
	}
}

/* ---- Processes that run already ---- */

/* The use of a pid that a reading of it is about, made if it is not known. NULL: what is known is
 * newer. */
static struct life *life_of_running(struct maps *m, const struct running *p)
{
	struct life *l = maps_newest(m, p->pid);

	if (l && !l->end_ns && !l->start_ns && (!l->born_ns || l->born_ns >= p->start_ns)) {
		l->start_ns = p->start_ns;
		l->start_in_ticks = p->start_in_ticks;
	}
	if (l && !l->end_ns && l->start_ns / MAPS_TICK_NS == p->start_ns / MAPS_TICK_NS) {
		if (l->record_ns > p->time_ns)
			return NULL;
		if (l->start_in_ticks)
			l->start_ns = p->start_ns;
	} else {
		l = life_new(m, p->pid, p->time_ns);
		l->start_ns = p->start_ns;
	}
	l->start_in_ticks &= p->start_in_ticks;
	return l;
}

void maps_put_running(struct maps *m, const struct running *p)
{
	struct life *l = life_of_running(m, p);

	if (!l)
		return;
	struct space *s = maps_now(l);

	l->snapshot_ns = p->time_ns;
	l->threads = (uint32_t)max_u64(p->threads, 1);
	l->uid = p->uid;
	if (p->exec_known) {
		l->first_exec = p->exec_id - (l->nspaces - 1);
		l->first_exec_known = true;
	}
	memcpy(s->comm, p->comm, sizeof(s->comm));
	s->looked = true;
	if (s->root) {
		keep_version(m, s, p->time_ns);
		range_sets_drop(m->intervals, s->root);
		s->root = 0;
		s->exe = MAPS_NONE;
	}
	for (size_t i = 0; i < p->nmaps; i++)
		put_mapping(m, l, s, &p->maps[i]);
}

/* ---- Finding ---- */

static bool same_start(const struct life *l, uint64_t start_ns)
{
	return l->start_in_ticks ? l->start_ns / MAPS_TICK_NS == start_ns / MAPS_TICK_NS
				 : l->start_ns == start_ns;
}

/* The use of a pid that began then; where that is not known, the one at that time, or the newest. */
static struct life *life_for(struct maps *m, struct maps_space space, uint64_t time_ns)
{
	struct life *born = NULL, *l = maps_newest(m, space.pid);

	if (!space.start_ns) {
		while (time_ns && l && l->older && l->born_ns > time_ns)
			l = l->older;
		return l;
	}
	for (; l; l = l->older) {
		if (l->start_ns) {
			if (same_start(l, space.start_ns)) {
				born = l;
				break;
			}
		} else if (!l->born_ns || l->born_ns >= space.start_ns) {
			born = l; /* or an older one, if that fits too */
		}
	}
	if (born) {
		born->start_ns = space.start_ns;
		born->start_in_ticks = false;
	}
	return born;
}

/*
 * The program of a life that a count of execve calls means. Where the first count is not known, the
 * one that is asked for first is taken for the newest program; asking for a larger one without a
 * record of it shows that it was an older one.
 */
static struct space *space_for(struct life *l, struct maps_space space, uint64_t time_ns)
{
	const uint32_t newest = l->nspaces - 1;

	if (!space.start_ns && !space.exec_id) {
		uint32_t at = newest;

		while (time_ns && at && l->spaces[at].since_ns > time_ns)
			at--;
		return &l->spaces[at];
	}
	if (!l->first_exec_known) {
		l->first_exec_known = true;
		l->first_exec = space.exec_id - newest;
	}
	uint32_t i = space.exec_id - l->first_exec;

	if ((int32_t)i > (int32_t)newest) {
		l->first_exec = space.exec_id - newest;
		i = newest;
	}
	return &l->spaces[(int32_t)i < 0 ? 0 : i];
}

static uint32_t root_at(const struct space *s, uint64_t time_ns)
{
	if (time_ns)
		for (size_t i = 0; i < s->nversions; i++)
			if (time_ns < s->versions[i].until_ns)
				return s->versions[i].root;
	return s->root;
}

/* Its user and container: what a sample told, what /proc says while it lives, or else those of its
 * parent. */
static void learn_owner(struct maps *m, struct life *l)
{
	const char *known = NULL;
	char *container = NULL;
	struct stat st;

	if (!m->proc)
		return;
	if (!l->told && !l->end_ns) {
		char *path = x_asprintf("%s/%d", m->proc, l->pid);

		if (stat(path, &st) == 0)
			l->uid = st.st_uid;
		free(path);
	}
	if (l->cgroup) {
		if (!m->containers)
			m->containers = containers_new();
		known = container_of_cgroup(m->containers, l->cgroup);
	}
	if (known)
		container = x_strdup(known);
	else if (!l->end_ns)
		container = container_of_process(m->proc, l->pid);
	if (!container)
		return;
	free(l->container);
	l->container = container;
}

/* A process as the sink wants it; texts are the maps' own. */
static struct live_process describe(struct maps *m, struct maps_space space, struct life *l,
				    struct space *s)
{
	struct live_process p = { .pid = space.pid,
				  .exec_id = space.exec_id,
				  .start_ns = space.start_ns,
				  .uid = UINT32_MAX,
				  .comm = space.pid || s ? "" : "swapper",
				  .exe = "",
				  .container = "" };

	if (!s)
		return p;
	if (!space.start_ns) {
		p.start_ns = l->born_ns;
		p.exec_id = l->first_exec + (uint32_t)(s - l->spaces);
	}
	learn_owner(m, l);
	p.uid = l->uid;
	p.comm = s->comm;
	p.exe = s->exe == MAPS_NONE ? "" : m->images[s->exe].name;
	p.container = l->container ? l->container : "";
	return p;
}

static uint32_t process_number(struct maps *m, struct maps_space space, struct life *l,
			       struct space *s)
{
	uint32_t *known = s ? &s->process : space.pid ? NULL : &m->idle;

	if (known && *known != MAPS_NONE)
		return *known;
	const struct live_process p = describe(m, space, l, s);
	const uint32_t number = m->sink.process(m->sink.self, &p);

	if (known)
		*known = number;
	return number;
}

#define VSYSCALL_START 0xffffffffff600000ull

static struct maps_place place_in_image(struct maps *m, uint32_t image, uint64_t offset)
{
	keep_hit(m, image, offset);
	return (struct maps_place){ .image = maps_image_number(m, image),
				    .offset = offset,
				    .own = image };
}

void maps_hit(struct maps *m, const struct maps_place *place)
{
	/* The image may have been forgotten, and another be in its place. */
	if (place->own < m->nimages && m->images[place->own].number == place->image)
		keep_hit(m, place->own, place->offset);
}

/* Generated code: by its name if it has one, else as one place of its program. */
static struct maps_place place_in_memory(struct maps *m, struct life *l, struct space *s,
					 uint64_t address)
{
	const uint32_t image = jit_find(m, l, s, address);

	if (image != MAPS_NONE)
		return place_in_image(m, image, address);
	char *name = x_asprintf("[jit %s]",
				s->exe == MAPS_NONE ? s->comm : path_name(m->images[s->exe].name));
	const struct maps_image like = { .kind = LIVE_ANON, .name = name };
	const uint32_t anonymous = maps_image_add(m, &like);

	free(name);
	return place_in_image(m, anonymous, 0);
}

static struct maps_place place_in_space(struct maps *m, struct life *l, struct space *s,
					uint64_t address, uint64_t time_ns)
{
	struct interval at;

	if (!range_sets_find(m->intervals, root_at(s, time_ns), address, &at))
		return (struct maps_place){ .image = MAPS_NONE };
	if (at.what == MAPS_IMAGE_ANON)
		return place_in_memory(m, l, s, address);
	return place_in_image(m, at.what, at.base + (address - at.start));
}

/* Reads a process that no record told of: one that began while records were lost, or before them.
 * Once for each program, so that addresses in nothing do not cost anything. */
static bool read_unknown(struct maps *m, struct maps_space space, struct life **l, struct space **s)
{
	if (!m->proc || (*s && ((*s)->looked || (*l)->end_ns || (*s)->until_ns)))
		return false;
	if (*s)
		(*s)->looked = true;
	if (!running_read_one(m, space.pid, space.start_ns))
		return false;
	*l = life_for(m, space, 0);
	*s = *l ? space_for(*l, space, 0) : NULL;
	return *s;
}

struct maps_place maps_find_at(struct maps *m, struct maps_space space, uint64_t address,
			       uint64_t time_ns)
{
	struct life *l = life_for(m, space, time_ns);
	struct space *s = l ? space_for(l, space, time_ns) : NULL;
	struct maps_place place = { .image = MAPS_NONE };

	if (s)
		place = place_in_space(m, l, s, address, time_ns);
	if (place.image != MAPS_NONE) {
		place.process = process_number(m, space, l, s);
		return place;
	}
	if (address >= VSYSCALL_START && address < VSYSCALL_START + 4096) {
		const struct maps_image like = { .kind = LIVE_VDSO, .name = "[vsyscall]" };

		place = place_in_image(m, maps_image_add(m, &like), address - VSYSCALL_START);
	} else if (read_unknown(m, space, &l, &s)) {
		place = place_in_space(m, l, s, address, time_ns);
	}
	if (place.image == MAPS_NONE)
		place = place_in_image(m, MAPS_IMAGE_UNKNOWN, 0);
	place.process = process_number(m, space, l, s);
	return place;
}

struct maps_place maps_find(struct maps *m, struct maps_space space, uint64_t address)
{
	return maps_find_at(m, space, address, 0);
}

static struct maps_place place_in_kernel(struct maps *m, uint64_t address)
{
	struct interval at;
	bool found = range_sets_find(m->intervals, m->kernel.root, address, &at);

	if (!found && m->kernel_hidden)
		return place_in_image(m, m->kernel_image, 0);
	/* A module may have come since. */
	if (!found && m->proc) {
		kernel_read_modules(m);
		found = range_sets_find(m->intervals, m->kernel.root, address, &at);
	}
	/* Code that was there when some of the counts were taken: a BPF program that is gone. */
	for (size_t i = m->kernel.nversions; !found && i > 0; i--)
		found = range_sets_find(m->intervals, m->kernel.versions[i - 1].root, address, &at);
	return found ? place_in_image(m, at.what, at.base + (address - at.start))
		     : place_in_image(m, MAPS_IMAGE_UNKNOWN, 0);
}

struct maps_place maps_find_kernel(struct maps *m, struct maps_space space, uint64_t address)
{
	struct life *l = life_for(m, space, 0);
	struct space *s = l ? space_for(l, space, 0) : NULL;

	kernel_read(m);
	struct maps_place place = place_in_kernel(m, address);

	/* A kernel thread has no mappings, but a name. The idle task is no process of /proc. */
	if (!s && space.pid)
		read_unknown(m, space, &l, &s);
	place.process = process_number(m, space, l, s);
	return place;
}

uint32_t maps_thread(struct maps *m, struct maps_space space, int32_t tid, uint64_t thread_ns,
		     const char *name)
{
	struct life *l = life_for(m, space, 0);
	struct space *s = l ? space_for(l, space, 0) : NULL;
	char *thread = x_strdup(name);

	if (!s && space.pid)
		read_unknown(m, space, &l, &s);
	struct live_process p = describe(m, space, l, s);

	p.tid = tid;
	p.thread_ns = thread_ns;
	p.thread = thread;
	const uint32_t number = m->sink.process(m->sink.self, &p);

	free(thread);
	return number;
}

void maps_tell(struct maps *m, struct maps_space space, uint32_t uid, uint64_t cgroup,
	       const char *name)
{
	struct life *l = life_for(m, space, 0);

	if (!l)
		return;
	l->told = true;
	l->uid = uid;
	l->cgroup = cgroup;
	struct space *s = space_for(l, space, 0);

	if (!s->comm[0])
		snprintf(s->comm, sizeof(s->comm), "%s", name);
}

void maps_publish(struct maps *m)
{
	keep_publish(m);
}

/* ---- Forgetting ---- */

static void forget_versions(struct maps *m, struct space *s, uint64_t time_ns)
{
	size_t n = 0;

	while (n < s->nversions && s->versions[n].until_ns <= time_ns)
		range_sets_drop(m->intervals, s->versions[n++].root);
	if (!n)
		return;
	struct maps_version *kept = NULL;
	size_t nkept = 0;

	for (; n < s->nversions; n++)
		*ARRAY_ADD(kept, nkept) = s->versions[n];
	free(s->versions);
	s->versions = kept;
	s->nversions = (uint32_t)nkept;
}

static void forget_spaces(struct maps *m, struct life *l, uint64_t time_ns)
{
	size_t n = 0;

	while (n + 1 < l->nspaces && l->spaces[n].until_ns <= time_ns)
		space_empty(m, &l->spaces[n++]);
	if (n) {
		struct space *kept = NULL;
		size_t nkept = 0;

		for (size_t i = n; i < l->nspaces; i++)
			*ARRAY_ADD(kept, nkept) = l->spaces[i];
		free(l->spaces);
		l->spaces = kept;
		l->nspaces = (uint32_t)nkept;
		l->first_exec += (uint32_t)n;
	}
	for (size_t i = 0; i < l->nspaces; i++)
		forget_versions(m, &l->spaces[i], time_ns);
}

void maps_mark_images(const struct maps *m, bool *used)
{
	used[MAPS_IMAGE_UNKNOWN] = used[MAPS_IMAGE_ANON] = true;
	if (m->vdso != MAPS_NONE)
		used[m->vdso] = true;
	if (m->kernel_read)
		used[m->kernel_image] = true;
	for (size_t b = 0; b < m->nbuckets; b++)
		for (const struct life *l = m->buckets[b]; l; l = l->next)
			for (const struct life *o = l; o; o = o->older)
				for (size_t i = 0; i < o->nspaces; i++)
					if (o->spaces[i].exe != MAPS_NONE)
						used[o->spaces[i].exe] = true;
}

static bool has_jit(const struct life *l)
{
	for (size_t i = 0; i < l->nspaces; i++)
		if (l->spaces[i].jit)
			return true;
	return false;
}

/* What is asked of ended processes until a cut, or what a caller still wants to ask. */
struct wanted {
	const int32_t *pids; /* sorted */
	size_t n;
	bool jit;
};

static bool is_wanted(const struct wanted *w, const struct life *l)
{
	const size_t at = ARRAY_SEARCH(w->n, i, w->pids[i] < l->pid);

	return (at < w->n && w->pids[at] == l->pid) || (w->jit && has_jit(l));
}

static void forget_lives(struct maps *m, uint64_t time_ns, const struct wanted *wanted)
{
	for (size_t b = 0; b < m->nbuckets; b++)
		for (struct life **at = &m->buckets[b]; *at;) {
			struct life *newest = *at, **older = &newest->older;

			while (*older) {
				struct life *l = *older;

				if (is_wanted(wanted, l)) {
					older = &l->older;
					continue;
				}
				forget_spaces(m, l, time_ns);
				if (l->end_ns > time_ns) {
					older = &l->older;
					continue;
				}
				*older = l->older;
				life_free(m, l);
			}
			if (is_wanted(wanted, newest)) {
				at = &newest->next;
				continue;
			}
			forget_spaces(m, newest, time_ns);
			if (newest->end_ns && newest->end_ns <= time_ns && !newest->older) {
				*at = newest->next;
				life_free(m, newest);
			} else {
				at = &newest->next;
			}
		}
}

void maps_forget(struct maps *m, uint64_t time_ns)
{
	forget_versions(m, &m->kernel, time_ns);
	forget_lives(m, time_ns, &(struct wanted){ 0 });
	maps_images_sweep(m);
}

void maps_forget_ended(struct maps *m, uint64_t time_ns, const int32_t *pids, size_t n)
{
	forget_lives(m, time_ns, &(struct wanted){ pids, n, true });
}

bool maps_goes_on(const struct maps *m, int32_t pid)
{
	const struct life *l = maps_newest(m, pid);

	return l && !l->end_ns && !l->older && l->nspaces == 1;
}

/* ---- The whole ---- */

struct maps *maps_new(const struct live_sink *sink, const char *proc)
{
	struct maps *m = x_calloc(1, sizeof(*m));
	uint64_t seed = 0;

	/* Without random bytes only hostile addresses are slow. */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) < 0)
		seed = 0;
	m->sink = *sink;
	m->proc = proc ? x_strdup(proc) : NULL;
	m->intervals = range_sets_new(seed);
	m->nbuckets = 256;
	m->buckets = x_calloc(m->nbuckets, sizeof(struct life *));
	m->kernel = (struct space){ .exe = MAPS_NONE, .process = MAPS_NONE };
	m->vdso = m->idle = MAPS_NONE;
	m->running_fd = -1;
	maps_image_add(m, &(struct maps_image){ .kind = LIVE_UNKNOWN, .name = "[unknown]" });
	maps_image_add(m, &(struct maps_image){ .kind = LIVE_ANON, .name = "[jit]" });
	return m;
}

void maps_free(struct maps *m)
{
	if (!m)
		return;
	for (size_t b = 0; b < m->nbuckets; b++)
		for (struct life *l = m->buckets[b], *next; l; l = next) {
			next = l->next;
			for (struct life *o = l, *older; o; o = older) {
				older = o->older;
				life_free(m, o);
			}
		}
	space_empty(m, &m->kernel);
	free(m->buckets);
	maps_images_free(m);
	containers_free(m->containers);
	if (m->running_fd >= 0)
		close(m->running_fd);
	kernel_free(m);
	range_sets_free(m->intervals);
	free(m->proc);
	free(m);
}

struct maps_status maps_status(const struct maps *m)
{
	size_t spaces = 0;

	for (size_t b = 0; b < m->nbuckets; b++)
		for (struct life *l = m->buckets[b]; l; l = l->next)
			for (struct life *o = l; o; o = o->older)
				spaces += o->nspaces;
	return (struct maps_status){
		.spaces = spaces,
		.images = m->nimages - m->nfree_images,
		.mappings = range_sets_used(m->intervals),
		.memory_bytes = range_sets_bytes(m->intervals) + m->nlives * sizeof(struct life) +
				spaces * sizeof(struct space) +
				m->nimages * sizeof(struct maps_image) + m->kept_bytes +
				kernel_bytes(m) + m->nbuckets * sizeof(struct life *),
		.records = m->records,
		.ignored = m->ignored,
		.load_cpu_s = m->load_cpu_s,
	};
}

const char *const *maps_notes(const struct maps *m, size_t *n)
{
	*n = m->nnotes;
	return (const char *const *)m->notes;
}
