/* SPDX-License-Identifier: MIT */
/* The command table lives in cmd/; main only hands over. */
#include <fcntl.h>
#include <unistd.h>

#include "cmd/cmd.h"

/*
 * A standard stream that is closed is held by something harmless: otherwise the next file to be
 * opened, a profile say, would get its number, and messages would go there. It is closed on exec,
 * which no stream that was inherited is, so that it can be told from one (sim_streams.c).
 */
static void hold_closed_streams(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR | O_CLOEXEC) != fd)
			return;
}

int main(int argc, char **argv)
{
	hold_closed_streams();
	return cmd_main(argc, argv);
}
