/* SPDX-License-Identifier: MIT */
/*
 * The daemon's loop. It does what the source wants whenever that has something, and four times a second
 * it writes or compacts in slices of a few milliseconds of processor time, as many as the source leaves
 * of this second (pace.h). A database that cannot be written is tried again every
 * second; what waits meanwhile is bounded by the writer.
 */
#include "collect/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collect/control.h"
#include "collect/db_int.h"
#include "collect/pace.h"
#include "util/text.h"
#include "util/descriptor.h"

#define TICK_MS 250
#define IDLE_MS 1000 /* between two looks at what there is to pack */
#define HOUR_NS 3600000000000ull
/* Blocks above this leave the heap's memory to the kernel as soon as they are freed. By itself the
 * C library would raise it to the largest block so far. */
#define BLOCK_BYTES (64 << 10)

struct daemon {
	const struct daemon_options *o;
	const struct daemon_source *source;
	void *from;
	struct db *db;
	struct db_writer *writer;
	int listener, signals;
	uint32_t group; /* of the database */
	bool stop, failing;
	bool published;	   /* all of a cut has just been written */
	uint64_t retry_ns; /* steady time before which a failing database is not tried again */
	uint64_t keep_ns;  /* before which nothing is looked for that could be packed */
	struct pace pace;
	char failure[256]; /* why it fails */
};

/* ---- The collector as a source ---- */

static void *open_collector(void *self, const struct live_sink *sink, struct err *e)
{
	char **notes = NULL;
	size_t n = 0;
	struct collector *c = collector_open(self, sink, &notes, &n, e);

	for (size_t i = 0; i < n; i++) {
		warn("daemon: %s", notes[i]);
		free(notes[i]);
	}
	free(notes);
	return c;
}

static int collector_source_fd(void *source)
{
	return collector_fd(source);
}

static bool poll_collector(void *source, int timeout_ms, struct err *e)
{
	return collector_poll(source, timeout_ms, e);
}

static bool flush_collector(void *source, struct err *e)
{
	return collector_flush(source, e);
}

static bool close_collector(void *source, struct err *e)
{
	return collector_close(source, e);
}

static void hold_collector(void *source, struct held *h)
{
	collector_hold(source, h);
}

static void collector_lines(void *source, FILE *out)
{
	const struct collector_status s = collector_status(source);
	const double all = (double)(s.hits + s.misses);

	fprintf(out, "rate: %.0f samples a second and processor\n", s.rate);
	fprintf(out, "interrupt: %.0f ns, and %.0f in the handler (a hit %.0f, a miss %.0f)\n",
		s.interrupt_ns, s.handler_ns, s.hit_ns, s.miss_ns);
	fprintf(out, "table: %llu hits, %llu misses (%.1f%%), %llu entries drained\n",
		(unsigned long long)s.hits, (unsigned long long)s.misses,
		all > 0 ? 100 * (double)s.misses / all : 0, (unsigned long long)s.entries);
	fprintf(out, "lost: %llu in the ring, %llu records of mappings\n",
		(unsigned long long)s.ring_lost, (unsigned long long)s.sideband_lost);
	if (s.refused)
		fprintf(out, "refused: %llu records by a ring with room, each asked once more\n",
			(unsigned long long)s.refused);
	fprintf(out, "known: %llu address spaces, %llu images, %llu KiB\n",
		(unsigned long long)s.spaces, (unsigned long long)s.images,
		(unsigned long long)s.memory_bytes / 1024);
}

struct daemon_source daemon_collector(const struct collector_options *o)
{
	return (struct daemon_source){ .open = open_collector,
				       .fd = collector_source_fd,
				       .poll = poll_collector,
				       .flush = flush_collector,
				       .hold = hold_collector,
				       .status = collector_lines,
				       .close = close_collector,
				       .self = (void *)o };
}

/* ---- Writing ---- */

static uint64_t wall(const struct daemon *d)
{
	const struct db_clock *c = d->o->clock ? d->o->clock : &db_real_clock;

	return c->wall_ns(c->self);
}

/* Notes a failure, and says it once; nothing is tried again for a second of real time. */
static void cannot_write(struct daemon *d, const struct err *e)
{
	if (!d->failing)
		warn("daemon: %s; counts wait in memory until it can be written", e->text);
	d->failing = true;
	d->retry_ns = db_real_clock.steady_ns(NULL) + 1000000000u;
	snprintf(d->failure, sizeof(d->failure), "%.250s", e->text);
}

/* Packs, merges and drops for so much processor time. */
static void keep_some(struct daemon *d, uint64_t steady, double cpu_ms)
{
	struct db_keep keep = d->o->keep;
	struct err e = { "" };
	bool more = false;

	if (steady < d->keep_ns)
		return;
	keep.now_ns = wall(d);
	keep.hold = d->source->hold;
	keep.self = d->from;
	if (!db_keep_step(d->db, &keep, cpu_ms, &more, &e))
		cannot_write(d, &e);
	if (!more)
		d->keep_ns = steady + IDLE_MS * 1000000ull;
}

static uint64_t process_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void write_some(struct daemon *d)
{
	const uint64_t steady = db_real_clock.steady_ns(NULL);
	struct err e = { "" };
	bool more = false;

	if (d->failing && steady < d->retry_ns)
		return;
	const uint64_t begin = process_ns(), slice = pace_slice(&d->pace, steady, begin);

	if (!slice)
		return;
	const bool behind = db_writer_status(d->writer).behind;

	if (!db_writer_step(d->writer, (double)slice / 1e6, &more, &e)) {
		cannot_write(d, &e);
		return;
	}
	d->published = behind && !db_writer_status(d->writer).behind;
	/* A cut leaves the heap full of holes: half of what is resident would be unused. */
	if (d->published)
		malloc_trim(0);
	if (d->failing)
		warn("daemon: %s can be written again", d->o->folder);
	d->failing = false;
	const uint64_t used = process_ns() - begin;

	if (!more && used < slice)
		keep_some(d, steady, (double)(slice - used) / 1e6);
}

/* Everything that was sampled is on disk when it returns. */
static bool flush(struct daemon *d, struct err *e)
{
	return d->source->flush(d->from, e) && db_writer_flush(d->writer, e);
}

static bool end_epoch(struct daemon *d, struct err *e)
{
	return flush(d, e) && db_writer_end_epoch(d->writer, e);
}

/* ---- Answers ---- */

/* The processes with the most samples in the open epoch, of one user or of all. */
static void list_processes(struct daemon *d, const struct control_peer *who, FILE *out)
{
	struct db_rows q = db_query(
	    d->db,
	    "SELECT pid, uid, comm, sum(samples) FROM epoch JOIN pack USING (data) JOIN process"
	    " ON process.id = pack.process WHERE state = 1 AND cut <= cuts AND (?1 < 0 OR uid ="
	    " ?1) GROUP BY process.id ORDER BY 4 DESC LIMIT 20",
	    "i", who->trusted ? (int64_t)-1 : (int64_t)who->uid);

	while (db_next(&q)) {
		char *comm = text_shown(db_text(&q, 2));

		fprintf(out, "process: %lld of user %lld, %s: %lld samples\n",
			(long long)db_int(&q, 0), (long long)db_int(&q, 1), comm,
			(long long)db_int(&q, 3));
		free(comm);
	}
	db_done(&q, NULL);
}

static void list_events(struct daemon *d, FILE *out)
{
	struct db_rows q =
	    db_query(d->db,
		     "SELECT name, sum(taken), sum(stored), sum(lost), sum(pending) FROM"
		     " epoch_event JOIN event ON id = event WHERE epoch = ?1 GROUP BY event",
		     "i", (int64_t)db_writer_status(d->writer).epoch);

	while (db_next(&q))
		fprintf(out, "event: %s: %lld taken = %lld stored + %lld lost + %lld pending\n",
			db_text(&q, 0), (long long)db_int(&q, 1), (long long)db_int(&q, 2),
			(long long)db_int(&q, 3), (long long)db_int(&q, 4));
	db_done(&q, NULL);
}

static double seconds(const struct rusage *u)
{
	return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) +
	       (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) / 1e6;
}

static void status(struct daemon *d, const struct control_peer *who, FILE *out)
{
	const struct db_writer_status s = db_writer_status(d->writer);
	struct rusage used, loading;

	fputs("ok\n", out);
	if (!who->trusted) {
		list_processes(d, who, out);
		return;
	}
	getrusage(RUSAGE_SELF, &used);
	getrusage(RUSAGE_CHILDREN, &loading);
	fprintf(out, "daemon: process %d, %.2f s of processor time, at most %ld KiB resident\n",
		(int)getpid(), seconds(&used) + seconds(&loading), used.ru_maxrss);
	fprintf(out, "database: %s%s%s\n", d->o->folder, d->failing ? ": " : "",
		d->failing ? d->failure : "");
	fprintf(out, "epoch: %llu, %llu cuts in %.0f s\n", (unsigned long long)s.epoch,
		(unsigned long long)s.cuts, (double)s.age_ns / 1e9);
	fprintf(out, "waiting: %llu counts; %llu samples lost for want of memory\n",
		(unsigned long long)s.waiting, (unsigned long long)s.lost);
	list_events(d, out);
	if (d->source->status)
		d->source->status(d->from, out);
	list_processes(d, who, out);
}

static void answer(struct daemon *d, const struct control_peer *who, const char *line, FILE *out)
{
	struct err e = { "" };
	bool ok = true;

	if (!strcmp(line, "status")) {
		status(d, who, out);
		return;
	}
	if (!who->trusted) {
		fputs("error only members of the database's group may do that\n", out);
		return;
	}
	if (!strcmp(line, "flush"))
		ok = flush(d, &e);
	else if (!strcmp(line, "epoch"))
		ok = end_epoch(d, &e);
	else if (!strcmp(line, "stop"))
		d->stop = true;
	else
		ok = err_set(&e, "the daemon knows status, flush, epoch and stop");
	if (ok)
		fprintf(out, "ok\n");
	else
		fprintf(out, "error %s\n", e.text);
}

static void serve(struct daemon *d)
{
	struct control_peer who;
	char line[64], *text = NULL;
	size_t size;
	const int fd = control_accept(d->listener, d->group, &who, line, sizeof(line));
	FILE *out = fd >= 0 ? open_memstream(&text, &size) : NULL;

	if (!out) {
		if (fd >= 0)
			close(fd);
		return;
	}
	answer(d, &who, line, out);
	fclose(out);
	control_answer(fd, text);
	free(text);
}

/* ---- Beginning and end ---- */

char *daemon_socket(const char *folder, const char *socket)
{
	return socket ? x_strdup(socket) : x_asprintf("%s/socket", folder);
}

static int open_signals(void)
{
	return descriptor_signals((const int[]){ SIGINT, SIGTERM, SIGHUP, 0 });
}

static void boot_id(char out[64])
{
	const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? 0 : read(fd, out, 63);

	if (fd >= 0)
		close(fd);
	out[n > 0 ? n : 0] = '\0';
	out[strcspn(out, "\n")] = '\0';
}

/* The database, the writer and the socket, as the user that they will belong to. */
static bool open_files(struct daemon *d, struct err *e)
{
	char *socket = daemon_socket(d->o->folder, d->o->socket);
	char boot[64];
	struct stat st;

	boot_id(boot);
	const struct db_writer_options o = {
		.clock = d->o->clock,
		.source = DB_SOURCE_DAEMON,
		.boot_id = boot,
		.per_process = d->o->per_process,
		.per_cpu = d->o->per_cpu,
		.waiting_max = d->o->waiting_max,
	};

	d->db = db_open(d->o->folder, DB_OWN, NULL, e);
	d->writer = d->db ? db_writer_open(d->db, &o, e) : NULL;
	bool ok = d->writer != NULL;

	if (ok && stat(d->o->folder, &st))
		ok = err_set(e, "%s: %s", d->o->folder, strerror(errno));
	d->group = ok ? st.st_gid : 0;
	d->listener = ok ? control_listen(socket, d->o->group, e) : -1;
	free(socket);
	/* A step that has to wait for another writer is tried again at the next tick. */
	if (ok)
		sqlite3_busy_timeout(d->db->sql, 100);
	return ok && d->listener >= 0;
}

static bool open_as(struct daemon *d, struct err *e)
{
	const struct passwd *p = d->o->run_as ? getpwnam(d->o->run_as) : NULL;
	const uid_t uid = geteuid();
	const gid_t gid = getegid();

	if (!d->o->run_as)
		return open_files(d, e);
	if (!p)
		return err_set(e, "there is no user '%.60s'", d->o->run_as);
	/* The folder may lie where only we may make one. */
	if (!mkdir(d->o->folder, 0750) && lchown(d->o->folder, p->pw_uid, p->pw_gid))
		return err_set(e, "%s: %s", d->o->folder, strerror(errno));
	if (setegid(p->pw_gid) || seteuid(p->pw_uid))
		return err_set(e, "cannot become '%.60s': %s", d->o->run_as, strerror(errno));
	const bool ok = open_files(d, e);

	if (seteuid(uid) || setegid(gid))
		return err_set(e, "cannot become user %u again: %s", uid, strerror(errno));
	return ok;
}

static bool tick(struct daemon *d, struct err *e)
{
	const uint64_t length = d->o->epoch_ns ? d->o->epoch_ns : HOUR_NS;
	struct pollfd fds[] = { { .fd = d->source->fd(d->from), .events = POLLIN },
				{ .fd = d->listener, .events = POLLIN },
				{ .fd = d->signals, .events = POLLIN } };
	const int n = poll(fds, ARRAY_LEN(fds), TICK_MS);
	struct err trouble = { "" };

	if (n > 0 && fds[2].revents)
		d->stop = true;
	if (!d->source->poll(d->from, 0, e))
		return false;
	if (n > 0 && fds[1].revents)
		serve(d);
	d->published = false;
	write_some(d);
	const struct db_writer_status s = db_writer_status(d->writer);

	/* An epoch ends with a cut, when that is written: so that no second has to write all at once. */
	if (d->published && s.epoch && s.age_ns >= length &&
	    !db_writer_end_epoch(d->writer, &trouble))
		cannot_write(d, &trouble);
	return true;
}

static bool finish(struct daemon *d, bool ok, struct err *e)
{
	struct err *first = ok ? e : NULL;

	if (d->from && !d->source->close(d->from, first) && ok) {
		ok = false;
		first = NULL;
	}
	if (d->writer && !db_writer_close(d->writer, first))
		ok = false;
	if (d->listener >= 0) {
		char *socket = daemon_socket(d->o->folder, d->o->socket);

		close(d->listener);
		unlink(socket);
		free(socket);
	}
	if (d->signals >= 0)
		close(d->signals);
	db_close(d->db);
	return ok;
}

bool daemon_run(const struct daemon_options *o, const struct daemon_source *source, struct err *e)
{
	struct daemon d = { .o = o, .source = source, .listener = -1, .signals = -1 };

	mallopt(M_MMAP_THRESHOLD, BLOCK_BYTES);
	bool ok = open_as(&d, e);

	if (ok) {
		const struct live_sink sink = db_writer_sink(d.writer);

		d.signals = open_signals();
		d.from = source->open(source->self, &sink, e);
		ok = d.from != NULL;
	}
	if (ok && o->ready_fd >= 0) {
		if (write(o->ready_fd, "", 1) != 1)
			warn("daemon: nobody waits for its start");
		close(o->ready_fd);
	}
	while (ok && !d.stop)
		ok = tick(&d, e);
	return finish(&d, ok, e);
}
