/* SPDX-License-Identifier: MIT */
/* Buffered, because printf for every instruction would cost more than simulating it. */
#include "trace/export_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool export_file_open(struct export_file *f, const char *path, struct err *e)
{
	*f = (struct export_file){ .path = x_strdup(path) };
	f->temporary = x_asprintf("%s.%d.tmp", path, (int)getpid());
	f->fd = 1 + open(f->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (!f->fd) {
		err_set(e, "cannot create %s: %s", f->temporary, strerror(errno));
		export_file_free(f);
		return false;
	}
	f->buffer = x_aligned(EXPORT_BUFFER_BYTES + EXPORT_LINE_BYTES);
	return true;
}

static bool write_out(struct export_file *f, size_t size, struct err *e)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = write(f->fd - 1, f->buffer + done, size - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_set(e, "cannot write %s: %s", f->path,
				       strerror(n ? errno : ENOSPC));
		done += (size_t)n;
	}
	f->used -= size;
	memmove(f->buffer, f->buffer + size, f->used);
	return true;
}

bool export_file_spill(struct export_file *f, struct err *e)
{
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

bool export_file_finish(struct export_file *f, struct err *e)
{
	bool ok = write_out(f, f->used, e);
	if (close(f->fd - 1) && ok)
		ok = err_set(e, "cannot write %s: %s", f->path, strerror(errno));
	f->fd = 0;
	/* A full disk leaves what was written, under its name. */
	if (rename(f->temporary, f->path) && ok)
		ok = err_set(e, "cannot rename %s to %s: %s", f->temporary, f->path,
			     strerror(errno));
	return ok;
}

void export_file_free(struct export_file *f)
{
	if (f->fd) {
		close(f->fd - 1);
		unlink(f->temporary);
	}
	free(f->path);
	free(f->temporary);
	free(f->buffer);
	*f = (struct export_file){ 0 };
}
