/* SPDX-License-Identifier: MIT */
/*
 * Writes the seccomp filters as C tables, when culprit is built: libseccomp takes a millisecond to
 * make one, loading one takes a fifth of that. calls.def lists what is allowed. Anything else fails
 * with EPERM, which the C library and the guest's own calls report as such. clone cannot make
 * namespaces. clone3 fails with ENOSYS, because a filter cannot see its arguments; the C library
 * then uses clone. Of ioctl and prctl the requests are listed too: a terminal cannot be given
 * input.
 *
 * The leak checker of a build with sanitizers stops its own threads by ptrace when the program
 * ends; the filter of such a build allows that.
 */
#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <errno.h>
#include <linux/fiemap.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <linux/sockios.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define NAMESPACES                                                                                 \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
	 CLONE_NEWPID | CLONE_NEWNET | CLONE_PTRACE)

static const int calls[] = {
#define CALL(name)	    SCMP_SYS(name),
#define NEWER(number, name) (number),
#define MARK(name)
#define NEWER_MARK(number, name)
#include "confine/calls.def"
#undef CALL
#undef NEWER
#undef MARK
#undef NEWER_MARK
};

static const int marks[] = {
#define CALL(name)
#define NEWER(number, name)
#define MARK(name)		 SCMP_SYS(name),
#define NEWER_MARK(number, name) (number),
#include "confine/calls.def"
};

static const uint32_t ioctls[] = {
	TCGETS,	    TCSETS,	 TCSETSW,	  TCSETSF,	 TCGETS2,   TCSETS2,
	TCSETSW2,   TCSETSF2,	 TCSBRK,	  TCSBRKP,	 TCXONC,    TCFLSH,
	TIOCGWINSZ, TIOCSWINSZ,	 TIOCOUTQ,	  TIOCGPGRP,	 TIOCSPGRP, TIOCGSID,
	TIOCGPTN,   TIOCSPTLCK,	 TIOCGPTPEER,	  TIOCGPTLCK,	 TIOCMGET,  TIOCGETD,
	TIOCEXCL,   TIOCNXCL,	 TIOCPKT,	  FIONREAD,	 FIONBIO,   FIOASYNC,
	FIOCLEX,    FIONCLEX,	 FIOQSIZE,	  FIGETBSZ,	 FICLONE,   FICLONERANGE,
	SIOCATMARK, SIOCGIFCONF, FS_IOC_GETFLAGS, FS_IOC_FIEMAP,
};

static const int prctls[] = {
	PR_SET_NAME,	     PR_GET_NAME,	PR_SET_PDEATHSIG,  PR_GET_PDEATHSIG,
	PR_SET_DUMPABLE,     PR_GET_DUMPABLE,	PR_SET_VMA,	   PR_SET_NO_NEW_PRIVS,
	PR_GET_NO_NEW_PRIVS, PR_SET_TIMERSLACK, PR_GET_TIMERSLACK, PR_SET_CHILD_SUBREAPER,
	PR_GET_SECCOMP,	     PR_CAPBSET_READ,
};

static const int families[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };

static void check(int result)
{
	if (!result)
		return;
	fprintf(stderr, "make_filter: libseccomp: %s\n", strerror(-result));
	exit(1);
}

static void allow_all(scmp_filter_ctx f, bool net, bool mark, bool sanitized)
{
	/* a call that this architecture does not have is skipped */
	for (size_t i = 0; i < LEN(calls); i++)
		if (calls[i] >= 0)
			check(seccomp_rule_add(f, SCMP_ACT_ALLOW, calls[i], 0));
	for (size_t i = 0; mark && i < LEN(marks); i++)
		if (marks[i] >= 0)
			check(seccomp_rule_add(f, SCMP_ACT_ALLOW, marks[i], 0));
	/* the kernel takes the low 32 bits as the request */
	for (size_t i = 0; i < LEN(ioctls); i++)
		check(seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
				       SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, ioctls[i])));
	for (size_t i = 0; i < LEN(prctls); i++)
		check(seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1,
				       SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)prctls[i], 0)));
	for (size_t i = 0; i < (net ? LEN(families) : 1); i++) {
		check(seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
				       SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)families[i], 0)));
		check(seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(socketpair), 1,
				       SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)families[i], 0)));
	}
	check(seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
			       SCMP_A0(SCMP_CMP_MASKED_EQ, NAMESPACES, 0)));
	/* after EPERM the C library would not try clone */
	check(seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0));
	if (sanitized) {
		check(seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(ptrace), 0));
		check(seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1,
				       SCMP_A0(SCMP_CMP_EQ, PR_SET_PTRACER, 0)));
	}
}

static void write_filter(const char *name, bool net, bool mark, bool sanitized)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	FILE *file = tmpfile();
	struct sock_filter op;

	if (!f || !file)
		exit(1);
	check(seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2));
	allow_all(f, net, mark, sanitized);
	check(seccomp_export_bpf(f, fileno(file)));
	rewind(file);
	printf("static struct sock_filter %s[] = {\n", name);
	while (fread(&op, sizeof(op), 1, file) == 1)
		printf("\t{ 0x%x, %u, %u, 0x%x },\n", op.code, op.jt, op.jf, op.k);
	printf("};\n");
	fclose(file);
	seccomp_release(f);
}

int main(int argc, char **argv)
{
	bool sanitized = argc > 1 && !strcmp(argv[1], "sanitized");

	printf("#include \"confine/confine_int.h\"\n");
	write_filter("all", true, true, sanitized);
	write_filter("no_marks", true, false, sanitized);
	write_filter("local", false, false, sanitized);
	printf("const struct sock_fprog seccomp_filters[] = {\n"
	       "\t[SECCOMP_ALL] = { ARRAY_LEN(all), all },\n"
	       "\t[SECCOMP_NO_MARKS] = { ARRAY_LEN(no_marks), no_marks },\n"
	       "\t[SECCOMP_LOCAL] = { ARRAY_LEN(local), local },\n"
	       "};\n");
	return 0;
}
