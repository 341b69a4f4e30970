/* SPDX-License-Identifier: MIT */
/* Paths, one call at a time: what they lead to, and what a guest's descriptor must never refer
 * to. */
#include "guest_world.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum {
	NR_mkdirat = 34,
	NR_linkat = 37,
	NR_renameat2 = 276,
	NR_chdir = 49,
	NR_fchdir = 50,
	NR_fchmodat = 53,
	NR_openat = 56,
	NR_close = 57,
	NR_getdents64 = 61,
	NR_read = 63,
	NR_readlinkat = 78,
	NR_newfstatat = 79,
	NR_recvmsg = 212,
	NR_openat2 = 437,
	NR_getcwd = 17,
	NR_unlinkat = 35,
};

static uint64_t page, page2;
static char folder[64];

static int64_t call(struct guest *g, unsigned nr, const uint64_t *a)
{
	struct thread *t = g->cur;

	memcpy(&t->hart.x[10], a, 6 * 8);
	t->hart.x[17] = nr;
	syscall_enter(g, t);
	assert_int_not_equal(t->state, THREAD_BLOCKED);
	return (int64_t)t->hart.x[10];
}
#define CALL(g, nr, ...) call(g, nr, (const uint64_t[6]){ __VA_ARGS__ })

static uint64_t put(struct guest *g, uint64_t at, const char *text)
{
	assert_int_equal(mem_write(&g->mem, at, text, strlen(text) + 1), 0);
	return at;
}

static int64_t open_at(struct guest *g, int dir, const char *path, int flags)
{
	return CALL(g, NR_openat, (uint64_t)dir, put(g, page, path), (uint64_t)flags, 0644);
}

static struct guest *new_guest(const char *sysroot, const int *streams)
{
	uint8_t elf[8192];
	size_t n = world_elf(elf);
	char *argv[] = { "program", NULL };
	struct guest_config config = {
		.argv = argv, .program = world_file(elf, n), .sysroot = sysroot, .streams = streams
	};
	struct err e = { { 0 } };
	struct guest *g = guest_new(&config, &e);

	unlink(config.program);
	assert_string_equal(e.text, "");
	assert_non_null(g);
	page = (uint64_t)mem_map(&g->mem, 0, 4 * GUEST_PAGE_BYTES, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, NULL);
	page2 = page + 2 * GUEST_PAGE_BYTES;
	return g;
}

static int make_folder(void **state)
{
	strcpy(folder, "/tmp/culprit-paths.XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return chdir("/") || system(command);
}

static const char *in_folder(const char *name)
{
	static char path[4][256];
	static unsigned next;
	char *p = path[next++ % 4];

	snprintf(p, sizeof(path[0]), "%s/%s", folder, name);
	return p;
}

static void make_file(const char *name, const char *text)
{
	int fd = open(in_folder(name), O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* Returns what the guest reads from a path. */
static const char *text_of(struct guest *g, int dir, const char *path)
{
	static char text[256];
	int64_t fd = open_at(g, dir, path, O_RDONLY), n;

	if (fd < 0)
		return "";
	n = CALL(g, NR_read, (uint64_t)fd, page2, sizeof(text) - 1);
	CALL(g, NR_close, (uint64_t)fd);
	assert_true(n >= 0);
	mem_read(&g->mem, text, page2, (size_t)n);
	text[n] = 0;
	return text;
}

/* A process of the host sends three descriptors; the second is a folder of /proc. */
static void test_252_a_folder_of_proc_does_not_arrive_through_a_socket(void **state)
{
	int pair[2], sent[3] = { open("/tmp", O_RDONLY), open("/proc", O_RDONLY), dup(2) };
	int streams[3] = { -1, 1, 2 };
	char byte = 'x', control[CMSG_SPACE(sizeof(sent))];
	struct iovec iov = { &byte, 1 };
	struct msghdr h = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&h), got;
	struct guest *g;
	uint64_t msg[7] = { 0 }, vec[2];
	int number;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	*c = (struct cmsghdr){ CMSG_LEN(sizeof(sent)), SOL_SOCKET, SCM_RIGHTS };
	memcpy(CMSG_DATA(c), sent, sizeof(sent));
	assert_int_equal(sendmsg(pair[1], &h, 0), 1);
	streams[0] = pair[0];
	g = new_guest(NULL, streams);
	vec[0] = page + 512;
	vec[1] = 1;
	mem_write(&g->mem, page + 256, vec, sizeof(vec));
	msg[2] = page + 256;
	msg[3] = 1;
	msg[4] = page + 1024;
	msg[5] = sizeof(control);
	mem_write(&g->mem, page, msg, sizeof(msg));
	assert_int_equal(CALL(g, NR_recvmsg, 0, page, 0), 1);
	mem_read(&g->mem, &got, page + 1024, sizeof(got));
	assert_int_equal(got.cmsg_len, CMSG_LEN(sizeof(int)));
	mem_read(&g->mem, &number, page + 1024 + sizeof(got), sizeof(number));
	assert_int_equal(number, 3);
	assert_true(mem_peek(&g->mem, page + 48, 4) & MSG_CTRUNC);
	for (size_t fd = 0; fd < g->nfds; fd++) {
		struct statfs fs;

		if (g->fds[fd].kind != FD_CLOSED && fstatfs(g->fds[fd].host, &fs) == 0)
			assert_int_not_equal(fs.f_type, PROC_SUPER_MAGIC);
	}
	guest_free(g);
	for (int i = 0; i < 3; i++)
		close(sent[i]);
	close(pair[0]);
	close(pair[1]);
}

static void test_253_the_sysroot_is_the_root(void **state)
{
	char path[256];
	struct guest *g;

	make_folder(state);
	mkdir(in_folder("etc"), 0755);
	mkdir(in_folder("proc"), 0755);
	mkdir(in_folder("proc/self"), 0755);
	mkdir(in_folder("usr"), 0755);
	make_file("etc/passwd", "of the sysroot\n");
	make_file("proc/version", "forged\n");
	make_file("usr/data", "data\n");
	assert_int_equal(symlink("/usr/data", in_folder("absolute")), 0);
	assert_int_equal(symlink("../../../../../../usr/data", in_folder("up")), 0);
	assert_int_equal(symlink("/usr", in_folder("u")), 0);
	g = new_guest(folder, NULL);
	assert_string_equal(text_of(g, AT_FDCWD, "/usr/data"), "data\n");
	assert_string_equal(text_of(g, AT_FDCWD, "/absolute"), "data\n");
	assert_string_equal(text_of(g, AT_FDCWD, "/up"), "data\n");
	assert_string_equal(text_of(g, AT_FDCWD, "//./u/../../../usr/./data"), "data\n");
	assert_string_equal(text_of(g, AT_FDCWD, "/etc/passwd"), "of the sysroot\n");
	assert_int_equal(strncmp(text_of(g, AT_FDCWD, "/proc/version"), "Linux version 6", 15), 0);
	/* with the working folder in the sysroot, ".." ends at the guest's root */
	assert_int_equal(CALL(g, NR_chdir, put(g, page, "/u")), 0);
	assert_int_equal(CALL(g, NR_getcwd, page2, 100), 5);
	mem_read(&g->mem, path, page2, 5);
	assert_string_equal(path, "/usr");
	assert_string_equal(text_of(g, AT_FDCWD, "data"), "data\n");
	assert_string_equal(text_of(g, AT_FDCWD, "../../../../etc/passwd"), "of the sysroot\n");
	assert_int_equal(strncmp(text_of(g, AT_FDCWD, "../proc/version"), "Linux", 5), 0);
	/* a path that the sysroot lacks leads to the host's file */
	snprintf(path, sizeof(path), "%s/usr/data", folder);
	assert_string_equal(text_of(g, AT_FDCWD, path), "data\n");
	assert_true(open_at(g, AT_FDCWD, "/tmp", O_RDONLY | O_DIRECTORY) >= 0);
	guest_free(g);
	remove_folder(state);
}

static int64_t open2(struct guest *g, int64_t dir, const char *path, uint64_t resolve)
{
	struct open_how how = { .flags = O_RDONLY, .resolve = resolve };

	mem_write(&g->mem, page2, &how, sizeof(how));
	return CALL(g, NR_openat2, (uint64_t)dir, put(g, page, path), page2, sizeof(how));
}

static void test_254_openat2_stays_where_it_is_told(void **state)
{
	struct guest *g;
	int64_t dir, out;

	make_folder(state);
	mkdir(in_folder("d"), 0755);
	make_file("f", "outside\n");
	make_file("d/f", "inside\n");
	assert_int_equal(symlink("/f", in_folder("d/absolute")), 0);
	assert_int_equal(symlink("../f", in_folder("d/up")), 0);
	assert_int_equal(symlink("f", in_folder("d/near")), 0);
	g = new_guest(NULL, NULL);
	dir = open_at(g, AT_FDCWD, in_folder("d"), O_RDONLY | O_DIRECTORY);
	assert_true(dir >= 0);
	assert_true(open2(g, dir, "f", RESOLVE_BENEATH) >= 0);
	assert_true(open2(g, dir, "near", RESOLVE_BENEATH) >= 0);
	assert_int_equal(open2(g, dir, "../f", RESOLVE_BENEATH), -EXDEV);
	assert_int_equal(open2(g, dir, "up", RESOLVE_BENEATH), -EXDEV);
	assert_int_equal(open2(g, dir, "absolute", RESOLVE_BENEATH), -EXDEV);
	assert_int_equal(open2(g, dir, "/f", RESOLVE_BENEATH), -EXDEV);
	assert_int_equal(open2(g, dir, "near", RESOLVE_NO_SYMLINKS), -ELOOP);
	assert_int_equal(open2(g, dir, "f", RESOLVE_CACHED), -EAGAIN);
	assert_int_equal(open2(g, AT_FDCWD, "/proc/self/exe", RESOLVE_NO_MAGICLINKS), -ELOOP);
	assert_true(open2(g, AT_FDCWD, "/proc/self/exe", 0) >= 0);
	assert_int_equal(open2(g, dir, "f", 1ull << 40), -EINVAL);
	for (int i = 0; i < 3; i++) {
		static const char *const path[] = { "/absolute", "up", "/../../f" };
		char text[16] = "";

		out = open2(g, dir, path[i], RESOLVE_IN_ROOT);
		assert_true(out >= 0);
		assert_int_equal(CALL(g, NR_read, (uint64_t)out, page2, 15), 7);
		mem_read(&g->mem, text, page2, 7);
		assert_string_equal(text, "inside\n");
	}
	guest_free(g);
	remove_folder(state);
}

static _Atomic bool swapping;

/* Plays another process of the user, which makes "way" a folder and a link to /proc/self in
 * turn. */
static void *swap(void *arg)
{
	char way[256], other[256];

	strcpy(way, in_folder("way"));
	strcpy(other, in_folder("other"));
	while (swapping)
		syscall(SYS_renameat2, AT_FDCWD, way, AT_FDCWD, other, 2 /* exchange */);
	return NULL;
}

static void test_255_a_folder_that_changes_on_the_way_leads_nowhere(void **state)
{
	struct guest *g;
	pthread_t thread;
	char path[256];
	unsigned found = 0;

	make_folder(state);
	mkdir(in_folder("way"), 0755);
	make_file("way/mem", "harmless\n");
	assert_int_equal(symlink("/proc/self", in_folder("other")), 0);
	g = new_guest(NULL, NULL);
	snprintf(path, sizeof(path), "%s/way/mem", folder);
	swapping = true;
	assert_int_equal(pthread_create(&thread, NULL, swap, NULL), 0);
	for (int i = 0; i < 20000; i++) {
		int64_t fd = open_at(g, AT_FDCWD, path, O_RDONLY);
		struct statfs fs;

		if (fd < 0) {
			assert_true(fd == -EACCES || fd == -ENOENT || fd == -ELOOP ||
				    fd == -ENOTDIR);
			continue;
		}
		assert_int_equal(fstatfs(fd_host(g, (uint64_t)fd), &fs), 0);
		assert_int_not_equal(fs.f_type, PROC_SUPER_MAGIC);
		found++;
		CALL(g, NR_close, (uint64_t)fd);
	}
	swapping = false;
	pthread_join(thread, NULL);
	assert_in_range(found, 1, 20000);
	guest_free(g);
	remove_folder(state);
}

/* Root has made device nodes outside of /dev. */
static void test_256_a_device_is_the_guests_own_or_none_wherever_it_lies(void **state)
{
	struct guest *g;
	struct stat st;
	int64_t fd;

	make_folder(state);
	if (mknod(in_folder("null"), S_IFCHR | 0600, makedev(1, 3)) < 0 ||
	    mknod(in_folder("mem"), S_IFCHR | 0600, makedev(1, 1)) < 0 ||
	    mknod(in_folder("loop"), S_IFBLK | 0600, makedev(7, 250)) < 0) {
		remove_folder(state);
		print_message("only root can make devices\n");
		skip();
	}
	g = new_guest(NULL, NULL);
	assert_true(open_at(g, AT_FDCWD, in_folder("null"), O_RDWR) >= 0);
	assert_int_equal(open_at(g, AT_FDCWD, in_folder("mem"), O_RDONLY), -EACCES);
	assert_int_equal(open_at(g, AT_FDCWD, in_folder("loop"), O_RDONLY), -EACCES);
	assert_int_equal(open_at(g, AT_FDCWD, in_folder("loop"), O_PATH), -EACCES);
	for (int i = 0; i < 3; i++) {
		static const char *const name[] = { "null", "mem", "loop" };

		assert_int_equal(CALL(g, NR_fchmodat, (uint64_t)AT_FDCWD,
				      put(g, page, in_folder(name[i])), 0666),
				 -EPERM);
		put(g, page2, in_folder("new"));
		assert_int_equal(
		    CALL(g, NR_renameat2, (uint64_t)AT_FDCWD, page, (uint64_t)AT_FDCWD, page2, 0),
		    -EPERM);
		assert_int_equal(
		    CALL(g, NR_linkat, (uint64_t)AT_FDCWD, page, (uint64_t)AT_FDCWD, page2, 0),
		    -EPERM);
		assert_int_equal(stat(in_folder(name[i]), &st), 0);
		assert_int_equal(st.st_mode & 07777, 0600);
	}
	fd = open_at(g, AT_FDCWD, "/dev/shm/culprit-test", O_RDWR | O_CREAT);
	assert_true(fd >= 0);
	assert_int_equal(CALL(g, NR_unlinkat, (uint64_t)AT_FDCWD,
			      put(g, page, "/dev/shm/../shm/culprit-test"), 0),
			 0);
	assert_int_equal(open_at(g, AT_FDCWD, "/dev/culprit-test", O_RDWR | O_CREAT), -EACCES);
	assert_int_equal(access("/dev/culprit-test", F_OK), -1);
	guest_free(g);
	remove_folder(state);
}

/* Wherever culprit is started, the guest's working folder is one of its own files. */
static void test_257_a_start_in_a_folder_of_the_kernels_is_a_start_in_the_guests(void **state)
{
	static const char *const start[] = { "/proc/self/task", "/sys/kernel", "/dev", "/dev/pts" };
	static const char *const own[] = { "/proc", "/sys", "/dev", "/dev" };

	for (int i = 0; i < 4; i++) {
		struct guest *g;
		char path[64] = "";

		if (chdir(start[i]) < 0)
			continue;
		g = new_guest(NULL, NULL);
		assert_true(CALL(g, NR_getcwd, page2, 64) > 0);
		mem_read(&g->mem, path, page2, 63);
		assert_string_equal(path, own[i]);
		assert_int_equal(open_at(g, AT_FDCWD, "1/status", O_RDONLY), -ENOENT);
		assert_int_equal(
		    CALL(g, NR_mkdirat, (uint64_t)AT_FDCWD, put(g, page, "culprit-x"), 0755),
		    -EACCES);
		guest_free(g);
		assert_int_equal(chdir("/"), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_252_a_folder_of_proc_does_not_arrive_through_a_socket),
		cmocka_unit_test(test_253_the_sysroot_is_the_root),
		cmocka_unit_test(test_254_openat2_stays_where_it_is_told),
		cmocka_unit_test(test_255_a_folder_that_changes_on_the_way_leads_nowhere),
		cmocka_unit_test(test_256_a_device_is_the_guests_own_or_none_wherever_it_lies),
		cmocka_unit_test(
		    test_257_a_start_in_a_folder_of_the_kernels_is_a_start_in_the_guests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
