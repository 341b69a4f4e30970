/* SPDX-License-Identifier: MIT */
/* Code whose symbols, lines, inlining and blocks image.c knows by heart: keep the line numbers. */
static inline __attribute__((always_inline)) int square(int x)
{
	return x * x + 1; /* line 5 */
}

__attribute__((noinline)) int loop(int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++)
		sum += square(i); /* line 12 */
	return sum;
}

void _start(void)
{
	loop(3);
	for (;;)
		;
}

static inline __attribute__((always_inline)) int twice(int x)
{
	return 2 * square(x); /* line 25 */
}

__attribute__((noinline, used)) int nested(int n)
{
	int sum = n;
	for (int i = 0; i < n; i++)
		sum ^= twice(sum); /* line 32 */
	return sum;
}
