/* SPDX-License-Identifier: MIT */
/* Functions whose graphs are tested; compiled for RISC-V and for x86-64, position-independent or not. */

#define HIDE(x) __asm__ volatile("" : "+r"(x))

int sink, source;

__attribute__((noinline)) int callee(int x)
{
	HIDE(x);
	return x;
}

__attribute__((noinline)) int choose(int x)
{
	int y = source;

	switch (x) {
	case 10:
		return callee(y) * 3;
	case 11:
		return callee(y + 1) - 7;
	case 12:
		sink = 5;
		return callee(y ^ 9);
	case 13:
		return callee(y << 3) + sink;
	case 14:
		sink = y;
		return 77;
	case 15:
		return callee(-y) / 3;
	case 16:
		return sink % 10;
	case 17:
		return callee(sink) & y;
	default:
		return -1;
	}
}

__attribute__((noinline)) long loop(const unsigned char *p, long n)
{
	long a = 0, b = 1;

	for (;;) {
		switch (*p++) {
		case 0:
			return a;
		case 1:
			a += b;
			break;
		case 2:
			b = b * 3 + n;
			break;
		case 3:
			a ^= b;
			break;
		case 4:
			sink = callee((int)a);
			break;
		case 5:
			b -= sink;
			break;
		case 6:
			if (a < b)
				p += 2;
			break;
		case 7:
			a = a / (b | 1);
			break;
		case 8:
			p -= a & 1;
			break;
		default:
			b++;
		}
	}
}

__attribute__((noinline)) long labels(const unsigned char *p)
{
	static const void *const to[] = { &&end, &&add, &&twice, &&call, &&less };
	long a = 1;

	goto *to[*p++];
add:
	a += *p;
	goto *to[*p++];
twice:
	a *= 2;
	goto *to[*p++];
call:
	a = callee((int)a);
	goto *to[*p++];
less:
	a -= sink;
	goto *to[*p++];
end:
	return a;
}

__attribute__((noinline)) void never(void)
{
	for (;;)
		__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) int calls_never(int x)
{
	if (x == 3)
		never();
	sink = x;
	return callee(x) + 1;
}

__attribute__((noinline)) int tail(int x)
{
	return callee(x + 1);
}

__attribute__((noinline)) int pointer_tail(int (**f)(int), int x)
{
	sink = callee(x);
	return f[x](sink);
}

__attribute__((cold, noinline)) void rare(int x)
{
	HIDE(x);
	sink = x;
}

__attribute__((noinline)) int with_cold(int x)
{
	int y = callee(x);

	if (y > 1000) {
		rare(y);
		rare(x);
		y = sink;
	}
	return callee(y) + 2;
}

int main(void)
{
	static int (*f[2])(int) = { callee, tail };
	static const unsigned char code[] = { 1, 2, 0 };

	return choose(source) + (int)loop(code, 1) + (int)labels(code) + calls_never(1) + tail(1) +
	       pointer_tail(f, 1) + with_cold(source);
}
