/* SPDX-License-Identifier: MIT */
/*
 * The guest machine: one Linux process of RV64GC code, its memory, files, threads and signals.
 *
 * Two ways to run it, which give the same architectural result instruction by instruction:
 * guest_run, as fast as the host allows; and guest_step, one instruction at a time with a report of
 * what it did, which is what the timing model drives.
 *
 * Guest addresses are below 2^38 and stand in one reserved host region: host = base + guest.
 */
#ifndef GUEST_GUEST_H
#define GUEST_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/engine/hart.h"
#include "isa/isa.h"
#include "state/state.h"
#include "trace/locality.h"
#include "trace/waits.h"
#include "util/util.h"

#define GUEST_ADDR_BITS	 38
#define GUEST_ADDR_LIMIT (1ull << GUEST_ADDR_BITS)
#define GUEST_PAGE_BYTES 4096ull
#define GUEST_LINE_BITS	 6 /* of guest_history */

struct guest;

enum guest_children {
	GUEST_CHILDREN_FUNCTIONAL, /* fork'ed processes run, but only functionally and unmeasured */
	GUEST_CHILDREN_SIMULATED,  /* fork'ed processes are measured too, each with an output of its
				      own */
};

enum guest_fork {
	GUEST_FORK_PREPARE, /* in the parent, before */
	GUEST_FORK_PARENT,  /* in the parent, after */
	GUEST_FORK_CHILD,   /* in the child, after */
	GUEST_FORK_EXEC,    /* in any process: it has loaded another program */
};

/* The environment of a guest whose guest_config names no other. */
extern const char *const guest_environment[];

/* What is done with what the guest reads from a standard stream that is not a file. */
enum guest_input_how {
	GUEST_INPUT_PLAIN,
	GUEST_INPUT_KEPT,  /* read in full pieces, and appended to fd unless that is -1 */
	GUEST_INPUT_GIVEN, /* taken from fd, as it was kept there; -1: the input is at its end */
};
struct guest_input {
	enum guest_input_how how;
	int fd; /* of a file; the caller's, open as long as the guest lives */
};
/* Which file the guest takes a standard stream for: what stat says of it. */
struct guest_identity {
	bool known; /* else the host's */
	uint64_t dev, ino, nlink;
};
/* Input beyond this is not kept; the file of kept input is then longer than this. */
#define GUEST_INPUT_LIMIT (16ull << 20)

struct guest_config {
	char **argv;	     /* argv[0] is the program; NULL-terminated */
	char **envp;	     /* NULL: guest_environment */
	const char *program; /* path of the ELF file; NULL: argv[0] */
	const char *sysroot; /* absolute guest paths are looked up here first; NULL: none */
	const int *streams;  /* host descriptors of the three standard streams, duplicated; -1: not
				open. NULL: this process' */
	struct guest_input input[3]; /* of the three standard streams */
	struct guest_identity identity[3];
	uint64_t seed;	      /* random numbers, pid; 0 is the default, and a valid seed */
	bool real_time;	      /* host clock and host randomness instead of deterministic ones */
	uint64_t quantum;     /* instructions before a switch between threads; 0: default */
	uint64_t stack_bytes; /* main thread's stack limit; 0: 8 MiB */
	double clock_hz; /* guest time = instructions (or cycles, see guest_set_cycles) / clock_hz;
			    0: 1e9 */
	/* Above 0: guest time is always instructions * clock_cpi / clock_hz, whatever
	 * guest_set_cycles says. The program then executes the same instructions whether it runs by
	 * guest_run, by guest_step or on the core, in any mixture. 0: see guest_set_cycles. */
	double clock_cpi;
	/* Limits; 0: Linux's own. Processes and bytes of output count for the whole tree, open
	 * files and memory for each process. The host enforces the limit of memory; the guest is
	 * only told of it. */
	uint64_t limit_processes, limit_output, limit_files, limit_memory;
	enum guest_children children;
	bool
	    discard_output; /* of a restored guest: what it writes to its standard streams is thrown
				away, and they are of the kind that they were. Else they are
				`streams` */
	bool private_files; /* what the guest writes, makes, moves and removes is its own and thrown
			       away with it; the host's files stay as they are */
	bool interpreter_only; /* never use generated host code, even where it is available */
	void (*mark)(void *ctx, bool begin); /* called at the guest's marks; may be NULL */
	void *mark_ctx;
	/*
	 * With GUEST_CHILDREN_SIMULATED a guest's fork returns twice from guest_run or guest_step,
	 * once in each of two host processes. Called around it: host threads do not survive in the
	 * child, buffers exist twice, and the child needs an output of its own. number counts all
	 * children from 1; at exec it is that of the process. With GUEST_CHILDREN_FUNCTIONAL it is
	 * only called before the fork: the child never returns to the caller.
	 */
	void (*forked)(void *ctx, enum guest_fork phase, unsigned number);
	void *forked_ctx;
};

/* Loads the program. NULL and e filled on bad input (not an ELF, wrong machine, hostile headers,
 * …). */
struct guest *guest_new(const struct guest_config *config, struct err *e);
/* Where the program has not ended, its children end with it, unless they are measured. */
void guest_free(struct guest *g);

/*
 * Checkpoints. A guest that is between two instructions (no guest_run or guest_step is on its way) can be
 * written into a file of sections, and made again from it, in another process and on another host.
 */
struct state_file;
/* Whether it can be saved now; if not, e says what stands in the way: a child process, a terminal, … */
bool guest_can_save(struct guest *g, struct err *e);
/* Adds the guest's sections to f. The guest goes on as if nothing had happened. */
bool guest_save(struct guest *g, struct state_file *f, struct err *e);
/*
 * The guest as it was. Of config the program, its arguments and environment, seed, quantum, stack and clock
 * come from the checkpoint; the others count. NULL and e filled if the file is damaged, or a file that the
 * program needs has changed, whose name e says. f may be freed afterwards.
 */
struct guest *guest_restore(const struct guest_config *config, struct state_file *f, struct err *e);
/* What a checkpoint says of itself, without restoring it. */
struct guest_saved {
	char *program; /* as the guest knows it */
	char **argv;
	char *folder; /* the working folder */
	uint64_t insts, seed;
	uint64_t guest_ns; /* the guest's clock, since its machine began */
	uint32_t threads, blocked, descriptors;
	uint64_t regions, mapped_bytes;
	struct guest_saved_input { /* files that it needs, as they were */
		char *path;
		uint64_t bytes;
		char digest[65]; /* SHA-256 */
	} * inputs;
	size_t ninputs;
};
bool guest_saved_read(struct state_file *f, struct guest_saved *out, struct err *e);
void guest_saved_free(struct guest_saved *s);

enum guest_status {
	GUEST_RUNNING, /* the budget ran out, or guest_interrupt was called */
	GUEST_EXITED,  /* exit_group, or the last thread exited: see guest_exit_status */
	GUEST_KILLED,  /* a signal ended it: exit status is 128 + n */
};

/* Runs exactly max_insts instructions unless the process ends first. */
enum guest_status guest_run(struct guest *g, uint64_t max_insts);

/* An access to memory, by an instruction of a stretch. */
struct guest_access {
	const struct inst *inst;
	uint64_t addr;
};
/* Instructions that were executed one after the other. */
struct guest_seen {
	uint64_t pc, end;		     /* of the first, and behind the last */
	const struct inst *insts;	     /* decoded */
	const struct guest_access *accesses; /* in order */
	uint32_t count, naccesses;
	bool taken;    /* the last is a control transfer that was taken; none else is one */
	bool switched; /* after the last another thread runs, or a signal handler was entered */
};
/*
 * Runs as guest_run does, and calls seen for all that was executed, in order, soon after: n stretches,
 * each of which goes on at the pc of the next one, the last at next_pc. Instructions that fault are
 * not in it; with faults_count each of them takes one off max_insts. Everything is valid during the
 * call alone. By the interpreter: about three times as fast as guest_step. Marks no pages
 * (guest_touched): whoever watches does.
 */
struct guest_watcher {
	void (*seen)(void *ctx, const struct guest_seen *list, size_t n, uint64_t next_pc);
	void *ctx;
	bool faults_count;
};
enum guest_status guest_watch(struct guest *g, uint64_t max_insts, const struct guest_watcher *w);

enum guest_step_flag {
	STEP_SYSCALL = 1 << 0, /* an ecall that entered the (emulated) kernel */
	STEP_SWITCH = 1 << 1,  /* after it another thread runs, or a signal handler was entered, or
				  returned from */
	STEP_FAULT = 1 << 2,   /* raised a synchronous signal instead of completing (illegal, bad
				  address, ebreak, no instruction at pc); not in guest_insts */
	STEP_TAKEN = 1 << 3,   /* a control transfer that was taken */
	STEP_END = 1 << 4,     /* it ended the process */
	STEP_SC_FAIL = 1 << 5, /* a store-conditional that did not store */
};

/*
 * What one instruction did. Valid until the next guest_step, guest_run or guest_fetch, and so is
 * inst, which may differ from the code at pc by then: the instruction itself may have changed that
 * (fence.i, munmap, execve).
 *
 * Where no instruction can be fetched (pc is odd, not executable, or only half of the instruction
 * is in a page that is) the step is the fault alone: inst is NULL, flags have STEP_FAULT, nothing
 * was executed, and pc may be any 64-bit number. This can happen at any step, the first of the
 * process, of a thread or of a signal handler included.
 *
 * Code that was written takes effect with fence.i. Before that each of the executors may see the
 * old instructions, the new ones, or some of each.
 */
struct guest_step {
	uint64_t pc;
	uint64_t next_pc; /* where the hart continues (after a switch: in the other context) */
	const struct inst *inst; /* decoded once and cached; NULL: none could be fetched */
	uint64_t addr;		 /* memory operand, if op_info says that there is one */
	uint64_t store_value;	 /* for stores, the bytes written (low mem_bytes) */
	uint32_t flags;		 /* enum guest_step_flag */
	uint32_t tid;		 /* the guest thread that executed it */
};

/* Executes one instruction. Must not be called after the process has ended. */
void guest_step(struct guest *g, struct guest_step *out);

/* The running thread's registers, to copy for speculation. Read-only for the caller. */
const struct hart *guest_hart(const struct guest *g);
uint64_t guest_insts(const struct guest *g);
/* From now on the waits of threads are noted, and instructions of guest_step counted from 1. */
void guest_log_waits(struct guest *g);
/* Those noted so far, by their begin. Valid until the guest goes on. */
const struct trace_wait *guest_waits(const struct guest *g, size_t *count);
int guest_exit_status(const struct guest *g); /* 0..255, as a shell would see it */
const char *guest_program(const struct guest *g);
/* How many processes have been forked so far, by this one or any other of the tree. */
unsigned guest_forks(const struct guest *g);

/* From now on guest time is derived from cycles (the timing model says how many), not instructions;
 * instructions of guest_run and guest_watch still take a cycle each. Nothing with clock_cpi. */
void guest_set_cycles(struct guest *g, uint64_t cycles);
/* Guest time is always derived from instructions (clock_cpi). */
bool guest_clocks_insts(const struct guest *g);

/*
 * One byte for each page: 1 if a load or store of the guest has touched it. From the first call on,
 * guest_run sets them; whoever steps or watches sets them itself (for an access that does not fault;
 * the page in which it begins). What was executed before the first call is not in it, so
 * call it before anything runs. Generated code that sets them is a little slower.
 */
uint8_t *guest_touched(struct guest *g);
/* Saves or restores these bytes (state/state.h), in few bytes where there are few runs of pages. A
 * guest that was never asked for them saves that it has none, and a restore then changes nothing. */
void guest_touched_state(struct guest *g, struct state *s);

/*
 * History: which lines of 64 bytes loads and stores touched last, whatever the caches of a machine may be.
 * From the first call on guest_run keeps it, and nothing else does; call it before anything runs. It takes
 * guest_touched with it. False: the host has no room for it. What it costs: generated code takes up to a
 * third longer.
 */
bool guest_history(struct guest *g);
struct guest_line {
	uint32_t line; /* address >> GUEST_LINE_BITS, of the access' first byte */
	bool store;
};
struct guest_lines {
	bool all; /* these are all that were touched */
	size_t count;
	struct guest_line *lines; /* the one touched last is the last */
};
#define GUEST_LINES_MAX (1u << 18)
/* The newest lines so far, at most GUEST_LINES_MAX; the caller frees them (guest_lines_free). */
void guest_history_take(const struct guest *g, struct guest_lines *out);
/* Saves or restores such a list. */
void guest_lines_state(struct guest_lines *l, struct state *s);
void guest_lines_free(struct guest_lines *l);

/* In guest_step, fn(ctx) is called before the kernel does anything: until then the guest has done
 * nothing but execute instructions. NULL: no call. */
void guest_on_kernel(struct guest *g, void (*fn)(void *ctx), void *ctx);

/* Async-signal-safe: makes guest_run return soon with GUEST_RUNNING. */
void guest_interrupt(struct guest *g);

/* For wrong paths: never faults. */
/* Reads up to 8 bytes as a zero-extended value; what is not mapped and readable reads as zero. */
uint64_t guest_peek(const struct guest *g, uint64_t addr, unsigned size_bytes);
/* The decoded instruction at pc, from the same cache as execution; NULL if pc is not executable.
 * Valid until the next guest_step, guest_run or guest_fetch. */
const struct inst *guest_fetch(struct guest *g, uint64_t pc);
/* The bytes of the instruction at pc as they stand in memory, 2 or 4 of them; 0 if there is none. May
 * be called by another thread while guest_step executes instructions. */
unsigned guest_code(const struct guest *g, uint64_t pc, uint32_t *word);
/* Changes whenever guest_fetch may give another answer for a pc at which it has found an
 * instruction. */
uint64_t guest_code_version(const struct guest *g);

/* Where the program and its libraries are in memory, for symbols. */
struct guest_image {
	const char *path;    /* host path of the ELF file */
	const char *name;    /* path as the guest knows it */
	uint64_t start, end; /* guest addresses of the mapping */
	uint64_t bias;	     /* guest address - ELF virtual address */
};
size_t guest_images(const struct guest *g, const struct guest_image **images);

enum guest_use {
	GUEST_READ = 1 << 0,	/* and not written */
	GUEST_CHANGED = 1 << 1, /* was there, and was opened to be written, or replaced */
	GUEST_MADE = 1 << 2,	/* was not there */
};
/* Takes in what forked processes have noted. Call it before guest_files and guest_folder. */
void guest_notes(struct guest *g);
/* Host paths of the files that the guest has used so. The list is allocated, its items live as
 * long as the guest, or to the next guest_notes. */
size_t guest_files(const struct guest *g, enum guest_use use, const char ***paths);

/* A folder that the guest has listed. It lives as long as the items of guest_files. */
struct guest_folder {
	const char *path;  /* on the host */
	const char *names; /* that it held at first: each with its kind's mark as of `ls -F` (a
			      device's is %) and a NUL. NULL: they were too many to keep */
	size_t names_bytes, count;
	uint64_t digest; /* of all listings of it */
};
/* The index-th folder; false if there are fewer. */
bool guest_folder(const struct guest *g, size_t index, struct guest_folder *out);
/* A host path that culprit writes: no folder shows it to the guest, nor its temporary forms. */
void guest_hide(struct guest *g, const char *path);

/* Profiling without timing: how often each block of instructions ran. Off by default, and then
 * free. */
void guest_count_blocks(struct guest *g, bool on);
/* Calls visit for every block that ran: its start, its decoded instructions, how often. In pc
 * order. */
void guest_visit_blocks(struct guest *g,
			void (*visit)(void *ctx, uint64_t pc, const struct inst *insts,
				      size_t count, uint64_t times),
			void *ctx);

/*
 * Basic block vectors of guest_run. A static block is a run of instructions in sequence, from where a
 * thread enters it to the next control transfer or ecall; its name is the place of its first
 * instruction. A thread enters one when what it executed last was a control transfer or an ecall, or was
 * not the instruction before. With vectors, blocks are counted, too (guest_visit_blocks). Off by
 * default, and then free.
 */
void guest_vectors(struct guest *g, bool on, bool data);
/* With data: the counts of trace/locality.h since the last call. */
void guest_take_data(struct guest *g, uint64_t counts[LOCALITY_COUNTS]);
/* Calls visit for every static block of which something was executed since the last call, in the order
 * in which that began: its number, from 1 in the order of first execution, and the instructions. */
void guest_take_vector(struct guest *g, void (*visit)(void *ctx, uint64_t block, uint64_t insts),
		       void *ctx);
uint64_t guest_vector_blocks(const struct guest *g); /* that have run */
/* Where a static block stands. */
struct guest_block {
	const char *path; /* of the file, on the host; NULL: not known */
	const char *name; /* as the guest knows it; NULL: no file, but memory that was written */
	uint64_t offset;  /* in the file; without a file, the address */
};
struct guest_block guest_vector_block(const struct guest *g, uint64_t number);

#endif
