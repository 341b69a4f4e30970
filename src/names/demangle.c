/* SPDX-License-Identifier: MIT */
/*
 * Stores keep mangled names, which are what binaries and other tools know. They are turned into
 * readable ones when somebody looks: a view of the same name, which lives in the connection alone,
 * hides each table that has names.
 */
#include "names/demangle.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

bool demangle_looks_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R') && name[2];
}

static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$';
}

char *demangle_within(const char *text)
{
	char *out = NULL;
	size_t size, copied = 0;
	FILE *f = NULL;

	for (size_t at = 0; text[at];) {
		size_t end = at;

		while (is_of_name(text[end]))
			end++;
		if (end > at && demangle_looks_mangled(text + at)) {
			char *name = x_strndup(text + at, end - at), *shown = demangle(name);

			if (shown) {
				f = f ? f : open_memstream(&out, &size);
				fwrite(text + copied, 1, at - copied, f);
				fputs(shown, f);
				copied = end;
			}
			free(name);
			free(shown);
		}
		at = end > at ? end : at + 1;
	}
	if (!f)
		return NULL;
	fputs(text + copied, f);
	fclose(f);
	return out;
}

bool demangle_store(struct store *s, struct err *e)
{
	static const char *const views[] = {
		"CREATE TEMP VIEW function AS SELECT id, image, demangled(name) AS name, start, "
		"end, file, line FROM main.function",
		"CREATE TEMP VIEW instruction AS SELECT pc, function, block, word, "
		"demangled(disasm) AS disasm, file, line, class FROM main.instruction",
		"CREATE TEMP VIEW inlined AS SELECT pc, depth, demangled(name) AS name, file, line "
		"FROM main.inlined",
	};

	if (!store_number(s,
			  "SELECT EXISTS (SELECT 1 FROM function WHERE substr(name, 1, 2) IN "
			  "('_Z', '_R')) OR EXISTS (SELECT 1 FROM inlined WHERE substr(name, 1, 2) "
			  "IN ('_Z', '_R')) OR EXISTS (SELECT 1 FROM instruction WHERE "
			  "instr(disasm, '<_Z') OR instr(disasm, '<_R'))",
			  0))
		return true;
	bool ok = store_teach(s, "demangled", demangle_within, e);

	for (size_t i = 0; ok && i < ARRAY_LEN(views); i++) {
		struct store_rows r = store_query(s, views[i], "");

		store_next(&r);
		ok = store_done(&r, e);
	}
	return ok;
}
