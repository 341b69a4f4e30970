/* SPDX-License-Identifier: MIT */
/*
 * Compares x86 instructions with what objdump says of the same file, all of its code: lengths,
 * targets of jumps and calls, and that nothing is bad, without any difference; names in all but 2%
 * (of an operation with several names, each may choose another).
 *
 *	objdump -d -w --no-show-raw-insn FILE | x86 FILE LEAST
 *
 * LEAST: how many instructions there must be at least, so that an empty listing is no success.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "image/image.h"

struct line {
	uint64_t at;
	char text[512];
};

/* "   26460:	push   %rbp" */
static bool parse(const char *line, struct line *out)
{
	char *end;

	if (!isspace((unsigned char)line[0]))
		return false;
	out->at = strtoull(line, &end, 16);
	if (end[0] != ':' || end[1] != '\t')
		return false;
	snprintf(out->text, sizeof(out->text), "%s", end + 2);
	out->text[strcspn(out->text, "\n")] = '\0';
	return true;
}

/* What both mean by different words: suffixes, prefixes, names of one operation. */
static bool same_mnemonic(const char *objdump, const char *ours)
{
	static const char *const prefixes[] = {
		"bnd ",	  "notrack ", "lock ",	"rep ",	     "repz ",	  "repnz ",  "data16 ",
		"cs ",	  "ds ",      "fs ",	"gs ",	     "es ",	  "ss ",     "addr32 ",
		"rex.W ", "repne ",   "repe ",	"xacquire ", "xrelease ", "rex.R ",  "rex.X ",
		"rex.B ", "rex ",     "{vex} ", "{evex} ",   "rex.WX ",	  "rex.WB ", "rex.RB "
	};
	for (bool again = true; again;) {
		again = false;
		for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
			const size_t n = strlen(prefixes[i]);

			if (strncmp(objdump, prefixes[i], n) == 0) {
				objdump += n;
				again = true;
			}
			if (strncmp(ours, prefixes[i], n) == 0) {
				ours += n;
				again = true;
			}
		}
	}
	const size_t a = strcspn(objdump, " \t"), b = strcspn(ours, " \t"), n = a < b ? a : b;

	return n >= 2 && strncmp(objdump, ours, n) == 0;
}

int main(int argc, char **argv)
{
	struct images *set = images_new(NULL);
	struct err e = { "" };
	char *buffer = NULL;
	size_t room = 0, checked = 0, wrong = 0, other = 0;
	struct line last = { 0 }, now;
	bool have = false;

	if (argc != 3 || !images_add(set, argv[1], argv[1], 0, &e)) {
		fprintf(stderr, "usage: x86 FILE LEAST: %s\n", e.text);
		return 2;
	}
	while (getline(&buffer, &room, stdin) > 0) {
		if (!parse(buffer, &now)) {
			have = have && buffer[0] != 'D'; /* "Disassembly of section …" */
			continue;
		}
		if (have) {
			struct image_inst in = { 0 };
			char text[256];
			bool ok = images_inst(set, last.at, &in) && in.cls;

			images_disasm(set, last.at, text, sizeof(text));
			if (!ok || (last.at + in.size_bytes != now.at && now.at - last.at < 16)) {
				ok = false;
			} else if (in.direct) {
				const char *operand = last.text + strcspn(last.text, " \t");
				const char *target = strstr(last.text, " <");

				while (target && target > operand && target[-1] != ' ' &&
				       target[-1] != ',')
					target--;
				ok = target && strtoull(target, NULL, 16) == in.target;
			}
			checked++;
			wrong += !ok;
			if (!ok && wrong <= 20)
				printf("%" PRIx64 ": objdump '%s', %" PRIu64
				       " bytes; ours '%s', %u bytes\n",
				       last.at, last.text, now.at - last.at, text, in.size_bytes);
			const bool same = same_mnemonic(last.text, text);
			other += !same;
			if (ok && !same && getenv("SHOW"))
				printf("%" PRIx64 ": '%s' '%s'\n", last.at, last.text, text);
		}
		last = now;
		have = true;
	}
	free(buffer);
	images_free(set);
	printf("%s: %zu instructions, %zu differ in length or target, %zu have another name\n",
	       argv[1], checked, wrong, other);
	return wrong || other * 50 > checked || checked < strtoull(argv[2], NULL, 10);
}
