/* SPDX-License-Identifier: MIT */
/* What a file says of itself in its headers: which build it is, and what lies where. */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <elfutils/libdwelf.h>

#include "image/image_int.h"

#define SEGMENTS_LOOKED_AT 65536

static void read_segments(Elf *elf, struct image_probe *out)
{
	size_t n;

	if (elf_getphdrnum(elf, &n))
		return;
	for (size_t i = 0; i < n && i < SEGMENTS_LOOKED_AT; i++) {
		GElf_Phdr ph;

		if (out->nsegments == IMAGE_SEGMENTS_MAX || !gelf_getphdr(elf, (int)i, &ph) ||
		    ph.p_type != PT_LOAD || ph.p_vaddr + ph.p_memsz < ph.p_vaddr ||
		    ph.p_offset + ph.p_filesz < ph.p_offset)
			continue;
		out->segment[out->nsegments++] =
		    (struct image_segment){ ph.p_offset, ph.p_vaddr, ph.p_filesz, ph.p_memsz,
					    (ph.p_flags & PF_X) != 0 };
	}
}

static bool read_headers(int fd, struct image_probe *out)
{
	image_guard();
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	const void *bits;
	const bool ok = elf && elf_kind(elf) == ELF_K_ELF;

	if (ok) {
		const ssize_t n = dwelf_elf_gnu_build_id(elf, &bits);

		for (ssize_t i = 0; i < n && 2 * i + 2 < (ssize_t)sizeof(out->build_id); i++)
			snprintf(out->build_id + 2 * i, 3, "%02x", ((const uint8_t *)bits)[i]);
		read_segments(elf, out);
	}
	elf_end(elf);
	return ok && out->nsegments;
}

bool image_probe(const char *path, struct image_probe *out, struct err *e)
{
	struct stat st;
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	*out = (struct image_probe){ .nsegments = 0 };
	if (fd < 0)
		return err_set(e, "cannot read %s: %s", path, strerror(errno));
	const bool ok = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && read_headers(fd, out);

	close(fd);
	if (!ok)
		return err_set(e, "%s is not an ELF program or library", path);
	out->size_bytes = (uint64_t)st.st_size;
	out->mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	return true;
}

bool image_probe_address(const struct image_probe *p, uint64_t offset, uint64_t *address)
{
	/* Segments share pages of the file at their ends: code is looked for first. */
	for (int code = 1; code >= 0; code--)
		for (size_t i = 0; i < p->nsegments; i++) {
			const struct image_segment *s = &p->segment[i];

			if (s->executable == code && offset >= s->offset &&
			    offset - s->offset < s->file_bytes) {
				*address = s->address + (offset - s->offset);
				return true;
			}
		}
	return false;
}
