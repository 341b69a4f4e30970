/* SPDX-License-Identifier: MIT */
/* The compiled running.bpf.c. */
#ifndef COLLECT_RUNNING_OBJECT_H
#define COLLECT_RUNNING_OBJECT_H

#include <stddef.h>

extern const unsigned char running_object[];
extern const size_t running_object_bytes;

#endif
