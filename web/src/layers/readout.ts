// Describes the point under the pointer, and the distance between two places. Pure.

import { fixed, number } from "../units";
import { firstFrom, type Points } from "./tile";

/** A selected place: a point of a graph, or any position. */
export interface Spot {
  /** Nanoseconds. */
  time: number;
  /** As drawn. */
  drawn: number;
  /** Without the graph's offset; as drawn if it is no graph's. */
  bytes: number;
  label: string | null;
}

/** Maximum distance from the pointer to a selected point, in pixels. */
export const REACH = 12;

/** The nearest point between `from` and `to`; `far` returns the distance of a point in pixels. */
export function nearest(
  tiles: readonly { points: Points; label: string; offset: number; mark: boolean }[],
  from: number,
  to: number,
  far: (time: number, bytes: number | null) => number,
): Spot | null {
  let best: Spot | null = null;
  let least = REACH;
  for (const { points, label, offset, mark } of tiles) {
    const { time, bytes } = points;
    for (let place = firstFrom(time, from); place < time.length; place++) {
      const [at, value] = [time[place] as number, bytes[place] as number];
      if (at > to) break;
      const distance = far(at, mark ? null : value + offset);
      if (distance < least) {
        least = distance;
        best = { time: at, drawn: value + offset, bytes: value, label };
      }
    }
  }
  return best;
}

/** Describes the place. */
export function told({ time, bytes, label }: Spot, segment: number | null): string {
  return `${label ?? "here"}\n${seconds(time)}\n${size(bytes, segment)}`;
}

/** Time, bytes and rate (the slope) between two places. */
export function between(one: Spot, other: Spot, segment: number | null): string {
  const [first, last] = one.time <= other.time ? [one, other] : [other, one];
  const time = (last.time - first.time) / 1e9;
  // Between two layers it is what the eye sees; between points of graphs it is what they say.
  const points = first.label !== null && last.label !== null;
  const bytes = points ? last.bytes - first.bytes : last.drawn - first.drawn;
  const rate = time > 0 ? rateWords(bytes / time) : "at one instant";
  return `${fixed(time, 6)} s, ${size(bytes, segment)}: ${rate}`;
}

/** A slope in bytes and bits per second. */
export function rateWords(slope: number): string {
  return `${number(slope, 4)} bytes/s (${number(slope * 8, 4)} bit/s)`;
}

function seconds(time: number): string {
  return `${fixed(time / 1e9, 9).replace(/0{1,6}$/, "")} s`;
}

function size(bytes: number, segment: number | null): string {
  const count = `${fixed(bytes, Number.isInteger(bytes) ? 0 : 2)} bytes`;
  return segment === null ? count : `${fixed(bytes / segment, 2)} segments (${count})`;
}
