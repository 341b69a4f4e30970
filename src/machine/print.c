/* SPDX-License-Identifier: MIT */
/* Machines and the reference of their parameters as text. */
#include "machine/machine.h"

#include <string.h>

static void print_valid(const struct param *p, FILE *f)
{
	char all[128];

	if (p->choices)
		fprintf(f, "%s", machine_param_choices(p, all, sizeof(all)));
	else if (p->type == PARAM_IDEAL || p->type == PARAM_BOOL)
		fprintf(f, "%s", p->unit);
	else if (p->type != PARAM_TEXT)
		fprintf(f, "%s%.10g…%.10g %s", p->flags & PARAM_ZERO && p->min > 0 ? "0 or " : "",
			p->min, p->max, p->unit);
}

void machine_print(const struct machine *m, FILE *f)
{
	const char *section = "";

	fprintf(f, "; %s: every parameter of the machine, as resolved\n", m->name);
	for (size_t i = 0; i < machine_params_count; i++) {
		const struct param *p = &machine_params[i];
		char value[1024];

		if (!strcmp(p->section, "machine") && !strcmp(p->key, "base"))
			continue;
		if (strcmp(section, p->section))
			fprintf(f, "\n[%s]\n", section = p->section);
		machine_param_text(m, p, value, sizeof(value));
		fprintf(f, "; %s", p->help);
		if (p->type != PARAM_TEXT) {
			fprintf(f, " (");
			print_valid(p, f);
			fprintf(f, ")");
		}
		fprintf(f, "\n%s = %s\n", p->key, value);
	}
}

void machine_print_reference(FILE *f)
{
	const char *section = "";

	for (size_t i = 0; i < machine_params_count; i++) {
		const struct param *p = &machine_params[i];
		char value[1024];

		if (strcmp(section, p->section))
			fprintf(f,
				"\n### [%s]\n\n| key | default | valid | meaning |\n| --- | --- | "
				"--- | --- |\n",
				section = p->section);
		machine_param_text(&machine_default, p, value, sizeof(value));
		fprintf(f, "| `%s` | %s | ", p->key, value);
		print_valid(p, f);
		fprintf(f, " | %s |\n", p->help);
	}
}
