/* SPDX-License-Identifier: MIT */
/* Loads a kernel into a guest, runs it on a machine and checks how it ends (harness.h). */
#include "harness.h"

#include <inttypes.h>
#include <string.h>

void config_of(struct machine *c, const char *machine, const char *const *sets)
{
	struct err e;

	if (!machine_load(c, machine, &e))
		fail_msg("%s", e.text);
	for (; sets && *sets; sets++)
		if (!machine_set(c, *sets, &e))
			fail_msg("%s", e.text);
}

char *const kernel_environment[] = { "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/", "LANG=C",
				     NULL };

struct core_stats run_kernel(const struct kernel_run *k, uint64_t rounds)
{
	char number[32], count[32], size[32], stride[32];
	char *kernel_args[] = { (char *)KERNELS, number, count, size, stride, NULL };
	char *program_args[8] = { (char *)k->program };
	struct guest_config guest_config = { .argv = k->program ? program_args : kernel_args,
					     .envp = (char **)kernel_environment,
					     .streams = k->streams };
	struct machine config;
	struct err e;

	snprintf(number, sizeof(number), "%u", k->kernel);
	snprintf(count, sizeof(count), "%" PRIu64, rounds);
	snprintf(size, sizeof(size), "%u", k->size ? k->size : 4096);
	snprintf(stride, sizeof(stride), "%u", k->stride ? k->stride : 64);
	for (unsigned i = 0; k->args && k->args[i] && i < 6; i++)
		program_args[i + 1] = (char *)k->args[i];
	config_of(&config, k->machine, k->sets);

	struct guest *g = guest_new(&guest_config, &e);

	if (!g)
		fail_msg("%s", e.text);

	struct core *c = core_new(&config, g, k->emit, &e);

	if (!c)
		fail_msg("%s", e.text);
	if (k->check)
		core_checked(c);
	assert_int_equal(core_run(c, 0), CORE_ENDED);

	struct core_stats stats = *core_stats(c);

	/* The core committed exactly the instructions that the guest executed. */
	assert_int_equal(stats.insts, guest_insts(g) + stats.faults);
	if (!k->ends_badly)
		assert_int_equal(guest_exit_status(g), 0);
	if (k->twin)
		*k->twin = *core_twin_stats(c);
	core_free(c);
	guest_free(g);
	return stats;
}

double cycles_per_round(const struct kernel_run *k, uint64_t from, uint64_t to)
{
	uint64_t a = run_kernel(k, from).cycles, b = run_kernel(k, to).cycles;

	return ((double)b - (double)a) / (double)(to - from);
}

/* Chooses a value of the parameter, small ones more often than large ones. */
static void random_value(const struct param *p, struct rng *r, char *text, size_t size)
{
	if (p->type == PARAM_CHOICE) {
		unsigned n = 0;

		while (p->choices[n])
			n++;
		snprintf(text, size, "%s", p->choices[rng_below(r, n)]);
		return;
	}
	if (p->type == PARAM_BOOL || p->type == PARAM_IDEAL) {
		snprintf(text, size, "%s",
			 rng_below(r, p->type == PARAM_IDEAL ? 8 : 2) == 1 ? "on" : "off");
		return;
	}

	uint64_t span = (uint64_t)(p->max - p->min), bits = 0;

	while (bits < 40 && span >> bits)
		bits++;

	uint64_t v = rng_next(r) & ((1ull << rng_below(r, (bits < 8 ? bits : 8) + 1)) - 1);

	snprintf(text, size, "%.0f", p->min + (double)(v > span ? span : v));
}

bool random_machine(struct rng *r, struct random_machine *m)
{
	struct machine c;
	struct err e;
	unsigned n = 0;
	bool ok = true;

	m->name = machine_files[rng_below(r, machine_files_count)].name;
	config_of(&c, m->name, NULL);
	while (n < ARRAY_LEN(m->sets)) {
		const struct param *p = &machine_params[rng_below(r, machine_params_count)];
		char value[64];

		if (p->type == PARAM_TEXT || p->type == PARAM_REAL ||
		    !strcmp(p->section, "bpred") || strstr(p->key, "page") ||
		    !strcmp(p->key, "size"))
			continue;
		random_value(p, r, value, sizeof(value));
		snprintf(m->sets[n], sizeof(m->sets[n]), "%s.%s=%s", p->section, p->key, value);
		m->list[n] = m->sets[n];
		ok = ok && machine_set(&c, m->sets[n], &e);
		n++;
		if (rng_below(r, 12) == 0)
			break;
	}
	m->list[n] = NULL;
	return ok && machine_check(&c, &e);
}
