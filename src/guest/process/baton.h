/* SPDX-License-Identifier: MIT */
/* The baton: processes that share writable memory run one at a time. */
#ifndef GUEST_PROCESS_BATON_H
#define GUEST_PROCESS_BATON_H

#include <stdbool.h>

struct guest;

void baton_init(struct guest *g);
bool baton_used(const struct guest *g);
void baton_take(struct guest *g);
void baton_drop(struct guest *g);
void baton_pass(struct guest *g); /* lets another process run, if one waits */

#endif
