/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Biaz (Biaz and Vaidya 1999) and mBiaz (Cen, Cosman, Voelker 2003); Lien 2009 section 5.1,
 * equation 5.1: after a wireless loss, the next segment arrives when it would have arrived anyway.
 *
 *     random if  (n + 1) T_min <= T_i < (n + 2) T_min            mBiaz: (n + 1.25) T_min
 *
 * The publications measure arrivals at the receiver. This is sender-only: it measures times between
 * acknowledgements, each of which may deliver several segments. With d segments delivered since the
 * last acknowledgement in order, (n + d) and (n + d + bound) replace (n + 1) and (n + 2).
 */
#ifndef LASTHOP_BIAZ_H
#define LASTHOP_BIAZ_H

#include "loss.h"

/* An acknowledgement: now in us; segments delivered so far (wraps); segments behind a hole. */
static __always_inline void biaz_acked(struct lasthop_words *own, __u64 now, __u32 delivered, __u32 sacked)
{
	__u32 d = delivered - own->clock.delivered;

	if (sacked) {
		if (own->clocked) {
			own->seen.span = now > own->clock.then ? saturated(now - own->clock.then) : 0;
			own->seen.spanned = d;
		}
		return;
	}
	if (!d)
		return;
	if (own->clocked && now > own->clock.then) {
		/*
		 * At most an hour, so that its 8 binary places fit. At least one unit, because 0
		 * means that there is no value.
		 */
		__u64 each = (((__u64)saturated(now - own->clock.then) << SHOWN_PLACES) + d / 2) / d;
		__u32 shown = saturated(each ? each : 1);

		if (!own->seen.least || shown < own->seen.least)
			own->seen.least = shown;
	}
	own->clocked = 1;
	own->clock.then = now;
	own->clock.delivered = delivered;
}

static __always_inline enum lasthop_outcome biaz_judged(struct lasthop_words *own, __u32 bound_quarters)
{
	__u64 lower, upper, span;

	if (!own->seen.least)
		return OUTCOME_NO_SAMPLE;
	/*
	 * In quarters of a unit. More than 2^24 segments would overflow, and no window is that
	 * large.
	 */
	lower = ((__u64)own->seen.n + bounded(own->seen.spanned, 0, 1 << 24)) * 4 * own->seen.least;
	upper = lower + (__u64)bounded(bound_quarters, 1, 1000) * own->seen.least;
	span = (__u64)own->seen.span << (SHOWN_PLACES + 2);
	own->seen.limit = saturated((upper + 2) / 4);
	return lower <= span && span < upper ? OUTCOME_WIRELESS : OUTCOME_CONGESTION;
}

#endif
