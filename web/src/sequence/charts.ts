// The charts below a time-sequence plot, with their legends.

import type { Legend } from "../figures/paper";
import { SEQUENCE } from "../palette";
import type { Chart } from "./lines";
import { markLegend } from "./marks";
import { bins, throughput } from "./throughput";
import type { Sequence } from "./unpack";
import { windows } from "./windows";

export interface Below {
  /** Name of the figure and of its file. */
  kind: string;
  chart: Chart;
  legend: Legend;
  caption: string;
}

/** A step, as legends show it. */
export const STEP = "M-7,5H0V-4H7";

const ABOUT_THROUGHPUT =
  "Payload sent, including retransmissions, and payload delivered. A byte counts as delivered when an acknowledgement or a SACK first covers it. Without SACK, all " +
  "bytes after a gap count when the gap is filled. A bin is at least as long as five data segments take on average.";

const ABOUT_WINDOW = "Congestion window of the sender.";

const ABOUT_EVENTS =
  "Each loss event is marked at the window before it: the colour shows the true cause, the symbol the sender's verdict. " +
  "A timeout is drawn at the time of the last segment before it. Point at a mark for details.";

/** The charts of a run for which there are data. */
export function below(sequence: Sequence): Below[] {
  const entry = (name: string, colour: string, path = STEP) => ({ name, colour, path, line: 1.75 });
  const all: Below[] = [];
  const [rates, states] = [throughput(sequence), windows(sequence)];
  if (rates !== null && sequence.throughput !== null) {
    const legend = [
      entry(`sent, in ${bins(sequence.throughput)}`, SEQUENCE.sent),
      entry(`delivered, in ${bins(sequence.throughput)}`, SEQUENCE.delivered),
      entry("delivered, average since the start", SEQUENCE.average, "M-7,4L7,-4"),
    ];
    all.push({ kind: "throughput", chart: rates, legend, caption: ABOUT_THROUGHPUT });
  }
  if (states !== null) {
    const legend: Legend = [entry("congestion window", SEQUENCE.cwnd), entry("slow start threshold", SEQUENCE.ssthresh)];
    const events = sequence.windows?.events ?? null;
    if (events !== null) legend.push(...markLegend());
    const caption = events === null ? ABOUT_WINDOW : `${ABOUT_WINDOW} ${ABOUT_EVENTS}`;
    all.push({ kind: "congestion-window", chart: states, legend, caption });
  }
  return all;
}
