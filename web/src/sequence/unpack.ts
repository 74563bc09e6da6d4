// Time-sequence data as it is drawn: times in seconds since the first packet, places in bytes of
// the stream. Pure.

import type { PackedSequence } from "../data";
import type { Events } from "./marks";

export interface Sequence {
  run: number;
  connection: string;
  thinned: string;
  segments: Strokes & { kind: string };
  acks: { time: Float64Array; ack: Float64Array; edge: Float64Array; duplicate: ReadonlySet<number> };
  sacks: Strokes;
  losses: Strokes & { reason: string[] };
  marks: { time: Float64Array; sequence: Float64Array; text: string[] };
  /**
   * Rates in bit/s of bins of `bin` seconds, the last one until `end`; `average` from the first
   * packet to the end of each.
   */
  throughput: { bin: number; end: number; sent: number[]; delivered: number[]; average: number[] } | null;
  /**
   * Congestion window and threshold of the sender in segments at each change of one of them, if
   * they were recorded.
   */
  windows: { time: Float64Array; cwnd: number[]; ssthresh: (number | null)[]; events: Events | null } | null;
  /** Time of the last event. */
  end: number;
}

/** Ranges of bytes at instants. */
export interface Strokes {
  time: Float64Array;
  first: Float64Array;
  last: Float64Array;
}

/** Microseconds, each as the difference from the one before, in seconds. */
function times(differences: readonly number[]): Float64Array {
  let now = 0;
  return Float64Array.from(differences, (difference) => (now += difference) / 1e6);
}

/**
 * First bytes and lengths; `relative`: each first byte is the difference from the end of the range
 * before.
 */
function strokes(of: { time: number[]; first: number[]; length: number[] }, relative: boolean): Strokes {
  let end = 0;
  const first = new Float64Array(of.first.length);
  const last = new Float64Array(of.first.length);
  of.first.forEach((value, place) => {
    first[place] = relative ? end + value : value;
    end = (first[place] ?? 0) + (of.length[place] ?? 0);
    last[place] = end;
  });
  return { time: times(of.time), first, last };
}

function rates({ bin_us, end_us, ...rates }: NonNullable<PackedSequence["throughput"]>): NonNullable<Sequence["throughput"]> {
  return { ...rates, bin: bin_us / 1e6, end: end_us / 1e6 };
}

function windows({ events, ...of }: NonNullable<PackedSequence["windows"]>): NonNullable<Sequence["windows"]> {
  return { ...of, time: times(of.time), events: events === null ? null : { ...events, time: times(events.time) } };
}

/** Converts differences back to values. */
export function unpack(packed: PackedSequence): Sequence {
  const acks = times(packed.acks.time);
  let known = 0;
  const ack = Float64Array.from(packed.acks.ack, (difference) => (known += difference));
  const edge = ack.map((value, place) => value + (packed.acks.window[place] ?? 0));
  let place = 0;
  const duplicate = new Set(packed.acks.duplicate.map((difference) => (place += difference)));
  const sequence: Sequence = {
    run: packed.run,
    connection: packed.connection,
    thinned: packed.thinned,
    segments: { ...strokes(packed.segments, true), kind: packed.segments.kind },
    acks: { time: acks, ack, edge, duplicate },
    sacks: strokes(packed.sacks, false),
    losses: {
      ...strokes(packed.losses, false),
      reason: packed.losses.reason.map((place) => packed.losses.reasons[place] ?? "unknown"),
    },
    marks: { time: times(packed.marks.time), sequence: Float64Array.from(packed.marks.sequence), text: packed.marks.text },
    throughput: packed.throughput === null ? null : rates(packed.throughput),
    windows: packed.windows === null ? null : windows(packed.windows),
    end: 0,
  };
  const lists = [sequence.segments.time, acks, sequence.sacks.time, sequence.losses.time, sequence.marks.time];
  sequence.end = Math.max(...lists.map((list) => list.at(-1) ?? 0), 1e-6);
  return sequence;
}

/** All of a connection, with some air for what stands at its ends. */
export function whole(end: number): [number, number] {
  return [-0.025 * end, 1.025 * end];
}

/** Places from the first time at or after `from` to before the first one after `to`. */
export function within(time: Float64Array, from: number, to: number): [number, number] {
  return [lowerBound(time, (value) => value >= from), lowerBound(time, (value) => value > to)];
}

/** The first index from which on `holds` is true. */
function lowerBound(values: Float64Array, holds: (value: number) => boolean): number {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(values[middle] as number)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * The bytes that something is drawn at between two times, with some air; the state before counts as
 * well.
 */
export function visibleBytes(sequence: Sequence, from: number, to: number): [number, number] {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  const see = (value: number | undefined) => {
    if (value === undefined) return;
    low = Math.min(low, value);
    high = Math.max(high, value);
  };
  for (const list of [sequence.segments, sequence.sacks, sequence.losses]) {
    const [start, end] = within(list.time, from, to);
    for (let place = start; place < end; place++) {
      see(list.first[place]);
      see(list.last[place]);
    }
  }
  const [start, end] = within(sequence.acks.time, from, to);
  for (let place = Math.max(0, start - 1); place < end; place++) {
    see(sequence.acks.ack[place]);
    see(sequence.acks.edge[place]);
  }
  if (low > high) return [0, 1];
  // Above the last segment stands a word.
  const air = Math.max((high - low) * 0.055, 1);
  return [low - air, high + air];
}
