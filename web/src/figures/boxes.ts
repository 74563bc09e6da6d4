// Box plots as in figure 6.2 of the TCP Lite work: lower line from the minimum to the first
// quartile, box between the quartiles, upper line to the maximum; median and mean are marked, and
// every run is a dot.

import * as Plot from "@observablehq/plot";
import { type Choice, counting, level, levelName, type Panel, panels, statistics } from "../choice";
import type { CellStatistics, Factor, Measure, Page } from "../data";
import { colour } from "../palette";
import { number, shown } from "../units";
import { whose } from "../words";
import { axes, type Extent, extent } from "./extent";
import { type FigureParts, layout } from "./frame";
import { levels as entries, type Plate, slug } from "./paper";

interface Box extends CellStatistics {
  column: string;
  place: number;
  label: string;
}

interface Run {
  column: string;
  at: number;
  value: number;
  place: number;
  overloaded: boolean;
  title: string;
}

/** The figure of the chosen measure. */
export function boxes(page: Page, choice: Choice, width: number): FigureParts | null {
  const measure = page.measures[choice.measure];
  if (measure === undefined) return null;
  const cells = statistics(measure, choice).cells;
  const all = panels(page, choice, [choice.x, choice.colour]).filter((panel) => panel.cells.some((cell) => cells[cell]));
  if (all.length === 0) return null;
  const factor = (place: number | null): Factor | undefined => (place === null ? undefined : page.factors[place]);
  const levels = used(page, choice.colour, all);
  const most = Math.max(...all.map((panel) => used(page, choice.x, [panel]).length)) * levels.length;
  const { columns, each } = layout(all.length, width, Math.max(320, 80 + 36 * most));
  const extents = all.map((panel) => extent(panel.cells.flatMap((cell) => (cells[cell] ? [cells[cell].min, cells[cell].max] : []))));
  const scales = axes(extents);
  const plates: Plate[] = all.map((panel, place) => ({
    title: panel.title,
    drawing: draw(page, choice, panel, levels, scales.each[place] as Extent, each),
  }));
  const legend = choice.colour === null ? [] : entries(levels.map((place) => [place, levelName(page.factors, choice.colour, place)]));
  const counted = all.flatMap((panel) => panel.cells).flatMap((cell) => counting(page, cell, choice));
  const known = counted.filter((run) => typeof measure.values[run] === "number").length;
  const caption =
    `${whose(measure)} ` +
    (known < counted.length ? `Only ${known} of the ${counted.length} runs have a value. ` : "") +
    "Line from the minimum to the first quartile, box between the quartiles, line to the maximum; bar: median, " +
    "diamond: mean, dots: runs." +
    (choice.overloaded ? " Rings are overloaded runs." : "") +
    (scales.shared ? "" : " The panels have different scales.");
  const name = named(page, `boxes-${measure.metric}`, measure);
  return { name, plates, legend, legendTitle: factor(choice.colour)?.title ?? "", caption: [caption], width, columns };
}

/** The name of a figure of a measure, with the workload where there are several. */
export function named(page: Page, name: string, { workload }: Measure): string {
  const several = page.measures.some((measure) => measure.workload !== workload);
  return several ? `${name}-${slug(workload)}` : name;
}

/** Levels of a factor that occur in the panels, in their order. */
export function used(page: Page, factor: number | null, all: readonly Panel[]): number[] {
  const levels = new Set(all.flatMap((panel) => panel.cells.map((cell) => level(page.cells[cell], factor))));
  return [...levels].sort((one, other) => one - other);
}

function draw(page: Page, choice: Choice, panel: Panel, levels: number[], y: Extent, width: number): SVGSVGElement {
  const measure = page.measures[choice.measure];
  if (measure === undefined) throw new Error("no measure is chosen");
  const { scale, unit } = shown(measure.unit, y);
  const statisticsOf = statistics(measure, choice).cells;
  const columns = used(page, choice.x, [panel]).map((place) => levelName(page.factors, choice.x, place));
  const room = Math.max(width - 70, 100) / columns.length;
  const half = Math.min(0.32, (26 * levels.length) / room);
  const boxes: Box[] = [];
  const runs: Run[] = [];
  for (const cell of panel.cells) {
    const of = statisticsOf[cell];
    if (!of) continue;
    const column = levelName(page.factors, choice.x, level(page.cells[cell], choice.x));
    const place = level(page.cells[cell], choice.colour);
    boxes.push({ ...of, column, place, label: page.cells[cell]?.label ?? "" });
    for (const run of counting(page, cell, choice)) {
      const value = measure.values[run];
      if (value === null || value === undefined) continue;
      const repetition = page.runs.repetition[run] ?? 0;
      const overloaded = page.runs.verdict[run] === "overloaded";
      const title = `${page.cells[cell]?.label}\nrepetition ${repetition}: ${number(value * scale)} ${unit}${overloaded ? "\noverloaded" : ""}`;
      runs.push({ column, at: levels.indexOf(place) + jitter(repetition) * half, value, place, overloaded, title });
    }
  }
  // A single run is its own median and mean; their marks would hide the dot's symbol.
  const several = ({ count }: Box) => count > 1;
  const at = (box: Box) => levels.indexOf(box.place);
  const common = { fx: "column" } as const;
  const line = (low: keyof CellStatistics, high: keyof CellStatistics) =>
    Plot.ruleX(boxes, {
      ...common,
      x: at,
      y1: (box: Box) => (box[low] as number) * scale,
      y2: (box: Box) => (box[high] as number) * scale,
      stroke: (box: Box) => colour(box.place),
      strokeWidth: 1.5,
    });
  const describe = (box: Box) =>
    `${box.label}\nmedian ${number(box.median * scale)}, mean ${number(box.mean * scale)} ${unit}\n` +
    `quartiles ${number(box.q1 * scale)} to ${number(box.q3 * scale)}, ${box.count} runs`;
  const drawing = Plot.plot({
    width,
    height: 320,
    marginLeft: 62,
    marginBottom: 46,
    style: { background: "none", fontSize: "12px", overflow: "visible", maxWidth: "none" },
    fx: { domain: columns, padding: 0.08 },
    x: { domain: [-0.5, levels.length - 0.5], axis: null },
    y: { domain: [y[0] * scale, y[1] * scale] },
    color: { type: "identity" },
    symbol: { type: "identity" },
    marks: [
      Plot.gridY({ stroke: "currentColor", strokeOpacity: 0.14 }),
      Plot.axisY({ label: label(measure.title, unit), labelAnchor: "center", labelArrow: "none", tickSize: 0 }),
      Plot.axisFx({ anchor: "bottom", label: choice.x === null ? null : (page.factors[choice.x]?.title ?? ""), lineWidth: room / 12, labelAnchor: "center" }),
      Plot.ruleY([y[0] * scale], { stroke: "currentColor", strokeOpacity: 0.6 }),
      line("min", "q1"),
      line("q3", "max"),
      Plot.rect(boxes, {
        ...common,
        className: "box",
        x1: (box: Box) => at(box) - half,
        x2: (box: Box) => at(box) + half,
        y1: (box: Box) => box.q1 * scale,
        y2: (box: Box) => box.q3 * scale,
        fill: (box: Box) => colour(box.place),
        fillOpacity: 0.22,
        stroke: (box: Box) => colour(box.place),
        strokeWidth: 1.2,
        insetLeft: 0,
        insetRight: 0,
        title: describe,
      }),
      Plot.dot(runs, {
        ...common,
        className: "run",
        x: "at",
        y: (run: Run) => run.value * scale,
        r: 2,
        fill: (run: Run) => (run.overloaded ? "none" : colour(run.place)),
        stroke: (run: Run) => colour(run.place),
        strokeWidth: 0.8,
        fillOpacity: 0.65,
        title: "title",
        tip: true,
      }),
      Plot.ruleY(boxes, {
        ...common,
        className: "median",
        x1: (box: Box) => at(box) - half,
        x2: (box: Box) => at(box) + half,
        y: (box: Box) => box.median * scale,
        stroke: (box: Box) => (several(box) ? "currentColor" : colour(box.place)),
        strokeWidth: 2,
      }),
      Plot.dot(boxes.filter(several), {
        ...common,
        className: "mean",
        x: at,
        y: (box: Box) => box.mean * scale,
        symbol: "diamond",
        r: 4,
        stroke: "currentColor",
        strokeWidth: 1.5,
      }),
    ],
  });
  return drawing as SVGSVGElement;
}

/**
 * What stands beside an axis. A unit that the title says already, as of counts, is not said again.
 */
export function label(title: string, unit: string): string {
  return unit === "" || title.toLowerCase().includes(unit) ? title : `${title} (${unit})`;
}

/**
 * From −0.7 to 0.7, the same for a repetition wherever it is shown; neighbours are far from one
 * another.
 */
function jitter(repetition: number): number {
  return (((repetition + 1) * 0.618034) % 1) * 1.4 - 0.7;
}
