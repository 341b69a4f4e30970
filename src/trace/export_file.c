/* SPDX-License-Identifier: MIT */
/* Buffered, because printf for every instruction would cost more than simulating it. */
#include "trace/export_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "util/outside.h"

#define STREAM_BYTES  (8 << 20)	 /* what is passed on to the disk at once */
#define RESERVE_BYTES (16 << 20) /* of a file that is not small, at once */
#define DEAR_NS	      0.5	 /* for a byte: twice what it takes to copy it */
#define SLOW_NS	      100000000	 /* longest wait for the disk */

bool export_file_open(struct export_file *f, const char *path, const struct output_kind *kind,
		      struct err *e)
{
	*f = (struct export_file){ .path = x_strdup(path) };
	f->file = output_open(path, kind, e);
	if (!f->file) {
		export_file_free(f);
		return false;
	}
	f->buffer = x_aligned(EXPORT_BUFFER_BYTES + EXPORT_LINE_BYTES);
	return true;
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/*
 * A long run fills memory with pages that nobody has used for long, and in a virtual machine the
 * host may have taken them: then a page costs ten times what copying into it does. Where that is
 * seen, what has been written goes to the disk at once, and what is there leaves memory, so that
 * the next pages are those of a moment ago. A disk that makes us wait for that is left in peace.
 */
static void pass_on(struct export_file *f)
{
	const off_t end = (off_t)f->written;
	if (f->pages == EXPORT_CACHE && f->cost_ns > STREAM_BYTES * DEAR_NS)
		f->pages = EXPORT_PASS_ON;
	f->cost_ns = 0;
	if (f->pages != EXPORT_PASS_ON)
		return;
	const uint64_t from = now_ns(CLOCK_MONOTONIC);
	sync_file_range(output_fd(f->file), end - STREAM_BYTES, STREAM_BYTES,
			SYNC_FILE_RANGE_WRITE);
	if (now_ns(CLOCK_MONOTONIC) - from > SLOW_NS)
		f->pages = EXPORT_KEEP;
	if (end >= 4 * STREAM_BYTES) /* by now on the disk; what is not stays */
		posix_fadvise(output_fd(f->file), end - 4 * STREAM_BYTES, STREAM_BYTES,
			      POSIX_FADV_DONTNEED);
}

/* The first size bytes of the buffer have been written. */
static void note_written(struct export_file *f, size_t size)
{
	const char *end = memrchr(f->buffer, '\n', size);
	if (end)
		f->whole = f->written + (uint64_t)(end + 1 - f->buffer);
	f->written += size;
}

/* Ends the file there; what was reserved beyond goes back. A device cannot be cut, and need not. */
static void cut(struct export_file *f, uint64_t size)
{
	int done = ftruncate(output_fd(f->file), (off_t)size);
	(void)done;
}

/* Nobody should take half a line for a whole one. */
static bool fail(struct export_file *f, int cause, struct err *e)
{
	cut(f, f->whole);
	f->full = true;
	return err_set(e, "cannot write %s: %s; what could be written is there", f->path,
		       strerror(cause));
}

/*
 * To find room on the disk block by block costs a file system as much as copying what goes there,
 * so it is asked for much at once: writing takes half the time. Where that is not possible, because
 * the disk is nearly full or the file system does not know how, nothing is lost.
 */
static void reserve(struct export_file *f)
{
	if (fallocate(output_fd(f->file), FALLOC_FL_KEEP_SIZE, (off_t)f->reserved, RESERVE_BYTES))
		f->reserved = UINT64_MAX;
	else
		f->reserved += RESERVE_BYTES;
}

static bool write_out(struct export_file *f, size_t size, struct err *e)
{
	const uint64_t from = now_ns(CLOCK_THREAD_CPUTIME_ID);
	for (size_t done = 0; done < size;) {
		ssize_t n = write(output_fd(f->file), f->buffer + done, size - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			const int cause = n ? errno : ENOSPC;
			note_written(f, done);
			return fail(f, cause, e);
		}
		done += (size_t)n;
	}
	note_written(f, size);
	f->used -= size;
	f->cost_ns += now_ns(CLOCK_THREAD_CPUTIME_ID) - from;
	if (f->written && f->written % STREAM_BYTES == 0)
		pass_on(f);
	memmove(f->buffer, f->buffer + size, f->used);
	return true;
}

bool export_file_spill(struct export_file *f, struct err *e)
{
	while (f->reserved < f->written + EXPORT_BUFFER_BYTES)
		reserve(f);
	return write_out(f, EXPORT_BUFFER_BYTES, e);
}

bool export_file_text(struct export_file *f, const char *text, size_t size, struct err *e)
{
	while (size) {
		size_t n = min_u64(size, EXPORT_LINE_BYTES);
		char *line = export_file_line(f, e);
		if (!line)
			return false;
		memcpy(line, text, n);
		f->used += n;
		text += n;
		size -= n;
	}
	return true;
}

static bool close_file(struct export_file *f, bool keep, struct err *e)
{
	struct output *file = f->file;
	f->file = NULL;
	if (keep)
		return output_commit(file, e);
	output_discard(file);
	return true;
}

bool export_file_finish(struct export_file *f, struct err *e)
{
	bool ok = !f->full && write_out(f, f->used, e);
	/* What was reserved and is not needed goes back: but for that the file is as it was. */
	if (ok && f->reserved)
		cut(f, f->written);
	return close_file(f, f->whole || ok, ok ? e : NULL) && ok;
}

void export_file_free(struct export_file *f)
{
	if (f->file) /* nobody has finished it: what there is is kept if it is whole lines */
		close_file(f, f->full && f->whole, NULL);
	free(f->path);
	free(f->buffer);
	*f = (struct export_file){ 0 };
}
