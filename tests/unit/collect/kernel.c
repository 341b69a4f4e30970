/* SPDX-License-Identifier: MIT */
/* The kernel's code by name, and processes by container. Needs root. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <setjmp.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/maps_int.h"
#include "machine.h"

/* The address of a kernel symbol, or of a BPF program, whose name has its digest before it; 0: hidden,
 * or none. */
static uint64_t kernel_address(const char *wanted)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[1024], name[600];
	unsigned long long address, found = 0;

	while (f && !found && fgets(line, sizeof(line), f))
		if (sscanf(line, "%llx %*c %599s", &address, name) == 2 &&
		    (strcmp(name, wanted) == 0 ||
		     (strncmp(name, "bpf_prog_", 9) == 0 && strstr(name, wanted))))
			found = address;
	if (f)
		fclose(f);
	return found;
}

static void test_2150_a_kernel_function_has_its_name(void **state)
{
	const struct maps_space space = { .pid = getpid() };
	const uint64_t address = kernel_address("vfs_read"), stext = kernel_address("_stext");
	struct machine m;

	if (!address) {
		print_message("skipped: the kernel's addresses are hidden\n");
		skip();
	}
	machine_begin(&m, 0);
	const struct maps_place p = maps_find_kernel(m.maps, space, address + 4);
	const struct live_image *i = live_image(m.profile, p.image);
	assert_int_equal(i->kind, LIVE_KERNEL);
	assert_string_equal(i->name, "[kernel]");
	assert_true(i->build_id[0]);
	assert_int_equal(p.offset, address + 4 - stext);
	maps_publish(m.maps);
	i = live_image(m.profile, p.image);
	assert_string_equal(kept_name(i, p.offset), "vfs_read");
	/* A kernel thread has a name too. */
	const struct maps_place t =
	    maps_find_kernel(m.maps, (struct maps_space){ .pid = 2 }, address);
	assert_string_equal(live_process(m.profile, t.process)->comm, "kthreadd");
	machine_end(&m);
	(void)state;
}

static int load_program(const char *name)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
	attr.insns = (uintptr_t)code;
	attr.insn_cnt = 2;
	attr.license = (uintptr_t) "GPL";
	snprintf(attr.prog_name, sizeof(attr.prog_name), "%s", name);
	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

static void check_program(struct machine *m, const char *name)
{
	const uint64_t address = kernel_address(name);
	const struct maps_place p =
	    maps_find_kernel(m->maps, (struct maps_space){ .pid = 1 }, address + 1);
	const struct live_image *i = live_image(m->profile, p.image);

	assert_true(address != 0);
	assert_int_equal(i->kind, LIVE_BPF);
	assert_non_null(strstr(i->name, name));
	assert_int_equal(p.offset, 1);
	maps_publish(m->maps);
	i = live_image(m->profile, p.image);
	assert_string_equal(kept_name(live_image(m->profile, p.image), 1), i->name);
}

static void test_2151_bpf_programs_have_names_before_and_after(void **state)
{
	const int before = load_program("culprit_old");
	struct machine m;

	if (before < 0 || !kernel_address("culprit_old")) {
		print_message(
		    "skipped: no BPF program can be loaded, or programs are not compiled\n");
		skip();
	}
	machine_begin(&m, 0);
	check_program(&m, "culprit_old");
	const int after = load_program("culprit_new");

	sideband_read(m.sideband, m.maps, sideband_now());
	check_program(&m, "culprit_new");
	close(after);
	close(before);
	machine_end(&m);
	(void)state;
}

/* With two listeners the kernel makes records of BPF programs too long, and their last bytes are what
 * lay in the ring before. Rings that have gone round are full of names there. */
static void test_2788_a_second_listener_does_not_hold_up_the_rings(void **state)
{
	struct machine m;
	struct err e = { "" };
	struct sideband *other;

	machine_begin(&m, 16384);
	other = sideband_open(&(struct sideband_options){ .ring_bytes = 16384 }, NULL, NULL, &e);
	assert_non_null(other);
	for (int i = 0; i < 200; i++) {
		struct child c = child_run(NULL, target(), "here", NULL);
		const int program = i % 4 ? -1 : load_program("culprit_second");

		child_end(&c);
		if (program >= 0)
			close(program);
		sideband_read(m.sideband, m.maps, 0);
	}
	/* Nothing waits for a time that does not come: each look finds what came since the last one. */
	sideband_read(m.sideband, m.maps, sideband_now());
	for (int i = 0; i < 10; i++) {
		const uint64_t before = sideband_status(m.sideband).records;
		struct child c = child_run(NULL, target(), "here", NULL);

		child_end(&c);
		sideband_read(m.sideband, m.maps, sideband_now());
		assert_true(sideband_status(m.sideband).records > before);
	}
	assert_int_equal(sideband_status(m.sideband).senseless, 0);
	sideband_close(other);
	machine_end(&m);
	(void)state;
}

/* As the kernel writes it for the third event that gets it: sixteen bytes too long. */
static void test_2789_the_time_of_a_record_lies_behind_its_fields(void **state)
{
	static const struct sideband_format format = { .trailer_bytes = 8, .time_at = 0 };
	struct {
		struct perf_event_header h;
		uint64_t address;
		uint32_t size_bytes;
		uint16_t type, flags;
		char name[16];
		uint64_t time, garbage[2];
	} symbol = { { PERF_RECORD_KSYMBOL, 0, sizeof(symbol) },
		     0xffffffffc0001000,
		     64,
		     PERF_RECORD_KSYMBOL_TYPE_BPF,
		     0,
		     "bpf_prog_seven",
		     7,
		     { UINT64_MAX / 2, UINT64_MAX / 2 } };
	struct {
		struct perf_event_header h;
		uint64_t address;
		uint16_t old_bytes, new_bytes;
		uint8_t bytes[10], fill[2];
		uint64_t time, garbage;
	} poke = { { PERF_RECORD_TEXT_POKE, 0, sizeof(poke) },
		   0xffffffff81000000,
		   5,
		   5,
		   { 0 },
		   { 0 },
		   8,
		   UINT64_MAX / 2 };
	struct {
		struct perf_event_header h;
		uint16_t type, flags;
		uint32_t id;
		uint8_t tag[8];
		uint64_t time, garbage;
	} bpf = { { PERF_RECORD_BPF_EVENT, 0, sizeof(bpf) }, 1, 0, 3, { 0 }, 9, UINT64_MAX / 2 };
	struct maps_record r;
	uint64_t lost;

	assert_int_equal(
	    sideband_parse((const uint8_t *)&symbol, sizeof(symbol), &format, &r, &lost),
	    SIDEBAND_RECORD);
	assert_int_equal(r.time_ns, 7);
	assert_string_equal(r.name, "bpf_prog_seven");
	assert_int_equal(sideband_parse((const uint8_t *)&poke, sizeof(poke), &format, &r, &lost),
			 SIDEBAND_RECORD);
	assert_int_equal(r.time_ns, 8);
	assert_int_equal(sideband_trailer((const uint8_t *)&bpf, sizeof(bpf), &format),
			 offsetof(typeof(bpf), time));
	/* One that is cut off has none. */
	assert_int_equal(sideband_trailer((const uint8_t *)&symbol, 40, &format), SIZE_MAX);
	(void)state;
}

static void check_name(const char *path, const char *wanted)
{
	char *name = container_in_path(path);

	assert_string_equal(name, wanted);
	free(name);
}

#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void test_2152_containers_are_told_by_their_paths(void **state)
{
	static const char file[] = "12:memory:/docker/" HEX64 "\n"
				   "1:name=systemd:/docker/" HEX64 "/init.scope\n0::/\n";

	check_name("/docker/" HEX64, "0123456789ab");
	check_name("/system.slice/docker-" HEX64 ".scope", "0123456789ab");
	check_name("/kubepods.slice/kubepods-pod1.slice/cri-containerd-" HEX64 ".scope",
		   "0123456789ab");
	check_name("/machine.slice/libpod-" HEX64 ".scope/container", "0123456789ab");
	check_name("/lxc.payload.web", "web");
	check_name("/machine.slice/machine-debian.scope", "debian");
	check_name("/lxc/web", "web");
	check_name("/system.slice/sshd.service", "");
	check_name("/user.slice/user-0.slice/session-1.scope", "");
	check_name("/init.scope", "");
	check_name("/", "");
	check_name("", "");
	char *name = container_in_file(file);

	assert_string_equal(name, "0123456789ab");
	free(name);
	name = container_in_file("senseless\n:\n::\n0::/../../x");
	assert_string_equal(name, "x");
	free(name);
	(void)state;
}

static bool enter(void *self)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/cgroup.procs", (const char *)self);
	const int fd = open(path, O_WRONLY | O_CLOEXEC);
	const bool done = fd >= 0 && write(fd, "0", 1) == 1;

	if (fd >= 0)
		close(fd);
	return done;
}

static void test_2153_a_process_has_its_container(void **state)
{
	static const char *const roots[] = { "/sys/fs/cgroup/unified", "/sys/fs/cgroup" };
	char path[192] = "", file[64];
	struct machine m;
	struct stat st;

	machine_begin(&m, 0);
	for (size_t i = 0; i < ARRAY_LEN(roots) && !*path; i++) {
		snprintf(file, sizeof(file), "%s/cgroup.procs", roots[i]);
		if (access(file, W_OK) == 0)
			snprintf(path, sizeof(path), "%s/%08x%.56s", roots[i], (unsigned)getpid(),
				 HEX64);
	}
	if (!*path || mkdir(path, 0755) < 0) {
		machine_end(&m);
		print_message("skipped: no cgroup of version 2 can be made here\n");
		skip();
	}
	struct child c = child_run(&(struct child_how){ .prepare = enter, .self = path }, target(),
				   "here", NULL);
	const bool entered = c.address;

	/* By its id alone, which a sample tells, it is found as well. */
	assert_int_equal(stat(path, &st), 0);
	struct containers *by_id = containers_new();
	const char *name = container_of_cgroup(by_id, st.st_ino);
	char wanted[13];

	snprintf(wanted, sizeof(wanted), "%08x0123", (unsigned)getpid());
	if (entered) {
		const struct maps_place p = machine_find(&m, &c);

		assert_string_equal(live_process(m.profile, p.process)->container, wanted);
	}
	child_end(&c);
	assert_int_equal(rmdir(path), 0);
	assert_true(entered);
	assert_string_equal(name, wanted);
	containers_free(by_id);
	machine_end(&m);
	(void)state;
}

/* A procfs of our own with these two files; modules may be NULL. */
static struct maps *maps_of_files(const struct machine *m, const char *kallsyms,
				  const char *modules)
{
	const char *names[] = { "kallsyms", "modules" }, *texts[] = { kallsyms, modules };
	char path[128];

	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", m->folder, names[i]);
		FILE *f = texts[i] ? fopen(path, "we") : NULL;

		if (!f)
			continue;
		fputs(texts[i], f);
		fclose(f);
	}
	return maps_new(&m->sink, m->folder);
}

static void test_2154_hidden_addresses_are_a_line_and_one_place(void **state)
{
	struct machine m;
	size_t n;

	machine_begin(&m, 0);
	struct maps *maps = maps_of_files(&m,
					  "0000000000000000 T _stext\n0000000000000000 T vfs_read\n"
					  "0000000000000000 T _etext\n",
					  NULL);
	const struct maps_place p =
	    maps_find_kernel(maps, (struct maps_space){ .pid = 1 }, 0xffffffff81234567);
	assert_int_equal(live_image(m.profile, p.image)->kind, LIVE_KERNEL);
	assert_int_equal(p.offset, 0);
	const char *const *notes = maps_notes(maps, &n);
	assert_int_equal(n, 1);
	assert_non_null(strstr(notes[0], "CAP_SYSLOG"));
	maps_publish(maps);
	assert_int_equal(live_image(m.profile, p.image)->nsymbols, 0);
	maps_free(maps);
	machine_end(&m);
	(void)state;
}

static void test_2155_modules_have_their_names_and_functions(void **state)
{
	const struct maps_space space = { .pid = 1 };
	struct machine m;

	machine_begin(&m, 0);
	struct maps *maps =
	    maps_of_files(&m,
			  "ffffffff81000000 T _stext\nffffffff81000100 t start\n"
			  "ffffffff81800000 T _etext\n"
			  "ffffffffc0102040 t late\t[toy]\nffffffffc0102000 t early\t[toy]\n"
			  "ffffffffc0200000 t bpf_prog_1_x\t[bpf]\nsenseless\n\n",
			  "toy 16384 0 - Live 0xffffffffc0102000 (OE)\nbad line\n");
	struct maps_place p = maps_find_kernel(maps, space, 0xffffffffc0102050);
	assert_int_equal(live_image(m.profile, p.image)->kind, LIVE_MODULE);
	assert_string_equal(live_image(m.profile, p.image)->name, "[toy]");
	assert_int_equal(p.offset, 0x50);
	maps_publish(maps);
	assert_string_equal(kept_name(live_image(m.profile, p.image), 0x50), "late");
	p = maps_find_kernel(maps, space, 0xffffffffc0200010);
	assert_string_equal(live_image(m.profile, p.image)->name, "bpf_prog_1_x");
	p = maps_find_kernel(maps, space, 0xffffffff81000180);
	assert_int_equal(p.offset, 0x180);
	p = maps_find_kernel(maps, space, 0xffffffffd0000000);
	assert_int_equal(live_image(m.profile, p.image)->kind, LIVE_UNKNOWN);
	maps_free(maps);
	machine_end(&m);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2150_a_kernel_function_has_its_name),
		cmocka_unit_test(test_2151_bpf_programs_have_names_before_and_after),
		cmocka_unit_test(test_2788_a_second_listener_does_not_hold_up_the_rings),
		cmocka_unit_test(test_2789_the_time_of_a_record_lies_behind_its_fields),
		cmocka_unit_test(test_2152_containers_are_told_by_their_paths),
		cmocka_unit_test(test_2153_a_process_has_its_container),
		cmocka_unit_test(test_2154_hidden_addresses_are_a_line_and_one_place),
		cmocka_unit_test(test_2155_modules_have_their_names_and_functions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
