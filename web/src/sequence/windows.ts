// Congestion window and slow start threshold over time. Pure.

import { SEQUENCE } from "../palette";
import type { Chart } from "./lines";
import type { Sequence } from "./unpack";

/** The chart; `null` if nothing was recorded. */
export function windows({ windows: of, end }: Sequence): Chart | null {
  if (of === null) return null;
  return {
    description: "Congestion window and slow start threshold over time.",
    label: "segments",
    lines: [
      { colour: SEQUENCE.ssthresh, width: 1.5, shape: "step", time: of.time, values: of.ssthresh },
      { colour: SEQUENCE.cwnd, width: 1.5, shape: "step", time: of.time, values: of.cwnd },
    ],
    end,
  };
}
