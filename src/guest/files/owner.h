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
/* By the mode bits of the owner; want is of R_OK, W_OK and X_OK. */
bool owner_may(const struct guest *g, const struct stat *st, int want);
/* 0 or -errno of a change of owner: only to what it is. st as the guest sees it. */
int owner_change(const struct stat *st, uint32_t uid, uint32_t gid);
/* Without what makes a program run as its owner, who may be root. */
mode_t owner_mode(mode_t mode);

#endif
