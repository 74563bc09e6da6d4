// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Veno (Fu and Liew 2003): losses with little backlog in the queues are wireless. */
#include "kernel_side.h"
#include "veno.h"

COMMON_PARAMETERS(4);
WIRELESS_PARAMETER;
PARAMETER(backlog, 3, "a path with that much waiting in its queues is congested, segments");

HOOK(void, init, struct sock *sk)
{
	connection_begun(sk, LASTHOP_VENO);
}

HOOK(void, pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct lasthop_words *own = own_words(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!has_sample(sample))
		return;
	veno_round(own, tcp_snd_cwnd(tp), tp->snd_una, tp->snd_nxt);
	least_rtt_kept(own, sample_taken(own, sample, gain, quantum_us));
	round_sampled(&own->round, own->seen.rtt);
}

HOOK(void, cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct lasthop_window window = window_of(tp);

	if (!is_limited(tp, &window))
		return;
	veno_grown(own_words(sk), &window, backlog, acked);
	window_stored(tp, &window);
}

HOOK(__u32, ssthresh, struct sock *sk)
{
	struct lasthop_words *own = reduction_begun(sk);

	return loss_judged(own, veno_judged(own, backlog), wireless_percent);
}

RECOVERY_HOOKS

ALGORITHM(veno, BESIDE_KERNELS("veno"), ALL_HOOKS);
