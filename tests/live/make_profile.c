/* SPDX-License-Identifier: MIT */
/*
 * Makes a live profile by hand, for tests of the views: reads a description and writes a store.
 *
 *	make_profile FILE < description
 *
 * A line of the description is one of these; words may have \xNN for a byte and - for nothing,
 * images, events and processes are numbered from 0 as they come, and an offset may be
 * @SYMBOL+NUMBER in the image's file:
 *
 *	facts MACHINE COMMAND BEGIN_S END_S CPUS
 *	event NAME ACTUAL PERIOD TAKEN STORED LOST PENDING
 *	image KIND NAME PATH BUILD_ID SIZE_BYTES
 *	symbol IMAGE OFFSET SIZE_BYTES NAME          (of the image above)
 *	code IMAGE OFFSET HEX                        (of the image above)
 *	process PID COMM EXE CONTAINER UID [TID THREAD]
 *	count IMAGE OFFSET EVENT PROCESS CPU COUNT   (PROCESS, CPU: - for all)
 *	stack EVENT PROCESS COUNT BROKEN IMAGE:OFFSET…
 *	edge IMAGE OFFSET TAKEN NOT_TAKEN
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/live_names.h"
#include "collect/live_store.h"
#include "util/array.h"

#define WORDS_MOST 140

struct maker {
	struct live_profile *p;
	struct live_sink sink;
	struct live_image image; /* the one that symbols and code are added to */
	bool open;
	uint32_t images[64];
	size_t nimages;
	struct live_event events[64];
	size_t nevents;
	struct live_facts facts;
};

static char *unescaped(const char *word)
{
	char *text = x_strdup(strcmp(word, "-") == 0 ? "" : word), *to = text;

	for (const char *from = text; *from;) {
		unsigned byte;

		if (from[0] == '\\' && from[1] == 'x' && sscanf(from + 2, "%2x", &byte) == 1) {
			*to++ = (char)byte;
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
	return text;
}

static uint64_t number(const char *word)
{
	return strtoull(word, NULL, 0);
}

static void close_image(struct maker *m)
{
	if (m->open)
		m->images[m->nimages++] = m->sink.image(m->sink.self, &m->image);
	m->open = false;
}

static uint64_t file_offset(const char *path, const char *word)
{
	struct images *set = images_new(NULL);
	struct image_probe probe;
	char *name = x_strndup(word + 1, strcspn(word + 1, "+"));
	const char *plus = strchr(word, '+');
	uint64_t address = 0;

	if (!path || !images_add(set, path, path, 0, NULL) || !images_find(set, name, &address) ||
	    !image_probe(path, &probe, NULL))
		die("there is no %s in %s", name, path ? path : "[no file]");
	address += plus ? number(plus + 1) : 0;
	free(name);
	images_free(set);
	for (size_t i = 0; i < probe.nsegments; i++)
		if (address - probe.segment[i].address < probe.segment[i].file_bytes)
			return address - probe.segment[i].address + probe.segment[i].offset;
	die("%s is in no segment", word);
}

static uint64_t offset(struct maker *m, const char *image, const char *word)
{
	close_image(m);
	return word[0] == '@' ? file_offset(live_image(m->p, m->images[number(image)])->path, word)
			      : number(word);
}

static void add_image(struct maker *m, char **w)
{
	close_image(m);
	m->image = (struct live_image){ .name = unescaped(w[2]),
					.path = strcmp(w[3], "-") ? unescaped(w[3]) : NULL,
					.build_id = unescaped(w[4]),
					.size_bytes = number(w[5]) };
	while (strcmp(live_kind_name[m->image.kind], w[1]) != 0)
		m->image.kind++;
	struct image_probe probe;

	if (strcmp(w[4], "own") == 0 && image_probe(m->image.path, &probe, NULL))
		m->image.build_id = x_strdup(probe.build_id);
	m->open = true;
}

static void add_code(struct maker *m, char **w)
{
	struct live_code *c = ARRAY_ADD(m->image.code, m->image.ncode);
	const size_t n = strlen(w[3]) / 2;

	*c = (struct live_code){ number(w[2]), n, x_malloc(n + 1) };
	for (size_t i = 0; i < n; i++) {
		unsigned byte = 0;

		sscanf(w[3] + 2 * i, "%2x", &byte);
		c->bytes[i] = (uint8_t)byte;
	}
}

static void add_stack(struct maker *m, char **w, size_t n)
{
	struct live_frame frames[WORDS_MOST];
	size_t count = 0;

	for (size_t i = 5; i < n; i++) {
		char *colon = strchr(w[i], ':');

		*colon = '\0';
		frames[count++] =
		    (struct live_frame){ m->images[number(w[i])], offset(m, w[i], colon + 1) };
	}
	m->sink.stack(m->sink.self,
		      &(struct live_stack){ .event = (uint32_t)number(w[1]),
					    .process = strcmp(w[2], "-") ? (uint32_t)number(w[2])
									 : LIVE_NO_PROCESS,
					    .count = number(w[3]),
					    .broken = number(w[4]) != 0,
					    .frames = frames,
					    .nframes = count });
}

static void add_count(struct maker *m, char **w)
{
	const uint64_t at = offset(m, w[1], w[2]);

	m->sink.count(m->sink.self,
		      &(struct live_count){
			  .image = m->images[number(w[1])],
			  .offset = at,
			  .event = (uint32_t)number(w[3]),
			  .process = strcmp(w[4], "-") ? (uint32_t)number(w[4]) : LIVE_NO_PROCESS,
			  .cpu = strcmp(w[5], "-") ? (uint16_t)number(w[5]) : LIVE_NO_CPU,
			  .count = number(w[6]) });
}

static void add_event(struct maker *m, char **w)
{
	struct live_event *v = &m->events[m->nevents++];

	*v = (struct live_event){ .name = unescaped(w[1]),
				  .actual = unescaped(w[2]),
				  .period = number(w[3]),
				  .running = 1,
				  .taken = number(w[4]),
				  .stored = number(w[5]),
				  .lost = number(w[6]),
				  .pending = number(w[7]) };
	m->sink.event(m->sink.self, v);
}

static void add_process(struct maker *m, char **w, size_t n)
{
	m->sink.process(m->sink.self,
			&(struct live_process){ .pid = (int32_t)number(w[1]),
						.comm = unescaped(w[2]),
						.exe = unescaped(w[3]),
						.container = unescaped(w[4]),
						.uid = (uint32_t)number(w[5]),
						.tid = n > 6 ? (int32_t)number(w[6]) : 0,
						.thread = n > 6 ? unescaped(w[7]) : NULL });
}

static void add_facts(struct maker *m, char **w)
{
	m->facts = (struct live_facts){ .machine = unescaped(w[1]),
					.command = unescaped(w[2]),
					.begin_ns = number(w[3]) * 1000000000u,
					.end_ns = number(w[4]) * 1000000000u,
					.cpus = (uint32_t)number(w[5]) };
}

static void add_line(struct maker *m, char **w, size_t n)
{
	if (strcmp(w[0], "facts") == 0 && n == 6)
		add_facts(m, w);
	else if (strcmp(w[0], "event") == 0 && n == 8)
		add_event(m, w);
	else if (strcmp(w[0], "image") == 0 && n == 6)
		add_image(m, w);
	else if (strcmp(w[0], "symbol") == 0 && n == 5 && m->open)
		*ARRAY_ADD(m->image.symbols, m->image.nsymbols) =
		    (struct live_symbol){ number(w[2]), number(w[3]), unescaped(w[4]) };
	else if (strcmp(w[0], "code") == 0 && n == 4 && m->open)
		add_code(m, w);
	else if (strcmp(w[0], "process") == 0 && (n == 6 || n == 8))
		add_process(m, w, n);
	else if (strcmp(w[0], "count") == 0 && n == 7)
		add_count(m, w);
	else if (strcmp(w[0], "stack") == 0 && n > 5)
		add_stack(m, w, n);
	else if (strcmp(w[0], "edge") == 0 && n == 5)
		m->sink.edge(m->sink.self,
			     &(struct live_edge){ m->images[number(w[1])], offset(m, w[1], w[2]),
						  number(w[3]), number(w[4]) });
	else
		die("what is '%s' with %zu words?", w[0], n);
}

int main(int argc, char **argv)
{
	struct maker m = { .p = live_profile_new() };
	struct err e = { "" };
	char *line = NULL, *words[WORDS_MOST], *rest;
	size_t room = 0;

	if (argc != 2)
		die("usage: make_profile FILE < description");
	m.sink = live_profile_sink(m.p);
	while (getline(&line, &room, stdin) > 0) {
		size_t n = 0;

		for (char *w = strtok_r(line, " \t\n", &rest); w && n < WORDS_MOST;
		     w = strtok_r(NULL, " \t\n", &rest))
			words[n++] = w;
		if (n && words[0][0] != '#')
			add_line(&m, words, n);
	}
	free(line);
	close_image(&m);
	m.sink.cut(m.sink.self, m.events, m.nevents, &m.facts, &e);
	if (!live_store_write(m.p, argv[1], &e))
		die("%s", e.text);
	live_profile_free(m.p);
	/* Words of the description live as long as the process: no check for leaks. */
	_exit(0);
}
