/* SPDX-License-Identifier: MIT */
/*
 * System V IPC of one guest: segments, semaphores and message queues that its tree of processes
 * shares and nobody else sees. The host's own IPC objects are never touched.
 *
 * All state is one mapping that forked processes share, guarded by one lock, under which no other
 * is taken. Ids are handed out in order (a sequence number over the index, as Linux does it), so
 * they repeat. Memory of segments is a part of the tree's file without a name (guest.shared_fd).
 */
#ifndef GUEST_KERNEL_IPC_INT_H
#define GUEST_KERNEL_IPC_INT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ipc.h>

struct guest;
struct thread;

#define IPC_INDEX_BITS 15
#define IPC_INDEX(id)  ((id) & ((1 << IPC_INDEX_BITS) - 1))

/* Limits that a program can ask for (IPC_INFO); those of Linux where memory allows. */
#define SHM_SEGMENTS	4096
#define SHM_ATTACHES	16384
#define SHM_MIN		1
#define SEM_SETS	4096
#define SEM_TOTAL	262144
#define SEM_PER_SET	32000
#define SEM_OPS		500
#define SEM_MAX_VALUE	32767
#define SEM_UNDOS	65536
#define MSG_QUEUES	512
#define MSG_MAX_BYTES	8192
#define MSG_QUEUE_BYTES 16384
#define IPC_WAITERS	16384

/* What all three kinds have in common: struct ipc64_perm of riscv64. */
struct ipc_perm64 {
	int32_t key;
	uint32_t uid, gid, cuid, cgid;
	uint32_t mode;
	uint16_t seq, pad;
	uint32_t pad2;
	uint64_t unused[2];
};

struct ipc_head {
	bool used;
	int id;
	int64_t ctime; /* of the last change by a control call */
	struct ipc_perm64 perm;
};

struct ipc_segment {
	struct ipc_head head;
	bool removed; /* IPC_RMID: goes with its last attach */
	uint64_t size_bytes, offset;
	int64_t atime, dtime;
	int cpid, lpid;
};

struct ipc_attach {
	int pid; /* 0: free */
	int id;
	unsigned parts; /* mappings that are left of it; Linux counts each as an attach */
	uint64_t addr;
};

struct ipc_sem_set {
	struct ipc_head head;
	unsigned first, count; /* in ipc_table.sem */
	int64_t otime;
};

struct ipc_sem {
	uint16_t value;
	int pid; /* of the last operation */
};

struct ipc_undo {
	int pid; /* 0: free */
	int id;
	unsigned num;
	int adjust;
};

struct ipc_message {
	int64_t type;
	uint32_t bytes;
};

/* Messages lie one after the other in data, each behind its struct ipc_message. */
#define MSG_DATA_BYTES (MSG_QUEUE_BYTES * (1 + sizeof(struct ipc_message)))
struct ipc_queue {
	struct ipc_head head;
	int64_t stime, rtime;
	uint64_t bytes, messages, limit_bytes; /* of messages, without their struct ipc_message */
	int lspid, lrpid;
	uint32_t used_bytes;
	uint8_t data[MSG_DATA_BYTES];
};

/* A thread that waits for a semaphore (num: which of the set) or a queue. */
struct ipc_waiter {
	int pid; /* 0: free */
	uint32_t tid;
	int id;
	unsigned num;
	enum { IPC_FOR_ZERO = 1, IPC_FOR_MORE, IPC_FOR_SPACE, IPC_FOR_MESSAGE } what;
};

struct ipc_table {
	pthread_mutex_t lock;
	unsigned segment_seq, set_seq, queue_seq;
	unsigned nsegments, nsets, nqueues; /* highest index in use + 1 */
	unsigned nattaches, nundos, nwaiters;
	unsigned sems_used;
	struct ipc_segment segment[SHM_SEGMENTS];
	struct ipc_attach attach[SHM_ATTACHES];
	struct ipc_sem_set set[SEM_SETS];
	struct ipc_sem sem[SEM_TOTAL];
	struct ipc_undo undo[SEM_UNDOS];
	struct ipc_waiter waiter[IPC_WAITERS];
	struct ipc_queue queue[MSG_QUEUES];
};

void ipc_lock(struct guest *g);
void ipc_unlock(struct guest *g);
int64_t ipc_seconds(const struct guest *g); /* the wall clock, for the times of last use */

/* IPC_PRIVATE, an existing key, or a new one: index of the object, or -errno. *made: it is new and
 * the caller fills in the rest. heads: array of `count` objects of `stride` bytes. */
int ipc_get(struct guest *g, void *heads, unsigned *n, unsigned count, size_t stride, unsigned *seq,
	    int key, int flags, bool *made);
/* The object of an id, or NULL. */
void *ipc_by_id(void *heads, unsigned n, size_t stride, int id);
/* May the guest's user read (4) or write (2) it? */
bool ipc_may(const struct ipc_head *h, unsigned want);
/* What shmctl, semctl and msgctl have in common, and what each kind does its own way. */
struct ipc_objects {
	void *heads; /* n objects of `stride` bytes, each of which begins with a struct ipc_head */
	unsigned n;
	size_t stride;
	int info, stat, stat_any; /* the kind's numbers of SHM_INFO, SHM_STAT and SHM_STAT_ANY */
	/* IPC_INFO and SHM_INFO: writes the limits; the highest index in use, or -EFAULT. */
	int64_t (*info_out)(struct guest *g, int command, uint64_t addr);
	/* IPC_STAT: writes the object's struct; 0 or -EFAULT. */
	int64_t (*stat_out)(struct guest *g, const void *object, uint64_t addr);
	/* IPC_SET: takes over what is not a permission from the struct that the guest gave, which is
	 * set_bytes long and begins with them; 0 or -errno. May be NULL. */
	size_t set_bytes;
	int64_t (*set)(struct guest *g, void *object, const void *from);
	void (*remove)(struct guest *g, void *object); /* IPC_RMID */
	/* Any other command; object is NULL if the id names none. May be NULL. */
	int64_t (*other)(struct guest *g, void *object, int num, int command, uint64_t arg);
};
#define IPC_SET_BYTES_MAX 256 /* of set_bytes */
/* A control call, with the lock held. num: of a semaphore in its set. */
int64_t ipc_control(struct guest *g, const struct ipc_objects *o, int id, int num, int command,
		    uint64_t arg);

/* Registers the thread as waiting; the caller then returns wait_begin(t, WAIT_IPC, …). */
int ipc_wait(struct guest *g, struct thread *t, int id, unsigned num, int what);
/* The object has changed: other processes whose threads wait for it look again, and this one at the
 * next opportunity. */
void ipc_changed(struct guest *g, int id, bool queue);
unsigned ipc_waiters(struct guest *g, int id, unsigned num, int what);

/* With the lock held: removes what is left of a process that has ended. */
void shm_detach_all(struct guest *g, int pid);
void sem_undo_all(struct guest *g, int pid);

#endif
