/* SPDX-License-Identifier: MIT */
/* Signatures of stores; tests/cli/trust.sh tests their effect on commands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jobs/trust.h"

static void test_290_the_mac_is_hmac_sha_256(void **state)
{
	/* RFC 4231, cases 1, 2, 3 and 6 */
	uint8_t b[20], aa[131], dd[50];
	char hex[DIGEST_HEX];

	memset(b, 0x0b, sizeof(b));
	memset(aa, 0xaa, sizeof(aa));
	memset(dd, 0xdd, sizeof(dd));
	trust_mac(b, sizeof(b), "Hi There", 8, hex);
	assert_string_equal(hex,
			    "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
	trust_mac((const uint8_t *)"Jefe", 4, "what do ya want for nothing?", 28, hex);
	assert_string_equal(hex,
			    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	trust_mac(aa, 20, dd, sizeof(dd), hex);
	assert_string_equal(hex,
			    "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
	trust_mac(aa, sizeof(aa), "Test Using Larger Than Block-Size Key - Hash Key First", 54,
		  hex);
	assert_string_equal(hex,
			    "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

static struct store *make_store(const char *path, const char *argv, const char *rob)
{
	struct err e = { "" };
	struct store *s = store_create(path, &e);

	assert_non_null(s);
	assert_true(store_insert(s, &e, "run", "ss", "argv", argv));
	assert_true(store_insert(s, &e, "run", "sd", "host_seconds", 1.5));
	assert_true(store_insert(s, &e, "machine", "sss", "window", "rob", rob));
	return s;
}

static void test_291_equal_recipes_have_equal_signatures_and_others_others(void **state)
{
	char folder[] = "/tmp/culprit-trust-XXXXXX", hex[4][DIGEST_HEX], *path;
	const struct trust_key key = { .is_there = true, .bytes = { 1 } };
	const struct trust_key other = { .is_there = true, .bytes = { 2 } };
	const struct trust_key none = { .is_there = false };
	struct store *s[3];
	struct err e = { "" };

	assert_non_null(mkdtemp(folder));
	path = x_asprintf("%s/s", folder);
	s[0] = make_store(path, "[\"a\",\"b\"]", "128");
	s[1] = make_store(path, "[\"a\",\"c\"]", "128");
	s[2] = make_store(path, "[\"a\",\"b\"]", "64");
	for (unsigned i = 0; i < 3; i++)
		assert_true(trust_sign(s[i], &key, hex[i]));
	assert_true(trust_sign(s[0], &other, hex[3]));
	for (unsigned i = 0; i < 4; i++)
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(hex[i], hex[k]);
	/* the signature does not cover results of the run */
	assert_true(store_insert(s[0], &e, "run", "si", "cycles", (int64_t)7));
	assert_true(trust_sign(s[0], &key, hex[3]));
	assert_string_equal(hex[0], hex[3]);
	assert_false(trust_sign(s[0], &none, hex[3]));
	assert_false(trust_holds(s[0], &key));
	assert_true(store_insert(s[0], &e, "run", "ss", TRUST_ROW, hex[0]));
	assert_true(trust_holds(s[0], &key));
	assert_false(trust_holds(s[0], &other));
	assert_false(trust_holds(s[0], &none));
	assert_true(store_insert(s[1], &e, "run", "ss", TRUST_ROW, hex[0]));
	assert_false(trust_holds(s[1], &key));
	for (unsigned i = 0; i < 3; i++)
		store_close(s[i]);
	free(path);
	assert_int_equal(rmdir(folder), 0);
}

static void test_292_a_key_is_made_once_and_refused_if_others_can_read_it(void **state)
{
	char folder[] = "/tmp/culprit-trust-XXXXXX", *path, *deep;
	struct trust_key a, b;
	struct err e = { "" };
	struct stat st;

	assert_non_null(mkdtemp(folder));
	deep = x_asprintf("%s/x/y", folder);
	path = x_asprintf("%s/key", deep);
	setenv("CULPRIT_STATE", deep, 1);
	trust_key_load(&a, &e);
	trust_key_load(&b, &e);
	assert_true(a.is_there && b.is_there);
	assert_memory_equal(a.bytes, b.bytes, sizeof(a.bytes));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(chmod(path, 0640), 0);
	trust_key_load(&b, &e);
	assert_false(b.is_there);
	assert_non_null(strstr(e.text, path));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	trust_key_load(&b, &e);
	assert_false(b.is_there);
	unlink(path);
	rmdir(deep);
	deep[strlen(deep) - 2] = 0;
	rmdir(deep);
	assert_int_equal(rmdir(folder), 0);
	free(path);
	free(deep);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_290_the_mac_is_hmac_sha_256),
		cmocka_unit_test(test_291_equal_recipes_have_equal_signatures_and_others_others),
		cmocka_unit_test(test_292_a_key_is_made_once_and_refused_if_others_can_read_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
