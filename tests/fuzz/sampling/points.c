/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the readers of the field's files: the input is a .simpoints file, a byte 0xff, and a .weights
 * file; all of it is also read as vectors. What is accepted must hold what sampling.h promises.
 */
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sampling/bb.h"
#include "sampling/sampling.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

/* A file in memory with that content, and its path. */
static int put(const uint8_t *data, size_t size_bytes, char path[64])
{
	const int fd = memfd_create("fuzz", MFD_CLOEXEC);

	assert(fd >= 0 && write(fd, data, size_bytes) == (ssize_t)size_bytes);
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

static void read_points(const uint8_t *data, size_t size_bytes)
{
	const uint8_t *cut = size_bytes ? memchr(data, 0xff, size_bytes) : NULL;
	const size_t first = cut ? (size_t)(cut - data) : size_bytes;
	const size_t second = cut ? first + 1 : size_bytes;
	char simpoints[64], weights[64];
	const int a = put(data, first, simpoints);
	const int b = put(data + second, size_bytes - second, weights);
	struct point *points;
	struct err e = { "" };
	double sum = 0;
	size_t count;

	if (points_read(simpoints, weights, 1000, &points, &count, &e)) {
		assert(count);
		for (size_t i = 0; i < count; i++) {
			assert(points[i].interval < 1000 && points[i].weight >= 0);
			sum += points[i].weight;
		}
		assert(fabs(sum - 1) < 1e-6);
		free(points);
	} else {
		assert(e.text[0] && !strchr(e.text, '\n'));
	}
	close(a);
	close(b);
}

static void read_vectors(const uint8_t *data, size_t size_bytes)
{
	char path[64];
	const int fd = put(data, size_bytes, path);
	struct intervals v = { 0 };
	struct choice c;
	struct err e = { "" };

	if (bb_intervals(path, 3, 1, false, &v, &e)) {
		const struct choose_options o = {
			.max_k = 4, .tries = 1, .bic = 0.9, .seed = 1, .threads = 1
		};
		double sum = 0;

		assert(v.count);
		if (choose(&v, &o, &c, &e)) {
			for (size_t i = 0; i < c.count; i++)
				sum += c.points[i].weight;
			assert(fabs(sum - 1) < 1e-6);
			choice_free(&c);
		}
	}
	assert(!strchr(e.text, '\n'));
	intervals_free(&v);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	read_points(data, size_bytes);
	read_vectors(data, size_bytes);
	return 0;
}
