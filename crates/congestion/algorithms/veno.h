/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Veno (Fu and Liew 2003): a loss with little backlog is wireless; with a large backlog the window
 * grows at half the speed. The backlog is that of the last completed round trip.
 */
#ifndef LASTHOP_VENO_H
#define LASTHOP_VENO_H

#include "backlog.h"

/* Call before taking a sample. Ends the round if `acked_to` is past it; `next` is sent next. */
static __always_inline void veno_round(struct lasthop_words *own, __u32 cwnd, __u32 acked_to, __u32 next)
{
	if (!own->begun) {
		round_begun(&own->round, next);
	} else if (is_behind(own->round.end, acked_to)) {
		/* A clock that shows a round-trip time of 0 cannot show a backlog. */
		if (own->round.least) {
			own->seen.span = backlog_shown(cwnd, own->seen.least, own->round.least);
			own->phase = 1;
		}
		round_begun(&own->round, next);
	}
}

/* Whether the window grows only in every second round trip. */
static __always_inline int veno_is_heavy(const struct lasthop_words *own, __u32 backlog)
{
	return own->phase && own->seen.span >= (__u64)backlog << SHOWN_PLACES;
}

static __always_inline void veno_grown(const struct lasthop_words *own, struct lasthop_window *window, __u32 backlog, __u32 acked)
{
	if (is_slow_start(window)) {
		acked = window_slow_started(window, acked);
		if (!acked)
			return;
	}
	window_increased(window, veno_is_heavy(own, backlog) ? 2 * window->cwnd : window->cwnd, acked);
}

static __always_inline enum lasthop_outcome veno_judged(struct lasthop_words *own, __u32 backlog)
{
	__u32 waiting = own->seen.span;

	if (!own->phase) {
		/* No round trip has ended: use the current one. */
		if (!own->begun || !own->round.least)
			return OUTCOME_NO_SAMPLE;
		waiting = backlog_shown(own->seen.base, own->seen.least, own->round.least);
	}
	own->seen.limit = saturated((__u64)backlog << SHOWN_PLACES);
	return waiting < (__u64)backlog << SHOWN_PLACES ? OUTCOME_WIRELESS : OUTCOME_CONGESTION;
}

#endif
