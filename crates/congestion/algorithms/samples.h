/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Round-trip times: valid samples, their mean and their deviation.
 *
 *     RTT_dev  = (1 - 2a) RTT_dev + 2a |RTT_i - RTT_mean|        Lien 2009, equations 5.3 and 5.4, a = 2^-gain;
 *     RTT_mean = (1 - a) RTT_mean + a RTT_i                      the deviation is from the mean before this sample
 *
 * The first sample R sets them to R and R/2 (as RFC 6298 section 2.2 does). They are kept with 24
 * binary places and shown with 8.
 */
#ifndef LASTHOP_SAMPLES_H
#define LASTHOP_SAMPLES_H

#include "state.h"

#define KEPT_PLACES 24
#define SHOWN_PLACES 8
#define LONGEST_RTT ((1u << 24) - 1)

/* Clamps a value, for parameters that may hold any number. */
static __always_inline __u32 bounded(__u32 value, __u32 least, __u32 most)
{
	return value < least ? least : value > most ? most : value;
}

/* Clamps a value to 32 bits. */
static __always_inline __u32 saturated(__u64 value)
{
	return value > 0xffffffff ? 0xffffffff : (__u32)value;
}

/* value / 2^places, to the nearest, halves upward; places is at least 1. */
static __always_inline __s64 rounded_shift(__s64 value, __u32 places)
{
	return (value + ((__s64)1 << (places - 1))) >> places;
}

/*
 * Rounds a valid sample in us to a multiple of the quantum, halves upward. A quantum of 0 or 1
 * leaves it unchanged.
 */
static __always_inline __u32 rtt_quantised(__u32 rtt, __u32 quantum)
{
	__u64 nearest = rtt;

	if (quantum > 1)
		nearest = (nearest + quantum / 2) / quantum * quantum;
	return nearest > LONGEST_RTT ? LONGEST_RTT : (__u32)nearest;
}

/* Takes a quantised sample in us; returns whether it was the first. Gains are from 2 to 8. */
static __always_inline int rtt_sampled(struct lasthop_words *own, __u32 rtt, __u32 gain)
{
	__s64 sample = (__s64)rtt << KEPT_PLACES;
	int is_first = !own->begun;

	if (is_first) {
		own->begun = 1;
		own->mean = sample;
		own->dev = sample >> 1;
	} else {
		__s64 mean = own->mean, dev = own->dev, error = sample - mean;

		gain = bounded(gain, 2, 8);
		own->dev = dev + rounded_shift((error < 0 ? -error : error) - dev, gain - 1);
		own->mean = mean + rounded_shift(error, gain);
	}
	own->seen.rtt = rtt;
	own->seen.samples += 1;
	own->seen.mean = rounded_shift(own->mean, KEPT_PLACES - SHOWN_PLACES);
	own->seen.dev = rounded_shift(own->dev, KEPT_PLACES - SHOWN_PLACES);
	return is_first;
}

/* Keeps the minimum of the samples, for the algorithms that need it. */
static __always_inline void least_rtt_kept(struct lasthop_words *own, int is_first)
{
	if (is_first || own->seen.rtt < own->seen.least)
		own->seen.least = own->seen.rtt;
}

#endif
