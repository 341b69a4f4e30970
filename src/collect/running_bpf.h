/* SPDX-License-Identifier: MIT */
/* The mappings of all processes by the BPF iterator over tasks' mappings. */
#ifndef COLLECT_RUNNING_BPF_H
#define COLLECT_RUNNING_BPF_H

#include <stdbool.h>

struct maps;

/* False: this build, kernel or user cannot; nothing was changed. */
bool running_bpf_read(struct maps *m);

#endif
