/* SPDX-License-Identifier: MIT */
/*
 * Processes that run already. Their mappings come from the BPF iterator over tasks' mappings where
 * there is one (collect/running_bpf.c): it needs no right to trace them, gives their count of execve
 * calls, and leaves out all that is not executable. Else from /proc/PID/maps.
 *
 * The side-band is opened before, and its records wait meanwhile. Each process carries the time from
 * just before it was read: older records of it are ignored, since their effect was read; younger ones
 * are applied again, which changes nothing if their effect was read too. So nothing is missed, and
 * nothing old covers something new.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "collect/maps_int.h"
#include "collect/running_bpf.h"
#include "collect/sideband.h"
#include "util/array.h"

#define LINE_BYTES 8192

/* ---- /proc ---- */

/* "pid (comm) state ppid …": the name may hold anything, so fields are counted from the last ')'. */
static bool parse_stat(char *text, struct running *p)
{
	char *open = strchr(text, '('), *close = strrchr(text, ')');
	unsigned long long start;
	unsigned threads;

	if (!open || !close || close < open)
		return false;
	*close = '\0';
	snprintf(p->comm, sizeof(p->comm), "%s", open + 1);
	if (sscanf(
		close + 1,
		" %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %u %*d %llu",
		&threads, &start) != 2)
		return false;
	p->threads = threads;
	p->start_ns = start * (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK));
	p->start_in_ticks = true;
	return true;
}

static bool read_stat(const char *proc, struct running *p)
{
	char *path = x_asprintf("%s/%d/stat", proc, p->pid), text[1024];
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	free(path);
	if (fd < 0)
		return false;
	const ssize_t n = read(fd, text, sizeof(text) - 1);

	p->uid = fstat(fd, &st) == 0 ? st.st_uid : UINT32_MAX;
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return parse_stat(text, p);
}

/* In /proc/PID/maps a line end in a name is "\012", and nothing else is changed. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (strncmp(s, "\\012", 4) == 0) {
			*to++ = '\n';
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

static bool parse_mapping(char *line, struct maps_record *r)
{
	unsigned long long start, end, offset, inode;
	unsigned major, minor;
	char rights[5];
	int name = 0;

	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %n", &start, &end, rights, &offset, &major,
		   &minor, &inode, &name) < 7 ||
	    !name || end <= start || strlen(rights) < 4 || rights[2] != 'x')
		return false;
	line[strcspn(line, "\n")] = '\0';
	unescape(line + name);
	*r = (struct maps_record){ .kind = MAPS_MMAP,
				   .address = start,
				   .size_bytes = end - start,
				   .pgoff = offset,
				   .prot = PROT_READ | PROT_EXEC,
				   .shared = rights[3] == 's',
				   .dev = makedev(major, minor),
				   .ino = inode,
				   .name = line + name };
	/* Anonymous memory counts from its address, as in the side-band. */
	if (!inode && line[name] != '[')
		r->pgoff = start;
	return true;
}

/* The caller frees the names and the array. False: this user may not read it, or it is gone. */
static bool read_maps(const char *proc, int32_t pid, struct maps_record **maps, size_t *nmaps)
{
	char *path = x_asprintf("%s/%d/maps", proc, pid), *line = x_malloc(LINE_BYTES);
	FILE *f = fopen(path, "re");
	bool read = false;

	free(path);
	*maps = NULL;
	*nmaps = 0;
	while (f && fgets(line, LINE_BYTES, f)) {
		struct maps_record r;

		read = true;
		if (!parse_mapping(line, &r))
			continue;
		r.pid = r.tid = pid;
		r.name = x_strdup(r.name);
		*ARRAY_ADD(*maps, *nmaps) = r;
	}
	/* A kernel thread has none, which is no error. */
	read |= f && !ferror(f);
	if (f)
		fclose(f);
	free(line);
	return read;
}

void running_free_maps(struct maps_record *maps, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free((char *)maps[i].name);
	free(maps);
}

bool running_read_one(struct maps *m, int32_t pid, uint64_t start_ns)
{
	struct running p = { .pid = pid, .time_ns = sideband_now() };
	struct maps_record *maps;
	size_t n;

	if (!m->proc || !read_stat(m->proc, &p) ||
	    (start_ns && start_ns / MAPS_TICK_NS != p.start_ns / MAPS_TICK_NS) ||
	    !read_maps(m->proc, pid, &maps, &n))
		return false;
	if (start_ns) {
		p.start_ns = start_ns;
		p.start_in_ticks = false;
	}
	p.maps = maps;
	p.nmaps = n;
	maps_put_running(m, &p);
	running_free_maps(maps, n);
	return true;
}

static bool read_all(struct maps *m, struct err *e)
{
	DIR *d = opendir(m->proc);
	size_t hidden = 0;
	struct dirent *entry;

	if (!d)
		return err_set(e, "%s: %s; mount procfs there", m->proc, strerror(errno));
	while ((entry = readdir(d))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		errno = 0;
		if (!running_read_one(m, atoi(entry->d_name), 0) &&
		    (errno == EACCES || errno == EPERM))
			hidden++;
	}
	closedir(d);
	if (hidden)
		maps_note(m,
			  "the mappings of %zu processes cannot be read: give CAP_SYS_PTRACE, or "
			  "CAP_BPF and CAP_PERFMON",
			  hidden);
	return true;
}

/* A process that was not found, of which nothing is known since: its end was missed, or it is a kernel
 * thread, which has no mappings. */
static void end_missing(struct maps *m, uint64_t begin_ns)
{
	for (size_t b = 0; b < m->nbuckets; b++)
		for (struct life *l = m->buckets[b]; l; l = l->next) {
			if (l->end_ns || l->snapshot_ns >= begin_ns || l->record_ns >= begin_ns)
				continue;
			char *path = x_asprintf("%s/%d", m->proc, l->pid);

			if (access(path, F_OK) < 0)
				l->end_ns = begin_ns;
			free(path);
		}
}

bool maps_read_running(struct maps *m, struct err *e)
{
	const uint64_t begin_ns = sideband_now();
	bool done;

	if (!m->proc)
		return err_set(e, "a recorded file has no running processes");
	kernel_read(m);
	m->scan = scan_new();
	done = running_bpf_read(m) || read_all(m, e);
	scan_free(m->scan);
	m->scan = NULL;
	end_missing(m, begin_ns);
	return done;
}
