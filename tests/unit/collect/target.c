/* SPDX-License-Identifier: MIT */
/*
 * A program whose images are known: it prints "ADDRESS NAME" of what it does and waits until its
 * standard input ends. Linked statically, so that it runs below any root.
 *
 *	target here             an address in its own code
 *	target vdso             an address in the vdso
 *	target memory           code in memory without a file
 *	target dump FOLDER      the same, with a jitdump in that folder
 *	target spin MICROS      uses the processor for a while and ends
 *	target many COUNT       so many mappings of code without a file
 *	target crowd COUNT      so many processes, which end with it
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const unsigned char code[] = { 0x90, 0x90, 0x90, 0xc3 };

__attribute__((noinline)) static uint64_t spinning(uint64_t micros)
{
	struct timespec a, b;
	uint64_t sum = 0;

	clock_gettime(CLOCK_MONOTONIC, &a);
	do {
		for (int i = 0; i < 1000; i++)
			sum = sum * 31 + (uint64_t)i;
		clock_gettime(CLOCK_MONOTONIC, &b);
	} while ((uint64_t)((b.tv_sec - a.tv_sec) * 1000000 + (b.tv_nsec - a.tv_nsec) / 1000) <
		 micros);
	return sum;
}

static void *generate(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		exit(3);
	memcpy(p, code, sizeof(code));
	if (mprotect(p, 4096, PROT_READ | PROT_EXEC) < 0)
		exit(3);
	return p;
}

/* As perf's jitdump-specification has it. */
static void dump(const char *folder, void *at)
{
	struct {
		uint32_t magic, version, total, machine, pad, pid;
		uint64_t time, flags;
	} head = { 0x4A695444, 1, sizeof(head), 62, 0, (uint32_t)getpid(), 0, 0 };
	static const char name[] = "dumped_function";
	struct {
		uint32_t id, total;
		uint64_t time;
		uint32_t pid, tid;
		uint64_t vma, address, size, index;
	} load = { 0,
		   sizeof(load) + sizeof(name) + sizeof(code),
		   0,
		   head.pid,
		   head.pid,
		   (uintptr_t)at,
		   (uintptr_t)at,
		   sizeof(code),
		   0 };
	char path[4096];

	snprintf(path, sizeof(path), "%s/jit-%d.dump", folder, getpid());
	const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED ||
	    write(fd, &head, sizeof(head)) < 0 || write(fd, &load, sizeof(load)) < 0 ||
	    write(fd, name, sizeof(name)) < 0 || write(fd, code, sizeof(code)) < 0)
		exit(3);
}

static void many(int count)
{
	/* Every other page, so that the kernel cannot join them. */
	char *p = mmap(NULL, (size_t)count * 8192, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	for (int i = 0; i < count && p != MAP_FAILED; i++)
		if (mprotect(p + (size_t)i * 8192, 4096, PROT_READ | PROT_EXEC) < 0)
			break;
}

/* Processes that sleep until this one has gone. */
static void crowd(int count)
{
	int ends[2];
	char c;

	if (pipe(ends) != 0)
		exit(3);
	for (int i = 0; i < count; i++) {
		const pid_t child = fork();

		if (child < 0)
			exit(4);
		if (!child) {
			close(ends[1]);
			while (read(ends[0], &c, 1) > 0)
				;
			_exit(0);
		}
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "here", *more = argc > 2 ? argv[2] : "0";
	void *at = (void *)(uintptr_t)spinning;
	char c;

	if (strcmp(what, "spin") == 0)
		return spinning((uint64_t)atoi(more)) == 1;
	if (strcmp(what, "vdso") == 0)
		at = (char *)getauxval(AT_SYSINFO_EHDR) + 0x800;
	if (strcmp(what, "memory") == 0 || strcmp(what, "dump") == 0)
		at = generate();
	if (strcmp(what, "dump") == 0)
		dump(more, at);
	if (strcmp(what, "many") == 0)
		many(atoi(more));
	if (strcmp(what, "crowd") == 0)
		crowd(atoi(more));
	printf("%lx %s\n", (unsigned long)(uintptr_t)at, what);
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	return 0;
}
