/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Data shared by the programs and their loader: tunables, tracks, totals. Plain data; Rust has the
 * same structures through the skeleton.
 */
#ifndef LITE_SIZES_H
#define LITE_SIZES_H

#include <linux/types.h>
#include "../include/tcp_lite.h"

/*
 * Longest TCP segment that is examined: that of a jumbo frame. Longer ones have been merged, and
 * were right.
 */
#define SEGMENT_MAX 9216
/*
 * Most connections of two hosts that an approximate search examines. With more, only ports one bit
 * away are tried.
 */
#define SLOTS 32
/*
 * Positions from the expected one on that a bold repair considers, and bits of a sequence number
 * that it may change.
 */
#define BOLD_POSITIONS 32
#define BOLD_BITS 2
/* Length of a hole, in segments up to the furthest one, from which on it does not guess. */
#define BOLD_HOLE 16
/* Time stamps of consecutive segments do not differ by more. */
#define PLAUSIBLE_STAMPS 0x10000
/*
 * From so many segments in a row with options that cannot be repaired, nothing is repaired. One
 * alone may be damage that its checksum does not show.
 */
#define OTHERS_AT_LEAST 2
#define OTHERS_FOR_EVER 3
/*
 * Length of the only options that are repaired: time stamps with their padding (RFC 7323 appendix
 * A).
 */
#define TEMPLATE 12

/* Most connections that are known at a time, and most pairs of hosts with Lite connections. */
#define CONNECTIONS 32768
#define PAIRS 8192

/*
 * How to find the connection of a damaged segment whose ports match none (P II-C, step 2).
 */
enum localization {
	EXACT = 0,
	SOURCE_PORT = 1, /* stage A: the source port is ignored */
	BITS = 2,        /* stage B: up to `bits` bits of the two ports differ */
};

/* Set before loading, constant afterwards. */
struct tunables {
	__u32 localization;
	__u32 bits;
	__u32 window;            /* bytes: how far past a base a position may lie */
	__u32 guess_burst;       /* guesses in a burst */
	__u64 guess_interval_ns; /* time that earns one guess; 0: no limit */
	__u8 every_connection;   /* connections are Lite without asking */
	__u8 policy;             /* policy of such connections */
};

/*
 * The hosts of a connection, in the order of an incoming segment. IPv4 addresses are mapped
 * (RFC 4291 section 2.5.5.2).
 */
struct addresses {
	__u8 remote[16];
	__u8 local[16];
};

/* Two ports in one number: the remote one in the upper half. */
#define PORTS(remote, local) ((__u32)(remote) << 16 | (local))

/* Identity of a connection. */
struct tuple {
	struct addresses addresses;
	__u32 ports;
};

/* Lite connections of a pair of hosts. */
struct pair {
	__u32 connections;
	__u32 crowded;      /* whether there were ever more than SLOTS at once: some have no slot */
	__u32 slots[SLOTS]; /* ports; 0 is free */
};

/* What is remembered of a connection, for repairs. */
struct track {
	__u64 credit_ns;
	__u64 refilled_ns;
	__u32 contiguous; /* rcv_nxt once the kernel has taken in everything it was handed */
	__u32 highest;    /* furthest end of any segment handed to the kernel */
	__u32 ack;        /* of the newest right segment */
	__u16 window;     /* of that segment, in network byte order */
	__u16 payload;    /* the largest of right segments, bytes */
	__u32 suspect;    /* a time stamp too far from the others to be believed alone */
	__u8 header_len;  /* 20 or 32; 0 while unknown */
	__u8 known;
	__u8 sack_seen;
	__u8 others;      /* right data segments in a row with unfitting options, or OTHERS_FOR_EVER */
	__u8 lite;
	__u8 suspected;   /* whether `suspect` is set */
	__u8 padding[2];
	__u8 options[TEMPLATE];
};

/* What is kept for a socket. */
struct kept {
	__u8 on;
	__u8 policy;
	__u8 windowed;
	__u8 overflow;
	__u32 ranges; /* ever recorded; modulo TCP_LITE_RANGES_KEPT: the next index */
	struct tcp_lite_window window;
	struct tcp_lite_stats stats;
	struct tcp_lite_range range[TCP_LITE_RANGES_KEPT];
};

/* Totals over all connections. */
struct totals {
	struct tcp_lite_stats segments;
	__u64 unverifiable; /* segments with an offload's partial checksum: damage not visible */
	__u64 untracked;    /* connections that did not fit into the map */
};

#endif
