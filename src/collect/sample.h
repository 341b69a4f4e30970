/* SPDX-License-Identifier: MIT */
/*
 * What the sampling program in the kernel (sample.bpf.c) and the collector share: the table of
 * counts, the records of the ring, and the totals of each processor.
 *
 * A key is 64 bits. Of the kernel's code it is the address, whose top bit is set. Of all other code
 * it is an image token of 27 bits and an offset of 36 bits; what a token means was said by a record
 * of type SAMPLE_IMAGE in the ring before the first count with it.
 */
#ifndef COLLECT_SAMPLE_H
#define COLLECT_SAMPLE_H

#include <linux/types.h>

#define SAMPLE_WAYS	   4 /* entries of 16 bytes in a bucket, which is a cache line */
#define SAMPLE_EVENTS	   8
#define SAMPLE_FRAMES	   127 /* user frames of a stack; as many of the kernel */
#define SAMPLE_OFFSET_BITS 36
#define SAMPLE_TOKENS	   (1u << 27)
#define SAMPLE_COUNT_MAX   0xffffffu

/* value: number of the process (32 bits; 0: not kept apart), kind (8), count (24; 0: free). */
struct sample_entry {
	__u64 key, value;
};
struct sample_bucket {
	struct sample_entry way[SAMPLE_WAYS];
};

#define SAMPLE_VALUE(space, kind) ((__u64)(space) << 32 | (__u64)(kind) << 24)
#define SAMPLE_COUNT(value)	  ((__u32)(value)&SAMPLE_COUNT_MAX)
#define SAMPLE_SPACE(value)	  ((__u32)((value) >> 32))
#define SAMPLE_KIND(value)	  ((__u8)((value) >> 24))

/* The kind of an entry: its event, and what is counted. */
#define SAMPLE_EVENT(kind)    ((kind)&0x0f)
#define SAMPLE_WHAT(kind)     ((kind)&0xf0)
#define SAMPLE_HERE	      0x00 /* samples at the key's place */
#define SAMPLE_EDGE_TAKEN     0x10 /* conditional branches seen there */
#define SAMPLE_EDGE_NOT_TAKEN 0x20
#define SAMPLE_STACKS	      0x30 /* the key is the hash of a stack */

/* What the program knows before it is loaded. */
struct sample_constants {
	__u32 buckets[2]; /* of the two tables of a processor */
	__u32 blocks;	  /* processes whose mappings are kept, per processor; a power of two */
	__u32 count_max;
	__u32 ring_wake_bytes; /* the collector is woken when the ring holds that much */
	__u32 processes, threads, stacks, edges, trace; /* what is kept; 0: not */
};

/* Where samples of an event went. taken = in tables and ring and beyond + lost_ring. */
struct sample_totals {
	__u64 taken;
	__u64 lost_ring;  /* samples of entries and announcements for which the ring had no room */
	__u64 lost_other; /* stacks and edges for which the ring had no room; not part of taken */
};

#define SAMPLE_EPOCH(turn) ((__u32)((turn) >> 32))

/* One per processor. Only its own handler, and the cut that runs on it, write it. */
struct sample_cpu {
	/* Number of cuts, and of samples since the last: SAMPLE_EPOCH. One number, so that a cut sees a
	 * sample that interrupts it. Which of the two tables counts is the lowest bit of the epoch: the
	 * small one only while the large one is drained. */
	__u64 turn;
	__u32 inside; /* 1 while the handler runs */
	__u32 next_way;
	__u64 hits, misses;
	__u64 entries;	/* that were evicted into the ring */
	__u64 lookups;	/* of a mapping, by bpf_find_vma */
	__u64 checks;	/* of a known mapping after a change of the address space */
	__u64 unplaced; /* samples that went to the ring one by one: no mapping or no room for it */
	__u64 saturated;
	__u64 refused; /* records that the ring had room for, and did not take at once */
	/* Time of every 64th sample in the handler, and how many: that hit the table, that missed. */
	__u64 timed_ns[2], timed[2];
	struct sample_totals now[SAMPLE_EVENTS];
	struct sample_totals at_cut[SAMPLE_EVENTS]; /* as they were when the tables were swapped */
} __attribute__((aligned(64)));

/* Shared by all processors, at an address of its own. */
struct sample_shared {
	__u32 tokens, spaces; /* last numbers given; of tokens the low 27 bits */
	__u32 generation;     /* what is known of processes and mappings counts only within one */
};

enum sample_type {
	SAMPLE_ENTRY = 1,
	SAMPLE_IMAGE,
	SAMPLE_PROCESS,
	SAMPLE_UNPLACED,
	SAMPLE_STACK,
	SAMPLE_TRACE
};

/* Begins every record. */
struct sample_head {
	__u8 type;
	__u8 kind;
	__u16 cpu;
	__u32 epoch;
};

struct sample_process {
	__u64 start_ns;
	__u32 pid, exec_id;
};

struct sample_record_entry {
	struct sample_head head;
	struct sample_entry entry;
};

/* Token `number` is the mapping in which the address lay, with that offset. */
struct sample_record_image {
	struct sample_head head;
	struct sample_process process;
	__u64 time_ns, address, offset;
	__u32 number, _pad;
};

/* thread_ns, tid: 0 unless threads are kept apart; else the thread, which has this name. */
struct sample_record_process {
	struct sample_head head;
	struct sample_process process;
	__u64 time_ns, cgroup;
	__u32 number, uid;
	__u64 thread_ns;
	__u32 tid, _pad;
	char name[16];
};

/* A sample (or an edge) by itself. */
struct sample_record_unplaced {
	struct sample_head head;
	struct sample_process process;
	__u64 time_ns, address;
	__u32 space, _pad;
};

/* The frames of a stack, kernel first, innermost first. */
struct sample_record_stack {
	struct sample_head head;
	struct sample_process process;
	__u64 time_ns, hash;
	__u32 nkernel, nuser;
	__u32 broken, _pad;
	__u64 frame[2 * SAMPLE_FRAMES];
};

/* One sample as it was taken; written in place of counting it. */
struct sample_record_trace {
	struct sample_head head;
	struct sample_process process;
	__u64 time_ns, address, key;
};

#endif
