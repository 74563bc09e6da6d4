/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A TCP segment in a packet: where it is, whose, its header, and SACK blocks in it that cover a FIN.
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
/* A power of two, so that an index can be kept in bounds by a mask. */
#define HEADER_ROOM 64
#define AT(index) ((index) & (HEADER_ROOM - 1))
#define ETHERTYPE_IP4 0x0800
#define ETHERTYPE_IP6 0x86dd
#define PROTOCOL_TCP 6
/* Extension headers of IPv6 that may stand before TCP (RFC 8200 section 4.1), and how many are gone through. */
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
/* As many as there is room for in a header. */
#define SACK_BLOCKS 4

/* A TCP header as it lies in memory. */
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

/* One segment; too large for the stack, so each processor has one. */
struct segment {
	struct connection connection;
	__u32 at;      /* where it begins in the packet */
	__u32 len;     /* octets of its header */
	__u32 payload; /* octets behind it */
	__u32 is_ip4;
	/* In memory and volatile: what the verifier follows in a register, it follows through every way of the loops. */
	volatile __u32 cursor;
	volatile __u32 kept;
	volatile __u32 changed;
	union {
		__u8 ip[IP6_LEN];
		__be32 first_word;
	};
	union {
		__u8 header[HEADER_ROOM];
		struct tcp tcp;
	};
	__u8 old[HEADER_ROOM]; /* the header as the kernel wrote it */
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

/* Finds the segment of a packet whose network header is `at` octets in, and the fixed part of its header; 0 if there is none that is whole. */
static __always_inline int parse(struct __sk_buff *skb, struct segment *segment, __u32 at, int arrives)
{
	struct connection *connection = &segment->connection;
	__u8 *source = arrives ? connection->remote : connection->local;
	__u8 *destination = arrives ? connection->local : connection->remote;
	__u32 end;

	if (skb->protocol == bpf_htons(ETHERTYPE_IP4)) {
		if (bpf_skb_load_bytes(skb, at, segment->ip, IP4_LEN))
			return 0;
		/* No fragments: none of TCP's have a FIN that could be known. */
		if (segment->ip[0] >> 4 != 4 || segment->ip[9] != PROTOCOL_TCP || (segment->ip[6] & 0x3f) || segment->ip[7])
			return 0;
		mapped(source, segment->ip + 12);
		mapped(destination, segment->ip + 16);
		segment->is_ip4 = 1;
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
	/* Segments that are still, or already, in one can be longer than a header can say. */
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

/* Loads the rest of the header; 0 if it is not whole. */
static __always_inline int load_options(struct __sk_buff *skb, struct segment *segment)
{
	__u32 len = segment->len;

	__builtin_memset(segment->header, 0, HEADER_ROOM);
	/* A branch for each bound: the verifier wants to see them at the register that is used. */
	if (len < TCP_LEN)
		return 0;
	if (len > TCP_MOST)
		return 0;
	if (bpf_skb_load_bytes(skb, segment->at, segment->header, len))
		return 0;
	__builtin_memcpy(segment->old, segment->header, HEADER_ROOM);
	return 1;
}

/* Writes the header that was changed, and corrects the checksum. What is left to a device to sum (CHECKSUM_PARTIAL) is left to it still. */
static __always_inline void store(struct __sk_buff *skb, struct segment *segment)
{
	__u32 len = segment->len;
	__s64 difference;

	if (len < TCP_LEN)
		return;
	if (len > TCP_MOST)
		return;
	/* The checksum itself is the same in both. */
	difference = bpf_csum_diff((__be32 *)segment->old, TCP_MOST, (__be32 *)segment->header, TCP_MOST, 0);
	bpf_skb_store_bytes(skb, segment->at, segment->header, len, 0);
	bpf_l4_csum_replace(skb, segment->at + __builtin_offsetof(struct tcp, check), 0, difference, 0);
}

static __always_inline __u32 word_at(const __u8 *header, __u32 at)
{
	return (__u32)header[AT(at)] << 24 | header[AT(at + 1)] << 16 | header[AT(at + 2)] << 8 | header[AT(at + 3)];
}

static __always_inline void set_word(__u8 *header, __u32 at, __u32 word)
{
	header[AT(at)] = word >> 24;
	header[AT(at + 1)] = word >> 16;
	header[AT(at + 2)] = word >> 8;
	header[AT(at + 3)] = word;
}

/* Where the option begins that has SACK blocks; 0 if there is none. */
static __always_inline __u32 find_sack(struct segment *segment)
{
	__u32 number;

	segment->cursor = TCP_LEN;
	for (number = 0; number < TCP_MOST - TCP_LEN; number++) {
		__u32 at = segment->cursor;
		__u8 kind = segment->header[AT(at)], len = segment->header[AT(at + 1)];

		if (at + 1 >= segment->len)
			return 0;
		if (kind == OPTION_SACK)
			return at;
		if (kind == OPTION_NOP)
			len = 1;
		else if (kind == OPTION_END || len < 2)
			return 0;
		segment->cursor = at + len;
	}
	return 0;
}

/* Takes a FIN out of the SACK blocks (RFC 2018, RFC 2883): those that end with it end before it, those of it alone go. How many those were. */
static __always_inline __u32 blank_sack(struct segment *segment, __u32 fin)
{
	__u32 at = find_sack(segment), number, blocks;

	if (!at || at + segment->header[AT(at + 1)] > segment->len)
		return 0;
	blocks = ((__u32)segment->header[AT(at + 1)] - 2) / 8;
	segment->kept = 0;
	segment->changed = 0;
	for (number = 0; number < SACK_BLOCKS && number < blocks; number++) {
		__u32 from = at + 2 + 8 * number, to = at + 2 + 8 * segment->kept;
		__u32 left = word_at(segment->header, from), right = word_at(segment->header, from + 4);

		if (right == fin + 1) {
			segment->changed++;
			right = fin;
			if (left == fin)
				continue;
		}
		set_word(segment->header, to, left);
		set_word(segment->header, to + 4, right);
		segment->kept++;
	}
	for (number = 0; number < SACK_BLOCKS && number < blocks; number++) {
		if (number >= segment->kept) {
			set_word(segment->header, at + 2 + 8 * number, NOPS);
			set_word(segment->header, at + 6 + 8 * number, NOPS);
		}
	}
	segment->header[AT(at)] = segment->kept ? OPTION_SACK : OPTION_NOP;
	segment->header[AT(at + 1)] = segment->kept ? 2 + 8 * segment->kept : OPTION_NOP;
	return segment->changed;
}

#endif
