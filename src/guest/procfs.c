/* SPDX-License-Identifier: MIT */
/*
 * Files that the host's kernel would make up about itself or about this program, made up here about
 * the guest: the part of /proc and /sys that C libraries, language runtimes and common programs
 * read. Each is written into an anonymous file when it is opened.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guest/process.h"

static void write_maps(struct guest *g, FILE *out)
{
	for (size_t i = 0; i < g->mem.nregions; i++) {
		const struct mem_region *r = &g->mem.regions[i];
		const char *name = r->name;
		int n;

		if (!name && !r->file && r->start < g->brk && r->end > g->brk_start)
			name = "[heap]";
		n = fprintf(out, "%08llx-%08llx %c%c%c%c %08llx %02x:%02x %llu",
			    (unsigned long long)r->start, (unsigned long long)r->end,
			    r->prot & MEM_R ? 'r' : '-', r->prot & MEM_W ? 'w' : '-',
			    r->prot & MEM_X ? 'x' : '-', r->shared ? 's' : 'p',
			    (unsigned long long)r->offset, r->file ? 8u : 0u, r->file ? 1u : 0u,
			    (unsigned long long)r->ino);
		fprintf(out, name ? "%*s%s\n" : "\n", 73 - n, " ", name);
	}
}

static void write_auxv(struct guest *g, FILE *out)
{
	fwrite(g->auxv, 1, g->auxv_bytes, out);
}

static uint64_t mapped_bytes(const struct guest *g)
{
	uint64_t n = 0;

	for (size_t i = 0; i < g->mem.nregions; i++)
		n += g->mem.regions[i].end - g->mem.regions[i].start;
	return n;
}

static void write_stat(struct guest *g, FILE *out)
{
	uint64_t ticks = clock_cpu_ns(g) / 10000000;
	uint64_t vsize = mapped_bytes(g);

	fprintf(out,
		"%d (%s) R %d %d %d 0 -1 4194304 0 0 0 0 %llu 0 0 0 20 0 %zu 0 10000 %llu %llu "
		"18446744073709551615 0 0 %llu 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
		g->pid, g->threads[0]->name, g->ppid, g->pid, g->pid, (unsigned long long)ticks,
		g->live, (unsigned long long)vsize, (unsigned long long)(vsize / GUEST_PAGE_BYTES),
		(unsigned long long)GUEST_STACK_TOP);
}

static void write_status(struct guest *g, FILE *out)
{
	unsigned long long kib = mapped_bytes(g) / 1024;

	fprintf(out,
		"Name:\t%s\nUmask:\t%04o\nState:\tR "
		"(running)\nTgid:\t%d\nPid:\t%d\nPPid:\t%d\nTracerPid:\t0\n"
		"Uid:\t%d\t%d\t%d\t%d\nGid:\t%d\t%d\t%d\t%d\nVmPeak:\t%llu kB\nVmSize:\t%llu kB\n"
		"VmHWM:\t%llu kB\nVmRSS:\t%llu "
		"kB\nThreads:\t%zu\nCpus_allowed:\t1\nCpus_allowed_list:\t0\n",
		g->threads[0]->name, g->umask_value, g->pid, g->pid, g->ppid, GUEST_UID, GUEST_UID,
		GUEST_UID, GUEST_UID, GUEST_UID, GUEST_UID, GUEST_UID, GUEST_UID, kib, kib, kib,
		kib, g->live);
}

static void write_strings(FILE *out, char **v)
{
	for (; v && *v; v++)
		fwrite(*v, 1, strlen(*v) + 1, out);
}

static void write_cmdline(struct guest *g, FILE *out)
{
	write_strings(out, g->argv_now);
}

static void write_environ(struct guest *g, FILE *out)
{
	write_strings(out, g->envp_now);
}

static void write_comm(struct guest *g, FILE *out)
{
	fprintf(out, "%s\n", g->cur->name);
}

static void write_statm(struct guest *g, FILE *out)
{
	unsigned long long pages = mapped_bytes(g) / GUEST_PAGE_BYTES;

	fprintf(out, "%llu %llu 0 0 0 %llu 0\n", pages, pages, pages);
}

static void write_limits(struct guest *g, FILE *out)
{
	fprintf(out,
		"Limit                     Soft Limit           Hard Limit           Units     \n");
	fprintf(out, "Max stack size            %-20llu %-20s bytes     \n",
		(unsigned long long)g->limit[3].cur, "unlimited");
	fprintf(out, "Max open files            %-20llu %-20llu files     \n",
		(unsigned long long)g->limit[7].cur, (unsigned long long)g->limit[7].max);
}

static void write_cpuinfo(struct guest *g, FILE *out)
{
	(void)g;
	fprintf(
	    out,
	    "processor\t: 0\nhart\t\t: 0\nisa\t\t: rv64imafdc_zicbop_zicntr_zicond_zicsr_zifencei"
	    "_zba_zbb_zbs\nmmu\t\t: sv39\nuarch\t\t: culprit\n\n");
}

static void write_meminfo(struct guest *g, FILE *out)
{
	(void)g;
	fprintf(out, "MemTotal:        8388608 kB\nMemFree:         6291456 kB\nMemAvailable:    "
		     "7340032 kB\n"
		     "Buffers:               0 kB\nCached:                0 kB\nSwapTotal:         "
		     "    0 kB\n"
		     "SwapFree:              0 kB\n");
}

static void write_uptime(struct guest *g, FILE *out)
{
	uint64_t ms = clock_boot_ns(g) / 10000000;

	fprintf(out, "%llu.%02llu 0.00\n", (unsigned long long)(ms / 100),
		(unsigned long long)(ms % 100));
}

static void write_loadavg(struct guest *g, FILE *out)
{
	fprintf(out, "0.00 0.00 0.00 1/1 %d\n", g->pid);
}

static void write_cpu_stat(struct guest *g, FILE *out)
{
	unsigned long long ticks = clock_cpu_ns(g) / 10000000;

	fprintf(
	    out,
	    "cpu  %llu 0 0 0 0 0 0 0 0 0\ncpu0 %llu 0 0 0 0 0 0 0 0 0\nintr 0\nctxt 0\nbtime %llu\n"
	    "processes 1\nprocs_running 1\nprocs_blocked 0\n",
	    ticks, ticks, (unsigned long long)((clock_real_ns(g) - clock_boot_ns(g)) / NS_PER_SEC));
}

static void write_one_cpu(struct guest *g, FILE *out)
{
	(void)g;
	fputs("0\n", out);
}

static void write_version(struct guest *g, FILE *out)
{
	(void)g;
	fputs("Linux version 6.12.0 (culprit) #1 SMP\n", out);
}

static void write_osrelease(struct guest *g, FILE *out)
{
	(void)g;
	fputs("6.12.0\n", out);
}

static void write_pid_max(struct guest *g, FILE *out)
{
	(void)g;
	fputs("4194304\n", out);
}

static void write_overcommit(struct guest *g, FILE *out)
{
	(void)g;
	fputs("0\n", out);
}

static void write_cgroup(struct guest *g, FILE *out)
{
	(void)g;
	fputs("0::/\n", out);
}

static void write_hugepages(struct guest *g, FILE *out)
{
	(void)g;
	fputs("always madvise [never]\n", out);
}

static void write_boot_id(struct guest *g, FILE *out)
{
	fprintf(out, "%08llx-0000-4000-8000-000000000000\n",
		(unsigned long long)(uint32_t)g->config.seed);
}

/* A name that begins with "self/" stands for this process under any of its names. */
static const struct {
	const char *path;
	void (*write)(struct guest *g, FILE *out);
} made_up[] = {
	{ "self/maps", write_maps },
	{ "self/smaps", write_maps },
	{ "self/auxv", write_auxv },
	{ "self/stat", write_stat },
	{ "self/status", write_status },
	{ "self/cmdline", write_cmdline },
	{ "self/environ", write_environ },
	{ "self/comm", write_comm },
	{ "self/statm", write_statm },
	{ "self/limits", write_limits },
	{ "self/cgroup", write_cgroup },
	{ "/proc/cpuinfo", write_cpuinfo },
	{ "/proc/meminfo", write_meminfo },
	{ "/proc/uptime", write_uptime },
	{ "/proc/loadavg", write_loadavg },
	{ "/proc/stat", write_cpu_stat },
	{ "/proc/version", write_version },
	{ "/proc/sys/kernel/osrelease", write_osrelease },
	{ "/proc/sys/kernel/pid_max", write_pid_max },
	{ "/proc/sys/kernel/random/boot_id", write_boot_id },
	{ "/proc/sys/vm/overcommit_memory", write_overcommit },
	{ "/sys/devices/system/cpu/online", write_one_cpu },
	{ "/sys/devices/system/cpu/possible", write_one_cpu },
	{ "/sys/devices/system/cpu/present", write_one_cpu },
	{ "/sys/kernel/mm/transparent_hugepage/enabled", write_hugepages },
};

/* The part behind "/proc/self/", if path is about this process. */
static const char *about_self(const struct guest *g, const char *path)
{
	unsigned pid, tid;
	int n = 0;

	if (strncmp(path, "/proc/", 6) != 0)
		return NULL;
	path += 6;
	if (strncmp(path, "self/", 5) == 0)
		path += 5;
	else if (strncmp(path, "thread-self/", 12) == 0)
		path += 12;
	else if (sscanf(path, "%u/%n", &pid, &n) == 1 && n && pid == (unsigned)g->pid)
		path += n;
	else
		return NULL;
	n = 0;
	if (sscanf(path, "task/%u/%n", &tid, &n) == 1 && n)
		path += n;
	return path;
}

static int made_up_file(struct guest *g, void (*write)(struct guest *g, FILE *out))
{
	int fd = memfd_create("procfs", MFD_CLOEXEC);
	FILE *out = fd < 0 ? NULL : fdopen(dup(fd), "w");

	if (!out) {
		if (fd >= 0)
			close(fd);
		return -ENOMEM;
	}
	write(g, out);
	fclose(out);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

int procfs_open(struct guest *g, const char *path, int flags, enum fd_kind *kind)
{
	const char *self;

	*kind = FD_PLAIN;
	if (path[0] != '/')
		return 0;
	if (!g->config.real_time &&
	    (strcmp(path, "/dev/urandom") == 0 || strcmp(path, "/dev/random") == 0)) {
		int fd = open("/dev/zero", (flags & O_ACCMODE) | O_CLOEXEC);

		*kind = FD_RANDOM;
		return fd < 0 ? -errno : fd;
	}
	if (strncmp(path, "/proc/", 6) != 0 && strncmp(path, "/sys/", 5) != 0 &&
	    strcmp(path, "/dev/fd") != 0)
		return 0;
	self = about_self(g, path);
	if (strcmp(path, "/dev/fd") == 0 ||
	    (self && (strcmp(self, "fd") == 0 || strcmp(self, "fd/") == 0))) {
		int fd = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		*kind = FD_PROCFD;
		return fd < 0 ? -errno : fd;
	}
	for (size_t i = 0; i < ARRAY_LEN(made_up); i++) {
		bool of_self = made_up[i].path[0] != '/';

		if (of_self ? self && strcmp(self, made_up[i].path + 5) == 0
			    : strcmp(path, made_up[i].path) == 0)
			return made_up_file(g, made_up[i].write);
	}
	if (self)
		return -ENOENT; /* the host's answer would be about this program */
	return 0;
}
