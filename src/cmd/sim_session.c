/* SPDX-License-Identifier: MIT */
/* culprit sim: tells the session (session.h) about the machine, the guest and the run. */
#include "cmd/sim.h"

#include <stdlib.h>
#include <string.h>

/* The resolved machine and the run's recipe as settings; values are allocated. */
static struct trace_setting *settings_new(const struct machine *config, const struct sim *s,
					  size_t *count)
{
	size_t n = machine_params_count, ncommand;
	struct trace_setting *command =
	    s->run.child ? sim_child_rows(s, &ncommand) : sim_command_rows(s, &ncommand);
	struct trace_setting *all = x_calloc(n + ncommand + 1, sizeof(*all));

	for (size_t i = 0; i < n; i++) {
		const struct param *p = &machine_params[i];
		char value[256];

		machine_param_text(config, p, value, sizeof(value));
		all[i] = (struct trace_setting){ p->section, p->key, x_strdup(value) };
	}
	if (ncommand)
		memcpy(all + n, command, ncommand * sizeof(*all));
	free(command);
	*count = n + ncommand;
	return all;
}

static struct trace_image *images_of(const struct guest *g, size_t *count)
{
	const struct guest_image *images;
	size_t n = guest_images(g, &images);
	struct trace_image *all = x_calloc(n + 1, sizeof(*all));

	for (size_t i = 0; i < n; i++)
		all[i] = (struct trace_image){ .path = images[i].path,
					       .name = images[i].name,
					       .start = images[i].start,
					       .end = images[i].end,
					       .bias = images[i].bias };
	*count = n;
	return all;
}

struct session *sim_session_open(struct sim *s, const struct trigger_cutter *before, struct err *e)
{
	struct machine config;
	struct trace_meta meta;
	struct session_setup setup = { .command = "sim",
				       .meta = &meta,
				       .machine = &config,
				       .debug_root = s->options->sysroot,
				       .seed = s->options->seed,
				       .suffix = s->suffix,
				       .program = s->program,
				       .before = before,
				       .interval = s->interval };

	if (!sim_timing_config(s->options, &config, e))
		return NULL;
	core_meta(s->core, &meta);
	meta.seed = s->options->seed;
	if (!s->program)
		s->program = x_strdup(meta.program);

	struct trace_setting *settings = settings_new(&config, s, &setup.nsettings);
	struct trace_image *images = images_of(s->guest, &setup.nimages);
	struct session *session;

	setup.settings = settings;
	setup.images = images;
	session = session_open(&s->options->session, &setup, e);
	for (size_t i = 0; i < setup.nsettings; i++)
		free((char *)settings[i].value);
	free(settings);
	free(images);
	if (session && session_emit(session) && s->relisten)
		core_relisten(s->core, session_emit(session));
	else if (session && session_emit(session))
		core_listen(s->core, session_emit(session));
	return session;
}

/* Whether a signal came after the end of the run; a second one ends culprit. */
static bool stop_asked(void)
{
	return sim_stop_signal() != 0;
}

bool sim_session_close(struct sim *s, struct err *e)
{
	const struct sim_run *run = &s->run;
	struct session_result result = { .insts = run->insts,
					 .cycles = run->cycles,
					 .ended = run->status != GUEST_RUNNING,
					 .exit_status = run->exit_status,
					 .host_seconds = run->host_seconds,
					 .stop = run->stop_signal ? NULL : stop_asked };
	struct trace_image *images = images_of(s->guest, &result.nimages);
	char *files = NULL, *folders = NULL, *input = NULL;
	bool ok;

	if (!s->run.child) {
		guest_notes(s->guest);
		files = sim_files_text(s->guest);
		folders = sim_folders_text(s->guest);
		input = sim_streams_kept(&s->streams);
	}
	result.images = images;
	result.waits = guest_waits(s->guest, &result.nwaits);
	result.files = files;
	result.folders = folders;
	result.input = input;
	result.key = s->run.child ? NULL : &s->key;
	ok = session_close(s->session, &result, e);
	s->session = NULL;
	free(files);
	free(folders);
	free(input);
	free(images);
	return ok;
}
