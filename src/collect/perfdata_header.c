/* SPDX-License-Identifier: MIT */
/*
 * The head of perf.data: events with their attributes and ids, and features: the machine's name, the
 * kernel, the command, names of events, build-ids. A file has them in sections that its header
 * names; a pipe sends them as records. Other features are skipped, with a line for those that hold
 * samples or names.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/perfdata_int.h"
#include "util/array.h"
#include "util/text.h"
#include "util/descriptor.h"

enum {
	FEATURE_TRACING_DATA = 1,
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME = 3,
	FEATURE_OSRELEASE = 4,
	FEATURE_NRCPUS = 7,
	FEATURE_CMDLINE = 11,
	FEATURE_EVENT_DESC = 12,
	FEATURE_LAST = 32, /* of perf 6.1; the last one only says that a pipe sends no more */
	FEATURE_BITS = 256
};

#define NAME_BYTES 4096

struct section {
	uint64_t at, size;
};

struct file_header {
	char magic[8];
	uint64_t size, attr_size;
	struct section attrs, data, types;
	uint64_t features[FEATURE_BITS / 64];
};

void perfdata_note(struct perfdata *p, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	if (!p->o->note)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	p->o->note(p->o->self, line);
}

/* ---- Events ---- */

static const char *software_name(uint64_t config)
{
	static const char *const names[] = {
		"cpu-clock",	    "task-clock",   "page-faults",  "context-switches",
		"cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
		"emulation-faults", "dummy",	    "bpf-output",   "cgroup-switches"
	};

	return config < ARRAY_LEN(names) ? names[config] : NULL;
}

static const char *hardware_name(uint64_t config)
{
	static const char *const names[] = { "cycles",
					     "instructions",
					     "cache-references",
					     "cache-misses",
					     "branches",
					     "branch-misses",
					     "bus-cycles",
					     "stalled-cycles-frontend",
					     "stalled-cycles-backend",
					     "ref-cycles" };

	return config < ARRAY_LEN(names) ? names[config] : NULL;
}

/* A name for an event whose own name the file does not have. */
static char *name_of(const struct perf_event_attr *a)
{
	const char *known = a->type == PERF_TYPE_SOFTWARE   ? software_name(a->config)
			    : a->type == PERF_TYPE_HARDWARE ? hardware_name(a->config)
							    : NULL;

	return known ? x_strdup(known)
		     : x_asprintf("event-%u:0x%llx", a->type, (unsigned long long)a->config);
}

bool perfdata_add_event(struct perfdata *p, const uint8_t *attr, size_t size, const uint8_t *ids,
			size_t n, struct err *e)
{
	if (p->nevents == PERFDATA_EVENTS_MAX || n > PERFDATA_IDS_MAX - p->nids)
		return err_set(e, "%s has more than %d events; it is damaged", p->name,
			       PERFDATA_EVENTS_MAX);
	if (size < PERF_ATTR_SIZE_VER0)
		return err_set(e, "%s is damaged: an event's attributes have %zu bytes", p->name,
			       size);
	struct perfdata_event *x = &p->events[p->nevents];

	*x = (struct perfdata_event){ .number = UINT32_MAX };
	memcpy(&x->attr, attr, min_u64(size, sizeof(x->attr)));
	x->name = name_of(&x->attr);
	for (size_t i = 0; i < n; i++) {
		struct perfdata_id *id = ARRAY_ADD(p->ids, p->nids);

		memcpy(&id->id, ids + 8 * i, 8);
		id->event = (uint32_t)p->nevents;
	}
	p->ids_sorted = false;
	p->nevents++;
	return true;
}

static int by_id(const void *a, const void *b)
{
	const struct perfdata_id *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

struct perfdata_event *perfdata_event_of(struct perfdata *p, uint64_t id)
{
	if (!p->ids_sorted && p->nids)
		qsort(p->ids, p->nids, sizeof(*p->ids), by_id);
	p->ids_sorted = true;
	const size_t at = ARRAY_SEARCH(p->nids, i, p->ids[i].id < id);

	return at < p->nids && p->ids[at].id == id ? &p->events[p->ids[at].event] : NULL;
}

/* ---- Features ---- */

struct bytes {
	const uint8_t *at, *end;
};

static bool take(struct bytes *b, void *to, size_t n)
{
	if ((size_t)(b->end - b->at) < n)
		return false;
	memcpy(to, b->at, n);
	b->at += n;
	return true;
}

/* A text with its length before it; the caller frees. NULL: there is none. */
static char *take_text(struct bytes *b)
{
	uint32_t n;

	if (!take(b, &n, 4) || n > (size_t)(b->end - b->at) || n > NAME_BYTES)
		return NULL;
	char *s = x_strndup((const char *)b->at, n);

	b->at += n;
	return s;
}

static void event_names(struct perfdata *p, struct bytes b)
{
	uint32_t n, attr_size, ids;

	if (!take(&b, &n, 4) || !take(&b, &attr_size, 4))
		return;
	for (uint32_t i = 0; i < n && i < p->nevents; i++) {
		if (attr_size > (size_t)(b.end - b.at))
			return;
		b.at += attr_size;
		if (!take(&b, &ids, 4))
			return;
		char *name = take_text(&b);

		if (!name || ids > (size_t)(b.end - b.at) / 8) {
			free(name);
			return;
		}
		b.at += 8 * (size_t)ids;
		free(p->events[i].name);
		p->events[i].name = name;
	}
}

/* The arguments of the command, with spaces between them. */
static char *command_of(struct bytes b)
{
	uint32_t n;
	char *all = x_strdup("");

	if (!take(&b, &n, 4))
		return all;
	for (uint32_t i = 0; i < n && strlen(all) < NAME_BYTES; i++) {
		char *word = take_text(&b);

		if (!word)
			break;
		char *more = x_asprintf("%s%s%s", all, i ? " " : "", word);

		free(word);
		free(all);
		all = more;
	}
	return all;
}

void perfdata_build_id(struct perfdata *p, const uint8_t *record, size_t size)
{
	const size_t head = sizeof(struct perf_event_header) + 4 + 24;
	struct perf_event_header h;

	if (size <= head || p->nbuilds == PERFDATA_IDS_MAX)
		return;
	memcpy(&h, record, sizeof(h));
	const uint8_t *id = record + sizeof(h) + 4;
	const uint8_t bytes = h.misc & (1 << 15) ? id[20] : 20; /* MISC_BUILD_ID_SIZE */

	if (bytes > 20)
		return;
	struct perfdata_build *b = ARRAY_ADD(p->builds, p->nbuilds);

	*b = (struct perfdata_build){ .bytes = bytes };
	memcpy(b->id, id, 20);
	b->name = x_strndup((const char *)record + head, min_u64(size - head, NAME_BYTES));
}

static void build_ids(struct perfdata *p, struct bytes b)
{
	struct perf_event_header h;

	while ((size_t)(b.end - b.at) >= sizeof(h)) {
		memcpy(&h, b.at, sizeof(h));
		if (h.size < sizeof(h) || h.size > b.end - b.at)
			return;
		perfdata_build_id(p, b.at, h.size);
		b.at += h.size;
	}
}

const struct perfdata_build *perfdata_build_of(const struct perfdata *p, const char *name)
{
	for (size_t i = 0; i < p->nbuilds; i++)
		if (strcmp(p->builds[i].name, name) == 0)
			return &p->builds[i];
	return NULL;
}

void perfdata_feature(struct perfdata *p, unsigned feature, const uint8_t *data, size_t size)
{
	struct bytes b = { data, data + size };
	char **text = feature == FEATURE_HOSTNAME    ? &p->hostname
		      : feature == FEATURE_OSRELEASE ? &p->release
						     : NULL;

	if (text) {
		free(*text);
		*text = take_text(&b);
	} else if (feature == FEATURE_CMDLINE) {
		free(p->command);
		p->command = command_of(b);
	} else if (feature == FEATURE_NRCPUS) {
		if (!take(&b, &p->cpus, 4))
			p->cpus = 0;
	} else if (feature == FEATURE_EVENT_DESC) {
		event_names(p, b);
	} else if (feature == FEATURE_BUILD_ID) {
		build_ids(p, b);
	} else if (feature == FEATURE_TRACING_DATA) {
		perfdata_note(p, "%s: the descriptions of tracepoints are left out", p->name);
	} else if (feature > FEATURE_LAST) {
		perfdata_note(p, "%s: feature %u is not known here and is left out", p->name,
			      feature);
	}
}

/* ---- The file ---- */

static bool read_at(struct perfdata *p, void *to, size_t size, uint64_t at)
{
	return at <= INT64_MAX - size && descriptor_read(p->fd, (int64_t)at, to, size);
}

/* A section's bytes, which the caller frees; NULL: it lies outside of the file, or is too large. */
static uint8_t *read_section(struct perfdata *p, struct section s, uint64_t file_bytes)
{
	if (s.size > PERFDATA_SECTION_MAX || s.at > file_bytes || s.size > file_bytes - s.at)
		return NULL;
	uint8_t *data = x_malloc((size_t)s.size + 1);

	if (read_at(p, data, (size_t)s.size, s.at))
		return data;
	free(data);
	return NULL;
}

static bool file_events(struct perfdata *p, const struct file_header *h, uint64_t file_bytes,
			struct err *e)
{
	if (h->attr_size < PERF_ATTR_SIZE_VER0 + sizeof(struct section) || h->attr_size > 4096 ||
	    h->attrs.size / h->attr_size > PERFDATA_EVENTS_MAX)
		return err_set(e, "%s is damaged: its events have no sensible size", p->name);
	uint8_t *attrs = read_section(p, h->attrs, file_bytes);
	bool ok = attrs || err_set(e, "%s is damaged or cut off: its events are missing", p->name);

	for (uint64_t i = 0; ok && i < h->attrs.size / h->attr_size; i++) {
		const uint8_t *attr = attrs + i * h->attr_size;
		const size_t size = (size_t)h->attr_size - sizeof(struct section);
		struct section s;

		memcpy(&s, attr + size, sizeof(s));
		uint8_t *ids = read_section(p, s, file_bytes);

		ok = ids ? perfdata_add_event(p, attr, size, ids, (size_t)s.size / 8, e)
			 : err_set(e, "%s is damaged: the ids of event %d are missing", p->name,
				   (int)i);
		free(ids);
	}
	free(attrs);
	return ok;
}

/* A recording that was cut off has no features; its samples are read all the same. */
static void file_features(struct perfdata *p, const struct file_header *h, uint64_t file_bytes)
{
	uint64_t at = h->data.at + h->data.size;

	for (unsigned f = 0; f < FEATURE_BITS; f++) {
		struct section s;

		if (!(h->features[f / 64] >> f % 64 & 1))
			continue;
		if (at < h->data.at || !read_at(p, &s, sizeof(s), at)) {
			perfdata_note(p, "%s is cut off: it has no names of events and machine",
				      p->name);
			return;
		}
		at += sizeof(s);
		uint8_t *data = read_section(p, s, file_bytes);

		if (data)
			perfdata_feature(p, f, data, (size_t)s.size);
		else
			perfdata_note(p, "%s: feature %u is damaged and is left out", p->name, f);
		free(data);
	}
}

bool perfdata_header(struct perfdata *p, struct err *e)
{
	struct file_header h = { 0 };

	if (!descriptor_read(p->fd, DESCRIPTOR_HERE, &h, 16))
		return err_set(e, "%s is not a recording of perf: it is too short", p->name);
	if (!memcmp(h.magic, "2ELIFREP", 8))
		return err_set(e,
			       "%s was recorded on a machine of the other byte order; import it on "
			       "one of its own kind",
			       p->name);
	if (memcmp(h.magic, "PERFILE2", 8) != 0)
		return err_set(e, "%s is not a recording of perf (perf.data)", p->name);
	p->pipe = h.size == 16;
	if (p->pipe)
		return true;
	const off_t end = lseek(p->fd, 0, SEEK_END);

	if (end < 0)
		return err_set(e, "%s: a recording of a file cannot be read from a pipe", p->name);
	if (h.size != sizeof(h) || !read_at(p, &h, sizeof(h), 0))
		return err_set(e, "%s is damaged: its header has %llu bytes", p->name,
			       (unsigned long long)h.size);
	const uint64_t file_bytes = (uint64_t)end;

	if (h.data.at > file_bytes)
		return err_set(e, "%s is damaged: its samples lie behind its end", p->name);
	/* perf writes the size at the end; 0 means that it was killed before. */
	p->data_at = h.data.at;
	p->data_bytes = min_u64(h.data.size ? h.data.size : UINT64_MAX, file_bytes - h.data.at);
	if (!file_events(p, &h, file_bytes, e))
		return false;
	file_features(p, &h, file_bytes);
	return lseek(p->fd, (off_t)p->data_at, SEEK_SET) >= 0 ||
	       err_set(e, "%s: %s", p->name, strerror(errno));
}

void perfdata_free(struct perfdata *p)
{
	for (size_t i = 0; i < p->nevents; i++)
		free(p->events[i].name);
	for (size_t i = 0; i < p->nbuilds; i++)
		free(p->builds[i].name);
	free(p->ids);
	free(p->builds);
	free(p->hostname);
	free(p->release);
	free(p->command);
}
