/* SPDX-License-Identifier: MIT */
/*
 * Private files (guest/files/view.c): a guest does the same with them as with the host's, and the
 * host's stay as they are.
 */
#include "guest_world.h"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/checkpoint/checkpoint.h"
#include "state/file.h"
#include "util/digest.h"

struct world {
	char folder[64];
	int home;
};

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* A folder with files, links and folders, and this process in it. */
static void world_begin(struct world *w)
{
	strcpy(w->folder, "/tmp/culprit-test-view-XXXXXX");
	w->home = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_non_null(mkdtemp(w->folder));
	assert_int_equal(chdir(w->folder), 0);
	put("a", "first");
	put("b", "second file");
	assert_int_equal(link("b", "c"), 0);
	assert_int_equal(mkdir("sub", 0755), 0);
	assert_int_equal(mkdir("sub/deep", 0755), 0);
	put("sub/a", "in sub");
	put("sub/deep/a", "in deep");
	put("sub/deep/old", "old");
	assert_int_equal(symlink("sub", "link"), 0);
	assert_int_equal(mkdir("old", 0755), 0);
}

static void world_end(struct world *w)
{
	assert_int_equal(fchdir(w->home), 0);
	view_remove_tree(AT_FDCWD, w->folder);
	close(w->home);
}

/* Names, modes, times of change and content of all that is in a folder. */
static void digest_folder(struct digest *d, const char *path)
{
	struct dirent **names;
	int n = scandir(path, &names, NULL, alphasort);

	assert_true(n >= 0);
	for (int i = 0; i < n; i++) {
		char child[512];
		struct stat st;

		snprintf(child, sizeof(child), "%s/%s", path, names[i]->d_name);
		if (strcmp(names[i]->d_name, "..") && !lstat(child, &st)) {
			digest_text(d, child);
			digest_add(d, &st.st_mode, sizeof(st.st_mode));
			digest_add(d, &st.st_mtim, sizeof(st.st_mtim));
			digest_add(d, &st.st_ctim, sizeof(st.st_ctim));
			digest_add(d, &st.st_nlink, sizeof(st.st_nlink));
			if (S_ISREG(st.st_mode))
				digest_file(d, child);
			if (S_ISDIR(st.st_mode) && strcmp(names[i]->d_name, "."))
				digest_folder(d, child);
		}
		free(names[i]);
	}
	free(names);
}

static void fingerprint(char hex[DIGEST_HEX])
{
	struct digest d;

	digest_init(&d);
	digest_folder(&d, ".");
	digest_hex(&d, hex);
}

static void run_places(const char *program, const char *seed, const char *count, bool private,
		       struct run *r)
{
	char *argv[] = { (char *)(uintptr_t)program, (char *)(uintptr_t)seed,
			 (char *)(uintptr_t)count, NULL };
	struct guest_config config = { .argv = argv, .private_files = private };

	assert_true(world_run(program, &config, false, r));
	assert_int_equal(r->status, 0);
}

/* Shows the first line that differs. */
static void same_text(const char *what, const char *want, const char *got)
{
	size_t at = 0;

	if (!strcmp(want, got))
		return;
	while (want[at] == got[at])
		at++;
	while (at && want[at - 1] != '\n')
		at--;
	fail_msg("%s: %.200s\ninstead of: %.200s", what, got + at, want + at);
}

static void test_2940(void **state)
{
	const char *program = world_program("places");
	struct run *open = x_malloc(sizeof(*open)), *private = x_malloc(sizeof(*private));

	(void)state;
	for (unsigned i = 1; i <= 10; i++) {
		char seed[16], before[DIGEST_HEX], after[DIGEST_HEX];
		struct world w;

		snprintf(seed, sizeof(seed), "%u", i);
		world_begin(&w);
		fingerprint(before);
		run_places(program, seed, "120", true, private);
		fingerprint(after);
		assert_string_equal(before, after);
		run_places(program, seed, "120", false, open);
		world_end(&w);
		same_text(seed, open->out, private->out);
	}
	free(open);
	free(private);
}

/* ---- checkpoints ---- */

#define POINTS 7

struct point {
	struct world w;
	char points[80], saved[112]; /* the folder of checkpoints, and the one */
	int out;		     /* the guest's output */
	char input[3000];
};

static void point_begin(struct point *p)
{
	world_begin(&p->w);
	put("input", "this is the input file");
	assert_int_equal(mkdir("many", 0755), 0);
	for (int i = 0; i < 9; i++) {
		char name[32];

		snprintf(name, sizeof(name), "many/f%d", i);
		put(name, name);
	}
	for (size_t i = 0; i < sizeof(p->input); i++)
		p->input[i] = (char)('a' + i % 23);
	snprintf(p->points, sizeof(p->points), "%s-points", p->w.folder);
	snprintf(p->saved, sizeof(p->saved), "%s/one.checkpoint", p->points);
	p->out = memfd_create("out", MFD_CLOEXEC);
}

static void point_end(struct point *p)
{
	close(p->out);
	view_remove_tree(AT_FDCWD, p->points);
	world_end(&p->w);
}

/* Standard input: a pipe with everything in it, whose writer has ended. */
static int input_pipe(const struct point *p)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(write(ends[1], p->input, sizeof(p->input)), sizeof(p->input));
	close(ends[1]);
	return ends[0];
}

static struct guest *start(const struct point *p, const char *program, const char *part, int in,
			   int out)
{
	char *argv[] = { (char *)(uintptr_t)program, (char *)(uintptr_t)part,
			 (char *)(uintptr_t) "120", NULL };
	const int streams[] = { in, out, out };
	const struct guest_config config = { .argv = argv,
					     .streams = streams,
					     .input[0] = { GUEST_INPUT_KEPT, -1 },
					     .private_files = true };
	struct err e = { "" };
	struct guest *g;

	assert_int_equal(chdir(p->w.folder), 0);
	g = guest_new(&config, &e);
	assert_string_equal(e.text, "");
	return g;
}

static bool save(const struct point *p, struct guest *g, struct err *e)
{
	struct state_pool *pool = state_pool_open(p->points, e);
	struct state_file *f;
	bool ok;

	assert_non_null(pool);
	f = state_file_new(pool);
	ok = guest_save(g, f, e) && state_file_write(f, p->saved, e);
	state_file_free(f);
	state_pool_close(pool);
	return ok;
}

static struct guest *restore(const struct point *p, int out, bool discard, struct err *e)
{
	const int streams[] = { -1, out, out };
	const struct guest_config config = { .streams = streams, .discard_output = discard };
	struct state_file *f = state_file_open(p->saved, e);
	struct guest *g = f ? guest_restore(&config, f, e) : NULL;

	state_file_free(f);
	return g;
}

static void finish(struct guest *g, struct run *r, int out)
{
	ssize_t n;

	while (guest_run(g, UINT64_MAX) == GUEST_RUNNING)
		;
	r->insts = guest_insts(g);
	r->status = guest_exit_status(g);
	guest_free(g);
	n = out < 0 ? 0 : pread(out, r->out, sizeof(r->out) - 1, 0);
	r->out[n > 0 ? n : 0] = 0;
	if (out >= 0) {
		assert_int_equal(ftruncate(out, 0), 0);
		lseek(out, 0, SEEK_SET);
	}
}

static void whole_run(const struct point *p, const char *program, const char *part, struct run *r)
{
	int in = input_pipe(p);
	struct guest *g = start(p, program, part, in, p->out);

	close(in);
	finish(g, r, p->out);
}

static void go_on(const struct point *p, const char *program, const char *part, uint64_t at,
		  const struct run *whole, unsigned *saved)
{
	int in = input_pipe(p);
	struct guest *g = start(p, program, part, in, p->out);
	struct run *r = x_malloc(sizeof(*r));
	struct err e = { "" };
	bool ok;

	close(in);
	guest_run(g, at);
	ok = guest_can_save(g, &e) && save(p, g, &e);
	guest_free(g);
	assert_int_equal(chdir(p->w.folder), 0);
	if (!ok) { /* only a child that lives is in the way */
		if (!strstr(e.text, "child process"))
			fail_msg("%s", e.text);
		assert_int_equal(ftruncate(p->out, 0), 0);
		lseek(p->out, 0, SEEK_SET);
		free(r);
		return;
	}
	++*saved;
	g = restore(p, p->out, false, &e);
	assert_string_equal(e.text, "");
	finish(g, r, p->out);
	if (strcmp(r->out, whole->out) || r->insts != whole->insts)
		print_message("%s, saved after %llu instructions\n", part, (unsigned long long)at);
	same_text(part, whole->out, r->out);
	assert_int_equal(r->status, whole->status);
	assert_int_equal(r->insts, whole->insts);
	free(r);
}

static void random_points(const char *part)
{
	const char *program = world_program("kinds");
	struct run *whole = x_malloc(sizeof(*whole));
	char before[DIGEST_HEX], after[DIGEST_HEX];
	unsigned saved = 0;
	struct point p;
	struct rng rng;

	point_begin(&p);
	fingerprint(before);
	whole_run(&p, program, part, whole);
	assert_null(strstr(whole->out, "instead of"));
	assert_true(strlen(whole->out) > 5);
	rng_seed(&rng, 2941);
	for (unsigned i = 0; i < POINTS; i++)
		go_on(&p, program, part, rng_below(&rng, whole->insts), whole, &saved);
	assert_true(saved >= POINTS / 2);
	assert_int_equal(chdir(p.w.folder), 0);
	fingerprint(after);
	assert_string_equal(before, after);
	point_end(&p);
	free(whole);
}

static void test_2941(void **state)
{
	(void)state;
	random_points("pipes");
}

static void test_2942(void **state)
{
	(void)state;
	random_points("sockets");
}

static void test_2943(void **state)
{
	(void)state;
	random_points("files");
}

static void test_2944(void **state)
{
	(void)state;
	random_points("folders");
}

static void test_2945(void **state)
{
	(void)state;
	random_points("events");
}

static void test_2946(void **state)
{
	(void)state;
	random_points("memory");
}

static void test_2947(void **state)
{
	(void)state;
	random_points("input");
}

static void test_2948(void **state)
{
	(void)state;
	random_points("children");
}

static void test_2949(void **state)
{
	const char *program = world_program("places");
	struct run *whole = x_malloc(sizeof(*whole));

	(void)state;
	for (unsigned i = 101; i < 107; i++) {
		char seed[16], before[DIGEST_HEX], after[DIGEST_HEX];
		unsigned saved = 0;
		struct point p;
		struct rng rng;

		snprintf(seed, sizeof(seed), "%u", i);
		point_begin(&p);
		fingerprint(before);
		whole_run(&p, program, seed, whole);
		rng_seed(&rng, i);
		go_on(&p, program, seed, rng_below(&rng, whole->insts), whole, &saved);
		go_on(&p, program, seed, rng_below(&rng, whole->insts), whole, &saved);
		assert_int_equal(chdir(p.w.folder), 0);
		fingerprint(after);
		assert_string_equal(before, after);
		point_end(&p);
	}
	free(whole);
}

/* Saves a guest in the middle of a part, with a stream of some kind as its output. */
static uint64_t save_middle(const struct point *p, const char *part, int out, struct run *whole)
{
	const char *program = world_program("kinds");
	struct err e = { "" };
	struct guest *g;
	int in;

	in = input_pipe(p);
	finish(start(p, program, part, in, out), whole, out == p->out ? out : -1);
	close(in);
	in = input_pipe(p);
	g = start(p, program, part, in, out);
	close(in);
	guest_run(g, whole->insts / 2);
	assert_true(save(p, g, &e) || (print_error("%s\n", e.text), false));
	guest_free(g);
	assert_int_equal(chdir(p->w.folder), 0);
	return whole->insts / 2;
}

static mode_t stream_kind(struct guest *g, unsigned fd)
{
	struct stat st;

	assert_int_equal(fstat(fd_host(g, fd), &st), 0);
	return st.st_mode & S_IFMT;
}

static void test_2950(void **state)
{
	static const mode_t kinds[] = { S_IFIFO, S_IFREG, S_IFCHR, S_IFSOCK };
	struct run *whole = x_malloc(sizeof(*whole)), *r = x_malloc(sizeof(*r));

	(void)state;
	for (unsigned kind = 0; kind < ARRAY_LEN(kinds); kind++) {
		int ends[2] = { -1, -1 };
		struct err e = { "" };
		struct guest *g;
		struct stat before, after;
		struct point p;

		point_begin(&p);
		if (kind == 0)
			assert_int_equal(pipe(ends), 0);
		else if (kind == 1)
			ends[1] = open("output file", O_WRONLY | O_CREAT | O_APPEND, 0600);
		else if (kind == 2)
			ends[0] = posix_openpt(O_RDWR | O_NOCTTY);
		else
			assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
		if (kind == 2) {
			assert_int_equal(grantpt(ends[0]) | unlockpt(ends[0]), 0);
			ends[1] = open(ptsname(ends[0]), O_RDWR | O_NOCTTY);
		}
		assert_true(ends[1] >= 0);
		save_middle(&p, "pipes", ends[1], whole);
		assert_int_equal(fstat(ends[1], &before), 0);
		g = restore(&p, p.out, true, &e);
		assert_string_equal(e.text, "");
		assert_int_equal(stream_kind(g, 1), kinds[kind]);
		assert_int_equal(isatty(fd_host(g, 1)), kind == 2);
		if (kind == 1)
			assert_int_equal(fcntl(fd_host(g, 1), F_GETFL) & O_APPEND, O_APPEND);
		finish(g, r, p.out);
		assert_string_equal(r->out, "");
		assert_int_equal(r->insts, whole->insts);
		assert_int_equal(r->status, 0);
		assert_int_equal(fstat(ends[1], &after), 0);
		assert_int_equal(before.st_size, after.st_size);
		close(ends[0]);
		close(ends[1]);
		point_end(&p);
	}
	free(whole);
	free(r);
}

static void test_2951(void **state)
{
	struct run *whole = x_malloc(sizeof(*whole)), *r = x_malloc(sizeof(*r));
	static const char *const parts[] = { "files", "folders" };

	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(parts); i++) {
		char elsewhere[80], before[DIGEST_HEX], after[DIGEST_HEX];
		struct err e = { "" };
		struct guest *g;
		struct point p;

		point_begin(&p);
		save_middle(&p, parts[i], p.out, whole);
		assert_int_equal(ftruncate(p.out, 0), 0);
		lseek(p.out, 0, SEEK_SET);
		snprintf(elsewhere, sizeof(elsewhere), "%s-elsewhere", p.w.folder);
		assert_int_equal(rename(p.w.folder, elsewhere), 0);
		strcpy(p.w.folder, elsewhere);
		assert_int_equal(chdir(elsewhere), 0);
		fingerprint(before);
		g = restore(&p, p.out, false, &e);
		assert_string_equal(e.text, "");
		finish(g, r, p.out);
		assert_int_equal(chdir(elsewhere), 0);
		fingerprint(after);
		assert_string_equal(before, after);
		assert_int_equal(r->insts, whole->insts);
		assert_null(strstr(r->out, "instead of"));
		/* what comes after the checkpoint is the end of the whole output */
		assert_true(strlen(r->out) <= strlen(whole->out));
		assert_string_equal(r->out, whole->out + strlen(whole->out) - strlen(r->out));
		point_end(&p);
	}
	free(whole);
	free(r);
}

static void test_2952(void **state)
{
	struct run *whole = x_malloc(sizeof(*whole)), *r = x_malloc(sizeof(*r));
	struct err e = { "" };
	struct guest *g;
	struct point p;

	(void)state;
	point_begin(&p);
	save_middle(&p, "files", p.out, whole);
	/* on from a checkpoint, and from one of what went on */
	g = restore(&p, p.out, false, &e);
	assert_string_equal(e.text, "");
	guest_run(g, whole->insts / 4);
	assert_true(save(&p, g, &e));
	guest_free(g);
	assert_int_equal(chdir(p.w.folder), 0);
	g = restore(&p, p.out, false, &e);
	assert_string_equal(e.text, "");
	finish(g, r, p.out);
	assert_string_equal(r->out, whole->out);
	assert_int_equal(r->insts, whole->insts);
	/* an input that has changed is named */
	assert_int_equal(chdir(p.w.folder), 0);
	save_middle(&p, "folders", p.out, whole);
	assert_int_equal(rename("many", "few"), 0);
	assert_null(restore(&p, p.out, false, &e));
	assert_non_null(strstr(e.text, "many"));
	point_end(&p);
	free(whole);
	free(r);
}

/* A guest with a descriptor that cannot be saved. */
static void refuses(int host, const char *words)
{
	struct err e = { "" };
	struct guest *g = world_guest();
	int64_t fd = fd_install(g, host, 5, false, FD_PLAIN);

	assert_int_equal(fd, 5);
	assert_false(checkpoint_can_descriptors(g, &e));
	if (strncmp(e.text, "descriptor 5 is ", 16) || !strstr(e.text, words))
		fail_msg("%s", e.text);
	guest_free(g);
}

static void test_2953(void **state)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(in);
	int tcp = socket(AF_INET, SOCK_STREAM, 0), to = socket(AF_INET, SOCK_STREAM, 0), unix_;
	struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "\0culprit-test-2953" };
	struct world w;

	(void)state;
	world_begin(&w);
	refuses(inotify_init1(IN_CLOEXEC), "inotify");
	if (!bind(tcp, (struct sockaddr *)&in, sizeof(in)) && !listen(tcp, 1) &&
	    !getsockname(tcp, (struct sockaddr *)&in, &n) &&
	    !connect(to, (struct sockaddr *)&in, n)) {
		refuses(to, "a socket to 127.0.0.1:");
		refuses(tcp, "a socket bound to 127.0.0.1:");
	}
	unix_ = socket(AF_UNIX, SOCK_STREAM, 0);
	if (!bind(unix_, (struct sockaddr *)&un, sizeof(un)) && !listen(unix_, 1))
		refuses(unix_, "listens");
	assert_int_equal(mkfifo("pipe", 0600), 0);
	refuses(open("pipe", O_RDWR), "a named pipe of the host");
	refuses(posix_openpt(O_RDWR | O_NOCTTY), "a terminal");
	refuses(open("a", O_RDWR), "a file of the host that is written");
	world_end(&w);
}

/* Reads a section into a guest that has just begun. True: it was accepted. */
static bool reads(const void *bytes, size_t n, void (*walk)(struct guest *g, struct state *s))
{
	struct guest *g = world_guest();
	struct state *s = state_reader(bytes, n, STATE_VERSION, NULL);
	bool ok;

	fds_free(g);
	input_free(g);
	memset(&g->streams, 0, sizeof(g->streams));
	walk(g, s);
	state_end(s);
	ok = state_ok(s);
	if (!ok)
		assert_true(*state_error(s) && !strchr(state_error(s), '\n'));
	state_free(s);
	guest_free(g);
	return ok;
}

/* A section of files with one folder and one name in it. */
static bool reads_files(const char *place, const char *name, uint64_t size)
{
	struct state *s = state_writer(NULL);
	char *start = NULL, *at = (char *)(uintptr_t)place, *file = (char *)(uintptr_t)name;
	bool view = true, none = false, ok;
	uint64_t zero = 0;
	int64_t second = 0;
	uint32_t mode = 0600, number = 0;
	const void *bytes;
	size_t n;

	state_text(s, &start, 100);
	state_bool(s, &view);
	state_count(s, 1, 10);
	state_count(s, 0, 10);
	state_u64(s, &zero);
	state_text(s, &at, 1000);
	state_bool(s, &none);
	state_count(s, 0, 10);
	state_count(s, 1, 10);
	state_text(s, &file, 1000);
	state_below(s, 0, 5);
	state_u32(s, &mode);
	for (int i = 0; i < 4; i++)
		state_i64(s, &second);
	state_u64(s, &zero);
	state_u64(s, &zero);
	state_u32(s, &number);
	state_count(s, 0, 10);
	state_u64(s, &size);
	bytes = state_bytes_written(s, &n);
	ok = reads(bytes, n, checkpoint_content);
	state_free(s);
	return ok;
}

static void test_2954(void **state)
{
	char before[DIGEST_HEX], after[DIGEST_HEX], place[128];
	struct world w;

	(void)state;
	world_begin(&w);
	fingerprint(before);
	snprintf(place, sizeof(place), "h%s/sub", w.folder);
	assert_true(reads_files(place, "new", 0));
	assert_true(reads_files("c/sub/deep", "new", 0));
	assert_false(reads_files("c/sub/../..", "new", 0));
	assert_false(reads_files("c/..", "new", 0));
	assert_false(reads_files("h/proc/self", "new", 0));
	assert_false(reads_files("h/dev", "new", 0));
	assert_false(reads_files("s/etc", "new", 0));
	assert_false(reads_files("x/etc", "new", 0));
	assert_false(reads_files("csub", "new", 0));
	assert_false(reads_files("c/a", "new", 0));
	assert_false(reads_files("c/absent", "new", 0));
	assert_false(reads_files(place, "..", 0));
	assert_false(reads_files(place, ".", 0));
	assert_false(reads_files(place, "", 0));
	assert_false(reads_files(place, "../../escape", 0));
	assert_false(reads_files(place, "/tmp/escape", 0));
	assert_false(reads_files(place, "new", 1ull << 60));
	assert_false(reads_files(place, "new", 100));
	fingerprint(after);
	assert_string_equal(before, after);
	world_end(&w);
}

/* Sections of a guest with descriptors of all kinds, damaged anywhere. */
static void test_2955(void **state)
{
	static const char *const parts[] = { "pipes", "sockets", "files", "folders", "events" };
	const char *program = world_program("kinds");
	struct run *whole = x_malloc(sizeof(*whole));
	char before[DIGEST_HEX], after[DIGEST_HEX];
	unsigned refused = 0;
	struct point p;
	struct rng rng;

	(void)state;
	point_begin(&p);
	fingerprint(before);
	rng_seed(&rng, 2955);
	for (unsigned i = 0; i < ARRAY_LEN(parts); i++) {
		void (*const walks[])(struct guest * g,
				      struct state * s) = { checkpoint_content,
							    checkpoint_descriptors };
		struct guest *g;
		int in = input_pipe(&p);

		whole_run(&p, program, parts[i], whole);
		g = start(&p, program, parts[i], in, p.out);
		close(in);
		guest_run(g, whole->insts * 6 / 10);
		for (unsigned k = 0; k < 2; k++) {
			struct state *s = state_writer(NULL);
			uint8_t *copy;
			size_t n;

			walks[k](g, s);
			assert_string_equal(state_error(s), "");
			const void *bytes = state_bytes_written(s, &n);

			copy = memcpy(x_malloc(n + 1), bytes, n);
			for (unsigned round = 0; round < 25; round++) {
				size_t at = rng_below(&rng, n);
				uint8_t was = copy[at];

				assert_int_equal(chdir(p.w.folder), 0);
				copy[at] = (uint8_t)rng_next(&rng);
				refused += !reads(copy, round % 5 ? n : at, walks[k]);
				copy[at] = was;
			}
			free(copy);
			state_free(s);
		}
		guest_free(g);
		assert_int_equal(chdir(p.w.folder), 0);
	}
	assert_true(refused > 50);
	fingerprint(after);
	assert_string_equal(before, after);
	point_end(&p);
	free(whole);
}

/* Each makes and removes stores, and with each it makes it removes what it takes for old ones. */
static void test_1750(void **state)
{
	pid_t child[4];

	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(child); i++) {
		child[i] = fork();
		assert_true(child[i] >= 0);
		for (int n = 0; !child[i] && n < 400; n++) {
			struct guest *g = x_calloc(1, sizeof(*g));
			struct err e = { "" };

			if (!view_begin(g, &e)) {
				fprintf(stderr, "%s\n", e.text);
				_exit(1);
			}
			if (faccessat(g->view->store, "lock", F_OK, 0) < 0)
				_exit(2);
			view_free(g);
			free(g);
		}
		if (!child[i])
			_exit(0);
	}
	for (unsigned i = 0; i < ARRAY_LEN(child); i++) {
		int status;

		assert_int_equal(waitpid(child[i], &status, 0), child[i]);
		assert_int_equal(status, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		{ "2940 arbitrary calls do the same with private files, which leave the host's "
		  "alone",
		  test_2940, NULL, NULL, NULL },
		{ "2941 pipes go on with what is in them", test_2941, NULL, NULL, NULL },
		{ "2942 socket pairs go on with what is in them", test_2942, NULL, NULL, NULL },
		{ "2943 files written, moved, linked, locked and removed go on", test_2943, NULL,
		  NULL, NULL },
		{ "2944 a half-read folder goes on", test_2944, NULL, NULL, NULL },
		{ "2945 eventfd, timerfd, signalfd and epoll go on", test_2945, NULL, NULL, NULL },
		{ "2946 memfd, shared mappings, made-up files and devices go on", test_2946, NULL,
		  NULL, NULL },
		{ "2947 piped standard input goes on where it was", test_2947, NULL, NULL, NULL },
		{ "2948 children of a restored guest see and change its private files", test_2948,
		  NULL, NULL, NULL },
		{ "2949 arbitrary file calls go on from a checkpoint", test_2949, NULL, NULL,
		  NULL },
		{ "2950 output of a restored guest is thrown away, and its streams are of their "
		  "kind",
		  test_2950, NULL, NULL, NULL },
		{ "2951 a checkpoint goes on in another folder", test_2951, NULL, NULL, NULL },
		{ "2952 a restored guest can be saved again; a folder that is missing is named",
		  test_2952, NULL, NULL, NULL },
		{ "2953 what cannot be saved is named with its descriptor", test_2953, NULL, NULL,
		  NULL },
		{ "2954 places and names that lead elsewhere are refused", test_2954, NULL, NULL,
		  NULL },
		{ "2955 damaged sections are refused or harmless", test_2955, NULL, NULL, NULL },
		{ "1750 processes that make stores at the same time leave each other's alone",
		  test_1750, NULL, NULL, NULL },
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
