/* SPDX-License-Identifier: MIT */
/* The table of all processes of one tree, which they share. */
#ifndef GUEST_PROCESS_PROCS_H
#define GUEST_PROCESS_PROCS_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct guest;
struct fd_entry;

/* A signal on its way to another process. */
struct sig_mail {
	_Atomic int state;
	uint32_t tid; /* the thread that it is for; 0: the process */
	unsigned order;
	uint8_t info[48]; /* of siginfo_t, all that a sender can say */
};

/* Shared between all processes of one simulated tree: see procs.c. */
#define PROC_MAILS 40
struct proc_slot {
	_Atomic int guest_pid; /* of a process or a thread; 0: free */
	_Atomic int tgid;      /* the process that it belongs to */
	_Atomic int host_pid;
	_Atomic int ready;  /* the process holds its lock */
	_Atomic int status; /* wait status | PROC_ENDED, once the process has ended */
	_Atomic uint64_t end_ns, cpu_ns;
	_Atomic uint64_t wake_ns; /* when it will go on by itself; 0: it runs, NO_TIME: never */
	_Atomic bool waits_child; /* all that it waits for is a child */
	_Atomic int ppid, pgid, sid, nice;
	_Atomic int death_signal; /* sent when the parent ends */
	_Atomic int execed;
	_Atomic unsigned mails; /* ever sent to it */
	struct sig_mail mail[PROC_MAILS];
};
#define PROC_ENDED 0x10000
#define PROC_SLOTS 65536
/* The host's pseudoterminals have numbers below this: the kernel's limit, unless it was raised. */
#define HOST_TERMINALS 4096
struct proc_table {
	_Atomic int next;      /* the next pid or tid to hand out, less pid_base */
	_Atomic int processes; /* ever made */
	_Atomic int alive;
	_Atomic int shares;		      /* somebody has mapped writable shared memory */
	_Atomic int waiting;		      /* processes that want the baton */
	_Atomic int foreground;		      /* process group of the terminal */
	_Atomic uint64_t written;	      /* bytes of output, where that is limited */
	_Atomic unsigned limits_said;	      /* bits: a limit was reached, and a line said so */
	_Atomic int terminals;		      /* pseudoterminals that the guest has ever had */
	_Atomic int terminal[HOST_TERMINALS]; /* by the host's number: the guest's, plus one */
	_Atomic unsigned turn;
	pthread_mutex_t baton;
	struct proc_slot slot[PROC_SLOTS];
	/* What /proc tells other processes about one. Each process writes its own. */
	struct proc_note {
		_Atomic int ppid;
		char comm[16];
		char cmdline[256]; /* the beginning of it, as in /proc/PID/cmdline */
		uint16_t cmdline_bytes;
	} note[PROC_SLOTS];
};

void procs_init(struct guest *g);
void procs_free(struct guest *g);
/* A number for a process or thread, or -EAGAIN. */
int proc_new_id(struct guest *g);
/* The place of an id's entry, whether or not the id is in use. */
struct proc_slot *proc_slot(const struct guest *g, int pid);
/* Enters id, a thread of process tgid (id itself: a process), with group and session of `like`. */
void proc_slot_take(struct guest *g, int id, int tgid, const struct proc_slot *like);
void proc_slot_drop(struct guest *g, int id);
void proc_slot_mine(struct guest *g); /* this process of the host is now g->pid */
/* A process of the tree, zombies too, or NULL. */
struct proc_slot *proc_find(struct guest *g, int pid);
/* A thread of any process of the tree, or NULL. */
struct proc_slot *proc_find_task(struct guest *g, int id);
bool proc_alive(struct guest *g, int pid);
bool proc_group_exists(struct guest *g, int pgid, int sid); /* sid 0: in any session */
/* The guest's pid of a process of the host, 0: not one of the tree. */
int proc_of_host(struct guest *g, pid_t host);
/* Whether another process runs, or will go on by itself before this time. *any: one may be about to
 * run although its entry does not say so yet, because something has just come for it. */
bool proc_others_before(struct guest *g, uint64_t boot_ns, bool *any);
/* A pidfd of the host for a process of the tree, or -ESRCH. */
int proc_open(struct guest *g, int pid);
/* Sends a signal to process pid, or (tid not 0) one of its threads: 0 or -errno. */
int64_t proc_signal(struct guest *g, int pid, uint32_t tid, const siginfo_t *info);
void proc_tell_children(struct guest *g, int parent);
/* Ends all other processes of the tree if the run of g was cut and nobody measures them. */
void proc_end_others(struct guest *g);
void proc_look(struct guest *g, int pid); /* has it look at what its threads wait for */
void proc_read_mail(struct guest *g);
/* The process that a descriptor stands for: its pid, -EBADF: none at all, -ESRCH: none of the tree.
 */
int pidfd_process(struct guest *g, const struct fd_entry *f);

#endif
