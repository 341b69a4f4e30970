/* SPDX-License-Identifier: MIT */
/*
 * Simulated machines for tests of the fleet:
 *
 *	fleet_machines make FOLDER MACHINES EPOCHS COUNTS    a database for each machine, FOLDER/0 …
 *	fleet_machines push FOLDER MACHINES SERVER [USER]    pushes all, as role m0 … (or as USER)
 *
 * push prints epochs, counts, seconds and counts a second.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collect/db.h"
#include "collect/fleet.h"
#include "util/number.h"

#define HOUR	  3600000000000ull
#define IMAGES	  40
#define FUNCTIONS 10 /* of an image that a machine runs in an hour */

static struct live_symbol symbols[FUNCTIONS * 20];

/* Counts of one epoch: most machines run the same images, in two builds. */
static void fill(const struct live_sink *sink, struct rng *r, int machine, uint64_t counts,
		 struct live_event *event)
{
	const uint32_t number = sink->event(sink->self, event);

	for (int i = 0; i < IMAGES; i++) {
		char name[64], build[64];
		struct live_image image = { .kind = LIVE_FILE,
					    .name = name,
					    .build_id = build,
					    .symbols = symbols,
					    .nsymbols = ARRAY_LEN(symbols) };

		snprintf(name, sizeof(name), "/usr/lib/lib%d.so", i);
		snprintf(build, sizeof(build), "%039d%d", i, machine % 2);
		const uint32_t id = sink->image(sink->self, &image);

		for (uint64_t k = 0; k < counts / IMAGES; k++) {
			const uint64_t function = rng_below(r, FUNCTIONS) * 20;
			const struct live_count c = { .image = id,
						      .process = LIVE_NO_PROCESS,
						      .event = number,
						      .cpu = LIVE_NO_CPU,
						      .offset = function * 4096 + 4 * k % 4096,
						      .count = 1 + rng_below(r, 9) };

			sink->count(sink->self, &c);
			event->taken += c.count;
			event->stored += c.count;
		}
	}
}

static void make(const char *folder, int machines, int epochs, uint64_t counts)
{
	const uint64_t now = db_real_clock.wall_ns(NULL);

	if (mkdir(folder, 0700))
		die("cannot make %s", folder);
	for (int m = 0; m < machines; m++) {
		struct err e = { "" };
		char path[256], machine[32];
		struct rng r;

		snprintf(path, sizeof(path), "%s/%d", folder, m);
		snprintf(machine, sizeof(machine), "machine%d", m);
		rng_seed(&r, (uint64_t)m + 1);
		for (int i = 0; i < epochs; i++) {
			struct db *d = db_open(path, DB_OWN, NULL, &e);
			const struct db_writer_options o = { .source = DB_SOURCE_DAEMON,
							     .boot_id = "boot",
							     .at_once = true,
							     .facts_time = true };
			struct db_writer *w = d ? db_writer_open(d, &o, &e) : NULL;
			struct live_event event = { .name = "cycles",
						    .actual = "cpu-clock",
						    .running = 1 };
			struct live_facts facts = { .machine = machine,
						    .kernel = m % 3 ? "6.1" : "6.12",
						    .cpus = 2 };

			if (!w)
				die("%s", e.text);
			const struct live_sink sink = db_writer_sink(w);

			facts.begin_ns = now - (uint64_t)(epochs - i) * HOUR;
			facts.end_ns = facts.begin_ns + HOUR;
			fill(&sink, &r, m, counts, &event);
			if (!sink.cut(sink.self, &event, 1, &facts, &e) || !db_writer_close(w, &e))
				die("%s", e.text);
			db_close(d);
		}
	}
}

static void push(const char *folder, int machines, const char *server, const char *user)
{
	uint64_t epochs = 0, rows = 0, already = 0, symbols_sent = 0;
	const uint64_t begin = db_real_clock.steady_ns(NULL);

	for (int m = 0; m < machines; m++) {
		struct err e = { "" };
		struct fleet_pushed done;
		char path[256], as[512];

		snprintf(path, sizeof(path), "%s/%d", folder, m);
		if (user)
			snprintf(as, sizeof(as), "%s user=%s", server, user);
		else
			snprintf(as, sizeof(as), "%s user=m%d", server, m);
		struct db *d = db_open(path, DB_WRITE, NULL, &e);

		if (!d || !fleet_push(d, as, &done, &e))
			die("%s", e.text);
		epochs += done.epochs;
		rows += done.rows;
		already += done.already;
		symbols_sent += done.symbols;
		db_close(d);
	}
	const double s = (double)(db_real_clock.steady_ns(NULL) - begin) / 1e9;

	printf("epochs=%llu counts=%llu already=%llu symbols=%llu seconds=%.2f rate=%.0f\n",
	       (unsigned long long)epochs, (unsigned long long)rows, (unsigned long long)already,
	       (unsigned long long)symbols_sent, s, (double)rows / s);
}

int main(int argc, char **argv)
{
	char names[FUNCTIONS * 20][16];

	for (size_t i = 0; i < ARRAY_LEN(symbols); i++) {
		snprintf(names[i], sizeof(names[i]), "function%d", (int)i);
		symbols[i] = (struct live_symbol){ i * 4096, 4096, names[i] };
	}
	if (argc == 6 && !strcmp(argv[1], "make"))
		make(argv[2], (int)number_argument("MACHINES", argv[3], 1, 10000),
		     (int)number_argument("EPOCHS", argv[4], 1, 1000),
		     number_argument("COUNTS", argv[5], 1, 10000000));
	else if (argc >= 5 && !strcmp(argv[1], "push"))
		push(argv[2], (int)number_argument("MACHINES", argv[3], 1, 10000), argv[4],
		     argc > 5 ? argv[5] : NULL);
	else
		die("usage: fleet_machines make|push …");
	return 0;
}
