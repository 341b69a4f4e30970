/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes what names an address of a live profile: any file as an x86 program (headers, symbols,
 * unwind tables, DWARF, code), and, if the input begins with a T, any content of a kept function
 * table, that of this program itself.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/image.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

static char folder[] = "/tmp/culprit-fuzz-image.XXXXXX";
static char program[64], cache[64], table[160];

static void leave(void)
{
	unlink(program);
	unlink(table);
	rmdir(cache);
	rmdir(folder);
}

static void put(const char *path, const uint8_t *data, size_t size_bytes)
{
	FILE *f = fopen(path, "wb");

	if (!f || fwrite(data, 1, size_bytes, f) != size_bytes || fclose(f) != 0)
		die("cannot write %s", path);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	if (!mkdtemp(folder))
		die("%s: cannot be used", folder);
	snprintf(program, sizeof(program), "%s/program", folder);
	snprintf(cache, sizeof(cache), "%s/cache", folder);
	mkdir(cache, 0700);
	atexit(leave);
	return 0;
}

/* Asks for everything at addresses of the image, and in the gaps of it. */
static void look(struct images *set, const struct image_info *im)
{
	const uint64_t step = (im->end - im->start) / 40 + 1;
	uint64_t pc = im->start;

	for (int i = 0; i < 48 && pc < im->end; i++, pc += i < 8 ? 1 : step) {
		const struct place p = images_place(set, pc);
		struct inline_frame frames[4];
		struct image_inst in;
		const uint64_t *starts;
		const char *file;
		char text[96];
		int line;

		assert(strlen(p.function) < 8192);
		assert(p.image == SIZE_MAX || p.start == p.end || (p.start <= pc && pc < p.end));
		images_disasm(set, pc, text, sizeof(text));
		if (images_inst(set, pc, &in))
			assert(in.size_bytes >= 1 && in.size_bytes <= 15 && text[0]);
		images_blocks(set, pc, &starts);
		images_declared(set, pc, &file, &line);
		images_inlined(set, pc, frames, 4);
	}
}

static void open_and_look(const char *path)
{
	struct images *set = images_new("/nonexistent");
	struct err e = { "" };

	images_set_cache(set, cache);
	images_show_own_addresses(set);
	if (images_add(set, path, "program", (uint64_t)1 << 40, &e)) {
		const struct image_info im = images_info(set, 0);

		look(set, &im);
	} else {
		assert(e.text[0] && !strchr(e.text, '\n'));
	}
	images_free(set);
}

/* A table whose header is right for this very program, so that its entries are looked at. */
static void try_table(const uint8_t *data, size_t size_bytes)
{
	struct image_probe self;
	struct {
		char magic[8];
		uint64_t file_bytes, debug, count, names_bytes;
	} h = { .magic = "culpsym2" };

	if (size_bytes < 26 || !image_probe("/proc/self/exe", &self, NULL) || !self.build_id[0])
		return;
	h.file_bytes = self.size_bytes;
	h.count = data[0] % (size_bytes / 24) + 1;
	if (h.count * 24 >= size_bytes)
		return;
	h.names_bytes = size_bytes - h.count * 24;
	uint8_t *all = x_malloc(sizeof(h) + size_bytes);

	memcpy(all, &h, sizeof(h));
	memcpy(all + sizeof(h), data, size_bytes);
	snprintf(table, sizeof(table), "%s/%s", cache, self.build_id);
	put(table, all, sizeof(h) + size_bytes);
	free(all);
	open_and_look("/proc/self/exe");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	struct image_probe probe;
	uint64_t address;

	if (size_bytes < 2)
		return 0;
	if (data[0] == 'T') {
		try_table(data + 1, size_bytes - 1);
		return 0;
	}
	put(program, data, size_bytes);
	if (image_probe(program, &probe, NULL))
		image_probe_address(&probe, size_bytes / 2, &address);
	open_and_look(program);
	return 0;
}
