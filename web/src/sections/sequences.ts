// Time-sequence plots of chosen runs, two of them above one another on one time axis if the reader wants to compare.

import type { Page } from "../data";
import { download, h, svg } from "../dom";
import { saveButton } from "../figures/frame";
import { file } from "../figures/paper";
import { SEQUENCE } from "../palette";
import { print } from "../sequence/print";
import { type Screen, screen } from "../sequence/screen";
import { unpack } from "../sequence/unpack";
import { select } from "./controls";

/** What the section shows at a width; it lives on when the width changes, so that the reader's zoom stays. */
export function sequences(page: Page, width: number): HTMLElement[] {
  const { plots, notes } = page.sequences;
  const remarks = notes.length > 0 && h("ul", { class: "notes" }, ...notes.map((note) => h("li", {}, note)));
  if (plots.length === 0) {
    return [h("p", {}, "No run of this campaign has a capture that could be drawn."), ...(remarks ? [remarks] : [])];
  }
  const names = plots.map(({ run, connection }) => {
    const cell = page.cells[page.runs.cell[run] ?? -1]?.label ?? "all";
    return `${cell}, repetition ${page.runs.repetition[run] ?? "–"}: ${connection}`;
  });
  const places: (number | null)[] = [0, null];
  const screens: (Screen | null)[] = [null, null];
  const stage = h("div", {});
  let following = false;
  const follow = (self: number) => (from: number, to: number) => {
    const other = screens[1 - self];
    if (following || !other) return;
    following = true;
    other.zoom(from, to);
    // uPlot sets scales when the current task has ended.
    queueMicrotask(() => queueMicrotask(() => (following = false)));
  };
  const draw = () => {
    for (const old of screens) old?.destroy();
    stage.replaceChildren();
    places.forEach((place, self) => {
      const packed = place === null ? undefined : plots[place];
      screens[self] = null;
      if (place === null || packed === undefined) return;
      const sequence = unpack(packed);
      const shown = screen(sequence, width, follow(self));
      screens[self] = shown;
      const save = () => {
        const drawing = print(sequence, ...shown.range(), 760);
        download("time-sequence.svg", "image/svg+xml", file([{ title: names[place] ?? "", drawing }], [], 1));
      };
      const button = (text: string, title: string, from: (low: number, high: number) => [number, number]) =>
        h("button", { type: "button", title, onclick: () => shown.zoom(...from(...shown.range())) }, text);
      stage.append(
        h(
          "figure",
          { "data-name": "time-sequence" },
          shown.element,
          h(
            "figcaption",
            {},
            sequence.thinned !== "" && `${sequence.thinned} `,
            button("−", "show more time", (low, high) => [low - (high - low) / 2, high + (high - low) / 2]),
            button("+", "show less time", (low, high) => [low + (high - low) / 4, high - (high - low) / 4]),
            button("All", "show everything", () => [0, sequence.end]),
            " ",
            saveButton(save),
          ),
        ),
      );
    });
  };
  const choose = (self: number) => (place: number) => {
    places[self] = place < 0 ? null : place;
    draw();
  };
  draw();
  return [
    h(
      "div",
      { class: "row" },
      select("sequence-first", "Run", names, 0, choose(0)),
      plots.length > 1 && select("sequence-second", "compared with", names, -1, choose(1), "no other"),
    ),
    key(),
    stage,
    h("p", { class: "hint" }, "Drag to zoom, double-click to see everything; point at a mark to read what it is. With the keyboard: arrows, +, −, 0."),
    ...(remarks ? [remarks] : []),
  ];
}

/** What the colours and marks mean. */
function key(): HTMLElement {
  const line = (colour: string, path: string, width: number) =>
    svg("svg", { width: 22, height: 14 }, svg("path", { d: path, stroke: colour, "stroke-width": width, fill: "none" }));
  const entries: [SVGSVGElement, string][] = [
    [line(SEQUENCE.data, "M11,1V13", 2), "data"],
    [line(SEQUENCE.retransmission, "M11,1V13", 3.5), "retransmission (R)"],
    [line(SEQUENCE.ack, "M1,12H11V3H21", 1.5), "acknowledged"],
    [line(SEQUENCE.window, "M1,12H11V3H21", 1.5), "edge of the receive window"],
    [line(SEQUENCE.sack, "M11,1V13", 2.5), "SACK block"],
    [line("currentColor", "M7,3L15,11M7,11L15,3", 1.75), "lost on the link, by its event log"],
  ];
  return h("ul", { class: "key" }, ...entries.map(([mark, text]) => h("li", {}, mark, ` ${text}`)));
}
