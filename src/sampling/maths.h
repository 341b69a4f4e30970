/* SPDX-License-Identifier: MIT */
/* Functions of the C library whose last digit differs between processors, from additions,
 * multiplications and divisions alone. */
#ifndef SAMPLING_MATHS_H
#define SAMPLING_MATHS_H

/* Natural logarithm of x > 0. */
double maths_log(double x);
/* e to the power of x; 0 or infinity where that does not fit. */
double maths_exp(double x);

#endif
