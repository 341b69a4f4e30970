/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes checkpoints: a guest is restored from a file of which one section, or the whole file, is arbitrary. What is
 * restored executes some instructions; what is not must say why in one line.
 *
 * An input is the number of a section and its bytes, unpacked: checksums are right, so that what lies behind them is
 * reached. The number behind the last section stands for the bytes of the whole file. Seeds are made here: the sections
 * of a checkpoint of a small program.
 *
 * A checkpoint names files and folders, so this happens in a cage (cage.h): FUZZ_ROOT is the folder, a new one in /tmp
 * by default.
 */
#include <assert.h>
#include <elf.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cage.h"
#include "guest/guest.h"
#include "state/file.h"
#include "util/util.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
const char *__asan_default_options(void);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size_bytes, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size_bytes, size_t room, unsigned seed);

#define STEPS	 200
#define SECTIONS 16
#define BYTES	 (64u << 10)

static struct seed {
	char name[STATE_NAME_MAX + 1];
	uint8_t *bytes;
	size_t count;
} seeds[SECTIONS + 1]; /* the last one: the whole file */
static size_t nseeds;
static bool checked; /* that the seed can be restored */

/* The leak checker needs /proc, which does not exist in the cage. */
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

/* A program that loops for ever and writes into its memory. */
static void write_program(void)
{
	static const uint32_t code[] = { 0x00020137, 0x00a13023, 0x00150513, 0xff9ff06f };
	uint8_t file[8192] = { 0 };
	const Elf64_Ehdr e = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_EXEC,
		.e_machine = EM_RISCV,
		.e_version = EV_CURRENT,
		.e_entry = 0x10000,
		.e_phoff = sizeof(e),
		.e_ehsize = sizeof(e),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
	};
	const Elf64_Phdr p[] = {
		{ PT_LOAD, PF_R | PF_X, 4096, 0x10000, 0x10000, sizeof(code), sizeof(code), 4096 },
		{ PT_LOAD, PF_R | PF_W, 4096, 0x20000, 0x20000, sizeof(code), 65536, 4096 },
	};
	int fd = open("/program", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

	memcpy(file, &e, sizeof(e));
	memcpy(file + sizeof(e), p, sizeof(p));
	memcpy(file + 4096, code, sizeof(code));
	if (fd < 0 || write(fd, file, sizeof(file)) != (ssize_t)sizeof(file))
		die("cannot write the program");
	close(fd);
}

static void add_seed(const char *name, const void *bytes, size_t count)
{
	struct seed *s = &seeds[nseeds++];

	snprintf(s->name, sizeof(s->name), "%s", name);
	s->bytes = memcpy(x_malloc(count + 1), bytes, count);
	s->count = count;
}

static void make_seeds(void)
{
	char *argv[] = { "/program", "argument", NULL };
	const int streams[] = { -1, -1, -1 };
	const struct guest_config config = { .argv = argv,
					     .streams = streams,
					     .interpreter_only = true };
	struct err e = { "" };
	struct guest *g = guest_new(&config, &e);
	struct state_pool *pool = g ? state_pool_open("/points", &e) : NULL;
	struct state_file *f = pool ? state_file_new(pool) : NULL;
	struct state_file_part part;
	uint8_t whole[BYTES];
	ssize_t n;
	int fd;

	if (!f || guest_run(g, 1000) != GUEST_RUNNING || !guest_save(g, f, &e) ||
	    !state_file_write(f, "/points/seed", &e))
		die("no seed: %s", e.text);
	for (size_t i = 0; nseeds < SECTIONS && state_file_part(f, i, &part); i++) {
		size_t count;
		const void *bytes = state_bytes_written(state_file_state(f, i), &count);

		add_seed(part.name, bytes, count);
	}
	state_file_free(f);
	state_pool_close(pool);
	guest_free(g);
	fd = open("/points/seed", O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, whole, sizeof(whole));
	if (n <= 0)
		die("no seed");
	close(fd);
	add_seed("", whole, (size_t)n);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static char fresh[] = "/tmp/culprit-fuzz.XXXXXX";
	const char *root = getenv("FUZZ_ROOT");

	(void)argc, (void)argv;
	signal(SIGXFSZ, SIG_IGN); /* the cage limits files; run it with -handle_xfsz=0 */
	if (root)
		mkdir(root, 0777);
	if (chdir(root ? root : mkdtemp(fresh)) < 0)
		die("the folder cannot be used");
	chmod(".", 0777);
	/* Files are known by their places, for which culprit asks /proc: the cage has it, in a mount namespace of
	 * its own, and nothing there can be written. */
	mkdir("proc", 0755);
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("/proc", "proc", NULL, MS_BIND, NULL) < 0 ||
	    mount(NULL, "proc", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NOEXEC,
		  NULL) < 0 ||
	    !cage_enter(".")) {
		fprintf(stderr, "skipped: no right to confine itself\n");
		exit(77);
	}
	if (chdir("/") < 0)
		die("the folder cannot be used");
	mkdir("/tmp", 0777); /* for the files of restored guests */
	write_program();
	make_seeds();
	return 0;
}

static void step(struct guest *g)
{
	struct guest_step s = { 0 };

	for (int n = 0; n < STEPS && !(s.flags & STEP_END); n++) {
		const struct inst *in = guest_fetch(g, guest_hart(g)->pc);

		if (in && in->op == OP_ECALL)
			return;
		guest_step(g, &s);
	}
}

/* Writes the checkpoint with section `which` of these bytes. */
static void write_checkpoint(size_t which, const uint8_t *data, size_t count)
{
	struct state_file *f = state_file_new(NULL);
	struct err e = { "" };

	for (size_t i = 0; i + 1 < nseeds; i++) {
		const bool own = i == which;

		state_raw(state_file_section(f, seeds[i].name),
			  own ? (void *)(uintptr_t)data : seeds[i].bytes,
			  own ? count : seeds[i].count);
	}
	if (!state_file_write(f, "/points/one", &e))
		die("%s", e.text);
	state_file_free(f);
}

/* The file /points/one, if it is a checkpoint; e says why not. */
static struct guest *restore(struct err *e)
{
	const int streams[] = { -1, -1, -1 };
	const struct guest_config config = { .streams = streams,
					     .private_files = true,
					     .interpreter_only = true };
	struct guest_saved about;
	struct state_file *f = state_file_open("/points/one", e);
	struct guest *g = NULL;

	if (f && guest_saved_read(f, &about, e))
		guest_saved_free(&about);
	if (f) {
		e->text[0] = 0;
		g = guest_restore(&config, f, e);
	}
	state_file_free(f);
	return g;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	struct err e = { "" };
	struct guest *g;

	if (!size_bytes)
		return 0;
	if (!checked) {
		checked = true;
		write_checkpoint(nseeds, NULL, 0);
		g = restore(&e);
		if (!g)
			die("the seed itself is refused: %s", e.text);
		guest_free(g);
	}
	if (data[0] % nseeds + 1 < nseeds) {
		write_checkpoint(data[0] % nseeds, data + 1, size_bytes - 1);
	} else {
		int fd = open("/points/one", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

		if (fd < 0 || write(fd, data + 1, size_bytes - 1) != (ssize_t)size_bytes - 1)
			die("cannot write the checkpoint");
		close(fd);
	}
	g = restore(&e);
	/* Pages that prove to be damaged when they are needed end the program, which is right, too. */
	if (g && data[0] % nseeds + 2 < nseeds)
		step(g);
	else if (!g)
		assert(e.text[0] && !strchr(e.text, '\n'));
	guest_free(g);
	unlink("/points/one");
	if (chdir("/") < 0)
		abort();
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size_bytes, size_t room, unsigned seed)
{
	struct rng rng;

	rng_seed(&rng, seed);
	if (size_bytes < 2 || rng_below(&rng, 4) == 0) {
		const size_t which = rng_below(&rng, nseeds);

		if (seeds[which].count + 1 > room)
			return LLVMFuzzerMutate(data, size_bytes, room);
		data[0] = (uint8_t)which;
		memcpy(data + 1, seeds[which].bytes, seeds[which].count);
		size_bytes = seeds[which].count + 1;
	}
	return 1 + LLVMFuzzerMutate(data + 1, size_bytes - 1, room - 1);
}
