/* SPDX-License-Identifier: MIT */
/*
 * Guests that go wrong on purpose: they jump where no code is, fault, change and unmap the code
 * that they execute, and return from signals that never came. Handlers bring them back, so that one
 * program goes wrong many times; then it ends in one of many ways. Every program is a function of
 * its seed, and its result does not depend on time.
 */
#ifndef RANDOM_HOSTILE_H
#define RANDOM_HOSTILE_H

#include <stdbool.h>
#include <stdint.h>

enum hostile_kind {
	HOSTILE_JUMP,	  /* jumps to an address without code */
	HOSTILE_PAGE_END, /* an instruction across the end of its page */
	HOSTILE_ACCESS,	  /* load, store or atomic at a bad address */
	HOSTILE_ILLEGAL,  /* illegal, ebreak, reserved CSR or rounding mode */
	HOSTILE_CODE,	  /* code that changes itself, with fence.i */
	HOSTILE_RACE,  /* the same without fence.i: it must survive, but its result is not used */
	HOSTILE_UNMAP, /* unmaps, protects or replaces the page that it executes from */
	HOSTILE_SIGRETURN, /* sigreturn with a frame of arbitrary registers, mask and pc */
	HOSTILE_MIDDLE,	   /* jumps into the middle of an instruction */
	HOSTILE_GARBAGE,   /* executes random words */
	HOSTILE_PENDING,   /* a signal arrives together with a fault */
	HOSTILE_THREAD,	   /* a thread that faults with its first instruction */
	HOSTILE_FORK,	   /* a child process that goes wrong */
	HOSTILE_KINDS,
};
extern const char *const hostile_name[HOSTILE_KINDS];

enum hostile_end {
	END_EXIT,
	END_DEFAULT,	 /* bad jump without a handler */
	END_BAD_HANDLER, /* the handler's first instruction faults */
	END_IN_HANDLER,	 /* exits in the handler */
	END_EXEC,	 /* executes a program whose first instruction faults */
	END_BLOCKED,	 /* a fault whose signal is blocked */
	END_BAD_STACK,	 /* the alternate stack is not mapped */
	END_BAD_FRAME,	 /* sigreturn from no frame */
	END_UNMAP,	 /* unmaps all of its code */
	END_RUN_OFF,	 /* executes past the end of its code */
	END_FIRST,	 /* the program's first instruction faults: nothing else happens */
	END_KINDS,
};
extern const char *const hostile_end_name[END_KINDS];

struct hostile_options {
	uint64_t seed;
	bool plain; /* use only what qemu 7.2 does as Linux does */
	bool timer; /* a timer sends signals: instruction counts depend on the host */
};

struct hostile {
	unsigned did[HOSTILE_KINDS]; /* number of items of each kind in the program */
	enum hostile_end end;
};

/* Writes the program to path, and the program that END_EXEC executes to path + ".bad". Returns
 * false and sets errno if that is not possible. */
bool hostile_write(const struct hostile_options *options, const char *path, struct hostile *h);

#endif
