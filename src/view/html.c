/* SPDX-License-Identifier: MIT */
/* Puts the page together: a policy that allows one script and one style by their hashes and nothing
 * else, the style, the data and the script. The same store gives the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "util/digest.h"
#include "view/html.h"
#include "view/html_pack.h"

/* The hash of a text as a Content-Security-Policy names it. */
static void put_hash(FILE *out, const char *text)
{
	struct digest d;
	char hex[DIGEST_HEX];
	uint8_t bytes[32];

	digest_init(&d);
	digest_add(&d, text, strlen(text));
	digest_hex(&d, hex);
	for (size_t i = 0; i < sizeof(bytes); i++) {
		const char pair[3] = { hex[2 * i], hex[2 * i + 1], '\0' };

		bytes[i] = (uint8_t)strtoul(pair, NULL, 16);
	}
	fputs("'sha256-", out);
	html_put_base64(out, bytes, sizeof(bytes));
	fputs("'", out);
}

/* The first part is small: not deflated, the script has it at once. */
static void put_first(const struct html_run *run, FILE *out)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		die("out of memory");
	html_put_first(run, f);
	if (fclose(f))
		die("out of memory");
	html_put_base64(out, (const uint8_t *)text, size);
	free(text);
}

bool view_html(const struct html_input *in, FILE *out, struct err *e)
{
	if (!html_built)
		return err_set(e, "%s", html_missing);
	struct html_run *first = html_run_read(in->stores[0], e);

	if (!first)
		return false;
	fputs("<!DOCTYPE html>\n<!-- culprit html -->\n<html lang=\"en\"><head><meta "
	      "charset=\"utf-8\">"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "base-uri 'none'; form-action 'none'; script-src ",
	      out);
	put_hash(out, html_script);
	fputs("; style-src ", out);
	put_hash(out, html_style);
	fputs("\"><meta name=\"viewport\" "
	      "content=\"width=device-width\"><title>culprit</title><style>",
	      out);
	fputs(html_style, out);
	fputs("</style></head><body><noscript>This page needs its script.</noscript>"
	      "<pre id=\"first\" hidden>",
	      out);
	put_first(first, out);
	fputs("</pre><script>", out);
	fputs(html_script, out);
	fputs("</script><pre id=\"data\" hidden>", out);
	FILE *data = html_pack_open(out);
	const bool ok = html_put_data(in, first, data, e);

	fclose(data);
	html_run_free(first);
	fputs("</pre></body></html>\n", out);
	return ok;
}
