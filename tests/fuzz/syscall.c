/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the system calls: any calls in any order, with arguments that are small numbers,
 * descriptors, flags, and good, bad and half-bad pointers to well-formed and to arbitrary memory.
 * The input is the list of calls and, repeated, the memory that they point to.
 *
 * The host must come to no harm: the process confines itself to an empty folder, as nobody and
 * without network, before the first call, and skips itself (exit 77) where it may not. Never made:
 * processes (clone without CLONE_THREAD), and signals that stop. A call that blocks is told that
 * its time is over; one that blocks the host is interrupted by a timer.
 *
 * FUZZ_ROOT names the folder (default: a new one in /tmp); files for libFuzzer are seen from inside
 * it, and the input at work is in the file `last` there, for ends that libFuzzer does not see.
 * FUZZ_UNCONFINED=1 leaves the cage open, to look into one input with a debugger.
 */
#include <elf.h>
#include <sched.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "guest/kernel/syscall.h"
#include "guest/memory/copy.h"
#include "guest/process/process.h"
#include "cage.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
const char *__asan_default_options(void);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size_bytes, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size_bytes, size_t room, unsigned seed);

#define CODE	    0x10000ull
#define DATA	    0x20000ull /* arbitrary bytes */
#define ARBITRARY   0x8000ull
#define NAMES	    (DATA + 0x8000)
#define FORMED	    (DATA + 0x9000) /* structures that make sense */
#define HOLE	    (DATA + 0xc000) /* mapped without access */
#define HOLE_BYTES  0x1000ull
#define DATA_END    (DATA + 0x10000)
#define CALLS_MAX   64
#define STOPPERS    (1ull << 18 | 1ull << 19 | 1ull << 20 | 1ull << 21) /* STOP TSTP TTIN TTOU */
#define WATCHDOG_NS 20000000

static struct guest *volatile watched;
static int last, null;
static char *top; /* contains the guest's folder */

/* The leak checker needs /proc, which does not exist in the cage. */
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

static void on_watchdog(int signo)
{
	(void)signo;
	if (watched)
		watched->interrupted = 1;
}

static void confine(void)
{
	char made[] = "/tmp/culprit-fuzz.XXXXXX";
	const char *root = getenv("FUZZ_ROOT");

	if (!root)
		root = mkdtemp(made);
	else
		mkdir(root, 0755);
	if (!root || chdir(root) < 0)
		die("cannot make a folder to work in");
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	last = open("last", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	top = getenv("FUZZ_UNCONFINED") ? x_strdup(root) : "/";
	if (!getenv("FUZZ_UNCONFINED") && !cage_enter(".")) {
		fprintf(stderr, "skipped: no right to confine itself\n");
		exit(77);
	}
}

static void start_watchdog(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMAX };
	struct itimerspec every = { { 0, WATCHDOG_NS }, { 0, WATCHDOG_NS } };
	struct sigaction action = { .sa_handler = on_watchdog };
	timer_t timer;

	sigaction(SIGRTMAX, &action, NULL);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0 ||
	    timer_settime(timer, 0, &every, NULL) < 0)
		die("no timer");
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st, (void)kind;
	if (ftw->level)
		remove(path);
	return 0;
}

/* Makes a folder writable, so that its content can be removed. */
static int open_up(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st, (void)ftw;
	if (kind == FTW_D || kind == FTW_DNR)
		chmod(path, 0700);
	return 0;
}

/* Every input begins in the same empty folder. */
static void clean(void)
{
	umask(022);
	signal(SIGXFSZ, SIG_IGN); /* not earlier: libFuzzer installs its own handler first */
	chmod(top, 0755);
	if (chdir(top) < 0)
		die("%s is gone", top);
	mkdir("work", 0755);
	nftw("work", open_up, 8, FTW_PHYS);
	nftw("work", remove_one, 8, FTW_PHYS | FTW_DEPTH);
	chmod("work", 0755);
	if (chdir("work") < 0)
		die("%s/work is gone", top);
}

static void write_program(void)
{
	struct {
		Elf64_Ehdr eh;
		Elf64_Phdr ph[2];
		uint32_t code[2];
	} f = {
		.eh = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				     EV_CURRENT },
			.e_type = ET_EXEC,
			.e_machine = EM_RISCV,
			.e_version = EV_CURRENT,
			.e_entry = CODE + offsetof(typeof(f), code),
			.e_phoff = offsetof(typeof(f), ph),
			.e_ehsize = sizeof(f.eh),
			.e_phentsize = sizeof(f.ph[0]),
			.e_phnum = 2 },
		.ph = { { .p_type = PT_LOAD,
			  .p_flags = PF_R | PF_X,
			  .p_vaddr = CODE,
			  .p_filesz = sizeof(f),
			  .p_memsz = sizeof(f) },
			{ .p_type = PT_LOAD,
			  .p_flags = PF_R | PF_W,
			  .p_vaddr = DATA,
			  .p_memsz = DATA_END - DATA } },
		.code = { 0x00000073, 0xffdff06f }, /* ecall; j .-4 */
	};
	int fd = open("program", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	if (fd < 0 || write(fd, &f, sizeof(f)) != sizeof(f))
		die("cannot write the program");
	close(fd);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	confine();
	start_watchdog();
	return 0;
}

struct input {
	const uint8_t *at, *end;
};

static uint64_t take(struct input *in, unsigned n)
{
	uint64_t v = 0;

	while (n-- && in->at < in->end)
		v = v << 8 | *in->at++;
	return v;
}

static const char *const names[] = { "a",
				     "b",
				     "folder",
				     "folder/c",
				     "folder/../b",
				     ".",
				     "..",
				     "",
				     "program",
				     "/a",
				     "/proc/self/fd/1",
				     "/proc/self/maps",
				     "/proc/self/exe",
				     "/dev/urandom",
				     "/dev/null",
				     "/proc/self/fd",
				     "link",
				     "fifo" };
#define NAME_BYTES 32

static void fill(struct guest *g, const uint8_t *data, size_t size_bytes)
{
	uint8_t *page = x_calloc(1, ARBITRARY);
	uint64_t base = FORMED;
	struct iovec iov[8] = { { (void *)DATA, 16 }, { (void *)(DATA + 64), 100 },
				{ (void *)NULL, 0 },  { (void *)(HOLE - 8), 16 },
				{ (void *)CODE, 16 }, { (void *)(DATA_END - 4), 64 },
				{ (void *)~0ull, 8 }, { (void *)DATA, 1ull << 62 } };
	struct pollfd polls[4] = {
		{ 0, POLLIN, 0 }, { 3, POLLIN | POLLOUT, 0 }, { 99, 1, 0 }, { -1, 1, 0 }
	};
	struct timespec times[4] = { { 0, 1000 }, { 0, 0 }, { 0, 1000000000 }, { -1, -1 } };
	struct sockaddr_un unix_name = { AF_UNIX, "socket" };
	struct msghdr message = { .msg_iov = (void *)base, .msg_iovlen = 2 };
	const uint64_t action[4] = { CODE + 64, SA_SIGINFO | SA_ONSTACK, 0, 0 };
	const uint64_t stack[3] = { DATA + 0x4000, 0, 0x2000 };
	const uint64_t how[3] = { O_CREAT | O_RDWR, 0644, 0 };

	for (size_t i = 0; size_bytes && i < ARBITRARY; i++)
		page[i] = data[i % size_bytes];
	copy_out(g, DATA, page, ARBITRARY);
	free(page);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		copy_out(g, NAMES + i * NAME_BYTES, names[i], strlen(names[i]) + 1);
	copy_out(g, base, iov, sizeof(iov));
	copy_out(g, base + 0x100, polls, sizeof(polls));
	copy_out(g, base + 0x200, times, sizeof(times));
	copy_out(g, base + 0x300, &unix_name, sizeof(unix_name));
	copy_out(g, base + 0x400, &message, sizeof(message));
	copy_out(g, base + 0x500, action, sizeof(action));
	copy_out(g, base + 0x600, stack, sizeof(stack));
	copy_out(g, base + 0x700, how, sizeof(how));
	mem_protect(&g->mem, HOLE, HOLE_BYTES, PROT_NONE);
}

static uint64_t take_argument(struct input *in)
{
	static const uint64_t special[] = { 0,
					    ~0ull,
					    0x7fffffff,
					    0xffffffff,
					    1ull << 38,
					    (1ull << 38) - 1,
					    (1ull << 38) - 8,
					    1ull << 63,
					    -100ull,
					    4096,
					    65536,
					    ~0ull - 4095,
					    DATA + 1,
					    1ull << 32,
					    DATA_END,
					    128 };

	switch (take(in, 1) % 14) {
	case 0:
		return take(in, 1) % 16;
	case 1:
	case 2:
		return take(in, 1) % 12; /* a descriptor */
	case 3:
	case 4:
		return DATA + take(in, 2) % ARBITRARY;
	case 5:
		return NAMES + take(in, 1) % ARRAY_LEN(names) * NAME_BYTES;
	case 6:
		return FORMED + take(in, 1) % 8 * 0x100;
	case 7:
		return CODE + take(in, 1);
	case 8:
		return take(in, 1) % 2 ? DATA_END - take(in, 1) % 40 : HOLE - take(in, 1) % 40;
	case 9:
		return DATA_END + take(in, 2);
	case 10:
		return special[take(in, 1) % ARRAY_LEN(special)];
	case 11:
		return take(in, 2);
	case 12:
		return 1ull << take(in, 1) % 32 | 1ull << take(in, 1) % 32;
	default:
		return take(in, 4) & 0xfffff;
	}
}

static bool is_harmful(struct guest *g, uint64_t nr, const uint64_t *a)
{
	if (nr == 93 || nr == 94) /* exit is harmless, but ends the input: mostly skip it */
		return a[0] % 8;
	if (nr == 47 /* fallocate */) /* could fill the disk in spite of the limit */
		return a[3] > 1 << 20;
	if (nr == 134 /* rt_sigaction */) /* SIGXFSZ belongs to our limit on file sizes */
		return (int)a[0] == SIGXFSZ;
	if (nr == 220 /* clone */)
		return !(a[0] & CLONE_THREAD);
	if (nr == 435 /* clone3 */)
		return !(mem_peek(&g->mem, a[0], 8) & CLONE_THREAD);
	return false;
}

/* Makes one call; returns false when the thread or the process has ended. */
static bool call(struct guest *g, struct input *in)
{
	static uint16_t numbers[SYSCALL_MAX];
	static unsigned count;
	struct thread *t = g->cur;
	uint64_t nr;
	siginfo_t info;

	if (!count)
		for (unsigned i = 0; i < SYSCALL_MAX; i++)
			if (syscall_table[i].fn)
				numbers[count++] = (uint16_t)i;
	nr = take(in, 2);
	nr = nr < 512 ? nr : numbers[nr % count];
	t->hart.pc = CODE + 176;
	t->hart.x[17] = nr;
	for (int i = 0; i < 6; i++)
		t->hart.x[10 + i] = take_argument(in);
	t->hart.x[2] = take(in, 1) % 4 ? GUEST_STACK_TOP - 4096 : take_argument(in);
	if (is_harmful(g, nr, &t->hart.x[10]))
		return true;
	syscall_enter(g, t);
	g->interrupted = 0;
	if (g->ended || g->cur != t || t->state == THREAD_DEAD)
		return false;
	if (t->state == THREAD_BLOCKED) {
		t->wait.timed_out = true;
		if (!syscall_retry(g, t))
			syscall_finish(g, t, -EINTR);
	}
	g->signals.host_pending &= ~STOPPERS;
	while (signal_take(g, t, STOPPERS, &info))
		;
	if (!g->ended && signal_pending(g, t))
		signal_deliver(g, t);
	return !g->ended && t->state != THREAD_DEAD;
}

/* Opens descriptors 3 to 11, one of each kind, so that calls find something to work on. */
static void open_some(struct guest *g)
{
	static const uint64_t calls[][7] = {
		{ 34, (uint64_t)AT_FDCWD, NAMES + 2 * NAME_BYTES, 0755 },  /* mkdirat */
		{ 56, (uint64_t)AT_FDCWD, NAMES, O_RDWR | O_CREAT, 0644 }, /* openat */
		{ 56, (uint64_t)AT_FDCWD, NAMES + 5 * NAME_BYTES, O_RDONLY | O_DIRECTORY },
		{ 59, DATA, O_NONBLOCK },				/* pipe2 */
		{ 199, AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, DATA }, /* socketpair */
		{ 19, 1, O_NONBLOCK },					/* eventfd2 */
		{ 20, 0 },						/* epoll_create1 */
		{ 85, CLOCK_MONOTONIC, TFD_NONBLOCK },			/* timerfd_create */
	};

	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		g->cur->hart.x[17] = calls[i][0];
		memcpy(&g->cur->hart.x[10], &calls[i][1], 6 * 8);
		syscall_enter(g, g->cur);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	char *argv[] = { "./program", NULL };
	struct guest_config config = { .argv = argv };
	struct input in = { data, data + size_bytes };
	struct guest *g;
	struct err e;

	if (size_bytes == 0)
		return 0;
	clean();
	if (ftruncate(last, 0) < 0 || pwrite(last, data, size_bytes, 0) < 0)
		die("cannot keep the input");
	write_program();
	g = guest_new(&config, &e);
	if (!g)
		die("%s", e.text);
	watched = g;
	/* The guest must not write to our own output. */
	for (size_t fd = 0; fd < 3; fd++)
		if (fd < g->nfds && g->fds[fd].kind != FD_CLOSED)
			dup2(null, g->fds[fd].host);
	fill(g, data, size_bytes);
	open_some(g);
	fill(g, data, size_bytes);
	for (int n = 0; n < CALLS_MAX && in.at < in.end; n++)
		if (!call(g, &in))
			break;
	watched = NULL;
	guest_free(g);
	return 0;
}

/* Every input means something, so fresh random ones are as good as mutated ones. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size_bytes, size_t room, unsigned seed)
{
	struct rng rng;

	rng_seed(&rng, seed);
	if (size_bytes > 16 && rng_below(&rng, 3))
		return LLVMFuzzerMutate(data, size_bytes, room);
	size_bytes = room / 2 + rng_below(&rng, room / 2 + 1);
	for (size_t i = 0; i < size_bytes; i++)
		data[i] = (uint8_t)rng_next(&rng);
	return size_bytes;
}
