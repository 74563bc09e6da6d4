/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the hooks of all algorithms do with the kernel's structures. Everything else is arithmetic
 * in the other headers, which user space can include too. No algorithm has cong_control: recovery
 * is the kernel's, with PRR and RACK.
 */
#ifndef LASTHOP_HOOKS_H
#define LASTHOP_HOOKS_H

#include "loss.h"

/* init: clears the words and writes the mark. */
static __always_inline struct lasthop_words *connection_begun(struct sock *sk, enum lasthop_number number)
{
	struct lasthop_words *own = own_words(sk);

	__builtin_memset(own, 0, sizeof(*own));
	own->seen.mark = LASTHOP_MARK | number;
	return own;
}

/*
 * pkts_acked: whether the acknowledgement brings a valid sample. The kernel gives -1 for
 * retransmitted segments.
 */
static __always_inline int has_sample(const struct ack_sample *sample)
{
	return sample->rtt_us > 0;
}

/* pkts_acked: takes a valid sample; returns whether it was the first. */
static __always_inline int sample_taken(struct lasthop_words *own, const struct ack_sample *sample, __u32 gain, __u32 quantum)
{
	return rtt_sampled(own, rtt_quantised(sample->rtt_us, quantum), gain);
}

/* ssthresh: a loss, or another reason for a smaller window. */
static __always_inline struct lasthop_words *reduction_begun(struct sock *sk)
{
	struct lasthop_words *own = own_words(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	loss_begun(own, tcp_snd_cwnd(tp), tp->lost_out);
	return own;
}

/* set_state: corrects the threshold once the reason for the reduction is known. */
static __always_inline void state_settled(struct sock *sk, __u8 state)
{
	struct tcp_sock *tp = tcp_sk(sk);
	__u32 threshold = loss_settled(own_words(sk), state, tp->lost_out);

	if (threshold)
		tp->snd_ssthresh = threshold;
}

/*
 * undo_cwnd: the reduction was unnecessary; returns the window before it, unless the present one is
 * larger.
 */
static __always_inline __u32 window_undone(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	__u32 cwnd = tcp_snd_cwnd(tp), prior = tp->prior_cwnd;

	return cwnd > prior ? cwnd : prior;
}

static __always_inline struct lasthop_window window_of(const struct tcp_sock *tp)
{
	struct lasthop_window window = {
		.cwnd = tcp_snd_cwnd(tp),
		.count = tp->snd_cwnd_cnt,
		.ssthresh = tp->snd_ssthresh,
		.most = tp->snd_cwnd_clamp,
	};

	return window;
}

static __always_inline void window_stored(struct tcp_sock *tp, const struct lasthop_window *window)
{
	if (tcp_snd_cwnd(tp) != window->cwnd)
		tcp_snd_cwnd_set(tp, window->cwnd);
	tp->snd_cwnd_cnt = window->count;
	if (tp->snd_ssthresh != window->ssthresh)
		tp->snd_ssthresh = window->ssthresh;
}

/*
 * Whether the window is what limits the sender. Otherwise a larger window would be untested
 * (RFC 7661 section 1). In slow start, a window of which more than half was used may grow, so that
 * it doubles.
 */
static __always_inline int is_limited(const struct tcp_sock *tp, const struct lasthop_window *window)
{
	if (was_window_limited(tp))
		return 1;
	return is_slow_start(window) && window->cwnd < 2 * tp->max_packets_out;
}

/* cong_avoid by NewReno's rules. */
static __always_inline void newreno_avoided(struct sock *sk, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct lasthop_window window = window_of(tp);

	if (!is_limited(tp, &window))
		return;
	window_grown(&window, acked);
	window_stored(tp, &window);
}

/*
 * The hooks shared by all algorithms with NewReno's window rules. With `per_ack`, the window grows
 * as it did before Linux 3.15 counted segments (RFC 3465): half as fast if every second segment is
 * acknowledged.
 */
#define NEWRENO_HOOKS                                                                                                            \
	PARAMETER(per_ack, 0, "1: the window grows by acknowledgements, 0: by segments");                                        \
	HOOK(void, cong_avoid, struct sock *sk, __u32 ack, __u32 acked)                                                          \
	{                                                                                                                        \
		newreno_avoided(sk, per_ack && acked ? 1 : acked);                                                               \
	}                                                                                                                        \
	RECOVERY_HOOKS

/* init and ssthresh of a detector; `judgement` evaluates the loss event in `own`. */
#define DETECTOR_HOOKS(number, judgement)                                                                                        \
	HOOK(void, init, struct sock *sk)                                                                                        \
	{                                                                                                                        \
		connection_begun(sk, number);                                                                                    \
	}                                                                                                                        \
	HOOK(__u32, ssthresh, struct sock *sk)                                                                                   \
	{                                                                                                                        \
		struct lasthop_words *own = reduction_begun(sk);                                                                 \
		return loss_judged(own, judgement, wireless_percent);                                                            \
	}

/* pkts_acked of a detector that only uses mean and deviation of round-trip times. */
#define SAMPLING_HOOK                                                                                                            \
	HOOK(void, pkts_acked, struct sock *sk, const struct ack_sample *sample)                                                 \
	{                                                                                                                        \
		if (has_sample(sample))                                                                                          \
			sample_taken(own_words(sk), sample, gain, quantum_us);                                                   \
	}

/* set_state and undo_cwnd, the same in all algorithms except Vegas and Westwood. */
#define RECOVERY_HOOKS                                                                                                           \
	HOOK(void, set_state, struct sock *sk, __u8 new_state)                                                                   \
	{                                                                                                                        \
		state_settled(sk, new_state);                                                                                    \
	}                                                                                                                        \
	HOOK(__u32, undo_cwnd, struct sock *sk)                                                                                  \
	{                                                                                                                        \
		return window_undone(sk);                                                                                        \
	}

/* The parameters of every algorithm. */
#define COMMON_PARAMETERS(its_gain)                                                                                              \
	PARAMETER(gain, its_gain, "gain of RTT mean and deviation is 2^-gain, 2 to 8");                                          \
	PARAMETER(quantum_us, 0, "round-trip times are multiples of this, us; 0: as measured")

#define WIRELESS_PARAMETER                                                                                                       \
	PARAMETER(wireless_percent, 80, "window after a wireless loss, percent, 1 to 100")

#define ALL_HOOKS                                                                                                                \
	.init = (void *)init, .ssthresh = (void *)ssthresh, .cong_avoid = (void *)cong_avoid, .set_state = (void *)set_state,    \
	.undo_cwnd = (void *)undo_cwnd, .pkts_acked = (void *)pkts_acked

#endif
