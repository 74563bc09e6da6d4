/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Westwood+ (Grieco and Mascolo 2004), which is what Lien 2009 compared with (reading AMB-B4): the
 * threshold after a loss is what the path delivers in the least round-trip time. One sample of the
 * bandwidth in each round trip, over 50 ms at least; two low-pass filters of 7/8 behind each other.
 * Bandwidths in segments a second << 8: segments are equal, so that their length need not be known.
 */
#ifndef LASTHOP_WESTWOOD_H
#define LASTHOP_WESTWOOD_H

#include "loss.h"

#define WESTWOOD_SHORTEST 50000 /* us */
#define SECOND 1000000          /* us */

/* 7/8 of the old, 1/8 of the new, to the nearest. */
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

/* Bandwidth times least round-trip time, segments, at least 2. */
static __always_inline __u32 westwood_threshold(const struct lasthop_words *own)
{
	__u32 pipe = saturated((__u64)own->clock.bandwidth * own->seen.least / ((__u64)SECOND << SHOWN_PLACES));

	return pipe < 2 ? 2 : pipe;
}

#endif
