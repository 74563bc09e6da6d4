// The layers of a time-sequence plot, after the graphs of tcptrace (LTCP thesis, appendix B.2.1).
// Pure.
//
// Each layer is a list of strokes in seconds and bytes; one painter draws them on the screen,
// another one into a file.

import { SEQUENCE } from "../palette";
import { type Sequence, type Strokes, within } from "./unpack";

export interface Layer {
  /** Name in the legend. */
  name: string;
  /** A colour; `text` for the colour of the text. */
  colour: string;
  width: number;
  /** `step`: a line through the points; `stroke`: a line from first to last byte; `tick`: a short line across; `cross`: a
   * mark in their middle; `none`: its text alone. */
  shape: "step" | "stroke" | "tick" | "cross" | "none";
  points: Point[];
}

export interface Point {
  time: number;
  first: number;
  last: number;
  /** Stands above it, where there is room. */
  text?: string;
}

/** With more texts than this, they would hide the points. */
export const TEXTS = 60;

/**
 * Letters of segments in the data, with what they mean; crates/report/src/sequence/pack.rs writes
 * them.
 */
const KINDS: Readonly<Record<string, string>> = {
  ".": "segment",
  P: "segment with PSH",
  O: "segment out of order",
  W: "probe of a closed window",
  F: "fast retransmission",
  T: "retransmission by timeout",
  L: "tail loss probe",
  K: "keep-alive",
  R: "retransmission, cause unknown",
};

/** The layers between two times, the lowest one first. */
export function layers(sequence: Sequence, from: number, to: number): Layer[] {
  const { segments, acks, sacks, losses, marks } = sequence;
  const acked = ackedBetween(acks.time, from, to);
  const at = (values: Float64Array) => (place: number) => {
    const value = values[place] ?? 0;
    return { time: acks.time[place] ?? 0, first: value, last: value };
  };
  const kind = (place: number) => segments.kind[place] ?? ".";
  const again = (place: number) => "FTLKR".includes(kind(place));
  const told = (place: number) => (kind(place) === "O" || kind(place) === "W" ? kind(place) : undefined);
  const all = () => true;
  const none = () => undefined;
  const texts = { time: marks.time, first: marks.sequence, last: marks.sequence };
  const layer = (name: string, colour: string, width: number, shape: Layer["shape"], points: Point[]): Layer => ({ name, colour, width, shape, points });
  return [
    layer("window edge", SEQUENCE.window, 1, "step", acked.map(at(acks.edge))),
    layer("acknowledged", SEQUENCE.ack, 1.25, "step", acked.map(at(acks.ack))),
    layer("duplicate ACK", SEQUENCE.ack, 1.25, "tick", acked.filter((place) => acks.duplicate.has(place)).map(at(acks.ack))),
    layer("SACK", SEQUENCE.sack, 2, "stroke", points(sacks, from, to, all, none)),
    layer("data", SEQUENCE.data, 1.5, "stroke", points(segments, from, to, (place) => !again(place), told)),
    layer("retransmission", SEQUENCE.retransmission, 2.5, "stroke", points(segments, from, to, again, () => "R")),
    layer("lost on the link", "text", 1.5, "cross", points(losses, from, to, all, none)),
    layer("marks", "text", 1, "none", points(texts, from, to, all, (place) => marks.text[place])),
  ];
}

/** Those of a list between two times that `keep` keeps, with their texts. */
function points(
  list: Strokes,
  from: number,
  to: number,
  keep: (place: number) => boolean,
  text: (place: number) => string | undefined,
): Point[] {
  const found: Point[] = [];
  const [start, end] = within(list.time, from, to);
  for (let place = start; place < end; place++) {
    if (!keep(place)) continue;
    const words = text(place);
    const point = { time: list.time[place] ?? 0, first: list.first[place] ?? 0, last: list.last[place] ?? 0 };
    found.push(words === undefined ? point : { ...point, text: words });
  }
  return found;
}

/** Points with a text, if they are so few that each can be read. */
export function readable(layer: Layer): Point[] {
  const texts = layer.points.filter(({ text }) => text !== undefined);
  return texts.length <= TEXTS ? texts : [];
}

/**
 * Places of the acknowledgements between two times, with the last one before, whose line goes on.
 */
function ackedBetween(time: Float64Array, from: number, to: number): number[] {
  const [start, end] = within(time, from, to);
  const first = Math.max(0, start - 1);
  return Array.from({ length: Math.max(0, Math.min(end + 1, time.length) - first) }, (_, place) => first + place);
}

/** Describes a place of the plot; `near` returns a distance in pixels. */
export function describe(
  sequence: Sequence,
  from: number,
  to: number,
  near: (time: number, first: number, last: number) => number,
): string | null {
  let best: { distance: number; text: () => string } = { distance: 12, text: () => "" };
  const look = (list: Strokes, what: (place: number) => string, bonus: number) => {
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
