// Time-sequence plots of chosen runs, two of them above one another on one time axis if the reader
// wants to compare.

import type { Page } from "../data";
import { h } from "../dom";
import { saveButton } from "../figures/frame";
import { legendDrawing } from "../figures/paper";
import { select } from "../inputs";
import { type Below, below } from "../sequence/charts";
import { chart, KEY, type Name, names, timeSequence } from "../sequence/files";
import { chartScreen } from "../sequence/lines";
import { type Screen, screen } from "../sequence/screen";
import { type Sequence, unpack } from "../sequence/unpack";

/** The section; what it returns draws it at a width. The reader's runs and zoom outlive that. */
export function sequences(page: Page): (width: number) => HTMLElement[] {
  const { plots, notes } = page.sequences;
  const remarks = notes.length > 0 ? [h("ul", { class: "notes" }, ...notes.map((note) => h("li", {}, note)))] : [];
  if (plots.length === 0) {
    return () => [h("p", {}, "No run of this campaign has a capture that can be drawn."), ...remarks];
  }
  const all = names(page);
  const titles = all.map(({ title }) => title);
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
      const [packed, name] = [plots[place], all[place]];
      if (packed === undefined || name === undefined) return;
      const sequence = unpack(packed);
      const plot = screen(sequence, room, follow(screens.length));
      screens.push(plot);
      stage.append(framed(sequence, plot, name));
      for (const part of below(sequence)) {
        const lower = chartScreen(part.chart, room, follow(screens.length));
        screens.push(lower);
        stage.append(framedChart(part, lower, name));
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
      select("sequence-first", "Run", titles, 0, choose(0)),
      plots.length > 1 && select("sequence-second", "compared with", titles, -1, choose(1), "no other"),
    ),
    key,
    stage,
    h("p", { class: "hint" }, "Drag to zoom, double-click to see everything; point at a mark for details. Keys: arrows, +, −, 0."),
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
function framed(sequence: Sequence, plot: Screen, name: Name): HTMLElement {
  const button = (text: string, title: string, from: (low: number, high: number) => [number, number]) =>
    h("button", { type: "button", title, onclick: () => plot.zoom(...from(...plot.range())) }, text);
  return h(
    "figure",
    { "data-name": "time-sequence" },
    plot.element,
    h(
      "figcaption",
      {},
      h("p", {}, `${name.title}: ${sequence.connection}.`, sequence.thinned !== "" && ` ${sequence.thinned}`),
      button("−", "show more time", (low, high) => [low - (high - low) / 2, high + (high - low) / 2]),
      button("+", "show less time", (low, high) => [low + (high - low) / 4, high - (high - low) / 4]),
      button("All", "show everything", () => [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]),
      " ",
      saveButton(() => timeSequence(sequence, name, ...plot.range())),
    ),
  );
}

/** A chart below a time-sequence plot, which has the buttons. */
function framedChart(part: Below, plot: Screen, name: Name): HTMLElement {
  return h(
    "figure",
    { "data-name": part.kind },
    h("div", { class: "key" }, legendDrawing(part.legend, 760)),
    plot.element,
    h("figcaption", {}, h("p", {}, `${name.title}. ${part.caption}`), saveButton(() => chart(part, name, ...plot.range()))),
  );
}
