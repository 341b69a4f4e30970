/* SPDX-License-Identifier: MIT */
/*
 * Mean-shift smoothing of a colour image, the filter behind SPEC's imagick: around every pixel a
 * small window moves to the mean of the neighbours with a similar colour until it rests. Positions
 * are real numbers and are rounded to the nearest pixel as ImageMagick does it, with floor() and
 * ceil(). In glibc for RISC-V both read fflags before and write it after the work; a core that does
 * not rename that register empties its pipeline each time, although nothing here looks at the
 * flags.
 *
 * With a second argument of 1 the same two functions without the CSR accesses are called; the
 * checksum does not change, so the difference in time is the price of fflags. Unlike image_filter,
 * which does little but round, most instructions here are fetching and comparing pixels.
 *
 *      mean_shift PIXELS [FREE]        FREE 0: libm, 1: free of fflags
 */
#include <math.h>

#include "workload.h"

enum { WIDTH = 128, HEIGHT = 128, CHANNELS = 4, RADIUS = 2, ROUNDS = 4 };

/* libm's functions under names that the compiler knows nothing about: it would merge the calls. */
double floor_libm(double x) __asm__("floor");
double ceil_libm(double x) __asm__("ceil");

#if defined(__riscv)
/* Rounds like libm, except for the flags: x itself where it is NaN or has no fraction. */
#define ROUND_FREE(name, mode)                                                                     \
	static double __attribute__((noipa)) name(double x)                                        \
	{                                                                                          \
		int64_t whole;                                                                     \
		if (!(fabs(x) < 0x1p52))                                                           \
			return x;                                                                  \
		__asm__("fcvt.l.d %0, %1, " mode : "=r"(whole) : "f"(x));                          \
		return copysign((double)whole, x);                                                 \
	}
ROUND_FREE(floor_free, "rdn")
ROUND_FREE(ceil_free, "rup")
#else
#define floor_free floor
#define ceil_free  ceil
#endif

struct pixel {
	uint16_t channel[CHANNELS]; /* red, green, blue, opacity */
};

/* Pixels lie in tiles, channels in an order that the image knows, as in a pixel cache that serves
 * many file formats. */
enum { TILE = 16, TILES = WIDTH / TILE };
struct tile {
	long x, y; /* of its first pixel */
	int in_memory;
	struct pixel pixels[TILE * TILE];
};

struct image {
	struct tile *tiles;
	long width, height;
	struct {
		unsigned place,
		    traits; /* where the channel stands; 0: unused, 1: copied, 2: blended */
	} map[CHANNELS];
};

/* A window onto the cache: the last region that was asked for. */
struct view {
	const struct image *image;
	long x, y, columns, rows;
	struct pixel staging[4];
};

static const struct pixel *__attribute__((noipa))
view_pixels(struct view *view, long x, long y, long columns, long rows)
{
	const struct image *image = view->image;

	view->x = x;
	view->y = y;
	view->columns = columns;
	view->rows = rows;
	for (long v = 0; v < rows; v++) {
		long at_y = y + v < 0 ? 0 : y + v >= image->height ? image->height - 1 : y + v;

		for (long u = 0; u < columns; u++) {
			long at_x = x + u < 0		    ? 0
				    : x + u >= image->width ? image->width - 1
							    : x + u;
			const struct tile *t = &image->tiles[at_y / TILE * TILES + at_x / TILE];

			if (!t->in_memory)
				return NULL;
			view->staging[v * columns + u] =
			    t->pixels[(at_y - t->y) * TILE + (at_x - t->x)];
		}
	}
	return view->staging;
}

/* A pixel by its position, as numbers from 0 to 65535; beyond the edge the nearest one stands in.
 */
static int __attribute__((noipa))
virtual_pixel(struct view *view, long x, long y, double colour[CHANNELS])
{
	const struct image *image = view->image;
	const struct pixel *p = view_pixels(view, x, y, 1, 1);
	double opacity;

	if (!p)
		return 0;
	opacity = p->channel[image->map[CHANNELS - 1].place] * (1.0 / 65535.0);
	for (int c = 0; c < CHANNELS; c++) {
		double value = p->channel[image->map[c].place];

		if (image->map[c].traits == 0)
			continue;
		colour[c] = image->map[c].traits == 2 ? value * opacity : value;
	}
	return opacity > 0;
}

static inline __attribute__((always_inline)) double nearest(double x, int free_of_flags)
{
	double below = free_of_flags ? floor_free(x) : floor_libm(x);
	double above = free_of_flags ? ceil_free(x) : ceil_libm(x);

	return x - below < above - x ? below : above;
}

struct mean {
	double x, y, colour[CHANNELS];
};

/* One move of the window; returns how far it went, squared. */
static inline __attribute__((always_inline)) double shift(struct view *view, struct mean *mean,
							  int free_of_flags)
{
	struct mean sum = { 0 }, last = *mean;
	double count = 0, dx, dy, moved = 0;

	for (int v = -RADIUS; v <= RADIUS; v++) {
		double row = nearest(last.y + v, free_of_flags);

		for (int u = -RADIUS; u <= RADIUS; u++) {
			double colour[CHANNELS], distance = 0, column;

			if (u * u + v * v > RADIUS * RADIUS)
				continue;
			column = nearest(last.x + u, free_of_flags);
			if (!virtual_pixel(view, (long)column, (long)row, colour))
				continue;
			for (int c = 0; c < CHANNELS - 1; c++) {
				double difference = (last.colour[c] - colour[c]) / 256.0;

				distance += difference * difference;
			}
			if (distance <= 1000.0) {
				sum.x += last.x + u;
				sum.y += last.y + v;
				for (int c = 0; c < CHANNELS; c++)
					sum.colour[c] += colour[c];
				count++;
			}
		}
	}
	count = count > 0 ? 1.0 / count : 0;
	mean->x = sum.x * count;
	mean->y = sum.y * count;
	for (int c = 0; c < CHANNELS; c++) {
		mean->colour[c] = sum.colour[c] * count;
		if (c < CHANNELS - 1) {
			double d = (mean->colour[c] - last.colour[c]) / 256.0;

			moved += d * d;
		}
	}
	dx = mean->x - last.x;
	dy = mean->y - last.y;
	return dx * dx + dy * dy + moved;
}

/* Inlined twice with a constant `free_of_flags`, so that both ways are direct calls. */
static inline __attribute__((always_inline)) uint64_t smooth(const struct image *image,
							     uint64_t pixels, int free_of_flags)
{
	struct view view = { .image = image };
	uint64_t sum = 0;

	for (uint64_t i = 0; i < pixels; i++) {
		uint64_t at = i * 61 % (WIDTH * HEIGHT);
		struct mean mean = { .x = (double)(at % WIDTH), .y = (double)(at / WIDTH) };

		virtual_pixel(&view, (long)mean.x, (long)mean.y, mean.colour);
		for (int round = 0; round < ROUNDS; round++)
			if (shift(&view, &mean, free_of_flags) <= 3.0)
				break;
		for (int c = 0; c < CHANNELS; c++)
			sum = workload_mix(sum, (uint64_t)mean.colour[c]);
	}
	return sum;
}

static uint64_t __attribute__((noinline)) smooth_libm(const struct image *image, uint64_t pixels)
{
	return smooth(image, pixels, 0);
}

static uint64_t __attribute__((noinline)) smooth_free(const struct image *image, uint64_t pixels)
{
	return smooth(image, pixels, 1);
}

int main(int argc, char **argv)
{
	uint64_t pixels = workload_arg(argc, argv, 1, 3000, 1, UINT64_MAX);
	uint64_t free_of_flags = workload_arg(argc, argv, 2, 0, 0, 1);
	struct image image = { .width = WIDTH, .height = HEIGHT };
	uint64_t state = 2463534242, sum;

	image.tiles = workload_array(TILES * TILES, sizeof(*image.tiles));
	for (unsigned c = 0; c < CHANNELS; c++) {
		image.map[c].place = (c + 1) % CHANNELS;
		image.map[c].traits = c < CHANNELS - 1 ? 2 : 1;
	}
	/* Flat areas with noise and hard edges between them, so that windows have somewhere to go.
	 */
	for (int i = 0; i < TILES * TILES; i++) {
		struct tile *t = &image.tiles[i];

		t->x = i % TILES * TILE;
		t->y = i / TILES * TILE;
		t->in_memory = 1;
		for (int k = 0; k < TILE * TILE; k++)
			for (int c = 0; c < CHANNELS; c++) {
				int area =
				    ((i % TILES) + k % TILE / 11) * 7 + i / TILES * 5 + c * 3;

				t->pixels[k].channel[c] =
				    (uint16_t)(area % 13 * 4096 + 4096 +
					       (workload_random(&state) >> 51));
			}
	}
	CULPRIT_BEGIN();
	sum = free_of_flags ? smooth_free(&image, pixels) : smooth_libm(&image, pixels);
	CULPRIT_END();
	return workload_print("mean_shift", workload_mix(0, sum));
}
