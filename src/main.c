/* SPDX-License-Identifier: MIT */
/* The command table lives in cmd/; main only hands over. */
#include "cmd/cmd.h"

int main(int argc, char **argv)
{
	return cmd_main(argc, argv);
}
