/* SPDX-License-Identifier: MIT */
/* The compiled sampling program, as a part of this one; made by embed_bpf.py. */
#ifndef COLLECT_SAMPLE_OBJECT_H
#define COLLECT_SAMPLE_OBJECT_H

#include <stddef.h>

extern const unsigned char sample_object[];
extern const size_t sample_object_bytes;

#endif
