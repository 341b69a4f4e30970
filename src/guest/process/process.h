/* SPDX-License-Identifier: MIT */
/*
 * The inside of a guest process, shared by the files of this folder and by nobody else.
 *
 * A system call is a function that returns a result or -errno. One that would block says what it
 * waits for (struct wait) and returns SYS_BLOCK; it is called again, with wait.started set, once
 * that happened. A guest thread therefore never blocks the host as long as another one can run.
 */
#ifndef GUEST_PROCESS_H
#define GUEST_PROCESS_H

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "guest/engine/engine.h"
#include "guest/guest.h"
#include "guest/memory/mem.h"

#define SYS_BLOCK INT64_MIN	  /* the thread waits: see struct wait */
#define SYS_DONE  (INT64_MIN + 1) /* the registers are as they should be: sigreturn, execve */

#define NS_PER_SEC 1000000000ull
#define NO_TIME	   UINT64_MAX

#define GUEST_STACK_TOP	 0x3ffffff000ull
#define GUEST_PIE_BASE	 0x2aaaaaa000ull
#define GUEST_TRAMPOLINE 0x3ffffff000ull /* li a7,139; ecall */
#define GUEST_UID	 1000
#define GUEST_SIGNALS	 64

enum wait_kind {
	WAIT_NONE,
	WAIT_TIME,   /* only the deadline ends it */
	WAIT_FUTEX,  /* a wake on futex_addr */
	WAIT_FDS,    /* one of fds is ready */
	WAIT_CHILD,  /* a child process changes state */
	WAIT_SIGNAL, /* a signal */
	WAIT_IPC,    /* a semaphore or message queue */
};

struct wait {
	enum wait_kind kind;
	bool started;	      /* the call has waited before: do not compute the deadline again */
	bool woken;	      /* futex: somebody woke it */
	bool timed_out;	      /* the deadline has passed */
	bool internal;	      /* fds: only this process can make them ready */
	uint64_t deadline_ns; /* guest time since boot; NO_TIME: for ever */
	uint64_t futex_addr;
	uint32_t futex_bits;
	bool futex_pi;	     /* it wants to own the word, not to be told of a change */
	uint64_t futex_then; /* FUTEX_WAIT_REQUEUE_PI: the word that it wants to own once woken */
	uint64_t order;	     /* first come, first woken */
	uint64_t progress;   /* bytes already moved by the blocked call */
	uint64_t sigset;     /* rt_sigtimedwait: what it takes */
	struct pollfd *fds;  /* host file descriptors */
	size_t nfds, cap_fds;
};

struct sig_node {
	siginfo_t info;
	struct sig_node *next;
};

struct sig_pending {
	uint64_t set; /* bit n - 1: signal n */
	struct sig_node *head;
};

struct sig_action {
	uint64_t handler, flags, mask; /* the layout of the riscv64 kernel */
};

enum thread_state {
	THREAD_READY,
	THREAD_BLOCKED,
	THREAD_DEAD,
};

struct thread {
	struct hart hart; /* first: the engine works on it */
	uint32_t tid;
	enum thread_state state;
	/* the system call it is in */
	const struct syscall_row *row;
	uint64_t args[6];
	struct wait wait;
	/* signals */
	uint64_t sigmask;
	uint64_t saved_sigmask; /* to put back after sigsuspend, ppoll, … */
	bool restore_sigmask;
	struct sig_pending pending;
	uint64_t alt_sp, alt_size;
	uint32_t alt_flags;
	/* what the C library registered */
	uint64_t clear_tid;
	uint64_t robust_head, robust_len;
	uint64_t rseq_addr;
	uint32_t rseq_bytes, rseq_sig;
	char name[16];
};

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
	bool internal;	  /* nobody outside this process is at the other end */
	uint8_t input;	  /* 1 + the standard stream whose guest_config.input counts; 0: none */
	uint32_t listing; /* 1 + index into listings, of a folder that is being listed; 0: none */
	uint32_t timer;	  /* FD_TIMER: index into timers; FD_SIGNAL: O_NONBLOCK */
	uint64_t sigset;  /* FD_SIGNAL */
	int pid;	  /* FD_PIDFD: guest pid; otherwise F_SETOWN's */
	uint64_t list_at; /* of a folder that is made up: where its listing goes on */
	struct node node; /* what it is, if it is made up */
};

enum timer_kind {
	TIMER_FREE,
	TIMER_SIGNAL,
	TIMER_FD,
};

struct vtimer {
	uint8_t kind; /* enum timer_kind */
	bool cpu_clock;
	bool posix;	  /* made by timer_create */
	int clock;	  /* as given by the guest */
	uint64_t next_ns; /* in its clock; NO_TIME: disarmed */
	uint64_t interval_ns;
	int signo;
	bool notify_none;
	uint64_t value; /* sigev_value */
	uint32_t tid;	/* the thread to signal; 0: the process */
	int overrun;
	int host_fd;
};
enum { TIMER_ITIMER_REAL, TIMER_ITIMER_VIRTUAL, TIMER_ITIMER_PROF, TIMER_FIRST_POSIX };

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
	/* What /proc tells the others about a process. Each writes its own. */
	struct proc_note {
		_Atomic int ppid;
		char comm[16];
		char cmdline[256]; /* the beginning of it, as in /proc/PID/cmdline */
		uint16_t cmdline_bytes;
	} note[PROC_SLOTS];
};

struct child {
	int guest_pid, host_pid, pidfd;
	int exit_signal;
};

struct guest_limits {
	uint64_t cur, max;
};

struct file_id {
	uint64_t dev, ino;
};

/* Where the guest's names begin, and whose files are whose. Fixed when the guest is made. */
struct path_world {
	int root_fd;				      /* the host's "/", O_PATH */
	struct file_id root, sysroot, dev, etc, home; /* ino 0: there is none */
	struct file_id shm;
	bool super;	    /* the host would let this program pass over mode bits */
	bool root_unmapped; /* in a user namespace in which root's files are nobody's */
	uint32_t uid, gid;  /* of this program */
};

struct guest {
	/* what guest_step touches for every instruction */
	struct engine *engine;
	struct thread *cur;
	uint64_t insts;
	uint64_t event_at; /* when insts reaches it, guest_settle must look */
	uint64_t cycles;
	uint64_t event_cycles;
	bool cycle_mode;
	bool stalled; /* every thread waits: guest_settle was interrupted */
	volatile sig_atomic_t interrupted;
	uint64_t tick_base;

	struct guest_mem mem;
	struct guest_config config;
	char *sysroot; /* without symbolic links */
	int sysroot_fd;
	struct path_world world;
	struct node cwd; /* the working folder, if it is made up */
	struct rng rng;
	double ns_per_tick;
	uint64_t quantum, quantum_end;
	uint64_t skip_ns; /* time that passed while every thread waited */

	struct thread **threads;
	size_t nthreads;
	size_t live;
	bool resched;
	uint64_t wait_order;

	struct sig_action action[GUEST_SIGNALS + 1];
	struct sig_pending pending;
	_Atomic uint64_t host_pending; /* signals that came to the host process */
	uint64_t host_caught;	       /* signals whose host handler is ours */

	struct fd_entry *fds;
	size_t nfds;

	struct vtimer *timers;
	size_t ntimers;

	struct proc_table *procs;
	struct ipc_table *ipc;
	bool child_look; /* a child has ended, stopped or gone on */
	bool ipc_look;	 /* what a thread of this process waits for has changed */
	int shared_fd;	 /* a file without a name: locks of procs.c, memory of sys_shm.c */
	int pid_base, pid, ppid;
	struct child *children;
	size_t nchildren;
	uint64_t children_cpu_ns;
	bool baton; /* this process holds it */
	uint64_t
	    vfork_sp; /* the parent's stack pointer, to give back what a vfork child wrote there */
	unsigned child_number; /* 0: the first process */
	int vfork_fd;	       /* write end to close at exec or exit; -1 */
	bool run_here;	       /* a child that nobody measures: runs to its end where it was made */

	uint64_t brk_start, brk;
	uint64_t entry;
	struct guest_limits limit[16];
	uint32_t umask_value;
	uint64_t personality;

	char *exe_host, *exe_name; /* the program: host path, and as the guest knows it */
	int exe_fd;		   /* and open, O_PATH */
	char **argv_now, **envp_now;
	uint64_t auxv[48];
	size_t auxv_bytes;
	struct guest_image *images;
	size_t nimages;
	struct file_use *files;
	size_t nfiles;
	struct listing *listings;
	size_t nlistings;
	struct folder_use *folders;
	size_t nfolders;
	int notes_fd;  /* a log of what files and folders are used; all processes share it */
	char **hidden; /* what culprit writes: not in the guest's folders */
	size_t nhidden;
	struct input_place *input_place;
	uint64_t stream_dev[3], stream_ino[3]; /* the host's, where guest_config has an identity */

	bool ended;
	int wait_status; /* as wait4 reports it */
	int exit_status;
	uint8_t named[512 / 8];	  /* unknown system calls that were already named */
	uint64_t clock_offset_ns; /* clock_settime */
	uint64_t
	    data_before; /* bytes of this process when memory began to be limited; 0: not yet */
};

struct syscall_row {
	const char *name; /* NULL: there is no such call */
	int64_t (*fn)(struct guest *g, struct thread *t, const uint64_t *a);
	unsigned flags;
};
#define SF_RESTART  1 /* begins again after a handler with SA_RESTART */
#define SYSCALL_MAX 512
extern const struct syscall_row syscall_table[SYSCALL_MAX];
#define SYS(nr, name, flags)                                                                       \
	int64_t sys_##name(struct guest *g, struct thread *t, const uint64_t *a);
#include "guest/kernel/syscalls.def"
#undef SYS

/* limits.c */
/* If one more process or thread can be; otherwise says so. */
bool limits_process(struct guest *g);
static inline bool limits_any(const struct guest *g)
{
	return g->config.limit_output | g->config.limit_files | g->config.limit_memory;
}
/* The thread's call, as far as limits let it. */
int64_t limits_call(struct guest *g, struct thread *t);

/* syscall.c */
void syscall_enter(struct guest *g, struct thread *t);
/* Calls the blocked call again; true if it is done. */
bool syscall_retry(struct guest *g, struct thread *t);
void syscall_finish(struct guest *g, struct thread *t, int64_t result);

/* sched.c */
struct thread *thread_new(struct guest *g);
void thread_exit(struct guest *g, struct thread *t);
struct thread *thread_find(struct guest *g, uint32_t tid);
void threads_free(struct guest *g, const struct thread *except);
/* Ends the process; wait_status as wait4 reports it. */
void guest_end(struct guest *g, int wait_status);
/* Delivers signals, fires timers, chooses the thread that runs next, and if none can, waits. */
void guest_settle(struct guest *g);
int64_t wait_begin(struct thread *t, enum wait_kind kind, uint64_t deadline_ns);
/* Blocks until one of the guest's host descriptors is ready. */
int64_t wait_fd(struct guest *g, struct thread *t, int fd, short events, uint64_t deadline_ns);

/* clock.c */
uint64_t clock_boot_ns(const struct guest *g); /* guest time that deadlines are in */
uint64_t clock_cpu_ns(const struct guest *g);
uint64_t clock_real_ns(const struct guest *g); /* since 1970 */
bool clock_read(const struct guest *g, int id, uint64_t *ns);
uint64_t clock_counter(void *ctx, unsigned csr, uint64_t executed);
/* Instructions until boot_ns is reached, from now. */
uint64_t clock_insts_until(const struct guest *g, uint64_t boot_ns);
uint64_t clock_cycles_at(const struct guest *g, uint64_t boot_ns);
void timers_fire(struct guest *g);
uint64_t timers_next_ns(const struct guest *g); /* boot time of the next expiry, NO_TIME: none */
void timers_after_exec(struct guest *g, bool forked);
void timer_release(struct guest *g, uint32_t index);
/* deadline (boot time) of a relative struct timespec in guest memory; 0 and *ns, or -errno. */
int timespec_in(struct guest *g, uint64_t addr, uint64_t *ns);
int timespec_out(struct guest *g, uint64_t addr, uint64_t ns);
uint64_t deadline_after(const struct guest *g, uint64_t ns);

/* signal.c */
void signal_send(struct guest *g, struct thread *t,
		 const siginfo_t *info); /* t NULL: the process */
void signal_send_kernel(struct guest *g, struct thread *t, int signo);
void signal_fault(struct guest *g, struct thread *t, int signo, int code, uint64_t addr);
void signal_deliver(struct guest *g, struct thread *t);
bool signal_pending(const struct guest *g, const struct thread *t);
void signal_collect_host(struct guest *g);
void signal_update_fds(struct guest *g);
void signal_flush(struct sig_pending *p);
bool signal_take(struct guest *g, struct thread *t, uint64_t set, siginfo_t *info);
void signal_after_exec(struct guest *g);
void signal_adopt_host(struct guest *g);
void signal_release_host(struct guest *g);
/* From now on a host signal of this number is the guest's. */
void signal_watch_host(struct guest *g, int signo);
/* What the host's process is sent when there is something to look at: mail, or a resource that one
 * of its threads waits for. */
#define SIGNAL_LOOK SIGURG
void signal_reset_host(struct guest *g); /* in a new child process */
/* The thread loses the hart: a restartable sequence that it is in must begin again. */
void rseq_abort(struct guest *g, struct thread *t);
extern const char *const signal_name[GUEST_SIGNALS + 1];

/* fd.c */
int fd_host(const struct guest *g, uint64_t fd); /* host descriptor, or -1 */
struct fd_entry *fd_get(struct guest *g, uint64_t fd);
/* Takes over host; returns the guest descriptor >= min, or -EMFILE and closes host. */
int64_t fd_install(struct guest *g, int host, int min, bool cloexec, enum fd_kind kind);
/* Two that belong together (pipe, socket pair): installs both and writes their numbers to guest
 * memory at `at`; on failure both are closed. 0 or -errno. */
int64_t fd_install_pair(struct guest *g, const int host[2], bool cloexec, uint64_t at);
int64_t fd_install_at(struct guest *g, int host, int fd, bool cloexec, const struct fd_entry *like);
/* May a descriptor that was not opened through the guest's paths be the guest's? Not if it is part
 * of an interface of the host's kernel. */
bool fd_is_harmless(int host);
/* What F_GETFL says; -errno. */
int fd_flags(const struct fd_entry *f);
int64_t fd_close(struct guest *g, uint64_t fd);
void fd_close_on_exec(struct guest *g);
void fds_init(struct guest *g);
void fds_free(struct guest *g);

/* files.c */
void files_init(struct guest *g);
/* A folder was listed: its names, each with the mark of its kind and a NUL. */
void files_listed(struct guest *g, const char *path, const char *names, size_t size_bytes);
/* If nothing of that name is there. */
bool files_new(int dir, const char *path);
/* A file was opened; made: it was not there before. */
void files_opened(struct guest *g, int host, int flags, bool made);
/* A name has appeared, or stands for something else than before. */
void files_named(struct guest *g, int dir, const char *path, bool made);
void files_free(struct guest *g);

/* input.c */
#define INPUT_IOV_MAX 1024
void input_init(struct guest *g);
void input_free(struct guest *g);
/* A descriptor was opened by a name: it may be one of the standard streams again. */
void input_opened(struct guest *g, int64_t fd);
/* The host's descriptor of the terminal among the standard streams; -1: there is none. */
int input_terminal(const struct guest *g);
/* What stat says of a file, which may be one of the streams: those look the same in every run. */
struct file_ids {
	uint64_t dev, ino, rdev, nlink;
};
void input_steady(const struct guest *g, struct file_ids *ids);
/* Reads from a descriptor whose entry has input set. */
int64_t input_read(struct guest *g, struct thread *t, uint64_t fd, const struct iovec *iov,
		   int count);

/* listing.c */
/* The next entries of a folder into guest memory, in the order of their names. */
int64_t listing_read(struct guest *g, struct fd_entry *f, uint64_t addr, uint64_t size_bytes);
/* Moves within a folder; false if that is none that was listed. */
bool listing_seek(struct guest *g, struct fd_entry *f, int64_t offset, int whence, int64_t *at);
/* A descriptor was closed. */
void listing_closed(struct guest *g, uint32_t listing);
void listings_free(struct guest *g);

/* path.c */
#define PATH_BYTES 4096
/* What a path stands for: a name in a folder of the host, or something that is made up. */
struct path_at {
	int dir;	    /* host descriptor of the folder; -1: see node */
	bool own;	    /* dir is to be closed */
	bool in_sysroot;    /* found there */
	bool is_dir;	    /* name is "" and dir a folder */
	char name[256 + 2]; /* in dir, never followed; "": what dir is open on. May end in '/' */
	uint64_t dev;	    /* of the folder's file system */
	struct node node;
};
enum path_flag {
	PATH_FOLLOW = 1 << 0, /* the last name, too, if it is a symbolic link */
	PATH_EMPTY = 1 << 1,  /* "" is the descriptor itself */
	PATH_NULL = 1 << 6,   /* a null pointer is "" */
	PATH_NAME = 1 << 2,   /* for calls that make, move or remove the last name */
	PATH_MAKE = 1 << 3,   /* the last name is made if it is not there */
	/* RESOLVE_* of openat2 from bit 8 on */
	PATH_RESOLVE_SHIFT = 8,
};
/*
 * Every path of a guest comes through here. Decides on what it leads to, not on how it is spelt:
 * component by component, with symbolic links followed in the guest's name space. 0, then
 * path_done is due; or -errno. The last name need not be there.
 */
int path_find(struct guest *g, uint64_t dirfd, const char *path, unsigned flags,
	      struct path_at *at);
/* The same with a path in guest memory. */
int path_find_at(struct guest *g, uint64_t dirfd, uint64_t addr, unsigned flags,
		 struct path_at *at);
void path_done(struct path_at *at);
/* struct stat of what was found. -EACCES if it belongs to the host's kernel. */
int path_stat(struct guest *g, const struct path_at *at, struct stat *st);
/* 0 if the guest may use it so (R_OK, W_OK, X_OK): by the mode bits of the owner on every host, and
 * where this program is an ordinary user, by what the host says. */
int path_access(struct guest *g, const struct path_at *at, int want);
/* Opens it on the host; flags and mode as open takes them. -errno, or a descriptor that may be
 * given to the guest. Not for what is made up. */
int path_open(struct guest *g, const struct path_at *at, int flags, mode_t mode);
/* An O_PATH descriptor of it, or a copy of the descriptor that it is. Not for what is made up. */
int path_object(struct guest *g, const struct path_at *at);
/* Is an open file part of an interface of the host's kernel: procfs, sysfs, …? */
bool path_is_kernels(int host_fd);
void path_world_init(struct guest *g);
void path_world_free(struct guest *g);
/* The name of an open file on the host; 0 or -errno. */
int path_of_fd(int fd, char host[PATH_BYTES]);
#define FD_PATH_BYTES 48
/* A host path that leads to what is open, for host calls that take no descriptor. */
void path_to_fd(int fd, char host[FD_PATH_BYTES]);
/* The name under which the guest knows a host path. */
const char *path_guest(const struct guest *g, const char *host);
int path_cwd(const struct guest *g, char path[PATH_BYTES]); /* as the guest knows it */

/* owner.c: whose a file is, as the guest sees it */
void owner_init(struct path_world *w);
uint32_t owner_uid(const struct guest *g, uint32_t host);
uint32_t owner_gid(const struct guest *g, uint32_t host);
/* From the host's struct stat to the guest's. */
void owner_show(struct guest *g, struct stat *st);
/* By the mode bits of the owner; want is of R_OK, W_OK and X_OK. */
bool owner_may(const struct guest *g, const struct stat *st, int want);
/* 0 or -errno of a change of owner: only to what it is. st as the guest sees it. */
int owner_change(const struct stat *st, uint32_t uid, uint32_t gid);
/* Without what makes a program run as its owner, who may be root. */
mode_t owner_mode(mode_t mode);

/* nodes.c: what is made up */
#define NODE_PATH_BYTES 128
/* The node of an absolute path in normal form; false: there is none. */
bool node_find(struct guest *g, const char *path, struct node *n);
int node_child(struct guest *g, const struct node *dir, const char *name, struct node *child);
/* The guest's node for a device of the host's. */
bool node_of_device(struct guest *g, uint64_t rdev, struct node *n);
/* The guest's number of the pseudoterminal that a descriptor is an end of; -1. */
int node_terminal(struct guest *g, const struct fd_entry *f);
void node_path(const struct node *n, char path[NODE_PATH_BYTES]);
mode_t node_mode(const struct node *n);
/* A symbolic link that leads to a file whatever its text says: exe, cwd, root, fd/N. */
bool node_is_magic(const struct node *n);
/* /dev/shm, which stands for the host's. */
bool node_is_shm(const struct node *n);
int node_readlink(struct guest *g, const struct node *n, char text[PATH_BYTES]);
void node_stat(struct guest *g, const struct node *n, struct stat *st);
struct statfs;
void node_statfs(const struct node *n, struct statfs *s);
int node_open(struct guest *g, const struct node *n, int flags, enum fd_kind *kind);
int64_t node_list(struct guest *g, struct fd_entry *f, uint64_t addr, uint64_t size_bytes);
/* The guest has closed its last descriptor of it. */
void node_closed(struct guest *g, const struct fd_entry *f);

/* procfs.c: what files about processes and the machine say */
#define PROC_TEXT(name) void proc_##name(struct guest *g, const struct node *n, FILE *out);
PROC_TEXT(maps)
PROC_TEXT(smaps)
PROC_TEXT(smaps_rollup)
PROC_TEXT(auxv)
PROC_TEXT(stat)
PROC_TEXT(status)
PROC_TEXT(statm)
PROC_TEXT(cmdline)
PROC_TEXT(environ)
PROC_TEXT(comm)
PROC_TEXT(limits)
PROC_TEXT(io)
PROC_TEXT(mounts)
PROC_TEXT(mountinfo)
PROC_TEXT(schedstat)
PROC_TEXT(fdinfo)
PROC_TEXT(uptime)
PROC_TEXT(loadavg)
PROC_TEXT(cpu_stat)
PROC_TEXT(boot_id)
PROC_TEXT(uuid)
#undef PROC_TEXT
/* What others will read about this process; after fork, exec and a change of name. */
void proc_note(struct guest *g);

/* elf.c */
struct elf_file {
	int fd;
	char *host, *name;
	uint64_t size_bytes;
	uint16_t type;
	uint64_t entry;
	uint64_t phoff;
	unsigned phnum;
	struct elf_segment {
		uint64_t vaddr, offset, filesz, memsz;
		uint8_t prot;
	} * segment;
	size_t nsegments;
	uint64_t low, high;  /* span of all segments */
	uint64_t phdr_vaddr; /* 0: the headers are not loaded */
	bool stack_exec;
	char *interp; /* NULL: none */
};
/* Checks headers and keeps what loading needs. fd is taken over; -errno if the file could not be
 * opened. Errors: false, e says why and *code is an errno. */
bool elf_open(struct elf_file *f, const char *name, const char *host, int fd, struct err *e,
	      int *code);
void elf_close(struct elf_file *f);
/* Maps the segments at bias; false if they do not fit. */
bool elf_map(struct guest *g, const struct elf_file *f, uint64_t bias, struct err *e);

/* exec.c */
/* Replaces the process image. On failure nothing has changed and *code is an errno. */
bool exec_load(struct guest *g, const char *name, char **argv, char **envp, struct err *e,
	       int *code);
/* 0 or -errno: may the guest execute it? */
int exec_check(struct guest *g, const char *name);

/* image.c */
void mappings_add(struct guest *g, const char *host, const char *name, uint64_t start, uint64_t end,
		  uint64_t bias);
void mappings_note_mmap(struct guest *g, int host_fd, uint64_t addr, uint64_t offset);
void mappings_clear(struct guest *g);
void image_describe(const struct guest *g, uint64_t pc, char *buf, size_t size_bytes);

/* fork.c */
int64_t process_fork(struct guest *g, struct thread *t, uint64_t flags, uint64_t stack,
		     uint64_t ptid, uint64_t tls, uint64_t ctid, int exit_signal,
		     uint64_t pidfd_addr);
void process_end_vfork(struct guest *g); /* the child has exec'ed or ended */

/* procs.c */
void procs_init(struct guest *g);
void procs_free(struct guest *g);
/* A number for a process or thread, or -EAGAIN. */
int proc_new_id(struct guest *g);
/* Where an id's entry is, whether or not it is there. */
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
/* Does another process run, or will one go on by itself before this time? *any: one could be on its
 * way to run without showing it, because something came for it a moment ago. */
bool proc_others_before(struct guest *g, uint64_t boot_ns, bool *any);
/* A pidfd of the host for a process of the tree, or -ESRCH. */
int proc_open(struct guest *g, int pid);
/* Sends a signal to process pid, or (tid not 0) one of its threads: 0 or -errno. */
int64_t proc_signal(struct guest *g, int pid, uint32_t tid, const siginfo_t *info);
void proc_tell_children(struct guest *g, int parent);
void proc_look(struct guest *g, int pid); /* has it look at what its threads wait for */
void proc_read_mail(struct guest *g);
/* The process that a descriptor stands for: its pid, -EBADF: none at all, -ESRCH: none of the tree.
 */
int pidfd_process(struct guest *g, const struct fd_entry *f);

/* ipc.c */
void ipc_init(struct guest *g);
void ipc_free(struct guest *g);
void ipc_forked(struct guest *g, int parent);	 /* in the child: what it inherits */
void ipc_forget_memory(struct guest *g);	 /* exec: attached segments are gone */
void ipc_process_gone(struct guest *g, int pid); /* ended: detaches, undoes */
void ipc_wait_end(struct guest *g, struct thread *t);
bool ipc_retry(struct guest *g); /* threads that wait for a queue or semaphore; true: one goes on */

/* baton.c */
void baton_init(struct guest *g);
bool baton_used(const struct guest *g);
void baton_take(struct guest *g);
void baton_drop(struct guest *g);
void baton_pass(struct guest *g); /* lets another process run, if one waits */

/* futex.c */
unsigned futex_wake(struct guest *g, uint64_t addr, unsigned count, uint32_t bits);
/* The thread ends: what it owned goes to others. */
void futex_release_owned(struct guest *g, struct thread *t);

/* checked copies, short forms for system calls: 0 or -EFAULT */
static inline int copy_in(struct guest *g, void *dst, uint64_t addr, size_t n)
{
	return mem_read(&g->mem, dst, addr, n);
}
static inline int copy_out(struct guest *g, uint64_t addr, const void *src, size_t n)
{
	return mem_write(&g->mem, addr, src, n);
}
/* As far as it goes: how many bytes were copied. */
static inline size_t copy_out_some(struct guest *g, uint64_t addr, const uint8_t *src, size_t n)
{
	size_t done = 0;

	if (copy_out(g, addr, src, n) == 0)
		return n;
	while (done < n && copy_out(g, addr + done, src + done, 1) == 0)
		done++;
	return done;
}
/* The host address of a guest buffer, for host calls that report EFAULT themselves; NULL if out of
 * range. */
static inline void *host_ptr(struct guest *g, uint64_t addr, uint64_t n)
{
	return addr < GUEST_ADDR_LIMIT && n <= GUEST_ADDR_LIMIT - addr ? g->mem.base + addr : NULL;
}
static inline int64_t ret_errno(int64_t r);

#include <errno.h>
static inline int64_t ret_errno(int64_t r)
{
	return r < 0 ? -errno : r;
}

#endif
