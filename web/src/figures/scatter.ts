// Goodput against retransmissions (figures 6.9 to 6.11 of the TCP Lite work): a dot a run, its
// level in colour and symbol, and the straight line through the dots.

import * as Plot from "@observablehq/plot";
import { type Choice, counting, level, levelName, panels } from "../choice";
import type { Drawn, Line, Page, Scatter } from "../data";
import { h } from "../dom";
import { colour, symbol } from "../palette";
import { number, range, shown } from "../units";
import { TOO_FEW, whose } from "../words";
import { label, named, used } from "./boxes";
import { axes, type Extent, extent } from "./extent";
import { type FigureParts, layout } from "./frame";
import { levels as entries, type Plate } from "./paper";

interface Dot {
  x: number;
  y: number;
  place: number;
  title: string;
}

/** Factor whose levels the dots show by default. */
export function dotsOf(choice: Choice): number | null {
  return choice.x ?? choice.colour;
}

/** The figure of one workload; the dots show the levels of `factor`. */
export function scatter(page: Page, of: Scatter, choice: Choice, factor: number | null, width: number): FigureParts | null {
  const [xs, ys] = [page.measures[of.x], page.measures[of.y]];
  if (xs === undefined || ys === undefined) return null;
  const lines = (choice.overloaded ? of.all : null) ?? of.good;
  const point = (run: number): { x: number; y: number } | null => {
    const [x, y] = [xs.values[run], ys.values[run]];
    return typeof x === "number" && typeof y === "number" ? { x, y } : null;
  };
  const dotsOf = (cells: readonly number[]): Dot[] =>
    cells.flatMap((cell) =>
      counting(page, cell, choice).flatMap((run) => {
        const at = point(run);
        const title = `${page.cells[cell]?.label}\nrepetition ${page.runs.repetition[run]}`;
        return at === null ? [] : [{ ...at, place: level(page.cells[cell], factor), title }];
      }),
    );
  const all = panels(page, choice, [factor])
    .map((panel) => ({ ...panel, dots: dotsOf(panel.cells) }))
    .filter(({ dots }) => dots.length > 0);
  if (all.length === 0) return null;
  const { columns, each } = layout(all.length, width, 340);
  const scales = axes(all.map(({ dots }) => extent(dots.map(({ y }) => y))));
  // A campaign without retransmissions in some panels has the others' axis there.
  const across = axes(all.map(({ dots }) => extent([0, ...dots.map(({ x }) => x)])));
  const plates: Plate[] = [];
  const sentences: HTMLElement[] = [];
  all.forEach((panel, place) => {
    const drawn = lines.find((candidate) => candidate.factor === factor && panel.cells.every((cell) => candidate.cells.includes(cell)));
    const line = drawn?.line ?? undefined;
    const [x, y] = [across.each[place] as Extent, scales.each[place] as Extent];
    const titles = { x: label(xs.title, xs.unit), y: ys.title, unit: ys.unit };
    plates.push({ title: panel.title, drawing: draw(panel.dots, line, x, y, titles, each) });
    const sentence = line === undefined ? without(drawn, page.least.line) : words(line, ys.unit);
    sentences.push(h("li", {}, `${panel.title === "" ? "" : `${panel.title}: `}${sentence}`));
  });
  const levels = used(page, factor, all);
  const legend = factor === null ? [] : entries(levels.map((place) => [place, levelName(page.factors, factor, place)]));
  const title = factor === null ? "" : (page.factors[factor]?.title ?? "");
  const hidden = factor !== null && (choice.hidden[factor]?.size ?? 0) > 0;
  const caption = [
    `${whose(ys)} One dot per run; straight lines by least squares${hidden ? `, over all levels of “${title}”, including hidden ones` : ""}.`,
    ...(scales.shared && across.shared ? [] : [" The panels have different scales."]),
    h("ul", { class: "lines" }, ...sentences),
  ];
  return { name: named(page, "goodput-retransmissions", ys), plates, legend, legendTitle: title, caption, width, columns };
}

/** Reason why there is no line. */
export function without(drawn: Drawn | undefined, least: number): string {
  const points = drawn?.points ?? 0;
  if (points < least) return `${TOO_FEW} for a line: ${points} ${points === 1 ? "run" : "runs"} of at least ${least}.`;
  return `no line: all ${points} runs have the same share of retransmissions.`;
}

/** Description of a line. */
export function words(line: Line, unit: string): string {
  const { slope, intercept } = line;
  const { scale, unit: better } = shown(unit, [intercept.value]);
  const share = (value: number) => (100 * value) / intercept.value;
  const interval =
    slope.interval === null
      ? ""
      : ` (95 %: ${range(...ordered(share(slope.interval.low), share(slope.interval.high)), 3)})`;
  const fit = line.r_squared === null ? "" : `, R² = ${line.r_squared.toFixed(2)}`;
  return (
    `${number(intercept.value * scale)} ${better} without retransmissions; each percent of retransmissions changes that by ` +
    `${number(share(slope.value), 3)} %${interval}; ${line.points} runs${fit}.`
  );
}

function ordered(one: number, other: number): [number, number] {
  return one <= other ? [one, other] : [other, one];
}

function draw(
  dots: Dot[],
  line: Line | undefined,
  x: Extent,
  y: Extent,
  titles: { x: string; y: string; unit: string },
  width: number,
): SVGSVGElement {
  const { scale, unit } = shown(titles.unit, y);
  const at = (value: number) => ((line?.intercept.value ?? 0) + (line?.slope.value ?? 0) * value) * scale;
  const [from, to] = extent(dots.map((dot) => dot.x)) ?? [0, 0];
  const drawing = Plot.plot({
    width,
    height: 300,
    marginLeft: 62,
    marginBottom: 42,
    style: { background: "none", fontSize: "12px", overflow: "visible", maxWidth: "none" },
    x: { domain: [Math.min(x[0], 0), x[1]] },
    y: { domain: [y[0] * scale, y[1] * scale] },
    color: { type: "identity" },
    symbol: { type: "identity" },
    marks: [
      Plot.gridX({ stroke: "currentColor", strokeOpacity: 0.14 }),
      Plot.gridY({ stroke: "currentColor", strokeOpacity: 0.14 }),
      Plot.axisX({ label: titles.x, labelAnchor: "center", labelArrow: "none", tickSize: 0 }),
      Plot.axisY({ label: label(titles.y, unit), labelAnchor: "center", labelArrow: "none", tickSize: 0 }),
      line === undefined
        ? null
        : Plot.link([0], { x1: from, x2: to, y1: at(from), y2: at(to), stroke: "currentColor", strokeWidth: 1.5, className: "regression", clip: true }),
      Plot.dot(dots, {
        className: "run",
        x: "x",
        y: (dot: Dot) => dot.y * scale,
        r: 3,
        symbol: (dot: Dot) => symbol(dot.place),
        fill: (dot: Dot) => colour(dot.place),
        fillOpacity: 0.75,
        title: (dot: Dot) => `${dot.title}\n${number(dot.x)} %, ${number(dot.y * scale)} ${unit}`,
        tip: true,
      }),
    ],
  });
  return drawing as SVGSVGElement;
}
