// Classification of losses by their true cause, and the error of the senders' counts of lost
// segments. Rows are cells, or levels that sum over cells; both figures have the same rows.

import * as Plot from "@observablehq/plot";
import { type Choice, level, levelName, panels, visible } from "../choice";
import { CAUSES, type Cause, type CountedLosses, type LossGroup, type Losses, type Page } from "../data";
import { CAUSE } from "../palette";
import { fixed, number } from "../units";
import { CAUSE_WORDS } from "../words";
import { type FigureParts, layout } from "./frame";
import { type Legend, type Plate, slug } from "./paper";
import { symbolPath } from "./symbols";

/**
 * What is summed over: nothing, everything, or all cells of each level of a factor, by its place.
 */
export type Sum = "cells" | "together" | number;

/** Groups of one panel, each with the label of its row. */
export interface LossPanel {
  title: string;
  rows: { label: string; group: LossGroup }[];
}

/** Width of a wide letter of a label, in pixels. */
const LETTER = 6.4;

/** The groups that the reader asked for. */
export function counted(losses: Losses, choice: Choice): CountedLosses {
  return (choice.overloaded ? losses.all : null) ?? losses.good;
}

/** The visible groups, in the order of cells or levels. */
export function groupsOf(page: Page, losses: Losses, choice: Choice, sum: Sum): LossGroup[] {
  const all = counted(losses, choice);
  if (sum === "together") return all.together;
  if (sum === "cells") {
    const seen = new Set(visible(page.cells, choice));
    return all.cells.filter(({ at }) => at !== null && seen.has(at));
  }
  return (all.levels[sum] ?? []).filter(({ at }) => at === null || !choice.hidden[sum]?.has(at));
}

/** The visible groups, split into panels. */
export function lossPanels(page: Page, losses: Losses, choice: Choice, sum: Sum): LossPanel[] {
  const groups = groupsOf(page, losses, choice, sum);
  if (sum === "together") return [{ title: "", rows: groups.map((group) => ({ label: group.congestion_control, group })) }];
  const several = new Set(groups.map(({ at }) => at)).size < groups.length;
  if (sum !== "cells") {
    const name = ({ at }: LossGroup) => levelName(page.factors, sum, at ?? -1);
    if (!several) return [{ title: "", rows: groups.map((group) => ({ label: name(group), group })) }];
    const controls = [...new Set(groups.map(({ congestion_control }) => congestion_control))];
    return controls.map((control) => ({
      title: control,
      rows: groups.filter(({ congestion_control }) => congestion_control === control).map((group) => ({ label: name(group), group })),
    }));
  }
  const shownBy = [...new Set([choice.x, choice.colour])].filter((factor) => factor !== null);
  const label = ({ at, congestion_control }: LossGroup) => {
    const parts = shownBy.map((factor) => levelName(page.factors, factor, level(page.cells[at ?? -1], factor)));
    return [...parts, ...(several || parts.length === 0 ? [congestion_control] : [])].join(", ");
  };
  return panels(page, choice, shownBy).map(({ title, cells }) => ({
    title,
    rows: cells.flatMap((cell) => groups.filter(({ at }) => at === cell)).map((group) => ({ label: label(group), group })),
  }));
}

/** A share in words: `12 of 15, 80 % (95 %: 55 to 93 %)`. */
export function shareWords({ of, all, value, interval }: { of: number; all: number; value: number | null; interval: { low: number; high: number } | null }): string {
  const percent = (share: number) => fixed(share * 100, 1);
  const known = value === null || interval === null ? "" : `, ${percent(value)} % (95 %: ${percent(interval.low)} to ${percent(interval.high)} %)`;
  return `${number(of, 12)} of ${number(all, 12)}${known}`;
}

/** Name of a figure, with its grouping. */
function named(page: Page, name: string, sum: Sum): string {
  if (sum === "cells") return name;
  return sum === "together" ? `${name}-all` : `${name}-by-${slug(page.factors[sum]?.name ?? "")}`;
}

/** The panels with the rows that `keep` keeps. */
function kept(all: LossPanel[], keep: (group: LossGroup) => boolean): LossPanel[] {
  return all.map(({ title, rows }) => ({ title, rows: rows.filter(({ group }) => keep(group)) })).filter(({ rows }) => rows.length > 0);
}

/** Room for the labels of rows, the same in all panels. */
function margin(all: LossPanel[]): number {
  const longest = Math.max(...all.flatMap(({ rows }) => rows.map(({ label }) => label.length)));
  return Math.min(260, 16 + Math.ceil(LETTER * longest));
}

const STYLE = { background: "none", fontSize: "12px", overflow: "visible", maxWidth: "none" };

/** Share of the losses of each cause that was classified as wireless. */
export function takenFor(page: Page, losses: Losses, choice: Choice, sum: Sum, width: number): FigureParts | null {
  const all = kept(lossPanels(page, losses, choice, sum), ({ causes }) => causes.some(({ wireless }) => wireless.all > 0));
  if (all.length === 0) return null;
  const there = CAUSES.filter((cause) => all.some(({ rows }) => rows.some(({ group }) => judged(group, cause) !== undefined)));
  const left = margin(all);
  const { columns, each } = layout(all.length, width, left + 260);
  const plates: Plate[] = all.map((panel) => ({ title: panel.title, drawing: drawShares(panel, there, left, each) }));
  const legend: Legend = there.map((cause) => ({ name: CAUSE_WORDS[cause], colour: CAUSE[cause], path: symbolPath("circle", 4.5) }));
  const caption =
    "Recoveries that a detector judged: for each true cause, the share taken for wireless. Within a row, causes are in the order of the legend. " +
    "Lines: 95 % intervals (Wilson), as if events were independent. Wireless errors should be at the right, queue drops at the left.";
  return { name: named(page, "losses-taken-for", sum), plates, legend, legendTitle: "True cause", caption: [caption], width, columns };
}

function judged({ causes }: LossGroup, cause: Cause) {
  return causes.find((row) => row.cause === cause && row.wireless.all > 0);
}

function drawShares({ rows }: LossPanel, there: Cause[], left: number, width: number): SVGSVGElement {
  const offset = (place: number) => (there.length > 1 ? (place / (there.length - 1) - 0.5) * 0.62 : 0);
  const dots = rows.flatMap(({ label, group }, row) =>
    there.flatMap((cause, place) => {
      const share = judged(group, cause)?.wireless;
      if (share === undefined || share.value === null || share.interval === null) return [];
      const [low, high] = [share.interval.low * 100, share.interval.high * 100];
      const title = `${label}\n${CAUSE_WORDS[cause]}: taken for wireless\n${shareWords(share)}`;
      return [{ y: row + offset(place), x: share.value * 100, low, high, colour: CAUSE[cause], title }];
    }),
  );
  const drawing = Plot.plot({
    width,
    height: 52 + rows.length * Math.max(20, 8 + 9 * there.length),
    marginLeft: left,
    marginRight: 18,
    marginTop: 8,
    marginBottom: 42,
    style: STYLE,
    x: { domain: [0, 100] },
    y: { domain: [-0.5, rows.length - 0.5], reverse: true },
    color: { type: "identity" },
    marks: [
      Plot.gridX({ stroke: "currentColor", strokeOpacity: 0.14 }),
      Plot.ruleY(rows.slice(1).map((_, row) => row + 0.5), { stroke: "currentColor", strokeOpacity: 0.14 }),
      Plot.axisX({ label: "taken for wireless (%)", labelAnchor: "center", labelArrow: "none", tickSize: 0, ticks: 5 }),
      Plot.axisY(rows.map((_, row) => row), { label: null, tickSize: 0, tickFormat: (row: number) => rows[row]?.label ?? "" }),
      Plot.ruleX([0], { stroke: "currentColor", strokeOpacity: 0.4 }),
      Plot.ruleY(dots, { y: "y", x1: "low", x2: "high", stroke: "colour", strokeWidth: 1.75, className: "interval" }),
      Plot.dot(dots, { className: "share", x: "x", y: "y", r: 3.5, fill: "colour", title: "title", tip: true }),
    ],
  });
  return drawing as SVGSVGElement;
}

/** Error of the senders' counts of lost segments. */
export function countedRight(page: Page, losses: Losses, choice: Choice, sum: Sum, width: number): FigureParts | null {
  const all = kept(lossPanels(page, losses, choice, sum), ({ counts }) => counts !== null);
  if (all.length === 0) return null;
  const left = margin(all);
  const { columns, each } = layout(all.length, width, left + 360);
  const plates: Plate[] = all.map((panel) => ({ title: panel.title, drawing: drawDifferences(panel, losses.differences, left, each) }));
  const caption =
    "Segments that the sender counted as lost when recovery began, minus those truly lost: the share of recoveries with each difference, in percent. " +
    "0 is correct. Shares below 0.5 % have no number.";
  return { name: named(page, "losses-counted", sum), plates, legend: [], legendTitle: "", caption: [caption], width, columns };
}

/** Label of a bin of the differences. */
export function differenceName(differences: readonly number[], place: number): string {
  const value = differences[place] ?? 0;
  const text = value > 0 ? `+${value}` : String(value).replace("-", "−");
  return place === 0 ? `≤ ${text}` : place === differences.length - 1 ? `≥ ${text}` : text;
}

function drawDifferences({ rows }: LossPanel, differences: number[], left: number, width: number): SVGSVGElement {
  const names = differences.map((_, place) => differenceName(differences, place));
  const boxes = rows.flatMap(({ label, group }, row) =>
    (group.counts?.bins ?? []).flatMap((count, place) => {
      const share = group.counts?.shares[place] ?? 0;
      if (count === 0) return [];
      const title = `${label}\ndifference ${names[place]}: ${number(count, 12)} of ${number(group.counts?.right.all, 12)}, ${fixed(share * 100, 1)} %`;
      return [{ row, name: names[place], share, text: share >= 0.005 ? (share * 100).toFixed(0) : "", title }];
    }),
  );
  const drawing = Plot.plot({
    width,
    height: 52 + 24 * rows.length,
    marginLeft: left,
    marginRight: 18,
    marginTop: 8,
    marginBottom: 42,
    style: STYLE,
    x: { domain: names, padding: 0.06 },
    y: { domain: rows.map((_, row) => row), padding: 0.08 },
    color: { type: "identity" },
    opacity: { type: "identity" },
    marks: [
      Plot.axisX({ label: "counted less lost (segments)", labelAnchor: "center", labelArrow: "none", tickSize: 0 }),
      Plot.axisY({ label: null, tickSize: 0, tickFormat: (row: number) => rows[row]?.label ?? "" }),
      // A darker cell would make its number, in the text colour, unreadable.
      Plot.cell(boxes, { className: "difference", x: "name", y: "row", fill: "#0072b2", fillOpacity: ({ share }: { share: number }) => 0.06 + 0.54 * share, title: "title" }),
      Plot.text(boxes, { x: "name", y: "row", text: "text", fill: "currentColor" }),
    ],
  });
  return drawing as SVGSVGElement;
}
