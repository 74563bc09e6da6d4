// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Westwood+ (Grieco and Mascolo 2004): after a loss, the window is what the path was measured to
 * deliver.
 */
#include "kernel_side.h"
#include "westwood.h"

COMMON_PARAMETERS(4);

HOOK(void, init, struct sock *sk)
{
	connection_begun(sk, LASTHOP_WESTWOOD);
}

HOOK(void, pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct lasthop_words *own = own_words(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (has_sample(sample))
		least_rtt_kept(own, sample_taken(own, sample, gain, quantum_us));
	westwood_acked(own, tp->tcp_mstamp, tp->delivered);
}

HOOK(__u32, ssthresh, struct sock *sk)
{
	return loss_judged(reduction_begun(sk), OUTCOME_NONE, 0);
}

/* After a timeout, the threshold is what the path holds. The window is 1 segment, as always. */
HOOK(void, set_state, struct sock *sk, __u8 new_state)
{
	struct lasthop_words *own = own_words(sk);
	int was_pending = own->pending;

	state_settled(sk, new_state);
	if (was_pending && new_state == STATE_LOSS)
		tcp_sk(sk)->snd_ssthresh = westwood_threshold(own);
}

/*
 * During recovery, PRR goes to half the window. At its end, window and threshold become what the
 * path holds.
 */
HOOK(void, cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = tcp_sk(sk);
	__u32 threshold;

	if (!IS_COMPLETE_CWR(event))
		return;
	threshold = westwood_threshold(own_words(sk));
	tp->snd_ssthresh = threshold;
	tcp_snd_cwnd_set(tp, threshold);
}

HOOK(__u32, undo_cwnd, struct sock *sk)
{
	return window_undone(sk);
}

HOOK(void, cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	newreno_avoided(sk, acked);
}

ALGORITHM(westwood, BESIDE_KERNELS("westwood"), ALL_HOOKS, .cwnd_event = (void *)cwnd_event);
