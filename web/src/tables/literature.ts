// Measured values beside published ones, one row each.

import type { Figure, Page } from "../data";
import { h } from "../dom";
import { bars } from "../figures/bars";
import { saveButton } from "../figures/frame";
import { file, type Saved } from "../figures/paper";
import { range } from "../units";
import { type Column, table } from "./table";

/** The comparison, and a button that saves all of its bars. */
export function literatureTable(page: Page): HTMLElement | null {
  if (page.literature.length === 0) return null;
  const unit = (figure: Figure, text: string) => `${text} ${figure.unit}`;
  const what = (figure: Figure) =>
    h(
      "div",
      {},
      h("strong", {}, figure.title),
      h("br"),
      h("small", {}, `${figure.statistic} of ${figure.metric} of “${figure.workload}”; ${figure.of}${figure.against === "" ? "" : `; against ${figure.against}`}`),
    );
  const columns: Column<Figure>[] = [
    { title: "Id", text: ({ id }) => id },
    { title: "What", text: what, value: ({ title }) => title },
    {
      title: "Published",
      numeric: true,
      text: (figure) => unit(figure, range(figure.published.low, figure.published.high, 3)),
      value: ({ published }) => `${published.low} ${published.high}`,
    },
    {
      title: "Ours",
      numeric: true,
      text: (figure) => (figure.ours === null ? "–" : unit(figure, range(figure.ours.low, figure.ours.high, 3))),
      value: ({ ours }) => ours && `${ours.low} ${ours.high}`,
    },
    { title: "", text: (figure) => bars(figure, 280), value: () => null },
    { title: "Verdict", text: verdict },
    { title: "Source", text: ({ source }) => source },
  ];
  const over = h("p", {}, "Our figures are over good runs only, whatever is chosen above.");
  return h("div", {}, over, table("literature", columns, page.literature), h("p", { class: "below" }, saveButton(() => literatureFile(page))));
}

/** The bars of all published figures. */
export function literatureFile(page: Page): Saved {
  const plates = page.literature.map((figure) => ({ title: `${figure.id} ${figure.title}`.trim(), drawing: bars(figure, 420) }));
  return { name: "literature.svg", text: file(plates, [], 1) };
}

/** In a sentence whether ours is what is published. */
export function verdict(figure: Figure): string {
  const state = figure.ours === null ? "Not compared" : figure.within ? "Within the published range" : "Differs";
  return figure.note === "" ? `${state}.` : `${state}: ${figure.note}.`;
}
