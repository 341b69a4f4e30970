/* SPDX-License-Identifier: MIT */
/*
 * Whether a profile was written by this user's culprit on this machine. A profile says which
 * command it came from, and commands that simulate it again run that; one that came from elsewhere
 * must not choose what is run here.
 */
#ifndef JOBS_TRUST_H
#define JOBS_TRUST_H

#include "jobs/digest.h"
#include "store/store.h"
#include "util/util.h"

#define TRUST_KEY_BYTES 32

struct trust_key {
	bool is_there;
	uint8_t bytes[TRUST_KEY_BYTES];
};

/* The user's key, made if there is none yet. Without one *k says so and e why. */
void trust_key_load(struct trust_key *k, struct err *e);
/* Row of table run, and setting of a trace, that says so. */
#define TRUST_ROW "signature"
/* The value of that row, over what is in tables run and machine by then; false: there is no key. */
bool trust_sign(struct store *s, const struct trust_key *k, char hex[DIGEST_HEX]);
/* If that row is there and right. */
bool trust_holds(struct store *s, const struct trust_key *k);
/* If it covers this row of table run: what a run is simulated again by must be such. */
bool trust_covers(const char *key);

/* HMAC-SHA-256 (RFC 2104) of one text, in hexadecimal digits. */
void trust_mac(const uint8_t *key, size_t key_bytes, const void *data, size_t bytes,
	       char hex[DIGEST_HEX]);

#endif
