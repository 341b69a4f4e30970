/* SPDX-License-Identifier: MIT */
/* Whose a file is, as the guest sees it. */
#ifndef GUEST_FILES_OWNER_H
#define GUEST_FILES_OWNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct guest;
struct path_world;

void owner_init(struct path_world *w);
uint32_t owner_uid(const struct guest *g, uint32_t host);
uint32_t owner_gid(const struct guest *g, uint32_t host);
/* From the host's struct stat to the guest's. */
void owner_show(struct guest *g, struct stat *st);
/* Whether the owner's mode bits allow it; want is of R_OK, W_OK and X_OK. */
bool owner_may(const struct guest *g, const struct stat *st, int want);
/* Whether the guest may give the file that owner: 0, or -EPERM. Only the guest user's own files,
 * and only to itself. st as the guest sees it. */
int owner_change(const struct stat *st, uint32_t uid, uint32_t gid);
/* The mode without set-user-ID and set-group-ID, which would make a program run as its owner. */
mode_t owner_mode(mode_t mode);

#endif
