// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* NewReno (RFC 5681, RFC 6582) without a detector: the baseline for the others. */
#include "kernel_side.h"

COMMON_PARAMETERS(4);

HOOK(void, init, struct sock *sk)
{
	connection_begun(sk, LASTHOP_NEWRENO);
}

HOOK(void, pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	if (has_sample(sample))
		sample_taken(own_words(sk), sample, gain, quantum_us);
}

HOOK(__u32, ssthresh, struct sock *sk)
{
	return loss_judged(reduction_begun(sk), OUTCOME_NONE, 0);
}

NEWRENO_HOOKS

ALGORITHM(newreno, "newreno", ALL_HOOKS);
