/* SPDX-License-Identifier: MIT */
/*
 * Event names. Those of the kernel's software events and the few that every processor has are in a
 * table; raw codes are rHEX; every other name is asked of libpfm4, if culprit was built with it
 * (events_pfm.c). A precise level is written behind the name, as for perf: ":p", ":pp".
 *
 * A virtual machine often has no counters. Then cycles are sampled by the kernel's clock, and the
 * other events of the processor are left out with a note.
 */
#include "collect/events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/events_pfm.h"
#include "util/array.h"
#include "util/nearest.h"

#define PMU_PERIOD 65536 /* of processor events other than cycles; dcpi1997 has 60 to 64 K */

struct known {
	const char *name;
	uint32_t type;
	uint64_t config;
};

#define CACHE(cache, op, result)                                                                   \
	(PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_##op << 8 |                          \
	 PERF_COUNT_HW_CACHE_RESULT_##result << 16)

static const struct known known[] = {
	{ "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
	{ "task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK },
	{ "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN },
	{ "major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ },
	{ "context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS },
	{ "emulation-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS },
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ "cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES },
	{ "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	{ "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
	/* The names of dcpi1997. */
	{ "imiss", PERF_TYPE_HW_CACHE, CACHE(L1I, READ, MISS) },
	{ "dmiss", PERF_TYPE_HW_CACHE, CACHE(L1D, READ, MISS) },
	{ "itbmiss", PERF_TYPE_HW_CACHE, CACHE(ITLB, READ, MISS) },
	{ "dtbmiss", PERF_TYPE_HW_CACHE, CACHE(DTLB, READ, MISS) },
	{ "branchmp", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
};

bool events_have_pmu(void)
{
	struct perf_event_attr a = { .type = PERF_TYPE_HARDWARE,
				     .size = sizeof(a),
				     .config = PERF_COUNT_HW_CPU_CYCLES,
				     .exclude_kernel = 1,
				     .disabled = 1 };
	const int fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* ---- Names ---- */

static bool unknown(const char *name, struct err *e)
{
	struct nearest n = { .word = name };

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		nearest_try(&n, known[i].name);
	nearest_try(&n, "default");
	nearest_try(&n, "mux");
	return err_set(e, "no event is called '%.60s'; did you mean '%s'?%s", name, n.best,
		       events_pfm_here() ? "" : " (names of one processor's events need libpfm4)");
}

/* Cuts ":p", ":pp", ":ppp" off the end of a name; returns the level. */
static unsigned precise_level(char *name)
{
	char *colon = strrchr(name, ':');
	unsigned level = 0;

	if (!colon || !colon[1] || strspn(colon + 1, "p") != strlen(colon + 1))
		return 0;
	level = (unsigned)strlen(colon + 1);
	*colon = '\0';
	return level;
}

static bool raw_code(const char *name, uint64_t *code)
{
	char *end;

	if (name[0] != 'r' || !name[1] ||
	    strspn(name + 1, "0123456789abcdefABCDEF") != strlen(name + 1))
		return false;
	errno = 0;
	*code = strtoull(name + 1, &end, 16);
	return !errno;
}

static bool encode(const char *name, struct perf_event_attr *a, struct err *e)
{
	uint64_t code;

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strcmp(known[i].name, name) == 0) {
			a->type = known[i].type;
			a->config = known[i].config;
			return true;
		}
	if (raw_code(name, &code)) {
		a->type = PERF_TYPE_RAW;
		a->config = code;
		return true;
	}
	return events_pfm_encode(name, a) || unknown(name, e);
}

bool events_encode(const char *name, bool kernel, struct event_spec *out, struct err *e)
{
	char *plain = x_strdup(name);
	const unsigned level = precise_level(plain);

	*out = (struct event_spec){ .attr = { .size = sizeof(out->attr), .disabled = 1 } };
	struct perf_event_attr *a = &out->attr;
	bool ok = encode(plain, a, e);

	if (ok && level > 3)
		ok = err_set(e, "'%.60s': a precise level is at most ppp", name);
	if (ok) {
		a->precise_ip = level & 3;
		a->exclude_kernel = a->exclude_kernel || !kernel;
		a->exclude_idle = 1;
		a->exclude_hv = 1;
		out->name = x_strdup(name);
		out->actual = x_strdup(plain);
		out->clock =
		    a->type == PERF_TYPE_SOFTWARE &&
		    (a->config == PERF_COUNT_SW_CPU_CLOCK || a->config == PERF_COUNT_SW_TASK_CLOCK);
		a->sample_period = a->type == PERF_TYPE_SOFTWARE ? 1 : PMU_PERIOD;
	}
	free(plain);
	return ok;
}

static void note(char ***notes, size_t *nnotes, char *line)
{
	*ARRAY_ADD(*notes, *nnotes) = line;
}

/* Adds one event, or what this machine has in its place. */
static bool add(struct event_list *l, const char *name, bool kernel, bool pmu, bool rotates,
		char ***notes, size_t *nnotes, struct err *e)
{
	struct event_spec s;

	if (!events_encode(name, kernel, &s, e))
		return false;
	if (!pmu && s.attr.type != PERF_TYPE_SOFTWARE) {
		const bool cycles =
		    s.attr.type == PERF_TYPE_HARDWARE && s.attr.config == PERF_COUNT_HW_CPU_CYCLES;

		free(s.name);
		free(s.actual);
		if (!cycles) {
			note(notes, nnotes,
			     x_asprintf("no PMU: %s is not sampled on this machine", name));
			return true;
		}
		note(notes, nnotes, x_strdup("no PMU: cycles are sampled by cpu-clock"));
		if (!events_encode("cpu-clock", kernel, &s, e))
			return false;
		free(s.name);
		s.name = x_strdup(name);
	}
	s.rotates = rotates;
	*ARRAY_ADD(l->specs, l->nspecs) = s;
	return true;
}

/* Adds every name of a list with commas. */
static bool add_all(struct event_list *l, const char *names, bool kernel, bool pmu, bool rotates,
		    char ***notes, size_t *nnotes, struct err *e)
{
	char *copy = x_strdup(names), *save = NULL;
	bool ok = true;

	for (char *n = strtok_r(copy, ",", &save); n && ok; n = strtok_r(NULL, ",", &save))
		ok = add(l, n, kernel, pmu, rotates, notes, nnotes, e);
	free(copy);
	return ok;
}

bool events_parse(const char *const *names, size_t nnames, bool kernel, struct event_list *out,
		  char ***notes, size_t *nnotes, struct err *e)
{
	static const char *const usual[] = { "cycles" };
	const bool pmu = events_have_pmu();
	bool ok = true;

	*out = (struct event_list){ 0 };
	if (!nnames) {
		names = usual;
		nnames = 1;
	}
	for (size_t i = 0; i < nnames && ok; i++) {
		const char *n = names[i];

		if (strcmp(n, "default") == 0)
			ok = add_all(out, "cycles,imiss", kernel, pmu, false, notes, nnotes, e);
		else if (strcmp(n, "mux") == 0)
			ok = add_all(out, "cycles", kernel, pmu, false, notes, nnotes, e) &&
			     add_all(out,
				     pmu ? "imiss,dmiss,branchmp"
					 : "page-faults,context-switches,cpu-migrations",
				     kernel, pmu, true, notes, nnotes, e);
		else if (strncmp(n, "mux:", 4) == 0)
			ok = add_all(out, n + 4, kernel, pmu, true, notes, nnotes, e);
		else
			ok = add_all(out, n, kernel, pmu, false, notes, nnotes, e);
	}
	if (ok && !out->nspecs)
		ok = err_set(e, "this machine has none of the events; try cycles");
	if (!ok)
		events_free(out);
	return ok;
}

void events_free(struct event_list *l)
{
	for (size_t i = 0; i < l->nspecs; i++) {
		free(l->specs[i].name);
		free(l->specs[i].actual);
	}
	free(l->specs);
	*l = (struct event_list){ 0 };
}

/* ---- Opening ---- */

void events_periods(struct rng *rng, double rate, uint64_t *periods_ns, size_t n)
{
	double drawn[EVENTS_STREAMS], sum = 0;

	for (size_t i = 0; i < n; i++) {
		drawn[i] = 0.5 + (double)rng_below(rng, 1u << 20) / (1u << 20);
		sum += 1 / drawn[i];
	}
	for (size_t i = 0; i < n; i++)
		periods_ns[i] = (uint64_t)(drawn[i] * sum * 1e9 / rate + 0.5);
}

int event_open(const struct event_spec *s, int pid, int cpu, uint64_t period, int program)
{
	struct perf_event_attr a = s->attr;

	a.sample_period = period;
	a.inherit = pid >= 0;
	a.read_format = PERF_FORMAT_TOTAL_TIME_RUNNING;
	const int fd = (int)syscall(SYS_perf_event_open, &a, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -1;
	if (program >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) != 0) {
		const int error = errno;

		close(fd);
		errno = error;
		return -1;
	}
	return fd;
}
