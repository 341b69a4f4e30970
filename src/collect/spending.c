/* SPDX-License-Identifier: MIT */
#include "collect/spending.h"

#define RATE_MAX   5200.0 /* dcpi1997 */
#define RATE_MIN   10.0
#define SAVING_S   30.0
#define LEAST_PART 0.5 /* of the budget, however much was spent */

double spending_rate(const struct spending *s)
{
	const double beyond = s->used_s - s->budget * s->cpus * s->life_s;
	double share = s->budget;

	if (beyond > 0)
		share -= beyond / (SAVING_S * s->cpus);
	if (share < LEAST_PART * s->budget)
		share = LEAST_PART * s->budget;
	const double rate = (share - s->collector) / s->sample_s;

	return rate > RATE_MAX ? RATE_MAX : rate < RATE_MIN ? RATE_MIN : rate;
}
