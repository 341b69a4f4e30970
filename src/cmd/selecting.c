/* SPDX-License-Identifier: MIT */
/* What to read of a profile database: epochs by number or time, images, processes, users. */
#include "cmd/selecting.h"

#include <pwd.h>
#include <string.h>

bool selecting_duration(const char *text, uint64_t *ns)
{
	static const struct {
		char letter;
		uint64_t seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 }, { 'w', 604800 } };
	const char *end;
	uint64_t n;

	if (!number_prefix(text, &end, &n) || !*end || end[1])
		return false;
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (*end == units[i].letter && n <= 9000000000u / units[i].seconds) {
			*ns = n * units[i].seconds * 1000000000u;
			return true;
		}
	return false;
}

bool selecting_check_duration(const char *text, struct err *e)
{
	uint64_t ns;

	return selecting_duration(text, &ns) ||
	       err_set(e, "'%s' is no duration; valid are 90s, 15m, 6h, 7d, 2w", text);
}

#define OPTION(field) .offset = offsetof(struct selecting, field)
const struct cmd_option selecting_group[] = {
	{ .name = "epoch",
	  .type = CMD_NUMBER,
	  OPTION(epoch),
	  .arg = "E",
	  .range = { 1, INT64_MAX, NUMBER_PLAIN },
	  .help = "Of a database: only this epoch; `culprit db list` shows them" },
	{ .name = "since",
	  .type = CMD_TEXT,
	  OPTION(since),
	  .arg = "TIME",
	  .check = selecting_check_duration,
	  .help = "Of a database: epochs of the last 15m, 1h, 7d" },
	{ .name = "until",
	  .type = CMD_TEXT,
	  OPTION(until),
	  .arg = "TIME",
	  .check = selecting_check_duration,
	  .help = "Of a database: epochs that began at least so long ago" },
	{ .name = "machine",
	  .type = CMD_TEXT,
	  OPTION(machine),
	  .arg = "NAME",
	  .help = "Of a database: only this machine" },
	{ .name = "image",
	  .type = CMD_TEXT,
	  OPTION(image),
	  .arg = "NAME",
	  .help =
	      "Of a live profile: only this program or library; * and ? stand for any letters" },
	{ .name = "process",
	  .type = CMD_TEXT,
	  OPTION(process),
	  .arg = "PID|NAME",
	  .help = "Of a live profile: only this process, or processes of this name" },
	{ .name = "container",
	  .type = CMD_TEXT,
	  OPTION(container),
	  .arg = "NAME",
	  .help = "Of a live profile: only this container" },
	{ .name = "user",
	  .type = CMD_TEXT,
	  OPTION(user),
	  .arg = "USER",
	  .help = "Of a live profile: only processes of this user, by name or number" },
	{ .name = "cpu",
	  .type = CMD_NUMBER,
	  OPTION(cpu),
	  .arg = "N",
	  .range = { 0, UINT16_MAX - 1, NUMBER_PLAIN },
	  .unset = OPTION_NOT_GIVEN,
	  .help = "Of a live profile: only this processor" },
	{ .name = NULL },
};

static bool uid_of(const char *user, uint32_t *uid, struct err *e)
{
	static const struct number_range range = { 0, UINT32_MAX, NUMBER_PLAIN };
	const struct passwd *p = getpwnam(user);
	uint64_t n;

	if (p)
		*uid = p->pw_uid;
	else if (number_parse(user, &range, &n))
		*uid = (uint32_t)n;
	else
		return err_set(e, "there is no user '%s'", user);
	return true;
}

bool selecting_given(const struct selecting *s)
{
	return s->epoch || s->since || s->until || s->machine || s->image || s->process ||
	       s->container || s->user || s->cpu != OPTION_NOT_GIVEN;
}

bool selecting_make(const struct selecting *s, struct selected *out, struct err *e)
{
	const uint64_t now = db_real_clock.wall_ns(NULL);
	uint64_t ago = 0;

	*out = (struct selected){ .selection = { .epoch = s->epoch,
						 .machine = s->machine,
						 .image = s->image,
						 .process = s->process,
						 .container = s->container } };
	if (s->since && selecting_duration(s->since, &ago))
		out->selection.since_ns = now - min_u64(now, ago);
	if (s->until && selecting_duration(s->until, &ago))
		out->selection.until_ns = now - min_u64(now, ago);
	if (s->cpu != OPTION_NOT_GIVEN) {
		out->cpu = (uint16_t)s->cpu;
		out->selection.cpu = &out->cpu;
	}
	if (s->user) {
		if (!uid_of(s->user, &out->uid, e))
			return false;
		out->selection.uid = &out->uid;
	}
	return true;
}
