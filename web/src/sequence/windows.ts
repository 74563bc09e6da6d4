// Congestion window and slow start threshold over time, with the loss events of the sender. Pure.

import { SEQUENCE } from "../palette";
import type { Chart } from "./lines";
import { lossMarks } from "./marks";
import type { Sequence } from "./unpack";

/** The chart; `null` if nothing was recorded. */
export function windows({ windows: of, end }: Sequence): Chart | null {
  if (of === null) return null;
  return {
    description: of.events === null ? "Congestion window and slow start threshold over time." : "Congestion window, slow start threshold and loss events over time.",
    label: "segments",
    lines: [
      { colour: SEQUENCE.ssthresh, width: 1.5, shape: "step", time: of.time, values: of.ssthresh },
      { colour: SEQUENCE.cwnd, width: 1.5, shape: "step", time: of.time, values: of.cwnd },
    ],
    marks: of.events === null ? [] : lossMarks(of.events),
    end,
  };
}
