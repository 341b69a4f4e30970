/* SPDX-License-Identifier: MIT */
/*
 * The facts of a collection: machine, kernel, times. Idle time comes from the kernel's own sums in
 * /proc/stat and never from samples: the timer of an idle processor may not fire at all.
 */
#include <ctype.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "collect/collector_int.h"
#include "util/array.h"

/* The first line of a small file, without its end; "" if it cannot be read. */
static char *first_line(const char *path)
{
	char line[256] = "";
	FILE *f = fopen(path, "re");

	if (f) {
		if (!fgets(line, sizeof(line), f))
			line[0] = '\0';
		fclose(f);
	}
	line[strcspn(line, "\n")] = '\0';
	return x_strdup(line);
}

/* The build-id of the running kernel, in hex; "" if it does not say. */
static char *kernel_build_id(void)
{
	uint8_t bytes[4096];
	char hex[2 * 64 + 1] = "";
	FILE *f = fopen("/sys/kernel/notes", "re");
	const size_t n = f ? fread(bytes, 1, sizeof(bytes), f) : 0;

	if (f)
		fclose(f);
	for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= n;) {
		Elf64_Nhdr h;

		memcpy(&h, bytes + at, sizeof(h));
		const size_t name = at + sizeof(h), content = name + ((h.n_namesz + 3u) & ~3u);

		if (h.n_namesz > n || h.n_descsz > n || content + h.n_descsz > n)
			break;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 &&
		    memcmp(bytes + name, "GNU", 4) == 0 && h.n_descsz <= 64) {
			for (size_t i = 0; i < h.n_descsz; i++)
				snprintf(hex + 2 * i, 3, "%02x", bytes[content + i]);
			break;
		}
		at = content + ((h.n_descsz + 3u) & ~3u);
	}
	return x_strdup(hex);
}

/* Idle time of all processors since boot. */
static uint64_t idle_ns(void)
{
	unsigned long long user, nice, system, idle = 0, iowait = 0;
	FILE *f = fopen("/proc/stat", "re");

	if (!f)
		return 0;
	if (fscanf(f, "cpu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &iowait) != 5)
		idle = iowait = 0;
	fclose(f);
	const long ticks = sysconf(_SC_CLK_TCK);

	return (idle + iowait) * (1000000000ull / (uint64_t)(ticks > 0 ? ticks : 100));
}

static uint64_t wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

int *collector_online(size_t *n)
{
	char *list = first_line("/sys/devices/system/cpu/online"), *at = list;
	int *cpus = NULL;

	*n = 0;
	while (isdigit((unsigned char)*at)) {
		const long first = strtol(at, &at, 10);
		const long last = *at == '-' ? strtol(at + 1, &at, 10) : first;

		for (long i = first; i <= last && i < 65536; i++)
			*ARRAY_ADD(cpus, *n) = (int)i;
		if (*at == ',')
			at++;
	}
	free(list);
	return cpus;
}

void collector_first_facts(struct collector *c)
{
	struct utsname u;
	struct live_facts *f = &c->facts;

	if (uname(&u) != 0)
		u = (struct utsname){ 0 };
	f->machine = x_strdup(u.nodename);
	f->kernel = x_strdup(u.release);
	f->boot_id = first_line("/proc/sys/kernel/random/boot_id");
	f->kernel_build_id = kernel_build_id();
	f->command = x_strdup(c->options.command ? c->options.command : "");
	f->cpus = (uint32_t)c->ncpus;
	f->budget = c->options.rate > 0 ? 0 : c->options.budget;
}

void collector_begin_facts(struct collector *c)
{
	c->facts.begin_ns = wall_ns();
	c->begin_idle_ns = idle_ns();
}

void collector_facts(struct collector *c)
{
	const uint64_t idle = idle_ns();

	c->facts.end_ns = wall_ns();
	c->facts.idle_ns = idle > c->begin_idle_ns ? idle - c->begin_idle_ns : 0;
	c->facts.interrupt_ns = c->interrupt_ns;
	c->facts.daemon_cpu_ns = collector_cpu_s(c) * 1e9;
}

void collector_free_facts(struct collector *c)
{
	free(c->facts.machine);
	free(c->facts.boot_id);
	free(c->facts.kernel);
	free(c->facts.kernel_build_id);
	free(c->facts.command);
}
