/* SPDX-License-Identifier: MIT */
/*
 * The members of the kernel's structs that our programs in the kernel read, and no others. Their places are found
 * when the program is loaded (CO-RE), so the order and the gaps here mean nothing, and one object
 * serves all kernels. A struct with ___ in its name is another version of the one before it.
 */
#ifndef COLLECT_KERNEL_STRUCTS_H
#define COLLECT_KERNEL_STRUCTS_H

#include <linux/types.h>

#ifdef __bpf__
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
#endif

struct super_block {
	__u32 s_dev;
};

struct inode {
	unsigned long i_ino;
	__u32 i_generation;
	struct super_block *i_sb;
	__s64 i_mtime_sec;
	__u32 i_mtime_nsec;
};

struct timespec64 {
	__s64 tv_sec;
	long tv_nsec;
};

/* Before 6.11 */
struct inode___timespec {
	struct timespec64 i_mtime;
};
/* 6.6 to 6.10 */
struct inode___hidden {
	struct timespec64 __i_mtime;
};

struct path {
	void *mnt;
};

struct file {
	struct path f_path;
	struct inode *f_inode;
};

typedef struct {
	void *vdso;
} mm_context_t;

struct seqcount {
	unsigned int sequence;
};
typedef struct seqcount seqcount_t;

struct mm_struct {
	unsigned long exec_vm, total_vm;
	int map_count;
	mm_context_t context;
	seqcount_t mm_lock_seq;
};

typedef struct {
	int counter;
} atomic_t;

struct refcount_struct {
	atomic_t refs;
};

struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_pgoff, vm_flags;
	struct mm_struct *vm_mm;
	struct file *vm_file;
	struct refcount_struct vm_refcnt;
};

/* As the kernel names them; the user's header of the same struct has other names. */
struct pt_regs___kernel {
	unsigned long ip, sp, bp;
};

typedef struct {
	__u32 val;
} kuid_t;

struct cred {
	kuid_t euid;
};

struct signal_struct {
	int nr_threads;
};

struct task_struct {
	int pid, tgid;
	__u64 self_exec_id;
	__u64 start_boottime;
	struct task_struct *group_leader;
	struct mm_struct *mm;
	struct signal_struct *signal;
	const struct cred *cred;
	char comm[16];
};

/* Of the iterator over tasks' mappings */
struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task_vma {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	struct vm_area_struct *vma;
};

#ifdef __bpf__
#pragma clang attribute pop
#endif

#endif
