/* SPDX-License-Identifier: MIT */
/* A stream whose bytes are deflated and go to another one in base64, as they are written: nothing of
 * a page is ever whole in memory. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "view/html_pack.h"

/* Of 100,000 instructions level 9 makes the page 4% smaller and takes three times as long. */
#define PACK_LEVEL 6
#define PACK_BYTES (size_t)(96 << 10) /* of output at a time; three bytes are four digits */

struct pack {
	z_stream z;
	FILE *out;
	size_t count; /* bytes that wait to be written */
	uint8_t bytes[PACK_BYTES];
};

void html_put_base64(FILE *out, const uint8_t *bytes, size_t size)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char text[4096];
	size_t n = 0;

	for (size_t i = 0; i < size; i += 3) {
		const size_t k = size - i < 3 ? size - i : 3;
		const uint32_t v = (uint32_t)bytes[i] << 16 |
				   (k > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
				   (k > 2 ? bytes[i + 2] : 0);

		text[n++] = digits[v >> 18];
		text[n++] = digits[v >> 12 & 63];
		text[n++] = k > 1 ? digits[v >> 6 & 63] : '=';
		text[n++] = k > 2 ? digits[v & 63] : '=';
		if (n == sizeof(text) || i + 3 >= size) {
			fwrite(text, 1, n, out);
			n = 0;
		}
	}
}

/* Deflates what there is; flush is one of zlib's. */
static void press(struct pack *p, int flush)
{
	do {
		p->z.next_out = p->bytes + p->count;
		p->z.avail_out = (uInt)(PACK_BYTES - p->count);
		if (deflate(&p->z, flush) == Z_STREAM_ERROR)
			die("deflate: the stream is broken");
		p->count = PACK_BYTES - p->z.avail_out;
		if (p->z.avail_out)
			break;
		html_put_base64(p->out, p->bytes, p->count);
		p->count = 0;
	} while (true);
}

static ssize_t pack_write(void *cookie, const char *bytes, size_t size)
{
	struct pack *p = cookie;

	/* zlib does not write there */
	p->z.next_in = (Bytef *)(uintptr_t)bytes;
	p->z.avail_in = (uInt)size;
	press(p, Z_NO_FLUSH);
	return (ssize_t)size;
}

static int pack_close(void *cookie)
{
	struct pack *p = cookie;

	p->z.avail_in = 0;
	press(p, Z_FINISH);
	html_put_base64(p->out, p->bytes, p->count);
	deflateEnd(&p->z);
	free(p);
	return 0;
}

FILE *html_pack_open(FILE *out)
{
	struct pack *p = x_calloc(1, sizeof(*p));
	FILE *f = fopencookie(p, "w",
			      (cookie_io_functions_t){ .write = pack_write, .close = pack_close });

	p->out = out;
	if (!f || deflateInit(&p->z, PACK_LEVEL) != Z_OK || setvbuf(f, NULL, _IOFBF, 64 << 10))
		die("out of memory");
	return f;
}
