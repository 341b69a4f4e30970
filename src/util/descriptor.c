/* SPDX-License-Identifier: MIT */
/* Reading whole, and signals through a descriptor. */
#include "util/descriptor.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

bool descriptor_read(int fd, int64_t offset, void *to, size_t size_bytes)
{
	for (size_t done = 0; done < size_bytes;) {
		char *const at = (char *)to + done;
		const size_t left = size_bytes - done;
		const ssize_t n = offset < 0 ? read(fd, at, left)
					     : pread(fd, at, left, (off_t)offset + (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

int descriptor_signals(const int *signals)
{
	sigset_t set;

	sigemptyset(&set);
	for (; *signals; signals++)
		sigaddset(&set, *signals);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}
