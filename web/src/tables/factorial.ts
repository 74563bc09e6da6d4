// Factorial analyses: the share of the variation that each factor and each interaction explains.

import type { Choice } from "../choice";
import type { Factorial, FactorialAnalysis, FactorialEffect, Interval, Page } from "../data";
import { h, svg } from "../dom";
import { decimals, fixed, number, shown } from "../units";
import { type Column, table } from "./table";

const METHOD =
  "Each effect is half of the change of the response from the first level of a factor to the second, over all levels of the others; that of an " +
  "interaction is half of the change of such a change. Shares are of the variation of all responses (2^k·r design; Jain, The Art of Computer Systems " +
  "Performance Analysis, chapters 17 and 18). The levels are those of the plan: other levels give other shares.";

/** Length of the bar of 100 %. */
const LENGTH = 160;
const BAR = "#0072b2";

/** A row of a table: an effect, or what the repetitions differ by. */
export interface FactorialRow {
  name: string;
  share: number;
  of: FactorialEffect | null;
}

/** All analyses, each with its table or the reason for its absence. */
export function factorialTables(page: Page, choice: Choice): HTMLElement[] {
  return [h("p", {}, METHOD), ...page.factorial.map((of, place) => one(of, place, choice))];
}

function one(of: Factorial, place: number, choice: Choice): HTMLElement {
  const { analysis, why } = (choice.overloaded ? of.all : null) ?? of.good;
  const title = h("h3", {}, of.title);
  if (analysis === null) return h("div", {}, title, h("p", { class: "hint" }, `Not analysed: ${why}.`));
  return h("div", {}, title, ...about(of, analysis).map((text) => h("p", {}, text)), effects(of, analysis, `factorial-${place + 1}`));
}

/** What was analysed, in sentences. */
export function about(of: Factorial, analysis: FactorialAnalysis): string[] {
  const factors = of.factors.map(([factor, [first, second]]) => `${factor} (${first} to ${second})`).join(", ");
  const percent = (share: number) => `${fixed(100 * share, 1)} %`;
  const errors = analysis.error_share === null ? "" : `, differences between repetitions ${percent(analysis.error_share)}`;
  const unit = shown(analysis.unit, [analysis.mean.value]);
  const mean = `${number(analysis.mean.value * unit.scale)} ${unit.unit}`.trim();
  return [
    `Response: ${analysis.response}${of.fixed === "" ? "" : `, with ${of.fixed}`}. Factors: ${factors}. Repetitions of each cell: ${analysis.repetitions}.`,
    `Mean of the response: ${mean}. The factors by themselves explain ${percent(analysis.main_share)}, their interactions ${percent(analysis.interaction_share)}${errors}.`,
    ...analysis.notes.map((note) => `${note.charAt(0).toUpperCase()}${note.slice(1)}.`),
  ];
}

/** The rows, the largest share first; errors are last. */
export function rows(analysis: FactorialAnalysis): FactorialRow[] {
  const all: FactorialRow[] = analysis.effects.map((of) => ({ name: of.factors.join(" × "), share: of.share, of }));
  return analysis.error_share === null ? all : [...all, { name: "between repetitions", share: analysis.error_share, of: null }];
}

function effects(of: Factorial, analysis: FactorialAnalysis, name: string): HTMLElement {
  const values = analysis.effects.map(({ effect }) => effect);
  const unit = shown(analysis.unit, values);
  const places = decimals(values.map((value) => value * unit.scale));
  const titled = (title: string) => (unit.unit === "" ? title : `${title} (${unit.unit})`);
  const scaled = (value: number | null | undefined) => fixed(value === null || value === undefined ? null : value * unit.scale, places);
  const ends = (interval: Interval | null | undefined) => (interval ? `${scaled(interval.low)} to ${scaled(interval.high)}` : "–");
  const columns: Column<FactorialRow>[] = [
    { title: "Factors", text: ({ name }) => name },
    { title: "Share (%)", numeric: true, text: ({ share }) => fixed(100 * share, 2), value: ({ share }) => 100 * share },
    { title: "", text: ({ share }) => bar(share), value: () => null },
    { title: titled("Effect"), numeric: true, text: ({ of }) => scaled(of?.effect), value: ({ of }) => of && of.effect * unit.scale },
    {
      title: titled("95 % interval"),
      numeric: true,
      text: ({ of }) => `${ends(of?.interval)}${of?.significant === false ? " (includes 0)" : ""}`,
      value: ({ of }) => of?.interval && `${of.interval.low * unit.scale} ${of.interval.high * unit.scale}`,
    },
  ];
  if (of.log) columns.push({ title: "Second over first", numeric: true, text: ({ of }) => number(of?.factor), value: ({ of }) => of?.factor ?? null });
  return table(name, columns, rows(analysis));
}

function bar(share: number): SVGSVGElement {
  const length = Math.max(0, Math.min(1, share)) * LENGTH;
  return svg("svg", { width: LENGTH, height: 16, "aria-hidden": "true" }, svg("rect", { y: 2, width: length.toFixed(1), height: 12, fill: BAR, "fill-opacity": 0.75 }));
}
