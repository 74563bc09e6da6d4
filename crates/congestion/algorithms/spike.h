/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Spike (Tobe, Tamura, Molano, Ghosh, Tokuda 2000; Lien 2009 section 5.1): losses while the trip
 * time is far above its minimum are congestion, others wireless. Sender-only: round-trip times
 * replace relative one-way trip times.
 */
#ifndef LASTHOP_SPIKE_H
#define LASTHOP_SPIKE_H

#include "loss.h"

/*
 * The border that would change the state, in us: the upper one outside a spike, the lower one in a
 * spike.
 */
static __always_inline __u64 spike_border(const struct lasthop_words *own, __u32 start, __u32 end)
{
	return (__u64)own->seen.least + (own->seen.span ? end : start);
}

/* Updates the state after each sample; the minimum must include this sample. */
static __always_inline void spike_sampled(struct lasthop_words *own, __u32 start, __u32 end)
{
	__u64 border = spike_border(own, start, end);

	if (own->seen.span ? own->seen.rtt < border : own->seen.rtt > border)
		own->seen.span = !own->seen.span;
}

static __always_inline enum lasthop_outcome spike_judged(struct lasthop_words *own, __u32 start, __u32 end)
{
	if (!own->begun)
		return OUTCOME_NO_SAMPLE;
	own->seen.limit = saturated(spike_border(own, start, end) << SHOWN_PLACES);
	return own->seen.span ? OUTCOME_CONGESTION : OUTCOME_WIRELESS;
}

#endif
