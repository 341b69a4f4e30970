/* SPDX-License-Identifier: MIT */
/* What the files of the collector share: its state, and what each of them does for the others. */
#ifndef COLLECT_COLLECTOR_INT_H
#define COLLECT_COLLECTOR_INT_H

#include "collect/collector.h"
#include "collect/events.h"
#include "collect/held.h"
#include "collect/maps.h"
#include "collect/program.h"
#include "collect/sideband.h"

#define COLLECTOR_DRAIN_S   60.0	   /* between two cuts */
#define COLLECTOR_BUDGET_NS 60000000000ull /* between two looks at the budget */

enum token_state {
	TOKEN_NONE,	 /* its number was taken, but it was not announced */
	TOKEN_ANNOUNCED, /* not looked up yet */
	TOKEN_IMAGE,	 /* offsets of the token are offsets of the image */
	TOKEN_ADDRESSES	 /* every address has to be looked up */
};

/* The meaning of an image token: the mapping of a process in which the address lay at that time. */
struct token {
	struct sample_process process;
	uint64_t time_ns, address, offset;
	struct maps_place place;
	enum token_state state;
	bool used;
};

/* The meaning of a process number. */
struct known_space {
	struct sample_process process;
	uint64_t time_ns, cgroup;
	uint32_t uid, sink;
	uint64_t thread_ns; /* 0: of all threads */
	uint32_t tid;
	char name[16]; /* of the thread */
	bool announced, found;
	uint8_t cuts_since; /* it ended; 2: all its counts were drained */
};

struct waiting_entry {
	struct sample_entry entry;
	uint32_t cpu;
};

/* A record of the ring that waits for the end of a cut. */
struct later {
	union {
		struct sample_record_entry entry;
		struct sample_record_unplaced unplaced;
	} record;
	size_t bytes;
};

struct collected_event {
	int *fds;
	size_t nfds;
	int *fd_cpus; /* the processor of each; -1: of a task */
	size_t nfd_cpus;
	uint32_t number; /* the sink's */
	uint64_t stored;
	double rate;
	uint64_t period;
};

struct known_stack;

struct collector {
	struct collector_options options;
	struct live_sink sink;
	struct program program;
	struct event_list list;
	struct collected_event events[SAMPLE_EVENTS];
	uint32_t nevents;
	struct sideband *sideband;
	struct maps *maps;
	struct ring_buffer *ring;
	int epoll_fd, timer_fd, rotate_fd;
	uint32_t rotating;	   /* which rotating event is on */
	uint64_t begin_ns, end_ns; /* when events began to count, and ended (0: not yet) */
	int *cpus;		   /* online */
	size_t ncpus;

	struct token *tokens; /* by number - tokens_base */
	size_t ntokens;
	uint32_t tokens_base;
	struct known_space *spaces; /* by number - spaces_base */
	size_t nspaces;
	uint32_t spaces_base;
	bool recycling; /* at the next cut, numbers before these are forgotten: */
	uint32_t recycle_tokens, recycle_spaces;
	struct known_stack *stacks;
	size_t nstacks;
	uint32_t *stack_table; /* index + 1 by hash */
	size_t stack_table_size;
	uint64_t kernel_address; /* some address of the kernel */

	uint64_t maps_until; /* the maps are complete up to this time */
	struct waiting_entry *waiting;
	size_t nwaiting;
	struct sample_record_unplaced *unplaced;
	size_t nunplaced;
	bool cutting;
	uint32_t drain_cpu, drain_bucket; /* of the cut that is going on: what is drained next */
	uint64_t next_drain_ns;
	struct later *later;
	size_t nlater;
	uint32_t *cpu_epoch, *old_table; /* by processor */
	uint64_t drained_entries;
	uint64_t next_cut_ns, last_cut_ns, next_forget_ns, next_cpus_ns;

	struct rng rng;
	double rate, interrupt_ns;
	uint64_t open_ns, next_budget_ns, adjusted_ns, measured_ns;
	double adjusted_cpu_s, begin_cpu_s;
	struct live_facts facts;
	uint64_t begin_idle_ns;
	void (*trace)(void *self, const struct sample_record_trace *r);
	void *trace_self;
};

/* collector.c */
void collector_count(struct collector *c, const struct maps_place *place, uint32_t process,
		     uint32_t cpu, uint32_t event, uint64_t n);
int collector_ring_record(void *self, void *data, size_t bytes);
void collector_recycle(struct collector *c);
/* Keeps the first elements of an array, and drops the first ones; memory is given back. */
void collector_shrink(void **array, size_t *n, size_t kept, size_t element_bytes);
void collector_drop(void **array, size_t *n, size_t count, size_t element_bytes);

/* sampling.c: the opened events */
bool collector_start(struct collector *c, struct err *e);
void collector_stop(struct collector *c);
void collector_close_events(struct collector *c);
void collector_rotate(struct collector *c);
double collector_running(const struct collector *c, uint32_t event);
/* Samples the processors that came on line, and leaves those that went. */
void collector_follow_cpus(struct collector *c);
/* Sets the rate of all clock events. */
void collector_set_rate(struct collector *c, double rate);

/* budget.c */
double collector_cpu_s(const struct collector *c);
/* Chooses the rate for the budget from what an interrupt costs. */
void collector_choose(struct collector *c);
void collector_adjust(struct collector *c);
/* When to look at the budget again. */
uint64_t collector_next_look(const struct collector *c);

/* facts.c */
void collector_first_facts(struct collector *c);
/* Sampling begins now. */
void collector_begin_facts(struct collector *c);
void collector_facts(struct collector *c);
void collector_free_facts(struct collector *c);
/* The processors that are on line; none if the kernel does not say. */
int *collector_online(size_t *n);

/* hold.c: after a cut, which processes cannot have any more counts */
void collector_end_spaces(struct collector *c);

/* stacks.c */
void collector_put_stack(struct collector *c, const void *data, size_t bytes);
/* Gives a stack to the sink. False: its frames are not known yet. */
bool collector_stack(struct collector *c, uint32_t event, uint32_t space, uint64_t hash,
		     uint64_t n);
void collector_drop_stacks(struct collector *c);
bool collector_many_stacks(const struct collector *c);
void collector_free_stacks(struct collector *c);

/* Marks the sink's numbers that its stacks have. */
void collector_hold_stacks(const struct collector *c, struct held *h);

/* collector_open.c */
void collector_free(struct collector *c);
void collector_watch(const struct collector *c, int fd);

#endif
