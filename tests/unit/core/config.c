/* SPDX-License-Identifier: MIT */
/* Machine files: reading, setting, checking, printing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "machine/machine.h"

static void test_300_every_shipped_machine_can_be_built(void **state)
{
	assert_true(machine_files_count >= 6);
	for (size_t i = 0; i < machine_files_count; i++) {
		struct machine c;
		struct err e;

		if (!machine_load(&c, machine_files[i].name, &e) || !machine_check(&c, &e))
			fail_msg("%s: %s", machine_files[i].name, e.text);
		assert_string_equal(c.name, machine_files[i].name);
		assert_true(c.summary[0]);
	}
}

static void test_301_a_printed_machine_reads_back_as_itself(void **state)
{
	for (size_t i = 0; i < machine_files_count; i++) {
		struct machine a, b;
		struct err e;
		char *text = NULL;
		size_t size;
		FILE *f = open_memstream(&text, &size);

		assert_true(machine_load(&a, machine_files[i].name, &e));
		assert_true(machine_set(&a, "ideal.dmiss=0x1234,0x5678", &e));
		machine_print(&a, f);
		fclose(f);
		if (!machine_parse(&b, text, "printed", &e))
			fail_msg("%s", e.text);
		for (size_t k = 0; k < machine_params_count; k++) {
			const struct param *p = &machine_params[k];
			char va[1024], vb[1024];

			if (!strcmp(p->key, "base"))
				continue;
			machine_param_text(&a, p, va, sizeof(va));
			machine_param_text(&b, p, vb, sizeof(vb));
			assert_string_equal(va, vb);
		}
		free(text);
	}
}

/* Returns the error message for a machine file with this text. */
static const char *message(const char *text, struct err *e)
{
	struct machine c;

	e->text[0] = 0;
	if (machine_parse(&c, text, "m.ini", e) && machine_check(&c, e))
		return "";
	return e->text;
}

static void test_302_a_mistyped_key_is_named_with_its_line_and_the_nearest(void **state)
{
	struct err e;

	assert_string_equal(
	    message("[window]\n\nrobb = 3\n", &e),
	    "m.ini:3: window.robb: there is no such key; the nearest is 'window.rob'");
	assert_non_null(strstr(message("[windw]\nrob = 3\n", &e), "m.ini:2: "));
	assert_non_null(strstr(e.text, "the nearest is 'window'"));
}

static void test_303_a_value_out_of_range_is_named_with_the_range(void **state)
{
	struct err e;

	assert_string_equal(message("[window]\nrob = 5000\n", &e),
			    "m.ini:2: window.rob = 5000: valid: 2…1024 insts");
	assert_non_null(strstr(message("[window]\nrob = 12x\n", &e), "m.ini:2: window.rob = 12x"));
	assert_non_null(strstr(message("[lsu]\norder = maybe\n", &e),
			       "valid: speculative, perfect, conservative"));
	assert_non_null(strstr(message("[ideal]\nwin = 0x1234\n", &e), "belongs to no single"));
}

static void test_304_parts_that_cannot_work_together_are_named(void **state)
{
	struct err e;

	assert_string_equal(
	    message("[window]\ncommit_width = 8\nrob = 4\n", &e),
	    "m.ini:3: window.rob = 4 is smaller than window.commit_width = 8; valid: "
	    "8…1024");
	assert_non_null(
	    strstr(message("[mem]\nline = 1024\n[l1d]\nsize = 512\nways = 1\n", &e), "l1d.size"));
	assert_non_null(strstr(message("[fetch]\nblock_bytes = 24\n", &e), "powers of two"));
}

static void test_305_text_that_is_no_machine_is_named_with_its_line(void **state)
{
	struct err e;

	assert_non_null(strstr(message("[window]\nrob\n", &e), "m.ini:2"));
	assert_non_null(strstr(message("rob = 3\n", &e), "m.ini:1"));
}

static void test_306_a_machine_can_start_from_another(void **state)
{
	struct machine c;
	struct err e;

	assert_true(
	    machine_parse(&c, "[machine]\nbase = fields2004\n[window]\nrob = 80\n", "m.ini", &e));
	assert_int_equal(c.rob, 80);
	assert_int_equal(c.issue_width, 6);
	assert_false(
	    machine_parse(&c, "[window]\nrob = 80\n[machine]\nbase = fields2004\n", "m.ini", &e));
	assert_false(machine_parse(&c, "[machine]\nbase = nowhere\n", "m.ini", &e));
}

static void test_307_set_needs_section_key_and_value(void **state)
{
	struct machine c;
	struct err e;

	c = machine_default;
	assert_true(machine_set(&c, "l1d.size=64k", &e));
	assert_int_equal(c.mem.cache[MEM_L1D].size_bytes, 65536);
	assert_false(machine_set(&c, "l1d.size", &e));
	assert_false(machine_set(&c, "size=3", &e));
	assert_true(machine_set(&c, "ideal.bmisp=on", &e));
	assert_int_equal(c.ideal_all, IDEAL_BMISP);
	assert_true(machine_set(&c, "bpred.direction=gshare", &e));
	assert_false(machine_set(&c, "bpred.direction=oracle", &e));
}

static void test_308_the_papers_tables_are_in_the_machines(void **state)
{
	struct machine c;
	struct err e;

	assert_true(machine_load(&c, "boom-tip", &e)); /* tip2021, table A.1 */
	assert_int_equal(c.rob, 128);
	assert_int_equal(c.fetch_width, 8);
	assert_int_equal(c.fetch_buffer, 32);
	assert_int_equal(c.fetch_targets, 40);
	assert_int_equal(c.branches, 20);
	assert_int_equal(c.mem_queue, 24);
	assert_int_equal(c.int_queue, 40);
	assert_int_equal(c.fp_queue, 32);
	assert_int_equal(c.mem.cache[MEM_LLC].size_bytes, 4 << 20);
	const struct machine tip = c;

	/* tracedoctor2023, table C.1: the same lines with another bandwidth. */
	assert_true(machine_load(&c, "tracedoctor2023", &e));
	assert_int_equal(c.mem.mem.bytes_per_kcycle, 5000); /* 16 GB/s at 3.2 GHz */
	assert_int_equal(tip.mem.mem.bytes_per_kcycle, 8000);
	assert_int_equal(c.rob, tip.rob);
	assert_int_equal(c.fetch_targets, 40);
	assert_int_equal(c.branches, 20);
	assert_int_equal(c.mem.cache[MEM_L2].mshrs, 12);
	assert_int_equal(c.mem.cache[MEM_LLC].mshrs, 8);
	assert_true(machine_load(&c, "boom-tea", &e)); /* tea2023, table B.2 */
	assert_int_equal(c.rob, 192);
	assert_int_equal(c.mem.cache[MEM_L1D].mshrs, 16);
	assert_int_equal(c.mem.cache[MEM_L2].size_bytes, 0);
	assert_true(machine_load(&c, "fields2004", &e)); /* table VII */
	assert_int_equal(c.unified_queue, 64);
	assert_int_equal(c.fetch_taken, 2);
	assert_int_equal(c.mem.mem.latency, 100);
	assert_true(machine_load(&c, "eyerman2006", &e)); /* table 2 */
	assert_int_equal(c.shared_queue, 64);
	assert_int_equal(c.mem.mem.latency, 250);
	assert_true(machine_load(&c, "puzak2007", &e)); /* sections 4 and 5 */
	assert_int_equal(c.rob, 32);
	assert_int_equal(c.mem.line_bytes, 128);
}

static void test_309_no_text_is_too_strange_to_be_read(void **state)
{
	struct rng r;

	rng_seed(&r, 309);
	for (unsigned i = 0; i < 400; i++) {
		char *text = x_strdup(machine_files[rng_below(&r, machine_files_count)].text);
		size_t n = strlen(text);
		struct machine c;
		struct err e;

		for (unsigned k = 0; k < 1 + i % 8; k++)
			text[rng_below(&r, n)] = (char)(1 + rng_below(&r, 255));
		e.text[0] = 0;
		if (!machine_parse(&c, text, "m.ini", &e) || !machine_check(&c, &e))
			assert_true(e.text[0]);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_300_every_shipped_machine_can_be_built),
		cmocka_unit_test(test_301_a_printed_machine_reads_back_as_itself),
		cmocka_unit_test(test_302_a_mistyped_key_is_named_with_its_line_and_the_nearest),
		cmocka_unit_test(test_303_a_value_out_of_range_is_named_with_the_range),
		cmocka_unit_test(test_304_parts_that_cannot_work_together_are_named),
		cmocka_unit_test(test_305_text_that_is_no_machine_is_named_with_its_line),
		cmocka_unit_test(test_306_a_machine_can_start_from_another),
		cmocka_unit_test(test_307_set_needs_section_key_and_value),
		cmocka_unit_test(test_308_the_papers_tables_are_in_the_machines),
		cmocka_unit_test(test_309_no_text_is_too_strange_to_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
