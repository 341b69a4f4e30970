/* SPDX-License-Identifier: MIT */
/* Programs to look at. They wait for the end of their input, so that they end with the test. */
#include "machine.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/identity.h"

static const char *program(const char *name)
{
	const char *path = getenv(name);

	if (!path) {
		printf("%s is not set: run this by meson test\n", name);
		exit(77);
	}
	return path;
}

const char *target(void)
{
	return program("TARGET");
}

const char *target_plain(void)
{
	return program("TARGET_PLAIN");
}

void machine_begin(struct machine *m, uint32_t ring_bytes)
{
	struct err e = { "" };

	*m = (struct machine){ .profile = live_profile_new() };
	if (geteuid() != 0) {
		printf("needs root: namespaces, other users' processes\n");
		exit(77);
	}
	m->sideband =
	    sideband_open(&(struct sideband_options){ .ring_bytes = ring_bytes }, NULL, NULL, &e);
	if (!m->sideband) {
		printf("%s\n", e.text);
		exit(77);
	}
	m->sink = live_profile_sink(m->profile);
	m->maps = maps_new(&m->sink, "/proc");
	snprintf(m->folder, sizeof(m->folder), "/tmp/culprit-maps.XXXXXX");
	assert_non_null(mkdtemp(m->folder));
	assert_int_equal(chmod(m->folder, 0755), 0);
}

void machine_end(struct machine *m)
{
	char command[128];

	sideband_close(m->sideband);
	maps_free(m->maps);
	live_profile_free(m->profile);
	snprintf(command, sizeof(command), "rm -rf '%s'", m->folder);
	assert_int_equal(system(command), 0);
}

static _Noreturn void become(const struct child_how *how, int in, int out, const char *path,
			     const char *what, const char *more)
{
	char *argv[] = { (char *)path, (char *)what, (char *)more, NULL }, *envp[] = { NULL };

	if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || (how->prepare && !how->prepare(how->self)))
		_exit(126);
	if (how->fd)
		fexecve(how->fd, argv, envp);
	else
		execve(path, argv, envp);
	_exit(127);
}

struct child child_run(const struct child_how *how, const char *path, const char *what,
		       const char *more)
{
	static const struct child_how plainly;
	struct child c = { 0 };
	int in[2], out[2];
	char line[256];

	how = how ? how : &plainly;
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	c.pid = (pid_t)syscall(SYS_clone, how->flags | SIGCHLD, NULL, NULL, NULL, NULL);
	assert_true(c.pid >= 0);
	if (c.pid == 0)
		become(how, in[0], out[1], path, what, more);
	close(in[0]);
	close(out[1]);
	c.in = in[1];
	c.out = out[0];
	const ssize_t n = read(c.out, line, sizeof(line) - 1);

	if (n > 0) {
		line[n] = '\0';
		c.address = strtoull(line, NULL, 16);
	}
	return c;
}

void child_end(struct child *c)
{
	close(c->in);
	close(c->out);
	waitpid(c->pid, NULL, 0);
}

struct maps_place machine_find(struct machine *m, const struct child *c)
{
	sideband_read(m->sideband, m->maps, sideband_now());
	return maps_find(m->maps, (struct maps_space){ .pid = c->pid }, c->address);
}

const struct live_image *machine_image(struct machine *m, const struct child *c)
{
	return live_image(m->profile, machine_find(m, c).image);
}

const char *kept_name(const struct live_image *i, uint64_t offset)
{
	for (size_t k = 0; k < i->nsymbols; k++)
		if (offset - i->symbols[k].offset < i->symbols[k].size_bytes)
			return i->symbols[k].name;
	return "";
}

void copy_program(const char *from, const char *to, bool other_build_id)
{
	const int a = open(from, O_RDONLY | O_CLOEXEC),
		  b = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	uint8_t id[BUILD_ID_BYTES];
	struct stat st;

	assert_true(a >= 0 && b >= 0 && fstat(a, &st) == 0);
	uint8_t *bytes = malloc((size_t)st.st_size);

	assert_int_equal(read(a, bytes, (size_t)st.st_size), st.st_size);
	if (other_build_id) {
		const size_t n = identity_build_id(a, id);
		uint8_t *at = memmem(bytes, (size_t)st.st_size, id, n);

		assert_true(n > 0 && at);
		at[0] ^= 0xff;
	}
	assert_int_equal(write(b, bytes, (size_t)st.st_size), st.st_size);
	free(bytes);
	close(a);
	close(b);
}
