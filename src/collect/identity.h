/* SPDX-License-Identifier: MIT */
/*
 * What a file is: its build-id, or else device, inode, size and mtime. Files are opened as their
 * process sees them, while it lives; only headers and notes are read.
 */
#ifndef COLLECT_IDENTITY_H
#define COLLECT_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BUILD_ID_BYTES 20 /* longer ones are none, as in the kernel's side-band */

/* The GNU build-id of an ELF file; 0 bytes if it has none, or is not ELF. */
size_t identity_build_id(int fd, uint8_t id[BUILD_ID_BYTES]);
/* The same in notes as they lie in memory or in /sys/kernel/notes. */
size_t identity_note(const uint8_t *notes, size_t size_bytes, uint8_t id[BUILD_ID_BYTES]);

/* The part of an ELF file's headers that readers here need. */
struct elf_head {
	bool is64;
	uint16_t type, phnum, phentsize, shnum, shentsize;
	uint64_t phoff, shoff;
};
struct elf_segment {
	uint32_t type, flags;
	uint64_t offset, address, file_bytes;
};
bool elf_read_head(int fd, struct elf_head *h);
bool elf_read_segment(int fd, const struct elf_head *h, unsigned i, struct elf_segment *s);
/* Reads all of it or nothing. */
bool elf_read(int fd, uint64_t offset, void *to, size_t size_bytes);

struct identity {
	uint64_t dev, ino, size_bytes, mtime_ns;
	uint8_t build_id[BUILD_ID_BYTES];
	uint8_t build_id_bytes;
};
/* Of a descriptor for reading. False: it is not a regular file. */
bool identity_of(int fd, struct identity *id);
/* 128 bits of the content of a file that nothing else tells apart, in hex; false if it has more than
 * limit_bytes. */
bool identity_digest(int fd, uint64_t limit_bytes, char out[65]);

/*
 * Opens a regular file for reading; -1 if it is anything else or cannot be reached. Opening has no
 * effect on devices and does not wait for pipes.
 *	mapped: what a process has mapped there, whatever its name is now
 *	inside: by its name below the process' root folder, which no link leaves
 *	here: by its name on this host
 */
int identity_open_mapped(const char *proc, int32_t pid, uint64_t start, uint64_t end);
int identity_open_inside(const char *proc, int32_t pid, const char *name);
int identity_open_here(const char *name);
/* The build-id of what a process has mapped at an address, as the kernel reads it (6.11 and later): for
 * files that cannot be opened. 0 bytes: none, or another file than that inode. */
size_t identity_ask_kernel(const char *proc, int32_t pid, uint64_t address, uint64_t ino,
			   uint8_t id[BUILD_ID_BYTES]);
/* A folder's descriptor, below the root of a process; flags as in openat2's resolve. */
int identity_open_below(int folder, const char *name, int flags, uint64_t resolve);
/* Makes a descriptor for reading of one that was opened by O_PATH, which is closed. */
int identity_reopen(int path_fd);
/* The root folder of a process, by O_PATH. */
int identity_root(const char *proc, int32_t pid);

#endif
