/* SPDX-License-Identifier: MIT */
/*
 * System calls in quick succession: a pipe written and read, files positioned and measured, memory
 * mapped, protected and unmapped, the clock read, and between them a little work on what came back.
 * Answers that the kernel may choose freely (times, addresses, process numbers) do not enter the
 * checksum.
 *
 *      syscalls ROUNDS
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "workload.h"

static void check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "syscalls: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t round_of_calls(const int pipe_fd[2], int zero_fd, uint64_t round)
{
	uint64_t words[32], sum = 0;
	struct timespec before, after;
	struct stat status;
	uint64_t *page;

	check(!clock_gettime(CLOCK_MONOTONIC, &before), "clock_gettime");
	for (unsigned i = 0; i < 32; i++)
		words[i] = round * 32 + i;
	check(write(pipe_fd[1], words, sizeof(words)) == sizeof(words), "write");
	memset(words, 0xff, sizeof(words));
	check(read(pipe_fd[0], words, sizeof(words)) == sizeof(words), "read");
	for (unsigned i = 0; i < 32; i++)
		sum = workload_mix(sum, words[i]);
	check(read(zero_fd, words, sizeof(words)) == sizeof(words), "read");
	for (unsigned i = 0; i < 32; i++)
		sum = workload_mix(sum, words[i]);
	check(!fstat(zero_fd, &status) && S_ISCHR(status.st_mode), "fstat");
	check(lseek(pipe_fd[0], 0, SEEK_CUR) == -1 && errno == ESPIPE, "lseek on a pipe");
	check(close(-1) == -1 && errno == EBADF, "close of no file");
	page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(page != MAP_FAILED, "mmap");
	page[round % 1024] = round;
	check(!mprotect(page, 4096, PROT_READ), "mprotect");
	sum = workload_mix(sum, page[round % 1024] + page[(round + 1) % 1024]);
	check(!munmap(page, 8192), "munmap");
	check(getppid() >= 0 && getpid() > 0, "getpid");
	check(!clock_gettime(CLOCK_MONOTONIC, &after), "clock_gettime");
	check(after.tv_sec > before.tv_sec ||
		  (after.tv_sec == before.tv_sec && after.tv_nsec >= before.tv_nsec),
	      "the clock ran backwards");
	return sum;
}

int main(int argc, char **argv)
{
	uint64_t rounds = workload_arg(argc, argv, 1, 10000, 1, UINT64_MAX), sum = 0;
	int pipe_fd[2], zero_fd = open("/dev/zero", O_RDONLY);

	check(zero_fd >= 0, "/dev/zero");
	check(!pipe(pipe_fd), "pipe");
	CULPRIT_BEGIN();
	for (uint64_t i = 0; i < rounds; i++)
		sum = workload_mix(sum, round_of_calls(pipe_fd, zero_fd, i));
	CULPRIT_END();
	return workload_print("syscalls", sum);
}
