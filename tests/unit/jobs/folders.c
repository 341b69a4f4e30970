/* SPDX-License-Identifier: MIT */
/* Tests how the recorded content of a folder is compared with its present content. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jobs/folders.h"
#include "util/util.h"

static char *folder;

static int setup(void **state)
{
	char name[] = "/tmp/culprit-folders-XXXXXX";

	folder = x_strdup(mkdtemp(name));
	return 0;
}

static int teardown(void **state)
{
	char *command = x_asprintf("rm -rf '%s'", folder);
	int status = system(command);

	free(command);
	free(folder);
	return status;
}

static void make(const char *name)
{
	char *path = x_asprintf("%s/%s", folder, name);

	close(open(path, O_CREAT | O_WRONLY, 0666));
	free(path);
}

/* Returns the message about the folder, and its digest. */
static char *changed(const char *names, const char *made_name, const char *store_name,
		     char hex[DIGEST_HEX])
{
	char *text = x_asprintf("[{\"path\": \"%s\", \"count\": 2, \"digest\": \"0\", \"names\": "
				"%s}]",
				folder, names);
	char *made_text = x_asprintf("[\"%s/%s\"]", folder, made_name ? made_name : "none");
	char *store = store_name ? x_asprintf("%s/%s", folder, store_name) : NULL, *said;
	json_t *folders = json_loads(text, 0, NULL), *made = json_loads(made_text, 0, NULL);
	struct digest d;

	assert_non_null(folders);
	digest_init(&d);
	said = folders_changed(folders, made, store, &d);
	digest_hex(&d, hex);
	json_decref(folders);
	json_decref(made);
	free(text);
	free(made_text);
	free(store);
	return said;
}

static void test_857_a_folder_as_it_was_is_not_spoken_of(void **state)
{
	char hex[DIGEST_HEX], *path = x_asprintf("%s/sub", folder);

	make("a");
	mkdir(path, 0777);
	free(path);
	assert_null(changed("[\"a\", \"sub/\"]", NULL, NULL, hex));
	make("made");
	make("p.culprit");
	make("p.culprit.17.tmp");
	assert_null(changed("[\"a\", \"sub/\"]", "made", "p.culprit", hex));
}

static void test_858_what_appeared_and_vanished_is_named(void **state)
{
	char hex[DIGEST_HEX], before[DIGEST_HEX], *said;

	make("a");
	make("n1");
	said = changed("[\"a\", \"b\", \"link@\"]", NULL, NULL, before);
	assert_non_null(strstr(said, folder));
	assert_non_null(strstr(said, "has gained 'n1' and has lost 'b', 'link@'"));
	free(said);
	for (unsigned i = 2; i < 9; i++) {
		char name[8];

		snprintf(name, sizeof(name), "n%u", i);
		make(name);
	}
	said = changed("[\"a\"]", NULL, NULL, hex);
	assert_non_null(strstr(said, "has gained 'n1', 'n2', 'n3' and 5 more"));
	assert_string_not_equal(hex, before);
	free(said);
	/* a name that is not UTF-8 is printed in ASCII */
	make("\xff");
	said = changed("[\"a\"]", NULL, NULL, hex);
	assert_non_null(strstr(said, "'\\xff'"));
	free(said);
}

static void test_859_a_folder_that_is_gone_or_too_large_is_named(void **state)
{
	char hex[DIGEST_HEX], *said;

	make("a");
	said = changed("null", NULL, NULL, hex);
	assert_non_null(strstr(said, "holds 1 names instead of 2"));
	free(said);
	make("b");
	assert_null(changed("null", NULL, NULL, hex));

	char *a = x_asprintf("%s/a", folder), *b = x_asprintf("%s/b", folder);

	unlink(a);
	unlink(b);
	rmdir(folder);
	said = changed("[\"a\"]", NULL, NULL, hex);
	assert_non_null(strstr(said, "cannot be read"));
	free(said);
	free(a);
	free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_857_a_folder_as_it_was_is_not_spoken_of, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_858_what_appeared_and_vanished_is_named, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
		    test_859_a_folder_that_is_gone_or_too_large_is_named, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
