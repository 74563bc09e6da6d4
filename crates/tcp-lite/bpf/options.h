/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The socket options: programs at the setsockopt and getsockopt hooks of the control group, which
 * run before the kernel's own options (tcp_lite(7)).
 */
#ifndef LITE_OPTIONS_H
#define LITE_OPTIONS_H

#include "connections.h"

#define LEVEL_TCP 6
/*
 * Programs see at most a page of a buffer; for larger ones they must tell the kernel to use its
 * own.
 */
#define PAGE 4096
#define ENOMEM 12
#define EINVAL 22
/*
 * Value of optlen that tells the kernel that a program has handled the option; the kernel itself
 * never passes it.
 */
#define TAKEN_IN -1
/* From linux/bpf.h since Linux 6.14. */
#define SOCK_OPS_CALLBACKS 1008

/* States of a socket (linux/tcp.h). */
#define ESTABLISHED 1
#define CLOSED 7
#define LISTENING 10

static __always_inline int is_ours(const struct bpf_sockopt *context)
{
	return context->level == LEVEL_TCP && context->optname >= TCP_LITE && context->optname <= TCP_LITE_POLICY &&
	       context->sk && context->sk->protocol == PROTOCOL_TCP;
}

/* Passes an option that is not ours on to the kernel. */
static __always_inline int passed(struct bpf_sockopt *context)
{
	if (context->optlen > PAGE)
		*(volatile __s32 *)&context->optlen = 0;
	return 1;
}

static __always_inline int refused(void)
{
	bpf_set_retval(-EINVAL);
	return 0;
}

/*
 * Whether the option has this length. TAKEN_IN means that another attachment to this group, or to
 * one within it, has handled the option already and checked its length.
 */
static __always_inline int is_of_length(const struct bpf_sockopt *context, __s32 len)
{
	return context->optlen == len || context->optlen == TAKEN_IN;
}

/* Finds the connection of a socket; returns 0 if it has none. */
static __always_inline int tuple_of(struct bpf_sock *sk, struct tuple *tuple)
{
	if (sk->state == CLOSED || sk->state == LISTENING || !sk->dst_port)
		return 0;
	if (sk->family == FAMILY_IP4) {
		mapped(tuple->addresses.remote, sk->dst_ip4);
		mapped(tuple->addresses.local, sk->src_ip4);
	} else if (sk->family == FAMILY_IP6) {
		__u32 *remote = (__u32 *)tuple->addresses.remote, *local = (__u32 *)tuple->addresses.local;

		remote[0] = sk->dst_ip6[0];
		remote[1] = sk->dst_ip6[1];
		remote[2] = sk->dst_ip6[2];
		remote[3] = sk->dst_ip6[3];
		local[0] = sk->src_ip6[0];
		local[1] = sk->src_ip6[1];
		local[2] = sk->src_ip6[2];
		local[3] = sk->src_ip6[3];
	} else {
		return 0;
	}
	tuple->ports = PORTS(bpf_ntohs(sk->dst_port), sk->src_port);
	return 1;
}

/* Updates the track of a connection after its program has set an option. */
static __always_inline void apply(struct bpf_sock *sk, const struct kept *kept)
{
	int callbacks = BPF_SOCK_OPS_STATE_CB_FLAG;
	struct tuple tuple = {};
	struct bpf_tcp_sock *tcp;
	struct track *track;

	if (!tuple_of(sk, &tuple))
		return;
	tcp = bpf_tcp_sock(sk);
	if (!tcp)
		return;
	track = bpf_map_lookup_elem(&tracks, &tuple);
	if (!track) {
		struct track fresh = {};

		/*
		 * The connection was established before the programs were attached, or is not
		 * established yet. In the second case its handshake will make a better track.
		 */
		if (!kept->on || sk->state != ESTABLISHED)
			return;
		begin(&fresh, tcp->rcv_nxt, tcp->snd_una);
		fresh.lite = 1;
		enter(&tuple, &fresh);
		/*
		 * Makes the kernel report the end of the connection. Kernels before 6.14 cannot:
		 * there the track goes when its socket is next looked up.
		 */
		bpf_setsockopt(sk, LEVEL_TCP, SOCK_OPS_CALLBACKS, &callbacks, sizeof(callbacks));
		return;
	}
	if (track->lite == kept->on)
		return;
	track->lite = kept->on;
	if (!kept->on) {
		remove_from_pair(&tuple);
		return;
	}
	/*
	 * What was learned before is out of date, above all the time stamps: TCP would refuse a
	 * segment with an old one (RFC 7323 section 5).
	 */
	if (tcp->bytes_received)
		track->known = 0;
	track->contiguous = tcp->rcv_nxt;
	track->highest = tcp->rcv_nxt;
	add_to_pair(&tuple);
}

SEC("cgroup/setsockopt")
int lite_setsockopt(struct bpf_sockopt *context)
{
	struct tcp_lite_window *window = context->optval;
	struct tcp_lite_window wanted = {};
	int *value = context->optval;
	void *end = context->optval_end;
	int option = context->optname;
	struct kept *kept;
	int number = 0;

	if (!is_ours(context))
		return passed(context);
	if (option == TCP_LITE_WINDOW) {
		if (!is_of_length(context, sizeof(*window)) || (void *)(window + 1) > end)
			return refused();
		wanted = *window;
		if (wanted.from + wanted.length < wanted.from)
			return refused();
	} else if (option == TCP_LITE || option == TCP_LITE_POLICY) {
		if (!is_of_length(context, sizeof(*value)) || (void *)(value + 1) > end)
			return refused();
		number = *value;
		if (number < 0 || number > (option == TCP_LITE ? 1 : TCP_LITE_BOLD))
			return refused();
	} else {
		return refused();
	}
	kept = bpf_sk_storage_get(&sockets, context->sk, 0, 0);
	if (!kept) {
		kept = bpf_sk_storage_get(&sockets, context->sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
		if (!kept) {
			bpf_set_retval(-ENOMEM);
			return 0;
		}
		kept->policy = TCP_LITE_NORMAL;
	}
	if (option == TCP_LITE_WINDOW) {
		kept->window = wanted;
		kept->windowed = wanted.length != 0;
	} else if (option == TCP_LITE) {
		kept->on = number;
	} else {
		kept->policy = number;
	}
	apply(context->sk, kept);
	*(volatile __s32 *)&context->optlen = TAKEN_IN;
	return 1;
}

static __always_inline int answered(struct bpf_sockopt *context, __s32 len)
{
	*(volatile __s32 *)&context->optlen = len;
	/* Overrides the kernel's answer that there is no such option. */
	*(volatile __s32 *)&context->retval = 0;
	return 1;
}

/*
 * Whether damage is accepted now: the byte window switches it off once it has been received
 * completely (T 3.2).
 */
static __always_inline int is_on(struct bpf_sock *sk, const struct kept *kept)
{
	struct bpf_tcp_sock *tcp;

	if (!kept->on || !kept->windowed)
		return kept->on;
	tcp = bpf_tcp_sock(sk);
	return !tcp || tcp->bytes_received < kept->window.from + kept->window.length;
}

SEC("cgroup/getsockopt")
int lite_getsockopt(struct bpf_sockopt *context)
{
	void *end = context->optval_end;
	struct kept *kept;
	__u32 i;

	if (!is_ours(context))
		return passed(context);
	kept = bpf_sk_storage_get(&sockets, context->sk, 0, 0);
	/*
	 * The kernel itself answers with an error, so 0 means that another attachment has answered
	 * already. Its answer stands unless this attachment has seen damaged segments.
	 */
	if (!context->retval && (!kept || !kept->stats.damaged))
		return 1;
	if (context->optname == TCP_LITE || context->optname == TCP_LITE_POLICY) {
		int *value = context->optval;

		if ((void *)(value + 1) > end)
			return refused();
		if (context->optname == TCP_LITE)
			*value = kept ? is_on(context->sk, kept) : 0;
		else
			*value = kept ? kept->policy : TCP_LITE_NORMAL;
		return answered(context, sizeof(*value));
	}
	if (context->optname == TCP_LITE_WINDOW) {
		struct tcp_lite_window *window = context->optval;

		if ((void *)(window + 1) > end)
			return refused();
		window->from = kept && kept->windowed ? kept->window.from : 0;
		window->length = kept && kept->windowed ? kept->window.length : 0;
		return answered(context, sizeof(*window));
	}
	if (context->optname == TCP_LITE_STATS) {
		struct tcp_lite_stats *stats = context->optval;

		if ((void *)(stats + 1) > end)
			return refused();
		if (kept)
			*stats = kept->stats;
		else
			__builtin_memset(stats, 0, sizeof(*stats));
		return answered(context, sizeof(*stats));
	}
	if (context->optname == TCP_LITE_RANGES) {
		struct tcp_lite_ranges *ranges = context->optval;
		__u32 noted = kept ? kept->ranges : 0;

		if ((void *)(ranges + 1) > end)
			return refused();
		ranges->count = noted < TCP_LITE_RANGES_KEPT ? noted : TCP_LITE_RANGES_KEPT;
		ranges->overflow = noted > TCP_LITE_RANGES_KEPT;
		for (i = 0; i < TCP_LITE_RANGES_KEPT; i++) {
			__u32 first = ranges->overflow ? noted : 0;

			ranges->range[i].from = 0;
			ranges->range[i].to = 0;
			if (kept && i < ranges->count)
				ranges->range[i] = kept->range[place_of_range(first + i)];
		}
		return answered(context, sizeof(*ranges));
	}
	return refused();
}

#endif
