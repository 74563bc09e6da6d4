// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* NewZag, version 2 (Lien 2009 section 5.3.3): losses while the round-trip time is below its mean are random. */
#include "kernel_side.h"
#include "zigzag.h"

COMMON_PARAMETERS(4);
WIRELESS_PARAMETER;

HOOK(void, init, struct sock *sk)
{
	connection_begun(sk, LASTHOP_NEWZAG);
}

HOOK(void, pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	if (has_sample(sample))
		sample_taken(own_words(sk), sample, gain, quantum_us);
}

HOOK(__u32, ssthresh, struct sock *sk)
{
	struct lasthop_words *own = reduction_begun(sk);

	return loss_judged(own, newzag_judged(own), wireless_percent);
}

NEWRENO_HOOKS

ALGORITHM(newzag, "newzag", ALL_HOOKS);
