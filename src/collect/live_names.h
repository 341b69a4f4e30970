/* SPDX-License-Identifier: MIT */
/*
 * From an image and an offset of a live profile to a function. An image's file counts only if it is
 * still the one that was sampled; else what was kept of it, else nothing: names are never guessed.
 */
#ifndef COLLECT_LIVE_NAMES_H
#define COLLECT_LIVE_NAMES_H

#include "collect/live.h"
#include "image/image.h"

/* Where the names of an image come from. */
enum live_source {
	LIVE_FROM_FILE,	     /* its file: same build-id, or same size and time */
	LIVE_FROM_UNCHECKED, /* its file, of which the profile does not say which one it was */
	LIVE_FROM_KEPT,	     /* symbols that were kept */
	LIVE_FROM_CHANGED,   /* none: its file is another one by now */
	LIVE_FROM_MISSING,   /* none: there is no such file */
	LIVE_FROM_NOTHING,   /* none: it never had any */
	LIVE_SOURCES
};
extern const char *const live_source_name[LIVE_SOURCES];
extern const char *const live_kind_name[LIVE_KINDS];

/* How the offsets of an image become addresses. */
struct live_place {
	enum live_source source;
	char *path;		   /* of the file that counts; NULL: none */
	struct image_probe *probe; /* of it; NULL: offsets are addresses */
};
struct live_place live_place_of(const struct live_image *i);
void live_place_free(struct live_place *p);
uint64_t live_place_address(const struct live_place *p, uint64_t offset);
/* Opens the image by itself: its address a is bias + a in the set, and [start, end) of the set is
 * its own. */
struct images *live_place_open(const struct live_place *p, const struct live_image *i,
			       uint64_t bias, uint64_t start, uint64_t end);

/* Names of frames, for exports. Images are opened when they are first asked for. */
struct live_names;
struct live_names *live_names_new(const struct live_profile *p);
void live_names_free(struct live_names *n);
struct live_name {
	const char *function; /* never NULL; valid until the next call. As it is in the file: show
			       * it through util/text.h */
	const char *image;    /* its name */
	uint64_t address;     /* the image's own (ELF virtual) */
	uint64_t offset;      /* from the function's start */
};
struct live_name live_names_find(struct live_names *n, uint32_t image, uint64_t offset);

#endif
