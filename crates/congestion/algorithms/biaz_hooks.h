/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The hooks of Biaz and mBiaz, which differ only in the default of bound_quarters.
 */
#ifndef LASTHOP_BIAZ_HOOKS_H
#define LASTHOP_BIAZ_HOOKS_H

#include "biaz.h"

/*
 * An acknowledgement: takes the sample if there is one, and what has been delivered. With SACK, the
 * kernel counts segments behind a hole (sacked_out) before it calls this hook. Without SACK it
 * counts duplicate acknowledgements afterwards, so a hole shows one acknowledgement later.
 */
static __always_inline void arrival_seen(struct sock *sk, const struct ack_sample *sample, __u32 gain, __u32 quantum)
{
	struct lasthop_words *own = own_words(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (has_sample(sample))
		sample_taken(own, sample, gain, quantum);
	biaz_acked(own, tp->tcp_mstamp, tp->delivered, tp->sacked_out);
}

#define BIAZ_HOOKS(number)                                                                                                       \
	DETECTOR_HOOKS(number, biaz_judged(own, bound_quarters))                                                                 \
	HOOK(void, pkts_acked, struct sock *sk, const struct ack_sample *sample)                                                 \
	{                                                                                                                        \
		arrival_seen(sk, sample, gain, quantum_us);                                                                      \
	}

#endif
