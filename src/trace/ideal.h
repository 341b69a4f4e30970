/* SPDX-License-Identifier: MIT */
/* What idealising bandwidth and window means, for the core that does it and the analyses that
 * predict what it saves. */
#ifndef TRACE_IDEAL_H
#define TRACE_IDEAL_H

#define IDEAL_WIN_FACTOR 20 /* reorder buffer, queues and registers are so many times as large */
#define IDEAL_BW_WIDTH	 64 /* instructions a cycle: as many as records can count */

#endif
