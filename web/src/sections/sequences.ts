// Time-sequence plots of chosen runs, two of them above one another on one time axis if the reader wants to compare.

import type { Page } from "../data";
import { download, h } from "../dom";
import { saveButton } from "../figures/frame";
import { file, type Legend, legendDrawing } from "../figures/paper";
import { SEQUENCE } from "../palette";
import { print } from "../sequence/print";
import { type Screen, screen } from "../sequence/screen";
import { type Sequence, unpack } from "../sequence/unpack";
import { printWindows, windows } from "../sequence/windows";
import { select } from "./controls";

/** The section; what it returns draws it at a width. The reader's runs and zoom outlive that. */
export function sequences(page: Page): (width: number) => HTMLElement[] {
  const { plots, notes } = page.sequences;
  const remarks = notes.length > 0 ? [h("ul", { class: "notes" }, ...notes.map((note) => h("li", {}, note)))] : [];
  if (plots.length === 0) {
    return () => [h("p", {}, "No run of this campaign has a capture that could be drawn."), ...remarks];
  }
  const names = plots.map(({ run }) => {
    const cell = page.cells[page.runs.cell[run] ?? -1]?.label ?? "all";
    const verdict = page.runs.verdict[run];
    return `${cell}, repetition ${page.runs.repetition[run] ?? "–"}${verdict === "good" ? "" : ` (${verdict})`}`;
  });
  const chosen = [0, -1];
  const screens: Screen[] = [];
  const stage = h("div", {});
  let [shown, room]: [[number, number] | null, number] = [null, 0];
  let following = false;
  /** Takes the other plots along; what they say then is no news. */
  const follow = (self: number) => (from: number, to: number) => {
    if (following) return;
    shown = [from, to];
    following = true;
    screens.forEach((other, place) => place !== self && other.zoom(from, to));
    // uPlot sets scales when the current task has ended.
    setTimeout(() => (following = false));
  };
  const draw = () => {
    for (const old of screens.splice(0)) old.destroy();
    stage.replaceChildren();
    const before = shown;
    following = true;
    chosen.forEach((place) => {
      const packed = plots[place];
      if (packed === undefined) return;
      const sequence = unpack(packed);
      const plot = screen(sequence, room, follow(screens.length));
      screens.push(plot);
      stage.append(framed(sequence, plot, names[place] ?? ""));
      if (sequence.windows !== null) {
        const below = windows(sequence, sequence.windows, room, follow(screens.length));
        screens.push(below);
        stage.append(framedWindows(sequence, sequence.windows, below, names[place] ?? ""));
      }
      if (before !== null) for (const each of screens) each.zoom(...before);
    });
    setTimeout(() => (following = false));
  };
  const choose = (self: number) => (place: number) => {
    chosen[self] = place;
    draw();
  };
  const key = h("div", { class: "key" });
  const parts = [
    h(
      "div",
      { class: "row" },
      select("sequence-first", "Run", names, 0, choose(0)),
      plots.length > 1 && select("sequence-second", "compared with", names, -1, choose(1), "no other"),
    ),
    key,
    stage,
    h("p", { class: "hint" }, "Drag to zoom, double-click to see everything; point at a mark to read what it is. Keys: arrows, +, −, 0."),
    ...remarks,
  ];
  return (width) => {
    room = width;
    key.replaceChildren(legendDrawing(KEY, width));
    draw();
    return parts;
  };
}

/** A plot with its buttons. */
function framed(sequence: Sequence, plot: Screen, name: string): HTMLElement {
  const save = () => {
    const drawing = print(sequence, ...plot.range(), 760);
    download("time-sequence.svg", "image/svg+xml", file([{ title: name, drawing }], KEY, 1));
  };
  const button = (text: string, title: string, from: (low: number, high: number) => [number, number]) =>
    h("button", { type: "button", title, onclick: () => plot.zoom(...from(...plot.range())) }, text);
  return h(
    "figure",
    { "data-name": "time-sequence" },
    plot.element,
    h(
      "figcaption",
      {},
      h("p", {}, `${name}: ${sequence.connection}.`, sequence.thinned !== "" && ` ${sequence.thinned}`),
      button("−", "show more time", (low, high) => [low - (high - low) / 2, high + (high - low) / 2]),
      button("+", "show less time", (low, high) => [low + (high - low) / 4, high - (high - low) / 4]),
      button("All", "show everything", () => [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]),
      " ",
      saveButton(save),
    ),
  );
}

/** The congestion window below a time-sequence plot, which has the buttons. */
function framedWindows(sequence: Sequence, of: NonNullable<Sequence["windows"]>, plot: Screen, name: string): HTMLElement {
  const save = () => {
    const drawing = printWindows(of, sequence.end, ...plot.range(), 760);
    download("congestion-window.svg", "image/svg+xml", file([{ title: name, drawing }], WINDOWS_KEY, 1));
  };
  return h(
    "figure",
    { "data-name": "congestion-window" },
    h("div", { class: "key" }, legendDrawing(WINDOWS_KEY, 400)),
    plot.element,
    h("figcaption", {}, h("p", {}, `${name}: congestion window of the sender.`), saveButton(save)),
  );
}

const STROKE = "M0,-6V6";
const STEP = "M-7,5H0V-4H7";

/** What the colours and marks mean. */
const KEY: Legend = [
  { name: "data", colour: SEQUENCE.data, path: STROKE, line: 2 },
  { name: "retransmission (R)", colour: SEQUENCE.retransmission, path: STROKE, line: 3.5 },
  { name: "acknowledged", colour: SEQUENCE.ack, path: STEP, line: 1.5 },
  { name: "edge of the receive window", colour: SEQUENCE.window, path: STEP, line: 1.5 },
  { name: "SACK block", colour: SEQUENCE.sack, path: STROKE, line: 2.5 },
  { name: "lost on the link, by its event log", colour: "currentColor", path: "M-4,-4L4,4M-4,4L4,-4", line: 1.75 },
];

const WINDOWS_KEY: Legend = [
  { name: "congestion window", colour: SEQUENCE.cwnd, path: STEP, line: 1.5 },
  { name: "slow start threshold", colour: SEQUENCE.ssthresh, path: STEP, line: 1.5 },
];
