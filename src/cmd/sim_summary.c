/* SPDX-License-Identifier: MIT */
/* Reports a finished run of `culprit sim`: one line for people, one JSON object for programs. */
#include "cmd/sim.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "util/number.h"
#include "util/output.h"
#include "util/text.h"

double sim_mips(uint64_t insts, double seconds)
{
	return seconds > 0 ? (double)insts / seconds / 1e6 : 0;
}

static void put_end(FILE *out, const struct sim_run *run)
{
	const char *name;

	switch (run->status) {
	case GUEST_EXITED:
		fprintf(out, "exit status %d\n", run->exit_status);
		break;
	case GUEST_KILLED:
		name = sigabbrev_np(run->exit_status - 128);
		fprintf(out, "killed by SIG%s\n", name ? name : "?");
		break;
	case GUEST_RUNNING:
		if (run->stop_signal)
			fprintf(out, "stopped by SIG%s\n", sigabbrev_np(run->stop_signal));
		else if (run->failed)
			fputs("stopped because an analysis failed\n", out);
		else
			fputs("stopped by --max-insts\n", out);
		break;
	}
}

static void put_child(FILE *out, const char *number, const char *program)
{
	char *shown = text_shown(program);

	fprintf(out, "child %s (%s): ", number, shown);
	free(shown);
}

void sim_print_summary(FILE *out, const struct guest *g, const struct sim_run *run)
{
	char number[NUMBER_COMMAS_BYTES], *text = NULL;
	double mips = sim_mips(run->insts, run->host_seconds);
	size_t size_bytes;
	/* Write the line in one piece: forked processes share the terminal. */
	FILE *line = open_memstream(&text, &size_bytes);

	if (!line)
		die("out of memory");
	/* cppcheck-suppress nullPointerRedundantCheck ; die() does not return */
	fputs("culprit: ", line);
	if (run->child)
		put_child(line, run->child, path_name(guest_program(g)));
	fprintf(line, "%s instructions", number_commas(run->insts, number));
	if (run->has_cycles)
		fprintf(line, ", %s cycles, IPC %.3f", number_commas(run->cycles, number),
			run->cycles ? (double)run->insts / (double)run->cycles : 0.0);
	fprintf(line, ", %.*f MIPS, %.3f s, ", mips < 10 ? 2 : 0, mips, run->host_seconds);
	put_end(line, run);
	if (fclose(line))
		die("out of memory");
	fputs(text, out);
	free(text);
}

static bool write_json(FILE *out, const struct guest *g, const struct sim_run *run)
{
	json_t *o = json_object(), *program = json_string(guest_program(g));
	bool ok;

	/* A JSON string must be UTF-8, a path need not be. */
	json_object_set_new(o, "program", program ? program : json_null());
	json_object_set_new(o, "machine", json_string(run->machine));
	json_object_set_new(o, "instructions", json_integer((json_int_t)run->insts));
	json_object_set_new(o, "cycles",
			    run->has_cycles ? json_integer((json_int_t)run->cycles) : json_null());
	json_object_set_new(o, "ipc",
			    run->has_cycles && run->cycles
				? json_real((double)run->insts / (double)run->cycles)
				: json_null());
	if (run->has_cycles) {
		json_object_set_new(o, "faults", json_integer((json_int_t)run->faults));
		json_object_set_new(o, "stepped_cycles", json_integer((json_int_t)run->stepped));
	}
	json_object_set_new(o, "exit_status",
			    run->status == GUEST_RUNNING ? json_null()
							 : json_integer(run->exit_status));
	json_object_set_new(o, "host_seconds", json_real(run->host_seconds));
	json_object_set_new(o, "mips", json_real(sim_mips(run->insts, run->host_seconds)));
	ok =
	    !json_dumpf(o, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) && fputc('\n', out) != EOF;
	json_decref(o);
	return ok;
}

static char *json_path(const struct sim *s)
{
	return x_asprintf("%s%s", s->options->summary_json, s->suffix ? s->suffix : "");
}

static bool is_summary(const uint8_t *head, size_t size, const char *path)
{
	return output_begins(head, size, "{\n  \"program\": ");
}

static const struct output_kind summary_kind = {
	.what = "a summary that culprit wrote",
	.option = "--summary-json",
	.is = is_summary,
};

bool sim_open_json(struct sim *s, struct err *e)
{
	char *path;

	if (!s->options->summary_json)
		return true;
	path = json_path(s);
	s->json = output_open(path, &summary_kind, e);
	free(path);
	return s->json;
}

bool sim_close_json(struct sim *s, bool write)
{
	struct output *json = s->json;
	struct err e = { "" };
	char *path;
	bool ok = write;

	if (!json)
		return true;
	s->json = NULL;
	path = json_path(s);
	if (write) {
		FILE *out = output_stream(json, &e);

		ok = out && (write_json(out, s->guest, &s->run) ||
			     err_set(&e, "cannot write '%s': %s", path, strerror(errno)));
		if (out && fclose(out) && ok)
			ok = err_set(&e, "cannot write '%s': %s", path, strerror(errno));
	}
	if (ok)
		ok = output_commit(json, &e);
	else
		output_discard(json);
	if (write && !ok)
		warn("sim: %s", e.text);
	free(path);
	return ok || !write;
}
