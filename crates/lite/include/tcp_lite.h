/* SPDX-License-Identifier: MIT OR GPL-2.0-only WITH Linux-syscall-note */
/*
 * TCP Lite: options of a TCP socket that say which damage its program can use.
 *
 * All are of level IPPROTO_TCP, and there for programs in a control group that `lasthop lite` is
 * attached to; elsewhere the kernel answers ENOPROTOOPT. What they mean is in tcp_lite(7).
 */
#ifndef TCP_LITE_H
#define TCP_LITE_H

#include <linux/types.h>

/*
 * int: accept damaged segments from now on (1) or not (0, the default). Accepted sockets inherit it
 * from their listener.
 */
#define TCP_LITE 0x4C54
/*
 * struct tcp_lite_window: accept damage in this part of the stream only. Length 0: in all of it, as
 * without the option.
 */
#define TCP_LITE_WINDOW 0x4C55
/* struct tcp_lite_stats, to be read. */
#define TCP_LITE_STATS 0x4C56
/* struct tcp_lite_ranges, to be read. */
#define TCP_LITE_RANGES 0x4C57
/*
 * int: one of enum tcp_lite_policy (TCP_LITE_NORMAL is the default). Accepted sockets inherit it.
 */
#define TCP_LITE_POLICY 0x4C58

/* How much is risked to use a damaged segment. */
enum tcp_lite_policy {
	TCP_LITE_STRICT = 0, /* ports as they should be, and the next bytes of the stream */
	TCP_LITE_NORMAL = 1, /* also repaired ports, and positions that are whole segments behind a hole */
	TCP_LITE_BOLD = 2,   /* also a damaged sequence number, replaced by the nearest one that is possible */
};

/* Bytes of the stream, counted from the first one received, which is number 0. */
struct tcp_lite_window {
	__u64 from;
	__u64 length;
};

/* Why a damaged segment was discarded. */
enum tcp_lite_reason {
	TCP_LITE_EMPTY = 1,          /* it carries no data */
	TCP_LITE_POSITION = 2,       /* its sequence number is not one that is expected */
	TCP_LITE_POLICY_FORBIDS = 3, /* the policy is strict */
	TCP_LITE_OUTSIDE = 4,        /* outside of the window of TCP_LITE_WINDOW */
	TCP_LITE_RATE = 5,           /* too many guesses */
	TCP_LITE_UNKNOWN = 6,        /* no undamaged segment was seen yet to repair it after */
	TCP_LITE_OPTIONS = 7,        /* the connection uses TCP options that cannot be repaired */
	TCP_LITE_HEADER_LENGTH = 8,  /* it cannot be told where its data begin */
	TCP_LITE_NO_CONNECTION = 9,  /* no connection that it could belong to; only in the totals */
	TCP_LITE_AMBIGUOUS = 10,     /* several connections, or several places in the stream, that it could belong to */
	TCP_LITE_SHORT = 11,         /* too short for a TCP header; only in the totals */
	TCP_LITE_IP = 12,            /* the IP header is damaged as well; only in the totals */
};
/* Room for them and for some more; a power of two. */
#define TCP_LITE_REASONS 16

/* Damaged segments of this connection: each is accepted or discarded for one reason. */
struct tcp_lite_stats {
	__u64 damaged;                     /* with a wrong checksum */
	__u64 accepted;                    /* handed on with a repaired header */
	__u64 confirmed;                   /* of these: the repaired header makes the checksum right, so the data are intact */
	__u64 guessed;                     /* of these: more was repaired than changes in a segment, and not confirmed */
	__u64 out_of_order;                /* of these: behind a hole in the stream */
	__u64 approximate;                 /* of these: ports repaired */
	__u64 bytes;                       /* data bytes that were accepted without being confirmed */
	__u64 discarded[TCP_LITE_REASONS]; /* by enum tcp_lite_reason */
};

/*
 * Part of the stream that came in an accepted segment and was not confirmed: at least one bit of
 * the segment is wrong, in its header or its data.
 */
struct tcp_lite_range {
	__u64 from;
	__u64 to; /* the byte behind it */
};

/* As many as fit into 1024 bytes, which is the most that Python reads. */
#define TCP_LITE_RANGES_KEPT 63

/* The newest ranges, in the order in which they came. */
struct tcp_lite_ranges {
	__u32 count;    /* ranges that follow */
	__u32 overflow; /* 1 if older ones were dropped */
	struct tcp_lite_range range[TCP_LITE_RANGES_KEPT];
};

#endif
