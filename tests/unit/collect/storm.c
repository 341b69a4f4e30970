/* SPDX-License-Identifier: MIT */
/*
 * A thousand short programs a second: their samples belong to the right image. Two programs lie at
 * the same addresses, so that only the order of records can tell them apart. Needs root.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <setjmp.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/maps_int.h"
#include "machine.h"
#include "util/array.h"

#define CPUS_MAX   64
#define RING_PAGES 2048

struct sampler {
	int fds[CPUS_MAX];
	struct perf_event_mmap_page *rings[CPUS_MAX];
	int count;
};

/* Samples of user code by the processor's clock, kept in the rings until the end. */
static void sampler_begin(struct sampler *s, uint64_t period_ns)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.sample_period = period_ns,
					.sample_type =
					    PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
					.exclude_kernel = 1,
					.use_clockid = 1,
					.clockid = CLOCK_BOOTTIME };
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	*s = (struct sampler){ 0 };
	for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN) && cpu < CPUS_MAX; cpu++) {
		const int fd =
		    (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

		assert_true(fd >= 0);
		s->rings[s->count] =
		    mmap(NULL, (RING_PAGES + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		assert_ptr_not_equal(s->rings[s->count], MAP_FAILED);
		s->fds[s->count++] = fd;
	}
}

struct sample {
	uint64_t address, time_ns;
	int32_t pid;
};

static size_t sampler_end(struct sampler *s, struct sample **samples)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t n = 0;

	*samples = NULL;
	for (int i = 0; i < s->count; i++) {
		const uint8_t *data = (const uint8_t *)s->rings[i] + page;
		const uint64_t head = __atomic_load_n(&s->rings[i]->data_head, __ATOMIC_ACQUIRE);
		struct {
			struct perf_event_header h;
			uint64_t ip;
			uint32_t pid, tid;
			uint64_t time;
		} r;

		close(s->fds[i]);
		/* Rings are large enough: a full one stops. */
		for (uint64_t at = 0; at + sizeof(r.h) <= head; at += r.h.size) {
			memcpy(&r.h, data + at, sizeof(r.h));
			assert_true(r.h.size > 0);
			if (r.h.type != PERF_RECORD_SAMPLE || r.h.size != sizeof(r))
				continue;
			memcpy(&r, data + at, sizeof(r));
			*ARRAY_ADD(*samples, n) = (struct sample){ r.ip, r.time, (int32_t)r.pid };
		}
		munmap(s->rings[i], (RING_PAGES + 1) * page);
	}
	return n;
}

/* Which program a pid became, and when. */
struct truth {
	pid_t pid;
	uint64_t time_ns;
	int program;
};

static pid_t start_program(const char *path, bool shares)
{
	char *argv[] = { (char *)path, "spin", "100", NULL }, *envp[] = { NULL };
	const pid_t pid = shares ? vfork() : fork();

	if (pid == 0) {
		execve(path, argv, envp);
		_exit(127);
	}
	return pid;
}

static uint64_t thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct storm {
	struct truth *truths;
	size_t ntruths;
	uint64_t work_ns, elapsed_ns, most_bytes;
};

static void run_storm(struct machine *m, char programs[2][128], uint64_t length_ns, struct storm *s)
{
	const uint64_t begin = sideband_now();
	uint64_t read_ns = begin;
	unsigned running = 0;

	*s = (struct storm){ 0 };
	while (sideband_now() - begin < length_ns) {
		const int which = (int)(s->ntruths & 1);
		struct truth *t = ARRAY_ADD(s->truths, s->ntruths);

		*t = (struct truth){ 0, sideband_now(), which };
		t->pid = start_program(programs[which], s->ntruths & 2);
		assert_true(t->pid > 0);
		running++;
		while (waitpid(-1, NULL, running >= 4 ? 0 : WNOHANG) > 0)
			running--;
		if (sideband_now() - read_ns > 100000000) {
			const uint64_t before = thread_ns();

			read_ns = sideband_now();
			sideband_read(m->sideband, m->maps, 0);
			s->work_ns += thread_ns() - before;
			s->most_bytes = max_u64(s->most_bytes, maps_status(m->maps).memory_bytes);
		}
	}
	while (waitpid(-1, NULL, 0) > 0)
		;
	s->elapsed_ns = sideband_now() - begin;
	sideband_read(m->sideband, m->maps, sideband_now());
}

static void test_2160_samples_of_a_storm_of_programs_find_their_image(void **state)
{
	char programs[2][128];
	struct machine m;
	struct sampler sampler;
	struct sample *samples;
	struct storm s;
	size_t seen = 0, right = 0, unknown = 0;

	machine_begin(&m, 0);
	for (int i = 0; i < 2; i++) {
		snprintf(programs[i], sizeof(programs[i]), "%s/%d", m.folder, i);
		copy_program(target(), programs[i], i);
	}
	sampler_begin(&sampler, 100000);
	run_storm(&m, programs, 2000000000, &s);
	const size_t n = sampler_end(&sampler, &samples);

	for (size_t i = 0; i < n; i++) {
		const struct truth *t = NULL;

		/* Static programs lie low; what is higher ran before execve, or in the vdso. */
		for (size_t k = s.ntruths; k-- > 0 && !t;)
			if (s.truths[k].pid == samples[i].pid &&
			    s.truths[k].time_ns <= samples[i].time_ns)
				t = &s.truths[k];
		if (!t || samples[i].address >= 1u << 30)
			continue;
		const struct maps_place p =
		    maps_find_at(m.maps, (struct maps_space){ .pid = samples[i].pid },
				 samples[i].address, samples[i].time_ns);
		const struct live_image *image = live_image(m.profile, p.image);

		seen++;
		right += strcmp(image->name, programs[t->program]) == 0;
		unknown += image->kind == LIVE_UNKNOWN;
	}
	const struct sideband_status status = sideband_status(m.sideband);

	print_message(
	    "%.0f programs/s, %zu samples, %.3f%% right, %zu unknown; side-band %.2f%% of a "
	    "processor, %.0f bytes a program, lost %llu, late %llu; maps %.1f MB\n",
	    (double)s.ntruths * 1e9 / (double)s.elapsed_ns, seen,
	    100.0 * (double)right / (double)seen, unknown,
	    100.0 * (double)s.work_ns / (double)s.elapsed_ns,
	    (double)status.bytes / (double)s.ntruths, (unsigned long long)status.lost,
	    (unsigned long long)status.late, (double)s.most_bytes / 1e6);
	assert_int_equal(status.lost, 0);
	assert_true(seen > 500);
	assert_true((double)right >= 0.999 * (double)seen);
	free(samples);
	free(s.truths);
	machine_end(&m);
	(void)state;
}

/* A process with a pid that the caller chooses. */
static pid_t fork_as(pid_t pid)
{
	struct clone_args args = { .exit_signal = SIGCHLD,
				   .set_tid = (uintptr_t)&pid,
				   .set_tid_size = 1 };

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

static void test_2161_a_pid_that_is_used_again_is_another_process(void **state)
{
	char path[128];
	struct machine m;

	machine_begin(&m, 0);
	snprintf(path, sizeof(path), "%s/other", m.folder);
	copy_program(target(), path, true);
	struct child first = child_run(NULL, target(), "here", NULL);
	child_end(&first);
	int in[2], out[2];
	char line[64];

	assert_true(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
	const pid_t again = fork_as(first.pid);
	if (again == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execl(path, path, "here", NULL);
		_exit(127);
	}
	if (again < 0) {
		machine_end(&m);
		print_message("skipped: the pid cannot be chosen: %s\n", strerror(errno));
		skip();
	}
	assert_int_equal(again, first.pid);
	assert_true(read(out[0], line, sizeof(line)) > 0);
	const struct live_image *now = machine_image(&m, &first);

	assert_string_equal(now->name, path);
	struct life *l = maps_newest(m.maps, first.pid);
	assert_non_null(l->older);
	const struct maps_space space = { .pid = first.pid, .start_ns = l->older->born_ns };
	const struct maps_place p = maps_find(m.maps, space, first.address);
	assert_string_equal(path_name(live_image(m.profile, p.image)->name), "collect_target");
	close(in[0]);
	close(in[1]);
	close(out[0]);
	close(out[1]);
	waitpid(again, NULL, 0);
	machine_end(&m);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2160_samples_of_a_storm_of_programs_find_their_image),
		cmocka_unit_test(test_2161_a_pid_that_is_used_again_is_another_process),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
