/* SPDX-License-Identifier: MIT */
/*
 * What the files of /proc say about the guest's processes, in the formats of Linux 6.12. Numbers
 * that the guest machine does not have (faults, switches, pages in memory) are zero, or what holds
 * if every mapped page is present.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "guest/files/fd.h"
#include "guest/files/nodes.h"
#include "guest/files/owner.h"
#include "guest/files/procfs.h"
#include "guest/kernel/clock.h"
#include "guest/kernel/sched.h"
#include "guest/kernel/signal.h"
#include "guest/memory/mem.h"
#include "guest/process/exec.h"
#include "guest/process/process.h"
#include "guest/process/procs.h"

#define WRITER(name) void proc_##name(struct guest *g, const struct node *n, FILE *out)

static bool is_other(const struct guest *g, const struct node *n)
{
	return n->pid != g->pid;
}

static struct proc_note *note_of(struct guest *g, int pid)
{
	return &g->procs->note[(pid - g->pid_base) % PROC_SLOTS];
}

void proc_note(struct guest *g)
{
	struct proc_note *note = note_of(g, g->pid);
	size_t used = 0;

	for (char **v = g->program.argv; v && *v && used < sizeof(note->cmdline); v++) {
		size_t n = min_u64(strlen(*v) + 1, sizeof(note->cmdline) - used);

		memcpy(note->cmdline + used, *v, n);
		used += n;
	}
	note->cmdline_bytes = (uint16_t)used;
	memcpy(note->comm, g->sched.threads[0]->name, sizeof(note->comm));
	note->ppid = g->ppid;
}

/* The thread that a file is about. */
static const struct thread *thread_of(struct guest *g, const struct node *n)
{
	const struct thread *t = n->tid ? thread_find(g, (uint32_t)n->tid) : NULL;

	return t ? t : g->sched.threads[0];
}

/* ---- memory ---- */

static const char *region_name(const struct guest *g, const struct mem_region *r)
{
	if (!r->name && !r->file && r->start < g->program.brk && r->end > g->program.brk_start)
		return "[heap]";
	return r->name;
}

static void region_line(const struct guest *g, const struct mem_region *r, FILE *out)
{
	const char *name = region_name(g, r);
	uint64_t dev = r->dev, ino = r->ino;
	int n;

	view_show_ids(g, &dev, &ino);
	n = fprintf(out, "%08" PRIx64 "-%08" PRIx64 " %c%c%c%c %08" PRIx64 " %02x:%02x %" PRIu64,
		    r->start, r->end, r->prot & MEM_R ? 'r' : '-', r->prot & MEM_W ? 'w' : '-',
		    r->prot & MEM_X ? 'x' : '-', r->shared ? 's' : 'p', r->offset,
		    r->file ? 8u : 0u, r->file ? 1u : 0u, ino);

	fprintf(out, name ? "%*s%s\n" : " \n", 73 - n, " ", name);
}

WRITER(maps)
{
	(void)n;
	for (size_t i = 0; i < g->mem.nregions; i++)
		region_line(g, &g->mem.regions[i], out);
}

struct usage {
	uint64_t kib, anonymous_kib, shared_kib;
};

static void usage_lines(const struct usage *u, FILE *out)
{
	const struct {
		const char *name;
		uint64_t kib;
	} line[] = {
		{ "Rss", u->kib },
		{ "Pss", u->kib },
		{ "Pss_Dirty", u->anonymous_kib },
		{ "Shared_Clean", 0 },
		{ "Shared_Dirty", u->shared_kib },
		{ "Private_Clean", u->kib - u->anonymous_kib - u->shared_kib },
		{ "Private_Dirty", u->anonymous_kib },
		{ "Referenced", u->kib },
		{ "Anonymous", u->anonymous_kib },
		{ "LazyFree", 0 },
		{ "AnonHugePages", 0 },
		{ "ShmemPmdMapped", 0 },
		{ "FilePmdMapped", 0 },
		{ "Shared_Hugetlb", 0 },
		{ "Private_Hugetlb", 0 },
		{ "Swap", 0 },
		{ "SwapPss", 0 },
		{ "Locked", 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(line); i++)
		fprintf(out, "%s:%*s%8" PRIu64 " kB\n", line[i].name,
			(int)(15 - strlen(line[i].name)), "", line[i].kib);
}

static struct usage usage_of(const struct mem_region *r)
{
	uint64_t kib = r->prot & (MEM_R | MEM_W | MEM_X) ? (r->end - r->start) / 1024 : 0;

	return (struct usage){ kib, r->file || r->shared ? 0 : kib, r->shared ? kib : 0 };
}

WRITER(smaps)
{
	(void)n;
	for (size_t i = 0; i < g->mem.nregions; i++) {
		const struct mem_region *r = &g->mem.regions[i];
		struct usage u = usage_of(r);

		region_line(g, r, out);
		fprintf(out,
			"Size:           %8" PRIu64 " kB\nKernelPageSize:        4 kB\n"
			"MMUPageSize:           4 kB\n",
			(r->end - r->start) / 1024);
		usage_lines(&u, out);
		fprintf(out, "THPeligible:           0\nVmFlags:%s%s%s%s mr mw me\n",
			r->prot & MEM_R ? " rd" : "", r->prot & MEM_W ? " wr" : "",
			r->prot & MEM_X ? " ex" : "", r->shared ? " sh" : "");
	}
}

static struct usage usage_of_all(const struct guest *g)
{
	struct usage all = { 0 };

	for (size_t i = 0; i < g->mem.nregions; i++) {
		struct usage u = usage_of(&g->mem.regions[i]);

		all.kib += u.kib;
		all.anonymous_kib += u.anonymous_kib;
		all.shared_kib += u.shared_kib;
	}
	return all;
}

WRITER(smaps_rollup)
{
	struct usage all = usage_of_all(g);
	const struct guest_mem *m = &g->mem;

	(void)n;
	if (m->nregions)
		fprintf(out, "%08" PRIx64 "-%08" PRIx64 " ---p 00000000 00:00 0%*s[rollup]\n",
			m->regions[0].start, m->regions[m->nregions - 1].end, 28, " ");
	usage_lines(&all, out);
}

static uint64_t mapped_bytes(const struct guest *g)
{
	uint64_t n = 0;

	for (size_t i = 0; i < g->mem.nregions; i++)
		n += g->mem.regions[i].end - g->mem.regions[i].start;
	return n;
}

WRITER(statm)
{
	uint64_t pages = is_other(g, n) ? 0 : mapped_bytes(g) / GUEST_PAGE_BYTES;
	struct usage u = is_other(g, n) ? (struct usage){ 0 } : usage_of_all(g);
	uint64_t code = 0;

	for (size_t i = 0; i < g->mem.nregions && !is_other(g, n); i++)
		if (g->mem.regions[i].prot & MEM_X)
			code +=
			    (g->mem.regions[i].end - g->mem.regions[i].start) / GUEST_PAGE_BYTES;
	fprintf(out, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " 0 %" PRIu64 " 0\n", pages,
		u.kib / 4, (u.kib - u.anonymous_kib) / 4, code, pages - code);
}

WRITER(auxv)
{
	(void)n;
	fwrite(g->program.auxv, 1, g->program.auxv_bytes, out);
}

/* ---- who it is ---- */

struct identity {
	int pid, tid, ppid, pgid, sid;
	char comm[16];
	char state;
	const char *state_word;
	size_t threads;
	uint64_t cpu_ns;
};

static struct identity identity_of(struct guest *g, const struct node *n)
{
	const struct proc_slot *s = proc_slot(g, n->pid);
	const struct proc_note *note = note_of(g, n->pid);
	struct identity id = { .pid = n->pid,
			       .tid = n->tid ? n->tid : n->pid,
			       .pgid = s->pgid,
			       .sid = s->sid,
			       .state = 'S',
			       .state_word = "sleeping",
			       .threads = 1,
			       .ppid = note->ppid,
			       .cpu_ns = s->cpu_ns };

	if (is_other(g, n)) {
		memcpy(id.comm, note->comm, sizeof(id.comm));
		id.comm[15] = 0;
		if (s->status & PROC_ENDED) {
			id.state = 'Z';
			id.state_word = "zombie";
		}
		return id;
	}
	memcpy(id.comm, thread_of(g, n)->name, sizeof(id.comm));
	id.ppid = g->ppid;
	id.threads = g->sched.live;
	id.cpu_ns = clock_cpu_ns(g);
	if (thread_of(g, n) == g->cur || !n->tid) {
		id.state = 'R';
		id.state_word = "running";
	}
	return id;
}

static void signal_sets(const struct guest *g, uint64_t *ignored, uint64_t *caught)
{
	*ignored = *caught = 0;
	for (int s = 1; s <= GUEST_SIGNALS; s++) {
		uint64_t bit = 1ull << (s - 1);

		if (g->signals.action[s].handler == 1)
			*ignored |= bit;
		else if (g->signals.action[s].handler)
			*caught |= bit;
	}
}

WRITER(stat)
{
	struct identity id = identity_of(g, n);
	bool other = is_other(g, n);
	uint64_t ignored, caught, low = 0, high = 0, vsize = other ? 0 : mapped_bytes(g);
	uint64_t ticks = id.cpu_ns / 10000000;
	const struct thread *t = thread_of(g, n);

	signal_sets(g, &ignored, &caught);
	for (size_t i = 0; i < g->nimages && !other; i++)
		if (g->program.host && !strcmp(g->images[i].path, g->program.host)) {
			low = g->images[i].start;
			high = g->images[i].end;
		}
	fprintf(out,
		"%d (%s) %c %d %d %d 0 -1 4194304 0 0 0 0 %" PRIu64 " 0 0 0 20 0 %zu 0 0 %" PRIu64
		" %" PRIu64 " 18446744073709551615",
		id.tid, id.comm, id.state, id.ppid, id.pgid, id.sid, ticks, id.threads, vsize,
		(uint64_t)(vsize / GUEST_PAGE_BYTES));
	fprintf(out,
		" %" PRIu64 " %" PRIu64 " %" PRIu64 " 0 0 %" PRIu64 " %" PRIu64 " %" PRIu64
		" %" PRIu64 " 0 0 0 17 0 0 0 0 0 0 %" PRIu64 " %" PRIu64 " %" PRIu64 " 0 0 0 0 0\n",
		low, high, other ? 0 : (uint64_t)GUEST_STACK_TOP,
		other ? 0 : (t->pending.set | g->signals.pending.set) & 0x7fffffff,
		other ? 0 : t->sigmask & 0x7fffffff, other ? 0 : ignored & 0x7fffffff,
		other ? 0 : caught & 0x7fffffff, low, high, other ? 0 : g->program.brk_start);
}

WRITER(status)
{
	struct identity id = identity_of(g, n);
	uint64_t ignored, caught;
	const struct thread *t = thread_of(g, n);
	struct usage u = usage_of_all(g);
	size_t fds = 0;

	for (size_t i = 0; i < g->nfds; i++)
		if (g->fds[i].kind != FD_CLOSED)
			fds = i + 1;
	fprintf(out, "Name:\t%s\n", id.comm);
	if (!is_other(g, n))
		fprintf(out, "Umask:\t%04o\n", g->umask_value);
	fprintf(out,
		"State:\t%c (%s)\nTgid:\t%d\nNgid:\t0\nPid:\t%d\nPPid:\t%d\nTracerPid:\t0\n"
		"Uid:\t%d\t%d\t%d\t%d\nGid:\t%d\t%d\t%d\t%d\nFDSize:\t%zu\nGroups:\t%d \n"
		"NStgid:\t%d\nNSpid:\t%d\nNSpgid:\t%d\nNSsid:\t%d\nKthread:\t0\n",
		id.state, id.state_word, id.pid, id.tid, id.ppid, GUEST_UID, GUEST_UID, GUEST_UID,
		GUEST_UID, GUEST_UID, GUEST_UID, GUEST_UID, GUEST_UID, (fds + 63) & ~(size_t)63,
		GUEST_UID, id.pid, id.tid, id.pgid, id.sid);
	if (!is_other(g, n)) {
		uint64_t kib = mapped_bytes(g) / 1024, stack = g->limit[RLIMIT_STACK].cur / 1024;

		fprintf(out,
			"VmPeak:\t%8" PRIu64 " kB\nVmSize:\t%8" PRIu64 " kB\nVmLck:\t       0 kB\n"
			"VmPin:\t       0 kB\nVmHWM:\t%8" PRIu64 " kB\nVmRSS:\t%8" PRIu64 " kB\n"
			"RssAnon:\t%8" PRIu64 " kB\nRssFile:\t%8" PRIu64 " kB\nRssShmem:\t%8" PRIu64
			" kB\n",
			kib, kib, u.kib, u.kib, u.anonymous_kib,
			u.kib - u.anonymous_kib - u.shared_kib, u.shared_kib);
		fprintf(out,
			"VmData:\t%8" PRIu64 " kB\nVmStk:\t%8" PRIu64 " kB\nVmExe:\t       0 kB\n"
			"VmLib:\t       0 kB\nVmPTE:\t       0 kB\nVmSwap:\t       0 kB\n",
			u.anonymous_kib, stack);
	}
	fprintf(out, "Threads:\t%zu\n", id.threads);
	if (!is_other(g, n)) {
		signal_sets(g, &ignored, &caught);
		fprintf(out,
			"SigQ:\t0/%" PRIu64 "\nSigPnd:\t%016" PRIx64 "\nShdPnd:\t%016" PRIx64
			"\nSigBlk:\t%016" PRIx64 "\nSigIgn:\t%016" PRIx64 "\nSigCgt:\t%016" PRIx64
			"\n",
			g->limit[RLIMIT_SIGPENDING].cur, t->pending.set, g->signals.pending.set,
			t->sigmask, ignored, caught);
	}
	fputs("CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"
	      "CapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t0\nSeccomp:\t0\n"
	      "Cpus_allowed:\t1\nCpus_allowed_list:\t0\nMems_allowed:\t1\nMems_allowed_list:\t0\n"
	      "voluntary_ctxt_switches:\t0\nnonvoluntary_ctxt_switches:\t0\n",
	      out);
}

static void write_strings(FILE *out, char **v)
{
	for (; v && *v; v++)
		fwrite(*v, 1, strlen(*v) + 1, out);
}

WRITER(cmdline)
{
	const struct proc_note *note = note_of(g, n->pid);

	if (!is_other(g, n))
		write_strings(out, g->program.argv);
	else if (!(proc_slot(g, n->pid)->status & PROC_ENDED))
		fwrite(note->cmdline, 1, min_u64(note->cmdline_bytes, sizeof(note->cmdline)), out);
}

WRITER(environ)
{
	(void)n;
	write_strings(out, g->program.envp);
}

WRITER(comm)
{
	struct identity id = identity_of(g, n);

	fprintf(out, "%s\n", id.comm);
}

/* ---- what it may and has ---- */

static const char *limit_text(uint64_t value, char text[24])
{
	if (value == UINT64_MAX)
		return "unlimited";
	snprintf(text, 24, "%" PRIu64, value);
	return text;
}

WRITER(limits)
{
	static const struct {
		const char *name, *unit;
	} line[16] = {
		{ "Max cpu time", "seconds" },	   { "Max file size", "bytes" },
		{ "Max data size", "bytes" },	   { "Max stack size", "bytes" },
		{ "Max core file size", "bytes" }, { "Max resident set", "bytes" },
		{ "Max processes", "processes" },  { "Max open files", "files" },
		{ "Max locked memory", "bytes" },  { "Max address space", "bytes" },
		{ "Max file locks", "locks" },	   { "Max pending signals", "signals" },
		{ "Max msgqueue size", "bytes" },  { "Max nice priority", NULL },
		{ "Max realtime priority", NULL }, { "Max realtime timeout", "us" },
	};
	char soft[24], hard[24];

	(void)n;
	fprintf(out, "%-25s %-20s %-20s %-10s\n", "Limit", "Soft Limit", "Hard Limit", "Units");
	for (size_t i = 0; i < ARRAY_LEN(line); i++) {
		fprintf(out, "%-25s %-20s %-20s ", line[i].name, limit_text(g->limit[i].cur, soft),
			limit_text(g->limit[i].max, hard));
		fprintf(out, line[i].unit ? "%-10s\n" : "\n", line[i].unit);
	}
}

WRITER(io)
{
	(void)g, (void)n;
	fputs("rchar: 0\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: 0\nwrite_bytes: 0\n"
	      "cancelled_write_bytes: 0\n",
	      out);
}

WRITER(schedstat)
{
	(void)n;
	fprintf(out, "%" PRIu64 " 0 1\n", clock_cpu_ns(g));
}

WRITER(fdinfo)
{
	const struct fd_entry *f = fd_get(g, (uint64_t)n->num);
	struct stat st = { 0 };
	off_t at;
	int flags;

	if (!f)
		return;
	at = lseek(f->host, 0, SEEK_CUR);
	flags = fd_flags(f);
	if (f->node.row)
		node_stat(g, &f->node, &st);
	else if (fstat(f->host, &st) == 0)
		owner_show(g, &st);
	fprintf(out, "pos:\t%lld\nflags:\t0%o\nmnt_id:\t%d\nino:\t%llu\n",
		(long long)(at < 0 ? 0 : at),
		((unsigned)flags & ~(unsigned)O_CLOEXEC) | (f->cloexec ? (unsigned)O_CLOEXEC : 0),
		20, (unsigned long long)st.st_ino);
}

static const struct {
	const char *from, *at, *type, *options;
	unsigned device;
} mounts[] = {
	{ "/dev/root", "/", "ext4", "rw,relatime", 1 },
	{ "proc", "/proc", "proc", "rw,nosuid,nodev,noexec,relatime", 21 },
	{ "sysfs", "/sys", "sysfs", "rw,nosuid,nodev,noexec,relatime", 22 },
	{ "tmpfs", "/dev", "tmpfs", "rw,nosuid,mode=755", 5 },
	{ "devpts", "/dev/pts", "devpts", "rw,nosuid,noexec,relatime,mode=620", 23 },
	{ "tmpfs", "/dev/shm", "tmpfs", "rw,nosuid,nodev", 24 },
};

WRITER(mounts)
{
	(void)g, (void)n;
	for (size_t i = 0; i < ARRAY_LEN(mounts); i++)
		fprintf(out, "%s %s %s %s 0 0\n", mounts[i].from, mounts[i].at, mounts[i].type,
			mounts[i].options);
}

WRITER(mountinfo)
{
	(void)g, (void)n;
	for (size_t i = 0; i < ARRAY_LEN(mounts); i++)
		fprintf(out, "%zu %d 0:%u / %s %s - %s %s rw\n", 20 + i,
			i == 0	? 1
			: i < 4 ? 20
				: 23,
			mounts[i].device, mounts[i].at, mounts[i].options, mounts[i].type,
			mounts[i].from);
}

/* ---- the machine ---- */

WRITER(uptime)
{
	uint64_t hundredths = clock_boot_ns(g) / 10000000;

	(void)n;
	fprintf(out, "%" PRIu64 ".%02" PRIu64 " 0.00\n", hundredths / 100, hundredths % 100);
}

WRITER(loadavg)
{
	(void)n;
	fprintf(out, "0.00 0.00 0.00 1/%d %d\n", g->procs->alive, g->pid);
}

WRITER(cpu_stat)
{
	uint64_t ticks = clock_cpu_ns(g) / 10000000;

	(void)n;
	fprintf(out,
		"cpu  %" PRIu64 " 0 0 0 0 0 0 0 0 0\ncpu0 %" PRIu64 " 0 0 0 0 0 0 0 0 0\nintr 0\n"
		"ctxt 0\nbtime %" PRIu64 "\nprocesses %d\nprocs_running 1\nprocs_blocked 0\n",
		ticks, ticks, (uint64_t)((clock_real_ns(g) - clock_boot_ns(g)) / NS_PER_SEC),
		g->procs->processes);
}

WRITER(boot_id)
{
	(void)n;
	fprintf(out, "%08x-0000-4000-8000-000000000000\n", (unsigned)(uint32_t)g->config.seed);
}

WRITER(uuid)
{
	uint64_t a = rng_next(&g->rng), b = rng_next(&g->rng);

	(void)n;
	fprintf(out, "%08x-%04x-4%03x-%04x-%012" PRIx64 "\n", (unsigned)(a >> 32),
		(unsigned)(a >> 16) & 0xffff, (unsigned)a & 0xfff,
		((unsigned)(b >> 48) & 0x3fff) | 0x8000, b & 0xffffffffffff);
}
