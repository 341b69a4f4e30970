/* SPDX-License-Identifier: MIT */
/*
 * culprit sample, first step: what is known of program and input, whatever machine they are simulated
 * on. The program runs once, functionally, as its user would run it: with his streams, in his folder.
 * Everything later comes from what this run leaves in a folder of the cache.
 *
 * The folder's name is a digest of what is known before the run: command, options, program, standard
 * input. What else the run read is known when it is over; a second digest covers that, and the folder
 * is used again only while it still holds. Culprit itself is in neither: a version of the format is
 * enough. A folder gets its name when it is complete.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/sample.h"
#include "cmd/sim_into.h"
#include "store/store.h"

#define FORMAT "culprit sample 1"

/* ---- the folder's name ---- */

static void digest_number(struct digest *d, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
	digest_text(d, text);
}

/* A word of the command line that names a file counts by its content, too. */
static void digest_word(struct digest *d, const char *word, const char *sysroot)
{
	char *inside = sysroot && *word == '/' ? x_asprintf("%s%s", sysroot, word) : NULL;
	const char *path = inside && !access(inside, R_OK) ? inside : word;
	struct stat st;

	digest_text(d, word);
	if (!stat(path, &st) && S_ISREG(st.st_mode))
		digest_file(d, path);
	free(inside);
}

/* What the guest can tell of its streams. False: standard input is not there a second time. */
static bool digest_streams(struct digest *d)
{
	struct stat st;
	bool repeats = true;

	for (int fd = 0; fd < 3; fd++) {
		const bool is_open = !fstat(fd, &st);

		digest_number(d, is_open ? (uint64_t)(st.st_mode & S_IFMT) : 0);
		digest_number(d, (uint64_t)isatty(fd));
		if (fd == 0 && is_open && S_ISREG(st.st_mode)) {
			digest_number(d, (uint64_t)lseek(0, 0, SEEK_CUR));
			digest_file(d, "/proc/self/fd/0");
		} else if (fd == 0) {
			repeats = !is_open || (S_ISCHR(st.st_mode) && !isatty(0));
		}
	}
	return repeats;
}

static bool folder_name(struct sample *s, bool *repeats)
{
	const struct sample_options *o = s->o;
	char hex[DIGEST_HEX], cwd[4096], *program = sim_find_program(s->args[0], o->sysroot);
	struct digest d;

	digest_init(&d);
	digest_text(&d, FORMAT);
	digest_number(&d, o->interval);
	digest_number(&d, o->dims);
	digest_number(&d, o->seed);
	digest_number(&d, !o->no_data);
	digest_number(&d, o->max_insts);
	digest_number(&d, o->guest_seed);
	digest_number(&d, o->partial);
	digest_text(&d, o->sysroot);
	digest_text(&d, getcwd(cwd, sizeof(cwd)));
	for (size_t i = 0; i < o->env.count; i++)
		digest_text(&d, o->env.items[i]);
	digest_text(&d, NULL);
	digest_word(&d, program, o->sysroot);
	for (char **a = s->args; *a; a++)
		digest_word(&d, *a, o->sysroot);
	*repeats = digest_streams(&d);
	free(program);
	digest_hex(&d, hex);
	s->dir = x_asprintf("%s/samples/%.40s", s->cache, hex);
	return true;
}

/* ---- folders ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

void sample_remove_folder(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Gives a complete folder its name, in the place of what has it now. */
static bool settle_folder(const char *temp, const char *dir, struct err *e)
{
	if (!rename(temp, dir))
		return true;
	if ((errno == ENOTEMPTY || errno == EEXIST) &&
	    !renameat2(AT_FDCWD, temp, AT_FDCWD, dir, RENAME_EXCHANGE)) {
		sample_remove_folder(temp);
		return true;
	}
	return err_set(e, "'%s' cannot become '%s': %s", temp, dir, strerror(errno));
}

/* ---- running ---- */

/* In a process of its own, which gives up everything but what a guest needs. */
static _Noreturn void run_program(const struct sample *s, const char *dir, const char *bb)
{
	const struct sample_options *o = s->o;
	const char *hidden[] = { s->output, NULL };
	const struct sim_into into = { .dir = dir,
				       .bb = bb,
				       .interval = o->interval,
				       .seed = o->seed,
				       .dims = (unsigned)o->dims,
				       .data = !o->no_data,
				       .partial = o->partial };
	struct sim_options sim = { .functional = true,
				   .clock = SIM_CLOCK_INSTS,
				   .sysroot = o->sysroot,
				   .max_insts = o->max_insts,
				   .env = o->env,
				   .seed = o->guest_seed,
				   .interpreter = o->interpreter,
				   .hide = { hidden, 1 },
				   .into = &into };
	int status;

	sim.session.workers = OPTION_NOT_GIVEN;
	sim.session.trace_records = -1;
	status = sim_main(&sim, s->args, NULL);

	fflush(NULL);
	_exit(status);
}

/* Waits for the program; SIGINT and SIGTERM are passed on to it. Its exit status, or 128 + n. */
static int wait_for(pid_t pid)
{
	sigset_t stop;
	int status = 0;

	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGCHLD);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		siginfo_t info;
		int signal = sigtimedwait(&stop, &info, &(struct timespec){ .tv_nsec = 200000000 });

		/* Ctrl-C has reached the program, too: it is in the terminal's group. */
		if ((signal == SIGINT && info.si_code != SI_KERNEL) || signal == SIGTERM)
			kill(pid, signal);
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int profile_in(const struct sample *s, const char *dir, const char *bb)
{
	sigset_t stop, before;
	const pid_t parent = getpid();
	pid_t pid;
	int status;

	fflush(NULL);
	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGCHLD);
	sigprocmask(SIG_BLOCK, &stop, &before);
	pid = fork();
	if (!pid) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(127);
		run_program(s, dir, bb);
	}
	status = pid < 0 ? -1 : wait_for(pid);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return status;
}

/* ---- what the run left ---- */

/* The digest of all that the run depends on, as it is now. */
static void current_digest(const struct rerun *r, char hex[DIGEST_HEX])
{
	struct digest d;

	digest_init(&d);
	digest_text(&d, FORMAT);
	rerun_digest(r, &d);
	digest_hex(&d, hex);
}

static bool write_digest(const char *dir, const char *hex, struct err *e)
{
	char *path = x_asprintf("%s/digest", dir);
	FILE *f = fopen(path, "we");
	bool ok = f && fprintf(f, "%s\n", hex) > 0;

	if (f && fclose(f))
		ok = false;
	if (!ok)
		err_set(e, "cannot write '%s': %s", path, strerror(errno));
	free(path);
	return ok;
}

static bool has_digest(const char *dir, const char *hex)
{
	char *path = x_asprintf("%s/digest", dir), line[DIGEST_HEX + 2] = "";
	FILE *f = fopen(path, "re");
	bool same = f && fgets(line, sizeof(line), f) && !strncmp(line, hex, DIGEST_HEX - 1);

	if (f)
		fclose(f);
	free(path);
	return same;
}

static bool open_run(struct sample *s, const char *dir, struct err *e)
{
	char *path = x_asprintf("%s/" SIM_INTO_RUN, dir);

	s->profile = store_open(path, e);
	free(path);
	s->rerun = s->profile ? rerun_open(s->profile, NULL, s->cache, e) : NULL;
	return s->rerun;
}

static void close_run(struct sample *s)
{
	rerun_close(s->rerun);
	store_close(s->profile);
	s->rerun = NULL;
	s->profile = NULL;
}

/* Whether the folder is complete and still true; it is open then. */
static bool reuse(struct sample *s)
{
	char hex[DIGEST_HEX], *path = x_asprintf("%s/" SIM_INTO_RUN, s->dir);
	struct err ignored;
	bool ok = !access(path, R_OK) && open_run(s, s->dir, &ignored);

	free(path);
	if (ok) {
		current_digest(s->rerun, hex);
		ok = has_digest(s->dir, hex) && sim_into_vectors(s->dir, &s->vectors) &&
		     sim_into_executions(s->dir, &s->pcs, &s->executions, &s->npcs);
	}
	if (!ok)
		close_run(s);
	return ok;
}

static bool make(struct sample *s, struct err *e)
{
	char hex[DIGEST_HEX], *temp = x_asprintf("%s.%ld", s->dir, (long)getpid());
	char *bb = s->o->keep ? x_asprintf("%s/run.bb.gz", temp) : NULL;
	int status;
	bool ok;

	sample_remove_folder(temp);
	ok = jobs_make_dirs(temp, e);
	status = ok ? profile_in(s, temp, bb) : 2;
	if (ok && status > 128)
		err_set(e, "interrupted while the program was profiled; nothing of that is kept "
			   "(--partial uses what ran)");
	s->said = ok && status && status <= 128;
	ok = ok && !status;
	/* The first digest is taken of files as the run left them. */
	if (ok && (ok = open_run(s, temp, e))) {
		current_digest(s->rerun, hex);
		close_run(s);
		ok = write_digest(temp, hex, e) && settle_folder(temp, s->dir, e);
	}
	if (!ok)
		sample_remove_folder(temp);
	free(temp);
	free(bb);
	return ok && (open_run(s, s->dir, e) && sim_into_vectors(s->dir, &s->vectors) &&
		      sim_into_executions(s->dir, &s->pcs, &s->executions, &s->npcs));
}

bool sample_profile(struct sample *s, struct err *e)
{
	bool repeats;

	folder_name(s, &repeats);
	s->profile_cached = repeats && !s->o->again && reuse(s);
	if (s->profile_cached && s->o->keep) {
		char *bb = x_asprintf("%s/run.bb.gz", s->dir);

		/* Vectors as a file cost time and space: they are there only where somebody wanted
		 * them. */
		if (access(bb, R_OK)) {
			close_run(s);
			sample_profile_free_vectors(s);
			s->profile_cached = false;
		}
		free(bb);
	}
	if (!s->profile_cached && !make(s, e)) {
		if (!e->text[0] && !s->said)
			err_set(e, "'%s' is not what the profiling pass leaves; remove it", s->dir);
		return false;
	}
	s->total = (uint64_t)store_number(s->profile,
					  "SELECT value FROM run WHERE key = 'instructions'", 0);
	s->exit_status = rerun_exit_status(s->rerun);
	return s->total || err_set(e, "the program ended before its first instruction");
}

void sample_profile_free_vectors(struct sample *s)
{
	intervals_free(&s->vectors);
	free(s->pcs);
	free(s->executions);
	s->pcs = s->executions = NULL;
	s->npcs = 0;
}

void sample_profile_free(struct sample *s)
{
	close_run(s);
	sample_profile_free_vectors(s);
	free(s->dir);
	s->dir = NULL;
}
