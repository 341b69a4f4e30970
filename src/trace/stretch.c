/* SPDX-License-Identifier: MIT */
/*
 * One block of a trace file by itself. The codec's predictions use a few numbers of the machine;
 * these are fixed here, so that a stretch can be read without knowing the machine. Other numbers
 * would be as right, and cost other bytes.
 */
#include "trace/stretch.h"

#include <stdlib.h>

#include "trace/file_codec.h"

struct stretch_coder {
	struct codec *codec;
};

struct stretch_coder *stretch_coder_new(void)
{
	static const struct trace_meta usual = {
		.frontend_depth = 8,
		.dispatch_width = 4,
		.commit_width = 4,
		.rob_entries = 256,
	};
	struct stretch_coder *c = x_calloc(1, sizeof(*c));

	c->codec = codec_new(&usual);
	return c;
}

void stretch_coder_free(struct stretch_coder *c)
{
	if (!c)
		return;
	codec_free(c->codec);
	free(c);
}

uint8_t *stretch_pack(struct stretch_coder *c, const struct rec_inst *insts, size_t count,
		      size_t *size_bytes)
{
	struct bytes out = { 0 };

	codec_begin(c->codec);
	codec_put_insts(c->codec, insts, min_u64(count, STRETCH_RECORDS_MAX));
	codec_finish(c->codec, &out);
	*size_bytes = out.size;
	return out.data;
}

struct rec_inst *stretch_unpack(struct stretch_coder *c, const uint8_t *bytes, size_t size,
				size_t count)
{
	if (!count || count > STRETCH_RECORDS_MAX)
		return NULL;
	struct rec_inst *insts = x_calloc(count, sizeof(*insts));

	if (codec_decode(c->codec, bytes, size, insts, count, NULL, 0))
		return insts;
	free(insts);
	return NULL;
}
