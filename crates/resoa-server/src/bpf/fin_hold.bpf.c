// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The acknowledgement of a far host's FIN, held back until the server of remote sockets releases
 * it.
 *
 * The kernel acknowledges a FIN when it arrives. At tc ingress the FIN of a connection of the
 * server is noted; at egress, while it is not released, segments that acknowledge it acknowledge
 * everything before it instead, and no SACK block says otherwise. So the far host hears of all its
 * data at once, and of its FIN when the client has all that came before.
 *
 *   hold_ingress_*   notes FINs
 *   hold_egress_*    corrects what the kernel says
 *
 * Which connections are the server's is known by the mark that it puts on its sockets; what a
 * listener accepts inherits it, so that a FIN which comes before `accept` is held, too. An entry in
 * `holds` is there from the arrival of a FIN to its release: before that a connection costs a
 * look-up for each segment that leaves, and nothing else.
 *
 * Only headers of the kernel's user interface are used, no BTF of the kernel, no callbacks and no
 * kfuncs.
 */
#include "segment.h"

/* TCX_NEXT and TCX_DROP: others at this hook see the packet, too, or nobody does. */
#define NEXT -1
#define DROP 2
#define ETHERNET_LEN 14
/*
 * SOCK_STREAM; the sockets by which the kernel answers for connections that have none are raw ones.
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
	__uint(max_entries, 1); /* the loader says how many */
	__type(key, struct connection);
	__type(value, struct hold);
} holds SEC(".maps");

struct counts counts;

static __always_inline void count(__u64 *counter, __u64 by)
{
	__sync_fetch_and_add(counter, by);
}

/*
 * Whether a FIN of this connection is to be held; of one that has ended, or does not exist, it is
 * not.
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
		 * The handshake may end with this segment; the mark is still at the listener, which
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
 * Notes a FIN. The far host says nothing behind it, so its number alone tells which
 * acknowledgements are of it.
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
	 * The kernel has acknowledged the one that is held, so it was genuine, and this one is not.
	 * Before that, the last that came is taken for it.
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

/* Whether a socket of the connection's own says this, and not the kernel for one that has ended. */
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
		/* The kernel has ended it: nothing is held any more. */
		bpf_map_delete_elem(&holds, &segment->connection);
		return NEXT;
	}
	if (hold->state != HELD)
		return NEXT;
	/*
	 * The answer to a FIN that comes again, after our own has crossed it. The FIN is not
	 * refused, it is held.
	 */
	count(&counts.silenced, 1);
	return DROP;
}

/* Remembers what a segment of this connection looks like. */
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
		 * The kernel waits for the far host to hear its acknowledgement, but the connection
		 * was reset.
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
