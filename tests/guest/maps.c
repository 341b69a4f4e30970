/* SPDX-License-Identifier: MIT */
/*
 * Uses up mappings until it is refused, in one of several ways, and then goes on living: what it
 * has it can free, new code runs, and it ends normally.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE  4096ul
#define PAGES 100000ul
#define BASE  ((uint8_t *)0x1000000000)

static uint8_t *map(uint8_t *at, unsigned long pages, int prot)
{
	return mmap(at, pages * PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static unsigned long refused(const char *what, unsigned long i)
{
	printf("%s: refused with %s after %lu\n", what, strerrorname_np(errno), i);
	return i;
}

/* Gives every other page other rights. */
static void by_protection(void)
{
	unsigned long i;

	map(BASE, PAGES, PROT_READ | PROT_WRITE);
	for (i = 1; i < PAGES; i += 2)
		if (mprotect(BASE + i * PAGE, PAGE, PROT_READ)) {
			refused("protections", i);
			break;
		}
}

/* Maps and uses every other page, then the pages between, which the host does not merge with
 * them. */
static void by_filling(void)
{
	unsigned long i, n;

	for (i = 0; i < PAGES; i += 2) {
		if (map(BASE + i * PAGE, 1, PROT_READ | PROT_WRITE) == MAP_FAILED) {
			refused("pages", i);
			break;
		}
		BASE[i * PAGE] = 1;
	}
	for (n = 1; n < i; n += 2)
		if (map(BASE + n * PAGE, 1, PROT_READ | PROT_WRITE) == MAP_FAILED) {
			refused("pages between", n);
			break;
		}
}

/* Maps pages that differ for the guest but not for the host, then unmaps every other one. */
static void by_unmapping(void)
{
	unsigned long i;

	map(BASE, PAGES, PROT_READ);
	for (i = 1; i < PAGES; i += 2)
		if (mprotect(BASE + i * PAGE, PAGE, PROT_READ | PROT_EXEC)) {
			refused("code", i);
			break;
		}
	for (i = PAGES - 1; i > 0; i -= 2)
		if (munmap(BASE + i * PAGE, PAGE)) {
			refused("unmapping", PAGES - i);
			break;
		}
}

/* Makes pages that a child does not inherit. */
static void by_forking(void)
{
	int status = -1;
	unsigned long i;
	pid_t pid;

	map(BASE, PAGES, PROT_READ | PROT_WRITE);
	for (i = 1; i < PAGES; i += 2)
		if (madvise(BASE + i * PAGE, PAGE, MADV_DONTFORK)) {
			refused("advice", i);
			break;
		}
	pid = fork();
	if (!pid)
		_exit(BASE[0] == 0 ? 3 : 4);
	waitpid(pid, &status, 0);
	printf("the child ended with %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static void run_new_code(void)
{
	enum { BLOCKS = 1000, LENGTH = 48 };
	uint32_t *code = mmap(NULL, BLOCKS * LENGTH * 4, PROT_READ | PROT_WRITE | PROT_EXEC,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < BLOCKS * LENGTH; i++)
		code[i] = i % LENGTH == LENGTH - 1 ? 0x00008067 : 0x00000013; /* ret, nop */
	for (int i = 0; i < BLOCKS; i++)
		((void (*)(void))(code + i * LENGTH))();
}

static void small_code(void)
{
	static uint32_t code[64 * 1024 / 4] __attribute__((aligned(4096)));

	/* Use pages that exist: a new mapping may be refused now. */
	if (mprotect(code, sizeof(code), PROT_READ | PROT_WRITE | PROT_EXEC))
		return;
	for (unsigned i = 0; i < sizeof(code) / 4; i++)
		code[i] = i % 16 == 15 ? 0x00008067 : 0x00000013;
	for (unsigned i = 0; i < sizeof(code) / 4; i += 16)
		((void (*)(void))(code + i))();
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IONBF, 0);
	if (!strcmp(how, "protection"))
		by_protection();
	else if (!strcmp(how, "filling"))
		by_filling();
	else if (!strcmp(how, "unmapping"))
		by_unmapping();
	else
		by_forking();
	small_code();
	printf("unmapped: %d\n", munmap(BASE, PAGES * PAGE));
	run_new_code();
	printf("mapped again: %d\n", map(BASE, 1, PROT_READ) == BASE);
	return 0;
}
