// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The handler of a sample, in the kernel. After dcpi1997, section 4.2: each processor has its own
 * table of counts, in buckets of one cache line; a sample that is not in its bucket evicts the last
 * entry into a ring. Each processor has a small second table, which counts while the collector reads
 * the large one: `cut` below, which runs on that processor, swaps them.
 *
 * Invariants:
 *	B1  A handler is alone on its processor: the kernel drops a sample that arrives while another
 *	    program of this kind runs there.
 *	B2  A sample ends in exactly one place: a count of the active table, a record of the ring, or
 *	    lost_ring of its event.
 *	B3  An image token or process number is in the ring before the first count with it.
 *
 * Keys are relative to an image, so that processes of one program share their counts. Where an
 * address lies is asked of the kernel (bpf_find_vma, 10 us) once per mapping and address space; the
 * answers are kept per processor, in blocks of ranges by process. A kept range is good while the
 * kernel's own sequence number of the address space stands. After a change it is compared with the
 * kernel's struct of the mapping and the file below it, and asked for again if anything differs.
 *
 * Not seen: samples that arrive while interrupts are off (they appear at the instruction that turns
 * them on), and samples that the kernel drops by B1.
 */
#include <stdbool.h>

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "collect/sample.h"
#include "collect/kernel_structs.h"

char LICENSE[] SEC("license") = "GPL";

#define PAGE_SHIFT  12
#define RANGES	    8
#define EEXIST	    17
#define RECORD_HEAD 8 /* of a record in the ring */
#define CUT_READS   4 /* of the totals, until no sample comes between */
#define GOLDEN	    0x9e3779b97f4a7c15ull
#define ODD	    1u /* a sequence number that no address space at rest has */
#define STACK_BYTES (SAMPLE_FRAMES * 8)

const volatile struct sample_constants constants;

/* One executable mapping of a process. */
struct range {
	__u64 start, end;
	__u64 vma;    /* the kernel's struct of it */
	__u64 offset; /* of start, in the token */
	__u32 token;
	__u32 seq;   /* of the address space, when the range was last known to be right */
	__u32 check; /* of the file below it */
	__u32 _pad;
};

/* What is known of a process on this processor, or of a thread if those are kept apart. */
struct block {
	struct sample_process process;
	__u64 thread_ns; /* 0: of all threads */
	__u32 tid, _pad;
	__u64 mm;
	__u32 number; /* of the process, in entries */
	__u32 generation;
	__u32 next, used; /* ranges are replaced in turn */
	struct range range[RANGES];
} __attribute__((aligned(64)));

struct image_key {
	__u64 word[4];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sample_bucket);
} table SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sample_cpu);
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sample_shared);
} shared SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct block);
} known SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2048);
	__type(key, struct image_key);
	__type(value, __u32);
} images SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} ring SEC(".maps");

/* A stack is too large for the program's own. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sample_record_stack);
} scratch SEC(".maps");

/* ---- The ring ---- */

/* The collector is woken when the ring is half full, not for every record. */
static __always_inline __u64 wake(void)
{
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= constants.ring_wake_bytes
		   ? BPF_RB_FORCE_WAKEUP
		   : BPF_RB_NO_WAKEUP;
}

/* Whether the ring refused a record for which it has room: since 6.15 its lock gives up after a quarter
 * of a second, which a virtual processor may be stopped for. Then it is asked once more. */
static __always_inline bool refused(struct sample_cpu *c, __u64 bytes)
{
	if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) + bytes + RECORD_HEAD >
	    2 * (__u64)constants.ring_wake_bytes)
		return false;
	c->refused++;
	return true;
}

#define RESERVE(c, type)                                                                           \
	({                                                                                         \
		type *r_ = bpf_ringbuf_reserve(&ring, sizeof(type), 0);                            \
		if (!r_ && refused(c, sizeof(type)))                                               \
			r_ = bpf_ringbuf_reserve(&ring, sizeof(type), 0);                          \
		r_;                                                                                \
	})

static __always_inline struct sample_head head(const struct sample_cpu *c, __u8 type, __u8 kind)
{
	return (struct sample_head){ .type = type,
				     .kind = kind,
				     .cpu = (__u16)bpf_get_smp_processor_id(),
				     .epoch = SAMPLE_EPOCH(c->turn) };
}

static __always_inline struct sample_totals *totals(struct sample_cpu *c, __u8 kind)
{
	return &c->now[SAMPLE_EVENT(kind) & (SAMPLE_EVENTS - 1)];
}

static __always_inline void lose(struct sample_cpu *c, __u8 kind, __u32 count)
{
	if (SAMPLE_WHAT(kind) == SAMPLE_HERE)
		totals(c, kind)->lost_ring += count;
	else
		totals(c, kind)->lost_other += count;
}

static __noinline int evict(struct sample_cpu *c, struct sample_entry *e)
{
	if (!c || !e)
		return 0;
	struct sample_record_entry *r = RESERVE(c, struct sample_record_entry);

	if (!r) {
		lose(c, SAMPLE_KIND(e->value), SAMPLE_COUNT(e->value));
		return 0;
	}
	c->entries++;
	r->head = head(c, SAMPLE_ENTRY, SAMPLE_KIND(e->value));
	r->entry = *e;
	bpf_ringbuf_submit(r, wake());
	return 0;
}

/* ---- The table ---- */

/* Counts one more of a key. A hit moves to the front of its bucket; a new key is put there, and the
 * last one leaves (dcpi1997, section 5.4). True: the key is new. */
static __noinline bool count(struct sample_cpu *c, __u32 cpu, __u64 key, __u64 value)
{
	if (!c)
		return false;
	const __u64 hash = (key ^ value * 0xff51afd7ed558ccdull) * GOLDEN;
	const bool small = SAMPLE_EPOCH(c->turn) & 1;
	const __u32 at =
	    cpu * (constants.buckets[0] + constants.buckets[1]) +
	    (small ? constants.buckets[0] : 0) +
	    (__u32)((hash >> 40) * (small ? constants.buckets[1] : constants.buckets[0]) >> 24);
	struct sample_bucket *b = bpf_map_lookup_elem(&table, &at);

	if (!b)
		return false;
#pragma unroll
	for (int i = 0; i < SAMPLE_WAYS; i++) {
		struct sample_entry *e = &b->way[i];

		if (e->key != key || (e->value & ~(__u64)SAMPLE_COUNT_MAX) != value ||
		    !SAMPLE_COUNT(e->value))
			continue;
		c->hits++;
		struct sample_entry found = *e;

		if (SAMPLE_COUNT(found.value) >= constants.count_max) {
			c->saturated++;
			evict(c, &found);
			found.value = value;
		}
		found.value++;
		if (i)
			*e = b->way[0];
		b->way[0] = found;
		return false;
	}
	struct sample_entry last = b->way[SAMPLE_WAYS - 1];

	c->misses++;
#pragma unroll
	for (int i = SAMPLE_WAYS - 1; i > 0; i--)
		b->way[i] = b->way[i - 1];
	b->way[0] = (struct sample_entry){ key, value + 1 };
	if (SAMPLE_COUNT(last.value))
		evict(c, &last);
	return true;
}

/* ---- Address spaces ---- */

/* A number that differs when any mapping of the address space has changed. 0 and ODD: a change is
 * going on, or this kernel does not say. */
static __always_inline __u32 space_seq(struct mm_struct *mm)
{
	if (bpf_core_field_exists(mm->mm_lock_seq)) {
		__u32 seq = ODD;

		bpf_core_read(&seq, sizeof(seq), &mm->mm_lock_seq);
		return seq;
	}
	/* Kernels before 6.4: a change of executable mappings that keeps all of these is missed. */
	return (__u32)(mm->exec_vm * 0x9e3779b1u + mm->total_vm * 0x85ebca6bu +
		       (__u32)mm->map_count * 0xc2b2ae35u)
	       << 1;
}

static __always_inline void file_time(struct inode *inode, __s64 *sec, __u32 *nsec)
{
	struct timespec64 t = { 0 };

	*sec = 0;
	*nsec = 0;
	if (bpf_core_field_exists(inode->i_mtime_sec)) {
		bpf_core_read(sec, sizeof(*sec), &inode->i_mtime_sec);
		bpf_core_read(nsec, sizeof(*nsec), &inode->i_mtime_nsec);
		return;
	}
	struct inode___timespec *old = (void *)inode;
	struct inode___hidden *hidden = (void *)inode;

	if (bpf_core_field_exists(old->i_mtime))
		bpf_core_read(&t, sizeof(t), &old->i_mtime);
	else if (bpf_core_field_exists(hidden->__i_mtime))
		bpf_core_read(&t, sizeof(t), &hidden->__i_mtime);
	*sec = t.tv_sec;
	*nsec = (__u32)t.tv_nsec;
}

/* What a file is: device, inode, generation and time of change. */
static __always_inline void file_key(struct file *file, struct image_key *k)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	__s64 sec;
	__u32 nsec;

	file_time(inode, &sec, &nsec);
	k->word[0] = 1ull << 56 | BPF_CORE_READ(inode, i_sb, s_dev);
	k->word[1] = BPF_CORE_READ(inode, i_ino);
	k->word[2] = (__u64)BPF_CORE_READ(inode, i_generation) << 32 | nsec;
	k->word[3] = (__u64)sec;
}

static __always_inline __u32 key_check(const struct image_key *k)
{
	__u64 h = k->word[0] * GOLDEN;

	h = (h ^ k->word[1]) * GOLDEN;
	h = (h ^ k->word[2]) * GOLDEN;
	h = (h ^ k->word[3]) * GOLDEN;
	return (__u32)(h >> 32);
}

/* What bpf_find_vma says. */
struct found {
	__u64 start, end, pgoff, vma, file, vdso;
};

static long found_vma(struct task_struct *task, struct vm_area_struct *vma, struct found *f)
{
	f->start = vma->vm_start;
	f->end = vma->vm_end;
	f->pgoff = vma->vm_pgoff;
	f->file = (__u64)vma->vm_file;
	f->vma = (__u64)vma;
	if (bpf_core_field_exists(vma->vm_mm->context.vdso))
		f->vdso = (__u64)BPF_CORE_READ(vma, vm_mm, context.vdso);
	return 0;
}

/* Whether a kept range is still what it was, after the address space has changed somewhere. */
static __noinline int range_same(struct range *r, __u64 mm)
{
	if (!r)
		return 0;
	struct vm_area_struct *vma = (void *)r->vma;
	struct image_key k = { 0 };

	/* A mapping that was removed stays in memory as it was; only its count of users says so. */
	if (!bpf_core_field_exists(vma->vm_refcnt) || !BPF_CORE_READ(vma, vm_refcnt.refs.counter))
		return 0;
	if (BPF_CORE_READ(vma, vm_start) != r->start || BPF_CORE_READ(vma, vm_end) != r->end ||
	    (__u64)BPF_CORE_READ(vma, vm_mm) != mm)
		return 0;
	struct file *file = BPF_CORE_READ(vma, vm_file);

	if (!file)
		return !r->check;
	file_key(file, &k);
	if (key_check(&k) != r->check)
		return 0;
	return (BPF_CORE_READ(vma, vm_pgoff) << PAGE_SHIFT) == r->offset;
}

/* The token of an image; 0: the ring or the map of images has no room. */
static __always_inline __u32 token(struct sample_cpu *c, __u8 kind, const struct image_key *k,
				   const struct block *b, __u64 address, __u64 offset)
{
	const __u32 zero = 0;
	__u32 *old = bpf_map_lookup_elem(&images, k);

	if (old)
		return *old;
	struct sample_shared *s = bpf_map_lookup_elem(&shared, &zero);

	if (!s)
		return 0;
	struct sample_record_image *r = RESERVE(c, struct sample_record_image);

	if (!r)
		return 0;
	/* Numbers begin anew after the last one. 0 is none. */
	__u32 number = (__sync_fetch_and_add(&s->tokens, 1) + 1) & (SAMPLE_TOKENS - 1);

	r->head = head(c, SAMPLE_IMAGE, kind);
	r->process = b->process;
	r->time_ns = bpf_ktime_get_boot_ns();
	r->address = address;
	r->offset = offset;
	r->number = number;
	r->_pad = 0;
	const long failed = number ? bpf_map_update_elem(&images, k, &number, BPF_NOEXIST) : -1;
	if (!failed) {
		bpf_ringbuf_submit(r, wake());
		return number;
	}
	bpf_ringbuf_discard(r, BPF_RB_NO_WAKEUP);
	/* Another processor was faster. */
	old = failed == -EEXIST ? bpf_map_lookup_elem(&images, k) : 0;
	return old ? *old : 0;
}

/* Asks the kernel for the mapping of an address, and keeps it. */
static __always_inline struct range *
look_up(struct sample_cpu *c, __u8 kind, struct task_struct *task, struct block *b, __u64 address)
{
	struct image_key k = { 0 };
	struct found f = { 0 };
	struct mm_struct *mm = task->mm;

	if (!mm)
		return 0;
	const __u32 seq = space_seq(mm);

	c->lookups++;
	if (bpf_find_vma(task, address, found_vma, &f, 0) || address < f.start || address >= f.end)
		return 0;
	__u64 offset = 0; /* of the mapping's first byte */

	if (f.file) {
		file_key((struct file *)f.file, &k);
		offset = f.pgoff << PAGE_SHIFT;
	} else if (f.vdso == f.start) {
		k.word[0] = 3ull << 56;
	} else {
		/* Memory without a file belongs to its process; the offset is the address. */
		k.word[0] = 2ull << 56 | address >> SAMPLE_OFFSET_BITS;
		k.word[1] = b->process.start_ns;
		k.word[2] = (__u64)b->process.pid << 32 | b->process.exec_id;
		offset = f.start & ((1ull << SAMPLE_OFFSET_BITS) - 1);
	}
	const __u32 t = token(c, kind, &k, b, address, address - f.start + offset);

	if (!t)
		return 0;
	const __u32 at = b->next & (RANGES - 1);

	b->next = at + 1;
	if (b->used <= at)
		b->used = at + 1;
	struct range *r = &b->range[at];

	r->start = f.start;
	r->end = f.end;
	r->vma = f.vma;
	r->offset = offset;
	r->token = t;
	r->check = f.file ? key_check(&k) : 0;
	r->seq = seq & 1 ? ODD : seq;
	return r;
}

/* Says in the ring who the process with a new number is. */
static __always_inline bool announce(struct sample_cpu *c, __u8 kind, struct block *b)
{
	const __u32 zero = 0;
	struct sample_shared *s = bpf_map_lookup_elem(&shared, &zero);
	struct sample_record_process *r = RESERVE(c, struct sample_record_process);

	if (!r)
		return false;
	b->number = s ? __sync_fetch_and_add(&s->spaces, 1) + 1 : 0;
	if (s && !b->number)
		b->number = __sync_fetch_and_add(&s->spaces, 1) + 1;
	r->head = head(c, SAMPLE_PROCESS, kind);
	r->process = b->process;
	r->time_ns = bpf_ktime_get_boot_ns();
	r->cgroup = bpf_get_current_cgroup_id();
	r->number = b->number;
	r->uid = (__u32)bpf_get_current_uid_gid();
	r->thread_ns = b->thread_ns;
	r->tid = b->tid;
	r->_pad = 0;
	bpf_get_current_comm(r->name, sizeof(r->name));
	bpf_ringbuf_submit(r, wake());
	return true;
}

static __always_inline bool is_of(const struct block *b, const struct sample_process *p,
				  __u64 thread_ns, __u32 tid, __u32 generation)
{
	return b->process.start_ns == p->start_ns && b->process.pid == p->pid &&
	       b->process.exec_id == p->exec_id && b->thread_ns == thread_ns && b->tid == tid &&
	       b->generation == generation;
}

/* The block of a process, taken over from another process if it is not there. */
static __always_inline struct block *block_of(struct sample_cpu *c, __u32 cpu, __u8 kind,
					      struct task_struct *task,
					      const struct sample_process *p)
{
	const __u64 thread_ns = constants.threads ? task->start_boottime : 0;
	const __u32 tid = constants.threads ? (__u32)task->pid : 0;
	const __u32 hash =
	    (__u32)((p->start_ns ^ thread_ns ^ (__u64)(p->pid ^ tid) << 32 ^ p->exec_id) * GOLDEN >>
		    40);
	const __u32 first = cpu * constants.blocks + (hash & (constants.blocks - 1)),
		    second = first ^ 1;
	const __u32 zero = 0;
	struct sample_shared *s = bpf_map_lookup_elem(&shared, &zero);
	struct block *a = bpf_map_lookup_elem(&known, &first);

	if (!a || !s)
		return 0;
	if (is_of(a, p, thread_ns, tid, s->generation))
		return a;
	struct block *b = bpf_map_lookup_elem(&known, &second);

	if (!b)
		return 0;
	if (is_of(b, p, thread_ns, tid, s->generation))
		return b;
	/* The process that began first goes. */
	if (b->process.start_ns < a->process.start_ns)
		a = b;
	a->process = *p;
	a->thread_ns = thread_ns;
	a->tid = tid;
	a->generation = s->generation;
	a->used = a->next = 0;
	a->number = 0;
	if (constants.processes && !announce(c, kind, a)) {
		a->process = (struct sample_process){ 0 };
		return 0;
	}
	return a;
}

/* The key of a user address; 0: none. */
static __always_inline __u64 user_key(struct sample_cpu *c, __u8 kind, struct task_struct *task,
				      struct block *b, __u64 address)
{
	struct mm_struct *mm = task->mm;
	struct range *r = 0;

	if (!mm)
		return 0;
	if (b->mm != (__u64)mm) {
		b->used = b->next = 0;
		b->mm = (__u64)mm;
	}
#pragma unroll
	for (int i = 0; i < RANGES; i++)
		if (!r && i < b->used && address >= b->range[i].start && address < b->range[i].end)
			r = &b->range[i];
	if (r) {
		const __u32 seq = space_seq(mm);

		if (r->seq != seq || (seq & 1)) {
			c->checks++;
			if (range_same(r, (__u64)mm)) {
				r->seq = seq & 1 ? ODD : seq;
			} else {
				/* All of the process: what lay beside it may be gone, too. */
				b->used = b->next = 0;
				r = 0;
			}
		}
	}
	if (!r)
		r = look_up(c, kind, task, b, address);
	if (!r)
		return 0;
	return (__u64)r->token << SAMPLE_OFFSET_BITS |
	       ((address - r->start + r->offset) & ((1ull << SAMPLE_OFFSET_BITS) - 1));
}

/* A sample whose mapping the kernel did not say goes to the ring by itself. */
static __noinline int unplaced(struct sample_cpu *c, struct sample_process *p, __u64 address,
			       __u64 value)
{
	if (!c || !p)
		return 0;
	struct sample_record_unplaced *r = RESERVE(c, struct sample_record_unplaced);

	if (!r) {
		lose(c, SAMPLE_KIND(value), 1);
		return 0;
	}
	c->unplaced++;
	r->head = head(c, SAMPLE_UNPLACED, SAMPLE_KIND(value));
	r->process = *p;
	r->time_ns = bpf_ktime_get_boot_ns();
	r->address = address;
	r->space = SAMPLE_SPACE(value);
	r->_pad = 0;
	bpf_ringbuf_submit(r, wake());
	return 0;
}

/* ---- Edges ---- */

#define FLAG_CARRY    (1u << 0)
#define FLAG_PARITY   (1u << 2)
#define FLAG_ZERO     (1u << 6)
#define FLAG_SIGN     (1u << 7)
#define FLAG_OVERFLOW (1u << 11)

/* Whether a conditional jump with this condition code is taken. */
static __always_inline bool is_taken(__u8 condition, __u64 flags)
{
	const bool less = !(flags & FLAG_SIGN) != !(flags & FLAG_OVERFLOW);
	bool holds;

	switch (condition >> 1) {
	case 0:
		holds = flags & FLAG_OVERFLOW;
		break;
	case 1:
		holds = flags & FLAG_CARRY;
		break;
	case 2:
		holds = flags & FLAG_ZERO;
		break;
	case 3:
		holds = flags & (FLAG_CARRY | FLAG_ZERO);
		break;
	case 4:
		holds = flags & FLAG_SIGN;
		break;
	case 5:
		holds = flags & FLAG_PARITY;
		break;
	case 6:
		holds = less;
		break;
	default:
		holds = less || (flags & FLAG_ZERO);
	}
	return holds != (condition & 1);
}

/* Interprets the instruction at the sampled address (dcpi1997, section 7): it is the next one to be
 * executed, so a conditional jump will do what the saved flags say. */
static __noinline int edge(struct bpf_perf_event_data *ctx, struct sample_cpu *c, __u32 cpu,
			   __u64 key, __u8 event)
{
	__u8 code[3] = { 0 };

	if (!c || bpf_probe_read_user(code, sizeof(code), (void *)ctx->regs.rip))
		return 0;
	/* Branch hints and the prefix of MPX change nothing. */
	const bool prefix = code[0] == 0x2e || code[0] == 0x3e || code[0] == 0xf2;
	const __u8 first = prefix ? code[1] : code[0], second = prefix ? code[2] : code[1];
	__u8 condition;

	if ((first & 0xf0) == 0x70)
		condition = first & 0x0f;
	else if (first == 0x0f && (second & 0xf0) == 0x80)
		condition = second & 0x0f;
	else
		return 0;
	const __u8 what =
	    is_taken(condition, ctx->regs.eflags) ? SAMPLE_EDGE_TAKEN : SAMPLE_EDGE_NOT_TAKEN;

	count(c, cpu, key, SAMPLE_VALUE(0, what | event));
	return 0;
}

/* ---- Stacks ---- */

#define PUSH_AND_MOVE 0xe5894855u /* push rbp; mov rbp, rsp */
#define ENDBR64	      0xfa1e0ff3u
#define RETURN	      0xc3
#define FRAME_MAX     (1u << 20)

/* The return address that no frame pointer leads to yet or any more: at a function's first
 * instructions and at its return. 0: there is none. */
static __always_inline __u64 hidden_return(__u64 ip, __u64 sp)
{
	__u32 code = 0, before = 0;
	__u64 address = 0;

	if (bpf_probe_read_user(&code, sizeof(code), (void *)ip))
		return 0;
	if (code != PUSH_AND_MOVE && code != ENDBR64 && (__u8)code != RETURN) {
		bpf_probe_read_user(&before, sizeof(before), (void *)(ip - 1));
		if (before != PUSH_AND_MOVE)
			return 0;
		sp += 8; /* between the two */
	}
	bpf_probe_read_user(&address, sizeof(address), (void *)sp);
	return address;
}

/* Follows the chain of frame pointers. A chain that does not end with 0 is broken. */
static __always_inline void user_frames(struct sample_record_stack *s, __u64 ip, __u64 sp, __u64 bp)
{
	__u32 n = 0;
	__u64 last = sp - 1;
	const __u64 hidden = hidden_return(ip, sp);

	s->frame[s->nkernel & SAMPLE_FRAMES] = ip;
	n = 1;
	if (hidden) {
		s->frame[(s->nkernel & SAMPLE_FRAMES) + 1] = hidden;
		n = 2;
	}
	for (__u32 i = 0; i < SAMPLE_FRAMES - 2; i++) {
		__u64 link[2];

		/* Frames of callers lie above those of the called, and not far. A wild address
		 * costs a fault. */
		if (!bp || bp <= last || bp - last > FRAME_MAX ||
		    bpf_probe_read_user(link, sizeof(link), (void *)bp) || !link[1])
			break;
		const __u32 at = (s->nkernel & SAMPLE_FRAMES) + n;

		if (at >= 2 * SAMPLE_FRAMES || n >= SAMPLE_FRAMES)
			break;
		s->frame[at] = link[1];
		n++;
		last = bp;
		bp = link[0];
	}
	s->nuser = n;
	s->broken = bp != 0;
}

static __always_inline __u64 stack_hash(const struct sample_record_stack *s, __u8 event)
{
	__u64 h = (s->process.start_ns ^ (__u64)s->process.pid << 32) * GOLDEN + s->process.exec_id;
	const __u32 n = s->nkernel + s->nuser;

	h = (h ^ s->nkernel ^ (__u64)s->broken << 32) * GOLDEN;
	for (__u32 i = 0; i < 2 * SAMPLE_FRAMES; i++) {
		if (i >= n)
			break;
		h = (h ^ s->frame[i]) * GOLDEN;
		h ^= h >> 29;
	}
	return h;
}

static __noinline int stack(struct bpf_perf_event_data *ctx, struct sample_cpu *c, __u32 cpu,
			    struct sample_process *p, __u8 event)
{
	const __u32 zero = 0;
	struct sample_record_stack *s = bpf_map_lookup_elem(&scratch, &zero);
	struct task_struct *task = bpf_get_current_task_btf();

	if (!s || !c || !p)
		return 0;
	s->process = *p;
	s->nkernel = s->nuser = s->broken = 0;
	if ((__s64)ctx->regs.rip < 0) {
		const long bytes = bpf_get_stack(ctx, s->frame, STACK_BYTES, 0);

		s->nkernel = bytes > 0 ? ((__u32)bytes / 8) & SAMPLE_FRAMES : 0;
		if (task->mm) {
			struct pt_regs___kernel *r = (void *)bpf_task_pt_regs(task);

			user_frames(s, r->ip, r->sp, r->bp);
		}
	} else {
		user_frames(s, ctx->regs.rip, ctx->regs.rsp, ctx->regs.rbp);
	}
	s->hash = stack_hash(s, event);
	/* The frames follow when the stack is new in its table. */
	if (!count(c, cpu, s->hash, SAMPLE_VALUE(0, SAMPLE_STACKS | event)))
		return 0;
	s->head = head(c, SAMPLE_STACK, event);
	s->time_ns = bpf_ktime_get_boot_ns();
	const __u32 n = s->nkernel + s->nuser;

	if (n > 2 * SAMPLE_FRAMES ||
	    bpf_ringbuf_output(&ring, s, sizeof(*s) - (2 * SAMPLE_FRAMES - n) * 8, wake()))
		totals(c, event)->lost_other++;
	return 0;
}

/* ---- The handler ---- */

static __always_inline struct sample_process process_of(struct task_struct *task)
{
	return (struct sample_process){ .start_ns = task->group_leader->start_boottime,
					.pid = (__u32)task->tgid,
					.exec_id = (__u32)task->self_exec_id };
}

/* A sample as it is, for those who replay them. */
static __noinline int trace(struct sample_cpu *c, struct sample_process *p, __u64 address,
			    __u64 key, __u8 event)
{
	if (!c || !p)
		return 0;
	struct sample_record_trace *r = RESERVE(c, struct sample_record_trace);

	if (!r) {
		totals(c, event)->lost_other++;
		return 0;
	}
	r->head = head(c, SAMPLE_TRACE, event);
	r->process = *p;
	r->time_ns = bpf_ktime_get_boot_ns();
	r->address = address;
	r->key = key;
	bpf_ringbuf_submit(r, wake());
	return 0;
}

static __always_inline void sample(struct bpf_perf_event_data *ctx, struct sample_cpu *c, __u32 cpu,
				   __u8 event)
{
	const __u64 address = ctx->regs.rip;
	const bool kernel = (__s64)address < 0;

	if (!constants.trace)
		c->now[event].taken++;
	if (kernel && !constants.processes && !constants.stacks && !constants.trace) {
		count(c, cpu, address, SAMPLE_VALUE(0, event));
		return;
	}
	struct task_struct *task = bpf_get_current_task_btf();
	struct sample_process p = process_of(task);
	struct block *b = block_of(c, cpu, event, task, &p);
	const __u64 value = SAMPLE_VALUE(b && constants.processes ? b->number : 0, event);
	__u64 key = address;

	if (!kernel)
		key = b ? user_key(c, event, task, b, address) : 0;
	if (constants.trace) {
		trace(c, &p, address, key, event);
		return;
	}
	if (!key || !b) {
		unplaced(c, &p, address, value);
		if (constants.stacks)
			stack(ctx, c, cpu, &p, event);
		return;
	}
	count(c, cpu, key, value);
	if (constants.edges && !kernel)
		edge(ctx, c, cpu, key, event);
	if (constants.stacks)
		stack(ctx, c, cpu, &p, event);
}

static __noinline int handle(struct bpf_perf_event_data *ctx, __u8 event)
{
	const __u32 cpu = bpf_get_smp_processor_id();
	struct sample_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);

	if (!c)
		return 0;
	c->inside = 1;
	asm volatile("" ::: "memory");
	/* The handler's own time cannot be sampled from within: every 64th is timed. */
	const bool timed = !(c->now[event].taken & 63);
	const __u64 begin = timed ? bpf_ktime_get_ns() : 0, misses = c->misses;

	sample(ctx, c, cpu, event);
	if (timed) {
		const bool missed = c->misses != misses;

		c->timed_ns[missed] += bpf_ktime_get_ns() - begin;
		c->timed[missed]++;
	}
	c->turn++;
	asm volatile("" ::: "memory");
	c->inside = 0;
	return 0;
}

/* One program per event: the kernel does not say which event it was. */
#define PROGRAM(n)                                                                                 \
	SEC("perf_event") int sample##n(struct bpf_perf_event_data *ctx)                           \
	{                                                                                          \
		return handle(ctx, n);                                                             \
	}
PROGRAM(0)
PROGRAM(1)
PROGRAM(2)
PROGRAM(3)
PROGRAM(4)
PROGRAM(5)
PROGRAM(6)
PROGRAM(7)

/* Swaps the tables of the processor that it runs on, and keeps its totals of that moment. A sample that
 * interrupts it counts as ever, and the totals are read again. Returns 1 if it interrupted the handler
 * itself, or was interrupted each time; then nothing has happened. */
SEC("raw_tp")
int cut(void *ctx)
{
	const __u32 cpu = bpf_get_smp_processor_id();
	struct sample_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);

	if (!c || c->inside)
		return 1;
	for (int try = 0; try < CUT_READS; try++) {
		const __u64 turn = *(volatile __u64 *)&c->turn;

#pragma unroll
		for (int i = 0; i < SAMPLE_EVENTS; i++)
			c->at_cut[i] = c->now[i];
		asm volatile("" ::: "memory");
		if (__sync_val_compare_and_swap(&c->turn, turn, ((turn >> 32) + 1) << 32) == turn)
			return 0;
	}
	return 1;
}

/* What a sample costs before anything is done with it. */
SEC("perf_event")
int empty(struct bpf_perf_event_data *ctx)
{
	return 0;
}
