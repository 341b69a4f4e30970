/* SPDX-License-Identifier: MIT */
/*
 * Looks for holes in its own address space: after a fixed mmap of something that cannot be mapped,
 * in a child that does not inherit a range, and behind a mapping that has moved. Then it makes the
 * machine that runs it allocate memory, by executing much new code, and looks whether that memory
 * has come to lie where it can read it. A page of the range may hold what it held, or be gone.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE  4096ul
#define RANGE (16ul << 20)
#define MARK  0x5a

static sigjmp_buf out;

static void on_fault(int signo)
{
	siglongjmp(out, 1);
}

/* Executes blocks that were never executed before: the machine keeps decoded and translated forms
 * of them. */
static void run_new_code(void)
{
	enum { BLOCKS = 1500, LENGTH = 48 };
	static unsigned long at = 0x1000000000; /* mmap's own choice would be the hole */
	uint32_t *code = mmap((void *)at, BLOCKS * LENGTH * 4, PROT_READ | PROT_WRITE | PROT_EXEC,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	at += 1ul << 30;
	for (int i = 0; i < BLOCKS * LENGTH; i++)
		code[i] = i % LENGTH == LENGTH - 1 ? 0x00008067 : 0x00000013; /* ret, nop */
	for (int times = 0; times < 2; times++)
		for (int i = 0; i < BLOCKS; i++)
			((void (*)(void))(code + i * LENGTH))();
}

/* Counts pages of the range that are readable and hold anything but the mark. */
static long strange_pages(const uint8_t *range, long *readable)
{
	volatile long strange = 0, seen = 0;
	volatile const uint8_t *p;

	for (volatile uint64_t at = 0; at < RANGE; at += PAGE) {
		if (sigsetjmp(out, 1))
			continue;
		p = range + at;
		uint8_t first = p[0];
		seen++;
		strange += first != MARK || p[PAGE - 1] != 0;
	}
	*readable = seen;
	return strange;
}

static int look(const char *what, const uint8_t *range)
{
	long readable, strange;

	run_new_code();
	strange = strange_pages(range, &readable);
	printf("%s: %s\n", what, strange ? "memory of the machine is readable" : "nothing to see");
	fprintf(stderr, "%s: %ld pages are readable, %ld are not the guest's\n", what, readable,
		strange);
	fflush(stdout);
	return strange != 0;
}

static uint8_t *new_range(void)
{
	uint8_t *range =
	    mmap(NULL, RANGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (uint64_t at = 0; at < RANGE; at += PAGE)
		range[at] = MARK;
	return range;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	uint8_t *range = new_range(), *other;
	int status = 0, fd;
	pid_t pid;

	signal(SIGSEGV, on_fault);
	signal(SIGBUS, on_fault);
	if (!strcmp(what, "wait")) { /* a test inspects culprit's own mappings meanwhile */
		for (int i = 0; i < 10; i++)
			run_new_code();
		printf("ready\n");
		fflush(stdout);
		return getchar() == EOF;
	}
	if (!strcmp(what, "mmap")) {
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		if (mmap(range, RANGE, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED)
			return 9;
		return look("after a failed mmap", range);
	}
	if (!strcmp(what, "fork")) {
		if (madvise(range, RANGE, MADV_DONTFORK))
			return 8;
		pid = fork();
		if (!pid)
			_exit(look("in a child that does not inherit it", range));
		return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 1;
	}
	fd = memfd_create("f", 0);
	if (ftruncate(fd, RANGE))
		return 7;
	range = mmap(NULL, RANGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	other = mmap(NULL, RANGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mremap(range, RANGE, RANGE, MREMAP_MAYMOVE | MREMAP_FIXED, other) != other)
		return 6;
	return look("behind a mapping that moved", range);
}
