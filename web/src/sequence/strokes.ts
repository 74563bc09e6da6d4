// What a time-sequence plot consists of, after the graphs of tcptrace (LTCP thesis, appendix B.2.1). Pure.
//
// Each layer is a list of strokes in seconds and bytes; one painter draws them on the screen, another one into a file.

import { SEQUENCE } from "../palette";
import { type Sequence, within } from "./unpack";

export interface Layer {
  /** What the legend calls it. */
  name: string;
  /** A colour; `text` for the colour of the text. */
  colour: string;
  width: number;
  /** `step`: a line through the points; `stroke`: a line from first to last byte; `cross`: a mark in their middle. */
  shape: "step" | "stroke" | "cross";
  /** A letter above each stroke, where there is room. */
  letter?: string;
  points: { time: number; first: number; last: number }[];
}

/** Letters of segments in the data, with what they mean. */
export const KINDS: Readonly<Record<string, string>> = {
  ".": "segment",
  P: "segment with PSH",
  R: "retransmission",
  O: "segment out of order",
  S: "SYN",
  F: "FIN",
  T: "RST",
  U: "urgent segment",
};

/** The layers of what happens between two times, the lowest one first. */
export function layers(sequence: Sequence, from: number, to: number): Layer[] {
  const { segments, acks, sacks, losses } = sequence;
  const acked = ackedBetween(acks.time, from, to);
  const line = (values: Float64Array) =>
    acked.map((place) => ({ time: acks.time[place] ?? 0, first: values[place] ?? 0, last: values[place] ?? 0 }));
  const range = (list: { time: Float64Array; first: Float64Array; last: Float64Array }, keep: (place: number) => boolean) => {
    const points = [];
    const [start, end] = within(list.time, from, to);
    for (let place = start; place < end; place++) {
      if (keep(place)) points.push({ time: list.time[place] ?? 0, first: list.first[place] ?? 0, last: list.last[place] ?? 0 });
    }
    return points;
  };
  const again = (place: number) => segments.kind[place] === "R";
  const all = () => true;
  return [
    { name: "window edge", colour: SEQUENCE.window, width: 1, shape: "step", points: line(acks.edge) },
    { name: "acknowledged", colour: SEQUENCE.ack, width: 1.25, shape: "step", points: line(acks.ack) },
    { name: "SACK", colour: SEQUENCE.sack, width: 2, shape: "stroke", points: range(sacks, all) },
    { name: "data", colour: SEQUENCE.data, width: 1.5, shape: "stroke", points: range(segments, (place) => !again(place)) },
    { name: "retransmission", colour: SEQUENCE.retransmission, width: 2.5, shape: "stroke", letter: "R", points: range(segments, again) },
    { name: "lost on the link", colour: "text", width: 1.5, shape: "cross", points: range(losses, all) },
  ];
}

/** Places of the acknowledgements between two times, with the last one before, whose line goes on. */
function ackedBetween(time: Float64Array, from: number, to: number): number[] {
  const [start, end] = within(time, from, to);
  const first = Math.max(0, start - 1);
  return Array.from({ length: Math.max(0, Math.min(end + 1, time.length) - first) }, (_, place) => first + place);
}

/** What is at a place of the plot, in words; `near` tells how far something is, in pixels. */
export function describe(
  sequence: Sequence,
  from: number,
  to: number,
  near: (time: number, first: number, last: number) => number,
): string | null {
  let best: { distance: number; text: () => string } = { distance: 12, text: () => "" };
  const look = (list: { time: Float64Array; first: Float64Array; last: Float64Array }, what: (place: number) => string, bonus: number) => {
    const [start, end] = within(list.time, from, to);
    for (let place = start; place < end; place++) {
      const [time, first, last] = [list.time[place] ?? 0, list.first[place] ?? 0, list.last[place] ?? 0];
      const distance = near(time, first, last) - bonus;
      if (distance < best.distance) {
        best = { distance, text: () => `${what(place)}\nbytes ${first} to ${last}\nat ${time.toFixed(6)} s` };
      }
    }
  };
  look(sequence.segments, (place) => KINDS[sequence.segments.kind[place] ?? "."] ?? "segment", 0);
  look(sequence.sacks, () => "selectively acknowledged", 0);
  look(sequence.losses, (place) => `lost: ${sequence.losses.reason[place]}`, 6);
  return best.text() || null;
}
