// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Holds back the acknowledgement of a far host's FIN until the server of remote sockets releases
 * it.
 *
 * The kernel acknowledges a FIN when it arrives. The program at tc ingress notes the FINs of the
 * server's connections. The program at egress edits the segments that acknowledge a FIN before its
 * release: they acknowledge everything before the FIN instead, and their SACK blocks omit it. So
 * the far host gets acknowledgements of its data at once, and that of its FIN when the client has
 * all data before it.
 *
 *   hold_ingress_*   notes FINs
 *   hold_egress_*    corrects the kernel's acknowledgements
 *
 * The programs recognise the server's connections by the mark that it puts on its sockets. Accepted
 * connections inherit the mark of their listener, so a FIN that arrives before `accept` is held,
 * too. An entry in `holds` exists from the arrival of a FIN to its release. Before that, a
 * connection costs only one look-up for each segment that leaves.
 *
 * The programs use only headers of the kernel's user interface: no BTF of the kernel, no callbacks
 * and no kfuncs.
 */
#include "segment.h"

/* TCX_NEXT passes the packet to the next program at this hook, TCX_DROP drops it. */
#define NEXT -1
#define DROP 2
#define ETHERNET_LEN 14
/*
 * SOCK_STREAM. The sockets with which the kernel answers for connections that have none are raw
 * ones.
 */
#define STREAM 1

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct mark);
} marks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1); /* set by the loader */
	__type(key, struct connection);
	__type(value, struct hold);
} holds SEC(".maps");

struct counts counts;

static __always_inline void count(__u64 *counter, __u64 by)
{
	__sync_fetch_and_add(counter, by);
}

/*
 * Returns whether a FIN of this connection is to be held: not if the connection has ended or does
 * not exist.
 */
static __always_inline int is_ours(struct __sk_buff *skb, const struct segment *segment)
{
	const struct connection *connection = &segment->connection;
	struct bpf_sock_tuple tuple = {};
	struct mark *mark;
	struct bpf_sock *socket;
	__u32 size, state;
	int ours = 0;

	if (segment->is_ip4) {
		__builtin_memcpy(&tuple.ipv4.saddr, connection->remote + 12, 4);
		__builtin_memcpy(&tuple.ipv4.daddr, connection->local + 12, 4);
		tuple.ipv4.sport = connection->remote_port;
		tuple.ipv4.dport = connection->local_port;
		size = sizeof(tuple.ipv4);
	} else {
		__builtin_memcpy(tuple.ipv6.saddr, connection->remote, 16);
		__builtin_memcpy(tuple.ipv6.daddr, connection->local, 16);
		tuple.ipv6.sport = connection->remote_port;
		tuple.ipv6.dport = connection->local_port;
		size = sizeof(tuple.ipv6);
	}
	socket = bpf_skc_lookup_tcp(skb, &tuple, size, BPF_F_CURRENT_NETNS, 0);
	if (!socket)
		return 0;
	state = socket->state;
	if (state == BPF_TCP_NEW_SYN_RECV) {
		/*
		 * The handshake may end with this segment. The mark is still on the listener, which
		 * this look-up finds.
		 */
		bpf_sk_release(socket);
		socket = bpf_sk_lookup_tcp(skb, &tuple, size, BPF_F_CURRENT_NETNS, 0);
		if (!socket)
			return 0;
	}
	if (state != BPF_TCP_LISTEN) {
		mark = bpf_sk_storage_get(&marks, socket, 0, 0);
		ours = mark && !mark->released;
	}
	bpf_sk_release(socket);
	return ours;
}

/*
 * Notes a FIN. The far host sends no data behind it, so its sequence number alone identifies the
 * acknowledgements of it.
 */
static __always_inline int arrives(struct __sk_buff *skb, __u32 at)
{
	struct segment *segment = segment_of_this_processor();
	struct hold *hold;
	__u32 fin;

	if (!segment || !parse(skb, segment, at, 1))
		return NEXT;
	if ((segment->tcp.flags & (FLAG_FIN | FLAG_SYN | FLAG_RST)) != FLAG_FIN)
		return NEXT;
	fin = bpf_ntohl(segment->tcp.seq) + segment->payload;
	hold = bpf_map_lookup_elem(&holds, &segment->connection);
	if (hold && hold->fin == fin) {
		hold->seen_ns = bpf_ktime_get_ns();
		return NEXT;
	}
	/*
	 * If the kernel has acknowledged the held FIN, that one was genuine and this one is not.
	 * Before an acknowledgement, the last FIN that arrived counts.
	 */
	if (hold && hold->state == HELD)
		return NEXT;
	if (!is_ours(skb, segment))
		return NEXT;
	__builtin_memset(&segment->begin, 0, sizeof(segment->begin));
	segment->begin.fin = fin;
	segment->begin.seen_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&holds, &segment->connection, &segment->begin, BPF_ANY))
		count(&counts.full, 1);
	return NEXT;
}

/*
 * Returns whether the connection's own socket sends this segment, and not the kernel on behalf of a
 * connection that has ended.
 */
static __always_inline int is_of_socket(struct __sk_buff *skb)
{
	struct bpf_sock *socket = skb->sk;

	if (!socket)
		return 0;
	socket = bpf_sk_fullsock(socket);
	return socket && socket->type == STREAM;
}

static __always_inline int reset_leaves(struct __sk_buff *skb, struct segment *segment, struct hold *hold)
{
	if (is_of_socket(skb)) {
		/* The kernel has ended the connection: there is no FIN to hold any more. */
		bpf_map_delete_elem(&holds, &segment->connection);
		return NEXT;
	}
	if (hold->state != HELD)
		return NEXT;
	/*
	 * The kernel answers a repeated FIN after our own has crossed it. The FIN is held, so the
	 * far host must not see a refusal.
	 */
	count(&counts.silenced, 1);
	return DROP;
}

/* Records the headers of a segment of this connection, from which a later one is made. */
static __always_inline void remember(const struct segment *segment, struct hold *hold)
{
	__u32 next = bpf_ntohl(segment->tcp.seq) + segment->payload + (segment->tcp.flags & FLAG_FIN);

	if (hold->state == SEEN || (__s32)(next - hold->next) > 0)
		hold->next = next;
	hold->first_word = segment->first_word;
	hold->hops = segment->hops;
	__builtin_memcpy(hold->tcp, segment->header, TCP_MOST);
}

static __always_inline int leaves(struct __sk_buff *skb, __u32 at)
{
	struct segment *segment = segment_of_this_processor();
	__u32 blanked;
	struct hold *hold;

	if (!segment || !parse(skb, segment, at, 0))
		return NEXT;
	hold = bpf_map_lookup_elem(&holds, &segment->connection);
	if (!hold)
		return NEXT;
	if (segment->tcp.flags & FLAG_RST)
		return reset_leaves(skb, segment, hold);
	if (!(segment->tcp.flags & FLAG_ACK))
		return NEXT;
	blanked = blank_sack(skb, segment, hold->fin);
	if (blanked)
		count(&counts.blanked, blanked);
	if (bpf_ntohl(segment->tcp.ack) != hold->fin + 1)
		return NEXT;
	put_word(skb, segment, __builtin_offsetof(struct tcp, ack), bpf_htonl(hold->fin));
	if (hold->state == ABORTED) {
		/*
		 * The kernel acknowledges a FIN that comes again, but the server has reset the
		 * connection.
		 */
		if (!is_of_socket(skb)) {
			__u16 flags = segment->tcp.offset << 8 | FLAG_RST | FLAG_ACK;

			put_short(skb, segment, __builtin_offsetof(struct tcp, offset), bpf_htons(flags));
			count(&counts.turned, 1);
		}
		return NEXT;
	}
	count(&counts.clamped, 1);
	if (!load_header(skb, segment))
		return NEXT;
	remember(segment, hold);
	if (hold->state == SEEN) {
		hold->state = HELD;
		count(&counts.held, 1);
	}
	return NEXT;
}

SEC("tcx/ingress")
int hold_ingress_ethernet(struct __sk_buff *skb)
{
	return arrives(skb, ETHERNET_LEN);
}

SEC("tcx/ingress")
int hold_ingress_ip(struct __sk_buff *skb)
{
	return arrives(skb, 0);
}

SEC("tcx/egress")
int hold_egress_ethernet(struct __sk_buff *skb)
{
	return leaves(skb, ETHERNET_LEN);
}

SEC("tcx/egress")
int hold_egress_ip(struct __sk_buff *skb)
{
	return leaves(skb, 0);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
