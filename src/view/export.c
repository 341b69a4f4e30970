/* SPDX-License-Identifier: MIT */
/* The list of exporters, and what they share. */
#include "view/export.h"

#include <string.h>

const struct exporter *const export_list[] = {
	&export_pprof,	     &export_callgrind, &export_folded, &export_speedscope,
	&export_perf_script, &export_firefox,	NULL,
};

uint64_t export_round(const struct export_profile *p, uint64_t *sum, uint64_t units)
{
	const uint64_t unit = p->options.exact ? 1 : p->scale;
	const uint64_t before = (*sum + unit / 2) / unit;

	*sum += units;
	return (*sum + unit / 2) / unit - before;
}

char *export_unit(const struct export_profile *p, char *buf, size_t size_bytes)
{
	if (p->options.exact && p->scale > 1)
		snprintf(buf, size_bytes, "1/%llu cycle", (unsigned long long)p->scale);
	else
		snprintf(buf, size_bytes, "cycles");
	return buf;
}

const char *export_state(int category)
{
	static const char *const states[] = {
		[TIME_EXECUTION] = "computing", [TIME_FRONTEND] = "drained",
		[TIME_ALU_STALL] = "stalled",	[TIME_LOAD_STALL] = "stalled",
		[TIME_STORE_STALL] = "stalled", [TIME_MISPREDICT] = "flushed",
		[TIME_MISC_FLUSH] = "flushed",	[TIME_STORES] = "drained",
		[TIME_KERNEL] = "flushed",
	};

	return category >= 0 && (size_t)category < ARRAY_LEN(states) ? states[category] : NULL;
}

const struct export_frame *export_leaf(const struct export_profile *p,
				       const struct export_sample *s)
{
	return p->places[p->contexts[s->context].place].frames;
}

void export_json_text(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
	fputc('"', out);
}
