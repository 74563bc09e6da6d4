// The plots of a run as files for papers.

import type { Page } from "../data";
import { file, type Legend, type Saved, slug } from "../figures/paper";
import { SEQUENCE } from "../palette";
import { type Below, STEP } from "./charts";
import { printChart } from "./lines";
import { print } from "./print";
import type { Sequence } from "./unpack";

const WIDTH = 760;
const STROKE = "M0,-6V6";

/** Meaning of the colours and marks of a time-sequence plot. */
export const KEY: Legend = [
  { name: "data", colour: SEQUENCE.data, path: STROKE, line: 2 },
  { name: "retransmission (R)", colour: SEQUENCE.retransmission, path: STROKE, line: 3.5 },
  { name: "acknowledged", colour: SEQUENCE.ack, path: STEP, line: 1.5 },
  { name: "edge of the receive window", colour: SEQUENCE.window, path: STEP, line: 1.5 },
  { name: "SACK block", colour: SEQUENCE.sack, path: STROKE, line: 2.5 },
  { name: "lost on the link, by its event log", colour: "currentColor", path: "M-4,-4L4,4M-4,4L4,-4", line: 1.75 },
];

/**
 * How a run is called: by people, and at the end of names of files (empty if it is the only one).
 */
export interface Name {
  title: string;
  suffix: string;
}

/** The names of the runs that are drawn, in their order. */
export function names(page: Page): Name[] {
  const { plots } = page.sequences;
  return plots.map(({ run }) => {
    const cell = page.cells[page.runs.cell[run] ?? -1]?.label ?? "all";
    const repetition = page.runs.repetition[run] ?? "–";
    const verdict = page.runs.verdict[run];
    return {
      title: `${cell}, repetition ${repetition}${verdict === "good" ? "" : ` (${verdict})`}`,
      suffix: plots.length > 1 ? `-${slug(`${cell} ${repetition}`)}` : "",
    };
  });
}

/** The time-sequence plot between two times. */
export function timeSequence(sequence: Sequence, name: Name, from: number, to: number): Saved {
  return { name: `time-sequence${name.suffix}.svg`, text: file([{ title: name.title, drawing: print(sequence, from, to, WIDTH) }], KEY, 1) };
}

/** What is below it. */
export function chart({ kind, chart, legend }: Below, name: Name, from: number, to: number): Saved {
  return { name: `${kind}${name.suffix}.svg`, text: file([{ title: name.title, drawing: printChart(chart, from, to, WIDTH) }], legend, 1) };
}
