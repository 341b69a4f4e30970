/* SPDX-License-Identifier: MIT */
/* The data of the page on their way into it: deflated (zlib's format), then base64 (RFC 4648). */
#ifndef VIEW_HTML_PACK_H
#define VIEW_HTML_PACK_H

#include <stdint.h>
#include <stdio.h>

#include "util/util.h"

/* A stream whose bytes go to `out` packed; fclose writes the last of them and leaves `out` open. An
 * error of writing is out's. */
FILE *html_pack_open(FILE *out);
void html_put_base64(FILE *out, const uint8_t *bytes, size_t size);

#endif
