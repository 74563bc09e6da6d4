// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Vegas (Brakmo and Peterson 1995): the window follows the number of segments that wait in queues.
 * Losses are handled as in NewReno.
 */
#include "kernel_side.h"
#include "vegas.h"

COMMON_PARAMETERS(4);
PARAMETER(alpha, 2, "with less waiting in queues the window grows, segments");
PARAMETER(beta, 4, "with more waiting in queues the window shrinks, segments");
PARAMETER(gamma, 1, "with more waiting in queues slow start ends, segments");

HOOK(void, init, struct sock *sk)
{
	vegas_settled(connection_begun(sk, LASTHOP_VEGAS), STATE_OPEN, tcp_sk(sk)->snd_nxt);
}

HOOK(void, pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct lasthop_words *own = own_words(sk);

	if (!has_sample(sample))
		return;
	least_rtt_kept(own, sample_taken(own, sample, gain, quantum_us));
	vegas_sampled(own);
}

HOOK(void, cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct vegas_bounds bounds = { .alpha = alpha, .beta = beta, .gamma = gamma };
	struct tcp_sock *tp = tcp_sk(sk);
	struct lasthop_window window = window_of(tp);

	vegas_grown(own_words(sk), &window, bounds, acked, ack, tp->snd_nxt, is_limited(tp, &window));
	window_stored(tp, &window);
}

HOOK(__u32, ssthresh, struct sock *sk)
{
	return loss_judged(reduction_begun(sk), OUTCOME_NONE, 0);
}

HOOK(void, set_state, struct sock *sk, __u8 new_state)
{
	state_settled(sk, new_state);
	vegas_settled(own_words(sk), new_state, tcp_sk(sk)->snd_nxt);
}

HOOK(__u32, undo_cwnd, struct sock *sk)
{
	return window_undone(sk);
}

ALGORITHM(vegas, BESIDE_KERNELS("vegas"), ALL_HOOKS);
