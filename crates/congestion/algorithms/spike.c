// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Spike (Tobe and others 2000), sender-only: losses while the round-trip time is far above its
 * minimum are congestion.
 */
#include "kernel_side.h"
#include "spike.h"

COMMON_PARAMETERS(4);
WIRELESS_PARAMETER;
PARAMETER(spike_start_us, 20000, "a spike begins that far above the least round-trip time, us");
PARAMETER(spike_end_us, 5000, "a spike ends that near above the least round-trip time, us");

DETECTOR_HOOKS(LASTHOP_SPIKE, spike_judged(own, spike_start_us, spike_end_us))

HOOK(void, pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct lasthop_words *own = own_words(sk);

	if (!has_sample(sample))
		return;
	least_rtt_kept(own, sample_taken(own, sample, gain, quantum_us));
	spike_sampled(own, spike_start_us, spike_end_us);
}

NEWRENO_HOOKS

ALGORITHM(spike, "spike", ALL_HOOKS);
