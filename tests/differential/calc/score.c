/* SPDX-License-Identifier: MIT */
/*
 * Schedules and frequencies against what the core does, which this program watches itself.
 *
 *	score frequencies [OPTION…] PROGRAM [ARG…]   the method's estimates from samples: shares of samples
 *	                                             (and of executed edges) within 5, 10 and 15%
 *	score sweep [OPTION…] PROGRAM [ARG…]         likewise, with half and twice of each threshold
 *	score schedule [OPTION…] PROGRAM [ARG…]      share of executions that are at the head of the issue
 *	                                             queue for as long as M for the edge by which their
 *	                                             block was entered says, with every dynamic cause idealised
 *
 *	--insts N      instructions to run (2000000)
 *	--period N     cycles between samples (100)
 *	--method NAME  --rounds N  --machine NAME  --least SHARE (fails below)  --worst N (sites to list)
 *	--threshold NAME=FACTOR      that threshold times FACTOR
 *
 * CULPRIT_SYSROOT is where a Debian program finds its libraries.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "calc/calc_int.h"
#include "core/core.h"
#include "image/cfg.h"
#include "isa/isa.h"
#include "trace/record.h"
#include "util/array.h"
#include "util/util.h"

#define BATCH 1024
#define NONE  UINT32_MAX

struct site {
	uint64_t pc;
	uint64_t count;	 /* executions */
	uint64_t heads;	 /* cycles at the head of the issue queue */
	uint64_t wrong;	 /* schedule: executions that took another time */
	uint64_t number; /* schedule: of compared executions */
	double m, h;	 /* schedule: of the last wrong one */
	double samples, issued;
	uint32_t proc, inst, block; /* NONE: not in a graph */
	bool first, last;	    /* of its block */
};

struct options {
	bool schedule, sweep;
	uint64_t insts, period;
	const char *machine, *method;
	unsigned rounds, worst;
	double least;
	double thresholds[CALC_THRESHOLDS];
	char **argv;
};

struct truth {
	uint64_t *edges, *blocks; /* executions */
};

struct score {
	struct emit emit;
	struct rec_cycle cycles[BATCH];
	struct rec_inst insts[BATCH];
	const struct options *o;
	struct guest *guest;
	struct images *images;
	size_t nimages;
	struct calc_program program;
	struct truth *truths; /* by procedure */
	uint32_t ntruths;
	struct calc_scheduler **schedulers; /* by procedure; NULL in the first run */
	double ***by_edge;		    /* by procedure, edge: M of the block that it enters */
	struct site *sites;
	uint32_t nsites;
	uint32_t *hash; /* by address: site + 1 */
	uint32_t mask;
	struct rng rng;
	uint64_t next_sample;
	uint64_t last_issue;
	uint32_t last_site;
	uint32_t edge; /* by which the present block was entered; NONE: from elsewhere */
	uint64_t compared, equal;
	double seconds; /* of the last calc_run() */
};

/* ---- sites ---- */

static void see_images(struct score *s)
{
	const struct guest_image *images;
	size_t n = guest_images(s->guest, &images);

	for (; s->nimages < n; s->nimages++) {
		const struct guest_image *i = &images[s->nimages];

		images_add(s->images, i->path, i->name, i->bias, NULL);
	}
}

static void make_proc(struct score *s, struct cfg *g)
{
	struct truth *t = ARRAY_ADD(s->truths, s->ntruths);

	calc_add(&s->program, g);
	*t = (struct truth){ .edges = x_calloc(g->nedges + 1, sizeof(*t->edges)),
			     .blocks = x_calloc(g->nblocks + 1, sizeof(*t->blocks)) };
}

static void place_site(struct score *s, struct site *site)
{
	struct cfg *g;

	for (uint32_t p = 0; p < s->program.nprocs; p++) {
		struct cfg *known = s->program.procs[p].graph;
		uint32_t i = cfg_inst_at(known, site->pc);

		if (i != NONE) {
			uint32_t b = cfg_block_of(known, i);

			if (b == NONE)
				return;
			site->proc = p;
			site->inst = i;
			site->block = b;
			site->first = i == known->blocks[b].first;
			site->last = i == known->blocks[b].first + known->blocks[b].count - 1;
			return;
		}
	}
	see_images(s);
	g = cfg_build(s->images, site->pc);
	if (!g)
		return;
	if (cfg_inst_at(g, site->pc) == NONE) {
		cfg_free(g);
		return;
	}
	make_proc(s, g);
	place_site(s, site);
}

static uint32_t hash_place(const struct score *s, uint64_t pc)
{
	uint32_t h = (uint32_t)hash_u64(pc) & s->mask;

	while (s->hash[h] && s->sites[s->hash[h] - 1].pc != pc)
		h = (h + 1) & s->mask;
	return h;
}

static uint32_t site_of(struct score *s, uint64_t pc)
{
	uint32_t h = hash_place(s, pc);

	if (s->hash[h])
		return s->hash[h] - 1;
	if (2 * s->nsites > s->mask) {
		s->mask = 2 * s->mask + 1;
		s->hash = x_realloc(s->hash, ((size_t)s->mask + 1) * sizeof(*s->hash));
		memset(s->hash, 0, ((size_t)s->mask + 1) * sizeof(*s->hash));
		for (uint32_t i = 0; i < s->nsites; i++)
			s->hash[hash_place(s, s->sites[i].pc)] = i + 1;
		h = hash_place(s, pc);
	}

	struct site *site = ARRAY_ADD(s->sites, s->nsites);
	*site = (struct site){ .pc = pc, .proc = NONE, .inst = NONE, .block = NONE };
	s->hash[h] = s->nsites;
	place_site(s, site);
	return s->nsites - 1;
}

/* ---- the run ---- */

/* The edge from the last instruction of a block to the first of another, within a procedure. */
static uint32_t edge_between(const struct score *s, const struct site *from, const struct site *to)
{
	if (from->proc == NONE || from->proc != to->proc || !from->last || !to->first)
		return NONE;

	const struct cfg *g = s->program.procs[to->proc].graph;
	const struct cfg_block *b = &g->blocks[from->block];

	/* A recursive call's entry, or a return into it, is no edge. */
	if (b->flags & CFG_BLOCK_CALLS || g->insts[from->inst].flow == IMAGE_RETURN)
		return NONE;
	for (uint32_t e = b->first_out; e < b->first_out + b->nout; e++)
		if (g->edges[e].to == to->block)
			return e;
	return NONE;
}

static void sample(struct score *s, struct site *site, uint64_t issue)
{
	uint64_t p = s->o->period;

	while (s->next_sample <= issue) {
		site->samples++;
		site->issued += s->next_sample == issue;
		s->next_sample += p - rng_below(&s->rng, p / 16 + 1);
	}
}

static const double *least_times(struct score *s, uint32_t proc, uint32_t block, uint32_t edge)
{
	const struct cfg *g = s->program.procs[proc].graph;
	uint32_t place = edge == NONE ? g->nedges + block : edge;

	if (!s->by_edge[proc])
		s->by_edge[proc] =
		    x_calloc((size_t)g->nedges + g->nblocks, sizeof(*s->by_edge[proc]));
	if (!s->by_edge[proc][place]) {
		const struct calc_inst *at = calc_scheduler_block(s->schedulers[proc], block, edge);
		double *m = x_calloc(g->blocks[block].count, sizeof(*m));

		for (uint32_t i = 0; i < g->blocks[block].count; i++)
			m[i] = at[i].m;
		s->by_edge[proc][place] = m;
	}
	return s->by_edge[proc][place];
}

static void compare(struct score *s, struct site *site, uint64_t h)
{
	const struct cfg *g = s->program.procs[site->proc].graph;
	uint32_t k = site->inst - g->blocks[site->block].first;
	double m = least_times(s, site->proc, site->block, s->edge)[k];

	s->compared++;
	site->number++;
	if (m == (double)h) {
		s->equal++;
		return;
	}
	site->wrong++;
	site->m = m;
	site->h = (double)h;
}

static void take_inst(struct score *s, const struct rec_inst *r)
{
	uint64_t issue = r->fetch + r->issue, h = issue - s->last_issue;
	uint32_t number = site_of(s, r->pc);
	struct site *site = &s->sites[number], *last = &s->sites[s->last_site];

	site->count++;
	site->heads += h;
	if (site->proc != NONE && site->first) {
		s->edge = edge_between(s, last, site);
		s->truths[site->proc].blocks[site->block]++;
		if (s->edge != NONE)
			s->truths[site->proc].edges[s->edge]++;
	}
	if (!s->schedulers)
		sample(s, site, issue);
	else if (site->proc != NONE)
		compare(s, site, h);
	s->last_issue = issue;
	s->last_site = number;
}

static void take_batch(struct emit *e)
{
	struct score *s = (struct score *)e;

	for (size_t i = 0; i < e->ninsts; i++)
		if (e->insts[i].flags & RI_COMMITTED)
			take_inst(s, &e->insts[i]);
	e->ninsts = e->ncycles = 0;
}

static void run(struct score *s, const struct machine *m)
{
	int null = open("/dev/null", O_RDWR), streams[3] = { null, null, 2 };
	struct guest_config config = { .argv = s->o->argv,
				       .sysroot = getenv("CULPRIT_SYSROOT"),
				       .streams = streams };
	struct err e;

	s->emit = (struct emit){ .cycles = s->cycles,
				 .insts = s->insts,
				 .max_cycles = BATCH,
				 .max_insts = BATCH,
				 .wants = WANT_CYCLES | WANT_INSTS,
				 .full = take_batch };
	s->last_issue = s->last_site = 0;
	s->edge = NONE;
	s->guest = guest_new(&config, &e);
	if (!s->guest)
		die("%s", e.text);

	struct core *c = core_new(m, s->guest, &s->emit, &e);
	if (!c)
		die("%s", e.text);
	core_run(c, s->o->insts);
	take_batch(&s->emit);
	core_free(c);
	guest_free(s->guest);
	close(null);
}

/* ---- frequencies ---- */

struct within {
	double all, five, ten, fifteen;
};

static void add_error(struct within *w, double weight, double estimate, double truth)
{
	double off = fabs(estimate - truth) / truth;

	w->all += weight;
	w->five += off <= 0.05 ? weight : 0;
	w->ten += off <= 0.10 ? weight : 0;
	w->fifteen += off <= 0.15 ? weight : 0;
}

static void print_within(const char *what, const struct within *w)
{
	printf("%s: %.1f%% within 5%%, %.1f%% within 10%%, %.1f%% within 15%%\n", what,
	       100 * w->five / w->all, 100 * w->ten / w->all, 100 * w->fifteen / w->all);
}

static int by_samples(const void *a, const void *b)
{
	const struct site *x = a, *y = b;

	return (x->samples < y->samples) - (x->samples > y->samples);
}

static void print_inst(const struct score *s, const struct site *site)
{
	const struct cfg *g = s->program.procs[site->proc].graph;
	struct inst in = isa_decode(g->insts[site->inst].word);
	char text[96];

	isa_disasm(&in, site->pc, DISASM_ALIASES, text, sizeof(text));
	for (char *t = text; *t; t++)
		*t = *t == '\t' ? ' ' : *t;
	printf("  %-16.16s %8" PRIx64 " %-28s", g->name, site->pc, text);
}

/* Blocks that are off by more than 15%, most samples first. */
static void print_worst(struct score *s)
{
	unsigned left = s->o->worst;

	qsort(s->sites, s->nsites, sizeof(*s->sites), by_samples);
	for (uint32_t i = 0; i < s->nsites && left; i++) {
		const struct site *t = &s->sites[i];

		if (t->proc == NONE)
			continue;
		const struct calc_proc *p = &s->program.procs[t->proc];
		double f = p->blocks[t->block].value;
		const struct calc_class *c = &p->classes[p->block_class[t->block]];
		if (fabs(f - (double)t->count) <= 0.15 * (double)t->count)
			continue;
		print_inst(s, t);
		printf(" samples %.0f cpi %.2f m %.2f: %.0f, true %" PRIu64
		       "; %s, points %u used %u tightness %.2f, class samples %.0f\n",
		       t->samples, (double)t->heads / (double)t->count, p->insts[t->inst].m, f,
		       t->count, words_origins[p->blocks[t->block].origin].name, c->issue_points,
		       c->used, c->tightness, c->samples);
		left--;
	}
}

/* Estimates, and how far they are off. */
static void estimate(struct score *s, struct within *in, struct within *ed)
{
	struct within insts = { 0 }, edges = { 0 };
	struct timespec before, after;
	struct err e;

	for (uint32_t p = 0; p < s->ntruths; p++) {
		free(s->program.procs[p].classes);
		s->program.procs[p].classes = NULL;
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
	if (!calc_run(&s->program, &e))
		die("%s", e.text);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
	s->seconds = (double)(after.tv_sec - before.tv_sec) +
		     1e-9 * (double)(after.tv_nsec - before.tv_nsec);
	for (uint32_t i = 0; i < s->nsites; i++) {
		const struct site *t = &s->sites[i];
		double f = t->proc == NONE ? NAN : s->program.procs[t->proc].blocks[t->block].value;

		add_error(&insts, t->samples, f, (double)t->count);
	}
	for (uint32_t p = 0; p < s->ntruths; p++) {
		const struct calc_proc *proc = &s->program.procs[p];

		for (uint32_t k = 0; k < proc->graph->nedges; k++)
			if (s->truths[p].edges[k])
				add_error(&edges, (double)s->truths[p].edges[k],
					  proc->edges[k].value, (double)s->truths[p].edges[k]);
	}
	*in = insts;
	*ed = edges;
}

/* What half and twice of each threshold do. */
static void sweep(struct score *s)
{
	static const double factor[] = { 0.5, 2 };

	for (unsigned t = 0; t < CALC_THRESHOLDS; t++)
		for (unsigned k = 0; k < 2; k++) {
			double thresholds[CALC_THRESHOLDS];
			struct within insts, edges;
			char name[64];

			memcpy(thresholds, s->o->thresholds, sizeof(thresholds));
			thresholds[t] *= factor[k];
			s->program.options.thresholds = thresholds;
			estimate(s, &insts, &edges);
			snprintf(name, sizeof(name), "%s x %g", calc_thresholds[t].name, factor[k]);
			print_within(name, &insts);
		}
	s->program.options.thresholds = s->o->thresholds;
}

static bool score_frequencies(struct score *s)
{
	struct within insts, edges;

	for (uint32_t i = 0; i < s->nsites; i++) {
		struct site *t = &s->sites[i];

		if (t->proc == NONE)
			continue;
		s->program.procs[t->proc].insts[t->inst].count[SAMPLED_CYCLES] = t->samples;
		s->program.procs[t->proc].insts[t->inst].issued = t->issued;
	}
	if (s->o->sweep)
		sweep(s);
	estimate(s, &insts, &edges);
	printf("%s: %.0f samples, %.3f s of calc for %u procedures\n", s->o->argv[0], insts.all,
	       s->seconds, s->ntruths);
	print_within("instructions", &insts);
	print_within("edges", &edges);
	print_worst(s);
	return insts.fifteen >= s->o->least * insts.all;
}

/* ---- the schedule ---- */

static int by_wrong(const void *a, const void *b)
{
	const struct site *x = a, *y = b;

	return (x->wrong < y->wrong) - (x->wrong > y->wrong);
}

static bool score_schedule(struct score *s, const struct machine *m)
{
	s->schedulers = x_calloc(s->program.nprocs + 1, sizeof(struct calc_scheduler *));
	s->by_edge = x_calloc(s->program.nprocs + 1, sizeof(double **));
	for (uint32_t p = 0; p < s->program.nprocs; p++) {
		struct calc_proc *proc = &s->program.procs[p];

		for (uint32_t k = 0; k < proc->graph->nedges; k++)
			proc->edges[k].value = (double)s->truths[p].edges[k];
		for (uint32_t b = 0; b < proc->graph->nblocks; b++)
			proc->blocks[b].value = (double)s->truths[p].blocks[b];
		s->schedulers[p] = calc_scheduler_new(m, proc);
		calc_scheduler_edges(s->schedulers[p]);
	}
	run(s, m);
	printf("%s: %.3f%% of %" PRIu64 " executions as scheduled\n", s->o->argv[0],
	       100 * (double)s->equal / (double)s->compared, s->compared);
	qsort(s->sites, s->nsites, sizeof(*s->sites), by_wrong);
	for (uint32_t i = 0; i < s->nsites && i < s->o->worst && s->sites[i].wrong; i++) {
		const struct site *t = &s->sites[i];

		print_inst(s, t);
		printf(" %" PRIu64 " of %" PRIu64 " wrong, such as M %g, true %g\n", t->wrong,
		       t->number, t->m, t->h);
	}
	return (double)s->equal >= s->o->least * (double)s->compared;
}

static void free_score(struct score *s)
{
	struct cfg **graphs = x_calloc(s->ntruths + 1, sizeof(struct cfg *));

	for (uint32_t p = 0; p < s->program.nprocs; p++) {
		struct cfg *g = s->program.procs[p].graph;

		for (uint32_t k = 0; s->by_edge && s->by_edge[p] && k < g->nedges + g->nblocks; k++)
			free(s->by_edge[p][k]);
		if (s->by_edge)
			free(s->by_edge[p]);
		if (s->schedulers)
			calc_scheduler_free(s->schedulers[p]);
		free(s->truths[p].edges);
		free(s->truths[p].blocks);
	}
	for (uint32_t p = 0; p < s->ntruths; p++)
		graphs[p] = s->program.procs[p].graph;
	calc_free(&s->program);
	for (uint32_t p = 0; p < s->ntruths; p++)
		cfg_free(graphs[p]);
	free(graphs);
	free(s->by_edge);
	free(s->schedulers);
	free(s->truths);
	free(s->sites);
	free(s->hash);
	images_free(s->images);
	free(s);
}

/* ---- options ---- */

static void set_threshold(struct options *o, const char *text)
{
	const char *is = strchr(text, '=');

	for (unsigned i = 0; is && i < CALC_THRESHOLDS; i++) {
		const char *name = calc_thresholds[i].name;

		if (strlen(name) == (size_t)(is - text) && !strncmp(text, name, strlen(name))) {
			o->thresholds[i] *= strtod(is + 1, NULL);
			return;
		}
	}
	die("score: no threshold %s", text);
}

static void read_options(struct options *o, int argc, char **argv)
{
	int i = 2;

	if (argc < 3)
		die("usage: score frequencies|sweep|schedule [OPTION…] PROGRAM [ARG…]");
	*o = (struct options){ .schedule = !strcmp(argv[1], "schedule"),
			       .sweep = !strcmp(argv[1], "sweep"),
			       .insts = 2000000,
			       .period = 100,
			       .machine = "inorder-2w",
			       .worst = 10 };
	for (unsigned t = 0; t < CALC_THRESHOLDS; t++)
		o->thresholds[t] = calc_thresholds[t].value;
	for (; i + 1 < argc && !strncmp(argv[i], "--", 2); i += 2) {
		const char *name = argv[i] + 2, *value = argv[i + 1];

		if (!strcmp(name, "insts"))
			o->insts = strtoull(value, NULL, 10);
		else if (!strcmp(name, "period"))
			o->period = strtoull(value, NULL, 10);
		else if (!strcmp(name, "machine"))
			o->machine = value;
		else if (!strcmp(name, "method"))
			o->method = value;
		else if (!strcmp(name, "rounds"))
			o->rounds = (unsigned)atoi(value);
		else if (!strcmp(name, "worst"))
			o->worst = (unsigned)atoi(value);
		else if (!strcmp(name, "least"))
			o->least = strtod(value, NULL);
		else if (!strcmp(name, "threshold"))
			set_threshold(o, value);
		else
			die("score: no option --%s", name);
	}
	o->argv = argv + i;
}

static void idealise(struct machine *m)
{
	static const char *const ideal[] = { "ideal.dmiss=on", "ideal.imiss=on", "ideal.dtlb=on",
					     "ideal.itlb=on",  "ideal.bmisp=on", "ideal.sq=on" };
	struct err e;

	for (unsigned i = 0; i < ARRAY_LEN(ideal); i++)
		if (!machine_set(m, ideal[i], &e))
			die("%s", e.text);
}

int main(int argc, char **argv)
{
	struct score *s = x_calloc(1, sizeof(*s));
	struct options o;
	struct machine m;
	struct err e;
	bool ok;

	read_options(&o, argc, argv);
	if (!machine_load(&m, o.machine, &e))
		die("%s", e.text);
	if (o.schedule)
		idealise(&m);
	s->o = &o;
	s->mask = 65535;
	s->hash = x_calloc(65536, sizeof(*s->hash));
	s->images = images_new(getenv("CULPRIT_SYSROOT"));
	s->program = (struct calc_program){ .machine = &m,
					    .sampling = { .mode = CALC_ISSUE },
					    .options = { .method = o.method,
							 .rounds = o.rounds,
							 .ignore_edges = 0.01,
							 .thresholds = o.thresholds } };
	/* The mean of what sample() draws. */
	s->program.sampling.period[SAMPLED_CYCLES] = o.period - o.period / 32;
	rng_seed(&s->rng, 1);
	s->next_sample = o.period;
	run(s, &m);
	ok = o.schedule ? score_schedule(s, &m) : score_frequencies(s);
	free_score(s);
	return ok ? 0 : 1;
}