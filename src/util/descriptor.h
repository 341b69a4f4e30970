/* SPDX-License-Identifier: MIT */
/* Reads as many bytes as were asked for, and signals as bytes. */
#ifndef UTIL_DESCRIPTOR_H
#define UTIL_DESCRIPTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DESCRIPTOR_HERE (-1) /* from where the descriptor stands */
/* Reads exactly that many bytes at an offset, or DESCRIPTOR_HERE; false if there are fewer, or at an
 * error. */
bool descriptor_read(int fd, int64_t offset, void *to, size_t size_bytes);

/* Blocks the signals and opens a descriptor that they are read from as struct signalfd_siginfo. The
 * list ends with 0. */
int descriptor_signals(const int *signals);

#endif
