/* SPDX-License-Identifier: MIT */
/*
 * Whose a file is, as the guest sees it.
 *
 * The guest is an ordinary user, number 1000. What belongs on the host to the user who runs this
 * program, or to root, is the guest user's; everything else is nobody's. The picture is the same
 * whether this program runs as root or not: where the host would let root pass over mode bits, the
 * bits of the owner decide instead. A change of owner succeeds where it changes nothing, and is
 * never made on the host. Bits that would make a program run as its owner are never set.
 *
 * Files of third users, as root: the guest may use them as root may, within the bits of their
 * owner. An ordinary user's run is refused by the host there.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest/files/fd.h"
#include "guest/files/nodes.h"
#include "guest/files/owner.h"
#include "guest/files/path.h"
#include "guest/process/process.h"

#define NOBODY 65534

/* In a user namespace that does not map the number of nobody, files that seem to be nobody's belong
 * to unmapped users, root among them. */
static bool root_unmapped(void)
{
	FILE *f = fopen("/proc/self/uid_map", "re");
	unsigned long first, count;
	bool known = !f;

	while (!known && fscanf(f, "%lu %*u %lu", &first, &count) == 2)
		known = first <= NOBODY && NOBODY - first < count;
	if (f)
		fclose(f);
	return !known;
}

void owner_init(struct path_world *w)
{
	w->uid = geteuid();
	w->gid = getegid();
	w->super = w->uid == 0;
	w->root_unmapped = root_unmapped();
}

static uint32_t shown(const struct path_world *w, uint32_t host, uint32_t own)
{
	return host == own || host == 0 || (w->root_unmapped && host == NOBODY) ? GUEST_UID
										: NOBODY;
}

uint32_t owner_uid(const struct guest *g, uint32_t host)
{
	return shown(&g->world, host, g->world.uid);
}

uint32_t owner_gid(const struct guest *g, uint32_t host)
{
	return shown(&g->world, host, g->world.gid);
}

void owner_show(struct guest *g, struct stat *st)
{
	struct node n;

	/* A device must look the same by name and by descriptor: ttyname compares the two. */
	if (S_ISCHR(st->st_mode) && node_of_device(g, st->st_rdev, &n)) {
		node_stat(g, &n, st);
		return;
	}
	view_show(g, st);
	st->st_uid = owner_uid(g, st->st_uid);
	st->st_gid = owner_gid(g, st->st_gid);
}

bool owner_may(const struct guest *g, const struct stat *st, int want)
{
	int bits = (int)(st->st_mode >> 6) & 7;

	(void)g;
	_Static_assert(R_OK == 4 && W_OK == 2 && X_OK == 1, "as in a mode");
	return S_ISLNK(st->st_mode) || (want & bits) == want;
}

int owner_change(const struct stat *st, uint32_t uid, uint32_t gid)
{
	if ((uid != GUEST_UID && uid != UINT32_MAX) || (gid != GUEST_UID && gid != UINT32_MAX))
		return -EPERM;
	/* Leaving both as they are is allowed, whoever owns the file. */
	if (uid == UINT32_MAX && gid == UINT32_MAX)
		return 0;
	return st->st_uid == GUEST_UID ? 0 : -EPERM;
}

mode_t owner_mode(mode_t mode)
{
	return mode & ~(mode_t)(S_ISUID | S_ISGID);
}
