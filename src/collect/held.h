/* SPDX-License-Identifier: MIT */
/*
 * Numbers of images or processes that are asked after: whoever still holds one, and may give it to the
 * sink again, marks it. A sink that forgets what nobody asks for any more asks first.
 */
#ifndef COLLECT_HELD_H
#define COLLECT_HELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HELD_MAX 128

enum held_kind { HELD_IMAGES, HELD_PROCESSES };

struct held {
	enum held_kind kind;
	size_t n;
	uint32_t number[HELD_MAX]; /* sorted */
	bool held[HELD_MAX];
	uint64_t
	    filter[64]; /* a bit for each number's last 12 bits: most numbers are not asked after */
};

void held_init(struct held *h, enum held_kind kind);
/* Numbers are added in ascending order, at most HELD_MAX. */
void held_ask(struct held *h, uint32_t number);
/* The place of a number that is asked after; SIZE_MAX: it is not. */
size_t held_find(const struct held *h, uint32_t number);
void held_mark(struct held *h, enum held_kind kind, uint32_t number);

#endif
