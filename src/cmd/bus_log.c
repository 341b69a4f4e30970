/* SPDX-License-Identifier: MIT */
/* Writes what the bus noted of its speed (tracedoctor2023 figure C.3). Times are the host's, so unlike all
 * else that a run writes this differs from run to run. */
#include "cmd/bus_log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "util/output.h"
#include "util/outside.h"

static const char heading[] = "seconds,producer_seconds,cycle,instructions,waiting,buffers\n";

static bool is_log(const uint8_t *head, size_t size, const char *path)
{
	(void)path;
	return output_begins(head, size, heading);
}

static const struct output_kind log_kind = {
	.what = "a table of speed that culprit wrote",
	.option = "--bus-log",
	.is = is_log,
};

bool bus_log_check(const char *path, struct err *e)
{
	outside_expect(path);
	return output_may_open(path, &log_kind, e);
}

bool bus_log_write(const char *path, const struct bus *b, struct err *e)
{
	size_t count;
	const struct bus_mark *marks = bus_marks(b, &count);
	struct output *o = output_open(path, &log_kind, e);
	FILE *out = o ? output_stream(o, e) : NULL;

	if (!out) {
		output_discard(o);
		return false;
	}
	fputs(heading, out);
	for (size_t i = 0; i < count; i++)
		fprintf(out, "%.6f,%.6f,%" PRIu64 ",%" PRIu64 ",%zu,%zu\n",
			(double)marks[i].ns / 1e9, (double)marks[i].producer_ns / 1e9,
			marks[i].cycle, marks[i].insts, marks[i].waiting, marks[i].buffers);
	const bool failed = ferror(out) != 0;

	if (fclose(out) || failed) {
		output_discard(o);
		return err_set(e, "cannot write '%s': %s", path, strerror(errno));
	}
	return output_commit(o, e);
}
