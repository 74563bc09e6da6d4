// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Biaz (Biaz and Vaidya 1999), sender-only: a random loss does not change when the segments behind it arrive. */
#include "kernel_side.h"
#include "biaz.h"

COMMON_PARAMETERS(4);
WIRELESS_PARAMETER;
PARAMETER(bound_quarters, 4, "width of the interval of random losses, quarters of T_min");

HOOK(void, init, struct sock *sk)
{
	connection_begun(sk, LASTHOP_BIAZ);
}

HOOK(void, pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct lasthop_words *own = own_words(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (has_sample(sample))
		sample_taken(own, sample, gain, quantum_us);
	biaz_acked(own, tp->tcp_mstamp, tp->delivered, tp->sacked_out);
}

HOOK(__u32, ssthresh, struct sock *sk)
{
	struct lasthop_words *own = reduction_begun(sk);

	return loss_judged(own, biaz_judged(own, bound_quarters), wireless_percent);
}

NEWRENO_HOOKS

ALGORITHM(biaz, "biaz", ALL_HOOKS);
