/* SPDX-License-Identifier: MIT */
/* The pipeline, instruction by instruction, for a terminal. */
#ifndef VIEW_PIPELINE_H
#define VIEW_PIPELINE_H

#include "trace/export.h"
#include "view/view.h"

/* One row per instruction of the window, in fetch order; as JSON if the options say so. */
bool view_pipeline(const struct trace_info *info, const struct window_records *w,
		   const struct view_options *o, struct err *e);

#endif
