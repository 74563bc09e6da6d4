/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The record that the program writes and user space reads (src/recorder/ebpf/state.rs), in the
 * machine's byte order.
 */
#ifndef LASTHOP_SENDER_STATE_H
#define LASTHOP_SENDER_STATE_H

struct sender_state {
	__u64 time_ns;     /* CLOCK_MONOTONIC */
	__u64 pacing_rate; /* bytes per second */
	__u8 local[16];    /* IPv6, or IPv4 in the first four bytes */
	__u8 remote[16];
	__u32 node;
	__u32 snd_una;
	__u32 snd_nxt;
	__u32 cwnd;        /* segments */
	__u32 ssthresh;    /* segments */
	__u32 srtt_us;     /* << 3 */
	__u32 mdev_us;     /* << 2 */
	__u32 rto;         /* jiffies */
	__u32 snd_wnd;     /* bytes */
	__u32 rcv_wnd;     /* bytes */
	__u32 packets_out; /* segments, like the next four */
	__u32 sacked_out;
	__u32 lost_out;
	__u32 retrans_out;
	__u32 total_retrans;
	__u32 delivered;
	__u32 payload;     /* bytes */
	__u16 local_port;  /* host byte order */
	__u16 remote_port; /* network byte order */
	__u8 family;
	__u8 ca_state;
	__u8 unused[6];
	__u32 ca_priv[14]; /* the congestion control's own; ours begin with a mark (algorithms/state.h) */
};

_Static_assert(sizeof(struct sender_state) == 184, "as user space reads it");

#endif
