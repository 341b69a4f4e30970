/* SPDX-License-Identifier: MIT */
/* Standard streams that are not files: pipes and terminals, whose input must repeat. */
#ifndef GUEST_FILES_INPUT_H
#define GUEST_FILES_INPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

struct guest;
struct thread;

/* The part of a process that input.c owns. */
struct streams {
	struct input_place *place;
	/* what the streams are on the host, where guest_config has an identity */
	uint64_t dev[3], ino[3];
	/* what they were at the start, so that they are known again under other numbers */
	struct {
		bool open;
		uint64_t dev, ino;
	} first[3];
	bool typed;   /* something was read from a terminal */
	int null;     /* /dev/null, where output is thrown away; 0: not open */
	int held[3];  /* other ends of streams that were made for a restored guest; 0: none */
	int given[3]; /* input that this guest has made itself a file of; 0: none */
};

/* The place in input that is given: where the file is read next, and how many bytes of the piece are
 * left. For checkpoints. */
void input_place_get(const struct guest *g, uint64_t *at, uint32_t *rest);
void input_place_set(struct guest *g, uint64_t at, uint32_t rest);
#define INPUT_IOV_MAX 1024
void input_init(struct guest *g);
void input_free(struct guest *g);
/* A descriptor was opened by a name: it may be one of the standard streams again. */
void input_opened(struct guest *g, int64_t fd);
/* The host's descriptor of the terminal among the standard streams; -1: there is none. */
int input_terminal(const struct guest *g);
/* What stat says of a file. If it is one of the standard streams, it is made to look the same in
 * every run. */
struct file_ids {
	uint64_t dev, ino, rdev, nlink;
};
void input_steady(const struct guest *g, struct file_ids *ids);
/* Reads from a descriptor whose entry has input set. */
int64_t input_read(struct guest *g, struct thread *t, uint64_t fd, const struct iovec *iov,
		   int count);

#endif
