// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The state of every TCP sender at every segment that reaches it.
 *
 * The tracepoint tcp_probe is at the start of tcp_rcv_established(), so the state is that before
 * the segment is processed. The tracepoint serves the whole machine; the map `nodes` holds our
 * network namespaces. The program never wakes the reader, because a wake-up costs thirty times as
 * much as the rest. User space polls instead.
 */
#include "kernel.h"
#include "sender_state.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* Our network namespaces: from their cookies to the numbers of their nodes. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, __u32);
} nodes SEC(".maps");

/* States for user space: room for 43 000. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 << 20);
} states SEC(".maps");

/* Number of states that did not fit. */
__u64 lost = 0;

/* Byte of the TCP header whose upper half is its length in words (RFC 9293 section 3.1). */
#define DATA_OFFSET 12

static __always_inline __u32 payload(const struct sk_buff *skb)
{
	__u8 offset = 0;

	if (bpf_probe_read_kernel(&offset, sizeof(offset), skb->data + DATA_OFFSET))
		return 0;
	return skb->len - (offset >> 4) * 4;
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(sender_state, struct sock *sk, const struct sk_buff *skb)
{
	struct inet_connection_sock *icsk;
	struct sender_state *state;
	struct tcp_sock *tp;
	__u64 cookie, now;
	__u32 *node;

	cookie = sk->__sk_common.skc_net.net->net_cookie;
	node = bpf_map_lookup_elem(&nodes, &cookie);
	if (!node)
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	/* A socket with nothing outstanding is not a sender. */
	if (!tp || tp->snd_una == tp->snd_nxt)
		return 0;

	now = bpf_ktime_get_ns();
	state = bpf_ringbuf_reserve(&states, sizeof(*state), 0);
	if (!state) {
		__sync_fetch_and_add(&lost, 1);
		return 0;
	}
	icsk = (struct inet_connection_sock *)tp;
	__builtin_memset(state, 0, sizeof(*state));
	state->time_ns = now;
	state->node = *node;
	state->family = sk->__sk_common.skc_family;
	if (state->family == AF_INET6) {
		BPF_CORE_READ_INTO(&state->local, sk, __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO(&state->remote, sk, __sk_common.skc_v6_daddr);
	} else {
		*(__be32 *)state->local = sk->__sk_common.skc_rcv_saddr;
		*(__be32 *)state->remote = sk->__sk_common.skc_daddr;
	}
	state->local_port = sk->__sk_common.skc_num;
	state->remote_port = sk->__sk_common.skc_dport;
	state->payload = payload(skb);
	state->snd_una = tp->snd_una;
	state->snd_nxt = tp->snd_nxt;
	state->cwnd = tp->snd_cwnd;
	state->ssthresh = tp->snd_ssthresh;
	state->srtt_us = tp->srtt_us;
	state->mdev_us = tp->mdev_us;
	state->rto = icsk->icsk_rto;
	state->ca_state = BPF_CORE_READ_BITFIELD(icsk, icsk_ca_state);
	state->snd_wnd = tp->snd_wnd;
	state->rcv_wnd = tp->rcv_wnd;
	state->packets_out = tp->packets_out;
	state->sacked_out = tp->sacked_out;
	state->lost_out = tp->lost_out;
	state->retrans_out = tp->retrans_out;
	state->total_retrans = tp->total_retrans;
	state->delivered = tp->delivered;
	state->pacing_rate = sk->sk_pacing_rate;
	__builtin_memcpy(state->ca_priv, icsk->icsk_ca_priv, sizeof(state->ca_priv));
	bpf_ringbuf_submit(state, BPF_RB_NO_WAKEUP);
	return 0;
}

/* Only GPL-compatible programs may read the kernel's structures; this one is also under MIT. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";
