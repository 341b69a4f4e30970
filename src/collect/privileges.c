/* SPDX-License-Identifier: MIT */
/*
 * Capabilities, by the kernel's own calls. Loading and sampling need CAP_BPF and CAP_PERFMON; the
 * others only make more visible.
 */
#include "collect/privileges.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/array.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF	    39
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

static const int kept[] = { CAP_BPF, CAP_PERFMON, CAP_SYSLOG, CAP_CHECKPOINT_RESTORE };

static uint64_t effective(void)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2] = { 0 };

	if (syscall(SYS_capget, &h, d) != 0)
		return 0;
	return (uint64_t)d[1].effective << 32 | d[0].effective;
}

static bool set(uint64_t caps)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2] = { 0 };

	for (int i = 0; i < 2; i++)
		d[i].effective = d[i].permitted = (uint32_t)(caps >> (32 * i));
	return syscall(SYS_capset, &h, d) == 0;
}

void privileges_note(char ***notes, size_t *nnotes)
{
	const uint64_t have = effective();
	static const struct {
		int cap, instead;
		const char *line;
	} features[] = {
		{ CAP_SYSLOG, CAP_SYSLOG,
		  "no CAP_SYSLOG: the kernel's addresses may be hidden, and its functions have no "
		  "names" },
		{ CAP_CHECKPOINT_RESTORE, CAP_SYS_PTRACE,
		  "no CAP_CHECKPOINT_RESTORE: files of other users' processes that were deleted or "
		  "lie in another mount namespace cannot be read" },
	};

	for (size_t i = 0; i < ARRAY_LEN(features); i++)
		if (!(have >> features[i].cap & 1) && !(have >> features[i].instead & 1) &&
		    !(have >> CAP_SYS_ADMIN & 1))
			*ARRAY_ADD(*notes, *nnotes) = x_strdup(features[i].line);
}

bool privileges_become(const char *user, struct err *e)
{
	const struct passwd *p = getpwnam(user);
	uint64_t caps = 0;

	if (!p)
		return err_set(e, "there is no user '%.60s'", user);
	const uint64_t have = effective();

	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		caps |= have & 1ull << kept[i];
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 || setgroups(0, NULL) != 0 ||
	    setresgid(p->pw_gid, p->pw_gid, p->pw_gid) != 0 ||
	    setresuid(p->pw_uid, p->pw_uid, p->pw_uid) != 0 || !set(caps))
		return err_set(e, "cannot become user '%.60s': %s; this needs root", user,
			       strerror(errno));
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return true;
}
