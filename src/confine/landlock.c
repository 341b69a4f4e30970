/* SPDX-License-Identifier: MIT */
/*
 * Landlock: which files this process and its children may open, and how; that they execute nothing;
 * and that neither signals nor connections to abstract sockets leave them.
 *
 * The kernel's header may be older than the kernel: so the parts of the interface that are used are
 * defined here.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confine/confine_int.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule	    445
#define SYS_landlock_restrict_self  446
#endif

#define CREATE_VERSION	    1
#define RULE_PATH_BENEATH   1
#define SCOPE_ABSTRACT_UNIX (1ull << 0)
#define SCOPE_SIGNAL	    (1ull << 1)

enum access {
	MAY_EXECUTE = 1 << 0,
	MAY_WRITE_FILE = 1 << 1,
	MAY_READ_FILE = 1 << 2,
	MAY_READ_DIR = 1 << 3,
	MAY_CHANGE_NAMES = 0x1ff << 4, /* removing and making files of every kind */
	MAY_REFER = 1 << 13,	       /* version 2 */
	MAY_TRUNCATE = 1 << 14,	       /* version 3 */
	MAY_IOCTL_DEV = 1 << 15,       /* version 5 */
};
#define MAY_READ  (MAY_READ_FILE | MAY_READ_DIR)
#define MAY_WRITE (MAY_READ | MAY_WRITE_FILE | MAY_CHANGE_NAMES | MAY_REFER | MAY_TRUNCATE)
#define FOR_FILES (MAY_WRITE_FILE | MAY_READ_FILE | MAY_TRUNCATE | MAY_IOCTL_DEV)

struct ruleset_attr {
	uint64_t handled_fs, handled_net, scoped;
};

struct path_beneath {
	uint64_t allowed;
	int32_t parent;
} __attribute__((packed));

/* Version of Landlock's interface, 0 if there is none. */
static int landlock_version(void)
{
	long v = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);

	return v > 0 ? (int)v : 0;
}

static uint64_t known_to(int version)
{
	uint64_t all = MAY_EXECUTE | MAY_WRITE_FILE | MAY_READ | MAY_CHANGE_NAMES;

	return all | (version >= 2 ? MAY_REFER : 0) | (version >= 3 ? MAY_TRUNCATE : 0) |
	       (version >= 5 ? MAY_IOCTL_DEV : 0);
}

static void allow(int ruleset, const char *path, uint64_t access)
{
	struct path_beneath rule = { .parent = open(path, O_PATH | O_CLOEXEC) };
	struct stat st;

	if (rule.parent < 0)
		return;
	if (!fstat(rule.parent, &st)) {
		rule.allowed = S_ISDIR(st.st_mode) ? access : access & FOR_FILES;
		syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0);
	}
	close(rule.parent);
}

static void allow_all(int ruleset, char *const *paths, uint64_t access)
{
	for (; paths && *paths; paths++)
		allow(ruleset, *paths, access);
}

int landlock_apply(const struct confine_plan *plan, bool scratch, const bool *covered)
{
	int version = landlock_version(), ruleset;
	/* Moving files between folders is refused unless it is handled and allowed. */
	uint64_t known = plan ? known_to(version) : MAY_EXECUTE | MAY_REFER;
	struct ruleset_attr attr = { .handled_fs = known };
	bool ok;

	if (!version || (!plan && version < 2))
		return 0;
	if (version >= 6)
		attr.scoped = SCOPE_SIGNAL | (plan && !plan->net ? SCOPE_ABSTRACT_UNIX : 0);
	/* older kernels take a shorter struct */
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr,
			       version >= 6   ? sizeof(attr)
			       : version >= 4 ? 2 * sizeof(uint64_t)
					      : sizeof(uint64_t),
			       0);
	if (ruleset < 0)
		return 0;
	if (plan) {
		static char *const devices[] = { "/dev/null",	"/dev/zero",	"/dev/full",
						 "/dev/random", "/dev/urandom", "/dev/tty",
						 "/dev/ptmx",	"/dev/pts",	NULL };
		static char *const shared[] = { "/dev/shm", NULL };

		allow(ruleset, "/proc", known & MAY_READ);
		allow_all(ruleset, devices,
			  known & (MAY_READ | MAY_WRITE_FILE | MAY_TRUNCATE | MAY_IOCTL_DEV));
		allow_all(ruleset, plan->read, known & MAY_READ);
		allow_all(ruleset, plan->write, known & MAY_WRITE);
		if (scratch) {
			allow_all(ruleset, shared, known & MAY_WRITE);
			allow_all(ruleset, plan->scratch, known & MAY_WRITE);
		}
		for (size_t i = 0; plan->overlay && plan->overlay[i]; i++)
			allow(ruleset, plan->overlay[i],
			      known & (scratch && covered[i] ? MAY_WRITE : MAY_READ));
	}
	if (!plan)
		allow(ruleset, "/", MAY_REFER);
	ok = !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	     !syscall(SYS_landlock_restrict_self, ruleset, 0);
	close(ruleset);
	return ok ? version : 0;
}
