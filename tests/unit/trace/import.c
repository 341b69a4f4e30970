/* SPDX-License-Identifier: MIT */
/* 550: gem5's O3PipeView as a source of records, and as an export format. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "isa/isa.h"
#include "trace/export.h"
#include "trace/import.h"

#define MAX_INSTS  100
#define MAX_CYCLES 100

struct keep {
	struct emit emit;
	struct rec_inst insts[MAX_INSTS];
	struct rec_cycle cycles[MAX_CYCLES];
};

static void never_full(struct emit *e)
{
	fail_msg("more records than expected");
}

static bool import_text(const char *text, struct keep *k, struct err *e)
{
	FILE *f = fmemopen((void *)text, strlen(text), "r");
	assert_non_null(f);
	memset(k, 0, sizeof(*k));
	k->emit = (struct emit){ .insts = k->insts,
				 .cycles = k->cycles,
				 .max_insts = MAX_INSTS,
				 .max_cycles = MAX_CYCLES,
				 .wants = WANT_CYCLES | WANT_INSTS | WANT_SQUASHED,
				 .full = never_full };
	struct o3_import *im = import_o3pipeview_open(f, "text", e);
	bool ok = im && import_o3pipeview_feed(im, &k->emit, e);
	if (ok)
		assert_true(import_o3pipeview_info(im)->absent & WANT_PRODUCERS);
	import_o3pipeview_close(im);
	fclose(f);
	return ok;
}

#define INST(fetch, pc, seq, text, decode, rename, dispatch, issue, complete, retire)              \
	"O3PipeView:fetch:" #fetch ":" #pc ":0:" #seq ":" text "\n"                                \
	"O3PipeView:decode:" #decode "\nO3PipeView:rename:" #rename                                \
	"\nO3PipeView:dispatch:" #dispatch "\nO3PipeView:issue:" #issue                            \
	"\nO3PipeView:complete:" #complete "\nO3PipeView:retire:" #retire ":store:0\n"

/* A load, a mispredicted branch, two squashed instructions, and the branch's target; gem5 writes
 * the squashed ones first. */
static const char sample[] = INST(2000, 0x00010008, 7, "c_add a4, a2", 2500, 0, 0, 0, 0, 0)
    INST(2000, 0x00010006, 6, "c_mv a5, a0", 2500, 3000, 0, 0, 0, 0)
	INST(1000, 0x00010000, 4, "ld a5, 8(a3)", 1500, 2000, 2500, 3000, 5000, 5500)
	    INST(1000, 0x00010004, 5, "c_beqz a5, 16", 1500, 2000, 2500, 5000, 5500,
		 6000) "system.cpu: something else\n" INST(6500, 0x00010014, 9, "sd a5, 0(a0)",
							   7000, 7500, 8000, 8500, 9000, 9500);

static const struct rec_inst *find(const struct keep *k, uint64_t seq)
{
	for (size_t i = 0; i < k->emit.ninsts; i++)
		if (k->insts[i].seq == seq)
			return &k->insts[i];
	fail_msg("no instruction %llu", (unsigned long long)seq);
	return NULL;
}

static void test_551_imported_instructions_have_their_stamps_in_cycles(void **state)
{
	static struct keep k;
	struct err e = { "" };
	assert_true(import_text(sample, &k, &e));
	assert_int_equal(k.emit.ninsts, 5);
	const struct rec_inst *load = &k.insts[0];
	assert_int_equal(load->fetch, 2);
	assert_int_equal(load->decode, 1);
	assert_int_equal(load->dispatch, 3);
	assert_int_equal(load->ready, STAMP_NONE);
	assert_int_equal(load->issue, 4);
	assert_int_equal(load->complete, 8);
	assert_int_equal(load->commit, 9);
	assert_int_equal(load->cls, CLASS_LOAD);
	assert_true(load->flags & RI_LOAD);
	assert_int_equal(load->size, 8);
}

static void test_552_committed_ones_are_numbered_in_program_order(void **state)
{
	static struct keep k;
	struct err e = { "" };
	uint64_t po = 1;
	assert_true(import_text(sample, &k, &e));
	uint64_t seq = 0;
	for (size_t i = 0; i < k.emit.ninsts; i++) {
		if (!(k.insts[i].flags & RI_COMMITTED))
			continue;
		assert_true(k.insts[i].seq > seq);
		assert_int_equal(k.insts[i].po, po++);
		seq = k.insts[i].seq;
	}
	assert_int_equal(po, 4);
}

static void test_553_a_branch_learns_direction_and_mispredict_from_what_follows(void **state)
{
	static struct keep k;
	struct err e = { "" };
	assert_true(import_text(sample, &k, &e));
	const struct rec_inst *branch = find(&k, 5);
	assert_true(branch->flags & RI_BRANCH);
	assert_true(branch->flags & RI_TAKEN);
	assert_true(branch->flags & RI_MISPREDICT);
	assert_int_equal(branch->target, 0x10014);
	assert_int_equal(k.insts[0].target, 0x10004);
	assert_false(k.insts[0].flags & RI_TAKEN);
}

static void test_554_what_is_not_whole_is_refused_with_its_line(void **state)
{
	static struct keep k;
	struct err e = { "" };
	char *cut = x_strndup(sample, sizeof(sample) - 40);
	assert_false(import_text(cut, &k, &e));
	assert_non_null(strstr(e.text, "not whole O3PipeView"));
	assert_non_null(strstr(e.text, "text:3"));
	free(cut);
	assert_false(import_text("O3PipeView:decode:5\n", &k, &e));
	assert_non_null(strstr(e.text, "'fetch' is missing"));
	assert_false(import_text("O3PipeView:fetch:x:0x1:0:1:nop\n", &k, &e));
	assert_non_null(strstr(e.text, "number"));
	assert_false(import_text("nothing of the kind\n", &k, &e));
}

static void test_555_an_exported_window_reads_back_the_same(void **state)
{
	static struct keep k, again;
	struct err e = { "" };
	char *text = NULL;
	size_t size;
	struct trace_info info = { 0 };
	assert_true(import_text(sample, &k, &e));
	for (size_t i = 0; i < k.emit.ninsts; i++) {
		static const uint32_t words[] = {
			0x0085b783, 0xc791, 0x87aa, 0x9732, 0, 0x00f53023
		};
		k.insts[i].word = words[k.insts[i].seq - 4];
	}
	FILE *f = open_memstream(&text, &size);
	assert_true(export_o3pipeview(
	    f, &info, &(struct window_records){ .insts = k.insts, .ninsts = k.emit.ninsts }, 500));
	fclose(f);
	assert_true(import_text(text, &again, &e));
	assert_int_equal(again.emit.ninsts, k.emit.ninsts);
	for (size_t i = 0; i < k.emit.ninsts; i++) {
		assert_int_equal(again.insts[i].pc, k.insts[i].pc);
		assert_int_equal(again.insts[i].seq, k.insts[i].seq);
		assert_int_equal(again.insts[i].fetch, k.insts[i].fetch);
		assert_int_equal(again.insts[i].issue, k.insts[i].issue);
		assert_int_equal(again.insts[i].complete, k.insts[i].complete);
		assert_int_equal(again.insts[i].cls, k.insts[i].cls);
	}
	free(text);
}

static void test_556_a_kanata_log_has_stages_arrows_and_ends_in_order_of_time(void **state)
{
	static struct keep k;
	struct err e = { "" };
	char *text = NULL;
	size_t size;
	struct trace_info info = { 0 };
	assert_true(import_text(sample, &k, &e));
	struct rec_inst *branch = (struct rec_inst *)find(&k, 5);
	branch->prod[0] = 1;
	k.insts[0].lat_dmiss = 5;
	k.insts[0].dlevel = LEVEL_MEM;
	FILE *f = open_memstream(&text, &size);
	assert_true(export_kanata(
	    f, &info, &(struct window_records){ .insts = k.insts, .ninsts = k.emit.ninsts }));
	fclose(f);
	assert_memory_equal(text, "Kanata\t0004\nC=\t2\nI\t0\t4\t0\n", 25);
	assert_non_null(strstr(text, "\nW\t3\t0\t0\n"));   /* the branch waits for the load */
	assert_non_null(strstr(text, "\nS\t0\t1\tmem\n")); /* in the stall lane */
	assert_non_null(strstr(text, "\nR\t0\t0\t0\n"));   /* retired */
	assert_non_null(strstr(text, "\nR\t2\t0\t1\n"));   /* flushed */
	assert_non_null(strstr(text, "\nC\t"));
	free(text);
}

/* The states of commit, cycle by cycle: c commits, s stalled, f flushed, d drained. */
static void states(const struct keep *k, char *out)
{
	uint64_t next = k->cycles[0].cycle;

	for (size_t i = 0; i < k->emit.ncycles; i++) {
		const struct rec_cycle *c = &k->cycles[i];
		const char state = c->ncommit			  ? 'c'
				   : !(c->flags & RC_ROB_EMPTY)	  ? 's'
				   : c->flush_cause != FLUSH_NONE ? 'f'
								  : 'd';

		assert_int_equal(c->cycle, next);
		assert_true(c->repeat == 1 || !(c->ncommit | c->ndispatch | c->nfetch));
		next += c->repeat;
		for (uint32_t n = 0; n < c->repeat; n++)
			*out++ = state;
	}
	*out = '\0';
}

static void test_557_cycles_are_rebuilt_from_stamps_and_cover_the_run(void **state)
{
	static struct keep k;
	struct err e = { "" };
	char text[MAX_CYCLES];
	unsigned commits = 0, dispatches = 0;

	assert_true(import_text(sample, &k, &e));
	states(&k, text);
	/* 2 to 5 fetch; the load enters in 5, commits in 11; the branch in 12; its target enters in 16 */
	assert_string_equal(text, "ddddsssssccffffssc");
	for (size_t i = 0; i < k.emit.ncycles; i++) {
		commits += k.cycles[i].ncommit;
		dispatches += k.cycles[i].ndispatch;
		assert_true(k.cycles[i].flush_cause == FLUSH_NONE ||
			    (k.cycles[i].flush_cause == FLUSH_MISPREDICT &&
			     k.cycles[i].flush_pc == 0x10004));
	}
	assert_int_equal(commits, 3);
	assert_int_equal(dispatches, 3);
}

static void test_558_what_was_squashed_and_came_again_was_flushed_not_mispredicted(void **state)
{
	/* A status-register access that flushes as it commits; a load that read too early. */
	static const char csr[] =
	    INST(1000, 0x10000, 1, "csrrs a0, fflags, zero", 1500, 2000, 2500, 3000, 3500, 4000)
		INST(1500, 0x10004, 2, "addi a0, a0, 1", 2000, 2500, 3000, 0, 0, 0)
		    INST(5000, 0x10004, 3, "addi a0, a0, 1", 5500, 6000, 6500, 7000, 7500, 8000);
	static const char order[] =
	    INST(1000, 0x10000, 1, "sd a0, 0(a1)", 1500, 2000, 2500, 3000, 3500, 4000)
		INST(1000, 0x10004, 2, "ld a0, 0(a2)", 1500, 2000, 2500, 3000, 3500, 0)
		    INST(5000, 0x10004, 3, "ld a0, 0(a2)", 5500, 6000, 6500, 7000, 7500, 8000);
	static struct keep k;
	struct err e = { "" };
	char text[MAX_CYCLES];

	assert_true(import_text(csr, &k, &e));
	states(&k, text);
	assert_string_equal(text, "ddddsscfffffssc");
	assert_int_equal(find(&k, 1)->psv, PSV_FL_CSR);
	assert_int_equal(k.cycles[k.emit.ncycles - 1].flush_pc, 0x10000);
	assert_true(import_text(order, &k, &e));
	states(&k, text);
	assert_string_equal(text, "ddddsscsffffssc");
	assert_int_equal(find(&k, 3)->psv, PSV_FL_MO);
	assert_int_equal(find(&k, 2)->po, find(&k, 3)->po);
	assert_int_equal(k.cycles[k.emit.ncycles - 1].flush_po, find(&k, 3)->po);
}

static void test_559_stamps_that_no_pipeline_has_are_refused_or_put_in_order(void **state)
{
	static const char late[] = INST(1000, 0x10000, 1, "nop", 0, 0, 0, 0, 0, 4000)
	    INST(1000, 0x10004, 2, "nop", 0, 0, 0, 0, 0, 3000);
	static const char never[] = INST(1, 0x10000, 1, "nop", 0, 0, 0, 0, 0, 18446744073709551615);
	static const char far[] = INST(3, 0x10000, 1, "nop", 0, 0, 0, 0, 0, 4)
	    INST(18446744073709551600, 0x10004, 2, "nop", 0, 0, 0, 0, 0, 18446744073709551601);
	static struct keep k;
	struct err e = { "" };

	assert_true(import_text(late, &k, &e));
	assert_int_equal(k.emit.ninsts, 2);
	assert_int_equal(k.insts[0].seq, 1);
	assert_int_equal(k.insts[1].fetch + k.insts[1].commit,
			 k.insts[0].fetch + k.insts[0].commit);
	assert_false(import_text(never, &k, &e));
	assert_non_null(strstr(e.text, "takes too long"));
	assert_false(import_text(far, &k, &e));
	assert_non_null(strstr(e.text, "too far from the first"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_551_imported_instructions_have_their_stamps_in_cycles),
		cmocka_unit_test(test_552_committed_ones_are_numbered_in_program_order),
		cmocka_unit_test(
		    test_553_a_branch_learns_direction_and_mispredict_from_what_follows),
		cmocka_unit_test(test_554_what_is_not_whole_is_refused_with_its_line),
		cmocka_unit_test(test_555_an_exported_window_reads_back_the_same),
		cmocka_unit_test(test_556_a_kanata_log_has_stages_arrows_and_ends_in_order_of_time),
		cmocka_unit_test(test_557_cycles_are_rebuilt_from_stamps_and_cover_the_run),
		cmocka_unit_test(
		    test_558_what_was_squashed_and_came_again_was_flushed_not_mispredicted),
		cmocka_unit_test(test_559_stamps_that_no_pipeline_has_are_refused_or_put_in_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
