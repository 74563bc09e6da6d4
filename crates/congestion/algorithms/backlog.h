/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The backlog of Vegas and Veno: segments in flight that wait in queues, N = cwnd (1 -
 * BaseRTT/RTT). RTT is the minimum of a round trip.
 */
#ifndef LASTHOP_BACKLOG_H
#define LASTHOP_BACKLOG_H

#include "loss.h"

/* Whether `number` is before `other` (RFC 9293 section 3.4). */
static __always_inline int is_behind(__u32 number, __u32 other)
{
	return (__s32)(number - other) < 0;
}

static __always_inline void round_begun(struct lasthop_round *round, __u32 next)
{
	round->end = next;
	round->samples = 0;
}

static __always_inline void round_sampled(struct lasthop_round *round, __u32 rtt)
{
	if (!round->samples || rtt < round->least)
		round->least = rtt;
	round->samples += 1;
}

/* N in segments << 8, rounded down, so that it is below a whole number exactly if N is. */
static __always_inline __u32 backlog_shown(__u32 cwnd, __u32 base_rtt, __u32 rtt)
{
	if (rtt <= base_rtt)
		return 0;
	return saturated(((__u64)cwnd << SHOWN_PLACES) * (rtt - base_rtt) / rtt);
}

/*
 * (N - segments) times RTT, whose sign is exact. A coarse clock may show a round-trip time of 0:
 * then nothing waits.
 */
static __always_inline __s64 backlog_beyond(__u32 cwnd, __u32 base_rtt, __u32 rtt, __u32 segments)
{
	__s64 waiting = rtt > base_rtt ? (__s64)cwnd * (rtt - base_rtt) : 0;

	return waiting - (__s64)segments * (rtt ? rtt : 1);
}

#endif
