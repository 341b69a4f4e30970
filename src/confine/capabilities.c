/* SPDX-License-Identifier: MIT */
/*
 * Capabilities. Root keeps what it may do to files of other users, because reading and writing the
 * user's files may need it; all other capabilities are dropped.
 */
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confine/confine_int.h"

#define KEPT                                                                                       \
	(1u << CAP_CHOWN | 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH | 1u << CAP_FOWNER | \
	 1u << CAP_FSETID)

bool capabilities_drop(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct now[2];

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capget, &head, now))
		return false;
	now[0].effective &= KEPT;
	now[0].permitted &= KEPT;
	now[1].effective = now[1].permitted = 0;
	now[0].inheritable = now[1].inheritable = 0;
	return !syscall(SYS_capset, &head, now);
}
