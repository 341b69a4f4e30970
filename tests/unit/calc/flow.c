/* SPDX-License-Identifier: MIT */
/*
 * Methods profi, flow and bit, and the evidence of commit states, on random programs whose every count is
 * known.
 */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "calc/parts.h"
#include "scene.h"

extern const struct calc_method calc_dcpi;

#define SEEDS 6

static struct scene_score mean_score(struct scene_options o, const struct calc_method *method)
{
	struct scene_score sum = { 0 };
	for (o.seed = 1; o.seed <= SEEDS; o.seed++) {
		struct scene *s = scene_new(&o);
		scene_run(s, method);
		struct scene_score r = scene_score(s);
		for (unsigned k = 0; k < 3; k++) {
			sum.blocks[k] += r.blocks[k] / SEEDS;
			sum.edges[k] += r.edges[k] / SEEDS;
		}
		sum.wrong += r.wrong / SEEDS;
		sum.high += r.high / SEEDS;
		sum.interval += r.interval / SEEDS;
		scene_free(s);
	}
	print_message("%-6s blocks within 5, 10, 15%%: %3.0f %3.0f %3.0f, edges %3.0f %3.0f %3.0f; "
		      "high %3.0f, wrong %.1f, interval %3.0f\n",
		      method->name, 100 * sum.blocks[0], 100 * sum.blocks[1], 100 * sum.blocks[2],
		      100 * sum.edges[0], 100 * sum.edges[1], 100 * sum.edges[2], 100 * sum.high,
		      100 * sum.wrong, 100 * sum.interval);
	return sum;
}

static const struct scene_options usual = { .procs = 12,
					    .size = 40,
					    .steps = 40000,
					    .times = 1000,
					    .samples = 100000,
					    .stalls = 0.4 };

static void assert_ahead(const struct scene_score *a, const struct scene_score *b)
{
	for (unsigned k = 0; k < 3; k++) {
		assert_true(a->blocks[k] > b->blocks[k]);
		assert_true(a->edges[k] > b->edges[k]);
	}
}

static void test_2610_flow_is_ahead_of_profi_and_of_propagation(void **state)
{
	for (unsigned irreducible = 0; irreducible < 2; irreducible++) {
		struct scene_options o = usual;
		o.irreducible = irreducible;
		struct scene_score dcpi = mean_score(o, &calc_dcpi);
		struct scene_score profi = mean_score(o, &calc_profi);
		struct scene_score flow = mean_score(o, &calc_flow);
		assert_ahead(&flow, &profi);
		assert_ahead(&flow, &dcpi);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2610_flow_is_ahead_of_profi_and_of_propagation),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
