/* SPDX-License-Identifier: MIT */
/* Built without libbpf, or without clang to compile the sampling program: nothing can be sampled. */
#include "collect/collector.h"

struct collector *collector_open(const struct collector_options *o, const struct live_sink *sink,
				 char ***notes, size_t *nnotes, struct err *e)
{
	(void)o;
	(void)sink;
	*notes = NULL;
	*nnotes = 0;
	err_set(e, "this culprit cannot sample: it was built without libbpf or clang; install "
		   "libbpf-dev and clang, and build it again");
	return NULL;
}

void collector_trace(struct collector *c,
		     void (*fn)(void *self, const struct sample_record_trace *r), void *self)
{
	(void)c;
	(void)fn;
	(void)self;
}

int collector_fd(const struct collector *c)
{
	(void)c;
	return -1;
}

bool collector_poll(struct collector *c, int timeout_ms, struct err *e)
{
	(void)c;
	(void)timeout_ms;
	return err_set(e, "nothing is sampled");
}

bool collector_flush(struct collector *c, struct err *e)
{
	return collector_poll(c, 0, e);
}

void collector_hold(const struct collector *c, struct held *h)
{
	(void)c;
	(void)h;
}

struct collector_status collector_status(struct collector *c)
{
	(void)c;
	return (struct collector_status){ 0 };
}

bool collector_close(struct collector *c, struct err *e)
{
	(void)c;
	(void)e;
	return true;
}
