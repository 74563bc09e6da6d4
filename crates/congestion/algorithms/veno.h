/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Veno (Fu and Liew 2003): a loss with little backlog is random; with much of it the window grows at half the speed.
 */
#ifndef LASTHOP_VENO_H
#define LASTHOP_VENO_H

#include "backlog.h"

/* After each sample, when the least one is known: what was acknowledged up to, and what comes next. */
static __always_inline void veno_sampled(struct lasthop_words *own, __u32 cwnd, __u32 acked_to, __u32 next)
{
	if (!own->round.samples || is_behind(own->round.end, acked_to))
		round_begun(&own->round, next);
	round_sampled(&own->round, own->seen.rtt);
	own->seen.span = backlog_shown(cwnd, own->seen.least, own->round.least);
}

static __always_inline int veno_is_light(const struct lasthop_words *own, __u32 cwnd, __u32 backlog)
{
	return !own->begun || backlog_beyond(cwnd, own->seen.least, own->round.least, backlog) < 0;
}

static __always_inline void veno_grown(const struct lasthop_words *own, struct lasthop_window *window, __u32 backlog, __u32 acked)
{
	if (is_slow_start(window)) {
		acked = window_slow_started(window, acked);
		if (!acked)
			return;
	}
	/* Every second round trip only: twice as many segments for one. */
	window_increased(window, veno_is_light(own, window->cwnd, backlog) ? window->cwnd : 2 * window->cwnd, acked);
}

static __always_inline enum lasthop_outcome veno_judged(struct lasthop_words *own, __u32 backlog)
{
	if (!own->begun)
		return OUTCOME_NO_SAMPLE;
	own->seen.span = backlog_shown(own->seen.base, own->seen.least, own->round.least);
	own->seen.limit = saturated((__u64)backlog << SHOWN_PLACES);
	return veno_is_light(own, own->seen.base, backlog) ? OUTCOME_WIRELESS : OUTCOME_CONGESTION;
}

#endif
