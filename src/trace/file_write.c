/* SPDX-License-Identifier: MIT */
/*
 * The analyses that write a trace file, with all records or with committed instructions alone.
 * Records are coded as they come; a full block is compressed and written at once. The file gets its
 * name when its index has been written. If the disk fills up or the run fails, it gets its name
 * without an index; `--salvage` reads such a file.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "trace/file_format.h"
#include "util/output.h"

struct trace_writer {
	struct output *file; /* NULL: not open */
	char *path;
	const struct trace_info *info;
	struct trace_meta meta;
	struct codec *codec;
	struct bytes out; /* the block being put together: head and payload */
	struct bytes index;
	uint64_t offset; /* where the next block goes */
	uint64_t info_offset;
	struct block_head head; /* of the block being filled */
	bool has_cycles, has_insts;
	bool brief;    /* writes committed instructions alone */
	unsigned more; /* WANT_MISSES and WANT_TWIN that the file has; none: version 1 */
};

#define BRIEF_INSTS 512 /* brief records handed to the codec at once */
#define BRIEF_AHEAD 16	/* how many records ahead to prefetch */
#define WANT_MORE   (WANT_MISSES | WANT_TWIN)
#define BRIEF_ABSENT                                                                               \
	(WANT_CYCLES | WANT_HEAD | WANT_SQUASHED | WANT_PRODUCERS | WANT_LATENCIES | WANT_FETCH)

static bool write_all(struct trace_writer *w, const uint8_t *data, size_t size, struct err *e)
{
	while (size) {
		ssize_t n = write(output_fd(w->file), data, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_set(e, "cannot write %s: %s%s", w->path,
				       strerror(n ? errno : ENOSPC),
				       w->index.size ? "; what was written before can be used "
						       "with --salvage"
						     : "");
		data += n;
		size -= (size_t)n;
		w->offset += (size_t)n;
	}
	return true;
}

/* Writes a block; w->out holds room for its head, then the payload. */
static bool write_block(struct trace_writer *w, struct block_head *h, struct err *e)
{
	h->payload_bytes = w->out.size - BLOCK_HEAD_BYTES;
	block_head_put(w->out.data, h, w->out.data + BLOCK_HEAD_BYTES);
	return write_all(w, w->out.data, w->out.size, e);
}

static void begin_payload(struct trace_writer *w)
{
	w->out.size = 0;
	bytes_reserve(&w->out, BLOCK_HEAD_BYTES);
	w->out.size = BLOCK_HEAD_BYTES;
}

static bool write_info(struct trace_writer *w, struct err *e)
{
	struct block_head h = { .kind = BLOCK_INFO };
	struct trace_info info = w->info ? *w->info : (struct trace_info){ .meta = w->meta };
	if (w->brief)
		info.absent |= BRIEF_ABSENT;
	info.absent &= ~(unsigned)WANT_MORE;
	if (w->more)
		info.absent |= WANT_MORE & ~w->more;
	begin_payload(w);
	info_write(&info, &w->out);
	info_pack(&w->out, BLOCK_HEAD_BYTES);
	w->info_offset = w->offset;
	return write_block(w, &h, e);
}

static void begin_records(struct trace_writer *w)
{
	codec_begin(w->codec);
	w->head = (struct block_head){ .kind = BLOCK_RECORDS };
	w->has_cycles = w->has_insts = false;
}

static bool flush_records(struct trace_writer *w, struct err *e)
{
	struct block_head *h = &w->head;
	uint8_t entry[INDEX_ENTRY_BYTES];
	h->ninsts = (uint32_t)codec_insts(w->codec);
	h->ncycles = (uint32_t)codec_cycles(w->codec);
	if (!h->ninsts && !h->ncycles && !codec_misses(w->codec, NULL) &&
	    !codec_twins(w->codec, NULL))
		return true;
	begin_payload(w);
	codec_finish(w->codec, &w->out);
	const uint64_t offset = w->offset;
	if (!write_block(w, h, e))
		return false;
	const struct trace_block block = block_entry(offset, h);
	index_entry_put(entry, &block);
	bytes_put(&w->index, entry, sizeof(entry));
	begin_records(w);
	return true;
}

static void trace_free(void *state);

static bool is_trace(const uint8_t *head, size_t size, const char *path)
{
	return output_begins(head, size, TRACE_MAGIC);
}

static const struct output_kind trace_kind = {
	.what = "a culprit trace",
	.option = "--trace",
	.is = is_trace,
};

static bool trace_start(void *state, const struct trace_meta *meta,
			const struct analysis_options *o, struct err *e)
{
	struct trace_writer *w = state;
	uint8_t head[TRACE_HEAD_BYTES] = { 0 };
	w->path = analysis_path(o, "trace", "trace");
	w->info = o->info;
	w->meta = *meta;
	w->file = output_open(w->path, &trace_kind, e);
	if (!w->file) {
		trace_free(w);
		return false;
	}
	w->codec = codec_new(meta);
	memcpy(head, TRACE_MAGIC, 8);
	put_u32(head + 8, 1);
	begin_records(w);
	if (write_all(w, head, sizeof(head), e) && write_info(w, e))
		return true;
	trace_free(w);
	return false;
}

static void note_insts(struct trace_writer *w, const struct rec_inst *insts, size_t count)
{
	size_t last = count;
	for (size_t i = 0; i < count && !w->has_insts; i++)
		if (insts[i].flags & RI_COMMITTED) {
			w->head.first_po = insts[i].po;
			w->has_insts = true;
		}
	while (last-- > 0)
		if (insts[last].flags & RI_COMMITTED) {
			w->head.end_po = insts[last].po + 1;
			break;
		}
}

static bool trace_batch(void *state, const struct rec_inst *insts, size_t ninsts,
			const struct rec_cycle *cycles, size_t ncycles, struct err *e)
{
	struct trace_writer *w = state;
	if (codec_insts(w->codec) + ninsts > CODEC_INSTS_MAX ||
	    codec_cycles(w->codec) + ncycles > CODEC_CYCLES_MAX)
		if (!flush_records(w, e))
			return false;
	while (ninsts || ncycles) {
		/* Records beyond a block's limit go into further blocks. */
		size_t ni = min_u64(ninsts, CODEC_INSTS_MAX);
		size_t nc = ni < ninsts ? 0 : min_u64(ncycles, CODEC_CYCLES_MAX);
		codec_put_insts(w->codec, insts, ni);
		note_insts(w, insts, ni);
		if (nc) {
			codec_put_cycles(w->codec, cycles, nc);
			if (!w->has_cycles)
				w->head.first_cycle = cycles[0].cycle;
			w->has_cycles = true;
			w->head.end_cycle = cycles[nc - 1].cycle + cycles[nc - 1].repeat;
		}
		insts += ni;
		ninsts -= ni;
		cycles += nc;
		ncycles -= nc;
		if ((ninsts || ncycles) && !flush_records(w, e))
			return false;
	}
	return true;
}

/* Notes in the file's version that it has more than instructions and cycles: an older culprit
 * cannot read it. */
static bool note_more(struct trace_writer *w, unsigned what, struct err *e)
{
	uint8_t version[4];
	const bool first = !w->more;
	w->more |= what;
	put_u32(version, TRACE_VERSION);
	if (!first || pwrite(output_fd(w->file), version, sizeof(version), 8) == sizeof(version))
		return true;
	return err_set(e, "cannot write %s: %s; a trace with misses must be a file", w->path,
		       strerror(errno));
}

static bool trace_misses(void *state, const struct rec_miss *misses, size_t count, struct err *e)
{
	struct trace_writer *w = state;
	if (!note_more(w, WANT_MISSES, e))
		return false;
	while (count) {
		const size_t n = min_u64(count, CODEC_MISSES_MAX);
		if (codec_misses(w->codec, NULL) + n > CODEC_MISSES_MAX && !flush_records(w, e))
			return false;
		codec_put_misses(w->codec, misses, n);
		misses += n;
		count -= n;
	}
	return true;
}

static bool trace_twins(void *state, const struct rec_twin *twins, size_t count, struct err *e)
{
	struct trace_writer *w = state;
	if (!note_more(w, WANT_TWIN, e))
		return false;
	while (count) {
		const size_t n = min_u64(count, CODEC_TWINS_MAX);
		if (codec_twins(w->codec, NULL) + n > CODEC_TWINS_MAX && !flush_records(w, e))
			return false;
		codec_put_twins(w->codec, twins, n);
		twins += n;
		count -= n;
	}
	return true;
}

static bool committed_start(void *state, const struct trace_meta *meta,
			    const struct analysis_options *o, struct err *e)
{
	((struct trace_writer *)state)->brief = true;
	return trace_start(state, meta, o, e);
}

static bool put_brief(struct trace_writer *w, const struct rec_inst *const *insts, size_t count,
		      struct err *e)
{
	if (!count)
		return true;
	if (codec_insts(w->codec) + count > CODEC_INSTS_MAX && !flush_records(w, e))
		return false;
	if (!w->has_insts)
		w->head.first_po = insts[0]->po;
	w->has_insts = true;
	w->head.end_po = insts[count - 1]->po + 1;
	codec_put_brief(w->codec, insts, count);
	return true;
}

/* Writes committed instructions. Fields beyond a record's first cache line depend on what other
 * analyses want, so they are left out. */
static bool committed_insts(void *state, const struct rec_inst *insts, size_t count, struct err *e)
{
	struct trace_writer *w = state;
	const struct rec_inst *committed[BRIEF_INSTS];
	size_t n = 0;
	for (size_t i = 0; i < count; i++) {
		__builtin_prefetch(&insts[i + BRIEF_AHEAD]);
		committed[n] = &insts[i];
		n += insts[i].flags & RI_COMMITTED;
		if (n == BRIEF_INSTS) {
			if (!put_brief(w, committed, n, e))
				return false;
			n = 0;
		}
	}
	return put_brief(w, committed, n, e);
}

static bool write_index(struct trace_writer *w, struct err *e)
{
	struct block_head h = { .kind = BLOCK_INDEX };
	uint8_t foot[TRACE_FOOT_BYTES], first[8];
	put_u64(foot, w->offset);
	put_u64(foot + 8, ~w->offset);
	memcpy(foot + 16, TRACE_END_MAGIC, 8);
	begin_payload(w);
	put_u64(first, w->info_offset);
	bytes_put(&w->out, first, sizeof(first));
	bytes_put(&w->out, w->index.data, w->index.size);
	return write_block(w, &h, e) && write_all(w, foot, sizeof(foot), e);
}

static bool close_file(struct trace_writer *w, bool keep, struct err *e)
{
	struct output *file = w->file;
	w->file = NULL;
	if (keep)
		return output_commit(file, e);
	output_discard(file);
	return true;
}

static bool trace_finish(void *state, struct store *store, struct err *e)
{
	struct trace_writer *w = state;
	bool ok = flush_records(w, e) && write_info(w, e) && write_index(w, e);
	return close_file(w, true, ok ? e : NULL) && ok;
}

static void trace_free(void *state)
{
	struct trace_writer *w = state;
	if (w->file) { /* the run failed: keeps what there is, for --salvage */
		flush_records(w, NULL);
		close_file(w, w->index.size > 0, NULL);
	}
	codec_free(w->codec);
	free(w->out.data);
	free(w->index.data);
	free(w->path);
}

#define TRACE_WANTS                                                                                \
	(WANT_CYCLES | WANT_HEAD | WANT_INSTS | WANT_SQUASHED | WANT_PRODUCERS | WANT_LATENCIES |  \
	 WANT_FETCH)
#define TRACE_PARAMS                                                                               \
	(const struct analysis_param[])                                                            \
	{                                                                                          \
		{ "trace", "the file to write", false, { 0 } },                                    \
		{                                                                                  \
			.name = NULL                                                               \
		}                                                                                  \
	}
#define TRACE_WRITER                                                                               \
	.params = TRACE_PARAMS, .writes_file = true, .state_size = sizeof(struct trace_writer),    \
	.start = trace_start, .batch = trace_batch, .misses = trace_misses, .twins = trace_twins,  \
	.finish = trace_finish, .free = trace_free

/* The file has records of misses and of a twin if another analysis wants them. */
const struct analysis trace_analysis = {
	.name = "trace",
	.summary = "all records into a file (--trace FILE), for replay",
	.wants = TRACE_WANTS,
	TRACE_WRITER,
};

const struct analysis trace_misses_analysis = {
	.name = "misses",
	.summary = "all records, and one per cache miss, into a file (--trace FILE --trace-records "
		   "misses)",
	.wants = TRACE_WANTS | WANT_MISSES,
	TRACE_WRITER,
};

const struct analysis trace_committed_analysis = {
	.name = "committed",
	.summary = "committed instructions into a file (--trace FILE --trace-records committed)",
	.wants = WANT_INSTS | WANT_BRIEF,
	.params = TRACE_PARAMS,
	.state_size = sizeof(struct trace_writer),
	.start = committed_start,
	.insts = committed_insts,
	.finish = trace_finish,
	.free = trace_free,
};
