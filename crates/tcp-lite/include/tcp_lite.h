/* SPDX-License-Identifier: MIT OR GPL-2.0-only WITH Linux-syscall-note */
/*
 * TCP Lite: socket options by which a program says which damage it can use.
 *
 * The level of all options is IPPROTO_TCP. They exist for programs in a control group that
 * `lasthop tcp-lite` is attached to; elsewhere the kernel answers ENOPROTOOPT. tcp_lite(7)
 * documents them.
 */
#ifndef TCP_LITE_H
#define TCP_LITE_H

#include <linux/types.h>

/*
 * int: accept damaged segments from now on (1) or not (0, the default). Accepted sockets inherit
 * the setting from their listener.
 */
#define TCP_LITE 0x4C54
/*
 * struct tcp_lite_window: accept damage in this part of the stream only. Length 0 means the whole
 * stream, as without the option.
 */
#define TCP_LITE_WINDOW 0x4C55
/* struct tcp_lite_stats, read-only. */
#define TCP_LITE_STATS 0x4C56
/* struct tcp_lite_ranges, read-only. */
#define TCP_LITE_RANGES 0x4C57
/*
 * int: one of enum tcp_lite_policy (TCP_LITE_NORMAL is the default). Accepted sockets inherit it.
 */
#define TCP_LITE_POLICY 0x4C58

/* How much risk to take to use a damaged segment. */
enum tcp_lite_policy {
	TCP_LITE_STRICT = 0, /* only undamaged ports, and only the next bytes of the stream */
	TCP_LITE_NORMAL = 1, /* also repaired ports, and positions whole segments behind a hole */
	TCP_LITE_BOLD = 2,   /* also a damaged sequence number, replaced by the nearest possible one */
};

/* Bytes of the stream; the first byte received has number 0. */
struct tcp_lite_window {
	__u64 from;
	__u64 length;
};

/* Why a damaged segment was discarded. */
enum tcp_lite_reason {
	TCP_LITE_EMPTY = 1,          /* it carries no data */
	TCP_LITE_POSITION = 2,       /* its sequence number is not an expected one */
	TCP_LITE_POLICY_FORBIDS = 3, /* the policy is strict */
	TCP_LITE_OUTSIDE = 4,        /* outside the window of TCP_LITE_WINDOW */
	TCP_LITE_RATE = 5,           /* too many guesses */
	TCP_LITE_UNKNOWN = 6,        /* no undamaged segment seen yet to repair from */
	TCP_LITE_OPTIONS = 7,        /* the connection uses TCP options that cannot be repaired */
	TCP_LITE_HEADER_LENGTH = 8,  /* the start of its data is unknown */
	TCP_LITE_NO_CONNECTION = 9,  /* it matches no connection; only in the totals */
	TCP_LITE_AMBIGUOUS = 10,     /* several connections or places that it could belong to */
	TCP_LITE_SHORT = 11,         /* too short for a TCP header; only in the totals */
	TCP_LITE_IP = 12,            /* the IP header is damaged as well; only in the totals */
};
/* Room for these reasons and some more; a power of two. */
#define TCP_LITE_REASONS 16

/* Damaged segments of this connection. Each is either accepted or discarded for one reason. */
struct tcp_lite_stats {
	__u64 damaged;                     /* with a wrong checksum */
	__u64 accepted;                    /* delivered with a repaired header */
	__u64 confirmed;                   /* of these: the repaired header matches the checksum: data intact */
	__u64 guessed;                     /* of these: guesses: repaired constants or sequence number */
	__u64 out_of_order;                /* of these: behind a hole in the stream */
	__u64 approximate;                 /* of these: ports repaired */
	__u64 bytes;                       /* data bytes that were accepted without being confirmed */
	__u64 discarded[TCP_LITE_REASONS]; /* by enum tcp_lite_reason */
};

/*
 * Part of the stream that arrived in an accepted, unconfirmed segment: at least one bit of the
 * segment is wrong, in its header or its data.
 */
struct tcp_lite_range {
	__u64 from;
	__u64 to; /* end of the range, exclusive */
};

/* The whole structure fits into 1024 bytes, the most that Python reads. */
#define TCP_LITE_RANGES_KEPT 63

/* The newest ranges, in order of arrival. */
struct tcp_lite_ranges {
	__u32 count;    /* ranges that follow */
	__u32 overflow; /* 1 if older ones were dropped */
	struct tcp_lite_range range[TCP_LITE_RANGES_KEPT];
};

#endif
