// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* NewZag, version 1 (Lien 2009 section 5.2.1): the fewer segments were lost, the shorter the round-trip time of a random loss. */
#include "kernel_side.h"
#include "zigzag.h"

COMMON_PARAMETERS(4);
WIRELESS_PARAMETER;

HOOK(void, init, struct sock *sk)
{
	connection_begun(sk, LASTHOP_NEWZAG_V1);
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

ALGORITHM(newzag_v1, "newzag_v1", ALL_HOOKS);
