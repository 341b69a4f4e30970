/* SPDX-License-Identifier: MIT */
/*
 * Lattice-Boltzmann flow (D3Q19, single relaxation time) on a periodic box, cell after cell, laid
 * out as in SPEC's lbm: a cell is nineteen densities and a word of flags. The flags say whether the
 * cell is solid and are read first; then come nineteen loads from the cell, some hundred and fifty
 * floating-point operations, and nineteen stores to nineteen neighbours in the other grid. A cell
 * is two and a half lines long, and the work on it fills a reorder buffer, so that its first load
 * meets the memory's whole latency and the others hide behind it.
 *
 * With a prefetch distance of 1 to 6 the loop asks for the lines of the cell that many cells ahead
 * (prefetch.r of Zicbop, a hint that older cores execute as an operation on x0). A distance that
 * is too short leaves latency; one that is too long adds to the pressure on the store queue.
 *
 *      lbm N STEPS [DISTANCE]          a box of N x N x N cells
 */
#include <stddef.h>

#include "workload.h"

enum { DIRECTIONS = 19, FLAGS = 19, CELL = 20, LINE_DOUBLES = 8 };
enum { SOLID = 1 }; /* in the word of flags */

static const struct direction {
	signed char x, y, z;
} direction[DIRECTIONS] = {
	{ 0, 0, 0 },  { 1, 0, 0 },   { -1, 0, 0 },  { 0, 1, 0 },   { 0, -1, 0 },
	{ 0, 0, 1 },  { 0, 0, -1 },  { 1, 1, 0 },   { -1, -1, 0 }, { 1, -1, 0 },
	{ -1, 1, 0 }, { 1, 0, 1 },   { -1, 0, -1 }, { 1, 0, -1 },  { -1, 0, 1 },
	{ 0, 1, 1 },  { 0, -1, -1 }, { 0, 1, -1 },  { 0, -1, 1 },
};

static inline void prefetch_read(const double *address)
{
#if defined(__riscv)
	/* prefetch.r 0(address), spelled out for assemblers that do not know Zicbop */
	__asm__ volatile(".insn i 0x13, 6, x0, %0, 1" : : "r"(address));
#else
	__builtin_prefetch(address);
#endif
}

static inline double weight(int i)
{
	return i == 0 ? 1.0 / 3.0 : i < 7 ? 1.0 / 18.0 : 1.0 / 36.0;
}

/* The velocity along direction i. Written out, because without -ffast-math a compiler must keep
 * every product with a zero of `direction`. */
static inline __attribute__((always_inline)) double along(int i, double ux, double uy, double uz)
{
	switch (i) {
	case 1:
		return ux;
	case 2:
		return -ux;
	case 3:
		return uy;
	case 4:
		return -uy;
	case 5:
		return uz;
	case 6:
		return -uz;
	case 7:
		return ux + uy;
	case 8:
		return -ux - uy;
	case 9:
		return ux - uy;
	case 10:
		return uy - ux;
	case 11:
		return ux + uz;
	case 12:
		return -ux - uz;
	case 13:
		return ux - uz;
	case 14:
		return uz - ux;
	case 15:
		return uy + uz;
	case 16:
		return -uy - uz;
	case 17:
		return uy - uz;
	case 18:
		return uz - uy;
	default:
		return 0.0;
	}
}

/* Collides one cell and pushes the result to its neighbours; `to[i]` is where direction i goes. */
static inline __attribute__((always_inline)) void collide(const double *f, double *restrict out,
							  const ptrdiff_t to[DIRECTIONS])
{
	const double omega = 1.7;
	double density = f[0] + f[1] + f[2] + f[3] + f[4] + f[5] + f[6] + f[7] + f[8] + f[9] +
			 f[10] + f[11] + f[12] + f[13] + f[14] + f[15] + f[16] + f[17] + f[18];
	double inverse = 1.0 / density;
	double ux = f[1] - f[2] + f[7] - f[8] + f[9] - f[10] + f[11] - f[12] + f[13] - f[14];
	double uy = f[3] - f[4] + f[7] - f[8] - f[9] + f[10] + f[15] - f[16] + f[17] - f[18];
	double uz = f[5] - f[6] + f[11] - f[12] - f[13] + f[14] + f[15] - f[16] - f[17] + f[18];
	double square;

	ux *= inverse;
	uy *= inverse;
	uz *= inverse;
	square = 1.0 - 1.5 * (ux * ux + uy * uy + uz * uz);
#pragma GCC unroll 19
	for (int i = 0; i < DIRECTIONS; i++) {
		double v = along(i, ux, uy, uz);

		out[to[i] + i] = (1.0 - omega) * f[i] +
				 omega * weight(i) * density * (square + v * (3.0 + 4.5 * v));
	}
}

/* A solid cell sends back what comes in. */
static inline __attribute__((always_inline)) void reflect(const double *f, double *restrict out,
							  const ptrdiff_t to[DIRECTIONS])
{
#pragma GCC unroll 19
	for (int i = 0; i < DIRECTIONS; i++) /* 1 and 2, 3 and 4, … are opposite */
		out[to[i] + i] = f[i == 0 ? 0 : i % 2 ? i + 1 : i - 1];
}

typedef uint64_t __attribute__((may_alias)) flags_word;

static inline flags_word *flags_of(double *cell)
{
	return (flags_word *)&cell[FLAGS];
}

/* Wraps `at`, which may be one step beyond either end of 0..n-1 (below zero it has wrapped around),
 * to the other end. */
static inline size_t wrap(size_t at, size_t n)
{
	return at == n ? 0 : at > n ? n - 1 : at;
}

/* Inlined once with and once without the hints: a distance of 0 executes none. */
static inline __attribute__((always_inline)) void step(double *from, double *out, size_t n,
						       size_t distance, int hints)
{
	ptrdiff_t to[DIRECTIONS];

	for (size_t z = 0; z < n; z++) {
		for (size_t y = 0; y < n; y++) {
			for (size_t x = 0; x < n; x++) {
				size_t at = (z * n + y) * n + x;

				/* The neighbours are at constant offsets except where the box
				 * wraps. */
				if (x < 2 || x == n - 1) {
					for (int i = 0; i < DIRECTIONS; i++) {
						size_t nx = wrap(x + direction[i].x, n);
						size_t ny = wrap(y + direction[i].y, n);
						size_t nz = wrap(z + direction[i].z, n);

						to[i] = ((ptrdiff_t)((nz * n + ny) * n + nx) -
							 (ptrdiff_t)at) *
							CELL;
					}
				}
				if (hints) {
					const double *ahead = from + (at + distance) * CELL;

					prefetch_read(ahead);
					prefetch_read(ahead + LINE_DOUBLES);
					prefetch_read(ahead + 2 * LINE_DOUBLES);
				}
				if (*flags_of(from + at * CELL) & SOLID)
					reflect(from + at * CELL, out + at * CELL, to);
				else
					collide(from + at * CELL, out + at * CELL, to);
			}
		}
	}
}

static void __attribute__((noinline)) step_plain(double *from, double *out, size_t n)
{
	step(from, out, n, 0, 0);
}

static void __attribute__((noinline))
step_ahead(double *from, double *out, size_t n, size_t distance)
{
	step(from, out, n, distance, 1);
}

int main(int argc, char **argv)
{
	size_t n = workload_arg(argc, argv, 1, 24, 3, 512), cells = n * n * n;
	uint64_t steps = workload_arg(argc, argv, 2, 3, 1, UINT64_MAX);
	size_t distance = workload_arg(argc, argv, 3, 0, 0, 6);
	double *from = workload_array(cells * CELL, sizeof(*from));
	double *out = workload_array(cells * CELL, sizeof(*out));
	uint64_t state = 19, sum = 0;

	for (size_t c = 0; c < cells; c++) {
		double bump = 1.0 + (double)(workload_random(&state) >> 44) / 0x1p24;

		/* A pillar in the middle of the box, all the way up. */
		uint64_t solid = 8 * (c % n) / n == 4 && 8 * (c / n % n) / n == 4 ? SOLID : 0;

		for (int i = 0; i < DIRECTIONS; i++)
			from[c * CELL + i] = out[c * CELL + i] = weight(i) * bump;
		*flags_of(from + c * CELL) = *flags_of(out + c * CELL) = solid;
	}
	CULPRIT_BEGIN();
	for (uint64_t i = 0; i < steps; i++) {
		double *swap = from;

		if (distance)
			step_ahead(from, out, n, distance);
		else
			step_plain(from, out, n);
		from = out;
		out = swap;
	}
	CULPRIT_END();
	for (size_t c = 0; c < cells; c += 11)
		sum = workload_mix_double(sum, from[c * CELL + c % DIRECTIONS]);
	return workload_print("lbm", sum);
}
