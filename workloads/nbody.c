/* SPDX-License-Identifier: MIT */
/*
 * Pairwise forces between particles with a cutoff, after the generalised Born energy of molecular
 * dynamics (SPEC's nab): for each pair a square root, and before it the compare that C asks for.
 * sqrt() must set errno below zero without raising a flag for NaN; RISC-V has no quiet less-than,
 * so the compiler saves and restores fflags around flt.d, and on cores that flush at such CSR
 * accesses the fsqrt.d after it always starts late and nothing after it can overlap the pair
 * before.
 *
 * Built three times from this source: nbody (plain), nbody_finite (-ffinite-math-only: compare
 * without fflags) and nbody_fast (-ffast-math: no compare, and one division instead of three). The
 * checksums of the three may differ in rounding.
 *
 *      nbody PARTICLES STEPS
 */
#include <math.h>

#include "workload.h"

struct particle {
	double x, y, z, charge, radius;
	double fx, fy, fz;
};

/* exp(-x) for x in 0..4 to four digits: the screening of a pair need not be better. */
static inline double screening(double x)
{
	double t = 1.0 - x * (1.0 / 16 - x * (1.0 / 512 - x * (1.0 / 24576)));

	t *= t;
	t *= t;
	t *= t;
	return t * t;
}

static double __attribute__((noipa)) forces(struct particle *p, size_t count, double cutoff2)
{
	double energy = 0.0;

	for (size_t i = 1; i < count; i++) {
		double fx = 0.0, fy = 0.0, fz = 0.0;

		for (size_t j = 0; j < i; j++) {
			double dx = p[i].x - p[j].x, dy = p[i].y - p[j].y, dz = p[i].z - p[j].z;
			double r2 = dx * dx + dy * dy + dz * dz;

			if (r2 > cutoff2)
				continue;

			/* The compiler cannot see that the sum is positive, so the compare with
			 * zero stays. */
			double born = p[i].radius * p[j].radius;
			double screened = screening(r2 * (1.0 / 64));
			double r = sqrt(r2 + born * screened);
			double charge = p[i].charge * p[j].charge;
			double pull = charge / r, push = 0.05 * charge * screened;
			double g = (pull - 0.05 * charge) / r - push * (1.0 - 0.0025 * r2);

			energy += pull * (1.0 - 0.5 * screened) + push / r;
			fx += dx * g;
			fy += dy * g;
			fz += dz * g;
			p[j].fx -= dx * g;
			p[j].fy -= dy * g;
			p[j].fz -= dz * g;
		}
		p[i].fx += fx;
		p[i].fy += fy;
		p[i].fz += fz;
	}
	return energy;
}

static void move(struct particle *p, size_t count, double dt)
{
	for (size_t i = 0; i < count; i++) {
		p[i].x += p[i].fx * dt;
		p[i].y += p[i].fy * dt;
		p[i].z += p[i].fz * dt;
		p[i].fx = p[i].fy = p[i].fz = 0.0;
	}
}

int main(int argc, char **argv)
{
	size_t count = workload_arg(argc, argv, 1, 256, 2, 1 << 20);
	uint64_t steps = workload_arg(argc, argv, 2, 8, 1, UINT64_MAX), state = 1181783497, sum = 0;
	struct particle *p = workload_array(count, sizeof(*p));

	for (size_t i = 0; i < count; i++) {
		p[i].x = (double)(workload_random(&state) >> 40) / 0x1p20;
		p[i].y = (double)(workload_random(&state) >> 40) / 0x1p20;
		p[i].z = (double)(workload_random(&state) >> 40) / 0x1p20;
		p[i].charge = i % 2 ? 0.5 : -0.25;
		p[i].radius = 0.5 + (double)(i % 4) * 0.25;
	}
	CULPRIT_BEGIN();
	for (uint64_t i = 0; i < steps; i++) {
		sum = workload_mix_double(sum, forces(p, count, 140.0));
		move(p, count, 1e-3);
	}
	CULPRIT_END();
	for (size_t i = 0; i < count; i++)
		sum = workload_mix_double(sum, p[i].x + p[i].y + p[i].z);
	return workload_print("nbody", sum);
}
