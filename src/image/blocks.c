/* SPDX-License-Identifier: MIT */
/*
 * Instructions, and basic blocks of a function, from its code. A linear walk decodes every
 * instruction; compilers put no data between the instructions of a function, so that the walk stays
 * in step. Targets of
 * indirect jumps (switch tables) are not known: such a target that nothing else jumps to stays
 * inside the block before it, unless it follows a control transfer, as compilers place it. Every profile
 * counts its blocks so, also one without graphs (cfg.h), and errors by block stay comparable.
 */
#include <stdlib.h>
#include <string.h>

#include "image/image_int.h"
#include "util/array.h"

bool images_word(struct images *s, uint64_t pc, uint32_t *word)
{
	size_t left = 0;
	struct image *im = image_at(s, pc);
	const uint8_t *code = im ? image_code(im, pc, &left) : NULL;
	if (!code || left < 2)
		return false;
	*word = 0;
	memcpy(word, code, left < 4 ? 2 : 4);
	return true;
}

/* The code at pc and its image; NULL: none. */
static const uint8_t *code_of(struct images *s, uint64_t pc, size_t *left, struct image **im)
{
	*im = image_at(s, pc);
	return *im && (*im)->arch ? image_code(*im, pc, left) : NULL;
}

const uint8_t *images_code(struct images *s, uint64_t pc, size_t size_bytes, unsigned *machine)
{
	struct image *im;
	size_t left = 0;
	const uint8_t *code = code_of(s, pc, &left, &im);

	if (!code || left < size_bytes)
		return NULL;
	*machine = im->arch->machine;
	return code;
}

bool images_inst(struct images *s, uint64_t pc, struct image_inst *out)
{
	struct image *im;
	size_t left = 0;
	const uint8_t *code = code_of(s, pc, &left, &im);
	return code && im->arch->decode(code, left, pc, out);
}

void images_disasm(struct images *s, uint64_t pc, char *buf, size_t size_bytes)
{
	struct image *im;
	struct image_inst in;
	size_t left = 0;
	const uint8_t *code = code_of(s, pc, &left, &im);
	buf[0] = '\0';
	if (code && im->arch->decode(code, left, pc, &in))
		im->arch->disasm(code, left, s->own_addresses ? pc - im->bias : pc, buf,
				 size_bytes);
}

static int by_address(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

size_t images_blocks(struct images *s, uint64_t pc, const uint64_t **starts)
{
	struct image *im = image_at(s, pc);
	const struct function_range *f = im ? image_function(im, pc) : NULL;
	if (!f || f->end - f->start > IMAGE_BLOCKS_BYTES)
		return 0;
	*starts = s->block_starts;
	if (f->start == s->blocks_of)
		return s->nblocks;
	s->blocks_of = f->start;
	s->nblocks = 0;
	*ARRAY_ADD(s->block_starts, s->nblocks) = f->start;
	struct image_inst in;
	for (uint64_t at = f->start; at < f->end && images_inst(s, at, &in);) {
		uint64_t next = at + in.size_bytes;
		if (in.flow != IMAGE_NEXT) {
			if (next < f->end)
				*ARRAY_ADD(s->block_starts, s->nblocks) = next;
			if (in.direct && in.target >= f->start && in.target < f->end)
				*ARRAY_ADD(s->block_starts, s->nblocks) = in.target;
		}
		at = next;
	}
	if (s->nblocks)
		qsort(s->block_starts, s->nblocks, sizeof(*s->block_starts), by_address);
	size_t kept = 0;
	for (size_t i = 0; i < s->nblocks; i++)
		if (!kept || s->block_starts[kept - 1] != s->block_starts[i])
			s->block_starts[kept++] = s->block_starts[i];
	s->nblocks = kept;
	*starts = s->block_starts;
	return kept;
}
