/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the programs and their loader share: tunables, tracks, totals. Plain data; Rust sees the
 * same structures through the skeleton.
 */
#ifndef LITE_SIZES_H
#define LITE_SIZES_H

#include <linux/types.h>
#include "../include/tcp_lite.h"

/*
 * Longest TCP segment that is looked at: one of a jumbo frame. Longer ones have been merged, and
 * were right.
 */
#define SEGMENT_MAX 9216
/*
 * Connections of two hosts that an approximate search goes through; beyond, only ports one bit away
 * are tried.
 */
#define SLOTS 32
/*
 * Positions behind the expected one that a bold repair considers, and bits of a sequence number
 * that it may change.
 */
#define BOLD_POSITIONS 32
#define BOLD_BITS 2
/* Segments that may be missing for it. */
#define BOLD_HOLE 16
/* Time stamps that differ by more are not of segments that follow each other. */
#define PLAUSIBLE_STAMPS 0x10000
/*
 * Segments in a row with options that cannot be repaired, from which on nothing is; one alone may
 * be damage that the checksum does not show.
 */
#define OTHERS_AT_LEAST 2
#define OTHERS_FOR_EVER 3
/*
 * Bytes of the only options that are repaired: time stamps with their padding (RFC 7323 appendix
 * A).
 */
#define TEMPLATE 12

/* Connections that can be known at a time, and pairs of hosts that have Lite ones. */
#define CONNECTIONS 32768
#define PAIRS 8192

/*
 * How a connection is looked for if the ports of a damaged segment belong to none (P II-C, step 2).
 */
enum localization {
	EXACT = 0,
	SOURCE_PORT = 1, /* stage A: the source port is left out of the match */
	BITS = 2,        /* stage B: up to `bits` bits of the two ports differ */
};

/* What is set before loading, and constant then. */
struct tunables {
	__u32 localization;
	__u32 bits;
	__u32 window;            /* bytes: how far ahead of what is expected a position may lie */
	__u32 guess_burst;       /* guesses at once */
	__u64 guess_interval_ns; /* time that buys one guess; 0: no limit */
	__u8 every_connection;   /* connections are Lite without asking */
	__u8 policy;             /* theirs */
};

/*
 * The hosts of a connection, as an incoming segment has them; IPv4 addresses are mapped (RFC 4291
 * section 2.5.5.2).
 */
struct addresses {
	__u8 remote[16];
	__u8 local[16];
};

/* Two ports in one number: the remote one in the upper half. */
#define PORTS(remote, local) ((__u32)(remote) << 16 | (local))

/* A connection. */
struct tuple {
	struct addresses addresses;
	__u32 ports;
};

/* Lite connections of two hosts. */
struct pair {
	__u32 connections;
	__u32 crowded;      /* whether they were ever more than SLOTS at a time: some have none */
	__u32 slots[SLOTS]; /* ports; 0 is free */
};

/* What is remembered of a connection to repair segments after. */
struct track {
	__u64 credit_ns;
	__u64 refilled_ns;
	__u32 contiguous; /* what rcv_nxt will be when the kernel has taken in all that it was handed */
	__u32 highest;    /* furthest end of a segment that the kernel was handed */
	__u32 ack;        /* of the newest right segment */
	__u16 window;     /* of that segment, as it lies in memory */
	__u16 payload;    /* the largest of right segments */
	__u32 suspect;    /* a time stamp too far from the others to be believed alone */
	__u8 header_len;  /* 20 or 32; 0 if not known yet */
	__u8 known;
	__u8 sack_seen;
	__u8 others;      /* right segments in a row whose options cannot be repaired; OTHERS_FOR_EVER from the handshake on */
	__u8 lite;
	__u8 suspected;   /* whether there is a suspect */
	__u8 padding[2];
	__u8 options[TEMPLATE];
};

/* What is kept with a socket. */
struct kept {
	__u8 on;
	__u8 policy;
	__u8 windowed;
	__u8 overflow;
	__u32 ranges; /* ever noted: the next one's place is this modulo TCP_LITE_RANGES_KEPT */
	struct tcp_lite_window window;
	struct tcp_lite_stats stats;
	struct tcp_lite_range range[TCP_LITE_RANGES_KEPT];
};

/* All connections together. */
struct totals {
	struct tcp_lite_stats segments;
	__u64 unverifiable; /* with the partial checksum of an offload: damage does not show */
	__u64 untracked;    /* connections for which there was no room */
};

#endif
