/* SPDX-License-Identifier: MIT */
/*
 * In the kernel: one record for each executable mapping of each process, from the iterator over
 * tasks' mappings. Members of the kernel's structs are found when the program is loaded (CO-RE).
 */
#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "collect/kernel_structs.h"
#include "collect/running_record.h"

#define VM_EXEC	  4
#define VM_SHARED 8

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, char[RUNNING_NAME_BYTES]);
} scratch SEC(".maps");

SEC("iter/task_vma")
int running(struct bpf_iter__task_vma *ctx)
{
	struct task_struct *task = ctx->task;
	struct vm_area_struct *vma = ctx->vma;
	struct running_record r = {};
	__u32 zero = 0;

	if (!task || !vma || task->pid != task->tgid || !(vma->vm_flags & VM_EXEC))
		return 0;
	char *name = bpf_map_lookup_elem(&scratch, &zero);

	if (!name)
		return 0;
	r.time_ns = bpf_ktime_get_boot_ns();
	r.start_ns = task->start_boottime;
	r.pid = task->tgid;
	r.exec_id = (__u32)task->self_exec_id;
	r.threads = (__u32)task->signal->nr_threads;
	r.uid = task->cred->euid.val;
	__builtin_memcpy(r.comm, task->comm, sizeof(r.comm));
	r.address = vma->vm_start;
	r.end = vma->vm_end;
	r.pgoff = vma->vm_pgoff << 12;
	r.shared = vma->vm_flags & VM_SHARED;
	r.vdso = (__u64)(unsigned long)vma->vm_mm->context.vdso == vma->vm_start;
	struct file *file = vma->vm_file;

	if (file) {
		r.dev = file->f_inode->i_sb->s_dev;
		r.ino = file->f_inode->i_ino;
		r.generation = file->f_inode->i_generation;
		const long n = bpf_d_path(&file->f_path, name, RUNNING_NAME_BYTES);

		if (n > 0 && n < RUNNING_NAME_BYTES)
			r.name_bytes = (__u32)n;
	}
	bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
	if (r.name_bytes)
		bpf_seq_write(ctx->meta->seq, name, r.name_bytes & (RUNNING_NAME_BYTES - 1));
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
