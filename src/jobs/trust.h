/* SPDX-License-Identifier: MIT */
/*
 * Whether this user's culprit wrote a profile on this machine. A profile names the command that it
 * came from, and simulating it again runs that command; a profile from elsewhere must not choose
 * what runs here.
 */
#ifndef JOBS_TRUST_H
#define JOBS_TRUST_H

#include "util/digest.h"
#include "store/store.h"
#include "util/util.h"

#define TRUST_KEY_BYTES 32

struct trust_key {
	bool is_there;
	uint8_t bytes[TRUST_KEY_BYTES];
};

/* Loads the user's key; makes one if there is none yet. If that fails, *k says so and e why. */
void trust_key_load(struct trust_key *k, struct err *e);
/* The row of table run, and the setting of a trace, that holds the signature. */
#define TRUST_ROW "signature"
/* Computes that row's value from what is in tables run and machine now. False: there is no key. */
bool trust_sign(struct store *s, const struct trust_key *k, char hex[DIGEST_HEX]);
/* Whether that row is there and right. */
bool trust_holds(struct store *s, const struct trust_key *k);
/* Whether the signature covers this row of table run. */
bool trust_covers(const char *key);

/* HMAC-SHA-256 (RFC 2104) of one text, in hexadecimal digits. */
void trust_mac(const uint8_t *key, size_t key_bytes, const void *data, size_t bytes,
	       char hex[DIGEST_HEX]);

#endif
