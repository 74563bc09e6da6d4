/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Data that the programs and the server share: connections, marks of sockets, held FINs, counters.
 * Plain data; Rust sees the same structures through the skeleton.
 */
#ifndef RESOA_HOLD_H
#define RESOA_HOLD_H

#include <linux/types.h>

/* The longest TCP header (RFC 9293 section 3.1). */
#define TCP_MOST 60

/*
 * A connection, seen from the server. IPv4 addresses are mapped (RFC 4291 section 2.5.5.2), ports
 * are in network order.
 */
struct connection {
	__u8 local[16];
	__u8 remote[16];
	__be16 local_port;
	__be16 remote_port;
};

/* Mark on a socket of the server. */
struct mark {
	__u32 released; /* the far host's FIN may be acknowledged, whenever it arrives */
};

enum state {
	SEEN,    /* a FIN has arrived, not acknowledged yet: it may be out of order or forged */
	HELD,    /* the kernel has acknowledged it, and the acknowledgement was edited */
	ABORTED, /* the server has reset the connection, but the kernel can send no RST for it */
};

/* A FIN that the far host has no acknowledgement of. */
struct hold {
	__u64 seen_ns;      /* when the FIN arrived last (monotonic clock) */
	__u32 fin;          /* its sequence number */
	__u32 state;
	/*
	 * The rest describes the last held segment, as a template for another. Two processors may
	 * write it at the same time. Then the far host ignores the segment made from it, and
	 * repeats its FIN.
	 */
	__u32 next;         /* the server's sequence number behind all that was sent */
	__be32 first_word;  /* of the IP header */
	__u8 hops;          /* time to live, hop limit */
	__u8 tcp[TCP_MOST + 3];
};

/* Counters of FINs and of the kernel's answers to them. */
struct counts {
	__u64 held;     /* FINs */
	__u64 clamped;  /* segments that acknowledged a held FIN */
	__u64 blanked;  /* SACK blocks that covered a held FIN, alone or with data before it */
	__u64 full;     /* FINs without room in the map: they were acknowledged at once */
	__u64 silenced; /* RSTs that the kernel sent because its connection had ended; dropped */
	__u64 turned;   /* acknowledgements of a connection that the server has reset; sent as RSTs */
};

#endif
