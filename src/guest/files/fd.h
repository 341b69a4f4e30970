/* SPDX-License-Identifier: MIT */
/*
 * File descriptors of the guest: each stands for one of the host, or for something that is made up.
 */
#ifndef GUEST_FILES_FD_H
#define GUEST_FILES_FD_H

#include <stdbool.h>
#include <stdint.h>

struct guest;

enum fd_kind {
	FD_CLOSED,
	FD_PLAIN,
	FD_RANDOM, /* /dev/urandom from the seed */
	FD_TIMER,  /* timerfd: an eventfd that a timer writes to */
	FD_SIGNAL, /* signalfd: an eventfd that is readable while signals of the set are pending */
	FD_PIDFD,  /* a process of the tree */
};

/* Something of /proc, /sys, /dev and the like that is made up: a row of the table in nodes.c and
 * the numbers in its name. */
struct node {
	uint16_t row; /* 0: none */
	int pid, tid; /* tid 0: not of one thread */
	int num;      /* a descriptor, a terminal */
};

struct fd_entry {
	int host;
	uint8_t kind; /* enum fd_kind */
	bool cloexec;
	bool internal;	    /* nobody outside this process is at the other end */
	uint8_t input;	    /* 1 + the standard stream whose guest_config.input counts; 0: none */
	bool discard;	    /* what is written to it is thrown away */
	bool counts_by_one; /* an eventfd that is a semaphore */
	uint64_t peer;	    /* of a socket pair: the host's inode of the other end */
	uint32_t listing;   /* 1 + index into listings, of a folder that is being listed; 0: none */
	uint32_t timer;	    /* FD_TIMER: index into timers; FD_SIGNAL: O_NONBLOCK */
	uint64_t sigset;    /* FD_SIGNAL */
	int pid;	    /* FD_PIDFD: guest pid; otherwise F_SETOWN's */
	uint64_t list_at;   /* of a folder that is made up: where its listing goes on */
	struct node node;   /* what it is, if it is made up */
};

int fd_host(const struct guest *g, uint64_t fd); /* host descriptor, or -1 */
struct fd_entry *fd_get(struct guest *g, uint64_t fd);
/* Takes over host; returns the guest descriptor >= min, or -EMFILE and closes host. */
int64_t fd_install(struct guest *g, int host, int min, bool cloexec, enum fd_kind kind);
/* Installs two that belong together (a pipe, a socket pair) and writes their numbers to guest
 * memory at `at`; on failure both are closed. 0 or -errno. */
int64_t fd_install_pair(struct guest *g, const int host[2], bool cloexec, uint64_t at);
int64_t fd_install_at(struct guest *g, int host, int fd, bool cloexec, const struct fd_entry *like);
/* May a descriptor that was not opened through the guest's paths be the guest's? Not if it is part
 * of an interface of the host's kernel. */
bool fd_is_harmless(int host);
/* Whether two host descriptors are duplicates: they share offset and flags. */
bool fd_same_open(int a, int b);
/* What F_GETFL says; -errno. */
int fd_flags(const struct fd_entry *f);
/* The host descriptor to write to. */
int fd_sink(const struct guest *g, const struct fd_entry *f);
int64_t fd_close(struct guest *g, uint64_t fd);
void fd_close_on_exec(struct guest *g);
void fds_init(struct guest *g);
void fds_free(struct guest *g);

#endif
