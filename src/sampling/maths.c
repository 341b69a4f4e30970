/* SPDX-License-Identifier: MIT */
/*
 * Logarithm, exponential and the quantiles of Student's distribution, the same on every host.
 *
 * The C library chooses between variants with and without fused multiply-add when the program
 * starts, so the last digit of its log() depends on the processor; a score that is printed, or
 * compared with a threshold, must not. Here everything is made of additions, multiplications,
 * divisions and square roots, which IEEE 754 rounds exactly; this folder is compiled without
 * contraction (-ffp-contract=off). Errors are a few units of the last place.
 *
 * Student's distribution: P(|T| < t) = 1 - I_x(f/2, 1/2) with x = f / (f + t^2), where I is the
 * regularised incomplete beta function, by its continued fraction (modified Lentz). From a million
 * degrees of freedom on it is the normal distribution, by the series of erf with positive terms.
 * Quantiles are found with Newton's method inside a bracket.
 */
#include "sampling/maths.h"

#include <math.h>

#include "sampling/estimate.h"

#define LN2_HIGH 0x1.62e42fefa3800p-1 /* 42 bits, so that its multiples are exact */
#define LN2_LOW	 0x1.ef35793c76730p-45
#define PI	 3.14159265358979323846

double maths_log(double x)
{
	int exponent;
	double m = frexp(x, &exponent), sum = 0;

	if (m < 0.70710678118654752) {
		m *= 2;
		exponent--;
	}
	/* log m = 2 artanh s. s^2 is below 0.03: 13 terms. */
	const double s = (m - 1) / (m + 1), square = s * s;

	for (int i = 27; i >= 3; i -= 2)
		sum = (sum + 1.0 / i) * square;
	return exponent * LN2_HIGH + (2 * s * (1 + sum) + exponent * LN2_LOW);
}

double maths_exp(double x)
{
	if (x < -745)
		return 0;
	if (x > 710)
		return INFINITY;
	const double n = floor(x / (LN2_HIGH + LN2_LOW) + 0.5);
	const double r = (x - n * LN2_HIGH) - n * LN2_LOW;
	double sum = 1;

	for (int i = 18; i >= 1; i--)
		sum = 1 + sum * r / i;
	return ldexp(sum, (int)n);
}

/* log of the gamma function, x > 0: Stirling's series from 16 on, and below that by recurrence. */
static double log_gamma(double x)
{
	double product = 1;

	for (; x < 16; x++)
		product *= x;
	const double r = 1 / (x * x);
	const double series =
	    (1.0 / 12 - r * (1.0 / 360 - r * (1.0 / 1260 - r * (1.0 / 1680)))) / x;

	return (x - 0.5) * maths_log(x) - x + 0.5 * maths_log(2 * PI) + series - maths_log(product);
}

/* The continued fraction of the incomplete beta function; it converges for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1);

	d = 1 / (fabs(d) < tiny ? tiny : d);
	double result = d;

	for (int m = 1; m < 1000; m++) {
		const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

		d = 1 + even * d;
		c = 1 + even / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		result *= d * c;
		d = 1 + odd * d;
		c = 1 + odd / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		result *= d * c;
		if (fabs(d * c - 1) < 1e-15)
			break;
	}
	return result;
}

struct student {
	double freedom;
	double log_beta; /* log B(freedom / 2, 1/2) */
	bool normal;
};

/* P(|T| > t), and in *density that by which it falls with t. */
static double student_outside(const struct student *s, double t, double *density)
{
	if (s->normal) {
		double term = t, sum = t;

		for (int i = 1; i < 1000 && term > sum * 1e-17; i++) {
			term *= t * t / (2 * i + 1);
			sum += term;
		}
		*density = 2 * maths_exp(-t * t / 2) / sqrt(2 * PI);
		return 1 - *density * sum;
	}
	const double f = s->freedom, a = f / 2, b = 0.5;
	const double x = f / (f + t * t), y = t * t / (f + t * t);
	const double front = maths_exp(a * maths_log(x) + b * maths_log(y) - s->log_beta);

	/* dI/dx is front / (x y), and dx/dt is -2 x y / t. */
	*density = 2 * front / t;
	return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
					 : 1 - front * beta_fraction(b, a, y) / b;
}

double student_within(double confidence, double freedom)
{
	struct student s = { .freedom = freedom, .normal = freedom > 1e6 };
	const double wanted = 1 - confidence;
	double low = 0, high = 1, t, density;

	if (!(confidence > 0))
		return 0;
	if (!s.normal)
		s.log_beta =
		    log_gamma(freedom / 2) + 0.5 * maths_log(PI) - log_gamma((freedom + 1) / 2);
	while (student_outside(&s, high, &density) > wanted && high < 1e12) {
		low = high;
		high *= 2;
	}
	t = (low + high) / 2;
	for (int i = 0; i < 100; i++) {
		const double outside = student_outside(&s, t, &density);

		if (outside > wanted)
			low = t;
		else
			high = t;
		const double next = t + (outside - wanted) / density;
		const double inside = next > low && next < high ? next : (low + high) / 2;

		if (fabs(inside - t) <= t * 1e-14)
			return inside;
		t = inside;
	}
	return t;
}
