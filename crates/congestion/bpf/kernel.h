/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The kernel's types, as far as our programs read them. Fields are found by name in the running
 * kernel's BTF (CO-RE), so their offsets and the fields between them do not matter here.
 */
#ifndef LASTHOP_KERNEL_H
#define LASTHOP_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

/* include/uapi/linux/bpf.h */
enum { BPF_MAP_TYPE_HASH = 1, BPF_MAP_TYPE_RINGBUF = 27 };
enum { BPF_RB_NO_WAKEUP = 1 };

/* include/linux/socket.h */
enum { AF_INET = 2, AF_INET6 = 10 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct net {
	__u64 net_cookie;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct in6_addr {
	union {
		__u8 u6_addr8[16];
	} in6_u;
};

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport; /* network byte order */
	__u16 skc_num;    /* local port, host byte order */
	unsigned short skc_family;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate; /* bytes per second */
};

struct inet_connection_sock {
	__u32 icsk_rto; /* jiffies */
	__u8 icsk_ca_state : 5;
	__u64 icsk_ca_priv[13]; /* the congestion control's own words */
};

struct tcp_sock {
	__u32 snd_una;
	__u32 snd_nxt;
	__u32 snd_wnd;
	__u32 rcv_wnd;
	__u32 snd_cwnd;
	__u32 snd_ssthresh;
	__u32 srtt_us;   /* << 3 */
	__u32 mdev_us;   /* << 2 */
	__u32 packets_out;
	__u32 sacked_out;
	__u32 lost_out;
	__u32 retrans_out;
	__u32 total_retrans;
	__u32 delivered;
	__u32 snd_cwnd_cnt;
	__u32 snd_cwnd_clamp;
	__u32 prior_cwnd;
	__u32 max_packets_out;
	__u64 tcp_mstamp; /* us */
	__u8 is_cwnd_limited : 1;
};

/* include/net/tcp.h */
enum tcp_ca_event { CA_EVENT_COMPLETE_CWR };

struct ack_sample {
	__u32 pkts_acked;
	__s32 rtt_us; /* -1: none */
};

struct sk_buff {
	unsigned int len;
	unsigned char *data;
};

#pragma clang attribute pop

#endif
