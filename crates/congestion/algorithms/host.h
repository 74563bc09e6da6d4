/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * An algorithm as eBPF (struct_ops): loaded into a running kernel and registered there. Its
 * parameters are fixed when it is loaded.
 */
#ifndef LASTHOP_HOST_H
#define LASTHOP_HOST_H

#include "../bpf/kernel.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "state.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* include/net/tcp.h: every user may choose it, and every namespace may have it as default. */
#define TCP_CONG_NON_RESTRICTED 1

/* include/net/tcp.h: the members that we set; the kernel finds them by name. */
struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	void (*set_state)(struct sock *sk, __u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event ev);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	__u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	char name[16];
	__u32 flags;
};

#define HOOK(type, name, args...) SEC("struct_ops") type BPF_PROG(name, ##args)

/* A number that the loader may set before loading. */
#define PARAMETER(name, value, meaning) const volatile __u32 name = value

#define ALGORITHM(symbol, its_name, hooks...)                                                                                   \
	SEC(".struct_ops.link") struct tcp_congestion_ops symbol = { .flags = TCP_CONG_NON_RESTRICTED, .name = its_name, hooks }

/*
 * Same name as the kernel's own algorithm, if any: on a host that is a module that is seldom
 * loaded.
 */
#define BESIDE_KERNELS(name) name

#define IS_COMPLETE_CWR(event) ((event) == bpf_core_enum_value(enum tcp_ca_event, CA_EVENT_COMPLETE_CWR))

static __always_inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline struct lasthop_words *own_words(const struct sock *sk)
{
	return (struct lasthop_words *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
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
	return BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited);
}

#endif
