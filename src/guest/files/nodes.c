/* SPDX-License-Identifier: MIT */
/*
 * The guest's own /proc, /sys and /dev, and a few files of /etc and /home: everything that a
 * kernel or an administrator would say about the machine and its processes is said about the
 * guest's, from the one table below. Nothing of the host's is shown.
 *
 * A row is a path in which PID, TID, FD and PTS stand for numbers. The rows of /proc/PID are also
 * those of /proc/PID/task/TID. A file is written into memory when it is opened; writing to one has
 * no effect, but for comm, whose new text counts when it is closed.
 *
 * Of the other processes of the guest there is what the table of processes knows: stat, status,
 * statm, cmdline (the first 256 bytes), comm and the task that has the same number. Their maps,
 * descriptors and links are not there. A descriptor of a folder made up here is an empty file for
 * a process that receives it through a socket.
 *
 * Pseudoterminals have numbers of the guest's: the terminal among the streams has the first, and
 * every one that the guest makes has the next. The host's numbers depend on who else has terminals.
 */
#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "guest/files/fd.h"
#include "guest/files/input.h"
#include "guest/files/nodes.h"
#include "guest/files/path.h"
#include "guest/files/procfs.h"
#include "guest/kernel/clock.h"
#include "guest/kernel/sched.h"
#include "guest/memory/copy.h"
#include "guest/process/process.h"
#include "guest/process/procs.h"

enum node_flag {
	OTHERS = 1, /* exists for other processes too */
	MAGIC = 2,
	REFUSED = 4, /* cannot be opened */
};

struct row {
	const char *path;
	mode_t mode;
	unsigned flags;
	void (*write)(struct guest *g, const struct node *n, FILE *out);
	const char *text; /* of a constant file or a link; for a device, its name on the host */
	unsigned major, minor;
};

#define FOLDER	 S_IFDIR | 0555
#define FILE_	 S_IFREG | 0444
#define SECRET	 S_IFREG | 0400
#define WRITABLE S_IFREG | 0644
#define LINK	 S_IFLNK | 0777
#define TEXT(path, words)                                                                          \
	{                                                                                          \
		path, FILE_, 0, NULL, words, 0, 0                                                  \
	}
#define DIR_(path)                                                                                 \
	{                                                                                          \
		path, FOLDER, 0, NULL, NULL, 0, 0                                                  \
	}
#define DEVICE(name, mode, major, minor)                                                           \
	{                                                                                          \
		"/dev/" name, S_IFCHR | (mode), 0, NULL, "/dev/" name, major, minor                \
	}

static const struct row table[] = {
	{ 0 }, /* a node of row 0 is none */
	/* ---- processes ---- */
	DIR_("/proc"),
	{ "/proc/self", LINK, 0, NULL, NULL, 0, 0 },
	{ "/proc/thread-self", LINK, 0, NULL, NULL, 0, 0 },
	{ "/proc/PID", FOLDER, OTHERS, NULL, NULL, 0, 0 },
	{ "/proc/PID/auxv", SECRET, 0, proc_auxv, NULL, 0, 0 },
	TEXT("/proc/PID/cgroup", "0::/\n"),
	{ "/proc/PID/clear_refs", S_IFREG | 0200, REFUSED, NULL, NULL, 0, 0 },
	{ "/proc/PID/cmdline", FILE_, OTHERS, proc_cmdline, NULL, 0, 0 },
	{ "/proc/PID/comm", WRITABLE, OTHERS, proc_comm, NULL, 0, 0 },
	{ "/proc/PID/coredump_filter", WRITABLE, 0, NULL, "00000033\n", 0, 0 },
	{ "/proc/PID/cwd", LINK, MAGIC, NULL, NULL, 0, 0 },
	{ "/proc/PID/environ", SECRET, 0, proc_environ, NULL, 0, 0 },
	{ "/proc/PID/exe", LINK, MAGIC, NULL, NULL, 0, 0 },
	{ "/proc/PID/fd", S_IFDIR | 0500, 0, NULL, NULL, 0, 0 },
	{ "/proc/PID/fd/FD", S_IFLNK | 0700, MAGIC, NULL, NULL, 0, 0 },
	{ "/proc/PID/fdinfo", FOLDER, 0, NULL, NULL, 0, 0 },
	{ "/proc/PID/fdinfo/FD", FILE_, 0, proc_fdinfo, NULL, 0, 0 },
	TEXT("/proc/PID/gid_map", "         0          0 4294967295\n"),
	{ "/proc/PID/io", SECRET, 0, proc_io, NULL, 0, 0 },
	{ "/proc/PID/limits", FILE_, 0, proc_limits, NULL, 0, 0 },
	{ "/proc/PID/loginuid", WRITABLE, 0, NULL, "4294967295", 0, 0 },
	{ "/proc/PID/maps", FILE_, 0, proc_maps, NULL, 0, 0 },
	{ "/proc/PID/mem", S_IFREG | 0600, REFUSED, NULL, NULL, 0, 0 },
	{ "/proc/PID/mountinfo", FILE_, 0, proc_mountinfo, NULL, 0, 0 },
	{ "/proc/PID/mounts", FILE_, 0, proc_mounts, NULL, 0, 0 },
	DIR_("/proc/PID/net"),
	TEXT("/proc/PID/net/dev",
	     "Inter-|   Receive                                                |  Transmit\n"
	     " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets "
	     "errs drop fifo colls carrier compressed\n"
	     "    lo:       0       0    0    0    0     0          0         0        0       0   "
	     " 0    0    0     0       0          0\n"),
	TEXT("/proc/PID/net/if_inet6", ""),
	TEXT("/proc/PID/net/route", "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask"
				    "\t\tMTU\tWindow\tIRTT\n"),
	TEXT("/proc/PID/net/tcp", "  sl  local_address rem_address   st tx_queue rx_queue tr "
				  "tm->when retrnsmt   uid  timeout inode\n"),
	TEXT("/proc/PID/net/tcp6",
	     "  sl  local_address                         remote_address                        st "
	     "tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"),
	TEXT("/proc/PID/net/udp", "   sl  local_address rem_address   st tx_queue rx_queue tr "
				  "tm->when retrnsmt   uid  timeout inode ref pointer drops\n"),
	TEXT("/proc/PID/net/unix", "Num       RefCount Protocol Flags    Type St Inode Path\n"),
	{ "/proc/PID/oom_adj", WRITABLE, 0, NULL, "0\n", 0, 0 },
	TEXT("/proc/PID/oom_score", "0\n"),
	{ "/proc/PID/oom_score_adj", WRITABLE, 0, NULL, "0\n", 0, 0 },
	{ "/proc/PID/pagemap", S_IFREG | 0400, REFUSED, NULL, NULL, 0, 0 },
	TEXT("/proc/PID/personality", "00000000\n"),
	{ "/proc/PID/root", LINK, MAGIC, NULL, NULL, 0, 0 },
	{ "/proc/PID/schedstat", FILE_, 0, proc_schedstat, NULL, 0, 0 },
	TEXT("/proc/PID/sessionid", "4294967295"),
	{ "/proc/PID/setgroups", WRITABLE, 0, NULL, "allow\n", 0, 0 },
	{ "/proc/PID/smaps", FILE_, 0, proc_smaps, NULL, 0, 0 },
	{ "/proc/PID/smaps_rollup", FILE_, 0, proc_smaps_rollup, NULL, 0, 0 },
	{ "/proc/PID/stat", FILE_, OTHERS, proc_stat, NULL, 0, 0 },
	{ "/proc/PID/statm", FILE_, OTHERS, proc_statm, NULL, 0, 0 },
	{ "/proc/PID/status", FILE_, OTHERS, proc_status, NULL, 0, 0 },
	{ "/proc/PID/task", FOLDER, OTHERS, NULL, NULL, 0, 0 },
	{ "/proc/PID/task/TID", FOLDER, OTHERS, NULL, NULL, 0, 0 },
	{ "/proc/PID/timerslack_ns", WRITABLE, 0, NULL, "50000\n", 0, 0 },
	TEXT("/proc/PID/uid_map", "         0          0 4294967295\n"),
	TEXT("/proc/PID/wchan", "0"),
	/* ---- the machine ---- */
	TEXT("/proc/cmdline", "\n"),
	TEXT("/proc/cpuinfo",
	     "processor\t: 0\nhart\t\t: 0\nisa\t\t: rv64imafdc_zicbop_zicntr_zicond_zicsr_zifencei"
	     "_zba_zbb_zbs\nmmu\t\t: sv39\nuarch\t\t: culprit\n\n"),
	TEXT("/proc/devices",
	     "Character devices:\n  1 mem\n  5 /dev/tty\n  5 /dev/ptmx\n136 pts\n\n"
	     "Block devices:\n"),
	TEXT("/proc/diskstats", ""),
	TEXT("/proc/filesystems",
	     "nodev\tsysfs\nnodev\ttmpfs\nnodev\tproc\nnodev\tdevpts\n\text4\n"),
	{ "/proc/loadavg", FILE_, 0, proc_loadavg, NULL, 0, 0 },
	TEXT("/proc/meminfo",
	     "MemTotal:        8388608 kB\nMemFree:         6291456 kB\nMemAvailable:    7340032 "
	     "kB\n"
	     "Buffers:               0 kB\nCached:                0 kB\nSwapCached:            0 "
	     "kB\n"
	     "Active:                0 kB\nInactive:              0 kB\nSwapTotal:             0 "
	     "kB\n"
	     "SwapFree:              0 kB\nShmem:                 0 kB\nCommitLimit:     4194304 "
	     "kB\n"
	     "Committed_AS:          0 kB\nHugePages_Total:       0\nHugePages_Free:        0\n"
	     "Hugepagesize:       2048 kB\n"),
	TEXT("/proc/modules", ""),
	{ "/proc/mounts", LINK, 0, NULL, "self/mounts", 0, 0 },
	{ "/proc/net", LINK, 0, NULL, "self/net", 0, 0 },
	TEXT("/proc/partitions", "major minor  #blocks  name\n\n"),
	{ "/proc/stat", FILE_, 0, proc_cpu_stat, NULL, 0, 0 },
	TEXT("/proc/swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"),
	{ "/proc/uptime", FILE_, 0, proc_uptime, NULL, 0, 0 },
	TEXT("/proc/version", "Linux version 6.12.0 (culprit) #1 SMP\n"),
	TEXT("/proc/vmstat", "nr_free_pages 1572864\nnr_dirty 0\npgfault 0\npgmajfault 0\n"),
	DIR_("/proc/sys"),
	DIR_("/proc/sys/fs"),
	TEXT("/proc/sys/fs/aio-max-nr", "65536\n"),
	TEXT("/proc/sys/fs/file-max", "65536\n"),
	TEXT("/proc/sys/fs/file-nr", "64\t0\t65536\n"),
	TEXT("/proc/sys/fs/nr_open", "1048576\n"),
	TEXT("/proc/sys/fs/pipe-max-size", "1048576\n"),
	DIR_("/proc/sys/fs/inotify"),
	TEXT("/proc/sys/fs/inotify/max_queued_events", "16384\n"),
	TEXT("/proc/sys/fs/inotify/max_user_instances", "128\n"),
	TEXT("/proc/sys/fs/inotify/max_user_watches", "65536\n"),
	DIR_("/proc/sys/kernel"),
	TEXT("/proc/sys/kernel/cap_last_cap", "40\n"),
	TEXT("/proc/sys/kernel/core_pattern", "core\n"),
	TEXT("/proc/sys/kernel/core_uses_pid", "0\n"),
	TEXT("/proc/sys/kernel/domainname", "(none)\n"),
	TEXT("/proc/sys/kernel/hostname", "culprit\n"),
	TEXT("/proc/sys/kernel/msgmax", "8192\n"),
	TEXT("/proc/sys/kernel/msgmnb", "16384\n"),
	TEXT("/proc/sys/kernel/msgmni", "32000\n"),
	TEXT("/proc/sys/kernel/ngroups_max", "65536\n"),
	TEXT("/proc/sys/kernel/osrelease", "6.12.0\n"),
	TEXT("/proc/sys/kernel/ostype", "Linux\n"),
	TEXT("/proc/sys/kernel/overflowgid", "65534\n"),
	TEXT("/proc/sys/kernel/overflowuid", "65534\n"),
	TEXT("/proc/sys/kernel/perf_event_paranoid", "4\n"),
	TEXT("/proc/sys/kernel/pid_max", "4194304\n"),
	TEXT("/proc/sys/kernel/randomize_va_space", "0\n"),
	TEXT("/proc/sys/kernel/sem", "32000\t1024000000\t500\t32000\n"),
	TEXT("/proc/sys/kernel/shmall", "18446744073692774399\n"),
	TEXT("/proc/sys/kernel/shmmax", "18446744073692774399\n"),
	TEXT("/proc/sys/kernel/shmmni", "4096\n"),
	TEXT("/proc/sys/kernel/threads-max", "32768\n"),
	TEXT("/proc/sys/kernel/version", "#1 SMP\n"),
	DIR_("/proc/sys/kernel/random"),
	{ "/proc/sys/kernel/random/boot_id", FILE_, 0, proc_boot_id, NULL, 0, 0 },
	TEXT("/proc/sys/kernel/random/entropy_avail", "256\n"),
	TEXT("/proc/sys/kernel/random/poolsize", "256\n"),
	{ "/proc/sys/kernel/random/uuid", FILE_, 0, proc_uuid, NULL, 0, 0 },
	DIR_("/proc/sys/net"),
	DIR_("/proc/sys/net/core"),
	TEXT("/proc/sys/net/core/somaxconn", "4096\n"),
	DIR_("/proc/sys/net/ipv4"),
	TEXT("/proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"),
	DIR_("/proc/sys/vm"),
	TEXT("/proc/sys/vm/max_map_count", "65530\n"),
	TEXT("/proc/sys/vm/mmap_min_addr", "65536\n"),
	TEXT("/proc/sys/vm/nr_hugepages", "0\n"),
	TEXT("/proc/sys/vm/overcommit_memory", "0\n"),
	TEXT("/proc/sys/vm/overcommit_ratio", "50\n"),
	TEXT("/proc/sys/vm/swappiness", "60\n"),
	DIR_("/sys"),
	DIR_("/sys/block"),
	DIR_("/sys/bus"),
	DIR_("/sys/class"),
	DIR_("/sys/class/net"),
	DIR_("/sys/class/thermal"),
	DIR_("/sys/devices"),
	DIR_("/sys/devices/system"),
	DIR_("/sys/devices/system/cpu"),
	DIR_("/sys/devices/system/cpu/cpu0"),
	DIR_("/sys/devices/system/cpu/cpu0/topology"),
	TEXT("/sys/devices/system/cpu/cpu0/topology/core_id", "0\n"),
	TEXT("/sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n"),
	TEXT("/sys/devices/system/cpu/cpu0/topology/core_siblings", "1\n"),
	TEXT("/sys/devices/system/cpu/cpu0/topology/thread_siblings", "1\n"),
	TEXT("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0\n"),
	TEXT("/sys/devices/system/cpu/kernel_max", "0\n"),
	TEXT("/sys/devices/system/cpu/offline", "\n"),
	TEXT("/sys/devices/system/cpu/online", "0\n"),
	TEXT("/sys/devices/system/cpu/possible", "0\n"),
	TEXT("/sys/devices/system/cpu/present", "0\n"),
	DIR_("/sys/devices/system/node"),
	DIR_("/sys/devices/system/node/node0"),
	TEXT("/sys/devices/system/node/node0/cpulist", "0\n"),
	TEXT("/sys/devices/system/node/node0/cpumap", "1\n"),
	TEXT("/sys/devices/system/node/online", "0\n"),
	TEXT("/sys/devices/system/node/possible", "0\n"),
	DIR_("/sys/fs"),
	DIR_("/sys/fs/cgroup"),
	DIR_("/sys/kernel"),
	DIR_("/sys/kernel/mm"),
	DIR_("/sys/kernel/mm/hugepages"),
	DIR_("/sys/kernel/mm/transparent_hugepage"),
	TEXT("/sys/kernel/mm/transparent_hugepage/defrag", "always defer madvise [never]\n"),
	TEXT("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n"),
	TEXT("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "2097152\n"),
	/* ---- devices ---- */
	DIR_("/dev"),
	{ "/dev/fd", LINK, 0, NULL, "/proc/self/fd", 0, 0 },
	DEVICE("full", 0666, 1, 7),
	DEVICE("null", 0666, 1, 3),
	DEVICE("ptmx", 0666, 5, 2),
	DIR_("/dev/pts"),
	{ "/dev/pts/PTS", S_IFCHR | 0620, 0, NULL, NULL, 136, 0 },
	DEVICE("random", 0666, 1, 8),
	{ "/dev/shm", S_IFDIR | 01777, 0, NULL, "/dev/shm", 0, 0 },
	{ "/dev/stderr", LINK, 0, NULL, "/proc/self/fd/2", 0, 0 },
	{ "/dev/stdin", LINK, 0, NULL, "/proc/self/fd/0", 0, 0 },
	{ "/dev/stdout", LINK, 0, NULL, "/proc/self/fd/1", 0, 0 },
	DEVICE("tty", 0666, 5, 0),
	DEVICE("urandom", 0666, 1, 9),
	DEVICE("zero", 0666, 1, 5),
	/* ---- the user ---- */
	TEXT("/etc/group", "root:x:0:\nguest:x:1000:\nnogroup:x:65534:\n"),
	TEXT("/etc/passwd", "root:x:0:0:root:/:/bin/sh\n"
			    "guest:x:1000:1000:guest:/home/guest:/bin/sh\n"
			    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"),
	DIR_("/home"),
	DIR_("/home/guest"),
};

#define PROC_PID "/proc/PID"

static bool is_row(const struct node *n, const char *path)
{
	return strcmp(table[n->row].path, path) == 0;
}

/* The name of a row in a folder; NULL if it is not there. */
static const char *name_in(const struct row *r, const char *folder, size_t folder_bytes)
{
	const char *name;

	if (!r->path || strncmp(r->path, folder, folder_bytes) != 0 || r->path[folder_bytes] != '/')
		return NULL;
	name = r->path + folder_bytes + 1;
	return strchr(name, '/') ? NULL : name;
}

/* The text with which all rows in a folder begin. */
static const char *rows_of(const struct node *dir)
{
	return is_row(dir, "/proc/PID/task/TID") ? PROC_PID : table[dir->row].path;
}

static bool number(const char *name, int *value)
{
	char *end;
	long v;

	if (*name < '0' || *name > '9' || (*name == '0' && name[1]))
		return false;
	v = strtol(name, &end, 10);
	*value = (int)v;
	return !*end && v <= INT32_MAX;
}

static bool is_process(struct guest *g, int pid)
{
	const struct proc_slot *s = proc_slot(g, pid);

	return pid > 0 && s && s->guest_pid == pid && s->tgid == pid;
}

static bool is_thread(struct guest *g, int pid, int tid)
{
	return pid == g->pid ? thread_find(g, (uint32_t)tid) != NULL : tid == pid;
}

#define PTS_MAJOR 136

/* The host's number of the terminal of which a descriptor is the slave or, if asked for, the
 * master; -1. */
static int host_terminal(int host, bool also_master)
{
	struct stat st;
	unsigned n;

	if (fstat(host, &st) < 0 || !S_ISCHR(st.st_mode))
		return -1;
	if (major(st.st_rdev) == PTS_MAJOR)
		n = minor(st.st_rdev);
	else if (!also_master || st.st_rdev != makedev(5, 2) || ioctl(host, TIOCGPTN, &n))
		return -1;
	return n < HOST_TERMINALS ? (int)n : -1;
}

int node_terminal(struct guest *g, const struct fd_entry *f)
{
	int host = f->kind == FD_CLOSED ? -1 : host_terminal(f->host, true), none = 0;

	if (host < 0)
		return -1;
	if (!g->procs->terminal[host])
		atomic_compare_exchange_strong(&g->procs->terminal[host], &none,
					       ++g->procs->terminals);
	return g->procs->terminal[host] - 1;
}

/* A descriptor of the terminal with this number, the slave's if there is one; NULL if there is
 * none. */
static const struct fd_entry *terminal_fd(struct guest *g, int num)
{
	const struct fd_entry *master = NULL;

	for (size_t fd = 0; fd < g->nfds; fd++) {
		const struct fd_entry *f = &g->fds[fd];

		if (node_terminal(g, f) != num)
			continue;
		if (host_terminal(f->host, false) >= 0)
			return f;
		master = f;
	}
	return master;
}

/* Fills in the number that a name stands for. */
static bool fill_in(struct guest *g, const char *wild, const char *name, struct node *n)
{
	int value;

	if (!number(name, &value))
		return false;
	if (!strcmp(wild, "PID")) {
		n->pid = value;
		return is_process(g, value);
	}
	if (!strcmp(wild, "TID")) {
		n->tid = value;
		return is_thread(g, n->pid, value);
	}
	n->num = value;
	return !strcmp(wild, "FD") ? fd_get(g, (uint64_t)value) != NULL
				   : terminal_fd(g, value) != NULL;
}

static bool is_wild(const char *name)
{
	return !strcmp(name, "PID") || !strcmp(name, "TID") || !strcmp(name, "FD") ||
	       !strcmp(name, "PTS");
}

/* Is a row of /proc/PID there, for this process and thread? */
static bool row_applies(struct guest *g, const struct row *r, const struct node *dir)
{
	if (strncmp(r->path, PROC_PID "/", sizeof(PROC_PID)) != 0)
		return true;
	if (dir->tid && !strcmp(r->path, "/proc/PID/task"))
		return false;
	return dir->pid == g->pid || r->flags & OTHERS;
}

int node_child(struct guest *g, const struct node *dir, const char *name, struct node *child)
{
	const char *rows = rows_of(dir);
	size_t n = strlen(rows);
	int tid;

	for (size_t i = 1; i < ARRAY_LEN(table); i++) {
		const char *row_name = name_in(&table[i], rows, n);

		if (!row_name || !row_applies(g, &table[i], dir))
			continue;
		*child = *dir;
		child->row = (uint16_t)i;
		if (is_wild(row_name) ? fill_in(g, row_name, name, child)
				      : strcmp(row_name, name) == 0)
			return 0;
	}
	/* A thread has a folder in /proc too, although /proc does not list it. */
	if (is_row(dir, "/proc") && number(name, &tid) && is_thread(g, g->pid, tid)) {
		char path[NODE_PATH_BYTES];

		snprintf(path, sizeof(path), "/proc/%d/task/%d", g->pid, tid);
		return node_find(g, path, child) ? 0 : -ENOENT;
	}
	return -ENOENT;
}

bool node_find(struct guest *g, const char *path, struct node *n)
{
	char name[NODE_PATH_BYTES];
	const char *p;

	memset(n, 0, sizeof(*n));
	/* The longest row without numbers that is the path itself or a folder that it leads
	 * through. */
	for (p = path + strlen(path);; p--) {
		size_t len = (size_t)(p - path);

		if (!*p || *p == '/')
			for (size_t i = 1; i < ARRAY_LEN(table) && len; i++)
				if (strncmp(table[i].path, path, len) == 0 && !table[i].path[len])
					n->row = (uint16_t)i;
		if (n->row || p == path)
			break;
	}
	while (n->row && *p == '/') {
		size_t len = strcspn(++p, "/");
		struct node child;

		if (len >= sizeof(name))
			return false;
		memcpy(name, p, len);
		name[len] = 0;
		p += len;
		if (node_child(g, n, name, &child))
			return false;
		*n = child;
	}
	return n->row;
}

bool node_of_device(struct guest *g, uint64_t rdev, struct node *n)
{
	char path[NODE_PATH_BYTES];
	unsigned maj = major(rdev);

	memset(n, 0, sizeof(*n));
	for (size_t i = 1; i < ARRAY_LEN(table); i++)
		if (S_ISCHR(table[i].mode) && table[i].text && table[i].major == maj &&
		    table[i].minor == minor(rdev))
			n->row = (uint16_t)i;
	if (maj != PTS_MAJOR)
		return n->row;
	for (size_t fd = 0; fd < g->nfds; fd++) {
		const struct fd_entry *f = &g->fds[fd];

		if (f->kind == FD_CLOSED || host_terminal(f->host, true) != (int)minor(rdev))
			continue;
		snprintf(path, sizeof(path), "/dev/pts/%d", node_terminal(g, f));
		return node_find(g, path, n);
	}
	return false;
}

void node_path(const struct node *n, char path[NODE_PATH_BYTES])
{
	const char *row = table[n->row].path, *tail = NULL;
	size_t len;

	if (strncmp(row, PROC_PID, sizeof(PROC_PID) - 1) != 0) {
		snprintf(path, NODE_PATH_BYTES, "%s", row);
	} else {
		tail = is_row(n, "/proc/PID/task/TID") ? "" : row + sizeof(PROC_PID) - 1;
		len = (size_t)snprintf(path, NODE_PATH_BYTES, "/proc/%d", n->pid);
		if (n->tid)
			len +=
			    (size_t)snprintf(path + len, NODE_PATH_BYTES - len, "/task/%d", n->tid);
		snprintf(path + len, NODE_PATH_BYTES - len, "%s", tail);
	}
	len = strlen(path);
	tail = strrchr(path, '/') + 1;
	if (!strcmp(tail, "FD") || !strcmp(tail, "PTS"))
		snprintf(path + (tail - path), NODE_PATH_BYTES - (size_t)(tail - path), "%d",
			 n->num);
}

mode_t node_mode(const struct node *n)
{
	return table[n->row].mode;
}

bool node_is_magic(const struct node *n)
{
	return table[n->row].flags & MAGIC;
}

bool node_is_shm(const struct node *n)
{
	return is_row(n, "/dev/shm");
}

/* ---- links ---- */

static int fd_text(struct guest *g, int num, char text[PATH_BYTES])
{
	const struct fd_entry *f = fd_get(g, (uint64_t)num);
	char link[FD_PATH_BYTES], host[PATH_BYTES];
	ssize_t n;

	if (!f)
		return -ENOENT;
	if (f->kind == FD_TIMER || f->kind == FD_SIGNAL)
		return snprintf(text, PATH_BYTES, "anon_inode:[%s]",
				f->kind == FD_TIMER ? "timerfd" : "signalfd");
	if (f->node.row) {
		node_path(&f->node, text);
		return (int)strlen(text);
	}
	if (host_terminal(f->host, false) >= 0)
		return snprintf(text, PATH_BYTES, "/dev/pts/%d", node_terminal(g, f));
	path_to_fd(f->host, link);
	n = readlink(link, host, sizeof(host) - 1);
	if (n < 0)
		return -errno;
	host[n] = 0;
	return snprintf(text, PATH_BYTES, "%s", path_guest(g, host));
}

int node_readlink(struct guest *g, const struct node *n, char text[PATH_BYTES])
{
	const struct row *r = &table[n->row];
	int err;

	if (!S_ISLNK(r->mode))
		return -EINVAL;
	if (r->text)
		return snprintf(text, PATH_BYTES, "%s", r->text);
	if (is_row(n, "/proc/self"))
		return snprintf(text, PATH_BYTES, "%d", g->pid);
	if (is_row(n, "/proc/thread-self"))
		return snprintf(text, PATH_BYTES, "%d/task/%u", g->pid, g->cur->tid);
	if (is_row(n, "/proc/PID/fd/FD"))
		return fd_text(g, n->num, text);
	if (is_row(n, "/proc/PID/root"))
		return snprintf(text, PATH_BYTES, "/");
	if (is_row(n, "/proc/PID/exe"))
		return g->program.name ? snprintf(text, PATH_BYTES, "%s", g->program.name)
				       : -ENOENT;
	err = path_cwd(g, text);
	return err < 0 ? err : (int)strlen(text);
}

/* ---- stat ---- */

enum { OF_PROC = 21, OF_SYS = 22, OF_DEV = 5, OF_ROOT = 1 };

static unsigned device_of(const struct node *n)
{
	const char *path = table[n->row].path;

	return path_below(path, "/proc")  ? OF_PROC
	       : path_below(path, "/sys") ? OF_SYS
	       : path_below(path, "/dev") ? OF_DEV
					  : OF_ROOT;
}

void node_stat(struct guest *g, const struct node *n, struct stat *st)
{
	const struct row *r = &table[n->row];
	char path[NODE_PATH_BYTES];
	uint64_t ino = 0, boot_ns = clock_real_ns(g) - clock_boot_ns(g);

	node_path(n, path);
	for (const char *p = path; *p; p++)
		ino = hash_u64(ino ^ (uint8_t)*p);
	memset(st, 0, sizeof(*st));
	st->st_dev = device_of(n);
	st->st_ino = (ino & 0xffffffff) | 1;
	st->st_mode = r->mode;
	st->st_nlink = S_ISDIR(r->mode) ? 2 : 1;
	st->st_uid = st->st_gid = GUEST_UID;
	st->st_rdev = S_ISCHR(r->mode) ? makedev(r->major, r->minor + (unsigned)n->num) : 0;
	st->st_size = r->text && path_below(r->path, "/etc") ? (off_t)strlen(r->text)
		      : S_ISLNK(r->mode) && node_is_magic(n) ? 64
							     : 0;
	st->st_blksize = 1024;
	st->st_atim.tv_sec = st->st_mtim.tv_sec = st->st_ctim.tv_sec =
	    (time_t)(boot_ns / NS_PER_SEC);
}

void node_statfs(const struct node *n, struct statfs *s)
{
	memset(s, 0, sizeof(*s));
	switch (device_of(n)) {
	case OF_PROC:
		s->f_type = PROC_SUPER_MAGIC;
		break;
	case OF_SYS:
		s->f_type = SYSFS_MAGIC;
		break;
	default:
		s->f_type = is_row(n, "/dev/pts/PTS") ? DEVPTS_SUPER_MAGIC : TMPFS_MAGIC;
	}
	s->f_bsize = s->f_frsize = 4096;
	s->f_namelen = 255;
}

/* ---- opening ---- */

/* A file in memory with the row's text; read-only where the row is. */
static int open_text(struct guest *g, const struct node *n, bool writes)
{
	const struct row *r = &table[n->row];
	int fd = memfd_create("made-up", MFD_CLOEXEC), copy = -1;
	FILE *out = fd < 0 ? NULL : fdopen(dup(fd), "w");
	char link[FD_PATH_BYTES];

	if (!out) {
		if (fd >= 0)
			close(fd);
		return -ENOMEM;
	}
	if (writes && is_row(n, "/proc/PID/comm"))
		; /* what is written replaces the whole name, however short it is */
	else if (r->write)
		r->write(g, n, out);
	else if (r->text)
		fputs(r->text, out);
	fclose(out);
	lseek(fd, 0, SEEK_SET);
	if (!writes) {
		path_to_fd(fd, link);
		copy = open(link, O_RDONLY | O_CLOEXEC);
	}
	if (copy < 0)
		return fd;
	close(fd);
	return copy;
}

/* Opens a terminal again, through a descriptor of it. It never becomes culprit's controlling
 * terminal. */
static int open_terminal(int host, int flags)
{
	char path[FD_PATH_BYTES + 16];
	int num = host_terminal(host, true), fd;

	path_to_fd(host, path);
	if (num >= 0 && host_terminal(host, false) < 0)
		snprintf(path, sizeof(path), "/dev/pts/%d", num);
	fd = open(path, (flags & (O_ACCMODE | O_NONBLOCK)) | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (isatty(fd) && host_terminal(fd, false) == num)
		return fd;
	close(fd);
	return -ENXIO;
}

/* Opens a device of the host, if the file of that name is that device. */
static int open_device(struct guest *g, const struct node *n, int flags)
{
	const struct row *r = &table[n->row];
	char path[NODE_PATH_BYTES];
	struct stat st;
	int fd, num;

	/* The guest's controlling terminal is the one among its streams, whichever culprit has. */
	if (is_row(n, "/dev/tty"))
		return input_terminal(g) < 0 ? -ENXIO : open_terminal(input_terminal(g), flags);
	if (is_row(n, "/dev/pts/PTS")) {
		const struct fd_entry *f = terminal_fd(g, n->num);

		return f ? open_terminal(f->host, flags) : -ENXIO;
	}
	node_path(n, path);
	fd = open(path, (flags & ~(O_CREAT | O_EXCL | O_TRUNC | O_DIRECTORY | O_TMPFILE)) |
			    O_CLOEXEC | O_NOFOLLOW);
	/* /dev/ptmx may be a link to pts/ptmx. */
	if (fd < 0 && errno == ELOOP && is_row(n, "/dev/ptmx"))
		fd = open("/dev/pts/ptmx",
			  (flags & (O_ACCMODE | O_NONBLOCK | O_NOCTTY)) | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISCHR(st.st_mode) ||
	    st.st_rdev != makedev(r->major, r->minor)) {
		close(fd);
		return -ENXIO;
	}
	if (is_row(n, "/dev/ptmx")) {
		num = host_terminal(fd, true);
		if (num < 0) {
			close(fd);
			return -ENOSPC;
		}
		/* A new number, also where the host reuses one of its own. */
		g->procs->terminal[num] = ++g->procs->terminals;
	}
	return fd;
}

int node_open(struct guest *g, const struct node *n, int flags, enum fd_kind *kind)
{
	const struct row *r = &table[n->row];
	bool writes = (flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC;
	int fd;

	*kind = FD_PLAIN;
	if (flags & O_PATH) {
		if (flags & O_DIRECTORY && !S_ISDIR(r->mode))
			return -ENOTDIR;
		fd = memfd_create("made-up", MFD_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	if (flags & O_CREAT && flags & O_EXCL)
		return -EEXIST;
	if (S_ISLNK(r->mode))
		return -ELOOP;
	if (S_ISDIR(r->mode)) {
		if ((flags & O_TMPFILE) == O_TMPFILE)
			return -EACCES;
		if (writes || flags & O_CREAT)
			return -EISDIR;
		fd = memfd_create("made-up", MFD_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	if (flags & O_DIRECTORY)
		return -ENOTDIR;
	if (S_ISCHR(r->mode)) {
		if (!g->config.real_time &&
		    (is_row(n, "/dev/urandom") || is_row(n, "/dev/random"))) {
			*kind = FD_RANDOM;
			fd = open("/dev/zero", (flags & (O_ACCMODE | O_NONBLOCK)) | O_CLOEXEC);
			return fd < 0 ? -errno : fd;
		}
		return open_device(g, n, flags);
	}
	if (r->flags & REFUSED || (writes && !(r->mode & 0200)))
		return -EACCES;
	return open_text(g, n, writes);
}

const char *node_row_name(uint16_t row)
{
	return row < ARRAY_LEN(table) ? row ? table[row].path : "" : NODE_ROWS_END;
}

uint16_t node_row_find(const char *name)
{
	for (size_t i = 1; i < ARRAY_LEN(table); i++)
		if (!strcmp(table[i].path, name))
			return (uint16_t)i;
	return strcmp(name, NODE_ROWS_END) ? 0 : ARRAY_LEN(table);
}

void node_closed(struct guest *g, const struct fd_entry *f)
{
	struct thread *t;
	ssize_t n;
	char name[16] = "";

	if (!is_row(&f->node, "/proc/PID/comm") || f->node.pid != g->pid ||
	    (fcntl(f->host, F_GETFL) & O_ACCMODE) == O_RDONLY)
		return;
	t = thread_find(g, (uint32_t)(f->node.tid ? f->node.tid : f->node.pid));
	n = pread(f->host, name, sizeof(name) - 1, 0);
	if (!t || n <= 0)
		return;
	name[strcspn(name, "\n")] = 0;
	memcpy(t->name, name, sizeof(t->name));
	proc_note(g);
}

/* ---- listing ---- */

#define WILD_BITS 32

/* The next number, from *at on, for which a row with PID, TID, FD or PTS exists; false if there
 * are no more. */
static bool next_number(struct guest *g, const struct node *dir, const char *wild, uint32_t *at,
			int *value)
{
	for (;; ++*at) {
		uint32_t i = *at;

		if (!strcmp(wild, "PID")) {
			if (i >= PROC_SLOTS || i >= (uint32_t)g->procs->next)
				return false;
			*value = g->procs->slot[i].guest_pid;
			if (*value && is_process(g, *value))
				return true;
		} else if (!strcmp(wild, "TID")) {
			if (dir->pid != g->pid) {
				*value = dir->pid;
				return i == 0;
			}
			if (i >= g->sched.nthreads)
				return false;
			*value = (int)g->sched.threads[i]->tid;
			if (g->sched.threads[i]->state != THREAD_DEAD)
				return true;
		} else {
			bool seen = false;

			if (i >= g->nfds)
				return false;
			*value = (int)i;
			if (!strcmp(wild, "FD")) {
				if (g->fds[i].kind != FD_CLOSED)
					return true;
				continue;
			}
			*value = node_terminal(g, &g->fds[i]);
			for (uint32_t k = 0; k < i; k++)
				seen |= node_terminal(g, &g->fds[k]) == *value;
			if (*value >= 0 && !seen)
				return true;
		}
	}
}

struct listing {
	struct guest *g;
	uint64_t addr, size_bytes, used;
};

/* False: no room. */
static bool list_one(struct listing *l, const struct node *n, const char *name, uint64_t next,
		     int64_t *err)
{
	uint8_t rec[NODE_PATH_BYTES + 32] = { 0 };
	uint16_t size = (uint16_t)((19 + strlen(name) + 1 + 7) & ~7u);
	struct stat st;

	if (l->used + size > l->size_bytes) {
		*err = -EINVAL;
		return false;
	}
	node_stat(l->g, n, &st);
	memcpy(rec, &st.st_ino, 8);
	memcpy(rec + 8, &next, 8);
	memcpy(rec + 16, &size, 2);
	rec[18] = (uint8_t)IFTODT(st.st_mode);
	strcpy((char *)rec + 19, name);
	if (copy_out(l->g, l->addr + l->used, rec, size) < 0) {
		*err = -EFAULT;
		return false;
	}
	l->used += size;
	return true;
}

int64_t node_list(struct guest *g, struct fd_entry *f, uint64_t addr, uint64_t size_bytes)
{
	struct listing l = { g, addr, size_bytes, 0 };
	struct node dir = f->node; /* the table of descriptors may move */
	const char *rows = rows_of(&dir);
	size_t n = strlen(rows);
	int64_t err = 0;

	if (!S_ISDIR(table[dir.row].mode))
		return -ENOTDIR;
	/* A position has the row in its upper half and, where the row stands for several numbers,
	 * the number's place in the lower half. Row 0 has "." and "..". */
	while (f->list_at >> WILD_BITS < ARRAY_LEN(table)) {
		size_t i = f->list_at >> WILD_BITS;
		uint32_t at = (uint32_t)f->list_at;
		uint64_t next_row = (uint64_t)(i + 1) << WILD_BITS;
		const char *name = i ? name_in(&table[i], rows, n) : NULL;
		struct node child = dir;
		char text[16];
		int value;

		child.row = (uint16_t)i;
		if (i == 0) {
			child = dir;
			if (!list_one(&l, &child, at ? ".." : ".", at ? next_row : 1, &err))
				break;
			f->list_at = at ? next_row : 1;
		} else if (!name || !row_applies(g, &table[i], &dir)) {
			f->list_at = next_row;
		} else if (!is_wild(name)) {
			if (!list_one(&l, &child, name, next_row, &err))
				break;
			f->list_at = next_row;
		} else if (!next_number(g, &dir, name, &at, &value)) {
			f->list_at = next_row;
		} else {
			snprintf(text, sizeof(text), "%d", value);
			if (fill_in(g, name, text, &child) &&
			    !list_one(&l, &child, text, ((uint64_t)i << WILD_BITS) + at + 1, &err))
				break;
			f->list_at = ((uint64_t)i << WILD_BITS) + at + 1;
		}
	}
	return l.used ? (int64_t)l.used : err;
}
