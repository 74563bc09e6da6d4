/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What our congestion controls keep of a connection, in the words that the kernel reserves for them
 * (icsk_ca_priv). The first 56 bytes are the same for all algorithms, so that a recorder can read
 * them without knowing the algorithm; the mark identifies them as ours. This file needs only the
 * names of the integer types from the kernel.
 */
#ifndef LASTHOP_STATE_H
#define LASTHOP_STATE_H

/* The mark without the algorithm's number. */
#define LASTHOP_MARK 0x4c480100

/* Numbers of the algorithms, for the mark. */
enum lasthop_number {
	LASTHOP_NEWRENO = 0,
	LASTHOP_NEWZAG = 1,
	LASTHOP_NEWZAG_V1 = 2,
	LASTHOP_ZIGZAG = 3,
	LASTHOP_BIAZ = 4,
	LASTHOP_MBIAZ = 5,
	LASTHOP_SPIKE = 6,
	LASTHOP_VENO = 7,
	LASTHOP_WESTWOOD = 8,
	LASTHOP_VEGAS = 9,
};

/* Verdict on a loss event. */
enum lasthop_verdict { VERDICT_NONE = 0, VERDICT_WIRELESS = 1, VERDICT_CONGESTION = 2 };

/*
 * What decided a verdict. Local is a full transmit queue, ECN, or a lost tail that a probe
 * replaced: the kernel does not tell these apart.
 */
enum lasthop_reason { REASON_NONE = 0, REASON_DETECTOR = 1, REASON_NO_SAMPLE = 2, REASON_TIMEOUT = 3, REASON_LOCAL = 4 };

/* The part that others may read. Counters with "wraps" start again at 0. */
struct lasthop_state {
	__u32 mark;      /* LASTHOP_MARK and the number of the algorithm */
	__u32 mean;      /* RTT_mean, us << 8; 0 before the first sample */
	__u32 dev;       /* RTT_dev, us << 8 */
	__u32 rtt;       /* RTT_i: latest valid sample, quantised, us, at most 2^24 - 1 */
	__u32 samples;   /* valid samples so far (wraps) */
	__u32 least;     /* spike, veno, vegas, westwood: least RTT, us; biaz, mbiaz: T_min, us << 8; 0: none yet */
	__u32 span;      /* biaz, mbiaz: T_i, us; spike: 1 in a spike; veno: backlog N, segments << 8; else 0 */
	__u32 spanned;   /* biaz, mbiaz: d, segments delivered within span; else 0 */
	__u16 n;         /* lost segments of the last loss event, at least 1 */
	__u8 verdict;    /* of the last loss event: enum lasthop_verdict */
	__u8 reason;     /* enum lasthop_reason */
	__u32 base;      /* congestion window that the last reduction started from, segments */
	__u32 limit;     /* what decided: newzag, zigzag, spike: RTT, us << 8; biaz: upper bound, us << 8; veno: segments << 8; else 0 */
	__u16 timeouts;  /* retransmission timeouts (wraps) */
	__u16 local;     /* reductions by CWR (wraps) */
	__u32 events;    /* loss events: entries into Recovery that reduced the window (wraps) */
	__u32 wireless;  /* loss events judged wireless (wraps) */
};

/* One round trip: from the sending of a segment to its acknowledgement. */
struct lasthop_round {
	__u32 end;     /* snd_nxt at its start; the round ends when more than this is acknowledged */
	__u32 least;   /* least RTT in it, us */
	__u32 samples; /* valid samples in it */
};

/* All words of a connection: the visible part, and what an algorithm needs besides. */
struct lasthop_words {
	struct lasthop_state seen;
	__u64 mean; /* RTT_mean, us << 24: with 8 binary places only, the mean would stand still half a gain away from the samples */
	__u64 dev;  /* RTT_dev, us << 24 */
	__u8 begun;   /* there was a valid sample */
	__u8 pending; /* a reduction was judged, and its reason is not known yet */
	__u8 clocked; /* biaz, mbiaz, westwood: there was an acknowledgement to count time from */
	__u8 phase;   /* vegas: 1 in a round in which slow start grows; veno: 1 once a round has ended */
	__u8 asleep;  /* vegas: 1 while the connection recovers by NewReno's rules */
	__u8 unused[3];
	union {
		struct lasthop_round round; /* veno, vegas */
		struct {
			__u64 then;       /* biaz: last ACK in order; westwood: start of the sample; us */
			__u32 delivered;  /* tp->delivered at that time */
			__u32 first;      /* westwood: bandwidth after the first of the two filters, segments a second << 8 */
			__u32 bandwidth;  /* westwood: bandwidth after both filters */
		} clock;
	};
};

_Static_assert(sizeof(struct lasthop_state) == 56, "this is what recorders read");
_Static_assert(sizeof(struct lasthop_words) <= 104, "the kernel has no more room (ICSK_CA_PRIV_SIZE)");

#endif
