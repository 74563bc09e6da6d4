/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Loss events: how the window is reduced, and for which reason.
 *
 * The kernel asks for a threshold first. Its next state then shows the reason. So a detector judges
 * provisionally. A retransmission timeout, or a reduction without a hole in the delivered data (a
 * full transmit queue, ECN), revokes the verdict: those are congestion whatever the detector says
 * (Lien 2009 section 5.2.3; reading AMB-N5).
 */
#ifndef LASTHOP_LOSS_H
#define LASTHOP_LOSS_H

#include "state.h"
#include "window.h"

/* The kernel's congestion states of a connection (enum tcp_ca_state, include/uapi/linux/tcp.h). */
enum lasthop_ca_state { STATE_OPEN = 0, STATE_CWR = 2, STATE_RECOVERY = 3, STATE_LOSS = 4 };

/* A detector's result for a loss event. */
enum lasthop_outcome { OUTCOME_NONE, OUTCOME_WIRELESS, OUTCOME_CONGESTION, OUTCOME_NO_SAMPLE };

/* Records what is known when the kernel asks for a threshold: n and base. */
static __always_inline void loss_begun(struct lasthop_words *own, __u32 cwnd, __u32 lost)
{
	own->seen.n = bounded(lost, 1, 0xffff);
	own->seen.base = cwnd;
	own->seen.limit = 0;
	own->pending = 1;
}

/* Records the detector's result; returns the threshold in segments. */
static __always_inline __u32 loss_judged(struct lasthop_words *own, enum lasthop_outcome outcome, __u32 wireless_percent)
{
	own->seen.verdict = outcome == OUTCOME_NONE ? VERDICT_NONE : outcome == OUTCOME_WIRELESS ? VERDICT_WIRELESS : VERDICT_CONGESTION;
	own->seen.reason = outcome == OUTCOME_NONE ? REASON_NONE : outcome == OUTCOME_NO_SAMPLE ? REASON_NO_SAMPLE : REASON_DETECTOR;
	return outcome == OUTCOME_WIRELESS ? window_share(own->seen.base, wireless_percent) : window_halved(own->seen.base);
}

/*
 * The kernel enters a state. Returns the threshold that must replace the one that was given, or 0
 * if that was right.
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
