/* SPDX-License-Identifier: MIT */
/* An executable mapping of a running process, as running.bpf.c writes it and running_bpf.c reads it. */
#ifndef COLLECT_RUNNING_RECORD_H
#define COLLECT_RUNNING_RECORD_H

#include <linux/types.h>

struct running_record {
	__u64 time_ns, start_ns; /* since boot */
	__u64 address, end, pgoff;
	__u64 dev, ino, generation; /* dev: as the kernel has it, 20 bits of minor */
	__s32 pid;
	__u32 exec_id, threads, uid;
	__u32 vdso; /* 1: this is it */
	__u32 shared;
	__u32 name_bytes; /* that follow, with the zero at the end; 0: no file */
	char comm[16];
};
#define RUNNING_NAME_BYTES 4096

#endif
