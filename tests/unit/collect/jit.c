/* SPDX-License-Identifier: MIT */
/* Generated code: its names from perf maps and jitdumps, good ones and hostile ones. Needs root. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <setjmp.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/jit_files.h"
#include "collect/maps_int.h"
#include "machine.h"

/* A /tmp of its own, so that nothing of this machine's is touched. */
static bool own_tmp(void *self)
{
	(void)self;
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", "/tmp", "tmpfs", 0, NULL) == 0;
}

/* Code in memory, in mount and pid namespaces of its own: it is process 1 there. */
static const struct child_how alone = { .flags = CLONE_NEWNS | CLONE_NEWPID, .prepare = own_tmp };

static void map_path(const struct child *c, char out[64])
{
	snprintf(out, 64, "/proc/%d/root/tmp/perf-1.map", c->pid);
}

static void write_map(const struct child *c, const char *text, size_t size)
{
	char path[64];

	map_path(c, path);
	const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, size), size);
	close(fd);
}

static char *entry(uint64_t address, unsigned size, const char *name)
{
	static char line[256];

	snprintf(line, sizeof(line), "%llx %x %s\n", (unsigned long long)address, size, name);
	return line;
}

static void test_2140_code_in_memory_without_a_map_is_its_programs(void **state)
{
	struct machine m;

	machine_begin(&m, 0);
	struct child c = child_run(&alone, target(), "memory", NULL);
	const struct maps_place p = machine_find(&m, &c);

	assert_int_equal(live_image(m.profile, p.image)->kind, LIVE_ANON);
	assert_string_equal(live_image(m.profile, p.image)->name, "[jit collect_target]");
	assert_int_equal(p.offset, 0);
	child_end(&c);
	machine_end(&m);
	(void)state;
}

static void test_2141_a_perf_map_in_its_own_tmp_names_code(void **state)
{
	struct machine m;
	char *line;

	machine_begin(&m, 0);
	struct child c = child_run(&alone, target(), "memory", NULL);

	line = entry(c.address, 2, "LazyCompile:~first function");
	write_map(&c, line, strlen(line));
	struct maps_place p = machine_find(&m, &c);
	assert_int_equal(live_image(m.profile, p.image)->kind, LIVE_JIT);
	assert_int_equal(p.offset, c.address);
	maps_publish(m.maps);
	assert_string_equal(kept_name(live_image(m.profile, p.image), c.address),
			    "LazyCompile:~first function");
	assert_int_equal(live_image(m.profile, p.image)->ncode, 1);
	assert_int_equal(live_image(m.profile, p.image)->code[0].bytes[0], 0x90);

	/* The map grows: only what is new is read, and a line without its end waits. */
	line = entry(c.address + 2, 2, "second");
	write_map(&c, line, strlen(line) - 1);
	c.address += 2;
	assert_int_equal(machine_image(&m, &c)->kind, LIVE_ANON);
	write_map(&c, "\n", 1);
	assert_int_equal(machine_find(&m, &c).image, p.image);
	maps_publish(m.maps);
	assert_string_equal(kept_name(live_image(m.profile, p.image), c.address), "second");
	assert_int_equal(live_image(m.profile, p.image)->nsymbols, 2);
	child_end(&c);
	machine_end(&m);
	(void)state;
}

static void test_2142_a_map_is_read_after_its_process_has_ended(void **state)
{
	struct machine m;

	machine_begin(&m, 0);
	struct child c = child_run(&alone, target(), "memory", NULL);
	const char *line = entry(c.address, 4, "short_lived");

	write_map(&c, line, strlen(line));
	sideband_read(m.sideband, m.maps, sideband_now());
	child_end(&c);
	const struct maps_place p = machine_find(&m, &c);
	assert_int_equal(live_image(m.profile, p.image)->kind, LIVE_JIT);
	maps_publish(m.maps);
	assert_string_equal(kept_name(live_image(m.profile, p.image), c.address), "short_lived");
	machine_end(&m);
	(void)state;
}

enum hostile { LINK, OTHER_OWNER, PIPE, FOLDER, HUGE_FILE, BINARY, SENSELESS, HOSTILE };

static void make_hostile(const struct child *c, enum hostile how)
{
	char path[64], other[80], bytes[5000];
	const char *good = entry(c->address, 4, "stolen");

	map_path(c, path);
	switch (how) {
	case LINK:
		write_map(c, good, strlen(good));
		snprintf(other, sizeof(other), "%s.real", path);
		assert_int_equal(rename(path, other), 0);
		assert_int_equal(symlink("perf-1.map.real", path), 0);
		break;
	case OTHER_OWNER:
		write_map(c, good, strlen(good));
		assert_int_equal(chown(path, 65534, 65534), 0);
		break;
	case PIPE:
		assert_int_equal(mkfifo(path, 0644), 0);
		break;
	case FOLDER:
		assert_int_equal(mkdir(path, 0755), 0);
		break;
	case HUGE_FILE:
		write_map(c, "", 0);
		assert_int_equal(truncate(path, 100ll << 30), 0);
		break;
	case BINARY:
		memset(bytes, 0xfe, sizeof(bytes));
		write_map(c, bytes, sizeof(bytes));
		write_map(c, "\n", 1);
		break;
	default:
		snprintf(bytes, sizeof(bytes),
			 "\n \n%llx\n%llx 4\n-%llx 4 x\n%llx 0 x\n%llx fffffffffffffffff x\n"
			 "%llx ffffffffffffffff x\n0x 0x x\n",
			 (unsigned long long)c->address, (unsigned long long)c->address,
			 (unsigned long long)c->address, (unsigned long long)c->address,
			 (unsigned long long)c->address, (unsigned long long)c->address);
		write_map(c, bytes, strlen(bytes));
		break;
	}
}

static void test_2143_hostile_maps_are_not_read(void **state)
{
	for (enum hostile how = 0; how < HOSTILE; how++) {
		struct machine m;

		machine_begin(&m, 0);
		struct child c = child_run(&alone, target(), "memory", NULL);
		make_hostile(&c, how);
		const uint64_t before = sideband_now();
		assert_int_equal(machine_image(&m, &c)->kind, LIVE_ANON);
		assert_in_range(sideband_now() - before, 0, 2000000000u);
		child_end(&c);
		machine_end(&m);
	}
	(void)state;
}

static void test_2144_a_jitdump_names_code_and_has_it(void **state)
{
	struct machine m;

	machine_begin(&m, 0);
	struct child c = child_run(&alone, target(), "dump", "/tmp");
	const struct maps_place p = machine_find(&m, &c);

	assert_int_equal(live_image(m.profile, p.image)->kind, LIVE_JIT);
	maps_publish(m.maps);
	const struct live_image *i = live_image(m.profile, p.image);
	assert_string_equal(kept_name(i, c.address), "dumped_function");
	assert_int_equal(i->ncode, 1);
	assert_int_equal(i->code[0].size_bytes, 4);
	assert_int_equal(i->code[0].bytes[3], 0xc3);
	child_end(&c);
	machine_end(&m);
	(void)state;
}

/* An address of a function of the map that node writes. */
static bool find_in_map(const struct child *c, const char *function, uint64_t *address)
{
	char path[64], line[1024];

	map_path(c, path);
	FILE *f = fopen(path, "re");
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		if (strstr(line, function)) {
			*address = strtoull(line, NULL, 16);
			found = true;
		}
	if (f)
		fclose(f);
	return found;
}

static bool write_script(void *self)
{
	static const char program[] = "function culpritHot(n) { let s = 0; for (let i = 0; i < n; "
				      "i++) s += i % 7; return s; }"
				      "for (let i = 0; i < 3000; i++) culpritHot(1000);"
				      "console.log('0 ready'); process.stdin.resume();";

	/* V8 writes its own log where it stands. */
	if (!own_tmp(self) || chdir("/tmp") != 0)
		return false;
	FILE *f = fopen("/tmp/hot.js", "we");

	return f && fputs(program, f) >= 0 && fclose(f) == 0;
}

static void test_2145_node_tells_its_functions(void **state)
{
	const struct child_how how = { .flags = CLONE_NEWNS | CLONE_NEWPID,
				       .prepare = write_script };
	struct machine m;

	if (access("/usr/bin/node", X_OK) != 0) {
		print_message("skipped: there is no /usr/bin/node\n");
		skip();
	}
	machine_begin(&m, 0);
	struct child c = child_run(&how, "/usr/bin/node", "--perf-basic-prof", "/tmp/hot.js");

	assert_true(find_in_map(&c, "*culpritHot", &c.address));
	const struct maps_place p = machine_find(&m, &c);
	assert_int_equal(live_image(m.profile, p.image)->kind, LIVE_JIT);
	assert_string_equal(live_image(m.profile, p.image)->name, "[jit node]");
	maps_publish(m.maps);
	assert_non_null(strstr(kept_name(live_image(m.profile, p.image), c.address), "culpritHot"));
	child_end(&c);
	machine_end(&m);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2140_code_in_memory_without_a_map_is_its_programs),
		cmocka_unit_test(test_2141_a_perf_map_in_its_own_tmp_names_code),
		cmocka_unit_test(test_2142_a_map_is_read_after_its_process_has_ended),
		cmocka_unit_test(test_2143_hostile_maps_are_not_read),
		cmocka_unit_test(test_2144_a_jitdump_names_code_and_has_it),
		cmocka_unit_test(test_2145_node_tells_its_functions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
