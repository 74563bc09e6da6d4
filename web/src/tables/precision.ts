// Where the cells stopped that are repeated until they are precise.

import { type Choice, visible } from "../choice";
import type { Page, Precision, StoppedCell } from "../data";
import { h } from "../dom";
import { decimals, fixed, shown } from "../units";
import { levelColumns } from "./cells";
import { type Column, table } from "./table";

/** The rule in a sentence, how many cells did not reach it, and a row for each visible cell. */
export function precisionTable(page: Page, choice: Choice): HTMLElement[] {
  const { precision } = page;
  if (precision === null) return [];
  const cells = new Set(visible(page.cells, choice));
  const stops = precision.stops.filter(({ cell }) => cells.has(cell));
  const texts = summary(precision).map((text) => h("p", {}, text));
  return stops.length === 0 ? texts : [...texts, rows(page, precision, stops)];
}

/** The rule and its outcome, in sentences. */
export function summary({ rule, least, most, stops }: Precision): string[] {
  const first = `Each cell was repeated ${least} to ${most} times, until ${rule}.`;
  if (stops.length === 0) return [`${first} The campaign was interrupted: no cell has stopped yet.`];
  const missed = stops.filter(({ reached }) => !reached).length;
  const outcome = missed === 0 ? "All cells reached it." : `${missed} of ${stops.length} cells did not reach it with ${most} repetitions.`;
  return [`${first} ${outcome}`];
}

function rows(page: Page, { unit: written, most }: Precision, stops: readonly StoppedCell[]): HTMLElement {
  const means = stops.map(({ mean }) => mean);
  const unit = shown(written, means);
  const places = decimals(means.map((mean) => (mean ?? 0) * unit.scale));
  const titled = (title: string) => (unit.unit === "" ? title : `${title} (${unit.unit})`);
  const scaled = (value: number | null) => (value === null ? null : value * unit.scale);
  const percent = (share: number | null) => (share === null ? null : 100 * share);
  const columns: Column<StoppedCell>[] = [
    ...levelColumns(page),
    { title: "Repetitions", numeric: true, text: ({ repetitions }) => String(repetitions), value: ({ repetitions }) => repetitions },
    { title: titled("Mean"), numeric: true, text: ({ mean }) => fixed(scaled(mean), places), value: ({ mean }) => scaled(mean) },
    {
      title: titled("Interval"),
      numeric: true,
      text: ({ low, high }) => (low === null || high === null ? "–" : `${fixed(scaled(low), places)} to ${fixed(scaled(high), places)}`),
      value: ({ low, high }) => (low === null || high === null ? null : `${scaled(low)} ${scaled(high)}`),
    },
    { title: "± of the mean (%)", numeric: true, text: ({ half_width }) => fixed(percent(half_width), 2), value: ({ half_width }) => percent(half_width) },
    { title: "Reached", text: ({ reached }) => (reached ? "yes" : `not with ${most}`), value: ({ reached }) => (reached ? "yes" : "no") },
    ...(stops.some(({ notes }) => notes.length > 0) ? [{ title: "Notes", text: ({ notes }: StoppedCell) => notes.join("; ") }] : []),
  ];
  return table("precision", columns, stops);
}
