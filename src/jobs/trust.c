/* SPDX-License-Identifier: MIT */
/*
 * Signs a store by an HMAC under a key that only this user can read. The key is in $CULPRIT_STATE,
 * $XDG_STATE_HOME/culprit or ~/.local/state/culprit, never in a store. The host's identity goes
 * into the HMAC, because machines may share a home folder.
 *
 * The HMAC covers table machine and the rows of table run that say how the run came about
 * (recipe.def), not its results, so that the same analyses on its trace write the same signature.
 * Both must be plain tables: a view could answer differently each time.
 */
#include "jobs/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jobs/jobs.h"
#include "jobs/recipe.h"

bool trust_covers(const char *key)
{
	for (size_t i = 0; i < RUN_ITEMS; i++)
		if (recipe_rows[i].use & RECIPE_SIGNED && !strcmp(recipe_rows[i].key, key))
			return true;
	return false;
}

static void raw(const char hex[DIGEST_HEX], uint8_t out[32])
{
	for (unsigned i = 0; i < 32; i++) {
		unsigned byte = 0;

		sscanf(hex + (size_t)2 * i, "%2x", &byte);
		out[i] = (uint8_t)byte;
	}
}

void trust_mac(const uint8_t *key, size_t key_bytes, const void *data, size_t bytes,
	       char hex[DIGEST_HEX])
{
	uint8_t block[64] = { 0 }, inner[32];
	struct digest d;

	if (key_bytes > sizeof(block)) {
		digest_init(&d);
		digest_add(&d, key, key_bytes);
		digest_hex(&d, hex);
		raw(hex, block);
	} else {
		memcpy(block, key, key_bytes);
	}
	for (unsigned i = 0; i < sizeof(block); i++)
		block[i] ^= 0x36;
	digest_init(&d);
	digest_add(&d, block, sizeof(block));
	digest_add(&d, data, bytes);
	digest_hex(&d, hex);
	raw(hex, inner);
	for (unsigned i = 0; i < sizeof(block); i++)
		block[i] ^= 0x36 ^ 0x5c;
	digest_init(&d);
	digest_add(&d, block, sizeof(block));
	digest_add(&d, inner, sizeof(inner));
	digest_hex(&d, hex);
}

/* The folder for the key; NULL: the user has none. */
static char *state_dir(void)
{
	const char *own = getenv("CULPRIT_STATE"), *xdg = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");

	if (own && *own)
		return x_strdup(own);
	if (xdg && *xdg == '/')
		return x_asprintf("%s/culprit", xdg);
	return home && *home == '/' ? x_asprintf("%s/.local/state/culprit", home) : NULL;
}

static bool read_key(const char *path, struct trust_key *k, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return err_set(e, "cannot read the key '%s': %s", path, strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 077)
		err_set(e, "the key '%s' is not this user's alone: remove it", path);
	else if (read(fd, k->bytes, sizeof(k->bytes)) != sizeof(k->bytes))
		err_set(e, "the key '%s' is damaged: remove it", path);
	else
		k->is_there = true;
	close(fd);
	return k->is_there;
}

/* Makes a key, whole or not at all. If two processes make one at the same time, one key remains. */
static void make_key(const char *dir, const char *path)
{
	uint8_t bytes[TRUST_KEY_BYTES];
	char *temp = x_asprintf("%s/key.%ld", dir, (long)getpid());
	struct err e;
	int fd;

	if (jobs_make_dirs(dir, &e) &&
	    getrandom(bytes, sizeof(bytes), 0) == (ssize_t)sizeof(bytes)) {
		unlink(temp);
		fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd >= 0) {
			bool ok = write(fd, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes);

			if (!close(fd) && ok && link(temp, path))
				ok =
				    false; /* another process was first, or read_key will say why */
			unlink(temp);
		}
	}
	free(temp);
}

void trust_key_load(struct trust_key *k, struct err *e)
{
	char *dir = state_dir(), *path;

	*k = (struct trust_key){ .is_there = false };
	if (!dir) {
		err_set(e,
			"there is no home folder to keep a key in: set CULPRIT_STATE to a folder");
		return;
	}
	path = x_asprintf("%s/key", dir);
	if (access(path, F_OK))
		make_key(dir, path);
	if (!read_key(path, k, e) && access(path, F_OK))
		err_set(e, "cannot make a key in '%s': set CULPRIT_STATE to another folder", dir);
	free(path);
	free(dir);
}

static void put(FILE *f, const char *text)
{
	fprintf(f, "%zu:%s;", text ? strlen(text) : (size_t)-1, text ? text : "");
}

/* All that is signed, as one text; NULL if it cannot be read. The caller frees. */
static char *signed_text(struct store *s, size_t *size)
{
	static const struct {
		const char *sql;
		int columns;
	} parts[] = {
		{ "SELECT key, value FROM run ORDER BY key", 2 },
		{ "SELECT section, key, value FROM machine ORDER BY section, key", 3 },
	};
	char *text = NULL, machine[64] = "";
	FILE *f = open_memstream(&text, size), *id;
	bool ok = true;

	if (!f)
		die("out of memory");
	id = fopen("/etc/machine-id", "re");
	if (id && !fgets(machine, sizeof(machine), id))
		machine[0] = 0;
	if (id)
		fclose(id);
	put(f, "culprit store 1");
	put(f, machine);
	for (unsigned i = 0; ok && i < ARRAY_LEN(parts); i++) {
		struct store_rows q = store_query(s, parts[i].sql, "");

		while (store_next(&q)) {
			const char *key = store_text(&q, 0);

			if (!i && (!key || !trust_covers(key)))
				continue;
			for (int k = 0; k < parts[i].columns; k++)
				put(f, store_text(&q, k));
		}
		put(f, NULL);
		ok = store_done(&q, NULL);
	}
	if (fclose(f))
		ok = false;
	if (ok)
		return text;
	free(text);
	return NULL;
}

bool trust_sign(struct store *s, const struct trust_key *k, char hex[DIGEST_HEX])
{
	size_t size = 0;
	char *text = k->is_there ? signed_text(s, &size) : NULL;
	bool ok = text;

	if (ok)
		trust_mac(k->bytes, sizeof(k->bytes), text, size, hex);
	free(text);
	return ok;
}

bool trust_holds(struct store *s, const struct trust_key *k)
{
	char hex[DIGEST_HEX];
	unsigned differs = 1;

	if (store_number(s,
			 "SELECT count(*) FROM sqlite_schema WHERE name IN ('run', 'machine') AND "
			 "type = 'table' AND sql LIKE 'CREATE TABLE %'",
			 0) != 2 ||
	    store_number(s, "SELECT count(*) FROM run WHERE key = '" TRUST_ROW "'", 0) != 1 ||
	    !trust_sign(s, k, hex))
		return false;

	struct store_rows q =
	    store_query(s, "SELECT value FROM run WHERE key = '" TRUST_ROW "'", "");

	if (store_next(&q)) {
		const char *there = store_text(&q, 0);

		differs = !there || strlen(there) != strlen(hex);
		/* in constant time */
		for (size_t i = 0; there && there[i] && hex[i]; i++)
			differs |= (unsigned)(there[i] ^ hex[i]);
	}
	return store_done(&q, NULL) && !differs;
}
