// Throughput over time: what was sent and what arrived in each bin, and what arrived on average
// since the start. Pure.

import { SEQUENCE } from "../palette";
import { number, shown } from "../units";
import type { Chart, Line } from "./lines";
import type { Sequence } from "./unpack";

/** The chart; `null` if no data was sent. */
export function throughput({ throughput: of, end }: Sequence): Chart | null {
  if (of === null) return null;
  const { scale, unit } = shown("bit/s", [...of.sent, ...of.delivered]);
  const scaled = (rates: readonly number[]) => rates.map((rate) => rate * scale);
  const starts = of.sent.map((_, place) => place * of.bin);
  const ends = of.sent.map((_, place) => (place + 1 < of.sent.length ? (place + 1) * of.bin : of.end));
  const step = (colour: string, width: number, rates: readonly number[]): Line => ({ colour, width, shape: "step", time: starts, values: scaled(rates) });
  return {
    description: "Throughput over time: sent, delivered, and delivered on average since the first packet.",
    label: `payload (${unit})`,
    lines: [
      step(SEQUENCE.sent, 1.25, of.sent),
      step(SEQUENCE.delivered, 1.75, of.delivered),
      { colour: SEQUENCE.average, width: 1.75, shape: "line", time: ends, values: scaled(of.average) },
    ],
    end,
  };
}

/** How long the bins are. */
export function bins({ bin }: NonNullable<Sequence["throughput"]>): string {
  const { scale, unit } = shown("s", [bin]);
  return `bins of ${number(bin * scale)} ${unit}`;
}
