/* SPDX-License-Identifier: MIT */
/* The profilers of a run beside its golden reference. */
#ifndef VIEW_ACCURACY_H
#define VIEW_ACCURACY_H

#include "view/view.h"

enum accuracy_level { AT_INSTRUCTION, AT_BLOCK, AT_FUNCTION, ACCURACY_LEVELS };

struct accuracy_profiler {
	char name[32];
	int64_t id, rule;
	unsigned events; /* the set of events that it reports */
	double sample_bytes;
	double sample_rate; /* samples in a second of the machine's time */
	bool own;	    /* of --profiler: systematic errors are not known */
	/* by level, as shares; interval: 95% confidence, to either side */
	double error[ACCURACY_LEVELS], systematic[ACCURACY_LEVELS], interval[ACCURACY_LEVELS];
};

/* What TIP's samples found commit doing, and how much of that time a profiler gives to the right
 * instruction, sample by sample. */
struct accuracy_state {
	int category;
	double samples, share; /* of the run's time */
	double *right;	       /* by profiler, as a share; NAN: not known */
};

/* A set of events, and what it explains. */
struct accuracy_psv {
	bool paper; /* TEA's own set */
	int bits, event;
	unsigned events;
	double stall, idle, bare, bytes;
};

/* One way to sample. */
struct accuracy_sampler {
	int64_t id, period, samples;
	bool random;
	double *error; /* by profiler, at instruction level */
};

/* How well the count of an event tells the cycles of instructions (tea2023 figure 7). */
struct accuracy_event {
	char name[32];
	double instructions; /* that have the event */
	double correlation;  /* Pearson's r; NAN: not defined */
};

/* How many samples of TIP's hardware with that state agree with TIP's rule, or do not. */
struct accuracy_verdict {
	char state[32], verdict[32];
	uint64_t samples;
};

/* How tip-pooled fares. Shares are of the instructions that were executed, or of the run's time. */
struct accuracy_pooled {
	bool is;
	double of_tip; /* its error by instruction over TIP's */
	double limit;  /* the same if executions were known exactly */
	double covered,
	    covered_time; /* whose interval holds the truth, by instruction and by time */
	double negative;  /* time that is below 0, which others have too much */
};

struct accuracy_model {
	uint64_t samples, period; /* of the main sampler */
	double sample_rate;	  /* samples in a second of the machine's time */
	struct accuracy_profiler *profilers;
	size_t nprofilers;
	struct accuracy_sampler *samplers; /* of a sweep */
	size_t nsamplers;
	struct accuracy_event *events;
	size_t nevents;
	struct accuracy_state *states;
	size_t nstates;
	struct accuracy_psv *psvs;
	size_t npsvs;
	bool bare_stalls;     /* there were stalls without any event */
	int64_t bare_length;  /* 99% of such stalls last at most this many cycles */
	double with_event;    /* executions with an event */
	double with_combined; /* executions with more than one event */
	double with_bits;     /* executions with more than one of TEA's bits; < 0: not known */
	struct accuracy_verdict *verdicts; /* of the hardware's samples */
	size_t nverdicts;
	bool estimated; /* from points of the run */
	double chance;	/* error that so few samples have by chance alone, by function */
	bool random;	/* samples at random cycles */
	/* TIP's error by instruction, and the one that samples at random cycles have by chance. Where
	 * samples at equal distances are much further off, they fall in step with a loop. */
	double tip_error, tip_chance;
	double perf_samples; /* that 4 kHz, perf's default, would take in the run's time */
	bool resonates;
	struct accuracy_pooled pooled;
};

/* Samplers and events are read only if a asks for them. */
bool accuracy_read(struct store *s, const struct accuracy_options *a, struct accuracy_model *m,
		   struct err *e);
void accuracy_free(struct accuracy_model *m);

#endif
