// The visible window: a range of time and of bytes, its movements, and its text in the address.
// Pure.

/** Nanoseconds since time zero, and bytes as they are drawn (with offsets). */
export interface Window {
  from: number;
  to: number;
  low: number;
  high: number;
}

/** A place in the drawing as shares of it: 0 is left and below, 1 is right and above. */
export interface Place {
  x: number;
  y: number;
}

/** Smallest window, in nanoseconds and bytes. */
const SMALLEST = { time: 1000, bytes: 1 };

/** Largest window, as a multiple of the whole. */
const WIDEST = 4;

/** Adds a margin, so that no point lies on the frame. */
export function airy({ from, to, low, high }: Window): Window {
  const time = Math.max((to - from) * 0.02, SMALLEST.time);
  const bytes = Math.max((high - low) * 0.04, SMALLEST.bytes);
  return { from: from - time, to: to + time, low: low - bytes, high: high + bytes };
}

/** Moves a window by shares of its size. */
export function moved({ from, to, low, high }: Window, { x, y }: Place): Window {
  const [across, up] = [x * (to - from), y * (high - low)];
  return { from: from + across, to: to + across, low: low + up, high: high + up };
}

/** As much larger (or smaller) in each axis, around a place that stays where it is. */
export function scaled({ from, to, low, high }: Window, factor: Place, at: Place): Window {
  const [time, bytes] = [from + at.x * (to - from), low + at.y * (high - low)];
  return {
    from: time + (from - time) * factor.x,
    to: time + (to - time) * factor.x,
    low: bytes + (low - bytes) * factor.y,
    high: bytes + (high - bytes) * factor.y,
  };
}

/** The part of a window between two places, in any order. */
export function part({ from, to, low, high }: Window, one: Place, other: Place): Window {
  const time = (x: number) => from + x * (to - from);
  const bytes = (y: number) => low + y * (high - low);
  return {
    from: time(Math.min(one.x, other.x)),
    to: time(Math.max(one.x, other.x)),
    low: bytes(Math.min(one.y, other.y)),
    high: bytes(Math.max(one.y, other.y)),
  };
}

/** Limits a window's size, and keeps it over the data. */
export function sensible(window: Window, whole: Window): Window {
  const [from, to] = held(window.from, window.to, whole.from, whole.to, SMALLEST.time);
  const [low, high] = held(window.low, window.high, whole.low, whole.high, SMALLEST.bytes);
  return { from, to, low, high };
}

function held(start: number, end: number, first: number, last: number, least: number): [number, number] {
  const size = Math.min(Math.max(end - start, least), WIDEST * (last - first));
  const middle = Math.min(Math.max((start + end) / 2, first), last);
  return [middle - size / 2, middle + size / 2];
}

/** Whether two windows are equal up to rounding. */
export function same(one: Window, other: Window): boolean {
  const [time, bytes] = [(one.to - one.from) * 1e-6, (one.high - one.low) * 1e-6];
  const near = (first: number, second: number, most: number) => Math.abs(first - second) <= most;
  return near(one.from, other.from, time) && near(one.to, other.to, time) && near(one.low, other.low, bytes) && near(one.high, other.high, bytes);
}

/**
 * The coarsest level whose cells are no larger than a pixel; without bytes for what is about time
 * alone. As `Grid::level` in Rust.
 */
export function levelOf(ratio: number, pixelNs: number, pixelBytes: number | null): number {
  const time = Math.floor(Math.log2(pixelNs));
  return pixelBytes === null ? time : Math.min(time, Math.floor(Math.log2(pixelBytes)) - ratio);
}

/**
 * As the end of an address: `t=10-60` in seconds, and the bytes where they are not those that fit.
 */
export function words({ from, to, low, high }: Window): string {
  const places = Math.max(0, Math.min(9, 3 - Math.floor(Math.log10((to - from) / 1e9))));
  const seconds = (time: number) => String(Number((time / 1e9).toFixed(places)));
  return `t=${seconds(from)}-${seconds(to)}&bytes=${Math.round(low)}-${Math.round(high)}`;
}

const RANGE = /^(-?[\d.]+)-(-?[\d.]+)$/;

/**
 * What such an end says: times, and bytes or null for those that fit. Null if it says no times that
 * can be shown.
 */
export function understood(fragment: string): { from: number; to: number; bytes: [number, number] | null } | null {
  const said = new URLSearchParams(fragment.replace(/^#/, ""));
  const range = (name: string): [number, number] | null => {
    const [, one, other] = RANGE.exec(said.get(name) ?? "") ?? [];
    const [low, high] = [Number(one), Number(other)];
    return one !== undefined && low < high ? [low, high] : null;
  };
  const times = range("t");
  return times && { from: times[0] * 1e9, to: times[1] * 1e9, bytes: range("bytes") };
}

/** About `count` round numbers between two others, and their spacing. */
export function ticks(low: number, high: number, count: number): { step: number; values: number[] } {
  const rough = (high - low) / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((digit) => digit * power >= rough) ?? 10);
  // Sums of fractions end a little beside round numbers.
  const first = Math.ceil(low / step - 1e-9);
  const values = Array.from({ length: Math.max(0, Math.floor(high / step + 1e-9) - first + 1) }, (_, place) => (first + place) * step);
  return { step, values };
}

/** Digits behind the point that multiples of `step` need. */
export function places(step: number): number {
  return Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
}
