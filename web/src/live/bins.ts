// Lost packets in bins of equal length. Pure.

import { CAUSES, type LossCause } from "./causes";
import type { Column } from "./history";
import type { Ring } from "./ring";

export interface Bin {
  /** Its beginning, in seconds since the start of the link. */
  start: number;
  lost: Record<LossCause, number>;
  total: number;
}

/** Length of the bins of a chart that shows so many seconds. */
export function binLength(range: number): number {
  return range / (range <= 10 ? 20 : 60);
}

/**
 * The bins since `from` in which packets were lost. Bins begin at multiples of `length`, so that
 * they stay as they are while time goes on. A row counts where it ends.
 */
export function bins(rows: Ring<Column>, length: number, from: number): Bin[] {
  const found: Bin[] = [];
  for (let row = rows.first("time", from); row < rows.length; row++) {
    const lost = CAUSES.map((cause) => rows.value(cause, row) ?? 0);
    if (lost.every((count) => count === 0)) continue;
    const start = Math.floor((rows.value("time", row) ?? 0) / length) * length;
    let bin = found.at(-1);
    if (bin?.start !== start) {
      bin = { start, lost: { wireless: 0, congestion: 0, outage: 0, mixed: 0 }, total: 0 };
      found.push(bin);
    }
    for (const [place, cause] of CAUSES.entries()) {
      bin.lost[cause] += lost[place] ?? 0;
      bin.total += lost[place] ?? 0;
    }
  }
  return found;
}
