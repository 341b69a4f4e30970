/* SPDX-License-Identifier: MIT */
/* Sampling on this machine: shares, conservation, identity, periods, stacks, edges, events. Needs root
 * (or CAP_BPF and CAP_PERFMON); else skipped. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <setjmp.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/collector.h"
#include "collect/events.h"
#include "collect/events_pfm.h"
#include "collect/sample.h"
#include "util/array.h"

/* ---- A collection into memory, whose sums are checked at every cut ---- */

struct world {
	struct live_profile *profile;
	struct live_sink inner;
	struct collector *collector;
	uint64_t given[SAMPLE_EVENTS]; /* counts that the sink has got */
	unsigned cuts;
};

static uint32_t world_image(void *self, const struct live_image *i)
{
	struct world *w = self;

	return w->inner.image(w->inner.self, i);
}

static uint32_t world_process(void *self, const struct live_process *p)
{
	struct world *w = self;

	return w->inner.process(w->inner.self, p);
}

static uint32_t world_event(void *self, const struct live_event *e)
{
	struct world *w = self;

	return w->inner.event(w->inner.self, e);
}

static void world_count(void *self, const struct live_count *c)
{
	struct world *w = self;

	w->given[c->event] += c->count;
	w->inner.count(w->inner.self, c);
}

static void world_stack(void *self, const struct live_stack *s)
{
	struct world *w = self;

	w->inner.stack(w->inner.self, s);
}

static void world_edge(void *self, const struct live_edge *e)
{
	struct world *w = self;

	w->inner.edge(w->inner.self, e);
}

static bool world_cut(void *self, const struct live_event *events, size_t nevents,
		      const struct live_facts *facts, struct err *e)
{
	struct world *w = self;

	w->cuts++;
	for (size_t i = 0; i < nevents; i++) {
		assert_int_equal(events[i].taken,
				 events[i].stored + events[i].lost + events[i].pending);
		assert_int_equal(events[i].stored, w->given[i]);
	}
	return w->inner.cut(w->inner.self, events, nevents, facts, e);
}

static bool try_begin(struct world *w, const struct collector_options *o, struct err *e)
{
	char **notes;
	size_t nnotes;

	*w = (struct world){ .profile = live_profile_new() };
	w->inner = live_profile_sink(w->profile);
	const struct live_sink sink = { .self = w,
					.image = world_image,
					.process = world_process,
					.event = world_event,
					.count = world_count,
					.stack = world_stack,
					.edge = world_edge,
					.cut = world_cut };

	w->collector = collector_open(o, &sink, &notes, &nnotes, e);
	for (size_t i = 0; i < nnotes; i++)
		free(notes[i]);
	free(notes);
	return w->collector != NULL;
}

static void begin(struct world *w, const struct collector_options *o)
{
	struct err e = { "" };

	if (!try_begin(w, o, &e))
		fail_msg("%s", e.text);
}

static struct collector_status finish(struct world *w)
{
	struct err e = { "" };
	const struct collector_status s = collector_status(w->collector);

	if (!collector_close(w->collector, &e))
		fail_msg("%s", e.text);
	return s;
}

static void end(struct world *w)
{
	live_profile_free(w->profile);
}

static void poll_once(struct world *w, int ms)
{
	struct err e = { "" };

	if (!collector_poll(w->collector, ms, &e))
		fail_msg("%s", e.text);
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void poll_for(struct world *w, double seconds)
{
	const double until = now_s() + seconds;

	while (now_s() < until)
		poll_once(w, 20);
}

/* ---- The program that is sampled ---- */

struct subject {
	pid_t pid;
	int go, out;
};

#define ARGS_MAX 8

/* A process that becomes the program when it is let go. */
static struct subject subject_start(const char *const *args)
{
	int go[2], out[2];

	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	const pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		char byte;

		dup2(out[1], STDOUT_FILENO);
		if (read(go[0], &byte, 1) == 1)
			execv(args[0], (char *const *)args);
		_exit(127);
	}
	close(go[0]);
	close(out[1]);
	return (struct subject){ pid, go[1], out[0] };
}

static void subject_go(struct subject *s)
{
	assert_int_equal(write(s->go, "", 1), 1);
	close(s->go);
}

/* Polls until the program ends; its output is in text. */
static void subject_wait(struct subject *s, struct world *w, char *text, size_t size)
{
	int status = 0;

	while (waitpid(s->pid, &status, WNOHANG) == 0)
		poll_once(w, 10);
	const ssize_t n = read(s->out, text, size - 1);

	text[n > 0 ? n : 0] = '\0';
	close(s->out);
	assert_int_equal(status, 0);
}

static const char *program(void)
{
	return getenv("SAMPLED");
}

/* Samples one run of the program. */
static void sample_run(struct world *w, struct collector_options o, const char *const *args,
		       char *text, size_t size)
{
	struct subject s = subject_start(args);
	const int32_t pid = s.pid;

	o.pids = &pid;
	o.npids = 1;
	o.on_exec = true;
	begin(w, &o);
	subject_go(&s);
	subject_wait(&s, w, text, size);
}

/* Samples of a function, which has a page of its own, in images with this end of their name. */
static uint64_t samples_at(struct world *w, const char *name, uint64_t offset, uint64_t size_bytes)
{
	size_t n;
	const struct live_count *c = live_counts(w->profile, &n);
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		const char *image = live_image(w->profile, c[i].image)->name;
		const size_t a = strlen(image), b = strlen(name);

		if (a >= b && strcmp(image + a - b, name) == 0 && c[i].offset >= offset &&
		    c[i].offset - offset < size_bytes)
			sum += c[i].count;
	}
	return sum;
}

/* ---- Tests ---- */

static void test_2001_known_shares_lie_within_their_binomial_interval(void **state)
{
	const char *const args[] = { program(), "shares", "0.6", NULL };
	const struct collector_options o = { .rate = 2000, .seed = 1 };
	unsigned long offset[3];
	double seconds[3], sum = 0;
	uint64_t count[3], n = 0;
	struct world w;
	char text[256];

	(void)state;
	sample_run(&w, o, args, text, sizeof(text));
	finish(&w);
	assert_int_equal(sscanf(text, "%lx %lf %lx %lf %lx %lf", &offset[0], &seconds[0],
				&offset[1], &seconds[1], &offset[2], &seconds[2]),
			 6);
	for (int i = 0; i < 3; i++) {
		count[i] = samples_at(&w, "sampled", offset[i], 4096);
		n += count[i];
		sum += seconds[i];
	}
	assert_true(n > 500);
	for (int i = 0; i < 3; i++) {
		const double p = seconds[i] / sum;
		const double sigma = sqrt(p * (1 - p) / (double)n);

		if (fabs((double)count[i] / (double)n - p) > 4 * sigma + 0.005)
			fail_msg("%d: %.4f, not %.4f", i, (double)count[i] / (double)n, p);
	}
	end(&w);
}

/* A process that is always busy, faults pages and gives way: an idle machine has nothing to sample. */
static pid_t busy_begin(void)
{
	const pid_t parent = getpid(), pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == parent) {
		volatile char *page =
		    mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		for (unsigned i = 0; page != MAP_FAILED && i < 100000; i++)
			page[i % 4096]++;
		munmap((void *)page, 4096);
		sched_yield();
	}
	_exit(0);
}

static void busy_end(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_2002_nothing_is_unaccounted_for_when_table_and_ring_overflow(void **state)
{
	const char *const events[] = { "cycles", "page-faults", "context-switches" };
	const struct collector_options o = { .events = events,
					     .nevents = 3,
					     .rate = 5000,
					     .kernel = true,
					     .per_process = true,
					     .drain_s = 0.05,
					     .table_entries = 4,
					     .ring_bytes = 4096,
					     .count_max = 3 };
	struct world w;

	(void)state;
	const pid_t busy = busy_begin();

	begin(&w, &o);
	/* Whoever does not read the ring lets it overflow. */
	for (int i = 0; i < 3; i++) {
		usleep(300000);
		poll_for(&w, 0.1);
	}
	const struct collector_status s = finish(&w);
	const struct live_event *e = live_event(w.profile, 0);

	assert_true(w.cuts > 3);
	assert_true(e->taken > 100);
	assert_true(e->lost > 0);
	assert_true(e->stored > 0);
	assert_int_equal(e->pending, 0);
	assert_true(s.saturated > 0);
	end(&w);
	busy_end(busy);
}

/* Samples for a while with many cuts; gives what was lost. The ring has room for seconds of samples that
 * are in no table, so that nothing is lost when others have the processor. *refused: the kernel gave up
 * waiting for the ring's lock, because the processor that held it was stopped. */
static uint64_t drain_often(bool *refused)
{
	const struct collector_options o = {
		.rate = 5000, .kernel = true, .drain_s = 0.01, .ring_bytes = 4 << 20
	};
	const double until = now_s() + 30;
	struct world w;

	begin(&w, &o);
	for (double begun = now_s(); (w.cuts <= 20 || now_s() < begun + 0.5) && now_s() < until;)
		poll_once(&w, 20);
	*refused = finish(&w).refused > 0;
	const struct live_event e = *live_event(w.profile, 0);

	assert_true(w.cuts > 20);
	assert_true(e.taken > 100);
	assert_int_equal(e.taken, e.stored + e.lost);
	assert_int_equal(e.pending, 0);
	end(&w);
	return e.lost;
}

static void test_2003_draining_while_sampling_loses_and_doubles_nothing(void **state)
{
	(void)state;
	const pid_t busy = busy_begin();
	bool refused = true;
	uint64_t lost = 1;

	for (int i = 0; lost && refused && i < 3; i++)
		lost = drain_often(&refused);
	assert_int_equal(lost, 0);
	busy_end(busy);
}

static void copy(const char *from, const char *to)
{
	const int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_EXCL, 0755);
	char buffer[65536];
	ssize_t n;

	assert_true(in >= 0 && out >= 0);
	while ((n = read(in, buffer, sizeof(buffer))) > 0)
		assert_int_equal(write(out, buffer, (size_t)n), n);
	close(in);
	close(out);
}

/* Two files in a folder of their own. */
struct two_files {
	char folder[32], a[64], b[64];
};

static struct two_files two_files_begin(const char *a, const char *b)
{
	struct two_files f = { "/tmp/culprit-two-XXXXXX", "", "" };

	assert_non_null(mkdtemp(f.folder));
	snprintf(f.a, sizeof(f.a), "%s/%s", f.folder, a);
	snprintf(f.b, sizeof(f.b), "%s/%s", f.folder, b);
	return f;
}

static void two_files_end(const struct two_files *f)
{
	unlink(f->a);
	unlink(f->b);
	rmdir(f->folder);
}

static void test_2004_a_pid_that_executes_another_program_is_another_process(void **state)
{
	const struct two_files files = two_files_begin("program-a", "program-b");
	char text[64];
	struct world w;

	(void)state;
	copy(getenv("SAMPLED_PLAIN"), files.a);
	copy(getenv("SAMPLED_PLAIN"), files.b);
	const char *const args[] = { files.a, "exec", "40", files.a, files.b, NULL };
	const struct collector_options o = { .rate = 2000 };

	sample_run(&w, o, args, text, sizeof(text));
	finish(&w);
	unsigned long seventy = 0, twenty = 0;
	char lines[2][64], command[512];

	snprintf(command, sizeof(command), "%s shares 0.01", program());
	FILE *f = popen(command, "re");

	for (int i = 0; i < 2; i++)
		assert_non_null(fgets(lines[i], sizeof(lines[i]), f));
	pclose(f);
	assert_int_equal(sscanf(lines[0], "%lx", &seventy), 1);
	assert_int_equal(sscanf(lines[1], "%lx", &twenty), 1);

	assert_true(samples_at(&w, "program-a", seventy, 4096) > 50);
	assert_true(samples_at(&w, "program-b", twenty, 4096) > 50);
	assert_int_equal(samples_at(&w, "program-a", twenty, 4096), 0);
	assert_int_equal(samples_at(&w, "program-b", seventy, 4096), 0);
	end(&w);
	two_files_end(&files);
}

/* A file with a loop at an offset: mov rax, rdi; dec rax; jnz; ret. */
static void write_code(const char *path, size_t offset)
{
	static const uint8_t code[] = { 0x48, 0x89, 0xf8, 0x48, 0xff, 0xc8, 0x75, 0xfb, 0xc3 };
	uint8_t page[4096];
	const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0755);

	memset(page, 0x90, sizeof(page));
	memcpy(page + offset, code, sizeof(code));
	assert_int_equal(write(fd, page, sizeof(page)), sizeof(page));
	close(fd);
}

static void test_2005_two_files_mapped_by_turns_at_one_address_keep_their_samples(void **state)
{
	const struct two_files files = two_files_begin("code-a", "code-b");
	char text[64];
	struct world w;

	(void)state;
	write_code(files.a, 256);
	write_code(files.b, 512);
	const char *const args[] = { program(), "remap", "20", files.a, files.b, NULL };
	const struct collector_options o = { .rate = 2000 };

	sample_run(&w, o, args, text, sizeof(text));
	finish(&w);
	assert_true(samples_at(&w, "code-a", 256, 16) > 50);
	assert_true(samples_at(&w, "code-b", 512, 16) > 50);
	assert_int_equal(samples_at(&w, "code-a", 512, 16), 0);
	assert_int_equal(samples_at(&w, "code-b", 256, 16), 0);
	end(&w);
	two_files_end(&files);
}

struct range_sets {
	double *x;
	size_t n;
	uint64_t last;
};

/* Of the first processor. */
static void take_interval(void *self, const struct sample_record_trace *r)
{
	struct range_sets *t = self;

	if (r->head.cpu != 0)
		return;
	if (t->last)
		*ARRAY_ADD(t->x, t->n) = (double)(r->time_ns - t->last);
	t->last = r->time_ns;
}

static double correlation(const double *x, size_t n, size_t lag)
{
	double mean = 0, above = 0, below = 0;

	for (size_t i = 0; i < n; i++)
		mean += x[i] / (double)n;
	for (size_t i = 0; i < n; i++) {
		below += (x[i] - mean) * (x[i] - mean);
		if (i + lag < n)
			above += (x[i] - mean) * (x[i + lag] - mean);
	}
	return above / below;
}

/* Whether intervals of a run have the mean and the spread that were asked for, and nothing of the one
 * before. */
static bool intervals_are_random(void)
{
	const char *const args[] = { program(), "spin", "10", "0", NULL };
	const struct collector_options o = {
		.rate = 2000, .kernel = true, .trace = true, .seed = 7
	};
	struct subject s = subject_start(args);
	struct range_sets t = { 0 };
	struct world w;
	double sum = 0, squares = 0, most = 0;

	subject_go(&s);
	begin(&w, &o);
	collector_trace(w.collector, take_interval, &t);
	poll_for(&w, 1.5);
	finish(&w);
	kill(s.pid, SIGKILL);
	waitpid(s.pid, NULL, 0);
	close(s.out);
	assert_true(t.n > 1000);
	for (size_t i = 0; i < t.n; i++) {
		sum += t.x[i];
		squares += t.x[i] * t.x[i];
	}
	const double mean = sum / (double)t.n;
	const double spread = sqrt(squares / (double)t.n - mean * mean) / mean;

	print_message("%zu intervals, mean %.0f ns, spread %.3f", t.n, mean, spread);
	for (size_t lag = 1; lag <= 32; lag++)
		most = fmax(most, fabs(correlation(t.x, t.n, lag)));
	print_message(", correlation up to %.3f\n", most);
	free(t.x);
	end(&w);
	return fabs(mean / 500000 - 1) < 0.01 && spread > 0.6 && spread < 1.2 && most <= 0.1;
}

/* A busy machine delays interrupts and drops some: one run of several has few of those. */
static void test_2006_intervals_spread_without_serial_correlation_or_drift(void **state)
{
	bool random = false;

	(void)state;
	for (int i = 0; i < 6 && !random; i++)
		random = intervals_are_random();
	assert_true(random);
}

static void test_2007_two_collectors_work_at_once(void **state)
{
	const struct collector_options o = { .rate = 1000, .kernel = true };
	struct world a, b;

	(void)state;
	const pid_t busy = busy_begin();

	begin(&a, &o);
	begin(&b, &o);
	for (int i = 0; i < 20; i++) {
		poll_once(&a, 10);
		poll_once(&b, 10);
	}
	finish(&a);
	finish(&b);
	assert_true(live_event(a.profile, 0)->taken > 0);
	assert_true(live_event(b.profile, 0)->taken > 0);
	end(&a);
	end(&b);
	busy_end(busy);
}

static void test_2008_stacks_have_the_chain_of_callers(void **state)
{
	const char *const args[] = { program(), "frames", "0.5", NULL };
	const struct collector_options o = { .rate = 2000, .stacks = true };
	unsigned long at[4];
	uint64_t right = 0, work = 0, all = 0;
	struct world w;
	char text[128];
	size_t n;

	(void)state;
	sample_run(&w, o, args, text, sizeof(text));
	finish(&w);
	assert_int_equal(sscanf(text, "%lx %lx %lx %lx", &at[3], &at[2], &at[1], &at[0]), 4);
	const struct live_stack *s = live_stacks(w.profile, &n);

	for (size_t i = 0; i < n; i++) {
		bool ok = s[i].nframes > 4;

		all += s[i].count;
		if (!s[i].nframes || s[i].frames[0].offset / 4096 != at[0] / 4096)
			continue;
		for (int k = 0; k < 4 && ok; k++)
			ok = s[i].frames[k].offset / 4096 == at[k] / 4096;
		work += s[i].count;
		right += ok ? s[i].count : 0;
	}
	assert_int_equal(all, live_event(w.profile, 0)->taken);
	assert_true(work > 100);
	assert_int_equal(right, work);
	end(&w);
}

struct branch {
	uint64_t taken, not_taken;
};

/* Adds the samples of a branch in one run of a program that has one. */
static void sample_branch(const char *pattern, const char *seconds, uint64_t seed,
			  struct branch *sum)
{
	const struct collector_options o = { .rate = 20000, .edges = true, .seed = seed };
	const char *const args[] = { program(), "branches", seconds, pattern, NULL };
	struct branch most = { 0, 0 };
	unsigned long at;
	struct world w;
	char text[64];
	size_t n;

	sample_run(&w, o, args, text, sizeof(text));
	finish(&w);
	assert_int_equal(sscanf(text, "%lx", &at), 1);
	const struct live_edge *e = live_edges(w.profile, &n);

	for (size_t k = 0; k < n; k++)
		/* The loop's own branch is fused with its comparison and further down. */
		if (e[k].offset / 4096 == at / 4096 &&
		    e[k].taken + e[k].not_taken > most.taken + most.not_taken)
			most = (struct branch){ e[k].taken, e[k].not_taken };
	sum->taken += most.taken;
	sum->not_taken += most.not_taken;
	end(&w);
}

/* SAMPLES=100000: within one point at so many samples, as the paper's section 7 would need. Fewer are
 * uncertain by themselves. A loaded machine gives fewer in a run, so that there are more runs. */
static void test_2009_branches_of_known_probability(void **state)
{
	static const struct {
		const char *pattern;
		double p;
	} cases[] = { { "1111111111111111", 0.25 }, { "fff7fff7fff7fff7", 0.9375 } };
	const double wanted = getenv("SAMPLES") ? atof(getenv("SAMPLES")) : 1000;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct branch b = { 0, 0 };
		double all = 0;

		for (uint64_t run = 1; all < wanted && run <= 10 + (uint64_t)(wanted / 1000);
		     run++) {
			sample_branch(cases[i].pattern, wanted < 100000 ? "0.3" : "5", run, &b);
			all = (double)(b.taken + b.not_taken);
		}
		const double p = cases[i].p, seen = (double)b.taken / all;
		const double sigma = all < 100000 ? sqrt(p * (1 - p) / all) : 0;

		print_message("taken %.4f of %.0f, truth %.4f\n", seen, all, p);
		assert_true(all >= wanted);
		if (fabs(seen - p) > 0.01 + 3 * sigma)
			fail_msg("%.4f taken, not %.4f", seen, p);
	}
}

/* Counts a software event of a process as `perf stat` does. */
static int count_like_perf(uint64_t config, pid_t pid)
{
	struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE,
				     .size = sizeof(a),
				     .config = config,
				     .disabled = 1,
				     .inherit = 1,
				     .enable_on_exec = 1 };
	const int fd = (int)syscall(SYS_perf_event_open, &a, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void test_2010_software_events_are_counted_exactly(void **state)
{
	static const struct {
		const char *name;
		uint64_t config;
	} events[] = { { "page-faults", PERF_COUNT_SW_PAGE_FAULTS },
		       { "context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES },
		       { "migrations", PERF_COUNT_SW_CPU_MIGRATIONS } };
	const char *const names[] = { events[0].name, events[1].name, events[2].name };
	const char *const args[] = { program(), "faults", "3000", NULL };
	struct subject s = subject_start(args);
	const int32_t pid = s.pid;
	const struct collector_options o = { .events = names,
					     .nevents = 3,
					     .kernel = true,
					     .pids = &pid,
					     .npids = 1,
					     .on_exec = true };
	struct world w;
	char text[16];
	int fds[3];

	(void)state;
	begin(&w, &o);
	for (int i = 0; i < 3; i++)
		fds[i] = count_like_perf(events[i].config, s.pid);
	subject_go(&s);
	subject_wait(&s, &w, text, sizeof(text));
	finish(&w);
	for (int i = 0; i < 3; i++) {
		uint64_t n = 0;

		assert_int_equal(read(fds[i], &n, sizeof(n)), sizeof(n));
		close(fds[i]);
		assert_int_equal(live_event(w.profile, (size_t)i)->taken, n);
	}
	assert_true(live_event(w.profile, 0)->taken >= 3000);
	end(&w);
}

static void test_2011_rotating_events_are_scaled_by_their_time(void **state)
{
	const char *const events[] = { "mux:cpu-clock,task-clock", "page-faults" };
	const char *const args[] = { program(), "spin", "10", "0", NULL };
	const struct collector_options o = {
		.events = events, .nevents = 2, .rate = 1000, .kernel = true, .mux_ms = 10
	};
	struct subject s = subject_start(args);
	struct world w;

	(void)state;
	subject_go(&s);
	begin(&w, &o);
	poll_for(&w, 1);
	finish(&w);
	kill(s.pid, SIGKILL);
	waitpid(s.pid, NULL, 0);
	close(s.out);
	double estimate[2];

	for (size_t i = 0; i < 2; i++) {
		const struct live_event *e = live_event(w.profile, i);

		print_message("%s: %llu samples, on for %.3f\n", e->name,
			      (unsigned long long)e->taken, e->running);
		assert_true(e->running > 0.1 && e->running < 0.9);
		estimate[i] = (double)e->taken / e->running;
	}
	assert_int_equal((int)live_event(w.profile, 2)->running, 1);
	/* Two clocks that see the same: within 3% and the noise of so few samples. */
	assert_true(fabs(estimate[0] / estimate[1] - 1) < 0.03 + 0.1);
	end(&w);
}

/* A program that faults as its own processor time goes by, so that it does not matter who else runs. */
static void test_2784_software_events_by_turns_are_within_3_percent(void **state)
{
	const char *const events[] = { "mux:minor-faults,cpu-migrations", "page-faults" };
	const char *const args[] = { program(), "faulting", "1.5", NULL };
	const struct collector_options o = {
		.events = events, .nevents = 2, .rate = 100, .mux_ms = 20
	};
	struct world w;
	char text[16];

	(void)state;
	sample_run(&w, o, args, text, sizeof(text));
	finish(&w);
	const struct live_event *turns = live_event(w.profile, 0), *all = live_event(w.profile, 2);
	const double estimate = (double)turns->taken / turns->running;

	print_message("%s: %.0f by turns (on for %.3f), %s: %llu\n", turns->name, estimate,
		      turns->running, all->name, (unsigned long long)all->taken);
	assert_true(turns->running > 0.1 && turns->running < 0.9);
	assert_true(all->taken > 2000);
	assert_true(fabs(estimate / (double)all->taken - 1) < 0.03);
	end(&w);
}

static void test_2012_event_names(void **state)
{
	struct event_spec s;
	struct err e;

	(void)state;
	assert_true(events_encode("cycles:pp", true, &s, &e));
	assert_int_equal(s.attr.type, PERF_TYPE_HARDWARE);
	assert_int_equal(s.attr.config, PERF_COUNT_HW_CPU_CYCLES);
	assert_int_equal(s.attr.precise_ip, 2);
	assert_int_equal(s.attr.exclude_idle, 1);
	free(s.name);
	free(s.actual);
	assert_true(events_encode("r01c2", false, &s, &e));
	assert_int_equal(s.attr.type, PERF_TYPE_RAW);
	assert_int_equal(s.attr.config, 0x1c2);
	assert_int_equal(s.attr.exclude_kernel, 1);
	free(s.name);
	free(s.actual);
	assert_true(events_encode("imiss", true, &s, &e));
	assert_int_equal(s.attr.type, PERF_TYPE_HW_CACHE);
	assert_int_equal(s.attr.config,
			 PERF_COUNT_HW_CACHE_L1I | PERF_COUNT_HW_CACHE_RESULT_MISS << 16);
	free(s.name);
	free(s.actual);
	assert_false(events_encode("page-fautls", true, &s, &e));
	assert_non_null(strstr(e.text, "'page-faults'"));
}

/* What would be opened for our names, and for libpfm4's of the same events; and raw codes as the
 * manuals of two processors have them. */
static void test_2785_names_mean_what_libpfm_says(void **state)
{
	static const struct {
		const char *pmu, *theirs, *ours;
	} rows[] = {
		{ "perf", "perf::CYCLES", "cycles" },
		{ "perf", "perf::INSTRUCTIONS", "instructions" },
		{ "perf", "perf::CACHE-REFERENCES", "cache-references" },
		{ "perf", "perf::CACHE-MISSES", "cache-misses" },
		{ "perf", "perf::BRANCHES", "branches" },
		{ "perf", "perf::BRANCH-MISSES", "branch-misses" },
		{ "perf", "perf::BRANCH-MISSES", "branchmp" },
		{ "perf", "perf::CPU-CLOCK", "cpu-clock" },
		{ "perf", "perf::TASK-CLOCK", "task-clock" },
		{ "perf", "perf::PAGE-FAULTS", "page-faults" },
		{ "perf", "perf::MINOR-FAULTS", "minor-faults" },
		{ "perf", "perf::MAJOR-FAULTS", "major-faults" },
		{ "perf", "perf::CONTEXT-SWITCHES", "context-switches" },
		{ "perf", "perf::CPU-MIGRATIONS", "cpu-migrations" },
		{ "perf", "perf::L1-ICACHE-LOAD-MISSES", "imiss" },
		{ "perf", "perf::L1-DCACHE-LOAD-MISSES", "dmiss" },
		{ "perf", "perf::ITLB-LOAD-MISSES", "itbmiss" },
		{ "perf", "perf::DTLB-LOAD-MISSES", "dtbmiss" },
		{ "skl", "INST_RETIRED:ANY_P", "r00c0" },
		{ "skl", "BR_MISP_RETIRED:ALL_BRANCHES", "r00c5" },
		{ "skl", "MEM_LOAD_RETIRED:L1_MISS", "r08d1" },
		{ "amd64_fam17h_zen1", "RETIRED_INSTRUCTIONS", "r00c0" },
	};

	(void)state;
	if (!events_pfm_here())
		skip();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct event_spec ours;
		struct perf_event_attr theirs = { 0 };
		struct err e;

		setenv("LIBPFM_FORCE_PMU", rows[i].pmu, 1);
		assert_true(events_encode(rows[i].ours, true, &ours, &e));
		if (!events_pfm_encode(rows[i].theirs, &theirs))
			fail_msg("libpfm4 does not know %s", rows[i].theirs);
		assert_int_equal(ours.attr.type, theirs.type);
		assert_int_equal(ours.attr.config, theirs.config);
		free(ours.name);
		free(ours.actual);
	}
	unsetenv("LIBPFM_FORCE_PMU");
}

/* What perf would open first: "type 1", "config 0x2" and so on; what is 0 is not said. */
static bool perf_opens(const char *event, uint64_t *type, uint64_t *config, uint64_t *precise)
{
	char command[256], line[256], word[64];
	long long value;
	bool inside = false, found = false;

	*type = *config = *precise = 0;
	snprintf(command, sizeof(command), "perf record -vv -e %s -o /dev/null -- true 2>&1",
		 event);
	FILE *f = popen(command, "re");

	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "perf_event_attr", 15) == 0 && !found)
			inside = found = true;
		else if (line[0] != ' ')
			inside = false;
		if (!inside || sscanf(line, " %63s %lli", word, &value) != 2)
			continue;
		if (strcmp(word, "type") == 0)
			*type = (uint64_t)value;
		if (strcmp(word, "config") == 0)
			*config = (uint64_t)value;
		if (strcmp(word, "precise_ip") == 0)
			*precise = (uint64_t)value;
	}
	if (f)
		pclose(f);
	return found;
}

static void test_2790_events_are_opened_as_perf_would_open_them(void **state)
{
	static const struct {
		const char *ours, *theirs;
	} rows[] = { { "cycles:pp", "cycles:pp" },
		     { "instructions", "instructions" },
		     { "imiss", "L1-icache-load-misses" },
		     { "page-faults", "page-faults" },
		     { "r01c2", "r01c2" } };

	(void)state;
	if (system("perf --version >/dev/null 2>&1") != 0)
		skip();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t type, config, precise;
		struct event_spec s;
		struct err e;

		assert_true(events_encode(rows[i].ours, true, &s, &e));
		assert_true(perf_opens(rows[i].theirs, &type, &config, &precise));
		assert_int_equal(s.attr.type, type);
		assert_int_equal(s.attr.config, config);
		assert_int_equal(s.attr.precise_ip, precise);
		free(s.name);
		free(s.actual);
	}
}

static void test_2013_a_rate_above_the_kernels_limit_is_one_clear_line(void **state)
{
	const struct collector_options o = { .rate = 100000000 };
	struct err e = { "" };
	struct world w;

	(void)state;
	assert_false(try_begin(&w, &o, &e));
	assert_non_null(strstr(e.text, "perf_event_max_sample_rate"));
	end(&w);
}

/* Becomes nobody with these capabilities alone. */
static bool become_nobody(uint64_t caps)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2] = { 0 };

	for (int i = 0; i < 2; i++)
		d[i].effective = d[i].permitted = (uint32_t)(caps >> (32 * i));
	return prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0 && setgroups(0, NULL) == 0 &&
	       setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0 &&
	       syscall(SYS_capset, &h, d) == 0 && prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0;
}

/* In a process of its own: 0 if a collection works with these capabilities, 1 if it is refused with a
 * line that names them. */
static int works_with(uint64_t caps)
{
	const pid_t pid = fork();
	int status;

	if (pid == 0) {
		const struct collector_options o = { .rate = 1000, .kernel = true };
		struct err e = { "" };
		struct world w;

		if (!become_nobody(caps))
			_exit(3);
		if (!try_begin(&w, &o, &e))
			_exit(strstr(e.text, "CAP_") ? 1 : 4);
		poll_for(&w, 0.2);
		if (!collector_close(w.collector, &e))
			_exit(5);
		_exit(live_event(w.profile, 0)->taken > 0 ? 0 : 6);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_2014_two_capabilities_suffice_and_none_is_refused(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	const pid_t busy = busy_begin();

	assert_int_equal(works_with(1ull << 38 | 1ull << 39), 0);
	assert_int_equal(works_with(0), 1);
	busy_end(busy);
}

static void test_2015_periods_keep_the_rate_and_depend_on_the_seed(void **state)
{
	uint64_t a[EVENTS_STREAMS], b[EVENTS_STREAMS];
	struct rng rng;
	double rate = 0;

	(void)state;
	rng_seed(&rng, 1);
	events_periods(&rng, 5200, a, EVENTS_STREAMS);
	for (int i = 0; i < EVENTS_STREAMS; i++)
		rate += 1e9 / (double)a[i];
	assert_true(fabs(rate / 5200 - 1) < 1e-4);
	rng_seed(&rng, 1);
	events_periods(&rng, 5200, b, EVENTS_STREAMS);
	assert_memory_equal(a, b, sizeof(a));
	rng_seed(&rng, 2);
	events_periods(&rng, 5200, b, EVENTS_STREAMS);
	assert_memory_not_equal(a, b, sizeof(a));
}

static void test_2016_processes_are_kept_apart_when_asked(void **state)
{
	const char *const args[] = { program(), "shares", "0.3", NULL };
	const struct collector_options o = { .rate = 2000, .per_process = true };
	struct world w;
	char text[256];
	size_t n;

	(void)state;
	sample_run(&w, o, args, text, sizeof(text));
	finish(&w);
	const struct live_count *c = live_counts(w.profile, &n);

	assert_true(n > 0);
	for (size_t i = 0; i < n; i++) {
		assert_true(c[i].process != LIVE_NO_PROCESS);
		assert_string_equal(live_process(w.profile, c[i].process)->comm, "sampled");
	}
	end(&w);
}

/* Three threads with names, of which one works twice as long as another. */
static void test_1354_threads_are_kept_apart_when_asked(void **state)
{
	static const char *const names[] = { "long", "short" };
	const char *const args[] = { program(), "threads", "0.4", NULL };
	const struct collector_options o = { .rate = 2000,
					     .per_process = true,
					     .per_thread = true };
	uint64_t samples[2] = { 0, 0 }, all = 0;
	int32_t tid[2] = { 0, 0 };
	struct world w;
	char text[256];
	double seconds[2];
	size_t n;

	(void)state;
	sample_run(&w, o, args, text, sizeof(text));
	finish(&w);
	assert_int_equal(sscanf(text, "%lf %lf", &seconds[0], &seconds[1]), 2);
	const struct live_count *c = live_counts(w.profile, &n);

	for (size_t i = 0; i < n; i++) {
		const struct live_process *p = live_process(w.profile, c[i].process);

		assert_string_equal(p->comm, "sampled");
		assert_true(p->tid >= p->pid && p->thread_ns >= p->start_ns);
		all += c[i].count;
		for (int k = 0; k < 2; k++)
			if (strcmp(p->thread, names[k]) == 0) {
				assert_true(!tid[k] || tid[k] == p->tid);
				tid[k] = p->tid;
				samples[k] += c[i].count;
			}
	}
	assert_true(tid[0] && tid[1] && tid[0] != tid[1]);
	const double both = (double)(samples[0] + samples[1]);
	const double p = seconds[0] / (seconds[0] + seconds[1]);

	assert_true(both > 100 && both > 0.8 * (double)all);
	assert_true(fabs((double)samples[0] / both - p) < 4 * sqrt(p * (1 - p) / both) + 0.02);
	end(&w);
}

/* Samples of a function in a file of perf. */
static double perf_samples(const char *data, const char *function)
{
	char command[256], line[256];
	double found = 0;

	snprintf(command, sizeof(command),
		 "perf report -i %s --stdio --no-children -F sample,symbol 2>/dev/null", data);
	FILE *f = popen(command, "re");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		char symbol[64];
		double n;

		if (sscanf(line, "%lf [.] %63s", &n, symbol) == 2 && strcmp(symbol, function) == 0)
			found += n;
	}
	pclose(f);
	return found;
}

static void test_2017_shares_are_those_of_perf_in_the_same_run(void **state)
{
	static const char *const names[] = { "seventy", "twenty", "ten" };
	const char *const args[] = { program(), "shares", "1", NULL };
	const struct collector_options o = { .rate = 4000 };
	char folder[] = "/tmp/culprit-sampling-XXXXXX", data[64], pid[16], text[256];
	double theirs[3], theirs_sum = 0, ours[3], ours_sum = 0;
	unsigned long offset[3];
	struct world w;

	(void)state;
	if (system("perf --version >/dev/null 2>&1") != 0)
		skip();
	assert_non_null(mkdtemp(folder));
	snprintf(data, sizeof(data), "%s/data", folder);
	struct subject s = subject_start(args);
	const int32_t sampled_pid = s.pid;
	struct collector_options with = o;

	snprintf(pid, sizeof(pid), "%d", s.pid);
	with.pids = &sampled_pid;
	with.npids = 1;
	with.on_exec = true;
	begin(&w, &with);
	const pid_t perf = fork();

	if (perf == 0) {
		execlp("perf", "perf", "record", "-q", "-e", "cpu-clock:u", "-c", "250000", "-p",
		       pid, "-o", data, NULL);
		_exit(127);
	}
	/* It writes its head when the events are open. */
	struct stat st;

	for (int i = 0; i < 500 && (stat(data, &st) < 0 || !st.st_size); i++)
		poll_once(&w, 20);
	usleep(50000);
	subject_go(&s);
	subject_wait(&s, &w, text, sizeof(text));
	waitpid(perf, NULL, 0);
	finish(&w);
	assert_int_equal(sscanf(text, "%lx %*f %lx %*f %lx", &offset[0], &offset[1], &offset[2]),
			 3);
	for (int i = 0; i < 3; i++) {
		ours[i] = (double)samples_at(&w, "sampled", offset[i], 4096);
		theirs[i] = perf_samples(data, names[i]);
		ours_sum += ours[i];
		theirs_sum += theirs[i];
	}
	assert_true(ours_sum > 1000 && theirs_sum > 1000);
	for (int i = 0; i < 3; i++) {
		const double a = ours[i] / ours_sum, b = theirs[i] / theirs_sum;
		/* One point, and what two samples of so few can differ by. */
		const double sigma = sqrt(a * (1 - a) * (1 / ours_sum + 1 / theirs_sum));

		print_message("%s: %.4f, perf %.4f\n", names[i], a, b);
		assert_true(fabs(a - b) < 0.01 + 3 * sigma);
	}
	end(&w);
	unlink(data);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2001_known_shares_lie_within_their_binomial_interval),
		cmocka_unit_test(test_2002_nothing_is_unaccounted_for_when_table_and_ring_overflow),
		cmocka_unit_test(test_2003_draining_while_sampling_loses_and_doubles_nothing),
		cmocka_unit_test(test_2004_a_pid_that_executes_another_program_is_another_process),
		cmocka_unit_test(
		    test_2005_two_files_mapped_by_turns_at_one_address_keep_their_samples),
		cmocka_unit_test(test_2006_intervals_spread_without_serial_correlation_or_drift),
		cmocka_unit_test(test_2007_two_collectors_work_at_once),
		cmocka_unit_test(test_2008_stacks_have_the_chain_of_callers),
		cmocka_unit_test(test_2009_branches_of_known_probability),
		cmocka_unit_test(test_2010_software_events_are_counted_exactly),
		cmocka_unit_test(test_2011_rotating_events_are_scaled_by_their_time),
		cmocka_unit_test(test_2784_software_events_by_turns_are_within_3_percent),
		cmocka_unit_test(test_2012_event_names),
		cmocka_unit_test(test_2785_names_mean_what_libpfm_says),
		cmocka_unit_test(test_2790_events_are_opened_as_perf_would_open_them),
		cmocka_unit_test(test_2013_a_rate_above_the_kernels_limit_is_one_clear_line),
		cmocka_unit_test(test_2014_two_capabilities_suffice_and_none_is_refused),
		cmocka_unit_test(test_2015_periods_keep_the_rate_and_depend_on_the_seed),
		cmocka_unit_test(test_2016_processes_are_kept_apart_when_asked),
		cmocka_unit_test(test_1354_threads_are_kept_apart_when_asked),
		cmocka_unit_test(test_2017_shares_are_those_of_perf_in_the_same_run),
	};
	const struct collector_options o = { .rate = 100 };
	struct err e = { "" };
	struct world w;

	if (!try_begin(&w, &o, &e)) {
		live_profile_free(w.profile);
		printf("skipped: %s\n", e.text);
		return 77;
	}
	finish(&w);
	end(&w);
	if (getenv("ONLY"))
		cmocka_set_test_filter(getenv("ONLY"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
