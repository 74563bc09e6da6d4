// What the controls ask a link for: parameters as for `lasthop link set`. Pure.

import type { Chosen } from "./api";
import { type Direction, DIRECTIONS, type Status, type WayStatus } from "./state";

/** A request for one direction or both. */
export interface Change {
  direction: Chosen;
  parameters: string;
}

/** Units of rates, with bit/s. */
export const RATES: readonly [string, number][] = [
  ["bit/s", 1],
  ["kbit/s", 1e3],
  ["Mbit/s", 1e6],
  ["Gbit/s", 1e9],
];

/** Units of delays, with microseconds. */
export const DELAYS: readonly [string, number][] = [
  ["µs", 1],
  ["ms", 1e3],
  ["s", 1e6],
];

/**
 * A step of the rate is this factor, one of the delay so many microseconds, one of the loss so many
 * percent.
 */
export const STEP = { rate: 1.25, delay: 10_000, loss: 0.5 } as const;

/** The directions of a choice. */
export function directions(chosen: Chosen): readonly Direction[] {
  return chosen === "both" ? DIRECTIONS : [chosen];
}

/** A rate in bit/s as a parameter. */
export function rate(bits: number): string {
  return `rate=${Math.max(Math.round(bits), 1)}bit`;
}

/** A delay in microseconds as a parameter. */
export function delay(microseconds: number): string {
  return `delay=${Math.max(Math.round(microseconds), 0)}us`;
}

/** A share of lost packets in percent as a parameter. */
export function loss(percent: number): string {
  const share = Math.min(Math.max(percent, 0), 100);
  return share === 0 ? "loss=none" : `loss=${+share.toPrecision(6)}%`;
}

/** Multiplies the rate of each chosen direction that has a constant one. */
export function faster(status: Status, chosen: Chosen, factor: number): Change[] {
  return directions(chosen).flatMap((direction) => {
    const now = status[direction].rate;
    return now === null ? [] : [{ direction, parameters: rate(now * factor) }];
  });
}

/** Adds microseconds to the delay of each chosen direction. */
export function later(status: Status, chosen: Chosen, microseconds: number): Change[] {
  return directions(chosen).map((direction) => ({ direction, parameters: delay(status[direction].delay_ns / 1e3 + microseconds) }));
}

/** What the chosen directions have in common; `null` if they differ, or have none. */
export function common(status: Status, chosen: Chosen, value: (way: WayStatus) => number | null): number | null {
  const [first = null, ...others] = directions(chosen).map((direction) => value(status[direction]));
  return others.every((other) => other === first) ? first : null;
}

/** The unit for a value that gives the fewest digits before the point, at least one. */
export function unitFor(units: readonly [string, number][], value: number): number {
  const place = units.findLastIndex(([, size]) => value >= size);
  return Math.max(place, 0);
}

/** A number that a reader wrote; `null` if it is none, or below zero. A comma is a point. */
export function understood(text: string): number | null {
  const trimmed = text.trim().replace(",", ".");
  const value = Number(trimmed);
  return trimmed === "" || !Number.isFinite(value) || value < 0 ? null : value;
}
