/* SPDX-License-Identifier: MIT */
/*
 * Identities of files, and how to reach a file that only its process can name: removed, in another
 * mount namespace, below another root, in a memfd. /proc/PID/map_files has what is mapped itself,
 * but needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE; /proc/PID/root needs the right to trace the
 * process, and is walked with links confined to it.
 *
 * ELF files are hostile: every read has a limit, every count too, and nothing is trusted twice.
 */
#include "collect/identity.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/util.h"
#include "util/descriptor.h"

#define SEGMENTS_MAX 128
#define NOTES_MAX    65536

/* ---- ELF ---- */

bool elf_read(int fd, uint64_t offset, void *to, size_t size_bytes)
{
	return offset <= INT64_MAX - size_bytes &&
	       descriptor_read(fd, (int64_t)offset, to, size_bytes);
}

bool elf_read_head(int fd, struct elf_head *h)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf64_Ehdr e64;
		Elf32_Ehdr e32;
	} e;

	memset(&e, 0, sizeof(e));
	if (!elf_read(fd, 0, &e, sizeof(e.e32)) || memcmp(e.ident, ELFMAG, SELFMAG) != 0 ||
	    e.ident[EI_DATA] != ELFDATA2LSB)
		return false;
	if (e.ident[EI_CLASS] == ELFCLASS32) {
		*h = (struct elf_head){ false,	       e.e32.e_type,
					e.e32.e_phnum, e.e32.e_phentsize,
					e.e32.e_shnum, e.e32.e_shentsize,
					e.e32.e_phoff, e.e32.e_shoff };
		return h->phentsize >= sizeof(Elf32_Phdr);
	}
	if (e.ident[EI_CLASS] != ELFCLASS64 || !elf_read(fd, 0, &e, sizeof(e.e64)))
		return false;
	*h = (struct elf_head){ true,	       e.e64.e_type,	  e.e64.e_phnum, e.e64.e_phentsize,
				e.e64.e_shnum, e.e64.e_shentsize, e.e64.e_phoff, e.e64.e_shoff };
	return h->phentsize >= sizeof(Elf64_Phdr);
}

bool elf_read_segment(int fd, const struct elf_head *h, unsigned i, struct elf_segment *s)
{
	if (i >= h->phnum || i >= SEGMENTS_MAX ||
	    h->phoff > INT64_MAX - (uint64_t)SEGMENTS_MAX * UINT16_MAX)
		return false;
	const uint64_t at = h->phoff + (uint64_t)i * h->phentsize;

	if (h->is64) {
		Elf64_Phdr p;

		if (!elf_read(fd, at, &p, sizeof(p)))
			return false;
		*s = (struct elf_segment){ p.p_type, p.p_flags, p.p_offset, p.p_vaddr, p.p_filesz };
		return true;
	}
	Elf32_Phdr p;

	if (!elf_read(fd, at, &p, sizeof(p)))
		return false;
	*s = (struct elf_segment){ p.p_type, p.p_flags, p.p_offset, p.p_vaddr, p.p_filesz };
	return true;
}

size_t identity_note(const uint8_t *notes, size_t size_bytes, uint8_t id[BUILD_ID_BYTES])
{
	size_t at = 0;

	while (size_bytes - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr n;

		memcpy(&n, notes + at, sizeof(n));
		at += sizeof(n);
		const uint64_t name = ((uint64_t)n.n_namesz + 3) & ~3ull,
			       content = ((uint64_t)n.n_descsz + 3) & ~3ull;

		if (name > size_bytes - at || n.n_descsz > size_bytes - at - name)
			return 0;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
		    memcmp(notes + at, "GNU", 4) == 0 && n.n_descsz &&
		    n.n_descsz <= BUILD_ID_BYTES) {
			memcpy(id, notes + at + name, n.n_descsz);
			return n.n_descsz;
		}
		if (content > size_bytes - at - name)
			return 0;
		at += name + content;
	}
	return 0;
}

size_t identity_build_id(int fd, uint8_t id[BUILD_ID_BYTES])
{
	struct elf_head h;
	struct elf_segment s;
	uint8_t *notes = NULL;
	size_t n = 0;

	if (!elf_read_head(fd, &h))
		return 0;
	for (unsigned i = 0; !n && elf_read_segment(fd, &h, i, &s); i++) {
		if (s.type != PT_NOTE || s.file_bytes > NOTES_MAX)
			continue;
		if (!notes)
			notes = x_malloc(NOTES_MAX);
		if (elf_read(fd, s.offset, notes, s.file_bytes))
			n = identity_note(notes, s.file_bytes, id);
	}
	free(notes);
	return n;
}

/* ---- Identity ---- */

bool identity_of(int fd, struct identity *id)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	*id = (struct identity){ .dev = st.st_dev,
				 .ino = st.st_ino,
				 .size_bytes = (uint64_t)st.st_size,
				 .mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u +
					     (uint64_t)st.st_mtim.tv_nsec };
	id->build_id_bytes = (uint8_t)identity_build_id(fd, id->build_id);
	return true;
}

bool identity_digest(int fd, uint64_t limit_bytes, char out[65])
{
	uint64_t a = 0x243f6a8885a308d3ull, b = 0x13198a2e03707344ull, words[512];
	uint64_t at = 0;
	ssize_t n;

	for (;;) {
		memset(words, 0, sizeof(words));
		n = pread(fd, words, sizeof(words), (off_t)at);
		if (n <= 0)
			break;
		for (size_t i = 0; i < ((size_t)n + 7) / 8; i++) {
			a = hash_u64(a ^ words[i]) + 0x9e3779b97f4a7c15ull;
			b = hash_u64(b + words[i] * 0xd1342543de82ef95ull) ^ a;
		}
		at += (uint64_t)n;
		if (at > limit_bytes)
			return false;
	}
	snprintf(out, 65, "%016llx%016llx", (unsigned long long)hash_u64(a ^ at),
		 (unsigned long long)hash_u64(b + at));
	return n == 0;
}

/* ---- Opening ---- */

int identity_open_below(int folder, const char *name, int flags, uint64_t resolve)
{
	struct open_how how = { .flags = (uint64_t)flags | O_CLOEXEC, .resolve = resolve };

	return (int)syscall(SYS_openat2, folder, name, &how, sizeof(how));
}

int identity_reopen(int path_fd)
{
	char name[32];
	struct stat st;
	int fd = -1;

	if (path_fd < 0)
		return -1;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", path_fd);
	if (fstat(path_fd, &st) == 0 && S_ISREG(st.st_mode))
		fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	close(path_fd);
	return fd;
}

int identity_open_mapped(const char *proc, int32_t pid, uint64_t start, uint64_t end)
{
	char *path = x_asprintf("%s/%d/map_files/%llx-%llx", proc, pid, (unsigned long long)start,
				(unsigned long long)end);
	const int fd = open(path, O_PATH | O_CLOEXEC);

	free(path);
	return identity_reopen(fd);
}

int identity_root(const char *proc, int32_t pid)
{
	char *path = x_asprintf("%s/%d/root", proc, pid);
	const int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	free(path);
	return fd;
}

int identity_open_inside(const char *proc, int32_t pid, const char *name)
{
	const int root = identity_root(proc, pid);

	if (root < 0)
		return -1;
	const int fd =
	    identity_open_below(root, name, O_PATH, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);

	close(root);
	return identity_reopen(fd);
}

int identity_open_here(const char *name)
{
	return name[0] == '/' ? identity_reopen(open(name, O_PATH | O_CLOEXEC)) : -1;
}

/* ---- Asking the kernel ---- */

/* As in linux/fs.h from 6.11 on. */
struct mapping_query {
	uint64_t size, flags, address;
	uint64_t start, end, rights, page_size, offset, inode;
	uint32_t major, minor, name_size, build_id_size;
	uint64_t name, build_id;
};
#define MAPPING_QUERY _IOWR('f', 17, struct mapping_query)

size_t identity_ask_kernel(const char *proc, int32_t pid, uint64_t address, uint64_t ino,
			   uint8_t id[BUILD_ID_BYTES])
{
	struct mapping_query q = { .size = sizeof(q),
				   .address = address,
				   .build_id_size = BUILD_ID_BYTES,
				   .build_id = (uintptr_t)id };
	char *path = x_asprintf("%s/%d/maps", proc, pid);
	const int fd = open(path, O_RDONLY | O_CLOEXEC);

	free(path);
	if (fd < 0)
		return 0;
	const bool good = ioctl(fd, MAPPING_QUERY, &q) == 0 && q.inode == ino;

	close(fd);
	return good && q.build_id_size <= BUILD_ID_BYTES ? q.build_id_size : 0;
}
