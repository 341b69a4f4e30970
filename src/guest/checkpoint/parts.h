/* SPDX-License-Identifier: MIT */
/* What the files of guest/checkpoint share. */
#ifndef GUEST_CHECKPOINT_PARTS_H
#define GUEST_CHECKPOINT_PARTS_H

#include "guest/kernel/signal.h"
#include "state/state.h"

struct guest;

/* Signals that wait for a thread or the process. */
void pending_state(struct state *s, struct sig_pending *p);
/* The digests that checkpoint_input has taken. */
void inputs_free(struct guest *g);
/* The files that have been named since inputs_begin, for section about; the list stays the guest's. */
void inputs_begin(struct guest *g);
struct guest_saved_input *inputs_named(struct guest *g, size_t *count);
/* A list of texts that ends with NULL. */
void strings_state(struct state *s, char ***list);
/* The host's name of a file of the guest, allocated; its own name if it is not there. */
char *input_host_path(struct guest *g, const char *path);
/* Files of the guest's: their content is in the checkpoint under a number. saved_add gives an open file
 * the next one; keep: it has no name, so it stays open. */
uint32_t saved_add(struct guest *g, int fd, bool keep);
void saved_free(struct guest *g);
/* The size and bytes of an open file. */
void content_state(struct guest *g, struct state *s, int fd);
/* What is in pipes and socket pairs (queues.c). */
struct saved_pipe;
/* A page that is all zeros. */
bool page_is_zero(const void *page);

#endif
