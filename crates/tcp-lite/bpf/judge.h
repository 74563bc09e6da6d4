/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Risk analysis and salvage of a damaged segment whose connection is known (P II-B c to e, P II-C
 * steps 3 and 4).
 *
 * The pure crate `recovery` does the same; a test compares the two.
 */
#ifndef LITE_JUDGE_H
#define LITE_JUDGE_H

#include "localize.h"

#define NOP 1

/* Result of substituting the predicted fields. */
enum confirmation {
	UNCONFIRMED,
	CONFIRMED,
	AMBIGUOUS,
};

/* Finds where the data begin and their length. Returns 0, or the reason to discard the segment. */
static __always_inline int measure(struct work *work, const struct track *track)
{
	__u32 said = (work->tcp.offset >> 4) * 4;
	const __u8 *options = work->segment + TCP_LEN;

	work->header_len = track->header_len;
	work->genuine_sack = 0;
	if (said != track->header_len) {
		enum shape shape = OTHER;

		if (said >= TCP_LEN && said <= work->len)
			shape = shape_of(options, said - TCP_LEN);
		if ((shape == TIME_STAMPS_SACK && track->header_len == TCP_LEN + TEMPLATE) ||
		    (shape == SACK && track->header_len == TCP_LEN)) {
			work->header_len = said;
			work->genuine_sack = said - track->header_len;
		} else if (track->sack_seen) {
			return TCP_LITE_HEADER_LENGTH;
		}
	}
	if (work->len <= work->header_len)
		return TCP_LITE_EMPTY;
	work->payload = work->len - work->header_len;
	/*
	 * The length is the usual one, but SACK blocks seem to follow: then the length itself may
	 * be damaged.
	 */
	if (track->sack_seen && !work->genuine_sack && work->payload >= 4 &&
	    is_sack_kind(work->segment + (track->header_len == TCP_LEN ? TCP_LEN : TCP_LEN + TEMPLATE)))
		return TCP_LITE_HEADER_LENGTH;
	return 0;
}

/*
 * Restores fields that never change (P II-C, step 3), and copies all others as received.
 */
static __always_inline void repair_constants(struct work *work)
{
	__builtin_memcpy(work->fixed, work->segment, HEADER_MAX);
	work->fixed_tcp.remote_port = bpf_htons(work->tuple.ports >> 16);
	work->fixed_tcp.local_port = bpf_htons(work->tuple.ports);
	work->fixed_tcp.offset = work->header_len / 4 << 4;
	work->fixed_tcp.flags = FLAG_ACK | (work->tcp.flags & FLAG_PSH);
	work->fixed_tcp.urgent = 0;
}

/*
 * Whether a field that never changes had to be restored. FIN does not count: it is cleared whether
 * it was genuine or not (P II-A).
 */
static __always_inline __u32 constants_were_wrong(struct work *work)
{
	return work->tuple.ports != work->received_ports || work->fixed_tcp.offset != work->tcp.offset ||
	       (work->tcp.flags & ~(FLAG_PSH | FLAG_FIN)) != FLAG_ACK || work->tcp.urgent != 0;
}

/*
 * Whether the acknowledgement cannot be genuine: everything up to it and more was acknowledged
 * before, or some of it was never sent.
 */
static __always_inline int is_ack_wrong(const struct work *work, __u32 ack)
{
	return is_before(ack, work->snd_una) || is_after(ack, work->snd_nxt);
}

/* Whether the options cannot be genuine. */
static __always_inline int are_options_wrong(const struct work *work, const struct track *track)
{
	const __u8 *options = work->segment + TCP_LEN;

	if (track->header_len != TCP_LEN + TEMPLATE)
		return 0;
	return time_stamps_at(options) < 0 || time_stamps_at(options) != time_stamps_at(track->options) ||
	       stamp_of(options) - stamp_of(track->options) > PLAUSIBLE_STAMPS ||
	       echo_of(options) - echo_of(track->options) > PLAUSIBLE_STAMPS;
}

/*
 * Whether substituting predicted values makes the received checksum right. Then only the header was
 * damaged, and all of it is known: the repaired header is in work->fixed.
 *
 * Only values that cannot be genuine are substituted. Time stamps, acknowledgements and FIN change
 * by themselves: replacing a genuine value could compensate for one of the many payload bits of the
 * same weight.
 */
int confirm(struct work *work, struct track *track)
{
	__u32 sum, options, ack, window, seq, differing;
	int ack_wrong, options_wrong;
	__u32 places[3], i;

	if (!work || !track)
		return UNCONFIRMED;
	if (work->tcp.flags & (FLAG_FIN | FLAG_ECE | FLAG_CWR))
		return UNCONFIRMED;
	sum = work->sum + folded(bpf_csum_diff((__be32 *)work->segment, TCP_LEN, (__be32 *)work->fixed, TCP_LEN, 0));
	if (folded(sum) == 0xffff)
		return CONFIRMED;
	ack_wrong = is_ack_wrong(work, bpf_ntohl(work->tcp.ack));
	ack = turned_long(work->tcp.ack, bpf_htonl(track->ack));
	options_wrong = are_options_wrong(work, track);
	options = folded(bpf_csum_diff((__be32 *)(work->segment + TCP_LEN), HEADER_MAX - TCP_LEN, (__be32 *)work->template,
				       HEADER_MAX - TCP_LEN, 0));
	window = turned(work->tcp.window, track->window);
	differing = bits_set((__u16)(work->tcp.window ^ track->window));

	if (options_wrong && folded(sum + options) == 0xffff) {
		__builtin_memcpy(work->fixed + TCP_LEN, work->template, HEADER_MAX - TCP_LEN);
		return CONFIRMED;
	}
	if (ack_wrong && folded(sum + ack) == 0xffff) {
		work->fixed_tcp.ack = bpf_htonl(track->ack);
		return CONFIRMED;
	}
	if (differing == 1 && folded(sum + window) == 0xffff) {
		work->fixed_tcp.window = track->window;
		return CONFIRMED;
	}
	places[0] = track->contiguous;
	places[1] = work->rcv_nxt;
	places[2] = track->highest;
	for (i = 0; i < 3; i++) {
		seq = bpf_htonl(places[i]);
		if (folded(sum + turned_long(work->tcp.seq, seq)) == 0xffff) {
			/*
			 * There are two explanations if the received number is a possible place
			 * too, or that of an old duplicate.
			 */
			if (place_of(track, work->seq, work->payload, work->rcv_nxt) != NOWHERE || is_duplicate(track, work->seq, work->rcv_nxt))
				return AMBIGUOUS;
			work->fixed_tcp.seq = seq;
			work->seq = places[i];
			return CONFIRMED;
		}
	}
	if (ack_wrong + options_wrong + (differing > 0) < 2)
		return UNCONFIRMED;
	sum += window + (ack_wrong ? ack : 0) + (options_wrong ? options : 0);
	if (folded(sum) != 0xffff)
		return UNCONFIRMED;
	work->fixed_tcp.window = track->window;
	if (ack_wrong)
		work->fixed_tcp.ack = bpf_htonl(track->ack);
	if (options_wrong)
		__builtin_memcpy(work->fixed + TCP_LEN, work->template, HEADER_MAX - TCP_LEN);
	return CONFIRMED;
}

/*
 * Fills an unconfirmed header with the last right values, and with padding in place of SACK blocks,
 * which may be wrong.
 */
static __always_inline void substitute(struct work *work, const struct track *track)
{
	__u32 i;

	work->fixed_tcp.ack = bpf_htonl(track->ack);
	work->fixed_tcp.window = track->window;
	work->fixed_tcp.flags = FLAG_ACK;
	__builtin_memcpy(work->fixed + TCP_LEN, work->template, HEADER_MAX - TCP_LEN);
	if (work->genuine_sack)
		for (i = TCP_LEN; i < HEADER_MAX; i++)
			if (i >= track->header_len && i < work->header_len)
				work->fixed[i] = NOP;
}

/* The candidate nearest to a damaged sequence number so far. */
struct nearest {
	__u32 bits;
	__u32 at;
	__u32 is_place; /* 0: position of data received already */
	__u32 tied;
};

static __always_inline void compare(struct nearest *nearest, __u32 seq, __u32 at, __u32 is_place)
{
	__u32 bits = bits_set(seq ^ at);
	__u32 is_less = bits < nearest->bits;
	__u32 is_equal = bits == nearest->bits;

	nearest->tied = is_less ? 0 : nearest->tied | (is_equal & (at != nearest->at));
	nearest->is_place = is_less ? is_place : nearest->is_place | (is_equal & (at == nearest->at) & is_place);
	nearest->at = is_less ? at : nearest->at;
	nearest->bits = is_less ? bits : nearest->bits;
}

/*
 * Moves a damaged sequence number to the place that differs least from it, if there is only one
 * such place and it is near. Returns whether it did. Places of data received already are compared
 * with as well, because an old duplicate belongs to one of them. There is no guess if more segments
 * may be in flight than are compared with.
 */
int move_to_nearest(struct work *work, struct track *track)
{
	struct nearest nearest = { .bits = ~0 };
	__u32 seq, size, i;

	if (!work || !track)
		return 0;
	seq = work->seq;
	size = track->payload;
	if (!size || track->highest - track->contiguous >= BOLD_HOLE * size)
		return 0;
	if (seq != work->rcv_nxt && work->rcv_nxt - seq <= tunables.window)
		return 0;
	compare(&nearest, seq, work->rcv_nxt, 1);
	compare(&nearest, seq, track->highest, 1);
	for (i = 0; i < BOLD_POSITIONS; i++) {
		compare(&nearest, seq, track->contiguous + i * size, 1);
		compare(&nearest, seq, track->contiguous - (i + 1) * size, 0);
	}
	if (nearest.bits > BOLD_BITS || nearest.tied || !nearest.is_place)
		return 0;
	work->seq = nearest.at;
	return 1;
}

/*
 * A guess costs credit, which limits the guesses of a connection (section 5 of the specification).
 */
static __always_inline int may_guess(struct track *track)
{
	__u64 now, most, credit;

	if (tunables.guess_interval_ns == 0)
		return 1;
	now = bpf_ktime_get_ns();
	most = (__u64)tunables.guess_burst * tunables.guess_interval_ns;
	credit = track->credit_ns + (now - track->refilled_ns);
	if (credit > most)
		credit = most;
	track->refilled_ns = now;
	if (credit < tunables.guess_interval_ns) {
		track->credit_ns = credit;
		return 0;
	}
	track->credit_ns = credit - tunables.guess_interval_ns;
	return 1;
}

/* Whether the program accepts damage in these bytes (T 3.2). */
static __always_inline int is_wanted(const struct work *work)
{
	__u64 offset = work->offset;

	if (!work->windowed)
		return 1;
	return work->offset >= 0 && offset >= work->window.from &&
	       offset + work->payload <= work->window.from + work->window.length;
}

/*
 * Judges the segment for the connection of work->tuple. Returns 0, with the header in work->fixed,
 * or the reason to discard it.
 */
int judge(struct work *work, __u32 policy)
{
	struct track *track;
	enum place place;
	int confirmation;
	int reason;

	if (!work)
		return TCP_LITE_NO_CONNECTION;
	track = bpf_map_lookup_elem(&tracks, &work->tuple);
	if (!track)
		return TCP_LITE_NO_CONNECTION;
	if (is_after(work->rcv_nxt, track->contiguous))
		track->contiguous = work->rcv_nxt;
	if (is_after(track->contiguous, track->highest))
		track->highest = track->contiguous;
	/*
	 * A segment with a wrong number but a right checksum may have come by accident or from an
	 * attacker. The number must not stay, because TCP would refuse what is repaired with it.
	 */
	if (is_ack_wrong(work, track->ack))
		track->ack = work->snd_una;
	if (track->others >= OTHERS_AT_LEAST)
		return TCP_LITE_OPTIONS;
	if (!track->known)
		return TCP_LITE_UNKNOWN;
	reason = measure(work, track);
	if (reason)
		return reason;

	repair_constants(work);
	__builtin_memcpy(work->template, work->segment + TCP_LEN, HEADER_MAX - TCP_LEN);
	if (track->header_len == TCP_LEN + TEMPLATE)
		__builtin_memcpy(work->template, track->options, TEMPLATE);
	work->seq = bpf_ntohl(work->tcp.seq);
	work->guess = 0;
	confirmation = confirm(work, track);
	if (confirmation == AMBIGUOUS)
		return TCP_LITE_AMBIGUOUS;
	work->confirmed = confirmation == CONFIRMED;
	if (!work->confirmed) {
		work->guess = constants_were_wrong(work);
		substitute(work, track);
	}

	place = place_of(track, work->seq, work->payload, work->rcv_nxt);
	if (place == NOWHERE && policy == TCP_LITE_BOLD && !work->confirmed && move_to_nearest(work, track)) {
		work->guess = 1;
		work->fixed_tcp.seq = bpf_htonl(work->seq);
		place = place_of(track, work->seq, work->payload, work->rcv_nxt);
	}
	if (place == NOWHERE)
		return TCP_LITE_POSITION;
	work->out_of_order = place == BEHIND_A_HOLE;
	if (policy == TCP_LITE_STRICT && (work->approximate || work->out_of_order))
		return TCP_LITE_POLICY_FORBIDS;
	work->offset = work->received + (__s32)(work->seq - work->rcv_nxt);
	if (!is_wanted(work))
		return TCP_LITE_OUTSIDE;
	if (work->guess && !may_guess(track))
		return TCP_LITE_RATE;
	advance(track, work->seq, work->seq + work->payload, tunables.window);
	/* The kernel will remember the segment's time stamp, and refuse older ones. */
	if (work->confirmed && track->header_len == TCP_LEN + TEMPLATE && time_stamps_at(work->fixed + TCP_LEN) >= 0)
		learn_stamps(track, work->fixed + TCP_LEN);
	return 0;
}

#endif
