/* SPDX-License-Identifier: MIT */
/* speedscope's file format (www.speedscope.app/file-format-schema.json): one sampled profile. */
#include <inttypes.h>

#include "view/export.h"

#define MARK                                                                                       \
	"{\"$schema\":\"https://www.speedscope.app/"                                               \
	"file-format-schema.json\",\"exporter\":\"culprit "

static void put_frames(FILE *out, const struct export_profile *p)
{
	const char *comma = "";

	for (size_t i = 0; i < p->nfunctions; i++, comma = ",") {
		const struct export_function *f = &p->functions[i];

		fprintf(out, "%s\n{\"name\":", comma);
		export_json_text(out, f->name);
		if (*f->file) {
			fputs(",\"file\":", out);
			export_json_text(out, f->file);
		}
		if (f->line)
			fprintf(out, ",\"line\":%d", f->line);
		fputc('}', out);
	}
}

/* Outermost first. Returns what separates the next frame from it. */
static const char *put_context(FILE *out, const struct export_profile *p, size_t context)
{
	if (context == EXPORT_NONE)
		return "";
	const struct export_place *at = &p->places[p->contexts[context].place];
	const char *comma = put_context(out, p, p->contexts[context].parent);

	for (size_t k = at->nframes; k--; comma = ",")
		fprintf(out, "%s%zu", comma, at->frames[k].function);
	return comma;
}

/* Frames for sets of events follow those of functions: frame nfunctions + set. */
static void put_event_frames(FILE *out, const struct export_profile *p)
{
	char name[128], frame[136];

	for (unsigned set = 0; set < 1u << MODEL_EVENTS; set++) {
		model_events(&p->model, set, name, sizeof(name));
		snprintf(frame, sizeof(frame), "[%s]", name);
		fprintf(out, "%s\n{\"name\":", p->nfunctions || set ? "," : "");
		export_json_text(out, frame);
		fputc('}', out);
	}
}

static bool speedscope_write(FILE *out, const struct export_profile *p)
{
	char unit[40];
	const char *comma = "";

	fputs(MARK CULPRIT_VERSION "\",\n\"name\":", out);
	export_json_text(out, path_name(p->model.program));
	fputs(",\n\"shared\":{\"frames\":[", out);
	put_frames(out, p);
	if (p->options.event_leaf)
		put_event_frames(out, p);
	fputs("]},\n\"profiles\":[{\"type\":\"sampled\",\"name\":", out);
	export_json_text(out, export_unit(p, unit, sizeof(unit)));
	fprintf(out, ",\"unit\":\"none\",\"startValue\":0,\"endValue\":%" PRIu64 ",\n\"samples\":[",
		p->time);
	for (size_t i = 0; i < p->nsamples; i++, comma = ",") {
		fprintf(out, "%s\n[", comma);
		put_context(out, p, p->samples[i].context);
		if (p->options.event_leaf)
			fprintf(out, ",%zu",
				p->nfunctions +
				    (p->samples[i].events & ((1u << MODEL_EVENTS) - 1)));
		fputc(']', out);
	}
	fputs("],\n\"weights\":[", out);
	comma = "";
	for (size_t i = 0; i < p->nsamples; i++, comma = ",")
		fprintf(out, "%s%" PRIu64, comma, p->samples[i].time);
	fputs("]}]}\n", out);
	return !ferror(out);
}

static bool is_speedscope(const uint8_t *head, size_t size, const char *path)
{
	return output_begins(head, size, MARK);
}

const struct exporter export_speedscope = {
	.name = "speedscope",
	.kind = { "a speedscope profile that culprit wrote", "-o", false, is_speedscope },
	.write = speedscope_write,
};
