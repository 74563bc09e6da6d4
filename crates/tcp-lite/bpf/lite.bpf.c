// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * TCP Lite: accepts damaged segments for programs that can use them (S. Alfredsson, TCP Lite, 2001;
 * S. Alfredsson, A. Brunstrom, TCP-L).
 *
 * The programs at tc ingress see every segment before the kernel verifies its checksum. A segment
 * with a wrong checksum, for a connection that accepts damage, gets a repaired header and a right
 * checksum, and the kernel processes it like any other. Everything doubtful is left unchanged, and
 * the kernel drops it. A right segment is never changed. Programs at the control group know these
 * connections.
 *
 *   lite_recovery_*   headers are repaired (TCP-L); `judge.h` and `localize.h` are the algorithm
 *   lite_thesis_*     headers are trusted (TCP Lite as published): only the checksum is corrected
 *   lite_connection   records connections when they are established, and when they end
 *   lite_setsockopt, lite_getsockopt   the socket options
 *
 * Only headers of the kernel's user interface are used: no BTF of the kernel, no callbacks and no
 * kfuncs. So the programs also run in the interpreter of the virtual-time kernel.
 */
#include "judge.h"
#include "options.h"

/*
 * TCX_NEXT: other programs at this hook, and tc filters behind it, see the packet too, repaired or
 * not. TCX_PASS would hide it from them.
 */
#define NEXT -1
#define NO_SPACE 28
/* Options of signed segments and of Multipath TCP: RFC 2385, RFC 5925, RFC 8684. */
#define OPTION_MD5 19
#define OPTION_AUTHENTICATION 29
#define OPTION_MULTIPATH 30
#define ETHERNET_LEN 14

/*
 * Finds the TCP segment and the hosts of a packet whose network header is at offset `at`. Returns 0
 * if this is not a TCP segment that can be judged.
 */
static __always_inline int parse(struct __sk_buff *skb, struct work *work, __u32 at)
{
	__u32 present = skb->len - at;

	if (skb->protocol == bpf_htons(ETHERNET_IP4)) {
		__u32 len;

		if (bpf_skb_load_bytes(skb, at, work->ip, IP4_LEN))
			return 0;
		len = work->ip[2] << 8 | work->ip[3];
		/* No options, no fragments (RFC 791 section 3.1). */
		if (work->ip[9] != PROTOCOL_TCP || work->ip[0] != 0x45 || (work->ip[6] & 0x3f) || work->ip[7] || len < IP4_LEN ||
		    len > present)
			return 0;
		mapped(work->tuple.addresses.remote, *(__u32 *)(work->ip + 12));
		mapped(work->tuple.addresses.local, *(__u32 *)(work->ip + 16));
		work->ip4 = 1;
		work->at = at + IP4_LEN;
		work->len = len - IP4_LEN;
		return 1;
	}
	if (skb->protocol == bpf_htons(ETHERNET_IP6)) {
		__u32 len;

		if (bpf_skb_load_bytes(skb, at, work->ip, IP6_LEN))
			return 0;
		len = work->ip[4] << 8 | work->ip[5];
		if (work->ip[6] != PROTOCOL_TCP || work->ip[0] >> 4 != 6 || IP6_LEN + len > present)
			return 0;
		/* Only the length of the frame protects this length field. */
		if (IP6_LEN + len < present && present > ETHERNET_LEAST)
			return 0;
		__builtin_memcpy(&work->tuple.addresses, work->ip + 8, sizeof(struct addresses));
		work->ip4 = 0;
		work->at = at + IP6_LEN;
		work->len = len;
		return 1;
	}
	return 0;
}

/* Loads and sums the whole segment; returns 0 if that is impossible. */
static __always_inline int load(struct __sk_buff *skb, struct work *work)
{
	__u32 len = work->len;

	/* One branch per bound: the verifier must see each at the register that is used. */
	if (len < TCP_LEN)
		return 0;
	if (len > SEGMENT_MAX)
		return 0;
	if (bpf_skb_load_bytes(skb, work->at, work->segment, len))
		return 0;
	work->segment[len] = 0;
	work->segment[len + 1] = 0;
	work->segment[len + 2] = 0;
	work->pseudo = sum_of_pseudo_header(work);
	work->sum = folded((__u64)sum_of_segment(work, len) + work->pseudo);
	return 1;
}

/* Takes the ports of the segment, which identify its connection unless they are damaged. */
static __always_inline void take_ports(struct work *work)
{
	work->received_ports = PORTS(bpf_ntohs(work->tcp.remote_port), bpf_ntohs(work->tcp.local_port));
	work->tuple.ports = work->received_ports;
}

static __always_inline int is_right(const struct work *work)
{
	return work->sum == 0xffff;
}

/*
 * Whether the checksum field holds only the sum of the pseudo-header: an offload of the sending
 * host left the rest to a device that does not exist.
 */
static __always_inline int is_partial(const struct work *work)
{
	return work->tcp.check == work->pseudo;
}

static __always_inline void count(__u64 *counter, __u64 by)
{
	__sync_fetch_and_add(counter, by);
}

/* Whether damage to the segment would not show. Such segments are counted and pass. */
static __always_inline int counted_unverifiable(const struct work *work)
{
	if (!is_partial(work))
		return 0;
	count(&totals.unverifiable, 1);
	return 1;
}

static __always_inline int is_merged_or_verified(struct __sk_buff *skb)
{
	return skb->gso_size || bpf_csum_level(skb, BPF_CSUM_LEVEL_QUERY) >= 0;
}

static __always_inline void count_discarded(struct tcp_lite_stats *stats, __u32 reason)
{
	/*
	 * The compiler knows that the index is in bounds and would drop the check; the verifier
	 * does not know.
	 */
	asm volatile("" : "+r"(reason));
	count(&stats->discarded[reason & (TCP_LITE_REASONS - 1)], 1);
}

static __always_inline int discarded(__u32 reason)
{
	count(&totals.segments.damaged, 1);
	count_discarded(&totals.segments, reason);
	return NEXT;
}

static __always_inline void tally(struct tcp_lite_stats *stats, const struct work *work, __u32 reason)
{
	count(&stats->damaged, 1);
	if (reason) {
		count_discarded(stats, reason);
		return;
	}
	count(&stats->accepted, 1);
	count(&stats->confirmed, work->confirmed);
	count(&stats->guessed, work->guess);
	count(&stats->out_of_order, work->out_of_order);
	count(&stats->approximate, work->approximate);
	if (!work->confirmed)
		count(&stats->bytes, work->payload);
}

static __always_inline void note_range(struct kept *kept, const struct work *work)
{
	struct tcp_lite_range *range = &kept->range[place_of_range(kept->ranges)];

	range->from = work->offset;
	range->to = work->offset + work->payload;
	kept->ranges++;
	/* When the number wraps, it must still say that older ranges were dropped. */
	if (kept->ranges == 0)
		kept->ranges = TCP_LITE_RANGES_KEPT * 2;
}

static __always_inline struct bpf_sock *socket_of(struct __sk_buff *skb, const struct work *work)
{
	struct bpf_sock_tuple tuple = {};

	if (work->ip4) {
		tuple.ipv4.saddr = *(__u32 *)(work->tuple.addresses.remote + 12);
		tuple.ipv4.daddr = *(__u32 *)(work->tuple.addresses.local + 12);
		tuple.ipv4.sport = bpf_htons(work->tuple.ports >> 16);
		tuple.ipv4.dport = bpf_htons(work->tuple.ports);
		return bpf_sk_lookup_tcp(skb, &tuple, sizeof(tuple.ipv4), BPF_F_CURRENT_NETNS, 0);
	}
	__builtin_memcpy(tuple.ipv6.saddr, &work->tuple.addresses, sizeof(struct addresses));
	tuple.ipv6.sport = bpf_htons(work->tuple.ports >> 16);
	tuple.ipv6.dport = bpf_htons(work->tuple.ports);
	return bpf_sk_lookup_tcp(skb, &tuple, sizeof(tuple.ipv6), BPF_F_CURRENT_NETNS, 0);
}

/* Whether a connection still exists: otherwise the lookup finds nothing, or only a listener. */
static __always_inline int is_of_a_connection(const struct bpf_sock *socket)
{
	return socket && socket->state != LISTENING && socket->state != CLOSED;
}

/*
 * Whether the IP header is undamaged. IPv6 has no checksum: its addresses have led to the
 * connection, and its length matches the frame.
 */
static __always_inline int is_ip_right(const struct work *work)
{
	return !work->ip4 || folded(bpf_csum_diff(0, 0, (__be32 *)work->ip, IP4_LEN, 0)) == 0xffff;
}

static __always_inline void take_settings(struct work *work, const struct kept *kept, const struct bpf_tcp_sock *tcp)
{
	work->rcv_nxt = tcp->rcv_nxt;
	work->snd_una = tcp->snd_una;
	work->snd_nxt = tcp->snd_nxt;
	work->received = tcp->bytes_received;
	work->windowed = kept->windowed;
	work->window = kept->window;
}

/*
 * Writes the repaired header. If the header is unconfirmed, also writes the checksum that makes the
 * segment right.
 */
static __always_inline void write(struct __sk_buff *skb, struct work *work)
{
	__u32 len = work->header_len;

	if (!work->confirmed) {
		__u32 sum;

		work->fixed_tcp.check = 0;
		sum = work->sum + folded(bpf_csum_diff((__be32 *)work->segment, HEADER_MAX, (__be32 *)work->fixed, HEADER_MAX, 0));
		work->fixed_tcp.check = ~folded(sum);
	}
	if (len >= TCP_LEN && len <= HEADER_MAX)
		bpf_skb_store_bytes(skb, work->at, work->fixed, len, BPF_F_RECOMPUTE_CSUM);
}

/* Handles a damaged segment between hosts that share Lite connections. */
static __always_inline int salvage(struct __sk_buff *skb, struct work *work, int is_known)
{
	struct bpf_tcp_sock *tcp;
	struct bpf_sock *socket;
	struct kept *kept;
	__u32 reason;

	if (!is_ip_right(work))
		return discarded(TCP_LITE_IP);
	work->approximate = !is_known;
	if (!is_known) {
		reason = localize(work);
		if (reason)
			return discarded(reason);
	}
	socket = socket_of(skb, work);
	if (!is_of_a_connection(socket)) {
		/* The connection ended unseen. */
		forget(&work->tuple);
		if (socket)
			bpf_sk_release(socket);
		return discarded(TCP_LITE_NO_CONNECTION);
	}
	kept = bpf_sk_storage_get(&sockets, socket, 0, 0);
	tcp = bpf_tcp_sock(socket);
	if (!kept || !kept->on || !tcp) {
		bpf_sk_release(socket);
		return discarded(TCP_LITE_NO_CONNECTION);
	}
	take_settings(work, kept, tcp);
	reason = judge(work, kept->policy);
	tally(&totals.segments, work, reason);
	tally(&kept->stats, work, reason);
	if (!reason && !work->confirmed)
		note_range(kept, work);
	bpf_sk_release(socket);
	if (!reason)
		write(skb, work);
	return NEXT;
}

static __always_inline int recover(struct __sk_buff *skb, __u32 at)
{
	struct work *work;
	struct track *track;

	if (!lite_connections)
		return NEXT;
	work = work_of_this_processor();
	if (!work || !parse(skb, work, at) || !bpf_map_lookup_elem(&pairs, &work->tuple.addresses))
		return NEXT;
	if (work->len < TCP_LEN)
		return discarded(TCP_LITE_SHORT);
	if (bpf_skb_load_bytes(skb, work->at, work->segment, TCP_LEN))
		return NEXT;
	take_ports(work);
	track = bpf_map_lookup_elem(&tracks, &work->tuple);
	if (track && !track->lite)
		return NEXT;
	if (is_merged_or_verified(skb)) {
		__u32 rest = (work->tcp.offset >> 4) * 4 - TCP_LEN;

		if (!track)
			return NEXT;
		if (rest > 0 && rest <= HEADER_MAX - TCP_LEN &&
		    bpf_skb_load_bytes(skb, work->at + TCP_LEN, work->segment + TCP_LEN, rest))
			return NEXT;
		learn(work, track, skb->gso_size, tunables.window);
		return NEXT;
	}
	if (!load(skb, work))
		return NEXT;
	if (is_right(work)) {
		if (track)
			learn(work, track, 0, tunables.window);
		return NEXT;
	}
	if (counted_unverifiable(work))
		return NEXT;
	return salvage(skb, work, track != 0);
}

SEC("tcx/ingress")
int lite_recovery_ethernet(struct __sk_buff *skb)
{
	return recover(skb, ETHERNET_LEN);
}

SEC("tcx/ingress")
int lite_recovery_ip(struct __sk_buff *skb)
{
	return recover(skb, 0);
}

/*
 * TCP Lite as published: a segment with a wrong checksum for a socket that accepts damage is
 * trusted (T 4.2, 4.3). During the handshake this socket is the listener, which bpf_sk_lookup_tcp()
 * then returns.
 */
static __always_inline int accept_as_it_is(struct __sk_buff *skb, __u32 at)
{
	struct work *work = work_of_this_processor();
	struct bpf_tcp_sock *tcp;
	struct bpf_sock *socket;
	struct kept *kept;
	__u32 len, reason = 0;
	__u16 check;

	if (!work || !parse(skb, work, at) || is_merged_or_verified(skb) || !load(skb, work) || is_right(work))
		return NEXT;
	if (counted_unverifiable(work))
		return NEXT;
	take_ports(work);
	socket = socket_of(skb, work);
	if (!socket)
		return NEXT;
	kept = bpf_sk_storage_get(&sockets, socket, 0, 0);
	tcp = bpf_tcp_sock(socket);
	if (!kept || !kept->on || !tcp) {
		bpf_sk_release(socket);
		return NEXT;
	}
	take_settings(work, kept, tcp);
	work->confirmed = 0;
	work->guess = 0;
	work->out_of_order = 0;
	work->approximate = 0;
	len = (work->tcp.offset >> 4) * 4;
	work->payload = work->len > len ? work->len - len : 0;
	work->offset = work->received + (__s32)(bpf_ntohl(work->tcp.seq) - work->rcv_nxt);
	if (socket->state != LISTENING && !is_wanted(work))
		reason = TCP_LITE_OUTSIDE;
	tally(&totals.segments, work, reason);
	tally(&kept->stats, work, reason);
	if (!reason && work->payload)
		note_range(kept, work);
	bpf_sk_release(socket);
	if (reason)
		return NEXT;
	check = ~folded(work->sum + turned(work->tcp.check, 0));
	bpf_skb_store_bytes(skb, work->at + 16, &check, sizeof(check), BPF_F_RECOMPUTE_CSUM);
	return NEXT;
}

SEC("tcx/ingress")
int lite_thesis_ethernet(struct __sk_buff *skb)
{
	return accept_as_it_is(skb, ETHERNET_LEN);
}

SEC("tcx/ingress")
int lite_thesis_ip(struct __sk_buff *skb)
{
	return accept_as_it_is(skb, 0);
}

/*
 * Whether the segment that completed the handshake has an option of this kind. NO_SPACE means an
 * option that is longer than our buffer.
 */
static __always_inline int has_option(struct bpf_sock_ops *context, __u8 kind)
{
	__u8 option[2] = { kind };
	long found = bpf_load_hdr_opt(context, option, sizeof(option), 0);

	return found > 0 || found == -NO_SPACE;
}

/* Learns from the segment that completed the handshake what the other host's segments look like. */
static __always_inline void learn_from_handshake(struct bpf_sock_ops *context, struct track *track)
{
	struct tcp *header = context->skb_data;
	__u8 stamps[10] = { 8 }, scale[3] = { 3 };
	__u16 window = 0xffff;

	if ((void *)(header + 1) <= context->skb_data_end) {
		window = bpf_ntohs(header->window);
		/* The window of a SYN is not scaled, later ones are (RFC 7323 section 2.2). */
		if (header->flags & FLAG_SYN && bpf_load_hdr_opt(context, scale, sizeof(scale), 0) == sizeof(scale))
			window >>= scale[2] & 15;
	}
	track->window = bpf_htons(window);
	track->header_len = TCP_LEN;
	if (bpf_load_hdr_opt(context, stamps, sizeof(stamps), 0) == sizeof(stamps)) {
		track->options[0] = NOP;
		track->options[1] = NOP;
		__builtin_memcpy(track->options + 2, stamps, sizeof(stamps));
		track->header_len += TEMPLATE;
	}
	if (has_option(context, OPTION_MD5) || has_option(context, OPTION_AUTHENTICATION) || has_option(context, OPTION_MULTIPATH))
		track->others = OTHERS_FOR_EVER;
	track->known = 1;
}

static __always_inline void tuple_of_connection(struct bpf_sock_ops *context, struct tuple *tuple)
{
	if (context->family == FAMILY_IP4) {
		mapped(tuple->addresses.remote, context->remote_ip4);
		mapped(tuple->addresses.local, context->local_ip4);
	} else {
		__u32 *remote = (__u32 *)tuple->addresses.remote, *local = (__u32 *)tuple->addresses.local;

		remote[0] = context->remote_ip6[0];
		remote[1] = context->remote_ip6[1];
		remote[2] = context->remote_ip6[2];
		remote[3] = context->remote_ip6[3];
		local[0] = context->local_ip6[0];
		local[1] = context->local_ip6[1];
		local[2] = context->local_ip6[2];
		local[3] = context->local_ip6[3];
	}
	tuple->ports = PORTS(bpf_ntohl(context->remote_port), context->local_port);
}

/* Returns a socket's settings. If every connection is Lite, creates them when missing. */
static __always_inline struct kept *kept_of(struct bpf_sock *sk)
{
	struct kept *kept = bpf_sk_storage_get(&sockets, sk, 0, 0);

	if (kept || !tunables.every_connection)
		return kept;
	kept = bpf_sk_storage_get(&sockets, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (kept) {
		kept->on = 1;
		kept->policy = tunables.policy;
	}
	return kept;
}

static __always_inline void count_anew(struct kept *kept)
{
	__builtin_memset(&kept->stats, 0, sizeof(kept->stats));
	kept->ranges = 0;
}

SEC("sockops")
int lite_connection(struct bpf_sock_ops *context)
{
	struct tuple tuple = {};
	struct track track = {};
	struct bpf_sock *sk;
	struct kept *kept;

	if (context->op == BPF_SOCK_OPS_STATE_CB) {
		if (context->args[1] == BPF_TCP_CLOSE) {
			tuple_of_connection(context, &tuple);
			forget(&tuple);
		}
		return 1;
	}
	sk = context->sk;
	if (!sk)
		return 1;
	/*
	 * In thesis mode, damaged handshakes are accepted too, so settings must exist before them.
	 */
	if (context->op == BPF_SOCK_OPS_TCP_LISTEN_CB || context->op == BPF_SOCK_OPS_TCP_CONNECT_CB) {
		kept = kept_of(sk);
		/* A socket can be connected again, and then counts from 0. */
		if (kept && context->op == BPF_SOCK_OPS_TCP_CONNECT_CB)
			count_anew(kept);
		return 1;
	}
	if (context->op != BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB && context->op != BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
		return 1;
	kept = kept_of(sk);
	if (kept) {
		/* An accepted socket does not inherit its listener's counters. */
		if (context->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
			count_anew(kept);
		track.lite = kept->on;
	}
	tuple_of_connection(context, &tuple);
	begin(&track, context->rcv_nxt, context->snd_una);
	learn_from_handshake(context, &track);
	forget(&tuple);
	enter(&tuple, &track);
	bpf_sock_ops_cb_flags_set(context, context->bpf_sock_ops_cb_flags | BPF_SOCK_OPS_STATE_CB_FLAG);
	return 1;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
