/* SPDX-License-Identifier: MIT */
/*
 * A file that becomes shorter while it is read. The libraries that read images map them, and a page
 * beyond the new end is a SIGBUS: whoever builds a program while its profile is shown would end the
 * reader. Such a page is replaced by zeros, which is one of the ways a file can be damaged.
 *
 * Only pages of private mappings of files: nothing that is written through a mapping is hidden.
 */
#include "image/image_int.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile sig_atomic_t shorter; /* a page was replaced since it was asked for */

static uintptr_t hex(const char *s, const char **end)
{
	uintptr_t x = 0;

	for (;; s++) {
		const int digit = *s >= '0' && *s <= '9'   ? *s - '0'
				  : *s >= 'a' && *s <= 'f' ? *s - 'a' + 10
							   : -1;

		if (digit < 0)
			break;
		x = x << 4 | (uintptr_t)digit;
	}
	*end = s;
	return x;
}

/* Whether a line of /proc/self/maps is a private mapping of a file with this address. */
static bool is_private_file(const char *line, uintptr_t address)
{
	const char *s;
	const uintptr_t start = hex(line, &s), end = *s == '-' ? hex(s + 1, &s) : 0;

	return address >= start && address < end && s[0] == ' ' && s[4] == 'p' && strchr(s, '/');
}

/* By calls that a signal handler may make. */
static bool may_replace(uintptr_t address)
{
	const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	char line[512], byte;
	bool found = false;
	size_t n = 0;

	/* One byte at a time: lines are of any length, and this happens once in a blue moon. */
	while (fd >= 0 && !found && read(fd, &byte, 1) == 1) {
		if (byte != '\n') {
			if (n < sizeof(line) - 1)
				line[n++] = byte;
			continue;
		}
		line[n] = '\0';
		n = 0;
		found = is_private_file(line, address);
	}
	if (fd >= 0)
		close(fd);
	return found;
}

static void on_bus(int sig, siginfo_t *info, void *context)
{
	const uintptr_t page = (uintptr_t)info->si_addr & ~(uintptr_t)(IMAGE_PAGE - 1);

	(void)context;
	if (info->si_code == BUS_ADRERR && may_replace(page) &&
	    mmap((void *)page, IMAGE_PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED) {
		shorter = 1;
		return;
	}
	signal(sig, SIG_DFL); /* and again */
}

void image_guard(void)
{
	const struct sigaction action = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO };
	struct sigaction now;

	/* A program that runs guests has a handler of its own. */
	if (sigaction(SIGBUS, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
		sigaction(SIGBUS, &action, NULL);
}

bool image_became_shorter(void)
{
	const bool was = shorter;

	shorter = 0;
	return was;
}
