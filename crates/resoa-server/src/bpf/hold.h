/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the programs and the server share: connections, marks of sockets, FINs that are held,
 * counts. Plain data; Rust sees the same structures through the skeleton.
 */
#ifndef RESOA_HOLD_H
#define RESOA_HOLD_H

#include <linux/types.h>

/* The longest TCP header (RFC 9293 section 3.1). */
#define TCP_MOST 60

/*
 * A connection, as the server has it; IPv4 addresses are mapped (RFC 4291 section 2.5.5.2), ports
 * in network order.
 */
struct connection {
	__u8 local[16];
	__u8 remote[16];
	__be16 local_port;
	__be16 remote_port;
};

/* On a socket of the server. */
struct mark {
	__u32 released; /* its FIN may be acknowledged, whenever it comes */
};

enum state {
	SEEN,    /* a FIN has arrived that the kernel has not acknowledged: it may be out of order, or not genuine */
	HELD,    /* the kernel has, and was not heard */
	ABORTED, /* the server has reset the connection, and the kernel cannot say so any more */
};

/* A FIN that is not acknowledged. */
struct hold {
	__u64 seen_ns;      /* when the FIN came last (monotonic clock) */
	__u32 fin;          /* its sequence number */
	__u32 state;
	/* Of the last segment that was held, for another like it. Two processors may write it at a time; what comes of that is a segment that the far
	 * host ignores, and then its FIN comes again. */
	__u32 next;         /* the sequence number behind everything that was sent */
	__be32 first_word;  /* of the IP header */
	__u8 hops;          /* time to live, hop limit */
	__u8 tcp[TCP_MOST + 3];
};

/* What became of FINs and of what the kernel said of them. */
struct counts {
	__u64 held;     /* FINs */
	__u64 clamped;  /* segments that acknowledged one */
	__u64 blanked;  /* SACK blocks that covered one, or began before it and did */
	__u64 full;     /* FINs for which there was no room: they were acknowledged at once */
	__u64 silenced; /* RSTs of a kernel for which the connection had ended */
	__u64 turned;   /* acknowledgements of a connection that the server has reset: RSTs instead */
};

#endif
