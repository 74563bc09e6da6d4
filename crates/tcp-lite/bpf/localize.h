/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Finds the connection of a damaged segment (P II-C, step 2), and where in the stream the segment
 * may lie (step 4).
 */
#ifndef LITE_LOCALIZE_H
#define LITE_LOCALIZE_H

#include "connections.h"

enum place {
	NOWHERE,
	IN_ORDER,
	BEHIND_A_HOLE,
};

static __always_inline int is_whole_segments_behind(__u32 seq, __u32 base, __u32 size, __u32 window)
{
	__u32 distance = seq - base;

	if (distance > window)
		return 0;
	return distance == 0 || (size && distance % size == 0);
}

/*
 * Returns where a segment of `payload` bytes with this sequence number lies. Only discrete places
 * count, never the nearest.
 */
static __always_inline enum place place_of(const struct track *track, __u32 seq, __u32 payload, __u32 rcv_nxt)
{
	__u32 window = tunables.window;

	if (seq + payload - rcv_nxt > window)
		return NOWHERE;
	if (seq == rcv_nxt || seq == track->contiguous)
		return IN_ORDER;
	if (is_whole_segments_behind(seq, rcv_nxt, track->payload, window) ||
	    is_whole_segments_behind(seq, track->contiguous, track->payload, window) ||
	    is_whole_segments_behind(seq, track->highest, track->payload, window))
		return BEHIND_A_HOLE;
	return NOWHERE;
}

/* Whether whole segments that were received already could have this sequence number. */
static __always_inline int is_duplicate(const struct track *track, __u32 seq, __u32 rcv_nxt)
{
	__u32 window = tunables.window;

	return track->payload && (is_whole_segments_behind(rcv_nxt, seq, track->payload, window) ||
				  is_whole_segments_behind(track->contiguous, seq, track->payload, window) ||
				  is_whole_segments_behind(track->highest, seq, track->payload, window));
}

/*
 * Checks whether the segment may belong to the connection of these ports, and keeps the connection
 * if it is the best so far.
 */
int consider(struct work *work, __u32 ports)
{
	struct track *track;
	__u32 score;

	if (!work)
		return 0;
	work->tuple.ports = ports;
	track = bpf_map_lookup_elem(&tracks, &work->tuple);
	if (!track || !track->lite)
		return 0;
	if (place_of(track, bpf_ntohl(work->tcp.seq), 0, track->contiguous) == NOWHERE)
		return 0;
	/* A plausible acknowledgement counts more than any number of wrong bits in the ports. */
	score = bits_set(ports ^ work->received_ports);
	if (bpf_ntohl(work->tcp.ack) - track->ack > tunables.window)
		score += 64;
	if (score < work->best) {
		work->best = score;
		work->best_ports = ports;
		work->tied = 0;
	} else if (score == work->best) {
		work->tied = 1;
	}
	return 0;
}

/*
 * Finds the connection of a segment whose ports match none. Returns 0, or the reason to discard it.
 */
int localize(struct work *work)
{
	struct pair *pair;
	__u32 i;

	if (!work)
		return TCP_LITE_NO_CONNECTION;
	work->best = ~0;
	work->best_ports = 0;
	work->tied = 0;
	pair = bpf_map_lookup_elem(&pairs, &work->tuple.addresses);
	if (!pair || tunables.localization == EXACT || (tunables.localization == BITS && tunables.bits == 0))
		return TCP_LITE_NO_CONNECTION;
	if (pair->crowded) {
		/*
		 * There are too many connections to examine, or some have no slot. The work for a
		 * damaged segment is bounded (R12).
		 */
		for (i = tunables.localization == SOURCE_PORT ? 16 : 0; i < 32; i++)
			consider(work, work->received_ports ^ 1u << i);
	} else {
		for (i = 0; i < SLOTS; i++) {
			__u32 ports = pair->slots[i];
			__u32 differ = ports ^ work->received_ports;

			if (!ports)
				continue;
			if (tunables.localization == SOURCE_PORT ? differ & 0xffff : bits_set(differ) > tunables.bits)
				continue;
			consider(work, ports);
		}
	}
	work->tuple.ports = work->best_ports;
	if (work->best == (__u32)~0)
		return TCP_LITE_NO_CONNECTION;
	return work->tied ? TCP_LITE_AMBIGUOUS : 0;
}

#endif
