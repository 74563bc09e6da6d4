/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * An algorithm in user space, for tests: the third wrapper beside host.h and tree.h. A connection
 * consists only of the fields that the hooks use. Algorithms and parameters can be found by name.
 */
#ifndef LASTHOP_USER_H
#define LASTHOP_USER_H

#include <linux/types.h>
#include <stddef.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#include "state.h"

/* `connection.rs` has the same layout. */
struct tcp_sock {
	__u32 snd_cwnd;
	__u32 snd_cwnd_cnt;
	__u32 snd_cwnd_clamp;
	__u32 snd_ssthresh;
	__u32 prior_cwnd;
	__u32 max_packets_out;
	__u32 lost_out;
	__u32 sacked_out;
	__u32 delivered;
	__u32 snd_una;
	__u32 snd_nxt;
	__u32 is_cwnd_limited;
	__u64 tcp_mstamp;
	struct lasthop_words words;
};

struct sock {
	struct tcp_sock tcp;
};

struct ack_sample {
	__u32 pkts_acked;
	__s32 rtt_us;
};

enum tcp_ca_event { CA_EVENT_CWND_RESTART = 1, CA_EVENT_COMPLETE_CWR = 2 };

struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	void (*set_state)(struct sock *sk, __u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event ev);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	__u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	const char *name;
	struct tcp_congestion_ops *next;
};

struct user_parameter {
	const char *algorithm;
	const char *name;
	__u32 *value;
	struct user_parameter *next;
};

void user_has_algorithm(struct tcp_congestion_ops *algorithm);
void user_has_parameter(struct user_parameter *parameter);

#define HOOK(type, name, args...) static type name(args)

/* FILE_NAME is the name of the source file, without .c. */
#define PARAMETER(its_name, its_value, meaning)                                                                                 \
	static __u32 its_name = its_value;                                                                                       \
	__attribute__((constructor)) static void its_name##_known(void)                                                          \
	{                                                                                                                        \
		static struct user_parameter parameter = { FILE_NAME, #its_name, &its_name, NULL };                              \
		user_has_parameter(&parameter);                                                                                  \
	}                                                                                                                        \
	_Static_assert(sizeof(meaning) > 1, "it says what it is")

#define ALGORITHM(symbol, its_name, hooks...)                                                                                   \
	__attribute__((constructor)) static void algorithm_known(void)                                                           \
	{                                                                                                                        \
		static struct tcp_congestion_ops algorithm = { .name = its_name, hooks };                                        \
		user_has_algorithm(&algorithm);                                                                                  \
	}                                                                                                                        \
	_Static_assert(sizeof(its_name) <= 16, "the kernel has no more room")

#define BESIDE_KERNELS(name) name

#define IS_COMPLETE_CWR(event) ((event) == CA_EVENT_COMPLETE_CWR)

static __always_inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)&sk->tcp;
}

static __always_inline struct lasthop_words *own_words(const struct sock *sk)
{
	return &tcp_sk(sk)->words;
}

static __always_inline __u32 tcp_snd_cwnd(const struct tcp_sock *tp)
{
	return tp->snd_cwnd;
}

static __always_inline void tcp_snd_cwnd_set(struct tcp_sock *tp, __u32 cwnd)
{
	tp->snd_cwnd = cwnd;
}

static __always_inline int was_window_limited(const struct tcp_sock *tp)
{
	return tp->is_cwnd_limited;
}

#endif
