/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The known connections: entered when one is established in the control group or its program asks
 * for Lite, removed when it ends.
 */
#ifndef LITE_CONNECTIONS_H
#define LITE_CONNECTIONS_H

#include "learn.h"

#define FAMILY_IP4 2
#define FAMILY_IP6 10

const volatile struct tunables tunables = {
	.localization = BITS,
	.bits = 4,
	.window = 6 << 20,
	.guess_burst = 1000,
	.guess_interval_ns = 1000000,
};

struct totals totals = {};

/* Number of Lite connections of all hosts. While it is 0, no packet is examined. */
__u64 lite_connections = 0;

/*
 * All connections of the control group. Those without Lite are here too, so that their segments are
 * recognised at once.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	/*
	 * Preallocated: where connections are established, memory cannot always be allocated, least
	 * of all for many connections at once.
	 */
	__uint(max_entries, CONNECTIONS);
	__type(key, struct tuple);
	__type(value, struct track);
} tracks SEC(".maps");

/* Pairs of hosts with at least one Lite connection. Packets of all others pass after one lookup. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PAIRS);
	__type(key, struct addresses);
	__type(value, struct pair);
} pairs SEC(".maps");

/* Settings and counters of sockets; accepted sockets get a copy of their listener's. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct kept);
} sockets SEC(".maps");

/* Index of a range in the ring. */
static __always_inline __u32 place_of_range(__u32 number)
{
	__u32 place = number % TCP_LITE_RANGES_KEPT;

	/* The compiler knows the bound of a remainder, but the verifier needs the check. */
	asm volatile("" : "+r"(place));
	return place < TCP_LITE_RANGES_KEPT ? place : 0;
}

static __always_inline void mapped(__u8 *to, __u32 ip4)
{
	__u32 *words = (__u32 *)to;

	words[0] = 0;
	words[1] = 0;
	words[2] = bpf_htonl(0xffff);
	words[3] = ip4;
}

/*
 * Adds a Lite connection between two hosts. Two processors may do this at once: the first to write
 * a slot gets it.
 */
int add_to_pair(struct tuple *tuple)
{
	struct pair empty = {};
	struct pair *pair;
	__u32 i;

	if (!tuple)
		return 0;
	bpf_map_update_elem(&pairs, &tuple->addresses, &empty, BPF_NOEXIST);
	pair = bpf_map_lookup_elem(&pairs, &tuple->addresses);
	if (!pair)
		return 0;
	if (__sync_fetch_and_add(&pair->connections, 1) >= SLOTS)
		pair->crowded = 1;
	__sync_fetch_and_add(&lite_connections, 1);
	for (i = 0; i < SLOTS; i++)
		if (__sync_val_compare_and_swap(&pair->slots[i], 0, tuple->ports) == 0)
			break;
	return 0;
}

/*
 * Removes a Lite connection between two hosts. The last connection takes the entry with it. A
 * connection that is added at the same moment is then not found here, so its damaged segments are
 * lost as in any TCP.
 */
int remove_from_pair(struct tuple *tuple)
{
	struct pair *pair;
	__u32 i;

	if (!tuple)
		return 0;
	pair = bpf_map_lookup_elem(&pairs, &tuple->addresses);
	if (!pair)
		return 0;
	for (i = 0; i < SLOTS; i++)
		if (__sync_val_compare_and_swap(&pair->slots[i], tuple->ports, 0) == tuple->ports)
			break;
	__sync_fetch_and_add(&lite_connections, -1);
	if (__sync_fetch_and_add(&pair->connections, -1) == 1)
		bpf_map_delete_elem(&pairs, &tuple->addresses);
	return 0;
}

/* Starts a track without a template. */
static __always_inline void begin(struct track *track, __u32 rcv_nxt, __u32 ack)
{
	track->credit_ns = (__u64)tunables.guess_burst * tunables.guess_interval_ns;
	track->refilled_ns = bpf_ktime_get_ns();
	track->contiguous = rcv_nxt;
	track->highest = rcv_nxt;
	track->ack = ack;
}

/* Enters a connection into the map. */
static __always_inline void enter(struct tuple *tuple, struct track *track)
{
	if (bpf_map_update_elem(&tracks, tuple, track, BPF_ANY)) {
		__sync_fetch_and_add(&totals.untracked, 1);
		return;
	}
	if (track->lite)
		add_to_pair(tuple);
}

/*
 * Forgets a connection that has ended. Two processors may do this at once; only the one that
 * removes it counts it.
 */
static __always_inline void forget(struct tuple *tuple)
{
	struct track *track = bpf_map_lookup_elem(&tracks, tuple);
	__u8 was_lite;

	if (!track)
		return;
	was_lite = track->lite;
	if (!bpf_map_delete_elem(&tracks, tuple) && was_lite)
		remove_from_pair(tuple);
}

#endif
