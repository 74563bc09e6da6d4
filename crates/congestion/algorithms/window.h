/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The congestion window by NewReno's rules (RFC 5681 section 3.1, RFC 6582), in segments. Recovery
 * itself is the kernel's (PRR, RACK).
 */
#ifndef LASTHOP_WINDOW_H
#define LASTHOP_WINDOW_H

#include "samples.h"

struct lasthop_window {
	__u32 cwnd;
	__u32 count;    /* segments acknowledged towards the next additive increase */
	__u32 ssthresh;
	__u32 most;     /* snd_cwnd_clamp */
};

/*
 * The threshold after congestion: half, at least 2. This is RFC 5681 equation 4 as the kernel reads
 * it: half of cwnd, not of the data in flight.
 */
static __always_inline __u32 window_halved(__u32 cwnd)
{
	return cwnd / 2 < 2 ? 2 : cwnd / 2;
}

/* The threshold after a wireless loss: `percent` of the window, at least 2. */
static __always_inline __u32 window_share(__u32 cwnd, __u32 percent)
{
	__u32 share = (__u64)cwnd * bounded(percent, 1, 100) / 100;

	return share < 2 ? 2 : share;
}

static __always_inline int is_slow_start(const struct lasthop_window *window)
{
	return window->cwnd < window->ssthresh;
}

static __always_inline void window_set(struct lasthop_window *window, __u32 cwnd)
{
	window->cwnd = cwnd < window->most ? cwnd : window->most;
}

/* Slow start: one segment per acknowledged segment, up to ssthresh. Returns the rest. */
static __always_inline __u32 window_slow_started(struct lasthop_window *window, __u32 acked)
{
	__u32 room = window->ssthresh - window->cwnd;
	__u32 used = acked < room ? acked : room;

	window_set(window, window->cwnd + used);
	return acked - used;
}

/* Additive increase: one segment per `per` acknowledged segments. */
static __always_inline void window_increased(struct lasthop_window *window, __u32 per, __u32 acked)
{
	__u32 cwnd = window->cwnd;

	if (!per)
		return;
	if (window->count >= per) { /* left from when more segments were needed */
		window->count = 0;
		cwnd += 1;
	}
	window->count += acked;
	if (window->count >= per) {
		cwnd += window->count / per;
		window->count %= per;
	}
	window_set(window, cwnd);
}

/* Grows the window for acknowledged segments. Only for a sender that the window limits. */
static __always_inline void window_grown(struct lasthop_window *window, __u32 acked)
{
	if (is_slow_start(window)) {
		acked = window_slow_started(window, acked);
		if (!acked)
			return;
	}
	window_increased(window, window->cwnd, acked);
}

#endif
