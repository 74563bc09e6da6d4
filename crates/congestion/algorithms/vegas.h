/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Vegas (Brakmo and Peterson 1995; Lien 2009 section 2.4): once per round trip, the window changes
 * by one segment up or down, so that between alpha and beta segments wait in queues. Slow start
 * grows in every other round trip, and ends when more than gamma wait. Vegas's own retransmissions
 * are not implemented: recovery is the kernel's.
 */
#ifndef LASTHOP_VEGAS_H
#define LASTHOP_VEGAS_H

#include "backlog.h"

/* With fewer samples, a round trip may have seen only delayed acknowledgements. */
#define VEGAS_SAMPLES 3

struct vegas_bounds {
	__u32 alpha, beta, gamma; /* segments */
};

static __always_inline void vegas_sampled(struct lasthop_words *own)
{
	round_sampled(&own->round, own->seen.rtt);
}

/* The kernel enters a state. Vegas works in Open only. */
static __always_inline void vegas_settled(struct lasthop_words *own, __u32 state, __u32 next)
{
	own->asleep = state != STATE_OPEN;
	if (!own->asleep)
		round_begun(&own->round, next);
}

/* Adjusts the window after a round trip with enough samples. */
static __always_inline void vegas_adjusted(struct lasthop_words *own, struct lasthop_window *window, struct vegas_bounds bounds,
					   int is_limited)
{
	__u32 cwnd = window->cwnd, least = own->seen.least, rtt = own->round.least;

	if (is_slow_start(window)) {
		__u32 wanted;

		if (backlog_beyond(cwnd, least, rtt, bounds.gamma) <= 0)
			return;
		/* What the path holds without a queue, plus one. */
		wanted = (__u64)cwnd * least / rtt + 1;
		cwnd = wanted < cwnd ? wanted : cwnd;
		cwnd = cwnd < 2 ? 2 : cwnd;
		window->ssthresh = cwnd;
	} else if (backlog_beyond(cwnd, least, rtt, bounds.beta) > 0) {
		cwnd = cwnd > 3 ? cwnd - 1 : 2;
		if (window->ssthresh > cwnd)
			window->ssthresh = cwnd;
	} else if (is_limited && backlog_beyond(cwnd, least, rtt, bounds.alpha) < 0) {
		cwnd += 1;
	}
	window_set(window, cwnd);
}

/* Segments are acknowledged up to `acked_to`; `next` is the next sequence number to send. */
static __always_inline void vegas_grown(struct lasthop_words *own, struct lasthop_window *window, struct vegas_bounds bounds,
					__u32 acked, __u32 acked_to, __u32 next, int is_limited)
{
	if (own->asleep) {
		if (is_limited)
			window_grown(window, acked);
		return;
	}
	if (is_behind(own->round.end, acked_to)) {
		if (own->round.samples >= VEGAS_SAMPLES)
			vegas_adjusted(own, window, bounds, is_limited);
		else if (is_limited)
			window_grown(window, acked);
		own->phase = !own->phase;
		round_begun(&own->round, next);
	} else if (own->phase && is_limited && is_slow_start(window)) {
		window_slow_started(window, acked);
	}
}

#endif
