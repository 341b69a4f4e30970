/* SPDX-License-Identifier: MIT */
/*
 * What points say of the whole run: values with an interval of confidence, where the next point does
 * most good, and how many points it takes.
 *
 * A plan says which points were simulated; the amounts (cycles, cycles of a stack's component, cycles
 * of a function, …) are arrays with one number per point, in the order of the plan's points. One plan
 * serves any number of figures. Every function gives the same bytes on every host.
 */
#ifndef SAMPLING_ESTIMATE_H
#define SAMPLING_ESTIMATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampling/sampling.h"

#define ESTIMATE_CONFIDENCE 0.95

/* A cluster of intervals: a stratum. */
struct estimate_cluster {
	double weight;	    /* share of the run's instructions; all weights add up to 1 */
	uint64_t intervals; /* how many it has; the points are some of them */
	double spread; /* mean squared distance of its rows to its centre (clustering_spread) */
};

struct estimate_point {
	uint32_t cluster;
	uint64_t insts; /* measured there; > 0 */
};

struct estimate_plan {
	const struct estimate_cluster *clusters;
	size_t nclusters; /* at least 1; each has at least one point */
	const struct estimate_point *points;
	size_t npoints;
	double confidence; /* 0: ESTIMATE_CONFIDENCE */
};

/* False and e filled unless what is said above holds. */
bool estimate_check(const struct estimate_plan *p, struct err *e);

/* What each point's amounts are multiplied with to give amounts per instruction of the run: a
 * cluster's weight over the instructions of all its points. */
void estimate_factors(const struct estimate_plan *p, double *factors);

/*
 * The amount per instruction of the run: CPI if amounts are cycles. In a cluster it is the amounts of
 * its points over their instructions; over clusters, the mean by weight.
 *
 * The variance is that of a stratified sample, with the correction for strata that are nearly used up:
 * the sum over clusters of weight^2 s^2/n (1 - n/N). Two points say little of s^2 (of two phases in
 * equal parts they show the same one every other time), so the mean s^2 of all clusters is mixed into
 * that of each, as if it came from three more points; a cluster with one point has nothing else. The mean
 * counts clusters by their points less one, and is scaled up, at most tenfold, for a cluster whose
 * spread is above the mean spread.
 *
 * The interval is Student's, with the degrees of freedom of Welch and Satterthwaite; a cluster has its
 * points less one, and all clusters with one point have together those of the mean. Half of what comes
 * out is used, for in a cluster cycles are skewed more often than they are normal.
 *
 * has_error is false while clusters with one point (of several intervals) have more than a tenth of the
 * instructions: what the others say is no bound for them.
 */
struct estimate estimate_per_inst(const struct estimate_plan *p, const double *amounts);

/* One amount over another, both measured: a function's share of the cycles, say. NAN if the second is
 * zero. The variance is that of the residuals (amount - ratio x other). */
struct estimate estimate_ratio(const struct estimate_plan *p, const double *amounts,
			       const double *others);

/* Matched pairs: the change per instruction from `before` to `after`, both measured at the same
 * points, and the same as a part of `before`. */
struct estimate estimate_change(const struct estimate_plan *p, const double *before,
				const double *after);
struct estimate estimate_relative_change(const struct estimate_plan *p, const double *before,
					 const double *after);

/* Adds what is not sampling error: each point's amount lies between least[i] and most[i], whatever the
 * state that was not known. Widens the interval by the weighted sums of the differences. */
void estimate_bracket(const struct estimate_plan *p, const double *least, const double *amounts,
		      const double *most, struct estimate *to);

/* Half of the interval as a part of the value; NAN if there is none. */
double estimate_relative_error(const struct estimate *e);

/* A part of the variance that is one cluster's; they add up to 1 (or all are 0). */
void estimate_shares(const struct estimate_plan *p, const double *amounts, double *shares);

/*
 * How many points each cluster gets at first (first[cluster]), at most `most` in all as long as each has one: one;
 * a second where the cluster has a share of the run that matters, for one point has no variance; and of
 * ESTIMATE_SHARED more its share of the run, for two points hardly say how sure it is (Student's factor is 12.7 for
 * two and 2.3 for ten).
 */
#define ESTIMATE_MATTERS 0.005 /* whatever the CPI of less is, it moves the sum by little */
#define ESTIMATE_SHARED	 12
void estimate_first(const struct estimate_cluster *clusters, size_t n, uint64_t most,
		    uint64_t *first);

/*
 * The cluster that the next point belongs in: the one where it lowers the variance most. While there is
 * no error yet, the heaviest of those with one point. SIZE_MAX if every interval is a point already.
 * extra[cluster] are points that were given out already but not measured; NULL: none.
 */
size_t estimate_next(const struct estimate_plan *p, const double *amounts, const uint64_t *extra);

/*
 * How many more points make half of the interval at most `relative` of the value, each placed as
 * estimate_next does; extra[cluster] (nclusters numbers, or NULL) is where they go. UINT64_MAX: `most`
 * points do not do it, and extra is where those go; or there is no error yet, and extra is where second
 * points are needed first.
 */
uint64_t estimate_more(const struct estimate_plan *p, const double *amounts, double relative,
		       uint64_t most, uint64_t *extra);

/* ---- systematic sampling ---- */

/* A running estimate of a mean over units, which come in random order. Begins zeroed. */
struct running {
	uint64_t count;
	double mean, squares; /* squares: sum of squared differences from the mean */
};
void running_add(struct running *r, double value);
/* The mean with its interval; population: how many units there are, 0 if that is without limit. No
 * error below two units. */
struct estimate running_estimate(const struct running *r, double confidence, uint64_t population);
/* Standard deviation over the mean. */
double running_variation(const struct running *r);

#define SYSTEMATIC_ERROR      0.03
#define SYSTEMATIC_CONFIDENCE 0.997
/* How many of `population` units (0: without limit) give a mean to within `error` of it with that
 * confidence, if a unit's standard deviation over the mean is `variation`. At least 2 if there are so
 * many. */
uint64_t systematic_count(double variation, double error, double confidence, uint64_t population);

/* Fills order with 0 … count-1 in an order that the seed decides. */
void random_order(uint64_t seed, size_t *order, size_t count);

/* ---- distributions ---- */

/* x such that a share `confidence` of Student's distribution with `freedom` degrees of freedom (at
 * least 1, any real number; INFINITY: the normal distribution) lies within -x … x. */
double student_within(double confidence, double freedom);

#endif
