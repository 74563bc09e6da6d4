/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Loss events: how the window is reduced, and what for.
 *
 * The kernel asks for a threshold first and says afterwards, by the state it goes into, what it was
 * for. So a detector judges provisionally; a retransmission timeout or a reduction without a hole
 * in what was delivered (a full transmit queue, ECN) takes the verdict back: those are congestion
 * without a detector's say (Lien 2009 section 5.2.3; reading AMB-N5).
 */
#ifndef LASTHOP_LOSS_H
#define LASTHOP_LOSS_H

#include "state.h"
#include "window.h"

/* The kernel's states of a connection (enum tcp_ca_state, include/uapi/linux/tcp.h). */
enum lasthop_ca_state { STATE_OPEN = 0, STATE_CWR = 2, STATE_RECOVERY = 3, STATE_LOSS = 4 };

/* What a detector says of a loss event. */
enum lasthop_outcome { OUTCOME_NONE, OUTCOME_WIRELESS, OUTCOME_CONGESTION, OUTCOME_NO_SAMPLE };

/* What is known when a threshold is asked for: n and base. */
static __always_inline void loss_begun(struct lasthop_words *own, __u32 cwnd, __u32 lost)
{
	own->seen.n = bounded(lost, 1, 0xffff);
	own->seen.base = cwnd;
	own->seen.limit = 0;
	own->pending = 1;
}

/* The detector has spoken: the threshold, segments. */
static __always_inline __u32 loss_judged(struct lasthop_words *own, enum lasthop_outcome outcome, __u32 wireless_percent)
{
	own->seen.verdict = outcome == OUTCOME_NONE ? VERDICT_NONE : outcome == OUTCOME_WIRELESS ? VERDICT_WIRELESS : VERDICT_CONGESTION;
	own->seen.reason = outcome == OUTCOME_NONE ? REASON_NONE : outcome == OUTCOME_NO_SAMPLE ? REASON_NO_SAMPLE : REASON_DETECTOR;
	return outcome == OUTCOME_WIRELESS ? window_share(own->seen.base, wireless_percent) : window_halved(own->seen.base);
}

/*
 * The kernel goes into a state: the threshold that must be written in place of the one that was
 * given, 0 if it was right.
 */
static __always_inline __u32 loss_settled(struct lasthop_words *own, __u32 state, __u32 lost)
{
	int was_pending = own->pending;

	own->pending = 0;
	if (state == STATE_LOSS) {
		own->seen.timeouts += 1;
		own->seen.n = bounded(lost, 1, 0xffff);
		own->seen.verdict = VERDICT_CONGESTION;
		own->seen.reason = REASON_TIMEOUT;
		return was_pending ? window_halved(own->seen.base) : 0;
	}
	if (!was_pending)
		return 0;
	if (state == STATE_RECOVERY) {
		own->seen.events += 1;
		own->seen.wireless += own->seen.verdict == VERDICT_WIRELESS;
	} else if (state == STATE_CWR) {
		own->seen.local += 1;
		own->seen.verdict = VERDICT_CONGESTION;
		own->seen.reason = REASON_LOCAL;
		return window_halved(own->seen.base);
	}
	return 0;
}

#endif
