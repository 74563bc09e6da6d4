/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * NewZag in both versions (Lien 2009 sections 5.2.1 and 5.3.3), and ZigZag (Cen, Cosman, Voelker
 * 2003), whose rule NewZag version 1 took over. They compare the round-trip time with its mean and
 * deviation, depending on the number of lost segments. ZigZag proper measures relative one-way trip
 * times at the receiver; this one is sender-only and uses round-trip times.
 */
#ifndef LASTHOP_ZIGZAG_H
#define LASTHOP_ZIGZAG_H

#include "loss.h"

/* Limits in us << 8; they can be negative. */
static __always_inline __s64 newzag_limit(__u32 mean, __u32 dev, __u32 n)
{
	return n <= 3 ? (__s64)mean : (__s64)mean + dev / 2;
}

static __always_inline __s64 zigzag_limit(__u32 mean, __u32 dev, __u32 n)
{
	if (n <= 1)
		return (__s64)mean - dev;
	if (n == 2)
		return (__s64)mean - dev / 2;
	return newzag_limit(mean, dev, n);
}

/* Compares the last sample with a limit; equal is congestion. */
static __always_inline enum lasthop_outcome below_limit(struct lasthop_words *own, __s64 limit)
{
	if (!own->begun)
		return OUTCOME_NO_SAMPLE;
	own->seen.limit = limit < 0 ? 0 : saturated(limit);
	return ((__s64)own->seen.rtt << SHOWN_PLACES) < limit ? OUTCOME_WIRELESS : OUTCOME_CONGESTION;
}

static __always_inline enum lasthop_outcome newzag_judged(struct lasthop_words *own)
{
	return below_limit(own, newzag_limit(own->seen.mean, own->seen.dev, own->seen.n));
}

static __always_inline enum lasthop_outcome zigzag_judged(struct lasthop_words *own)
{
	return below_limit(own, zigzag_limit(own->seen.mean, own->seen.dev, own->seen.n));
}

#endif
