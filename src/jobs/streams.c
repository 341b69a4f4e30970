/* SPDX-License-Identifier: MIT */
/* Reads and writes the notation of --streams and of a profile's row "streams". */
#include "jobs/streams.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TTY_CHARS 19 /* control characters that the kernel knows */

const char *const stream_kinds[] = { "null",   "zero",	   "full",   "random", "file", "pipe",
				     "socket", "terminal", "closed", "=",      "-",    "other" };

const struct stream_flag stream_flags[STREAM_FLAGS] = {
	{ "append", O_APPEND }, { "nonblock", O_NONBLOCK }, { "direct", O_DIRECT },
	{ "sync", O_SYNC },	{ "dsync", O_DSYNC },	    { "noatime", O_NOATIME },
};

static bool has_mode(enum stream_kind kind)
{
	return kind == STREAM_FILE || kind == STREAM_PIPE || kind == STREAM_TERMINAL;
}

static void put_tty(FILE *f, const struct termios *t)
{
	fprintf(f, "+tty=%x.%x.%x.%x.", t->c_iflag, t->c_oflag, t->c_cflag, t->c_lflag);
	for (unsigned i = 0; i < TTY_CHARS; i++)
		fprintf(f, "%02x", t->c_cc[i]);
}

void stream_write(FILE *f, const struct stream *s)
{
	static const char *const access[] = { "+r", "+w", "+rw" };

	fputs(stream_kinds[s->kind], f);
	if (s->kind == STREAM_SAME)
		fprintf(f, "%d", s->of);
	if (s->kind == STREAM_CLOSED || s->kind == STREAM_SAME || s->kind == STREAM_OTHER)
		return;
	if (s->kind == STREAM_TERMINAL && s->window.ws_col)
		fprintf(f, ":%ux%u", s->window.ws_col, s->window.ws_row);
	if (s->access >= 0 && s->access < 3)
		fputs(access[s->access], f);
	for (size_t i = 0; i < STREAM_FLAGS; i++)
		if ((s->flags & stream_flags[i].flag) == stream_flags[i].flag &&
		    (stream_flags[i].flag != O_DSYNC || (s->flags & O_SYNC) != O_SYNC))
			fprintf(f, "+%s", stream_flags[i].name);
	if (s->named)
		fputs("+named", f);
	if (s->of >= 0)
		fprintf(f, "+of=%d", s->of);
	if (has_mode(s->kind) && s->of < 0 && s->mode)
		fprintf(f, "+mode=%o", s->mode);
	if (s->kind == STREAM_FILE && s->of < 0 && s->size_bytes)
		fprintf(f, "+size=%" PRIu64, s->size_bytes);
	if (s->at)
		fprintf(f, "+at=%" PRIu64, s->at);
	if (s->as && s->of < 0)
		fprintf(f, "+as=%s", s->as);
	if (s->kind == STREAM_TERMINAL && s->of < 0) {
		if (s->window.ws_xpixel || s->window.ws_ypixel)
			fprintf(f, "+pixels=%ux%u", s->window.ws_xpixel, s->window.ws_ypixel);
		if (s->has_tty)
			put_tty(f, &s->tty);
	}
}

/* Reads a number without sign or blanks, up to max. Returns what follows; NULL: there is none. */
static const char *read_number(const char *text, int base, uint64_t max, uint64_t *n)
{
	char *end;

	if (!((*text >= '0' && *text <= '9') ||
	      (base == 16 && ((*text >= 'a' && *text <= 'f') || (*text >= 'A' && *text <= 'F')))) ||
	    (base == 16 && (text[1] == 'x' || text[1] == 'X')))
		return NULL;
	errno = 0;
	*n = strtoull(text, &end, base);
	return errno || *n > max ? NULL : end;
}

static bool whole_number(const char *text, int base, uint64_t max, uint64_t *n)
{
	const char *end = read_number(text, base, max, n);

	return end && !*end;
}

static bool read_size(const char *text, unsigned short *columns, unsigned short *rows)
{
	uint64_t c, r;
	const char *end = read_number(text, 10, UINT16_MAX, &c);

	if (!end || *end != 'x' || !whole_number(end + 1, 10, UINT16_MAX, &r))
		return false;
	*columns = (unsigned short)c;
	*rows = (unsigned short)r;
	return true;
}

static bool read_tty(const char *text, struct termios *t)
{
	uint64_t n[4];

	for (unsigned i = 0; i < 4; i++) {
		text = read_number(text, 16, UINT32_MAX, &n[i]);
		if (!text || *text++ != '.')
			return false;
	}
	*t = (struct termios){ .c_iflag = (tcflag_t)n[0],
			       .c_oflag = (tcflag_t)n[1],
			       .c_cflag = (tcflag_t)n[2],
			       .c_lflag = (tcflag_t)n[3] };
	if (strlen(text) != (size_t)2 * TTY_CHARS ||
	    strspn(text, "0123456789abcdef") != (size_t)2 * TTY_CHARS)
		return false;
	for (unsigned i = 0; i < TTY_CHARS; i++) {
		char digits[3] = { text[2 * i], text[2 * i + 1], '\0' };

		t->c_cc[i] = (cc_t)strtoul(digits, NULL, 16);
	}
	return true;
}

/* Reads what follows a plus sign. */
static bool read_attribute(struct stream *s, int index, const char *word)
{
	const char *equals = strchr(word, '=');
	const char *value = equals ? equals + 1 : NULL;
	size_t name = equals ? (size_t)(equals - word) : strlen(word);
	uint64_t n;

#define IS(text) (name == strlen(text) && !strncmp(word, text, name))
	if (!equals) {
		if (IS("r") || IS("w") || IS("rw")) {
			s->access = IS("r") ? O_RDONLY : IS("w") ? O_WRONLY : O_RDWR;
			return s->kind != STREAM_OWN;
		}
		for (size_t i = 0; i < STREAM_FLAGS; i++)
			if (IS(stream_flags[i].name)) {
				s->flags |= stream_flags[i].flag;
				return true;
			}
		s->named = IS("named");
		return s->named && s->kind == STREAM_PIPE;
	}
	if (IS("at"))
		return (s->kind == STREAM_FILE || s->kind == STREAM_OWN) &&
		       whole_number(value, 10, INT64_MAX, &s->at);
	if (IS("as")) {
		s->as = value;
		return (s->kind == STREAM_FILE || s->kind == STREAM_PIPE) && *value == '/';
	}
	if (IS("size"))
		return s->kind == STREAM_FILE && whole_number(value, 10, INT64_MAX, &s->size_bytes);
	if (IS("mode")) {
		if (!has_mode(s->kind) || !whole_number(value, 8, 07777, &n))
			return false;
		s->mode = (unsigned)n;
		return true;
	}
	if (IS("of")) {
		if (s->kind < STREAM_FILE || s->kind > STREAM_TERMINAL ||
		    !whole_number(value, 10, STREAMS - 1, &n) || (int)n >= index)
			return false;
		s->of = (int)n;
		return true;
	}
	if (IS("pixels"))
		return s->kind == STREAM_TERMINAL &&
		       read_size(value, &s->window.ws_xpixel, &s->window.ws_ypixel);
	if (IS("tty"))
		return s->kind == STREAM_TERMINAL && (s->has_tty = read_tty(value, &s->tty));
#undef IS
	return false;
}

bool streams_unknown(const char *word, struct err *e)
{
	return err_set(e,
		       "--streams: '%s' is none of null, zero, full, random, file, pipe, socket, "
		       "terminal, closed and -",
		       word);
}

static bool read_kind(struct stream *s, int index, const char *word, struct err *e)
{
	static const char terminal[] = "terminal:";

	*s = (struct stream){ .access = -1, .of = -1 };
	if (*word == '=' && word[1] >= '0' && word[1] < '0' + index && !word[2]) {
		s->kind = STREAM_SAME;
		s->of = word[1] - '0';
		return true;
	}
	if (!strncmp(word, terminal, sizeof(terminal) - 1)) {
		s->kind = STREAM_TERMINAL;
		return read_size(word + sizeof(terminal) - 1, &s->window.ws_col,
				 &s->window.ws_row) ||
		       err_set(e,
			       "--streams: '%s' is not terminal:COLUMNSxROWS, each a number up to "
			       "65535",
			       word);
	}
	for (size_t i = 0; i < STREAM_KINDS; i++)
		if (!strcmp(word, stream_kinds[i]) && i != STREAM_SAME) {
			s->kind = (enum stream_kind)i;
			return true;
		}
	return streams_unknown(word, e);
}

static bool read_stream(struct stream *s, int index, char *word, struct err *e)
{
	char *rest = word, *first = strsep(&rest, "+");

	if (!read_kind(s, index, first, e))
		return false;
	while (rest) {
		const char *attribute = strsep(&rest, "+");

		if (s->kind == STREAM_SAME || s->kind == STREAM_CLOSED ||
		    !read_attribute(s, index, attribute))
			return err_set(e, "--streams: '+%s' means nothing for %s", attribute,
				       first);
	}
	return true;
}

bool streams_read(char *text, struct stream all[STREAMS], struct err *e)
{
	char *rest = text, *whole = x_strdup(text);
	bool ok = true;

	for (int i = 0; ok && i < STREAMS; i++) {
		char *word = strsep(&rest, ",");

		if (!word || !*word || (i == STREAMS - 1 && rest))
			ok = err_set(e, "--streams: '%s' is not IN,OUT,ERR", whole);
		else
			ok = read_stream(&all[i], i, word, e);
		if (ok && all[i].of >= 0 &&
		    (all[i].kind == STREAM_SAME
			 ? all[all[i].of].kind == STREAM_CLOSED ||
			       all[all[i].of].kind == STREAM_SAME
			 : all[all[i].of].kind != all[i].kind || all[all[i].of].of >= 0))
			ok = err_set(e, "--streams: stream %d cannot be a copy of stream %d", i,
				     all[i].of);
	}
	free(whole);
	return ok;
}
