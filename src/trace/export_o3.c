/* SPDX-License-Identifier: MIT */
/*
 * Writes gem5's O3PipeView text. Stages that the record does not have are 0, as in gem5. The
 * machine has no rename stage of its own, so rename and dispatch are the same cycle.
 */
#include <inttypes.h>

#include "isa/isa.h"
#include "trace/export.h"
#include "util/output.h"

static uint64_t tick(const struct rec_inst *r, uint32_t stamp, uint64_t ticks)
{
	return stamp == STAMP_NONE ? 0 : (r->fetch + stamp) * ticks;
}

bool export_o3pipeview(FILE *out, const struct trace_info *info, const struct window_records *w,
		       uint64_t ticks)
{
	for (size_t i = 0; i < w->ninsts; i++) {
		const struct rec_inst *r = &w->insts[i];
		struct inst in = isa_decode(r->word);
		bool committed = r->flags & RI_COMMITTED;
		uint64_t retire = committed ? tick(r, r->commit, ticks) : 0;
		char text[96];
		snprintf(text, sizeof(text), "%s",
			 r->cls < CLASS_COUNT ? op_class_name[r->cls] : "?");
		if (r->word)
			isa_disasm(&in, r->pc, DISASM_RAW, text, sizeof(text));
		for (char *p = text; *p; p++)
			*p = *p == '\t' ? ' ' : *p;
		fprintf(out, "O3PipeView:fetch:%" PRIu64 ":0x%08" PRIx64 ":0:%" PRIu64 ":%s\n",
			tick(r, 0, ticks), r->pc, r->seq, text);
		fprintf(out, "O3PipeView:decode:%" PRIu64 "\n", tick(r, r->decode, ticks));
		fprintf(out, "O3PipeView:rename:%" PRIu64 "\n", tick(r, r->dispatch, ticks));
		fprintf(out, "O3PipeView:dispatch:%" PRIu64 "\n", tick(r, r->dispatch, ticks));
		fprintf(out, "O3PipeView:issue:%" PRIu64 "\n", tick(r, r->issue, ticks));
		fprintf(out, "O3PipeView:complete:%" PRIu64 "\n", tick(r, r->complete, ticks));
		fprintf(out, "O3PipeView:retire:%" PRIu64 ":store:%" PRIu64 "\n", retire,
			committed && r->flags & RI_STORE ? retire : 0);
	}
	return !ferror(out);
}

bool export_is_o3pipeview(const uint8_t *head, size_t size, const char *path)
{
	return output_begins(head, size, "O3PipeView:fetch:");
}
