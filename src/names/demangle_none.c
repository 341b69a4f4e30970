/* SPDX-License-Identifier: MIT */
/* Stands for demangle_iberty.c in a build without libiberty: names stay as binaries have them. */
#include "names/demangle.h"

char *demangle(const char *name)
{
	(void)name;
	return NULL;
}
