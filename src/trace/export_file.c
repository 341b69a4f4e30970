/* SPDX-License-Identifier: MIT */
/* Writes a text file through a large buffer, because printf for every instruction would cost more
 * than simulating it. */
#include "trace/export_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "util/outside.h"

#define STREAM_BYTES  (8 << 20)	 /* passed on to the disk at once */
#define RESERVE_BYTES (16 << 20) /* reserved at once, for a file that is not small */
#define DEAR_NS	      0.5	 /* for a byte, if pages are expensive: twice what copying takes */
#define SLOW_NS	      100000000	 /* the longest acceptable wait for the disk */

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
 * Passes written data on to the disk. A long run fills memory with pages that nobody has used for
 * long. In a virtual machine the host may have taken them, and then a page costs ten times what
 * copying into it does. If writing becomes that slow, written data go to the disk at once and leave
 * the page cache, so that the next pages are recently used ones. If the disk makes the run wait,
 * data are no longer passed on (EXPORT_KEEP).
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
	if (end >= 4 * STREAM_BYTES) /* on the disk by now; pages that are not stay */
		posix_fadvise(output_fd(f->file), end - 4 * STREAM_BYTES, STREAM_BYTES,
			      POSIX_FADV_DONTNEED);
}

/* Counts the first size bytes of the buffer as written. */
static void note_written(struct export_file *f, size_t size)
{
	const char *end = memrchr(f->buffer, '\n', size);
	if (end)
		f->whole = f->written + (uint64_t)(end + 1 - f->buffer);
	f->written += size;
}

/* Truncates the file to `size`, which frees the space reserved beyond. A device cannot be truncated
 * and need not be. */
static void cut(struct export_file *f, uint64_t size)
{
	int done = ftruncate(output_fd(f->file), (off_t)size);
	(void)done;
}

/* Reports a failed write; cuts the file after its last whole line, so that half a line is not taken
 * for a whole one. */
static bool fail(struct export_file *f, int cause, struct err *e)
{
	cut(f, f->whole);
	f->full = true;
	return err_set(e, "cannot write %s: %s; what could be written is there", f->path,
		       strerror(cause));
}

/*
 * Reserves disk space in large pieces. Allocating block by block costs a file system as much as
 * copying the data, so this halves the time of writing. If it is not possible, because the disk is
 * nearly full or the file system does not support it, nothing is lost.
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
	/* Frees reserved space that is not needed. */
	if (ok && f->reserved)
		cut(f, f->written);
	return close_file(f, f->whole || ok, ok ? e : NULL) && ok;
}

void export_file_free(struct export_file *f)
{
	if (f->file) /* not finished: after a failed write, whole lines are kept */
		close_file(f, f->full && f->whole, NULL);
	free(f->path);
	free(f->buffer);
	*f = (struct export_file){ 0 };
}
