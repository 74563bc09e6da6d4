/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A TCP segment in a packet: its position, connection and header, and the SACK blocks in it that
 * cover a FIN.
 */
#ifndef RESOA_SEGMENT_H
#define RESOA_SEGMENT_H

#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include "hold.h"

#define IP4_LEN 20
#define IP6_LEN 40
#define TCP_LEN 20
#define ETHERTYPE_IP4 0x0800
#define ETHERTYPE_IP6 0x86dd
#define PROTOCOL_TCP 6
/*
 * Extension headers of IPv6 that may precede TCP (RFC 8200 section 4.1), and the maximum number of
 * them that the parser passes.
 */
#define HOP_BY_HOP 0
#define ROUTING 43
#define DESTINATION 60
#define EXTENSIONS 4

#define FLAG_FIN 0x01
#define FLAG_SYN 0x02
#define FLAG_RST 0x04
#define FLAG_ACK 0x10

#define OPTION_END 0
#define OPTION_NOP 1
#define OPTION_SACK 5
#define NOPS 0x01010101

/* A TCP header in memory. */
struct tcp {
	__be16 source;
	__be16 destination;
	__be32 seq;
	__be32 ack;
	__u8 offset; /* header length in words in the upper half */
	__u8 flags;
	__be16 window;
	__u16 check;
	__be16 urgent;
};

/* One segment. It is too large for the stack, so each processor has one in a map. */
struct segment {
	struct connection connection;
	__u32 at;      /* offset of its header in the packet */
	__u32 len;     /* length of its header in bytes */
	__u32 payload; /* bytes behind the header */
	__u32 is_ip4;
	__u32 hops;    /* time to live, hop limit */
	/*
	 * These are in memory and volatile because the verifier tracks a value in a register
	 * through every path of the loops. Fields without a fixed offset are read and written in
	 * the packet itself: an index into memory would need CAP_PERFMON.
	 */
	volatile __u32 cursor;
	volatile __u32 kept;   /* the end of SACK blocks that stay */
	volatile __u32 changed;
	/* Buffers for header fields at offsets that are not fixed. */
	__u8 option[2]; /* kind, length */
	__u16 short_word;
	__be32 word;
	__be32 edges[2]; /* of a SACK block */
	union {
		__u8 ip[IP6_LEN];
		__be32 first_word;
	};
	union {
		__u8 header[TCP_MOST];
		struct tcp tcp;
	};
	struct hold begin;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct segment);
} segments SEC(".maps");

static __always_inline struct segment *segment_of_this_processor(void)
{
	__u32 first = 0;

	return bpf_map_lookup_elem(&segments, &first);
}

static __always_inline void mapped(__u8 *address, const __u8 *ip4)
{
	__builtin_memset(address, 0, 10);
	address[10] = 0xff;
	address[11] = 0xff;
	__builtin_memcpy(address + 12, ip4, 4);
}

/*
 * Finds the segment in a packet whose network header is `at` bytes in, and loads the fixed part of
 * its header. Returns 0 if the packet has no complete segment.
 */
static __always_inline int parse(struct __sk_buff *skb, struct segment *segment, __u32 at, int arrives)
{
	struct connection *connection = &segment->connection;
	__u8 *source = arrives ? connection->remote : connection->local;
	__u8 *destination = arrives ? connection->local : connection->remote;
	__u32 end;

	if (skb->protocol == bpf_htons(ETHERTYPE_IP4)) {
		if (bpf_skb_load_bytes(skb, at, segment->ip, IP4_LEN))
			return 0;
		/* Fragments are skipped: their FINs cannot be recognised. */
		if (segment->ip[0] >> 4 != 4 || segment->ip[9] != PROTOCOL_TCP || (segment->ip[6] & 0x3f) || segment->ip[7])
			return 0;
		mapped(source, segment->ip + 12);
		mapped(destination, segment->ip + 16);
		segment->is_ip4 = 1;
		segment->hops = segment->ip[8];
		end = segment->ip[2] << 8 | segment->ip[3];
		segment->at = at + (segment->ip[0] & 15) * 4;
	} else if (skb->protocol == bpf_htons(ETHERTYPE_IP6)) {
		__u8 next, extension[2];
		int number;

		if (bpf_skb_load_bytes(skb, at, segment->ip, IP6_LEN) || segment->ip[0] >> 4 != 6)
			return 0;
		__builtin_memcpy(source, segment->ip + 8, 16);
		__builtin_memcpy(destination, segment->ip + 24, 16);
		segment->is_ip4 = 0;
		segment->hops = segment->ip[7];
		end = segment->ip[4] << 8 | segment->ip[5];
		if (end)
			end += IP6_LEN;
		segment->at = at + IP6_LEN;
		next = segment->ip[6];
		for (number = 0; number < EXTENSIONS && next != PROTOCOL_TCP; number++) {
			if (next != HOP_BY_HOP && next != ROUTING && next != DESTINATION)
				return 0;
			if (bpf_skb_load_bytes(skb, segment->at, extension, sizeof(extension)))
				return 0;
			next = extension[0];
			segment->at += (extension[1] + 1) * 8;
		}
		if (next != PROTOCOL_TCP)
			return 0;
	} else {
		return 0;
	}
	/* Segments before segmentation offload or after GRO can exceed the length field. */
	end = end ? at + end : skb->len;
	if (bpf_skb_load_bytes(skb, segment->at, &segment->tcp, TCP_LEN))
		return 0;
	segment->len = (segment->tcp.offset >> 4) * 4;
	if (segment->len < TCP_LEN || end < segment->at + segment->len)
		return 0;
	segment->payload = end - segment->at - segment->len;
	connection->local_port = arrives ? segment->tcp.destination : segment->tcp.source;
	connection->remote_port = arrives ? segment->tcp.source : segment->tcp.destination;
	return 1;
}

/* Loads the whole header and zeros behind it. Returns 0 if the header is incomplete. */
static __always_inline int load_header(struct __sk_buff *skb, struct segment *segment)
{
	__u32 len = segment->len;

	__builtin_memset(segment->header, 0, TCP_MOST);
	/* One branch per bound: the verifier has to see both on the register that is used. */
	if (len < TCP_LEN)
		return 0;
	if (len > TCP_MOST)
		return 0;
	return bpf_skb_load_bytes(skb, segment->at, segment->header, len) == 0;
}

/*
 * Writes to the header at an even offset, and corrects the checksum. A sum that is left to a device
 * (CHECKSUM_PARTIAL) stays left to it.
 */
static __always_inline void put_short(struct __sk_buff *skb, struct segment *segment, __u32 at, __u16 new)
{
	__u16 old;

	if (bpf_skb_load_bytes(skb, segment->at + at, &segment->short_word, sizeof(new)))
		return;
	old = segment->short_word;
	segment->short_word = new;
	bpf_skb_store_bytes(skb, segment->at + at, &segment->short_word, sizeof(new), 0);
	bpf_l4_csum_replace(skb, segment->at + __builtin_offsetof(struct tcp, check), old, new, sizeof(new));
}

static __always_inline void put_word(struct __sk_buff *skb, struct segment *segment, __u32 at, __be32 new)
{
	__be32 old;

	if (bpf_skb_load_bytes(skb, segment->at + at, &segment->word, sizeof(new)) || segment->word == new)
		return;
	old = segment->word;
	segment->word = new;
	bpf_skb_store_bytes(skb, segment->at + at, &segment->word, sizeof(new), 0);
	bpf_l4_csum_replace(skb, segment->at + __builtin_offsetof(struct tcp, check), old, new, sizeof(new));
}

/* Returns the offset of the SACK option and sets the number of its blocks; 0 if there is none. */
static __always_inline __u32 find_sack(struct __sk_buff *skb, struct segment *segment, __u32 *blocks)
{
	__u8 *option = segment->option;
	__u32 number;

	segment->cursor = TCP_LEN;
	for (number = 0; number < TCP_MOST - TCP_LEN; number++) {
		__u32 at = segment->cursor;

		if (at + 1 >= segment->len || bpf_skb_load_bytes(skb, segment->at + at, option, sizeof(segment->option)))
			return 0;
		if (option[0] == OPTION_NOP) {
			segment->cursor = at + 1;
			continue;
		}
		if (option[0] == OPTION_END || option[1] < 2 || at + option[1] > segment->len)
			return 0;
		if (option[0] == OPTION_SACK) {
			*blocks = ((__u32)option[1] - 2) / 8;
			return at;
		}
		segment->cursor = at + option[1];
	}
	return 0;
}

/*
 * Moves a SACK block behind the blocks that were kept, without the FIN if it covers that. A block
 * of the FIN alone is dropped.
 */
static __always_inline void keep_block(struct __sk_buff *skb, struct segment *segment, __u32 at, __u32 fin)
{
	__u32 to = segment->kept;
	__be32 left, right;

	if (bpf_skb_load_bytes(skb, segment->at + at, segment->edges, sizeof(segment->edges)))
		return;
	left = segment->edges[0];
	right = segment->edges[1];
	if (bpf_ntohl(right) == fin + 1) {
		segment->changed++;
		right = bpf_htonl(fin);
		if (left == right)
			return;
	}
	put_word(skb, segment, to, left);
	put_word(skb, segment, to + 4, right);
	segment->kept = to + 8;
}

/* Fills the space of a block with NOPs if it is behind the kept ones. */
static __always_inline void clear_block(struct __sk_buff *skb, struct segment *segment, __u32 at)
{
	if (at < segment->kept)
		return;
	put_word(skb, segment, at, NOPS);
	put_word(skb, segment, at + 4, NOPS);
}

/*
 * Removes a FIN from the SACK blocks (RFC 2018, RFC 2883): a block that ends with it is shortened,
 * a block of the FIN alone is dropped. Returns the number of blocks changed or dropped.
 *
 * Linux puts the option at an even offset, like any stack that aligns its words. At an odd one
 * nothing is changed.
 */
static __always_inline __u32 blank_sack(struct __sk_buff *skb, struct segment *segment, __u32 fin)
{
	__u32 blocks = 0, at = find_sack(skb, segment, &blocks), first = at + 2;

	if (!at || at & 1)
		return 0;
	segment->kept = first;
	segment->changed = 0;
	/* Unrolled: a header has room for four blocks at most. */
	if (blocks > 0)
		keep_block(skb, segment, first, fin);
	if (blocks > 1)
		keep_block(skb, segment, first + 8, fin);
	if (blocks > 2)
		keep_block(skb, segment, first + 16, fin);
	if (blocks > 3)
		keep_block(skb, segment, first + 24, fin);
	if (!segment->changed)
		return 0;
	if (blocks > 0)
		clear_block(skb, segment, first);
	if (blocks > 1)
		clear_block(skb, segment, first + 8);
	if (blocks > 2)
		clear_block(skb, segment, first + 16);
	if (blocks > 3)
		clear_block(skb, segment, first + 24);
	put_short(skb, segment, at, segment->kept > first ? bpf_htons(OPTION_SACK << 8 | (segment->kept - at)) : (__u16)NOPS);
	return segment->changed;
}

#endif
