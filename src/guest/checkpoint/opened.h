/* SPDX-License-Identifier: MIT */
/* Open files in a checkpoint: what descriptors of the guest stand for, and share if they are duplicates. */
#ifndef GUEST_CHECKPOINT_OPENED_H
#define GUEST_CHECKPOINT_OPENED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "state/state.h"

struct guest;

enum opened_kind {
	OPENED_INPUT,  /* a file of the host that the guest has not changed: place and digest */
	OPENED_FILE,   /* a file whose content is in the checkpoint */
	OPENED_MEMORY, /* the same, made by memfd_create or made up (nodes.c) */
	OPENED_FOLDER,
	OPENED_GONE,   /* a folder that was removed */
	OPENED_DEVICE, /* null, zero, full, random */
	OPENED_PIPE,
	OPENED_PAIR,   /* an end of a socket pair */
	OPENED_SOCKET, /* a socket that is neither bound nor connected */
	OPENED_EVENT,  /* eventfd; also what stands for a timerfd or signalfd */
	OPENED_EPOLL,
	OPENED_PROCESS, /* pidfd */
	/* standard streams that come from outside */
	OPENED_STREAM_FILE, /* written */
	OPENED_STREAM_PIPE,
	OPENED_STREAM_SOCKET,
	OPENED_STREAM_TERMINAL,
	OPENED_KINDS,
	OPENED_CANNOT = OPENED_KINDS,
};

struct opened {
	uint32_t kind; /* enum opened_kind */
	int host;      /* on this host: of a descriptor of the guest, or made for it; -1: none */
	int first;     /* the lowest descriptor of the guest */
	uint32_t flags;
	int64_t offset;
	uint32_t index;	   /* of a pipe or pair */
	bool end;	   /* of a pair: the second */
	uint8_t stream;	   /* 1 + the standard stream that it is; 0: none */
	uint64_t dev, ino; /* that the guest is shown */
	char *name;	   /* memfd: its name; device: its row */
	uint64_t count;	   /* of an eventfd */
	bool semaphore;
	int pid; /* of a pidfd */
};

#define OPENED_MAX  (1u << 20)
#define QUEUE_MAX   (1u << 20) /* messages in a pipe or socket */
#define QUEUE_BYTES (1u << 26)

/* Bytes that wait in a pipe or socket, in the pieces in which they are read. */
struct queue {
	struct message {
		uint8_t *data;
		size_t bytes;
	} * messages;
	size_t count;
};

struct pipe_state {
	uint64_t ino; /* on this host */
	char *place;  /* of a named pipe; NULL: it has no name */
	uint64_t capacity_bytes;
	bool packets; /* O_DIRECT */
	struct queue queue;
	int ends[2]; /* reading: made and not yet taken; -1: none */
};

struct pair_state {
	uint64_t ino[2];
	int host[2]; /* -1: closed */
	int type;
	struct queue queue[2]; /* to be read from that end */
	bool shut[2];	       /* no more will come to that end */
	int options[2][2];     /* SO_SNDBUF, SO_RCVBUF of each end */
};

struct opened_all {
	struct opened *items;
	size_t count;
	uint32_t *of; /* by descriptor of the guest: 1 + index; 0: closed */
	struct pipe_state *pipes;
	size_t npipes;
	struct pair_state *pairs;
	size_t npairs;
	bool made; /* what is in pipes and pairs is to be closed */
};

/* queues.c */
/* Notes the pipes and pairs behind the open files, and fills in their index. */
void queues_find(struct guest *g, struct opened_all *all);
void queues_state(struct guest *g, struct state *s, struct opened_all *all);
/* While reading: the host descriptor of an end. -1: there is none. */
int queue_take(struct guest *g, struct state *s, struct opened_all *all, const struct opened *o);
void queues_free(struct opened_all *all);

/* streams.c */
void streams_state(struct guest *g, struct state *s);
/* The properties of one that comes from outside; while reading, o->host is made. */
void stream_state(struct guest *g, struct state *s, struct opened *o);

/* events.c */
void event_state(struct state *s, struct opened *o);
void process_state(struct guest *g, struct state *s, struct opened *o);
/* The set of an epoll descriptor, after all descriptors are there. */
void epoll_state(struct guest *g, struct state *s, int host);
/* Locks on an open file. */
void locks_state(struct state *s, int host);

/* Whether what a reader is at the other end is set up: F_SETFL of what is left of the flags. */
void opened_flags(struct state *s, int host, uint32_t flags);

#endif
