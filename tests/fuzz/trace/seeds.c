/* SPDX-License-Identifier: MIT */
/* Writes seeds for the fuzzer of trace files: small traces, a payload, gem5's text. */
#include <stdlib.h>
#include <string.h>

#include "synth.h"
#include "trace/bus.h"
#include "trace/export.h"
#include "trace/file.h"
#include "trace/file_codec.h"

static void write_trace(const char *folder, uint64_t seed, uint64_t insts)
{
	struct trace_meta meta;
	struct err e = { "" };
	char *param = x_asprintf("trace=%s/trace-%llu", folder, (unsigned long long)insts);
	const char *params[] = { param, NULL };
	struct analysis_options options = { .params = params };
	synth_meta(&meta);
	struct bus *b = bus_new(&(struct bus_config){ 0 }, &meta, &options);
	if (!bus_add(b, &trace_analysis, 1, &e) || !bus_start(b, &e))
		die("%s", e.text);
	synth_run(bus_emit(b), seed, insts);
	if (!bus_stop(b, &e) || !bus_finish(b, NULL, &e))
		die("%s", e.text);
	bus_free(b);
	free(param);
}

static void write_file(const char *folder, const char *name, const void *data, size_t size)
{
	char *path = x_asprintf("%s/%s", folder, name);
	FILE *f = fopen(path, "wb");
	if (!f || fwrite(data, 1, size, f) != size || fclose(f))
		die("cannot write %s", path);
	free(path);
}

static void keep_all(struct emit *e)
{
	e->stop = true;
	e->ninsts = e->ncycles = 0;
}

static void write_payload_and_text(const char *folder)
{
	static struct rec_inst insts[4096];
	static struct rec_cycle cycles[4096];
	struct emit e = { .insts = insts,
			  .cycles = cycles,
			  .max_insts = 4096,
			  .max_cycles = 4096,
			  .wants = ~(unsigned)WANT_LESS,
			  .full = keep_all };
	struct trace_meta meta;
	struct bytes out = { 0 };
	char *text = NULL;
	size_t size;
	synth_meta(&meta);
	synth_run(&e, 3, 150);
	size_t ni = e.ninsts < 255 ? e.ninsts : 255, nc = e.ncycles < 255 ? e.ncycles : 255;
	bytes_put(&out, (uint8_t[]){ (uint8_t)ni, (uint8_t)nc }, 2);
	struct codec *c = codec_new(&meta);
	codec_begin(c);
	codec_put_insts(c, insts, ni);
	codec_put_cycles(c, cycles, nc);
	codec_finish(c, &out);
	write_file(folder, "payload", out.data, out.size);
	/* the same trace with a miss and a twin's stamp for each instruction */
	out.size = 2;
	codec_begin(c);
	codec_put_insts(c, insts, ni);
	codec_put_cycles(c, cycles, nc);
	for (size_t i = 0; i < ni; i++) {
		codec_put_misses(c,
				 &(struct rec_miss){ .begin = insts[i].fetch,
						     .line = insts[i].addr,
						     .pc = insts[i].pc,
						     .po = insts[i].po,
						     .seq = insts[i].seq,
						     .end = 20,
						     .level = LEVEL_MEM },
				 1);
		codec_put_twins(c,
				&(struct rec_twin){
				    .po = insts[i].po, .dispatch = insts[i].fetch, .commit = 9 },
				1);
	}
	codec_finish(c, &out);
	codec_free(c);
	write_file(folder, "payload-more", out.data, out.size);
	free(out.data);
	FILE *f = open_memstream(&text, &size);
	struct trace_info info = { .meta = meta };
	export_o3pipeview(f, &info, &(struct window_records){ .insts = insts, .ninsts = 20 }, 500);
	fclose(f);
	write_file(folder, "text", text, size);
	free(text);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		die("trace_seeds FOLDER");
	write_trace(argv[1], 1, 50);
	write_trace(argv[1], 2, 1000);
	write_payload_and_text(argv[1]);
	return 0;
}
