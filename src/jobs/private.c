/* SPDX-License-Identifier: MIT */
/*
 * A mount namespace of the process' own, a tmpfs in it, and on every folder an overlay whose upper
 * layer lies there. As root, or in a user namespace in which the user is who he was. A folder with
 * something mounted below it stays as it is: an overlay would hide that.
 */
#include "jobs/private.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/util.h"

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

static bool new_namespace(void)
{
	char user[48], group[48];

	snprintf(user, sizeof(user), "%u %u 1", (unsigned)geteuid(), (unsigned)geteuid());
	snprintf(group, sizeof(group), "%u %u 1", (unsigned)getegid(), (unsigned)getegid());
	if (unshare(CLONE_NEWNS)) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
			return false;
		write_file("/proc/self/setgroups", "deny");
		if (!write_file("/proc/self/uid_map", user) ||
		    !write_file("/proc/self/gid_map", group))
			return false;
	}
	return !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

static bool has_mounts(const char *folder)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[4096], at[4096];
	bool found = !f;

	while (!found && fgets(line, sizeof(line), f)) {
		bool known = sscanf(line, "%*s %*s %*s %*s %4095s", at) == 1;
		const char *rest = known ? path_below(at, folder) : NULL;

		found = !known || (rest && *rest);
	}
	if (f)
		fclose(f);
	return found;
}

/* The overlay's root; -1: the folder is as it was. */
static int cover(const char *folder, const char *scratch, unsigned number)
{
	char upper[PATH_MAX], work[PATH_MAX], options[3 * PATH_MAX + 64];
	struct statfs fs;
	int fd;

	/* these separate options; and all below the root is too much */
	if (strpbrk(folder, ",:\\") || strpbrk(scratch, ",:\\") || !strcmp(folder, "/") ||
	    has_mounts(folder))
		return -1;
	snprintf(upper, sizeof(upper), "%s/%u", scratch, 2 * number);
	snprintf(work, sizeof(work), "%s/%u", scratch, 2 * number + 1);
	if (mkdir(upper, 0777) || mkdir(work, 0777))
		return -1;
	snprintf(options, sizeof(options), "lowerdir=%s,upperdir=%s,workdir=%s", folder, upper,
		 work);
	if (mount("overlay", folder, "overlay", 0, options)) {
		strcat(options, ",userxattr");
		if (mount("overlay", folder, "overlay", 0, options))
			return -1;
	}
	fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && (fstatfs(fd, &fs) || fs.f_type != OVERLAYFS_SUPER_MAGIC)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Never leaves the overlay, whatever the path says. */
static void take_away(int root, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				.resolve =
				    RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV };
	const char *name = strrchr(path, '/');
	char folder[PATH_MAX] = ".";
	int fd;

	if (name)
		snprintf(folder, sizeof(folder), "%.*s", (int)(name - path), path);
	fd = (int)syscall(SYS_openat2, root, folder, &how, sizeof(how));
	if (fd < 0)
		return;
	name = name ? name + 1 : path;
	if (unlinkat(fd, name, 0))
		unlinkat(fd, name, AT_REMOVEDIR);
	close(fd);
}

void private_folders(char *const *folders, char *const *absent, const char *scratch)
{
	size_t count = 0;
	char mode[] = "mode=0700";

	if (!folders || !*folders || !new_namespace() ||
	    mount("tmpfs", scratch, "tmpfs", MS_NOSUID | MS_NODEV, mode))
		return;
	while (absent && absent[count])
		count++;
	for (unsigned i = 0; folders[i]; i++) {
		int root = cover(folders[i], scratch, i);

		/* the last first: folders come before what is in them */
		for (size_t k = count; root >= 0 && k-- > 0;) {
			const char *rest = path_below(absent[k], folders[i]);

			if (rest && *rest)
				take_away(root, rest);
		}
		if (root >= 0)
			close(root);
	}
}
