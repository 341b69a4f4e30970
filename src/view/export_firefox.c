/* SPDX-License-Identifier: MIT */
/*
 * The Firefox Profiler's processed format, version 48 (its docs-developer/CHANGELOG-formats.md; later
 * versions read it). One thread has the samples: a sample's weight is its time, its category the set
 * of events, its subcategory the time category. Profiles have no order in time, so the samples'
 * stamps only add up their cycles: the call tree and the flame graph mean something, the order along
 * the time axis does not. The counters do follow the run: instructions and the CPI stack's components
 * by phase, in cycles, so that the counts of any stretch add up.
 *
 * Tables are columns; each is written in a pass of its own over the profile, so that nothing is kept.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/export.h"

#define MARK "{\"meta\":{\"importedFrom\":\"culprit"

#define SETS (1u << MODEL_EVENTS)

/* Row 0 of the categories is for callers; then come the sets of events that samples have. */
struct writer {
	FILE *out;
	const struct export_profile *p;
	unsigned category[SETS];
	unsigned set[SETS], nsets; /* of category k + 1 */
	size_t *stacks;		   /* the last stack of each context that calls others */
	size_t ncallers;	   /* contexts in front of the first one that samples alone have */
	size_t *image;		   /* of each function; EXPORT_NONE: none */
};

static unsigned set_of(const struct export_sample *s)
{
	return s->events & (SETS - 1);
}

static void number_sets(struct writer *w)
{
	for (size_t i = 0; i < w->p->nsamples; i++) {
		const unsigned set = set_of(&w->p->samples[i]);

		if (!w->category[set]) {
			w->set[w->nsets++] = set;
			w->category[set] = w->nsets;
		}
	}
}

static void prepare(struct writer *w)
{
	const struct export_profile *p = w->p;
	size_t nstacks = 0;

	number_sets(w);
	w->image = x_calloc(p->nfunctions + 1, sizeof(*w->image));
	w->stacks = x_calloc(p->ncontexts + 1, sizeof(*w->stacks));
	for (size_t i = 0; i < p->nfunctions; i++)
		w->image[i] = EXPORT_NONE;
	for (size_t i = 0; i < p->nplaces; i++)
		for (size_t k = 0; k < p->places[i].nframes; k++)
			w->image[p->places[i].frames[k].function] = p->places[i].image;
	for (size_t i = 0; i < p->ncontexts; i++)
		if (p->contexts[i].parent != EXPORT_NONE && p->contexts[i].parent >= w->ncallers)
			w->ncallers = p->contexts[i].parent + 1;
	for (size_t i = 0; i < w->ncallers; i++) {
		nstacks += p->places[p->contexts[i].place].nframes;
		w->stacks[i] = nstacks - 1;
	}
}

static double milliseconds(const struct export_profile *p, double cycles)
{
	return cycles / (p->model.clock_hz > 0 ? p->model.clock_hz : 1e9) * 1e3;
}

static void text_or_null(FILE *out, bool known, size_t number)
{
	if (known)
		fprintf(out, "%zu", number);
	else
		fputs("null", out);
}

/* A row of the stack table, which has a row of the frame table to itself: frames have categories. */
struct row {
	size_t number, prefix; /* prefix: EXPORT_NONE: none */
	const struct export_place *place;
	size_t depth; /* of the frame at the place; 0: the outermost */
	unsigned category, subcategory;
};

enum column {
	COLUMN_NUMBER,
	COLUMN_PREFIX,
	COLUMN_CATEGORY,
	COLUMN_SUBCATEGORY,
	COLUMN_ADDRESS,
	COLUMN_DEPTH,
	COLUMN_FUNCTION,
	COLUMN_LINE,
};

/* Numbers from 2^53 on are not exact there: such an address is not known. */
static void put_address(const struct writer *w, const struct export_place *at)
{
	const uint64_t bias = at->image == EXPORT_NONE ? 0 : w->p->images[at->image].bias;

	if ((at->pc - bias) >> 53)
		fputs("-1", w->out);
	else
		fprintf(w->out, "%" PRIu64, at->pc - bias);
}

static void put_row(const struct writer *w, const struct row *r, enum column column)
{
	const struct export_frame *f = &r->place->frames[r->place->nframes - 1 - r->depth];

	if (r->number)
		fputc(',', w->out);
	switch (column) {
	case COLUMN_NUMBER:
		fprintf(w->out, "%zu", r->number);
		break;
	case COLUMN_PREFIX:
		text_or_null(w->out, r->prefix != EXPORT_NONE, r->prefix);
		break;
	case COLUMN_CATEGORY:
		fprintf(w->out, "%u", r->category);
		break;
	case COLUMN_SUBCATEGORY:
		fprintf(w->out, "%u", r->subcategory);
		break;
	case COLUMN_ADDRESS:
		put_address(w, r->place);
		break;
	case COLUMN_DEPTH:
		fprintf(w->out, "%zu", r->depth);
		break;
	case COLUMN_FUNCTION:
		fprintf(w->out, "%zu", f->function);
		break;
	case COLUMN_LINE:
		text_or_null(w->out, f->line > 0, (size_t)f->line);
		break;
	}
}

/* The frames of a context below its caller, from row r.number on. Returns the number of the next. */
static size_t put_context(const struct writer *w, size_t context, struct row r, enum column column)
{
	const struct export_context *c = &w->p->contexts[context];

	r.place = &w->p->places[c->place];
	r.prefix = c->parent == EXPORT_NONE ? EXPORT_NONE : w->stacks[c->parent];
	for (; r.depth < r.place->nframes; r.depth++) {
		put_row(w, &r, column);
		r.prefix = r.number++;
	}
	return r.number;
}

static size_t frames_of(const struct writer *w, const struct export_sample *s)
{
	return w->p->places[w->p->contexts[s->context].place].nframes;
}

static void put_rows(const struct writer *w, const char *name, enum column column)
{
	size_t at = 0;

	fprintf(w->out, ",\n\"%s\":[", name);
	for (size_t i = 0; i < w->ncallers; i++)
		at = put_context(w, i, (struct row){ .number = at }, column);
	for (size_t i = 0; i < w->p->nsamples; i++) {
		const struct export_sample *s = &w->p->samples[i];
		const bool known = s->category >= 0 && s->category < TIME_CATEGORY_COUNT;
		const struct row r = { .number = at,
				       .category = w->category[set_of(s)],
				       .subcategory = known ? (unsigned)s->category + 1 : 0 };

		at = put_context(w, s->context, r, column);
	}
	fputc(']', w->out);
}

static size_t rows_of_callers(const struct writer *w)
{
	return w->ncallers ? w->stacks[w->ncallers - 1] + 1 : 0;
}

static size_t count_rows(const struct writer *w)
{
	size_t count = rows_of_callers(w);

	for (size_t i = 0; i < w->p->nsamples; i++)
		count += frames_of(w, &w->p->samples[i]);
	return count;
}

static void put_stack_table(const struct writer *w)
{
	fprintf(w->out, ",\n\"stackTable\":{\"length\":%zu", count_rows(w));
	put_rows(w, "prefix", COLUMN_PREFIX);
	put_rows(w, "frame", COLUMN_NUMBER);
	put_rows(w, "category", COLUMN_CATEGORY);
	put_rows(w, "subcategory", COLUMN_SUBCATEGORY);
	fputc('}', w->out);
}

/* A column of `count` equal values. */
static void put_same(FILE *out, const char *name, const char *value, size_t count)
{
	fprintf(out, ",\n\"%s\":[", name);
	for (size_t i = 0; i < count; i++)
		fprintf(out, i ? ",%s" : "%s", value);
	fputc(']', out);
}

static void put_frame_table(const struct writer *w)
{
	const size_t n = count_rows(w);

	fprintf(w->out, ",\n\"frameTable\":{\"length\":%zu", n);
	put_rows(w, "address", COLUMN_ADDRESS);
	put_rows(w, "inlineDepth", COLUMN_DEPTH);
	put_rows(w, "func", COLUMN_FUNCTION);
	put_rows(w, "line", COLUMN_LINE);
	put_rows(w, "category", COLUMN_CATEGORY);
	put_rows(w, "subcategory", COLUMN_SUBCATEGORY);
	put_same(w->out, "nativeSymbol", "null", n);
	put_same(w->out, "innerWindowID", "null", n);
	put_same(w->out, "implementation", "null", n);
	put_same(w->out, "column", "null", n);
	fputc('}', w->out);
}

/* Strings: names of functions, their files, names of images, the name of the program. */
static void put_strings(const struct writer *w)
{
	const struct export_profile *p = w->p;

	fputs(",\n\"stringArray\":[", w->out);
	for (size_t i = 0; i < p->nfunctions; i++) {
		export_json_text(w->out, p->functions[i].name);
		fputs(",\n", w->out);
	}
	for (size_t i = 0; i < p->nfunctions; i++) {
		export_json_text(w->out, p->functions[i].file);
		fputs(",\n", w->out);
	}
	for (size_t i = 0; i < p->nimages; i++) {
		export_json_text(w->out, path_name(p->images[i].path));
		fputs(",\n", w->out);
	}
	export_json_text(w->out, path_name(p->model.program));
	fputc(']', w->out);
}

static void put_function_table(const struct writer *w)
{
	const struct export_profile *p = w->p;
	FILE *out = w->out;

	fprintf(out, ",\n\"funcTable\":{\"length\":%zu,\n\"name\":[", p->nfunctions);
	for (size_t i = 0; i < p->nfunctions; i++)
		fprintf(out, i ? ",%zu" : "%zu", i);
	fputs("],\n\"resource\":[", out);
	for (size_t i = 0; i < p->nfunctions; i++) {
		fputs(i ? "," : "", out);
		if (w->image[i] == EXPORT_NONE)
			fputs("-1", out);
		else
			fprintf(out, "%zu", w->image[i]);
	}
	fputs("],\n\"fileName\":[", out);
	for (size_t i = 0; i < p->nfunctions; i++) {
		fputs(i ? "," : "", out);
		text_or_null(out, *p->functions[i].file, p->nfunctions + i);
	}
	fputs("],\n\"lineNumber\":[", out);
	for (size_t i = 0; i < p->nfunctions; i++) {
		fputs(i ? "," : "", out);
		text_or_null(out, p->functions[i].line > 0, (size_t)p->functions[i].line);
	}
	fputc(']', out);
	put_same(out, "columnNumber", "null", p->nfunctions);
	put_same(out, "isJS", "false", p->nfunctions);
	put_same(out, "relevantForJS", "false", p->nfunctions);
	fputc('}', out);
}

static void put_resource_table(const struct writer *w)
{
	const struct export_profile *p = w->p;

	fprintf(w->out, ",\n\"resourceTable\":{\"length\":%zu,\"lib\":[", p->nimages);
	for (size_t i = 0; i < p->nimages; i++)
		fprintf(w->out, i ? ",%zu" : "%zu", i);
	fputs("],\"name\":[", w->out);
	for (size_t i = 0; i < p->nimages; i++)
		fprintf(w->out, i ? ",%zu" : "%zu", 2 * p->nfunctions + i);
	fputc(']', w->out);
	put_same(w->out, "host", "null", p->nimages);
	put_same(w->out, "type", "1", p->nimages); /* a library */
	fputc('}', w->out);
}

static void put_samples(const struct writer *w)
{
	const struct export_profile *p = w->p;
	size_t stack = rows_of_callers(w);
	double units = 0;

	fprintf(w->out, ",\n\"samples\":{\"length\":%zu,\"weightType\":\"samples\",\n\"stack\":[",
		p->nsamples);
	for (size_t i = 0; i < p->nsamples; i++) {
		stack += frames_of(w, &p->samples[i]);
		fprintf(w->out, i ? ",%zu" : "%zu", stack - 1);
	}
	fputs("],\n\"time\":[", w->out);
	for (size_t i = 0; i < p->nsamples; i++) {
		fprintf(w->out, i ? ",%.9g" : "%.9g", milliseconds(p, units / (double)p->scale));
		units += (double)p->samples[i].units;
	}
	fputs("],\n\"weight\":[", w->out);
	for (size_t i = 0; i < p->nsamples; i++)
		fprintf(w->out, i ? ",%" PRIu64 : "%" PRIu64, p->samples[i].time);
	fputs("]}", w->out);
}

/* As the category's event is drawn elsewhere, in the profiler's colours. Grey is the callers': what the
 * reader takes for the category of what has none. */
static const char *colour_of(unsigned set)
{
	static const char *const names[] = {
		[TERM_RED] = "red",	    [TERM_GREEN] = "green",    [TERM_YELLOW] = "yellow",
		[TERM_BLUE] = "blue",	    [TERM_CYAN] = "lightblue", [TERM_ORANGE] = "orange",
		[TERM_MAGENTA] = "magenta", [TERM_GREY] = "darkgrey",
	};
	const unsigned colour = (unsigned)model_colour(set);

	return colour < ARRAY_LEN(names) && names[colour] ? names[colour] : "brown";
}

static void put_categories(const struct writer *w)
{
	char name[128];

	fputs("\"categories\":[", w->out);
	for (unsigned i = 0; i <= w->nsets; i++) {
		const unsigned set = i ? w->set[i - 1] : 0;

		fputs(i ? ",\n{\"name\":" : "\n{\"name\":", w->out);
		export_json_text(w->out, i ? model_events(&w->p->model, set, name, sizeof(name))
					   : "Caller");
		fprintf(w->out, ",\"color\":\"%s\",\"subcategories\":[\"Other\"",
			i ? colour_of(set) : "grey");
		for (int k = 0; i && k < TIME_CATEGORY_COUNT; k++) {
			fputc(',', w->out);
			export_json_text(w->out, words_times[k].name);
		}
		fputs("]}", w->out);
	}
	fputs("]", w->out);
}

static void put_meta(const struct writer *w)
{
	const struct export_profile *p = w->p;
	const char *name = path_name(p->model.program);
	char unit[40];

	fputs(MARK " " CULPRIT_VERSION "\",\"product\":", w->out);
	export_json_text(w->out, name);
	fputs(",\n\"version\":24,\"preprocessedProfileVersion\":48,\"processType\":0,"
	      "\"startTime\":0,\"stackwalk\":1,\"debug\":false,"
	      "\"symbolicated\":true,\"usesOnlyOneStackType\":true,"
	      "\"doesNotUseFrameImplementation\":true,\"sourceCodeIsNotOnSearchfox\":true,"
	      "\"markerSchema\":[],\"extensions\":{\"id\":[],\"name\":[],\"baseURL\":[],\"length\":"
	      "0},"
	      "\n\"CPUName\":",
	      w->out);
	export_json_text(w->out, p->model.machine);
	fputs(",\"misc\":", w->out);
	export_json_text(w->out, export_unit(p, unit, sizeof(unit)));
	fputs(",\n", w->out);
	fprintf(w->out, "\"interval\":%.9g,\n",
		milliseconds(p, (double)p->model.cycles) / (double)(p->nsamples ? p->nsamples : 1));
	put_categories(w);
	fputs("},\n\"pages\":[],\"libs\":[", w->out);
	for (size_t i = 0; i < p->nimages; i++) {
		const char *const fields[] = { "name", "debugName", "path", "debugPath" };

		fputs(i ? ",\n{" : "\n{", w->out);
		for (size_t k = 0; k < ARRAY_LEN(fields); k++) {
			fprintf(w->out, "\"%s\":", fields[k]);
			export_json_text(w->out,
					 k < 2 ? path_name(p->images[i].path) : p->images[i].path);
			fputc(',', w->out);
		}
		fputs("\"arch\":\"riscv64\",\"breakpadId\":\"\",\"codeId\":", w->out);
		if (*p->images[i].build_id)
			export_json_text(w->out, p->images[i].build_id);
		else
			fputs("null", w->out);
		fputc('}', w->out);
	}
	fputs("]", w->out);
}

static void put_count(FILE *out, double v)
{
	fprintf(out, "%.10g", isfinite(v) ? v : 0);
}

/* What part k of a phase is; the last one is its instructions. */
static double part_of(const struct export_phase *ph, int k)
{
	return k < CPI_COMPONENTS ? ph->parts[k] : ph->instructions;
}

static bool has_part(const struct export_profile *p, int k)
{
	for (size_t i = 0; i < p->nphases; i++)
		if (part_of(&p->phases[i], k) != 0)
			return true;
	return false;
}

/* A counter's value at a time is what was counted since the time before it. */
static void put_counters(const struct writer *w)
{
	const struct export_profile *p = w->p;
	const char *comma = "";

	fputs(",\n\"counters\":[", w->out);
	for (int k = 0; k <= CPI_COMPONENTS; k++) {
		double at = 0;

		if (!has_part(p, k))
			continue;
		fprintf(w->out, "%s\n{\"name\":", comma);
		export_json_text(w->out,
				 k < CPI_COMPONENTS ? words_components[k].name : "instructions");
		fputs(",\"category\":\"CPI\",\"description\":", w->out);
		export_json_text(w->out, k < CPI_COMPONENTS ? words_components[k].meaning
							    : "instructions committed");
		fprintf(w->out,
			",\"pid\":\"1\",\"mainThreadIndex\":0,\"samples\":{\"length\":%zu,"
			"\n\"time\":[",
			p->nphases + 1);
		for (size_t i = 0; i <= p->nphases; i++) {
			fputs(i ? "," : "", w->out);
			put_count(w->out, milliseconds(p, at));
			at += i < p->nphases ? p->phases[i].cycles : 0;
		}
		fputs("],\n\"count\":[0", w->out);
		for (size_t i = 0; i < p->nphases; i++) {
			fputc(',', w->out);
			put_count(w->out, part_of(&p->phases[i], k));
		}
		fputs("]}}", w->out);
		comma = ",";
	}
	fputs("]", w->out);
}

static bool firefox_write(FILE *out, const struct export_profile *p)
{
	struct writer *w = x_calloc(1, sizeof(*w));

	w->out = out;
	w->p = p;
	prepare(w);
	put_meta(w);
	put_counters(w);
	fputs(",\n\"threads\":[{\"processType\":\"default\",\"processStartupTime\":0,"
	      "\"processShutdownTime\":null,\"registerTime\":0,\"unregisterTime\":null,"
	      "\"pausedRanges\":[],\"isMainThread\":true,\"pid\":\"1\",\"tid\":1,\"name\":",
	      out);
	export_json_text(out, path_name(p->model.program));
	fputs(",\"processName\":", out);
	export_json_text(out, path_name(p->model.program));
	fputs(
	    ",\n\"markers\":{\"length\":0,\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],"
	    "\"phase\":[],\"category\":[]},\"nativeSymbols\":{\"length\":0,\"libIndex\":[],"
	    "\"address\":[],\"name\":[],\"functionSize\":[]}",
	    out);
	put_samples(w);
	put_stack_table(w);
	put_frame_table(w);
	put_function_table(w);
	put_resource_table(w);
	put_strings(w);
	fputs("}]}\n", out);
	free(w->image);
	free(w->stacks);
	free(w);
	return !ferror(out);
}

static bool is_firefox(const uint8_t *head, size_t size, const char *path)
{
	return output_begins(head, size, MARK);
}

const struct exporter export_firefox = {
	.name = "firefox",
	.kind = { "a profile for the Firefox Profiler that culprit wrote", "-o", false,
		  is_firefox },
	.calls = true,
	.phases = true,
	.write = firefox_write,
};
