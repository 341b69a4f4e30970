/* SPDX-License-Identifier: MIT */
/* Files that are made up: /proc, /sys, /dev and a few in /etc and /home. */
#ifndef GUEST_FILES_NODES_H
#define GUEST_FILES_NODES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "guest/files/fd.h"
#include "guest/files/path.h"

#define NODE_PATH_BYTES 128
/* The node of an absolute path in normal form; false: there is none. */
bool node_find(struct guest *g, const char *path, struct node *n);
int node_child(struct guest *g, const struct node *dir, const char *name, struct node *child);
/* The guest's node for a device of the host's. */
bool node_of_device(struct guest *g, uint64_t rdev, struct node *n);
/* The guest's number of the pseudoterminal that a descriptor is an end of; -1. */
int node_terminal(struct guest *g, const struct fd_entry *f);
void node_path(const struct node *n, char path[NODE_PATH_BYTES]);
mode_t node_mode(const struct node *n);
/* A symbolic link that leads to a file whatever its text says: exe, cwd, root, fd/N. */
bool node_is_magic(const struct node *n);
/* /dev/shm, which stands for the host's. */
bool node_is_shm(const struct node *n);
int node_readlink(struct guest *g, const struct node *n, char text[PATH_BYTES]);
void node_stat(struct guest *g, const struct node *n, struct stat *st);
struct statfs;
void node_statfs(const struct node *n, struct statfs *s);
int node_open(struct guest *g, const struct node *n, int flags, enum fd_kind *kind);
int64_t node_list(struct guest *g, struct fd_entry *f, uint64_t addr, uint64_t size_bytes);
/* The name of a node's row, the same in every version, and back; 0: there is none. */
const char *node_row_name(uint16_t row);
uint16_t node_row_find(const char *name);
#define NODE_ROWS_END "end" /* behind the last row */
/* The guest has closed its last descriptor of it. */
void node_closed(struct guest *g, const struct fd_entry *f);

#endif
