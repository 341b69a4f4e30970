/* SPDX-License-Identifier: MIT */
/* The part of the place "slurm" that runs inside a Slurm job. */
#ifndef JOBS_SLURM_H
#define JOBS_SLURM_H

#include "util/util.h"

/* Runs tasks of the queue in that folder, one after the other, until there are none or the job has
 * run long enough. Returns its exit status. */
int slurm_work(const char *folder);

#endif
