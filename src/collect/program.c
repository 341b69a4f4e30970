/* SPDX-License-Identifier: MIT */
/*
 * Loads the object that the build made of sample.bpf.c and put into this program (sample_object.h),
 * in a process of its own (apart.h), which keeps the kernel's types out of this one's memory.
 * The two tables of a processor are read where they are, through a mapping of the kernel's memory:
 * nothing is copied, and no call is made during which the kernel would drop samples.
 */
#include "collect/program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "collect/apart.h"
#include "collect/sample_object.h"

#define PAGE_BYTES 4096
/* dcpi1997 has 16 K entries. 36 K and a small second table are what fits into 1 MiB for each
 * processor together with the ring; in a compile storm they miss 6 points less (bench/live). */
#define TABLE_ENTRIES 36864
#define SMALL_PART    9 /* the second table has one in so many of the entries */
#define RING_BYTES    (1u << 18)
#define BLOCKS	      256
#define BLOCK_BYTES   448 /* struct block of sample.bpf.c, for the sum of memory alone */
#define IMAGES	      2048
#define IMAGE_BYTES   96
#define CUT_TRIES     1000000

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

static uint32_t power_of_two(uint64_t n, uint32_t least)
{
	uint32_t x = least;

	while (x < n && x < 1u << 30)
		x *= 2;
	return x;
}

/* ---- Loading ---- */

static bool cannot_load(int error, struct err *e)
{
	if (error == EPERM || error == EACCES)
		return err_set(e,
			       "cannot load the sampling program: %s; it needs CAP_BPF and "
			       "CAP_PERFMON, or root",
			       strerror(error));
	return err_set(e,
		       "cannot load the sampling program: %s; it needs Linux 5.17 or newer with "
		       "BTF (/sys/kernel/btf/vmlinux)",
		       strerror(error));
}

/* What the loader opens, in the order in which its descriptors come back; the programs of the events
 * follow. */
enum { FD_EMPTY, FD_CUT, FD_TABLE, FD_IMAGES, FD_RING, FD_CPUS, FD_SHARED, FD_SAMPLE };
static const char *const loaded_names[FD_SAMPLE] = { "empty", "cut",  "table", "images",
						     "ring",  "cpus", "shared" };

struct loading {
	struct program *program;
	const struct program_options *options;
	uint32_t ring_bytes;
	struct bpf_object *object;
};

/* Sizes of the maps and constants, which must be known before loading. */
static bool configure(const struct loading *l)
{
	const struct program *p = l->program;
	const struct program_options *o = l->options;
	struct bpf_map *constants = bpf_object__find_map_by_name(l->object, ".rodata");
	const struct sample_constants c = {
		.buckets = { p->buckets[0], p->buckets[1] },
		.blocks = BLOCKS,
		.count_max = o->count_max ? o->count_max : SAMPLE_COUNT_MAX,
		.ring_wake_bytes = l->ring_bytes / 2,
		.processes = o->processes,
		.threads = o->threads,
		.stacks = o->stacks,
		.edges = o->edges,
		.trace = o->trace,
	};
	const struct {
		const char *name;
		uint32_t entries;
	} sizes[] = { { "table", p->cpus * (p->buckets[0] + p->buckets[1]) },
		      { "cpus", p->cpus },
		      { "known", p->cpus * BLOCKS },
		      { "images", IMAGES },
		      { "ring", l->ring_bytes } };

	if (bpf_map__set_initial_value(constants, &c, sizeof(c)) != 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		if (bpf_map__set_max_entries(bpf_object__find_map_by_name(l->object, sizes[i].name),
					     sizes[i].entries) != 0)
			return false;
	return true;
}

static struct bpf_program *sample_program(const struct loading *l, uint32_t event)
{
	char name[24];

	snprintf(name, sizeof(name), "sample%u", event);
	return bpf_object__find_program_by_name(l->object, name);
}

/* The loader. Programs of events that are not there are not loaded. */
static int load(void *self, int *fds)
{
	const struct bpf_object_open_opts opts = { .sz = sizeof(opts), .object_name = "culprit" };
	struct loading *l = self;

	l->object = bpf_object__open_mem(sample_object, sample_object_bytes, &opts);
	if (!l->object)
		return errno;
	for (uint32_t i = l->options->nevents; i < SAMPLE_EVENTS; i++)
		bpf_program__set_autoload(sample_program(l, i), false);
	if (!configure(l))
		return EINVAL;
	const int failed = bpf_object__load(l->object);

	if (failed)
		return -failed;
	for (int i = 0; i < FD_SAMPLE; i++)
		fds[i] = i < FD_TABLE ? bpf_program__fd(bpf_object__find_program_by_name(
					    l->object, loaded_names[i]))
				      : bpf_object__find_map_fd_by_name(l->object, loaded_names[i]);
	for (uint32_t i = 0; i < l->options->nevents; i++)
		fds[FD_SAMPLE + i] = bpf_program__fd(sample_program(l, i));
	return 0;
}

static bool share(struct program *p, struct err *e)
{
	p->cpu_bytes = ((size_t)p->cpus * sizeof(struct sample_cpu) + PAGE_BYTES - 1) &
		       ~(size_t)(PAGE_BYTES - 1);
	p->cpu = mmap(NULL, p->cpu_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, p->fds[FD_CPUS], 0);
	p->shared =
	    mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, p->fds[FD_SHARED], 0);
	if (p->cpu == MAP_FAILED || p->shared == MAP_FAILED)
		return err_set(e, "cannot map the sampling tables: %s", strerror(errno));
	return true;
}

bool program_load(struct program *p, const struct program_options *o, struct err *e)
{
	struct loading l = { .program = p, .options = o };

	*p = (struct program){ .cpu = MAP_FAILED, .shared = MAP_FAILED };
	libbpf_set_print(quiet);
	const int cpus = libbpf_num_possible_cpus();

	if (cpus <= 0)
		return err_set(e, "cannot count the processors: is /sys mounted?");
	p->cpus = (uint32_t)cpus;
	p->buckets[0] = (o->table_entries ? o->table_entries : TABLE_ENTRIES) / SAMPLE_WAYS;
	p->buckets[0] += !p->buckets[0];
	p->buckets[1] = (p->buckets[0] + SMALL_PART - 1) / SMALL_PART;
	l.ring_bytes = power_of_two(o->ring_bytes ? o->ring_bytes : RING_BYTES, PAGE_BYTES);
	p->memory_bytes =
	    (uint64_t)p->cpus *
		((uint64_t)(p->buckets[0] + p->buckets[1]) * sizeof(struct sample_bucket) +
		 BLOCKS * BLOCK_BYTES + sizeof(struct sample_cpu) +
		 (o->stacks ? sizeof(struct sample_record_stack) : 0)) +
	    l.ring_bytes + IMAGES * IMAGE_BYTES;
	const size_t n = FD_SAMPLE + o->nevents;
	const int failed = apart(load, &l, p->fds, n, &p->load_cpu_s);

	if (failed)
		return cannot_load(failed, e);
	p->nfds = n;
	memcpy(p->sample_fd, p->fds + FD_SAMPLE, o->nevents * sizeof(int));
	p->empty_fd = p->fds[FD_EMPTY];
	p->cut_fd = p->fds[FD_CUT];
	p->table_fd = p->fds[FD_TABLE];
	p->images_fd = p->fds[FD_IMAGES];
	p->ring_fd = p->fds[FD_RING];
	if (!share(p, e)) {
		program_unload(p);
		return false;
	}
	return true;
}

void program_unload(struct program *p)
{
	if (p->cpu != MAP_FAILED)
		munmap(p->cpu, p->cpu_bytes);
	if (p->shared != MAP_FAILED)
		munmap(p->shared, PAGE_BYTES);
	for (size_t i = 0; i < p->nfds; i++)
		close(p->fds[i]);
	*p = (struct program){ .cpu = MAP_FAILED, .shared = MAP_FAILED };
}

/* ---- Cuts ---- */

/* A processor that is not online runs no handler. */
static void cut_offline(struct sample_cpu *c)
{
	c->turn = ((__u64)SAMPLE_EPOCH(c->turn) + 1) << 32;
	memcpy(c->at_cut, c->now, sizeof(c->now));
}

bool program_cut(struct program *p, uint32_t cpu, uint32_t *old, struct err *e)
{
	struct sample_cpu *c = &p->cpu[cpu];

	*old = SAMPLE_EPOCH(c->turn) & 1;
	for (unsigned i = 0; i < CUT_TRIES; i++) {
		struct bpf_test_run_opts run = { .sz = sizeof(run),
						 .flags = BPF_F_TEST_RUN_ON_CPU,
						 .cpu = cpu };
		const int failed = bpf_prog_test_run_opts(p->cut_fd, &run);

		if (failed == -ENXIO) {
			cut_offline(c);
			return true;
		}
		if (failed)
			return err_set(e, "cannot swap the tables of processor %u: %s", cpu,
				       strerror(-failed));
		if (!run.retval)
			return true;
		sched_yield(); /* it interrupted a handler, which runs on */
	}
	return err_set(e, "cannot swap the tables of processor %u: its handler does not end", cpu);
}

bool program_drain(struct program *p, uint32_t cpu, uint32_t which, uint32_t from, uint32_t count,
		   void (*fn)(void *self, uint32_t cpu, const struct sample_entry *e), void *self,
		   struct err *e)
{
	const size_t size = (size_t)count * sizeof(struct sample_bucket);
	const size_t at =
	    ((size_t)cpu * (p->buckets[0] + p->buckets[1]) + (which ? p->buckets[0] : 0) + from) *
	    sizeof(struct sample_bucket);
	const size_t begin = at & ~(size_t)(PAGE_BYTES - 1);
	const size_t bytes = (at + size - begin + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
	uint8_t *base =
	    mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, p->table_fd, (off_t)begin);

	if (base == MAP_FAILED)
		return err_set(e, "cannot map a sampling table: %s", strerror(errno));
	struct sample_bucket *b = (struct sample_bucket *)(base + (at - begin));

	for (uint32_t i = 0; i < count; i++)
		for (int w = 0; w < SAMPLE_WAYS; w++) {
			struct sample_entry *x = &b[i].way[w];

			if (!SAMPLE_COUNT(x->value))
				continue;
			fn(self, cpu, x);
			*x = (struct sample_entry){ 0 };
		}
	munmap(base, bytes);
	return true;
}

void program_forget_images(struct program *p)
{
	uint64_t key[4];

	while (bpf_map_get_next_key(p->images_fd, NULL, key) == 0)
		if (bpf_map_delete_elem(p->images_fd, key) != 0)
			break;
}
