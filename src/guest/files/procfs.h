/* SPDX-License-Identifier: MIT */
/* The content of the files in /proc. */
#ifndef GUEST_FILES_PROCFS_H
#define GUEST_FILES_PROCFS_H

#include <stdio.h>

struct guest;
struct node;

#define PROC_TEXT(name) void proc_##name(struct guest *g, const struct node *n, FILE *out);
PROC_TEXT(maps)
PROC_TEXT(smaps)
PROC_TEXT(smaps_rollup)
PROC_TEXT(auxv)
PROC_TEXT(stat)
PROC_TEXT(status)
PROC_TEXT(statm)
PROC_TEXT(cmdline)
PROC_TEXT(environ)
PROC_TEXT(comm)
PROC_TEXT(limits)
PROC_TEXT(io)
PROC_TEXT(mounts)
PROC_TEXT(mountinfo)
PROC_TEXT(schedstat)
PROC_TEXT(fdinfo)
PROC_TEXT(uptime)
PROC_TEXT(loadavg)
PROC_TEXT(cpu_stat)
PROC_TEXT(boot_id)
PROC_TEXT(uuid)
#undef PROC_TEXT
/* Updates what other processes read about this one; due after fork, exec and a change of name. */
void proc_note(struct guest *g);

#endif
