/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The packet that is judged, one's complement sums, and the fields of a TCP header (RFC 9293
 * section 3.1).
 *
 * Words are summed in memory order: the sum does not depend on byte order (RFC 1071 section 2 B).
 */
#ifndef LITE_BYTES_H
#define LITE_BYTES_H

#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include "sizes.h"

#define IP4_LEN 20
#define IP6_LEN 40
#define TCP_LEN 20
#define HEADER_MAX 60
#define PROTOCOL_TCP 6
#define ETHERNET_IP4 0x0800
#define ETHERNET_IP6 0x86dd
/* Shortest payload of an Ethernet frame: shorter packets are padded to it. */
#define ETHERNET_LEAST 46

/* Flags in byte 13 of a TCP header. */
#define FLAG_FIN 0x01
#define FLAG_SYN 0x02
#define FLAG_RST 0x04
#define FLAG_PSH 0x08
#define FLAG_ACK 0x10
#define FLAG_ECE 0x40
#define FLAG_CWR 0x80

/* Most bytes that the kernel's helper sums at a time. */
#define SUM_MAX 512

/* A TCP header in memory order. */
struct tcp {
	__be16 remote_port;
	__be16 local_port;
	__be32 seq;
	__be32 ack;
	__u8 offset; /* header length in words in the upper half, reserved bits in the lower */
	__u8 flags;
	__be16 window;
	__u16 check;
	__be16 urgent;
};

/* State of one packet. Too large for the stack, so each processor has one. */
struct work {
	struct tuple tuple;    /* as received; after localization: of the connection */
	__u32 received_ports;
	__u32 at;              /* offset of the TCP segment in the packet */
	__u32 len;             /* of the TCP segment */
	__u32 ip4;             /* whether the packet is IPv4 */
	__u32 sum;             /* of segment and pseudo-header; 0xffff if the checksum is right */
	__u32 pseudo;          /* of the pseudo-header alone */
	/* localization */
	__u32 best;            /* score of the best candidate; lower is better */
	__u32 best_ports;
	__u32 tied;
	/* from the socket */
	__u32 rcv_nxt;
	__u32 snd_una;
	__u32 snd_nxt;
	__s64 received;        /* stream offset of rcv_nxt */
	struct tcp_lite_window window;
	__u32 windowed;
	/* the verdict */
	__u32 header_len;
	__u32 genuine_sack;    /* bytes of SACK blocks behind the template's options */
	__u32 payload;
	__u32 seq;
	__u32 confirmed;
	__u32 approximate;
	__u32 guess;
	__u32 out_of_order;
	__s64 offset;          /* stream offset of the segment's first byte */
	/*
	 * the repaired header with its options, and the received options with the template's in
	 * their place
	 */
	union {
		__u8 fixed[HEADER_MAX + 4];
		struct tcp fixed_tcp;
	};
	__u8 template[HEADER_MAX - TCP_LEN];
	__u8 ip[IP6_LEN];
	union {
		__u8 segment[SEGMENT_MAX + SUM_MAX];
		struct tcp tcp;
	};
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct work);
} works SEC(".maps");

static __always_inline struct work *work_of_this_processor(void)
{
	__u32 first = 0;

	return bpf_map_lookup_elem(&works, &first);
}

/* Folds a sum to 16 bits. */
static __always_inline __u32 folded(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* Returns by how much a sum grows when a word changes from `old` to `new`. */
static __always_inline __u32 turned(__u16 old, __u16 new)
{
	return (__u16)~old + new;
}

static __always_inline __u32 turned_long(__u32 old, __u32 new)
{
	return turned(old, new) + turned(old >> 16, new >> 16);
}

/*
 * Sums `len` bytes at the start of the segment. The bytes up to the next multiple of four must be
 * 0.
 */
static __always_inline __u32 sum_of_segment(struct work *work, __u32 len)
{
	__u32 sum = 0, place;

	for (place = 0; place < SEGMENT_MAX; place += SUM_MAX) {
		__u32 rest;

		if (place >= len)
			break;
		rest = (len - place + 3) & ~3;
		if (rest >= SUM_MAX)
			sum = bpf_csum_diff(0, 0, (__be32 *)(work->segment + place), SUM_MAX, sum);
		else
			sum = bpf_csum_diff(0, 0, (__be32 *)(work->segment + place), rest & (SUM_MAX - 4), sum);
	}
	return sum;
}

/*
 * Sums the pseudo-header (RFC 9293 section 3.1, RFC 8200 section 8.1). The prefix of mapped
 * addresses adds 0xffff, which is 0 in one's complement.
 */
static __always_inline __u32 sum_of_pseudo_header(struct work *work)
{
	__u64 sum = bpf_csum_diff(0, 0, (__be32 *)&work->tuple.addresses, sizeof(struct addresses), 0);

	return folded((__u32)sum + (__u64)bpf_htons(work->len) + bpf_htons(PROTOCOL_TCP));
}

static __always_inline __u32 bits_set(__u32 word)
{
	word = word - (word >> 1 & 0x55555555);
	word = (word & 0x33333333) + (word >> 2 & 0x33333333);
	return ((word + (word >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}

/* Serial number arithmetic (RFC 1982, RFC 9293 section 3.4). */
static __always_inline int is_after(__u32 a, __u32 b)
{
	return (__s32)(a - b) > 0;
}

static __always_inline int is_before(__u32 a, __u32 b)
{
	return (__s32)(a - b) < 0;
}

#endif
