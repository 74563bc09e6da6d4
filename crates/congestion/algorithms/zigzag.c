// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* ZigZag (Cen, Cosman, Voelker 2003), sender-only: round-trip times in place of relative one-way trip times. */
#include "kernel_side.h"
#include "zigzag.h"

COMMON_PARAMETERS(5);
WIRELESS_PARAMETER;

HOOK(void, init, struct sock *sk)
{
	connection_begun(sk, LASTHOP_ZIGZAG);
}

HOOK(void, pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	if (has_sample(sample))
		sample_taken(own_words(sk), sample, gain, quantum_us);
}

HOOK(__u32, ssthresh, struct sock *sk)
{
	struct lasthop_words *own = reduction_begun(sk);

	return loss_judged(own, zigzag_judged(own), wireless_percent);
}

NEWRENO_HOOKS

ALGORITHM(zigzag, "zigzag", ALL_HOOKS);
