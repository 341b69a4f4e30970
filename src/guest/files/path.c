/* SPDX-License-Identifier: MIT */
/*
 * From the guest's paths to files of the host.
 *
 * A path is walked component by component, each folder open as O_PATH, symbolic links read and
 * followed here. What decides is therefore what a path leads to, and a host call that follows is
 * made with the folder that was looked at and a last name that is not followed: renaming something
 * meanwhile leads nowhere else.
 *
 * Absolute paths, and absolute symbolic links, begin at the guest's root: the whole path is looked
 * up under the sysroot first, with links followed as if the sysroot were "/", then on the host.
 * /proc, /sys and /dev are the guest's own (nodes.c), under whatever name they are reached, as are
 * a few names in /etc and /home; what the host's dynamic loader keeps in /etc is not there.
 *
 * Invariant: no descriptor that a guest has, and no folder that a walk goes through, is of a file
 * system with which the host's kernel talks about itself and its processes (is_interface).
 *
 * Not done: names that are only on the host are not shown in folders of the sysroot, nor found by
 * a relative path whose folder is there.
 */
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "guest/files/fd.h"
#include "guest/files/files.h"
#include "guest/files/nodes.h"
#include "guest/files/owner.h"
#include "guest/files/path.h"
#include "guest/files/view.h"
#include "guest/memory/mem.h"
#include "guest/process/process.h"

#define MAX_LINKS  40
#define NAME_BYTES 256

void path_to_fd(int fd, char host[FD_PATH_BYTES])
{
	snprintf(host, FD_PATH_BYTES, "/proc/thread-self/fd/%d", fd);
}

int path_of_fd(int fd, char host[PATH_BYTES])
{
	char link[FD_PATH_BYTES];
	ssize_t n;

	path_to_fd(fd, link);
	n = readlink(link, host, PATH_BYTES - 1);
	if (n <= 0 || host[0] != '/')
		return -ENOENT;
	host[n] = 0;
	return 0;
}

const char *path_guest(const struct guest *g, const char *host)
{
	const char *own = g->view ? view_guest(g, host) : NULL, *rest;

	host = own ? own : host;
	rest = g->world.sysroot_path ? path_below(host, g->world.sysroot_path) : NULL;
	if (rest)
		return *rest ? host + strlen(g->world.sysroot_path) : "/";
	if (g->world.moved && g->view && (rest = path_below(host, g->world.start))) {
		char text[2 * PATH_BYTES];

		snprintf(text, sizeof(text), "%s%s%s", g->world.start_name, *rest ? "/" : "", rest);
		memcpy(g->view->text, text, sizeof(text));
		return g->view->text;
	}
	return host;
}

/* File systems with which the kernel talks, rather than keeps files. */
static bool is_interface(uint64_t magic)
{
	static const uint32_t known[] = {
		PROC_SUPER_MAGIC, SYSFS_MAGIC,	      DEBUGFS_MAGIC,
		TRACEFS_MAGIC,	  SECURITYFS_MAGIC,   SELINUX_MAGIC,
		SMACK_MAGIC,	  CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
		BPF_FS_MAGIC,	  PSTOREFS_MAGIC,     EFIVARFS_MAGIC,
		BINFMTFS_MAGIC,	  NSFS_MAGIC,	      DEVPTS_SUPER_MAGIC,
		BDEVFS_MAGIC,	  MTD_INODE_FS_MAGIC, USBDEVICE_SUPER_MAGIC,
		0x7655821,  /* resctrl */
		0x62656570, /* configfs */
		0x65735543, /* fusectl */
		0x6c6f6f70, /* binder */
		0x6e667364, /* nfsd */
		0x67596969, /* rpc_pipefs */
		0xabba1974, /* xenfs */
		0x5a3c69f0, /* apparmorfs */
		0x19800202, /* mqueue */
		0xa647361,  /* functionfs */
		0xaee71ee7, /* gadgetfs */
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (known[i] == (uint32_t)magic)
			return true;
	return false;
}

bool path_is_kernels(int host_fd)
{
	struct statfs fs;

	return fstatfs(host_fd, &fs) < 0 || is_interface((uint64_t)fs.f_type);
}

/* ---- the world ---- */

static struct file_id id_at(int dir, const char *name)
{
	struct stat st;

	return dir >= 0 && fstatat(dir, name, &st, AT_EMPTY_PATH) == 0 ? file_id_of(&st)
								       : (struct file_id){ 0 };
}

void path_world_init(struct guest *g)
{
	struct path_world *w = &g->world;
	static const char *const own[] = { "/proc", "/sys", "/dev" };
	char cwd[PATH_BYTES];
	int fd;

	owner_init(w);
	w->start_fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (w->start_fd >= 0 && path_of_fd(w->start_fd, cwd) == 0) {
		w->start = x_strdup(cwd);
		w->start_name = x_strdup(path_guest(g, cwd));
	}
	w->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	w->root = id_at(w->root_fd, "");
	w->sysroot = id_at(g->world.sysroot_fd, "");
	w->dev = id_at(w->root_fd, "dev");
	w->etc = id_at(w->root_fd, "etc");
	w->home = id_at(w->root_fd, "home");
	w->shm = id_at(w->root_fd, "dev/shm");
	/* Started in a folder that is not the guest's: it is where the guest has its own. */
	fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (path_is_kernels(fd) || file_id_same(id_at(fd, ""), w->dev) ||
	    (w->dev.dev != w->root.dev && id_at(fd, "").dev == w->dev.dev &&
	     w->shm.dev != w->dev.dev)) {
		node_find(g, "/proc", &g->world.cwd);
		for (size_t i = 0; i < ARRAY_LEN(own); i++)
			if (getcwd(cwd, sizeof(cwd)) && path_below(cwd, own[i]))
				node_find(g, own[i], &g->world.cwd);
	}
	close(fd);
}

void path_world_free(struct guest *g)
{
	if (g->world.root_fd >= 0)
		close(g->world.root_fd);
	if (g->world.start_fd >= 0)
		close(g->world.start_fd);
	free(g->world.start);
	free(g->world.start_name);
}

int path_cwd(const struct guest *g, char path[PATH_BYTES])
{
	char host[PATH_BYTES];

	if (g->world.cwd.row) {
		node_path(&g->world.cwd, path);
		return 0;
	}
	if (!getcwd(host, sizeof(host)))
		return -errno;
	if (host[0] != '/')
		return -ENOENT;
	strcpy(path, path_guest(g, host));
	return 0;
}

/* ---- the walk ---- */

struct walk {
	struct guest *g;
	unsigned flags;
	uint64_t resolve;
	int links;
	bool sysroot_only; /* the first of two tries */
	/* where it stands: a folder of the host (fd >= 0) or a node */
	int fd;
	bool own;
	bool in_sysroot;
	bool private;	 /* in the store of the view */
	bool is_dir;	 /* what fd is open on */
	bool may_search; /* by its owner's mode bits */
	struct file_id id;
	struct node node;
	/* where it began, for RESOLVE_BENEATH and RESOLVE_IN_ROOT */
	int start_fd;
	struct file_id start;
	struct node start_node;
	char rest[2 * PATH_BYTES]; /* still to walk */
	char last[NAME_BYTES + 2]; /* the end: a name in fd, "" for where it stands */
};
#define WALK_LAST 1 /* the name is the last one and stays a name in the folder */
#define WALK_DONE 2 /* at the end, and w says where */

static int walk(struct walk *w);

static void leave(struct walk *w)
{
	if (w->own)
		close(w->fd);
	w->fd = -1;
	w->own = false;
	w->node.row = 0;
	w->in_sysroot = false;
	w->private = false;
}

static void stand_on_node(struct walk *w, const struct node *n)
{
	struct node copy = *n;

	leave(w);
	w->node = copy;
	w->id = (struct file_id){ 0 };
}

/* May the walk stand on this folder? Takes fd over if own. */
static int stand_on(struct walk *w, int fd, bool own)
{
	const struct path_world *world = &w->g->world;
	bool in_sysroot = w->in_sysroot;
	struct file_id id, before = w->id;
	struct stat st;
	int err = 0;

	/* Only a change of device means another file system, so only then the kind is asked for. */
	if (fstat(fd, &st) < 0)
		err = -errno;
	else if (!(before.ino && before.dev == st.st_dev) && path_is_kernels(fd))
		err = -EACCES;
	else if (!S_ISDIR(st.st_mode))
		err = -ENOTDIR;
	id = file_id_of(&st);
	if (!err && (w->resolve & RESOLVE_NO_XDEV) && before.ino && before.dev != id.dev &&
	    !w->g->view)
		err = -EXDEV;
	if (!err && file_id_same(world->dev, id)) {
		struct node dev;

		if (own)
			close(fd);
		node_find(w->g, "/dev", &dev);
		stand_on_node(w, &dev);
		return 0;
	}
	/* The rest of the host's /dev, if that is a file system of its own. */
	if (!err && world->dev.ino && id.dev == world->dev.dev &&
	    world->dev.dev != world->root.dev && world->dev.dev != world->shm.dev)
		err = -EACCES;
	if (err) {
		if (own)
			close(fd);
		return err;
	}
	const int own_mode = view_may(w->g, fd, X_OK);

	leave(w);
	w->fd = fd;
	w->own = own;
	w->is_dir = true;
	w->may_search = own_mode == 1 ? !world->super || owner_may(w->g, &st, X_OK) : !own_mode;
	w->in_sysroot = in_sysroot || file_id_same(world->sysroot, id);
	w->id = id;
	return 0;
}

/* The guest's root; what follows is looked up from there. */
static int go_to_root(struct walk *w)
{
	if (w->resolve & RESOLVE_BENEATH)
		return -EXDEV;
	if (w->resolve & RESOLVE_IN_ROOT) {
		if (w->start_node.row) {
			stand_on_node(w, &w->start_node);
			return 0;
		}
		return stand_on(w, w->start_fd, false);
	}
	if (w->sysroot_only) {
		w->in_sysroot = true;
		return stand_on(w, w->g->world.sysroot_fd, false);
	}
	if (w->g->world.sysroot_path) {
		struct walk first = *w;

		first.sysroot_only = true;
		first.in_sysroot = true;
		first.fd = -1;
		first.own = false;
		first.node.row = 0;
		if (stand_on(&first, w->g->world.sysroot_fd, false) == 0 && walk(&first) == 0) {
			leave(w);
			*w = first;
			return WALK_DONE;
		}
		leave(&first);
	}
	w->in_sysroot = false;
	if (w->g->world.moved) {
		const char *rest = w->rest + strspn(w->rest, "/"), *name = w->g->world.start_name;

		rest = *name == '/' && rest > w->rest ? path_below(rest - 1, name) : NULL;
		if (rest) {
			memmove(w->rest, rest, strlen(rest) + 1);
			return stand_on(w, w->g->world.start_fd, false);
		}
	}
	return stand_on(w, w->g->world.root_fd, false);
}

/* A link's text takes the place of its name. */
static int follow_text(struct walk *w, const char *text, size_t n)
{
	char old[2 * PATH_BYTES];

	if (w->resolve & RESOLVE_NO_SYMLINKS || ++w->links > MAX_LINKS)
		return -ELOOP;
	if (n == 0)
		return -ENOENT;
	strcpy(old, w->rest);
	if (n + strlen(old) + 2 > sizeof(w->rest))
		return -ENAMETOOLONG;
	memcpy(w->rest, text, n);
	w->rest[n] = 0;
	strcat(w->rest, old); /* begins with a slash, if there is more */
	if (text[0] == '/')
		return go_to_root(w);
	return 0;
}

/* exe, cwd, root and fd/N lead to a file, not to a name. */
static int follow_magic(struct walk *w, const struct node *n)
{
	struct guest *g = w->g;
	char path[NODE_PATH_BYTES];
	const char *what;
	const struct fd_entry *f;
	struct stat st;
	int fd;

	if (w->resolve & (RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS) || ++w->links > MAX_LINKS)
		return -ELOOP;
	if (w->resolve & (RESOLVE_BENEATH | RESOLVE_IN_ROOT))
		return -EXDEV;
	node_path(n, path);
	what = strrchr(path, '/') + 1;
	if (!strcmp(what, "root"))
		return go_to_root(w);
	if (!strcmp(what, "cwd")) {
		if (g->world.cwd.row) {
			stand_on_node(w, &g->world.cwd);
			return 0;
		}
		fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	} else if (!strcmp(what, "exe")) {
		fd = g->program.fd < 0 ? -1 : fcntl(g->program.fd, F_DUPFD_CLOEXEC, 3);
		errno = ENOENT;
	} else {
		f = fd_get(g, (uint64_t)n->num);
		if (!f)
			return -ENOENT;
		if (f->node.row) {
			stand_on_node(w, &f->node);
			return 0;
		}
		fd = fcntl(f->host, F_DUPFD_CLOEXEC, 3);
	}
	if (fd < 0)
		return -errno;
	w->in_sysroot = false;
	if (fstat(fd, &st) < 0 || S_ISDIR(st.st_mode))
		return stand_on(w, fd, true);
	/* Allowed only as the end of a path. */
	leave(w);
	w->fd = fd;
	w->own = true;
	w->is_dir = false;
	w->id = file_id_of(&st);
	return 0;
}

static int go_up(struct walk *w)
{
	const struct path_world *world = &w->g->world;
	char path[NODE_PATH_BYTES], old[2 * PATH_BYTES];
	struct node up;
	int fd;

	if (w->start_node.row ? w->node.row == w->start_node.row && w->node.pid == w->start_node.pid
			      : w->fd >= 0 && file_id_same(w->start, w->id)) {
		if (w->resolve & RESOLVE_BENEATH)
			return -EXDEV;
		if (w->resolve & RESOLVE_IN_ROOT)
			return 0;
	}
	if (w->node.row) {
		node_path(&w->node, path);
		*strrchr(path, '/') = 0;
		if ((strcmp(path, "/home") != 0 || !world->home.ino) &&
		    node_find(w->g, path, &up)) {
			stand_on_node(w, &up);
			return 0;
		}
		/* The guest's root, or a folder of the host. */
		if (strlen(path) + strlen(w->rest) + 2 > sizeof(w->rest))
			return -ENAMETOOLONG;
		strcpy(old, w->rest);
		strcpy(w->rest, path);
		strcat(w->rest, "/");
		strcat(w->rest, old);
		return w->resolve & RESOLVE_NO_XDEV ? -EXDEV : go_to_root(w);
	}
	if (file_id_same(world->sysroot, w->id) || file_id_same(world->root, w->id)) {
		if (w->sysroot_only || !world->sysroot.ino || w->resolve & RESOLVE_IN_ROOT)
			return 0;
		return go_to_root(w);
	}
	/* The host knows nothing of a mode that is the view's. */
	if (!world->super && view_may(w->g, w->fd, X_OK) < 0)
		return -EACCES;
	fd = openat(w->fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!w->private)
		return stand_on(w, fd, true);

	int host = view_host_folder(w->g, fd);

	if (host < 0) {
		int err = stand_on(w, fd, true);

		w->private = !err;
		return err;
	}
	close(fd);
	return stand_on(w, host, true);
}

/* Whether the guest has its own file under a name of the host (1, and n), not (0), or the name
 * is hidden (-errno). */
static int made_up(struct walk *w, const char *name, struct node *n)
{
	const struct path_world *world = &w->g->world;
	bool at_root = file_id_same(world->root, w->id) || file_id_same(world->sysroot, w->id);
	char path[NAME_BYTES + 16];

	if (at_root && (!strcmp(name, "proc") || !strcmp(name, "sys") || !strcmp(name, "dev")))
		snprintf(path, sizeof(path), "/%s", name);
	else if (w->in_sysroot)
		return 0;
	else if (at_root && !world->home.ino && !strcmp(name, "home"))
		snprintf(path, sizeof(path), "/%s", name);
	else if (file_id_same(world->etc, w->id) &&
		 (!strcmp(name, "passwd") || !strcmp(name, "group")))
		snprintf(path, sizeof(path), "/etc/%s", name);
	else if (file_id_same(world->home, w->id) && !strcmp(name, "guest"))
		snprintf(path, sizeof(path), "/home/%s", name);
	else if (file_id_same(world->etc, w->id) &&
		 (!strcmp(name, "ld.so.cache") || !strcmp(name, "ld.so.preload")))
		/* The host's loader files are of no use to a loader for another machine; it would
		 * read them all the same, and a run would depend on what is installed here. */
		return -ENOENT;
	else
		return 0;
	return node_find(w->g, path, n) ? 1 : -ENOENT;
}

static bool want_last_link(const struct walk *w, bool slash)
{
	return (w->flags & PATH_FOLLOW || slash) && !(w->flags & PATH_NAME);
}

/* Takes one name of the path, from a folder that is made up. */
static int step_node(struct walk *w, const struct node *n, bool last, bool slash)
{
	char text[PATH_BYTES];
	int len;

	if ((w->resolve & RESOLVE_NO_XDEV) && w->fd >= 0)
		return -EXDEV;
	if (node_is_shm(n)) {
		int fd = open("/dev/shm", O_PATH | O_DIRECTORY | O_CLOEXEC);

		w->in_sysroot = false;
		return fd < 0 ? -errno : stand_on(w, fd, true);
	}
	if (S_ISLNK(node_mode(n)) && (!last || want_last_link(w, slash))) {
		if (node_is_magic(n))
			return follow_magic(w, n);
		len = node_readlink(w->g, n, text);
		if (len < 0)
			return len;
		/* A relative link begins in the folder that it stands in. */
		return follow_text(w, text, (size_t)len);
	}
	stand_on_node(w, n);
	if (last && slash && !S_ISDIR(node_mode(n)))
		return -ENOTDIR;
	return 0;
}

/* The end of the path is a name in a folder of the store. */
static void enter_store(struct walk *w, int upper)
{
	bool in_sysroot = w->in_sysroot;

	leave(w);
	w->fd = upper;
	w->own = true;
	w->private = true;
	w->in_sysroot = in_sysroot;
	w->is_dir = true;
	w->id = id_at(upper, "");
}

/* The same as step, for a name in a folder that is not made up. dir: where the name is looked for. */
static int step_name(struct walk *w, int dir, bool private, const char *name, bool last, bool slash)
{
	char text[PATH_BYTES];
	bool missing = false;
	struct stat st;
	ssize_t len;
	int fd, err;

	if (last && w->flags & PATH_NAME) {
		missing = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0;
		return w->sysroot_only && missing ? -ENOENT : WALK_LAST;
	}
	if (last && !slash) {
		if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			if (errno != ENOENT || w->sysroot_only)
				return -errno;
			return WALK_LAST; /* to be made, perhaps */
		}
		if (!S_ISDIR(st.st_mode) && !(S_ISLNK(st.st_mode) && want_last_link(w, slash)))
			return WALK_LAST;
	}
	fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		err = stand_on(w, fd, true);
		w->private = private && !err && w->fd == fd;
		return err;
	}
	if (errno != ENOTDIR && errno != ELOOP)
		return -errno;
	len = readlinkat(dir, name, text, sizeof(text));
	if (len < 0)
		return errno == EINVAL ? -ENOTDIR : -errno;
	return (size_t)len == sizeof(text) ? -ENAMETOOLONG : follow_text(w, text, (size_t)len);
}

/* Takes one name of the path: 0, WALK_LAST, WALK_DONE or -errno. */
static int step(struct walk *w, const char *name, bool last, bool slash)
{
	struct node n;
	int err, upper;

	if (w->node.row) {
		if (!S_ISDIR(node_mode(&w->node)))
			return -ENOTDIR;
		err = node_child(w->g, &w->node, name, &n);
		if (err)
			return last && w->flags & (PATH_NAME | PATH_MAKE) ? -EACCES : err;
		return step_node(w, &n, last, slash);
	}
	if (!w->is_dir)
		return -ENOTDIR;
	if (!w->may_search)
		return -EACCES;
	err = made_up(w, name, &n);
	if (err)
		return err < 0 ? err : step_node(w, &n, last, slash);
	if (w->g->view && !w->private && view_find(w->g, w->id, name, &upper) == VIEW_OWN) {
		err = step_name(w, upper, true, name, last, slash);
		if (err == WALK_LAST)
			enter_store(w, upper);
		else
			close(upper);
		return err;
	}
	return step_name(w, w->fd, w->private, name, last, slash);
}

/*
 * Walks all folders of `rest` in one host call, where that gives the same result as step by step:
 * no "." or "..", no link, no other mount on the way, no name that is made up, and no mode bits to
 * check here. A path of 5 components takes 4 host calls instead of 20. Changes nothing otherwise.
 */
static void run_ahead(struct walk *w)
{
	const struct path_world *world = &w->g->world;
	bool at_root = file_id_same(world->root, w->id) || file_id_same(world->sysroot, w->id);
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
	};
	char *p = w->rest + strspn(w->rest, "/"), *begin = p, *last = p;
	unsigned names = 0;
	char cut;
	int fd;

	if (world->super || w->resolve || w->node.row || w->private ||
	    (w->g->view && w->g->view->shared->changed) || !w->is_dir ||
	    file_id_same(world->home, w->id))
		return;
	while (*p) {
		size_t n = strcspn(p, "/");

		if (n >= NAME_BYTES || !strncmp(p, ".", n) || !strncmp(p, "..", n))
			return;
		/* Names that are the guest's own begin with one of these. */
		if (at_root && names == 0 &&
		    (!strncmp(p, "proc", n) || !strncmp(p, "sys", n) || !strncmp(p, "dev", n) ||
		     !strncmp(p, "home", n) || !strncmp(p, "etc", n)))
			return;
		names++;
		last = p;
		p += n;
		p += strspn(p, "/");
	}
	if (names < 2)
		return;
	cut = *last;
	*last = 0;
	fd = (int)syscall(SYS_openat2, w->fd, begin, &how, sizeof(how));
	*last = cut;
	if (fd >= 0 && stand_on(w, fd, true) == 0)
		memmove(w->rest, last, strlen(last) + 1);
}

/* Walks rest; 0 or -errno. */
static int walk(struct walk *w)
{
	run_ahead(w);
	for (;;) {
		const char *p = w->rest + strspn(w->rest, "/");
		size_t n = strcspn(p, "/");
		const char *after = p + n;
		bool slash = *after, last = !after[strspn(after, "/")];
		bool folder = w->node.row ? S_ISDIR(node_mode(&w->node)) : w->is_dir;
		int r;

		w->last[0] = 0;
		if (!n) /* nothing, or the slash behind a folder's name */
			return *w->rest && !folder ? -ENOTDIR : 0;
		if (n >= NAME_BYTES)
			return -ENAMETOOLONG;
		memcpy(w->last, p, n);
		w->last[n] = 0;
		memmove(w->rest, after, strlen(after) + 1);
		if (!strcmp(w->last, ".") || !strcmp(w->last, ".."))
			r = !folder ? -ENOTDIR : w->last[1] ? go_up(w) : 0;
		else
			r = step(w, w->last, last, slash);
		if (r == WALK_LAST && slash)
			strcat(w->last, "/");
		if (r)
			return r < 0 ? r : 0;
	}
}

/* Where a relative path begins. */
static int begin(struct walk *w, uint64_t dirfd, bool empty)
{
	const struct fd_entry *f = NULL;
	const struct node *n;
	int fd;

	if ((int)dirfd != AT_FDCWD) {
		f = fd_get(w->g, dirfd);
		if (!f)
			return -EBADF;
	}
	n = f ? &f->node : &w->g->world.cwd;
	if (n->row) {
		stand_on_node(w, n);
		w->start_node = *n;
		return empty || S_ISDIR(node_mode(n)) ? 0 : -ENOTDIR;
	}
	if (f && empty) {
		w->fd = f->host;
		return 0;
	}
	fd = f ? f->host : open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;

	int err = stand_on(w, fd, !f);

	w->private = !err && w->g->view && w->g->view->shared->changed && view_is_own(w->g, fd);
	return err;
}

/* What a walk has found: 0 or -errno. */
static int found(const struct walk *w, bool empty, struct path_at *at)
{
	struct stat st;

	*at = (struct path_at){
		.dir = w->fd,
		.own = w->own,
		.in_sysroot = w->in_sysroot,
		.dev = w->id.dev,
		.folder = w->id,
		.private = w->private,
		.node = w->node,
	};
	_Static_assert(sizeof(at->name) >= sizeof(w->last), "a name and a slash");
	strcpy(at->name, w->last);
	at->is_dir = !*at->name && w->fd >= 0 &&
		     (w->is_dir || (empty && fstat(w->fd, &st) == 0 && S_ISDIR(st.st_mode)));
	if (!w->g->view)
		return 0;

	int err = view_other_name(w->g, at);

	if (err)
		path_done(at);
	return err;
}

int path_find(struct guest *g, uint64_t dirfd, const char *path, unsigned flags, struct path_at *at)
{
	struct walk w = { .g = g,
			  .flags = flags,
			  .resolve = flags >> PATH_RESOLVE_SHIFT,
			  .fd = -1,
			  .start_fd = -1 };
	bool empty = !*path, absolute = *path == '/';
	int err = 0, kept = -1;

	if (empty && !(flags & PATH_EMPTY))
		return -ENOENT;
	if (strlen(path) >= PATH_BYTES)
		return -ENAMETOOLONG;
	if (!absolute || w.resolve & (RESOLVE_BENEATH | RESOLVE_IN_ROOT))
		err = begin(&w, dirfd, empty);
	if (!err && !empty) {
		w.start_fd = w.fd;
		w.start = w.id;
		strcpy(w.rest, path);
		if (w.own) { /* to come back to */
			kept = w.fd;
			w.own = false;
		}
		if (absolute)
			err = go_to_root(&w);
		if (err == WALK_DONE)
			err = 0;
		else if (!err)
			err = walk(&w);
	}
	if (kept >= 0) {
		if (!err && w.fd == kept)
			w.own = true;
		else
			close(kept);
	}
	if (err) {
		leave(&w);
		return err;
	}
	return found(&w, empty, at);
}

/* Names of a place: none that goes up. */
static bool goes_up(const char *path)
{
	for (const char *p = path; *p; p += strcspn(p, "/"), p += strspn(p, "/")) {
		size_t n = strcspn(p, "/");

		if (!n || (n <= 2 && !strncmp(p, "..", n)))
			return true;
	}
	return false;
}

int path_find_in(struct guest *g, const char *place, unsigned flags, struct path_at *at)
{
	struct walk w = { .g = g, .flags = flags, .fd = -1, .start_fd = -1 };
	int base = *place == 's'   ? g->world.sysroot_fd
		   : *place == 'c' ? g->world.start_fd
		   : *place == 'h' ? g->world.root_fd
				   : -1;
	int err;

	if (base < 0 || strlen(place) >= sizeof(w.rest) || (place[1] && place[1] != '/') ||
	    goes_up(place + 1 + (place[1] == '/')))
		return -ENOENT;
	strcpy(w.rest, place + 1 + (place[1] == '/'));
	w.in_sysroot = w.sysroot_only = *place == 's';
	err = stand_on(&w, base, false);
	if (!err)
		err = walk(&w);
	if (err) {
		leave(&w);
		return err;
	}
	return found(&w, false, at);
}

void path_world_move(struct guest *g, const char *name)
{
	struct path_world *w = &g->world;
	struct path_at at;
	char host[PATH_BYTES];

	if (!w->start_name || !strcmp(name, w->start_name) || *name != '/')
		return;
	free(w->start_name);
	w->start_name = x_strdup(name);
	w->moved = false;
	if (path_find(g, (uint64_t)AT_FDCWD, name, PATH_FOLLOW, &at) == 0) {
		bool there = at.is_dir && path_of_fd(at.dir, host) == 0;
		int fd = there ? fcntl(at.dir, F_DUPFD_CLOEXEC, 3) : -1;

		path_done(&at);
		if (fd >= 0) {
			close(w->start_fd);
			free(w->start);
			w->start_fd = fd;
			w->start = x_strdup(host);
			return;
		}
	}
	w->moved = true;
}

int path_find_at(struct guest *g, uint64_t dirfd, uint64_t addr, unsigned flags, struct path_at *at)
{
	char path[PATH_BYTES];
	int64_t n = mem_read_string(&g->mem, path, addr, sizeof(path));

	/* glibc's fstat passes "", Linux 6.11 on also a null pointer. */
	if (n == -EFAULT && addr == 0 && flags & PATH_NULL) {
		path[0] = 0;
		n = 0;
	}
	return n < 0 ? (int)n : path_find(g, dirfd, path, flags, at);
}

void path_done(struct path_at *at)
{
	if (at->own)
		close(at->dir);
	at->own = false;
	at->dir = -1;
}
