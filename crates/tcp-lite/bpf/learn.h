/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Learns from right segments: the template for repairs of damaged ones (P II-A), and which bytes
 * come next.
 */
#ifndef LITE_LEARN_H
#define LITE_LEARN_H

#include "bytes.h"

/* Shape of a segment's options. */
enum shape {
	PLAIN,           /* none */
	TIME_STAMPS,     /* time stamps alone, padded to 12 bytes */
	TIME_STAMPS_SACK, /* time stamps, then SACK blocks (RFC 2018) */
	SACK,            /* SACK blocks alone */
	OTHER,
};

#define NOP_NOP_TIME_STAMPS 0x0101080a
#define NOP_NOP_SACK 0x01010500

/*
 * Offset of the time stamps in 12 bytes that otherwise hold only padding; -1 if there are none.
 */
static __always_inline int time_stamps_at(const __u8 *options)
{
	if (options[0] == 8 && options[1] == 10 && options[10] <= 1 && options[11] <= 1)
		return 0;
	if (options[1] == 8 && options[2] == 10 && options[0] <= 1 && options[11] <= 1)
		return 1;
	if (options[2] == 8 && options[3] == 10 && options[0] <= 1 && options[1] <= 1)
		return 2;
	return -1;
}

/* Whether SACK blocks fill `len` bytes from a SACK option on, according to its kind and length. */
static __always_inline int is_sack(const __u8 *options, __u32 len, __u32 most)
{
	__u32 blocks = (len - 4) / 8;

	return len >= 12 && len == 4 + 8 * blocks && blocks <= most &&
	       *(__u32 *)options == bpf_htonl(NOP_NOP_SACK | (2 + 8 * blocks));
}

/* Whether a SACK option begins here. */
static __always_inline int is_sack_kind(const __u8 *options)
{
	__u32 len = bpf_ntohl(*(__u32 *)options) ^ NOP_NOP_SACK;

	return len == 10 || len == 18 || len == 26 || len == 34;
}

/* Returns the shape of the first `len` bytes of a segment's options. */
static __always_inline enum shape shape_of(const __u8 *options, __u32 len)
{
	if (len == 0)
		return PLAIN;
	if (len == TEMPLATE)
		if (time_stamps_at(options) >= 0)
			return TIME_STAMPS;
	if (len > TEMPLATE && *(__u32 *)options == bpf_htonl(NOP_NOP_TIME_STAMPS) && is_sack(options + TEMPLATE, len - TEMPLATE, 3))
		return TIME_STAMPS_SACK;
	if (is_sack(options, len, 4))
		return SACK;
	return OTHER;
}

static __always_inline __u32 long_at(const __u8 *bytes)
{
	return (__u32)bytes[0] << 24 | (__u32)bytes[1] << 16 | (__u32)bytes[2] << 8 | bytes[3];
}

/* Returns the time stamp in 12 bytes of options. */
static __always_inline __u32 stamp_of(const __u8 *options)
{
	switch (time_stamps_at(options)) {
	case 0:
		return long_at(options + 2);
	case 1:
		return long_at(options + 3);
	default:
		return long_at(options + 4);
	}
}

/* Returns the echoed time stamp in 12 bytes of options. */
static __always_inline __u32 echo_of(const __u8 *options)
{
	switch (time_stamps_at(options)) {
	case 0:
		return long_at(options + 6);
	case 1:
		return long_at(options + 7);
	default:
		return long_at(options + 8);
	}
}

/*
 * Learns the time stamps of a right segment if they follow the last ones. Far ones are learned only
 * when a second segment agrees: a single one may be damage that its checksum does not show, and
 * would stay for ever. Returns whether they are believed.
 */
static __always_inline int learn_stamps(struct track *track, const __u8 *options)
{
	__u32 stamp = stamp_of(options), ahead = stamp - stamp_of(track->options);
	int is_near = 1;

	if (track->known && ahead > PLAUSIBLE_STAMPS) {
		if (-ahead <= PLAUSIBLE_STAMPS)
			return 1;
		is_near = track->suspected && stamp - track->suspect <= PLAUSIBLE_STAMPS;
	}
	if (!is_near) {
		track->suspect = stamp;
		track->suspected = 1;
		return 0;
	}
	__builtin_memcpy(track->options, options, TEMPLATE);
	track->suspect = 0;
	track->suspected = 0;
	track->known = 1;
	return 1;
}

/* Whether segments of this connection may have options of this shape. */
static __always_inline int is_fitting(const struct track *track, enum shape shape)
{
	switch (shape) {
	case PLAIN:
	case SACK:
		return track->header_len != TCP_LEN + TEMPLATE;
	case TIME_STAMPS:
	case TIME_STAMPS_SACK:
		return track->header_len != TCP_LEN;
	default:
		return 0;
	}
}

/* Records that bytes up to `end` were handed to the kernel. */
static __always_inline void advance(struct track *track, __u32 seq, __u32 end, __u32 window)
{
	__u32 distance = end - track->contiguous;

	if (end == seq || (distance > window && -distance > window))
		return;
	if (!is_after(seq, track->contiguous) && is_after(end, track->contiguous))
		track->contiguous = end;
	if (is_after(end, track->highest))
		track->highest = end;
}

/*
 * Learns from a right segment, of which work->segment has at least the header. `part` is the
 * payload size of the parts of a merged segment, else 0.
 */
int learn(struct work *work, struct track *track, __u32 part, __u32 window)
{
	__u32 header_len, payload, seq, ack;
	const __u8 *options;
	enum shape shape;
	__u8 was_known;
	int is_near = 1;

	if (!work || !track)
		return 0;
	options = work->segment + TCP_LEN;
	header_len = (work->tcp.offset >> 4) * 4;
	if (header_len < TCP_LEN || header_len > work->len || work->tcp.flags & (FLAG_SYN | FLAG_RST))
		return 0;
	payload = work->len - header_len;
	was_known = track->known;
	shape = shape_of(options, header_len - TCP_LEN);
	if (!is_fitting(track, shape)) {
		if (payload > 0 && track->others < OTHERS_AT_LEAST)
			track->others++;
		return 0;
	}
	if (payload > 0 && track->others != OTHERS_FOR_EVER)
		track->others = 0;
	switch (shape) {
	case PLAIN:
		track->header_len = TCP_LEN;
		track->known = 1;
		break;
	case TIME_STAMPS:
		track->header_len = TCP_LEN + TEMPLATE;
		is_near = learn_stamps(track, options);
		break;
	case TIME_STAMPS_SACK:
		track->sack_seen = 1;
		if (track->header_len == 0)
			return 0;
		if (track->known && *(__u32 *)track->options == bpf_htonl(NOP_NOP_TIME_STAMPS))
			is_near = learn_stamps(track, options);
		break;
	default:
		track->sack_seen = 1;
		if (track->header_len == 0)
			return 0;
		break;
	}

	ack = bpf_ntohl(work->tcp.ack);
	if (is_near && work->tcp.flags & FLAG_ACK && (!was_known || !is_before(ack, track->ack))) {
		track->ack = ack;
		track->window = work->tcp.window;
	}
	if (part) {
		if (part > track->payload)
			track->payload = part;
	} else if (payload > track->payload) {
		track->payload = payload;
	}
	seq = bpf_ntohl(work->tcp.seq);
	advance(track, seq, seq + payload + (work->tcp.flags & FLAG_FIN), window);
	return 0;
}

#endif
