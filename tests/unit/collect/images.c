/* SPDX-License-Identifier: MIT */
/* Images of programs that run on this machine, in all the places where programs hide. Needs root. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <setjmp.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/identity.h"
#include "collect/maps_int.h"
#include "collect/running_bpf.h"
#include "machine.h"

static void path_in(const struct machine *m, const char *name, char out[128])
{
	snprintf(out, 128, "%s/%s", m->folder, name);
}

static void test_2120_a_program_is_its_file(void **state)
{
	struct machine m;

	machine_begin(&m, 0);
	struct child c = child_run(NULL, target(), "here", NULL);
	const struct maps_place p = machine_find(&m, &c);
	const struct live_image *i = live_image(m.profile, p.image);
	const struct live_process *process = live_process(m.profile, p.process);
	struct identity id;
	char build_id[41];
	const int fd = open(target(), O_RDONLY | O_CLOEXEC);

	assert_true(identity_of(fd, &id) && id.build_id_bytes);
	maps_build_id_text(build_id, id.build_id, id.build_id_bytes);
	assert_int_equal(i->kind, LIVE_FILE);
	assert_string_equal(i->build_id, build_id);
	assert_string_equal(i->path, i->name);
	assert_string_equal(process->exe, i->name);
	assert_string_equal(process->comm, "collect_target");
	/* The offset names the function's code in the file. */
	uint8_t code[4], memory[4];
	char mem[64];

	snprintf(mem, sizeof(mem), "/proc/%d/mem", c.pid);
	const int mfd = open(mem, O_RDONLY | O_CLOEXEC);
	assert_int_equal(pread(fd, code, 4, (off_t)p.offset), 4);
	assert_int_equal(pread(mfd, memory, 4, (off_t)c.address), 4);
	assert_memory_equal(code, memory, 4);
	close(mfd);
	close(fd);
	child_end(&c);
	machine_end(&m);
	(void)state;
}

/* Only its process has it: nothing on this host, and its function is kept with code. */
static void check_kept(struct machine *m, const struct child *c, const char *name)
{
	const struct maps_place p = machine_find(m, c);
	const struct live_image *i = live_image(m->profile, p.image);

	assert_int_equal(i->kind, LIVE_FILE);
	assert_string_equal(i->name, name);
	assert_null(i->path);
	maps_publish(m->maps);
	i = live_image(m->profile, p.image);
	assert_string_equal(kept_name(i, p.offset), "spinning");
	assert_int_equal(i->ncode, 1);
	assert_int_equal(i->code[0].offset, p.offset);
	assert_true(i->code[0].size_bytes > 8);
}

static void test_2121_a_removed_program_keeps_its_functions(void **state)
{
	struct machine m;
	char path[128];

	machine_begin(&m, 0);
	path_in(&m, "gone", path);
	copy_program(target(), path, true);
	struct child c = child_run(NULL, path, "here", NULL);
	assert_int_equal(unlink(path), 0);
	check_kept(&m, &c, path);
	child_end(&c);
	machine_end(&m);
	(void)state;
}

static void replaced(const char *program, bool other_build_id)
{
	struct machine m;
	char path[128], new[128];

	machine_begin(&m, 0);
	path_in(&m, "prog", path);
	path_in(&m, "new", new);
	copy_program(program, path, false);
	copy_program(program, new, other_build_id);
	struct child old = child_run(NULL, path, "here", NULL);
	assert_int_equal(rename(new, path), 0);
	struct child now = child_run(NULL, path, "here", NULL);
	const uint32_t a = machine_find(&m, &old).image, b = machine_find(&m, &now).image;

	assert_int_not_equal(a, b);
	assert_string_equal(live_image(m.profile, a)->name, path);
	assert_string_equal(live_image(m.profile, b)->name, path);
	assert_string_equal(live_image(m.profile, b)->path, path);
	assert_null(live_image(m.profile, a)->path);
	assert_int_equal(live_image(m.profile, a)->build_id[0] != '\0', other_build_id);
	child_end(&old);
	child_end(&now);
	machine_end(&m);
}

static void test_2122_a_file_replaced_under_its_name_is_another_image(void **state)
{
	replaced(target(), true);
	(void)state;
}

static void test_2123_so_it_is_without_a_build_id(void **state)
{
	replaced(target_plain(), false);
	(void)state;
}

static void test_2124_a_file_replaced_later_is_held_by_its_process(void **state)
{
	struct machine m;
	char path[128], new[128];

	machine_begin(&m, 0);
	path_in(&m, "prog", path);
	path_in(&m, "new", new);
	copy_program(target(), path, true);
	copy_program(target(), new, false);
	struct child c = child_run(NULL, path, "here", NULL);
	const struct maps_place p = machine_find(&m, &c);

	assert_string_equal(live_image(m.profile, p.image)->path, path);
	assert_int_equal(rename(new, path), 0);
	maps_publish(m.maps); /* notices */
	assert_int_equal(machine_find(&m, &c).image, p.image);
	maps_publish(m.maps);
	assert_string_equal(kept_name(live_image(m.profile, p.image), p.offset), "spinning");
	child_end(&c);
	machine_end(&m);
	(void)state;
}

/* Mounts a file system of its own over a folder, in its own namespace. */
static bool mount_over(void *self)
{
	const char *folder = self;

	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", folder, "tmpfs", 0, NULL) == 0;
}

static bool mount_and_copy(void *self)
{
	const char *folder = self;
	char path[128];

	snprintf(path, sizeof(path), "%s/inner", folder);
	if (!mount_over(self))
		return false;
	copy_program(target(), path, true);
	return true;
}

static void test_2125_a_program_of_another_mount_namespace(void **state)
{
	struct machine m;
	char path[128];

	machine_begin(&m, 0);
	path_in(&m, "inner", path);
	const struct child_how how = { .flags = CLONE_NEWNS,
				       .prepare = mount_and_copy,
				       .self = m.folder };
	struct child c = child_run(&how, path, "here", NULL);
	check_kept(&m, &c, path);
	child_end(&c);
	machine_end(&m);
	(void)state;
}

/* As containers have their files: a layer that is only read below one that is written. */
static bool mount_layers(void *self)
{
	const char *folder = self;
	char path[128], layers[512];

	snprintf(layers, sizeof(layers), "lowerdir=%s/low,upperdir=%s/up,workdir=%s/work", folder,
		 folder, folder);
	if (!mount_over(self))
		return false;
	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder,
			 (const char *const[]){ "low", "up", "work", "all" }[i]);
		if (mkdir(path, 0755) != 0)
			return false;
	}
	snprintf(path, sizeof(path), "%s/low/inner", folder);
	copy_program(target_plain(), path, false);
	snprintf(path, sizeof(path), "%s/all", folder);
	return mount("overlay", path, "overlay", 0, layers) == 0;
}

/* Without a build-id it is told by device, inode, size and time, which differ between the layers and the
 * whole. */
static void test_2787_a_program_of_an_overlay(void **state)
{
	struct machine m;
	char path[128];

	machine_begin(&m, 0);
	path_in(&m, "all/inner", path);
	const struct child_how how = { .flags = CLONE_NEWNS,
				       .prepare = mount_layers,
				       .self = m.folder };
	struct child c = child_run(&how, path, "here", NULL);

	if (!c.address) {
		child_end(&c);
		machine_end(&m);
		print_message("skipped: no overlay can be mounted\n");
		skip();
	}
	check_kept(&m, &c, path);
	child_end(&c);
	machine_end(&m);
	(void)state;
}

static bool change_root(void *self)
{
	return chroot(self) == 0 && chdir("/") == 0;
}

static void test_2126_a_program_below_another_root(void **state)
{
	struct machine m;
	char path[128];

	machine_begin(&m, 0);
	path_in(&m, "culprit-below", path);
	copy_program(target(), path, true);
	const struct child_how how = { .prepare = change_root, .self = m.folder };
	struct child c = child_run(&how, "/culprit-below", "here", NULL);
	check_kept(&m, &c, "/culprit-below");
	child_end(&c);
	machine_end(&m);
	(void)state;
}

static int memory_file(const char *program)
{
	const int from = open(program, O_RDONLY | O_CLOEXEC),
		  to = memfd_create("hidden", MFD_CLOEXEC);
	char bytes[65536];
	ssize_t n;

	assert_true(from >= 0 && to >= 0);
	while ((n = read(from, bytes, sizeof(bytes))) > 0)
		assert_int_equal(write(to, bytes, (size_t)n), n);
	close(from);
	return to;
}

static void test_2127_a_program_in_memory_is_told_by_its_content(void **state)
{
	struct machine m;

	machine_begin(&m, 0);
	for (int plain = 0; plain < 2; plain++) {
		const char *program = plain ? target_plain() : target();
		const int one = memory_file(program), two = memory_file(program);
		struct child a = child_run(&(struct child_how){ .fd = one }, "a", "here", NULL),
			     b = child_run(&(struct child_how){ .fd = two }, "b", "here", NULL);

		if (plain) {
			check_kept(&m, &a, "/memfd:hidden");
			assert_true(machine_image(&m, &a)->digest[0]);
		}
		assert_int_equal(machine_image(&m, &a)->kind, LIVE_FILE);
		assert_int_equal(machine_find(&m, &a).image, machine_find(&m, &b).image);
		child_end(&a);
		child_end(&b);
		close(one);
		close(two);
	}
	machine_end(&m);
	(void)state;
}

static bool become_nobody(void *self)
{
	(void)self;
	return setgid(65534) == 0 && setuid(65534) == 0;
}

static void test_2128_a_process_has_its_user(void **state)
{
	struct machine m;
	char path[128];

	machine_begin(&m, 0);
	path_in(&m, "others", path);
	copy_program(target(), path, false);
	struct child c =
	    child_run(&(struct child_how){ .prepare = become_nobody }, path, "here", NULL);
	const struct maps_place p = machine_find(&m, &c);

	assert_int_equal(live_process(m.profile, p.process)->uid, 65534);
	assert_string_equal(live_image(m.profile, p.image)->name, path);
	child_end(&c);
	machine_end(&m);
	(void)state;
}

static void test_2129_the_vdso_and_vsyscall_have_names(void **state)
{
	struct machine m;

	machine_begin(&m, 0);
	struct child c = child_run(NULL, target(), "vdso", NULL);
	const struct maps_place p = machine_find(&m, &c);

	assert_int_equal(live_image(m.profile, p.image)->kind, LIVE_VDSO);
	assert_string_equal(live_image(m.profile, p.image)->name, "[vdso]");
	assert_int_equal(p.offset, 0x800);
	maps_publish(m.maps);
	assert_int_equal(live_image(m.profile, p.image)->ncode, 1);
	c.address = 0xffffffffff600400;
	assert_string_equal(machine_image(&m, &c)->name, "[vsyscall]");
	child_end(&c);
	machine_end(&m);
	(void)state;
}

static void test_2130_processes_that_ran_before_are_read_once(void **state)
{
	struct child c = child_run(NULL, target(), "here", NULL);
	struct machine m;
	struct err e = { "" };

	machine_begin(&m, 0);
	assert_true(maps_read_running(m.maps, &e));
	assert_string_equal(machine_image(&m, &c)->path, machine_image(&m, &c)->name);
	const struct life *l = maps_newest(m.maps, c.pid);
	assert_true(l->start_ns && l->snapshot_ns);
	/* Read from /proc it is the same image. */
	struct machine n;
	machine_begin(&n, 0);
	assert_true(running_read_one(n.maps, c.pid, 0));
	assert_string_equal(machine_image(&n, &c)->build_id, machine_image(&m, &c)->build_id);
	assert_string_equal(machine_image(&n, &c)->name, machine_image(&m, &c)->name);
	machine_end(&n);
	child_end(&c);
	machine_end(&m);
	(void)state;
}

static void test_2131_a_full_ring_is_counted_and_made_good(void **state)
{
	struct machine m;
	struct err e = { "" };

	machine_begin(&m, 4096);
	for (int i = 0; i < 100; i++) {
		struct child c = child_run(NULL, target(), "here", NULL);

		child_end(&c);
	}
	struct child c = child_run(NULL, target(), "here", NULL);

	sideband_read(m.sideband, m.maps, sideband_now());
	assert_true(sideband_status(m.sideband).lost > 0);
	assert_true(maps_read_running(m.maps, &e));
	assert_string_equal(path_name(machine_image(&m, &c)->name), "collect_target");
	child_end(&c);
	machine_end(&m);
	(void)state;
}

static void test_2132_many_mappings_are_read_in_time(void **state)
{
	struct child c = child_run(NULL, target(), "many", "30000");
	struct machine m;
	struct err e = { "" };

	machine_begin(&m, 0);
	const uint64_t before = sideband_now();
	assert_true(maps_read_running(m.maps, &e));
	print_message("30,000 mappings of code read in %.0f ms\n",
		      (double)(sideband_now() - before) / 1e6);
	assert_true(maps_status(m.maps).mappings >= 30000);
	assert_string_equal(path_name(machine_image(&m, &c)->name), "collect_target");
	child_end(&c);
	machine_end(&m);
	(void)state;
}

static void test_2139_no_link_leaves_the_root_of_a_process(void **state)
{
	struct machine m;
	char below[128], program[160], outside[128], link[160], good[160];

	machine_begin(&m, 0);
	path_in(&m, "below", below);
	path_in(&m, "outside", outside);
	snprintf(program, sizeof(program), "%s/program", below);
	snprintf(link, sizeof(link), "%s/link", below);
	snprintf(good, sizeof(good), "%s/good", below);
	assert_int_equal(mkdir(below, 0755), 0);
	copy_program(target(), program, false);
	copy_program(target(), outside, false);
	assert_int_equal(symlink(outside, link), 0);
	assert_int_equal(symlink("/program", good), 0);
	struct child c = child_run(&(struct child_how){ .prepare = change_root, .self = below },
				   "/program", "here", NULL);

	assert_int_equal(identity_open_inside("/proc", c.pid, "/link"), -1);
	assert_int_equal(identity_open_inside("/proc", c.pid, "/../../../../proc/self/exe"), -1);
	const int fd = identity_open_inside("/proc", c.pid, "/good");
	assert_true(fd >= 0);
	close(fd);
	child_end(&c);
	machine_end(&m);
	(void)state;
}

/* Becomes nobody with CAP_PERFMON and CAP_BPF, and nothing else. */
static bool become_observer(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const uint32_t high = 1u << (CAP_PERFMON - 32) | 1u << (CAP_BPF - 32);
	const struct __user_cap_data_struct data[2] = { { 0 }, { high, high, 0 } };

	return prctl(PR_SET_KEEPCAPS, 1) == 0 && setgroups(0, NULL) == 0 &&
	       setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0 &&
	       syscall(SYS_capset, &head, data) == 0;
}

/* 0: found; 1: not; 77: this build or kernel needs more rights. */
static int look_as_observer(const struct child *c, const char *path)
{
	struct machine m = { .profile = live_profile_new() };
	struct err e = { "" };

	if (!become_observer())
		return 77;
	m.sideband =
	    sideband_open(&(struct sideband_options){ .ring_bytes = 65536 }, NULL, NULL, &e);
	if (!m.sideband)
		return 77;
	m.sink = live_profile_sink(m.profile);
	m.maps = maps_new(&m.sink, "/proc");
	if (!running_bpf_read(m.maps))
		return 77;
	return strcmp(machine_image(&m, c)->name, path) == 0 ? 0 : 1;
}

static void test_2138_two_capabilities_are_enough_for_mappings(void **state)
{
	struct child c = child_run(NULL, target(), "here", NULL);
	int status;
	const pid_t pid = fork();

	if (pid == 0)
		_exit(look_as_observer(&c, target()));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	child_end(&c);
	if (WEXITSTATUS(status) == 77) {
		print_message("skipped: no BPF iterator with CAP_BPF and CAP_PERFMON\n");
		skip();
	}
	assert_int_equal(status, 0);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2120_a_program_is_its_file),
		cmocka_unit_test(test_2121_a_removed_program_keeps_its_functions),
		cmocka_unit_test(test_2122_a_file_replaced_under_its_name_is_another_image),
		cmocka_unit_test(test_2123_so_it_is_without_a_build_id),
		cmocka_unit_test(test_2124_a_file_replaced_later_is_held_by_its_process),
		cmocka_unit_test(test_2125_a_program_of_another_mount_namespace),
		cmocka_unit_test(test_2787_a_program_of_an_overlay),
		cmocka_unit_test(test_2126_a_program_below_another_root),
		cmocka_unit_test(test_2127_a_program_in_memory_is_told_by_its_content),
		cmocka_unit_test(test_2128_a_process_has_its_user),
		cmocka_unit_test(test_2129_the_vdso_and_vsyscall_have_names),
		cmocka_unit_test(test_2130_processes_that_ran_before_are_read_once),
		cmocka_unit_test(test_2131_a_full_ring_is_counted_and_made_good),
		cmocka_unit_test(test_2132_many_mappings_are_read_in_time),
		cmocka_unit_test(test_2139_no_link_leaves_the_root_of_a_process),
		cmocka_unit_test(test_2138_two_capabilities_are_enough_for_mappings),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
