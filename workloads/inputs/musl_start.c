/* SPDX-License-Identifier: MIT */
/*
 * The entry of a dynamic executable against musl, in place of musl's own crt1.o: Debian's was
 * assembled with relocations that the cross linkers of older releases cannot read.
 */
int main(int argc, char **argv);
int __libc_start_main(int (*run)(int, char **), int argc, char **argv, void *init, void *fini,
		      void *rtld);
void start_with_stack(long *stack);

__asm__(".globl _start\n"
	"_start:\n"
	"\tmv a0, sp\n"
	"\tandi sp, sp, -16\n"
	"\ttail start_with_stack\n");

void start_with_stack(long *stack)
{
	__libc_start_main(main, (int)stack[0], (char **)(stack + 1), 0, 0, 0);
	__builtin_trap();
}
