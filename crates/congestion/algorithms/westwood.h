/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Westwood+ (Grieco and Mascolo 2004), with which Lien 2009 compared (reading AMB-B4): the
 * threshold after a loss is what the path delivers in the minimum round-trip time. The bandwidth is
 * sampled once per round trip, over at least 50 ms, and goes through two low-pass filters of 7/8 in
 * series. Its unit is segments per second << 8: all segments are equal, so their length need not be
 * known.
 */
#ifndef LASTHOP_WESTWOOD_H
#define LASTHOP_WESTWOOD_H

#include "loss.h"

#define WESTWOOD_SHORTEST 50000 /* us */
#define SECOND 1000000          /* us */

/* 7/8 of the old value and 1/8 of the new one, rounded to the nearest. */
static __always_inline __u32 westwood_filtered(__u32 old, __u32 sample)
{
	return (7 * (__u64)old + sample + 4) / 8;
}

/* An acknowledgement: now in us, segments delivered so far (wraps). */
static __always_inline void westwood_acked(struct lasthop_words *own, __u64 now, __u32 delivered)
{
	__u32 since, sample;

	if (!own->clocked) {
		own->clocked = 1;
		own->clock.then = now;
		own->clock.delivered = delivered;
		return;
	}
	since = now > own->clock.then ? saturated(now - own->clock.then) : 0;
	if (since < WESTWOOD_SHORTEST || since < own->seen.rtt)
		return;
	sample = saturated((((__u64)(delivered - own->clock.delivered) * SECOND << SHOWN_PLACES) + since / 2) / since);
	if (!own->clock.first && !own->clock.bandwidth) {
		own->clock.first = sample;
		own->clock.bandwidth = sample;
	} else {
		own->clock.first = westwood_filtered(own->clock.first, sample);
		own->clock.bandwidth = westwood_filtered(own->clock.bandwidth, own->clock.first);
	}
	own->clock.then = now;
	own->clock.delivered = delivered;
}

/* Bandwidth times minimum round-trip time, in segments, at least 2. */
static __always_inline __u32 westwood_threshold(const struct lasthop_words *own)
{
	__u32 pipe = saturated((__u64)own->clock.bandwidth * own->seen.least / ((__u64)SECOND << SHOWN_PLACES));

	return pipe < 2 ? 2 : pipe;
}

#endif
