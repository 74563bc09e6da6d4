// Marks of loss events in the plot of a sender's window. The colour shows the true cause, the
// symbol the cause that the sender assumed. Pure.

import { CAUSES, type PackedEvents, type Taken } from "../data";
import { symbolPath } from "../figures/symbols";
import type { Legend } from "../figures/paper";
import { CAUSE, type SYMBOLS, TAKEN_FOR } from "../palette";
import { fixed } from "../units";
import { CAUSE_WORDS, KIND_WORDS, REASON_WORDS, TAKEN_WORDS } from "../words";

/** A mark at a place of a chart. */
export interface Mark {
  /** Seconds. */
  time: number;
  value: number;
  colour: string;
  symbol: (typeof SYMBOLS)[number];
  /** Description, in lines. */
  text: string;
}

/**
 * Radius of a mark, that of the circle of its area; and of the ring around it that lets it stand
 * out.
 */
export const [RADIUS, RING] = [5, 1] as const;

/** Loss events with their times in seconds. */
export type Events = Omit<PackedEvents, "time"> & { time: Float64Array };

/** One mark for each event, at the window before it. */
export function lossMarks(events: Events): Mark[] {
  return events.cause.map((cause, place) => ({
    time: events.time[place] ?? 0,
    value: events.cwnd[place] ?? 0,
    colour: CAUSE[cause],
    symbol: TAKEN_FOR[events.verdict[place] ?? "none"],
    text: words(events, place),
  }));
}

function words(events: Events, place: number): string {
  const { kind, cause, n, lost, verdict, reason, rtt_us, mean_ns, cwnd, ssthresh } = events;
  const [met, truth, decided] = [kind[place] ?? "recovery", cause[place] ?? "none", reason[place] ?? null];
  const taken: Taken | "none" = verdict[place] ?? "none";
  const [rtt, mean] = [rtt_us[place] ?? null, mean_ns[place] ?? null];
  const counted = n[place] ?? null;
  const milliseconds = (value: number | null) => (value === null ? "–" : `${fixed(value, 3)} ms`);
  const lines = [
    `${KIND_WORDS[met]}: ${CAUSE_WORDS[truth]}, ${TAKEN_WORDS[taken]}`,
    `${counted === null ? "" : `n = ${counted}, `}really lost: ${lost[place] ?? 0}`,
    ...(decided === null ? [] : [`decided by ${REASON_WORDS[decided]}`]),
    ...(rtt === null && mean === null ? [] : [`RTT ${milliseconds(rtt && rtt / 1e3)}, mean ${milliseconds(mean && mean / 1e6)}`]),
    `window ${cwnd[place] ?? 0}, threshold after it ${ssthresh[place] ?? "not set"}`,
    `at ${(events.time[place] ?? 0).toFixed(6)} s`,
  ];
  return lines.join("\n");
}

/** Meaning of colours and symbols. */
export function markLegend(): Legend {
  const causes = CAUSES.map((cause) => ({ name: CAUSE_WORDS[cause], colour: CAUSE[cause], path: "M-5,-5H5V5H-5Z" }));
  const taken = (["wireless", "congestion", "none"] as const).map((verdict) => ({
    name: TAKEN_WORDS[verdict],
    colour: "currentColor",
    path: symbolPath(TAKEN_FOR[verdict], RADIUS),
    line: 1.25,
  }));
  return [...causes, ...taken];
}

/** The nearest of the marks within `reach`; `far` tells how far one is, in pixels. */
export function nearest(marks: readonly Mark[], far: (mark: Mark) => number, reach: number): Mark | null {
  let best: { distance: number; mark: Mark | null } = { distance: reach, mark: null };
  for (const mark of marks) {
    const distance = far(mark);
    // Of two at one place the later one is on top.
    if (distance <= best.distance) best = { distance, mark };
  }
  return best.mark;
}
