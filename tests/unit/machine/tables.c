/* SPDX-License-Identifier: MIT */
/* Every machine file that bears a paper's table against the machine that it makes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "machine/machine.h"

#define ROWS_LEAST 25 /* of the shortest table */

/* The machines that are papers' tables. */
static const char *const papers[] = { "eyerman2006-table", "fields2004-table", "tea2023", "tip2021",
				      "tracedoctor2023" };

struct reading {
	const char *name;
	struct machine m;
	unsigned rows;
	bool named[MACHINE_PARAMS_MAX]; /* parameters that a row gives */
};

static const char *value(const struct machine *m, const struct param *p, char *text, size_t size)
{
	machine_param_text(m, p, text, size);
	return text;
}

/* One "section.key = value" of a row. */
static void compare(struct reading *r, const struct machine_row *row, char *assignment)
{
	char *dot = strchr(assignment, '.'), *equals = strchr(assignment, '=');
	char key[64], there[256], here[256];
	struct machine said = r->m;
	struct err e;

	if (!dot || !equals || dot > equals)
		fail_msg("%s: row '%s': not an assignment: %s", r->name, row->paper, assignment);
	*dot = 0;
	snprintf(key, sizeof(key), "%.*s", (int)strcspn(dot + 1, " ="), dot + 1);

	const struct param *p = machine_param_find(assignment, key, &e);

	if (!p || !machine_param_set(&said, p, equals + 1 + strspn(equals + 1, " "), &e))
		fail_msg("%s: row '%s': %s", r->name, row->paper, e.text);
	if (strcmp(value(&said, p, there, sizeof(there)), value(&r->m, p, here, sizeof(here))))
		fail_msg("%s: row '%s': %s.%s = %s in the table, %s in the machine", r->name,
			 row->paper, p->section, p->key, there, here);
	r->named[p - machine_params] = true;
}

static bool take_row(void *ctx, const struct machine_row *row, struct err *e)
{
	struct reading *r = ctx;
	char *ours = x_strdup(row->ours), *rest = NULL;

	(void)e;
	if (!r->rows++) {
		assert_string_equal(row->part, "part");
		assert_int_equal(strncmp(row->paper, "the paper (table ", 17), 0);
		assert_string_equal(row->ours, "ours");
		assert_string_equal(row->why, "why");
		free(ours);
		return true;
	}
	/* what the paper does not say has a reason */
	if (!strcmp(row->paper, "-") && !*row->why)
		fail_msg("%s: '%s': neither in the paper nor with a reason", r->name, row->ours);
	for (char *a = strtok_r(ours, ",", &rest); a; a = strtok_r(NULL, ",", &rest))
		compare(r, row, a + strspn(a, " "));
	free(ours);
	return true;
}

static void read_table(struct reading *r, const char *name)
{
	struct err e;

	*r = (struct reading){ .name = name };
	if (!machine_load(&r->m, name, &e) || !machine_check(&r->m, &e) ||
	    !machine_table(name, take_row, r, &e))
		fail_msg("%s", e.text);
}

static void test_1620_every_row_of_a_papers_table_is_what_its_machine_has(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(papers); i++) {
		struct reading r;

		read_table(&r, papers[i]);
		assert_true(r.rows >= ROWS_LEAST);
	}
}

/* A parameter of a cache that the machine does not have. */
static bool is_absent(const struct machine *m, const struct param *p)
{
	const bool l2 = !strcmp(p->section, "l2"), llc = !strcmp(p->section, "llc");

	return (l2 && !m->mem.cache[MEM_L2].size_bytes) ||
	       (llc && !m->mem.cache[MEM_LLC].size_bytes);
}

static void test_1621_every_parameter_of_a_papers_machine_has_a_row(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(papers); i++) {
		struct reading r;
		char here[256], usual[256];

		read_table(&r, papers[i]);
		for (size_t k = 0; k < machine_params_count; k++) {
			const struct param *p = &machine_params[k];

			if (strcmp(value(&r.m, p, here, sizeof(here)),
				   value(&machine_default, p, usual, sizeof(usual))) &&
			    !r.named[k] && p->type != PARAM_TEXT && !is_absent(&r.m, p))
				fail_msg("%s: no row gives %s.%s = %s", papers[i], p->section,
					 p->key, here);
		}
	}
}

static void test_1622_no_other_machine_has_a_table_that_nobody_compares(void **state)
{
	for (size_t i = 0; i < machine_files_count; i++) {
		struct reading r;
		bool listed = false;

		for (size_t k = 0; k < ARRAY_LEN(papers); k++)
			listed |= !strcmp(papers[k], machine_files[i].name);
		read_table(&r, machine_files[i].name);
		assert_int_equal(listed, r.rows > 0);
	}
}

static void test_1623_no_papers_machine_but_the_declared_one_has_an_indirect_predictor(void **state)
{
	struct machine m;
	struct err e;

	for (size_t i = 0; i < ARRAY_LEN(papers); i++) {
		assert_true(machine_load(&m, papers[i], &e));
		assert_int_equal(m.bpred.indirect_entries,
				 strcmp(papers[i], "tracedoctor2023") ? 0 : 256);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_1620_every_row_of_a_papers_table_is_what_its_machine_has),
		cmocka_unit_test(test_1621_every_parameter_of_a_papers_machine_has_a_row),
		cmocka_unit_test(test_1622_no_other_machine_has_a_table_that_nobody_compares),
		cmocka_unit_test(
		    test_1623_no_papers_machine_but_the_declared_one_has_an_indirect_predictor),
	};

	return cmocka_run_group_tests_name("machine: tables of papers", tests, NULL, NULL);
}
