/* SPDX-License-Identifier: MIT */
/*
 * What a core and its twin might see differently: time, memory on wrong paths, and which access to
 * a page comes first. A static RISC-V program without a C library: twin_kernels clock|change|touch.
 */
typedef unsigned long u64;

#define RING_BYTES (1 << 20)
#define LINE_BYTES 64

#define PAGES	   64
#define PAGE_BYTES 4096

static u64 buffer[RING_BYTES / 8];
static unsigned char pages[(2 * PAGES + 1) * PAGE_BYTES];

static u64 sys(u64 number, u64 a, u64 b)
{
	register u64 a7 asm("a7") = number;
	register u64 a0 asm("a0") = a;
	register u64 a1 asm("a1") = b;

	asm volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1) : "memory");
	return a0;
}

/* Follows a ring of pointers for 200 microseconds, by the guest's own clock. */
static void wait_by_the_clock(void)
{
	u64 start[2] = { 0, 0 }, now[2] = { 0, 0 }, *p = buffer;
	const u64 step = LINE_BYTES / 8, n = RING_BYTES / LINE_BYTES;

	for (u64 i = 0; i < n; i++)
		buffer[i * step] = (u64)&buffer[(i + 1) % n * step];
	sys(113, 1, (u64)start); /* clock_gettime, CLOCK_MONOTONIC */
	do {
		for (u64 i = 0; i < 32; i++)
			p = *(u64 *volatile *)p;
		sys(113, 1, (u64)now);
	} while ((now[0] - start[0]) * 1000000000 + now[1] - start[1] < 200000);
}

/* Branches on words that are overwritten soon after, and on words that those words point to. */
static void change_behind_branches(void)
{
	u64 sum = 0, x = 88172645463325252ull;

	for (u64 i = 0; i < 5000; i++) {
		u64 *word = &buffer[(x ^= x << 7, x ^= x >> 9) % 512], v = *word;

		if (v & 1) {
			u64 w = buffer[v % 512];

			sum += w;
			if (w & 2)
				sum ^= x / (w | 1);
		}
		sum += v / (x | 1);
		*word = v * 6364136223846793005ull + x;
		((unsigned char *)word)[7] = (unsigned char)sum;
	}
	buffer[512] = sum;
}

/* Touches each page with an access whose address waits for a load from memory, then with one whose
 * address is known at once. */
static void touch_out_of_order(void)
{
	const u64 step = PAGE_BYTES / 8;

	for (u64 i = 0; i < PAGES; i++)
		buffer[i * step] = 2 * i * PAGE_BYTES;
	for (u64 i = 0; i < PAGES; i++) {
		u64 slow = *(volatile u64 *)&buffer[i * step], sum = 0;

		sum += *(volatile unsigned char *)&pages[slow + 64];
		sum += *(volatile unsigned char *)&pages[2 * i * PAGE_BYTES + 128];
		*(volatile unsigned char *)&pages[slow + PAGE_BYTES + 64] = (unsigned char)sum;
		*(volatile unsigned char *)&pages[(2 * i + 1) * PAGE_BYTES + 128] = 1;
	}
}

__attribute__((used)) void begin(u64 *stack)
{
	const char *name = ((const char **)(stack + 1))[1];

	if (name[0] == 't')
		touch_out_of_order();
	else if (name[1] == 'l')
		wait_by_the_clock();
	else
		change_behind_branches();
	sys(93, 0, 0);
	for (;;)
		;
}

asm(".globl _start\n_start:\n.option push\n.option norelax\n\tla gp, __global_pointer$\n.option "
    "pop\n"
    "\tmv a0, sp\n\tcall begin\n");
