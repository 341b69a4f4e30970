/* SPDX-License-Identifier: MIT */
/* Runs guest programs and captures their output; makes tiny ELF files (guest_world.h). */
#include "guest_world.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const char *world_program(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s.rv", GUEST_PROGRAMS, name);
	if (access(path, R_OK) < 0) {
		print_message("no RISC-V cross compiler, so no %s\n", name);
		skip();
	}
	return path;
}

static void slurp(int fd, char *buf, size_t size_bytes)
{
	ssize_t n = pread(fd, buf, size_bytes - 1, 0);

	buf[n > 0 ? n : 0] = 0;
	close(fd);
}

bool world_run(const char *path, const struct guest_config *base, bool step, struct run *r)
{
	char *argv[] = { (char *)(uintptr_t)path, NULL };
	struct guest_config config = base ? *base : (struct guest_config){ 0 };
	int out = memfd_create("out", MFD_CLOEXEC), err = memfd_create("err", MFD_CLOEXEC);
	int old_out, old_err;
	struct guest_step s = { 0 };
	struct err e = { { 0 } };
	struct guest *g;

	fflush(NULL);
	old_out = dup(1);
	old_err = dup(2);
	dup2(out, 1);
	dup2(err, 2);
	if (!config.argv)
		config.argv = argv;
	g = guest_new(&config, &e);
	if (g && step) {
		while (!(s.flags & STEP_END))
			guest_step(g, &s);
	} else if (g) {
		while (guest_run(g, 1000003) == GUEST_RUNNING)
			;
	}
	if (g) {
		r->status = guest_exit_status(g);
		r->insts = guest_insts(g);
		guest_free(g);
	}
	fflush(NULL);
	dup2(old_out, 1);
	dup2(old_err, 2);
	close(old_out);
	close(old_err);
	slurp(out, r->out, sizeof(r->out));
	slurp(err, r->err, sizeof(r->err));
	if (!g)
		snprintf(r->err, sizeof(r->err), "%s", e.text);
	return g;
}

const char *world_file(const void *data, size_t size_bytes)
{
	static char path[64];
	int fd;

	snprintf(path, sizeof(path), "/tmp/culprit-test-%d", getpid());
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size_bytes), size_bytes);
	close(fd);
	return path;
}

size_t world_elf(uint8_t buf[8192])
{
	static const uint32_t code[] = {
		0x02a00513, /* li a0,42 */
		0x05e00893, /* li a7,94 */
		0x00000073, /* ecall */
	};
	Elf64_Ehdr h = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_EXEC,
		.e_machine = EM_RISCV,
		.e_version = EV_CURRENT,
		.e_entry = 0x10000 + 0x200,
		.e_phoff = sizeof(h),
		.e_ehsize = sizeof(h),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
	};
	Elf64_Phdr ph[2] = {
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R | PF_X,
		  .p_vaddr = 0x10000,
		  .p_filesz = 0x300,
		  .p_memsz = 0x300,
		  .p_align = 4096 },
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R | PF_W,
		  .p_vaddr = 0x12300,
		  .p_offset = 0x300,
		  .p_filesz = 0x100,
		  .p_memsz = 0x3000,
		  .p_align = 4096 },
	};

	memset(buf, 0, 8192);
	memcpy(buf, &h, sizeof(h));
	memcpy(buf + sizeof(h), ph, sizeof(ph));
	memcpy(buf + 0x200, code, sizeof(code));
	return 0x400;
}

struct guest *world_guest(void)
{
	uint8_t elf[8192];
	size_t n = world_elf(elf);
	char *argv[] = { "program", NULL };
	struct guest_config config = { .argv = argv, .program = world_file(elf, n) };
	struct err e = { { 0 } };
	struct guest *g = guest_new(&config, &e);

	unlink(config.program);
	assert_string_equal(e.text, "");
	assert_non_null(g);
	return g;
}
